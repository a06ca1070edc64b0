//! Requests of the protocol as requests of HBase, and the answers.

use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use rukh_commit::{Change, Found, Lock, Outcome, Reply, Request, Time, TransactionId};
use rukh_hbase::{CellKind, CheckAndMutate, Checked, Get, LATEST, Mutation, RowRequest};

use crate::Error;

/// The family of values.
pub(crate) const DATA: &str = "d";
/// The family of locks, records and outcomes.
pub(crate) const CONTROL: &str = "c";
/// The column of values.
pub(crate) const VALUE: &str = "v";
/// The column of locks and records.
const LOCKS: &str = "l";
/// The table of the clock, and its only row.
pub(crate) const CLOCK: &str = "clock";
/// The newest time, in the clock's row.
pub(crate) const NOW: &str = "time";
/// The version of the definitions, there.
pub(crate) const VERSION: &str = "version";
/// Timestamps from this on are those of locks; commits are near milliseconds since 1970.
pub(crate) const LOCKS_FROM: Time = 1 << 62;
/// What the value of an outcome begins with.
const COMMITTED: u8 = b'C';
const ROLLED_BACK: u8 = b'R';
/// What a value begins with; nothing follows the second.
const PRESENT: u8 = 1;
const GONE: u8 = 0;
/// The form of a lock's value.
const LOCK_FORMAT: u8 = 1;

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// The table, in the namespace of the URL.
    pub table: Arc<str>,
    /// The key.
    pub key: Bytes,
}

impl Row {
    /// Names a row.
    pub fn new(table: &str, key: impl Into<Bytes>) -> Row {
        Row {
            table: table.into(),
            key: key.into(),
        }
    }
}

/// The timestamp of a transaction's locks: above all commits, and its own.
fn lock_time(id: TransactionId) -> Time {
    LOCKS_FROM | (id.0 as u64 & (LOCKS_FROM / 2 - 1))
}

fn outcome_column(id: TransactionId) -> Bytes {
    Bytes::copy_from_slice(&id.0.to_be_bytes())
}

/// Returns the request of HBase by which a step is taken; `records_ms` is how long records are kept.
pub(crate) fn row_request(request: &Request<Row, Bytes>, records_ms: u64) -> RowRequest {
    match request {
        Request::Lock { row, lock } => {
            let put = Mutation::put(row.key.clone()).cell(
                CellKind::Put,
                CONTROL,
                LOCKS,
                lock_time(lock.id),
                encode(lock),
            );
            let key = row.key.clone();
            let check = CheckAndMutate::if_absent(key, CONTROL, LOCKS, lock.start + 1, LATEST);
            RowRequest::check_and_mutate(&row.table, check.then(put))
        }
        Request::Inspect { row, after } => {
            let get = Get::new(row.key.clone()).column(CONTROL, LOCKS);
            RowRequest::get(&row.table, get.times(after + 1, LATEST).versions(2))
        }
        Request::Tick { version } => {
            let add = Mutation::increment(CLOCK, DATA, NOW, 1);
            match version {
                Some(version) => {
                    let version = Bytes::copy_from_slice(&version.to_be_bytes());
                    let check = CheckAndMutate::if_equal(CLOCK, DATA, VERSION, version, 0, LATEST);
                    RowRequest::check_and_mutate(CLOCK, check.then(add))
                }
                None => RowRequest::mutate(CLOCK, add),
            }
        }
        Request::Commit { row, lock, at } => {
            let (key, time) = (row.key.clone(), lock_time(lock.id));
            let mut check =
                CheckAndMutate::if_equal(key.clone(), CONTROL, LOCKS, encode(lock), time, time + 1);
            match &lock.change {
                Change::Put(value) => check = check.then(image(&key, *at, Some(value))),
                Change::Delete => check = check.then(image(&key, *at, None)),
                Change::Keep => {}
            }
            if !matches!(lock.change, Change::Keep) {
                check = check.then(record(&key, lock.id, *at).ttl_ms(records_ms));
            }
            if *row == lock.primary {
                // Without a lifetime until it is settled.
                check = check.then(outcome(&key, lock.id, *at, committed(*at)));
            }
            RowRequest::check_and_mutate(&row.table, check.then(unlock(&key, lock.id)))
        }
        Request::Outcome { primary, id } => {
            let get = Get::new(primary.key.clone()).column(CONTROL, LOCKS);
            RowRequest::get(&primary.table, get.column(CONTROL, outcome_column(*id)))
        }
        Request::RollBack { primary, id, at } => {
            let key = primary.key.clone();
            let check = CheckAndMutate::if_absent(key.clone(), CONTROL, outcome_column(*id), 0, LATEST)
                .then(outcome(&key, *id, *at, Bytes::from_static(&[ROLLED_BACK])).ttl_ms(records_ms))
                .then(record(&key, *id, *at).ttl_ms(records_ms))
                .then(unlock(&key, *id));
            RowRequest::check_and_mutate(&primary.table, check)
        }
        Request::Unlock { row, id } => RowRequest::mutate(&row.table, unlock(&row.key, *id)),
        Request::Settle { primary, id, at } => {
            // A cell of the same time that has a lifetime would only hide the one without, until it is gone.
            let key = primary.key.clone();
            let marker = Mutation::delete(key.clone());
            let marker = marker.cell(CellKind::Delete, CONTROL, outcome_column(*id), *at, "");
            let settled = outcome(&key, *id, at + 1, committed(*at)).ttl_ms(records_ms);
            let (column, value) = (outcome_column(*id), committed(*at));
            let check = CheckAndMutate::if_equal(key, CONTROL, column, value, *at, at + 1);
            RowRequest::check_and_mutate(&primary.table, check.then(marker).then(settled))
        }
    }
}

/// Sets the clock forward, from a time that was read, `None` for none, to a later one; it stays where another process has set it meanwhile.
pub(crate) fn set_clock(from: Option<Time>, to: Time) -> CheckAndMutate {
    let check = match from {
        None => CheckAndMutate::if_absent(CLOCK, DATA, NOW, 0, LATEST),
        Some(time) => {
            let time = Bytes::copy_from_slice(&time.to_be_bytes());
            CheckAndMutate::if_equal(CLOCK, DATA, NOW, time, 0, LATEST)
        }
    };
    let by = to.saturating_sub(from.unwrap_or(0)) as i64;
    check.then(Mutation::increment(CLOCK, DATA, NOW, by))
}

/// Returns what HBase's answer to a step says.
pub(crate) fn reply(request: &Request<Row, Bytes>, done: &Checked) -> Result<Reply<Row, Bytes>, Error> {
    let damaged = |what, row: &Row| Error::Damaged {
        what,
        row: row.clone(),
    };
    let clock = || Row::new(CLOCK, CLOCK);
    Ok(match request {
        // It was settled before.
        Request::Settle { .. } => Reply::Done,
        _ if !done.processed => Reply::Refused,
        Request::Tick { .. } => {
            let time = done.row.value(DATA.as_bytes(), NOW.as_bytes());
            let time = time.and_then(|value| value[..].try_into().ok());
            let time = time.ok_or_else(|| damaged("the time", &clock()))?;
            Reply::Time(u64::from_be_bytes(time))
        }
        Request::Inspect { row, .. } => {
            let mut found = Found {
                record: None,
                lock: None,
            };
            for cell in &done.row.cells {
                if cell.timestamp < LOCKS_FROM {
                    found.record = found.record.max(Some(cell.timestamp));
                } else {
                    found.lock = Some(decode(&cell.value).ok_or_else(|| damaged("a lock", row))?);
                }
            }
            Reply::Found(found)
        }
        Request::Outcome { primary, id } => {
            let cell = done.row.cell(CONTROL.as_bytes(), &outcome_column(*id));
            let outcome = cell.map(|cell| {
                let outcome = outcome_of(&cell.value);
                outcome.ok_or_else(|| damaged("the outcome of a transaction", primary))
            });
            let lock = done.row.cell(CONTROL.as_bytes(), LOCKS.as_bytes());
            Reply::Outcome {
                outcome: outcome.transpose()?,
                is_locked: lock.is_some_and(|cell| cell.timestamp == lock_time(*id)),
            }
        }
        _ => Reply::Done,
    })
}

/// Returns the value of a row that was read at a snapshot, and its lock.
pub(crate) fn value_and_lock(
    row: &Row,
    found: &rukh_hbase::Row,
) -> Result<(Option<Bytes>, Option<Lock<Row, Bytes>>), Error> {
    let value = found.value(DATA.as_bytes(), VALUE.as_bytes());
    let value = value
        .filter(|value| !is_marker(value))
        .map(|value| value.slice(1..));
    let lock = found.cell(CONTROL.as_bytes(), LOCKS.as_bytes());
    let lock = lock.map(|cell| {
        decode(&cell.value).ok_or_else(|| Error::Damaged {
            what: "a lock",
            row: row.clone(),
        })
    });
    Ok((value, lock.transpose()?))
}

/// Reads the value of a row at a snapshot, and its lock.
pub(crate) fn read_request(row: &Row, snapshot: Time) -> RowRequest {
    let get = Get::new(row.key.clone())
        .column(DATA, VALUE)
        .column(CONTROL, LOCKS)
        .family_times(DATA, 0, snapshot + 1)
        .family_times(CONTROL, LOCKS_FROM, LATEST);
    RowRequest::get(&row.table, get)
}

/// What a commit makes of a row: a value, or a marker that it is gone. HBase's own markers would hide, for all snapshots, what a compaction then removes.
fn image(key: &Bytes, at: Time, value: Option<&Bytes>) -> Mutation {
    let mut image = BytesMut::new();
    match value {
        Some(value) => {
            image.put_u8(PRESENT);
            image.put_slice(value);
        }
        None => image.put_u8(GONE),
    }
    Mutation::put(key.clone()).cell(CellKind::Put, DATA, VALUE, at, image.freeze())
}

/// Whether a cell of values says that the row is gone.
pub(crate) fn is_marker(image: &Bytes) -> bool {
    image.first() != Some(&PRESENT)
}

fn record(key: &Bytes, id: TransactionId, at: Time) -> Mutation {
    Mutation::put(key.clone()).cell(CellKind::Put, CONTROL, LOCKS, at, outcome_column(id))
}

/// The value of an outcome: committed at a time.
fn committed(at: Time) -> Bytes {
    let mut value = BytesMut::new();
    value.put_u8(COMMITTED);
    value.put_u64(at);
    value.freeze()
}

fn outcome_of(value: &Bytes) -> Option<Outcome> {
    match value.split_first()? {
        (&COMMITTED, time) => Some(Outcome::Committed(u64::from_be_bytes(time.try_into().ok()?))),
        (&ROLLED_BACK, []) => Some(Outcome::RolledBack),
        _ => None,
    }
}

fn outcome(key: &Bytes, id: TransactionId, at: Time, value: Bytes) -> Mutation {
    Mutation::put(key.clone()).cell(CellKind::Put, CONTROL, outcome_column(id), at, value)
}

fn unlock(key: &Bytes, id: TransactionId) -> Mutation {
    Mutation::delete(key.clone()).cell(CellKind::Delete, CONTROL, LOCKS, lock_time(id), "")
}

/// Encodes a lock: format, transaction, start, when it was placed, table and key of the primary with their lengths, the change.
fn encode(lock: &Lock<Row, Bytes>) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(LOCK_FORMAT);
    out.put_u128(lock.id.0);
    out.put_u64(lock.start);
    out.put_u64(lock.placed);
    out.put_u16(lock.primary.table.len() as u16);
    out.put_slice(lock.primary.table.as_bytes());
    out.put_u16(lock.primary.key.len() as u16);
    out.put_slice(&lock.primary.key);
    match &lock.change {
        Change::Delete => out.put_u8(0),
        Change::Put(value) => {
            out.put_u8(1);
            out.put_slice(value);
        }
        Change::Keep => out.put_u8(2),
    }
    out.freeze()
}

fn decode(value: &Bytes) -> Option<Lock<Row, Bytes>> {
    let mut rest = value.clone();
    if rest.try_get_u8().ok()? != LOCK_FORMAT {
        return None;
    }
    let id = TransactionId(rest.try_get_u128().ok()?);
    let start = rest.try_get_u64().ok()?;
    let placed = rest.try_get_u64().ok()?;
    let mut part = || {
        let length = rest.try_get_u16().ok()?.into();
        (rest.len() >= length).then(|| rest.split_to(length))
    };
    let (table, key) = (part()?, part()?);
    let primary = Row {
        table: std::str::from_utf8(&table).ok()?.into(),
        key,
    };
    let change = match rest.try_get_u8().ok()? {
        0 => Change::Delete,
        1 => Change::Put(rest),
        2 => Change::Keep,
        _ => return None,
    };
    Some(Lock {
        id,
        start,
        placed,
        primary,
        change,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_come_back_and_damage_is_noticed() {
        for change in [
            Change::Put(Bytes::from("value")),
            Change::Put(Bytes::new()),
            Change::Delete,
            Change::Keep,
        ] {
            let lock = Lock {
                id: TransactionId(u128::MAX / 3),
                start: 77,
                placed: 78,
                primary: Row::new("accounts", "first"),
                change,
            };
            let bytes = encode(&lock);
            assert_eq!(decode(&bytes).as_ref(), Some(&lock));
            for length in 0..bytes.len().min(50) {
                assert_eq!(decode(&bytes.slice(..length)), None, "{length}");
            }
        }
        assert_eq!(decode(&Bytes::from_static(b"\x02")), None);
    }

    #[test]
    fn locks_have_times_of_their_own_above_all_commits() {
        let times = [0, 1, u128::MAX].map(|id| lock_time(TransactionId(id)));
        assert!(times[0] != times[1] && times.iter().all(|time| (LOCKS_FROM..LATEST).contains(time)));
    }
}
