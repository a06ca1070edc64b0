//! Snapshots: definitions and data of one moment, ready to be read.

use crate::columnar::{self, ColumnTest, KeptBlocks, PointRow, Unpacked, Wanted};
use crate::forms::codec::TableCodec;
use crate::forms::entry::IndexCodec;
use crate::reading::definitions::Definitions;
use crate::reading::lifetime::Live;
use crate::storage::clock::{Clock, Moment};
use crate::storage::row_counts::{Growth, may_keep_rows, stored_rows};
use crate::storage::watch::States;
use crate::{EngineError, Row};
use parking_lot::Mutex;
use rukh_catalog::{Catalog, Table, TableId};
use rukh_keys::{Datum, KeyRange, ValueError};
use rukh_kv::{KvSnapshot, KvStore, Traffic};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A moment held by a snapshot, by each clone for itself, until it is given up.
struct Held(Mutex<Option<Arc<Moment>>>);

impl Clone for Held {
    fn clone(&self) -> Self {
        Held(Mutex::new(self.0.lock().clone()))
    }
}

/// Returns the present time, if any row carries times, and what is alive then.
fn live(
    definitions: &Definitions,
    raw: &Arc<dyn KvSnapshot>,
    clock: &Arc<Clock>,
    kept: (&Arc<KeptBlocks>, States),
) -> (Option<Arc<Moment>>, Arc<dyn KvSnapshot>) {
    let moment = definitions.timed.then(|| clock.moment());
    let time = moment.as_ref().map(|moment| moment.time());
    (moment, readable(definitions, raw, time, kept, None))
}

/// Returns what is stored and alive at a time, columnar tables as if they were stored row by row; of one of them the values
/// that are wanted, if not all are.
fn readable(
    definitions: &Definitions,
    raw: &Arc<dyn KvSnapshot>,
    time: Option<i64>,
    (kept, states): (&Arc<KeptBlocks>, States),
    wanted: Option<Wanted>,
) -> Arc<dyn KvSnapshot> {
    let raw: Arc<dyn KvSnapshot> = match definitions.has_packed() {
        true => Arc::new(Unpacked {
            kv: raw.clone(),
            tables: definitions.packed.clone(),
            kept: kept.clone(),
            states,
            wanted,
        }),
        false => raw.clone(),
    };
    match time {
        Some(now) if !definitions.lifetimes.is_empty() => Arc::new(Live {
            kv: raw,
            rules: definitions.lifetimes.clone(),
            now,
        }),
        _ => raw,
    }
}

/// Catalog and data of one moment. Cheap to clone; holds back the removal of old data while alive.
#[derive(Clone)]
pub struct Snapshot {
    /// The definitions that the data was written under.
    pub catalog: Arc<Catalog>,
    pub(crate) definitions: Arc<Definitions>,
    /// What is stored and alive, columnar tables as if they were stored row by row.
    pub(crate) kv: Arc<dyn KvSnapshot>,
    /// What is stored.
    pub(crate) raw: Arc<dyn KvSnapshot>,
    /// The time, if it matters.
    time: Option<i64>,
    /// Keeps what is alive then.
    moment: Held,
    clock: Arc<Clock>,
    kept: Arc<KeptBlocks>,
    /// What is known of the moment.
    pub(crate) states: States,
    pub(crate) store: Arc<dyn KvStore>,
    halted: Arc<AtomicBool>,
    /// By how many rows tables have grown since, by the changes that are on top of what is stored.
    grown: Arc<Growth>,
}

impl Snapshot {
    pub(crate) fn new(
        definitions: Arc<Definitions>,
        (raw, states): (Arc<dyn KvSnapshot>, States),
        store: Arc<dyn KvStore>,
        clock: Arc<Clock>,
        kept: Arc<KeptBlocks>,
        halted: Arc<AtomicBool>,
    ) -> Self {
        let (moment, kv) = live(&definitions, &raw, &clock, (&kept, states));
        Snapshot {
            catalog: definitions.catalog.clone(),
            definitions,
            kv,
            raw,
            time: moment.as_ref().map(|moment| moment.time()),
            moment: Held(Mutex::new(moment)),
            clock,
            kept,
            states,
            store,
            halted,
            grown: Arc::default(),
        }
    }

    /// Returns the same data by other definitions; [`Snapshot::with_kv`] has to follow.
    pub(crate) fn with_definitions(&self, definitions: Arc<Definitions>) -> Self {
        Snapshot {
            catalog: definitions.catalog.clone(),
            definitions,
            ..self.clone()
        }
    }

    /// Returns the same definitions with other data, at the present time.
    pub(crate) fn with_kv(&self, raw: Arc<dyn KvSnapshot>) -> Self {
        let states = States::default();
        let (moment, kv) = live(&self.definitions, &raw, &self.clock, (&self.kept, states));
        Snapshot {
            kv,
            raw,
            states,
            time: moment.as_ref().map(|moment| moment.time()),
            moment: Held(Mutex::new(moment)),
            ..self.clone()
        }
    }

    /// Returns the same definitions with changes on top of the data, by which tables grow so much.
    pub(crate) fn with_changes(&self, raw: Arc<dyn KvSnapshot>, grown: &Growth) -> Self {
        Snapshot {
            grown: Arc::new(grown.clone()),
            ..self.with_kv(raw)
        }
    }

    /// Returns how many rows a table has, where that number is kept: see `row_counts`.
    pub fn kept_rows(&self, table: &Table) -> Result<Option<u64>, EngineError> {
        self.codec(table.id)?;
        if !may_keep_rows(table, self.store.as_ref()) {
            return Ok(None);
        }
        let rows = stored_rows(self.raw.as_ref(), table.id)?;
        let grown = self.grown.get(&table.id).copied().unwrap_or_default();
        Ok(rows
            .filter(|_| grown.is_exact)
            .and_then(|rows| rows.checked_add_signed(grown.rows)))
    }

    /// Returns the same data as it is at the present time: another statement may find less alive.
    pub(crate) fn at_present(&self) -> Self {
        match self.time {
            None => self.clone(),
            Some(_) => Snapshot {
                states: self.states,
                ..self.with_kv(self.raw.clone())
            },
        }
    }

    /// Returns the time of the statement, in microseconds since 1970-01-01 00:00 UTC.
    pub fn now(&self) -> i64 {
        self.time.unwrap_or_else(|| self.clock.now())
    }

    /// Returns what reading from this snapshot and its clones has taken of servers elsewhere so far.
    pub fn traffic(&self) -> Traffic {
        self.raw.traffic()
    }

    /// Says that nothing more is read through this clone: storage need not keep what has died meanwhile.
    pub fn finish(&self) {
        self.moment.0.lock().take();
    }

    /// Returns the name of a table, for messages; empty if there is none.
    pub(crate) fn name_of(&self, id: TableId) -> String {
        let codec = self.definitions.codec(id);
        codec.map(|codec| codec.table.name.clone()).unwrap_or_default()
    }

    /// Returns a table, unless storage may show half of a load.
    pub(crate) fn codec(&self, id: TableId) -> Result<&Arc<TableCodec>, EngineError> {
        match self.halted.load(Ordering::Acquire) {
            true => Err(EngineError::RecoveryNeeded),
            false => self.definitions.codec(id),
        }
    }

    /// Returns the table of a table's former images, if it has VERSIONS.
    pub fn history(&self, table: TableId) -> Option<Arc<Table>> {
        let history = self.definitions.history(table)?;
        Some(history.table.clone())
    }

    /// Returns what is stored and alive for a reader that looks at some values of a table's rows only: these of the family
    /// that a columnar table has.
    pub(crate) fn narrowed(&self, codec: &TableCodec, ordinals: &Arc<[usize]>) -> Arc<dyn KvSnapshot> {
        match codec.blocks {
            None => self.kv.clone(),
            Some(_) => {
                let wanted = Wanted {
                    storage: codec.families[0].storage.clone(),
                    ordinals: ordinals.clone(),
                };
                let kept = (&self.kept, self.states);
                readable(&self.definitions, &self.raw, self.time, kept, Some(wanted))
            }
        }
    }

    /// Looks for a row of a columnar table whose rows live for ever, for the values of these slots of its blocks; `None` of any
    /// other table.
    pub(crate) fn point_row(
        &self,
        codec: &TableCodec,
        key: &[u8],
        slots: &[usize],
    ) -> Result<Option<PointRow>, EngineError> {
        let Some(index) = self.blocks_for_ever(codec) else {
            return Ok(None);
        };
        let kept = (self.kept.as_ref(), self.states.blocks);
        columnar::point_row(self.raw.as_ref(), kept, index, key, slots).map(Some)
    }

    /// Returns the values of these slots of the first rows, at most so many, whose keys begin with so many elements; the range
    /// is theirs. `None` where that takes more than a look at what is kept of one block.
    pub(crate) fn prefix_rows(
        &self,
        codec: &TableCodec,
        of: (&KeyRange, usize),
        slots: &[usize],
        most: usize,
    ) -> Result<Option<Vec<Row>>, EngineError> {
        let Some(index) = self.blocks_for_ever(codec) else {
            return Ok(None);
        };
        let kept = (self.kept.as_ref(), self.states.blocks);
        columnar::prefix_rows(self.raw.as_ref(), kept, index, of, slots, most)
    }

    /// Returns how a columnar table is stored whose rows live for ever.
    fn blocks_for_ever<'c>(&self, codec: &'c TableCodec) -> Option<&'c IndexCodec> {
        let index = codec.blocks.as_deref()?;
        (!self.definitions.lifetimes.contains_key(&index.storage)).then_some(index)
    }

    /// Returns what is kept of blocks and of changes beside them, and what is known of the moment.
    pub(crate) fn kept(&self) -> (&Arc<KeptBlocks>, States) {
        (&self.kept, self.states)
    }

    /// Returns the test that what is alive of a columnar index or table passes, if any of it may be dead.
    pub(crate) fn life_test(&self, index: &IndexCodec) -> Option<ColumnTest> {
        let rule = self.definitions.lifetimes.get(&index.storage)?;
        Some(rule.test(self.now()))
    }

    /// Returns the row whose primary key has these datums: one for each element, in key order; for
    /// a HASH element the hash.
    pub fn get(&self, table: &Table, key: &[Datum]) -> Result<Option<Row>, EngineError> {
        let codec = self.codec(table.id)?;
        match codec.key.encode(key) {
            Err(ValueError::WideForKey { .. }) => Ok(None),
            key => self.get_encoded(codec, &key?),
        }
    }

    /// Returns the row under a row key.
    pub(crate) fn get_encoded(&self, codec: &TableCodec, key: &[u8]) -> Result<Option<Row>, EngineError> {
        let Some(base) = self.kv.get(&codec.families[0].storage, key)? else {
            return Ok(None);
        };
        let mut values = vec![Some(base)];
        for family in &codec.families[1..] {
            values.push(self.kv.get(&family.storage, key)?);
        }
        codec.decode_row(key, &values).map(Some)
    }
}
