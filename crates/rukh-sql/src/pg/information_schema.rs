//! `information_schema`, and a little of `pg_catalog`: definitions as tables that can be queried.
//!
//! The tables are made from the statement's own catalog when a query names them. They have the columns
//! that clients read; `statistics` lists indexes, element by element, as MySQL's table of that name.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use rukh_catalog::{
    Catalog, CheckOption, Column, ColumnId, FamilyId, ForeignKey, ForeignTiming, Identity, KeyElement,
    KeyExpr, Sequence, Table, View,
};
use rukh_keys::{DataType, SortOrder};

use crate::bind::names::functions::is_temporary;
use crate::bind::names::view_target::{is_column_updatable, is_updatable};
use crate::exec::context::StatementContext;
use crate::pg::pg_catalog::{self, information_names, information_table};
use crate::pg::show::{batch, booleans, numbers, texts};
use rukh_error::SqlError;

/// Name of the database in `table_catalog` and the like.
const DATABASE: &str = "rukh";

/// Makes the rows of one table of definitions.
type Maker = fn(&Catalog) -> Result<RecordBatch, SqlError>;

/// The tables of `information_schema`, by name.
const INFORMATION_SCHEMA: &[(&str, Maker)] = &[
    ("columns", columns),
    ("key_column_usage", key_column_usage),
    ("schemata", schemata),
    ("sequences", sequences),
    ("statistics", statistics),
    ("table_constraints", table_constraints),
    ("tables", tables),
    ("views", views),
];

/// Returns `information_schema` over these definitions.
pub(crate) fn schema_provider(context: &Arc<StatementContext>) -> Arc<dyn SchemaProvider> {
    Arc::new(Definitions {
        context: context.clone(),
        makers: INFORMATION_SCHEMA,
    })
}

#[derive(Debug)]
struct Definitions {
    context: Arc<StatementContext>,
    makers: &'static [(&'static str, Maker)],
}

impl Definitions {
    fn maker(&self, name: &str) -> Option<Maker> {
        self.makers
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, maker)| *maker)
    }
}

#[async_trait]
impl SchemaProvider for Definitions {
    fn table_names(&self) -> Vec<String> {
        let own = self.makers.iter().map(|(name, _)| *name);
        own.chain(information_names()).map(str::to_string).collect()
    }

    async fn table(&self, name: &str) -> DataFusionResult<Option<Arc<dyn TableProvider>>> {
        let Some(maker) = self.maker(name) else {
            return information_table(name, &self.context);
        };
        let rows = maker(&self.context.snapshot.catalog)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        let table = MemTable::try_new(rows.schema(), vec![vec![rows]])?;
        Ok(Some(Arc::new(table)))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.maker(name).is_some() || information_names().any(|known| known == name)
    }
}

/// A column that says the same in every row.
fn same(text: &str, rows: usize) -> ArrayRef {
    texts((0..rows).map(|_| Some(text.to_string())))
}

/// A column of NULLs.
fn nothing(rows: usize) -> ArrayRef {
    texts((0..rows).map(|_| None))
}

fn optional_numbers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

fn yes_or_no(yes: bool) -> Option<String> {
    Some(if yes { "YES" } else { "NO" }.to_string())
}

/// Returns the tables: materialized views are none here, as in PostgreSQL.
fn tables_of(catalog: &Catalog) -> impl Iterator<Item = &Arc<Table>> {
    catalog.tables().filter(|table| table.materialized.is_none())
}

fn tables(catalog: &Catalog) -> Result<RecordBatch, SqlError> {
    let tables = tables_of(catalog).map(|table| (table.schema.clone(), table.name.clone(), Some(table)));
    let views = catalog
        .views()
        .map(|view| (view.schema.clone(), view.name.clone(), None));
    let rows: Vec<_> = tables.chain(views).collect();
    let kind = |schema: &str, is_table: bool| match is_table {
        true if is_temporary(schema) => "LOCAL TEMPORARY",
        true => "BASE TABLE",
        false => "VIEW",
    };
    batch([
        ("table_catalog", same(DATABASE, rows.len())),
        (
            "table_schema",
            texts(rows.iter().map(|(schema, ..)| Some(schema.clone()))),
        ),
        (
            "table_name",
            texts(rows.iter().map(|(_, name, _)| Some(name.clone()))),
        ),
        (
            "table_type",
            texts(
                rows.iter()
                    .map(|row| Some(kind(&row.0, row.2.is_some()).to_string())),
            ),
        ),
        ("self_referencing_column_name", nothing(rows.len())),
        ("reference_generation", nothing(rows.len())),
        ("user_defined_type_catalog", nothing(rows.len())),
        ("user_defined_type_schema", nothing(rows.len())),
        ("user_defined_type_name", nothing(rows.len())),
        (
            "is_insertable_into",
            texts(rows.iter().map(|(schema, name, table)| {
                let view = || catalog.view_named(schema, name);
                yes_or_no(table.is_some() || view().is_some_and(|view| is_updatable(catalog, view)))
            })),
        ),
        ("is_typed", same("NO", rows.len())),
        ("commit_action", nothing(rows.len())),
        (
            "table_comment",
            texts(
                rows.iter()
                    .map(|row| row.2.and_then(|table| table.comments.table.clone())),
            ),
        ),
    ])
}

fn views(catalog: &Catalog) -> Result<RecordBatch, SqlError> {
    let rows: Vec<_> = catalog.views().collect();
    let changes = |view: &View| {
        let changes = if is_updatable(catalog, view) { "YES" } else { "NO" };
        Some(changes.to_string())
    };
    batch([
        ("table_catalog", same(DATABASE, rows.len())),
        (
            "table_schema",
            texts(rows.iter().map(|view| Some(view.schema.clone()))),
        ),
        (
            "table_name",
            texts(rows.iter().map(|view| Some(view.name.clone()))),
        ),
        (
            "view_definition",
            texts(rows.iter().map(|view| Some(view.sql.clone()))),
        ),
        (
            "check_option",
            texts(rows.iter().map(|view| {
                let option = match view.check {
                    None => "NONE",
                    Some(CheckOption::Local) => "LOCAL",
                    Some(CheckOption::Cascaded) => "CASCADED",
                };
                Some(option.to_string())
            })),
        ),
        ("is_updatable", texts(rows.iter().map(|view| changes(view)))),
        ("is_insertable_into", texts(rows.iter().map(|view| changes(view)))),
        ("is_trigger_updatable", same("NO", rows.len())),
        ("is_trigger_deletable", same("NO", rows.len())),
        ("is_trigger_insertable_into", same("NO", rows.len())),
    ])
}

fn sequences(catalog: &Catalog) -> Result<RecordBatch, SqlError> {
    // Those of identity columns are a part of their tables.
    let is_of_identity = |sequence: &Sequence| {
        let column = sequence
            .owner
            .and_then(|(table, column)| catalog.table(table)?.column(column).cloned());
        column.is_some_and(|column| column.values.identity.is_some())
    };
    let rows: Vec<_> = catalog
        .sequences()
        .filter(|sequence| !is_of_identity(sequence))
        .collect();
    let number = |value: fn(&Sequence) -> i64| {
        let values: Vec<_> = rows
            .iter()
            .map(|sequence| Some(value(sequence).to_string()))
            .collect();
        texts(values.into_iter())
    };
    batch([
        ("sequence_catalog", same(DATABASE, rows.len())),
        (
            "sequence_schema",
            texts(rows.iter().map(|sequence| Some(sequence.schema.clone()))),
        ),
        (
            "sequence_name",
            texts(rows.iter().map(|sequence| Some(sequence.name.clone()))),
        ),
        (
            "data_type",
            texts(rows.iter().map(|sequence| Some(type_name(&sequence.ty)))),
        ),
        ("start_value", number(|sequence| sequence.start)),
        ("minimum_value", number(|sequence| sequence.min)),
        ("maximum_value", number(|sequence| sequence.max)),
        ("increment", number(|sequence| sequence.increment)),
        (
            "cycle_option",
            texts(rows.iter().map(|sequence| yes_or_no(sequence.cycle))),
        ),
    ])
}

fn schemata(catalog: &Catalog) -> Result<RecordBatch, SqlError> {
    let names = crate::pg::pg_catalog::schemas(catalog);
    batch([
        ("catalog_name", same(DATABASE, names.len())),
        (
            "schema_name",
            texts(names.iter().map(|name| Some(name.to_string()))),
        ),
        ("schema_owner", same(DATABASE, names.len())),
    ])
}

fn columns(catalog: &Catalog) -> Result<RecordBatch, SqlError> {
    let of_tables = tables_of(catalog).flat_map(|table| {
        let columns = table.declared_columns().iter().cloned().enumerate();
        columns.map(move |(i, column)| {
            let comment = table.comments.columns.get(&column.id).cloned();
            (table.schema.as_str(), table.name.as_str(), comment, i, column)
        })
    });
    let of_views = catalog.views().flat_map(|view| {
        let columns = view.columns.iter().enumerate();
        columns.map(move |(i, column)| {
            let column = Column {
                id: ColumnId(i as u32),
                name: column.name.clone(),
                ty: column.ty,
                nullable: true,
                default: None,
                family: FamilyId(0),
                values: Default::default(),
            };
            (view.schema.as_str(), view.name.as_str(), None, i, column)
        })
    });
    let rows: Vec<_> = of_tables.chain(of_views).collect();
    let types = || rows.iter().map(|(.., column)| &column.ty);
    let columns = || rows.iter().map(|(.., column)| column);
    let no_text = || nothing(rows.len());
    // The numbers of identity columns.
    let numbering: Vec<Option<_>> = rows
        .iter()
        .map(|(schema, name, _, _, column)| {
            column.values.identity?;
            let table = catalog.table_named(schema, name).ok()?;
            let owner = Some((table.id, column.id));
            catalog.sequences().find(|sequence| sequence.owner == owner)
        })
        .collect();
    let numbered = |value: fn(&Sequence) -> i64| {
        let values = numbering.iter();
        let values = values.map(|sequence| sequence.as_ref().map(|sequence| value(sequence).to_string()));
        texts(values.collect::<Vec<_>>().into_iter())
    };
    let domain = |column: &Column| column.values.domain.clone();
    let generated = |column: &Column| {
        let generated = column.values.generated.as_ref()?;
        Some(pg_catalog::in_parentheses(&generated.sql))
    };
    batch([
        ("table_catalog", same(DATABASE, rows.len())),
        (
            "table_schema",
            texts(rows.iter().map(|(schema, ..)| Some(schema.to_string()))),
        ),
        (
            "table_name",
            texts(rows.iter().map(|(_, name, ..)| Some(name.to_string()))),
        ),
        (
            "column_name",
            texts(rows.iter().map(|(.., column)| Some(column.name.clone()))),
        ),
        ("ordinal_position", numbers(rows.iter().map(|(.., i, _)| i + 1))),
        (
            "column_default",
            texts(columns().map(|column| pg_catalog::default_text(catalog, column))),
        ),
        (
            "column_comment",
            texts(rows.iter().map(|(_, _, comment, ..)| comment.clone())),
        ),
        (
            "is_nullable",
            texts(columns().map(|column| {
                let domain = column.values.domain.as_ref();
                yes_or_no(column.nullable && domain.is_none_or(|domain| domain.nullable))
            })),
        ),
        (
            "data_type",
            texts(columns().map(|column| match column.ty {
                DataType::Varchar(None) if column.is_text() => Some("text".to_string()),
                ty => Some(type_name(&ty)),
            })),
        ),
        (
            "character_maximum_length",
            optional_numbers(types().map(character_length)),
        ),
        (
            "numeric_precision",
            optional_numbers(types().map(|ty| numeric_digits(ty).0)),
        ),
        (
            "numeric_scale",
            optional_numbers(types().map(|ty| numeric_digits(ty).1)),
        ),
        (
            "datetime_precision",
            optional_numbers(types().map(datetime_precision)),
        ),
        (
            "character_octet_length",
            optional_numbers(types().map(|ty| Some(character_length(ty)? * 4))),
        ),
        ("numeric_precision_radix", optional_numbers(types().map(radix))),
        ("interval_type", no_text()),
        ("interval_precision", optional_numbers(rows.iter().map(|_| None))),
        ("character_set_catalog", no_text()),
        ("character_set_schema", no_text()),
        ("character_set_name", no_text()),
        ("collation_catalog", no_text()),
        ("collation_schema", no_text()),
        ("collation_name", no_text()),
        (
            "domain_catalog",
            texts(columns().map(|column| domain(column).map(|_| DATABASE.to_string()))),
        ),
        (
            "domain_schema",
            texts(columns().map(|column| domain(column).map(|domain| domain.schema.clone()))),
        ),
        (
            "domain_name",
            texts(columns().map(|column| domain(column).map(|domain| domain.name.clone()))),
        ),
        ("udt_catalog", same(DATABASE, rows.len())),
        (
            "udt_schema",
            texts(types().map(|ty| Some(type_schema(ty).to_string()))),
        ),
        (
            "udt_name",
            texts(columns().map(|column| Some(pg_catalog::column_type_name(column)))),
        ),
        ("scope_catalog", no_text()),
        ("scope_schema", no_text()),
        ("scope_name", no_text()),
        ("maximum_cardinality", optional_numbers(rows.iter().map(|_| None))),
        (
            "dtd_identifier",
            texts(rows.iter().map(|(.., i, _)| Some((i + 1).to_string()))),
        ),
        ("is_self_referencing", same("NO", rows.len())),
        (
            "is_identity",
            texts(columns().map(|column| yes_or_no(column.values.identity.is_some()))),
        ),
        (
            "identity_generation",
            texts(columns().map(|column| {
                let generation = match column.values.identity? {
                    Identity::Always => "ALWAYS",
                    Identity::ByDefault => "BY DEFAULT",
                };
                Some(generation.to_string())
            })),
        ),
        ("identity_start", numbered(|sequence| sequence.start)),
        ("identity_increment", numbered(|sequence| sequence.increment)),
        ("identity_maximum", numbered(|sequence| sequence.max)),
        ("identity_minimum", numbered(|sequence| sequence.min)),
        (
            "identity_cycle",
            texts(
                numbering
                    .iter()
                    .map(|sequence| yes_or_no(sequence.as_ref().is_some_and(|sequence| sequence.cycle))),
            ),
        ),
        (
            "is_generated",
            texts(columns().map(|column| {
                let word = if generated(column).is_some() {
                    "ALWAYS"
                } else {
                    "NEVER"
                };
                Some(word.to_string())
            })),
        ),
        ("generation_expression", texts(columns().map(generated))),
        (
            "is_updatable",
            texts(rows.iter().map(|(schema, name, .., column)| {
                let view = catalog.view_named(schema, name);
                yes_or_no(view.is_none_or(|view| is_column_updatable(catalog, view, &column.name)))
            })),
        ),
    ])
}

/// Returns in which base the digits of a number are counted.
fn radix(ty: &DataType) -> Option<i64> {
    match ty {
        ty if ty.is_decimal() => Some(10),
        ty => numeric_digits(ty).0.map(|_| 2),
    }
}

/// Returns the name of a type without its length or precision, as the SQL standard spells it.
pub(crate) fn type_name(ty: &DataType) -> String {
    let name = match ty {
        DataType::Array(_) => "ARRAY".to_string(),
        DataType::Enum(_) | DataType::Record(_) => "USER-DEFINED".to_string(),
        DataType::Varchar(_) => "character varying".to_string(),
        DataType::Timestamp { .. } => "timestamp without time zone".to_string(),
        DataType::TimestampTz { .. } => "timestamp with time zone".to_string(),
        DataType::Time { .. } => "time without time zone".to_string(),
        other => other.postgres_name(),
    };
    match name.split_once('(') {
        Some((before, _)) => before.to_string(),
        None => name,
    }
}

/// Returns the schema of a type, of an array that of its elements.
pub(crate) fn type_schema(ty: &DataType) -> &'static str {
    match ty {
        DataType::Enum(of) | DataType::Array(DataType::Enum(of)) => &of.definition().schema,
        DataType::Record(of) | DataType::Array(DataType::Record(of)) => &of.definition().schema,
        _ => "pg_catalog",
    }
}

pub(crate) fn character_length(ty: &DataType) -> Option<i64> {
    match ty {
        DataType::Char(length) | DataType::Varchar(Some(length)) => Some(i64::from(*length)),
        _ => None,
    }
}

/// Returns precision and scale of a number; integers count bits, as in PostgreSQL.
pub(crate) fn numeric_digits(ty: &DataType) -> (Option<i64>, Option<i64>) {
    match ty {
        DataType::TinyInt => (Some(8), Some(0)),
        DataType::SmallInt => (Some(16), Some(0)),
        DataType::Integer => (Some(32), Some(0)),
        DataType::BigInt => (Some(64), Some(0)),
        DataType::Real => (Some(24), None),
        DataType::Double => (Some(53), None),
        ty if *ty == DataType::NUMERIC => (None, None),
        DataType::Decimal { precision, scale } | DataType::Numeric { precision, scale } => {
            (Some(i64::from(*precision)), Some(i64::from(*scale)))
        }
        _ => (None, None),
    }
}

fn datetime_precision(ty: &DataType) -> Option<i64> {
    match ty {
        DataType::Date => Some(0),
        DataType::Time { precision }
        | DataType::Timestamp { precision }
        | DataType::TimestampTz { precision } => Some(i64::from(*precision)),
        _ => None,
    }
}

/// A primary key, unique index or foreign key, as the standard's tables of constraints see it.
struct Constraint<'a> {
    table: &'a Table,
    name: String,
    kind: &'static str,
    /// The columns of each element.
    elements: Vec<Vec<ColumnId>>,
    /// Of a UNIQUE constraint, whether NULLs are distinct.
    nulls_distinct: Option<bool>,
    foreign: Option<&'a ForeignKey>,
}

fn constraints(catalog: &Catalog) -> Vec<Constraint<'_>> {
    catalog.tables().flat_map(|table| constraints_of(table)).collect()
}

fn constraints_of(table: &Table) -> Vec<Constraint<'_>> {
    let primary = Constraint {
        table,
        name: table.key_name().unwrap_or_default(),
        kind: "PRIMARY KEY",
        elements: columns_of(&table.primary_key),
        nulls_distinct: None,
        foreign: None,
    };
    let unique = table
        .indexes
        .iter()
        .filter(|index| pg_catalog::is_constraint(index))
        .map(|index| Constraint {
            table,
            name: index.name.clone(),
            kind: "UNIQUE",
            elements: columns_of(&index.elements),
            nulls_distinct: Some(index.nulls_distinct),
            foreign: None,
        });
    let keys = table.foreign_keys.iter().map(|key| Constraint {
        table,
        name: key.name.clone(),
        kind: "FOREIGN KEY",
        elements: key.columns.iter().map(|id| vec![*id]).collect(),
        nulls_distinct: None,
        foreign: Some(key),
    });
    let primary = table.row_id().is_none().then_some(primary);
    primary.into_iter().chain(unique).chain(keys).collect()
}

fn columns_of(elements: &[KeyElement]) -> Vec<Vec<ColumnId>> {
    elements.iter().map(|element| element.expr.columns()).collect()
}

impl Constraint<'_> {
    /// Returns the place that the referenced column of an element has in the key that makes it unique, from 1.
    fn place_in_unique(&self, catalog: &Catalog, at: usize) -> Option<i64> {
        let key = self.foreign?;
        let (_, _, unique) = pg_catalog::referenced_key(catalog.table(key.referenced)?, key)?;
        let place = unique.iter().position(|id| *id == key.referenced_columns[at])?;
        i64::try_from(place + 1).ok()
    }
}

fn table_constraints(catalog: &Catalog) -> Result<RecordBatch, SqlError> {
    let rows = constraints(catalog);
    let schemas = || texts(rows.iter().map(|row| Some(row.table.schema.clone())));
    batch([
        ("constraint_catalog", same(DATABASE, rows.len())),
        ("constraint_schema", schemas()),
        (
            "constraint_name",
            texts(rows.iter().map(|row| Some(row.name.clone()))),
        ),
        ("table_catalog", same(DATABASE, rows.len())),
        ("table_schema", schemas()),
        (
            "table_name",
            texts(rows.iter().map(|row| Some(row.table.name.clone()))),
        ),
        (
            "constraint_type",
            texts(rows.iter().map(|row| Some(row.kind.to_string()))),
        ),
        (
            "is_deferrable",
            texts(rows.iter().map(|row| {
                let timing = row.foreign.map(|key| key.timing);
                yes_or_no(timing.is_some_and(|timing| timing != ForeignTiming::NotDeferrable))
            })),
        ),
        (
            "initially_deferred",
            texts(rows.iter().map(|row| {
                let timing = row.foreign.map(|key| key.timing);
                yes_or_no(timing == Some(ForeignTiming::Deferred))
            })),
        ),
        ("enforced", same("YES", rows.len())),
        (
            "nulls_distinct",
            texts(rows.iter().map(|row| row.nulls_distinct.and_then(yes_or_no))),
        ),
    ])
}

fn key_column_usage(catalog: &Catalog) -> Result<RecordBatch, SqlError> {
    let constraints = constraints(catalog);
    let mut rows: Vec<(&Constraint<'_>, usize, String)> = Vec::new();
    for constraint in &constraints {
        for (position, element) in constraint.elements.iter().enumerate() {
            rows.extend(element.iter().map(|id| {
                (
                    constraint,
                    position + 1,
                    constraint.table.column_name(*id).to_string(),
                )
            }));
        }
    }
    let schemas = || texts(rows.iter().map(|(row, ..)| Some(row.table.schema.clone())));
    batch([
        ("constraint_catalog", same(DATABASE, rows.len())),
        ("constraint_schema", schemas()),
        (
            "constraint_name",
            texts(rows.iter().map(|(row, ..)| Some(row.name.clone()))),
        ),
        ("table_catalog", same(DATABASE, rows.len())),
        ("table_schema", schemas()),
        (
            "table_name",
            texts(rows.iter().map(|(row, ..)| Some(row.table.name.clone()))),
        ),
        (
            "column_name",
            texts(rows.iter().map(|(_, _, column)| Some(column.clone()))),
        ),
        (
            "ordinal_position",
            numbers(rows.iter().map(|(_, position, _)| *position)),
        ),
        (
            "position_in_unique_constraint",
            optional_numbers(
                rows.iter()
                    .map(|(row, position, _)| row.place_in_unique(catalog, position - 1)),
            ),
        ),
    ])
}

/// One element or INCLUDE column of an index.
struct Part<'a> {
    table: &'a Table,
    index: &'a str,
    unique: bool,
    position: usize,
    column: Option<String>,
    expression: Option<String>,
    /// `A`, `D`, or nothing for INCLUDE columns.
    direction: Option<String>,
}

fn parts(catalog: &Catalog) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for table in catalog.tables() {
        key_parts(&mut parts, table, "PRIMARY", true, table.declared_key());
        for index in &table.indexes {
            key_parts(&mut parts, table, &index.name, index.unique, &index.elements);
            for (position, id) in index.include.iter().enumerate() {
                parts.push(Part {
                    table,
                    index: &index.name,
                    unique: index.unique,
                    position: index.elements.len() + position + 1,
                    column: Some(table.column_name(*id).to_string()),
                    expression: None,
                    direction: None,
                });
            }
        }
    }
    parts
}

fn key_parts<'a>(
    parts: &mut Vec<Part<'a>>,
    table: &'a Table,
    index: &'a str,
    unique: bool,
    elements: &[KeyElement],
) {
    for (position, element) in elements.iter().enumerate() {
        let (column, expression) = match &element.expr {
            KeyExpr::Column(id) => (Some(table.column_name(*id).to_string()), None),
            other => (None, Some(other.sql(table))),
        };
        let direction = if element.order == SortOrder::Desc {
            "D"
        } else {
            "A"
        };
        let direction = Some(direction.to_string());
        parts.push(Part {
            table,
            index,
            unique,
            position: position + 1,
            column,
            expression,
            direction,
        });
    }
}

fn statistics(catalog: &Catalog) -> Result<RecordBatch, SqlError> {
    let rows = parts(catalog);
    batch([
        ("table_catalog", same(DATABASE, rows.len())),
        (
            "table_schema",
            texts(rows.iter().map(|row| Some(row.table.schema.clone()))),
        ),
        (
            "table_name",
            texts(rows.iter().map(|row| Some(row.table.name.clone()))),
        ),
        (
            "index_name",
            texts(rows.iter().map(|row| Some(row.index.to_string()))),
        ),
        ("non_unique", booleans(rows.iter().map(|row| !row.unique))),
        ("seq_in_index", numbers(rows.iter().map(|row| row.position))),
        ("column_name", texts(rows.iter().map(|row| row.column.clone()))),
        ("expression", texts(rows.iter().map(|row| row.expression.clone()))),
        ("collation", texts(rows.iter().map(|row| row.direction.clone()))),
    ])
}
