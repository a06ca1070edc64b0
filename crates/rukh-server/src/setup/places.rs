//! The limit on connections. A connection counts from the moment it is accepted, logged in or not, so that clients that never log
//! in cannot exceed it.
//!
//! | connections               | one more                                                                       |
//! |---------------------------|--------------------------------------------------------------------------------|
//! | fewer than `max`          | may log in                                                                     |
//! | `max`                     | has a spare place: it may cancel a statement, else it fails with 53300         |
//! | `max`, no place to spare  | fails with 53300 and is closed at once                                         |
//!
//! `max` is what the configuration says, or fewer where the system lets the process have few descriptors: storage needs some, or
//! nothing can be written.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::warn;

/// Spare places at most.
const SPARE_MAX: usize = 100;

/// Descriptors kept back for what is neither storage nor a client: temporary files, the log, monitors.
const OTHERS_MIN: usize = 32;

/// Places for connections.
#[derive(Clone)]
pub(crate) struct Places(Arc<Counts>);

struct Counts {
    max: usize,
    spare_max: usize,
    taken: AtomicUsize,
    spare_taken: AtomicUsize,
}

/// The place of one connection, free again when it is dropped.
pub(crate) struct Place {
    counts: Arc<Counts>,
    is_spare: bool,
}

impl Places {
    /// Makes so many places, and some to spare.
    pub(crate) fn new(max: usize) -> Self {
        Places(Arc::new(Counts {
            max,
            spare_max: spare_of(max),
            taken: AtomicUsize::new(0),
            spare_taken: AtomicUsize::new(0),
        }))
    }

    /// Takes a place, a spare one if there is no other.
    pub(crate) fn take(&self) -> Option<Place> {
        let Counts {
            max,
            spare_max,
            taken,
            spare_taken,
        } = &*self.0;
        let is_spare = !take_one(taken, *max);
        if is_spare && !take_one(spare_taken, *spare_max) {
            return None;
        }
        Some(Place {
            counts: self.0.clone(),
            is_spare,
        })
    }
}

fn take_one(taken: &AtomicUsize, max: usize) -> bool {
    let one_more = |taken: usize| (taken < max).then_some(taken + 1);
    taken
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
        .is_ok()
}

fn spare_of(max: usize) -> usize {
    (max / 4).clamp(2, SPARE_MAX)
}

impl Place {
    /// Whether the connection is beyond `max`, and may only cancel a statement.
    pub(crate) fn is_spare(&self) -> bool {
        self.is_spare
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let taken = match self.is_spare {
            true => &self.counts.spare_taken,
            false => &self.counts.taken,
        };
        taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns how many connections each of so many servers of this process may take, of those that it would like: fewer where the
/// system's limit of open files leaves fewer beside what storage may need.
pub fn within_descriptors(wanted: usize, servers: usize) -> usize {
    let Some(limit) = open_files_max(Path::new("/proc/self/limits")) else {
        return wanted;
    };
    let allowed = allowed(limit, servers);
    if allowed < wanted {
        warn!(
            wanted,
            allowed, limit, "the limit of open files (ulimit -n) allows fewer connections"
        );
    }
    wanted.min(allowed)
}

/// Returns how many connections so many servers may take each, with their spare places, under a limit of open files.
///
/// | open files | storage | others | one server | two servers, each |
/// |------------|---------|--------|------------|-------------------|
/// | 256        | 128     | 32     | 76         | 38                |
/// | 1024       | 512     | 64     | 358        | 179               |
/// | 4096       | 2048    | 256    | 1692       | 796               |
fn allowed(limit: usize, servers: usize) -> usize {
    // Storage keeps up to half of them open.
    let others = (limit / 16).max(OTHERS_MIN);
    let each = (limit - limit / 2).saturating_sub(others) / servers.max(1);
    // Of the spare places one for every four others, as long as there are not too many.
    let with_fourth = each * 4 / 5;
    match spare_of(with_fourth) {
        SPARE_MAX => each - SPARE_MAX,
        _ => with_fourth.max(1),
    }
}

/// Reads the soft limit of open files as the system shows it, where it does.
fn open_files_max(limits: &Path) -> Option<usize> {
    let text = std::fs::read_to_string(limits).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_in_order_and_free_again() {
        let places = Places::new(2);
        let mut held: Vec<Place> = std::iter::from_fn(|| places.take()).collect();
        let spare: Vec<bool> = held.iter().map(Place::is_spare).collect();
        assert_eq!(spare, [false, false, true, true]);
        held.remove(0);
        assert!(places.take().is_some_and(|place| !place.is_spare()));
    }

    #[test]
    fn storage_has_its_descriptors_whatever_the_limit() {
        for (limit, one, two) in [(256, 76, 38), (1024, 358, 179), (4096, 1692, 796)] {
            assert_eq!((allowed(limit, 1), allowed(limit, 2)), (one, two), "{limit}");
        }
        for limit in 0..20_000 {
            for servers in 1..=2 {
                let each = allowed(limit, servers);
                let all = servers * (each + spare_of(each));
                assert!(limit < 128 || all + limit / 2 + OTHERS_MIN <= limit, "{limit}");
                assert!(each > 0);
            }
        }
    }
}
