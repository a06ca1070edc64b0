//! Predicates as SQL, for EXPLAIN.

use rukh_keys::{DataType, Datum};

use crate::conditions::predicate::{Constant, Function, Operand, Predicate};
use crate::conditions::term::{TermId, TermKind};
use crate::inputs::query::Query;

/// Most elements of a list that are written.
const LIST_SHOWN: usize = 8;

impl Query<'_> {
    /// Returns a conjunct of the query as SQL.
    pub(crate) fn conjunct_sql(&self, at: usize) -> String {
        self.conjuncts
            .get(at)
            .map_or_else(String::new, |conjunct| self.sql(conjunct))
    }

    /// Returns the name of a term.
    pub(crate) fn term_sql(&self, term: TermId) -> String {
        match term.kind() {
            TermKind::Column(column) => self.table.column_name(column).to_string(),
            TermKind::Hash { column, bytes } => {
                format!("HASH({}, {bytes})", self.table.column_name(column))
            }
            TermKind::Expression(position) => match self.expressions.get(position as usize) {
                Some(expression) => expression.sql.clone(),
                None => format!("(expression {position})"),
            },
        }
    }

    /// Returns a predicate as SQL.
    pub(crate) fn sql(&self, predicate: &Predicate) -> String {
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match predicate {
            Predicate::True => "TRUE".to_string(),
            Predicate::False => "FALSE".to_string(),
            Predicate::Compare { op, left, right } => {
                format!("{} {} {}", self.operand(left), op.sql(), self.operand(right))
            }
            Predicate::RowCompare { op, left, right } => {
                format!("{} {} {}", self.row(left), op.sql(), self.row(right))
            }
            Predicate::In {
                operand,
                list,
                negated,
            } => {
                let list = self.list(list.iter().map(|one| self.operand(one)), list.len());
                format!("{} {}IN {list}", self.operand(operand), not(negated))
            }
            Predicate::RowIn { left, list, negated } => {
                let list = self.list(list.iter().map(|row| self.row(row)), list.len());
                format!("{} {}IN {list}", self.row(left), not(negated))
            }
            Predicate::IsNull { operand, negated } => {
                format!("{} IS {}NULL", self.operand(operand), not(negated))
            }
            Predicate::IsDistinct { left, right, negated } => {
                format!(
                    "{} IS {}DISTINCT FROM {}",
                    self.operand(left),
                    not(negated),
                    self.operand(right)
                )
            }
            Predicate::Like {
                operand,
                pattern,
                escape,
                case_insensitive,
                negated,
            } => {
                let like = if *case_insensitive { "ILIKE" } else { "LIKE" };
                let escape = escape.map_or_else(String::new, |c| format!(" ESCAPE '{c}'"));
                let (operand, pattern) = (self.operand(operand), self.operand(pattern));
                format!("{operand} {}{like} {pattern}{escape}", not(negated))
            }
            Predicate::StartsWith { operand, prefix } => {
                format!("starts_with({}, {})", self.operand(operand), self.operand(prefix))
            }
            Predicate::IsTrue { operand, negated } => {
                format!("{} IS {}TRUE", self.operand(operand), not(negated))
            }
            Predicate::IsFalse { operand, negated } => {
                format!("{} IS {}FALSE", self.operand(operand), not(negated))
            }
            Predicate::And(parts) => self.joined(parts, " AND "),
            Predicate::Or(parts) => self.joined(parts, " OR "),
            Predicate::Not(inner) => format!("NOT ({})", self.sql(inner)),
            Predicate::NotTrue(inner) => format!("({}) IS NOT TRUE", self.sql(inner)),
            Predicate::Opaque(position) => match self.opaque.get(*position as usize) {
                Some(opaque) => opaque.sql.clone(),
                None => format!("(condition {position})"),
            },
        }
    }

    fn joined(&self, parts: &[Predicate], word: &str) -> String {
        let part = |part: &Predicate| match part {
            Predicate::And(_) | Predicate::Or(_) => format!("({})", self.sql(part)),
            other => self.sql(other),
        };
        let mut shown: Vec<String> = parts.iter().take(LIST_SHOWN).map(part).collect();
        if parts.len() > LIST_SHOWN {
            shown.push(format!("(… and {} more)", parts.len() - LIST_SHOWN));
        }
        shown.join(word)
    }

    fn list(&self, elements: impl Iterator<Item = String>, count: usize) -> String {
        let mut shown: Vec<String> = elements.take(LIST_SHOWN).collect();
        if count > LIST_SHOWN {
            shown.push(format!("… and {} more", count - LIST_SHOWN));
        }
        format!("({})", shown.join(", "))
    }

    fn row(&self, operands: &[Operand]) -> String {
        let all: Vec<String> = operands.iter().map(|operand| self.operand(operand)).collect();
        format!("({})", all.join(", "))
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Term(term) => self.term_sql(*term),
            Operand::Constant(constant) => constant_sql(constant),
            Operand::Parameter(position) => format!("${}", position + 1),
            Operand::Function(function, inner) => function_sql(function, &self.operand(inner)),
        }
    }
}

/// A constant as SQL; dates and times in quotes, unlike in keys.
fn constant_sql(constant: &Constant) -> String {
    let text = constant.ty.display(&constant.datum).to_string();
    match constant.datum {
        Datum::Date(_) | Datum::Time(_) | Datum::Timestamp(_) | Datum::Uuid(_) => format!("'{text}'"),
        _ => text,
    }
}

fn function_sql(function: &Function, of: &str) -> String {
    match function {
        Function::CastDate => format!("CAST({of} AS {})", DataType::Date),
        Function::DateTrunc(unit) => format!("date_trunc('{}', {of})", unit.sql()),
        Function::Year => format!("EXTRACT(YEAR FROM {of})"),
        Function::Add(k) => format!("{of} + {}", constant_sql(k)),
        Function::Subtract(k) => format!("{of} - {}", constant_sql(k)),
        Function::SubFrom(k) => format!("{} - {}", constant_sql(k), factor(of)),
        Function::Multiply(k) => format!("{} * {}", factor(of), constant_sql(k)),
        Function::Divide(k) => format!("{} / {}", factor(of), constant_sql(k)),
        Function::Substr(length) => format!("left({of}, {length})"),
        Function::Hash(bytes) => format!("HASH({of}, {bytes})"),
        Function::Cast(ty) => format!("CAST({of} AS {ty})"),
        Function::Floor => format!("floor({of})"),
        Function::Ceil => format!("ceil({of})"),
        Function::Round => format!("round({of})"),
        Function::RoundTo { places, .. } => format!("round({of}, {places})"),
        Function::Trunc => format!("trunc({of})"),
        Function::ToTimestamp => format!("to_timestamp({of})"),
        Function::Epoch => format!("date_part('epoch', {of})"),
        Function::Seconds => format!("EXTRACT(EPOCH FROM {of})"),
        Function::DateBin { step, origin } => {
            let origin = DataType::TIMESTAMP
                .display(&Datum::Timestamp(*origin))
                .to_string();
            format!(
                "date_bin(INTERVAL '{} seconds', {of}, '{origin}')",
                *step as f64 / 1e6
            )
        }
    }
}

/// An operand that binds closer than any operator.
fn factor(of: &str) -> String {
    match of.contains(' ') && !of.ends_with(')') {
        true => format!("({of})"),
        false => of.to_string(),
    }
}
