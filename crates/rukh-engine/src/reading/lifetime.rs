//! Lifetimes: which stored values are alive.
//!
//! A table with a lifetime keeps in every value, of rows and of index entries alike, when the row was written or
//! since when its life counts (`row`). All values of one row carry the same times, so that row and entries
//! die in one instant, and nothing has to be written for it: [`Live`] shows a snapshot without what is dead, to
//! every reader alike. A row is dead from the microsecond on in which its lifetime has passed.
//!
//! A family may live for a shorter time of its own, counted from when its columns last changed: they are NULL then.
//!
//! Storage forgets the dead whenever it likes, in any order. What has died must therefore stay dead:
//! before a lifetime is made longer, or taken away, [`bury`] removes what it has ended.

use crate::columnar::{ColumnTest, life_test};
use crate::forms::codec::TableCodec;
use crate::forms::entry::ROW_KEY_LEN;
use crate::forms::row::{self, Times};
use parking_lot::Mutex;
use rukh_catalog::{Catalog, Table, TableId};
use rukh_keys::{KeyRange, MaskedCompare};
use rukh_kv::{KeyValue, KvCursor, KvError, KvSnapshot, ScanSpec, ScanStats, Traffic, Visit};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

/// Where a value keeps its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// At its beginning.
    Row,
    /// Behind the row key that a UNIQUE entry begins with.
    UniqueEntry,
}

/// How long the values of one column family live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    ttl_micros: i64,
    /// Since when values count that carry no time.
    since_micros: i64,
    form: Form,
}

impl Rule {
    /// Whether a value is alive at a time.
    #[inline]
    pub(crate) fn is_alive(&self, value: &[u8], now: i64) -> bool {
        let value = match self.form {
            Form::Row => Some(value),
            Form::UniqueEntry => behind_row_key(value),
        };
        let counted = value
            .and_then(row::times)
            .map_or(self.since_micros, Times::counted_from);
        is_alive(counted, self.ttl_micros, now)
    }
}

impl Rule {
    /// Returns the test on the lives of rows in blocks that is passed by those alive at a time.
    pub(crate) fn test(&self, now: i64) -> ColumnTest {
        let is_alive = |counted: i64| is_alive(counted, self.ttl_micros, now);
        // What lives began when this is still to come, or later.
        let least = now
            .checked_sub(self.ttl_micros)
            .and_then(|dead| dead.checked_add(1));
        debug_assert!(least.is_none_or(is_alive));
        life_test(least, is_alive(self.since_micros))
    }
}

/// Whether a life that counts from a time has not ended.
fn is_alive(counted: i64, ttl_micros: i64, now: i64) -> bool {
    let end = counted.checked_add(ttl_micros);
    end.is_none_or(|end| now < end || counted == i64::MAX)
}

fn behind_row_key(value: &[u8]) -> Option<&[u8]> {
    let (len, rest) = value.split_first_chunk::<ROW_KEY_LEN>()?;
    rest.get(u32::from_le_bytes(*len) as usize..)
}

/// The rules of all column families that have one, by name.
pub(crate) type Rules = HashMap<String, Rule>;

/// Returns the rules of all tables.
pub(crate) fn rules(catalog: &Catalog) -> Rules {
    catalog.tables().flat_map(|table| table_rules(table)).collect()
}

/// Returns the rules of the families and indexes of a table.
pub(crate) fn table_rules(table: &Table) -> Vec<(String, Rule)> {
    let since_micros = table.options.lifetime.map_or(0, |lifetime| lifetime.since_micros);
    let rule_since = |since_micros, ttl_micros: Option<i64>, form| {
        Some(Rule {
            ttl_micros: ttl_micros?,
            since_micros,
            form,
        })
    };
    let rule = |ttl_micros, form| rule_since(since_micros, ttl_micros, form);
    let of_rows = table.options.lifetime.map(|lifetime| lifetime.ttl_micros);
    let families = table.families.iter().filter_map(|family| {
        let options = &family.options;
        let ttl = options.ttl_micros.or(of_rows);
        let since = options.since_micros.unwrap_or(since_micros);
        Some((table.storage_name(family.id), rule_since(since, ttl, Form::Row)?))
    });
    let indexes = table.indexes.iter().filter_map(|index| {
        let form = match index.unique {
            true => Form::UniqueEntry,
            false => Form::Row,
        };
        Some((index.storage_name(), rule(of_rows, form)?))
    });
    let mut rules: Vec<(String, Rule)> = families.chain(indexes).collect();
    // A former image lives for as long as it would have lived as row.
    rules.extend(table.history().iter().flat_map(table_rules));
    rules
}

/// The definitions that tables had before their lifetimes changed. As long as a reader uses one, storage
/// keeps what may be alive by it.
#[derive(Default)]
pub(crate) struct Retired(pub(crate) Mutex<HashMap<TableId, Vec<Weak<TableCodec>>>>);

impl Retired {
    /// Returns the former definitions of a table that a reader may still use.
    pub(crate) fn of(&self, id: TableId) -> Vec<Weak<TableCodec>> {
        let mut all = self.0.lock();
        let Some(retired) = all.get_mut(&id) else {
            return Vec::new();
        };
        retired.retain(|codec| codec.strong_count() > 0);
        retired.clone()
    }
}

/// A snapshot without what is dead at one time.
pub(crate) struct Live {
    pub(crate) kv: Arc<dyn KvSnapshot>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) now: i64,
}

impl Live {
    fn alive(&self, rule: Option<&Rule>, value: Option<Vec<u8>>) -> Option<Vec<u8>> {
        value.filter(|value| rule.is_none_or(|rule| rule.is_alive(value, self.now)))
    }
}

impl KvSnapshot for Live {
    fn tables(&self) -> Vec<String> {
        self.kv.tables()
    }

    fn traffic(&self) -> Traffic {
        self.kv.traffic()
    }

    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let value = self.kv.get(table, key)?;
        Ok(self.alive(self.rules.get(table), value))
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        let values = self.kv.multi_get(table, keys)?;
        Ok(match self.rules.get(table) {
            None => values,
            rule => values.into_iter().map(|value| self.alive(rule, value)).collect(),
        })
    }

    /// Scans; the limit counts what is alive, and values are read even where they are not shown.
    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        let Some(rule) = self.rules.get(table) else {
            return self.kv.scan(table, spec);
        };
        let (limit, keys_only) = (spec.limit, spec.keys_only);
        let spec = ScanSpec {
            limit: None,
            keys_only: false,
            ..spec
        };
        Ok(Box::new(LiveCursor {
            cursor: self.kv.scan(table, spec)?,
            rule: *rule,
            now: self.now,
            keys_only,
            remaining: limit.unwrap_or(u64::MAX),
            shown: (Vec::new(), Vec::new()),
        }))
    }

    fn count(&self, table: &str, spec: ScanSpec) -> Result<(u64, ScanStats), KvError> {
        if !self.rules.contains_key(table) {
            return self.kv.count(table, spec);
        }
        let mut cursor = self.scan(table, spec.keys_only())?;
        let mut keys = 0;
        cursor.for_each(&mut |_, _| {
            keys += 1;
            ControlFlow::Continue(())
        })?;
        Ok((keys, cursor.stats()))
    }
}

/// A scan that passes over what is dead.
struct LiveCursor {
    cursor: Box<dyn KvCursor>,
    rule: Rule,
    now: i64,
    keys_only: bool,
    /// Entries still to be shown.
    remaining: u64,
    /// The entry that `next` shows.
    shown: (Vec<u8>, Vec<u8>),
}

impl KvCursor for LiveCursor {
    fn next(&mut self) -> Result<Option<KeyValue<'_>>, KvError> {
        let mut found = None;
        self.for_each(&mut |key, value| {
            found = Some((key.to_vec(), value.to_vec()));
            ControlFlow::Break(())
        })?;
        let Some(found) = found else {
            return Ok(None);
        };
        self.shown = found;
        let (key, value) = &self.shown;
        Ok(Some(KeyValue { key, value }))
    }

    fn for_each(&mut self, visit: &mut Visit<'_>) -> Result<bool, KvError> {
        if self.remaining == 0 {
            return Ok(true);
        }
        let LiveCursor {
            cursor,
            rule,
            now,
            keys_only,
            remaining,
            ..
        } = self;
        let mut last = false;
        let done = cursor.for_each(&mut |key, value| {
            if !rule.is_alive(value, *now) {
                return ControlFlow::Continue(());
            }
            *remaining -= 1;
            let flow = visit(key, if *keys_only { &[] } else { value });
            if *remaining == 0 && flow.is_continue() {
                last = true;
                return ControlFlow::Break(());
            }
            flow
        })?;
        Ok(done || last)
    }

    fn skip_to(&mut self, bound: &[u8]) -> Result<(), KvError> {
        self.cursor.skip_to(bound)
    }

    fn narrow(&mut self, ranges: Vec<KeyRange>, masked: MaskedCompare) -> bool {
        self.cursor.narrow(ranges, masked)
    }

    fn stats(&self) -> ScanStats {
        self.cursor.stats()
    }
}
