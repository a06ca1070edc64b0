# ADBC over Flight SQL: queries, parameters, ingest, transactions, what there is.
import datetime
import decimal

import pyarrow
from adbc_driver_flightsql import dbapi

URI = "grpc://127.0.0.1:5432"


def said(error):
    return str(error).splitlines()[0].removesuffix(". Vendor code: 0").split("; ")[0]


with dbapi.connect(URI, autocommit=True) as connection:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE kinds (id int PRIMARY KEY, b boolean, l bigint, d double precision, n numeric(10,2), t text,"
            " r bytea, dd date, ts timestamp, tz timestamptz)"
        )
        moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc)
        row = (
            1, True, 2**40, 1.5, decimal.Decimal("12.34"), "Zoë", b"\x00\xff", datetime.date(2020, 2, 29),
            moment.replace(tzinfo=None), moment,
        )
        holes = ", ".join(f"${number}" for number in range(1, len(row) + 1))
        cursor.execute(f"INSERT INTO kinds VALUES ({holes})", row)
        cursor.execute("SELECT * FROM kinds WHERE id = $1", (1,))
        print(cursor.fetchone() == row)
        cursor.executemany("INSERT INTO kinds (id, t) VALUES ($1, $2)", [(n, f"n{n}") for n in range(2, 6)])
        print(cursor.rowcount)
        cursor.execute("SELECT id, t FROM kinds ORDER BY id")
        table = cursor.fetch_arrow_table()
        print(table.schema.names, table.schema.types, table.num_rows)
        cursor.execute("DELETE FROM kinds WHERE id > 3")
        cursor.execute("SELECT count(*) FROM kinds")
        print(cursor.fetchall())

        print(cursor.adbc_execute_schema("SELECT id, sum(l) AS total FROM kinds GROUP BY id").names)
        print(cursor.adbc_prepare("SELECT t FROM kinds WHERE id = $1 AND tz > $2").types)

        for statement in ("SELECT * FROM nowhere", "INSERT INTO kinds (id) VALUES (1)", "SELEC"):
            try:
                cursor.execute(statement)
                cursor.fetchall()
            except dbapi.Error as error:
                print(type(error).__name__, said(error))

        many = pyarrow.table({"id": range(30000), "name": [f"n{n}" for n in range(30000)]})
        print(cursor.adbc_ingest("many", many, mode="create"))
        print(cursor.adbc_ingest("many", pyarrow.table({"id": [30000], "name": [None]}), mode="append"))
        cursor.execute("SELECT count(*), count(name), max(id) FROM many")
        print(cursor.fetchall())
        try:
            cursor.adbc_ingest("many", many, mode="append")
        except dbapi.Error as error:
            print(type(error).__name__, said(error))
        print(cursor.adbc_ingest("many", many.slice(0, 10), mode="replace"))
        # Rows come in batches, as they are made.
        cursor.execute("SELECT a.id FROM kinds, many AS a, many AS b, many AS c, many AS d")
        reader = cursor.fetch_record_batch()
        print(sum(batch.num_rows for batch in reader))

    print(connection.adbc_get_table_types())
    print(connection.adbc_get_table_schema("kinds").names)
    objects = connection.adbc_get_objects(depth="columns", db_schema_filter="public").read_all().to_pylist()
    for catalog in objects:
        for schema in catalog["catalog_db_schemas"] or []:
            for found in schema["db_schema_tables"] or []:
                columns = [column["column_name"] for column in found["table_columns"]]
                print(catalog["catalog_name"], schema["db_schema_name"], found["table_name"], found["table_type"], columns)
    info = connection.adbc_get_info()
    print(info["vendor_name"], info["driver_name"])

# Without autocommit each connection has a transaction, until it is committed or rolled back.
with dbapi.connect(URI) as connection, dbapi.connect(URI, autocommit=True) as other:
    def counted(of):
        with of.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM many")
            return cursor.fetchone()[0]

    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO many VALUES (100, 'x')")
        print(counted(connection), counted(other))
        connection.rollback()
        print(counted(connection), counted(other))
        cursor.adbc_ingest("many", pyarrow.table({"id": [101, 102]}), mode="append")
        print(counted(connection), counted(other))
        connection.commit()
        print(counted(connection), counted(other))
        cursor.execute("UPDATE many SET name = 'mine' WHERE id = 101")
        with other.cursor() as theirs:
            theirs.execute("UPDATE many SET name = 'theirs' WHERE id = 101")
        try:
            connection.commit()
        except dbapi.Error as error:
            print(type(error).__name__, said(error))
