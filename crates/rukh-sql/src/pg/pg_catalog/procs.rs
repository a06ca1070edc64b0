//! `pg_proc`: the functions that statements may call, as a session has them.
//!
//! DataFusion describes what a function takes by its signature, and some of them by nothing but a number of arguments.
//! Those are shown with arguments of the pseudo-type `"any"`, and give `anyelement` where it is not known what they
//! give. A function is listed once for each list of argument types, at most [`OVERLOADS_MAX`] times.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{
    ArrayFunctionArgument, ArrayFunctionSignature, Signature, TypeSignature, Volatility,
};

use rukh_functions::functions::by_row::BITWISE_NOT;
use rukh_functions::signatures::overloaded::overloaded;
use rukh_functions::signatures::table::{self, Overload, Parameter};
use rukh_functions::types::data_type_of_arrow;

use super::table::{Cell, row};
use super::{casts, types};
use crate::bind::system::oids;

/// The most lists of argument types of one function.
const OVERLOADS_MAX: usize = 12;

/// Pseudo-types.
const ANY: i64 = 2276;
const ANY_ARRAY: i64 = 2277;
const ANY_ELEMENT: i64 = 2283;
const ANY_NON_ARRAY: i64 = 2776;
const ANY_ENUM: i64 = 3500;
const ANY_COMPATIBLE: i64 = 5077;
const ANY_COMPATIBLE_ARRAY: i64 = 5078;
const RECORD: i64 = 2249;

/// Functions that only the spellings of `pg_catalog` write.
const HIDDEN: &[&str] = &[
    "array_assign",
    "array_or_empty",
    "array_with_places",
    "array_subscripts",
    "json_element",
    "json_member",
    "json_row",
    "jsonb_assign",
    "jsonb_order",
];

/// What names end in that only spellings write, too.
const HIDDEN_ENDINGS: [&str; 2] = ["_list", "_agg_of_text"];

/// A function with one list of arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Proc {
    name: String,
    /// `f`, or `a` for aggregates, `w` for those of windows.
    kind: &'static str,
    arguments: Vec<i64>,
    /// Whether there may be more of the last argument.
    variadic: bool,
    result: i64,
    /// Whether it gives rows.
    rows: bool,
    volatility: &'static str,
}

/// All functions, in order; the sessions of a process have the same ones.
static KNOWN: OnceLock<Vec<Proc>> = OnceLock::new();

/// Takes note of the functions of a session that has all of them; of those of `pg_catalog` the number of a result's type is known.
pub(super) fn learn(state: &SessionState, result_of: fn(&str) -> Option<i64>) {
    KNOWN.get_or_init(|| list(state, result_of));
}

fn known() -> &'static [Proc] {
    KNOWN.get().map_or(&[], Vec::as_slice)
}

/// Returns the function with a number.
pub(super) fn numbered(oid: i64) -> Option<&'static Proc> {
    let at = usize::try_from(oid.checked_sub(oids::PROCS)?).ok()?;
    known().get(at)
}

/// Returns the name of the function with a number, as `regproc` shows it; `None` of those that are defined in a database.
pub fn function_name(oid: i64) -> Option<String> {
    match oid {
        0 => Some("-".to_string()),
        oid => types::input_function_name(oid)
            .map(str::to_string)
            .or_else(|| numbered(oid).map(|proc| proc.name.clone())),
    }
}

/// Returns the numbers of the functions of a name.
pub(super) fn named(name: &str) -> Vec<i64> {
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    let all = known().iter().enumerate();
    all.filter(|(_, proc)| proc.name == name)
        .map(|(at, _)| oids::PROCS + at as i64)
        .collect()
}

impl Proc {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the numbers of the types of the arguments.
    pub(super) fn argument_types(&self) -> Vec<i64> {
        self.arguments.clone()
    }

    /// Returns the arguments as `pg_get_function_arguments` shows them.
    pub(super) fn shown_arguments(&self) -> String {
        let last = self.arguments.len().saturating_sub(1);
        let shown = self.arguments.iter().enumerate().map(|(at, oid)| {
            let name = types::sql_name(*oid, None).unwrap_or_else(|| "???".to_string());
            match self.variadic && at == last {
                true if *oid == ANY => format!("VARIADIC {name}"),
                true => format!("VARIADIC {name}[]"),
                false => name,
            }
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Returns the result as `pg_get_function_result` shows it.
    pub(super) fn shown_result(&self) -> String {
        let name = types::sql_name(self.result, None).unwrap_or_else(|| "???".to_string());
        if self.rows { format!("SETOF {name}") } else { name }
    }
}

/// The rows of `pg_proc`.
pub(super) fn rows() -> Vec<Vec<Cell>> {
    let all = known().iter().enumerate();
    all.map(|(at, proc)| {
        let null = || Cell::Null;
        let variadic = proc.variadic.then(|| proc.arguments.last().copied()).flatten();
        let mode = |at| if at + 1 == proc.arguments.len() { "v" } else { "i" };
        let modes = (0..proc.arguments.len()).map(|at| Some(mode(at).to_string()));
        row![
            oids::PROCS + at as i64,
            &proc.name,
            oids::PG_CATALOG,
            oids::OWNER,
            12,
            1,
            if proc.rows { 1000 } else { 0 },
            variadic.unwrap_or(0),
            0,
            proc.kind,
            false,
            false,
            proc.kind == "f",
            proc.rows,
            proc.volatility,
            "s",
            proc.arguments.len(),
            0,
            proc.result,
            proc.arguments.clone(),
            variadic.map(|_| proc.arguments.clone()),
            match variadic {
                Some(_) => Cell::Texts(modes.collect()),
                None => null(),
            },
            null(),
            null(),
            null(),
            &proc.name,
            null(),
            null(),
            null(),
            null(),
        ]
    })
    .collect()
}

fn list(state: &SessionState, result_of: fn(&str) -> Option<i64>) -> Vec<Proc> {
    let mut all = BTreeSet::new();
    for (name, function) in state.scalar_functions() {
        if overloaded(function).is_some() {
            // What computes a function of another name is not shown.
            if name != BITWISE_NOT && !name.contains("_of_") {
                let overloads = table::functions()
                    .get(name.as_str())
                    .map_or(&[][..], Vec::as_slice);
                all.extend(of_table(name, "f", overloads, function.signature().volatility));
            }
            continue;
        }
        let own = result_of(name);
        let result = |types: &[ArrowType]| own.or_else(|| oid_of(&function.return_type(types).ok()?));
        all.extend(overloads(name, "f", function.signature(), own, result));
    }
    for (name, function) in state.aggregate_functions() {
        if let Some(overloads) = table::aggregate(name) {
            all.extend(of_table(name, "a", overloads, function.signature().volatility));
            continue;
        }
        let result = |types: &[ArrowType]| oid_of(&function.return_type(types).ok()?);
        all.extend(overloads(name, "a", function.signature(), None, result));
    }
    for (name, overloads) in table::windows() {
        all.extend(of_table(name, "w", overloads, Volatility::Immutable));
    }
    for name in state.table_functions().keys() {
        all.insert(Proc {
            name: name.clone(),
            kind: "f",
            arguments: vec![20, 20],
            variadic: false,
            result: 20,
            rows: true,
            volatility: "i",
        });
    }
    all.into_iter().collect()
}

/// Returns the number of the type, or pseudo-type, of an argument or a result.
pub(super) fn number_of(parameter: &Parameter) -> i64 {
    match parameter {
        Parameter::Is(kind) => casts::oid(*kind),
        Parameter::Element => ANY_ELEMENT,
        Parameter::NonArray => ANY_NON_ARRAY,
        Parameter::Enum => ANY_ENUM,
        Parameter::Array => ANY_ARRAY,
        Parameter::Compatible => ANY_COMPATIBLE,
        Parameter::CompatibleArray => ANY_COMPATIBLE_ARRAY,
    }
}

/// Returns the numbers and names of the aggregates.
pub(super) fn aggregates() -> Vec<(i64, &'static str)> {
    let all = known().iter().enumerate().filter(|(_, proc)| proc.kind == "a");
    all.map(|(at, proc)| (oids::PROCS + at as i64, proc.name.as_str()))
        .collect()
}

/// Returns the signatures of a function of the table.
fn of_table(
    name: &str,
    kind: &'static str,
    overloads: &[Overload],
    volatility: Volatility,
) -> impl Iterator<Item = Proc> {
    overloads.iter().map(move |overload| Proc {
        name: name.to_string(),
        kind,
        arguments: overload.arguments.iter().map(number_of).collect(),
        variadic: false,
        result: number_of(&overload.result),
        rows: false,
        volatility: letter(volatility),
    })
}

fn letter(volatility: Volatility) -> &'static str {
    match volatility {
        Volatility::Immutable => "i",
        Volatility::Stable => "s",
        Volatility::Volatile => "v",
    }
}

/// Returns a function once for each list of arguments.
fn overloads(
    name: &str,
    kind: &'static str,
    signature: &Signature,
    result: Option<i64>,
    result_of: impl Fn(&[ArrowType]) -> Option<i64>,
) -> BTreeSet<Proc> {
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !plain || HIDDEN.contains(&name) || HIDDEN_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return BTreeSet::new();
    }
    let volatility = letter(signature.volatility);
    let mut found: BTreeSet<Proc> = BTreeSet::new();
    let shapes = match signature.type_signature {
        // Aggregates that check their argument themselves, such as `max`, take one.
        TypeSignature::UserDefined if kind == "a" => untyped(vec![ANY_ELEMENT], false),
        _ => shapes(&signature.type_signature),
    };
    for shape in shapes {
        let result = match &shape.examples {
            Some(types) => result_of(types),
            None => result,
        };
        found.insert(Proc {
            name: name.to_string(),
            kind,
            arguments: shape.arguments,
            variadic: shape.variadic,
            result: result.unwrap_or(ANY_ELEMENT),
            rows: false,
            volatility,
        });
    }
    // One result for each list of arguments.
    let mut seen = BTreeSet::new();
    found
        .into_iter()
        .filter(|proc| seen.insert((proc.arguments.clone(), proc.variadic)))
        .take(OVERLOADS_MAX)
        .collect()
}

/// A list of arguments.
struct Shape {
    arguments: Vec<i64>,
    variadic: bool,
    /// Types for which the function can be computed; `None` where it cannot.
    examples: Option<Vec<ArrowType>>,
}

fn untyped(arguments: Vec<i64>, variadic: bool) -> Vec<Shape> {
    vec![Shape {
        arguments,
        variadic,
        examples: None,
    }]
}

fn shapes(signature: &TypeSignature) -> Vec<Shape> {
    match signature {
        TypeSignature::OneOf(all) => all.iter().flat_map(shapes).collect(),
        TypeSignature::Nullary => vec![Shape {
            arguments: Vec::new(),
            variadic: false,
            examples: Some(Vec::new()),
        }],
        TypeSignature::Any(count) | TypeSignature::Comparable(count) => untyped(vec![ANY; *count], false),
        TypeSignature::VariadicAny | TypeSignature::UserDefined => untyped(vec![ANY], true),
        TypeSignature::ArraySignature(array) => untyped(array_arguments(array), false),
        other => {
            let variadic = matches!(other, TypeSignature::Variadic(_));
            let typed: Vec<Shape> = other
                .get_example_types()
                .into_iter()
                .filter_map(|types| {
                    let arguments = types.iter().map(oid_of).collect::<Option<_>>()?;
                    Some(Shape {
                        arguments,
                        variadic,
                        examples: Some(types),
                    })
                })
                .collect();
            match other {
                TypeSignature::Coercible(all) if typed.is_empty() => untyped(vec![ANY; all.len()], false),
                _ => typed,
            }
        }
    }
}

fn array_arguments(signature: &ArrayFunctionSignature) -> Vec<i64> {
    match signature {
        ArrayFunctionSignature::Array { arguments, .. } => {
            let argument = |argument: &ArrayFunctionArgument| match argument {
                ArrayFunctionArgument::Array => ANY_ARRAY,
                ArrayFunctionArgument::Element => ANY_ELEMENT,
                ArrayFunctionArgument::Index => 20,
                ArrayFunctionArgument::String => 25,
            };
            arguments.iter().map(argument).collect()
        }
        ArrayFunctionSignature::RecursiveArray => vec![ANY_ARRAY],
        ArrayFunctionSignature::MapArray => vec![RECORD],
    }
}

/// Returns the number of the type that clients know an Arrow type by; `None` for those that no value of theirs has.
fn oid_of(ty: &ArrowType) -> Option<i64> {
    Some(match ty {
        ArrowType::Null => ANY,
        ArrowType::Boolean => 16,
        ArrowType::Int8 | ArrowType::Int16 => 21,
        ArrowType::Int32 => 23,
        ArrowType::Int64 | ArrowType::UInt64 => 20,
        ArrowType::Float32 => 700,
        ArrowType::Float64 => 701,
        ArrowType::Decimal32(..)
        | ArrowType::Decimal64(..)
        | ArrowType::Decimal128(..)
        | ArrowType::Decimal256(..) => 1700,
        ArrowType::LargeUtf8 => 114,
        ArrowType::LargeBinary => 3802,
        ty @ ArrowType::FixedSizeBinary(_) => types::oid_of(&data_type_of_arrow(ty)),
        ArrowType::Utf8 | ArrowType::Utf8View => 25,
        ArrowType::Binary | ArrowType::BinaryView => 17,
        ArrowType::Date32 => 1082,
        ArrowType::Time32(_) | ArrowType::Time64(_) => 1083,
        ArrowType::Timestamp(_, None) => 1114,
        ArrowType::Timestamp(_, Some(_)) => 1184,
        ArrowType::Interval(_) => 1186,
        ArrowType::List(_) | ArrowType::LargeList(_) | ArrowType::FixedSizeList(..) => ANY_ARRAY,
        ArrowType::Struct(_) | ArrowType::Map(..) => RECORD,
        _ => return None,
    })
}
