#!/bin/sh
# Runs suites of Django's own tests against Rukh, and prints how many pass.
#
#     tests/clients/django_suites.sh path/to/rukh [suite …]
#
# Two servers stand for Django's two databases. The tests come from PyPI, as Django's source distribution has them; the model of the suite
# `queries` that has an address of type inet gets a text in its place.
set -eu
rukh=$1
shift
version=4.2.16
work=$(mktemp -d)
trap 'kill $one $two 2>/dev/null; wait; rm -rf "$work"' EXIT INT TERM
one= two=
python3 -m venv "$work/ve"
"$work/ve/bin/pip" install -q "Django==$version" 'psycopg[binary]' psycopg2-binary asgiref pytz sqlparse tzdata
"$work/ve/bin/pip" download -q --no-deps --no-binary :all: -d "$work" "Django==$version"
tar xzf "$work/Django-$version.tar.gz" -C "$work"
cd "$work/Django-$version/tests"
sed -i 's/GenericIPAddressField(null=True)/CharField(max_length=39, null=True)/' queries/models.py
cat > settings_of_rukh.py <<'END'
import os

DATABASES = {
    name: {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": "127.0.0.1",
        "PORT": os.environ[name.upper() + "_PORT"],
        "USER": "tester",
        "NAME": "rukh",
        "TEST": {"NAME": "rukh"},
    }
    for name in ("default", "other")
}
SECRET_KEY = "x"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
TIME_ZONE = "UTC"
END
free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
DEFAULT_PORT=$(free) OTHER_PORT=$(free)
export DEFAULT_PORT OTHER_PORT
"$rukh" serve "$work/one" --listen "127.0.0.1:$DEFAULT_PORT" > "$work/one.log" 2>&1 &
one=$!
"$rukh" serve "$work/two" --listen "127.0.0.1:$OTHER_PORT" > "$work/two.log" 2>&1 &
two=$!
sleep 2
for suite in ${*:-aggregation aggregation_regress backends expressions migrations queries schema}; do
    "$work/ve/bin/python" runtests.py --settings=settings_of_rukh --keepdb --noinput --parallel 1 "$suite" > "$work/out" 2>&1 || true
    echo "$suite: $(grep -E '^Ran ' "$work/out" || echo 'not run') $(grep -E '^(OK|FAILED)' "$work/out" || true)"
    grep -E '^(ERROR|FAIL):' "$work/out" | sed 's/^/    /' || true
done
