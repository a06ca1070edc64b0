//! Results as text, and whether two of them are the same.
//!
//! Values are texts as PostgreSQL writes them. Two results are the same when they have the same
//! rows, in the same order if the query gives one. Two values are the same when
//!
//! 1. their texts are equal; or
//! 2. in a column of CHAR, they differ by blanks at the end: PostgreSQL pads, Rukh does not; or
//! 3. in a column of decimals or floats, they are the same number: `1.50` and `1.5`; of a decimal with more
//!    than 38 digits after the point, which PostgreSQL gives, as many count; or
//! 4. in a column of floats, they differ by less than a trillionth of their size: sums of floats
//!    depend on the order of the rows.

use std::cmp::Ordering;
use std::fmt;

use rukh::DataType;

/// How the values of a column are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// By their texts.
    Exact,
    /// By their texts without blanks at the end.
    Char,
    /// As decimal numbers.
    Decimal,
    /// As floating-point numbers.
    Float,
}

/// The rows of a query as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// How each column is compared.
    pub kinds: Vec<ColumnKind>,
    /// Rows; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// Sorts the rows, so that tables of no order can be compared.
    pub fn sort(&mut self) {
        self.rows.sort_by(|left, right| {
            let unequal = left
                .iter()
                .zip(right)
                .map(|(a, b)| compare_loosely(a, b))
                .find(|o| o.is_ne());
            unequal.unwrap_or(Ordering::Equal)
        });
    }

    /// Says how this table, Rukh's, differs from the one of another database; `Ok` if it does not.
    pub fn same_rows(mut self, mut other: Table, ordered: bool) -> Result<(), String> {
        if !ordered {
            self.sort();
            other.sort();
        }
        if self.rows.len() != other.rows.len() {
            return Err(format!(
                "{} rows, not {}\n{}",
                self.rows.len(),
                other.rows.len(),
                both(&self, &other)
            ));
        }
        for (number, (row, expected)) in self.rows.iter().zip(&other.rows).enumerate() {
            if !self.same_row(row, expected) {
                let place = number + 1;
                return Err(format!("row {place} is different\n{}", both(&self, &other)));
            }
        }
        Ok(())
    }

    fn same_row(&self, row: &[Option<String>], expected: &[Option<String>]) -> bool {
        let kind = |column: usize| self.kinds.get(column).copied().unwrap_or(ColumnKind::Exact);
        row.len() == expected.len()
            && row
                .iter()
                .zip(expected)
                .enumerate()
                .all(|(column, pair)| same_value(kind(column), pair))
    }
}

fn same_value(kind: ColumnKind, pair: (&Option<String>, &Option<String>)) -> bool {
    let (Some(value), Some(expected)) = pair else {
        return pair.0 == pair.1;
    };
    value == expected
        || match kind {
            ColumnKind::Exact => false,
            ColumnKind::Char => value.trim_end_matches(' ') == expected.trim_end_matches(' '),
            ColumnKind::Decimal => {
                let all_digits = plain_decimal(value) == plain_decimal(expected);
                all_digits
                    || cut_decimal(expected).is_some_and(|cut| plain_decimal(value) == plain_decimal(&cut))
            }
            ColumnKind::Float => same_float(value, expected),
        }
}

/// A decimal without zeros that say nothing: `-0.50` is `-0.5`, `0.00` is `0`.
fn plain_decimal(text: &str) -> &str {
    match text.contains('.') && !text.contains(['e', 'E']) {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// A decimal of more than 38 digits after the point, rounded to as many.
fn cut_decimal(text: &str) -> Option<String> {
    let (_, fraction) = text.split_once('.')?;
    if fraction.len() <= 38 {
        return None;
    }
    let datum = DataType::NUMERIC.parse_text(text).ok()?;
    Some(DataType::NUMERIC.format_text(&datum))
}

fn same_float(value: &str, expected: &str) -> bool {
    let (Ok(value), Ok(expected)) = (value.parse::<f64>(), expected.parse::<f64>()) else {
        return false;
    };
    let size = value.abs().max(expected.abs());
    (value - expected).abs() <= size * 1e-12
}

/// Orders values so that numbers spelled differently fall together.
fn compare_loosely(left: &Option<String>, right: &Option<String>) -> Ordering {
    let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<f64>().ok());
    match (number(left), number(right)) {
        (Some(a), Some(b)) if (a - b).abs() > a.abs().max(b.abs()) * 1e-12 => a.total_cmp(&b),
        (Some(_), Some(_)) => left.cmp(right).then(Ordering::Equal),
        _ => trimmed(left).cmp(&trimmed(right)).then_with(|| left.cmp(right)),
    }
}

fn trimmed(value: &Option<String>) -> Option<&str> {
    value.as_deref().map(|text| text.trim_end_matches(' '))
}

fn both(rukh: &Table, other: &Table) -> String {
    format!("rukh:\n{rukh}other:\n{other}")
}

/// Rows printed of a table that is too long to read.
const ROWS_PRINTED_MAX: usize = 30;

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.columns.join(" | "))?;
        for row in self.rows.iter().take(ROWS_PRINTED_MAX) {
            let values: Vec<&str> = row
                .iter()
                .map(|value| value.as_deref().unwrap_or("NULL"))
                .collect();
            writeln!(f, "  {}", values.join(" | "))?;
        }
        match self.rows.len().checked_sub(ROWS_PRINTED_MAX) {
            Some(more) if more > 0 => writeln!(f, "  and {more} more"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(kind: ColumnKind, values: &[&str]) -> Table {
        let rows = values
            .iter()
            .map(|value| vec![Some((*value).to_owned())])
            .collect();
        Table {
            columns: vec!["a".to_owned()],
            kinds: vec![kind],
            rows,
        }
    }

    fn same(kind: ColumnKind, left: &[&str], right: &[&str], ordered: bool) -> bool {
        table(kind, left)
            .same_rows(table(ColumnKind::Exact, right), ordered)
            .is_ok()
    }

    #[test]
    fn order_counts_only_when_required() {
        assert!(same(ColumnKind::Exact, &["b", "a"], &["a", "b"], false));
        assert!(!same(ColumnKind::Exact, &["b", "a"], &["a", "b"], true));
        assert!(!same(ColumnKind::Exact, &["a"], &["a", "a"], false));
    }

    #[test]
    fn values_are_compared_by_the_kind_of_their_column() {
        assert!(same(ColumnKind::Decimal, &["1.5"], &["1.50"], true));
        assert!(!same(ColumnKind::Exact, &["1.5"], &["1.50"], true));
        let (all, cut) = (format!("0.{:038}5", 1), format!("0.{:038}", 2));
        assert!(same(ColumnKind::Decimal, &[&cut], &[&all], true));
        assert!(!same(ColumnKind::Decimal, &["0"], &[&all], true));
        assert!(same(ColumnKind::Char, &["a"], &["a  "], true));
        assert!(same(ColumnKind::Float, &["0.30000000000000004"], &["0.3"], true));
        assert!(!same(ColumnKind::Float, &["0.3001"], &["0.3"], true));
        assert!(!same(ColumnKind::Float, &["1"], &["NaN"], true));
    }
}
