//! Arrays on the wire: in Rukh they are texts such as `{1,2}`, in PostgreSQL's binary form they are
//!
//! | bytes | what                                            |
//! |-------|-------------------------------------------------|
//! | 4     | the number of dimensions, 0 for an empty array   |
//! | 4     | 1 if there may be NULLs                          |
//! | 4     | the number of the elements' type                 |
//! | 4, 4  | of each dimension: its length, its first place   |
//! | 4, n  | of each element: its length, -1 for NULL; itself |

use bytes::{BufMut, BytesMut};
use rukh::{DataType, Datum, IntervalStyle, array_dimensions, array_of_dimensions, is_enum_oid};

use crate::protocol::input::binary_datum;
use crate::protocol::output::{Format, write_value};
use crate::protocol::types::{WireType, element_of, type_of};

/// The number of `int2vector`, which counts from 0 and has blanks between its elements.
const VECTOR: u32 = 22;
/// The number of `oidvector`, likewise.
const OID_VECTOR: u32 = 30;
/// The number of `smallint`.
const INT2: u32 = 21;
/// The number of `oid`.
const OID: u32 = 26;

/// Appends a text: an array in the form of its type, anything else as it is.
pub(crate) fn write_text_value(text: &str, wire: WireType, format: Format, out: &mut BytesMut) {
    let is_vector = matches!(wire.oid, VECTOR | OID_VECTOR);
    let element = match wire.oid {
        VECTOR => Some(INT2),
        OID_VECTOR => Some(OID),
        oid => element_of(oid),
    };
    let elements = element.and_then(|element| Some((element, array_dimensions(text)?)));
    match elements {
        Some((element, (lengths, elements))) if format == Format::Binary => {
            if let Some(bytes) = binary(&lengths, &elements, element, i32::from(!is_vector)) {
                put(&bytes, out);
                return;
            }
        }
        Some((_, (_, elements))) if is_vector => {
            let words: Vec<&str> = elements.iter().flatten().map(String::as_str).collect();
            return put(words.join(" ").as_bytes(), out);
        }
        _ => {}
    }
    put(text.as_bytes(), out);
}

fn put(bytes: &[u8], out: &mut BytesMut) {
    // Values are far below 2 GiB: they are bounded where they are stored.
    out.put_i32(bytes.len() as i32);
    out.put_slice(bytes);
}

fn binary(lengths: &[usize], elements: &[Option<String>], oid: u32, first: i32) -> Option<BytesMut> {
    let ty = element_type(oid)?;
    let mut out = BytesMut::new();
    out.put_i32(i32::try_from(lengths.len()).ok()?);
    out.put_i32(i32::from(elements.iter().any(Option::is_none)));
    out.put_u32(oid);
    for length in lengths {
        out.put_i32(i32::try_from(*length).ok()?);
        out.put_i32(first);
    }
    for element in elements {
        let datum = match element {
            None => Datum::Null,
            Some(text) if ty.is_text() => Datum::Text(text.clone()),
            Some(text) => ty.parse_text(text).ok()?,
        };
        match datum {
            // Numbers of objects have 32 bits.
            Datum::Int(number) if oid == OID => {
                out.put_i32(4);
                out.put_u32(number as u32);
            }
            datum => write_value(&datum, &ty, Format::Binary, IntervalStyle::default(), &mut out),
        }
    }
    Some(out)
}

fn element_type(oid: u32) -> Option<DataType> {
    match oid {
        // Decimals of any precision.
        1700 => Some(DataType::NUMERIC),
        own if is_enum_oid(own) => Some(DataType::Varchar(None)),
        oid => type_of(oid).ok().flatten(),
    }
}

/// Most dimensions of an array, as in PostgreSQL.
const DIMENSIONS_MAX: i32 = 6;

/// Returns an array in binary form as text; `None` if the bytes are none.
pub(crate) fn text_of_binary(bytes: &[u8]) -> Option<String> {
    let mut rest = bytes;
    let mut number = || -> Option<i32> {
        let (head, tail) = rest.split_first_chunk::<4>()?;
        rest = tail;
        Some(i32::from_be_bytes(*head))
    };
    let (dimensions, _) = (number()?, number()?);
    let oid = u32::try_from(number()?).ok()?;
    if !(0..=DIMENSIONS_MAX).contains(&dimensions) {
        return None;
    }
    let mut lengths: Vec<usize> = Vec::new();
    for _ in 0..dimensions {
        let (length, _first) = (usize::try_from(number()?).ok()?, number()?);
        lengths.push(length);
    }
    let count = lengths
        .iter()
        .try_fold(1_usize, |count, length| count.checked_mul(*length))?;
    if lengths.is_empty() || count == 0 {
        return rest.is_empty().then(|| "{}".to_string());
    }
    let ty = element_type(oid)?;
    let mut elements: Vec<Option<String>> = Vec::new();
    for _ in 0..count {
        let (head, tail) = rest.split_first_chunk::<4>()?;
        rest = tail;
        let length = match i32::from_be_bytes(*head) {
            -1 => {
                elements.push(None);
                continue;
            }
            length => usize::try_from(length).ok()?,
        };
        let value = rest.get(..length)?;
        rest = &rest[length..];
        elements.push(Some(element_text(value, &ty, oid)?));
    }
    rest.is_empty().then(|| array_of_dimensions(&lengths, &elements))
}

fn element_text(bytes: &[u8], ty: &DataType, oid: u32) -> Option<String> {
    match ty {
        ty if ty.is_text() => String::from_utf8(bytes.to_vec()).ok(),
        DataType::Boolean => Some(if bytes == [0] { "f" } else { "t" }.to_string()),
        ty if ty.is_decimal() => rukh::binary::read_decimal(bytes),
        DataType::Json => String::from_utf8(bytes.to_vec()).ok(),
        DataType::Jsonb => String::from_utf8(bytes.strip_prefix(&[1])?.to_vec()).ok(),
        ty => Some(ty.format_text(&binary_datum(bytes, ty, oid)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, oid: u32) {
        let array = crate::protocol::types::array_of(oid).expect("there are arrays of the type");
        let wire = WireType {
            ty: DataType::Varchar(None),
            oid: array,
        };
        let mut out = BytesMut::new();
        write_text_value(text, wire, Format::Binary, &mut out);
        assert_eq!(text_of_binary(&out[4..]).as_deref(), Some(text));
        for end in 4..out.len() {
            assert_eq!(text_of_binary(&out[4..end]), None, "{text} cut at {end}");
        }
    }

    #[test]
    fn binary_arrays_are_written_and_read() {
        check("{}", 23);
        check("{1,NULL,-3}", 23);
        check("{1,2}", 20);
        check("{1,4000000000}", 26);
        check("{a,\"b c\",NULL}", 25);
        check("{t,f}", 16);
        check("{2020-01-02}", 1082);
        check("{1.5,-2}", 701);
        check("{{1,2},{3,NULL}}", 23);
        check("{{{a},{\"b,}\"}}}", 25);
    }
}
