#!/bin/sh
# Runs Flyway, Liquibase and Hibernate against Rukh, and compares what they print with what they print of PostgreSQL 15.
#
#     tests/clients/java_schemas.sh path/to/rukh
#     tests/clients/java_schemas.sh jdbc:postgresql://host:port/database    (prints it, of PostgreSQL: role tester without a password)
#
# The libraries come from Maven Central. It needs Java 17 and Maven.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null; wait; rm -rf "$work"' EXIT INT TERM
mvn -q -B -f "$here/schemas/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/lib" > "$work/maven.log" 2>&1 || { cat "$work/maven.log"; exit 1; }
javac -d "$work/classes" -cp "$work/lib/*" "$here/schemas/"*.java
cat > "$work/logging.properties" <<'END'
.level = OFF
END
run() {
    for program in Migrations Orm; do
        java -Djava.util.logging.config.file="$work/logging.properties" -cp "$work/classes:$work/lib/*" "$program" "$1" "$here/schemas" 2> "$work/errors" \
            || { cat "$work/errors"; exit 1; }
    done | grep -v -e '^$' -e 'drop-all command' -e 'requireForce' -e 'docs.liquibase.com' -e 'All objects dropped'
}
case $1 in
jdbc:*) run "$1" ;;
*)
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$1" serve "$work/db" --listen "127.0.0.1:$port" > "$work/server.log" 2>&1 &
    server=$!
    sleep 2
    run "jdbc:postgresql://127.0.0.1:$port/rukh" > "$work/out"
    diff "$here/java_schemas.out" "$work/out" && echo "the same as PostgreSQL: $(wc -l < "$work/out") lines"
    ;;
esac
