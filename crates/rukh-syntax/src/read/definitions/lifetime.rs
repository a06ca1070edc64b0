//! TTL: how long the rows of a table live.
//!
//! ```text
//! TTL = 86400                              seconds
//! TTL = INTERVAL '30 days' | '30 days'
//! TTL = … FROM column                      counted from a date or timestamp of the row
//! TTL = NONE | FOREVER | 0
//! ```

use rukh_keys::{DAY_MICROS, Interval};
use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::reader::Reader;
use crate::tree::LifetimeDefinition;

const SECOND_MICROS: i64 = 1_000_000;

/// Days that a month of an interval counts, as where PostgreSQL turns intervals into seconds.
const MONTH_DAYS: i64 = 30;

/// Reads what stands behind `TTL =`.
pub(crate) fn lifetime(reader: &mut Reader<'_>) -> Result<LifetimeDefinition, StatementError> {
    let position = reader.position();
    if reader.accept(&["none"]) || reader.accept(&["forever"]) {
        return Ok(LifetimeDefinition {
            ttl_micros: None,
            from: None,
            position,
        });
    }
    let micros = match reader.peek_at(0) {
        Token::Number(..) => i64::try_from(reader.integer()?)
            .ok()
            .and_then(|seconds| seconds.checked_mul(SECOND_MICROS)),
        _ => {
            reader.accept(&["interval"]);
            let text = reader.string()?;
            interval_micros(&text).map_err(|error| error.at(position))?
        }
    };
    let from = match reader.accept(&["from"]) {
        true => Some(reader.name()?),
        false => None,
    };
    match micros {
        Some(0) if from.is_none() => Ok(LifetimeDefinition {
            ttl_micros: None,
            from,
            position,
        }),
        Some(micros) if micros > 0 => Ok(LifetimeDefinition {
            ttl_micros: Some(micros),
            from,
            position,
        }),
        _ => Err(
            StatementError::statement("22023", "TTL must be positive, and less than 292,000 years")
                .at(position),
        ),
    }
}

/// Returns an interval in microseconds, a month as 30 days; `None` where there are too many.
fn interval_micros(text: &str) -> Result<Option<i64>, StatementError> {
    let Some(interval) = Interval::read(text) else {
        let message = format!("invalid input syntax for type interval: \"{text}\"");
        return Err(StatementError::statement("22007", message));
    };
    let days = i64::from(interval.months) * MONTH_DAYS + i64::from(interval.days);
    let micros = days.checked_mul(DAY_MICROS);
    Ok(micros.and_then(|micros| micros.checked_add(interval.micros)))
}
