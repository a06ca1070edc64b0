//! `encode(bytea, format)` and `decode(text, format)` with PostgreSQL's formats `hex`, `base64` and `escape`.
//!
//! DataFusion's `base64` has no padding and breaks no lines, and a text that is encoded is its characters there. Here a literal is read as
//! bytes before (`literals`).

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, StringArray};
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum};

use crate::functions::common::undefined::undefined_function;

/// Characters of a line of base64.
const LINE: usize = 76;

/// Returns the functions, which take the place of DataFusion's.
pub fn functions() -> [Arc<ScalarUDF>; 2] {
    let of = |name, from: ArrowType, to| {
        let signature = Signature::exact(vec![from, ArrowType::Utf8], Volatility::Immutable);
        Arc::new(ScalarUDF::from(Encoding { name, to, signature }))
    };
    [
        of("encode", ArrowType::Binary, ArrowType::Utf8),
        of("decode", ArrowType::Utf8, ArrowType::Binary),
    ]
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Encoding {
    name: &'static str,
    to: ArrowType,
    signature: Signature,
}

impl ScalarUDFImpl for Encoding {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.to.clone())
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [values, formats] = arrays.as_slice() else {
            return Err(undefined_function(self.name, &[]));
        };
        let formats = formats.as_string::<i32>();
        let format = |row: usize| (formats.is_valid(row) && values.is_valid(row)).then(|| formats.value(row));
        let rows = 0..values.len();
        let made: Result<ArrayRef, SqlError> = match self.to {
            ArrowType::Utf8 => {
                let values = values.as_binary::<i32>();
                let texts = rows.map(|row| format(row).map(|of| encoded(values.value(row), of)).transpose());
                texts
                    .collect::<Result<StringArray, _>>()
                    .map(|texts| Arc::new(texts) as ArrayRef)
            }
            _ => {
                let values = values.as_string::<i32>();
                let bytes = rows.map(|row| format(row).map(|of| decoded(values.value(row), of)).transpose());
                let bytes: Result<Vec<Option<Vec<u8>>>, _> = bytes.collect();
                bytes.map(|bytes| Arc::new(bytes.into_iter().collect::<BinaryArray>()) as ArrayRef)
            }
        };
        let made = made.map_err(|error| DataFusionError::External(Box::new(error)))?;
        match one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}

fn unknown(format: &str) -> SqlError {
    SqlError::statement("22023", format!("unrecognized encoding: \"{format}\""))
}

fn encoded(bytes: &[u8], format: &str) -> Result<String, SqlError> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        "base64" => {
            let text = STANDARD.encode(bytes);
            let lines: Vec<&str> = (0..text.len())
                .step_by(LINE)
                .map(|at| &text[at..at.saturating_add(LINE).min(text.len())])
                .collect();
            Ok(lines.join("\n"))
        }
        "escape" => {
            let mut text = String::with_capacity(bytes.len());
            for byte in bytes {
                match byte {
                    b'\\' => text.push_str("\\\\"),
                    0 | 0x80.. => text.push_str(&format!("\\{byte:03o}")),
                    byte => text.push(char::from(*byte)),
                }
            }
            Ok(text)
        }
        _ => Err(unknown(format)),
    }
}

fn decoded(text: &str, format: &str) -> Result<Vec<u8>, SqlError> {
    let solid = || {
        text.chars()
            .filter(|c| !matches!(c, ' ' | '\n' | '\t' | '\r'))
            .collect::<String>()
    };
    let read = |text: &str| match DataType::Varbinary(None).parse_text(text)? {
        Datum::Bytes(bytes) => Ok(bytes),
        _ => Ok(Vec::new()),
    };
    match format.to_ascii_lowercase().as_str() {
        "hex" => read(&format!("\\x{}", solid())),
        "base64" => STANDARD
            .decode(solid())
            .map_err(|error| SqlError::statement("22023", format!("invalid base64 data: {error}"))),
        // What begins as hex does is no hex here.
        "escape" if text.starts_with("\\x") => Err(SqlError::statement(
            "22P02",
            "invalid input syntax for type bytea",
        )),
        "escape" => read(text),
        _ => Err(unknown(format)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_those_of_postgresql() {
        let bytes = [0, 0x41, 0x5c, 0xff];
        for (format, text) in [
            ("hex", "00415cff"),
            ("base64", "AEFc/w=="),
            ("escape", "\\000A\\\\\\377"),
        ] {
            assert_eq!(encoded(&bytes, format).expect("a format"), text);
            assert_eq!(decoded(text, format).expect("a format"), bytes);
        }
        assert_eq!(encoded(&[7; 60], "base64").expect("a format").lines().count(), 2);
        assert_eq!(encoded(&bytes, "x").expect_err("no format").sqlstate, "22023");
        assert_eq!(decoded("4", "hex").expect_err("half a byte").sqlstate, "22023");
    }
}
