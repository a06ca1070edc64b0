#!/bin/sh
# Runs Prisma's migrations and client, and prints what they say.
#
#     tests/clients/prisma/run.sh MODULES URL SHADOW-URL
#
# MODULES is a directory node_modules with prisma, @prisma/client and @prisma/adapter-pg. Both databases are empty.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cp "$here"/*.prisma "$here"/*.ts "$here"/*.cjs "$work"
ln -s "$1" "$work/node_modules"
cd "$work"
export DATABASE_URL="$2" SHADOW_URL="$3"
# The engine is the one in JavaScript and WebAssembly: the others are programs that would be fetched.
export PRISMA_SCHEMA_ENGINE_BINARY=/bin/true PRISMA_QUERY_ENGINE_LIBRARY=/bin/true CHECKPOINT_DISABLE=1 PRISMA_HIDE_UPDATE_MESSAGE=1 NO_COLOR=1
prisma() {
    printf '\n== prisma %s\n' "$*"
    node node_modules/prisma/build/index.js "$@" 2>&1 | tr '\r' '\n' | sed -e 's/20[0-9]\{12\}_/TIME_/g' -e '/Generated Prisma Client/d' -e '/Running generate/d' \
        -e '/config detected/d' -e '/Loaded Prisma config/d' -e '/^Datasource/d' -e '/^Prisma schema loaded/d' -e '/^WARNING: Your schema/,/^We recommend/d' -e '/^$/d'
}
prisma migrate dev --name init
cat migrations/*_init/migration.sql
printf '\n== client\n'
node client.cjs
cp next.prisma schema.prisma
prisma migrate dev --name next --skip-generate
cat migrations/*_next/migration.sql
prisma db push --skip-generate
prisma db pull --print
prisma migrate reset --force --skip-generate --skip-seed
prisma migrate status
