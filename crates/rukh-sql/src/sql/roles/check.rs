//! What a statement needs, and whether a role has it.
//!
//! | statement                          | needs                                                             |
//! |------------------------------------|-------------------------------------------------------------------|
//! | what reads a table or view         | SELECT, on it or on the columns that are used                     |
//! | INSERT, COPY FROM STDIN            | INSERT; UPDATE where rows may be replaced; on it or on the columns |
//! | UPDATE, DELETE                     | UPDATE, on it or on the columns, DELETE; SELECT where it looks at rows |
//! | MERGE                              | SELECT, and what its clauses do                                   |
//! | TRUNCATE                           | TRUNCATE                                                          |
//! | nextval and setval of a sequence   | USAGE                                                             |
//! | CREATE TABLE, VIEW, SEQUENCE       | CREATE in the schema, and what its query needs                    |
//! | what a schema other than public has | USAGE, or any other right, on the schema, too                    |
//! | CREATE SCHEMA                      | CREATE in the database                                            |
//! | what changes a definition          | to own it, or DDL                                                 |
//! | files of the server, backups       | to be an administrator                                            |
//!
//! What is not in the list needs an administrator.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use rukh_catalog::{Catalog, Rights, Role, Table, View};
use rukh_syntax::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, Query, Select, TableFactor, Value, Visitor,
};
use rukh_syntax::{
    AlterAction, CommentTarget, CopyDirection, CopySource, CopyStatement, ForeignKeyDefinition,
    FunctionAction, FunctionName, FunctionStatement, InsertStatement, MergeAction, MergeStatement, Name,
    ObjectName, Ownable, OwnedBy, SchemaStatement, ShowStatement, Statement, TypeStatement, Walk, folded,
};

use super::uses::{Columns, Uses, has_star};
use crate::bind::names::functions::called_in;
use crate::bind::names::functions::is_temporary;
use crate::bind::names::locked_relations::names;
use crate::bind::spelling::parsing::parse;
use crate::bind::system::oids::number;
use rukh_error::SqlError;

/// Most views inside of one another.
const DEPTH_MAX: usize = 64;

/// The schema of names without one.
const PUBLIC: &str = "public";

/// What one role may do.
#[derive(Clone)]
pub(crate) struct Checker<'a> {
    catalog: &'a Catalog,
    /// The role, with the rights of those that it is a member of.
    role: Arc<Role>,
    /// The role that runs the statement; what it reads through a view is checked for the view's owner, and what functions in views read
    /// for this one.
    user: Arc<Role>,
    depth: usize,
}

impl<'a> Checker<'a> {
    /// Fails if there is no such role any more.
    pub(crate) fn of(catalog: &'a Catalog, user: &str) -> Result<Self, SqlError> {
        let role = catalog.acting(user);
        let role =
            role.ok_or_else(|| SqlError::statement("42704", format!("role \"{user}\" does not exist")))?;
        Ok(Checker {
            catalog,
            user: role.clone(),
            role,
            depth: 0,
        })
    }

    /// Returns the role.
    pub(crate) fn role(&self) -> &Role {
        &self.role
    }

    /// Whether the role may read a table.
    pub(crate) fn may_read(&self, table: &Table) -> bool {
        let rights = self.catalog.rights_on(&self.role, &table.schema, table.id.0);
        rights.contain(Rights::SELECT)
    }

    /// Fails with 42501 if the role may not run a statement.
    pub(crate) fn statement(&self, statement: &Statement) -> Result<(), SqlError> {
        if self.role.superuser {
            return Ok(());
        }
        match statement {
            Statement::Query(query) => {
                for table in names(query) {
                    self.uses(&table, Rights::UPDATE, &Columns::named(BTreeSet::new()))?;
                }
                self.reads(query.as_ref(), false)
            }
            Statement::Insert(insert) => {
                let ast = &insert.ast;
                if let ast::TableObject::TableName(name) = &ast.table {
                    self.insert(&ObjectName::from_ast(name)?, insert)?;
                }
                self.reads(&insert.with, false)?;
                self.reads(ast, false)
            }
            Statement::Update(statement) => {
                let update = &statement.ast;
                let looks = update.selection.is_some() || update.returning.is_some() || update.from.is_some();
                let looks = looks || update.assignments.iter().any(|set| names_columns(&set.value));
                let table = &update.table.relation;
                self.change(table, Rights::UPDATE, &assigned(&update.assignments))?;
                if looks {
                    let mut uses = Uses::of(update);
                    uses.add_joins(std::slice::from_ref(&update.table));
                    self.looks(table, &uses, update.returning.as_ref())?;
                }
                self.reads(&statement.with, false)?;
                self.reads(update, true)
            }
            Statement::Delete(statement) => {
                let delete = &statement.ast;
                let looks =
                    delete.selection.is_some() || delete.returning.is_some() || delete.using.is_some();
                let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
                    &delete.from;
                for table in from {
                    self.change(&table.relation, Rights::DELETE, &Columns::All)?;
                    if looks {
                        let uses = Uses::of(delete);
                        self.looks(&table.relation, &uses, delete.returning.as_ref())?;
                    }
                }
                self.reads(&statement.with, false)?;
                self.reads(delete, true)
            }
            Statement::Merge(merge) => self.merge(merge),
            Statement::Writes(writes) => {
                let mut parts = writes.parts.iter().chain([&writes.statement]);
                parts.try_for_each(|part| self.statement(part))
            }
            Statement::Explain { statement, .. } => self.statement(statement),
            Statement::Copy(copy) => self.copy(copy),
            Statement::Show(ShowStatement::File { .. } | ShowStatement::Backups { .. }) => Err(files("read")),
            Statement::Set { name, .. } | Statement::Reset { name: Some(name) }
                if name == "log_min_duration_statement" =>
            {
                let message = format!("permission denied to set parameter \"{name}\"");
                Err(denied(message))
            }
            // What they run is checked when it is run.
            Statement::Kept(_) | Statement::Do(_) => Ok(()),
            Statement::Show(_)
            | Statement::Set { .. }
            | Statement::Reset { .. }
            | Statement::Transaction(_)
            | Statement::Extension(_) => Ok(()),
            // What they need is known where they are run.
            Statement::Role(_) => Ok(()),
            statement => self.definition(statement),
        }
    }

    /// Fails unless foreign keys of a table may refer to others: REFERENCES is among the rights that come with all.
    fn refers(&self, keys: &[ForeignKeyDefinition], table: &ObjectName) -> Result<(), SqlError> {
        let is_itself = |name: &ObjectName| (&name.schema, &name.name) == (&table.schema, &table.name);
        let mut others = keys.iter().filter(|key| !is_itself(&key.referenced));
        others.try_for_each(|key| self.object(&key.referenced, Rights::ALL))
    }

    fn definition(&self, statement: &Statement) -> Result<(), SqlError> {
        match statement {
            Statement::CreateTable(table) => {
                self.create_in(&table.name)?;
                for like in &table.likes {
                    self.object(&like.table, Rights::SELECT)?;
                }
                self.refers(&table.foreign_keys, &table.name)?;
                match &table.source {
                    Some(source) => self.reads(source.query.as_ref(), false),
                    None => Ok(()),
                }
            }
            Statement::CreateView(view) => {
                self.create_in(&view.name)?;
                if view.or_replace {
                    self.own(&view.name)?;
                }
                self.reads(view.query.as_ref(), false)
            }
            Statement::CreateSequence { name, owned_by, .. } => {
                if let Some(OwnedBy::Column { table, .. }) = owned_by {
                    self.own(table)?;
                }
                self.create_in(name)
            }
            Statement::CreateIndex(index) => self.own(&index.table),
            Statement::AlterTable(alter) => {
                self.own(&alter.name)?;
                alter.actions.iter().try_for_each(|action| match action {
                    AlterAction::AddForeignKey(key) => self.refers(std::slice::from_ref(key), &alter.name),
                    AlterAction::AddColumn { foreign_keys, .. } => self.refers(foreign_keys, &alter.name),
                    _ => Ok(()),
                })
            }
            Statement::ReindexTable { name } | Statement::CheckTable { name } => self.own(name),
            Statement::AlterIndex { name, .. }
            | Statement::ReindexIndex { name }
            | Statement::CheckIndex { name } => self.own_index(name),
            Statement::Comment { on, .. } => match on {
                CommentTarget::Table(name) | CommentTarget::View(name) | CommentTarget::Sequence(name) => {
                    self.own(name)
                }
                CommentTarget::Schema(name) => self.own_schema(name),
                CommentTarget::Type(name) => self.own_type(name),
                CommentTarget::Function(function) => self.own_named(function),
                CommentTarget::Column { table, .. } | CommentTarget::Constraint { table, .. } => {
                    self.own(table)
                }
                CommentTarget::Index(name) => self.own_index(name),
            },
            Statement::DropTable { names, .. } | Statement::DropSequence { names, .. } => {
                names.iter().try_for_each(|name| self.own(name))
            }
            Statement::DropView { names, .. } => names.iter().try_for_each(|name| self.own(name)),
            Statement::Refresh { name, .. } => self.own(name),
            Statement::Schema(statement) => match statement.as_ref() {
                SchemaStatement::Create { owner, .. } => self.create_schema(owner.as_ref()),
                SchemaStatement::Rename { old, .. } => {
                    self.own_schema(old)?;
                    self.create_schema(None)
                }
                SchemaStatement::Drop { names, .. } => {
                    names.iter().try_for_each(|name| self.own_schema(name))
                }
            },
            Statement::Type(statement) => match statement.as_ref() {
                TypeStatement::CreateEnum { name, .. } | TypeStatement::CreateRecord { name, .. } => {
                    self.create_in(name)
                }
                TypeStatement::CreateDomain(domain) => self.create_in(&domain.name),
                TypeStatement::AddValue { name, .. }
                | TypeStatement::AlterRecord { name, .. }
                | TypeStatement::RenameValue { name, .. }
                | TypeStatement::AlterDomain { name, .. } => self.own_type(name),
                TypeStatement::Drop { names, .. } => names.iter().try_for_each(|name| self.own_type(name)),
            },
            Statement::Function(statement) => match statement.as_ref() {
                FunctionStatement::Create(definition) => {
                    self.create_in(&definition.name)?;
                    match definition.or_replace {
                        true => self.own_function(&definition.name, Some(definition.parameters.len())),
                        false => Ok(()),
                    }
                }
                FunctionStatement::Drop { functions, .. } => {
                    functions.iter().try_for_each(|function| self.own_named(function))
                }
                FunctionStatement::Alter { function, action } => {
                    self.own_named(function)?;
                    match action {
                        FunctionAction::SetSchema(schema) => self.create_in(&ObjectName {
                            schema: Some(schema.text.clone()),
                            name: function.name.name.clone(),
                            position: schema.position,
                        }),
                        _ => Ok(()),
                    }
                }
            },
            Statement::AlterSequence(alter) => {
                if let Some(OwnedBy::Column { table, .. }) = &alter.owned_by {
                    self.own(table)?;
                }
                self.own(&alter.name)
            }
            Statement::Rename {
                kind: Ownable::Type,
                name,
                ..
            } => self.own_type(name),
            Statement::Rename { name, .. } => self.own(name),
            Statement::SetSchema {
                kind, name, schema, ..
            } => {
                match kind {
                    Ownable::Type => self.own_type(name)?,
                    _ => self.own(name)?,
                }
                self.create_in(&ObjectName {
                    schema: Some(schema.text.clone()),
                    name: name.name.clone(),
                    position: schema.position,
                })
            }
            Statement::DropIndex { names, .. } => names.iter().try_for_each(|name| self.own_index(name)),
            Statement::Truncate { tables, .. } => tables
                .iter()
                .try_for_each(|name| self.object(name, Rights::TRUNCATE)),
            Statement::Analyze { table: Some(name) } | Statement::Compact { table: Some(name) } => {
                self.own(name)
            }
            Statement::Vacuum(vacuum) if !vacuum.tables.is_empty() => {
                vacuum.tables.iter().try_for_each(|name| self.own(name))
            }
            Statement::Lock(lock) => lock
                .tables
                .iter()
                .try_for_each(|name| self.lock(name, lock.others_write)),
            _ => Err(denied("must be superuser to run this statement".to_string())),
        }
    }

    fn copy(&self, copy: &CopyStatement) -> Result<(), SqlError> {
        let is_from = copy.direction == CopyDirection::From;
        if !copy.files.is_empty() || copy.options.rejects.file.is_some() {
            let verb = if is_from { "COPY from" } else { "COPY to" };
            let message = format!("must be superuser to {verb} a file");
            return Err(denied(message).with_hint(
                "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.",
            ));
        }
        match (&copy.source, is_from) {
            (CopySource::Table { name, columns }, _) => {
                let columns = Columns::listed(columns.iter().map(|column| column.text.clone()));
                let right = if is_from { Rights::INSERT } else { Rights::SELECT };
                self.uses(name, right, &columns)
            }
            (CopySource::Query(query), _) => self.reads(query.as_ref(), false),
        }
    }

    /// Checks the table that INSERT or UPSERT writes.
    fn insert(&self, name: &ObjectName, insert: &InsertStatement) -> Result<(), SqlError> {
        let ast = &insert.ast;
        let columns = match ast.columns.is_empty() {
            true => self.first_columns(name, ast.source.as_deref()),
            false => Columns::listed(ast.columns.iter().filter_map(last_part).map(folded)),
        };
        self.uses(name, Rights::INSERT, &columns)?;
        if insert.upsert {
            self.uses(name, Rights::UPDATE, &columns)?;
        }
        let mut looked = None;
        match &ast.on {
            None => {}
            Some(ast::OnInsert::OnConflict(conflict)) => {
                if let ast::OnConflictAction::DoUpdate(update) = &conflict.action {
                    self.uses(name, Rights::UPDATE, &assigned(&update.assignments))?;
                    looked = Some(Uses::of(update));
                }
                match &conflict.conflict_target {
                    Some(ast::ConflictTarget::Columns(columns)) => {
                        self.uses(name, Rights::SELECT, &Columns::listed(columns.iter().map(folded)))?;
                    }
                    Some(ast::ConflictTarget::OnConstraint(_)) => self.object(name, Rights::SELECT)?,
                    None => {}
                }
            }
            Some(_) => self.object(name, Rights::UPDATE)?,
        }
        if ast.returning.is_some() {
            looked = Some(Uses::of(ast));
        }
        let Some(uses) = looked else { return Ok(()) };
        let alias = ast.table_alias.as_ref().map(|alias| folded(&alias.alias));
        let columns = uses.of_named(alias.as_ref().unwrap_or(&name.name));
        let has_star = ast.returning.as_ref().is_some_and(|items| has_star(items, &[]));
        let is_none = |columns: &Columns| matches!(columns, Columns::Named { names, .. } if names.is_empty());
        match has_star {
            true => self.object(name, Rights::SELECT),
            false if is_none(&columns) => Ok(()),
            false => self.uses(name, Rights::SELECT, &columns),
        }
    }

    /// Returns the columns of a table or view that INSERT without a list of columns gives values: as many as its rows have.
    fn first_columns(&self, name: &ObjectName, source: Option<&Query>) -> Columns {
        let given = source.and_then(|query| match query.body.as_ref() {
            ast::SetExpr::Values(values) => values.rows.first().map(|row| row.len()),
            ast::SetExpr::Select(select) => {
                let is_one = |item: &ast::SelectItem| {
                    matches!(
                        item,
                        ast::SelectItem::UnnamedExpr(_) | ast::SelectItem::ExprWithAlias { .. }
                    )
                };
                let items = &select.projection;
                items.iter().all(is_one).then_some(items.len())
            }
            _ => None,
        });
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        let object = match self.catalog.view_named(schema, &name.name) {
            Some(view) => Some(view.id.0),
            None => self
                .catalog
                .table_named(schema, &name.name)
                .ok()
                .map(|table| table.id.0),
        };
        match object.zip(given) {
            Some((object, given)) => {
                let columns = self.catalog.columns_of(object).into_iter().take(given);
                Columns::named(columns.map(|(_, name)| name.to_string()).collect())
            }
            None => Columns::All,
        }
    }

    fn merge(&self, merge: &MergeStatement) -> Result<(), SqlError> {
        let mut uses = Uses::default();
        uses.add(&merge.source);
        uses.add(&merge.on);
        uses.add(&merge.returning);
        for clause in &merge.clauses {
            self.reads(&clause.condition, false)?;
            uses.add(&clause.condition);
            match &clause.action {
                MergeAction::Update(assignments) => {
                    self.reads(assignments, false)?;
                    uses.add(assignments);
                    self.change(&merge.table, Rights::UPDATE, &assigned(assignments))?;
                }
                MergeAction::Delete => self.change(&merge.table, Rights::DELETE, &Columns::All)?,
                MergeAction::Insert { columns, values, .. } => {
                    self.reads(values, false)?;
                    uses.add(values);
                    let columns = Columns::listed(columns.iter().filter_map(last_part).map(folded));
                    self.change(&merge.table, Rights::INSERT, &columns)?;
                }
                MergeAction::Nothing => {}
            }
        }
        self.looks(&merge.table, &uses, merge.returning.as_ref())?;
        self.reads(&merge.with, false)?;
        self.reads(&merge.source, false)?;
        self.reads(&merge.on, false)?;
        self.reads(&merge.returning, false)
    }

    /// Checks the table that a statement changes.
    fn change(&self, factor: &TableFactor, rights: Rights, columns: &Columns) -> Result<(), SqlError> {
        match factor {
            TableFactor::Table { name, .. } => self.uses(&ObjectName::from_ast(name)?, rights, columns),
            _ => Ok(()),
        }
    }

    /// Checks that the role may read what a statement uses of the table that it changes.
    fn looks(
        &self,
        factor: &TableFactor,
        uses: &Uses,
        returning: Option<&Vec<ast::SelectItem>>,
    ) -> Result<(), SqlError> {
        let columns = match returning.is_some_and(|items| has_star(items, &[])) {
            true => Columns::All,
            false => uses.of_relation(factor),
        };
        self.change(factor, Rights::SELECT, &columns)
    }

    /// Checks what a part of a statement reads; the first table is the one that it changes if `skips` says so.
    fn reads(&self, part: &impl Walk, skips: bool) -> Result<(), SqlError> {
        let mut reads = Reads {
            checker: self,
            scopes: Vec::new(),
            uses: Uses::of(part),
            stars: Vec::new(),
            skips,
        };
        match part.walk(&mut reads) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(*error),
        }
    }

    /// Checks rights on a table, view or sequence; one that is not there is an error of the statement's run.
    fn object(&self, name: &ObjectName, rights: Rights) -> Result<(), SqlError> {
        self.uses(name, rights, &Columns::All)
    }

    /// Checks rights on a table or view, or on these columns of it.
    fn uses(&self, name: &ObjectName, rights: Rights, columns: &Columns) -> Result<(), SqlError> {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        if let Some(view) = self.catalog.view_named(schema, &name.name) {
            return self.view(view, rights, columns);
        }
        if let Ok(table) = self.catalog.table_named(schema, &name.name) {
            return self.has(schema, table.id.0, rights, columns, || {
                format!("table {}", table.name)
            });
        }
        match self.catalog.sequence_named(schema, &name.name) {
            Some(sequence) => self.has(schema, sequence.id.0, rights, columns, || {
                format!("sequence {}", name.name)
            }),
            None => Ok(()),
        }
    }

    /// Checks rights on a view, and those of its owner on what it reads.
    fn view(&self, view: &View, rights: Rights, columns: &Columns) -> Result<(), SqlError> {
        self.has(&view.schema, view.id.0, rights, columns, || {
            format!("view {}", view.name)
        })?;
        self.functions(&view.sql, self.depth)?;
        let Some(owner) = self.catalog.owner_of(view.id.0).filter(|owner| !owner.superuser) else {
            return Ok(());
        };
        if self.depth >= DEPTH_MAX {
            return Err(SqlError::statement(
                "54001",
                "views are too deep inside of one another",
            ));
        }
        let owner = Checker {
            role: self.catalog.acting(&owner.name).unwrap_or_else(|| owner.clone()),
            depth: self.depth + 1,
            ..self.clone()
        };
        if let Statement::Query(query) = parse(&view.sql)? {
            owner.reads(query.as_ref(), false)?;
        }
        for (id, _) in &view.reads {
            if let Some(table) = self.catalog.table(*id) {
                let writes = rights.without(Rights::SELECT);
                let name = || format!("table {}", table.name);
                owner.has(&table.schema, id.0, writes, &Columns::All, name)?;
            }
        }
        Ok(())
    }

    /// Checks what the functions that a stored query calls read.
    fn functions(&self, sql: &str, depth: usize) -> Result<(), SqlError> {
        if self.catalog.functions().next().is_none() {
            return Ok(());
        }
        let user = Checker {
            role: self.user.clone(),
            depth,
            ..self.clone()
        };
        let Statement::Query(mut query) = parse(sql)? else {
            return Ok(());
        };
        for function in called_in(query.as_mut(), self.catalog) {
            if depth >= DEPTH_MAX {
                return Err(SqlError::statement(
                    "54001",
                    "functions are too deep inside of one another",
                ));
            }
            if let Statement::Query(body) = parse(&function.sql)? {
                user.reads(body.as_ref(), false)?;
            }
            self.functions(&function.sql, depth + 1)?;
        }
        Ok(())
    }

    /// Checks that the role may change the functions that a statement names.
    fn own_function(&self, name: &ObjectName, parameters: Option<usize>) -> Result<(), SqlError> {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        let is_meant = |count: usize| parameters.is_none_or(|parameters| parameters == count);
        let all = self.catalog.functions_named(schema, &name.name);
        all.filter(|function| is_meant(function.parameters.len()))
            .try_for_each(|function| self.own_id(schema, function.id.0, "function", &name.name))
    }

    fn own_named(&self, function: &FunctionName) -> Result<(), SqlError> {
        self.own_function(&function.name, function.parameters.as_ref().map(Vec::len))
    }

    fn has(
        &self,
        schema: &str,
        object: u32,
        rights: Rights,
        columns: &Columns,
        name: impl FnOnce() -> String,
    ) -> Result<(), SqlError> {
        if schema != PUBLIC
            && !self.role.owns.contains(&object)
            && self.catalog.rights_in(&self.role, schema).is_empty()
        {
            return Err(denied(format!("permission denied for schema {schema}")));
        }
        let missing = rights.without(self.catalog.rights_on(&self.role, schema, object));
        match missing.is_empty() || self.has_on_columns(object, missing, columns) {
            true => Ok(()),
            false => Err(denied(format!("permission denied for {}", name()))),
        }
    }

    /// Whether the role has rights on all of these columns of a table or view; on one of them, if none is named.
    fn has_on_columns(&self, object: u32, rights: Rights, columns: &Columns) -> bool {
        let has = |column: &u32| {
            let granted = self.catalog.rights_on_column(&self.role, object, *column);
            granted.contain(rights)
        };
        let all = self.catalog.columns_of(object);
        let used = all.iter().enumerate();
        let used = used.filter(|(at, (_, name))| columns.contain(*at, name));
        let mut used = used.map(|(_, (column, _))| column).peekable();
        match used.peek() {
            Some(_) => used.all(has),
            None => all.iter().any(|(column, _)| has(column)),
        }
    }

    /// Whether the role is a member of another.
    fn is_member(&self, of: &str) -> bool {
        let of = self.catalog.role_named(of);
        of.is_some_and(|of| self.catalog.is_member(self.role.id, of.id))
    }

    /// Checks that the role may make schemas, for itself or a role that it is a member of.
    fn create_schema(&self, owner: Option<&Name>) -> Result<(), SqlError> {
        if owner.is_some_and(|owner| !self.is_member(&owner.text)) {
            return Err(denied(
                "must be superuser to create schemas of other roles".to_string(),
            ));
        }
        match self.catalog.rights_in(&self.role, "").contain(Rights::CREATE) {
            true => Ok(()),
            false => Err(denied("permission denied for database rukh".to_string())),
        }
    }

    /// Checks that the role owns a schema; one that is not there is an error of the statement's run.
    fn own_schema(&self, name: &Name) -> Result<(), SqlError> {
        let owned = match self.catalog.schema_named(&name.text) {
            Some(schema) => self.role.owns.contains(&schema.id.0),
            None => !self.catalog.has_schema(&name.text),
        };
        match owned {
            true => Ok(()),
            false => Err(denied(format!("must be owner of schema {}", name.text))),
        }
    }

    fn create_in(&self, name: &ObjectName) -> Result<(), SqlError> {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        let rights = self.catalog.rights_in(&self.role, schema);
        // Every role may make what is temporary, in a schema that it then owns.
        let is_made = is_temporary(schema) && !self.catalog.has_schema(schema);
        match is_made || rights.contain(Rights::CREATE) || rights.contain(Rights::DDL) {
            true => Ok(()),
            false => Err(denied(format!("permission denied for schema {schema}"))),
        }
    }

    /// Checks that the role may change the definition of a table, view or sequence.
    pub(crate) fn own(&self, name: &ObjectName) -> Result<(), SqlError> {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        let found = if let Ok(table) = self.catalog.table_named(schema, &name.name) {
            Some((table.id.0, "table"))
        } else if let Some(view) = self.catalog.view_named(schema, &name.name) {
            Some((view.id.0, "view"))
        } else {
            let sequence = self.catalog.sequence_named(schema, &name.name);
            sequence.map(|sequence| (sequence.id.0, "sequence"))
        };
        match found {
            Some((id, kind)) => self.own_id(schema, id, kind, &name.name),
            None => Ok(()),
        }
    }

    /// Checks that the role may change the definition of a type.
    fn own_type(&self, name: &ObjectName) -> Result<(), SqlError> {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        match self.catalog.type_named(schema, &name.name) {
            Some(ty) => self.own_id(schema, ty.id().0, "type", &name.name),
            None => Ok(()),
        }
    }

    /// Checks that the role may lock a table: by any of the rights to change it, or to look at it if others may go on.
    fn lock(&self, name: &ObjectName, others_write: bool) -> Result<(), SqlError> {
        let mut refused = self.object(name, Rights::UPDATE);
        let changing = [Rights::DELETE, Rights::TRUNCATE];
        let others = [Rights::SELECT, Rights::INSERT];
        for rights in changing.iter().chain(others.iter().filter(|_| others_write)) {
            if refused.is_ok() {
                break;
            }
            refused = self.object(name, *rights).or(refused);
        }
        refused
    }

    fn own_index(&self, name: &ObjectName) -> Result<(), SqlError> {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        let of_index = self.catalog.index_named(schema, &name.name).ok();
        let of_key = || self.catalog.table_of_key(schema, &name.name);
        match of_index.map(|(table, _)| table).or_else(of_key) {
            Some(table) => self.own_id(schema, table.id.0, "index", &name.name),
            None => Ok(()),
        }
    }

    fn own_id(&self, schema: &str, id: u32, kind: &str, name: &str) -> Result<(), SqlError> {
        let rights = self.catalog.rights_on(&self.role, schema, id);
        match rights.contain(Rights::DDL) {
            true => Ok(()),
            false => Err(denied(format!("must be owner of {kind} {name}"))),
        }
    }
}

/// Makes the error for a right that is missing.
pub(super) fn denied(message: String) -> SqlError {
    SqlError::statement("42501", message)
}

fn files(verb: &str) -> SqlError {
    denied(format!("must be superuser to {verb} files of the server"))
}

/// Returns the columns that assignments set.
fn assigned(assignments: &[ast::Assignment]) -> Columns {
    let targets = assignments.iter().flat_map(|set| match &set.target {
        ast::AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
        ast::AssignmentTarget::Tuple(names) => names.as_slice(),
    });
    // `address.zip` sets a field of the column.
    Columns::listed(targets.filter_map(|name| name.0.first()?.as_ident().map(folded)))
}

fn last_part(name: &ast::ObjectName) -> Option<&ast::Ident> {
    name.0.last()?.as_ident()
}

/// Whether an expression names columns.
fn names_columns(expr: &Expr) -> bool {
    struct Names;
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.walk(&mut Names).is_break()
}

fn literal(value: &Value) -> Option<&String> {
    match value {
        Value::SingleQuotedString(text) => Some(text),
        _ => None,
    }
}

/// Checks every table, view and sequence that a part of a statement names.
struct Reads<'a, 'c> {
    checker: &'a Checker<'c>,
    /// Names that WITH gives to queries, by the query that it stands before.
    scopes: Vec<Vec<String>>,
    /// The names that the part uses.
    uses: Uses,
    /// Whether each SELECT around uses all columns of its relations.
    stars: Vec<bool>,
    skips: bool,
}

impl Visitor for Reads<'_, '_> {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Box<SqlError>> {
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        self.scopes
            .push(with.map(|table| folded(&table.alias.name)).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Box<SqlError>> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Box<SqlError>> {
        self.stars.push(has_star(&select.projection, &select.from));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<Box<SqlError>> {
        self.stars.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Box<SqlError>> {
        let TableFactor::Table { name, args: None, .. } = factor else {
            return ControlFlow::Continue(());
        };
        if std::mem::take(&mut self.skips) {
            return ControlFlow::Continue(());
        }
        // Outside of SELECT there are only the tables beside the one that a statement changes.
        let columns = match self.stars.last() {
            Some(false) => self.uses.of_relation(factor),
            Some(true) | None => Columns::All,
        };
        let checked = ObjectName::from_ast(name)
            .map_err(SqlError::from)
            .and_then(|name| {
                let is_with =
                    name.schema.is_none() && self.scopes.iter().flatten().any(|known| *known == name.name);
                match is_with {
                    // A name may be of a query and of a table, where its scope has ended or not begun: what
                    // cannot be distinguished here is checked.
                    true if !self.checker.is_shadowed(&name) => Ok(()),
                    _ => self.checker.uses(&name, Rights::SELECT, &columns),
                }
            });
        stop(checked)
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Box<SqlError>> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        let name = function
            .name
            .0
            .last()
            .and_then(|part| part.as_ident())
            .map(folded);
        if !matches!(
            name.as_deref(),
            Some("nextval" | "setval" | "currval" | "lastval")
        ) {
            return ControlFlow::Continue(());
        }
        stop(self.checker.sequence_of(&function.args))
    }
}

fn stop(checked: Result<(), SqlError>) -> ControlFlow<Box<SqlError>> {
    match checked {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

impl Checker<'_> {
    /// Whether a name that WITH gives is also that of a table or view.
    fn is_shadowed(&self, name: &ObjectName) -> bool {
        self.catalog.table_named(PUBLIC, &name.name).is_ok()
            || self.catalog.view_named(PUBLIC, &name.name).is_some()
    }

    /// Checks the sequence that nextval and its kin name.
    fn sequence_of(&self, args: &ast::FunctionArguments) -> Result<(), SqlError> {
        let ast::FunctionArguments::List(list) = args else {
            return Ok(());
        };
        let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) = list.args.first() else {
            return Ok(());
        };
        let text = match first {
            Expr::Value(value) => literal(&value.value),
            Expr::Cast { expr, .. } => match expr.as_ref() {
                Expr::Value(value) => literal(&value.value),
                _ => None,
            },
            _ => None,
        };
        match text.map(|text| rukh_syntax::parse_object_name(text)) {
            Some(Ok(name)) => self.object(&name, Rights::USAGE),
            // A number stands for a sequence, too.
            Some(Err(_)) if text.is_none_or(|text| number(text).is_none()) => Ok(()),
            _ => Err(denied(
                "permission denied for a sequence that is not named by a literal".to_string(),
            )),
        }
    }
}
