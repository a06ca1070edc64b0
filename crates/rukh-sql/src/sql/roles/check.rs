//! What a statement needs, and whether a role has it.
//!
//! | statement                          | needs                                                             |
//! |------------------------------------|-------------------------------------------------------------------|
//! | what reads a table or view         | SELECT                                                            |
//! | INSERT, COPY FROM STDIN            | INSERT; UPDATE where rows may be replaced                         |
//! | UPDATE, DELETE                     | UPDATE, DELETE; SELECT where it looks at rows                     |
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

use std::ops::ControlFlow;
use std::sync::Arc;

use rukh_catalog::{Catalog, Rights, Role, Table, View};
use rukh_syntax::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, Query, TableFactor, Value, Visitor,
};
use rukh_syntax::{
    AlterAction, CommentTarget, CopyDirection, CopySource, CopyStatement, ForeignKeyDefinition,
    FunctionAction, FunctionName, FunctionStatement, MergeAction, MergeStatement, Name, ObjectName, Ownable,
    OwnedBy, SchemaStatement, ShowStatement, Statement, TypeStatement, Walk, folded,
};

use crate::bind::names::functions::called_in;
use crate::bind::names::locked_relations::names;
use crate::bind::spelling::parsing::parse;
use crate::bind::system::oids::number;
use crate::exec::session_settings::search_path::is_temporary;
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
                    self.object(&table, Rights::UPDATE)?;
                }
                self.reads(query.as_ref(), false)
            }
            Statement::Insert(insert) => {
                let ast = &insert.ast;
                let mut rights = Rights::INSERT;
                if insert.upsert || may_update(ast.on.as_ref()) {
                    rights = rights.with(Rights::UPDATE);
                }
                if ast.returning.is_some() {
                    rights = rights.with(Rights::SELECT);
                }
                if let ast::TableObject::TableName(name) = &ast.table {
                    self.object(&ObjectName::from_ast(name)?, rights)?;
                }
                self.reads(&insert.with, false)?;
                self.reads(ast, false)
            }
            Statement::Update(statement) => {
                let update = &statement.ast;
                let looks = update.selection.is_some() || update.returning.is_some() || update.from.is_some();
                let looks = looks || update.assignments.iter().any(|set| names_columns(&set.value));
                self.change(&update.table.relation, Rights::UPDATE, looks)?;
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
                    self.change(&table.relation, Rights::DELETE, looks)?;
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
            Statement::Set { name, .. } if name == "log_min_duration_statement" => {
                let message = format!("permission denied to set parameter \"{name}\"");
                Err(denied(message))
            }
            // What they run is checked when it is run.
            Statement::Kept(_) => Ok(()),
            Statement::Show(_) | Statement::Set { .. } | Statement::ResetAll | Statement::Transaction(_) => {
                Ok(())
            }
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
                CommentTarget::Column { table, .. } => self.own(table),
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
            (CopySource::Table { name, .. }, true) => self.object(name, Rights::INSERT),
            (CopySource::Table { name, .. }, false) => self.object(name, Rights::SELECT),
            (CopySource::Query(query), _) => self.reads(query.as_ref(), false),
        }
    }

    fn merge(&self, merge: &MergeStatement) -> Result<(), SqlError> {
        let mut rights = Rights::NONE;
        for clause in &merge.clauses {
            self.reads(&clause.condition, false)?;
            rights = rights.with(match &clause.action {
                MergeAction::Update(assignments) => {
                    self.reads(assignments, false)?;
                    Rights::UPDATE
                }
                MergeAction::Delete => Rights::DELETE,
                MergeAction::Insert { values, .. } => {
                    self.reads(values, false)?;
                    Rights::INSERT
                }
                MergeAction::Nothing => Rights::NONE,
            });
        }
        self.change(&merge.table, rights, true)?;
        self.reads(&merge.with, false)?;
        self.reads(&merge.source, false)?;
        self.reads(&merge.on, false)?;
        self.reads(&merge.returning, false)
    }

    /// Checks the table that UPDATE or DELETE changes.
    fn change(&self, factor: &TableFactor, rights: Rights, looks: bool) -> Result<(), SqlError> {
        let TableFactor::Table { name, .. } = factor else {
            return Ok(());
        };
        let rights = if looks {
            rights.with(Rights::SELECT)
        } else {
            rights
        };
        self.object(&ObjectName::from_ast(name)?, rights)
    }

    /// Checks what a part of a statement reads; the first table is the one that it changes if `skips` says so.
    fn reads(&self, part: &impl Walk, skips: bool) -> Result<(), SqlError> {
        let mut reads = Reads {
            checker: self,
            scopes: Vec::new(),
            skips,
        };
        match part.walk(&mut reads) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(*error),
        }
    }

    /// Checks rights on a table, view or sequence; one that is not there is an error of the statement's run.
    fn object(&self, name: &ObjectName, rights: Rights) -> Result<(), SqlError> {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        if let Some(view) = self.catalog.view_named(schema, &name.name) {
            return self.view(view, rights);
        }
        if let Ok(table) = self.catalog.table_named(schema, &name.name) {
            return self.has(schema, table.id.0, rights, || format!("table {}", table.name));
        }
        match self.catalog.sequence_named(schema, &name.name) {
            Some(sequence) => self.has(schema, sequence.id.0, rights, || {
                format!("sequence {}", name.name)
            }),
            None => Ok(()),
        }
    }

    /// Checks rights on a view, and those of its owner on what it reads.
    fn view(&self, view: &View, rights: Rights) -> Result<(), SqlError> {
        self.has(&view.schema, view.id.0, rights, || format!("view {}", view.name))?;
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
                owner.has(&table.schema, id.0, writes, || format!("table {}", table.name))?;
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
        name: impl FnOnce() -> String,
    ) -> Result<(), SqlError> {
        if schema != PUBLIC
            && !self.role.owns.contains(&object)
            && self.catalog.rights_in(&self.role, schema).is_empty()
        {
            return Err(denied(format!("permission denied for schema {schema}")));
        }
        match self.catalog.rights_on(&self.role, schema, object).contain(rights) {
            true => Ok(()),
            false => Err(denied(format!("permission denied for {}", name()))),
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
            None => name.text != PUBLIC,
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
        match self.catalog.index_named(schema, &name.name) {
            Ok((table, _)) => self.own_id(schema, table.id.0, "index", &name.name),
            Err(_) => Ok(()),
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

/// Whether ON CONFLICT changes rows that are there.
fn may_update(on: Option<&ast::OnInsert>) -> bool {
    match on {
        None => false,
        Some(ast::OnInsert::OnConflict(conflict)) => {
            !matches!(conflict.action, ast::OnConflictAction::DoNothing)
        }
        Some(_) => true,
    }
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

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Box<SqlError>> {
        let TableFactor::Table { name, args: None, .. } = factor else {
            return ControlFlow::Continue(());
        };
        if std::mem::take(&mut self.skips) {
            return ControlFlow::Continue(());
        }
        let checked = ObjectName::from_ast(name)
            .map_err(SqlError::from)
            .and_then(|name| {
                let is_with =
                    name.schema.is_none() && self.scopes.iter().flatten().any(|known| *known == name.name);
                match is_with {
                    // A name may be of a query and of a table, where its scope has ended or not begun: what
                    // cannot be distinguished here is checked.
                    true if !self.checker.is_shadowed(&name) => Ok(()),
                    _ => self.checker.object(&name, Rights::SELECT),
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
