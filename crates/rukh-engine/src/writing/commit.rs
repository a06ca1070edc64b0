//! How a batch reaches storage, with the requested durability.

use crate::EngineError;
use crate::state::lock::WriterGuard;
use crate::state::shared::Inner;
use crate::state::touches::whole;
use crate::storage::row_counts::{Growth, Rows, may_keep_rows};
use rukh_catalog::{Table, TableId};
use rukh_kv::{Commit, Committed, Durability, KvError, Touch, TouchKind, Turn, WriteBatch};

/// The writer lock, until storage has put the commit in its order.
struct Held(Option<WriterGuard>);

impl Turn for Held {
    fn is_awaited(&self) -> bool {
        self.0.as_ref().is_some_and(WriterGuard::is_contended)
    }

    fn end(&mut self) {
        self.0 = None;
    }
}

impl Inner {
    /// Writes the changes of a commit at once, by which tables grow so much, unless another has touched the same keys, and gives up the writer
    /// lock; returns when they are as durable as requested.
    pub(crate) fn commit(
        &self,
        mut batch: WriteBatch,
        durability: Durability,
        guard: WriterGuard,
        touched: &[Touch],
        growth: &Growth,
    ) -> Result<Committed, EngineError> {
        self.builds.note(&mut batch);
        self.commit_noted(batch, durability, guard, touched, growth)
    }

    /// The same for a batch that leaves no word for builds of indexes: they know of it, or it changes no row.
    pub(crate) fn commit_noted(
        &self,
        batch: WriteBatch,
        durability: Durability,
        guard: WriterGuard,
        touched: &[Touch],
        growth: &Growth,
    ) -> Result<Committed, EngineError> {
        let commit = Commit {
            batch,
            durability,
            touched,
            turn: &mut Held(Some(guard)),
        };
        self.watched
            .commit_growing(commit, growth)
            .map_err(|error| match error {
                KvError::NotSynced { source } => {
                    let halted = self.halt();
                    source.map_or(halted, |error| (*error).into())
                }
                error => error.into(),
            })
    }

    /// Whether the number of rows of a table is kept, so that a writer should know by how many it grows.
    pub(crate) fn keeps_rows(&self, table: &Table) -> Result<bool, EngineError> {
        let is_asked = || Ok::<bool, EngineError>(!matches!(self.watched.rows(table.id)?, Rows::Unknown));
        Ok(may_keep_rows(table, self.store.as_ref()) && is_asked()?)
    }

    /// Keeps the number of rows of a table that has changed by other means than a commit, if it was kept before and the table has
    /// grown by so many rows. The caller holds the writer lock.
    pub(crate) fn keep_rows_after(&self, id: TableId, before: Rows, grown: Option<i64>) {
        if let Rows::Kept(rows) = before.and(grown) {
            self.watched.keep_rows(id, rows);
        }
    }

    /// Says that any row of these tables may have changed. The caller holds the writer lock.
    pub(crate) fn note_tables(&self, tables: impl IntoIterator<Item = TableId>) -> Result<(), EngineError> {
        let since = self.store.order().version();
        let touch = |table| Touch {
            since,
            ..whole(table, TouchKind::ChangedRelation)
        };
        let commit = Commit {
            batch: WriteBatch::new(),
            durability: Durability::Buffered,
            touched: &tables.into_iter().map(touch).collect::<Vec<_>>(),
            turn: &mut Held(None),
        };
        self.store.commit(commit)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Engine, EngineError, NoFunctions, OnConflict, Write};
    use rukh_catalog::{Column, ColumnId, FamilyId, KeyElement, KeyExpr, Table, TableDraft};
    use rukh_keys::{DataType, Datum, SortOrder};
    use rukh_kv::{Durability, Fault, FaultStore, KvError, MemoryStore, RocksOptions, RocksStore};
    use std::sync::{Arc, Barrier};
    use std::thread;

    fn table(engine: &Engine) -> Arc<Table> {
        let key = Column {
            id: ColumnId(0),
            name: "k".to_string(),
            ty: DataType::BigInt,
            nullable: false,
            default: None,
            family: FamilyId(0),
            values: rukh_catalog::ColumnValues::default(),
        };
        let draft = TableDraft {
            name: "t".to_string(),
            columns: vec![key],
            primary_key: vec![KeyElement {
                expr: KeyExpr::Column(ColumnId(0)),
                order: SortOrder::Asc,
            }],
            ..TableDraft::default()
        };
        engine.create_table(draft).expect("the draft is valid")
    }

    fn insert(mut write: Write, table: &Arc<Table>, key: i64) -> Result<(), EngineError> {
        write.insert(table, vec![vec![Datum::Int(key)]], OnConflict::Error)?;
        write.commit(Durability::Synced).map(|_| ())
    }

    /// Begins a statement, and has another wait for it.
    fn contended(engine: &Engine, then: impl FnOnce(Write) + Send) -> Result<Write, EngineError> {
        let write = engine.begin().expect("nothing has failed yet");
        thread::scope(|scope| {
            let other = scope.spawn(|| engine.begin());
            while !engine.inner.writer.is_contended() {
                thread::yield_now();
            }
            then(write);
            other.join().expect("beginning does not panic")
        })
    }

    #[test]
    fn a_failed_sync_halts_the_engine() {
        let store = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
        let engine = Engine::open(store.clone(), Arc::new(NoFunctions), false).expect("the store is empty");
        let table = table(&engine);
        store.fail_write(2, Fault::Refuse);
        let waiting = contended(&engine, |write| {
            let failed = insert(write, &table, 1);
            assert!(
                matches!(failed, Err(EngineError::Kv(KvError::Io { .. }))),
                "{failed:?}"
            );
        });
        // A writer that waited got the lock before the sync failed, and can commit nothing any more.
        let refused = waiting.and_then(|write| insert(write, &table, 2));
        assert!(refused.is_err());
        assert!(matches!(engine.begin().err(), Some(EngineError::RecoveryNeeded)));
        let read = engine.snapshot().get(&table, &[Datum::Int(1)]);
        assert!(matches!(read, Err(EngineError::RecoveryNeeded)));
    }

    #[test]
    fn many_writers_lose_nothing() {
        const WRITERS: i64 = 8;
        const ROWS: i64 = 25;
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("db");
        let open = || {
            let store = RocksStore::open(&path, &RocksOptions::default()).expect("the directory is there");
            Engine::open(Arc::new(store), Arc::new(NoFunctions), false).expect("the store is sound")
        };
        {
            let engine = open();
            let (table, start) = (table(&engine), Barrier::new(WRITERS as usize));
            thread::scope(|scope| {
                for writer in 0..WRITERS {
                    let (engine, table, start) = (&engine, &table, &start);
                    scope.spawn(move || {
                        start.wait();
                        for row in 0..ROWS {
                            let write = engine.begin().expect("nothing fails");
                            insert(write, table, writer * ROWS + row).expect("the key is free");
                        }
                    });
                }
            });
        }
        let engine = open();
        let table = engine.catalog().tables().next().cloned().expect("it was made");
        let report = engine
            .check_table(table.id, &crate::NoProgress)
            .expect("the store is sound");
        assert_eq!(report.rows, (WRITERS * ROWS) as u64);
    }
}
