//! `chr`, with the errors of PostgreSQL; that of DataFusion makes NUL, which no text may hold.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Int64Type};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::utils::make_scalar_function;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use rukh_error::SqlError;

/// Returns the function.
pub fn chr() -> Arc<ScalarUDF> {
    let signature = Signature::uniform(1, vec![ArrowType::Int64], Volatility::Immutable);
    Arc::new(ScalarUDF::from(Chr { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Chr {
    signature: Signature,
}

impl ScalarUDFImpl for Chr {
    fn name(&self) -> &str {
        "chr"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let of_arrays = |arrays: &[ArrayRef]| {
            let numbers = arrays[0].as_primitive::<Int64Type>().iter();
            let made = numbers.map(|number| number.map(character).transpose());
            let made: Result<StringArray, SqlError> = made.collect();
            let made = made.map_err(|error| DataFusionError::External(Box::new(error)))?;
            Ok(Arc::new(made) as ArrayRef)
        };
        make_scalar_function(of_arrays, Vec::new())(&arguments.args)
    }
}

/// Returns the character of a number as a text.
fn character(number: i64) -> Result<String, SqlError> {
    let (sqlstate, message) = match number {
        i64::MIN..0 => ("22023", "character number must be positive".to_string()),
        0 => ("54000", "null character not permitted".to_string()),
        _ => match u32::try_from(number).map(char::from_u32) {
            Ok(Some(character)) => return Ok(character.to_string()),
            _ if number > i64::from(u32::from(char::MAX)) => {
                let message = format!("requested character too large for encoding: {number}");
                ("54000", message)
            }
            _ => {
                let message = format!("requested character not valid for encoding: {number}");
                ("54000", message)
            }
        },
    };
    Err(SqlError::statement(sqlstate, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_characters() {
        for (number, expected) in [(65, "A"), (233, "é"), (0x10_ffff, "\u{10ffff}")] {
            assert_eq!(character(number).expect("a character"), expected);
        }
        for (number, sqlstate) in [
            (0, "54000"),
            (-1, "22023"),
            (0xd800, "54000"),
            (0x11_0000, "54000"),
        ] {
            assert_eq!(
                character(number).expect_err("none").sqlstate,
                sqlstate,
                "{number}"
            );
        }
    }
}
