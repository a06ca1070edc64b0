//! What the engine's tests share: definitions and rows written as text, and toy expressions.
//!
//! ```text
//! columns   a INTEGER, b VARCHAR NULL, picture VARBINARY NULL IN payload, c COUNTER
//! elements  a, b DESC, HASH(c, 8), double(a)
//! row       1, 'it''s', NULL
//! ```

#![allow(dead_code, clippy::unwrap_used)] // each test file uses a part of it

pub mod life;
pub mod model;
pub mod sessions;
pub mod toy;

use rukh_catalog::{
    Column, ColumnId, ColumnValues, Family, FamilyId, IndexDraft, IndexLayout, IndexPredicate, KeyElement,
    KeyExpr, SaltOptions, Table, TableDraft, TableOptions,
};
use rukh_engine::{CounterMerge, Engine, NoProgress, Row, ScanRequest, Snapshot};
use rukh_keys::{DataType, Datum, KeyLayout, SortOrder};
use rukh_kv::{KvStore, MemoryStore};
use std::sync::Arc;

/// Makes an empty store in memory that can merge.
pub fn memory() -> Arc<dyn KvStore> {
    Arc::new(MemoryStore::with_merge_operator(Arc::new(CounterMerge)))
}

/// Makes an empty database in memory.
pub fn engine() -> Engine {
    open(Arc::new(MemoryStore::new()))
}

/// Opens the database in a store.
pub fn open(store: Arc<dyn KvStore>) -> Engine {
    let engine = Engine::open(store, Arc::new(toy::ToyFunctions), false).unwrap();
    // Small enough for a few rows to be several blocks, and to be repacked.
    engine.set_block_rows(3);
    engine.set_repack_rows(4);
    engine
}

/// Makes a draft of a table; COLUMNAR before its key makes it columnar, and of one family.
pub fn table_draft(name: &str, columns: &str, key: &str, salt: Option<u16>) -> TableDraft {
    let (key, columnar) = match key.strip_prefix("COLUMNAR ") {
        Some(key) => (key, true),
        None => (key, false),
    };
    let mut draft = TableDraft {
        options: TableOptions {
            columnar,
            ..TableOptions::default()
        },
        schema: "public".into(),
        name: name.into(),
        ..TableDraft::default()
    };
    for (at, text) in split(columns).into_iter().enumerate() {
        let (text, family) = match text.split_once(" IN ") {
            Some((text, _)) if columnar => (text.to_string(), FamilyId(0)),
            Some((text, family)) => (text.to_string(), family_id(&mut draft, family)),
            None => (text, FamilyId(0)),
        };
        let (text, nullable) = match text.strip_suffix(" NULL") {
            Some(text) => (text.to_string(), true),
            None => (text, false),
        };
        let (name, ty) = text.split_once(' ').unwrap();
        let counter = ty == "COUNTER";
        let ty = if counter { "BIGINT" } else { ty };
        draft.columns.push(Column {
            id: ColumnId(at as u32),
            name: name.into(),
            ty: ty.parse().unwrap(),
            nullable,
            default: None,
            family,
            values: ColumnValues {
                counter,
                ..ColumnValues::default()
            },
        });
    }
    draft.primary_key = elements(key, &draft.columns);
    draft.salt = salt.map(|buckets| SaltOptions {
        buckets,
        columns: None,
    });
    draft
}

fn family_id(draft: &mut TableDraft, name: &str) -> FamilyId {
    if let Some(known) = draft.families.iter().find(|family| family.name == name) {
        return known.id;
    }
    let id = FamilyId(draft.families.len() as u16 + 1);
    draft.families.push(Family {
        id,
        name: name.into(),
        options: Default::default(),
    });
    id
}

/// Makes a draft of an index; `ALIKE` before its key is NULLS NOT DISTINCT.
pub fn index_draft(
    table: &Table,
    name: &str,
    key: &str,
    include: &str,
    predicate: Option<&str>,
    unique: bool,
) -> IndexDraft {
    let column = |name: &String| table.column_named(name).unwrap().id;
    let (key, nulls_distinct) = match key.strip_prefix("ALIKE ") {
        Some(key) => (key, false),
        None => (key, true),
    };
    let (key, layout) = match key.strip_prefix("COLUMNAR ") {
        Some(key) => (key, IndexLayout::Columnar),
        None => (key, IndexLayout::Rows),
    };
    let predicate = predicate.map(|sql| IndexPredicate {
        sql: sql.to_string(),
        columns: toy::columns_of(sql).iter().map(column).collect(),
    });
    IndexDraft {
        name: name.into(),
        unique,
        nulls_distinct,
        constraint: true,
        elements: elements(key, &table.columns),
        include: split(include).iter().map(column).collect(),
        predicate,
        layout,
    }
}

fn elements(text: &str, columns: &[Column]) -> Vec<KeyElement> {
    split(text).iter().map(|text| element(text, columns)).collect()
}

fn element(text: &str, columns: &[Column]) -> KeyElement {
    let (text, order) = match text.strip_suffix(" DESC") {
        Some(text) => (text, SortOrder::Desc),
        None => (text, SortOrder::Asc),
    };
    let id = |name: &str| columns.iter().find(|column| column.name == name).unwrap().id;
    let expr = match text.strip_prefix("HASH(").and_then(|rest| rest.strip_suffix(')')) {
        Some(arguments) => {
            let arguments = split(arguments);
            KeyExpr::Hash {
                column: id(&arguments[0]),
                bytes: arguments[1].parse().unwrap(),
            }
        }
        None if text.contains('(') => KeyExpr::Expression {
            sql: text.into(),
            ty: toy::type_of(text),
            nullable: true,
            columns: toy::columns_of(text).iter().map(|name| id(name)).collect(),
        },
        None => KeyExpr::Column(id(text)),
    };
    KeyElement { expr, order }
}

/// Splits at commas outside of quotes and parentheses, and trims.
pub fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0, false);
    for c in text.chars() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(c);
    }
    let parts = parts.into_iter().map(|part| part.trim().to_string());
    parts.filter(|part| !part.is_empty()).collect()
}

/// Reads datums of these types.
pub fn datums<'a>(text: &str, types: impl Iterator<Item = &'a DataType>) -> Vec<Datum> {
    split(text)
        .iter()
        .zip(types)
        .map(|(text, ty)| datum(text, ty))
        .collect()
}

fn datum(text: &str, ty: &DataType) -> Datum {
    if text == "NULL" {
        return Datum::Null;
    }
    let text = match text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(text) => text.replace("''", "'"),
        None => text.to_string(),
    };
    ty.check(ty.parse_text(&text).unwrap()).unwrap()
}

/// Reads a row of a table.
pub fn row(table: &Table, text: &str) -> Row {
    let row = datums(text, table.columns.iter().map(|column| &column.ty));
    assert_eq!(row.len(), table.columns.len(), "{text}");
    row
}

/// Reads leading datums of a key.
pub fn key(layout: &KeyLayout, text: &str) -> Vec<Datum> {
    datums(text, layout.columns().iter().map(|column| &column.ty))
}

/// Prints a row: `1, 'a', NULL`.
pub fn show_row(table: &Table, row: &[Datum]) -> String {
    let datums = row
        .iter()
        .zip(&table.columns)
        .map(|(datum, column)| column.ty.display(datum).to_string());
    datums.collect::<Vec<_>>().join(", ")
}

/// Creates a table.
pub fn create_table(engine: &Engine, name: &str, columns: &str, key: &str) -> Arc<Table> {
    engine
        .create_table(table_draft(name, columns, key, None))
        .unwrap()
}

/// Creates an index without predicate.
pub fn create_index(engine: &Engine, table: &Table, name: &str, key: &str, include: &str, unique: bool) {
    let draft = index_draft(table, name, key, include, None, unique);
    engine.create_index(table.id, draft, &NoProgress).unwrap();
}

/// Returns a table as it is defined now.
pub fn table(engine: &Engine, name: &str) -> Arc<Table> {
    engine.catalog().table_named("public", name).unwrap().clone()
}

/// Reads all columns of what a request asks for; its own columns are replaced.
pub fn read(snapshot: &Snapshot, mut request: ScanRequest) -> Vec<Row> {
    request.columns = request.table.columns.iter().map(|column| column.id).collect();
    let width = request.columns.len();
    let mut cursor = snapshot.scan(request).unwrap();
    let mut rows = Vec::new();
    let mut sink = |view: &rukh_engine::RowView<'_>| {
        let datums = (0..width).map(|at| Ok(view.datum(at)?.into_owned()));
        rows.push(datums.collect::<Result<Row, rukh_engine::EngineError>>()?);
        Ok(())
    };
    while cursor.next_rows(7, &mut sink).unwrap() > 0 {}
    rows
}
