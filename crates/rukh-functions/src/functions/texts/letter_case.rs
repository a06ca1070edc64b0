//! `upper`, `lower` and `initcap`: a character becomes one character, as in PostgreSQL with the C library's locales.
//!
//! DataFusion follows Unicode's full mappings, by which `ß` becomes two letters and the last `Σ` of a word another one than those
//! before it. Its functions serve texts of ASCII, all others are mapped here.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::Result as DataFusionResult;
use datafusion::functions::utils::make_scalar_function;
use datafusion::functions::{string, unicode};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    let all = [
        (Case::Upper, string::upper()),
        (Case::Lower, string::lower()),
        (Case::Initial, unicode::initcap()),
    ];
    all.into_iter()
        .map(|(case, of_ascii)| Arc::new(ScalarUDF::from(LetterCase { case, of_ascii })))
}

/// Returns the one character that is the upper case of a character: itself where Unicode has several for it.
fn upper(character: char) -> char {
    let mut mapped = character.to_uppercase();
    match (mapped.next(), mapped.next(), character) {
        (Some(upper), None, _) => upper,
        // Greek letters with an iota below have an upper case of one letter, too.
        (_, _, '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}') => {
            moved(character, 8)
        }
        (_, _, '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}') => moved(character, 9),
        _ => character,
    }
}

fn moved(character: char, by: u32) -> char {
    char::from_u32(u32::from(character).saturating_add(by)).unwrap_or(character)
}

/// Returns the one character that is the lower case of a character.
fn lower(character: char) -> char {
    let mut mapped = character.to_lowercase();
    match (mapped.next(), mapped.next(), character) {
        (Some(lower), None, _) => lower,
        (_, _, 'İ') => 'i',
        _ => character,
    }
}

/// Which letters become which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Case {
    Upper,
    Lower,
    /// The first letter of each word in upper case, the others in lower case.
    Initial,
}

impl Case {
    fn of_text(self, text: &str) -> String {
        let mut in_word = false;
        let mapped = text.chars().map(|character| match self {
            Case::Upper => upper(character),
            Case::Lower => lower(character),
            Case::Initial => {
                let was_in_word = std::mem::replace(&mut in_word, character.is_alphanumeric());
                if was_in_word {
                    lower(character)
                } else {
                    upper(character)
                }
            }
        });
        mapped.collect()
    }

    fn of_texts(self, texts: &ArrayRef) -> DataFusionResult<ArrayRef> {
        let (ty, texts) = (texts.data_type(), cast(texts, &ArrowType::Utf8)?);
        let made = texts
            .as_string::<i32>()
            .iter()
            .map(|text| Some(self.of_text(text?)));
        let made: ArrayRef = Arc::new(made.collect::<StringArray>());
        Ok(cast(&made, ty)?)
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct LetterCase {
    case: Case,
    of_ascii: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for LetterCase {
    fn name(&self) -> &str {
        self.of_ascii.name()
    }

    fn signature(&self) -> &Signature {
        self.of_ascii.signature()
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        self.of_ascii.return_type(types)
    }

    fn is_strict(&self) -> bool {
        self.of_ascii.inner().is_strict()
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_ascii = match arguments.args.first() {
            Some(ColumnarValue::Scalar(text)) => text.try_as_str().flatten().is_none_or(str::is_ascii),
            Some(ColumnarValue::Array(texts)) => {
                texts.as_string_opt::<i32>().is_some_and(StringArray::is_ascii)
            }
            None => true,
        };
        if is_ascii {
            return self.of_ascii.invoke_with_args(arguments);
        }
        let of_texts = |arguments: &[ArrayRef]| self.case.of_texts(&arguments[0]);
        make_scalar_function(of_texts, Vec::new())(&arguments.args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What PostgreSQL 15 answers in the locale C.UTF-8.
    #[test]
    fn a_character_becomes_one_character() {
        for (text, upper, lower, initial) in [
            ("straße", "STRAßE", "straße", "Straße"),
            ("ßa", "ßA", "ßa", "ßa"),
            ("ΟΔΟΣ", "ΟΔΟΣ", "οδοσ", "Οδοσ"),
            ("İx", "İX", "ix", "İx"),
            ("ᾳ ὧ ὗ", "ᾼ Ὧ Ὗ", "ᾳ ὧ ὗ", "ᾼ Ὧ Ὗ"),
            ("ᾀ", "ᾈ", "ᾀ", "ᾈ"),
            ("ŉ ﬁn", "ŉ ﬁN", "ŉ ﬁn", "ŉ ﬁn"),
            ("éa-b_c1d", "ÉA-B_C1D", "éa-b_c1d", "Éa-B_C1d"),
        ] {
            let of = |case: Case| case.of_text(text);
            let made = [of(Case::Upper), of(Case::Lower), of(Case::Initial)];
            assert_eq!(made, [upper, lower, initial], "{text}");
        }
    }
}
