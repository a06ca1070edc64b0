"""DuckDB's side of `bench-peers --columnar`: loads CSV files once, asks each question in rounds, prints a line each.

The first line is version, and bytes of the file of scans. The others are seconds of the median round, seconds of a cold
one (NaN where none was asked for), rows, and the cells of the first 100 rows; all between tabs.

Arguments: directory of the databases, CSV of scans, CSV of line items, file of questions (1 where cold, tab, SQL), rounds.
"""

import os
import statistics
import subprocess
import sys
import time

import duckdb

TABLES = {
    "scans": """CREATE TABLE scans (md5url VARCHAR, sitecode VARCHAR, status SMALLINT, code SMALLINT, sdate DATE,
        type VARCHAR, free BOOLEAN, close BOOLEAN, queue BOOLEAN, scantype TINYINT, stime TIMESTAMP, url VARCHAR,
        ip VARCHAR, port INTEGER, intime TIMESTAMP, scanmemo VARCHAR)""",
    "lineitem": """CREATE TABLE lineitem (l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INTEGER,
        l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2),
        l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE,
        l_shipinstruct VARCHAR, l_shipmode VARCHAR, l_comment VARCHAR)""",
}


def open_at(file):
    connection = duckdb.connect(file)
    connection.execute("SET threads = %d" % (os.cpu_count() or 1))
    return connection


def forget_files():
    """Has the system forget the pages of files, where it lets us."""
    subprocess.run(["sync"], check=True)
    try:
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as caches:
            caches.write("3")
    except OSError:
        pass


def timed(connection, sql):
    started = time.perf_counter()
    rows = connection.execute(sql).fetchall()
    return time.perf_counter() - started, rows


def main():
    directory, scans, lineitem, questions, rounds = sys.argv[1:]
    files = {name: os.path.join(directory, name + ".duckdb") for name in TABLES}
    for (name, definition), csv in zip(TABLES.items(), [scans, lineitem]):
        if not os.path.exists(files[name]):
            connection = open_at(files[name])
            connection.execute(definition)
            # Texts of scans may be empty, and a NULL has no quotes; nothing is NULL among line items.
            connection.execute(f"COPY {name} FROM '{csv}' (FORMAT csv, HEADER true, ALLOW_QUOTED_NULLS false)")
            connection.execute("CHECKPOINT")
            connection.close()
    print(duckdb.__version__, os.path.getsize(files["scans"]), sep="\t")
    connections = {}
    for line in open(questions, encoding="utf-8"):
        cold, sql = line.rstrip("\n").split("\t")
        name = "lineitem" if "lineitem" in sql else "scans"
        cold_seconds = float("nan")
        if cold == "1":
            if name in connections:
                connections.pop(name).close()
            connection = open_at(files[name])
            forget_files()
            cold_seconds, _ = timed(connection, sql)
            connections[name] = connection
        connection = connections.get(name) or connections.setdefault(name, open_at(files[name]))
        _, rows = timed(connection, sql)
        times = [timed(connection, sql)[0] for _ in range(int(rounds))]
        cells = [str(cell) for row in rows[:100] for cell in row]
        cells = [cell.replace("\t", " ").replace("\n", " ") for cell in cells]
        print(statistics.median(times), cold_seconds, len(rows), *cells, sep="\t", flush=True)


main()
