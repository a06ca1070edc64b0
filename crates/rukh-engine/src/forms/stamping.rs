//! How rows get their times.

use crate::forms::row::Times;
use rukh_catalog::Table;
use rukh_keys::{DAY_MICROS, Datum};

/// How rows of a table get their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamping {
    /// They carry none.
    None,
    /// Their life counts from when they were written.
    Written,
    /// It counts from the value of the column at this declared position.
    From(usize),
}

impl Stamping {
    pub(crate) fn of(table: &Table) -> Self {
        let from = table.options.lifetime.and_then(|lifetime| lifetime.from);
        match from.and_then(|column| table.position(column)) {
            Some(position) => Stamping::From(position),
            None if table.options.timed => Stamping::Written,
            None => Stamping::None,
        }
    }

    /// Returns the times of a row written at `now`. A row whose life counts from NULL does not end.
    pub(crate) fn times(self, row: &[Datum], now: i64) -> Option<Times> {
        let counted = match self {
            Stamping::None => return None,
            Stamping::Written => None,
            Stamping::From(position) => Some(match &row[position] {
                Datum::Timestamp(micros) => *micros,
                Datum::Date(days) => i64::from(*days).saturating_mul(DAY_MICROS),
                _ => i64::MAX,
            }),
        };
        Some(Times {
            written: now,
            counted,
        })
    }
}
