//! Values of CHAR(n) as they are shown: filled with blanks to n characters, as PostgreSQL's are. They are kept and computed with without.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
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

/// Fills the values of a row of these types.
pub(crate) fn fill_row(row: &mut [Datum], types: impl IntoIterator<Item = DataType>) {
    for (datum, ty) in row.iter_mut().zip(types) {
        if let (Datum::Text(text), Some(width)) = (datum, width(ty)) {
            let missing = width.saturating_sub(text.chars().count());
            text.extend(std::iter::repeat_n(' ', missing));
        }
    }
}

/// Fills the values of a batch whose columns have these types.
pub(crate) fn filled(
    batch: RecordBatch,
    types: impl IntoIterator<Item = DataType>,
) -> Result<RecordBatch, SqlError> {
    let widths: Vec<Option<usize>> = types.into_iter().map(width).collect();
    if widths.iter().all(Option::is_none) {
        return Ok(batch);
    }
    let fill = |(values, width): (&ArrayRef, Option<usize>)| match (width, values.as_string_opt::<i32>()) {
        (Some(width), Some(texts)) => {
            let filled = texts.iter().map(|text| text.map(|text| format!("{text:width$}")));
            Arc::new(filled.collect::<StringArray>())
        }
        _ => values.clone(),
    };
    let values = batch.columns().iter().zip(widths).map(fill).collect();
    Ok(RecordBatch::try_new(batch.schema(), values).map_err(DataFusionError::from)?)
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
    }
}
