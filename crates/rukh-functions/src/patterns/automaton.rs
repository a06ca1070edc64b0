//! Where a part of a pattern may end that begins at a place, or begin that ends there.
//!
//! Each part has an automaton without memory for each direction; it is in several of its states at once. A back reference is taken for any
//! text: the matcher compares.

use std::rc::Rc;

use rukh_error::SqlError;

use super::options::invalid;
use super::tree::{Constraint, Node, Part, Set};

/// The most states of an automaton.
const STATES_MAX: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

#[derive(Debug)]
enum State {
    /// A character of a set, or any, leads on.
    One(Option<Rc<Set>>, usize),
    /// Leads on to several without a character.
    Either(Vec<usize>),
    /// Leads on where a constraint holds.
    Holds(Constraint, usize),
    /// Leads on where something stands around, or does not.
    Around {
        inner: Box<Automaton>,
        is_negated: bool,
        next: usize,
    },
    End,
}

#[derive(Debug)]
pub(super) struct Automaton {
    states: Vec<State>,
    start: usize,
    direction: Direction,
}

/// The end of every automaton.
const END: usize = 0;

impl Automaton {
    /// Makes the automaton of parts, one behind the other.
    ///
    /// # Errors
    /// 2201B if it would have too many states.
    pub fn of(parts: &[Part], direction: Direction) -> Result<Automaton, SqlError> {
        Automaton::made(direction, |made| made.concat(parts.iter(), END))
    }

    /// Makes the automaton of a part that comes at least `min` times and at most `max` times.
    ///
    /// # Errors
    /// As [`Automaton::of`].
    pub fn of_repeats(
        part: &Part,
        (min, max): (u32, Option<u32>),
        direction: Direction,
    ) -> Result<Automaton, SqlError> {
        Automaton::made(direction, |made| made.repeated(part, min, max, END))
    }

    fn made(
        direction: Direction,
        make: impl FnOnce(&mut Self) -> Result<usize, SqlError>,
    ) -> Result<Automaton, SqlError> {
        let mut made = Automaton {
            states: vec![State::End],
            start: END,
            direction,
        };
        made.start = make(&mut made)?;
        Ok(made)
    }

    fn push(&mut self, state: State) -> Result<usize, SqlError> {
        if self.states.len() >= STATES_MAX {
            return Err(invalid("regular expression is too complex"));
        }
        self.states.push(state);
        Ok(self.states.len().saturating_sub(1))
    }

    /// Adds states that lead on to `next`; returns the first.
    fn add(&mut self, part: &Part, next: usize) -> Result<usize, SqlError> {
        match &part.node {
            Node::Empty => Ok(next),
            Node::One(set) => self.push(State::One(Some(set.clone()), next)),
            Node::Constraint(constraint) => self.push(State::Holds(*constraint, next)),
            Node::Around {
                inner,
                is_ahead,
                is_negated,
            } => {
                let direction = match is_ahead {
                    true => Direction::Forward,
                    false => Direction::Backward,
                };
                let inner = Box::new(Automaton::made(direction, |made| made.add(inner, END))?);
                let is_negated = *is_negated;
                self.push(State::Around {
                    inner,
                    is_negated,
                    next,
                })
            }
            Node::Group(_, inner) => self.add(inner, next),
            Node::Concat(parts) => self.concat(parts.iter(), next),
            Node::Alternatives(parts) => {
                let starts = parts.iter().map(|part| self.add(part, next));
                let starts = starts.collect::<Result<Vec<_>, SqlError>>()?;
                self.push(State::Either(starts))
            }
            Node::Repeat { inner, min, max, .. } => self.repeated(inner, *min, *max, next),
            Node::Back(_) => {
                let again = self.push(State::Either(vec![next]))?;
                let any = self.push(State::One(None, again))?;
                self.lead(again, any);
                Ok(again)
            }
        }
    }

    /// Has a state lead on to another one, too.
    fn lead(&mut self, from: usize, to: usize) {
        if let Some(State::Either(all)) = self.states.get_mut(from) {
            all.push(to);
        }
    }

    fn concat<'p>(
        &mut self,
        parts: impl DoubleEndedIterator<Item = &'p Part>,
        next: usize,
    ) -> Result<usize, SqlError> {
        // What comes first is added last.
        match self.direction {
            Direction::Forward => parts.rev().try_fold(next, |next, part| self.add(part, next)),
            Direction::Backward => parts
                .into_iter()
                .try_fold(next, |next, part| self.add(part, next)),
        }
    }

    fn repeated(&mut self, part: &Part, min: u32, max: Option<u32>, next: usize) -> Result<usize, SqlError> {
        let mut start = match max {
            None => {
                let again = self.push(State::Either(vec![next]))?;
                let inner = self.add(part, again)?;
                self.lead(again, inner);
                again
            }
            Some(max) => {
                let mut start = next;
                for _ in min..max {
                    let inner = self.add(part, start)?;
                    start = self.push(State::Either(vec![inner, next]))?;
                }
                start
            }
        };
        for _ in 0..min {
            start = self.add(part, start)?;
        }
        Ok(start)
    }

    /// Calls for each place where the automaton ends that begins at `from`, up to `to`, from the nearest on, until that returns false.
    pub fn ends(&self, text: &str, from: usize, to: usize, mut each: impl FnMut(usize) -> bool) {
        // The step in which a state was reached last.
        let mut reached = vec![0_usize; self.states.len()];
        let mut open = vec![self.start];
        let mut moving = Vec::new();
        let (mut at, mut step) = (from, 0_usize);
        loop {
            step = step.saturating_add(1);
            moving.clear();
            let mut ends_here = false;
            while let Some(state) = open.pop() {
                if std::mem::replace(&mut reached[state], step) == step {
                    continue;
                }
                match &self.states[state] {
                    State::End => ends_here = true,
                    State::One(..) => moving.push(state),
                    State::Either(all) => open.extend(all),
                    State::Holds(constraint, next) => {
                        if constraint.holds(text, at) {
                            open.push(*next);
                        }
                    }
                    State::Around {
                        inner,
                        is_negated,
                        next,
                    } => {
                        if inner.is_anywhere(text, at) != *is_negated {
                            open.push(*next);
                        }
                    }
                }
            }
            if ends_here && !each(at) || at == to || moving.is_empty() {
                return;
            }
            let next = match self.direction {
                Direction::Forward => text[at..].chars().next(),
                Direction::Backward => text[..at].chars().next_back(),
            };
            let Some(character) = next else {
                return;
            };
            for state in &moving {
                if let State::One(set, next) = &self.states[*state]
                    && set.as_ref().is_none_or(|set| set.has(character))
                {
                    open.push(*next);
                }
            }
            at = match self.direction {
                Direction::Forward => at.saturating_add(character.len_utf8()),
                Direction::Backward => at.saturating_sub(character.len_utf8()),
            };
        }
    }

    /// Whether the automaton ends anywhere from a place on.
    fn is_anywhere(&self, text: &str, at: usize) -> bool {
        let end = match self.direction {
            Direction::Forward => text.len(),
            Direction::Backward => 0,
        };
        let mut any = false;
        self.ends(text, at, end, |_| {
            any = true;
            false
        });
        any
    }
}
