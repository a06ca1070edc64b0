//! Types and the types within them, as asyncpg asks for them before it reads or sends an array.
//!
//! It walks from types to those of their elements by a recursive query, whose inner parts look for domains,
//! ranges and row types. There are none of these here, and no array has arrays for elements: the walk is
//! one step, and the query is replaced by that.

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

/// The requested types, then those of their elements; what an array holds is known before the array is.
static STEP: LazyLock<Option<Box<Query>>> = LazyLock::new(|| {
    let sql = "SELECT t.oid, n.nspname, t.typname, t.typtype, no_oid(), t.typelem, e.typdelim, no_oid(), \
               no_oids(), CAST(NULL AS TEXT[]), CASE WHEN e.oid IS NULL THEN 1 ELSE 0 END \
               FROM pg_catalog.pg_type AS t JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace \
               LEFT JOIN pg_catalog.pg_type AS e ON t.typelem = e.oid AND t.typlen = -1 \
               WHERE t.oid = ANY($1::oid[]) OR t.oid IN (SELECT a.typelem FROM pg_catalog.pg_type AS a \
               WHERE a.oid = ANY($1::oid[]) AND a.typlen = -1)";
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
