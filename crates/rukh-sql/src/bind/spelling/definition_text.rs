//! Keys, indexes and lifetimes as SQL.

use rukh_catalog::{
    Catalog, ColumnId, ForeignAction, ForeignKey, ForeignTiming, Index, KeyElement, KeyExpr, Table,
};
use rukh_keys::SortOrder;
use rukh_syntax::quoted;

use super::parsing::parse_expression;

const SECOND_MICROS: i64 = 1_000_000;
const DAY_MICROS: i64 = 86_400 * SECOND_MICROS;

/// Returns `CREATE INDEX …;`.
pub(crate) fn index_sql(table: &Table, index: &Index) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    let mut sql = format!(
        "CREATE {unique}INDEX {} ON {}{} ({})",
        quoted(&index.name),
        qualified_name(table),
        if index.is_columnar() {
            " USING columnar"
        } else {
            ""
        },
        element_list(table, &index.elements)
    );
    if !index.include.is_empty() {
        sql += &format!(" INCLUDE ({})", column_list(table, &index.include));
    }
    if !index.nulls_distinct {
        sql += " NULLS NOT DISTINCT";
    }
    if let Some(predicate) = &index.predicate {
        sql += &format!(" WHERE {}", predicate.sql);
    }
    sql + ";"
}

/// Returns the name of a table, with its schema unless that is `public`.
pub(crate) fn qualified_name(table: &Table) -> String {
    match table.schema.as_str() {
        "public" => quoted(&table.name),
        schema => format!("{}.{}", quoted(schema), quoted(&table.name)),
    }
}

/// Returns `FOREIGN KEY (a) REFERENCES t(b) …` as PostgreSQL writes it.
pub(crate) fn foreign_key_sql(catalog: &Catalog, table: &Table, key: &ForeignKey) -> String {
    let (name, columns) = match catalog.table(key.referenced) {
        Some(referenced) => (
            qualified_name(referenced),
            column_list(referenced, &key.referenced_columns),
        ),
        None => Default::default(),
    };
    let mut sql = format!(
        "FOREIGN KEY ({}) REFERENCES {name}({columns})",
        column_list(table, &key.columns)
    );
    if key.match_full {
        sql += " MATCH FULL";
    }
    for (event, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
        if action != ForeignAction::NoAction {
            sql += &format!(" ON {event} {}", action.name());
        }
    }
    sql += match key.timing {
        ForeignTiming::NotDeferrable => "",
        ForeignTiming::Deferrable => " DEFERRABLE",
        ForeignTiming::Deferred => " DEFERRABLE INITIALLY DEFERRED",
    };
    if key.not_valid {
        sql += " NOT VALID";
    }
    sql
}

/// Returns the elements of a key as CREATE INDEX writes them.
pub(crate) fn element_list(table: &Table, elements: &[KeyElement]) -> String {
    let element = |element: &KeyElement| {
        let direction = if element.order == SortOrder::Desc {
            " DESC"
        } else {
            ""
        };
        format!("{}{direction}", element_sql(table, &element.expr))
    };
    elements.iter().map(element).collect::<Vec<_>>().join(", ")
}

fn element_sql(table: &Table, expr: &KeyExpr) -> String {
    match expr {
        KeyExpr::Column(id) => quoted(table.column_name(*id)),
        KeyExpr::Hash { column, bytes } => format!("HASH({}, {bytes})", quoted(table.column_name(*column))),
        KeyExpr::Expression { sql, .. } if is_call(sql) => sql.clone(),
        KeyExpr::Expression { sql, .. } => format!("({sql})"),
    }
}

/// Whether an element is the call of a function, which needs no parentheses.
fn is_call(sql: &str) -> bool {
    use rukh_syntax::sqlparser::ast::Expr;
    matches!(
        parse_expression(sql),
        Ok(Expr::Function(_) | Expr::Extract { .. } | Expr::Substring { .. } | Expr::Trim { .. })
    )
}

/// Returns names of columns, quoted where they have to be.
pub(crate) fn column_list(table: &Table, ids: &[ColumnId]) -> String {
    ids.iter()
        .map(|id| quoted(table.column_name(*id)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the lifetime of a table as SQL: `TTL = INTERVAL '30 days' FROM ts`.
pub(crate) fn lifetime_sql(table: &Table) -> Option<String> {
    let lifetime = table.options.lifetime?;
    let ttl = ttl_sql(lifetime.ttl_micros);
    Some(match lifetime.from {
        None => format!("TTL = {ttl}"),
        Some(column) => format!("TTL = {ttl} FROM {}", quoted(table.column_name(column))),
    })
}

/// Returns how long something lives as SQL: `INTERVAL '30 days'`, or seconds.
pub(crate) fn ttl_sql(micros: i64) -> String {
    match (micros % DAY_MICROS, micros % SECOND_MICROS) {
        (0, _) if micros == DAY_MICROS => "INTERVAL '1 day'".to_string(),
        (0, _) => format!("INTERVAL '{} days'", micros / DAY_MICROS),
        (_, 0) => (micros / SECOND_MICROS).to_string(),
        (_, rest) => format!("INTERVAL '{}.{rest:06} seconds'", micros / SECOND_MICROS),
    }
}
