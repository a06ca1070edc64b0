//! Processes: writers, readers, and one that defines an index.

use std::collections::BTreeMap;

use rukh_commit::{
    Aborted, Change, Commit, Lock, Progress, Request, Resolve, Resolved, Time, TransactionId, must_resolve,
};

use crate::store::{Rep, Req, Row, Store, Value};

/// What a process asks of the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ask {
    /// The time and the version of the definitions.
    Clock,
    /// The values of rows at a snapshot, each by itself.
    Read(Row, Time),
    /// The next version of the definitions, after this one.
    Define(u64),
    Step(Req),
}

/// What it is answered.
pub enum Answer {
    Clock(Time, u64),
    Row(Option<Value>, Vec<Lock<Row, Value>>),
    Step(Rep),
}

impl Store {
    pub fn answer(&mut self, ask: &Ask) -> Answer {
        match ask {
            Ask::Clock => Answer::Clock(self.time, self.version),
            Ask::Read(row, at) => {
                let (value, locks) = self.read(*row, *at);
                Answer::Row(value, locks)
            }
            Ask::Define(from) => {
                if self.version == *from {
                    self.version += 1;
                    self.time += 1;
                }
                Answer::Clock(self.time, self.version)
            }
            Ask::Step(request) => Answer::Step(self.take(request)),
        }
    }
}

/// What a process is to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Task {
    /// Changes rows, whatever is on them; with an index defined, its entry, too.
    Write {
        changes: BTreeMap<Row, Change<Value>>,
        indexed: Option<(Row, Row)>,
    },
    /// Reads rows at one snapshot.
    Read { rows: Vec<Row> },
    /// Defines an index: an entry in row `of.1` for each value of row `of.0`.
    Define { of: (Row, Row) },
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    Committed(Time),
    Aborted(Aborted<Row>),
    Read(Time, BTreeMap<Row, Option<Value>>),
    Defined,
    Crashed,
}

/// A lock in the way of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Obstacle {
    row: Row,
    resolve: Resolve<Row, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    pub id: TransactionId,
    task: Task,
    /// When its transaction began.
    pub start: Option<Time>,
    commit: Option<Commit<Row, Value>>,
    obstacle: Option<Obstacle>,
    values: BTreeMap<Row, Option<Value>>,
    /// How the caller was answered.
    pub end: Option<End>,
    /// Whether nothing is left to do.
    pub is_over: bool,
}

impl Process {
    pub fn new(id: u128, task: Task) -> (Process, Vec<Ask>) {
        let first = match &task {
            Task::Define { .. } => Ask::Define(1),
            _ => Ask::Clock,
        };
        let process = Process {
            id: TransactionId(id),
            task,
            start: None,
            commit: None,
            obstacle: None,
            values: BTreeMap::new(),
            end: None,
            is_over: false,
        };
        (process, vec![first])
    }

    /// Whether it waits for another one to decide.
    pub fn waits(&self) -> bool {
        self.obstacle
            .as_ref()
            .is_some_and(|obstacle| obstacle.resolve.state() == Resolved::Undecided)
    }

    /// Asks again, or takes the other one for dead.
    pub fn go_on(&mut self, is_dead: bool) -> Vec<Ask> {
        let Some(obstacle) = self.obstacle.as_mut() else {
            return Vec::new();
        };
        let request = match is_dead {
            true => obstacle.resolve.give_up_on_owner(),
            false => obstacle.resolve.ask(),
        };
        vec![Ask::Step(request)]
    }

    /// A writer gives up rather than to wait.
    pub fn give_up(&mut self) -> Option<Vec<Ask>> {
        let commit = self.commit.as_mut()?;
        self.obstacle = None;
        let requests = commit.abort();
        self.after_commit(requests).into()
    }

    pub fn receive(&mut self, ask: &Ask, answer: &Answer) -> Vec<Ask> {
        match (ask, answer) {
            (Ask::Clock, Answer::Clock(time, version)) => self.begin(*time, *version),
            // The index is being built: what commits from now on maintains it.
            (Ask::Define(_), Answer::Clock(..)) => vec![Ask::Clock],
            (Ask::Read(row, at), Answer::Row(value, locks)) => {
                match locks.iter().find(|lock| must_resolve(lock, *at)) {
                    Some(lock) => self.meet(*row, lock.clone()),
                    None => {
                        self.values.insert(*row, *value);
                        self.after_reads()
                    }
                }
            }
            (Ask::Step(request), Answer::Step(reply)) => self.stepped(request, reply),
            _ => unreachable!("{ask:?} has another kind of answer"),
        }
    }

    fn begin(&mut self, time: Time, version: u64) -> Vec<Ask> {
        self.start = Some(time);
        match self.task.clone() {
            Task::Write { changes, indexed } => {
                let mut all = changes;
                if let (Some((row, entry)), true) = (indexed, version > 1)
                    && let Some(change) = all.get(&row).cloned()
                {
                    all.insert(entry, change);
                }
                self.commit(time, version, all)
            }
            Task::Read { rows } => rows.iter().map(|row| Ask::Read(*row, time)).take(1).collect(),
            Task::Define { of } => vec![Ask::Read(of.0, time)],
        }
    }

    fn commit(&mut self, start: Time, version: u64, changes: BTreeMap<Row, Change<Value>>) -> Vec<Ask> {
        let mut commit =
            Commit::new(self.id, (start, start), version, changes).expect("it changes something");
        let requests = commit.begin();
        self.commit = Some(commit);
        requests.into_iter().map(Ask::Step).collect()
    }

    /// Rows are read one after the other.
    fn after_reads(&mut self) -> Vec<Ask> {
        let time = self.start.expect("it has begun");
        match self.task.clone() {
            Task::Read { rows } => match rows.iter().find(|row| !self.values.contains_key(row)) {
                Some(row) => vec![Ask::Read(*row, time)],
                None => {
                    self.end = Some(End::Read(time, self.values.clone()));
                    self.is_over = true;
                    Vec::new()
                }
            },
            Task::Define { of } => match self.values[&of.0] {
                Some(value) => self.commit(time, 2, [(of.1, Change::Put(value))].into()),
                None => {
                    self.end = Some(End::Defined);
                    self.is_over = true;
                    Vec::new()
                }
            },
            Task::Write { .. } => Vec::new(),
        }
    }

    fn meet(&mut self, row: Row, lock: Lock<Row, Value>) -> Vec<Ask> {
        let mut resolve = Resolve::new(row, lock);
        let request = resolve.ask();
        self.obstacle = Some(Obstacle { row, resolve });
        vec![Ask::Step(request)]
    }

    fn stepped(&mut self, request: &Req, reply: &Rep) -> Vec<Ask> {
        let of_resolution = match (&self.obstacle, request) {
            (
                Some(_),
                Request::Outcome { id, .. } | Request::RollBack { id, .. } | Request::Unlock { id, .. },
            ) => *id != self.id,
            (Some(_), Request::Commit { lock, .. }) => lock.id != self.id,
            (Some(_), Request::Tick { version: None }) => true,
            _ => false,
        };
        if of_resolution {
            return self.resolved(request, reply);
        }
        let Some(commit) = self.commit.as_mut() else {
            return Vec::new();
        };
        let requests = commit.receive(request, reply);
        self.after_commit(requests)
    }

    fn resolved(&mut self, request: &Req, reply: &Rep) -> Vec<Ask> {
        let obstacle = self.obstacle.as_mut().expect("it resolves a lock");
        if let Some(next) = obstacle.resolve.receive(request, reply) {
            return vec![Ask::Step(next)];
        }
        if obstacle.resolve.state() != Resolved::Gone {
            return Vec::new();
        }
        let row = obstacle.row;
        self.obstacle = None;
        match (self.commit.as_mut(), self.start) {
            (Some(commit), _) => {
                let requests = commit.again(&row);
                self.after_commit(requests)
            }
            (None, Some(at)) => vec![Ask::Read(row, at)],
            (None, None) => Vec::new(),
        }
    }

    fn after_commit(&mut self, requests: Vec<Req>) -> Vec<Ask> {
        let mut asks: Vec<Ask> = requests.into_iter().map(Ask::Step).collect();
        let Some(commit) = &self.commit else {
            return asks;
        };
        match (commit.progress(), &self.task) {
            (Progress::Undecided, _) => {}
            // A newer transaction has made the entry.
            (Progress::Committed(_) | Progress::Aborted(Aborted::Conflict(_)), Task::Define { .. }) => {
                self.end = Some(End::Defined);
            }
            (Progress::Committed(at), _) => self.end = Some(End::Committed(*at)),
            (Progress::Aborted(why), _) => self.end = Some(End::Aborted(why.clone())),
        }
        self.is_over = commit.is_over();
        if self.obstacle.is_none()
            && let Some((row, lock)) = commit.blocked().iter().next()
        {
            let (row, lock) = (*row, lock.clone());
            asks.extend(self.meet(row, lock));
        }
        asks
    }
}
