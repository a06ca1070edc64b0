//! `quote_ident`, `quote_literal`, `quote_nullable`: texts as SQL reads them.

use datafusion::common::ScalarValue;
use rukh_error::SqlError;
use rukh_syntax::{quoted, quoted_string};

use crate::functions::common::row_values::Compute;

pub(crate) const FUNCTIONS: [(&str, Compute); 2] = [
    ("quote_ident", |values| of_text(values, quoted)),
    ("quote_literal", |values| of_text(values, quoted_literal)),
];

/// `quote_nullable`, which gives the word NULL for NULL.
pub(crate) const OF_NULLS: (&str, Compute) = ("quote_nullable", |values| match values {
    [value] if value.is_null() => Ok(ScalarValue::from("NULL")),
    _ => of_text(values, quoted_literal),
});

/// Returns a text as a literal that every setting reads alike: backslashes are doubled behind an `E`.
pub fn quoted_literal(text: &str) -> String {
    match text.contains('\\') {
        true => format!("E{}", quoted_string(&text.replace('\\', "\\\\"))),
        false => quoted_string(text),
    }
}

fn of_text(values: &[ScalarValue], quote: fn(&str) -> String) -> Result<ScalarValue, SqlError> {
    match values.first().and_then(ScalarValue::try_as_str) {
        Some(Some(text)) => Ok(ScalarValue::Utf8(Some(quote(text)))),
        other => Err(SqlError::internal(format!("{other:?} is no text"))),
    }
}
