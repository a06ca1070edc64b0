//! Types of parameters, as PostgreSQL describes them: drivers encode values by them, and some refuse a value of another type.
//!
//! Each form of statement, each operator with the parameter on either side, and each function with one in each place is
//! prepared here and there, for columns of each type. Where PostgreSQL refuses a statement, it is left out: Rukh takes more.

use std::collections::{BTreeMap, BTreeSet};

use rukh::{Connection, DataType, Database};
use rukh_testkit::client::table_of;
use rukh_testkit::need;
use rukh_testkit::postgres::{self, PostgresDatabase};

/// Columns by their names, as both declare them.
const COLUMNS: &[(&str, &str)] = &[
    ("b", "bool"),
    ("i2", "int2"),
    ("i4", "int4"),
    ("i8", "int8"),
    ("f4", "float4"),
    ("f8", "float8"),
    ("n", "numeric"),
    ("t", "text"),
    ("v", "varchar(10)"),
    ("c", "char(3)"),
    ("d", "date"),
    ("ti", "time"),
    ("ts", "timestamp"),
    ("tz", "timestamptz"),
    ("iv", "interval"),
    ("u", "uuid"),
    ("y", "bytea"),
    ("j", "json"),
    ("jb", "jsonb"),
    ("ai", "int4[]"),
    ("at", "text[]"),
    ("az", "timestamptz[]"),
    ("an", "numeric[]"),
    ("au", "uuid[]"),
    ("e", "mood"),
];

const OPERATORS: &[&str] = &[
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "~",
    "!~",
    "~*",
    "~~",
    "!~~",
    "~~*",
    "||",
    "@>",
    "<@",
    "&&",
    "->",
    "->>",
    "#>",
    "#>>",
    "?",
    "?|",
    "?&",
    "@?",
    "@@",
    "-",
    "#-",
    "^",
    "+",
    "*",
    "/",
    "%",
    "&",
    "|",
    "#",
    "<<",
    ">>",
    "IS DISTINCT FROM",
    "LIKE",
    "ILIKE",
    "NOT LIKE",
];

/// Statements on a column of any type, `{c}`.
const FORMS: &[&str] = &[
    "SELECT coalesce({c}, $1) FROM t",
    "SELECT coalesce($1, $2, {c}) FROM t",
    "SELECT nullif({c}, $1) FROM t",
    "SELECT greatest({c}, $1) FROM t",
    "SELECT least($1, {c}) FROM t",
    "SELECT CASE WHEN b THEN {c} ELSE $1 END FROM t",
    "SELECT CASE WHEN $2 THEN $1 ELSE {c} END FROM t",
    "SELECT CASE {c} WHEN $1 THEN 1 END FROM t",
    "SELECT CASE $1 WHEN {c} THEN 1 END FROM t",
    "SELECT 1 FROM t WHERE {c} IN ($1, $2)",
    "SELECT 1 FROM t WHERE $1 IN ({c}, {c})",
    "SELECT 1 FROM t WHERE {c} BETWEEN $1 AND $2",
    "SELECT 1 FROM t WHERE $1 BETWEEN {c} AND {c}",
    "SELECT 1 FROM t WHERE {c} = ANY ($1)",
    "SELECT 1 FROM t WHERE {c} <> ALL ($1)",
    "SELECT 1 FROM t WHERE $1 = ANY (ARRAY[{c}])",
    "SELECT ARRAY[$1, {c}] FROM t",
    "SELECT 1 FROM t WHERE ({c}, k) = ($1, $2)",
    "SELECT 1 FROM t WHERE ({c}, k) > ($1, $2)",
    "SELECT 1 FROM t WHERE ({c}, k) IN (($1, $2), ($3, $4))",
    "INSERT INTO t (k, {c}) VALUES ($1, $2)",
    "INSERT INTO t (k, {c}) VALUES ($1, coalesce($2, $3))",
    "INSERT INTO t (k, {c}) VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET {c} = $3 RETURNING {c}",
    "UPDATE t SET {c} = $1 WHERE k = $2",
    "UPDATE t SET {c} = coalesce($1, {c})",
    "UPDATE t SET {c} = CASE WHEN k = $1 THEN $2 ELSE {c} END",
    "DELETE FROM t WHERE {c} = $1 RETURNING {c}",
    "SELECT {c} FROM t UNION SELECT $1",
    "SELECT $1 UNION ALL SELECT {c} FROM t",
    "SELECT {c} FROM t WHERE {c} IS NOT DISTINCT FROM $1",
    "SELECT max({c}) FROM t HAVING max({c}) > $1",
    "SELECT count(*) FROM t GROUP BY {c} HAVING {c} = $1",
    "SELECT lag({c}, $1) OVER (ORDER BY k) FROM t",
    "SELECT lag({c}, 1, $1) OVER (ORDER BY k) FROM t",
    "SELECT {c} = $1 AS x FROM t ORDER BY {c} = $2",
    "SELECT NOT ({c} = $1) FROM t",
    "SELECT count(*) FILTER (WHERE {c} = $1) FROM t",
    "SELECT string_agg({c}::text, $1) FROM t",
    "SELECT {c}::text = $1, {c}::text LIKE $2 FROM t",
    "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t p WHERE p.{c} = $1 AND p.k = t.k)",
    "SELECT 1 FROM t WHERE {c} = $1 LIMIT $2 OFFSET $3",
    "SELECT percentile_disc($1) WITHIN GROUP (ORDER BY {c}) FROM t",
];

/// Statements of their own.
const STATEMENTS: &[&str] = &[
    "SELECT $1, $2",
    "SELECT $1 || $2",
    "SELECT $1 + 1, 1.5 * $2, $3 = 'a', $4 = 1",
    "SELECT NOT $1, $2 IS TRUE, $3 AND true, $4 OR b FROM t",
    "SELECT k FROM t WHERE $1",
    "SELECT CASE WHEN $1 THEN 1 END",
    "SELECT now() - $1",
    "SELECT current_date - $1, current_date + $2",
    "SELECT ts - interval '1 day' * $1 FROM t",
    "SELECT interval '1 day' / $1",
    "SELECT date_trunc($1, ts), date_part($2, ts), ts AT TIME ZONE $3 FROM t",
    "SELECT age(ts, $1), to_char(ts, $2), to_char(n, $3) FROM t",
    "SELECT to_date($1, $2), make_date($3, $4, $5)",
    "SELECT position($1 IN t), overlay(t PLACING $2 FROM $3), trim($4 FROM t) FROM t",
    "SELECT left(t, $1), lpad(t, $2, $3), replace(t, $4, $5), split_part(t, $6, $7) FROM t",
    "SELECT t LIKE $1 ESCAPE $2, t ILIKE '%' || $3 || '%', t SIMILAR TO $4, t ~ $5 FROM t",
    "SELECT lower(t) = lower($1), lower(t) = $2, upper($3), length($4) FROM t",
    "SELECT round(n, $1), power($2, 2), mod(i4, $3), sqrt($4), floor($5) FROM t",
    "SELECT i4 + $1 + $2, (i4 + $3) * $4, i4 + $5 > $6, n * $7 > $8 FROM t",
    "SELECT sum(i4) > $1, avg(i4) < $2, count(*) > $3, sum(i4) + $4, sum(i4 * $5) FROM t",
    "SELECT sum(CASE WHEN b THEN $1 ELSE 0 END), avg(coalesce(i4, $2)), max(coalesce(d, $3)) FROM t",
    "SELECT jb ->> 'a' = $1, jb -> 'a' = $2, (jb ->> 'n')::int > $3, jb #>> '{a,b}' = $4 FROM t",
    "SELECT jb ->> $1 = $2, jb -> $3 ->> $4, jb -> $5 -> $6 @> $7, jb #>> $8 = $9 FROM t",
    "SELECT jsonb_set(jb, $1, $2), jsonb_set(jb, '{a}', $3), jb || $4, jb - $5 FROM t",
    "SELECT * FROM jsonb_array_elements($1)",
    "SELECT * FROM generate_series(1, $1)",
    "SELECT generate_series(1, $1), generate_series($2, 3)",
    "SELECT * FROM generate_series($1::bigint, $2, $3)",
    "SELECT * FROM generate_series($1::date, $2, $3)",
    "SELECT * FROM generate_series($1::timestamp, $2::timestamp, '1 hour')",
    "SELECT * FROM generate_series(now() - $1::interval, now(), $2) g",
    "SELECT g FROM t, LATERAL generate_series(k, $1, $2) g",
    "SELECT g FROM t, generate_series(ts, $1, $2) g, generate_series(i8, $3) h",
    "SELECT substring(t, $1), substring(t FROM $2), substring(t, 1, $3) FROM t",
    "SELECT k FROM t WHERE ts BETWEEN $1 AND $1 + interval '1 day' AND k = $2",
    "SELECT k FROM t WHERE ($1 = '' OR t = $1) AND ($2 IS NULL OR i4 = $2) AND ($3::int IS NULL OR i4 = $3)",
    "SELECT i8 + $1, $1 FROM t",
    "SELECT * FROM unnest($1::int[], $2::text[])",
    "SELECT ai[$1], ai[$2:$3], $4 = ANY (ai), $5 <> ALL (at) FROM t",
    "SELECT at || ARRAY[$1], at @> ARRAY[$2], at && ARRAY[$3, $4], array_append(ai, $5) FROM t",
    "SELECT array_cat(ai, $1), array_remove(ai, $2), array_position(at, $3), array_to_string(at, $4) FROM t",
    "SELECT k FROM t ORDER BY k LIMIT $1 OFFSET $2",
    "SELECT coalesce($1, 1), coalesce($2, 'a'), nullif($3, 0), nullif($4, ''), greatest($5, 1, 2)",
    "SELECT CASE WHEN true THEN $1 ELSE 1 END, CASE $2 WHEN 'a' THEN $3 ELSE 'x' END",
    "VALUES ($1, $2), (1, 'a')",
    "SELECT * FROM (VALUES ($1, 1), ('a', $2)) v",
    "SELECT 1 UNION SELECT $1",
    "SELECT row_number() OVER (ORDER BY k) <= $1, ntile($2) OVER (ORDER BY k), nth_value(t, $3) OVER (ORDER BY k) FROM t",
    "SELECT lag(i4, $1, $2) OVER (ORDER BY k), sum(k) OVER (ORDER BY k ROWS $3 PRECEDING) FROM t",
    "SELECT bool_and($1), string_agg(t, $2) FROM t",
    "SELECT gen_random_uuid() = $1, u = $2, u::text = $3 FROM t",
    "SELECT encode(y, $1), decode($2, 'hex'), y || $3 FROM t",
    "SELECT d - $1 > $2, ts - $3 < interval '1 day', tz - $4 < $5, now() - tz > $6 FROM t",
    "SELECT (d, ts) OVERLAPS ($1, $2) FROM t",
    "INSERT INTO t (k, i4, t, at) VALUES ($1, $2, upper($3), ARRAY[$4, $5])",
    "INSERT INTO t (k, n) VALUES ($1, $2 * 1.5)",
    "INSERT INTO t (k, t) SELECT k, $1 FROM t WHERE k > $2",
    "INSERT INTO t (k, t) VALUES ($1, CASE WHEN $2 THEN 'a' ELSE $3 END)",
    "INSERT INTO t (k, i4) SELECT * FROM unnest($1::int[], $2::int[])",
    "UPDATE t SET i4 = i4 + $1, n = n * $2, at = at || $3, jb = jb || $4, ts = ts + $5 WHERE k = $6",
    "INSERT INTO t (k, i4) VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET i4 = t.i4 + $3 WHERE t.i4 < $4",
    "WITH r AS (SELECT * FROM t WHERE k = $1) SELECT k FROM r WHERE t = $2",
    "WITH RECURSIVE r AS (SELECT $1::int AS n UNION ALL SELECT n + 1 FROM r WHERE n < $2) SELECT * FROM r",
    "SELECT k FROM t WHERE (k, i4) > ($1, $2) ORDER BY k LIMIT $3",
    "SELECT k FROM t WHERE coalesce(t, '') = coalesce($1, '')",
    "SELECT k FROM t WHERE ts >= $1 AND ts < $1 + interval '1 day'",
    "SELECT (SELECT t FROM t WHERE k = $1)",
    "SELECT $1::int + $2, $3::date - $4, $5::text || $6, $7::jsonb -> $8, $9::int[] || $10",
    "SELECT $1::uuid = $2",
    "SELECT pg_sleep($1)",
];

/// What is known to differ: how the statement begins, and why.
const KNOWN: &[(&str, &str)] = &[
    (
        "VALUES ($1",
        "columns of VALUES have the type of their first row's parameters",
    ),
    ("SELECT * FROM (VALUES ($1", "the same"),
    ("SELECT t @@ $1", "text search is not there"),
    ("SELECT $1 @@ t", "text search is not there"),
    ("SELECT v @@ $1", "text search is not there"),
    ("SELECT $1 @@ v", "text search is not there"),
    ("SELECT c @@ $1", "text search is not there"),
    ("SELECT $1 @@ c", "text search is not there"),
    ("SELECT y ~~ $1", "LIKE of bytea is not there"),
    ("SELECT $1 ~~ y", "LIKE of bytea is not there"),
    ("SELECT y !~~ $1", "LIKE of bytea is not there"),
    ("SELECT $1 !~~ y", "LIKE of bytea is not there"),
    ("SELECT $1 LIKE y", "LIKE of bytea is not there"),
    ("SELECT $1 NOT LIKE y", "LIKE of bytea is not there"),
    ("SELECT \"like_escape\"($1, y)", "LIKE of bytea is not there"),
    ("SELECT \"like_escape\"(y, $1)", "LIKE of bytea is not there"),
    (
        "SELECT 1 FROM t WHERE $1 = ANY (ARRAY[a",
        "arrays of several dimensions are arrays of arrays",
    ),
    ("SELECT \"array_to_json\"(ai, $1)", "one argument"),
    (
        "SELECT \"current_schemas\"",
        "functions of the catalog take anything",
    ),
    (
        "SELECT \"current_setting\"",
        "functions of the catalog take anything",
    ),
    ("SELECT \"parse_ident\"", "functions of the catalog take anything"),
    (
        "SELECT \"pg_encoding_to_char\"",
        "functions of the catalog take anything",
    ),
    (
        "SELECT \"pg_get_viewdef\"",
        "functions of the catalog take anything",
    ),
    ("SELECT \"date\"($1)", "a cast in the form of a call"),
    ("SELECT \"text\"($1)", "a cast in the form of a call"),
    ("SELECT \"regexp_instr\"(", "six arguments at most"),
    ("SELECT \"regexp_substr\"(", "five arguments at most"),
    (
        "SELECT \"substring\"(",
        "patterns are found by the name without quotes",
    ),
    ("SELECT \"width_bucket\"(", "of arrays it is not there"),
];

/// Returns the name of a type as `pg_type` has it; texts of all kinds are one, which drivers encode alike.
fn name(ty: &str) -> String {
    match ty {
        "bpchar" | "varchar" | "jsonpath" | "name" | "unknown" => "text".to_owned(),
        "_bpchar" | "_varchar" => "_text".to_owned(),
        other => other.to_owned(),
    }
}

fn name_of(ty: DataType) -> String {
    match ty {
        DataType::Array(element) => format!("_{}", name_of(*element)),
        DataType::Boolean => "bool".to_owned(),
        DataType::SmallInt => "int2".to_owned(),
        DataType::Integer => "int4".to_owned(),
        DataType::BigInt => "int8".to_owned(),
        DataType::Real => "float4".to_owned(),
        DataType::Double => "float8".to_owned(),
        DataType::Timestamp { .. } => "timestamp".to_owned(),
        DataType::TimestampTz { .. } => "timestamptz".to_owned(),
        ty if ty.is_decimal() || ty == DataType::NUMERIC => "numeric".to_owned(),
        ty if ty.is_bytes() => "bytea".to_owned(),
        other => name(&other.postgres_name()),
    }
}

fn described(connection: &mut Connection, sql: &str) -> Result<Vec<String>, String> {
    let say = |error: rukh::Error| format!("{} {error}", error.sqlstate);
    let statement = connection.prepare(sql).map_err(say)?;
    let description = connection.describe(&statement, &[]).map_err(say)?;
    let types = description.parameters.iter().enumerate();
    let types = types.map(|(at, ty)| match description.arrays.contains(&at) {
        true => format!("_{}", name_of(*ty)),
        false => name_of(*ty),
    });
    Ok(types.collect())
}

fn statements(postgres: &mut PostgresDatabase, known: &BTreeSet<String>) -> Vec<String> {
    let mut all: Vec<String> = STATEMENTS.iter().map(|sql| (*sql).to_owned()).collect();
    for (column, _) in COLUMNS {
        all.extend(FORMS.iter().map(|form| form.replace("{c}", column)));
        for operator in OPERATORS {
            all.push(format!("SELECT {column} {operator} $1 FROM t"));
            all.push(format!("SELECT $1 {operator} {column} FROM t"));
        }
    }
    all.append(&mut calls(postgres, known));
    all
}

/// Returns calls of the functions of PostgreSQL's catalog that there are, with a parameter in one place and columns in the others.
fn calls(postgres: &mut PostgresDatabase, known: &BTreeSet<String>) -> Vec<String> {
    let listed = "SELECT proname, array_to_string(proargtypes::regtype[], ',') FROM pg_proc
        WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset AND provolatile <> 'v' AND pronargs > 0
        ORDER BY 1, 2";
    let listed = postgres.query(listed).unwrap();
    let column_of = |ty: &str| match ty {
        "anyarray" | "anycompatiblearray" | "integer[]" => Some("ai"),
        "anyelement" | "anycompatible" | "anynonarray" | "integer" => Some("i4"),
        "boolean" => Some("b"),
        "smallint" => Some("i2"),
        "bigint" => Some("i8"),
        "real" => Some("f4"),
        "double precision" => Some("f8"),
        "timestamp without time zone" => Some("ts"),
        "timestamp with time zone" => Some("tz"),
        "time without time zone" => Some("ti"),
        "text[]" => Some("at"),
        "anyenum" => Some("e"),
        ty => COLUMNS
            .iter()
            .find(|(_, known)| *known == ty)
            .map(|(column, _)| *column),
    };
    let mut all = Vec::new();
    for row in &listed.rows {
        let (Some(name), Some(types)) = (&row[0], &row[1]) else {
            continue;
        };
        if !known.contains(name) {
            continue;
        }
        let Some(columns) = types.split(',').map(column_of).collect::<Option<Vec<_>>>() else {
            continue;
        };
        for at in 0..columns.len() {
            let mut arguments = columns.clone();
            arguments[at] = "$1";
            all.push(format!("SELECT \"{name}\"({}) FROM t", arguments.join(", ")));
        }
    }
    all.sort();
    all.dedup();
    all
}

#[test]
fn parameters_have_the_types_that_postgresql_gives_them() {
    let test = "parameters_have_the_types_that_postgresql_gives_them";
    let Some(mut postgres) = need::or_skip(test, postgres::database()) else {
        return;
    };
    let database = Database::open_in_memory().unwrap();
    let mut connection = database.connect();
    let columns: Vec<String> = COLUMNS.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
    for sql in [
        "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')".to_owned(),
        format!("CREATE TABLE t (k int PRIMARY KEY, {})", columns.join(", ")),
    ] {
        postgres.execute(&sql).unwrap();
        connection.execute(&sql).unwrap();
    }
    let mut differ: Vec<String> = Vec::new();
    let mut used: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut same, mut refused) = (0, 0);
    let known = connection
        .query("SELECT DISTINCT proname::text FROM pg_proc")
        .unwrap();
    let known = table_of(known).unwrap().rows.into_iter();
    let known = known.filter_map(|row| row.into_iter().next().flatten()).collect();
    for sql in statements(&mut postgres, &known) {
        let Ok(expected) = postgres.parameter_types(&sql) else {
            refused += 1;
            continue;
        };
        let expected: Vec<String> = expected.iter().map(|ty| name(ty)).collect();
        let found = described(&mut connection, &sql);
        match KNOWN.iter().find(|(head, _)| sql.starts_with(head)) {
            _ if found.as_ref() == Ok(&expected) => same += 1,
            Some((head, _)) => *used.entry(head).or_default() += 1,
            None => differ.push(format!(
                "{sql}\n  PostgreSQL {expected:?}\n  Rukh       {found:?}"
            )),
        }
    }
    println!(
        "{same} the same, {} known to differ, {refused} that PostgreSQL refuses",
        used.len()
    );
    let unused: Vec<&str> = KNOWN
        .iter()
        .map(|(head, _)| *head)
        .filter(|head| !used.contains_key(head))
        .collect();
    assert!(
        differ.is_empty(),
        "{} differ:\n{}",
        differ.len(),
        differ.join("\n")
    );
    assert!(unused.is_empty(), "these do not differ any more: {unused:#?}");
    assert!(same > 2000, "only {same} statements were compared");
}
