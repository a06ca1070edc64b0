//! Documents as rows of a table: the columns of `jsonb_populate_record` and its kin are those of the table.
//!
//! | written                                       | becomes                                             |
//! |-----------------------------------------------|-----------------------------------------------------|
//! | `jsonb_populate_record(NULL::t, d) r`         | `jsonb_to_record(d) r (a INTEGER, b TEXT)`, spelled out |
//! | `json_populate_recordset(NULL::t, d)`         | `json_to_recordset(d) json_populate_recordset (…)`, likewise |
//!
//! A row that is not NULL, whose values stand where the document has none, is refused.

use std::ops::ControlFlow;

use rukh_catalog::{Catalog, PUBLIC};
use rukh_error::SqlError;
use rukh_keys::DataType;
use rukh_syntax::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, TableAlias, TableAliasColumnDef,
    TableFactor, TableFunctionArgs, Value, VisitorMut,
};
use rukh_syntax::{ObjectName as Named, WalkMut, folded, found_data_type};

use crate::bind::spelling::casts;
use crate::bind::spelling::parameters::types::written_type;
use crate::bind::system::row_functions;

/// Spells out the functions in a query.
///
/// # Errors
/// 0A000 where the first argument is no NULL of a table or view.
pub(crate) fn expand(query: &mut Query, catalog: &Catalog) -> Result<(), SqlError> {
    struct Expander<'c>(&'c Catalog);

    impl VisitorMut for Expander<'_> {
        type Break = SqlError;

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
            match expand_factor(factor, self.0) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        }
    }

    match query.walk_mut(&mut Expander(catalog)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn expand_factor(factor: &mut TableFactor, catalog: &Catalog) -> Result<(), SqlError> {
    let (name, arguments, alias) = match factor {
        TableFactor::Table {
            name,
            args: Some(TableFunctionArgs { args, .. }),
            alias,
            ..
        }
        | TableFactor::Function {
            name, args, alias, ..
        } => (name, args, alias),
        _ => return Ok(()),
    };
    let Some(function) = name.0.last().and_then(|part| part.as_ident()).map(folded) else {
        return Ok(());
    };
    let becomes = match function.as_str() {
        "json_populate_record" => "json_to_record",
        "jsonb_populate_record" => "jsonb_to_record",
        "json_populate_recordset" => "json_to_recordset",
        "jsonb_populate_recordset" => "jsonb_to_recordset",
        _ => return Ok(()),
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(base)), document] = arguments.as_slice() else {
        return Ok(());
    };
    let Some(columns) = columns_of(base, catalog)? else {
        let message = format!("{function} takes NULL::table for its first argument here");
        return Err(SqlError::unsupported(message));
    };
    let given = alias.as_ref().map_or(&[][..], |alias| alias.columns.as_slice());
    // Members are found by the names of the table, and shown by those of the alias.
    let shown: Vec<Ident> = given.iter().map(|column| column.name.clone()).collect();
    let relation = match alias {
        Some(alias) => alias.name.clone(),
        None => Ident::new(function),
    };
    let (document, columns) = (document.clone(), columns.into_iter());
    let columns = columns.map(|(name, ty)| TableAliasColumnDef {
        name: Ident::with_quote('"', name),
        data_type: Some(written_type(ty)),
    });
    *factor = TableFactor::Function {
        lateral: true,
        name: ObjectName::from(vec![Ident::new(becomes)]),
        args: vec![document],
        with_ordinality: false,
        alias: Some(TableAlias {
            explicit: true,
            name: relation,
            columns: columns.collect(),
            at: None,
        }),
    };
    row_functions::spell_out(factor);
    if let TableFactor::Derived {
        alias: Some(alias), ..
    } = factor
    {
        for (column, name) in alias.columns.iter_mut().zip(shown) {
            column.name = name;
        }
    }
    casts::spell_out(factor);
    Ok(())
}

/// Returns the columns of the relation whose row a NULL is; `None` of any other value.
fn columns_of(base: &Expr, catalog: &Catalog) -> Result<Option<Vec<(String, DataType)>>, SqlError> {
    let (value, ty) = match base {
        Expr::Cast { expr, data_type, .. } => (expr, data_type),
        Expr::Nested(inner) => return columns_of(inner, catalog),
        _ => return Ok(None),
    };
    let is_null = matches!(value.as_ref(), Expr::Value(value) if value.value == Value::Null);
    let ast::DataType::Custom(name, _) = ty else {
        return Ok(None);
    };
    if let (true, Some(DataType::Record(of))) = (is_null, found_data_type(name)) {
        let fields = of.fields().iter();
        return Ok(Some(fields.map(|field| (field.name.clone(), field.ty)).collect()));
    }
    let (true, Ok(name)) = (is_null, Named::from_ast(name)) else {
        return Ok(None);
    };
    let schema = name.schema.as_deref().unwrap_or(PUBLIC);
    if let Some(view) = catalog.view_named(schema, &name.name) {
        let columns = view.columns.iter();
        return Ok(Some(
            columns.map(|column| (column.name.clone(), column.ty)).collect(),
        ));
    }
    match catalog.table_named(schema, &name.name) {
        Ok(table) => {
            let columns = table.declared_columns().iter();
            Ok(Some(
                columns.map(|column| (column.name.clone(), column.ty)).collect(),
            ))
        }
        Err(_) => {
            let message = format!("type \"{}\" does not exist", name.name);
            Err(SqlError::statement("42704", message))
        }
    }
}
