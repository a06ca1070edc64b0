//! Names of what is defined: whether they are free, and what is said where they are not there.

use rukh_catalog::{Catalog, CatalogError, Domain, PUBLIC, Table, Type, made_name};
use rukh_syntax::{Name, ObjectName, TypeName, undefined_type};

use crate::exec::session_settings::notice::Notice;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Whether a name is taken: a notice if the statement allows for it, else an error.
pub(super) fn is_taken(
    session: &mut Session,
    catalog: &Catalog,
    name: &ObjectName,
    if_not_exists: bool,
) -> Result<bool, SqlError> {
    let schema = schema_of(catalog, name)?;
    match catalog.check_name_free(schema, &name.name) {
        Ok(()) => Ok(false),
        Err(_) if if_not_exists => {
            let message = format!("relation \"{}\" already exists, skipping", name.name);
            session.notice(Notice::new(message).with_sqlstate("42P07"));
            Ok(true)
        }
        Err(error) => Err(SqlError::from(error).at(name.position)),
    }
}

/// Returns the schema of the name of something new, which must be there.
pub(super) fn schema_of<'n>(catalog: &Catalog, name: &'n ObjectName) -> Result<&'n str, SqlError> {
    let schema = name.schema.as_deref().unwrap_or(PUBLIC);
    match catalog.has_schema(schema) {
        true => Ok(schema),
        false if ["pg_catalog", "information_schema"].contains(&schema) => {
            let message = format!("permission denied to create \"{schema}.{}\"", name.name);
            Err(SqlError::statement("42501", message)
                .at(name.position)
                .with_detail("System catalog modifications are currently disallowed."))
        }
        false => Err(unknown(schema).at(name.position)),
    }
}

/// Returns `t_a_b_idx`, or with the first number behind it that makes it free.
pub(super) fn free_name(catalog: &Catalog, table: &Table, parts: &[String], suffix: &str) -> String {
    free_name_beside(catalog, table, parts, suffix, &[])
}

/// As [`free_name`], with names that others of the same statement get.
pub(super) fn free_name_beside(
    catalog: &Catalog,
    table: &Table,
    parts: &[String],
    suffix: &str,
    names: &[String],
) -> String {
    let is_free =
        |name: &String| catalog.check_name_free(&table.schema, name).is_ok() && !names.contains(name);
    first_free([&table.name, &parts.join("_"), suffix], is_free)
}

/// Makes a name of its parts, with the first number behind it that makes it free.
pub(super) fn first_free([first, second, label]: [&str; 3], is_free: impl Fn(&String) -> bool) -> String {
    let labels = std::iter::once(label.to_string()).chain((1u32..).map(|n| format!("{label}{n}")));
    let mut names = labels.map(|label| made_name(first, second, &label));
    names
        .find(is_free)
        .unwrap_or_else(|| made_name(first, second, label))
}

/// Returns the name of the primary key of a table: the declared one, which must be free, or `t_pkey` with the first number behind
/// it that makes it free.
pub(super) fn key_name(
    catalog: &Catalog,
    schema: &str,
    table: &str,
    declared: Option<&Name>,
) -> Result<String, SqlError> {
    let is_free = |name: &String| name != table && catalog.check_name_free(schema, name).is_ok();
    match declared {
        None => Ok(first_free([table, "", "pkey"], is_free)),
        Some(name) if is_free(&name.text) => Ok(name.text.clone()),
        Some(Name { text, position }) => {
            let taken = CatalogError::DuplicateRelation { name: text.clone() };
            Err(SqlError::from(taken).at(*position))
        }
    }
}

/// Fails if a constraint of the table has this name.
pub(super) fn check_new_constraint(table: &Table, name: &Name) -> Result<(), SqlError> {
    match table.has_constraint(&name.text) {
        true => Err(duplicate_constraint(&table.name, name)),
        false => Ok(()),
    }
}

/// Makes the error for a second constraint of a name.
pub(super) fn duplicate_constraint(table: &str, name: &Name) -> SqlError {
    let message = format!(
        "constraint \"{}\" for relation \"{table}\" already exists",
        name.text
    );
    SqlError::statement("42710", message).at(name.position)
}

pub(super) fn skipped(session: &mut Session, name: &ObjectName) -> Result<(), SqlError> {
    let message = format!("relation \"{}\" does not exist, skipping", name.name);
    session.notice(Notice::new(message));
    Ok(())
}

/// Adds a notice about an action on a column that is not one for it.
pub(super) fn skipped_column(session: &mut Session, table: &Table, name: &Name, what: &str) {
    let message = format!(
        "column \"{}\" of relation \"{}\" {what}, skipping",
        name.text, table.name
    );
    session.notice(Notice::new(message));
}

pub(super) fn check_free(catalog: &Catalog, schema: &str, name: &Name) -> Result<(), SqlError> {
    let taken = catalog.check_name_free(schema, &name.text);
    taken.map_err(|error| SqlError::from(error).at(name.position))
}

/// Makes the error for a schema that is not there.
pub(super) fn unknown(name: &str) -> SqlError {
    SqlError::statement("3F000", format!("schema \"{name}\" does not exist"))
}

/// Returns the type of a name, or an error at its place.
pub(super) fn type_named<'c>(catalog: &'c Catalog, name: &ObjectName) -> Result<&'c Type, SqlError> {
    let schema = name.schema.as_deref().unwrap_or(PUBLIC);
    let found = catalog.type_named(schema, &name.name);
    found
        .map(|found| found.as_ref())
        .ok_or_else(|| undefined_type(name, false).into())
}

/// Whether a type is shown as it is declared.
pub(super) fn is_declared(ty: &TypeName) -> bool {
    matches!(ty, TypeName::Declared(_))
}

/// Returns the domain that a column is declared of, if it is of one.
pub(super) fn domain_of(catalog: &Catalog, ty: &TypeName) -> Result<Option<Box<Domain>>, SqlError> {
    match ty {
        TypeName::Named {
            name, of: Some(_), ..
        } => {
            let (_, domain) = domain_named(catalog, name)?;
            Ok(Some(Box::new(domain.clone())))
        }
        _ => Ok(None),
    }
}

/// Returns the name of a domain as a definition has it.
pub(super) fn domain_type_name(domain: &Domain, position: usize) -> TypeName {
    TypeName::Named {
        name: ObjectName {
            schema: Some(domain.schema.clone()),
            name: domain.name.clone(),
            position,
        },
        array: false,
        of: Some(domain.ty),
    }
}

/// Returns the domain of a name, or an error at its place.
pub(super) fn domain_named<'c>(
    catalog: &'c Catalog,
    name: &ObjectName,
) -> Result<(&'c Type, &'c Domain), SqlError> {
    let found = type_named(catalog, name)?;
    match found.domain() {
        Some(domain) => Ok((found, domain)),
        None => {
            let message = format!("{} is not a domain", name.name);
            Err(SqlError::statement("42809", message).at(name.position))
        }
    }
}
