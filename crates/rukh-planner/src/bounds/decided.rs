//! Boxes in the one form that their rows have, however they came about.
//!
//! The elements of a key are decided one after another, as a decision tree with many ways does: the values of
//! the first element fall into classes, the members of which leave the same question about the others. Each class
//! goes on by itself. The result depends on the rows in the boxes only, so two spellings of one condition
//! lead to one plan, and along every element the boxes do not overlap (INTEGER columns a, b, c):
//!
//! | boxes                          | decided                                    |
//! |--------------------------------|--------------------------------------------|
//! | a <> 1; b <> 2                 | a <> 1; a = 1, b <> 2                      |
//! | a > 1; a >= 1, b > 5           | a > 1; a = 1, b > 5                        |
//! | a = 1, b = 2; a = 2, b = 2     | a IN (1, 2), b = 2                         |
//! | a < 5, b = 1; a > 3, b = 1     | b = 1                                      |
//! | a = 1; b = 2                   | a = 1; a <> 1, b = 2                       |
//!
//! Equal questions are answered once, but there may be many of them: past a bound nothing is decided. Where more
//! than a few wide intervals would be read apart only to leave out a little at their ends, as `a IN (…) OR b = 2`
//! asks for between the values of a long list, one box around all of them is read: wider, never narrower.

use std::collections::HashMap;
use std::sync::Arc;

use rukh_keys::DataType;

use crate::bounds::spans::{SMALL_INTERVAL, value_count};
use crate::conditions::boxes::{TermBox, hull};
use crate::conditions::interval::{Cut, Interval, IntervalSet};
use crate::conditions::term::TermId;
use crate::inputs::target::Slot;

/// Most boxes that are decided.
const BOXES_MAX: usize = 64;

/// Most intervals of all their sets.
const INTERVALS_MAX: usize = 1_024;

/// Most intervals of an element with many values, and conditions behind it, that are read apart.
const WIDE_MAX: usize = 16;

/// Most looks at a box.
const WORK_MAX: usize = 16_384;

/// An element to be decided.
#[derive(Clone, Copy)]
struct Element {
    term: TermId,
    ty: DataType,
    nullable: bool,
}

/// The one form of boxes.
pub(crate) struct Decided {
    pub(crate) boxes: Vec<TermBox>,
    /// Whether they hold these rows and no others.
    pub(crate) exact: bool,
}

/// Returns the rows of boxes over the elements of a key in their one form; `None` if that is too much work.
pub(crate) fn decided(boxes: &[TermBox], slots: &[Slot]) -> Option<Decided> {
    let intervals = boxes.iter().flat_map(TermBox::sets);
    let intervals: usize = intervals.map(|(_, set)| set.intervals().len()).sum();
    if boxes.len() > BOXES_MAX || intervals > INTERVALS_MAX {
        return None;
    }
    let element = |slot: &Slot| {
        Some(Element {
            term: slot.term?,
            ty: slot.ty,
            nullable: slot.nullable,
        })
    };
    let elements: Vec<Element> = slots.iter().filter_map(element).collect();
    let all: Vec<usize> = (0..boxes.len()).collect();
    let mut deciding = Deciding {
        boxes,
        elements: &elements,
        work: WORK_MAX,
        exact: true,
    };
    let boxes = deciding.rows(&all, 0)?;
    let exact = deciding.exact;
    Some(Decided { boxes, exact })
}

struct Deciding<'a> {
    boxes: &'a [TermBox],
    elements: &'a [Element],
    work: usize,
    exact: bool,
}

/// Values of an element that leave the same question, and what is answered to it.
struct Class {
    values: Vec<Interval>,
    null: bool,
    rows: Vec<TermBox>,
}

impl Deciding<'_> {
    /// The rows in any of some boxes, as far as elements from one on show.
    fn rows(&mut self, among: &[usize], from: usize) -> Option<Vec<TermBox>> {
        self.work = self.work.checked_sub(among.len().max(1))?;
        if among.is_empty() {
            return Some(Vec::new());
        }
        let says = |at: &usize, element: &Element| {
            let set = self.boxes[*at].get(element.term);
            set.is_some_and(|set| !set.is_everything(element.nullable))
        };
        let rest = &self.elements[from..];
        let is_free = |at: &usize| !rest.iter().any(|element| says(at, element));
        if among.iter().any(is_free) {
            return Some(vec![TermBox::everything()]);
        }
        if let [one] = among {
            let known = |term, _: &IntervalSet| {
                let mut elements = rest.iter().filter(|element| element.term == term);
                elements.any(|element| says(one, element))
            };
            return Some(vec![self.boxes[*one].retained(known)]);
        }
        let next = rest
            .iter()
            .position(|element| among.iter().any(|at| says(at, element)));
        let at = from + next?;
        let element = self.elements[at];
        let mut classes: Vec<Class> = Vec::new();
        for (among, values, null) in self.questions(among, element)? {
            let rows = self.rows(&among, at + 1)?;
            match classes.iter_mut().find(|class| class.rows == rows) {
                Some(class) => {
                    class.values.extend(values);
                    class.null |= null;
                }
                None => classes.push(Class { values, null, rows }),
            }
        }
        classes.retain(|class| !class.rows.is_empty());
        if wide_intervals(&classes, element) > WIDE_MAX {
            self.exact = false;
            let rows = classes.into_iter().flat_map(|class| with(element, class));
            return Some(vec![hull(&rows.collect::<Vec<_>>())]);
        }
        // In the order of the values, whatever the order of the questions.
        classes.sort_by(|a, b| first(&a.values).cmp(first(&b.values)));
        let rows = classes.into_iter().flat_map(|class| with(element, class));
        Some(rows.collect())
    }

    /// The boxes among which the rows are, for each value of an element, without duplicates.
    #[allow(clippy::type_complexity)]
    fn questions(
        &mut self,
        among: &[usize],
        element: Element,
    ) -> Option<Vec<(Vec<usize>, Vec<Interval>, bool)>> {
        let set = |at: usize| self.boxes[at].get(element.term);
        let sets = among.iter().filter_map(|at| set(*at));
        let ends = sets
            .flat_map(|set| set.intervals())
            .flat_map(|one| [&one.low, &one.high]);
        let mut cuts: Vec<&Cut> = ends.chain([&Cut::Min, &Cut::Max]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        self.work = self.work.checked_sub(cuts.len().saturating_mul(among.len()))?;
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut questions: Vec<(Vec<usize>, Vec<Interval>, bool)> = Vec::new();
        let mut ask = |among: Vec<usize>, values: Option<Interval>| {
            let position = *known.entry(among).or_insert_with_key(|among| {
                questions.push((among.clone(), Vec::new(), false));
                questions.len() - 1
            });
            let (_, own, null) = &mut questions[position];
            *null |= values.is_none();
            own.extend(values);
        };
        for (low, high) in cuts.iter().zip(cuts.iter().skip(1)) {
            let holds = |at: &usize| set(*at).is_none_or(|set| set.holds_between(low, high));
            let (low, high) = ((*low).clone(), (*high).clone());
            ask(
                among.iter().copied().filter(holds).collect(),
                Some(Interval { low, high }),
            );
        }
        if element.nullable {
            let holds = |at: &usize| set(*at).is_none_or(|set| set.null);
            ask(among.iter().copied().filter(holds).collect(), None);
        }
        Some(questions)
    }
}

/// How many intervals have more values than can be written out, and conditions behind them.
fn wide_intervals(classes: &[Class], element: Element) -> usize {
    let chosen = classes
        .iter()
        .filter(|class| !class.rows.iter().any(TermBox::is_everything));
    let is_wide = |one: &&Interval| value_count(one, element.ty, SMALL_INTERVAL).is_none();
    let wide = |class: &Class| {
        let values = IntervalSet::from_intervals(class.values.clone());
        values.intervals().iter().filter(is_wide).count()
    };
    chosen.map(wide).sum()
}

/// Where the values of a class begin; NULL lies behind all.
fn first(values: &[Interval]) -> &Cut {
    values.iter().map(|one| &one.low).min().unwrap_or(&Cut::Max)
}

/// The rows of a class with the values of its element.
fn with(element: Element, class: Class) -> Vec<TermBox> {
    let mut values = IntervalSet::from_intervals(class.values);
    values.null = class.null;
    let values = (!values.is_everything(element.nullable)).then(|| Arc::new(values));
    let mut rows = class.rows;
    for one in &mut rows {
        one.put(element.term, values.clone());
    }
    rows
}
