//! Arguments by their names, and those that are left out: DataFusion's functions know them by their place only.
//!
//! | written                                       | becomes                                          |
//! |-----------------------------------------------|--------------------------------------------------|
//! | `make_interval(days => 3)`                    | `make_interval(0, 0, 0, 3, 0, 0, 0.0)`           |
//! | `jsonb_path_exists(d, '$.a', silent => true)` | `jsonb_path_exists(d, '$.a', CAST('{}' AS JSONB), true)` |
//! | `make_date(month => 2, year => 2024, day => 1)` | `make_date(2024, 2, 1)`                        |

use rukh_syntax::folded;
use rukh_syntax::make::cast;
use rukh_syntax::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Value,
};

/// What an argument is where a call does not give it.
#[derive(Clone, Copy)]
enum Usual {
    /// It has to be given.
    None,
    Zero,
    ZeroSeconds,
    False,
    True,
    NoVariables,
    JsonNull,
}

/// The arguments of a function, in their order.
type Parameters = &'static [(&'static str, Usual)];

const OF_PATHS: Parameters = &[
    ("target", Usual::None),
    ("path", Usual::None),
    ("vars", Usual::NoVariables),
    ("silent", Usual::False),
];

/// PostgreSQL's functions whose arguments have names, those of each in one order whatever their types are.
const FUNCTIONS: [(&str, Parameters); 18] = [
    (
        "make_interval",
        &[
            ("years", Usual::Zero),
            ("months", Usual::Zero),
            ("weeks", Usual::Zero),
            ("days", Usual::Zero),
            ("hours", Usual::Zero),
            ("mins", Usual::Zero),
            ("secs", Usual::ZeroSeconds),
        ],
    ),
    (
        "make_date",
        &[
            ("year", Usual::None),
            ("month", Usual::None),
            ("day", Usual::None),
        ],
    ),
    (
        "make_time",
        &[("hour", Usual::None), ("min", Usual::None), ("sec", Usual::None)],
    ),
    (
        "make_timestamp",
        &[
            ("year", Usual::None),
            ("month", Usual::None),
            ("mday", Usual::None),
            ("hour", Usual::None),
            ("min", Usual::None),
            ("sec", Usual::None),
        ],
    ),
    (
        "make_timestamptz",
        &[
            ("year", Usual::None),
            ("month", Usual::None),
            ("mday", Usual::None),
            ("hour", Usual::None),
            ("min", Usual::None),
            ("sec", Usual::None),
            ("timezone", Usual::None),
        ],
    ),
    (
        "jsonb_set",
        &[
            ("jsonb_in", Usual::None),
            ("path", Usual::None),
            ("replacement", Usual::None),
            ("create_if_missing", Usual::True),
        ],
    ),
    (
        "jsonb_set_lax",
        &[
            ("jsonb_in", Usual::None),
            ("path", Usual::None),
            ("replacement", Usual::None),
            ("create_if_missing", Usual::True),
            ("null_value_treatment", Usual::JsonNull),
        ],
    ),
    (
        "jsonb_insert",
        &[
            ("jsonb_in", Usual::None),
            ("path", Usual::None),
            ("replacement", Usual::None),
            ("insert_after", Usual::False),
        ],
    ),
    ("parse_ident", &[("str", Usual::None), ("strict", Usual::True)]),
    ("jsonb_path_exists", OF_PATHS),
    ("jsonb_path_exists_tz", OF_PATHS),
    ("jsonb_path_match", OF_PATHS),
    ("jsonb_path_match_tz", OF_PATHS),
    ("jsonb_path_query", OF_PATHS),
    ("jsonb_path_query_array", OF_PATHS),
    ("jsonb_path_query_array_tz", OF_PATHS),
    ("jsonb_path_query_first", OF_PATHS),
    ("jsonb_path_query_first_tz", OF_PATHS),
];

/// Puts the arguments of a call in their places.
pub(crate) fn put_in_place(function: &mut Function) {
    let Some(name) = function
        .name
        .0
        .last()
        .and_then(|part| part.as_ident())
        .map(folded)
    else {
        return;
    };
    if let FunctionArguments::List(list) = &mut function.args
        && let Some(placed) = placed(&name, &list.args)
    {
        list.args = placed
            .into_iter()
            .map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)))
            .collect();
    }
}

/// Returns the arguments of a call in their places; `None` where they are already, and where no function takes them.
pub(crate) fn placed(function: &str, arguments: &[FunctionArg]) -> Option<Vec<Expr>> {
    let (_, parameters) = FUNCTIONS.iter().find(|(name, _)| *name == function)?;
    // What is left out is always put in, so that a function has one signature.
    let has_usual = parameters.iter().any(|(_, usual)| !matches!(usual, Usual::None));
    let is_named = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => assigned(expr).is_some(),
        FunctionArg::Unnamed(_) => false,
        _ => true,
    };
    if arguments.len() > parameters.len() || !(has_usual || arguments.iter().any(is_named)) {
        return None;
    }
    let mut given: Vec<Option<Expr>> = vec![None; parameters.len()];
    let mut last = None;
    for (at, argument) in arguments.iter().enumerate() {
        let (at, value) = match argument {
            // `name := value` is read as an expression.
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => match assigned(expr) {
                Some((name, value)) => (place(parameters, name)?, value),
                None if last == at.checked_sub(1) => (at, expr),
                None => return None,
            },
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(value),
                ..
            }
            | FunctionArg::ExprNamed {
                name: Expr::Identifier(name),
                arg: FunctionArgExpr::Expr(value),
                ..
            } => (place(parameters, name)?, value),
            _ => return None,
        };
        if given[at].replace(value.clone()).is_some() {
            return None;
        }
        last = last.max(Some(at));
    }
    // Arguments behind the last one may be left out.
    let count = match has_usual {
        true => parameters.len(),
        false => last.map_or(0, |last| last + 1),
    };
    let pairs = given.into_iter().zip(*parameters).take(count);
    pairs
        .map(|(given, (_, usual))| given.or_else(|| usual.value()))
        .collect()
}

/// Returns the name and the value of `name := value`.
fn assigned(argument: &Expr) -> Option<(&Ident, &Expr)> {
    match argument {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Assignment,
            right,
        } => match left.as_ref() {
            Expr::Identifier(name) => Some((name, right)),
            _ => None,
        },
        _ => None,
    }
}

fn place(parameters: Parameters, name: &Ident) -> Option<usize> {
    let name = folded(name);
    parameters.iter().position(|(parameter, _)| *parameter == name)
}

impl Usual {
    fn value(self) -> Option<Expr> {
        let number = |digits: &str| Value::Number(digits.to_string(), false);
        let text = |text: &str| Value::SingleQuotedString(text.to_string());
        let value = match self {
            Usual::None => return None,
            Usual::Zero => number("0"),
            Usual::ZeroSeconds => number("0.0"),
            Usual::False => Value::Boolean(false),
            Usual::True => Value::Boolean(true),
            Usual::NoVariables => return Some(cast(Expr::Value(text("{}").into()), DataType::JSONB)),
            Usual::JsonNull => text("use_json_null"),
        };
        Some(Expr::Value(value.into()))
    }
}
