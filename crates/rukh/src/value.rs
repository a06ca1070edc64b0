//! Values that come out of rows; those that go in as parameters are [`crate::Value`].

use rukh_sql::arrow::array::ArrayRef;
use rukh_sql::parameters_of_array;

use crate::{DataType, Datum, Result, Value};

/// Returns the values of an Arrow array as those of a parameter that is wanted to be of a type: strings are read
/// as its literals, integers take it where all of them fit, anything else keeps its own type.
pub fn values_of_array(array: &ArrayRef, wanted: &DataType) -> Result<Vec<Value>> {
    let (datums, ty) = parameters_of_array(array, wanted)?;
    Ok(datums.into_iter().map(|datum| Value::new(datum, ty)).collect())
}

/// A Rust type that a datum can be taken as.
pub trait FromDatum: Sized {
    /// Returns the value, or `None` when the datum is of another kind or out of range.
    fn from_datum(datum: &Datum) -> Option<Self>;
}

/// Makes `FromDatum for $rust`.
macro_rules! from_datum {
    ($($rust:ty: $kind:ident, $from:expr;)*) => {
        $(impl FromDatum for $rust {
            fn from_datum(datum: &Datum) -> Option<Self> {
                match datum {
                    Datum::$kind(value) => $from(value),
                    _ => None,
                }
            }
        })*
    };
}

from_datum! {
    bool: Boolean, |v: &bool| Some(*v);
    i8: Int, |v: &i64| i8::try_from(*v).ok();
    i16: Int, |v: &i64| i16::try_from(*v).ok();
    i32: Int, |v: &i64| i32::try_from(*v).ok();
    i64: Int, |v: &i64| Some(*v);
    f32: Float, |v: &f64| Some(*v as f32);
    f64: Float, |v: &f64| Some(*v);
    String: Text, |v: &String| Some(v.clone());
    Vec<u8>: Bytes, |v: &Vec<u8>| Some(v.clone());
}

impl FromDatum for Datum {
    fn from_datum(datum: &Datum) -> Option<Self> {
        Some(datum.clone())
    }
}

impl<T: FromDatum> FromDatum for Option<T> {
    fn from_datum(datum: &Datum) -> Option<Self> {
        match datum {
            Datum::Null => Some(None),
            other => T::from_datum(other).map(Some),
        }
    }
}
