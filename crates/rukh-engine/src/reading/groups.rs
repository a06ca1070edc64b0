//! Loose scans: one row of each group of keys, and a seek past the others.
//!
//! A group is the keys that have the same leading columns. Once a row of it was shown, its other keys
//! are passed: by steps where groups turn out to be small, else by sending the cursor behind the group.
//! How many steps are tried follows from what the last groups were like:
//!
//! | the last group               | steps tried in the next                       |
//! |------------------------------|-----------------------------------------------|
//! | ended within the steps tried | twice as many, up to [`STEPS_MAX`]            |
//! | did not                      | half as many, down to none                    |
//! | none tried for a while       | a few, in one group of [`RETRIAL`]            |
//!
//! So a scan whose groups have one row each costs hardly more than a scan of all rows.

use crate::EngineError;
use rukh_keys::{KeyDecodeError, KeyGroup, KeyLayout};
use rukh_kv::KvCursor;

/// Steps tried in the first group.
const STEPS_FIRST: u32 = 4;
/// Steps tried at most: about what a seek costs.
const STEPS_MAX: u32 = 16;
/// Groups after which steps are tried again.
const RETRIAL: u32 = 64;

/// What the groups of a loose scan are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// Keys are of one group that have the same first so many columns: in a UNIQUE index fewer than
    /// its declared elements.
    pub columns: usize,
    /// Whether a group is cut in two by whether the column behind them is NULL.
    pub null_tag: bool,
}

/// The groups of a scan under way.
pub(crate) struct Groups {
    grouping: Grouping,
    /// The group that a row was shown of last.
    done: KeyGroup,
    bound: Vec<u8>,
    /// Steps tried per group.
    steps: u32,
    /// Steps made within the present group.
    stepped: u32,
    /// Groups since steps were tried.
    untried: u32,
    /// Whether nothing can come behind the last group.
    pub(crate) ended: bool,
}

/// What to do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is the first of its group so far: look at it.
    Look,
    /// Its group is done with: step to the next.
    Step,
    /// Its group is done with: seek past it.
    Seek,
}

impl Groups {
    pub(crate) fn new(grouping: Grouping) -> Self {
        Groups {
            grouping,
            done: KeyGroup::default(),
            bound: Vec::new(),
            steps: STEPS_FIRST,
            stepped: 0,
            untried: 0,
            ended: false,
        }
    }

    /// Says what to do with the key that the cursor came to.
    pub(crate) fn meet(&mut self, key: &[u8]) -> Next {
        if !self.done.contains(key) {
            if self.stepped > 0 {
                self.steps = (self.steps * 2).min(STEPS_MAX);
                self.stepped = 0;
            }
            return Next::Look;
        }
        self.stepped += 1;
        if self.stepped < self.steps {
            return Next::Step;
        }
        Next::Seek
    }

    /// Notes that a row of the group of `key` was shown; returns whether to seek at once.
    pub(crate) fn shown(
        &mut self,
        layout: &KeyLayout,
        key: &[u8],
        reverse: bool,
    ) -> Result<bool, KeyDecodeError> {
        let Grouping { columns, null_tag } = self.grouping;
        self.done.become_group_of(layout, key, columns, null_tag)?;
        self.stepped = 0;
        if columns == 0 && self.is_last(reverse) {
            self.ended = true;
            return Ok(true);
        }
        if self.steps == 0 {
            self.untried += 1;
            if self.untried >= RETRIAL {
                self.untried = 0;
                self.steps = STEPS_FIRST;
            }
        }
        Ok(self.steps == 0)
    }

    /// Whether no key lies behind the group that was shown last.
    fn is_last(&mut self, reverse: bool) -> bool {
        match reverse {
            true => self.done.start().is_empty(),
            false => !self.done.end(&mut self.bound),
        }
    }

    /// Sends the cursor behind the group that was shown last.
    pub(crate) fn seek(&mut self, cursor: &mut dyn KvCursor, reverse: bool) -> Result<(), EngineError> {
        if self.ended {
            return Ok(());
        }
        if self.stepped > 0 {
            self.steps /= 2;
            self.stepped = 0;
        }
        if reverse {
            return Ok(cursor.skip_to(self.done.start())?);
        }
        match self.done.end(&mut self.bound) {
            true => cursor.skip_to(&self.bound)?,
            false => self.ended = true,
        }
        Ok(())
    }
}
