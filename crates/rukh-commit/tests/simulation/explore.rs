//! The search through all states.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use rukh_commit::{Change, Request, TransactionId};

use crate::process::{Ask, End, Process, Task};
use crate::store::{Fault, Row, Store, Value};

/// What is tried.
#[derive(Clone, Debug)]
pub struct Case {
    pub tasks: Vec<Task>,
    /// Processes that may die.
    pub crashes: u8,
    /// Messages that may arrive twice, the second time at any time.
    pub doubles: u8,
    /// Answers that may be lost, so that the request is sent again.
    pub losses: u8,
    /// Whether records expire that are older than all that runs.
    pub expires: bool,
}

impl Case {
    pub fn of(tasks: Vec<Task>) -> Case {
        Case {
            tasks,
            crashes: 0,
            doubles: 0,
            losses: 0,
            expires: false,
        }
    }
}

/// A message on its way; of a process that is dead, or that has its answer, none waits for the answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Message {
    from: Option<usize>,
    ask: Ask,
    /// The start of the transaction that sent it.
    start: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    store: Store,
    processes: Vec<Process>,
    messages: Vec<Message>,
    crashes: u8,
    doubles: u8,
    losses: u8,
}

/// What went wrong, and the steps to it.
#[derive(Debug)]
pub struct Trouble {
    pub what: String,
    steps: Vec<String>,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step}"))
    }
}

/// Tries everything; returns how many states there are.
pub fn explore(case: &Case, fault: Option<Fault>) -> Result<usize, Trouble> {
    let mut state = State {
        store: Store {
            time: 1,
            version: 1,
            fault,
            ..Store::default()
        },
        processes: Vec::new(),
        messages: Vec::new(),
        crashes: case.crashes,
        doubles: case.doubles,
        losses: case.losses,
    };
    for (at, task) in case.tasks.iter().enumerate() {
        let (process, asks) = Process::new(at as u128 + 1, task.clone());
        state.processes.push(process);
        state.send(at, asks);
    }
    let mut search = Search {
        case,
        seen: HashSet::new(),
        steps: Vec::new(),
    };
    search.from(state)?;
    Ok(search.seen.len())
}

struct Search<'c> {
    case: &'c Case,
    seen: HashSet<u64>,
    steps: Vec<String>,
}

impl Search<'_> {
    fn from(&mut self, mut state: State) -> Result<(), Trouble> {
        state.messages.sort();
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            return Ok(());
        }
        self.check(&state)?;
        let mut is_end = true;
        for at in 0..state.messages.len() {
            if at > 0 && state.messages[at] == state.messages[at - 1] {
                continue;
            }
            is_end &= state.messages[at].from.is_none();
            self.deliver(&state, at)?;
        }
        for at in 0..state.processes.len() {
            if state.processes[at].is_over {
                continue;
            }
            if state.processes[at].waits() {
                is_end = false;
                self.wait(&state, at)?;
            }
            if state.crashes > 0 {
                self.crash(&state, at)?;
            }
        }
        if self.case.expires {
            let mut next = state.clone();
            if next.store.expire(state.horizon()) {
                self.step("records expire".to_owned(), next)?;
            }
        }
        match is_end {
            true => self.recover(&state),
            false => Ok(()),
        }
    }

    fn step(&mut self, text: String, state: State) -> Result<(), Trouble> {
        self.steps.push(text);
        self.from(state)?;
        self.steps.pop();
        Ok(())
    }

    fn trouble(&self, what: String) -> Trouble {
        Trouble {
            what,
            steps: self.steps.clone(),
        }
    }

    fn deliver(&mut self, state: &State, at: usize) -> Result<(), Trouble> {
        let Message { from, ask, .. } = state.messages[at].clone();
        let mut next = state.clone();
        let message = next.messages.remove(at);
        let answer = next.store.answer(&ask);
        let Some(from) = from else {
            if self.case.expires {
                let mut lost = state.clone();
                lost.messages.remove(at);
                self.step(format!("never: {ask:?}"), lost)?;
            }
            return self.step(format!("late: {ask:?}"), next);
        };
        if state.losses > 0 && matches!(ask, Ask::Step(_)) {
            let mut lost = next.clone();
            lost.losses -= 1;
            lost.messages.push(message.clone());
            self.step(format!("{from}: {ask:?}, its answer is lost"), lost)?;
        }
        let asks = next.processes[from].receive(&ask, &answer);
        next.send(from, asks);
        if state.doubles > 0 && matches!(ask, Ask::Step(_)) {
            let mut twice = next.clone();
            twice.doubles -= 1;
            twice.messages.push(Message {
                from: None,
                ..message.clone()
            });
            self.step(format!("{from}: {ask:?}, which is doubled"), twice)?;
        }
        self.step(format!("{from}: {ask:?}"), next)?;
        // The fault: a lock that is on its way is said to be there.
        if state.store.fault == Some(Fault::CommitBeforeAllLocks)
            && let Ask::Step(Request::Lock { .. }) = &ask
        {
            let mut next = state.clone();
            next.messages[at].from = None;
            let done = crate::process::Answer::Step(rukh_commit::Reply::Done);
            let asks = next.processes[from].receive(&ask, &done);
            next.send(from, asks);
            self.step(format!("{from}: {ask:?} is answered before it arrives"), next)?;
        }
        Ok(())
    }

    /// A process that waits for another asks again, takes it for dead, or gives up.
    fn wait(&mut self, state: &State, at: usize) -> Result<(), Trouble> {
        for is_dead in [false, true] {
            let mut next = state.clone();
            let asks = next.processes[at].go_on(is_dead);
            next.send(at, asks);
            let text = if is_dead {
                "takes the owner for dead"
            } else {
                "asks again"
            };
            self.step(format!("{at}: {text}"), next)?;
        }
        let mut next = state.clone();
        if let Some(asks) = next.processes[at].give_up() {
            next.send(at, asks);
            self.step(format!("{at}: gives up"), next)?;
        }
        Ok(())
    }

    /// A process dies; what it has sent may arrive or not.
    fn crash(&mut self, state: &State, at: usize) -> Result<(), Trouble> {
        let mut next = state.clone();
        next.crashes -= 1;
        let process = &mut next.processes[at];
        process.is_over = true;
        process.end.get_or_insert(End::Crashed);
        for message in &mut next.messages {
            if message.from == Some(at) {
                message.from = None;
            }
        }
        self.step(format!("{at}: dies"), next)
    }

    /// Checks what must hold in every state.
    fn check(&self, state: &State) -> Result<(), Trouble> {
        for (at, process) in state.processes.iter().enumerate() {
            let committed = state.store.committed.get(&process.id);
            match &process.end {
                Some(End::Committed(time)) if committed != Some(time) => {
                    return Err(self.trouble(format!("{at} was told of a commit at {time}: {committed:?}")));
                }
                Some(End::Aborted(why)) if committed.is_some() => {
                    return Err(self.trouble(format!("{at} was told of {why:?}, and is committed")));
                }
                Some(End::Read(time, values)) => {
                    for (row, value) in values {
                        let expected = state.expected(&self.case.tasks, *row, *time);
                        if *value != expected {
                            return Err(self.trouble(format!(
                                "{at} read {value:?} in row {row} at {time}, which has {expected:?}"
                            )));
                        }
                    }
                }
                _ => {}
            }
        }
        let writers = || state.processes.iter().zip(&self.case.tasks);
        let spans = writers().filter_map(|(process, task)| match task {
            Task::Write { changes, .. } => {
                let at = *state.store.committed.get(&process.id)?;
                Some((process.start?, at, changes))
            }
            _ => None,
        });
        let spans: Vec<_> = spans.collect();
        for (at, (start, end, changes)) in spans.iter().enumerate() {
            for (other_start, other_end, others) in &spans[..at] {
                let meet = changes.iter().any(|(row, change)| {
                    let other = others.get(row);
                    *change != Change::Keep && other.is_some_and(|other| *other != Change::Keep)
                });
                if meet && start < other_end && other_start < end {
                    return Err(self.trouble(format!(
                        "{start} to {end} and {other_start} to {other_end} have changed one row"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Reads all rows where nothing goes on, as a process would that comes later.
    fn recover(&self, state: &State) -> Result<(), Trouble> {
        let mut store = state.store.clone();
        // Locks of the dead are resolved under the conditions of a reader at the newest snapshot.
        store.fault = store.fault.filter(|fault| *fault != Fault::OldLocksIgnored);
        store.time += 1;
        let snapshot = store.time;
        let rows: Vec<Row> = store.rows.keys().copied().collect();
        let (mut reader, asks) = Process::new(1000, Task::Read { rows: rows.clone() });
        let mut queue = asks;
        let mut turns = 0;
        while let Some(ask) = queue.pop() {
            turns += 1;
            if turns > 1000 {
                return Err(self.trouble("a reader does not come to an end".to_owned()));
            }
            let answer = store.answer(&ask);
            queue.extend(reader.receive(&ask, &answer));
            if reader.waits() {
                queue.extend(reader.go_on(true));
            }
        }
        let Some(End::Read(_, values)) = &reader.end else {
            return match rows.is_empty() {
                true => Ok(()),
                false => Err(self.trouble("a reader has no end".to_owned())),
            };
        };
        for (row, value) in values {
            let expected = state.expected(&self.case.tasks, *row, snapshot);
            if *value != expected {
                return Err(self.trouble(format!("row {row} has {value:?} in the end, not {expected:?}")));
            }
        }
        self.check_index(state, values)
    }

    fn check_index(&self, state: &State, values: &BTreeMap<Row, Option<Value>>) -> Result<(), Trouble> {
        for (process, task) in state.processes.iter().zip(&self.case.tasks) {
            if let (Task::Define { of }, Some(End::Defined)) = (task, &process.end) {
                let (row, entry) = (
                    values.get(&of.0).copied().flatten(),
                    values.get(&of.1).copied().flatten(),
                );
                if row != entry {
                    return Err(self.trouble(format!("the row has {row:?}, its index {entry:?}")));
                }
            }
        }
        Ok(())
    }
}

impl State {
    fn send(&mut self, from: usize, asks: Vec<Ask>) {
        let start = self.processes[from].start;
        self.messages.extend(asks.into_iter().map(|ask| Message {
            from: Some(from),
            ask,
            start,
        }));
    }

    /// The oldest start of what runs or is on its way.
    fn horizon(&self) -> u64 {
        let running = self.processes.iter().filter(|process| !process.is_over);
        let running = running.map(|process| process.start.unwrap_or(self.store.time));
        let late = self
            .messages
            .iter()
            .map(|message| message.start.unwrap_or(self.store.time));
        running.chain(late).min().unwrap_or(self.store.time)
    }

    /// The value of a row at a snapshot, by what was committed.
    fn expected(&self, tasks: &[Task], row: Row, snapshot: u64) -> Option<Value> {
        let mut newest = (0, None);
        for (at, task) in tasks.iter().enumerate() {
            let change = match task {
                Task::Write { changes, indexed } => {
                    let of_index = indexed.filter(|(_, entry)| *entry == row);
                    match of_index {
                        // The entry of an index is compared with its row instead.
                        Some(_) => return self.stored(row, snapshot),
                        None => changes.get(&row),
                    }
                }
                _ => None,
            };
            let time = self.store.committed.get(&TransactionId(at as u128 + 1));
            if let (Some(change), Some(time)) = (change, time)
                && *time <= snapshot
                && *time > newest.0
            {
                match change {
                    Change::Put(value) => newest = (*time, Some(*value)),
                    Change::Delete => newest = (*time, None),
                    Change::Keep => {}
                }
            }
        }
        newest.1
    }

    fn stored(&self, row: Row, snapshot: u64) -> Option<Value> {
        let mut store = self.store.clone();
        let (value, locks) = store.read(row, snapshot);
        // A lock of what is committed counts as its value.
        let of_lock = locks.iter().find_map(|lock| {
            let at = store.committed.get(&lock.id).copied()?;
            (at <= snapshot).then_some(match lock.change {
                Change::Put(value) => Some(value),
                _ => None,
            })
        });
        store.rows.clear();
        of_lock.unwrap_or(value)
    }
}
