//! Building an index beside writers, from a barrier to the switch.
//!
//! 1. Under the writer lock: the definition is stored as Building, writers begin to leave word of what
//!    they change (`builds`), and a snapshot is taken.
//! 2. Without it: the entries of the snapshot's rows are sorted and ingested (`backfill`), and passes
//!    do again what writers have done since (`catch_up`), until little is left.
//! 3. Under the lock again: the last pass, and the definition becomes Ready.
//!
//! A table of few rows is filled under the lock, which takes less than the preparations. A change of the
//! table's columns meanwhile begins the build again from a new snapshot. What is not done ends without a
//! trace: by an error, by DROP INDEX, or at the next open, which fills an index that is Building still.
//!
//! Where the table has VERSIONS each step is done for the rows, and then for the former images.

use crate::building::backfill::backfill;
use crate::building::catch_up::Pass;
use crate::forms::codec::TableCodec;
use crate::forms::maintain::Maintainer;
use crate::reading::snapshot::Snapshot;
use crate::state::builds::Build;
use crate::state::lock::WriterGuard;
use crate::state::shared::Inner;
use crate::{EngineError, Progress};
use rukh_catalog::{CatalogError, ColumnId, Index, IndexId, IndexState, Table};
use rukh_kv::{ScanSpec, TableOptions, WriteBatch};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows up to which a table is filled while writers wait, unless set otherwise.
pub(crate) const ROWS_AT_ONCE: u64 = 10_000;

/// Rows that writers may have touched for the next pass to be the last, while they wait.
const LAST_PASS_ROWS: u64 = 1_000;

/// Passes beside writers at most: then they wait, however much is left.
const PASSES_MAX: usize = 32;

impl Inner {
    /// Fills the column family of index `filled`, new and empty, and has it take the place of `index` in
    /// state Ready; they may be the same. Its keys have a place for NULL also of the columns `nullable`. Gives the writer lock up
    /// where it takes long.
    pub(crate) fn build_index(
        &self,
        guard: WriterGuard,
        index: IndexId,
        filled: IndexId,
        nullable: &[ColumnId],
        progress: &dyn Progress,
    ) -> Result<(), EngineError> {
        let snapshot = self.snapshot();
        let table = snapshot.catalog.index(index).ok_or_else(|| unknown(index))?.0.id;
        let rows = ScanSpec::all()
            .keys_only()
            .limited(self.rows_at_once.load(Ordering::Relaxed).saturating_add(1));
        let codec = snapshot.definitions.codec(table)?;
        let (rows, _) = snapshot.kv.count(&codec.families[0].storage, rows)?;
        if rows <= self.rows_at_once.load(Ordering::Relaxed) {
            let build = Build::new(table, index, filled, 0).with_place_for_nulls(nullable);
            let filled = self.fill_at_once(&snapshot, &build, progress);
            drop(guard);
            return filled;
        }
        let build = Build::new(table, index, filled, 0).with_place_for_nulls(nullable);
        self.store
            .create_table(&build.touched(), &TableOptions::default())?;
        let registered = Registered {
            inner: self,
            build: Arc::new(build),
        };
        self.builds.register(registered.build.clone());
        // The snapshot is still that of this moment: this thread holds the writer lock.
        drop(guard);
        run(self, &registered.build, snapshot, progress)
    }

    /// Fills an index from a snapshot of the present state. The caller holds the writer lock.
    pub(crate) fn fill_at_once(
        &self,
        snapshot: &Snapshot,
        build: &Build,
        progress: &dyn Progress,
    ) -> Result<(), EngineError> {
        let maintainers = maintainers(self, snapshot, build)?;
        backfill(self, snapshot, &maintainers, build, progress)?;
        self.switch(build)
    }

    /// Makes the filled index Ready, in the place of the one that it was filled for. The caller holds the writer lock.
    fn switch(&self, build: &Build) -> Result<(), EngineError> {
        let catalog = self.definitions().catalog.clone();
        let (table, _) = catalog.index(build.index).ok_or_else(|| unknown(build.index))?;
        let table = switched(table, build);
        let id = table.id;
        self.commit_table(WriteBatch::new(), table)?;
        self.set_purges(id)
    }
}

/// Returns a table with the filled index Ready, in the place of the one that it was filled for.
pub(crate) fn switched(before: &Table, build: &Build) -> Table {
    let mut table = before.clone();
    for index in table.indexes.iter_mut().filter(|index| index.id == build.index) {
        build.take_place(index, before);
        index.state = IndexState::Ready;
    }
    if let Some(comment) = table.comments.indexes.remove(&build.index) {
        table.comments.indexes.insert(build.filled, comment);
    }
    table
}

/// Builds an index from a snapshot on; the caller does not hold the writer lock.
fn run(inner: &Inner, build: &Build, first: Snapshot, progress: &dyn Progress) -> Result<(), EngineError> {
    let mut before = first;
    loop {
        before = match attempt(inner, build, before.clone(), progress) {
            Ok(None) => return Ok(()),
            Ok(Some(changed)) => changed,
            // Column families that were read may have gone: a history that ended.
            Err(EngineError::Kv(error)) => changed(inner, build, &before)?.ok_or(error)?,
            Err(error) => return Err(error),
        };
    }
}

/// Builds an index from a snapshot on, unless its table changes meanwhile: then it returns a later snapshot to begin
/// again from.
fn attempt(
    inner: &Inner,
    build: &Build,
    mut before: Snapshot,
    progress: &dyn Progress,
) -> Result<Option<Snapshot>, EngineError> {
    let maintainers = maintainers(inner, &before, build)?;
    backfill(inner, &before, &maintainers, build, progress)?;
    let mut passes = 0;
    loop {
        passes += 1;
        let guard = inner.lock_writer()?;
        build.check()?;
        let (number, ranges) = build.next_pass();
        let after = inner.snapshot();
        if shape(&after, build)? != shape(&before, build)? {
            return Ok(Some(after));
        }
        let touched = rukh_keys::KeyRange::prefix(number.to_be_bytes().to_vec());
        let touched = ScanSpec::ranges(vec![touched])
            .keys_only()
            .limited(LAST_PASS_ROWS);
        let touched = after.kv.count(&build.touched(), touched)?.0;
        let is_last = ranges.is_empty() && touched < LAST_PASS_ROWS || passes > PASSES_MAX;
        let guard = is_last.then_some(guard);
        let step = Pass {
            inner,
            build,
            maintainers: &maintainers,
            before: &before,
            after: &after,
            number,
            ranges,
        };
        step.run(progress)?;
        before = after;
        if guard.is_some() {
            return inner.switch(build).map(|()| None);
        }
    }
}

/// Returns a snapshot to begin again from if the table has changed since another.
fn changed(inner: &Inner, build: &Build, before: &Snapshot) -> Result<Option<Snapshot>, EngineError> {
    let _guard = inner.lock_writer()?;
    build.check()?;
    build.next_pass();
    let after = inner.snapshot();
    let is_same = shape(&after, build)? == shape(before, build)?;
    Ok((!is_same).then_some(after))
}

/// Compiles the index that is filled as the only one of its table, and of the history if that is to have it.
pub(crate) fn maintainers(
    inner: &Inner,
    snapshot: &Snapshot,
    build: &Build,
) -> Result<Vec<Maintainer>, EngineError> {
    let (table, index) = snapshot
        .catalog
        .index(build.index)
        .ok_or_else(|| unknown(build.index))?;
    let mut index = index.clone();
    build.take_place(&mut index, table);
    let table = Table {
        indexes: vec![index],
        ..Table::clone(table)
    };
    let history = table.history().filter(|history| !history.indexes.is_empty());
    let compile = |table| Maintainer::of_all(Arc::new(TableCodec::new(Arc::new(table))), &*inner.functions);
    std::iter::once(table).chain(history).map(compile).collect()
}

/// Returns what entries depend on: the table without its names and other indexes.
fn shape(snapshot: &Snapshot, build: &Build) -> Result<Table, EngineError> {
    let (table, index) = snapshot
        .catalog
        .index(build.index)
        .ok_or(EngineError::IndexDropped)?;
    let index = Index {
        name: String::new(),
        state: IndexState::Building,
        ..index.clone()
    };
    Ok(Table {
        name: String::new(),
        named_key: None,
        comments: Default::default(),
        materialized: None,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        indexes: vec![index],
        ..Table::clone(table)
    })
}

pub(crate) fn unknown(index: IndexId) -> EngineError {
    let name = format!("index {}", index.0);
    CatalogError::UnknownIndex { name }.into()
}

/// A build that writers leave word for, until dropped.
pub(crate) struct Registered<'a> {
    pub(crate) inner: &'a Inner,
    pub(crate) build: Arc<Build>,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let _guard = self.inner.writer.lock();
        self.inner.builds.unregister(&self.build);
        self.inner.drop_unnamed();
    }
}
