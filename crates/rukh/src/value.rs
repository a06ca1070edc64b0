//! Values that go in as parameters and come out of rows.

use rukh_sql::arrow::array::ArrayRef;
use rukh_sql::{Scalar, parameters_of_array, scalar_of_datum};

use crate::{DataType, Datum, Result};

/// A parameter: a datum with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    datum: Datum,
    ty: DataType,
}

impl Value {
    /// Makes a value of a type; the datum must be of the type's kind.
    pub fn new(datum: Datum, ty: DataType) -> Self {
        Value { datum, ty }
    }

    /// Returns NULL of any type.
    pub fn null() -> Self {
        Value {
            datum: Datum::Null,
            ty: DataType::Varchar(None),
        }
    }

    /// Returns the values of an Arrow array as those of a parameter that is wanted to be of a type: strings
    /// are read as its literals, integers take it where all of them fit, anything else keeps its own type.
    pub fn of_array(array: &ArrayRef, wanted: &DataType) -> Result<Vec<Value>> {
        let (datums, ty) = parameters_of_array(array, wanted)?;
        Ok(datums.into_iter().map(|datum| Value { datum, ty }).collect())
    }

    /// Returns its type.
    pub fn data_type(&self) -> &DataType {
        &self.ty
    }

    pub(crate) fn scalar(&self) -> Scalar {
        scalar_of_datum(&self.datum, &self.ty)
    }
}

/// Makes `From<$rust> for Value` and `FromDatum for $rust`.
macro_rules! value {
    ($rust:ty, $ty:expr, $kind:ident, $into:expr, $from:expr) => {
        impl From<$rust> for Value {
            fn from(value: $rust) -> Self {
                Value {
                    datum: Datum::$kind($into(value)),
                    ty: $ty,
                }
            }
        }

        impl FromDatum for $rust {
            fn from_datum(datum: &Datum) -> Option<Self> {
                match datum {
                    Datum::$kind(value) => $from(value),
                    _ => None,
                }
            }
        }
    };
}

/// A Rust type that a datum can be taken as.
pub trait FromDatum: Sized {
    /// Returns the value, or `None` when the datum is of another kind or out of range.
    fn from_datum(datum: &Datum) -> Option<Self>;
}

value!(bool, DataType::Boolean, Boolean, |v| v, |v: &bool| Some(*v));
value!(i8, DataType::TinyInt, Int, i64::from, |v: &i64| i8::try_from(*v)
    .ok());
value!(i16, DataType::SmallInt, Int, i64::from, |v: &i64| i16::try_from(
    *v
)
.ok());
value!(i32, DataType::Integer, Int, i64::from, |v: &i64| i32::try_from(
    *v
)
.ok());
value!(i64, DataType::BigInt, Int, |v| v, |v: &i64| Some(*v));
value!(f32, DataType::Real, Float, f64::from, |v: &f64| Some(*v as f32));
value!(f64, DataType::Double, Float, |v| v, |v: &f64| Some(*v));
value!(String, DataType::Varchar(None), Text, |v| v, |v: &String| Some(
    v.clone()
));
value!(Vec<u8>, DataType::Varbinary(None), Bytes, |v| v, |v: &Vec<u8>| {
    Some(v.clone())
});

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::from(value.to_string())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Value::null, Into::into)
    }
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
