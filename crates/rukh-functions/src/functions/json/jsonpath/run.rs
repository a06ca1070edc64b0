//! What a path finds in a document.
//!
//! In the mode `lax`, the usual one, a step takes the elements of an array where it wants something else, a value alone as an array of
//! one where it wants an array, and finds nothing where there is nothing. In the mode `strict` all of this is an error.

use std::borrow::Cow;
use std::cell::Cell;

use rukh_error::SqlError;
use rukh_keys::{Json, JsonNumber, Jsonb, JsonbKind};

use super::arithmetic::subscript;
use super::failure::{Failure, soft};
use super::item::Item;
use super::tree::{Chain, Head, Method, Path, Step};

/// How many values a path may find, and how many levels it may go down; a level takes about 1 KiB of the stack.
const FOUND_MAX: usize = 1 << 22;
const DEPTH_MAX: usize = 1_200;

/// How many steps it may take, of which there are many where `**` follows `**`.
const STEPS_MAX: u32 = 1 << 25;

/// Values that have been found.
pub(super) struct Found<'d> {
    items: Vec<Item<'d>>,
    /// Whether one is enough.
    only_first: bool,
}

impl<'d> Found<'d> {
    fn all() -> Found<'d> {
        Found {
            items: Vec::new(),
            only_first: false,
        }
    }

    pub fn first() -> Found<'d> {
        Found {
            items: Vec::new(),
            only_first: true,
        }
    }

    pub fn stops_at_first(&self) -> bool {
        self.only_first
    }

    fn push(&mut self, item: Item<'d>) -> Result<(), Failure> {
        if !self.only_first {
            if self.items.len() >= FOUND_MAX {
                let message = format!("a jsonpath finds more than {FOUND_MAX} values");
                return Err(Failure::Hard(SqlError::statement("54000", message)));
            }
            self.items.push(item);
        }
        Ok(())
    }
}

/// What `@` and `last` stand for, and how deep this is.
#[derive(Clone)]
pub(super) struct Scope<'d> {
    current: Item<'d>,
    /// The size of the array in whose subscript this is.
    size: usize,
    /// Whether members and elements that are not there are nothing, not an error.
    is_lenient: bool,
    /// Whether an error of the values does not end the statement.
    is_quiet: bool,
    depth: usize,
}

/// A path and a document in which it searches.
pub(crate) struct Search<'p, 'd> {
    path: &'p Path,
    document: Jsonb<'d>,
    variables: Jsonb<'d>,
    /// Whether moments with a zone compare with others, in UTC.
    pub(super) has_zone: bool,
    steps: Cell<u32>,
}

impl<'p, 'd> Search<'p, 'd> {
    /// Prepares a search.
    ///
    /// # Errors
    /// 22023 if the variables are no object.
    pub(crate) fn new(
        path: &'p Path,
        document: Jsonb<'d>,
        variables: Jsonb<'d>,
        has_zone: bool,
    ) -> Result<Search<'p, 'd>, SqlError> {
        if variables.kind() != JsonbKind::Object {
            let detail = "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
            return Err(
                SqlError::statement("22023", "\"vars\" argument is not an object").with_detail(detail)
            );
        }
        Ok(Search {
            path,
            document,
            variables,
            has_zone,
            steps: Cell::new(0),
        })
    }

    /// Counts a step.
    fn count_step(&self) -> Result<(), Failure> {
        let steps = self.steps.get().saturating_add(1);
        self.steps.set(steps);
        match steps > STEPS_MAX {
            true => {
                let message = "a jsonpath takes too many steps";
                Err(Failure::Hard(SqlError::statement("54000", message)))
            }
            false => Ok(()),
        }
    }

    fn scope(&self, is_quiet: bool) -> Scope<'d> {
        Scope {
            current: Item::of(self.document),
            size: 0,
            is_lenient: self.is_lax(),
            is_quiet,
            depth: 0,
        }
    }

    pub(super) fn is_lax(&self) -> bool {
        !self.path.is_strict
    }

    /// Returns all that the path finds; if errors of the values are passed over, what it finds before the first.
    pub(crate) fn all(&self, is_silent: bool) -> Result<Vec<Item<'d>>, Failure> {
        let mut found = Found::all();
        match self.run(&self.path.root, &self.scope(is_silent), &mut found) {
            Err(Failure::Soft(_)) if is_silent => Ok(found.items),
            Err(failure) => Err(failure),
            Ok(_) => Ok(found.items),
        }
    }

    /// Whether the path finds anything. In the mode `strict` all of it has to be without errors.
    pub(crate) fn any(&self, is_silent: bool) -> Result<bool, Failure> {
        let scope = self.scope(is_silent);
        match self.is_lax() {
            true => self.run(&self.path.root, &scope, &mut Found::first()),
            false => self.values(&self.path.root, &scope).map(|all| !all.is_empty()),
        }
    }

    /// Returns the values of an expression.
    pub(super) fn values(&self, chain: &Chain, scope: &Scope<'d>) -> Result<Vec<Item<'d>>, Failure> {
        let mut found = Found::all();
        self.run(chain, scope, &mut found)?;
        Ok(found.items)
    }

    /// Returns the values of an expression; of arrays, in the mode `lax`, their elements.
    pub(super) fn unwrapped(&self, chain: &Chain, scope: &Scope<'d>) -> Result<Vec<Item<'d>>, Failure> {
        let items = self.values(chain, scope)?;
        if !self.is_lax() || !items.iter().any(Item::is_array) {
            return Ok(items);
        }
        let mut found = Found::all();
        for item in items {
            match item.is_array() {
                true => item.children().try_for_each(|child| found.push(child))?,
                false => found.push(item)?,
            }
        }
        Ok(found.items)
    }

    /// Searches from the beginning of an expression; returns whether anything is there.
    pub(super) fn run(
        &self,
        chain: &Chain,
        scope: &Scope<'d>,
        found: &mut Found<'d>,
    ) -> Result<bool, Failure> {
        let deeper = scope.deeper()?;
        let item = match &chain.head {
            Head::Signed(sign, operand) => {
                return self.signed(*sign, operand, &chain.steps, &deeper, found);
            }
            Head::Null => made(&Json::Null)?,
            Head::Bool(value) => made(&Json::Bool(*value))?,
            Head::Text(text) => made(&Json::Text(text.clone()))?,
            Head::Number(number) => super::arithmetic::item_of(number)?,
            Head::Variable(name) => match self.variables.member(name) {
                Some(value) => Item::of(value),
                None => {
                    let message = format!("could not find jsonpath variable \"{name}\"");
                    return Err(Failure::Hard(SqlError::statement("42704", message)));
                }
            },
            Head::Root => Item::of(self.document),
            Head::Current => scope.current.clone(),
            Head::Last => {
                let last = i64::try_from(scope.size).unwrap_or(i64::MAX).saturating_sub(1);
                super::arithmetic::item_of(&crate::numbers::Number::new(last.into(), 0))?
            }
            Head::Computed(op, sides) => self.computed(*op, sides, &deeper)?,
            Head::Condition(condition) => match self.condition(condition, &deeper)? {
                Some(value) => made(&Json::Bool(value))?,
                None => made(&Json::Null)?,
            },
        };
        self.go_on(&chain.steps, item, &deeper, found)
    }

    /// Goes on from a value by steps.
    pub(super) fn go_on(
        &self,
        steps: &[Step],
        item: Item<'d>,
        scope: &Scope<'d>,
        found: &mut Found<'d>,
    ) -> Result<bool, Failure> {
        match steps.split_first() {
            None => {
                found.push(item)?;
                Ok(true)
            }
            Some((step, rest)) => self.step(step, rest, item, &scope.deeper()?, found, self.is_lax()),
        }
    }

    /// Takes a step from a value; `unwraps` says whether from the elements if it is an array and the step wants none.
    fn step(
        &self,
        step: &Step,
        rest: &[Step],
        item: Item<'d>,
        scope: &Scope<'d>,
        found: &mut Found<'d>,
        unwraps: bool,
    ) -> Result<bool, Failure> {
        self.count_step()?;
        let of_elements = |found: &mut Found<'d>| {
            each(item.children(), found, |element, found| {
                self.step(step, rest, element, &scope.deeper()?, found, false)
            })
        };
        let takes_elements = unwraps && item.is_array();
        match step {
            Step::Member(name) => match item.member(name) {
                Some(value) => self.go_on(rest, value, scope, found),
                None if takes_elements => of_elements(found),
                None if scope.is_lenient => Ok(false),
                None if item.is_object() => Err(soft(
                    "2203A",
                    format!("JSON object does not contain key \"{name}\""),
                )),
                None => Err(soft(
                    "2203A",
                    "jsonpath member accessor can only be applied to an object",
                )),
            },
            Step::Members if item.is_object() => self.go_on_each(rest, &item, scope, found),
            Step::Members if takes_elements => of_elements(found),
            Step::Members if scope.is_lenient => Ok(false),
            Step::Members => Err(soft(
                "2203C",
                "jsonpath wildcard member accessor can only be applied to an object",
            )),
            Step::Elements if item.is_array() => self.go_on_each(rest, &item, scope, found),
            Step::Elements if self.is_lax() => self.go_on(rest, item, scope, found),
            Step::Elements if scope.is_lenient => Ok(false),
            Step::Elements => Err(soft(
                "22039",
                "jsonpath wildcard array accessor can only be applied to an array",
            )),
            Step::Subscripts(all) if item.is_array() || self.is_lax() => {
                self.subscripts(all, rest, &item, scope, found)
            }
            Step::Subscripts(_) if scope.is_lenient => Ok(false),
            Step::Subscripts(_) => Err(soft(
                "22039",
                "jsonpath array accessor can only be applied to an array",
            )),
            Step::Descend(from, to) => {
                let mut any = false;
                if *from == Some(0) {
                    any = match self.go_on(rest, item.clone(), &scope.lenient(), found) {
                        // As in PostgreSQL, where what comes from the parts takes the place of the error.
                        Err(Failure::Soft(_)) if scope.is_quiet && !item.is_scalar() => false,
                        result => result?,
                    };
                    if any && found.stops_at_first() {
                        return Ok(true);
                    }
                }
                Ok(self.descend((*from, *to), 1, rest, &item, &scope.lenient(), found)? || any)
            }
            Step::Filter(_) if takes_elements => of_elements(found),
            Step::Filter(condition) => {
                let inner = Scope {
                    current: item.clone(),
                    ..scope.clone()
                };
                match self.condition(condition, &inner)? {
                    Some(true) => self.go_on(rest, item, scope, found),
                    _ => Ok(false),
                }
            }
            Step::Method(Method::Type) => {
                let name = match &item {
                    Item::Moment(moment) => moment.type_name(),
                    Item::Form(_) => item.kind().name(),
                };
                self.go_on(rest, made(&Json::Text(name.to_string()))?, scope, found)
            }
            Step::Method(Method::Size) => {
                let size = match item.is_array() {
                    true => item.len(),
                    false if self.is_lax() => 1,
                    false if scope.is_lenient => return Ok(false),
                    false => {
                        return Err(soft(
                            "22039",
                            "jsonpath item method .size() can only be applied to an array",
                        ));
                    }
                };
                let size = i64::try_from(size).unwrap_or(i64::MAX);
                self.go_on(rest, whole(size)?, scope, found)
            }
            Step::Method(_) | Step::DateTime(_) if takes_elements => of_elements(found),
            Step::Method(Method::KeyValue) => {
                if !item.is_object() {
                    return Err(soft(
                        "2203C",
                        "jsonpath item method .keyvalue() can only be applied to an object",
                    ));
                }
                let pairs = self.pairs(&item)?;
                each(pairs.into_iter(), found, |pair, found| {
                    self.go_on(rest, pair, scope, found)
                })
            }
            Step::Method(method) => {
                let number = self.number_method(*method, &item)?;
                self.go_on(rest, number, scope, found)
            }
            Step::DateTime(template) => {
                let moment = super::moments::read(item.text(), template.as_deref())?;
                self.go_on(rest, Item::Moment(moment), scope, found)
            }
        }
    }

    /// Goes on from each element or member.
    fn go_on_each(
        &self,
        steps: &[Step],
        item: &Item<'d>,
        scope: &Scope<'d>,
        found: &mut Found<'d>,
    ) -> Result<bool, Failure> {
        each(item.children(), found, |child, found| {
            self.go_on(steps, child, scope, found)
        })
    }

    /// Goes on from the parts of a value on levels of a range, before those of each their parts.
    fn descend(
        &self,
        (from, to): (Option<u32>, Option<u32>),
        level: u32,
        rest: &[Step],
        item: &Item<'d>,
        scope: &Scope<'d>,
        found: &mut Found<'d>,
    ) -> Result<bool, Failure> {
        // Levels up to the last go on for ever.
        if to.is_some_and(|to| level > to) {
            return Ok(false);
        }
        let deeper = scope.deeper()?;
        each(item.children(), found, |child, found| {
            let is_meant = match (from, to) {
                (None, None) => child.is_scalar(),
                (None, Some(_)) => false,
                (Some(from), _) => level >= from,
            };
            let mut any = false;
            if is_meant {
                any = self.go_on(rest, child.clone(), &deeper, found)?;
                if any && found.stops_at_first() {
                    return Ok(true);
                }
            }
            let goes_deeper = to.is_none_or(|to| level < to) && !child.is_scalar();
            if goes_deeper {
                any |= self.descend((from, to), level.saturating_add(1), rest, &child, &deeper, found)?;
            }
            Ok(any)
        })
    }

    fn subscripts(
        &self,
        all: &[(Chain, Option<Chain>)],
        rest: &[Step],
        item: &Item<'d>,
        scope: &Scope<'d>,
        found: &mut Found<'d>,
    ) -> Result<bool, Failure> {
        // A value alone is an array of one.
        let size = if item.is_array() { item.len() } else { 1 };
        let inner = Scope {
            size,
            ..scope.clone()
        };
        let count = i64::try_from(size).unwrap_or(i64::MAX);
        let mut any = false;
        for (from, to) in all {
            let at = |chain: &Chain| subscript(&self.values(chain, &inner)?).map(i64::from);
            let from = at(from)?;
            let to = to.as_ref().map_or(Ok(from), at)?;
            if !scope.is_lenient && (from < 0 || from > to || to >= count) {
                return Err(soft("22033", "jsonpath array subscript is out of bounds"));
            }
            let places = from.max(0)..to.saturating_add(1).min(count);
            let elements = places.filter_map(|at| match item.is_array() {
                true => item.child(usize::try_from(at).ok()?),
                false => Some(item.clone()),
            });
            any |= each(elements, found, |element, found| {
                self.go_on(rest, element, scope, found)
            })?;
            if any && found.stops_at_first() {
                break;
            }
        }
        Ok(any)
    }

    /// Returns the members of an object, each as an object: its name, its value, and a number that the object has.
    fn pairs(&self, item: &Item<'d>) -> Result<Vec<Item<'d>>, Failure> {
        let id = whole_number(self.place(item))?;
        let form = item.form().unwrap_or(self.document);
        let pair = |(name, value): (&str, Jsonb<'_>)| {
            let members = vec![
                ("id".to_string(), id.clone()),
                ("key".to_string(), Json::Text(name.to_string())),
                ("value".to_string(), value.to_json()),
            ];
            made(&Json::Object(members))
        };
        form.members().map(pair).collect()
    }

    /// Returns where in the document a part of it begins, in bytes; 0 of what is no part of it.
    fn place(&self, item: &Item<'d>) -> i64 {
        let Item::Form(Cow::Borrowed(bytes)) = item else {
            return 0;
        };
        let (part, whole) = (bytes.as_ptr().addr(), self.document.bytes().as_ptr().addr());
        let place = part.checked_sub(whole);
        let place = place.filter(|place| *place < self.document.bytes().len());
        place.and_then(|place| i64::try_from(place).ok()).unwrap_or(0)
    }
}

impl Scope<'_> {
    /// Returns the scope a level deeper.
    pub(super) fn deeper(&self) -> Result<Self, Failure> {
        if self.depth >= DEPTH_MAX {
            let message = "stack depth limit exceeded: a jsonpath goes down too many levels";
            return Err(Failure::Hard(SqlError::statement("54001", message)));
        }
        Ok(Scope {
            depth: self.depth.saturating_add(1),
            ..self.clone()
        })
    }

    /// Returns the scope in which errors of the values are unknown.
    pub(super) fn quiet(&self) -> Self {
        Scope {
            is_quiet: true,
            ..self.clone()
        }
    }

    fn lenient(&self) -> Self {
        Scope {
            is_lenient: true,
            ..self.clone()
        }
    }
}

/// Does something with each value; stops at the first that has anything if that is enough.
fn each<'d>(
    items: impl Iterator<Item = Item<'d>>,
    found: &mut Found<'d>,
    mut go_on: impl FnMut(Item<'d>, &mut Found<'d>) -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    let mut any = false;
    for item in items {
        any |= go_on(item, found)?;
        if any && found.stops_at_first() {
            break;
        }
    }
    Ok(any)
}

fn made<'d>(json: &Json) -> Result<Item<'d>, Failure> {
    Item::made(json).map_err(|error| Failure::Hard(error.into()))
}

fn whole_number(value: i64) -> Result<Json, Failure> {
    let number = JsonNumber::of_text(&value.to_string()).map_err(|error| Failure::Hard(error.into()))?;
    Ok(Json::Number(number))
}

fn whole<'d>(value: i64) -> Result<Item<'d>, Failure> {
    made(&whole_number(value)?)
}
