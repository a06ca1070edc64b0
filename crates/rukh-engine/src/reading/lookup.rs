//! Lookups: what entries lack, fetched for many of them at once, their order kept.

use crate::EngineError;
use crate::forms::codec::DecodeError;
use crate::reading::scan::{Plan, RowView};
use rukh_kv::KvSnapshot;

/// Rows of the first batch, small for the sake of LIMIT.
const ROWS_FIRST: usize = 16;

/// Rows of the first batch where at least so many are wanted; their size is not known yet.
const ROWS_FIRST_LIMITED: usize = 128;

/// Rows of a batch at most.
const ROWS_MAX: usize = 1024;

/// Bytes of values that a batch aims at, at most.
const BYTES_AIM: usize = 8 << 20;

/// Returns the stored values of keys, in their order.
pub(crate) fn fetch_values(
    kv: &dyn KvSnapshot,
    storage: &str,
    keys: &[Vec<u8>],
) -> Result<Vec<Option<Vec<u8>>>, EngineError> {
    Ok(match keys {
        [] => Vec::new(),
        [key] => vec![kv.get(storage, key)?],
        keys => kv.multi_get(storage, keys)?,
    })
}

/// Rows being fetched; their memory is used again for the next batch.
#[derive(Default)]
pub(crate) struct Batch {
    /// Row keys; only the first `len` are of this batch.
    keys: Vec<Vec<u8>>,
    len: usize,
    /// Keys of the index entries that led here, end to end, and where each ends.
    entry_keys: Vec<u8>,
    entry_ends: Vec<usize>,
    /// For each family fetched, the value of each row.
    values: Vec<Vec<Option<Vec<u8>>>>,
    /// The next row to be shown.
    next: usize,
    /// Rows to collect next time.
    size: usize,
    /// Bytes fetched.
    bytes: usize,
}

impl Batch {
    pub(crate) fn new(families: usize) -> Self {
        Batch {
            values: vec![Vec::new(); families],
            size: ROWS_FIRST,
            ..Batch::default()
        }
    }

    /// Returns the number of rows collected.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the bytes fetched for this batch.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Whether all rows were shown.
    pub(crate) fn is_done(&self) -> bool {
        self.next >= self.len
    }

    /// Begins a new batch of at most `most` rows; returns how many to collect. `limited` says that so many are
    /// sure to be wanted, if they are there: the first batch need not feel its way.
    pub(crate) fn start(&mut self, most: usize, limited: bool) -> usize {
        if limited && self.len == 0 {
            self.size = most.clamp(1, ROWS_FIRST_LIMITED);
        }
        if let Some(row_bytes) = self.bytes.checked_div(self.len) {
            let affordable = BYTES_AIM / row_bytes.max(1);
            self.size = (2 * self.size).min(affordable).clamp(1, ROWS_MAX);
        }
        (self.len, self.next, self.bytes) = (0, 0, 0);
        self.entry_keys.clear();
        self.entry_ends.clear();
        self.values.iter_mut().for_each(Vec::clear);
        self.size.min(most)
    }

    /// Adds a row by its key.
    pub(crate) fn push_key(&mut self, key: &[u8]) {
        self.slot().extend_from_slice(key);
        self.len += 1;
    }

    /// Adds a row whose value of family 0 is known.
    pub(crate) fn push_row(&mut self, key: &[u8], value: &[u8]) {
        self.push_key(key);
        self.values[0].push(Some(value.to_vec()));
    }

    /// Adds the row of an index entry, whose key `row_key` appends.
    pub(crate) fn push_entry(
        &mut self,
        entry_key: &[u8],
        row_key: impl FnOnce(&mut Vec<u8>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        row_key(self.slot())?;
        self.len += 1;
        self.entry_keys.extend_from_slice(entry_key);
        self.entry_ends.push(self.entry_keys.len());
        Ok(())
    }

    /// Returns the empty key of the next row.
    fn slot(&mut self) -> &mut Vec<u8> {
        if self.len == self.keys.len() {
            self.keys.push(Vec::new());
        }
        let slot = &mut self.keys[self.len];
        slot.clear();
        slot
    }

    /// Fetches the values of all families from the `first`-th on.
    pub(crate) fn fetch(
        &mut self,
        plan: &Plan,
        kv: &dyn KvSnapshot,
        first: usize,
    ) -> Result<(), EngineError> {
        let keys = &self.keys[..self.len];
        for (nth, values) in self.values.iter_mut().enumerate().skip(first) {
            let storage = &plan.codec.families[plan.fetched[nth]].storage;
            *values = fetch_values(kv, storage, keys)?;
            self.bytes += values.iter().flatten().map(Vec::len).sum::<usize>();
        }
        Ok(())
    }

    /// Fails if the row of an entry is not there: the entry is dangling.
    pub(crate) fn check_present(&self, plan: &Plan) -> Result<(), EngineError> {
        let Some(absent) = self.values[0].iter().position(Option::is_none) else {
            return Ok(());
        };
        let index = plan.index.as_ref().expect("entries come from an index");
        let row = plan.codec.display_key(&self.keys[absent]);
        Err(index.corruption(
            self.entry_key(absent),
            format!("the entry is dangling: there is no row {row}"),
        ))
    }

    fn entry_key(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.entry_ends[at - 1] };
        &self.entry_keys[start..self.entry_ends[at]]
    }

    /// Forgets the rows that are not there; returns how many are.
    pub(crate) fn drop_absent(&mut self) -> u64 {
        let mut kept = 0;
        for at in 0..self.len {
            if self.values[0][at].is_some() {
                self.keys.swap(kept, at);
                self.values.iter_mut().for_each(|values| values.swap(kept, at));
                kept += 1;
            }
        }
        self.len = kept;
        kept as u64
    }

    /// Shows up to `max` rows to `sink`; returns how many.
    pub(crate) fn show(
        &mut self,
        plan: &Plan,
        max: usize,
        sink: &mut dyn FnMut(&RowView<'_>) -> Result<(), EngineError>,
    ) -> Result<usize, EngineError> {
        let first = self.next;
        while self.next < self.len && self.next - first < max {
            let at = self.next;
            self.next += 1;
            let values = self.values.iter().map(|values| values[at].as_deref());
            sink(&plan.row(&self.keys[at], values)?)?;
        }
        Ok(self.next - first)
    }
}
