//! CREATE TABLE (LIKE t …): the columns of other tables, and what belongs to them.
//!
//! The clauses become definitions of the statement itself, before it is run, so that all its rules hold for them; only
//! indexes are made afterwards, from what those of the other table are. As in PostgreSQL a column keeps its name, type and
//! NOT NULL, and all else by `INCLUDING` only, but for one thing: every table has a primary key, and where the statement
//! declares none, the first table that it names gives its own.

use std::sync::Arc;

use rukh_catalog::{
    Catalog, Column, ColumnId, Comments, FamilyId, Identity, Index, IndexDraft, IndexPredicate, KeyElement,
    KeyExpr, PUBLIC, Sequence, Table,
};
use rukh_engine::NoProgress;
use rukh_syntax::{
    CheckDefinition, ColumnDefinition, CreateTableStatement, Expression, FamilyDefinition,
    IdentityDefinition, IdentityKind, KeyElementDefinition, KeyExprDefinition, LikeClause, Name,
    SequenceOptions, TypeName,
};

use super::create_index::{element_names, index_error};
use super::names::free_name;
use crate::bind::types::expressions::stored_sql;
use crate::sql::ddl::names::domain_type_name;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// A table that another is like.
pub(super) struct Liked {
    table: Arc<Table>,
    clause: LikeClause,
}

/// Returns the tables that a statement names by LIKE.
pub(super) fn liked(catalog: &Catalog, statement: &CreateTableStatement) -> Result<Vec<Liked>, SqlError> {
    let table = |clause: &LikeClause| {
        let name = &clause.table;
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        match catalog.table_named(schema, &name.name) {
            Ok(table) => Ok(Liked {
                table: table.clone(),
                clause: clause.clone(),
            }),
            Err(_) if catalog.view_named(schema, &name.name).is_some() => {
                Err(SqlError::unsupported("LIKE takes a table").at(name.position))
            }
            Err(_) => Err(name.undefined().into()),
        }
    };
    statement.likes.iter().map(table).collect()
}

/// Returns the statement with what the tables give it.
pub(super) fn expanded(
    catalog: &Catalog,
    statement: &CreateTableStatement,
    liked: &[Liked],
) -> Result<CreateTableStatement, SqlError> {
    let mut whole = statement.clone();
    whole.likes.clear();
    // From the last on, so that places before stay what they are.
    for Liked { table, clause } in liked.iter().rev() {
        let columns = table
            .declared_columns()
            .iter()
            .map(|column| column_like(catalog, table, column, clause))
            .collect::<Result<Vec<_>, SqlError>>()?;
        whole.columns.splice(clause.at..clause.at, columns);
    }
    for Liked { table, clause } in liked {
        let has_key = clause.indexes && table.row_id().is_none();
        if has_key && whole.primary_key.is_some() {
            let name = &statement.name.name;
            let message = format!("multiple primary keys for table \"{name}\" are not allowed");
            return Err(SqlError::statement("42P16", message).at(clause.table.position));
        }
        if has_key {
            whole.primary_key = Some(key_like(table, clause)?);
        }
        if clause.constraints {
            for check in &table.checks {
                whole.checks.push(CheckDefinition {
                    name: Some(named(&check.name, clause)),
                    condition: expression(&check.sql, clause)?,
                    not_valid: false,
                });
            }
        }
        if clause.storage {
            add_families(&mut whole, table, clause);
        }
    }
    Ok(whole)
}

/// Makes the indexes that a table has like others.
pub(super) fn create_indexes(session: &Session, table: &Table, liked: &[Liked]) -> Result<(), SqlError> {
    for Liked { table: other, clause } in liked.iter().filter(|liked| liked.clause.indexes) {
        for index in &other.indexes {
            let draft = draft_like(&session.engine().catalog(), table, other, index);
            let created = session.engine().create_index(table.id, draft, &NoProgress);
            let id = created.map_err(|error| index_error(error).at(clause.table.position))?;
            if let Some(text) = other.comments.indexes.get(&index.id).filter(|_| clause.comments) {
                let text = text.clone();
                session.engine().alter_table(table.id, |_, table| {
                    let mut next = table.clone();
                    next.comments.indexes.insert(id, text);
                    Ok::<_, SqlError>(next)
                })?;
            }
        }
    }
    Ok(())
}

/// Returns the comments that the columns of a table have like others.
pub(super) fn comments(table: &Table, liked: &[Liked]) -> Comments {
    let mut comments = table.comments.clone();
    for Liked { table: other, .. } in liked.iter().filter(|liked| liked.clause.comments) {
        for (id, text) in &other.comments.columns {
            comments.columns.insert(same(table, other, *id), text.clone());
        }
    }
    comments
}

fn named(text: &str, clause: &LikeClause) -> Name {
    Name {
        text: text.to_string(),
        position: clause.table.position,
    }
}

fn expression(sql: &str, clause: &LikeClause) -> Result<Expression, SqlError> {
    Ok(Expression {
        expr: stored_sql(sql)?,
        position: clause.table.position,
    })
}

fn column_like(
    catalog: &Catalog,
    table: &Table,
    column: &Column,
    clause: &LikeClause,
) -> Result<ColumnDefinition, SqlError> {
    let values = &column.values;
    let identity = match values.identity {
        Some(kind) if clause.identity => Some(identity_like(catalog, table, column, kind, clause)?),
        _ => None,
    };
    let generated = values.generated.as_ref().filter(|_| clause.generated);
    let has_default = (clause.defaults || values.counter) && values.identity.is_none();
    let default = column.default.as_ref().filter(|_| has_default);
    let sql = |sql: &String| expression(sql, clause);
    Ok(ColumnDefinition {
        name: named(&column.name, clause),
        ty: match &values.domain {
            Some(domain) => domain_type_name(domain, clause.table.position),
            None if values.declared => TypeName::Declared(column.ty),
            None => TypeName::Known(column.ty),
        },
        nullable: (!column.nullable).then_some(false),
        default: default.map(sql).transpose()?,
        family: None,
        generated: generated.map(|generated| sql(&generated.sql)).transpose()?,
        identity,
        counter: values.counter,
    })
}

fn identity_like(
    catalog: &Catalog,
    table: &Table,
    column: &Column,
    kind: Identity,
    clause: &LikeClause,
) -> Result<IdentityDefinition, SqlError> {
    let is_own = |sequence: &&Arc<Sequence>| sequence.owner == Some((table.id, column.id));
    let Some(sequence) = catalog.sequences_of(table.id).find(is_own) else {
        return Err(SqlError::internal("an identity column has a sequence"));
    };
    Ok(IdentityDefinition {
        kind: match kind {
            Identity::Always => IdentityKind::Always,
            Identity::ByDefault => IdentityKind::ByDefault,
        },
        options: SequenceOptions {
            ty: Some(sequence.ty),
            increment: Some(sequence.increment),
            min: Some(sequence.min),
            max: Some(sequence.max),
            start: Some(sequence.start),
            cache: Some(sequence.cache),
            cycle: sequence.cycle,
        },
        sequence: None,
        position: clause.table.position,
    })
}

fn key_like(table: &Table, clause: &LikeClause) -> Result<Vec<KeyElementDefinition>, SqlError> {
    let name = |id: ColumnId| named(table.column_name(id), clause);
    let element = |element: &KeyElement| {
        let expr = match &element.expr {
            KeyExpr::Column(id) => KeyExprDefinition::Column(name(*id)),
            KeyExpr::Hash { column, bytes } => KeyExprDefinition::Hash {
                column: name(*column),
                bytes: *bytes,
            },
            KeyExpr::Expression { .. } => {
                return Err(SqlError::internal("a primary key is made of columns"));
            }
        };
        Ok(KeyElementDefinition {
            expr,
            order: element.order,
            position: clause.table.position,
        })
    };
    table.primary_key.iter().map(element).collect()
}

/// Keeps columns together that are so in the other table; how long they live is not theirs to say.
fn add_families(statement: &mut CreateTableStatement, table: &Table, clause: &LikeClause) {
    for family in table.families.iter().filter(|family| family.id != FamilyId(0)) {
        let columns = table
            .declared_columns()
            .iter()
            .filter(|column| column.family == family.id);
        statement.families.push(FamilyDefinition {
            name: named(&family.name, clause),
            columns: columns.map(|column| named(&column.name, clause)).collect(),
            compression: family.options.compression.clone(),
            ttl_micros: None,
            versions: None,
        });
    }
}

/// Returns the column of a table that is like one of another.
fn same(table: &Table, other: &Table, id: ColumnId) -> ColumnId {
    let column = table.column_named(other.column_name(id));
    column.expect("the table has all columns of the other").id
}

fn draft_like(catalog: &Catalog, table: &Table, other: &Table, index: &Index) -> IndexDraft {
    let same = |id: &ColumnId| same(table, other, *id);
    let expr_like = |expr: &KeyExpr| match expr {
        KeyExpr::Column(id) => KeyExpr::Column(same(id)),
        KeyExpr::Hash { column, bytes } => KeyExpr::Hash {
            column: same(column),
            bytes: *bytes,
        },
        KeyExpr::Expression {
            sql,
            ty,
            nullable,
            columns,
        } => KeyExpr::Expression {
            sql: sql.clone(),
            ty: *ty,
            nullable: *nullable,
            columns: columns.iter().map(same).collect(),
        },
    };
    let element_like = |element: &KeyElement| KeyElement {
        expr: expr_like(&element.expr),
        order: element.order,
    };
    let elements: Vec<KeyElement> = index.elements.iter().map(element_like).collect();
    let constraint = index.unique && index.constraint;
    let suffix = if constraint { "key" } else { "idx" };
    IndexDraft {
        name: free_name(catalog, table, &element_names(table, &elements), suffix),
        unique: index.unique,
        nulls_distinct: index.nulls_distinct,
        constraint,
        elements,
        include: index.include.iter().map(same).collect(),
        predicate: index.predicate.as_ref().map(|predicate| IndexPredicate {
            sql: predicate.sql.clone(),
            columns: predicate.columns.iter().map(same).collect(),
        }),
        layout: index.layout,
    }
}
