//! Documents as rows of a type: the columns of `jsonb_populate_record` and its kin are its fields.
//!
//! | written                                       | becomes                                             |
//! |-----------------------------------------------|-----------------------------------------------------|
//! | `jsonb_populate_record(NULL::t, d) r`         | `jsonb_to_record(d) r (a INTEGER, b TEXT)`, spelled out |
//! | `json_populate_recordset(NULL::t, d)`         | `json_to_recordset(d) json_populate_recordset (…)`, likewise |
//! | `jsonb_populate_record(ROW(1, 'x')::t, d)`    | the same, with `(ROW(1, 'x')::t).a` where the document has no member `a` |

use std::ops::ControlFlow;

use rukh_error::SqlError;
use rukh_keys::{DataType, RecordField};
use rukh_syntax::make::nested;
use rukh_syntax::sqlparser::ast::{
    self, AccessExpr, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, Query, TableAlias,
    TableAliasColumnDef, TableFactor, TableFunctionArgs, Value, VisitorMut,
};
use rukh_syntax::{WalkMut, folded, found_data_type};

use crate::bind::spelling::casts;
use crate::bind::spelling::parameters::types::written_type;
use crate::bind::system::row_functions;

/// Spells out the functions in a query, whose types are in the place of their names.
///
/// # Errors
/// 0A000 where the type of the first argument is not written with it.
pub(crate) fn expand(query: &mut Query) -> Result<(), SqlError> {
    struct Expander;

    impl VisitorMut for Expander {
        type Break = SqlError;

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
            match expand_factor(factor) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        }
    }

    match query.walk_mut(&mut Expander) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn expand_factor(factor: &mut TableFactor) -> Result<(), SqlError> {
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
    let Some((fields, is_null)) = fields_of(base)? else {
        let message = format!("{function} takes a row with its type for its first argument here");
        return Err(SqlError::unsupported(message).with_hint("Write NULL::type or ROW(…)::type."));
    };
    let base_field = |field: &RecordField| Expr::CompoundFieldAccess {
        root: Box::new(nested(base.clone())),
        access_chain: vec![AccessExpr::Dot(Expr::Identifier(Ident::with_quote(
            '"',
            field.name.clone(),
        )))],
    };
    let others: Vec<Expr> = match is_null {
        true => Vec::new(),
        false => fields.iter().map(base_field).collect(),
    };
    let given = alias.as_ref().map_or(&[][..], |alias| alias.columns.as_slice());
    // Members are found by the names of the table, and shown by those of the alias.
    let shown: Vec<Ident> = given.iter().map(|column| column.name.clone()).collect();
    let relation = match alias {
        Some(alias) => alias.name.clone(),
        None => Ident::new(function),
    };
    let document = document.clone();
    let columns = fields.iter().map(|field| TableAliasColumnDef {
        name: Ident::with_quote('"', field.name.clone()),
        data_type: Some(written_type(field.ty)),
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
    row_functions::spell_out_over(factor, &others);
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

/// Returns the fields of a row whose type is written, and whether it is NULL; `None` of any other value.
///
/// # Errors
/// 42704 where there is no such type.
fn fields_of(base: &Expr) -> Result<Option<(&'static [RecordField], bool)>, SqlError> {
    let (value, ty) = match base {
        Expr::Cast { expr, data_type, .. } => (expr, data_type),
        Expr::Nested(inner) => return fields_of(inner),
        _ => return Ok(None),
    };
    let is_null = matches!(value.as_ref(), Expr::Value(value) if value.value == Value::Null);
    let ast::DataType::Custom(name, _) = ty else {
        return Ok(None);
    };
    match found_data_type(name) {
        Some(DataType::Record(of)) => Ok(Some((of.fields(), is_null))),
        Some(_) => Ok(None),
        None => Err(SqlError::statement(
            "42704",
            format!("type \"{name}\" does not exist"),
        )),
    }
}
