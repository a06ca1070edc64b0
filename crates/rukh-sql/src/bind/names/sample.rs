//! TABLESAMPLE: some rows of a table, each with the same chance.
//!
//! | written                              | becomes                                                   |
//! |--------------------------------------|-----------------------------------------------------------|
//! | `t TABLESAMPLE BERNOULLI (p)`        | `(SELECT * FROM t WHERE random() * 100 < p) AS t`         |
//! | `… REPEATABLE (s)`                   | the chance is drawn from the primary key and `s`, as MD5   |
//!
//! `SYSTEM` is the same: there are no pages that rows share. None for a percentage of 0 or less, all from 100 on. DataFusion
//! passes over TABLESAMPLE in silence, so it is spelled out before names are resolved.

use std::ops::ControlFlow;

use rukh_catalog::{Catalog, Table};
use rukh_syntax::sqlparser::ast::{
    Ident, Query, TableAlias, TableFactor, TableSample, TableSampleKind, TableSampleMethod,
    TableSampleModifier, VisitorMut,
};

use crate::bind::spelling::parsing::parse;
use rukh_error::SqlError;
use rukh_syntax::{Statement, WalkMut, folded, quoted};

/// Spells out samples; views are in their places already, and the past is not.
pub(crate) fn expand(query: &mut Query, catalog: &Catalog) -> Result<(), SqlError> {
    match query.walk_mut(&mut Expander { catalog }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Expander<'a> {
    catalog: &'a Catalog,
}

impl VisitorMut for Expander<'_> {
    type Break = SqlError;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        match sampled(self.catalog, factor) {
            Ok(None) => {}
            Ok(Some(subquery)) => *factor = subquery,
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

/// Returns what stands for a FROM item with TABLESAMPLE.
fn sampled(catalog: &Catalog, factor: &TableFactor) -> Result<Option<TableFactor>, SqlError> {
    if let TableFactor::Derived { sample: Some(_), .. } = factor {
        return Err(SqlError::unsupported(
            "TABLESAMPLE of anything but a table is not supported",
        ));
    }
    let mut relation = factor.clone();
    let TableFactor::Table {
        name, alias, sample, ..
    } = &mut relation
    else {
        return Ok(None);
    };
    let Some(TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
        sample.take()
    else {
        return Ok(None);
    };
    let parts: Vec<&Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
    let (schema, ident) = match parts.as_slice() {
        [ident] => ("public".to_string(), *ident),
        [schema, ident] => (folded(schema), *ident),
        _ => return Err(SqlError::unsupported("a table has a name of one or two parts")),
    };
    let bare = folded(ident);
    let table = catalog.table_named(&schema, &bare)?;
    let condition = condition(table, &sample)?;
    let mut alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: ident.clone(),
        columns: Vec::new(),
        at: None,
    });
    alias.name = Ident::with_quote('"', folded(&alias.name));
    let Statement::Query(subquery) = parse(&format!("SELECT * FROM {relation} WHERE {condition}"))? else {
        return Err(SqlError::internal("a sample is a query"));
    };
    Ok(Some(TableFactor::Derived {
        lateral: false,
        subquery,
        alias: Some(alias),
        sample: None,
    }))
}

/// Writes the test of a row.
fn condition(table: &Table, sample: &TableSample) -> Result<String, SqlError> {
    let is_known = matches!(sample.modifier, TableSampleModifier::TableSample)
        && matches!(
            sample.name,
            Some(TableSampleMethod::Bernoulli | TableSampleMethod::System)
        )
        && sample.bucket.is_none()
        && sample.offset.is_none();
    let percent = sample
        .quantity
        .as_ref()
        .filter(|quantity| quantity.unit.is_none());
    let (true, Some(percent)) = (is_known, percent) else {
        return Err(SqlError::unsupported(format!("{sample} is not supported"))
            .with_hint("Samples are TABLESAMPLE BERNOULLI (percent) [REPEATABLE (seed)]."));
    };
    let percent = &percent.value;
    let Some(seed) = &sample.seed else {
        return Ok(format!("random() * 100 < ({percent})"));
    };
    let mut key: Vec<String> = Vec::new();
    for id in table
        .primary_key
        .iter()
        .flat_map(|element| element.expr.columns())
    {
        let text = format!("CAST({} AS VARCHAR)", quoted(table.column_name(id)));
        if !key.contains(&text) {
            key.push(text);
        }
    }
    // The first 32 bits of the hash, as text of eight digits, beside the wanted part of 2^32.
    let drawn = format!(
        "left(md5(concat_ws('/', CAST({} AS VARCHAR), {})), 8)",
        seed.value,
        key.join(", ")
    );
    let limit = format!("lpad(to_hex(CAST(({percent}) * 42949672.96 AS BIGINT)), 8, '0')");
    Ok(format!(
        "CASE WHEN ({percent}) >= 100 THEN true WHEN ({percent}) > 0 THEN {drawn} < {limit} ELSE false END"
    ))
}
