//! Matches of a pattern, and of its groups.
//!
//! The leftmost match counts, of those that begin there the longest or the shortest, as the pattern prefers. Within it each part takes as much
//! or as little as it prefers, those before others first. So the text of a part is divided where the automata of what comes
//! before and of what comes behind both allow it.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use rukh_error::SqlError;

use super::automaton::{Automaton, Direction};
use super::options::{Options, invalid};
use super::read::{Read, read};
use super::spell::spelled;
use super::tree::{Node, Part, Preference};

/// How many divisions are tried for back references, where more than one may have to be.
const TRIES_MAX: usize = 1_000_000;

/// How deep these go.
const DEPTH_MAX: usize = 500;

/// A regular expression that is ready to match.
#[derive(Debug)]
pub struct Pattern {
    root: Part,
    groups: usize,
    options: Options,
    is_plain: bool,
    /// Whether and from where on the pattern matches; `None` of what the crate `regex` does not have.
    finder: Option<regex::Regex>,
    automata: Automata,
}

/// What an automaton is of: a part by its number, and what stands behind it in its concatenation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Of {
    Part(usize),
    /// From the end to where a part of a concatenation and those behind it may begin.
    Behind(usize),
    /// From the end to where so many repeats of a part may begin.
    Repeats(usize, u32, Option<u32>),
    /// From the beginning to where so many repeats may end.
    Others(usize, u32, Option<u32>),
}

/// Automata that have been made.
#[derive(Debug, Default)]
struct Automata(RefCell<HashMap<Of, Rc<Automaton>>>);

impl Automata {
    fn get(
        &self,
        of: Of,
        make: impl FnOnce() -> Result<Automaton, SqlError>,
    ) -> Result<Rc<Automaton>, SqlError> {
        if let Some(made) = self.0.borrow().get(&of) {
            return Ok(made.clone());
        }
        let made = Rc::new(make()?);
        self.0.borrow_mut().insert(of, made.clone());
        Ok(made)
    }

    fn of(&self, part: &Part) -> Result<Rc<Automaton>, SqlError> {
        self.get(Of::Part(part.id), || {
            Automaton::of(std::slice::from_ref(part), Direction::Forward)
        })
    }

    fn behind(&self, parts: &[Part]) -> Result<Rc<Automaton>, SqlError> {
        let first = parts.first().map_or(usize::MAX, |part| part.id);
        self.get(Of::Behind(first), || Automaton::of(parts, Direction::Backward))
    }

    fn others(&self, part: &Part, (min, max): (u32, Option<u32>)) -> Result<Rc<Automaton>, SqlError> {
        self.get(Of::Others(part.id, min, max), || {
            Automaton::of_repeats(part, (min, max), Direction::Forward)
        })
    }

    fn repeats(&self, part: &Part, min: u32, max: Option<u32>) -> Result<Rc<Automaton>, SqlError> {
        self.get(Of::Repeats(part.id, min, max), || {
            Automaton::of_repeats(part, (min, max), Direction::Backward)
        })
    }
}

/// What a pattern has matched: bytes from and to, of the whole and of each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captures {
    groups: Vec<Option<(usize, usize)>>,
}

impl Captures {
    /// Returns where the whole match begins and ends.
    pub fn whole(&self) -> (usize, usize) {
        self.get(0).unwrap_or((0, 0))
    }

    /// Returns where the match of a group begins and ends; that of 0 is the whole.
    pub fn get(&self, group: usize) -> Option<(usize, usize)> {
        self.groups.get(group).copied().flatten()
    }

    /// Returns the text of a group.
    pub fn text<'t>(&self, text: &'t str, group: usize) -> Option<&'t str> {
        self.get(group).and_then(|(from, to)| text.get(from..to))
    }
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// 2201B where it is none, or too complex.
    pub fn read(text: &str, options: Options) -> Result<Pattern, SqlError> {
        let Read {
            root,
            groups,
            options,
            is_plain,
        } = read(text, options)?;
        let finder = match spelled(&root) {
            Some(spelling) => {
                let built = regex::RegexBuilder::new(&spelling).build();
                Some(built.map_err(|_| invalid("regular expression is too complex"))?)
            }
            None => None,
        };
        Ok(Pattern {
            root,
            groups,
            options,
            is_plain,
            finder,
            automata: Automata::default(),
        })
    }

    /// Whether the crate `regex` takes the pattern, as it is written, to match the same texts.
    pub fn is_plain(&self) -> bool {
        self.is_plain && self.finder.is_some()
    }

    /// Returns how many groups there are.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Whether it matches anywhere in a text.
    ///
    /// # Errors
    /// 54000 if back references take too long.
    pub fn is_match(&self, text: &str) -> Result<bool, SqlError> {
        match &self.finder {
            Some(finder) => Ok(finder.is_match(text)),
            None => Ok(self.captures_at(text, 0)?.is_some()),
        }
    }

    /// Returns the first match from a byte on. What stands before it is looked at where the pattern asks.
    ///
    /// # Errors
    /// 54000 if back references take too long.
    pub fn captures_at(&self, text: &str, from: usize) -> Result<Option<Captures>, SqlError> {
        let whole = self.automata.of(&self.root)?;
        let mut search = Search {
            text,
            options: self.options,
            automata: &self.automata,
            tries: 0,
        };
        let mut at = from;
        loop {
            if let Some(finder) = &self.finder {
                match finder.find_at(text, at) {
                    Some(found) => at = found.start(),
                    None => return Ok(None),
                }
            }
            let prefers_shortest = self.root.preference == Some(Preference::Shortest);
            let mut ends = Vec::new();
            whole.ends(text, at, text.len(), |end| {
                ends.push(end);
                // A back reference may not be what the automaton takes it for.
                !prefers_shortest || self.root.has_back
            });
            if !prefers_shortest {
                ends.reverse();
            }
            if !self.root.has_back {
                ends.truncate(1);
            }
            for end in ends {
                let mut groups = vec![None; self.groups.saturating_add(1)];
                groups[0] = Some((at, end));
                if search.divide(&self.root, at, end, &mut groups, 0, &mut |_, _| Ok(true))? {
                    return Ok(Some(Captures { groups }));
                }
            }
            match text[at..].chars().next() {
                Some(character) => at = at.saturating_add(character.len_utf8()),
                None => return Ok(None),
            }
        }
    }
}

type Groups = Vec<Option<(usize, usize)>>;

/// What is done when a part has been divided: the rest.
type Rest<'r, 't> = dyn FnMut(&mut Search<'t>, &mut Groups) -> Result<bool, SqlError> + 'r;

struct Search<'t> {
    text: &'t str,
    options: Options,
    automata: &'t Automata,
    tries: usize,
}

impl<'t> Search<'t> {
    fn places(&self, automaton: &Automaton, from: usize, to: usize) -> Vec<usize> {
        let mut places = Vec::new();
        automaton.ends(self.text, from, to, |place| {
            places.push(place);
            true
        });
        places
    }

    /// Divides the text from a place to another among the groups of a part, which may match it, and goes on with the rest.
    fn divide(
        &mut self,
        part: &Part,
        from: usize,
        to: usize,
        groups: &mut Groups,
        depth: usize,
        rest: &mut Rest<'_, 't>,
    ) -> Result<bool, SqlError> {
        if !part.has_groups {
            return rest(self, groups);
        }
        self.tries = self.tries.saturating_add(1);
        if self.tries > TRIES_MAX || depth > DEPTH_MAX {
            return Err(SqlError::statement(
                "54000",
                "a regular expression with back references takes too many steps",
            ));
        }
        let depth = depth.saturating_add(usize::from(part.has_back));
        match &part.node {
            Node::Group(number, inner) => {
                let number = *number;
                let before = groups[number];
                let is_found = self.divide(inner, from, to, groups, depth, &mut |search, groups| {
                    groups[number] = Some((from, to));
                    rest(search, groups)
                })?;
                if !is_found {
                    groups[number] = before;
                }
                Ok(is_found)
            }
            Node::Back(number) => match groups[*number] {
                Some((first, last)) if self.is_same((first, last), (from, to)) => rest(self, groups),
                _ => Ok(false),
            },
            Node::Concat(parts) => self.concat(parts, from, to, groups, depth, rest),
            Node::Alternatives(parts) => {
                for part in parts {
                    let automaton = self.automata.of(part)?;
                    let may_end = self.places(&automaton, from, to).last() == Some(&to);
                    if may_end && self.divide(part, from, to, groups, depth, rest)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Node::Repeat {
                inner,
                min,
                max,
                is_greedy,
            } => self.repeats(inner, (*min, *max, *is_greedy), (from, to), groups, depth, rest),
            _ => rest(self, groups),
        }
    }

    /// Divides a text among repeats of a part, as `cdissect` of PostgreSQL does. Without back references only the last of them counts.
    fn repeats(
        &mut self,
        inner: &Part,
        (min, max, is_greedy): (u32, Option<u32>, Option<bool>),
        (from, to): (usize, usize),
        groups: &mut Groups,
        depth: usize,
        rest: &mut Rest<'_, 't>,
    ) -> Result<bool, SqlError> {
        if let Node::Back(number) = inner.node
            && groups[number].is_none()
        {
            // What has matched nothing is not there, not even no times.
            return Ok(false);
        }
        let takes_least = inner.preference == Some(Preference::Shortest);
        if min > 0 && !inner.has_back {
            // All but the last, and the last.
            let others = (min.saturating_sub(1), max.map(|max| max.saturating_sub(1)));
            let others = self.automata.others(inner, others)?;
            let last = self.automata.behind(std::slice::from_ref(inner))?;
            let places = self.meeting(&others, &last, from, to);
            let place = match is_greedy.map_or(takes_least, |is_greedy| !is_greedy) {
                true => places.first(),
                false => places.last(),
            };
            let Some(place) = place.copied() else {
                return Ok(false);
            };
            forget(inner, groups);
            return self.divide(inner, place, to, groups, depth, rest);
        }
        let repeats = Repeats {
            part: inner,
            min: min.max(1),
            max,
            takes_least,
            one: self.automata.of(inner)?,
        };
        if min == 0 && from == to && takes_least {
            return rest(self, groups);
        }
        let is_found = match inner.has_back {
            true => self.repeat(&repeats, 0, (from, to), groups, depth, rest)?,
            false => match self.last_repeat(&repeats, from, to)? {
                Some((last, to)) => {
                    forget(inner, groups);
                    self.divide(inner, last, to, groups, depth, rest)?
                }
                None => false,
            },
        };
        // No repeat at all is the last resort, so that groups have matched nothing rather than not at all.
        match !is_found && min == 0 && from == to {
            true => rest(self, groups),
            false => Ok(is_found),
        }
    }

    /// Returns the places where what begins at `from` may end and what ends at `to` may begin, from the first on.
    fn meeting(&self, before: &Automaton, behind: &Automaton, from: usize, to: usize) -> Vec<usize> {
        let mut begins = self.places(behind, to, from);
        begins.reverse();
        let ends = self.places(before, from, to).into_iter();
        ends.filter(|end| begins.binary_search(end).is_ok()).collect()
    }

    /// Divides a text among parts, one behind the other.
    fn concat(
        &mut self,
        parts: &[Part],
        from: usize,
        to: usize,
        groups: &mut Groups,
        depth: usize,
        rest: &mut Rest<'_, 't>,
    ) -> Result<bool, SqlError> {
        let (first, others) = match parts {
            [] => return rest(self, groups),
            [only] => return self.divide(only, from, to, groups, depth, rest),
            [first, others @ ..] => (first, others),
        };
        if let (Node::Back(number), false) = (&first.node, self.options.ignores_case) {
            // It is as long as what it refers to.
            let length = groups[*number].map(|(first, last)| last.saturating_sub(first));
            let place = length.map(|length| from.saturating_add(length));
            let begins = self.places(&*self.automata.behind(others)?, to, from);
            return match place.filter(|place| begins.contains(place)) {
                Some(place) => self.divide(first, from, place, groups, depth, &mut |search, groups| {
                    search.concat(others, place, to, groups, depth, rest)
                }),
                None => Ok(false),
            };
        }
        let before = self.automata.of(first)?;
        let behind = self.automata.behind(others)?;
        let mut places = self.meeting(&before, &behind, from, to);
        if first.preference != Some(Preference::Shortest) {
            places.reverse();
        }
        for place in places {
            let is_found = self.divide(first, from, place, groups, depth, &mut |search, groups| {
                search.concat(others, place, to, groups, depth, rest)
            })?;
            // Without back references the first division is one.
            if is_found || !first.has_back && others.iter().all(|part| !part.has_back) {
                return Ok(is_found);
            }
        }
        Ok(false)
    }

    /// Returns from where to where the last of the repeats matches.
    fn last_repeat(
        &self,
        repeats: &Repeats<'_>,
        from: usize,
        to: usize,
    ) -> Result<Option<(usize, usize)>, SqlError> {
        let (mut at, mut count) = (from, 0_u32);
        // Where the rest may begin, once there have been as many as there have to be and there may be any number.
        let without_end = OnceCell::new();
        loop {
            let left = repeats.min.saturating_sub(count.saturating_add(1));
            let most = repeats.max.map(|max| max.saturating_sub(count.saturating_add(1)));
            let begins_of = || -> Result<Vec<usize>, SqlError> {
                let others = self.automata.repeats(repeats.part, left, most)?;
                let mut begins = self.places(&others, to, at);
                begins.reverse();
                Ok(begins)
            };
            let begins = match (left, most) {
                (0, None) => match without_end.get() {
                    Some(begins) => begins,
                    None => {
                        let begins = begins_of()?;
                        without_end.get_or_init(|| begins)
                    }
                },
                _ => &begins_of()?,
            };
            // A repeat of nothing comes only where there have to be more.
            let is_next =
                |end: &usize| (*end > at || left > 0 || at == to) && begins.binary_search(end).is_ok();
            let mut ends = self.places(&repeats.one, at, to).into_iter().filter(is_next);
            let next = match repeats.takes_least {
                true => ends.next(),
                false => ends.next_back(),
            };
            let Some(next) = next else {
                return Ok(None);
            };
            count = count.saturating_add(1);
            if next == to && count >= repeats.min {
                return Ok(Some((at, next)));
            }
            at = next;
        }
    }

    /// Divides a text among repeats that refer back to groups.
    fn repeat(
        &mut self,
        repeats: &Repeats<'_>,
        count: u32,
        (from, to): (usize, usize),
        groups: &mut Groups,
        depth: usize,
        rest: &mut Rest<'_, 't>,
    ) -> Result<bool, SqlError> {
        if from == to && count >= repeats.min {
            return rest(self, groups);
        }
        if repeats.max.is_some_and(|max| count >= max) {
            return Ok(false);
        }
        let needs_more = count.saturating_add(1) < repeats.min;
        let mut ends = self.places(&repeats.one, from, to);
        if !repeats.takes_least {
            ends.reverse();
        }
        for end in ends {
            if end == from && !needs_more && from != to {
                continue;
            }
            let before = groups.clone();
            forget(repeats.part, groups);
            let deeper = depth.saturating_add(1);
            let is_found = self.divide(repeats.part, from, end, groups, deeper, &mut |search, groups| {
                search.repeat(repeats, count.saturating_add(1), (end, to), groups, deeper, rest)
            })?;
            if is_found {
                return Ok(true);
            }
            *groups = before;
        }
        Ok(false)
    }

    /// Whether two pieces of the text are the same, in any case of letters if the options say so.
    fn is_same(&self, (first, last): (usize, usize), (from, to): (usize, usize)) -> bool {
        let (one, other) = (self.text.get(first..last), self.text.get(from..to));
        match self.options.ignores_case {
            false => one == other,
            true => {
                let folded = |text: Option<&str>| text.map(str::to_lowercase);
                folded(one) == folded(other)
            }
        }
    }
}

struct Repeats<'p> {
    part: &'p Part,
    min: u32,
    max: Option<u32>,
    takes_least: bool,
    one: Rc<Automaton>,
}

/// Takes back what groups of a part have matched.
fn forget(part: &Part, groups: &mut Groups) {
    match &part.node {
        Node::Group(number, inner) => {
            groups[*number] = None;
            forget(inner, groups);
        }
        Node::Concat(parts) | Node::Alternatives(parts) => parts.iter().for_each(|part| forget(part, groups)),
        Node::Repeat { inner, .. } => forget(inner, groups),
        _ => {}
    }
}
