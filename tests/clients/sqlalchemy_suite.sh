#!/bin/sh
# Runs the dialect suite of SQLAlchemy's own tests against Rukh, and prints how many pass.
#
#     tests/clients/sqlalchemy_suite.sh path/to/rukh [option of pytest …]
#
# The tests come from PyPI, as SQLAlchemy's source distribution has them. Before they begin they make the extensions citext and hstore, which
# no test of this suite uses: that is left out.
set -eu
rukh=$1
shift
version=2.1.9
work=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null; wait; rm -rf "$work"' EXIT INT TERM
python3 -m venv "$work/ve"
"$work/ve/bin/pip" install -q "SQLAlchemy==$version" 'psycopg[binary]' pytest pytest-xdist
"$work/ve/bin/pip" download -q --no-deps --no-binary :all: -d "$work" "SQLAlchemy==$version"
tar xzf "$work/sqlalchemy-$version.tar.gz" -C "$work"
cd "$work/sqlalchemy-$version"
sed -i 's/for extension, min_version in _extensions:/for extension, min_version in ():/' lib/sqlalchemy/dialects/postgresql/provision.py
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$rukh" serve "$work/db" --listen "127.0.0.1:$port" > "$work/server.log" 2>&1 &
server=$!
sleep 2
url=postgresql+psycopg://postgres@127.0.0.1:$port/rukh
"$work/ve/bin/python" - "$port" <<'END_OF_SCHEMAS'
import sys
import psycopg
with psycopg.connect(host="127.0.0.1", port=sys.argv[1], user="postgres", dbname="rukh", autocommit=True) as client:
    client.execute("CREATE SCHEMA test_schema")
    client.execute("CREATE SCHEMA test_schema_2")
END_OF_SCHEMAS
"$work/ve/bin/python" -m pytest -q -p no:logging --tb=no --dburi "$url" --maxfail=100000 test/dialect/test_suite.py "$@" > "$work/out" 2>&1 || true
grep -E '^(FAILED|ERROR) |passed' "$work/out"
