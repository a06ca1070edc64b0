//! The functions that a database defines, as `pg_proc` and the functions of definitions show them.

use rukh_catalog::{Catalog, Function, PUBLIC, Parameter, Returns, ValueType, Volatility};
use rukh_keys::DataType;
use rukh_syntax::quoted;

use super::source::{DATABASE, Source};
use super::table::{Cell, row};
use super::{lookup, types};
use crate::bind::system::oids;

/// The number of the language SQL.
const SQL: i64 = 14;

/// The type of rows of several columns.
const RECORD: i64 = 2249;

/// Returns the function with a number.
pub(super) fn numbered(catalog: &Catalog, oid: i64) -> Option<&Function> {
    let mut functions = catalog.functions();
    functions
        .find(|function| oids::object(function.id.0) == oid)
        .map(AsRef::as_ref)
}

/// Returns the numbers of the functions of a name, which are found by the search path unless it has a schema.
pub(super) fn named(source: &Source<'_>, name: &str) -> Vec<i64> {
    let Ok(name) = rukh_syntax::parse_object_name(name) else {
        return Vec::new();
    };
    let of = |schema: &str| -> Vec<i64> {
        let functions = source.catalog().functions_named(schema, &name.name);
        functions.map(|function| oids::object(function.id.0)).collect()
    };
    match &name.schema {
        Some(schema) => of(schema),
        None => {
            let found = source.path().into_iter().map(|schema| of(&schema));
            found
                .into_iter()
                .find(|found| !found.is_empty())
                .unwrap_or_default()
        }
    }
}

fn type_number(ty: &ValueType) -> i64 {
    match &ty.domain {
        Some(domain) => oids::object(domain.id),
        None => types::oid_of(&ty.ty),
    }
}

/// Returns the numbers of the types of the parameters.
pub(super) fn argument_types(function: &Function) -> Vec<i64> {
    let types = function.parameters.iter();
    types.map(|parameter| type_number(&parameter.ty)).collect()
}

/// Returns the parameters as `pg_get_function_arguments` shows them, with or without their defaults.
pub(super) fn arguments(function: &Function, defaults: bool) -> String {
    let shown = function.parameters.iter().map(|parameter| {
        let Parameter { name, ty, default } = parameter;
        let name = name.as_ref().map(|name| format!("{} ", quoted(name)));
        let default = default.as_ref().filter(|_| defaults);
        let default = default.map(|default| format!(" DEFAULT {default}"));
        format!(
            "{}{}{}",
            name.unwrap_or_default(),
            ty.sql_name(),
            default.unwrap_or_default()
        )
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns what a call gives as `pg_get_function_result` shows it.
pub(super) fn result(function: &Function) -> String {
    match &function.returns {
        Returns::Value(ty) => ty.sql_name(),
        Returns::Values(ty) => format!("SETOF {}", ty.sql_name()),
        Returns::Table(columns) => {
            let columns = columns
                .iter()
                .map(|(name, ty)| format!("{} {}", quoted(name), ty.sql_name()));
            format!("TABLE({})", columns.collect::<Vec<_>>().join(", "))
        }
        Returns::Relation { schema, name } => match schema.as_str() {
            PUBLIC => format!("SETOF {}", quoted(name)),
            schema => format!("SETOF {}.{}", quoted(schema), quoted(name)),
        },
    }
}

/// Returns the statement that makes a function.
pub(super) fn definition(function: &Function) -> String {
    let volatility = match function.volatility {
        Volatility::Immutable => Some(" IMMUTABLE"),
        Volatility::Stable => Some(" STABLE"),
        Volatility::Volatile => None,
    };
    let strict = function.strict.then_some(" STRICT");
    let options: String = volatility.into_iter().chain(strict).collect();
    let options = if options.is_empty() {
        options
    } else {
        format!("{options}\n")
    };
    let body = match function.is_expression {
        true => format!("RETURN {}", function.source),
        false => {
            // A body may have the quotes of another.
            let mut quotes = "$function$".to_string();
            while function.source.contains(&quotes) {
                quotes.insert(quotes.len() - 1, 'x');
            }
            format!("AS {quotes}{}{quotes}", function.source)
        }
    };
    format!(
        "CREATE OR REPLACE FUNCTION {}.{}({})\n RETURNS {}\n LANGUAGE sql\n{options}{body}\n",
        quoted(&function.schema),
        quoted(&function.name),
        arguments(function, true),
        result(function),
    )
}

/// The rows of `information_schema.routines`.
pub(super) fn routines(source: &Source<'_>) -> Vec<Vec<Cell>> {
    let row = |function: &std::sync::Arc<Function>| {
        let (data_type, name) = match &function.returns {
            Returns::Value(ty) | Returns::Values(ty) => match ty.ty {
                DataType::Enum(of) => ("USER-DEFINED".to_string(), of.definition().name.clone()),
                DataType::Array(_) => ("ARRAY".to_string(), types::type_name(&ty.ty)),
                own => (own.postgres_name(), types::type_name(&own)),
            },
            Returns::Table(_) => ("record".to_string(), "record".to_string()),
            Returns::Relation { name, .. } => ("USER-DEFINED".to_string(), name.clone()),
        };
        row![
            DATABASE,
            &function.schema,
            format!("{}_{}", function.name, oids::object(function.id.0)),
            DATABASE,
            &function.schema,
            &function.name,
            "FUNCTION",
            data_type,
            name,
            if function.is_expression { "SQL" } else { "EXTERNAL" },
            if function.is_expression {
                Cell::Null
            } else {
                function.source.as_str().into()
            },
            "SQL",
            if function.volatility == Volatility::Immutable {
                "YES"
            } else {
                "NO"
            },
        ]
    };
    source.catalog().functions().map(row).collect()
}

/// The rows of `pg_proc`.
pub(super) fn rows(source: &Source<'_>) -> Vec<Vec<Cell>> {
    let functions = source.catalog().functions();
    functions.map(|function| row_of(source, function)).collect()
}

fn row_of(source: &Source<'_>, function: &Function) -> Vec<Cell> {
    let null = || Cell::Null;
    let parameters: Vec<i64> = function
        .parameters
        .iter()
        .map(|parameter| type_number(&parameter.ty))
        .collect();
    let result = match &function.returns {
        Returns::Value(ty) | Returns::Values(ty) => type_number(ty),
        Returns::Table(columns) => match columns.as_slice() {
            [(_, ty)] => type_number(ty),
            _ => RECORD,
        },
        Returns::Relation { .. } => RECORD,
    };
    let columns = match &function.returns {
        Returns::Table(columns) => columns.as_slice(),
        _ => &[],
    };
    let all: Vec<i64> = parameters
        .iter()
        .copied()
        .chain(columns.iter().map(|(_, ty)| type_number(ty)))
        .collect();
    let modes = parameters.iter().map(|_| "i").chain(columns.iter().map(|_| "t"));
    let modes = modes.map(|mode| Some(mode.to_string())).collect();
    let names = function
        .parameters
        .iter()
        .map(|parameter| parameter.name.clone().unwrap_or_default());
    let names: Vec<String> = names
        .chain(columns.iter().map(|(name, _)| name.clone()))
        .collect();
    let is_named = names.iter().any(|name| !name.is_empty());
    let is_set = function.returns.is_set();
    row![
        oids::object(function.id.0),
        &function.name,
        oids::schema(&function.schema),
        lookup::owner(source, function.id.0),
        SQL,
        100,
        if is_set { 1000 } else { 0 },
        0,
        0,
        "f",
        false,
        false,
        function.strict,
        is_set,
        match function.volatility {
            Volatility::Immutable => "i",
            Volatility::Stable => "s",
            Volatility::Volatile => "v",
        },
        "u",
        parameters.len(),
        function.parameters.len() - function.arity().start(),
        result,
        parameters,
        if columns.is_empty() { null() } else { all.into() },
        if columns.is_empty() {
            null()
        } else {
            Cell::Texts(modes)
        },
        if is_named {
            Cell::Texts(names.into_iter().map(Some).collect())
        } else {
            null()
        },
        null(),
        null(),
        if function.is_expression {
            ""
        } else {
            &function.source
        },
        null(),
        if function.is_expression {
            function.source.as_str().into()
        } else {
            null()
        },
        null(),
        null(),
    ]
}
