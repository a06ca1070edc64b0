# ODBC: psqlODBC under unixODBC, by way of pyodbc.
import datetime
import decimal

import pyodbc

driver = "psqlodbcw.so"
address = f"Driver={driver};Server=127.0.0.1;Port=5432;Database=rukh;Uid=tester;"


def show(what, rows, *names):
    for row in rows:
        print(what, *(getattr(row, name) for name in names))


for prepare in (0, 1):
    # UseServerSidePrepare: parameters in the text, or those of the extended protocol.
    connection = pyodbc.connect(address + f"UseServerSidePrepare={prepare};", autocommit=True)
    cursor = connection.cursor()
    cursor.execute("DROP TABLE IF EXISTS kinds")
    cursor.execute(
        "CREATE TABLE kinds (id int PRIMARY KEY, b boolean, s smallint, l bigint, d double precision, n numeric(10,2),"
        " t varchar(30) NOT NULL, r bytea, dd date, tt time, ts timestamp)"
    )
    row = (
        1, True, 7, 2**40, 1.5, decimal.Decimal("12.34"), "Zoë", b"\x00\xff", datetime.date(2020, 2, 29),
        datetime.time(1, 2, 3), datetime.datetime(2024, 1, 2, 3, 4, 5, 678000),
    )
    cursor.execute(f"INSERT INTO kinds VALUES ({', '.join('?' * len(row))})", row)
    print("inserted", cursor.rowcount)
    found = cursor.execute("SELECT * FROM kinds WHERE id = ?", 1).fetchone()
    print([got if got != want else "same" for got, want in zip(found, row)])
    cursor.executemany("INSERT INTO kinds (id, t) VALUES (?, ?)", [(n, f"n{n}") for n in range(2, 6)])
    cursor.execute("INSERT INTO kinds (id, t) VALUES (?, ?)", (6, "six"))
    print([tuple(row) for row in cursor.execute("SELECT id, n, t FROM kinds WHERE id BETWEEN ? AND ? ORDER BY id", 5, 6)])
    connection.autocommit = False
    cursor.execute("DELETE FROM kinds WHERE id > 3")
    connection.rollback()
    cursor.execute("UPDATE kinds SET t = ? WHERE id = 6", "changed")
    connection.commit()
    print(cursor.execute("SELECT count(*), max(t) FROM kinds").fetchone())
    try:
        cursor.execute("INSERT INTO kinds (id, t) VALUES (1, 'again')")
    except pyodbc.Error as error:
        print(error.args[0])
    connection.rollback()
    connection.autocommit = True
    connection.close()

# Rows fetched by DECLARE and FETCH, and an error that ends its statement only.
connection = pyodbc.connect(address + "UseDeclareFetch=1;Fetch=7;Protocol=7.4-2;", autocommit=False)
cursor = connection.cursor()
cursor.execute("INSERT INTO kinds (id, t) VALUES (100, 'kept')")
try:
    cursor.execute("INSERT INTO kinds (id, t) VALUES (100, 'again')")
except pyodbc.Error as error:
    print(error.args[0])
connection.commit()
print(cursor.execute("SELECT t FROM kinds WHERE id = 100").fetchall())
print("fetched", len(cursor.execute("SELECT a.id, b.id FROM kinds a, kinds b ORDER BY 1, 2").fetchall()))
connection.commit()
connection.close()

connection = pyodbc.connect(address, autocommit=True)
print(connection.getinfo(pyodbc.SQL_DBMS_NAME), connection.getinfo(pyodbc.SQL_DBMS_VER), connection.getinfo(pyodbc.SQL_DATABASE_NAME))
cursor = connection.cursor()
cursor.execute("CREATE UNIQUE INDEX kinds_t ON kinds (t)")
cursor.execute("CREATE INDEX kinds_when ON kinds (dd DESC, l)")
cursor.execute("CREATE VIEW kind_names AS SELECT id, t FROM kinds")
show("table", cursor.tables(schema="public"), "table_schem", "table_name", "table_type")
show("schema", cursor.tables(catalog="", schema="%", table=""), "table_schem")
show("column", cursor.columns(table="kinds"), "column_name", "data_type", "type_name", "column_size", "nullable", "is_nullable", "ordinal_position")
show("key", cursor.primaryKeys("kinds"), "table_name", "column_name", "key_seq", "pk_name")
show("index", cursor.statistics("kinds"), "index_name", "non_unique", "ordinal_position", "column_name", "asc_or_desc")
show("unique index", cursor.statistics("kinds", unique=True), "index_name", "column_name")
show("foreign key", cursor.foreignKeys("kinds"), "fk_name")
show("row id", cursor.rowIdColumns("kinds"), "column_name")
show("row version", cursor.rowVerColumns("kinds"), "column_name")
show("procedure", cursor.procedures(procedure="nothing"), "procedure_name")
print("types", sorted(row.type_name for row in cursor.getTypeInfo())[:4])
print("described", [(column[0], column[1].__name__, column[3], column[5], column[6]) for column in cursor.execute("SELECT id, n, t FROM kinds WHERE false").description])
connection.close()
