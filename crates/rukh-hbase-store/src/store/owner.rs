//! Which process has the store.
//!
//! The clock's row names the process, and says how often it has renewed its lease. The version beside it counts owners: each makes it one greater, and no transaction commits that
//! was begun under another version. So a process that was taken for dead and lives cannot write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use rukh_hbase::{CellKind, CheckAndMutate, Get, LATEST, Mutation};
use rukh_kv::KvError;

use super::keys::failed;
use crate::cells::{CLOCK, DATA, VERSION};
use crate::transactions::new_id;
use crate::{Error, Row, Transactions};

/// The columns of the clock's row with the process that has the store, and how often that has renewed its lease.
const OWNER: &str = "owner";
const RENEWALS: &str = "renewals";

/// How long after it was renewed a lease holds.
const LEASE: Duration = Duration::from_secs(10);

/// How often it is renewed.
pub(crate) const RENEWAL: Duration = Duration::from_secs(3);

/// How often the lease of another is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// The store is this process's, for as long as it says so.
#[derive(Clone)]
pub(crate) struct Lease(Arc<State>);

struct State {
    version: u64,
    renewed: Mutex<Instant>,
    is_lost: AtomicBool,
}

/// What the clock's row says of the owner.
struct Seen {
    version: u64,
    /// Empty where there is none.
    owner: String,
    renewals: Bytes,
}

impl Lease {
    /// Waits until the store is free, or fails once its owner is seen to live.
    pub(crate) async fn take(transactions: &Transactions, url: &str) -> Result<Lease, KvError> {
        let already_open = || KvError::AlreadyOpen { path: url.into() };
        let failed = |error| failed("open the database", error);
        let me = describe_process();
        let mut first: Option<(Seen, Instant)> = None;
        loop {
            let asked = Instant::now();
            let seen = look(transactions).await.map_err(failed)?;
            if seen.owner == me {
                // An earlier attempt was carried out, and its answer lost.
                return Ok(Lease::new(seen.version, asked));
            }
            let mut is_free = seen.owner.is_empty() || is_dead(&seen.owner);
            match &first {
                Some((before, _))
                    if !seen.owner.is_empty()
                        && (before.version != seen.version || before.renewals != seen.renewals) =>
                {
                    return Err(already_open());
                }
                Some((_, since)) => is_free |= since.elapsed() > LEASE,
                None => {}
            }
            if is_free {
                match try_take(transactions, &seen, &me).await {
                    Ok(true) => return Ok(Lease::new(seen.version + 1, asked)),
                    Ok(false) => return Err(already_open()),
                    Err(Error::Client(rukh_hbase::Error::OutcomeUnknown { .. })) => continue,
                    Err(error) => return Err(failed(error)),
                }
            }
            first.get_or_insert((seen, Instant::now()));
            tokio::time::sleep(LOOK).await;
        }
    }

    fn new(version: u64, renewed: Instant) -> Lease {
        Lease(Arc::new(State {
            version,
            renewed: Mutex::new(renewed),
            is_lost: AtomicBool::new(false),
        }))
    }

    /// The version under which this process commits.
    pub(crate) fn version(&self) -> u64 {
        self.0.version
    }

    /// Whether no other process can have the store at this moment.
    pub(crate) fn is_fresh(&self) -> bool {
        !self.0.is_lost.load(Ordering::Acquire) && self.0.renewed.lock().elapsed() < LEASE
    }

    /// Notes that another process has it.
    pub(crate) fn lose(&self) {
        self.0.is_lost.store(true, Ordering::Release);
    }

    /// Renews it; returns whether it is still this process's.
    pub(crate) async fn renew(&self, transactions: &Transactions) -> Result<bool, Error> {
        if self.0.is_lost.load(Ordering::Acquire) {
            return Ok(false);
        }
        let begun = Instant::now();
        let renewal = self
            .while_mine()
            .then(Mutation::increment(CLOCK, DATA, RENEWALS, 1));
        match transactions.client().check_and_mutate(CLOCK, renewal).await {
            Ok(checked) if checked.processed => *self.0.renewed.lock() = begun,
            Ok(_) => self.lose(),
            Err(error) => return Err(error.into()),
        }
        Ok(!self.0.is_lost.load(Ordering::Acquire))
    }

    /// Gives it up, so that another process need not wait.
    pub(crate) async fn release(&self, transactions: &Transactions) -> Result<(), Error> {
        let free = Mutation::put(CLOCK).cell(CellKind::Put, DATA, OWNER, self.0.version, "");
        let release = self.while_mine().then(free);
        match transactions.client().check_and_mutate(CLOCK, release).await {
            // If it was not carried out it expires.
            Ok(_) | Err(rukh_hbase::Error::OutcomeUnknown { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes an unknown process the owner, for tests.
    pub(crate) async fn take_over(&self, transactions: &Transactions) -> Result<bool, Error> {
        let seen = look(transactions).await?;
        try_take(transactions, &seen, "elsewhere 1 1 1").await
    }

    fn while_mine(&self) -> CheckAndMutate {
        while_version(self.0.version)
    }
}

fn while_version(version: u64) -> CheckAndMutate {
    let version = Bytes::copy_from_slice(&version.to_be_bytes());
    CheckAndMutate::if_equal(CLOCK, DATA, VERSION, version, 0, LATEST)
}

async fn look(transactions: &Transactions) -> Result<Seen, Error> {
    let row = transactions
        .client()
        .get(CLOCK, Get::new(CLOCK).family(DATA))
        .await?;
    let value = |column: &str| row.value(DATA.as_bytes(), column.as_bytes()).cloned();
    let version = value(VERSION).and_then(|value| value[..].try_into().ok());
    let version = version.map(u64::from_be_bytes).ok_or_else(|| Error::Damaged {
        what: "the clock",
        row: Row::new(CLOCK, CLOCK),
    })?;
    Ok(Seen {
        version,
        owner: String::from_utf8_lossy(&value(OWNER).unwrap_or_default()).into_owned(),
        renewals: value(RENEWALS).unwrap_or_default(),
    })
}

/// Takes the store from the owner that was seen, or from none; returns `false` where it has another by now.
async fn try_take(transactions: &Transactions, seen: &Seen, me: &str) -> Result<bool, Error> {
    let version = seen.version + 1;
    // The time of the cell is the number of the owner: clocks of servers may go back.
    let owner = Mutation::put(CLOCK).cell(CellKind::Put, DATA, OWNER, version, me.to_string());
    let take = while_version(seen.version)
        .then(owner)
        .then(Mutation::increment(CLOCK, DATA, VERSION, 1));
    Ok(transactions
        .client()
        .check_and_mutate(CLOCK, take)
        .await?
        .processed)
}

/// Names this opening: where it can be seen whether the process lives, the process, when that was started; and a number of its own.
fn describe_process() -> String {
    let id = std::process::id();
    let (place, started) = (place().unwrap_or_default(), started(id).unwrap_or_default());
    format!("{place} {id} {started} {:032x}", new_id().0)
}

/// Whether an owner is a process of this machine that has ended.
fn is_dead(owner: &str) -> bool {
    let mut parts = owner.split(' ');
    let (Some(at), Some(id), Some(since)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_here = !at.is_empty() && place().is_some_and(|place| place == at);
    let Ok(id) = id.parse() else { return false };
    is_here && !since.is_empty() && started(id).is_none_or(|started| started != since)
}

/// The start of this system, and which of its processes are seen from here.
fn place() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let processes = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", boot.trim(), processes.display()))
}

/// When a process was started, in ticks since the system was; `None` if there is none.
fn started(id: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program, in brackets, may have anything in it.
    let (_, fields) = status.rsplit_once(')')?;
    Some(fields.split_whitespace().nth(19)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_this_machine_are_known_to_live_or_not() {
        let me = describe_process();
        assert!(!is_dead(&me), "{me}");
        let mut parts: Vec<String> = me.split(' ').map(str::to_string).collect();
        parts[2] = "1".to_string();
        assert!(is_dead(&parts.join(" ")), "another process has the number now");
        let mut child = std::process::Command::new("true").spawn().expect("it is there");
        let id = child.id();
        child.wait().expect("it ends");
        assert_eq!(started(id), None);
        parts[0] = "elsewhere".to_string();
        for unknown in [
            parts.join(" "),
            String::new(),
            "  ".to_string(),
            "a b c".to_string(),
        ] {
            assert!(!is_dead(&unknown), "{unknown}");
        }
    }
}
