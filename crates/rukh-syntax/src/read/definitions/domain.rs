//! Domains.
//!
//! ```text
//! CREATE DOMAIN [schema.]name [AS] type [DEFAULT expression] [NULL | NOT NULL] [[CONSTRAINT name] CHECK (condition)] …
//! ALTER DOMAIN [schema.]name {SET DEFAULT expression | DROP DEFAULT | SET NOT NULL | DROP NOT NULL}
//! ALTER DOMAIN [schema.]name ADD [CONSTRAINT name] CHECK (condition) [NOT VALID]
//! ALTER DOMAIN [schema.]name {DROP CONSTRAINT [IF EXISTS] name | RENAME CONSTRAINT name TO name | VALIDATE CONSTRAINT name}
//! ALTER DOMAIN [schema.]name {RENAME TO name | SET SCHEMA schema | OWNER TO role}
//! ```

use sqlparser::ast::ColumnOption;
use sqlparser::parser::Parser;

use crate::StatementError;
use crate::read::definitions::create_table::in_parentheses;
use crate::read::definitions::data_type::{accept_collation, type_name};
use crate::read::definitions::types::{renamed_or_moved, statement};
use crate::read::reader::Reader;
use crate::tree::{CheckDefinition, DomainAction, DomainDefinition, Expression, Statement, TypeStatement};

/// Reads CREATE DOMAIN.
pub(crate) fn create_domain(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["create", "domain"])?;
    let name = reader.object_name()?;
    reader.accept(&["as"]);
    let position = reader.position();
    let ty = reader.data_type()?;
    let mut domain = DomainDefinition {
        name,
        ty: type_name(&ty, position)?,
        position,
        default: None,
        nullable: None,
        checks: Vec::new(),
    };
    accept_collation(reader)?;
    loop {
        let position = reader.position();
        let constraint = match reader.accept(&["constraint"]) {
            true => Some(reader.name()?),
            false => None,
        };
        let nullable = match () {
            () if reader.accept(&["not", "null"]) => false,
            () if reader.accept(&["null"]) => true,
            () if reader.peeks(&["check"]) => {
                reader.take();
                let condition = in_parentheses(reader)?;
                domain.checks.push(CheckDefinition {
                    name: constraint,
                    condition,
                    not_valid: false,
                });
                continue;
            }
            () if constraint.is_none() && reader.peeks(&["default"]) => {
                if domain.default.is_some() {
                    return Err(StatementError::syntax("multiple default expressions").at(position));
                }
                domain.default = Some(default(reader)?);
                continue;
            }
            () if constraint.is_some() => return Err(reader.unexpected()),
            () => break,
        };
        if domain.nullable.is_some_and(|known| known != nullable) {
            return Err(StatementError::syntax("conflicting NULL/NOT NULL constraints").at(position));
        }
        domain.nullable = Some(nullable);
    }
    Ok(statement(TypeStatement::CreateDomain(Box::new(domain))))
}

/// Reads ALTER DOMAIN.
pub(crate) fn alter_domain(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["alter", "domain"])?;
    let name = reader.object_name()?;
    let action = match () {
        () if reader.accept(&["set", "not", "null"]) => DomainAction::Nullable(false),
        () if reader.accept(&["drop", "not", "null"]) => DomainAction::Nullable(true),
        () if reader.peeks(&["set", "default"]) => {
            reader.take();
            DomainAction::Default(Some(default(reader)?))
        }
        () if reader.accept(&["drop", "default"]) => DomainAction::Default(None),
        () if reader.accept(&["drop", "constraint"]) => {
            let if_exists = reader.if_exists();
            let name = reader.name()?;
            // No constraint depends on one of a domain.
            reader.cascade();
            DomainAction::DropConstraint { name, if_exists }
        }
        () if reader.accept(&["rename", "constraint"]) => {
            let old = reader.name()?;
            reader.expect(&["to"])?;
            let new = reader.name()?;
            DomainAction::RenameConstraint { old, new }
        }
        () if reader.accept(&["validate", "constraint"]) => DomainAction::Validate(reader.name()?),
        () if reader.accept(&["add"]) => {
            let constraint = match reader.accept(&["constraint"]) {
                true => Some(reader.name()?),
                false => None,
            };
            reader.expect(&["check"])?;
            let condition = in_parentheses(reader)?;
            DomainAction::Add(CheckDefinition {
                name: constraint,
                condition,
                not_valid: reader.accept(&["not", "valid"]),
            })
        }
        () => return renamed_or_moved(reader, name),
    };
    let action = Box::new(action);
    Ok(statement(TypeStatement::AlterDomain { name, action }))
}

/// Reads `DEFAULT expression`, which NOT NULL may follow.
fn default(reader: &mut Reader<'_>) -> Result<Expression, StatementError> {
    let position = reader.position();
    let option = reader.parse(Parser::parse_optional_column_option)?;
    let Some(ColumnOption::Default(expr)) = option else {
        return Err(reader.unexpected());
    };
    Ok(Expression {
        expr: reader.shallow(expr)?,
        position,
    })
}
