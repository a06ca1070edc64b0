//! Snapshots: definitions and data of one moment, ready to be read.

use crate::clock::{Clock, Moment};
use crate::codec::TableCodec;
use crate::columnar::{self, ColumnTest, KeptBlocks, Packed, PointRow, Unpacked, Wanted};
use crate::entry::IndexCodec;
use crate::lifetime::{self, Live};
use crate::scan::{self, ColumnarCursor, RowCursor, ScanCounters, ScanRequest, Source};
use crate::watch::States;
use crate::{EngineError, Row};
use parking_lot::Mutex;
use rukh_catalog::{Catalog, CatalogError, Table, TableId};
use rukh_keys::{Datum, KeyRange, MaskedCompare};
use rukh_kv::{KvSnapshot, KvStore, ScanSpec};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The definitions of one moment with everything prepared from them; replaced as a whole by DDL.
pub(crate) struct Definitions {
    pub(crate) catalog: Arc<Catalog>,
    codecs: HashMap<TableId, Arc<TableCodec>>,
    /// How long values live, of the column families where they do not live for ever.
    pub(crate) lifetimes: Arc<lifetime::Rules>,
    /// Whether rows of any table carry times.
    timed: bool,
    /// The columnar tables.
    packed: Arc<Packed>,
    /// Tables whose rows are not there, and what storage lacks of each.
    lost: Arc<Lost>,
}

/// Tables of which storage lacks something, by the name of that.
pub(crate) type Lost = HashMap<TableId, String>;

impl Definitions {
    /// Prepares all tables of a catalog, keeping what was prepared before for those unchanged.
    pub(crate) fn new(catalog: Catalog, before: Option<&Definitions>) -> Self {
        let prepare = |table: &Arc<Table>| {
            let known = before.and_then(|before| before.codecs.get(&table.id));
            let known = known.filter(|codec| Arc::ptr_eq(&codec.table, table));
            let codec = known
                .cloned()
                .unwrap_or_else(|| Arc::new(TableCodec::new(table.clone())));
            (table.id, codec)
        };
        let mut codecs: HashMap<TableId, Arc<TableCodec>> = catalog.tables().map(prepare).collect();
        for table in catalog.tables() {
            let id = table.id.history();
            let known = before.and_then(|before| {
                let same = before.codecs.get(&table.id)?;
                Arc::ptr_eq(&same.table, table).then(|| before.codecs.get(&id).cloned())?
            });
            let make = || Some(Arc::new(TableCodec::new(Arc::new(table.history()?))));
            codecs.extend(known.or_else(make).map(|history| (id, history)));
        }
        let timed = catalog.tables().any(|table| table.options.timed);
        let packed = |codec: &Arc<TableCodec>| {
            let blocks = codec.blocks.clone()?;
            Some((blocks.storage.clone(), blocks))
        };
        let packed: Packed = codecs.values().filter_map(packed).collect();
        Definitions {
            lifetimes: Arc::new(lifetime::rules(&catalog)),
            timed,
            packed: Arc::new(packed),
            catalog: Arc::new(catalog),
            codecs,
            lost: before.map_or_else(Arc::default, |before| before.lost.clone()),
        }
    }

    /// Returns the same with tables of which storage lacks something.
    pub(crate) fn without(mut self, lost: Lost) -> Self {
        self.lost = Arc::new(lost);
        self
    }

    /// Returns what storage lacks of a table.
    pub(crate) fn lost(&self, id: TableId) -> Option<&str> {
        self.lost.get(&id.history_of().unwrap_or(id)).map(String::as_str)
    }

    /// Whether rows of any table are stored in blocks, which are read together with what is beside them.
    pub(crate) fn has_packed(&self) -> bool {
        !self.packed.is_empty()
    }

    /// Returns the history of a table, if it has one.
    pub(crate) fn history(&self, id: TableId) -> Option<&Arc<TableCodec>> {
        self.codecs.get(&id.history())
    }

    /// Returns a table prepared for reading and writing; of one that storage lacks something of, what that is.
    pub(crate) fn codec(&self, id: TableId) -> Result<&Arc<TableCodec>, EngineError> {
        let codec = self.codecs.get(&id);
        if let (Some(codec), Some(storage)) = (codec, self.lost(id)) {
            return Err(EngineError::TableLost {
                table: codec.table.name.clone(),
                storage: storage.to_string(),
            });
        }
        codec.ok_or_else(|| {
            CatalogError::UnknownTable {
                name: format!("table {}", id.0),
            }
            .into()
        })
    }
}

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
    states: States,
    store: Arc<dyn KvStore>,
    halted: Arc<AtomicBool>,
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

    /// Returns the time that the statement goes by, in microseconds since 1970-01-01 00:00 UTC.
    pub fn now(&self) -> i64 {
        self.time.unwrap_or_else(|| self.clock.now())
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

    /// Starts a scan of a table, through its own key order or that of an index.
    ///
    /// Fails on a column or index that the table does not have, and on an index that is not ready.
    pub fn scan(&self, mut request: ScanRequest) -> Result<RowCursor, EngineError> {
        let codec = self.codec(request.table.id)?;
        if let (Source::Index(_), Some(index)) =
            (request.source, scan::columnar_index(codec, request.source)?)
        {
            request.tests.extend(self.life_test(index));
        }
        RowCursor::new(codec.clone(), self, request)
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

    /// Counts the rows whose keys lie in `ranges` and pass `masked`, without touching a value.
    ///
    /// In a partial index these are the rows that have an entry.
    pub fn count(
        &self,
        table: &Table,
        source: Source,
        ranges: Vec<KeyRange>,
        masked: MaskedCompare,
    ) -> Result<(u64, ScanCounters), EngineError> {
        let codec = self.codec(table.id)?;
        if masked.is_empty() && scan::columnar_index(codec, source)?.is_some() {
            return self.count_columnar(codec, source, ranges);
        }
        let storage = scan::storage_name(codec, source)?;
        let spec = ScanSpec::ranges(ranges).masked(masked).keys_only();
        let (rows, stats) = self.kv.count(storage, spec)?;
        Ok((rows, ScanCounters { rows, ..stats.into() }))
    }

    /// Counts the entries of a columnar index in `ranges`.
    fn count_columnar(
        &self,
        codec: &Arc<TableCodec>,
        source: Source,
        ranges: Vec<KeyRange>,
    ) -> Result<(u64, ScanCounters), EngineError> {
        let request = ScanRequest {
            source,
            ranges,
            ..ScanRequest::all(codec.table.clone(), Vec::new())
        };
        let mut cursor = self.scan_columnar(request)?;
        while cursor.next_batch(usize::MAX)?.is_some() {}
        let counters = cursor.counters();
        Ok((counters.rows, counters))
    }

    /// Starts a scan of a columnar index that gives out its columns as vectors; all columns asked for
    /// must be in the index.
    ///
    /// Fails as [`Snapshot::scan`] does, and on an index that is not columnar. `masked`, `limit` and `entry_filter` of the request are not looked at.
    pub fn scan_columnar(&self, mut request: ScanRequest) -> Result<ColumnarCursor, EngineError> {
        let codec = self.codec(request.table.id)?;
        if let Some(index) = scan::columnar_index(codec, request.source)? {
            request.tests.extend(self.life_test(index));
        }
        ColumnarCursor::new(codec.clone(), self, request)
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
        self.get_encoded(codec, &codec.key.encode(key)?)
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

    /// Cuts ranges into at most `parts` lists that hold roughly equal amounts of data, in order.
    ///
    /// Returns one list where the data is small or its distribution not known.
    pub fn split(
        &self,
        table: &Table,
        source: Source,
        ranges: Vec<KeyRange>,
        parts: usize,
    ) -> Result<Vec<Vec<KeyRange>>, EngineError> {
        let codec = self.codec(table.id)?;
        if let Some(index) = scan::columnar_index(codec, source)? {
            let ranges = KeyRange::merge(ranges);
            let most = parts.saturating_mul(crate::split::POINTS_PER_PART);
            let points = columnar::first_keys(
                self.raw.as_ref(),
                index,
                (&self.kept, self.states.blocks),
                &ranges,
                most,
            )?;
            return Ok(crate::split::split_at(ranges, &points, parts));
        }
        let storage = scan::storage_name(codec, source)?;
        crate::split::split(self.store.as_ref(), storage, ranges, parts)
    }
}
