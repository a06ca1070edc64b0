//! Names without a schema: which schema of the session's path they are found in.
//!
//! One pass over the tree of a statement, before anything looks at its names. It is left out where names
//! without a schema are those of `public`, which is what all that follows takes them for:
//!
//! | a name without a schema                      | becomes                                         |
//! |----------------------------------------------|-------------------------------------------------|
//! | of something new                             | that of the first schema of the path            |
//! | found in `public` first                      | as it is                                        |
//! | found in another schema of the path first    | that of the schema; in FROM under its own name  |
//! | in `public`, which is not in the path        | that of no schema: it is not found              |
//! | of a query that WITH names; of nothing       | as it is                                        |
//!
//! Texts that name a relation are names, too: those of `nextval` and its kin, and casts to `regclass`.
//!
//! Deliberately not here: schemas that are named. The statements check whether those exist.

use std::cell::Cell;
use std::ops::ControlFlow;

use rukh_catalog::{Catalog, PUBLIC};
use rukh_syntax::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, TableFactor, Value, VisitorMut,
};

use crate::bind::names::functions::{Calls, is_temporary};
use crate::bind::names::type_names::{self, Found};
use rukh_error::SqlError;
use rukh_syntax::{
    AlterAction, AttributeAction, ColumnDefinition, CommentTarget, CopySource, DomainAction,
    ForeignKeyDefinition, FunctionName, FunctionStatement, GrantObjects, KeptStatement, KeyElementDefinition,
    KeyExprDefinition, MergeAction, MergeStatement, ObjectName, Ownable, OwnedBy, ReturnsDefinition,
    RoleStatement, ShowStatement, Statement, TEMPORARY, TypeName, TypeStatement, WalkMut, folded,
    parse_object_name, quoted,
};

/// Functions whose first argument names a relation.
const OF_RELATIONS: &[&str] = &[
    "nextval",
    "currval",
    "setval",
    "to_regclass",
    "regclassin",
    "regclassout",
    "pg_get_serial_sequence",
];

/// The schema of what is there and not in the path.
const NOWHERE: &str = "";

/// Gives the names of a statement the schemas in which they are found; fails if something new has none.
///
/// `temporary` is the schema of what is temporary; what reads it in a view makes that temporary, too.
pub(crate) fn qualify(
    statement: &mut Statement,
    catalog: &Catalog,
    path: &[String],
    temporary: &str,
) -> Result<(), SqlError> {
    let mut names = Names {
        catalog,
        path,
        temporary,
        reads_temporary: Cell::new(false),
        scopes: Vec::new(),
        calls: Calls::new(catalog, path),
        error: None,
    };
    names.statement(statement)?;
    names.error.map_or(Ok(()), Err)
}

/// Whether a statement makes something that is said to be temporary.
pub(crate) fn makes_temporary(statement: &Statement) -> bool {
    let name = match statement {
        Statement::CreateTable(table) => &table.name,
        Statement::CreateView(view) => &view.name,
        Statement::CreateSequence { name, .. } => name,
        _ => return false,
    };
    name.schema.as_deref() == Some(TEMPORARY)
}

/// The queries that one WITH names.
struct Scope {
    names: Vec<String>,
    recursive: bool,
    /// How many of them the visit has left behind: the others are not known yet.
    known: usize,
}

struct Names<'a> {
    catalog: &'a Catalog,
    path: &'a [String],
    temporary: &'a str,
    /// Whether a name was found in that schema.
    reads_temporary: Cell<bool>,
    scopes: Vec<Scope>,
    calls: Calls<'a>,
    /// What is wrong with a call.
    error: Option<SqlError>,
}

impl Names<'_> {
    fn statement(&mut self, statement: &mut Statement) -> Result<(), SqlError> {
        match statement {
            Statement::Query(query) => self.visit(query.as_mut()),
            Statement::Insert(insert) => {
                self.with(&mut insert.with);
                if let ast::TableObject::TableName(name) = &mut insert.ast.table {
                    self.ast_name(name);
                    self.changes(name);
                }
                self.returning(&mut insert.ast.returning);
                self.visit(&mut insert.ast);
            }
            Statement::Update(update) => {
                self.with(&mut update.with);
                self.target(&mut update.ast.table.relation);
                self.returning(&mut update.ast.returning);
                self.visit(&mut update.ast);
            }
            Statement::Delete(delete) => {
                self.with(&mut delete.with);
                let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
                    &mut delete.ast.from;
                from.iter_mut().for_each(|table| self.target(&mut table.relation));
                self.returning(&mut delete.ast.returning);
                self.visit(&mut delete.ast);
            }
            Statement::Merge(merge) => self.merge(merge),
            Statement::Writes(writes) => {
                for part in writes.parts.iter_mut().chain([&mut writes.statement]) {
                    self.statement(part)?;
                    self.scopes.clear();
                }
            }
            Statement::Explain { statement, .. } => return self.statement(statement),
            Statement::CreateTable(table) => {
                self.new_name(&mut table.name)?;
                table.likes.iter_mut().for_each(|like| self.name(&mut like.table));
                self.referenced(&mut table.foreign_keys, &table.name);
                table.columns.iter_mut().for_each(|column| self.column(column));
                for check in &mut table.checks {
                    self.visit(&mut check.condition.expr);
                }
                if let Some(source) = &mut table.source {
                    self.calls.stay = table.materialized;
                    self.visit(source.query.as_mut());
                }
            }
            Statement::CreateView(view) => {
                self.calls.stay = true;
                self.visit(view.query.as_mut());
                if self.reads_temporary.get() && view.name.schema.is_none() {
                    view.name.schema = Some(self.temporary.to_string());
                }
                self.new_name(&mut view.name)?;
            }
            Statement::CreateSequence { name, owned_by, .. } => {
                self.new_name(name)?;
                if let Some(OwnedBy::Column { table, .. }) = owned_by {
                    self.name(table);
                }
            }
            Statement::CreateIndex(index) => {
                self.name(&mut index.table);
                self.keys(&mut index.elements);
                if let Some(predicate) = &mut index.predicate {
                    self.visit(&mut predicate.expr);
                }
            }
            Statement::AlterTable(alter) => {
                self.name(&mut alter.name);
                for action in &mut alter.actions {
                    match action {
                        AlterAction::AddForeignKey(key) => self.name(&mut key.referenced),
                        AlterAction::AddColumn {
                            column,
                            foreign_keys,
                            checks,
                            ..
                        } => {
                            self.referenced(foreign_keys, &alter.name);
                            self.column(column);
                            for check in checks {
                                self.visit(&mut check.condition.expr);
                            }
                        }
                        AlterAction::AddCheck(check) => self.visit(&mut check.condition.expr),
                        AlterAction::SetType { ty, using, .. } => {
                            self.ty(ty);
                            if let Some(using) = using {
                                self.visit(&mut using.expr);
                            }
                        }
                        AlterAction::SetDefault {
                            default: Some(default),
                            ..
                        } => self.visit(&mut default.expr),
                        _ => {}
                    }
                }
            }
            Statement::AlterIndex { name, .. }
            | Statement::ReindexIndex { name }
            | Statement::ReindexTable { name }
            | Statement::Refresh { name, .. }
            | Statement::CheckTable { name }
            | Statement::CheckIndex { name } => self.name(name),
            Statement::Comment { on, .. } => match on {
                CommentTarget::Table(name)
                | CommentTarget::Index(name)
                | CommentTarget::View(name)
                | CommentTarget::Sequence(name) => self.name(name),
                CommentTarget::Column { table, .. } | CommentTarget::Constraint { table, .. } => {
                    self.name(table)
                }
                CommentTarget::Type(name) => self.type_name(name),
                CommentTarget::Function(function) => self.function_name(function),
                CommentTarget::Schema(_) => {}
            },
            Statement::DropView { names, .. }
            | Statement::DropSequence { names, .. }
            | Statement::DropTable { names, .. }
            | Statement::DropIndex { names, .. }
            | Statement::Truncate { tables: names, .. } => self.names(names),
            Statement::Show(show) => match show {
                ShowStatement::Indexes { table: Some(name) }
                | ShowStatement::Stats { table: Some(name) }
                | ShowStatement::CreateTable { name }
                | ShowStatement::Columns { name } => self.name(name),
                _ => {}
            },
            Statement::Analyze { table: Some(name) } | Statement::Compact { table: Some(name) } => {
                self.name(name);
            }
            Statement::Vacuum(vacuum) => self.names(&mut vacuum.tables),
            Statement::Lock(lock) => self.names(&mut lock.tables),
            Statement::Copy(copy) => match &mut copy.source {
                CopySource::Table { name, .. } => self.name(name),
                CopySource::Query(query) => self.visit(query.as_mut()),
            },
            Statement::Role(role) => match role.as_mut() {
                RoleStatement::Grant {
                    on: GrantObjects::Tables(names) | GrantObjects::Sequences(names),
                    ..
                } => self.names(names),
                RoleStatement::Owner {
                    kind: Ownable::Type,
                    object,
                    ..
                } => self.type_name(object),
                RoleStatement::Owner { kind, object, .. } if *kind != Ownable::Schema => self.name(object),
                _ => {}
            },
            Statement::SetSchema { kind, name, .. } | Statement::Rename { kind, name, .. } => match kind {
                Ownable::Type => self.type_name(name),
                _ => self.name(name),
            },
            Statement::Type(statement) => match statement.as_mut() {
                TypeStatement::CreateEnum { name, .. } => self.new_name(name)?,
                TypeStatement::CreateRecord { name, fields } => {
                    self.new_name(name)?;
                    fields.iter_mut().for_each(|(_, ty)| self.ty(ty));
                }
                TypeStatement::AlterRecord { name, actions } => {
                    self.type_name(name);
                    for action in actions {
                        if let AttributeAction::Add { ty, .. } | AttributeAction::Type { ty, .. } = action {
                            self.ty(ty);
                        }
                    }
                }
                TypeStatement::AddValue { name, .. } | TypeStatement::RenameValue { name, .. } => {
                    self.type_name(name);
                }
                TypeStatement::CreateDomain(domain) => {
                    self.new_name(&mut domain.name)?;
                    self.ty(&mut domain.ty);
                    let checks = domain.checks.iter_mut().map(|check| &mut check.condition);
                    let expressions = domain.default.iter_mut().chain(checks);
                    expressions.for_each(|expression| self.visit(&mut expression.expr));
                }
                TypeStatement::AlterDomain { name, action } => {
                    self.type_name(name);
                    match action.as_mut() {
                        DomainAction::Default(Some(default)) => self.visit(&mut default.expr),
                        DomainAction::Add(check) => self.visit(&mut check.condition.expr),
                        _ => {}
                    }
                }
                TypeStatement::Drop { names, .. } => {
                    names.iter_mut().for_each(|name| self.type_name(name));
                }
            },
            Statement::Function(statement) => match statement.as_mut() {
                FunctionStatement::Create(function) => {
                    self.new_name(&mut function.name)?;
                    for parameter in &mut function.parameters {
                        self.ty(&mut parameter.ty);
                        if let Some(default) = &mut parameter.default {
                            self.visit(&mut default.expr);
                        }
                    }
                    match &mut function.returns {
                        ReturnsDefinition::Type { is_set, ty, .. } => {
                            self.ty(ty);
                            if let (true, TypeName::Named { name, of: None, .. }) = (*is_set, ty) {
                                self.name(name);
                            }
                        }
                        ReturnsDefinition::Table(columns) => {
                            columns.iter_mut().for_each(|(_, ty)| self.ty(ty));
                        }
                    }
                    self.calls.stay = true;
                    self.visit(function.body.query.as_mut());
                }
                FunctionStatement::Drop { functions, .. } => {
                    functions
                        .iter_mut()
                        .for_each(|function| self.function_name(function));
                }
                FunctionStatement::Alter { function, .. } => self.function_name(function),
            },
            Statement::Kept(kept) => {
                if let KeptStatement::Execute { arguments, .. } = kept.as_mut() {
                    arguments
                        .iter_mut()
                        .for_each(|argument| self.visit(&mut argument.expr));
                }
            }
            Statement::AlterSequence(alter) => {
                self.name(&mut alter.name);
                if let Some(OwnedBy::Column { table, .. }) = &mut alter.owned_by {
                    self.name(table);
                }
            }
            Statement::Analyze { table: None }
            | Statement::Schema(_)
            | Statement::Compact { table: None }
            | Statement::Backup { .. }
            | Statement::Checkpoint { .. }
            | Statement::Set { .. }
            | Statement::Reset { .. }
            | Statement::Extension(_)
            // What a block runs is qualified when it is run.
            | Statement::Do(_)
            | Statement::Transaction(_) => {}
        }
        Ok(())
    }

    fn merge(&mut self, merge: &mut MergeStatement) {
        self.with(&mut merge.with);
        self.target(&mut merge.table);
        self.visit(&mut merge.source);
        self.visit(&mut merge.on);
        for clause in &mut merge.clauses {
            self.visit(&mut clause.condition);
            match &mut clause.action {
                MergeAction::Update(assignments) => self.visit(assignments),
                MergeAction::Insert { values, .. } => self.visit(values),
                MergeAction::Delete | MergeAction::Nothing => {}
            }
        }
        self.returning(&mut merge.returning);
        self.visit(&mut merge.returning);
    }

    /// Gives calls in RETURNING their names.
    fn returning(&self, items: &mut Option<Vec<ast::SelectItem>>) {
        self.calls
            .name_items(items.as_mut().map_or(&mut [], Vec::as_mut_slice));
    }

    /// Visits the queries before a statement, whose names hold in all of it.
    fn with(&mut self, with: &mut Option<ast::With>) {
        if let Some(with) = with {
            self.scopes.push(Scope::of(with));
            self.visit(with);
        }
    }

    /// What is changed is no query, whatever WITH names.
    fn target(&mut self, factor: &mut TableFactor) {
        if let TableFactor::Table { name, .. } = factor {
            self.ast_name(name);
            self.changes(name);
        }
    }

    /// Takes note of the table that a statement changes, itself or by a view.
    fn changes(&mut self, name: &ast::ObjectName) {
        let Ok(name) = ObjectName::from_ast(name) else {
            return;
        };
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        let table = self
            .catalog
            .table_named(schema, &name.name)
            .ok()
            .map(|table| table.id);
        let view = || self.catalog.view_named(schema, &name.name);
        self.calls.changed = table.or_else(|| view()?.reads.first().map(|(id, _)| *id));
    }

    fn visit(&mut self, part: &mut impl WalkMut) {
        if let (ControlFlow::Break(error), None) = (part.walk_mut(self), &self.error) {
            self.error = Some(error);
        }
    }

    fn names(&self, names: &mut [ObjectName]) {
        names.iter_mut().for_each(|name| self.name(name));
    }

    /// A table that is being made refers to itself by a name that no schema has yet.
    fn referenced(&self, keys: &mut [ForeignKeyDefinition], table: &ObjectName) {
        for key in keys {
            self.name(&mut key.referenced);
            if key.referenced.schema.is_none() && key.referenced.name == table.name {
                key.referenced.schema.clone_from(&table.schema);
            }
        }
    }

    fn name(&self, name: &mut ObjectName) {
        match name.schema.as_deref() {
            None => name.schema = self.schema_of(&name.name),
            Some(TEMPORARY) => name.schema = Some(self.temporary.to_string()),
            Some(_) => {}
        }
    }

    fn new_name(&self, name: &mut ObjectName) -> Result<(), SqlError> {
        match name.schema.as_deref() {
            Some(TEMPORARY) => {
                name.schema = Some(self.temporary.to_string());
                return Ok(());
            }
            Some(_) => return Ok(()),
            None => {}
        }
        match self.path.iter().find(|schema| *schema != self.temporary) {
            Some(schema) => {
                name.schema = Some(schema.clone());
                Ok(())
            }
            None => {
                let message = "no schema has been selected to create in";
                Err(SqlError::statement("3F000", message).at(name.position))
            }
        }
    }

    fn ast_name(&self, name: &mut ast::ObjectName) {
        if let [ast::ObjectNamePart::Identifier(schema), _] = name.0.as_mut_slice()
            && folded(schema) == TEMPORARY
        {
            schema.value = self.temporary.to_string();
            self.reads_temporary.set(true);
        }
        let [part] = name.0.as_slice() else {
            return;
        };
        let Some(ident) = part.as_ident() else {
            return;
        };
        if let Some(schema) = self.schema_of(&folded(ident)) {
            // The name keeps its place; errors point to it.
            let schema = Ident {
                value: schema,
                quote_style: Some('"'),
                span: ident.span,
            };
            name.0.insert(0, ast::ObjectNamePart::Identifier(schema));
        }
    }

    /// Returns what a name without a schema is given; `None` if it stays as it is.
    fn schema_of(&self, name: &str) -> Option<String> {
        let is_in = |schema: &str| self.catalog.check_name_free(schema, name).is_err();
        match self.path.iter().find(|schema| is_in(schema)) {
            Some(schema) if schema == PUBLIC => None,
            Some(schema) => {
                self.reads_temporary
                    .set(self.reads_temporary.get() || schema == self.temporary);
                Some(schema.clone())
            }
            None if is_in(PUBLIC) => Some(NOWHERE.to_string()),
            None => None,
        }
    }

    /// Finds types by the path.
    fn types(&self, find: &type_names::Find<'_>) -> impl Fn(Option<&str>, &str) -> Option<Found> {
        |schema, name| match schema {
            Some(TEMPORARY) => find(Some(self.temporary), name),
            Some(schema) => find(Some(schema), name),
            None => self.path.iter().find_map(|schema| find(Some(schema), name)),
        }
    }

    fn ty(&self, ty: &mut TypeName) {
        let TypeName::Named { name, array, of } = ty else {
            return;
        };
        let find = type_names::in_catalog(self.catalog);
        match self.types(&find)(name.schema.as_deref(), &name.name) {
            Some(Found::Type(found)) => {
                *ty = TypeName::Known(if *array { found.array() } else { found });
            }
            Some(Found::Domain(domain)) => {
                name.schema = Some(domain.schema);
                *of = Some(domain.ty);
            }
            None => {}
        }
    }

    /// Gives the name of a type the schema in which it is found.
    fn type_name(&self, name: &mut ObjectName) {
        if name.schema.is_none() {
            let is_in = |schema: &&String| self.catalog.type_named(schema, &name.name).is_some();
            name.schema = self.path.iter().find(is_in).cloned();
        }
    }

    /// Gives a function the schema in which one of its name is found, and its parameters their types.
    fn function_name(&self, function: &mut FunctionName) {
        let name = &mut function.name;
        if name.schema.is_none() {
            let is_in = |schema: &&String| self.catalog.functions_named(schema, &name.name).next().is_some();
            let mut searched = self.path.iter().filter(|schema| !is_temporary(schema));
            name.schema = searched.find(is_in).cloned();
        }
        let types = function.parameters.iter_mut().flatten();
        types.for_each(|ty| self.ty(ty));
    }

    fn column(&mut self, column: &mut ColumnDefinition) {
        self.ty(&mut column.ty);
        let expressions = column.default.iter_mut().chain(&mut column.generated);
        expressions.for_each(|expression| self.visit(&mut expression.expr));
    }

    fn keys(&mut self, elements: &mut [KeyElementDefinition]) {
        for element in elements {
            if let KeyExprDefinition::Expression(expression) = &mut element.expr {
                self.visit(expression.as_mut());
            }
        }
    }

    /// Whether WITH names a query so, where the visit stands.
    fn is_query(&self, name: &str) -> bool {
        let known = |scope: &Scope| {
            if scope.recursive {
                scope.names.len()
            } else {
                scope.known
            }
        };
        let mut scopes = self.scopes.iter();
        scopes.any(|scope| scope.names[..known(scope)].iter().any(|query| query == name))
    }

    /// Gives a text that names a relation the schema in which it is found.
    fn text(&self, expr: &mut Expr) {
        let value = match expr {
            Expr::Value(value) => &mut value.value,
            Expr::Cast { expr, .. } => match expr.as_mut() {
                Expr::Value(value) => &mut value.value,
                _ => return,
            },
            _ => return,
        };
        let Value::SingleQuotedString(text) = value else {
            return;
        };
        let Ok(name) = parse_object_name(text) else { return };
        let found = match name.schema.as_deref() {
            None => self.schema_of(&name.name).filter(|schema| schema != NOWHERE),
            Some(TEMPORARY) => Some(self.temporary.to_string()),
            Some(_) => None,
        };
        if let Some(schema) = found {
            *text = format!("{}.{}", quoted(&schema), quoted(&name.name));
        }
    }
}

impl Scope {
    fn of(with: &ast::With) -> Self {
        Scope {
            names: with
                .cte_tables
                .iter()
                .map(|table| folded(&table.alias.name))
                .collect(),
            recursive: with.recursive,
            known: 0,
        }
    }
}

impl VisitorMut for Names<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        let none = Scope {
            names: Vec::new(),
            recursive: false,
            known: 0,
        };
        self.scopes.push(query.with.as_ref().map_or(none, Scope::of));
        self.calls.enter_query(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.scopes.pop();
        // The queries of a WITH are visited first, in order, before what they are for.
        if let Some(outer) = self.scopes.last_mut()
            && outer.known < outer.names.len()
        {
            outer.known += 1;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut ast::Select) -> ControlFlow<SqlError> {
        self.calls.enter_select(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut ast::Select) -> ControlFlow<SqlError> {
        self.calls.leave_select();
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, _: &mut TableFactor) -> ControlFlow<SqlError> {
        self.calls.leave();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<SqlError> {
        self.calls.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        if let Err(error) = self.calls.enter_factor(factor) {
            return ControlFlow::Break(error);
        }
        if let TableFactor::Table {
            name,
            args: None,
            alias,
            ..
        } = factor
        {
            let written = name.0.len();
            let is_query = match name.0.as_slice() {
                [part] => part.as_ident().is_some_and(|ident| self.is_query(&folded(ident))),
                _ => false,
            };
            if !is_query {
                self.ast_name(name);
            }
            // The statement knows it by its own name: `SELECT a.* FROM a`.
            if alias.is_none()
                && written < name.0.len()
                && let Some(own) = name.0.last().and_then(|part| part.as_ident())
            {
                *alias = Some(ast::TableAlias {
                    explicit: true,
                    name: own.clone(),
                    columns: Vec::new(),
                    at: None,
                });
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if let Err(error) = self.calls.enter_expr(expr) {
            return ControlFlow::Break(error);
        }
        match expr {
            Expr::Function(function) => {
                let name = function
                    .name
                    .0
                    .last()
                    .and_then(|part| part.as_ident())
                    .map(folded);
                if name.is_some_and(|name| OF_RELATIONS.contains(&name.as_str()))
                    && let FunctionArguments::List(list) = &mut function.args
                    && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) = list.args.first_mut()
                {
                    self.text(first);
                }
            }
            Expr::Cast { data_type, .. } if data_type.to_string().eq_ignore_ascii_case("regclass") => {
                self.text(expr);
            }
            Expr::Cast { .. } => {
                let find = type_names::with_rows(self.catalog);
                type_names::resolve_cast(expr, &self.types(&find));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
