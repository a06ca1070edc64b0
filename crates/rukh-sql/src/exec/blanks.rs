//! Values of CHAR(n) as they are shown: filled with blanks to n characters, as PostgreSQL's are. They are kept and computed with without.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, StringBuilder};
use datafusion::error::DataFusionError;
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum};

/// Returns how many characters the values of a type have; `None` of types other than CHAR(n).
fn width(ty: DataType) -> Option<usize> {
    match ty {
        DataType::Char(length) => usize::try_from(length).ok(),
        _ => None,
    }
}

/// Whether values of a type are filled.
pub(crate) fn is_filled(ty: DataType) -> bool {
    width(ty).is_some()
}

/// Returns how many blanks a text lacks.
fn missing(text: &str, width: usize) -> usize {
    if text.len() >= width && text.is_ascii() {
        return 0;
    }
    // Of each character all bytes but the first are 10xxxxxx.
    let rest = text.bytes().filter(|byte| byte & 0xc0 == 0x80).count();
    width.saturating_sub(text.len().saturating_sub(rest))
}

/// Fills the values of a row of these types.
pub(crate) fn fill_row(row: &mut [Datum], types: impl IntoIterator<Item = DataType>) {
    for (datum, ty) in row.iter_mut().zip(types) {
        if let (Some(width), Datum::Text(text)) = (width(ty), datum) {
            let missing = missing(text, width);
            if missing > 0 {
                text.extend(std::iter::repeat_n(' ', missing));
            }
        }
    }
}

/// Fills the values of a batch whose columns have these types.
pub(crate) fn filled(
    batch: RecordBatch,
    types: impl IntoIterator<Item = DataType>,
) -> Result<RecordBatch, SqlError> {
    let widths = types.into_iter().map(width);
    let fill = |(values, width): (&ArrayRef, Option<usize>)| match (width, values.as_string_opt::<i32>()) {
        (Some(width), Some(texts)) => fill_texts(texts, width).unwrap_or_else(|| values.clone()),
        _ => values.clone(),
    };
    let values = batch.columns().iter().zip(widths).map(fill).collect();
    Ok(RecordBatch::try_new(batch.schema(), values).map_err(DataFusionError::from)?)
}

/// Fills texts; `None` if none lacks a blank.
fn fill_texts(texts: &StringArray, width: usize) -> Option<ArrayRef> {
    let blanks: usize = texts.iter().flatten().map(|text| missing(text, width)).sum();
    if blanks == 0 {
        return None;
    }
    let bytes = texts.value_data().len().saturating_add(blanks);
    let mut filled = StringBuilder::with_capacity(texts.len(), bytes);
    let mut whole = String::new();
    for text in texts {
        match text {
            Some(text) => {
                whole.clear();
                whole.push_str(text);
                whole.extend(std::iter::repeat_n(' ', missing(text, width)));
                filled.append_value(&whole);
            }
            None => filled.append_null(),
        }
    }
    Some(Arc::new(filled.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_counted_in_characters() {
        let types = [DataType::Char(4), DataType::Varchar(Some(4)), DataType::Char(1)];
        let mut row = [
            Datum::Text("\u{e9}".into()),
            Datum::Text("ab".into()),
            Datum::Null,
        ];
        fill_row(&mut row, types);
        assert_eq!(
            row,
            [
                Datum::Text("\u{e9}   ".into()),
                Datum::Text("ab".into()),
                Datum::Null
            ]
        );
        let texts = StringArray::from(vec![Some("\u{e9}"), None, Some("abcde")]);
        let filled = StringArray::from(vec![Some("\u{e9}  "), None, Some("abcde")]);
        assert_eq!(fill_texts(&texts, 3).as_deref(), Some(&filled as &dyn Array));
        assert_eq!(fill_texts(&filled, 3), None);
    }
}
