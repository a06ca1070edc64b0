//! Indexes that actions of ALTER TABLE name.

use rukh_catalog::{Catalog, Index, KeyElement, KeyExpr, Table};
use rukh_keys::SortOrder;
use rukh_syntax::Name;

use crate::exec::session_settings::notice::Notice;
use crate::sql::ddl::names::{check_free, check_new_constraint};
use rukh_error::SqlError;

/// Fails if the table has no such index.
pub(super) fn check_index(table: &Table, name: &Name) -> Result<(), SqlError> {
    if table.index_named(&name.text).is_some() || table.key_name().as_ref() == Some(&name.text) {
        return Ok(());
    }
    let message = format!(
        "index \"{}\" for table \"{}\" does not exist",
        name.text, table.name
    );
    Err(SqlError::statement("42704", message).at(name.position))
}

/// Makes a UNIQUE index of columns a constraint, which has its name; returns a notice if that is another.
///
/// Fails with 42704 if there is no such index, 42809 if it is not one of columns alone, ascending, 55000 if it is a constraint.
pub(super) fn use_index(
    catalog: &Catalog,
    table: &mut Table,
    name: &Name,
    index: &Name,
) -> Result<Option<Notice>, SqlError> {
    let text = &index.text;
    let Some(at) = table.indexes.iter().position(|known| known.name == *text) else {
        let message = format!("index \"{text}\" does not exist");
        return Err(SqlError::statement("42704", message).at(index.position));
    };
    if let Some(reason) = unfit(&table.indexes[at]) {
        let detail = "Cannot create a primary key or unique constraint using such an index.";
        return Err(SqlError::statement("42809", reason)
            .with_detail(detail)
            .at(index.position));
    }
    if table.indexes[at].constraint {
        let message = format!("index \"{text}\" is already associated with a constraint");
        return Err(SqlError::statement("55000", message).at(index.position));
    }
    let mut notice = None;
    if name.text != *text {
        check_new_constraint(table, name)?;
        check_free(catalog, &table.schema, name)?;
        notice = Some(Notice::new(format!(
            "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{text}\" to \"{}\"",
            name.text
        )));
    }
    let known = &mut table.indexes[at];
    (known.constraint, known.name) = (true, name.text.clone());
    Ok(notice)
}

/// Returns why an index cannot be a constraint.
fn unfit(index: &Index) -> Option<String> {
    let name = &index.name;
    let is_column = |element: &KeyElement| matches!(element.expr, KeyExpr::Column(_));
    let descends = |element: &KeyElement| element.order == SortOrder::Desc;
    if !index.unique {
        return Some(format!("\"{name}\" is not a unique index"));
    }
    if !index.elements.iter().all(is_column) {
        return Some(format!("index \"{name}\" contains expressions"));
    }
    if index.predicate.is_some() {
        return Some(format!("\"{name}\" is a partial index"));
    }
    let nth = index.elements.iter().position(descends)? + 1;
    Some(format!(
        "index \"{name}\" column number {nth} does not have default sorting behavior"
    ))
}
