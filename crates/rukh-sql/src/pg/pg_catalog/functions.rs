//! The functions that clients call, each on the cells of one row.
//!
//! They read the definitions and settings of the statement that runs. `regclassin` and its kin are what
//! `syntax` makes of casts to `regclass` and such; PostgreSQL has functions of these names for the same.

use std::hash::{Hash, Hasher};
use std::ops::RangeInclusive;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use rukh_catalog::{Catalog, GrantTarget, Rights, Role};
use rukh_syntax::quoted;

use super::lookup::{self, Sized};
use super::relations::{Relation, relation};
use super::source::{DATABASE, Source};
use super::table::{Cell, Kind, array, cells};
use super::{arrays, defined, procs, spelling, texts, types, view_text};
use crate::bind::names::functions::is_temporary;
use crate::bind::system::oids;
use crate::pg::current::CurrentStatement;
use crate::pg::sequence_values::last_value;
use rukh_error::SqlError;

/// Gives the value of a call.
type Run = fn(&Source<'_>, &[Cell]) -> Result<Cell, SqlError>;

/// A function.
struct Definition {
    name: &'static str,
    arguments: RangeInclusive<usize>,
    gives: Kind,
    /// Whether it is called with NULLs; otherwise NULL gives NULL.
    takes_nulls: bool,
    /// Whether it is called for each row.
    volatile: bool,
    run: Run,
}

const fn stable(name: &'static str, arguments: RangeInclusive<usize>, gives: Kind, run: Run) -> Definition {
    Definition {
        name,
        arguments,
        gives,
        takes_nulls: false,
        volatile: false,
        run,
    }
}

const fn volatile(name: &'static str, arguments: RangeInclusive<usize>, gives: Kind, run: Run) -> Definition {
    Definition {
        volatile: true,
        ..stable(name, arguments, gives, run)
    }
}

const fn with_nulls(
    name: &'static str,
    arguments: RangeInclusive<usize>,
    gives: Kind,
    run: Run,
) -> Definition {
    Definition {
        takes_nulls: true,
        ..stable(name, arguments, gives, run)
    }
}

const YES: Run = |_, _| Ok(Cell::Bool(true));
const NO: Run = |_, _| Ok(Cell::Bool(false));
const NONE: Run = |_, _| Ok(Cell::Null);

/// Shows the parameters of a function, with or without their defaults.
fn shown_arguments(source: &Source<'_>, number: i64, defaults: bool) -> Cell {
    let built_in = procs::numbered(number).map(procs::Proc::shown_arguments);
    let defined =
        || defined::numbered(source.catalog(), number).map(|found| defined::arguments(found, defaults));
    built_in.or_else(defined).into()
}

const FUNCTIONS: &[Definition] = &[
    // Users, databases, addresses.
    stable("version", 0..=0, Kind::Text, |_, _| Ok(version().into())),
    stable("current_database", 0..=0, Kind::Name, |_, _| Ok(DATABASE.into())),
    stable("current_catalog", 0..=0, Kind::Name, |_, _| Ok(DATABASE.into())),
    stable("current_schema", 0..=0, Kind::Name, |source, _| {
        let settings = &source.context.client.settings;
        let (user, temporary) = (settings.acting_role(), &settings.temporary_schema);
        Ok(settings
            .search_path
            .current(source.catalog(), user, temporary)
            .into())
    }),
    stable("current_schemas", 1..=1, Kind::TextArray, |source, given| {
        let (temporary, others): (Vec<String>, Vec<String>) =
            source.path().into_iter().partition(|schema| is_temporary(schema));
        let schemas = match given[0] == Cell::Bool(true) {
            true => temporary
                .into_iter()
                .chain(["pg_catalog".to_string()])
                .chain(others)
                .collect(),
            false => others,
        };
        Ok(Cell::Texts(schemas.into_iter().map(Some).collect()))
    }),
    stable("current_user", 0..=0, Kind::Name, |source, _| {
        Ok(source.user().into())
    }),
    stable("current_role", 0..=0, Kind::Name, |source, _| {
        Ok(source.user().into())
    }),
    stable("session_user", 0..=0, Kind::Name, |source, _| {
        Ok((&*source.context.client.session_user).into())
    }),
    stable("user", 0..=0, Kind::Name, |source, _| Ok(source.user().into())),
    volatile("pg_backend_pid", 0..=0, Kind::Int4, |source, _| {
        Ok(Cell::Int(source.context.client.pid.into()))
    }),
    stable("pg_is_in_recovery", 0..=0, Kind::Bool, NO),
    stable("pg_is_wal_replay_paused", 0..=0, Kind::Bool, NO),
    stable("inet_server_addr", 0..=0, Kind::Text, NONE),
    stable("inet_server_port", 0..=0, Kind::Int4, NONE),
    stable("inet_client_addr", 0..=0, Kind::Text, NONE),
    stable("inet_client_port", 0..=0, Kind::Int4, NONE),
    stable("statement_timestamp", 0..=0, Kind::TimestampTz, |source, _| {
        Ok(Cell::Int(source.context.began))
    }),
    stable("pg_postmaster_start_time", 0..=0, Kind::TimestampTz, |_, _| {
        Ok(Cell::Int(*STARTED))
    }),
    stable("pg_conf_load_time", 0..=0, Kind::TimestampTz, |_, _| {
        Ok(Cell::Int(*STARTED))
    }),
    // Settings.
    volatile("current_setting", 1..=2, Kind::Text, |source, given| {
        let name = given[0].to_text().to_ascii_lowercase();
        match source.context.client.settings.value(&name) {
            Ok(value) => Ok(value.into()),
            Err(_) if given.get(1) == Some(&Cell::Bool(true)) => Ok(Cell::Null),
            Err(error) => Err(error),
        }
    }),
    volatile("set_config", 3..=3, Kind::Text, |source, given| {
        let (name, value) = (given[0].to_text().to_ascii_lowercase(), given[1].to_text());
        if name == "role" || name == "session_authorization" {
            let error = SqlError::unsupported(format!("set_config does not set the {name}"));
            return Err(error.with_hint("Use SET ROLE or SET SESSION AUTHORIZATION, or these with LOCAL."));
        }
        source
            .context
            .client
            .set(&name, &value, given[2] == Cell::Bool(true))
            .map(Cell::from)
    }),
    // Texts of definitions.
    stable("pg_get_indexdef", 1..=3, Kind::Text, |source, given| {
        let found = relation(source.catalog(), oid(&given[0]));
        let column = given.get(1).map_or(0, oid);
        Ok(found
            .and_then(|found| match usize::try_from(column) {
                Ok(0) | Err(_) => texts::index_definition(&found, given.get(2) == Some(&Cell::Bool(true))),
                Ok(at) => texts::index_column(&found, at),
            })
            .into())
    }),
    stable("pg_get_constraintdef", 1..=2, Kind::Text, |source, given| {
        let catalog = source.catalog();
        let mut all = catalog
            .tables()
            .flat_map(|table| texts::constraints(catalog, table));
        let found = all.find(|constraint| constraint.oid == oid(&given[0]));
        let of_domain = || {
            let number = oid(&given[0]);
            let domains = catalog.types().filter_map(|ty| ty.domain());
            let mut checks = domains.flat_map(|domain| {
                let checks = domain.checks.iter().enumerate();
                checks.map(|(at, check)| (oids::domain_check(domain.id, at), check))
            });
            let (_, check) = checks.find(|(oid, _)| *oid == number)?;
            let condition = texts::domain_check(check);
            Some(match given.get(1) == Some(&Cell::Bool(true)) {
                true => format!("CHECK ({condition})"),
                false => format!("CHECK ({})", texts::in_parentheses(&condition)),
            })
        };
        let pretty = given.get(1) == Some(&Cell::Bool(true));
        let definition = found.map(|constraint| match pretty {
            true => constraint.pretty_definition(),
            false => constraint.definition,
        });
        Ok(definition.or_else(of_domain).into())
    }),
    stable("pg_get_viewdef", 1..=2, Kind::Text, |source, given| {
        let number = lookup::relation_number(source, &given[0])?;
        Ok(match relation(source.catalog(), oid(&number)) {
            Some(Relation::View(view)) => view_text::definition(&view.sql, &source.path()).into(),
            Some(Relation::Table(table)) => {
                let query = table
                    .materialized
                    .as_ref()
                    .map(|materialized| &materialized.query.sql);
                query.map(|sql| view_text::definition(sql, &source.path())).into()
            }
            _ => Cell::Null,
        })
    }),
    stable("pg_get_expr", 2..=3, Kind::Text, |_, given| {
        match (&given[0], given.get(2)) {
            (Cell::Text(sql), Some(Cell::Bool(true))) => Ok(texts::without_parentheses(sql).into()),
            (sql, _) => Ok(sql.clone()),
        }
    }),
    stable("pg_get_ruledef", 1..=2, Kind::Text, NONE),
    stable("pg_get_triggerdef", 1..=2, Kind::Text, NONE),
    stable("pg_get_functiondef", 1..=1, Kind::Text, |source, given| {
        Ok(defined::numbered(source.catalog(), oid(&given[0]))
            .map(defined::definition)
            .into())
    }),
    stable("pg_get_function_result", 1..=1, Kind::Text, |source, given| {
        let built_in = procs::numbered(oid(&given[0])).map(procs::Proc::shown_result);
        let defined = || defined::numbered(source.catalog(), oid(&given[0])).map(defined::result);
        Ok(built_in.or_else(defined).into())
    }),
    stable("pg_get_function_arguments", 1..=1, Kind::Text, |source, given| {
        Ok(shown_arguments(source, oid(&given[0]), true))
    }),
    stable(
        "pg_get_function_identity_arguments",
        1..=1,
        Kind::Text,
        |source, given| Ok(shown_arguments(source, oid(&given[0]), false)),
    ),
    stable("pg_get_function_sqlbody", 1..=1, Kind::Text, |source, given| {
        let found = defined::numbered(source.catalog(), oid(&given[0]));
        let found = found.filter(|function| function.is_expression);
        Ok(found.map(|function| format!("RETURN {}", function.source)).into())
    }),
    stable("pg_get_partkeydef", 1..=1, Kind::Text, NONE),
    stable("pg_get_partition_constraintdef", 1..=1, Kind::Text, NONE),
    stable("pg_get_statisticsobjdef", 1..=1, Kind::Text, NONE),
    stable("pg_get_statisticsobjdef_columns", 1..=1, Kind::Text, NONE),
    stable("pg_get_userbyid", 1..=1, Kind::Name, |source, given| {
        Ok(lookup::role_name(source, oid(&given[0])).into())
    }),
    volatile("pg_sequence_last_value", 1..=1, Kind::Int8, |source, given| {
        let number = lookup::relation_number(source, &given[0])?;
        let Some(Relation::Sequence(sequence)) = relation(source.catalog(), oid(&number)) else {
            return Ok(Cell::Null);
        };
        let (last, is_called) = last_value(&source.context.engine, sequence)?;
        Ok(if is_called { Cell::Int(last) } else { Cell::Null })
    }),
    stable("pg_get_serial_sequence", 2..=2, Kind::Text, |source, given| {
        serial_sequence(source, given)
    }),
    with_nulls("format_type", 2..=2, Kind::Text, |source, given| {
        let modifier = match &given[1] {
            Cell::Int(modifier) => Some(*modifier),
            _ => None,
        };
        Ok(match &given[0] {
            Cell::Null => Cell::Null,
            number if oid(number) == 0 => "-".into(),
            number => types::name_in(source.catalog(), oid(number), modifier)
                .unwrap_or_else(|| "???".to_string())
                .into(),
        })
    }),
    // Comments.
    stable("obj_description", 1..=2, Kind::Text, |source, given| {
        let (catalog, of) = (source.catalog(), oid(&given[0]));
        let comment = lookup::comment(catalog, of, 0);
        Ok(comment.or_else(|| texts::constraint_comment(catalog, of)).into())
    }),
    stable("col_description", 2..=2, Kind::Text, |source, given| {
        Ok(lookup::comment(source.catalog(), oid(&given[0]), oid(&given[1])).into())
    }),
    stable("shobj_description", 2..=2, Kind::Text, NONE),
    // What is seen without its schema.
    stable("pg_table_is_visible", 1..=1, Kind::Bool, |source, given| {
        let found = relation(source.catalog(), oid(&given[0]));
        Ok(found.map(|found| lookup::is_visible(source, &found)).into())
    }),
    stable("pg_type_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_function_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_operator_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_opclass_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_opfamily_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_collation_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_conversion_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_statistics_obj_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_ts_config_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_ts_dict_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_ts_parser_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_ts_template_is_visible", 1..=1, Kind::Bool, YES),
    stable("pg_relation_is_publishable", 1..=1, Kind::Bool, NO),
    stable("pg_is_other_temp_schema", 1..=1, Kind::Bool, NO),
    stable("pg_my_temp_schema", 0..=0, Kind::Oid, |_, _| Ok(Cell::Int(0))),
    // Sizes.
    volatile("pg_relation_size", 1..=2, Kind::Int8, |source, given| {
        size(source, &given[0], Sized::Itself)
    }),
    volatile("pg_table_size", 1..=1, Kind::Int8, |source, given| {
        size(source, &given[0], Sized::Itself)
    }),
    volatile("pg_indexes_size", 1..=1, Kind::Int8, |source, given| {
        size(source, &given[0], Sized::Indexes)
    }),
    volatile("pg_total_relation_size", 1..=1, Kind::Int8, |source, given| {
        size(source, &given[0], Sized::All)
    }),
    volatile("pg_database_size", 1..=1, Kind::Int8, |source, _| {
        lookup::database_size(source).map(Cell::from)
    }),
    volatile("pg_tablespace_size", 1..=1, Kind::Int8, |source, _| {
        lookup::database_size(source).map(Cell::from)
    }),
    stable("pg_size_pretty", 1..=1, Kind::Text, |_, given| {
        Ok(lookup::pretty_size(match &given[0] {
            Cell::Float(value) => *value as i64,
            other => oid(other),
        })
        .into())
    }),
    stable("pg_tablespace_location", 1..=1, Kind::Text, |_, _| Ok("".into())),
    stable("pg_relation_filenode", 1..=1, Kind::Oid, |_, given| {
        Ok(given[0].clone())
    }),
    // Rights.
    stable("has_any_column_privilege", 2..=3, Kind::Bool, |source, given| {
        may_use(source, given, |catalog, role, object| {
            let columns = catalog.columns_of(object).into_iter();
            columns.fold(Rights::NONE, |rights, (column, _)| {
                rights.with(catalog.rights_on_column(role, object, column))
            })
        })
    }),
    stable("has_column_privilege", 3..=4, Kind::Bool, |source, given| {
        let [before @ .., name, column, words] = given else {
            return Ok(Cell::Null);
        };
        let found = lookup::relation_number(source, name)?;
        let Some(found) = relation(source.catalog(), oid(&found)) else {
            return Ok(Cell::Null);
        };
        let attributes = found.attributes();
        let place = match column {
            Cell::Int(number) => usize::try_from(*number - 1)
                .ok()
                .filter(|at| *at < attributes.len()),
            column => {
                let text = column.to_text();
                let place = attributes.iter().position(|attribute| attribute.name == text);
                if place.is_none() {
                    let message = format!(
                        "column \"{text}\" of relation \"{}\" does not exist",
                        found.name()
                    );
                    return Err(SqlError::statement("42703", message));
                }
                place
            }
        };
        let Some(place) = place else {
            return Ok(Cell::Null);
        };
        let given = [before, &[name.clone(), words.clone()]].concat();
        may_use(source, &given, |catalog, role, object| {
            let column = catalog.columns_of(object).get(place).map(|(number, _)| *number);
            column.map_or(Rights::NONE, |column| {
                catalog.rights_on_column(role, object, column)
            })
        })
    }),
    stable("has_database_privilege", 2..=3, Kind::Bool, |source, given| {
        let [user @ .., _, words] = given else {
            return Ok(Cell::Null);
        };
        lookup::has_rights(source, user.first(), &words.to_text(), |_, role| {
            match role.superuser {
                true => Rights::ALL,
                false => role.granted(&GrantTarget::Database),
            }
        })
    }),
    stable("has_function_privilege", 2..=3, Kind::Bool, YES),
    stable("has_language_privilege", 2..=3, Kind::Bool, YES),
    stable("has_schema_privilege", 2..=3, Kind::Bool, |source, given| {
        let [user @ .., schema, words] = given else {
            return Ok(Cell::Null);
        };
        let named = lookup::schemas(source.catalog()).into_iter();
        let mut named = named
            .filter(|name| *schema == Cell::Text(name.clone()) || *schema == Cell::Int(oids::schema(name)));
        let Some(name) = named.next_back() else {
            return Err(SqlError::statement(
                "3F000",
                format!("schema \"{}\" does not exist", schema.to_text()),
            ));
        };
        let may_all_look = ["public", "pg_catalog", "information_schema"].contains(&name.as_str());
        lookup::has_rights(source, user.first(), &words.to_text(), |catalog, role| {
            let usage = if may_all_look { Rights::USAGE } else { Rights::NONE };
            catalog.rights_in(role, &name).with(usage)
        })
    }),
    stable("has_sequence_privilege", 2..=3, Kind::Bool, may_use_relation),
    stable("has_table_privilege", 2..=3, Kind::Bool, may_use_relation),
    stable("has_tablespace_privilege", 2..=3, Kind::Bool, YES),
    stable("has_type_privilege", 2..=3, Kind::Bool, YES),
    stable("pg_has_role", 2..=3, Kind::Bool, lookup::has_role),
    stable("row_security_active", 1..=1, Kind::Bool, NO),
    // Text of values.
    stable("pg_encoding_to_char", 1..=1, Kind::Name, |_, given| {
        Ok(if oid(&given[0]) == 6 { "UTF8" } else { "" }.into())
    }),
    stable("pg_char_to_encoding", 1..=1, Kind::Int4, |_, given| {
        let utf8 = matches!(given[0].to_text().to_ascii_uppercase().as_str(), "UTF8" | "UTF-8");
        Ok(Cell::Int(if utf8 { 6 } else { -1 }))
    }),
    stable("pg_client_encoding", 0..=0, Kind::Name, |_, _| Ok("UTF8".into())),
    stable("getdatabaseencoding", 0..=0, Kind::Name, |_, _| Ok("UTF8".into())),
    with_nulls("format", 1..=32, Kind::Text, |_, given| spelling::format(given)),
    stable("parse_ident", 1..=2, Kind::TextArray, |_, given| {
        spelling::parse_ident(given)
    }),
    // What `type_tree` finds nothing of.
    stable("no_oid", 0..=0, Kind::Oid, NONE),
    // Numbers that `type_tree` has collected.
    stable("as_oids", 1..=1, Kind::OidArray, |_, given| {
        Ok(match &given[0] {
            Cell::Texts(texts) => Cell::Ints(
                texts
                    .iter()
                    .flatten()
                    .filter_map(|text| text.parse().ok())
                    .collect(),
            ),
            _ => Cell::Null,
        })
    }),
    stable("pg_stat_get_numscans", 1..=1, Kind::Int8, NONE),
    // What `series` makes of a search in the setting `search_path`.
    stable("search_path_has", 1..=1, Kind::Bool, |source, given| {
        let path = source.context.client.settings.value("search_path")?;
        let wanted = given[0].to_text();
        let mut names = path.split(',').map(str::trim);
        Ok(names
            .any(|name| match name {
                "\"$user\"" => wanted == source.user(),
                name => wanted == name,
            })
            .into())
    }),
    stable("array_subscripts", 3..=3, Kind::IntArray, |_, given| {
        let length = match &given[0] {
            Cell::Texts(texts) => texts.len(),
            _ => 0,
        };
        let first = oid(&given[1]);
        Ok(Cell::Ints((0..length as i64).map(|at| first + at).collect()))
    }),
    // Casts.
    stable("regclassin", 1..=1, Kind::Oid, |source, given| {
        lookup::relation_number(source, &given[0])
    }),
    stable("regclassout", 1..=1, Kind::Text, |source, given| {
        let number = lookup::relation_number(source, &given[0])?;
        Ok(lookup::relation_name(source, oid(&number)).into())
    }),
    // No relation is part of another: psql asks for these beside the relation itself.
    stable("pg_partition_ancestors", 1..=1, Kind::Oid, |_, _| Ok(Cell::Null)),
    stable("to_regclass", 1..=1, Kind::Oid, |source, given| {
        let found = lookup::relation_named(source, &given[0].to_text())?;
        Ok(found.map(|found| found.oid()).into())
    }),
    stable("regtypein", 1..=1, Kind::Oid, |source, given| {
        lookup::type_number(source, &given[0])
    }),
    stable("regtypeout", 1..=1, Kind::Text, |source, given| {
        let number = oid(&lookup::type_number(source, &given[0])?);
        let name = types::name_in(source.catalog(), number, None);
        Ok(name
            .unwrap_or_else(|| {
                if number == 0 {
                    "-".to_string()
                } else {
                    number.to_string()
                }
            })
            .into())
    }),
    // Many types at once, `x::regtype[]`.
    stable("regtypesout", 1..=1, Kind::TextArray, |source, given| {
        let Cell::Texts(numbers) = &given[0] else {
            return Ok(Cell::Null);
        };
        let name = |number: &Option<String>| {
            let number = number.as_deref()?;
            let known =
                oids::number(number).and_then(|number| types::name_in(source.catalog(), number, None));
            Some(known.unwrap_or_else(|| number.to_string()))
        };
        Ok(Cell::Texts(numbers.iter().map(name).collect()))
    }),
    stable("to_regtype", 1..=1, Kind::Oid, |source, given| {
        Ok(types::number_in(source, &given[0].to_text()).into())
    }),
    stable("regnamespacein", 1..=1, Kind::Oid, |source, given| {
        lookup::schema_number(source, &given[0])
    }),
    stable("regnamespaceout", 1..=1, Kind::Text, |source, given| {
        let number = oid(&lookup::schema_number(source, &given[0])?);
        let all = lookup::schemas(source.catalog());
        let found = all.iter().find(|name| oids::schema(name) == number);
        Ok(found
            .map_or_else(|| given[0].to_text(), |name| quoted(name))
            .into())
    }),
    stable("regrolein", 1..=1, Kind::Oid, |source, given| {
        lookup::role_number(source, &given[0])
    }),
    stable("regroleout", 1..=1, Kind::Text, |source, given| {
        let number = oid(&lookup::role_number(source, &given[0])?);
        Ok(lookup::role_name(source, number).into())
    }),
    stable("regprocin", 1..=1, Kind::Oid, |source, given| match &given[0] {
        Cell::Text(name) => function_number(source, name).map(Cell::Int),
        number => Ok(number.clone()),
    }),
    stable("regprocout", 1..=1, Kind::Text, |source, given| {
        let number = match &given[0] {
            Cell::Text(name) => function_number(source, name)?,
            number => oid(number),
        };
        let defined = || defined::numbered(source.catalog(), number).map(|function| function.name.clone());
        let name = procs::function_name(number).or_else(defined);
        Ok(name.unwrap_or_else(|| number.to_string()).into())
    }),
    stable("regprocedurein", 1..=1, Kind::Oid, |source, given| {
        match &given[0] {
            Cell::Text(text) => procedure_number(source, text).map(Cell::Int),
            number => Ok(number.clone()),
        }
    }),
    stable("regprocedureout", 1..=1, Kind::Text, |source, given| {
        let number = match &given[0] {
            Cell::Text(text) => procedure_number(source, text)?,
            number => oid(number),
        };
        let (name, arguments) = match procs::numbered(number) {
            Some(proc) => (proc.name().to_string(), proc.argument_types()),
            None => match defined::numbered(source.catalog(), number) {
                Some(function) => (function.name.clone(), defined::argument_types(function)),
                None if number == 0 => return Ok("-".into()),
                None => return Ok(number.to_string().into()),
            },
        };
        let names = arguments.iter().map(|of| {
            let name = types::name_in(source.catalog(), *of, None);
            name.unwrap_or_else(|| of.to_string())
        });
        Ok(format!("{name}({})", names.collect::<Vec<_>>().join(",")).into())
    }),
];

/// Takes note of the functions of a session that has all of them.
pub(crate) fn learn_functions(state: &SessionState) {
    procs::learn(state, result_of);
}

/// Returns the number of the type that a function of this file gives.
fn result_of(name: &str) -> Option<i64> {
    let found = FUNCTIONS.iter().find(|definition| definition.name == name);
    found.map(|definition| definition.gives.oid())
}

/// Returns the number of the function that a text names.
fn function_number(source: &Source<'_>, name: &str) -> Result<i64, SqlError> {
    if let Some(number) = oids::number(name).or_else(|| types::input_function(name)) {
        return Ok(number);
    }
    let mut all = procs::named(name);
    all.append(&mut defined::named(source, name));
    match all.as_slice() {
        [] => {
            let message = format!("function \"{name}\" does not exist");
            Err(SqlError::statement("42883", message))
        }
        [one] => Ok(*one),
        _ => {
            let message = format!("more than one function named \"{name}\"");
            Err(SqlError::statement("42725", message))
        }
    }
}

/// Returns the number of the function that a text names with the types of its arguments: `lower(text)`.
fn procedure_number(source: &Source<'_>, text: &str) -> Result<i64, SqlError> {
    if let Some(number) = oids::number(text) {
        return Ok(number);
    }
    let parts = text.split_once('(');
    let parts = parts.and_then(|(name, rest)| Some((name.trim(), rest.trim().strip_suffix(')')?.trim())));
    let Some((name, given)) = parts else {
        return Err(SqlError::statement("22P02", "expected a left parenthesis"));
    };
    if let Some(number) = types::input_function(name) {
        return Ok(number);
    }
    let none = || {
        let message = format!("function \"{text}\" does not exist");
        SqlError::statement("42883", message)
    };
    let mut arguments = Vec::new();
    for ty in given.split(',').filter(|_| !given.is_empty()) {
        arguments.push(types::number_in(source, ty.trim()).ok_or_else(none)?);
    }
    let mut all = procs::named(name);
    all.append(&mut defined::named(source, name));
    let takes = |number: &i64| match procs::numbered(*number) {
        Some(proc) => proc.argument_types() == arguments,
        None => defined::numbered(source.catalog(), *number)
            .is_some_and(|function| defined::argument_types(function) == arguments),
    };
    all.into_iter().find(takes).ok_or_else(none)
}

/// When this process began to look, in microseconds of the epoch.
static STARTED: std::sync::LazyLock<i64> = std::sync::LazyLock::new(|| {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
});

/// Adds the functions to a session.
pub(crate) fn register(state: &mut SessionState, current: &Arc<CurrentStatement>) {
    std::sync::LazyLock::force(&STARTED);
    for kind in [arrays::Kind::OrEmpty, arrays::Kind::Expanded] {
        let function = ScalarUDF::from(arrays::OfArray::new(kind));
        state
            .register_udf(Arc::new(function))
            .expect("functions of a session can be added to");
    }
    for definition in FUNCTIONS {
        let function = Function {
            signature: signature(definition),
            definition,
            current: current.clone(),
        };
        state
            .register_udf(Arc::new(ScalarUDF::from(function)))
            .expect("functions of a session can be added to");
    }
}

fn signature(definition: &Definition) -> Signature {
    let volatility = if definition.volatile {
        Volatility::Volatile
    } else {
        Volatility::Stable
    };
    let of_count = |count| match count {
        0 => TypeSignature::Nullary,
        count => TypeSignature::Any(count),
    };
    let all = definition.arguments.clone().map(of_count);
    Signature::one_of(all.collect(), volatility)
}

/// Returns what `version()` gives; clients read the number after the first word.
fn version() -> String {
    format!(
        "PostgreSQL {} (Rukh {})",
        crate::exec::session_settings::client_settings::SERVER_VERSION,
        env!("CARGO_PKG_VERSION")
    )
}

/// `has_table_privilege` and that of sequences: `(user, relation, rights)`, or without the user.
fn may_use_relation(source: &Source<'_>, given: &[Cell]) -> Result<Cell, SqlError> {
    may_use(source, given, |_, _, _| Rights::NONE)
}

/// The same with rights that the role has beside those on the relation.
fn may_use(
    source: &Source<'_>,
    given: &[Cell],
    beside: impl Fn(&Catalog, &Role, u32) -> Rights,
) -> Result<Cell, SqlError> {
    let [user @ .., name, words] = given else {
        return Ok(Cell::Null);
    };
    let number = lookup::relation_number(source, name)?;
    let Some(found) = relation(source.catalog(), oid(&number)) else {
        return Ok(Cell::Null);
    };
    lookup::has_rights(
        source,
        user.first(),
        &words.to_text(),
        |catalog, role| match found.object() {
            Some(object) => {
                let own = catalog.rights_on(role, found.schema(), object);
                own.with(beside(catalog, role, object))
            }
            None if role.superuser => Rights::ALL,
            None => Rights::SELECT,
        },
    )
}

/// Returns a number of an object, which may be written as text.
fn oid(cell: &Cell) -> i64 {
    match cell {
        Cell::Int(number) => *number,
        Cell::Text(text) => oids::number(text).unwrap_or(0),
        _ => 0,
    }
}

fn size(source: &Source<'_>, of: &Cell, what: Sized) -> Result<Cell, SqlError> {
    let number = lookup::relation_number(source, of)?;
    lookup::size_of(source, oid(&number), what).map(Cell::from)
}

/// Returns the sequence of a serial or identity column, as `pg_get_serial_sequence` names it.
fn serial_sequence(source: &Source<'_>, given: &[Cell]) -> Result<Cell, SqlError> {
    let catalog = source.catalog();
    let number = lookup::relation_number(source, &Cell::Text(given[0].to_text()))?;
    let Some(Relation::Table(table)) = relation(catalog, oid(&number)) else {
        return Ok(Cell::Null);
    };
    let name = given[1].to_text();
    let Some(column) = table.column_named(&name) else {
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
        return Err(SqlError::statement("42703", message));
    };
    let mut own = catalog.sequences_of(table.id);
    let own = own.find(|sequence| sequence.owner == Some((table.id, column.id)));
    Ok(own
        .map(|own| format!("{}.{}", quoted(&own.schema), quoted(&own.name)))
        .into())
}

/// A function for one session.
struct Function {
    definition: &'static Definition,
    signature: Signature,
    current: Arc<CurrentStatement>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.definition.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.definition.name == other.definition.name && Arc::ptr_eq(&self.current, &other.current)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.name.hash(state);
    }
}

impl Function {
    fn call(&self, source: &Source<'_>, given: &[Cell]) -> Result<Cell, SqlError> {
        match !self.definition.takes_nulls && given.contains(&Cell::Null) {
            true => Ok(Cell::Null),
            false => (self.definition.run)(source, given),
        }
    }

    fn column(&self, arguments: &[ArrayRef], rows: usize) -> Result<ArrayRef, SqlError> {
        let context = self.current.context();
        let context = context.ok_or_else(|| SqlError::internal("a function runs in a statement"))?;
        let source = Source { context: &context };
        let columns: Vec<Vec<Cell>> = arguments.iter().map(cells).collect::<Result<_, _>>()?;
        let mut results = Vec::with_capacity(rows);
        let mut given = Vec::with_capacity(columns.len());
        for at in 0..rows {
            given.clear();
            given.extend(columns.iter().map(|column| column[at].clone()));
            results.push(self.call(&source, &given)?);
        }
        Ok(array(self.definition.gives, results.iter()))
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.definition.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.definition.gives.arrow())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(self.definition.gives.field(self.name())))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let all_constant = arguments
            .args
            .iter()
            .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if all_constant { 1 } else { arguments.number_rows };
        let columns = arguments.args.iter().map(|argument| argument.to_array(rows));
        let columns: Vec<ArrayRef> = columns.collect::<DataFusionResult<_>>()?;
        let column = self.column(&columns, rows);
        let column = column.map_err(|error| DataFusionError::External(Box::new(error)))?;
        match all_constant {
            true => Ok(ColumnarValue::Scalar(
                datafusion::scalar::ScalarValue::try_from_array(&column, 0)?,
            )),
            false => Ok(ColumnarValue::Array(column)),
        }
    }
}
