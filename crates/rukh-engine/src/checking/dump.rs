//! Everything that is stored, decoded: `rukh dump`, and the golden tests that show writes.
//!
//! | stored              | key                    | value                              |
//! |---------------------|------------------------|------------------------------------|
//! | definition          | `catalog/table/…`      | JSON                               |
//! | row                 | `t/1/5`                | `host='a', bytes=7`                |
//! | family value        | `t.payload/1/5`        | `picture=x'00ff'`                  |
//! | index entry         | `t@by_host/'a'/1/5`    | included columns                   |
//! | UNIQUE entry        | `t@by_name/'a'`        | `-> /1/5`, then included columns   |
//! | columnar: gone      | `t@c/1/5`              | `deleted`                          |
//! | block, its head     | `t@c/1/5`              | `8192 rows to /2/7`                |
//! | block, a column     | `t@c.host/1/5`         | `8192 rows, dictionary`            |
//! | former image        | `t:history/1/5/'2024-05-01 12:00:00+00'` | as a row         |
//! | its index entry     | `t:history@by_host/'a'/1/5/'2024-05-01 12:00:00+00'` | as that of a row |
//! | bytes of no meaning | `t/x'00ff'`            | `(why) x'00ff'`                    |

use crate::EngineError;
use crate::columnar::{self, PieceOf};
use crate::forms::codec::{DecodeError, FamilyCodec, TableCodec};
use crate::forms::entry::{DELETED, IndexCodec, entry_key};
use crate::forms::names;
use crate::forms::stored::{CATALOG, STATISTICS};
use crate::reading::definitions::Definitions;
use crate::reading::snapshot::Snapshot;
use crate::state::shared::Engine;
use rukh_keys::Datum;
use rukh_kv::{ScanSpec, WriteBatch, WriteOp};
use std::fmt::{self, Write as _};
use std::ops::ControlFlow;

/// A stored key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpLine {
    /// Column family: `catalog`, `t7`, `i9`.
    pub storage: String,
    /// The key, after the name of what it belongs to.
    pub key: String,
    /// The value.
    pub value: String,
}

/// Prints as `t/1/5 = host='a'`, or the key alone where the value holds nothing.
impl fmt::Display for DumpLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.as_str() {
            "" => f.write_str(&self.key),
            value => write!(f, "{} = {value}", self.key),
        }
    }
}

impl Engine {
    /// Shows every stored key and value to `visit`, until it breaks: definitions and statistics, then
    /// table by table rows, families and indexes, each in key order.
    pub fn dump(&self, visit: &mut dyn FnMut(DumpLine) -> ControlFlow<()>) -> Result<(), EngineError> {
        let snapshot = self.snapshot();
        for name in [CATALOG, STATISTICS] {
            let there = snapshot.kv.tables().iter().any(|table| table == name);
            if there && dump_storage(&snapshot, name, &Storage::Text(name), visit)?.is_break() {
                return Ok(());
            }
        }
        for table in snapshot.catalog.tables() {
            let codec = snapshot.definitions.codec(table.id)?;
            let history = snapshot.definitions.history(table.id).into_iter();
            for (name, storage) in storages(codec).chain(history.flat_map(|history| storages(history))) {
                if dump_storage(&snapshot, name, &storage, visit)?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Prints the operations of a batch with decoded keys, one a line: `put t/1/5`,
    /// `del t@by_host/'a'/1/5`, `commit 3 ops`.
    pub fn describe(&self, batch: &WriteBatch) -> String {
        let definitions = self.inner.definitions();
        let mut text = String::new();
        for op in batch.ops() {
            // Writing into a String does not fail.
            let _ = writeln!(text, "{}", describe_op(&definitions, &op));
        }
        let _ = writeln!(text, "commit {} ops", batch.len());
        text
    }
}

fn describe_op(definitions: &Definitions, op: &WriteOp<'_>) -> String {
    match op {
        WriteOp::Put { table, key, .. } => format!("put {}", describe_key(definitions, table, key)),
        WriteOp::Delete { table, key } => format!("del {}", describe_key(definitions, table, key)),
        WriteOp::Merge { table, key, .. } => format!("merge {}", describe_key(definitions, table, key)),
        WriteOp::DeleteRange {
            table,
            start: [],
            limit: None,
        } => {
            let name = with_storage(definitions, table, |storage| storage.name().to_string());
            format!("del {}", name.unwrap_or_else(|| table.to_string()))
        }
        op => op.to_string(),
    }
}

fn describe_key(definitions: &Definitions, table: &str, key: &[u8]) -> String {
    match table {
        CATALOG | STATISTICS => Storage::Text(table).key(key),
        _ => with_storage(definitions, table, |storage| storage.key(key))
            .unwrap_or_else(|| format!("{table}{}", names::hex(key))),
    }
}

/// Runs `f` on what a column family holds; `None` if no definition names it.
fn with_storage<T>(definitions: &Definitions, name: &str, f: impl Fn(&Storage<'_>) -> T) -> Option<T> {
    definitions.catalog.tables().find_map(|table| {
        let codec = definitions.codec(table.id).ok()?;
        let history = definitions.history(table.id).into_iter();
        storages(codec)
            .chain(history.flat_map(|history| storages(history)))
            .find(|(known, _)| *known == name)
            .map(|(_, storage)| f(&storage))
    })
}

/// What a column family holds.
enum Storage<'a> {
    /// Keys and values that are text.
    Text(&'a str),
    Family(&'a TableCodec, &'a FamilyCodec),
    Index(&'a TableCodec, &'a IndexCodec),
    /// The blocks of a columnar index.
    Blocks(&'a TableCodec, &'a IndexCodec),
}

/// Returns the column families of a table.
fn storages(codec: &TableCodec) -> impl Iterator<Item = (&str, Storage<'_>)> {
    let families = codec
        .families
        .iter()
        .map(|f| (f.storage.as_str(), Storage::Family(codec, f)));
    let own_blocks = codec.blocks.iter().filter_map(|index| {
        let blocks = index.blocks()?;
        Some((blocks.storage.as_str(), Storage::Blocks(codec, index)))
    });
    let indexes = codec.indexes.iter().flat_map(|index| {
        let blocks = index
            .blocks()
            .map(|blocks| (blocks.storage.as_str(), Storage::Blocks(codec, index)));
        std::iter::once((index.storage.as_str(), Storage::Index(codec, index))).chain(blocks)
    });
    families.chain(own_blocks).chain(indexes)
}

impl Storage<'_> {
    fn name(&self) -> &str {
        match self {
            Storage::Text(name) => name,
            Storage::Family(_, family) => &family.name,
            Storage::Index(_, index) | Storage::Blocks(_, index) => &index.name,
        }
    }

    fn key(&self, key: &[u8]) -> String {
        let key_text = match self {
            Storage::Text(_) => format!("/{}", String::from_utf8_lossy(key)),
            Storage::Family(codec, _) => names::key(&codec.key, key),
            Storage::Index(_, index) => entry_key(index, key),
            Storage::Blocks(codec, index) => {
                let (piece, first) = columnar::piece_name(index, key);
                let first = entry_key(index, &first);
                let column = |slot: Option<usize>| match slot {
                    Some(slot) => index.slot_name(&codec.table, slot),
                    None => "(dropped)".to_string(),
                };
                return match piece {
                    PieceOf::Column(slot) => format!("{}.{}{first}", index.name, column(slot)),
                    PieceOf::Filter(slot) => format!("{}.{}.filter{first}", index.name, column(slot)),
                    PieceOf::Block => format!("{}{first}", index.name),
                };
            }
        };
        format!("{}{key_text}", self.name())
    }

    fn value(&self, key: &[u8], value: &[u8]) -> String {
        let text = match self {
            Storage::Text(_) => Ok(String::from_utf8_lossy(value).into_owned()),
            Storage::Family(codec, _) if codec.blocks.is_some() && value == DELETED => {
                Ok("deleted".to_string())
            }
            Storage::Family(codec, family) => family_value(codec, family, value),
            Storage::Index(_, index) if index.blocks().is_some() && value == DELETED => {
                Ok("deleted".to_string())
            }
            Storage::Index(codec, index) => index_value(codec, index, key, value),
            Storage::Blocks(_, index) => {
                return columnar::piece_value(index, key, value)
                    .unwrap_or_else(|error| unreadable(&error, value));
            }
        };
        text.unwrap_or_else(|error| unreadable(&error, value))
    }
}

fn unreadable(error: &dyn fmt::Display, value: &[u8]) -> String {
    format!("({error}) {}", Datum::Bytes(value.to_vec()))
}

fn dump_storage(
    snapshot: &Snapshot,
    name: &str,
    storage: &Storage<'_>,
    visit: &mut dyn FnMut(DumpLine) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, EngineError> {
    // Of a columnar table what is stored, not what it looks like.
    let mut cursor = match storage {
        Storage::Family(codec, _) if codec.blocks.is_some() => snapshot.raw.scan(name, ScanSpec::all())?,
        _ => snapshot.kv.scan(name, ScanSpec::all())?,
    };
    let ended = cursor.for_each(&mut |key, value| {
        visit(DumpLine {
            storage: name.to_string(),
            key: storage.key(key),
            value: storage.value(key, value),
        })
    })?;
    Ok(match ended {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    })
}

/// Prints the columns of a family's value: `host='a', bytes=7`.
fn family_value(codec: &TableCodec, family: &FamilyCodec, value: &[u8]) -> Result<String, DecodeError> {
    let value = family.open(value)?;
    let mut columns = Vec::with_capacity(family.positions.len());
    for (ordinal, position) in family.positions.iter().enumerate() {
        columns.push(column(codec, *position, &value.datum(ordinal)?.into_owned()));
    }
    Ok(columns.join(", "))
}

/// Prints the value of an entry: the row key if it is there, then the included columns.
fn index_value(
    codec: &TableCodec,
    index: &IndexCodec,
    key: &[u8],
    value: &[u8],
) -> Result<String, DecodeError> {
    let entry = index.open(key, value)?;
    let row_key = entry
        .stored_row_key()
        .map(|row_key| format!("-> {}", names::key(&codec.key, row_key)));
    let mut columns = Vec::new();
    for (position, place) in index.included() {
        columns.push(column(codec, position, &entry.datum(codec, place)?.into_owned()));
    }
    let columns = (!columns.is_empty()).then(|| columns.join(", "));
    Ok(row_key.into_iter().chain(columns).collect::<Vec<_>>().join(" "))
}

fn column(codec: &TableCodec, position: usize, datum: &Datum) -> String {
    let column = &codec.table.columns[position];
    format!("{}={}", column.name, column.ty.display(datum))
}
