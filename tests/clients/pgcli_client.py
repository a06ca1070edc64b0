# pgcli: what it asks to complete names by, its commands, and itself in a terminal.
import os
import pty
import re
import select
import sys
import time

from pgcli.pgexecute import PGExecute
from pgspecial.main import PGSpecial

execute = PGExecute("rukh", "tester", "", "127.0.0.1", "5432", "", application_name="pgcli")
special = PGSpecial()


def run(text):
    for title, cursor, headers, status, sql, success, is_special in execute.run(text, special):
        rows = list(cursor) if cursor is not None and not isinstance(cursor, str) else cursor
        print("  ", title, headers, rows, status, success)


for text in (
    "CREATE TABLE people (id int PRIMARY KEY, name varchar(20) NOT NULL, made timestamptz)",
    "CREATE INDEX people_name ON people (name)",
    "CREATE VIEW names AS SELECT name FROM people",
    "CREATE SEQUENCE numbers",
    "INSERT INTO people VALUES (1, 'Ada', NULL)",
    "SELECT id, name FROM people",
    "SELECT nothing",
):
    print(text)
    try:
        run(text)
    except Exception as error:
        print("  ", str(error).splitlines()[0])
print("search path", execute.search_path())
print("schemas", list(execute.schemata()))
own = lambda rows: [tuple(row) for row in rows if row[0] == "public"]
print("tables", own(execute.tables()))
print("views", own(execute.views()))
print("columns", own(execute.table_columns()))
print("columns of views", own(execute.view_columns()))
print("databases", execute.databases())
print("foreign keys", list(execute.foreignkeys()))
print("types", list(execute.datatypes()))
functions = list(execute.functions())
print("functions", sorted({function.func_name for function in functions} & {"lower", "version", "now", "count"}))
print("tables with definitions", execute.view_definition("names"))
for text in (r"\l", r"\dt", r"\dv", r"\ds", r"\di", r"\dn", r"\du", r"\d people", r"\d", r"\d+ people", r"\dx"):
    print(text)
    run(text)


def terminal():
    pid, end = pty.fork()
    if pid == 0:
        home = os.path.join(os.path.dirname(os.path.abspath(__file__)), "home")
        os.makedirs(home, exist_ok=True)
        os.environ.update(HOME=home, XDG_CONFIG_HOME=home, TERM="xterm", PAGER="cat", LESS="", COLUMNS="200")
        os.execv(sys.executable, [sys.executable, "-m", "pgcli.main", "-h", "127.0.0.1", "-p", "5432", "-U", "tester", "-d", "rukh", "--less-chatty"])
    text = ""

    def until(wanted):
        nonlocal text
        deadline = time.time() + 60
        while not re.search(wanted, text):
            ready, _, _ = select.select([end], [], [], max(0, deadline - time.time()))
            if not ready:
                print("waited in vain for", wanted, "in", repr(text[-2000:]))
                os.kill(pid, 9)
                sys.exit(1)
            text += os.read(end, 65536).decode(errors="replace")
            if "\x1b[6n" in text:
                # Where is the cursor? In the first place.
                text = text.replace("\x1b[6n", "")
                os.write(end, b"\x1b[1;1R")
        text = ""

    until(r"rukh>")
    os.write(end, b"SELECT 40 + 2 AS answer;\r")
    until(r"42")
    os.write(end, b"\\dt\r")
    until(r"people")
    os.write(end, b"\\q\r")
    _, status = os.waitpid(pid, 0)
    print("terminal", os.waitstatus_to_exitcode(status))


terminal()
