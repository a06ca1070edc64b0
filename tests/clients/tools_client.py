# What dashboards and database tools ask before they show anything: queries of the shapes that Grafana, Metabase,
# DBeaver and pgAdmin send, in words of our own where the words do not matter.
import psycopg

connection = psycopg.connect("host=127.0.0.1 port=5432 user=tester dbname=rukh", autocommit=True)
for statement in (
    "CREATE TABLE accounts (id int PRIMARY KEY, name varchar(20) NOT NULL, balance numeric(10,2) DEFAULT 0,"
    " made timestamptz, CONSTRAINT positive CHECK (balance >= 0))",
    "CREATE UNIQUE INDEX accounts_name ON accounts (name)",
    "CREATE INDEX accounts_made ON accounts (made DESC) INCLUDE (balance) WHERE balance > 0",
    "CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account int, text text)",
    "CREATE SEQUENCE numbers",
    "CREATE VIEW rich AS SELECT id, name FROM accounts WHERE balance > 100",
    "COMMENT ON TABLE accounts IS 'who owns what'",
    "COMMENT ON COLUMN accounts.name IS 'unique'",
    "CREATE SCHEMA other",
    "CREATE TABLE other.\"Odd Table\" (a int PRIMARY KEY)",
    "INSERT INTO accounts VALUES (1, 'Ada', 10, '2024-01-02 03:04:05Z'), (2, 'Grace', 250.5, '2024-01-02 04:00:00Z'),"
    " (3, 'Zoë', 7, '2024-02-03 00:00:00Z')",
):
    connection.execute(statement)


def ask(what, query):
    cursor = connection.execute(query)
    print(f"{what}: {[column.name for column in cursor.description][:9]}")
    for row in cursor:
        print("  ", *row[:9], sep=" | ")


# Grafana.
path = """
    SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
    FROM generate_series(
        array_lower(string_to_array(current_setting('search_path'),','),1),
        array_upper(string_to_array(current_setting('search_path'),','),1)) AS i,
      string_to_array(current_setting('search_path'),',') s"""
ask(
    "tables on and off the path",
    f"""SELECT CASE WHEN quote_ident(table_schema) IN ({path}) THEN quote_ident(table_name)
          ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
        FROM information_schema.tables
        WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog')
        ORDER BY CASE WHEN quote_ident(table_schema) IN ({path}) THEN 0 ELSE 1 END, 1""",
)
for table in ("accounts", "public.accounts", 'other."Odd Table"'):
    ask(
        f"columns of {table}",
        f"""SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
            WHERE CASE WHEN array_length(parse_ident('{table}'), 1) = 2
              THEN table_schema = (parse_ident('{table}'))[1] AND table_name = (parse_ident('{table}'))[2]
              ELSE quote_ident(table_name) = '{table}' AND quote_ident(table_schema) IN ({path}) END""",
    )
ask("version", "SELECT current_setting('server_version_num')::int / 100 AS version")
ask("extension", "SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'")
ask(
    "time groups",
    """SELECT floor(extract(epoch from made) / 3600) * 3600 AS "time", count(*) AS value FROM accounts
       WHERE made BETWEEN '2024-01-01T00:00:00Z' AND '2024-01-31T23:59:59.999Z' GROUP BY 1 ORDER BY 1""",
)

# Metabase.
ask("isolation", "SHOW TRANSACTION ISOLATION LEVEL")
connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED")
ask(
    "rights",
    """WITH rights AS (
         SELECT t.of, t.named,
           pg_catalog.has_any_column_privilege(current_user, quote_ident(t.of) || '.' || quote_ident(t.named), 'select') AS reads,
           pg_catalog.has_table_privilege(current_user, '"' || replace(t.of, '"', '""') || '"."' || replace(t.named, '"', '""') || '"', 'delete') AS deletes
         FROM (SELECT schemaname AS of, tablename AS named FROM pg_catalog.pg_tables
           UNION SELECT schemaname, viewname FROM pg_catalog.pg_views
           UNION SELECT schemaname, matviewname FROM pg_catalog.pg_matviews) t
         WHERE t.of !~ '^pg_' AND t.of <> 'information_schema' AND pg_catalog.has_schema_privilege(current_user, t.of, 'usage'))
       SELECT r.* FROM rights r ORDER BY 1, 2""",
)
ask(
    "tables",
    """SELECT "n"."nspname" AS "schema", "c"."relname" AS "name",
         CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' ELSE NULL END AS "type",
         "d"."description" AS "description"
       FROM "pg_catalog"."pg_class" AS "c"
       INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid"
       LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = '0')
         AND ("d"."classoid" = 'pg_class'::regclass)
       LEFT JOIN "pg_stat_user_tables" AS "s" ON ("n"."nspname" = "s"."schemaname") AND ("c"."relname" = "s"."relname")
       WHERE ("n"."nspname" !~ '^pg_') AND c.relkind in ('r', 'p', 'v', 'f', 'm') AND ("n"."nspname" IN ('public', 'other'))
       ORDER BY "type", "schema", "name" """,
)
ask(
    "fields",
    """SELECT c.table_name, c.column_name,
         CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN format('%s', c.udt_name) ELSE format('"%s"."%s"', c.udt_schema, c.udt_name) END,
         c.ordinal_position - 1, pk.column_name IS NOT NULL AS "pk?",
         col_description(CAST(CAST(format('%I.%I', CAST(c.table_schema AS TEXT), CAST(c.table_name AS TEXT)) AS REGCLASS) AS OID), c.ordinal_position),
         (column_default IS NULL OR lower(column_default) = 'null') AND is_nullable = 'NO' AND is_identity = 'NO' AS required
       FROM information_schema.columns c
       LEFT JOIN (SELECT t.table_schema, t.table_name, k.column_name FROM information_schema.table_constraints t
         INNER JOIN information_schema.key_column_usage k ON t.constraint_name = k.constraint_name AND t.table_schema = k.table_schema
         WHERE t.constraint_type = 'PRIMARY KEY') pk
         ON c.table_schema = pk.table_schema AND c.table_name = pk.table_name AND c.column_name = pk.column_name
       WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' ORDER BY c.table_schema, 1, 4""",
)
ask(
    "foreign keys",
    """SELECT ft.relname, fc.attname FROM pg_constraint c INNER JOIN pg_class ft ON c.conrelid = ft.oid
       INNER JOIN pg_attribute fc ON c.conrelid = fc.attrelid INNER JOIN pg_class pt ON c.confrelid = pt.oid
       WHERE c.contype = 'f'::char AND fc.attnum = ANY(c.conkey)""",
)
ask(
    "months",
    """SELECT DATE_TRUNC('month', "public"."accounts"."made") AS "made", COUNT(*) AS "count" FROM "public"."accounts"
       WHERE ("public"."accounts"."made" >= DATE_TRUNC('month', (NOW() + INTERVAL '-1200 month')))
       GROUP BY DATE_TRUNC('month', "public"."accounts"."made") ORDER BY DATE_TRUNC('month', "public"."accounts"."made") ASC""",
)
ask(
    "weeks",
    """SELECT (CAST(DATE_TRUNC('week', (CAST(a."made" AS timestamp) + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') AS "made",
       SUM(a."balance") AS "sum" FROM "public"."accounts" a
       GROUP BY (CAST(DATE_TRUNC('week', (CAST(a."made" AS timestamp) + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') ORDER BY 1""",
)

# DBeaver.
ask("session", "SELECT current_schema(), session_user")
ask(
    "schemas",
    """SELECT n.nspname, d.description FROM pg_catalog.pg_namespace n
       LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass
       ORDER BY nspname""",
)
ask(
    "relations",
    """SELECT c.relname, c.relkind, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS bound, pg_catalog.pg_get_partkeydef(c.oid) AS key
       FROM pg_catalog.pg_class c
       LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
       WHERE c.relnamespace = 'public'::regnamespace AND c.relkind NOT IN ('i', 'I', 'c') ORDER BY 1""",
)
ask(
    "columns",
    """SELECT a.attname, format_type(a.atttypid, a.atttypmod), pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def, dsc.description, dep.objid
       FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
       LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
       LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
       LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid
       WHERE NOT a.attisdropped AND a.attnum > 0 AND c.oid = 'accounts'::regclass ORDER BY a.attnum""",
)
ask(
    "constraints",
    """SELECT c.conname, c.contype, t.relname, CASE WHEN c.contype = 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) ELSE null END AS source
       FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
       LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid
       LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_constraint'::regclass
       WHERE c.conrelid = 'accounts'::regclass ORDER BY c.oid""",
)
ask(
    "indexes",
    """SELECT c.relname, i.indkey AS keys, i.indisunique, pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred,
         pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) AS expr, pg_catalog.pg_stat_get_numscans(i.indexrelid) AS scans
       FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
       WHERE i.indrelid = 'accounts'::regclass ORDER BY c.relname""",
)
ask(
    "extensions",
    """SELECT e.oid, n.nspname AS schema_name, e.extname, e.extversion, cfg.tbls FROM pg_catalog.pg_extension e
       JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
       LEFT JOIN (SELECT array_agg(ns.nspname || '.' || cls.relname) AS tbls, oid_ext
         FROM (SELECT unnest(e1.extconfig) AS oid, e1.oid AS oid_ext FROM pg_catalog.pg_extension e1) c
         JOIN pg_catalog.pg_class cls ON cls.oid = c.oid JOIN pg_catalog.pg_namespace ns ON ns.oid = cls.relnamespace
         GROUP BY oid_ext) cfg ON cfg.oid_ext = e.oid ORDER BY e.oid""",
)
ask(
    "extensions that could be",
    "SELECT name, default_version, installed_version, comment FROM pg_catalog.pg_available_extensions ORDER BY name",
)
ask("record", "SELECT row_to_json(t) FROM (SELECT id, name FROM accounts ORDER BY id) t")
ask("age", "SELECT age(made, '2023-12-31'), justify_hours(interval '50 hours') FROM accounts WHERE id = 1")
ask("encodings", "SELECT pg_catalog.pg_encoding_to_char(i) AS name FROM generate_series(5, 6) i")
ask("sequence", "SELECT last_value, is_called FROM public.numbers")
connection.execute("SELECT nextval('numbers')")
connection.execute("SELECT nextval('numbers')")
ask("sequence", "SELECT last_value, is_called FROM numbers")
ask(
    "grants",
    """SELECT grantor, grantee, table_name, privilege_type, is_grantable FROM information_schema.table_privileges
       WHERE table_catalog = current_database() AND table_schema = 'public' AND table_name = 'rich'""",
)
ask("query of a view", "SELECT pg_catalog.pg_get_viewdef('rich'::regclass, true)")
ask("types of results", "SELECT e.typdelim, e.oid FROM pg_catalog.pg_type t, pg_catalog.pg_type e WHERE t.oid = 1007 AND t.typelem = e.oid")

# pgAdmin.
ask(
    "kind",
    """SELECT CASE WHEN (SELECT count(extname) FROM pg_catalog.pg_extension WHERE extname = 'bdr') > 0 THEN 'pgd'
         WHEN (SELECT COUNT(*) FROM pg_replication_slots) > 0 THEN 'log' ELSE NULL END AS type""",
)
ask("encrypted", "SELECT gss_authenticated, encrypted FROM pg_catalog.pg_stat_gssapi WHERE pid = pg_backend_pid()")
ask("transactions", "SELECT sum(xact_commit) + sum(xact_rollback) AS n FROM pg_catalog.pg_stat_database WHERE datname = current_database()")
ask(
    "tables",
    """SELECT rel.relname, (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid = rel.oid AND tgisinternal = FALSE) AS triggers,
         (CASE WHEN rel.relkind = 'p' THEN true ELSE false END) AS is_partitioned
       FROM pg_catalog.pg_class rel WHERE rel.relkind IN ('r', 's', 't', 'p') AND rel.relnamespace = 2200::oid AND NOT rel.relispartition ORDER BY 1""",
)
connection.close()
