//! The form of an array: bytes whose order is that of the arrays, element by element, a shorter one before a longer one that begins
//! with it, NULL behind all values.
//!
//! | part     | bytes                                                                                    |
//! |----------|------------------------------------------------------------------------------------------|
//! | element  | those of a nullable key column of its type that other columns follow                      |
//! | the end  | `00`                                                                                     |
//!
//! A row is its fields, each as an element of its type, and no end.
//!
//! Elements of types that are not in keys have a form of their own: JSON its text, JSONB its form, INTERVAL its length (16 bytes),
//! months and days (4 each), all with their sign flipped.

use crate::datum::{Datum, DatumRef};
use crate::decode::Cursor;
use crate::encode::encode_slot;
use crate::error::ValueError;
use crate::layout::{Form, Slot};
use crate::types::DataType;
use crate::types::records::RecordType;

/// Behind the last element; it sorts before the tag of one.
const END: u8 = 0x00;

fn slot(element: DataType) -> Slot {
    let ty = match element {
        // Keys have room for n bytes, which may be fewer than n characters take.
        DataType::Char(length) => DataType::Varchar(Some(length)),
        other => other,
    };
    let width = ty.key_width();
    Slot {
        ty,
        form: if width.is_some() {
            Form::Fixed
        } else {
            Form::Terminated
        },
        nullable: true,
        descending: false,
        section: 0,
        offset: 0,
        width: 1 + width.unwrap_or(0),
        unused_bits: 0,
    }
}

/// Returns the form of an array of these elements.
///
/// # Errors
/// An element is no value of the type in the form that [`DataType::check`] gives.
pub fn array_form(element: DataType, values: &[Datum]) -> Result<Vec<u8>, ValueError> {
    let slot = slot(element);
    let mut form = Vec::with_capacity(1 + values.len() * (slot.width + 2));
    for value in values {
        encode_slot(&slot, &value.as_ref(), &mut form)?;
    }
    form.push(END);
    Ok(form)
}

/// Returns the elements of an array in its form; `None` if the bytes are no form of such an array.
pub fn array_values(element: DataType, form: &[u8]) -> Option<Vec<Datum>> {
    let slot = slot(element);
    let (end, elements) = form.split_last()?;
    let mut cursor = Cursor::new(elements);
    let mut values = Vec::new();
    while !cursor.is_at_end() {
        let mut datum = DatumRef::Null;
        cursor.column(&slot, 0, &mut datum).ok()?;
        values.push(datum.into_owned());
    }
    (*end == END).then_some(values)
}

/// Returns the form of a row of values, one for each field.
///
/// # Errors
/// A value is none of its field's type in the form that [`DataType::check`] gives.
pub fn record_form(of: RecordType, values: &[Datum]) -> Result<Vec<u8>, ValueError> {
    let mut form = Vec::new();
    for (value, field) in values.iter().zip(of.fields()) {
        encode_slot(&slot(field.ty), &value.as_ref(), &mut form)?;
    }
    Ok(form)
}

/// Returns the values of a row in its form; `None` if the bytes are no form of such a row.
pub fn record_values(of: RecordType, form: &[u8]) -> Option<Vec<Datum>> {
    let mut cursor = Cursor::new(form);
    let mut values = Vec::new();
    for field in of.fields() {
        let mut datum = DatumRef::Null;
        cursor.column(&slot(field.ty), 0, &mut datum).ok()?;
        values.push(datum.into_owned());
    }
    cursor.is_at_end().then_some(values)
}

/// Whether bytes are the form of an array of such elements.
pub fn is_array_form(element: DataType, form: &[u8]) -> bool {
    array_values(element, form).is_some()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn array(ty: DataType, text: &str) -> Datum {
        ty.array().parse_text(text).unwrap()
    }

    #[test]
    fn forms_sort_as_arrays_do() {
        let text = DataType::Varchar(None);
        for (ty, ascending) in [
            (
                DataType::Integer,
                vec![
                    "{}", "{-1,5}", "{1}", "{1,0}", "{1,NULL}", "{2}", "{NULL}", "{NULL,1}",
                ],
            ),
            (
                text,
                vec![
                    "{}", "{\"\"}", "{\"\",a}", "{a}", "{a,b}", "{ab}", "{b}", "{NULL}",
                ],
            ),
            (
                DataType::NUMERIC,
                vec!["{-1.5}", "{0}", "{1,2}", "{1.5}", "{100}", "{NaN}"],
            ),
            (
                DataType::Interval,
                vec![
                    "{\"-1 days\"}",
                    "{\"29 days\"}",
                    "{\"1 mon\",\"1 day\"}",
                    "{\"31 days\"}",
                ],
            ),
        ] {
            for pair in ascending.windows(2) {
                assert!(array(ty, pair[0]) < array(ty, pair[1]), "{ty} {pair:?}");
            }
            for text in ascending {
                let value = array(ty, text);
                assert_eq!(ty.array().format_text(&value), text, "{ty}");
            }
        }
    }

    #[test]
    fn any_bytes_are_a_form_or_none() {
        for ty in [
            DataType::Integer,
            DataType::Varchar(Some(2)),
            DataType::Jsonb,
            DataType::Boolean,
        ] {
            for bytes in [
                &[][..],
                &[0],
                &[1],
                &[1, 0],
                &[2, 0, 0, 0, 0, 0],
                &[1, 0xff, 0, 1, 0],
                &[3, 0],
            ] {
                if let Some(values) = array_values(ty, bytes) {
                    assert_eq!(array_form(ty, &values).unwrap(), bytes);
                }
            }
        }
    }
}
