//! Everything that has a row in `pg_class`, as one list.

use rukh_catalog::{Catalog, Column, Index, KeyElement, KeyExpr, Sequence, Table, View};
use rukh_keys::{DataType, RecordDefinition};

use super::table;
use super::types::{column_modifier, column_oid, modifier_of, oid_of};
use crate::bind::system::oids;
use crate::bind::system::system_tables::{SystemTable, system_tables};

/// A relation.
#[derive(Clone, Copy)]
pub(crate) enum Relation<'a> {
    Table(&'a Table),
    PrimaryKey(&'a Table),
    Index(&'a Table, &'a Index),
    View(&'a View),
    Sequence(&'a Sequence),
    /// What has the fields of a composite type.
    Record(&'a RecordDefinition),
    /// A table of `pg_catalog`, with its place in the list of them.
    System(&'static SystemTable, usize),
}

/// A column of a relation.
pub(crate) struct Attribute<'a> {
    pub(crate) name: String,
    pub(crate) type_oid: i64,
    pub(crate) modifier: i64,
    pub(crate) not_null: bool,
    /// The column of a table that this is.
    pub(crate) column: Option<&'a Column>,
}

/// Returns all relations.
pub(crate) fn relations(catalog: &Catalog) -> impl Iterator<Item = Relation<'_>> {
    let tables = catalog.tables().flat_map(|table| {
        let indexes = table.indexes.iter().map(|index| Relation::Index(table, index));
        let key = table.row_id().is_none().then_some(Relation::PrimaryKey(table));
        std::iter::once(Relation::Table(table)).chain(key).chain(indexes)
    });
    let views = catalog.views().map(|view| Relation::View(view));
    let sequences = catalog.sequences().map(|sequence| Relation::Sequence(sequence));
    let system = system_tables().enumerate();
    let system = system.map(|(at, table)| Relation::System(table, at));
    let records = catalog.types().filter_map(|ty| ty.record());
    let records = records.map(Relation::Record);
    tables.chain(views).chain(sequences).chain(records).chain(system)
}

/// Returns the relation of a number.
pub(crate) fn relation(catalog: &Catalog, oid: i64) -> Option<Relation<'_>> {
    relations(catalog).find(|relation| relation.oid() == oid)
}

impl<'a> Relation<'a> {
    pub(crate) fn oid(&self) -> i64 {
        match self {
            Relation::Table(table) => oids::object(table.id.0),
            Relation::PrimaryKey(table) => oids::primary_key(table.id),
            Relation::Index(_, index) => oids::object(index.id.0),
            Relation::View(view) => oids::object(view.id.0),
            Relation::Sequence(sequence) => oids::object(sequence.id.0),
            Relation::Record(of) => oids::object(of.id),
            Relation::System(table, at) => oids::system_table(table.name, *at),
        }
    }

    /// Returns the id of the table, view or sequence that rights are given on.
    pub(crate) fn object(&self) -> Option<u32> {
        match self {
            Relation::Table(table) | Relation::PrimaryKey(table) | Relation::Index(table, _) => {
                Some(table.id.0)
            }
            Relation::View(view) => Some(view.id.0),
            Relation::Sequence(sequence) => Some(sequence.id.0),
            Relation::Record(of) => Some(of.id),
            Relation::System(..) => None,
        }
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> String {
        match self {
            Relation::Table(table) => table.name.clone(),
            Relation::PrimaryKey(table) => primary_key_name(table),
            Relation::Index(_, index) => index.name.clone(),
            Relation::View(view) => view.name.clone(),
            Relation::Sequence(sequence) => sequence.name.clone(),
            Relation::Record(of) => of.name.clone(),
            Relation::System(table, _) => table.name.to_string(),
        }
    }

    /// Returns the name of the schema.
    pub(crate) fn schema(&self) -> &'a str {
        match self {
            Relation::Table(table) | Relation::PrimaryKey(table) | Relation::Index(table, _) => &table.schema,
            Relation::View(view) => &view.schema,
            Relation::Sequence(sequence) => &sequence.schema,
            Relation::Record(of) => &of.schema,
            Relation::System(..) => "pg_catalog",
        }
    }

    /// Returns the letter of `relkind`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Relation::Table(table) if table.materialized.is_some() => "m",
            Relation::Table(_) => "r",
            Relation::PrimaryKey(_) | Relation::Index(..) => "i",
            Relation::View(_) => "v",
            Relation::Sequence(_) => "S",
            Relation::Record(_) => "c",
            Relation::System(..) if self.oid() < oids::OTHER_SYSTEM_TABLES => "r",
            Relation::System(..) => "v",
        }
    }

    /// Returns the number of the type of its rows, where values have such a type.
    pub(crate) fn row_type(&self) -> Option<i64> {
        match self {
            Relation::Table(table) => Some(oids::row_type(table.id.0)),
            Relation::View(view) => Some(oids::row_type(view.id.0)),
            // A composite type has the number of its relation.
            Relation::Record(of) => Some(oids::object(of.id)),
            _ => None,
        }
    }

    /// Returns the columns, in order.
    pub(crate) fn attributes(&self) -> Vec<Attribute<'a>> {
        match self {
            Relation::Table(table) => table.declared_columns().iter().map(of_column).collect(),
            Relation::PrimaryKey(table) => elements(table, &table.primary_key),
            Relation::Index(table, index) => {
                let mut all = elements(table, &index.elements);
                let included = index.include.iter().filter_map(|id| table.column(*id));
                all.extend(included.map(of_column));
                all
            }
            Relation::View(view) => {
                let columns = view.columns.iter();
                columns.map(|column| plain(&column.name, &column.ty)).collect()
            }
            Relation::Record(of) => {
                let fields = of.fields.iter();
                fields.map(|field| plain(&field.name, &field.ty)).collect()
            }
            Relation::Sequence(_) => vec![
                plain("last_value", &DataType::BigInt),
                plain("log_cnt", &DataType::BigInt),
                plain("is_called", &DataType::Boolean),
            ],
            Relation::System(of, _) => table::columns(of.columns)
                .into_iter()
                .map(|(name, kind)| Attribute {
                    name: name.to_string(),
                    type_oid: kind.oid(),
                    modifier: -1,
                    not_null: false,
                    column: None,
                })
                .collect(),
        }
    }
}

/// Returns the name of the index of a table's primary key.
pub(crate) fn primary_key_name(table: &Table) -> String {
    table.key_name().unwrap_or_default()
}

/// Whether a unique index is a constraint: declared as one, and of plain columns and all rows.
pub(crate) fn is_constraint(index: &Index) -> bool {
    let plain = |element: &KeyElement| matches!(element.expr, KeyExpr::Column(_));
    index.unique && index.constraint && index.predicate.is_none() && index.elements.iter().all(plain)
}

fn plain<'a>(name: &str, ty: &DataType) -> Attribute<'a> {
    Attribute {
        name: name.to_string(),
        type_oid: oid_of(ty),
        modifier: modifier_of(ty),
        not_null: false,
        column: None,
    }
}

fn of_column(column: &Column) -> Attribute<'_> {
    Attribute {
        not_null: !column.nullable,
        column: Some(column),
        ..match &column.values.domain {
            Some(domain) => Attribute {
                type_oid: oids::object(domain.id),
                modifier: -1,
                ..plain(&column.name, &column.ty)
            },
            None => Attribute {
                type_oid: column_oid(column),
                modifier: column_modifier(column),
                ..plain(&column.name, &column.ty)
            },
        }
    }
}

fn elements<'a>(table: &'a Table, elements: &[KeyElement]) -> Vec<Attribute<'a>> {
    let attribute = |element: &KeyElement| match &element.expr {
        KeyExpr::Column(id) => table.column(*id).map(of_column),
        KeyExpr::Hash { .. } => Some(plain("hash", &DataType::Varbinary(None))),
        KeyExpr::Expression { sql, ty, .. } => {
            // PostgreSQL names the column of a call by the function.
            let name = sql.split_once('(').map_or("expr", |(name, _)| name);
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            Some(plain(if is_name { name } else { "expr" }, ty))
        }
    };
    elements.iter().filter_map(attribute).collect()
}
