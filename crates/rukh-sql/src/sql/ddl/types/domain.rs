//! CREATE DOMAIN and ALTER DOMAIN.

use std::cell::RefCell;

use rukh_catalog::{Catalog, Domain, DomainCheck, Table, Type, TypeId, TypeKind, has_type};
use rukh_engine::{DefinitionChanges, EngineError};
use rukh_error::SqlError;
use rukh_syntax::{CheckDefinition, DomainAction, DomainDefinition, Expression, Name, ObjectName};

use super::changed::{changed, check_free};
use crate::bind::spelling::sequence_calls::calls_sequence;
use crate::bind::types::expressions::domain_rules;
use crate::exec::session_settings::notice::Notice;
use crate::sql::ddl::alter::table::scan_rows;
use crate::sql::ddl::create_table::checked_default;
use crate::sql::ddl::names::{domain_named, domain_of, schema_of};
use crate::sql::ddl::stored::{constraint_name, typed_check};
use crate::sql::session::Session;

/// Runs CREATE DOMAIN.
pub(super) fn create(session: &mut Session, definition: &DomainDefinition) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    let name = &definition.name;
    engine.change_definitions(|catalog| {
        let schema = schema_of(catalog, name)?;
        check_free(catalog, schema, &name.name).map_err(|error| error.at(name.position))?;
        let ty = definition.ty.known()?;
        let mut domain = Domain {
            id: 0,
            schema: schema.to_string(),
            name: name.name.clone(),
            ty,
            nullable: definition.nullable.unwrap_or(true),
            default: None,
            checks: Vec::new(),
            domain: domain_of(catalog, &definition.ty)?,
        };
        if let Some(default) = &definition.default {
            domain.default = Some(default_text(catalog, &domain, default)?);
        }
        for check in &definition.checks {
            let check = made(&domain, check)?;
            domain.checks.push(check);
        }
        Ok(DefinitionChanges {
            types: vec![Type::new(TypeKind::Domain(domain))],
            ..DefinitionChanges::default()
        })
    })
}

/// Returns a default as it is stored, after evaluating it once to see that it fits.
fn default_text(catalog: &Catalog, domain: &Domain, default: &Expression) -> Result<String, SqlError> {
    if calls_sequence(&default.expr) {
        let message = "a default of a domain that takes numbers of a sequence is not supported";
        return Err(SqlError::unsupported(message)
            .at(default.position)
            .with_hint("Give the default to the columns."));
    }
    let (sql, _) = checked_default(catalog, default, &domain.ty, &domain.name)?;
    Ok(sql)
}

/// Makes a CHECK of a domain, under a name of its own if it has none.
fn made(domain: &Domain, definition: &CheckDefinition) -> Result<DomainCheck, SqlError> {
    let (_, sql) = typed_check(&Table::of_domain(domain), &definition.condition)?;
    let name = check_name(domain, definition.name.as_ref())?;
    Ok(DomainCheck { name, sql })
}

/// Returns the name of a new CHECK of a domain: the one that is given, or one that is free.
fn check_name(domain: &Domain, given: Option<&Name>) -> Result<String, SqlError> {
    let is_taken = |name: &str| domain.checks.iter().any(|check| check.name == name);
    let owner = || format!("domain \"{}\"", domain.name);
    constraint_name(given, [&domain.name, "", "check"], is_taken, owner)
}

/// Runs ALTER DOMAIN. Values that are stored are looked at where it asks for more.
pub(super) fn alter(session: &mut Session, name: &ObjectName, action: &DomainAction) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    let mut notice = None;
    let added = RefCell::new(None);
    let change = |catalog: &Catalog| {
        let (before, domain) = domain_named(catalog, name)?;
        let mut next = domain.clone();
        let missing = |name: &Name| {
            let message = format!(
                "constraint \"{}\" of domain \"{}\" does not exist",
                name.text, domain.name
            );
            SqlError::statement("42704", message).at(name.position)
        };
        // What is new is checked alone.
        let alone = Domain {
            nullable: true,
            checks: Vec::new(),
            domain: None,
            ..domain.clone()
        };
        match action {
            DomainAction::Default(default) => {
                let default = default.as_ref();
                next.default = default
                    .map(|default| default_text(catalog, domain, default))
                    .transpose()?;
            }
            DomainAction::Nullable(nullable) => {
                next.nullable = *nullable;
                if domain.nullable && !nullable {
                    *added.borrow_mut() = Some(Domain {
                        nullable: false,
                        ..alone
                    });
                }
            }
            DomainAction::Add(added_check) => {
                let check = made(domain, added_check)?;
                next.checks.push(check.clone());
                if !added_check.not_valid {
                    *added.borrow_mut() = Some(Domain {
                        checks: vec![check],
                        ..alone
                    });
                }
            }
            DomainAction::DropConstraint { name, if_exists } => {
                next.checks.retain(|check| check.name != name.text);
                if next.checks.len() == domain.checks.len() {
                    let error = missing(name);
                    if !if_exists {
                        return Err(error);
                    }
                    notice = Some(Notice::new(format!("{}, skipping", error.message)));
                    return Ok(DefinitionChanges::default());
                }
            }
            DomainAction::RenameConstraint { old, new } => {
                let name = check_name(domain, Some(new))?;
                let check = next.checks.iter_mut().find(|check| check.name == old.text);
                check.ok_or_else(|| missing(old))?.name = name;
            }
            DomainAction::Validate(name) => {
                let check = domain.checks.iter().find(|check| check.name == name.text);
                *added.borrow_mut() = Some(Domain {
                    checks: vec![check.ok_or_else(|| missing(name))?.clone()],
                    ..alone
                });
            }
        }
        let mut changes = changed(catalog, before, TypeKind::Domain(next), None)?;
        if matches!(action, DomainAction::Validate(_)) {
            // Nothing of them changes, but that they are looked at.
            let of_domain = catalog
                .tables()
                .filter(|table| has_type(table.as_ref(), before.id()));
            changes.tables = of_domain.map(|table| Table::clone(table)).collect();
        }
        Ok(changes)
    };
    let check = |tables: &[Table]| match added.borrow().as_ref() {
        Some(added) => check_values(session, tables, added),
        None => Ok(()),
    };
    engine.change_checked_definitions(change, check)?;
    notice.into_iter().for_each(|notice| session.notice(notice));
    Ok(())
}

/// Checks that the values that tables have of a domain are what is added of them.
fn check_values(session: &mut Session, tables: &[Table], added: &Domain) -> Result<(), SqlError> {
    let rules = domain_rules(added)?;
    for table in tables.iter().filter(|table| has_type(*table, TypeId(added.id))) {
        let columns = table.columns.iter().enumerate();
        let columns = columns.filter(|(_, column)| {
            let domain = column.values.domain.as_ref();
            domain.is_some_and(|domain| domain.chain().iter().any(|part| part.id == added.id))
        });
        let columns: Vec<_> = columns.collect();
        scan_rows(session, table, |rows| {
            for (at, column) in &columns {
                let values: Vec<_> = rows.iter().map(|row| &row[*at]).collect();
                rules
                    .check(&values)
                    .map_err(|error| violated(table, &column.name, error))?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn violated(table: &Table, column: &str, error: EngineError) -> SqlError {
    let table = &table.name;
    match error {
        EngineError::DomainNull { .. } => {
            let message = format!("column \"{column}\" of table \"{table}\" contains null values");
            SqlError::constraint("23502", message).of_table(table)
        }
        EngineError::DomainViolation { .. } => {
            let message = format!(
                "column \"{column}\" of table \"{table}\" contains values that violate the new constraint"
            );
            SqlError::constraint("23514", message)
        }
        other => other.into(),
    }
}
