//! Relations that get another name or go to another schema.
//!
//! Tables, views and sequences carry the names of their schemas, and so do the queries of views and defaults that
//! take numbers from sequences, which are stored as text: these names are rewritten in the same change.
//! A relation with another name keeps the old one as its alias there.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use rukh_catalog::{Catalog, Function, PUBLIC, Returns, Table, View};
use rukh_engine::DefinitionChanges;
use rukh_syntax::sql_text;
use rukh_syntax::sqlparser::ast::{
    Expr, Ident, ObjectName as AstName, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableAlias, TableFactor, VisitorMut,
};
use rukh_syntax::{Name, ObjectName, Ownable, Statement, WalkMut, folded};

use crate::bind::names::type_names::{self, Change};
use crate::bind::spelling::parsing::parse;
use crate::exec::session_settings::notice::Notice;
use crate::pg::sequences::{default_of, sequence_named_in_default};
use crate::sql::ddl::names::{check_free, skipped, unknown};
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Runs ALTER TABLE, VIEW or SEQUENCE … RENAME TO; as a table any of them may be named.
pub(in crate::sql::ddl) fn rename(
    session: &mut Session,
    kind: Ownable,
    name: &ObjectName,
    if_exists: bool,
    new: &Name,
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    let mut is_unknown = false;
    engine.change_definitions(|catalog| {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        let is_table = catalog.table_named(schema, &name.name).is_ok();
        let is_view = catalog.view_named(schema, &name.name).is_some();
        let is_sequence = catalog.sequence_named(schema, &name.name).is_some();
        let (is_there, what) = match kind {
            Ownable::View => (is_view, "a view"),
            Ownable::Sequence => (is_sequence, "a sequence"),
            _ => (is_table || is_view || is_sequence, "a table"),
        };
        if !is_there {
            if catalog.check_name_free(schema, &name.name).is_err() {
                let message = format!("\"{}\" is not {what}", name.name);
                return Err(SqlError::statement("42809", message).at(name.position));
            }
            is_unknown = true;
            return match if_exists {
                true => Ok(DefinitionChanges::default()),
                false => Err(name.undefined().into()),
            };
        }
        check_free(catalog, schema, new)?;
        let before = (schema.to_string(), name.name.clone());
        let after = (schema.to_string(), new.text.clone());
        moved(catalog, &Moves(BTreeMap::from([(before, after)])))
    })?;
    match is_unknown {
        true => skipped(session, name),
        false => Ok(()),
    }
}

/// Runs ALTER TABLE, VIEW or SEQUENCE … SET SCHEMA.
pub(in crate::sql::ddl) fn set_schema(
    session: &mut Session,
    kind: Ownable,
    name: &ObjectName,
    if_exists: bool,
    schema: &Name,
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    let mut is_unknown = false;
    engine.change_definitions(|catalog| {
        let from = name.schema.as_deref().unwrap_or(PUBLIC);
        let mut names = vec![(from.to_string(), name.name.clone())];
        let mut indexes = Vec::new();
        match catalog.table_named(from, &name.name) {
            Ok(table) if kind == Ownable::Table => {
                let own = catalog.sequences_of(table.id);
                names.extend(own.map(|sequence| (sequence.schema.clone(), sequence.name.clone())));
                indexes.extend(table.indexes.iter().map(|index| index.name.clone()));
                indexes.extend(table.key_name());
            }
            _ => match kind {
                Ownable::View if catalog.view_named(from, &name.name).is_some() => {}
                Ownable::Sequence if let Some(sequence) = catalog.sequence_named(from, &name.name) => {
                    if sequence.owner.is_some() {
                        let message = "cannot move an owned sequence into another schema";
                        return Err(SqlError::unsupported(message).at(name.position));
                    }
                }
                _ if catalog.check_name_free(from, &name.name).is_err() => {
                    let kind = match kind {
                        Ownable::View => "a view",
                        Ownable::Sequence => "a sequence",
                        _ => "a table",
                    };
                    let message = format!("\"{}\" is not {kind}", name.name);
                    return Err(SqlError::statement("42809", message).at(name.position));
                }
                _ if if_exists => {
                    is_unknown = true;
                    return Ok(DefinitionChanges::default());
                }
                _ => return Err(SqlError::undefined_table(&name.name).at(name.position)),
            },
        }
        if !catalog.has_schema(&schema.text) {
            return Err(unknown(&schema.text).at(schema.position));
        }
        if schema.text == from {
            return Ok(DefinitionChanges::default());
        }
        let taken = names.iter().map(|(_, name)| name).chain(&indexes);
        for name in taken {
            if catalog.check_name_free(&schema.text, name).is_err() {
                let message = format!("relation \"{name}\" already exists in schema \"{}\"", schema.text);
                return Err(SqlError::statement("42P07", message).at(schema.position));
            }
        }
        let moves = names
            .into_iter()
            .map(|(from, name)| ((from, name.clone()), (schema.text.clone(), name)));
        moved(catalog, &Moves(moves.collect()))
    })?;
    if is_unknown {
        let message = format!("relation \"{}\" does not exist, skipping", name.name);
        session.notice(Notice::new(message));
    }
    Ok(())
}

/// The names that relations get, schemas first, by those that they have.
pub(in crate::sql::ddl) struct Moves(pub(in crate::sql::ddl) BTreeMap<(String, String), (String, String)>);

impl Moves {
    fn of(&self, schema: &str, name: &str) -> Option<&(String, String)> {
        self.0.get(&(schema.to_string(), name.to_string()))
    }
}

/// Returns the definitions that change when relations get other names.
pub(in crate::sql::ddl) fn moved(catalog: &Catalog, moves: &Moves) -> Result<DefinitionChanges, SqlError> {
    let mut changes = DefinitionChanges::default();
    for table in catalog.tables() {
        let mut next = Table::clone(table);
        if let Some((schema, name)) = moves.of(&table.schema, &table.name) {
            (next.schema, next.name) = (schema.clone(), name.clone());
            // The key keeps its name.
            table
                .key_name()
                .into_iter()
                .for_each(|key| next.set_key_name(key));
        }
        for column in &mut next.columns {
            if let Some((schema, name)) = column.default.as_deref().and_then(sequence_named_in_default)
                && let Some((schema, name)) = moves.of(&schema, &name)
            {
                column.default = Some(default_of(schema, name));
            }
        }
        if let Some(materialized) = &mut next.materialized {
            let query = &mut materialized.query;
            (query.schema, query.name) = (next.schema.clone(), next.name.clone());
            if let Some(sql) = moved_query(&query.sql, catalog, moves)? {
                query.sql = sql;
            }
        }
        if next != **table {
            changes.tables.push(next);
        }
    }
    for sequence in catalog.sequences() {
        if let Some((schema, name)) = moves.of(&sequence.schema, &sequence.name) {
            let mut next = sequence.as_ref().clone();
            (next.schema, next.name) = (schema.clone(), name.clone());
            changes.sequences.push(next);
        }
    }
    for function in catalog.functions() {
        if let Returns::Relation { schema, name } = &function.returns
            && let Some((schema, name)) = moves.of(schema, name).cloned()
        {
            let mut next = Function::clone(function);
            next.returns = Returns::Relation { schema, name };
            changes.functions.push(next);
        }
    }
    for view in catalog.views() {
        let mut next = View::clone(view);
        if let Some((schema, name)) = moves.of(&view.schema, &view.name) {
            (next.schema, next.name) = (schema.clone(), name.clone());
        }
        next.sql = moved_query(&view.sql, catalog, moves)?.unwrap_or(next.sql);
        if next != **view {
            changes.views.push(next);
        }
    }
    Ok(changes)
}

/// Returns the query of a view with the new names of what it reads; `None` if they are the old ones.
fn moved_query(sql: &str, catalog: &Catalog, moves: &Moves) -> Result<Option<String>, SqlError> {
    let Statement::Query(mut query) = parse(sql)? else {
        return Err(SqlError::internal("a view holds another statement than a query"));
    };
    let mut mover = Mover {
        moves,
        has_moved: false,
    };
    let query: &mut Query = query.as_mut();
    let _ = query.walk_mut(&mut mover);
    // The type of the rows of a relation has its name.
    for ((schema, name), (new_schema, new_name)) in &moves.0 {
        if catalog.type_named(schema, name).is_none() {
            mover.has_moved |= type_names::renamed(
                query,
                &Change::Name {
                    old: (schema, name),
                    new: (new_schema, new_name),
                },
            );
        }
    }
    Ok(mover.has_moved.then(|| sql_text(query)))
}

struct Mover<'a> {
    moves: &'a Moves,
    has_moved: bool,
}

impl Mover<'_> {
    /// Returns the new name of the relation that these two words name, unless it stays.
    fn of(&mut self, schema: &Ident, name: &Ident) -> Option<(String, String)> {
        let moved = self.moves.of(&folded(schema), &folded(name)).cloned();
        self.has_moved |= moved.is_some();
        moved
    }
}

fn quoted(text: &str) -> Ident {
    Ident::with_quote('"', text)
}

/// Returns the parts of a name of two parts.
fn parts(name: &mut AstName) -> Option<(&mut Ident, &mut Ident)> {
    match name.0.as_mut_slice() {
        [
            ObjectNamePart::Identifier(first),
            ObjectNamePart::Identifier(second),
        ] => Some((first, second)),
        _ => None,
    }
}

impl VisitorMut for Mover<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            args: None,
            alias,
            ..
        } = factor
            && let Some((schema, last)) = parts(name)
            && let Some((new_schema, new_name)) = self.of(schema, last)
        {
            let old_name = folded(last);
            *schema = quoted(&new_schema);
            if old_name != new_name {
                *last = quoted(&new_name);
            }
            if old_name != new_name && alias.is_none() {
                *alias = Some(TableAlias {
                    explicit: true,
                    name: quoted(&old_name),
                    columns: Vec::new(),
                    at: None,
                });
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
                && let Some((schema, last)) = parts(name)
                && let Some((new_schema, new_name)) = self.of(schema, last)
            {
                match folded(last) == new_name {
                    true => *schema = quoted(&new_schema),
                    // The relation has its old name as an alias.
                    false => {
                        name.0.remove(0);
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [schema, name, _] = parts.as_slice()
            && let Some((new_schema, new_name)) = self.of(schema, name)
        {
            match folded(name) == new_name {
                true => parts[0] = quoted(&new_schema),
                false => {
                    parts.remove(0);
                }
            }
        }
        ControlFlow::Continue(())
    }
}
