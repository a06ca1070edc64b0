//! Which of several signatures a call means.
//!
//! Source: PostgreSQL's manual, chapter 10, "Type Conversion".

use crate::casts::table::{Context, Kind, context};

/// Why a call means no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// There is none for its arguments.
    None,
    /// There is more than one, and nothing tells which.
    Ambiguous,
}

/// What types of one category convert to by preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Category {
    Boolean,
    Number,
    Text,
    Moment,
    Span,
    Other(Kind),
}

fn category(kind: Kind) -> Category {
    match kind {
        Kind::Boolean => Category::Boolean,
        Kind::SmallInt | Kind::Integer | Kind::BigInt | Kind::Real | Kind::Double | Kind::Numeric => {
            Category::Number
        }
        Kind::Text => Category::Text,
        Kind::Date | Kind::Time | Kind::Timestamp | Kind::TimestampTz => Category::Moment,
        Kind::Interval => Category::Span,
        Kind::Uuid | Kind::Bytes | Kind::Array => Category::Other(kind),
    }
}

fn is_preferred(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Boolean | Kind::Double | Kind::Text | Kind::TimestampTz | Kind::Interval
    )
}

/// Whether a value becomes one of a type without a cast that is written. What has no type does always.
fn becomes(from: Option<Kind>, to: Kind) -> bool {
    from.is_none_or(|from| from == to || context(from, to) == Some(Context::Implicit))
}

/// Returns the place of the signature that a call of a function with these arguments means; `None` of an argument is a literal
/// without a type, or NULL.
pub fn function<'a>(
    signatures: impl IntoIterator<Item = &'a [Kind]>,
    arguments: &[Option<Kind>],
) -> Result<usize, Unresolved> {
    let candidates: Vec<(usize, &[Kind])> = signatures.into_iter().enumerate().collect();
    best(candidates, arguments)
}

/// Returns the place of the signature that an operator with these operands means.
pub fn operator<'a>(
    signatures: impl IntoIterator<Item = &'a [Kind]>,
    operands: &[Option<Kind>],
) -> Result<usize, Unresolved> {
    let candidates: Vec<(usize, &[Kind])> = signatures.into_iter().enumerate().collect();
    // A literal beside a value is first taken to be of the value's type.
    if let [Some(known), None] | [None, Some(known)] = operands
        && let Some((at, _)) = candidates
            .iter()
            .find(|(_, types)| types.iter().all(|ty| ty == known))
    {
        return Ok(*at);
    }
    best(candidates, operands)
}

fn best(candidates: Vec<(usize, &[Kind])>, arguments: &[Option<Kind>]) -> Result<usize, Unresolved> {
    let is_exact = |types: &[Kind]| {
        types.len() == arguments.len() && types.iter().zip(arguments).all(|(ty, of)| Some(*ty) == *of)
    };
    if let Some((at, _)) = candidates.iter().find(|(_, types)| is_exact(types)) {
        return Ok(*at);
    }
    let fits = |types: &[Kind]| {
        types.len() == arguments.len() && types.iter().zip(arguments).all(|(ty, of)| becomes(*of, *ty))
    };
    let mut left: Vec<(usize, &[Kind])> = candidates;
    left.retain(|(_, types)| fits(types));
    if left.is_empty() {
        return Err(Unresolved::None);
    }
    // Those with the most exact types, then those with the most exact or preferred ones.
    keep_most(&mut left, arguments, |of, ty| of == ty);
    keep_most(&mut left, arguments, |of, ty| {
        of == ty || is_preferred(ty) && category(of) == category(ty)
    });
    if let [(at, _)] = left.as_slice() {
        return Ok(*at);
    }
    if arguments.iter().all(Option::is_some) {
        return Err(Unresolved::Ambiguous);
    }
    keep_by_category(&mut left, arguments);
    if let [(at, _)] = left.as_slice() {
        return Ok(*at);
    }
    // What has no type is taken to be of the type that all the others have.
    let mut known = arguments.iter().flatten();
    let first = known.next().copied();
    if first.is_some() && known.all(|kind| Some(*kind) == first) {
        let mut matching = left
            .iter()
            .filter(|(_, types)| types.iter().all(|ty| becomes(first, *ty)));
        if let (Some((at, _)), None) = (matching.next(), matching.next()) {
            return Ok(*at);
        }
    }
    Err(Unresolved::Ambiguous)
}

/// Keeps the signatures where the most arguments with a type pass a test of it and the signature's.
fn keep_most(
    left: &mut Vec<(usize, &[Kind])>,
    arguments: &[Option<Kind>],
    passes: impl Fn(Kind, Kind) -> bool,
) {
    let count = |types: &[Kind]| {
        let pairs = types.iter().zip(arguments);
        pairs
            .filter(|(ty, of)| of.is_some_and(|of| passes(of, **ty)))
            .count()
    };
    let most = left.iter().map(|(_, types)| count(types)).max();
    left.retain(|(_, types)| Some(count(types)) == most);
}

/// Keeps the signatures with the category that an argument without a type is taken to have: that of texts if any takes one, else the
/// one that all have; of these those with the preferred type, if any has it. Keeps all where no category is found.
fn keep_by_category(left: &mut Vec<(usize, &[Kind])>, arguments: &[Option<Kind>]) {
    let mut chosen = Vec::new();
    for (at, _) in arguments.iter().enumerate().filter(|(_, of)| of.is_none()) {
        let categories: Vec<Category> = left.iter().map(|(_, types)| category(types[at])).collect();
        let is_text = categories.contains(&Category::Text);
        let first = categories[0];
        let category_of_place = match is_text {
            true => Category::Text,
            false if categories.iter().all(|category| *category == first) => first,
            false => return,
        };
        let has_preferred = left
            .iter()
            .any(|(_, types)| category(types[at]) == category_of_place && is_preferred(types[at]));
        chosen.push((at, category_of_place, has_preferred));
    }
    let fits = |types: &[Kind]| {
        chosen.iter().all(|(at, of_place, has_preferred)| {
            category(types[*at]) == *of_place && (!has_preferred || is_preferred(types[*at]))
        })
    };
    if left.iter().any(|(_, types)| fits(types)) {
        left.retain(|(_, types)| fits(types));
    }
}
