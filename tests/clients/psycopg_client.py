# psycopg 3: text and binary, pipelines, arrays.
import datetime
import decimal
import uuid

import psycopg

address = "host=127.0.0.1 port=5432 user=tester dbname=rukh"
moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc)
row = (
    1, True, 7, 2**40, 1.5, decimal.Decimal("12.34"), "Zoë", b"\x00\xff",
    datetime.date(2020, 2, 29), datetime.time(1, 2, 3), moment.replace(tzinfo=None), moment,
    uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
)
with psycopg.connect(address, autocommit=True) as connection:
    print(connection.info.server_version, connection.execute("SELECT current_user, current_database()").fetchone())
    connection.execute(
        "CREATE TABLE kinds (id int PRIMARY KEY, b boolean, s smallint, l bigint, d double precision, n numeric(10,2),"
        " t text, r bytea, dd date, tt time, ts timestamp, tz timestamptz, u uuid)"
    )
    holes = ", ".join(["%s"] * len(row))
    connection.execute(f"INSERT INTO kinds VALUES ({holes})", row)
    for binary in (False, True):
        cursor = connection.cursor(binary=binary)
        found = cursor.execute("SELECT * FROM kinds").fetchone()
        print("binary" if binary else "text", found == row)
    connection.execute("UPSERT INTO kinds (id, t) VALUES (2, 'two')")
    with connection.pipeline():
        for number in range(3, 6):
            connection.execute("INSERT INTO kinds (id, t) VALUES (%s, %s)", (number, f"n{number}"))
    for binary in (False, True):
        cursor = connection.cursor(binary=binary)
        print(cursor.execute("SELECT id, t FROM kinds WHERE id = ANY(%s) ORDER BY id", ([2, 5, 9],)).fetchall())
        print(cursor.execute("SELECT array_agg(id ORDER BY id), current_schemas(false) FROM kinds").fetchone())
    try:
        connection.execute("INSERT INTO kinds (id) VALUES (1)")
    except psycopg.errors.UniqueViolation as error:
        print(error.sqlstate)
    with connection.transaction():
        connection.execute("DELETE FROM kinds WHERE id > 2")
        try:
            with connection.transaction():
                connection.execute("DELETE FROM kinds")
                raise psycopg.Rollback()
        finally:
            print(connection.execute("SELECT count(*) FROM kinds").fetchone())
    rows = connection.execute("SELECT relname, relkind, oid > 0 FROM pg_class WHERE oid = 'kinds'::regclass").fetchall()
    print(rows)
    for _ in range(8):
        prepared = connection.execute("SELECT t FROM kinds WHERE id = %s", (2,), prepare=True).fetchone()
    print(prepared)
