//! Where sequences stand, and the numbers that are taken from them.

use parking_lot::Mutex;
use rukh_catalog::{Sequence, SequenceId, Table};
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers reserved together, or `CACHE` if that is more, as many as PostgreSQL notes in its log.
pub(crate) const BLOCK: u32 = 32;

/// What open sequences give next.
pub(crate) type KnownSequences = HashMap<SequenceId, Arc<Mutex<Next>>>;

/// Where a sequence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceState {
    /// The number that it gives next; `None` if nothing is left.
    pub next: Option<i64>,
    /// Whether that number was set, and none was given since.
    pub is_set: bool,
}

impl SequenceState {
    /// A sequence that begins, or begins again, with a number.
    pub fn set(next: i64) -> Self {
        SequenceState {
            next: Some(next),
            is_set: true,
        }
    }

    /// A sequence that goes on after what it gave.
    pub fn follows(next: Option<i64>) -> Self {
        SequenceState { next, is_set: false }
    }
}

/// A sequence as it is to be.
#[derive(Clone, Debug)]
pub struct AlteredSequence {
    /// The definition.
    pub sequence: Sequence,
    /// Where it stands.
    pub state: SequenceState,
    /// The table of the identity column that it gives numbers to, if how the column takes them changes with it.
    pub table: Option<Table>,
}

/// What a sequence gives next.
#[derive(Debug)]
pub(crate) struct Next {
    pub(crate) state: SequenceState,
    /// How many numbers from the next on are reserved.
    pub(crate) reserved: u32,
    /// How many are reserved the next time.
    pub(crate) block: u32,
}

impl Next {
    pub(crate) fn of(state: SequenceState) -> Self {
        Next {
            state,
            reserved: 0,
            block: BLOCK,
        }
    }
}

impl Next {
    /// Forgets all that is reserved: the sequence was stored as it was when it was made.
    pub(crate) fn begin_anew(&mut self, sequence: &Sequence) {
        *self = Next::of(SequenceState::set(sequence.start));
    }
}

/// Numbers that were taken from a sequence: `first` and those that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceBlock {
    /// The first number.
    pub first: i64,
    /// How many there are, at least one.
    pub count: u32,
}
