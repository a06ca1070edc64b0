//! What the machines ask of a store, and what it answers.

/// A time of the clock: greater with every commit.
pub type Time = u64;

/// The number of a transaction, different from those of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(pub u128);

/// What a transaction makes of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change<V> {
    /// The row has this value.
    Put(V),
    /// The row is gone.
    Delete,
    /// The row stays as it is, and no other transaction may change it meanwhile.
    Keep,
}

/// What a lock says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lock<R, V> {
    /// The transaction that holds it.
    pub id: TransactionId,
    /// The time of its snapshot.
    pub start: Time,
    /// When the locks were placed, as the owner's process saw it: by how old it is others judge whether the owner lives. The protocol does not look at it.
    pub placed: Time,
    /// The row whose outcome decides.
    pub primary: R,
    /// What is to become of the row.
    pub change: Change<V>,
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Its changes are those of this time.
    Committed(Time),
    /// It has changed nothing.
    RolledBack,
}

/// One step that a store takes or refuses as a whole: about one row, or the clock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request<R, V> {
    /// Locks a row if it has no lock and no record of a time after `lock.start`.
    /// Replies: [`Reply::Done`], [`Reply::Refused`].
    Lock {
        /// The row.
        row: R,
        /// What the lock is to say.
        lock: Lock<R, V>,
    },
    /// Asks why a lock was refused. Reply: [`Reply::Found`].
    Inspect {
        /// The row.
        row: R,
        /// Records up to this time are of no interest.
        after: Time,
    },
    /// Takes the next time of the clock, if the definitions still have this version.
    /// Replies: [`Reply::Time`], [`Reply::Refused`].
    Tick {
        /// The version that the transaction was planned with; `None` for any.
        version: Option<u64>,
    },
    /// Makes a change that is staged, if its lock is there: writes the value and the record, removes the lock, and on the primary writes the
    /// outcome. Replies: [`Reply::Done`], [`Reply::Refused`].
    Commit {
        /// The row.
        row: R,
        /// Its lock.
        lock: Lock<R, V>,
        /// The time of the commit.
        at: Time,
    },
    /// Asks for the outcome of a transaction, and for the lock of its primary. Reply: [`Reply::Outcome`].
    Outcome {
        /// The primary.
        primary: R,
        /// The transaction.
        id: TransactionId,
    },
    /// Gives a transaction that has no outcome that of a rollback: writes the outcome and a record of the time `at`, removes the lock if there is
    /// one. Replies: [`Reply::Done`], [`Reply::Refused`] where there is an outcome.
    RollBack {
        /// The primary.
        primary: R,
        /// The transaction.
        id: TransactionId,
        /// A time that the clock gave for this.
        at: Time,
    },
    /// Removes the lock of a transaction from a row, if it is there. Reply: [`Reply::Done`].
    Unlock {
        /// The row.
        row: R,
        /// The transaction.
        id: TransactionId,
    },
    /// Lets the outcome of a transaction without locks expire with its records. Reply: [`Reply::Done`].
    Settle {
        /// The primary.
        primary: R,
        /// The transaction.
        id: TransactionId,
        /// The time of its commit.
        at: Time,
    },
}

/// What a store answers to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply<R, V> {
    /// The condition held, and the step is taken.
    Done,
    /// The condition did not hold, and nothing has changed.
    Refused,
    /// The clock's next time.
    Time(Time),
    /// What is on a row.
    Found(Found<R, V>),
    /// The outcome, if there is one; else whether the primary's lock is there.
    Outcome {
        /// What became of the transaction, if that is decided.
        outcome: Option<Outcome>,
        /// Whether the primary is locked by it.
        is_locked: bool,
    },
}

/// What keeps a row from being locked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Found<R, V> {
    /// The newest record after the time of the request.
    pub record: Option<Time>,
    /// The lock.
    pub lock: Option<Lock<R, V>>,
}
