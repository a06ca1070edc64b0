//! Reads a path from its text.
//!
//! The grammar keeps conditions apart from values: `$.a && $.b` is none, `$.a == 1 && $.b == 2` is. In parentheses a condition is a
//! value, too: `($.a == 1).type()`.

use std::rc::Rc;

use rukh_error::SqlError;
use rukh_keys::JsonNumber;

use super::arithmetic::number_of;
use super::tokens::{Kind, Token, tokens};
use super::tree::{Arithmetic, Chain, Comparison, Condition, Head, Like, Method, Path, Sign, Step};
use crate::numbers::Number;
use crate::patterns::{Options, Pattern};

/// How deep parentheses, signs and filters may be nested, and how many steps a path has at most.
const DEPTH_MAX: usize = 200;
const STEPS_MAX: usize = 500;

/// Flags of `like_regex`, in the order in which they are written.
const FLAGS: &str = "ismxq";

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// 42601 where it is none, 22P02 if it is empty, 2201B for a wrong regular expression, 54001 if it is nested too deeply or has more
    /// than 500 steps.
    pub(crate) fn read(text: &str) -> Result<Path, SqlError> {
        let tokens = tokens(text)?;
        if let [_] = tokens.as_slice() {
            let message = format!("invalid input syntax for type jsonpath: \"{text}\"");
            return Err(SqlError::statement("22P02", message));
        }
        let mut reader = Reader {
            tokens: &tokens,
            at: 0,
            depth: 0,
            steps: 0,
            filters: 0,
            subscripts: 0,
        };
        let is_strict = reader.word("strict");
        if !is_strict {
            reader.word("lax");
        }
        let root = reader.either()?;
        match reader.peek().kind {
            Kind::End => Ok(Path {
                is_strict,
                root: root.into_value(),
            }),
            _ => Err(reader.unexpected()),
        }
    }
}

/// What an expression of the grammar is.
enum Either {
    Value(Chain),
    Condition(Condition),
}

impl Either {
    fn into_value(self) -> Chain {
        match self {
            Either::Value(chain) => chain,
            Either::Condition(condition) => Chain::of(Head::Condition(condition)),
        }
    }
}

struct Reader<'t> {
    tokens: &'t [Token<'t>],
    at: usize,
    depth: usize,
    steps: usize,
    /// In how many filters this is: `@` stands in one.
    filters: usize,
    /// In how many subscripts this is: `last` stands in one.
    subscripts: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> &'t Token<'t> {
        self.peek_at(0)
    }

    fn peek_at(&self, further: usize) -> &'t Token<'t> {
        let last = self.tokens.len().saturating_sub(1);
        &self.tokens[self.at.saturating_add(further).min(last)]
    }

    fn unexpected(&self) -> SqlError {
        self.peek().unexpected()
    }

    fn advance(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn is_sign(&self, sign: &str) -> bool {
        self.peek().kind == Kind::Sign(sign)
    }

    fn sign(&mut self, sign: &str) -> bool {
        let is_there = self.is_sign(sign);
        if is_there {
            self.advance();
        }
        is_there
    }

    fn expect(&mut self, sign: &str) -> Result<(), SqlError> {
        match self.sign(sign) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn is_word_at(&self, further: usize, word: &str) -> bool {
        match &self.peek_at(further).kind {
            // Constants of JSON are written as JSON has them.
            Kind::Word(found) => match word {
                "null" | "true" | "false" => found == word,
                _ => found.eq_ignore_ascii_case(word),
            },
            _ => false,
        }
    }

    fn word(&mut self, word: &str) -> bool {
        let is_there = self.is_word_at(0, word);
        if is_there {
            self.advance();
        }
        is_there
    }

    fn expect_word(&mut self, word: &str) -> Result<(), SqlError> {
        match self.word(word) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    /// Reads something a level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, SqlError>) -> Result<T, SqlError> {
        if self.depth >= DEPTH_MAX {
            return Err(too_deep());
        }
        self.depth = self.depth.saturating_add(1);
        let result = read(self);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    fn either(&mut self) -> Result<Either, SqlError> {
        let mut left = self.conjunction()?;
        while self.is_sign("||") {
            self.count_step()?;
            let first = self.as_condition(left)?;
            self.advance();
            let right = self.conjunction()?;
            let second = self.as_condition(right)?;
            left = Either::Condition(Condition::Or(Box::new([first, second])));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Either, SqlError> {
        let mut left = self.comparison()?;
        while self.is_sign("&&") {
            self.count_step()?;
            let first = self.as_condition(left)?;
            self.advance();
            let right = self.comparison()?;
            let second = self.as_condition(right)?;
            left = Either::Condition(Condition::And(Box::new([first, second])));
        }
        Ok(left)
    }

    /// Takes what has been read as a condition; the next token is unexpected if it is none.
    fn as_condition(&self, either: Either) -> Result<Condition, SqlError> {
        match either {
            Either::Condition(condition) => Ok(condition),
            Either::Value(_) => Err(self.unexpected()),
        }
    }

    fn as_value(&self, either: Either) -> Result<Chain, SqlError> {
        match either {
            Either::Value(chain) => Ok(chain),
            Either::Condition(_) => Err(self.unexpected()),
        }
    }

    fn comparison(&mut self) -> Result<Either, SqlError> {
        if self.sign("!") {
            let condition = match self.is_word_at(0, "exists") {
                true => self.exists()?,
                false => {
                    self.expect("(")?;
                    self.condition_to(")")?
                }
            };
            return Ok(Either::Condition(Condition::Not(Box::new(condition))));
        }
        let left = match self.sum()? {
            Either::Condition(condition) if self.word("is") => {
                self.expect_word("unknown")?;
                return Ok(Either::Condition(Condition::IsUnknown(Box::new(condition))));
            }
            Either::Condition(condition) => return Ok(Either::Condition(condition)),
            Either::Value(chain) => chain,
        };
        let comparison = match self.peek().kind {
            Kind::Sign("==") => Comparison::Equal,
            Kind::Sign("<>" | "!=") => Comparison::NotEqual,
            Kind::Sign("<") => Comparison::Less,
            Kind::Sign("<=") => Comparison::LessOrEqual,
            Kind::Sign(">") => Comparison::Greater,
            Kind::Sign(">=") => Comparison::GreaterOrEqual,
            _ if self.word("starts") => {
                self.expect_word("with")?;
                let head = match &self.peek().kind {
                    Kind::Text(text) => Head::Text(text.clone()),
                    Kind::Variable(name) => Head::Variable(name.clone()),
                    _ => return Err(self.unexpected()),
                };
                self.advance();
                let sides = Box::new([left, Chain::of(head)]);
                return Ok(Either::Condition(Condition::StartsWith(sides)));
            }
            _ if self.word("like_regex") => return self.like(left),
            _ => return Ok(Either::Value(left)),
        };
        self.advance();
        let right = self.sum()?;
        let right = self.as_value(right)?;
        let sides = Box::new([left, right]);
        Ok(Either::Condition(Condition::Compares(comparison, sides)))
    }

    fn like(&mut self, left: Chain) -> Result<Either, SqlError> {
        let Kind::Text(pattern) = &self.peek().kind else {
            return Err(self.unexpected());
        };
        self.advance();
        let mut flags = "";
        if self.word("flag") {
            let Kind::Text(given) = &self.peek().kind else {
                return Err(self.unexpected());
            };
            flags = given;
            self.advance();
        }
        let like = Like::compile(pattern, flags)?;
        Ok(Either::Condition(Condition::LikeRegex(Box::new(left), like)))
    }

    fn exists(&mut self) -> Result<Condition, SqlError> {
        self.expect_word("exists")?;
        self.expect("(")?;
        let chain = self.deeper(Self::sum)?;
        let chain = self.as_value(chain)?;
        self.expect(")")?;
        Ok(Condition::Exists(Box::new(chain)))
    }

    /// Reads a condition and the sign that ends it.
    fn condition_to(&mut self, end: &str) -> Result<Condition, SqlError> {
        let either = self.deeper(Self::either)?;
        let condition = self.as_condition(either)?;
        self.expect(end)?;
        Ok(condition)
    }

    fn sum(&mut self) -> Result<Either, SqlError> {
        let mut left = self.product()?;
        loop {
            let op = match self.peek().kind {
                Kind::Sign("+") => Arithmetic::Add,
                Kind::Sign("-") => Arithmetic::Subtract,
                _ => return Ok(left),
            };
            left = self.computed(op, left, Self::product)?;
        }
    }

    fn product(&mut self) -> Result<Either, SqlError> {
        let mut left = self.signed()?;
        loop {
            let op = match self.peek().kind {
                Kind::Sign("*") => Arithmetic::Multiply,
                Kind::Sign("/") => Arithmetic::Divide,
                Kind::Sign("%") => Arithmetic::Modulo,
                _ => return Ok(left),
            };
            left = self.computed(op, left, Self::signed)?;
        }
    }

    fn computed(
        &mut self,
        op: Arithmetic,
        left: Either,
        read: fn(&mut Self) -> Result<Either, SqlError>,
    ) -> Result<Either, SqlError> {
        let left = self.as_value(left)?;
        self.advance();
        self.count_step()?;
        let right = read(self)?;
        let right = self.as_value(right)?;
        let sides = Box::new([left, right]);
        Ok(Either::Value(Chain::of(Head::Computed(op, sides))))
    }

    fn signed(&mut self) -> Result<Either, SqlError> {
        let sign = match self.peek().kind {
            Kind::Sign("+") => Sign::Plus,
            Kind::Sign("-") => Sign::Minus,
            _ => return self.accessed(),
        };
        self.advance();
        let operand = self.deeper(Self::signed)?;
        let operand = self.as_value(operand)?;
        Ok(Either::Value(match (operand.head, operand.steps.is_empty()) {
            (Head::Number(number), true) => Chain::of(Head::Number(match sign {
                Sign::Plus => number,
                Sign::Minus => number.negated(),
            })),
            (head, _) => {
                let steps = operand.steps;
                Chain::of(Head::Signed(sign, Box::new(Chain { head, steps })))
            }
        }))
    }

    /// Reads a value and the steps behind it.
    fn accessed(&mut self) -> Result<Either, SqlError> {
        if self.is_word_at(0, "exists") {
            return self.exists().map(Either::Condition);
        }
        let mut chain = match self.sign("(") {
            false => Chain::of(self.head()?),
            true => {
                let either = self.deeper(Self::either)?;
                self.expect(")")?;
                match either {
                    Either::Condition(condition) if !self.begins_step() => {
                        return Ok(Either::Condition(condition));
                    }
                    either => either.into_value(),
                }
            }
        };
        while self.begins_step() {
            self.count_step()?;
            let step = self.step()?;
            chain.steps.push(step);
        }
        Ok(Either::Value(chain))
    }

    fn count_step(&mut self) -> Result<(), SqlError> {
        self.steps = self.steps.saturating_add(1);
        match self.steps > STEPS_MAX {
            true => Err(too_deep()),
            false => Ok(()),
        }
    }

    fn head(&mut self) -> Result<Head, SqlError> {
        let head = match &self.peek().kind {
            Kind::Text(text) => Head::Text(text.clone()),
            Kind::Variable(name) => Head::Variable(name.clone()),
            Kind::Whole(number) | Kind::Real(number) => Head::Number(literal(number)?),
            Kind::Sign("$") => Head::Root,
            Kind::Sign("@") if self.filters == 0 => {
                return Err(SqlError::syntax("@ is not allowed in root expressions"));
            }
            Kind::Sign("@") => Head::Current,
            _ if self.is_word_at(0, "last") => match self.subscripts {
                0 => return Err(SqlError::syntax("LAST is allowed only in array subscripts")),
                _ => Head::Last,
            },
            _ if self.is_word_at(0, "null") => Head::Null,
            _ if self.is_word_at(0, "true") => Head::Bool(true),
            _ if self.is_word_at(0, "false") => Head::Bool(false),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(head)
    }

    fn begins_step(&self) -> bool {
        matches!(self.peek().kind, Kind::Sign("." | "[" | "?"))
    }

    fn step(&mut self) -> Result<Step, SqlError> {
        if self.sign("?") {
            self.expect("(")?;
            self.filters = self.filters.saturating_add(1);
            let condition = self.condition_to(")")?;
            self.filters = self.filters.saturating_sub(1);
            return Ok(Step::Filter(condition));
        }
        if self.sign("[") {
            return self.subscripts();
        }
        self.expect(".")?;
        if self.sign("*") {
            return Ok(Step::Members);
        }
        if self.sign("**") {
            return self.descend();
        }
        let name = match &self.peek().kind {
            Kind::Text(text) => {
                self.advance();
                return Ok(Step::Member(text.clone()));
            }
            Kind::Word(word) => word,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        if !self.is_sign("(") {
            return Ok(Step::Member(name.clone()));
        }
        if let Some(method) = Method::named(name) {
            self.advance();
            self.expect(")")?;
            return Ok(Step::Method(method));
        }
        if !name.eq_ignore_ascii_case("datetime") {
            return Err(self.unexpected());
        }
        self.advance();
        let mut template = None;
        if let Kind::Text(text) = &self.peek().kind {
            template = Some(text.clone());
            self.advance();
        }
        self.expect(")")?;
        Ok(Step::DateTime(template))
    }

    fn subscripts(&mut self) -> Result<Step, SqlError> {
        if self.sign("*") {
            self.expect("]")?;
            return Ok(Step::Elements);
        }
        let mut all = Vec::new();
        self.subscripts = self.subscripts.saturating_add(1);
        loop {
            self.count_step()?;
            let from = self.deeper(Self::sum)?;
            let from = self.as_value(from)?;
            let to = match self.word("to") {
                true => {
                    let to = self.deeper(Self::sum)?;
                    Some(self.as_value(to)?)
                }
                false => None,
            };
            all.push((from, to));
            if self.sign("]") {
                break;
            }
            self.expect(",")?;
        }
        self.subscripts = self.subscripts.saturating_sub(1);
        Ok(Step::Subscripts(all))
    }

    fn descend(&mut self) -> Result<Step, SqlError> {
        if !self.sign("{") {
            return Ok(Step::Descend(Some(0), None));
        }
        let from = self.level()?;
        let to = match self.word("to") {
            true => self.level()?,
            false => from,
        };
        self.expect("}")?;
        Ok(Step::Descend(from, to))
    }

    fn level(&mut self) -> Result<Option<u32>, SqlError> {
        if self.word("last") {
            return Ok(None);
        }
        let Kind::Whole(number) = self.peek().kind else {
            return Err(self.unexpected());
        };
        self.advance();
        let level = number
            .parse::<i32>()
            .ok()
            .and_then(|level| u32::try_from(level).ok());
        level.map(Some).ok_or_else(|| {
            let message = format!("value \"{number}\" is out of range for type integer");
            SqlError::statement("22003", message)
        })
    }
}

fn too_deep() -> SqlError {
    SqlError::statement(
        "54001",
        "stack depth limit exceeded: a jsonpath that is nested too deeply",
    )
}

/// Reads a number of the language: `1`, `1.`, `.5`, `1.5e3`.
fn literal(text: &str) -> Result<Number, SqlError> {
    let (digits, exponent) = text.split_at(text.find(['e', 'E']).unwrap_or(text.len()));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    Ok(number_of(
        JsonNumber::of_text(&format!("{whole}{point}{fraction}{exponent}"))?.spelling(),
    ))
}

impl Like {
    fn compile(pattern: &str, given: &str) -> Result<Like, SqlError> {
        if let Some(other) = given.chars().find(|flag| !FLAGS.contains(*flag)) {
            let detail = format!("Unrecognized flag character \"{other}\" in LIKE_REGEX predicate.");
            return Err(SqlError::syntax("invalid input syntax for type jsonpath").with_detail(detail));
        }
        let has = |flag: char| given.contains(flag);
        if has('x') && !has('q') {
            let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(SqlError::statement("0A000", message));
        }
        let options = Options {
            ignores_case: has('i'),
            stops_at_newline: !has('s'),
            anchors_at_newline: has('m'),
            is_expanded: false,
            is_literal: has('q'),
        };
        Ok(Like {
            pattern: pattern.to_string(),
            flags: FLAGS.chars().filter(|flag| has(*flag)).collect(),
            regex: Rc::new(Pattern::read(pattern, options)?),
        })
    }
}
