//! What a commit names to a store, and what the store answers: first committer wins.
//!
//! A commit names the keys that it touched, each with the version of the state that it was read from. The store puts commits in
//! an order, and answers with the version of this one, or that an earlier commit has touched one of the keys since. How it
//! finds that out is its own: a store that one process writes remembers recent commits ([`SingleWriter`](crate::SingleWriter)).

use crate::{Durability, KvError, Traffic, WriteBatch};

/// The number of a state of a store: every commit has a higher one than those before it.
pub type Version = u64;

/// A key that a commit touched, or a whole relation.
///
/// Of the key there is a fingerprint: two keys that share one are taken for a conflict that is none, never the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The relation of the key, as the caller numbers them: it may have several tables in the store.
    pub relation: u32,
    /// The fingerprint of the key; 0 of a whole relation.
    pub key: u64,
    /// How it was touched.
    pub kind: TouchKind,
    /// The version of the state that it was read from, or a lower one.
    pub since: Version,
}

/// How a key was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TouchKind {
    /// Changed, or put back as it was.
    Changed,
    /// Added to, and nothing else: conflicts with changes, not with other adds.
    Added,
    /// Not changed, and a conflict for others as if it were.
    Locked,
    /// Read, and to be as it was at the commit.
    Shared,
    /// Not a key: the relation, of which nothing is to have changed at the commit.
    SharedRelation,
    /// Not a key: the relation, of which any key may have been changed.
    ChangedRelation,
}

/// The changes of a commit, and what the store has to know of them.
pub struct Commit<'a> {
    /// What is changed; may be empty, where only the order matters.
    pub batch: WriteBatch,
    /// When the commit counts as done.
    pub durability: Durability,
    /// The keys touched.
    pub touched: &'a [Touch],
    /// What the caller holds until its place in the order is certain.
    pub turn: &'a mut dyn Turn,
}

/// What a committing thread holds so that no other commits meanwhile.
pub trait Turn {
    /// Whether others wait for it.
    fn is_awaited(&self) -> bool;

    /// Gives it up: the commit is visible, and those that follow come after it. The store calls this at most once, and where it
    /// still waits for something; otherwise the turn lasts until the store returns.
    fn end(&mut self);
}

/// What became of a commit that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It is stored, and as durable as requested.
    At {
        /// The version of the state with it.
        version: Version,
        /// What it took of servers elsewhere.
        traffic: Traffic,
    },
    /// Nothing is stored: another commit has touched a key since it was read.
    Conflict {
        /// The position of the key in [`Commit::touched`].
        touch: usize,
    },
}

/// The order of the commits of a store.
pub trait CommitOrder: Send + Sync {
    /// Returns the version of the newest state. Read before a snapshot is taken, it is not higher than that of the snapshot.
    fn version(&self) -> Version;

    /// Whether commits have to name what they touch: a watch is open. Read after a commit, the answer holds for that commit.
    fn is_watched(&self) -> bool;

    /// Has the store remember commits from now on, until what this returns is dropped. Called before a snapshot is taken, so
    /// that each commit which the snapshot does not have is remembered.
    fn watch(&self) -> Box<dyn Watch>;
}

/// Has a store remember commits, until dropped.
pub trait Watch: Send + Sync {
    /// Returns the version of the state when it began.
    fn began(&self) -> Version;

    /// Returns the position of the first of these keys that a commit has touched since it was read; not before this watch began.
    fn changed(&self, touched: &[Touch]) -> Result<Option<usize>, KvError>;
}

impl TouchKind {
    /// Whether the key was changed, not only read or locked.
    pub fn is_change(self) -> bool {
        matches!(
            self,
            TouchKind::Changed | TouchKind::Added | TouchKind::ChangedRelation
        )
    }
}
