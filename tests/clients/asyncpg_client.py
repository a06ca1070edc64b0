# asyncpg: everything prepared and binary.
import asyncio
import datetime
import decimal
import io
import uuid

import asyncpg


async def main():
    connection = await asyncpg.connect(host="127.0.0.1", port=5432, user="tester", database="rukh")
    print(connection.get_server_version()[:2])
    await connection.execute(
        "CREATE TABLE kinds (id int PRIMARY KEY, b boolean, l bigint, d double precision, n numeric(10,2), t text,"
        " r bytea, dd date, ts timestamp, tz timestamptz, u uuid)"
    )
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc)
    row = (
        1, True, 2**40, 1.5, decimal.Decimal("12.34"), "Zoë", b"\x00\xff", datetime.date(2020, 2, 29),
        moment.replace(tzinfo=None), moment, uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    )
    holes = ", ".join(f"${number}" for number in range(1, len(row) + 1))
    await connection.execute(f"INSERT INTO kinds VALUES ({holes})", *row)
    print(tuple(await connection.fetchrow("SELECT * FROM kinds WHERE id = $1", 1)) == row)
    await connection.executemany("INSERT INTO kinds (id, t) VALUES ($1, $2)", [(n, f"n{n}") for n in range(2, 6)])
    async with connection.transaction():
        print([record["id"] async for record in connection.cursor("SELECT id FROM kinds ORDER BY id", prefetch=2)])
    try:
        async with connection.transaction():
            await connection.execute("DELETE FROM kinds")
            await connection.execute("SELECT 1 / 0")
    except asyncpg.DivisionByZeroError as error:
        print(error.sqlstate)
    print(await connection.fetchval("SELECT count(*) FROM kinds"))
    print(await connection.fetch("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
                                 " WHERE attrelid = 'kinds'::regclass AND attnum < 3 ORDER BY attnum"))
    # COPY.
    print(await connection.copy_records_to_table("kinds", records=[(n, f"c{n}") for n in range(100, 103)], columns=["id", "t"]))
    output = io.BytesIO()
    print(await connection.copy_from_query("SELECT id, t FROM kinds WHERE id >= $1 ORDER BY id", 101, output=output, format="csv"), output.getvalue())
    prepared = await connection.prepare("SELECT id, n FROM kinds WHERE id > $1")
    print([parameter.name for parameter in prepared.get_parameters()], [(a.name, a.type.name) for a in prepared.get_attributes()])
    # Arrays, of whose types it asks first.
    print([record["id"] for record in await connection.fetch("SELECT id FROM kinds WHERE id = ANY($1::int[]) ORDER BY id", [2, 100])])
    print(tuple(await connection.fetchrow("SELECT array_agg(id), ARRAY['a', NULL], ARRAY[1.5]::numeric[], $1::bigint[] FROM kinds WHERE id < 3", [1, 2**40])))
    print([tuple(record) for record in await connection.fetch("SELECT value FROM unnest($1::text[]) AS t(value)", ["x", "y z"])])
    # Intervals.
    days = datetime.timedelta(days=3, hours=4, microseconds=5)
    print(await connection.fetchval("SELECT $1::interval", days) == days, await connection.fetchval("SELECT interval '1 day -2 hours'"))
    await connection.close()


asyncio.run(main())
