//! A path as a tree.

use std::rc::Rc;

use crate::numbers::Number;
use crate::patterns::Pattern;

/// A path, as a text says it.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// Whether it begins with `strict`: a member that is not there, and an element beyond the end, are errors then.
    pub is_strict: bool,
    pub(super) root: Chain,
}

/// An expression: a value and the steps that lead on from it.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub head: Head,
    pub steps: Vec<Step>,
}

/// What an expression begins with.
#[derive(Clone, Debug)]
pub(super) enum Head {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    /// `$name`.
    Variable(String),
    /// `$`.
    Root,
    /// `@`.
    Current,
    /// `last`.
    Last,
    /// `-x`, `+x`.
    Signed(Sign, Box<Chain>),
    /// `x + y` and its kin.
    Computed(Arithmetic, Box<[Chain; 2]>),
    /// A condition, whose value is true, false or null.
    Condition(Condition),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// What is true, false or unknown.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    And(Box<[Condition; 2]>),
    Or(Box<[Condition; 2]>),
    Not(Box<Condition>),
    IsUnknown(Box<Condition>),
    Exists(Box<Chain>),
    Compares(Comparison, Box<[Chain; 2]>),
    StartsWith(Box<[Chain; 2]>),
    LikeRegex(Box<Chain>, Like),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A pattern of `like_regex`.
#[derive(Clone, Debug)]
pub(super) struct Like {
    pub pattern: String,
    /// Those of `ismxq`, each once, in this order.
    pub flags: String,
    pub regex: Rc<Pattern>,
}

/// A step from values to others.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// `.name`.
    Member(String),
    /// `.*`.
    Members,
    /// `[*]`.
    Elements,
    /// `[1, 3 to last]`.
    Subscripts(Vec<(Chain, Option<Chain>)>),
    /// `.**{first to last}`, `None` of `last`.
    Descend(Option<u32>, Option<u32>),
    /// `? (…)`.
    Filter(Condition),
    /// `.size()` and its kin.
    Method(Method),
    /// `.datetime("…")`.
    DateTime(Option<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Abs,
    Ceiling,
    Double,
    Floor,
    KeyValue,
    Size,
    Type,
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Method::Abs => "abs",
            Method::Ceiling => "ceiling",
            Method::Double => "double",
            Method::Floor => "floor",
            Method::KeyValue => "keyvalue",
            Method::Size => "size",
            Method::Type => "type",
        }
    }

    pub fn named(name: &str) -> Option<Method> {
        const ALL: [Method; 7] = [
            Method::Abs,
            Method::Ceiling,
            Method::Double,
            Method::Floor,
            Method::KeyValue,
            Method::Size,
            Method::Type,
        ];
        ALL.into_iter()
            .find(|method| method.name().eq_ignore_ascii_case(name))
    }
}

impl Arithmetic {
    pub fn spelling(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
        }
    }
}

impl Sign {
    pub fn spelling(self) -> &'static str {
        match self {
            Sign::Plus => "+",
            Sign::Minus => "-",
        }
    }
}

impl Comparison {
    pub fn spelling(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

impl Chain {
    pub fn of(head: Head) -> Chain {
        let steps = Vec::new();
        Chain { head, steps }
    }
}
