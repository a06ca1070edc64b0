//! The column families of tables, and how they are stored.

use crate::reading::lifetime;
use rukh_catalog::{Catalog, Family, Index, Table};
use rukh_kv::{Compression, TableOptions};

/// Returns how a column family of a table, or of an index of it, is stored.
pub(crate) fn storage_options(table: &Table, storage: &str) -> TableOptions {
    let history = table.history();
    let is_named = |family: &&Family| {
        let mut tables = std::iter::once(table).chain(&history);
        tables.any(|table| table.storage_name(family.id) == storage)
    };
    let family = table.families.iter().find(is_named);
    let own = family.and_then(|family| family.options.compression.as_deref());
    let compression = own.or(table.options.compression.as_deref());
    TableOptions {
        purged: !lifetime::table_rules(table).is_empty(),
        compression: match compression {
            Some("none") => Some(Compression::None),
            Some("lz4") => Some(Compression::Lz4),
            Some("zstd") => Some(Compression::Zstd),
            _ => None,
        },
        block_bytes: is_of_blocks(table, storage).then_some(COMPRESSED_BYTES),
        ..TableOptions::default()
    }
}

/// Bytes of columnar blocks that are compressed together, about: what a piece of a column has.
const COMPRESSED_BYTES: usize = 8 << 10;

/// Whether a column family has the blocks of a table, or of an index of it.
fn is_of_blocks(table: &Table, storage: &str) -> bool {
    let mut indexes = table.indexes.iter().filter(|index| index.is_columnar());
    (table.is_columnar() && table.blocks_name() == storage)
        || indexes.any(|index| index.blocks_name() == storage)
}

/// Returns every column family that the definitions name.
pub(crate) fn storage_names(catalog: &Catalog) -> impl Iterator<Item = String> + '_ {
    catalog.tables().flat_map(|table| storages_of(table))
}

/// Returns the names of all column families of a table, its history and its indexes.
pub(crate) fn storages_of(table: &Table) -> impl Iterator<Item = String> + '_ {
    let indexes = table.indexes.iter().flat_map(Index::storage_names);
    table.storage_names().into_iter().chain(indexes)
}
