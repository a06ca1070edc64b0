//! Scans of a columnar index: blocks and the changes beside them, as one sequence of entries in key
//! order.
//!
//! Both are read from one snapshot, and a change wins over what a block has under its key. Of a range,
//! heads are read a group at a time. A block whose head refutes a test is *pruned*: no column of it is read. So is one whose
//! filter of a column lacks all values that a test lets pass.
//! Of the others, the columns tested are read, one test after the other, for as long as some row is
//! left; then the columns given out, where a row is left at all. Groups begin small and grow, so that
//! a LIMIT reads little ahead.
//!
//! Changes are merged where they belong (`merge`): their keys are searched in the key columns of their block,
//! which are read only where a block has rows left and changes.
//!
//! In reverse the same is done from the end: ranges, blocks, the rows of each, and changes.
//!
//! Deliberately not here: the rows of the table.

use crate::EngineError;
use crate::columnar::caches::chunks::ChunksOf;
use crate::columnar::caches::heads::{HeadList, read_head};
use crate::columnar::caches::kept::KeptBlocks;
use crate::columnar::scans::beside::{Beside, Until};
use crate::columnar::scans::first::{Best, FirstRows, Firsts};
use crate::columnar::scans::open::{Block, KeyColumns, block_at};
use crate::columnar::scans::streams::{Streams, WantedPieces};
use crate::columnar::scans::totals::{BlockTotals, TotalWanted, Totals};
use crate::columnar::stored::block::Piece;
use crate::columnar::stored::error::corruption;
use crate::columnar::stored::filter::Filter;
use crate::columnar::stored::head::BlockHead;
use crate::columnar::values::batch::ColumnBatch;
use crate::columnar::values::mask::{ones, selected};
use crate::columnar::values::sketch::Sketch;
use crate::columnar::values::test::{ColumnTest, Test};
use crate::columnar::values::vector::ColumnVector;
use crate::forms::entry::IndexCodec;
use crate::storage::watch::States;
use rukh_keys::ScanCounters;
use rukh_keys::{DataType, KeyRange};
use rukh_kv::{KvCursor, KvSnapshot, ScanSpec};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

/// Blocks looked at together, at most.
const GROUP_MAX: usize = 16;

/// A test is taken to refuse so many of the rows at least: one in a hundred.
const REFUSED_MIN: f64 = 0.01;

/// What to read of a columnar index.
pub(crate) struct BlockScanSpec {
    /// Ranges of keys of entries, ascending and disjoint.
    pub(crate) ranges: Vec<KeyRange>,
    /// Tests by slot; an entry passes all of them.
    pub(crate) tests: Vec<(usize, ColumnTest)>,
    /// Slots given out.
    pub(crate) columns: Vec<usize>,
    /// Whether entries come in descending order.
    pub(crate) reverse: bool,
    /// The only rows wanted, by slot: others may be left out; all rows if there is none. A row is wanted that one of them wants.
    pub(crate) first: Vec<(usize, FirstRows)>,
    /// Whether a scan for these may begin at the other end.
    pub(crate) either_end: bool,
    pub(crate) cancel: Option<Arc<AtomicBool>>,
}

/// A scan of a columnar index under way.
pub(crate) struct BlockScan {
    pub(crate) kv: Arc<dyn KvSnapshot>,
    pub(crate) index: Arc<IndexCodec>,
    pub(crate) tests: Vec<(usize, Test)>,
    pub(crate) columns: Vec<usize>,
    /// By slot whether it is tested or given out.
    pub(crate) wanted: Vec<bool>,
    pub(crate) reverse: bool,
    pub(crate) firsts: Vec<Firsts>,
    /// Whether it is still to be decided at which end to begin.
    pub(crate) either_end: bool,
    pub(crate) ranges: std::vec::IntoIter<KeyRange>,
    range: Option<RangeScan>,
    group: VecDeque<Block>,
    group_size: usize,
    cancel: Option<Arc<AtomicBool>>,
    pub(crate) batch: ColumnBatch,
    /// The totals that are read from heads in place of rows.
    totals: Option<Totals>,
    /// Whether changes are read.
    pub(crate) changes: bool,
    /// What is kept of blocks, if the scan takes it, and the state of these that it reads.
    pub(crate) kept: Option<(Arc<KeptBlocks>, Option<u64>)>,
    /// Which kept changes are meant, if that is known.
    pub(crate) changes_of: Option<ChunksOf>,
    /// How columns are read from storage, and how many blocks there were so far.
    pub(crate) streams: Streams,
    blocks: usize,
    /// The order in which tests are evaluated, and what was seen of each.
    order: Vec<usize>,
    seen: Vec<Seen>,
    pub(crate) counters: ScanCounters,
}

/// One range being read.
struct RangeScan {
    range: KeyRange,
    heads: Heads,
    changes: Beside,
}

/// Where heads come from.
enum Heads {
    /// From storage; with those read before, if a list is to be made of all.
    Stored(Box<dyn KvCursor>, Option<Collected>),
    /// Those of a list that are left.
    Kept(Arc<HeadList>, Range<usize>),
}

/// Heads that were read on the way to a list of all.
struct Collected {
    state: u64,
    heads: Vec<Arc<BlockHead>>,
    /// The list of another state.
    before: Option<Arc<HeadList>>,
}

/// What was seen of a test so far.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Rows of the blocks that were tested, those that were left before, and those that were left after.
    rows: usize,
    before: usize,
    after: usize,
    /// Bytes read for it.
    bytes: usize,
}

impl BlockScan {
    pub(crate) fn new(
        kv: Arc<dyn KvSnapshot>,
        index: Arc<IndexCodec>,
        spec: BlockScanSpec,
    ) -> Result<Self, EngineError> {
        let blocks = index.blocks().expect("the index is columnar");
        let ready = |(slot, test): &(usize, ColumnTest)| Ok((*slot, Test::new(blocks.types[*slot], test)?));
        let tests = spec
            .tests
            .iter()
            .map(ready)
            .collect::<Result<Vec<_>, EngineError>>()?;
        let tests = cheapest_first(tests, &blocks.types);
        let columns = spec
            .columns
            .iter()
            .map(|slot| ColumnVector::new(blocks.types[*slot]));
        let mut ranges = KeyRange::merge(spec.ranges);
        if spec.reverse {
            ranges.reverse();
        }
        let firsts = spec.first.iter().filter_map(|(slot, wanted)| {
            let nth = spec.columns.iter().position(|column| column == slot)?;
            Some(Firsts::new(*wanted, *slot, nth))
        });
        let firsts: Vec<Firsts> = firsts.collect();
        let mut wanted = vec![false; blocks.types.len()];
        let tested = spec.tests.iter().map(|(slot, _)| slot);
        tested.chain(&spec.columns).for_each(|slot| wanted[*slot] = true);
        let (order, seen) = ((0..tests.len()).collect(), vec![Seen::default(); tests.len()]);
        Ok(BlockScan {
            batch: ColumnBatch {
                columns: columns.collect(),
                rows: 0,
            },
            kv,
            tests,
            // A scan for first rows by a column that it does not give out returns all rows.
            firsts: if firsts.len() == spec.first.len() {
                firsts
            } else {
                Vec::new()
            },
            columns: spec.columns,
            wanted,
            either_end: spec.either_end,
            reverse: spec.reverse,
            ranges: ranges.into_iter(),
            range: None,
            group: VecDeque::new(),
            group_size: 1,
            cancel: spec.cancel,
            totals: None,
            changes: true,
            kept: None,
            changes_of: None,
            streams: Streams::new(spec.reverse),
            blocks: 0,
            order,
            seen,
            counters: ScanCounters::default(),
            index,
        })
    }

    /// Takes what is kept of blocks and changes, and has kept what it reads.
    pub(crate) fn keeping(mut self, (kept, states): (&Arc<KeptBlocks>, States)) -> Self {
        self.changes_of = kept.changes_of(&self.index, states);
        self.kept = Some((kept.clone(), states.blocks));
        self
    }

    /// Answers by totals of heads in place of their rows, where their heads know them; before anything was read.
    pub(crate) fn total(&mut self, wanted: Vec<TotalWanted>) {
        self.totals = Some(Totals::new(wanted, &self.columns));
    }

    /// Has byte strings of some of the columns given out come by number; before anything was read.
    pub(crate) fn code(&mut self, columns: &[usize]) {
        for column in columns {
            let column = &mut self.batch.columns[*column];
            *column = ColumnVector::coded(*column.data_type());
        }
    }

    /// Returns the totals of the blocks so far; `None` if the scan has none.
    pub(crate) fn totals(&self) -> Result<Option<BlockTotals>, EngineError> {
        let totals = self.totals.as_ref();
        totals.map(|totals| totals.finish(&self.index)).transpose()
    }

    /// Reads all columns of the blocks that begin in a range, without any changes.
    pub(crate) fn blocks_alone(
        kv: Arc<dyn KvSnapshot>,
        index: Arc<IndexCodec>,
        range: KeyRange,
    ) -> Result<Self, EngineError> {
        let columns = (0..index.blocks().expect("the index is columnar").types.len()).collect();
        let mut scan = BlockScan::new(
            kv,
            index,
            BlockScanSpec {
                ranges: vec![range],
                tests: Vec::new(),
                columns,
                reverse: false,
                first: Vec::new(),
                either_end: false,
                cancel: None,
            },
        )?;
        scan.changes = false;
        Ok(scan)
    }

    /// Reads the next entries, about `rows` of them; `None` at the end.
    pub(crate) fn next_batch(&mut self, rows: usize) -> Result<Option<&ColumnBatch>, EngineError> {
        self.batch.clear();
        while !self.batch.is_full(rows) {
            match self.group.pop_front() {
                Some(block) => self.show_block(block)?,
                None if self.fill()? => {}
                None => break,
            }
        }
        self.counters.rows += self.batch.rows as u64;
        Ok((self.batch.rows > 0).then_some(&self.batch))
    }

    /// As [`BlockScan::next_batch`], but gives the batch away.
    pub(crate) fn take_batch(&mut self, rows: usize) -> Result<Option<ColumnBatch>, EngineError> {
        if self.next_batch(rows)?.is_none() {
            return Ok(None);
        }
        let empty = self.batch.columns.iter().map(ColumnVector::empty);
        let empty = ColumnBatch {
            columns: empty.collect(),
            rows: 0,
        };
        Ok(Some(std::mem::replace(&mut self.batch, empty)))
    }

    /// Returns the batch that was read last.
    pub(crate) fn batch(&self) -> &ColumnBatch {
        &self.batch
    }

    pub(crate) fn counters(&self) -> ScanCounters {
        self.counters
    }

    /// Reads the next group of heads and tests their blocks, or shows what changes follow the last
    /// block of a range; `false` at the end.
    fn fill(&mut self) -> Result<bool, EngineError> {
        if self
            .cancel
            .as_ref()
            .is_some_and(|cancel| cancel.load(Memory::Relaxed))
        {
            return Err(EngineError::Cancelled);
        }
        if std::mem::take(&mut self.either_end) {
            self.choose_end();
        }
        if self.range.is_none() {
            let Some(range) = self.ranges.next() else {
                return Ok(false);
            };
            self.range = Some(self.open(range)?);
        }
        let mut range = self.range.take().expect("a range is open");
        self.read_heads(&mut range)?;
        if self.group.is_empty() {
            let (taken, more) = range.changes.take(&self.change_source(), None)?;
            let shown = self.batch.rows;
            taken.map_or(Ok(()), |taken| self.show_changes(&taken))?;
            self.see(shown);
            self.range = more.then_some(range);
            return Ok(true);
        }
        self.range = Some(range);
        self.group_size = (self.group_size * 2).min(GROUP_MAX);
        self.test_group()?;
        Ok(true)
    }

    fn open(&mut self, range: KeyRange) -> Result<RangeScan, EngineError> {
        let blocks = self.index.blocks().expect("the index is columnar");
        self.counters.ranges += 1;
        self.counters.seeks += 2;
        let directed = |ranges| ScanSpec {
            reverse: self.reverse,
            ..ScanSpec::ranges(ranges)
        };
        let kept = self.kept.as_ref();
        let heads = match self.head_list() {
            Some(list) => {
                let places = list.within(&range);
                self.prime(&list, places.clone(), &range)?;
                Heads::Kept(list, places)
            }
            None => {
                let start = block_at(self.kv.as_ref(), &blocks.storage, &range.start)?;
                let stored = Piece::Head.range(&KeyRange {
                    start: start.unwrap_or_else(|| range.start.clone()),
                    limit: range.limit.clone(),
                });
                let collected = kept
                    .filter(|_| range == KeyRange::all())
                    .and_then(|(kept, state)| {
                        Some(Collected {
                            state: (*state)?,
                            heads: Vec::new(),
                            before: kept.heads_before(&blocks.storage),
                        })
                    });
                Heads::Stored(self.kv.scan(&blocks.storage, directed(vec![stored]))?, collected)
            }
        };
        let changes = self.changes.then(|| range.clone());
        Ok(RangeScan {
            heads,
            changes: Beside::new(changes, self.reverse),
            range,
        })
    }

    /// Returns the heads of all blocks, if they are kept.
    pub(crate) fn head_list(&self) -> Option<Arc<HeadList>> {
        let storage = &self.index.blocks().expect("the index is columnar").storage;
        let (kept, state) = self.kept.as_ref()?;
        kept.heads(storage, (*state)?)
    }

    /// Returns the next head of a range.
    fn next_head(&mut self, range: &mut RangeScan) -> Result<Option<Arc<BlockHead>>, EngineError> {
        match &mut range.heads {
            Heads::Kept(list, places) => {
                let place = match self.reverse {
                    false => places.next(),
                    true => places.next_back(),
                };
                Ok(place.map(|place| list.at(place).clone()))
            }
            Heads::Stored(cursor, collected) => {
                let Some(entry) = cursor.next()? else {
                    self.keep_heads(collected.take());
                    return Ok(None);
                };
                self.counters.bytes_read += (entry.key.len() + entry.value.len()) as u64;
                let before = collected
                    .as_ref()
                    .and_then(|collected| collected.before.as_deref());
                let head = read_head(&self.index, before, (entry.key, entry.value))?;
                if let Some(collected) = collected {
                    collected.heads.push(head.clone());
                }
                Ok(Some(head))
            }
        }
    }

    /// Keeps all heads, which were read from the first to the last or the other way round.
    fn keep_heads(&self, collected: Option<Collected>) {
        if let (Some(mut collected), Some((kept, _))) = (collected, &self.kept) {
            if self.reverse {
                collected.heads.reverse();
            }
            let storage = &self.index.blocks().expect("the index is columnar").storage;
            kept.keep_heads(
                storage,
                &Arc::new(HeadList::new(collected.state, collected.heads)),
            );
        }
    }

    fn read_heads(&mut self, range: &mut RangeScan) -> Result<(), EngineError> {
        while self.group.len() < self.group_size {
            let Some(head) = self.next_head(range)? else {
                break;
            };
            if head.last_key() < range.range.start.as_slice() {
                continue;
            }
            let blocks = self.index.blocks().expect("the index is columnar");
            let (mut alive, mut open, mut filtered) = (true, Vec::new(), Vec::new());
            for (nth, (slot, test)) in self.tests.iter().enumerate() {
                match head.column(blocks.numbers[*slot]) {
                    Some(known) => {
                        alive &= known.meets(test);
                        open.extend((!known.holds(test)).then_some(nth));
                        let by_value = test.hashes().is_some() && !(known.has_nulls() && test.takes_null());
                        filtered.extend((by_value && head.has_filter(blocks.numbers[*slot])).then_some(nth));
                    }
                    None => alive &= test.takes(blocks.types[*slot], &blocks.missing[*slot].as_ref()),
                }
            }
            let best = |firsts: &Firsts| match head.column(blocks.numbers[firsts.slot]) {
                Some(known) => firsts.best(&known),
                None => Best::Unknown,
            };
            let kept = self.kept.as_ref().filter(|_| alive);
            let kept = kept.and_then(|(kept, state)| {
                let block = kept.block_of_scan(&blocks.storage, &head, *state)?;
                Some((kept.clone(), block))
            });
            let mut block = Block::of_scan(&head, kept);
            block.nth = self.blocks;
            self.blocks += 1;
            block.bests = self.firsts.iter().map(best).collect();
            alive &= self.wants(&block);
            block.alive = alive;
            block.mask = (alive && !open.is_empty()).then(|| vec![1; head.rows]);
            block.open = open;
            block.filtered = filtered;
            if let Some(totals) = self.totals.as_ref().filter(|_| alive && block.mask.is_none()) {
                let summary = totals.summary(&self.index, &head);
                block.summary = summary.map_err(|e| corruption(&self.index, head.first_key(), None, e))?;
            }
            if !alive {
                self.count(&mut block);
            }
            self.group.push_back(block);
        }
        Ok(())
    }

    /// Evaluates the tests on the blocks of the group, column by column.
    fn test_group(&mut self) -> Result<(), EngineError> {
        self.filter_group()?;
        let mut group = std::mem::take(&mut self.group);
        let range = self.range.take().expect("the group is one of a range");
        for block in &mut group {
            // Others may turn out to have nothing that is wanted before a column of theirs is read.
            if block.alive && block.summary.is_none() && (self.firsts.is_empty() || !block.open.is_empty()) {
                self.place(block, &range.range)?;
                self.count(block);
            }
        }
        self.range = Some(range);
        self.group = group;
        for nth in 0..self.order.len() {
            self.test_blocks(self.order[nth])?;
        }
        let missed = self.group.iter().map(|block| block.in_range().len() - block.left);
        self.counters.masked_misses += missed.sum::<usize>() as u64;
        self.order_tests();
        Ok(())
    }

    /// Evaluates a test on the blocks of the group whose heads leave it open.
    fn test_blocks(&mut self, nth: usize) -> Result<(), EngineError> {
        let (slot, test) = &self.tests[nth];
        let seen = &mut self.seen[nth];
        let tested = |block: &&mut Block| block.alive && block.open.contains(&nth);
        // Blocks with the rows that are known to pass, where the others are to be looked at.
        let mut group: Vec<(&mut Block, Option<Vec<u8>>)> = Vec::new();
        for block in self.group.iter_mut().filter(tested) {
            (seen.rows, seen.before) = (seen.rows + block.rows, seen.before + block.left);
            let sketch = block.sketch(&self.index, *slot).filter(|_| Sketch::knows(test));
            let sure = sketch.zip(block.mask.as_mut()).map(|(sketch, mask)| {
                let unsure = sketch.test(test, mask);
                seen.bytes += sketch.bytes();
                std::mem::replace(mask, unsure)
            });
            let is_unsure = block.mask.as_ref().is_none_or(|unsure| unsure.contains(&1));
            match sure {
                Some(sure) if !is_unsure => seen.after += block.leave(sure),
                sure => group.push((block, sure)),
            }
        }
        let (mut keys, mut places, mut pieces) = (Vec::new(), Vec::new(), 0);
        for (nth, (block, _)) in group.iter_mut().enumerate() {
            pieces += block.pieces(&self.index, *slot);
            for (piece, key) in block.missing_of_left(&self.index, *slot)? {
                keys.push(key);
                places.push((nth, piece));
            }
        }
        let is_kept = keys.is_empty();
        if let (false, Some((first, _)), Some((last, _))) = (is_kept, group.first(), group.last()) {
            let blocks = first.nth..last.nth + 1;
            let wanted = WantedPieces {
                slot: *slot,
                keys: &keys,
                // Blocks between have as many.
                pieces: pieces * blocks.len() / group.len(),
                blocks,
            };
            let values = self.streams.read(self.kv.as_ref(), &self.index, &wanted)?;
            for (((nth, piece), key), value) in places.into_iter().zip(&keys).zip(values) {
                let taken = group[nth].0.take_piece(&self.index, *slot, piece, key, value)?;
                self.counters.bytes_read += taken;
            }
        }
        for (block, sure) in group {
            let mut mask = block.mask.take().unwrap_or_default();
            let tested = block.column(&self.index, *slot)?.test(test, &mut mask);
            tested.map_err(|e| corruption(&self.index, &block.first_key, Some(*slot), e))?;
            match sure {
                Some(sure) => mask.iter_mut().zip(sure).for_each(|(mask, sure)| *mask |= sure),
                None => {
                    seen.bytes += block.read_bytes(*slot);
                    if is_kept && Sketch::knows(test) {
                        block.make_sketch(&self.index, *slot);
                    }
                }
            }
            seen.after += block.leave(mask);
        }
        Ok(())
    }

    /// Has those tests come first that read the fewest bytes for each row that they refuse.
    fn order_tests(&mut self) {
        if self.order.len() < 2 || self.seen.iter().any(|seen| seen.rows == 0) {
            return;
        }
        let cost = |seen: &Seen| {
            let refused = (seen.before - seen.after) as f64 / seen.before.max(1) as f64;
            seen.bytes as f64 / seen.rows as f64 / refused.max(REFUSED_MIN)
        };
        let costs: Vec<f64> = self.seen.iter().map(cost).collect();
        self.order
            .sort_by(|one, other| costs[*one].total_cmp(&costs[*other]));
    }

    /// Looks for the values that tests let pass in the filters of the blocks of the group.
    fn filter_group(&mut self) -> Result<(), EngineError> {
        let blocks = self.index.blocks().expect("the index is columnar");
        for (nth, (slot, test)) in self.tests.iter().enumerate() {
            let Some(hashes) = test.hashes() else {
                continue;
            };
            let has_filter = |block: &&mut Block| block.alive && block.filtered.contains(&nth);
            let group: Vec<&mut Block> = self.group.iter_mut().filter(has_filter).collect();
            if group.is_empty() {
                continue;
            }
            let may_have = |block: &mut Block, filter: &[u8]| {
                let filter = Filter::parse_again(filter);
                let filter = filter.map_err(|e| corruption(&self.index, &block.first_key, Some(*slot), e))?;
                block.alive = hashes.iter().any(|hash| filter.may_have(*hash));
                Ok::<_, EngineError>(())
            };
            let (mut keys, mut unread) = (Vec::new(), Vec::new());
            for block in group {
                match block.kept_filter(&self.index, *slot) {
                    Some(filter) => may_have(block, &filter)?,
                    None => {
                        keys.push(Piece::Filter(blocks.numbers[*slot]).key(&block.first_key));
                        unread.push(block);
                    }
                }
            }
            if keys.is_empty() {
                continue;
            }
            let values = self.kv.multi_get(&blocks.storage, &keys)?;
            for ((block, key), value) in unread.into_iter().zip(&keys).zip(values) {
                self.counters.bytes_read += value.as_ref().map_or(0, |value| value.len() as u64);
                let filter = block.take_filter(&self.index, *slot, key, value)?;
                may_have(block, &filter)?;
            }
        }
        let mut group = std::mem::take(&mut self.group);
        for block in group.iter_mut().filter(|block| !block.alive) {
            self.count(block);
        }
        self.group = group;
        Ok(())
    }

    /// Shows what is left of a block, merged with changes; or a part, if there are many of these.
    fn show_block(&mut self, mut block: Block) -> Result<(), EngineError> {
        let mut range = self.range.take().expect("a block is one of a range");
        block.alive &= block.begun || self.wants(&block);
        block.begun = true;
        let shown = self.batch.rows;
        if block.alive && self.tell(&mut block, &mut range)? {
            self.range = Some(range);
            self.see(shown);
            return Ok(());
        }
        if block.alive {
            self.place(&mut block, &range.range)?;
        }
        self.count(&mut block);
        let until = match self.reverse {
            false => &block.last_key,
            true => &block.first_key,
        };
        let (taken, more) = range
            .changes
            .take(&self.change_source(), Some(Until::At(until)))?;
        self.range = Some(range);
        match taken {
            Some(taken) if block.alive => self.merge(&mut block, &taken, more)?,
            Some(taken) => self.show_changes(&taken)?,
            None if block.alive => self.show_rows(&mut block)?,
            None => {}
        }
        if more {
            self.group.push_front(block);
        }
        self.see(shown);
        Ok(())
    }

    /// Takes the totals of a block in place of its rows, behind the changes before it; returns whether it does.
    fn tell(&mut self, block: &mut Block, range: &mut RangeScan) -> Result<bool, EngineError> {
        let is_within = block.first_key >= range.range.start
            && range
                .range
                .limit
                .as_ref()
                .is_none_or(|limit| block.last_key < *limit);
        let Some(summary) = block.summary.take().filter(|_| is_within) else {
            return Ok(false);
        };
        let (first, last) = (block.first_key.as_slice(), block.last_key.as_slice());
        let (before, behind) = match self.reverse {
            false => (first, last),
            true => (last, first),
        };
        let (taken, more) = range
            .changes
            .take(&self.change_source(), Some(Until::Before(before)))?;
        taken.map_or(Ok(()), |taken| self.show_changes(&taken))?;
        if more
            || range
                .changes
                .has(&self.change_source(), Some(Until::At(behind)))?
        {
            return Ok(false);
        }
        let Some(totals) = &mut self.totals else {
            return Ok(false);
        };
        for firsts in &mut self.firsts {
            for column in totals.of_column(&summary, firsts.nth) {
                let ends = [&column.least, &column.greatest];
                ends.into_iter()
                    .flatten()
                    .for_each(|value| firsts.see_value(value));
            }
        }
        totals.add(summary);
        self.counters.blocks_told += 1;
        block.counted = true;
        Ok(true)
    }

    /// Counts a block as read, or as pruned if nothing is left of it.
    fn count(&mut self, block: &mut Block) {
        match (block.counted, block.alive) {
            (true, _) => {}
            (false, false) => self.counters.blocks_pruned += 1,
            (false, true) => {
                self.counters.blocks_read += 1;
                self.counters.keys_examined += block.in_range().len() as u64;
            }
        }
        block.counted = true;
    }

    /// Whether a block may have a row that is wanted.
    fn wants(&self, block: &Block) -> bool {
        let mut pairs = self.firsts.iter().zip(&block.bests);
        self.firsts.is_empty() || pairs.any(|(firsts, best)| firsts.wants(best))
    }

    /// Takes note of the rows of the batch from `start` on.
    fn see(&mut self, start: usize) {
        for firsts in &mut self.firsts {
            firsts.see(&self.batch.columns[firsts.nth], start..self.batch.rows);
        }
    }

    /// Finds the rows of a block that lie in the range, and leaves no others.
    fn place(&mut self, block: &mut Block, range: &KeyRange) -> Result<(), EngineError> {
        let known = std::mem::replace(&mut block.placed, true);
        let behind = range.limit.as_ref().is_some_and(|limit| block.last_key >= *limit);
        if known || block.first_key >= range.start && !behind {
            return Ok(());
        }
        let next = match block.first_key < range.start {
            true => self.first_from(block, &range.start)?,
            false => 0,
        };
        let end = match range.limit.as_ref().filter(|_| behind) {
            Some(limit) => self.first_from(block, limit)?,
            None => block.rows,
        };
        (block.next, block.end) = (next, end.max(next));
        block.left = block.in_range().len();
        if let Some(mask) = &mut block.mask {
            mask[..block.next].fill(0);
            mask[block.end..].fill(0);
        }
        Ok(())
    }

    /// Returns the first row of a block whose key is `key` or behind it.
    fn first_from(&mut self, block: &mut Block, key: &[u8]) -> Result<usize, EngineError> {
        let rows = block.rows_at(key);
        self.read_key_columns(block, rows.clone())?;
        KeyColumns::new(&self.index, block)?.first_from(rows, key)
    }

    pub(crate) fn read_key_columns(
        &mut self,
        block: &mut Block,
        rows: Range<usize>,
    ) -> Result<(), EngineError> {
        (0..self.index.layout.columns().len())
            .try_for_each(|slot| self.read_column(block, slot, rows.clone()))
    }

    /// Reads a column as far as some rows need it.
    pub(crate) fn read_column(
        &mut self,
        block: &mut Block,
        slot: usize,
        rows: Range<usize>,
    ) -> Result<(), EngineError> {
        let missing = block.missing(&self.index, slot, rows)?;
        if missing.is_empty() {
            return Ok(());
        }
        let (pieces, keys): (Vec<usize>, Vec<Vec<u8>>) = missing.into_iter().unzip();
        let wanted = WantedPieces {
            slot,
            keys: &keys,
            blocks: block.nth..block.nth + 1,
            pieces: block.pieces(&self.index, slot),
        };
        let values = self.streams.read(self.kv.as_ref(), &self.index, &wanted)?;
        for ((piece, key), value) in pieces.into_iter().zip(&keys).zip(values) {
            self.counters.bytes_read += block.take_piece(&self.index, slot, piece, key, value)?;
        }
        Ok(())
    }

    /// Shows the rows that are left of a block.
    fn show_rows(&mut self, block: &mut Block) -> Result<(), EngineError> {
        let Range { start, end } = block.in_range();
        block.next = end;
        let mut selected = match &block.mask {
            None if self.columns.is_empty() => {
                self.batch.rows += end - start;
                return Ok(());
            }
            Some(mask) if self.columns.is_empty() => {
                self.batch.rows += ones(&mask[start..end]);
                return Ok(());
            }
            None if start == 0 && end == block.rows && !self.reverse => None,
            None => Some((start as u32..end as u32).collect()),
            Some(mask) => Some(selected(mask, start..end)),
        };
        if let Some(selected) = selected.as_mut().filter(|_| self.reverse) {
            selected.reverse();
        }
        let count = selected.as_ref().map_or(end - start, Vec::len);
        if count == 0 {
            return Ok(());
        }
        let within = within(selected.as_deref(), start..end);
        for nth in 0..self.columns.len() {
            let slot = self.columns[nth];
            self.read_column(block, slot, within.clone())?;
            let column = block.column(&self.index, slot)?;
            let out = &mut self.batch.columns[nth];
            let read = match &selected {
                None => column.read_all(out),
                Some(selected) => column.read_rows(selected, out),
            };
            read.map_err(|e| corruption(&self.index, &block.first_key, Some(slot), e))?;
        }
        self.batch.rows += count;
        Ok(())
    }
}

/// Puts tests of numbers before those of byte strings, which look at rows only that are left.
fn cheapest_first(mut tests: Vec<(usize, Test)>, types: &[DataType]) -> Vec<(usize, Test)> {
    tests.sort_by_key(|(slot, _)| types[*slot].is_text() || types[*slot].is_bytes());
    tests
}

/// Returns the rows between the first and the last of some selected, in whatever direction; or all.
pub(crate) fn within(selected: Option<&[u32]>, all: Range<usize>) -> Range<usize> {
    match selected {
        None => all,
        Some([]) => 0..0,
        Some(some @ [first, ..]) => {
            let last = some.last().unwrap_or(first);
            *first.min(last) as usize..*first.max(last) as usize + 1
        }
    }
}
