//! The bytes by which rows compare: field by field, NULL behind all values.
//!
//! Fields of one kind have one form whatever Arrow type they have, so that rows of two relations compare: a DECIMAL has that of a NUMERIC,
//! intervals and documents those by which they compare, floats no sign of zero.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, ListArray, StructArray};
use datafusion::arrow::compute::{SortOptions, cast};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, TimeUnit};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{Expr, ScalarUDF};
use rukh_keys::DataType;

use crate::casts::numbers::converted;
use crate::functions::common::of_array::of_array;
use crate::functions::json::order::keys_of as document_keys;
use crate::functions::lists::array_order::with_one_zero;
use crate::functions::times::interval_order::orders_of;
use crate::types::{arrow_type, enum_of};

/// Name of the function.
pub const RECORD_ORDER: &str = "record_order";

/// Returns an expression whose values have the order of rows, `None` of an expression of another type.
pub fn record_order(expr: &Expr, ty: &ArrowType) -> Option<Expr> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| of_array(RECORD_ORDER, None, ArrowType::Binary, keys_of));
    matches!(ty, ArrowType::Struct(_)).then(|| FUNCTION.call(vec![expr.clone()]))
}

/// Whether the bytes of rows of two types compare: a field without a type has other bytes than one with it.
pub fn has_one_form(one: &ArrowType, other: &ArrowType) -> bool {
    match (one, other) {
        (ArrowType::Struct(one), ArrowType::Struct(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| has_one_form(one.data_type(), other.data_type()))
        }
        (ArrowType::List(one), ArrowType::List(other)) => has_one_form(one.data_type(), other.data_type()),
        (one, other) => form(one) == form(other),
    }
}

/// Returns the bytes by which each row compares.
fn keys_of(rows: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let rows: &StructArray = rows.as_struct();
    let keys = match rows.columns() {
        [] => BinaryArray::from_iter_values(std::iter::repeat_n([], rows.len())),
        fields => {
            let fields = fields
                .iter()
                .map(in_one_form)
                .collect::<DataFusionResult<Vec<_>>>()?;
            let options = SortOptions {
                descending: false,
                nulls_first: false,
            };
            let sorted = |field: &ArrayRef| SortField::new_with_options(field.data_type().clone(), options);
            let converter = RowConverter::new(fields.iter().map(sorted).collect())?;
            converter.convert_columns(&fields)?.try_into_binary()?
        }
    };
    let (offsets, bytes, _) = keys.into_parts();
    Ok(Arc::new(BinaryArray::try_new(
        offsets,
        bytes,
        rows.nulls().cloned(),
    )?))
}

/// Returns values in the form that all of their kind have.
fn in_one_form(values: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let from = values.data_type();
    Ok(match from {
        ArrowType::Struct(_) => keys_of(values)?,
        ArrowType::List(_) => {
            let lists = values.as_list::<i32>();
            let elements = in_one_form(lists.values())?;
            let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(ListArray::try_new(field, offsets, elements, nulls)?)
        }
        ArrowType::Interval(_) => orders_of(values)?,
        ArrowType::LargeBinary => document_keys(values)?,
        ArrowType::Float32 | ArrowType::Float64 => with_one_zero(values)?,
        from => match form(from) {
            to if to == *from => values.clone(),
            to => match converted(values, &to).map_err(|error| DataFusionError::External(Box::new(error)))? {
                Some(numbers) => numbers,
                None => cast(values, &to)?,
            },
        },
    })
}

/// Returns the Arrow type that all values of a kind are compared in.
fn form(ty: &ArrowType) -> ArrowType {
    match ty {
        ArrowType::Decimal32(..) | ArrowType::Decimal64(..) => arrow_type(&DataType::NUMERIC),
        ArrowType::Decimal128(..) | ArrowType::Decimal256(..) => arrow_type(&DataType::NUMERIC),
        ArrowType::UInt8 | ArrowType::UInt16 | ArrowType::UInt32 | ArrowType::UInt64 => ArrowType::Int64,
        ArrowType::Date64 => ArrowType::Date32,
        ArrowType::Time32(_) | ArrowType::Time64(_) => ArrowType::Time64(TimeUnit::Microsecond),
        ArrowType::Timestamp(_, zone) if enum_of(ty).is_none() => {
            ArrowType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        ArrowType::Dictionary(_, values) => form(values),
        ArrowType::LargeUtf8 | ArrowType::Utf8View => ArrowType::Utf8,
        ArrowType::BinaryView => ArrowType::Binary,
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Decimal128Array, Float64Array, Int32Array, StringArray};

    use super::*;

    /// Rows of (an integer, a DECIMAL, a float), the one with no integer behind the others; the last is NULL.
    fn rows(scale: i8, zero: f64) -> ArrayRef {
        let numbers = vec![Some(1), Some(1), None, Some(1)];
        let decimals = Decimal128Array::from(vec![5 * 10_i128.pow(u32::from(scale.unsigned_abs())); 4]);
        let decimals = decimals.with_precision_and_scale(30, scale).expect("30 digits");
        let fields: Vec<(&str, ArrayRef)> = vec![
            ("f1", Arc::new(Int32Array::from(numbers))),
            ("f2", Arc::new(decimals)),
            ("f3", Arc::new(Float64Array::from(vec![zero, 1.0, -1.0, 7.0]))),
        ];
        let fields = StructArray::try_from(fields).expect("columns of one length");
        let (fields, columns, _) = fields.into_parts();
        let nulls = Some(vec![true, true, true, false].into());
        Arc::new(StructArray::new(fields, columns, nulls))
    }

    #[test]
    fn rows_of_one_value_have_one_form() {
        let keys = keys_of(&rows(2, 0.0)).expect("rows");
        assert_eq!(&keys, &keys_of(&rows(4, -0.0)).expect("rows"));
        let keys = keys.as_binary::<i32>();
        assert!(keys.value(0) < keys.value(1) && keys.value(1) < keys.value(2) && keys.is_null(3));
    }

    #[test]
    fn rows_without_fields_and_of_no_type_have_a_form() {
        let empty: ArrayRef = Arc::new(StructArray::new_empty_fields(2, None));
        assert_eq!(keys_of(&empty).expect("rows").as_binary::<i32>().value(1), b"");
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        let one = StructArray::try_from(vec![("f1", texts)]).expect("a row");
        let null = datafusion::arrow::array::new_null_array(&ArrowType::Null, 1);
        let other = StructArray::try_from(vec![("f1", null)]).expect("a row");
        assert!(has_one_form(one.data_type(), one.data_type()));
        assert!(!has_one_form(one.data_type(), other.data_type()));
    }
}
