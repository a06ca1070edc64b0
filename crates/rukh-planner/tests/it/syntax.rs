//! A small SQL for golden scripts: conditions, ORDER BY, LIMIT and hints into the planner's words.
//!
//! ```text
//! a > 2 GROUP BY b, c MAX d, or MIN d, MIN MAX d, ANY, FIRST d DESC, e
//! /*+ INDEX(i) */ a > 2 AND (b, c) IN ((1, 2), (3, 4)) ORDER BY a DESC LIMIT 5
//! date_trunc('day', ts) = '2012-01-01' OR name LIKE '002%' OR opaque('length(name) > 3', name)
//! ```
//!
//! Integers are INTEGER or BIGINT by size, numbers with a point DECIMAL, with an exponent DOUBLE;
//! `TYPE 'text'` is a constant of that type; `$1` is a parameter.

use rukh_catalog::{ColumnId, Table};
use rukh_keys::{DataType, Datum};
use rukh_planner::{
    CompareOp, Constant, Function, GroupRow, Grouped, Hint, IndexExpression, OpaquePredicate, Operand,
    OrderKey, Predicate, TermId, TimeUnit,
};

/// What a line of a script asks.
#[derive(Debug, Default)]
pub struct Parsed {
    pub conjuncts: Vec<Predicate>,
    pub order: Vec<OrderKey>,
    pub limit: Option<u64>,
    pub groups: Option<Grouped>,
    pub hints: Vec<Hint>,
    pub opaque: Vec<OpaquePredicate>,
}

/// Reads a line; the AND of the whole is taken apart into conjuncts.
pub fn parse(line: &str, table: &Table, expressions: &[IndexExpression]) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    let line = take_hints(line, &mut parsed.hints)?;
    let mut parser = Parser {
        tokens: tokens(line)?,
        at: 0,
        table,
        expressions,
        opaque: Vec::new(),
    };
    let clauses = ["ORDER", "LIMIT", "GROUP"];
    if !clauses.iter().any(|word| parser.is_word(word)) && !parser.is_end() {
        parsed.conjuncts = match parser.or()? {
            Predicate::And(all) => all,
            one => vec![one],
        };
    }
    if parser.take_word("GROUP") {
        parser.word("BY")?;
        parsed.groups = Some(parser.groups()?);
    }
    if parser.take_word("ORDER") {
        parser.word("BY")?;
        parsed.order = parser.list(Parser::order_key)?;
    }
    if parser.take_word("LIMIT") {
        parsed.limit = Some(parser.number()?);
    }
    parsed.opaque = std::mem::take(&mut parser.opaque);
    match parser.is_end() {
        true => Ok(parsed),
        false => Err(format!("unexpected {:?}", parser.tokens[parser.at])),
    }
}

fn take_hints<'a>(line: &'a str, hints: &mut Vec<Hint>) -> Result<&'a str, String> {
    let Some(rest) = line.trim().strip_prefix("/*+") else {
        return Ok(line);
    };
    let (inside, rest) = rest.split_once("*/").ok_or("hints without an end")?;
    for word in inside.split_whitespace() {
        hints.push(match word {
            "FULL_SCAN" => Hint::FullScan,
            "NO_INDEX" => Hint::NoIndex,
            "SKIP_SCAN" => Hint::SkipScan,
            "RANGE_SCAN" => Hint::RangeScan,
            index => {
                let name = index
                    .strip_prefix("INDEX(")
                    .and_then(|rest| rest.strip_suffix(")"));
                Hint::Index(name.ok_or("no such hint")?.to_string())
            }
        });
    }
    Ok(rest)
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Number(String),
    Text(String),
    Bytes(String),
    Parameter(usize),
    Symbol(&'static str),
}

const SYMBOLS: [&str; 13] = ["<>", "<=", ">=", "=", "<", ">", "(", ")", ",", "+", "-", "*", "/"];

fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if let Some(quoted) = rest.strip_prefix("x'") {
            let (text, length) = quoted_text(quoted)?;
            (Token::Bytes(text), length + 2)
        } else if let Some(quoted) = rest.strip_prefix('\'') {
            let (text, length) = quoted_text(quoted)?;
            (Token::Text(text), length + 1)
        } else if let Some(number) = rest.strip_prefix('$') {
            let length = number.chars().take_while(char::is_ascii_digit).count();
            let position: usize = number[..length].parse().map_err(|_| "a parameter has a number")?;
            (Token::Parameter(position - 1), length + 1)
        } else if first.is_ascii_digit() {
            let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '.';
            let mut length = rest.chars().take_while(is_part).count();
            if rest[..length].ends_with('e') && rest[length..].starts_with('-') {
                length += 1 + rest[length + 1..]
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .count();
            }
            (Token::Number(rest[..length].to_string()), length)
        } else if first.is_alphabetic() || first == '_' {
            let length: usize = rest
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .map(char::len_utf8)
                .sum();
            (Token::Word(rest[..length].to_string()), length)
        } else {
            let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
            let symbol = symbol.ok_or(format!("unexpected {first:?}"))?;
            (Token::Symbol(symbol), symbol.len())
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// The text up to the closing quote, and how long it was with it; `''` is a quote, `\x01` a character.
fn quoted_text(rest: &str) -> Result<(String, usize), String> {
    let mut text = String::new();
    let mut characters = rest.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' if characters.peek().is_some_and(|(_, next)| *next == '\'') => {
                characters.next();
                text.push('\'');
            }
            '\'' => return Ok((text, at + 1)),
            '\\' if rest[at..].starts_with("\\x") => {
                let code = u32::from_str_radix(&rest[at + 2..at + 4], 16).map_err(|e| e.to_string())?;
                text.push(char::from_u32(code).ok_or("no character")?);
                characters.nth(2);
            }
            other => text.push(other),
        }
    }
    Err("a text without an end".to_string())
}

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    table: &'a Table,
    expressions: &'a [IndexExpression],
    opaque: Vec<OpaquePredicate>,
}

impl Parser<'_> {
    fn is_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.tokens.get(self.at), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        self.take_word(word)
            .then_some(())
            .ok_or(format!("expected {word} at {:?}", self.tokens.get(self.at)))
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Symbol(found)) if *found == symbol);
        self.at += usize::from(found);
        found
    }

    fn symbol(&mut self, symbol: &str) -> Result<(), String> {
        self.take(symbol)
            .then_some(())
            .ok_or(format!("expected {symbol} at {:?}", self.tokens.get(self.at)))
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        match self.tokens.get(self.at) {
            Some(Token::Number(number)) => {
                self.at += 1;
                number.parse().map_err(|_| format!("bad number {number}"))
            }
            other => Err(format!("expected a number at {other:?}")),
        }
    }

    fn text(&mut self) -> Result<String, String> {
        match self.tokens.get(self.at).cloned() {
            Some(Token::Text(text)) => {
                self.at += 1;
                Ok(text)
            }
            other => Err(format!("expected a text at {other:?}")),
        }
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let mut items = vec![item(self)?];
        while self.take(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn or(&mut self) -> Result<Predicate, String> {
        let mut parts = vec![self.and()?];
        while self.take_word("OR") {
            parts.push(self.and()?);
        }
        Ok(if parts.len() == 1 {
            parts.remove(0)
        } else {
            Predicate::Or(parts)
        })
    }

    fn and(&mut self) -> Result<Predicate, String> {
        let mut parts = vec![self.not()?];
        while self.take_word("AND") {
            parts.push(self.not()?);
        }
        let flat = parts.into_iter().flat_map(|part| match part {
            Predicate::And(all) => all,
            other => vec![other],
        });
        let mut flat: Vec<_> = flat.collect();
        Ok(if flat.len() == 1 {
            flat.remove(0)
        } else {
            Predicate::And(flat)
        })
    }

    fn not(&mut self) -> Result<Predicate, String> {
        if self.take_word("NOT") {
            return Ok(Predicate::Not(Box::new(self.not()?)));
        }
        let start = self.at;
        match self.comparison() {
            Ok(predicate) => Ok(predicate),
            Err(error) => {
                self.at = start;
                self.symbol("(").map_err(|_| error)?;
                let inner = self.or()?;
                self.symbol(")")?;
                Ok(inner)
            }
        }
    }

    fn comparison(&mut self) -> Result<Predicate, String> {
        if self.take_word("opaque") {
            return self.opaque();
        }
        if self.take_word("starts_with") {
            self.symbol("(")?;
            let operand = self.operand()?;
            self.symbol(",")?;
            let prefix = self.operand()?;
            self.symbol(")")?;
            return Ok(Predicate::StartsWith { operand, prefix });
        }
        let left = self.row()?;
        if let Some(op) = self.take_op() {
            let right = self.row()?;
            return Ok(match left.len() {
                1 => Predicate::compare(op, left[0].clone(), right[0].clone()),
                _ => Predicate::RowCompare { op, left, right },
            });
        }
        if self.take_word("IS") {
            return self.is(left[0].clone());
        }
        let negated = self.take_word("NOT");
        self.after_not(left, negated)
    }

    fn after_not(&mut self, left: Vec<Operand>, negated: bool) -> Result<Predicate, String> {
        if self.take_word("IN") {
            self.symbol("(")?;
            let list = self.list(Self::row)?;
            self.symbol(")")?;
            return Ok(match left.len() {
                1 => {
                    let list = list.into_iter().map(|mut row| row.remove(0)).collect();
                    Predicate::In {
                        operand: left[0].clone(),
                        list,
                        negated,
                    }
                }
                _ => Predicate::RowIn { left, list, negated },
            });
        }
        let operand = left[0].clone();
        if self.take_word("BETWEEN") {
            let low = self.operand()?;
            self.word("AND")?;
            let high = self.operand()?;
            let both = vec![
                Predicate::compare(CompareOp::GtEq, operand.clone(), low),
                Predicate::compare(CompareOp::LtEq, operand, high),
            ];
            let both = Predicate::And(both);
            return Ok(if negated {
                Predicate::Not(Box::new(both))
            } else {
                both
            });
        }
        let case_insensitive = self.is_word("ILIKE");
        if self.take_word("LIKE") || self.take_word("ILIKE") {
            let pattern = self.operand()?;
            let escape = match self.take_word("ESCAPE") {
                true => self.text()?.chars().next(),
                false => None,
            };
            return Ok(Predicate::Like {
                operand,
                pattern,
                escape,
                case_insensitive,
                negated,
            });
        }
        // A boolean constant or column by itself.
        match operand {
            Operand::Constant(k) if !negated && k.datum == Datum::Boolean(true) => Ok(Predicate::True),
            Operand::Constant(k) if !negated && k.datum == Datum::Boolean(false) => Ok(Predicate::False),
            Operand::Term(_) if !negated => Ok(Predicate::compare(
                CompareOp::Eq,
                operand,
                Operand::Constant(Constant::new(Datum::Boolean(true), DataType::Boolean)),
            )),
            _ => Err(format!("expected a comparison at {:?}", self.tokens.get(self.at))),
        }
    }

    fn is(&mut self, operand: Operand) -> Result<Predicate, String> {
        let negated = self.take_word("NOT");
        if self.take_word("NULL") {
            return Ok(Predicate::IsNull { operand, negated });
        }
        if self.take_word("TRUE") {
            return Ok(Predicate::IsTrue { operand, negated });
        }
        if self.take_word("FALSE") {
            return Ok(Predicate::IsFalse { operand, negated });
        }
        self.word("DISTINCT")?;
        self.word("FROM")?;
        Ok(Predicate::IsDistinct {
            left: operand,
            right: self.operand()?,
            negated,
        })
    }

    fn opaque(&mut self) -> Result<Predicate, String> {
        self.symbol("(")?;
        let sql = self.text()?;
        let mut columns = Vec::new();
        while self.take(",") {
            columns.push(self.column()?);
        }
        self.symbol(")")?;
        self.opaque.push(OpaquePredicate { sql, columns });
        Ok(Predicate::Opaque(self.opaque.len() as u32 - 1))
    }

    fn take_op(&mut self) -> Option<CompareOp> {
        let ops = [
            ("=", CompareOp::Eq),
            ("<>", CompareOp::NotEq),
            ("<=", CompareOp::LtEq),
            ("<", CompareOp::Lt),
            (">=", CompareOp::GtEq),
            (">", CompareOp::Gt),
        ];
        ops.into_iter()
            .find(|(symbol, _)| self.take(symbol))
            .map(|(_, op)| op)
    }

    /// One operand, or several in brackets.
    fn row(&mut self) -> Result<Vec<Operand>, String> {
        if !self.take("(") {
            return Ok(vec![self.operand()?]);
        }
        let row = self.list(Self::operand)?;
        self.symbol(")")?;
        Ok(row)
    }

    fn factor(&mut self) -> Result<Operand, String> {
        let mut left = self.atom()?;
        loop {
            let divided = match (self.take("*"), self.take("/")) {
                (false, false) => return Ok(left),
                (_, divided) => divided,
            };
            left = match (left, self.atom()?, divided) {
                (of, Operand::Constant(k), true) => Operand::Function(Function::Divide(k), Box::new(of)),
                (of, Operand::Constant(k), false) | (Operand::Constant(k), of, false) => {
                    Operand::Function(Function::Multiply(k), Box::new(of))
                }
                _ => return Err("products have a constant".to_string()),
            };
        }
    }

    fn operand(&mut self) -> Result<Operand, String> {
        let mut left = self.factor()?;
        loop {
            let minus = match (self.take("+"), self.take("-")) {
                (false, false) => return Ok(left),
                (_, minus) => minus,
            };
            let right = self.factor()?;
            left = match (left, right) {
                (Operand::Constant(k), of) if minus => Operand::Function(Function::SubFrom(k), Box::new(of)),
                (Operand::Constant(k), of) => Operand::Function(Function::Add(k), Box::new(of)),
                (of, Operand::Constant(k)) if minus => Operand::Function(Function::Subtract(k), Box::new(of)),
                (of, Operand::Constant(k)) => Operand::Function(Function::Add(k), Box::new(of)),
                _ => return Err("sums have a constant".to_string()),
            };
        }
    }

    fn atom(&mut self) -> Result<Operand, String> {
        let negative = self.take("-");
        let token = self.tokens.get(self.at).cloned().ok_or("unexpected end")?;
        self.at += 1;
        match token {
            Token::Number(number) => {
                let sign = if negative { "-" } else { "" };
                Ok(Operand::Constant(number_constant(&format!("{sign}{number}"))?))
            }
            Token::Text(text) => Ok(Operand::text(text)),
            Token::Bytes(hex) => constant(&format!("\\x{hex}"), DataType::Varbinary(None)),
            Token::Parameter(position) => Ok(Operand::Parameter(position)),
            Token::Word(word) => self.word_atom(&word),
            Token::Symbol(symbol) => Err(format!("unexpected {symbol}")),
        }
    }

    fn word_atom(&mut self, word: &str) -> Result<Operand, String> {
        if let Some(Token::Text(text)) = self.tokens.get(self.at).cloned()
            && let Ok(ty) = word.parse::<DataType>()
        {
            self.at += 1;
            return constant(&text, ty);
        }
        let boolean = |value| Operand::Constant(Constant::new(Datum::Boolean(value), DataType::Boolean));
        match word.to_ascii_lowercase().as_str() {
            "null" => return Ok(Operand::Constant(Constant::new(Datum::Null, DataType::Integer))),
            "true" => return Ok(boolean(true)),
            "false" => return Ok(boolean(false)),
            _ => {}
        }
        if self.take("(") {
            return self.call(word);
        }
        self.at -= 1;
        Ok(Operand::Term(TermId::column(self.column()?)))
    }

    fn call(&mut self, name: &str) -> Result<Operand, String> {
        let name = name.to_ascii_lowercase();
        if let Some(position) = self
            .expressions
            .iter()
            .position(|one| one.sql.starts_with(&format!("{name}(")))
        {
            self.column()?;
            self.symbol(")")?;
            return Ok(Operand::Term(TermId::expression(position as u32)));
        }
        if name == "date_trunc" {
            let unit = self.text()?;
            self.symbol(",")?;
            let of = self.operand()?;
            self.symbol(")")?;
            return Ok(Operand::Function(
                Function::DateTrunc(unit_named(&unit)?),
                Box::new(of),
            ));
        }
        if name == "date_bin" {
            let step = self.number::<i64>()?;
            self.symbol(",")?;
            let of = self.operand()?;
            self.symbol(")")?;
            let step = step * 1_000_000;
            return Ok(Operand::Function(
                Function::DateBin { step, origin: 0 },
                Box::new(of),
            ));
        }
        let of = self.operand()?;
        let function = match name.as_str() {
            "cast" => {
                self.word("AS")?;
                match self.type_name()? {
                    DataType::Date => Function::CastDate,
                    ty => Function::Cast(ty),
                }
            }
            "year" => Function::Year,
            "floor" => Function::Floor,
            "ceil" => Function::Ceil,
            "round" if self.take(",") => {
                let minus = self.take("-");
                let places: i32 = self.number()?;
                Function::RoundTo {
                    places: if minus { -places } else { places },
                    single: false,
                }
            }
            "round" => Function::Round,
            "trunc" => Function::Trunc,
            "to_timestamp" => Function::ToTimestamp,
            "epoch" => Function::Epoch,
            "seconds" => Function::Seconds,
            "left" | "hash" | "substr" => {
                self.symbol(",")?;
                if name == "substr" {
                    self.number::<u8>()?;
                    self.symbol(",")?;
                }
                match name.as_str() {
                    "hash" => Function::Hash(self.number()?),
                    _ => Function::Substr(self.number()?),
                }
            }
            other => return Err(format!("no function {other}")),
        };
        self.symbol(")")?;
        Ok(Operand::Function(function, Box::new(of)))
    }

    fn type_name(&mut self) -> Result<DataType, String> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => {
                self.at += 1;
                word.parse().map_err(|error| format!("{error}"))
            }
            other => Err(format!("expected a type at {other:?}")),
        }
    }

    fn column(&mut self) -> Result<ColumnId, String> {
        match self.tokens.get(self.at) {
            Some(Token::Word(name)) => {
                self.at += 1;
                self.table
                    .column_named(name)
                    .map(|column| column.id)
                    .ok_or(format!("no column {name}"))
            }
            other => Err(format!("expected a column at {other:?}")),
        }
    }

    fn order_key(&mut self) -> Result<OrderKey, String> {
        let term = TermId::column(self.column()?);
        let descending = self.take_word("DESC");
        let mut nulls_first = descending;
        if self.take_word("NULLS") {
            nulls_first = self.take_word("FIRST");
            self.at += usize::from(!nulls_first);
        }
        Ok(OrderKey {
            term,
            descending,
            nulls_first,
        })
    }

    /// `a, b MAX c` or, of all rows, `() MAX c`.
    fn groups(&mut self) -> Result<Grouped, String> {
        let column = |parser: &mut Self| parser.column().map(TermId::column);
        let by = match self.take("(") {
            true => self.symbol(")").map(|()| Vec::new())?,
            false => self.list(column)?,
        };
        let row = match (self.take_word("MIN"), self.take_word("MAX")) {
            (true, false) => GroupRow::Least(column(self)?),
            (false, true) => GroupRow::Greatest(column(self)?),
            (true, true) => GroupRow::LeastAndGreatest(column(self)?),
            (false, false) if self.take_word("FIRST") => GroupRow::First(self.list(Parser::order_key)?),
            (false, false) => self.word("ANY").map(|()| GroupRow::Any)?,
        };
        Ok(Grouped { by, row })
    }
}

fn constant(text: &str, ty: DataType) -> Result<Operand, String> {
    let datum = ty.parse_text(text).map_err(|error| error.to_string())?;
    Ok(Operand::Constant(Constant::new(datum, ty)))
}

fn number_constant(number: &str) -> Result<Constant, String> {
    let ty = if number.contains('e') {
        DataType::Double
    } else if let Some((_, fraction)) = number.split_once('.') {
        DataType::Decimal {
            precision: 38,
            scale: fraction.len() as u8,
        }
    } else if number.parse::<i32>().is_ok() {
        DataType::Integer
    } else if number.parse::<i64>().is_ok() {
        DataType::BigInt
    } else {
        DataType::Decimal {
            precision: 38,
            scale: 0,
        }
    };
    let datum = ty.parse_text(number).map_err(|error| error.to_string())?;
    Ok(Constant::new(datum, ty))
}

fn unit_named(name: &str) -> Result<TimeUnit, String> {
    let units = [
        TimeUnit::Second,
        TimeUnit::Minute,
        TimeUnit::Hour,
        TimeUnit::Day,
        TimeUnit::Week,
        TimeUnit::Month,
        TimeUnit::Quarter,
        TimeUnit::Year,
    ];
    units
        .into_iter()
        .find(|unit| unit.sql() == name)
        .ok_or(format!("no unit {name}"))
}
