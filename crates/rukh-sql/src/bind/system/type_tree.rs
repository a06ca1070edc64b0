//! Types and the types within them, as asyncpg asks for them before it reads or sends an array.
//!
//! It walks from types to those of their elements and fields by a recursive query, whose inner parts look for domains and ranges, too,
//! which are none for it here. The query is replaced by one of three steps: the types, those of their elements, those of the fields of
//! both. Composite types within fields of composite types are not found.

use std::sync::LazyLock;

use rukh_syntax::sqlparser::ast::{Query, Statement};
use rukh_syntax::sqlparser::dialect::PostgreSqlDialect;
use rukh_syntax::sqlparser::parser::Parser;

/// What the walk is called, and its columns.
const NAME: &str = "typeinfo_tree";
const COLUMNS: [&str; 11] = [
    "oid",
    "ns",
    "name",
    "kind",
    "basetype",
    "elemtype",
    "elemdelim",
    "range_subtype",
    "attrtypoids",
    "attrnames",
    "depth",
];

/// The requested types with those of their elements and fields; what a type holds is known before it.
static STEP: LazyLock<Option<Box<Query>>> = LazyLock::new(|| {
    let sql = "SELECT t.oid, n.nspname, t.typname, t.typtype, no_oid(), t.typelem, e.typdelim, no_oid(), \
               as_oids(f.types), f.names, w.depth \
               FROM (SELECT s.oid, max(s.depth) AS depth FROM \
               (SELECT r.oid, 0 AS depth FROM pg_catalog.pg_type AS r WHERE r.oid = ANY($1::oid[]) \
               UNION ALL SELECT a.typelem, 1 FROM pg_catalog.pg_type AS a WHERE a.oid = ANY($1::oid[]) AND a.typlen = -1 \
               UNION ALL SELECT i.atttypid, 2 FROM pg_catalog.pg_attribute AS i \
               JOIN pg_catalog.pg_type AS c ON c.typrelid = i.attrelid AND c.typtype = 'c' WHERE i.attnum > 0 AND \
               (c.oid = ANY($1::oid[]) OR c.typarray = ANY($1::oid[]))) AS s GROUP BY s.oid) AS w \
               JOIN pg_catalog.pg_type AS t ON t.oid = w.oid \
               JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace \
               LEFT JOIN pg_catalog.pg_type AS e ON t.typelem = e.oid AND t.typlen = -1 \
               LEFT JOIN (SELECT i.attrelid, array_agg(i.atttypid ORDER BY i.attnum) AS types, \
               array_agg(CAST(i.attname AS TEXT) ORDER BY i.attnum) AS names FROM pg_catalog.pg_attribute AS i \
               WHERE i.attnum > 0 GROUP BY i.attrelid) AS f ON f.attrelid = t.typrelid AND t.typtype = 'c'";
    match Parser::parse_sql(&PostgreSqlDialect {}, sql).ok()?.pop()? {
        Statement::Query(query) => Some(query),
        _ => None,
    }
});

/// Whether a query is the walk, replaced: its parameter is an array of numbers of types.
pub(crate) fn asks_for_types(query: &Query) -> bool {
    let walk = query.with.as_ref().and_then(|with| with.cte_tables.first());
    walk.is_some_and(|walk| {
        let columns = walk.alias.columns.iter().map(|column| column.name.value.as_str());
        walk.alias.name.value == NAME && columns.eq(COLUMNS)
    })
}

/// Replaces the walk in a query, if there is one.
pub(super) fn spell_out(query: &mut Query) {
    let Some(with) = query.with.as_mut().filter(|with| with.recursive) else {
        return;
    };
    let [walk] = with.cte_tables.as_mut_slice() else {
        return;
    };
    let columns = walk.alias.columns.iter().map(|column| column.name.value.as_str());
    if walk.alias.name.value == NAME
        && columns.eq(COLUMNS)
        && let Some(step) = STEP.as_ref()
    {
        walk.query = step.clone();
        with.recursive = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_is_replaced() {
        let columns = COLUMNS.join(", ");
        let sql = format!("WITH RECURSIVE {NAME} ({columns}) AS (SELECT 1) SELECT * FROM {NAME}");
        let mut parsed = Parser::parse_sql(&PostgreSqlDialect {}, &sql).expect("the text is a query");
        let Some(Statement::Query(mut query)) = parsed.pop() else {
            panic!("the text is a query");
        };
        spell_out(&mut query);
        let text = query.to_string();
        assert!(
            text.contains("pg_catalog.pg_type") && !text.contains("RECURSIVE"),
            "{text}"
        );
    }
}
