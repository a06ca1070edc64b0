//! The set of all definitions at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{
    CatalogError, ForeignKey, Function, FunctionId, GrantTarget, Index, IndexId, Rights, Role, RoleId,
    Schema, SchemaId, Sequence, SequenceId, Table, TableId, Type, TypeId, View, ViewId,
};

/// All definitions at one moment: an immutable value, replaced as a whole by DDL.
///
/// Invariant: table and index names are unique within a schema, ids within the catalog.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Grows by one with every change; cached plans name the version that they were made for.
    pub version: u64,
    tables: BTreeMap<TableId, Arc<Table>>,
    sequences: BTreeMap<SequenceId, Arc<Sequence>>,
    views: BTreeMap<ViewId, Arc<View>>,
    roles: BTreeMap<RoleId, Arc<Role>>,
    schemas: BTreeMap<SchemaId, Arc<Schema>>,
    types: BTreeMap<TypeId, Arc<Type>>,
    functions: BTreeMap<FunctionId, Arc<Function>>,
}

/// The schema that is always there, and that names without one are in unless a session says otherwise.
pub const PUBLIC: &str = "public";

impl Catalog {
    /// Makes a catalog of tables read from storage.
    pub fn from_tables(tables: impl IntoIterator<Item = Table>) -> Self {
        let tables = tables
            .into_iter()
            .map(|table| (table.id, Arc::new(table)))
            .collect();
        Catalog {
            version: 1,
            tables,
            ..Catalog::default()
        }
    }

    /// Returns the catalog under another version number.
    pub fn at_version(self, version: u64) -> Self {
        Catalog { version, ..self }
    }

    /// Returns all tables in order of creation.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    /// Returns the queries of materialized views, with the tables that have their rows.
    pub fn materialized(&self) -> impl Iterator<Item = (&Arc<Table>, &View)> {
        self.tables()
            .filter_map(|table| Some((table, &table.materialized.as_ref()?.query)))
    }

    /// Returns the table with this id.
    pub fn table(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables.get(&id)
    }

    /// Returns the table of this name, or an error that names it.
    pub fn table_named(&self, schema: &str, name: &str) -> Result<&Arc<Table>, CatalogError> {
        self.find_table(schema, name)
            .ok_or_else(|| CatalogError::UnknownTable {
                name: name.to_string(),
            })
    }

    /// Returns the index of this name and its table, or an error that names it.
    pub fn index_named(&self, schema: &str, name: &str) -> Result<(&Arc<Table>, &Index), CatalogError> {
        self.indexes()
            .find(|(table, index)| table.schema == schema && index.name == name)
            .ok_or_else(|| CatalogError::UnknownIndex {
                name: name.to_string(),
            })
    }

    /// Returns the table whose primary key has this name.
    pub fn table_of_key(&self, schema: &str, name: &str) -> Option<&Arc<Table>> {
        let mut tables = self.tables.values().filter(|table| table.schema == schema);
        tables.find(|table| table.key_name().as_deref() == Some(name))
    }

    /// Returns the index with this id and its table.
    pub fn index(&self, id: IndexId) -> Option<(&Arc<Table>, &Index)> {
        self.indexes().find(|(_, index)| index.id == id)
    }

    /// Returns all indexes with their tables.
    pub fn indexes(&self) -> impl Iterator<Item = (&Arc<Table>, &Index)> {
        self.tables
            .values()
            .flat_map(|table| table.indexes.iter().map(move |index| (table, index)))
    }

    /// Returns the next free id, for anything.
    pub fn next_id(&self) -> u32 {
        let tables = self.tables.keys().map(|id| id.0);
        let indexes = self.indexes().map(|(_, index)| index.id.0);
        let others = self.sequences.keys().map(|id| id.0);
        let others = others.chain(self.views.keys().map(|id| id.0));
        let others = others.chain(self.roles.keys().map(|id| id.0));
        let others = others.chain(self.schemas.keys().map(|id| id.0));
        let others = others.chain(self.types.keys().map(|id| id.0));
        let others = others.chain(self.functions.keys().map(|id| id.0));
        tables.chain(indexes).chain(others).max().map_or(1, |id| id + 1)
    }

    /// Fails if a table, primary key, index, sequence or view of this name exists.
    pub fn check_name_free(&self, schema: &str, name: &str) -> Result<(), CatalogError> {
        let taken = self.find_table(schema, name).is_some()
            || self.index_named(schema, name).is_ok()
            || self.table_of_key(schema, name).is_some()
            || self.sequence_named(schema, name).is_some()
            || self.view_named(schema, name).is_some();
        match taken {
            true => Err(CatalogError::DuplicateRelation {
                name: name.to_string(),
            }),
            false => Ok(()),
        }
    }

    /// Returns the catalog with this table added or replaced.
    pub fn with_table(&self, table: Table) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.tables.insert(table.id, Arc::new(table));
        next
    }

    /// Returns the catalog without this table.
    pub fn without_table(&self, id: TableId) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.tables.remove(&id);
        next
    }

    /// Returns the constraints that refer to a table, with the tables that have them.
    pub fn references_to(&self, referenced: TableId) -> impl Iterator<Item = (&Arc<Table>, &ForeignKey)> {
        self.tables().flat_map(move |table| {
            let keys = table.foreign_keys.iter();
            keys.filter(move |key| key.referenced == referenced)
                .map(move |key| (table, key))
        })
    }

    /// Returns all sequences in order of creation.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<Sequence>> {
        self.sequences.values()
    }

    /// Returns the sequence with this id.
    pub fn sequence(&self, id: SequenceId) -> Option<&Arc<Sequence>> {
        self.sequences.get(&id)
    }

    /// Returns the sequence of this name.
    pub fn sequence_named(&self, schema: &str, name: &str) -> Option<&Arc<Sequence>> {
        self.sequences
            .values()
            .find(|sequence| sequence.schema == schema && sequence.name == name)
    }

    /// Returns the sequences that were made for columns of a table.
    pub fn sequences_of(&self, table: TableId) -> impl Iterator<Item = &Arc<Sequence>> {
        let owner = move |sequence: &&Arc<Sequence>| sequence.owner.is_some_and(|(owner, _)| owner == table);
        self.sequences.values().filter(owner)
    }

    /// Returns all views in order of creation.
    pub fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.views.values()
    }

    /// Returns the view of this name.
    pub fn view_named(&self, schema: &str, name: &str) -> Option<&Arc<View>> {
        self.views
            .values()
            .find(|view| view.schema == schema && view.name == name)
    }

    /// Returns the catalog with this sequence added or replaced.
    pub fn with_sequence(&self, sequence: Sequence) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.sequences.insert(sequence.id, Arc::new(sequence));
        next
    }

    /// Returns the catalog without this sequence.
    pub fn without_sequence(&self, id: SequenceId) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.sequences.remove(&id);
        next
    }

    /// Returns the catalog with this view added or replaced.
    pub fn with_view(&self, view: View) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.views.insert(view.id, Arc::new(view));
        next
    }

    /// Returns the catalog without this view.
    pub fn without_view(&self, id: ViewId) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.views.remove(&id);
        next
    }

    /// Returns all types that the database defines, in order of creation.
    pub fn types(&self) -> impl Iterator<Item = &Arc<Type>> {
        self.types.values()
    }

    /// Returns the type of this name.
    pub fn type_named(&self, schema: &str, name: &str) -> Option<&Arc<Type>> {
        let mut types = self.types.values();
        types.find(|ty| ty.schema() == schema && ty.name() == name)
    }

    /// Returns the catalog with this type added or replaced.
    pub fn with_type(&self, ty: Type) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.types.insert(ty.id(), Arc::new(ty));
        next
    }

    /// Returns the catalog without this type.
    pub fn without_type(&self, id: TypeId) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.types.remove(&id);
        next
    }

    /// Returns all functions that the database defines, in order of creation.
    pub fn functions(&self) -> impl Iterator<Item = &Arc<Function>> {
        self.functions.values()
    }

    /// Returns the functions of this name, which differ in the types of their parameters.
    pub fn functions_named(&self, schema: &str, name: &str) -> impl Iterator<Item = &Arc<Function>> {
        let functions = self.functions.values();
        functions.filter(move |function| function.schema == schema && function.name == name)
    }

    /// Returns the catalog with this function added or replaced.
    pub fn with_function(&self, function: Function) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.functions.insert(function.id, Arc::new(function));
        next
    }

    /// Returns the catalog without this function.
    pub fn without_function(&self, id: FunctionId) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.functions.remove(&id);
        next
    }

    /// Returns the schemas that have definitions, in order of creation.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<Schema>> {
        self.schemas.values().filter(|schema| !schema.dropped)
    }

    /// Returns what is kept of `public` once it was dropped.
    pub fn dropped_public(&self) -> Option<SchemaId> {
        let mut dropped = self.schemas.values().filter(|schema| schema.dropped);
        dropped.next().map(|schema| schema.id)
    }

    /// Returns the definition of the schema of this name.
    pub fn schema_named(&self, name: &str) -> Option<&Arc<Schema>> {
        self.schemas().find(|schema| schema.name == name)
    }

    /// Whether there is a schema of this name that may hold tables.
    pub fn has_schema(&self, name: &str) -> bool {
        name == PUBLIC && self.dropped_public().is_none() || self.schema_named(name).is_some()
    }

    /// Returns the catalog with this schema added or replaced.
    pub fn with_schema(&self, schema: Schema) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.schemas.insert(schema.id, Arc::new(schema));
        next
    }

    /// Returns the catalog without this schema.
    pub fn without_schema(&self, id: SchemaId) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.schemas.remove(&id);
        next
    }

    /// Returns all roles in order of creation, without `public`.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<Role>> {
        self.roles.values().filter(|role| role.id != RoleId::PUBLIC)
    }

    /// Returns the role with this id.
    pub fn role(&self, id: RoleId) -> Option<&Arc<Role>> {
        self.roles.get(&id)
    }

    /// Returns the role of this name.
    pub fn role_named(&self, name: &str) -> Option<&Arc<Role>> {
        self.roles().find(|role| role.name == name)
    }

    /// Returns a role with what it has by way of the roles that it is a member of, as far as it inherits their rights.
    pub fn acting(&self, name: &str) -> Option<Arc<Role>> {
        let role = self.role_named(name)?;
        if role.member_of.is_empty() || role.no_inherit {
            return Some(role.clone());
        }
        let mut acting = Role::clone(role);
        for id in self.memberships(role.id, |through| !through.no_inherit) {
            let Some(other) = self.role(id) else { continue };
            acting.owns.extend(&other.owns);
            for grant in &other.grants {
                let rights = acting.granted(&grant.on).with(grant.rights);
                acting.set_granted(grant.on.clone(), rights);
            }
        }
        Some(Arc::new(acting))
    }

    /// Whether a role is a member of another, directly or by way of others; each is one of itself.
    pub fn is_member(&self, member: RoleId, of: RoleId) -> bool {
        member == of || self.memberships(member, |_| true).contains(&of)
    }

    /// Returns the roles that a role is a member of, those by way of roles that pass a test, too.
    fn memberships(&self, of: RoleId, passes: impl Fn(&Role) -> bool) -> BTreeSet<RoleId> {
        let (mut found, mut next) = (BTreeSet::new(), vec![of]);
        while let Some(role) = next.pop().and_then(|id| self.role(id)) {
            for membership in role.member_of.iter().filter(|_| passes(role)) {
                if found.insert(membership.role) {
                    next.push(membership.role);
                }
            }
        }
        found
    }

    /// Returns the role that owns a table, view or sequence; administrators own what no role does.
    pub fn owner_of(&self, object: u32) -> Option<&Arc<Role>> {
        self.roles().find(|role| role.owns.contains(&object))
    }

    /// Returns what a role may do with an object of a schema, by ownership and by grants to it and to
    /// `public`.
    pub fn rights_on(&self, role: &Role, schema: &str, object: u32) -> Rights {
        if role.superuser || role.owns.contains(&object) {
            return Rights::ALL;
        }
        self.rights_in(role, schema)
            .with(self.granted(role, &GrantTarget::Object(object)))
    }

    /// Returns the columns of a table or view, each with its number in rights: the id of a table's, the place of a view's.
    pub fn columns_of(&self, object: u32) -> Vec<(u32, &str)> {
        if let Some(table) = self.table(TableId(object)) {
            let columns = table.declared_columns().iter();
            return columns
                .map(|column| (column.id.0, column.name.as_str()))
                .collect();
        }
        let view = self.views().find(|view| view.id.0 == object);
        let columns = view.into_iter().flat_map(|view| &view.columns);
        (0..).zip(columns.map(|column| column.name.as_str())).collect()
    }

    /// Returns what a role may do with a column of a table or view by rights on the column alone.
    pub fn rights_on_column(&self, role: &Role, object: u32, column: u32) -> Rights {
        self.granted(role, &GrantTarget::Column { object, column })
    }

    /// Returns the rights granted to a role and to `public`.
    fn granted(&self, role: &Role, on: &GrantTarget) -> Rights {
        let public = self.roles.get(&RoleId::PUBLIC);
        let public = public.map_or(Rights::NONE, |public| public.granted(on));
        role.granted(on).with(public)
    }

    /// Returns what a role may do in a schema with whatever it has.
    pub fn rights_in(&self, role: &Role, schema: &str) -> Rights {
        if role.superuser {
            return Rights::ALL;
        }
        let owns = self
            .schema_named(schema)
            .is_some_and(|schema| role.owns.contains(&schema.id.0));
        let own = if owns {
            Rights::USAGE.with(Rights::CREATE)
        } else {
            Rights::NONE
        };
        let schema = GrantTarget::Schema(schema.to_string());
        let public = self.roles.get(&RoleId::PUBLIC).map(|public| public.as_ref());
        let all = [Some(role), public].into_iter().flatten();
        all.fold(own, |rights, role| {
            rights
                .with(role.granted(&GrantTarget::Database))
                .with(role.granted(&schema))
        })
    }

    /// Returns the catalog with this role added or replaced.
    pub fn with_role(&self, role: Role) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.roles.insert(role.id, Arc::new(role));
        next
    }

    /// Returns the catalog without this role.
    pub fn without_role(&self, id: RoleId) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.roles.remove(&id);
        next
    }

    fn find_table(&self, schema: &str, name: &str) -> Option<&Arc<Table>> {
        self.tables
            .values()
            .find(|table| table.schema == schema && table.name == name)
    }
}
