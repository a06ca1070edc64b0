//! Which of several signatures a call means.
//!
//! Source: PostgreSQL's manual, chapter 10, "Type Conversion", and 38.2.5, "Polymorphic Types".

use crate::casts::table::{Context, Kind, context};
use crate::signatures::table::{Overload, Parameter};

/// Why a call means no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// There is none for its arguments.
    None,
    /// Several fit equally well.
    Ambiguous,
    /// Any type fits, and no argument has one.
    Untyped,
}

/// A signature that a call means, with the types that stand for `anyelement` and its kin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    /// Types of the arguments.
    pub arguments: Vec<Kind>,
    /// Type of the result.
    pub result: Kind,
}

/// What types of one category convert to by preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Category {
    Boolean,
    Number,
    Text,
    Moment,
    Span,
    Array,
    Network,
    Other(Kind),
    Polymorphic,
}

fn category(kind: Kind) -> Category {
    match kind {
        Kind::Boolean => Category::Boolean,
        Kind::SmallInt | Kind::Integer | Kind::BigInt | Kind::Real | Kind::Double | Kind::Numeric => {
            Category::Number
        }
        Kind::Text | Kind::Varchar | Kind::Char => Category::Text,
        Kind::Date | Kind::Time | Kind::Timestamp | Kind::TimestampTz => Category::Moment,
        Kind::Interval => Category::Span,
        Kind::Array(_) => Category::Array,
        Kind::Inet | Kind::Cidr => Category::Network,
        Kind::Uuid
        | Kind::Bytes
        | Kind::Json
        | Kind::Jsonb
        | Kind::JsonPath
        | Kind::Record
        | Kind::Enum(_) => Category::Other(kind),
    }
}

fn is_preferred(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Boolean | Kind::Double | Kind::Text | Kind::TimestampTz | Kind::Interval | Kind::Inet
    )
}

fn converts(from: Kind, to: Kind) -> bool {
    from == to || context(from, to) == Some(Context::Implicit)
}

/// Returns the type that values of several become where one of them is the result, as those of CASE and UNION do; `None` if there is none.
pub fn common(kinds: impl IntoIterator<Item = Kind>) -> Option<Kind> {
    let kinds: Vec<Kind> = kinds.into_iter().collect();
    let (first, rest) = kinds.split_first()?;
    let mut common = *first;
    for kind in rest {
        if category(*kind) != category(common) {
            return None;
        }
        if !is_preferred(common) && converts(common, *kind) && !converts(*kind, common) {
            common = *kind;
        }
    }
    kinds.iter().all(|kind| converts(*kind, common)).then_some(common)
}

/// The types that the polymorphic parameters of a signature stand for.
struct Solution {
    element: Option<Kind>,
    compatible: Option<Kind>,
}

impl Solution {
    /// Returns the types for arguments; `None` where they contradict each other.
    fn of(parameters: &[Parameter], arguments: &[Option<Kind>]) -> Option<Solution> {
        let (mut element, mut compatible) = (None, Vec::new());
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let Some(kind) = *argument else { continue };
            let is_array = matches!(kind, Kind::Array(_));
            let of_array = |kind| match kind {
                Kind::Array(element) => Some(*element),
                _ => None,
            };
            match parameter {
                Parameter::Is(_) => {}
                Parameter::NonArray if is_array => return None,
                Parameter::Enum if !matches!(kind, Kind::Enum(_)) => return None,
                Parameter::Element | Parameter::NonArray | Parameter::Enum | Parameter::Array => {
                    let kind = match parameter {
                        Parameter::Array => of_array(kind)?,
                        _ => kind,
                    };
                    if *element.get_or_insert(kind) != kind {
                        return None;
                    }
                }
                Parameter::Compatible => compatible.push(kind),
                Parameter::CompatibleArray => compatible.push(of_array(kind)?),
            }
        }
        let compatible = match compatible.is_empty() {
            true => None,
            false => Some(common(compatible)?),
        };
        // There are no arrays of arrays.
        let has_array = |array| parameters.contains(&array);
        let is_nested = |of: Option<Kind>| matches!(of, Some(Kind::Array(_)));
        let nests = has_array(Parameter::CompatibleArray) && is_nested(compatible)
            || has_array(Parameter::Array) && is_nested(element);
        (!nests).then_some(Solution { element, compatible })
    }

    /// Returns a signature with the types that its parameters stand for.
    fn meant(&self, signature: &Overload) -> Result<Meant, Unresolved> {
        let kind = |parameter: &Parameter| self.kind(*parameter).ok_or(Unresolved::Untyped);
        Ok(Meant {
            arguments: signature.arguments.iter().map(kind).collect::<Result<_, _>>()?,
            result: kind(&signature.result)?,
        })
    }

    /// Returns the type that a parameter stands for; `None` where no argument decides it.
    fn kind(&self, parameter: Parameter) -> Option<Kind> {
        // What no argument decides is text among compatible types.
        let compatible = || self.compatible.unwrap_or(Kind::Text);
        match parameter {
            Parameter::Is(kind) => Some(kind),
            Parameter::Element | Parameter::NonArray | Parameter::Enum => self.element,
            Parameter::Array => self.element.map(Kind::array),
            Parameter::Compatible => Some(compatible()),
            Parameter::CompatibleArray => Some(compatible().array()),
        }
    }
}

/// Returns the signature that a call of a function with these arguments means; `None` of an argument is a literal without a type, or
/// NULL.
///
/// # Errors
/// Why there is none.
pub fn function(signatures: &[Overload], arguments: &[Option<Kind>]) -> Result<Meant, Unresolved> {
    meant(best(signatures, arguments)?, arguments)
}

/// Returns the first signature that takes arguments of which some are parameters without a type yet: what is planned with them until their
/// types are known.
///
/// # Errors
/// There is none for its arguments.
pub fn with_parameters(signatures: &[Overload], arguments: &[Option<Kind>]) -> Result<Meant, Unresolved> {
    let mut all = signatures.iter();
    let first = all.find(|signature| takes(signature, arguments));
    let first = first.ok_or(Unresolved::None)?;
    let mut solution = Solution::of(&first.arguments, arguments).ok_or(Unresolved::None)?;
    solution.element.get_or_insert(Kind::Text);
    solution.meant(first)
}

/// Returns the signature that an operator with these operands means.
///
/// # Errors
/// Why there is none.
pub fn operator(signatures: &[Overload], operands: &[Option<Kind>]) -> Result<Meant, Unresolved> {
    // A literal beside a value is first taken to be of the value's type.
    if let [Some(known), None] | [None, Some(known)] = operands {
        let is_known = |parameter: &Parameter| *parameter == Parameter::Is(*known);
        let mut all = signatures.iter();
        if let Some(exact) = all.find(|signature| signature.arguments.iter().all(is_known)) {
            return meant(exact, operands);
        }
    }
    function(signatures, operands)
}

fn meant(signature: &Overload, arguments: &[Option<Kind>]) -> Result<Meant, Unresolved> {
    let solution = Solution::of(&signature.arguments, arguments).ok_or(Unresolved::None)?;
    solution.meant(signature)
}

/// Whether a signature takes arguments, those without a type as any.
fn takes(signature: &Overload, arguments: &[Option<Kind>]) -> bool {
    let is_taken = |(parameter, argument): (&Parameter, &Option<Kind>)| match (parameter, argument) {
        (Parameter::Is(kind), Some(from)) => converts(*from, *kind),
        _ => true,
    };
    signature.arguments.len() == arguments.len()
        && signature.arguments.iter().zip(arguments).all(is_taken)
        && Solution::of(&signature.arguments, arguments).is_some()
}

fn best<'a>(signatures: &'a [Overload], arguments: &[Option<Kind>]) -> Result<&'a Overload, Unresolved> {
    let is_exact = |signature: &&Overload| {
        signature.arguments.len() == arguments.len()
            && signature
                .arguments
                .iter()
                .zip(arguments)
                .all(|(parameter, of)| of.is_some_and(|of| *parameter == Parameter::Is(of)))
    };
    if let Some(exact) = signatures.iter().find(is_exact) {
        return Ok(exact);
    }
    let mut left: Vec<&Overload> = signatures
        .iter()
        .filter(|signature| takes(signature, arguments))
        .collect();
    if left.is_empty() {
        return Err(Unresolved::None);
    }
    // Those with the most exact types, then those with the most exact or preferred ones.
    keep_most(&mut left, arguments, |of, kind| of == kind);
    keep_most(&mut left, arguments, |of, kind| {
        of == kind || is_preferred(kind) && category(of) == category(kind)
    });
    if let [only] = left.as_slice() {
        return Ok(only);
    }
    if arguments.iter().all(Option::is_some) {
        return Err(Unresolved::Ambiguous);
    }
    keep_by_category(&mut left, arguments);
    if let [only] = left.as_slice() {
        return Ok(only);
    }
    // What has no type is taken to be of the type that all the others have.
    let mut known = arguments.iter().flatten();
    let first = known.next().copied();
    if first.is_some() && known.all(|kind| Some(*kind) == first) {
        let alike = vec![first; arguments.len()];
        let mut matching = left.iter().filter(|signature| takes(signature, &alike));
        if let (Some(only), None) = (matching.next(), matching.next()) {
            return Ok(only);
        }
    }
    Err(Unresolved::Ambiguous)
}

/// Keeps the signatures where the most arguments with a type pass a test of it and the signature's.
fn keep_most(left: &mut Vec<&Overload>, arguments: &[Option<Kind>], passes: impl Fn(Kind, Kind) -> bool) {
    let count = |signature: &Overload| {
        let pairs = signature.arguments.iter().zip(arguments);
        let passed = pairs.filter(|(parameter, of)| match (parameter, of) {
            (Parameter::Is(kind), Some(of)) => passes(*of, *kind),
            _ => false,
        });
        passed.count()
    };
    let most = left.iter().map(|signature| count(signature)).max();
    left.retain(|signature| Some(count(signature)) == most);
}

fn category_of(parameter: Parameter) -> Category {
    match parameter {
        Parameter::Is(kind) => category(kind),
        _ => Category::Polymorphic,
    }
}

/// Keeps the signatures with the category that an argument without a type is taken to have: that of texts if any takes one, else the
/// one that all have; of these those with the preferred type, if any has it. Keeps all where no category is found.
fn keep_by_category(left: &mut Vec<&Overload>, arguments: &[Option<Kind>]) {
    let is_preferred = |parameter| matches!(parameter, Parameter::Is(kind) if is_preferred(kind));
    let mut chosen = Vec::new();
    for (at, _) in arguments.iter().enumerate().filter(|(_, of)| of.is_none()) {
        let place = |signature: &&Overload| signature.arguments[at];
        let categories: Vec<Category> = left
            .iter()
            .map(|signature| category_of(place(signature)))
            .collect();
        let is_text = categories.contains(&Category::Text);
        let first = categories[0];
        let category_of_place = match is_text {
            true => Category::Text,
            false if categories.iter().all(|category| *category == first) => first,
            false => return,
        };
        let has_preferred = left
            .iter()
            .map(place)
            .any(|parameter| category_of(parameter) == category_of_place && is_preferred(parameter));
        chosen.push((at, category_of_place, has_preferred));
    }
    let fits = |signature: &Overload| {
        chosen.iter().all(|(at, of_place, has_preferred)| {
            let parameter = signature.arguments[*at];
            category_of(parameter) == *of_place && (!has_preferred || is_preferred(parameter))
        })
    };
    if left.iter().any(|signature| fits(signature)) {
        left.retain(|signature| fits(signature));
    }
}
