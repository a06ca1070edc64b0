//! The request of a scan.

use crate::EngineError;
use crate::columnar::{ColumnTest, FirstRows};
use crate::forms::codec::TableCodec;
use crate::forms::entry::IndexCodec;
use crate::reading::groups::Grouping;
use crate::reading::merged::MergePart;
use crate::reading::scan::plan::RowView;
use rukh_catalog::{CatalogError, ColumnId, IndexId, IndexState, Table};
use rukh_keys::{KeyRange, MaskedCompare};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Whose key order a scan follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The table's primary key.
    Table,
    /// An index of it.
    Index(IndexId),
}

/// A test on index entries before their rows are looked up; its view gives
/// [`ScanRequest::entry_columns`].
pub type EntryFilter = Box<dyn FnMut(&RowView<'_>) -> Result<bool, EngineError> + Send>;

/// What to read of a table.
pub struct ScanRequest {
    /// The table, in any version: columns are found by id in the newest.
    pub table: Arc<Table>,
    /// The key order to follow.
    pub source: Source,
    /// The key ranges to read, sorted and disjoint.
    pub ranges: Vec<KeyRange>,
    /// The test on raw key bytes; in a UNIQUE index it may test the declared elements only.
    pub masked: MaskedCompare,
    /// Whether rows come in descending order.
    pub reverse: bool,
    /// The ranges in parts that are merged by what their keys have behind a prefix, instead of one
    /// after the other; not together with `groups`.
    pub merge: Option<Vec<MergePart>>,
    /// Where one row of each group is enough: the first in scan order that passes `entry_filter`.
    pub groups: Option<Grouping>,
    /// How many rows to show at most, counted after `entry_filter`.
    pub limit: Option<u64>,
    /// The columns that [`RowView::datum`] gives, by position in this list.
    pub columns: Vec<ColumnId>,
    /// A test on entries before rows are looked up.
    pub entry_filter: Option<EntryFilter>,
    /// The columns that the view of `entry_filter` gives; all must be in the source itself.
    pub entry_columns: Vec<ColumnId>,
    /// Tests on columns, which a columnar index or table evaluates on encoded values; empty for other sources.
    pub tests: Vec<ColumnTest>,
    /// Of a scan by columns, the only rows wanted, if not all are: others may be left out. A row is wanted that one of them wants.
    pub first: Vec<FirstRows>,
    /// Of a scan by columns for first rows, whether it may begin at the other end: where these are rather there, fewer blocks are read.
    pub either_end: bool,
    /// Ends the scan with [`EngineError::Cancelled`] soon after it becomes true.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl ScanRequest {
    /// Asks for columns of all rows in the order of the primary key.
    pub fn all(table: Arc<Table>, columns: Vec<ColumnId>) -> Self {
        ScanRequest {
            table,
            source: Source::Table,
            ranges: vec![KeyRange::all()],
            masked: MaskedCompare::new(Vec::new()),
            reverse: false,
            merge: None,
            groups: None,
            limit: None,
            columns,
            entry_filter: None,
            entry_columns: Vec::new(),
            tests: Vec::new(),
            first: Vec::new(),
            either_end: false,
            cancel: None,
        }
    }
}

/// Returns the storage table of a source.
pub(crate) fn storage_name(codec: &TableCodec, source: Source) -> Result<&str, EngineError> {
    match source {
        Source::Table => Ok(&codec.families[0].storage),
        Source::Index(id) => Ok(&ready_index(codec, id)?.storage),
    }
}

/// Returns the index that a source is, if it is columnar; a columnar table is one of all of its columns.
pub(crate) fn columnar_index(
    codec: &TableCodec,
    source: Source,
) -> Result<Option<&Arc<IndexCodec>>, EngineError> {
    match source {
        Source::Table => Ok(codec.blocks.as_ref()),
        Source::Index(id) => Ok(Some(ready_index(codec, id)?).filter(|index| index.blocks().is_some())),
    }
}

pub(super) fn ready_index(codec: &TableCodec, id: IndexId) -> Result<&Arc<IndexCodec>, EngineError> {
    let unknown = || CatalogError::UnknownIndex {
        name: format!("index {}", id.0),
    };
    let index = codec.index(id).ok_or_else(unknown)?;
    match index.index.state {
        IndexState::Ready => Ok(index),
        IndexState::Building | IndexState::Disabled | IndexState::Broken => Err(EngineError::IndexNotReady {
            index: index.index.name.clone(),
        }),
    }
}

/// Whether a scan shows all keys of its ranges, one range after the other.
pub(super) fn is_plain(request: &ScanRequest) -> bool {
    request.entry_filter.is_none() && request.groups.is_none() && request.merge.is_none()
}
