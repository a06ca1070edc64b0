//! Names of types: from sqlparser's tree to the types that columns have.

use rukh_keys::{DataType, ValueError};
use sqlparser::ast::{ArrayElemTypeDef, DataType as Parsed, ExactNumberInfo, TimezoneInfo};

use crate::StatementError;

/// Returns the type of a column, or of a CAST, that is written like this.
///
/// | written                               | type                       |
/// |---------------------------------------|----------------------------|
/// | `INT`, `INT4`, `INTEGER`              | INTEGER                    |
/// | `FLOAT`, `FLOAT(25)` to `FLOAT(53)`   | DOUBLE                     |
/// | `FLOAT(1)` to `FLOAT(24)`             | REAL                       |
/// | `NUMERIC`, `DECIMAL` without digits   | NUMERIC                    |
/// | `DECIMAL(p,s)` of more than 38 digits | NUMERIC(p,s)               |
/// | `TEXT`, `STRING`, `VARCHAR`           | VARCHAR                    |
/// | `BYTEA`, `VARBINARY`                  | VARBINARY                  |
/// | `TIMESTAMPTZ`                         | TIMESTAMP WITH TIME ZONE   |
///
/// `type[]`, whatever its dimensions and lengths, is the type of arrays of one dimension.
///
/// Fails with 42704 on a type that is not known, 22023 on a bad length or precision.
pub fn data_type(parsed: &Parsed) -> Result<DataType, StatementError> {
    match parsed {
        Parsed::Float(ExactNumberInfo::Precision(bits)) => float(*bits),
        Parsed::Time(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => match digits {
            None => named("time"),
            Some(digits) => named(&format!("time({digits})")),
        },
        Parsed::Array(ArrayElemTypeDef::SquareBracket(element, _)) => data_type(element).map(DataType::array),
        Parsed::Array(_) => Err(StatementError::unsupported("arrays are written as type[]")),
        // sqlparser keeps a name in quotes as it is; types have no capitals.
        _ => named(&parsed.to_string().replace('"', "")),
    }
}

fn float(bits: u64) -> Result<DataType, StatementError> {
    match bits {
        1..=24 => Ok(DataType::Real),
        25..=53 => Ok(DataType::Double),
        0 => Err(StatementError::statement(
            "22023",
            "precision for type float must be at least 1 bit",
        )),
        _ => Err(StatementError::statement(
            "22023",
            "precision for type float must be less than 54 bits",
        )),
    }
}

fn named(name: &str) -> Result<DataType, StatementError> {
    name.parse().map_err(|error: ValueError| {
        let sqlstate = match error {
            ValueError::UnknownType { .. } => "42704",
            _ => "22023",
        };
        let message = match error {
            ValueError::UnknownType { name } => {
                format!("type \"{}\" does not exist", name.to_ascii_lowercase())
            }
            other => other.to_string(),
        };
        StatementError::statement(sqlstate, message)
    })
}
