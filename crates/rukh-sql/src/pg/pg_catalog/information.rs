//! Tables of `information_schema` about rights and constraints, and those that never have rows.
//!
//! They are made as those of `pg_catalog` are. What clients ask for most is in `information_schema` itself.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use rukh_catalog::{Catalog, Domain, DomainCheck, GrantTarget, Rights, Role, RoleId};

use super::default_text::default_of_type;
use super::source::{DATABASE, Maker, Source};
use super::table::{self, Cell, row};
use super::texts::{Constraint, constraints, referenced_key};
use super::types::domains;
use super::{defined, lookup};
use crate::exec::context::StatementContext;
use crate::pg::information_schema::{character_length, numeric_digits, type_name, type_schema};

/// A table of `information_schema`.
struct Definition {
    name: &'static str,
    columns: &'static str,
    /// Makes the rows; `None` if there never are any.
    rows: Option<Maker>,
}

const fn with(name: &'static str, columns: &'static str, rows: Maker) -> Definition {
    Definition {
        name,
        columns,
        rows: Some(rows),
    }
}

const fn empty(name: &'static str, columns: &'static str) -> Definition {
    Definition {
        name,
        columns,
        rows: None,
    }
}

const COLUMN_PRIVILEGES: &str = "grantor name, grantee name, table_catalog name, table_schema name, \
    table_name name, column_name name, privilege_type text, is_grantable text";

const PRIVILEGES: &str = "grantor name, grantee name, table_catalog name, table_schema name, table_name name, \
    privilege_type text, is_grantable text, with_hierarchy text";

const TABLES: &[Definition] = &[
    with(
        "applicable_roles",
        "grantee name, role_name name, is_grantable text",
        |_| Vec::new(),
    ),
    with(
        "character_sets",
        "character_set_catalog name, character_set_schema name, character_set_name name, \
         character_repertoire name, form_of_use name, default_collate_catalog name, \
         default_collate_schema name, default_collate_name name",
        |_| {
            vec![row![
                Cell::Null,
                Cell::Null,
                "UTF8",
                "UCS",
                "UTF8",
                DATABASE,
                "pg_catalog",
                "C"
            ]]
        },
    ),
    with(
        "check_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, check_clause text",
        |source| {
            let row = |constraint: Constraint<'_>| {
                let check = constraint.check?;
                Some(row![DATABASE, &constraint.table.schema, constraint.name, check])
            };
            all_constraints(source, row)
        },
    ),
    with(
        "constraint_column_usage",
        "table_catalog name, table_schema name, table_name name, column_name name, constraint_catalog name, \
         constraint_schema name, constraint_name name",
        |source| {
            let rows = |constraint: Constraint<'_>| {
                // Of a foreign key these are the referenced columns.
                let used = constraint
                    .foreign
                    .map_or(constraint.table, |(referenced, _)| referenced);
                let names: Vec<&str> = match constraint.foreign {
                    Some((referenced, key)) => {
                        let columns = key.referenced_columns.iter();
                        columns.map(|id| referenced.column_name(*id)).collect()
                    }
                    None => {
                        let at = |place: &i64| usize::try_from(place - 1).ok();
                        let columns = constraint.columns.iter().filter_map(at);
                        let columns = columns.filter_map(|at| used.columns.get(at));
                        columns.map(|column| column.name.as_str()).collect()
                    }
                };
                let row = |column| {
                    row![
                        DATABASE,
                        &used.schema,
                        &used.name,
                        column,
                        DATABASE,
                        &constraint.table.schema,
                        &constraint.name
                    ]
                };
                Some(names.into_iter().map(row).collect::<Vec<_>>())
            };
            all_constraints(source, rows).into_iter().flatten().collect()
        },
    ),
    with(
        "constraint_table_usage",
        "table_catalog name, table_schema name, table_name name, constraint_catalog name, \
         constraint_schema name, constraint_name name",
        |source| {
            let row = |constraint: Constraint<'_>| {
                let used = constraint
                    .foreign
                    .map_or(constraint.table, |(referenced, _)| referenced);
                let schema = &constraint.table.schema;
                let (used_schema, used) = (&used.schema, &used.name);
                Some(row![
                    DATABASE,
                    used_schema,
                    used,
                    DATABASE,
                    schema,
                    constraint.name
                ])
            };
            all_constraints(source, row)
        },
    ),
    with("enabled_roles", "role_name name", |source| {
        lookup::roles(source)
            .into_iter()
            .filter(|role| role.name == source.user())
            .map(|role| row![role.name])
            .collect()
    }),
    with("information_schema_catalog_name", "catalog_name name", |_| {
        vec![row![DATABASE]]
    }),
    with("role_table_grants", PRIVILEGES, privileges),
    with("table_privileges", PRIVILEGES, privileges),
    with("column_privileges", COLUMN_PRIVILEGES, column_privileges),
    with("role_column_grants", COLUMN_PRIVILEGES, column_privileges),
    with(
        "column_domain_usage",
        "domain_catalog name, domain_schema name, domain_name name, table_catalog name, table_schema name, \
         table_name name, column_name name",
        |source| {
            let columns = source
                .catalog()
                .tables()
                .flat_map(|table| table.declared_columns().iter().map(move |column| (table, column)));
            let rows = columns.filter_map(|(table, column)| {
                let domain = column.values.domain.as_ref()?;
                let (schema, name) = (&table.schema, &table.name);
                Some(row![
                    DATABASE,
                    &domain.schema,
                    &domain.name,
                    DATABASE,
                    schema,
                    name,
                    &column.name
                ])
            });
            rows.collect()
        },
    ),
    empty(
        "column_udt_usage",
        "udt_catalog name, udt_schema name, udt_name name, table_catalog name, table_schema name, \
         table_name name, column_name name",
    ),
    with(
        "domain_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, domain_catalog name, \
         domain_schema name, domain_name name, is_deferrable text, initially_deferred text",
        |source| {
            let row = |domain: &Domain, check: &DomainCheck| {
                let Domain { schema, name, .. } = domain;
                row![DATABASE, schema, &check.name, DATABASE, schema, name, "NO", "NO"]
            };
            let domains = domains(source.catalog());
            domains
                .flat_map(|domain| domain.checks.iter().map(move |check| row(domain, check)))
                .collect()
        },
    ),
    with(
        "domains",
        "domain_catalog name, domain_schema name, domain_name name, data_type text, \
         character_maximum_length int4, numeric_precision int4, numeric_scale int4, domain_default text, \
         udt_catalog name, udt_schema name, udt_name name, dtd_identifier name",
        |source| {
            let row = |domain: &Domain| {
                let (precision, scale) = numeric_digits(&domain.ty);
                let default = domain.default.as_ref();
                let default = default.map(|sql| default_of_type(source.catalog(), sql, &domain.ty));
                row![
                    DATABASE,
                    &domain.schema,
                    &domain.name,
                    type_name(&domain.ty),
                    character_length(&domain.ty),
                    precision,
                    scale,
                    default,
                    DATABASE,
                    type_schema(&domain.ty),
                    super::types::type_name(&domain.ty),
                    "1"
                ]
            };
            domains(source.catalog()).map(row).collect()
        },
    ),
    empty(
        "element_types",
        "object_catalog name, object_schema name, object_name name, object_type text, \
         collection_type_identifier name, data_type text, udt_catalog name, udt_schema name, udt_name name, \
         dtd_identifier name",
    ),
    empty(
        "foreign_tables",
        "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, \
         foreign_server_catalog name, foreign_server_name name",
    ),
    empty(
        "parameters",
        "specific_catalog name, specific_schema name, specific_name name, ordinal_position int4, \
         parameter_mode text, is_result text, parameter_name name, data_type text, udt_catalog name, \
         udt_schema name, udt_name name, dtd_identifier name, parameter_default text",
    ),
    with(
        "referential_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, \
         unique_constraint_catalog name, unique_constraint_schema name, unique_constraint_name name, \
         match_option text, update_rule text, delete_rule text",
        |source| {
            let row = |constraint: Constraint<'_>| {
                let (referenced, key) = constraint.foreign?;
                let (unique, _, _) = referenced_key(referenced, key)?;
                Some(row![
                    DATABASE,
                    &constraint.table.schema,
                    constraint.name,
                    DATABASE,
                    &referenced.schema,
                    unique,
                    if key.match_full { "FULL" } else { "NONE" },
                    key.on_update.name(),
                    key.on_delete.name()
                ])
            };
            all_constraints(source, row)
        },
    ),
    with(
        "routines",
        "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, \
         routine_schema name, routine_name name, routine_type text, data_type text, type_udt_name name, \
         routine_body text, routine_definition text, external_language text, is_deterministic text",
        defined::routines,
    ),
    empty(
        "triggers",
        "trigger_catalog name, trigger_schema name, trigger_name name, event_manipulation text, \
         event_object_catalog name, event_object_schema name, event_object_table name, action_order int4, \
         action_condition text, action_statement text, action_orientation text, action_timing text",
    ),
    empty(
        "user_defined_types",
        "user_defined_type_catalog name, user_defined_type_schema name, user_defined_type_name name, \
         user_defined_type_category text, is_instantiable text, is_final text",
    ),
];

/// Returns the names of these tables.
pub(crate) fn information_names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|definition| definition.name)
}

/// Makes one of these tables; `None` if it is none of them.
pub(crate) fn information_table(
    name: &str,
    context: &StatementContext,
) -> DataFusionResult<Option<Arc<dyn TableProvider>>> {
    let Some(definition) = TABLES.iter().find(|definition| definition.name == name) else {
        return Ok(None);
    };
    let columns = table::columns(definition.columns);
    let rows = definition.rows.map(|rows| rows(&Source { context }));
    let rows = table::batch(&columns, &rows.unwrap_or_default());
    let rows = rows.map_err(|error| DataFusionError::External(Box::new(error)))?;
    let table = MemTable::try_new(rows.schema(), vec![vec![rows]])?;
    Ok(Some(Arc::new(table)))
}

fn all_constraints<T>(source: &Source<'_>, row: impl Fn(Constraint<'_>) -> Option<T>) -> Vec<T> {
    let tables = source.catalog().tables();
    tables
        .flat_map(|table| {
            constraints(source.catalog(), table)
                .into_iter()
                .filter_map(&row)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Rights on tables and views, those that columns have first.
const KINDS: [(Rights, &str); 5] = [
    (Rights::INSERT, "INSERT"),
    (Rights::SELECT, "SELECT"),
    (Rights::UPDATE, "UPDATE"),
    (Rights::DELETE, "DELETE"),
    (Rights::TRUNCATE, "TRUNCATE"),
];

/// Returns the tables and views: id, schema and name.
fn tables_and_views(catalog: &Catalog) -> impl Iterator<Item = (u32, &str, &str)> {
    let tables = catalog.tables();
    let tables = tables.map(|table| (table.id.0, table.schema.as_str(), table.name.as_str()));
    let views = catalog.views();
    tables.chain(views.map(|view| (view.id.0, view.schema.as_str(), view.name.as_str())))
}

/// Calls `add` with each right of the first `kinds` on a table or view: the role, the right, and whether the role may give it away. Owners
/// have all, other roles what was granted.
fn each_right(
    source: &Source<'_>,
    object: u32,
    kinds: usize,
    granted: impl Fn(&Role) -> Rights,
    mut add: impl FnMut(&str, &str, &str),
) {
    let owner = lookup::owner_name(source, object);
    let kinds = &KINDS[..kinds];
    kinds.iter().for_each(|(_, kind)| add(&owner, kind, "YES"));
    let catalog = source.catalog();
    for role in catalog.role(RoleId::PUBLIC).into_iter().chain(catalog.roles()) {
        let rights = granted(role);
        let grantee = if role.id == RoleId::PUBLIC {
            "PUBLIC"
        } else {
            &role.name
        };
        let kinds = kinds.iter().filter(|(right, _)| rights.contain(*right));
        if grantee != owner {
            kinds.for_each(|(_, kind)| add(grantee, kind, "NO"));
        }
    }
}

/// Makes one row per right on a table or view.
fn privileges(source: &Source<'_>) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for (object, schema, name) in tables_and_views(source.catalog()) {
        let owner = lookup::owner_name(source, object);
        let granted = |role: &Role| role.granted(&GrantTarget::Object(object));
        each_right(
            source,
            object,
            KINDS.len(),
            granted,
            |grantee, kind, grantable| {
                let reads = if kind == "SELECT" { "YES" } else { "NO" };
                rows.push(row![
                    &owner, grantee, DATABASE, schema, name, kind, grantable, reads
                ]);
            },
        );
    }
    rows
}

/// Makes one row per right on a column, by a right on the column or on all of them.
fn column_privileges(source: &Source<'_>) -> Vec<Vec<Cell>> {
    const OF_COLUMNS: usize = 3;
    let mut rows = Vec::new();
    for (object, schema, name) in tables_and_views(source.catalog()) {
        let owner = lookup::owner_name(source, object);
        for (column, column_name) in source.catalog().columns_of(object) {
            let granted = |role: &Role| {
                let on_column = role.granted(&GrantTarget::Column { object, column });
                on_column.with(role.granted(&GrantTarget::Object(object)))
            };
            each_right(source, object, OF_COLUMNS, granted, |grantee, kind, grantable| {
                rows.push(row![
                    &owner,
                    grantee,
                    DATABASE,
                    schema,
                    name,
                    column_name,
                    kind,
                    grantable
                ]);
            });
        }
    }
    rows
}
