//! DROP and TRUNCATE.
//!
//! What depends on what is dropped goes with it by CASCADE, and otherwise keeps it: views on what they read,
//! defaults on the sequences that they take numbers from, and whatever a schema holds on the schema. All that
//! one statement drops goes at once.

use std::ops::ControlFlow;

use rukh_catalog::{
    Catalog, Column, ForeignKey, Function, FunctionId, Index, IndexId, PUBLIC, Returns, Schema, Sequence,
    SequenceId, Table, TableId, Type, TypeId, View, ViewId, has_type,
};
use rukh_engine::{DefinitionChanges, Numbering};
use rukh_syntax::sqlparser::ast::{self, Visitor};
use rukh_syntax::{FunctionName, Name, ObjectName, Statement, Walk, quoted};

use crate::bind::names::functions::called_in;
use crate::bind::names::type_names::{Change, renamed};
use crate::bind::names::views::views_on;
use crate::bind::spelling::parsing::parse;
use crate::exec::session_settings::notice::Notice;
use crate::pg::sequences::sequence_named_in_default;
use crate::sql::ddl::foreign::check_still_unique;
use crate::sql::ddl::function::function_named;
use crate::sql::ddl::names::type_named;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// What a statement drops.
struct Removal<'a> {
    catalog: &'a Catalog,
    /// The schemas that messages omit.
    path: Vec<String>,
    tables: Vec<TableId>,
    views: Vec<ViewId>,
    sequences: Vec<SequenceId>,
    schemas: Vec<String>,
    types: Vec<TypeId>,
    functions: Vec<FunctionId>,
    /// What the statement names.
    named: Vec<String>,
    /// What else goes, and what it depends on.
    dependent: Vec<(String, String)>,
    /// Tables without defaults that take numbers from what is dropped.
    changed: Vec<Table>,
    notices: Vec<Notice>,
}

impl<'a> Removal<'a> {
    fn new(catalog: &'a Catalog, path: &[String]) -> Self {
        Removal {
            catalog,
            path: path.to_vec(),
            tables: Vec::new(),
            views: Vec::new(),
            sequences: Vec::new(),
            schemas: Vec::new(),
            types: Vec::new(),
            functions: Vec::new(),
            named: Vec::new(),
            dependent: Vec::new(),
            changed: Vec::new(),
            notices: Vec::new(),
        }
    }

    fn name(&self, schema: &str, name: &str) -> String {
        match self.path.iter().any(|known| known == schema) {
            true => quoted(name),
            false => format!("{}.{}", quoted(schema), quoted(name)),
        }
    }

    fn table_text(&self, table: &Table) -> String {
        if table.materialized.is_some() {
            return format!("materialized view {}", self.name(&table.schema, &table.name));
        }
        format!("table {}", self.name(&table.schema, &table.name))
    }

    fn view_text(&self, view: &View) -> String {
        format!("view {}", self.name(&view.schema, &view.name))
    }

    fn sequence_text(&self, sequence: &Sequence) -> String {
        format!("sequence {}", self.name(&sequence.schema, &sequence.name))
    }

    fn add_table(&mut self, table: &Table, on: Option<String>) {
        if !self.tables.contains(&table.id) {
            self.tables.push(table.id);
            self.add(self.table_text(table), on);
        }
    }

    fn add_view(&mut self, view: &View, on: Option<String>) {
        if !self.views.contains(&view.id) {
            self.views.push(view.id);
            self.add(self.view_text(view), on);
        }
    }

    /// Adds a view that reads what goes; of a materialized one it is the table.
    fn add_reader(&mut self, view: &View, on: String) {
        match self.catalog.table_named(&view.schema, &view.name) {
            Ok(table) => self.add_table(table, Some(on)),
            Err(_) => self.add_view(view, Some(on)),
        }
    }

    fn add_sequence(&mut self, sequence: &Sequence, on: Option<String>) {
        if !self.sequences.contains(&sequence.id) {
            self.sequences.push(sequence.id);
            self.add(self.sequence_text(sequence), on);
        }
    }

    fn type_text(&self, ty: &Type) -> String {
        format!("type {}", self.name(ty.schema(), ty.name()))
    }

    fn add_type(&mut self, ty: &Type, on: Option<String>) {
        if !self.types.contains(&ty.id()) {
            self.types.push(ty.id());
            self.add(self.type_text(ty), on);
        }
    }

    fn function_text(&self, function: &Function) -> String {
        let types = function
            .parameters
            .iter()
            .map(|parameter| parameter.ty.sql_name());
        let name = self.name(&function.schema, &function.name);
        format!("function {name}({})", types.collect::<Vec<_>>().join(","))
    }

    fn add_function(&mut self, function: &Function, on: Option<String>) {
        if !self.functions.contains(&function.id) {
            self.functions.push(function.id);
            self.add(self.function_text(function), on);
        }
    }

    /// Adds the functions that give rows of a relation which goes.
    fn add_functions_of(&mut self, schema: &str, name: &str, on: &str) {
        for function in self.catalog.functions() {
            if matches!(&function.returns, Returns::Relation { schema: of, name: known } if of == schema && known == name)
            {
                self.add_function(function, Some(on.to_string()));
            }
        }
    }

    /// Adds the views that call functions which go.
    fn add_callers(&mut self) -> Result<(), SqlError> {
        let materialized = self.catalog.materialized().map(|(_, view)| view);
        for view in self.catalog.views().map(AsRef::as_ref).chain(materialized) {
            if self.functions.is_empty() {
                break;
            }
            let Statement::Query(mut query) = parse(&view.sql)? else {
                continue;
            };
            let called = called_in(query.as_mut(), self.catalog);
            if let Some(function) = called
                .iter()
                .find(|function| self.functions.contains(&function.id))
            {
                self.add_reader(view, self.function_text(function));
            }
        }
        Ok(())
    }

    /// Takes note of what goes: because the statement says so, or because of what it depends on.
    fn add(&mut self, text: String, on: Option<String>) {
        match on {
            None => self.named.push(text),
            Some(on) => self.dependent.push((text, on)),
        }
    }

    /// Adds what depends on what goes, and what depends on that.
    fn add_dependent(&mut self) -> Result<(), SqlError> {
        let catalog = self.catalog;
        for schema in self.schemas.clone() {
            let on = || Some(format!("schema {}", quoted(&schema)));
            for table in catalog.tables().filter(|table| table.schema == schema) {
                self.add_table(table, on());
            }
            for view in catalog.views().filter(|view| view.schema == schema) {
                self.add_view(view, on());
            }
            for ty in catalog.types().filter(|ty| ty.schema() == schema) {
                self.add_type(ty, on());
            }
            for function in catalog.functions().filter(|function| function.schema == schema) {
                self.add_function(function, on());
            }
            let free = catalog.sequences().filter(|sequence| sequence.owner.is_none());
            for sequence in free.filter(|sequence| sequence.schema == schema) {
                self.add_sequence(sequence, on());
            }
        }
        loop {
            let before = self.dependent.len();
            for ty in catalog
                .types()
                .filter(|ty| self.types.contains(&ty.id()))
                .cloned()
                .collect::<Vec<_>>()
            {
                for view in catalog.views().filter(|view| reads_type(view, &ty)) {
                    self.add_view(view, Some(self.type_text(&ty)));
                }
                for other in catalog
                    .types()
                    .filter(|other| other.id() != ty.id() && has_type(other.as_ref(), ty.id()))
                {
                    self.add_type(other, Some(self.type_text(&ty)));
                }
                for function in catalog
                    .functions()
                    .filter(|function| has_type(function.as_ref(), ty.id()))
                {
                    self.add_function(function, Some(self.type_text(&ty)));
                }
            }
            for table in catalog
                .tables()
                .filter(|table| self.tables.contains(&table.id))
                .cloned()
                .collect::<Vec<_>>()
            {
                for view in views_on(catalog, table.id, None) {
                    self.add_reader(view, self.table_text(&table));
                }
                self.add_functions_of(&table.schema, &table.name, &self.table_text(&table));
            }
            for view in catalog
                .views()
                .filter(|view| self.views.contains(&view.id))
                .cloned()
                .collect::<Vec<_>>()
            {
                self.add_functions_of(&view.schema, &view.name, &self.view_text(&view));
            }
            self.add_callers()?;
            for sequence in catalog
                .sequences()
                .filter(|sequence| self.sequences.contains(&sequence.id))
                .cloned()
                .collect::<Vec<_>>()
            {
                let materialized = catalog.materialized().map(|(_, view)| view);
                let all = catalog.views().map(AsRef::as_ref).chain(materialized);
                for view in all.filter(|view| reads_sequence(view, &sequence)) {
                    self.add_reader(view, self.sequence_text(&sequence));
                }
            }
            let materialized = catalog.materialized().map(|(_, view)| view);
            for view in catalog.views().map(AsRef::as_ref).chain(materialized) {
                let is_gone = |read: &&ViewId| self.views.contains(read);
                if let Some(read) = view.views.iter().find(is_gone)
                    && let Some(read) = catalog.views().find(|view| view.id == *read)
                {
                    self.add_reader(view, self.view_text(read));
                }
            }
            if self.dependent.len() == before {
                break;
            }
        }
        self.check_columns()?;
        self.add_defaults()?;
        self.add_foreign_keys();
        Ok(())
    }

    /// Fails if tables that stay have columns of types that go: dropping a column is a statement of its own.
    fn check_columns(&self) -> Result<(), SqlError> {
        for ty in self.catalog.types().filter(|ty| self.types.contains(&ty.id())) {
            let stay = self
                .catalog
                .tables()
                .filter(|table| !self.tables.contains(&table.id));
            let mut detail = Vec::new();
            for table in stay.filter(|table| has_type(table.as_ref(), ty.id())) {
                let of_type = |column: &&Column| has_type(*column, ty.id());
                let columns = table.columns.iter().filter(of_type);
                detail.extend(columns.map(|column| {
                    let table = self.table_text(table);
                    format!(
                        "column {} of {table} depends on {}",
                        quoted(&column.name),
                        self.type_text(ty)
                    )
                }));
            }
            if !detail.is_empty() {
                let message = format!(
                    "cannot drop {} because other objects depend on it",
                    self.type_text(ty)
                );
                return Err(SqlError::statement("2BP01", message)
                    .with_detail(detail.join("\n"))
                    .with_hint("Drop the columns first, or change them to another type."));
            }
        }
        Ok(())
    }

    /// Takes foreign keys away that refer to tables which go, from tables that stay.
    fn add_foreign_keys(&mut self) {
        let gone = self.tables.clone();
        for table in self.catalog.tables().filter(|table| !gone.contains(&table.id)) {
            let goes = |key: &&ForeignKey| gone.contains(&key.referenced);
            for key in table.foreign_keys.iter().filter(goes) {
                let referenced = self
                    .catalog
                    .table(key.referenced)
                    .map(|table| self.table_text(table));
                let constraint = format!("constraint {} on {}", quoted(&key.name), self.table_text(table));
                self.dependent.push((constraint, referenced.unwrap_or_default()));
            }
            if table
                .foreign_keys
                .iter()
                .any(|key| gone.contains(&key.referenced))
            {
                let known = self.changed.iter().position(|changed| changed.id == table.id);
                let at = known.unwrap_or_else(|| {
                    self.changed.push(Table::clone(table));
                    self.changed.len() - 1
                });
                self.changed[at]
                    .foreign_keys
                    .retain(|key| !gone.contains(&key.referenced));
            }
        }
    }

    /// Takes defaults away that take numbers from sequences which go, in tables that stay.
    fn add_defaults(&mut self) -> Result<(), SqlError> {
        let is_owned = |sequence: &Sequence| {
            sequence
                .owner
                .is_some_and(|(table, _)| self.tables.contains(&table))
        };
        let sequences = self.catalog.sequences();
        let gone = sequences.filter(|sequence| self.sequences.contains(&sequence.id) || is_owned(sequence));
        let gone: Vec<&Sequence> = gone.map(|sequence| sequence.as_ref()).collect();
        if gone.is_empty() {
            return Ok(());
        }
        for table in self
            .catalog
            .tables()
            .filter(|table| !self.tables.contains(&table.id))
        {
            let mut next = Table::clone(table);
            let mut lost: Vec<(String, String)> = Vec::new();
            for column in &mut next.columns {
                let taken = column.default.as_deref().and_then(sequence_named_in_default);
                let taken = taken.and_then(|(schema, name)| {
                    gone.iter()
                        .find(|gone| gone.schema == schema && gone.name == name)
                });
                let Some(sequence) = taken else {
                    continue;
                };
                let of_column = format!("column {} of {}", quoted(&column.name), self.table_text(table));
                let sequence = self.sequence_text(sequence);
                if column.values.identity.is_some() {
                    let message = format!("cannot drop {sequence} because {of_column} requires it");
                    return Err(SqlError::statement("2BP01", message)
                        .with_hint(format!("You can drop {of_column} instead.")));
                }
                lost.push((format!("default value for {of_column}"), sequence));
                column.default = None;
            }
            if !lost.is_empty() {
                self.dependent.append(&mut lost);
                self.changed.push(next);
            }
        }
        Ok(())
    }

    /// Returns the changes, and the notices about them; fails if something else would have to go.
    fn finish(mut self, cascade: bool, notices: &mut Vec<Notice>) -> Result<DefinitionChanges, SqlError> {
        self.add_dependent()?;
        if !cascade && !self.dependent.is_empty() {
            let message = match self.named.as_slice() {
                [one] => format!("cannot drop {one} because other objects depend on it"),
                _ => "cannot drop desired object(s) because other objects depend on them".to_string(),
            };
            let detail = self
                .dependent
                .iter()
                .map(|(object, on)| format!("{object} depends on {on}"));
            return Err(SqlError::statement("2BP01", message)
                .with_detail(detail.collect::<Vec<_>>().join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        notices.append(&mut self.notices);
        let cascaded = self.dependent.iter();
        notices.extend(cascaded.map(|(object, _)| Notice::new(format!("drop cascades to {object}"))));
        let dropped = self
            .schemas
            .iter()
            .filter_map(|name| self.catalog.schema_named(name));
        // That `public` is not there has to be said.
        let public = self.schemas.iter().filter(|name| *name == PUBLIC);
        Ok(DefinitionChanges {
            schemas: public
                .map(|name| Schema {
                    dropped: true,
                    ..Schema::new(name)
                })
                .collect(),
            dropped_schemas: dropped.map(|schema| schema.id).collect(),
            tables: self.changed,
            roles: super::schema::without_grants(self.catalog, &self.schemas),
            dropped_tables: self.tables,
            dropped_views: self.views,
            dropped_sequences: self.sequences,
            dropped_types: self.types,
            dropped_functions: self.functions,
            ..DefinitionChanges::default()
        })
    }

    /// Returns the relation of a kind that a name to drop stands for; `None`, with a notice, if there is none and need not be.
    fn find(
        &mut self,
        kind: Kind,
        name: &ObjectName,
        if_exists: bool,
    ) -> Result<Option<Relation<'a>>, SqlError> {
        match relation_named(self.catalog, name) {
            Some(relation) if relation.kind() == kind => return Ok(Some(relation)),
            Some(relation) => return Err(wrong_kind(name, kind, relation.kind())),
            None => {}
        }
        let schema = name.schema.as_deref().filter(|schema| !schema.is_empty());
        let no_schema = schema.filter(|schema| !self.catalog.has_schema(schema));
        let (message, sqlstate) = match (no_schema, kind) {
            (Some(schema), _) => (format!("schema \"{schema}\" does not exist"), "3F000"),
            (None, Kind::Index) => (format!("index \"{}\" does not exist", name.name), "42704"),
            (None, _) => (
                format!("{} \"{}\" does not exist", kind.word(), name.name),
                "42P01",
            ),
        };
        if !if_exists {
            return Err(SqlError::statement(sqlstate, message).at(name.position));
        }
        self.notices.push(Notice::new(format!("{message}, skipping")));
        Ok(None)
    }
}

/// The kinds of relations that DROP names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Table,
    Index,
    View,
    Materialized,
    Sequence,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Table => "table",
            Kind::Index => "index",
            Kind::View => "view",
            Kind::Materialized => "materialized view",
            Kind::Sequence => "sequence",
        }
    }

    fn with_article(self) -> String {
        match self {
            Kind::Index => "an index".to_string(),
            _ => format!("a {}", self.word()),
        }
    }
}

#[derive(Clone, Copy)]
enum Relation<'c> {
    Table(&'c Table),
    Index(&'c Index),
    View(&'c View),
    Sequence(&'c Sequence),
}

impl Relation<'_> {
    fn kind(self) -> Kind {
        match self {
            Relation::Table(table) if table.materialized.is_some() => Kind::Materialized,
            Relation::Table(_) => Kind::Table,
            Relation::Index(_) => Kind::Index,
            Relation::View(_) => Kind::View,
            Relation::Sequence(_) => Kind::Sequence,
        }
    }
}

fn relation_named<'c>(catalog: &'c Catalog, name: &ObjectName) -> Option<Relation<'c>> {
    let (schema, text) = (schema_of(name), name.name.as_str());
    let table = catalog
        .table_named(schema, text)
        .ok()
        .map(|table| Relation::Table(table));
    let index = || catalog.index_named(schema, text).ok();
    let view = || catalog.view_named(schema, text);
    let sequence = || catalog.sequence_named(schema, text);
    table
        .or_else(|| index().map(|(_, index)| Relation::Index(index)))
        .or_else(|| view().map(|view| Relation::View(view)))
        .or_else(|| sequence().map(|sequence| Relation::Sequence(sequence)))
}

/// Runs a statement that drops what `add` names.
fn run(
    session: &mut Session,
    cascade: bool,
    add: impl FnOnce(&mut Removal<'_>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let (engine, path) = (session.engine().clone(), session.path());
    let mut notices = Vec::new();
    engine.change_definitions(|catalog| {
        let mut removal = Removal::new(catalog, &path);
        add(&mut removal)?;
        removal.finish(cascade, &mut notices)
    })?;
    notices.into_iter().for_each(|notice| session.notice(notice));
    Ok(())
}

/// Runs DROP TABLE, DROP VIEW or DROP SEQUENCE.
pub(super) fn drop_relations(
    session: &mut Session,
    kind: Kind,
    names: &[ObjectName],
    if_exists: bool,
    cascade: bool,
) -> Result<(), SqlError> {
    run(session, cascade, |removal| {
        for name in names {
            match removal.find(kind, name, if_exists)? {
                Some(Relation::Table(table)) => removal.add_table(table, None),
                Some(Relation::View(view)) => removal.add_view(view, None),
                Some(Relation::Sequence(sequence)) => removal.add_sequence(sequence, None),
                Some(Relation::Index(_)) | None => {}
            }
        }
        Ok(())
    })
}

/// Whether a view selects from a sequence.
fn reads_sequence(view: &View, sequence: &Sequence) -> bool {
    struct Finder<'a>(&'a Sequence);

    impl Visitor for Finder<'_> {
        type Break = ();

        fn pre_visit_relation(&mut self, name: &ast::ObjectName) -> ControlFlow<()> {
            match ObjectName::from_ast(name) {
                Ok(name) if schema_of(&name) == self.0.schema && name.name == self.0.name => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }

    match parse(&view.sql) {
        Ok(Statement::Query(query)) => query.walk(&mut Finder(sequence)).is_break(),
        _ => false,
    }
}

/// Whether a view has columns of a type, or names it.
fn reads_type(view: &View, ty: &Type) -> bool {
    let name = (ty.schema(), ty.name());
    let same = Change::Name { old: name, new: name };
    let names_it = || match parse(&view.sql) {
        Ok(Statement::Query(mut query)) => renamed(query.as_mut(), &same),
        _ => false,
    };
    has_type(view, ty.id()) || names_it()
}

/// Runs DROP TYPE and DROP DOMAIN.
pub(super) fn drop_types(
    session: &mut Session,
    names: &[ObjectName],
    domains: bool,
    if_exists: bool,
    cascade: bool,
) -> Result<(), SqlError> {
    run(session, cascade, |removal| {
        for name in names {
            match type_named(removal.catalog, name) {
                Ok(ty) if domains && ty.domain().is_none() => {
                    let message = format!("\"{}\" is not a domain", name.name);
                    return Err(SqlError::statement("42809", message).at(name.position));
                }
                Ok(ty) => removal.add_type(ty, None),
                Err(error) if if_exists => {
                    removal
                        .notices
                        .push(Notice::new(format!("{}, skipping", error.message)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    })
}

/// Runs DROP FUNCTION.
pub(super) fn drop_functions(
    session: &mut Session,
    functions: &[FunctionName],
    if_exists: bool,
    cascade: bool,
) -> Result<(), SqlError> {
    run(session, cascade, |removal| {
        for name in functions {
            match function_named(removal.catalog, name) {
                Ok(function) => removal.add_function(function, None),
                Err(error) if if_exists && error.sqlstate == "42883" => {
                    let missing = match name.parameters {
                        Some(_) => error.message,
                        None => format!("function {}() does not exist", name.name.name),
                    };
                    removal.notices.push(Notice::new(format!("{missing}, skipping")));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    })
}

/// Runs DROP SCHEMA.
pub(super) fn drop_schemas(
    session: &mut Session,
    names: &[Name],
    if_exists: bool,
    cascade: bool,
) -> Result<(), SqlError> {
    run(session, cascade, |removal| {
        for Name { text, position } in names {
            match removal.catalog.has_schema(text) {
                _ if ["pg_catalog", "information_schema"].contains(&text.as_str()) => {
                    let message =
                        format!("cannot drop schema {text} because it is required by the database system");
                    return Err(SqlError::statement("2BP01", message).at(*position));
                }
                true => {
                    if !removal.schemas.contains(text) {
                        removal.schemas.push(text.clone());
                        removal.named.push(format!("schema {}", quoted(text)));
                    }
                }
                false => {
                    let message = format!("schema \"{text}\" does not exist");
                    if !if_exists {
                        return Err(SqlError::statement("3F000", message).at(*position));
                    }
                    removal.notices.push(Notice::new(format!("{message}, skipping")));
                }
            }
        }
        Ok(())
    })
}

/// Runs DROP INDEX.
pub(super) fn drop_indexes(
    session: &mut Session,
    names: &[ObjectName],
    if_exists: bool,
) -> Result<(), SqlError> {
    let (catalog, path) = (session.engine().catalog(), session.path());
    let mut indexes: Vec<IndexId> = Vec::new();
    let mut removal = Removal::new(&catalog, &path);
    for name in names {
        if let Some(table) = catalog.table_of_key(schema_of(name), &name.name) {
            let message = format!(
                "cannot drop index {0} because constraint {0} on table {1} requires it",
                name.name, table.name
            );
            let hint = format!(
                "You can drop constraint {} on table {} instead.",
                name.name, table.name
            );
            return Err(SqlError::statement("2BP01", message)
                .at(name.position)
                .with_hint(hint));
        }
        if let Some(Relation::Index(index)) = removal.find(Kind::Index, name, if_exists)?
            && !indexes.contains(&index.id)
        {
            indexes.push(index.id);
        }
    }
    let notices = std::mem::take(&mut removal.notices);
    notices.into_iter().for_each(|notice| session.notice(notice));
    for index in indexes {
        if let Some((table, _)) = catalog.index(index) {
            let mut next = Table::clone(table);
            next.indexes.retain(|known| known.id != index);
            check_still_unique(&catalog, table, &next)?;
        }
        session.engine().drop_index(index)?;
    }
    Ok(())
}

fn schema_of(name: &ObjectName) -> &str {
    name.schema.as_deref().unwrap_or(PUBLIC)
}

/// Fails if a view reads a column which is to go.
pub(super) fn check_no_views(
    catalog: &Catalog,
    table: &Table,
    column: Option<&Column>,
) -> Result<(), SqlError> {
    let views = views_on(catalog, table.id, column.map(|column| column.id));
    if views.is_empty() {
        return Ok(());
    }
    let this = match column {
        Some(column) => format!("column {} of table {}", column.name, table.name),
        None => format!("table {}", table.name),
    };
    let detail: Vec<String> = views
        .iter()
        .map(|view| format!("view {} depends on {this}", view.name))
        .collect();
    let message = format!("cannot drop {this} because other objects depend on it");
    Err(SqlError::statement("2BP01", message)
        .with_detail(detail.join("\n"))
        .with_hint("Drop the views first."))
}

fn wrong_kind(name: &ObjectName, wanted: Kind, found: Kind) -> SqlError {
    let message = format!("\"{}\" is not {}", name.name, wanted.with_article());
    let (word, one) = (found.word().to_uppercase(), found.with_article());
    SqlError::statement("42809", message)
        .at(name.position)
        .with_hint(format!("Use DROP {word} to remove {one}."))
}

/// Runs TRUNCATE.
pub(super) fn truncate(
    session: &mut Session,
    names: &[ObjectName],
    restart: bool,
    cascade: bool,
) -> Result<(), SqlError> {
    let numbering = match restart {
        true => Numbering::Restart,
        false => Numbering::Continue,
    };
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let table = session.table(name)?;
        if table.materialized.is_some() {
            let message = format!("\"{}\" is not a table", name.name);
            return Err(SqlError::statement("42809", message).at(name.position));
        }
        let id = table.id;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let catalog = session.engine().catalog();
    let mut at = 0;
    while cascade && at < ids.len() {
        for (table, _) in catalog.references_to(ids[at]) {
            if !ids.contains(&table.id) {
                ids.push(table.id);
                session.notice(Notice::new(format!(
                    "truncate cascades to table \"{}\"",
                    table.name
                )));
            }
        }
        at += 1;
    }
    for sequence in session.engine().truncate_all(&ids, numbering)? {
        session.sequences.forget_block(sequence);
    }
    Ok(())
}
