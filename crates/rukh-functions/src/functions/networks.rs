//! Functions and operators of addresses and networks.
//!
//! | function                                  | is                                                          |
//! |-------------------------------------------|-------------------------------------------------------------|
//! | `network_sub`, `network_subeq`            | `a << b`, `a <<= b`: whether a network contains the other    |
//! | `network_sup`, `network_supeq`            | `a >> b`, `a >>= b`: the same, the other way round           |
//! | `network_overlap`                         | `a && b`                                                    |
//! | `inetnot`, `inetand`, `inetor`            | `~ a`, `a & b`, `a | b`                                     |
//! | `inetpl`, `int8pl_inet`, `inetmi_int8`    | an address so many further                                  |
//! | `inetmi`                                  | how many addresses lie between two                          |
//! | `inet_to_cidr`, `cidr_to_inet`, `network_show` | casts to the other type, and to text                    |
//!
//! The names are those of PostgreSQL's functions, of which those behind casts have no other there.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{Expr, ExprSchemable};
use rukh_error::SqlError;
use rukh_keys::{CIDR_WIDE, DataType, INET_WIDE, Inet};

use crate::functions::by_row;
use crate::functions::common::row_values::{Compute, int4, integer};
use crate::types::{arrow_type, data_type_of_arrow};

/// What casts to text are: an address with its mask, which is left out where results show it.
pub const NETWORK_SHOW: &str = "network_show";

/// The cast to CIDR.
pub const TO_CIDR: &str = "inet_to_cidr";

/// The cast to INET.
pub const TO_INET: &str = "cidr_to_inet";

pub(crate) const FUNCTIONS: [(&str, Compute); 26] = [
    ("abbrev", |values| {
        let is_network = matches!(values.first(), Some(ScalarValue::FixedSizeBinary(width, _)) if *width == CIDR_WIDE as i32);
        let value = address(values, 0)?;
        Ok(text(match is_network {
            true => value.short_text(),
            false => value.text(false),
        }))
    }),
    ("broadcast", |values| Ok(inet(address(values, 0)?.broadcast()))),
    ("hostmask", |values| Ok(inet(address(values, 0)?.hostmask()))),
    ("netmask", |values| Ok(inet(address(values, 0)?.netmask()))),
    ("family", |values| {
        Ok(int4(if address(values, 0)?.is_v6() { 6 } else { 4 }))
    }),
    ("masklen", |values| Ok(int4(address(values, 0)?.mask().into()))),
    ("host", |values| Ok(text(address(values, 0)?.host_text()))),
    (NETWORK_SHOW, |values| Ok(text(address(values, 0)?.full_text()))),
    ("network", |values| Ok(cidr(address(values, 0)?))),
    (TO_CIDR, |values| Ok(cidr(address(values, 0)?))),
    (TO_INET, |values| Ok(inet(address(values, 0)?))),
    ("inet_merge", |values| {
        let merged = address(values, 0)?.merged(address(values, 1)?);
        let refused = || SqlError::statement("22023", "cannot merge addresses from different families");
        merged.map(cidr).ok_or_else(refused)
    }),
    ("inet_same_family", |values| {
        pair(values, |left, right| left.is_v6() == right.is_v6())
    }),
    ("network_sub", |values| {
        pair(values, |left, right| {
            right.contains(left) && right.mask() < left.mask()
        })
    }),
    ("network_subeq", |values| {
        pair(values, |left, right| right.contains(left))
    }),
    ("network_sup", |values| {
        pair(values, |left, right| {
            left.contains(right) && left.mask() < right.mask()
        })
    }),
    ("network_supeq", |values| pair(values, Inet::contains)),
    ("network_overlap", |values| pair(values, Inet::overlaps)),
    ("inetnot", inverted),
    ("inetand", |values| {
        combined(values, "AND", |left, right| left & right)
    }),
    ("inetor", |values| {
        combined(values, "OR", |left, right| left | right)
    }),
    ("inetpl", |values| moved(address(values, 0)?, integer(values, 1)?)),
    ("int8pl_inet", |values| {
        moved(address(values, 1)?, integer(values, 0)?)
    }),
    ("inetmi_int8", |values| {
        let by = integer(values, 1)?.checked_neg().ok_or_else(out_of_range)?;
        moved(address(values, 0)?, by)
    }),
    ("inetmi", |values| {
        let distance = address(values, 0)?.distance(address(values, 1)?);
        let refused = || SqlError::statement("22023", "cannot subtract inet values of different sizes");
        let distance = distance.ok_or_else(refused)?.map_err(|()| out_of_range())?;
        Ok(ScalarValue::Int64(Some(distance)))
    }),
    ("set_masklen", |values| {
        let (value, mask) = (address(values, 0)?, integer(values, 1)?);
        let length = if mask == -1 { value.bits().into() } else { mask };
        let changed = u8::try_from(length).ok().and_then(|mask| value.with_mask(mask));
        let refused = || SqlError::statement("22023", format!("invalid mask length: {mask}"));
        let changed = changed.ok_or_else(refused)?;
        Ok(match values.first() {
            Some(ScalarValue::FixedSizeBinary(width, _)) if *width == CIDR_WIDE as i32 => cidr(changed),
            _ => inet(changed),
        })
    }),
];

/// `~ a`.
pub(crate) fn inverted(values: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    Ok(inet(address(values, 0)?.inverted()))
}

fn address(values: &[ScalarValue], at: usize) -> Result<Inet, SqlError> {
    let value = match values.get(at) {
        Some(ScalarValue::FixedSizeBinary(_, Some(bytes))) => Inet::of_wide(bytes),
        _ => None,
    };
    value.ok_or_else(|| SqlError::internal(format!("{:?} is no address", values.get(at))))
}

fn inet(value: Inet) -> ScalarValue {
    ScalarValue::FixedSizeBinary(INET_WIDE as i32, Some(value.to_wide(false)))
}

fn cidr(value: Inet) -> ScalarValue {
    ScalarValue::FixedSizeBinary(CIDR_WIDE as i32, Some(value.to_wide(true)))
}

fn text(text: String) -> ScalarValue {
    ScalarValue::Utf8(Some(text))
}

fn pair(values: &[ScalarValue], test: fn(Inet, Inet) -> bool) -> Result<ScalarValue, SqlError> {
    let holds = test(address(values, 0)?, address(values, 1)?);
    Ok(ScalarValue::Boolean(Some(holds)))
}

fn combined(
    values: &[ScalarValue],
    verb: &str,
    combine: fn(u128, u128) -> u128,
) -> Result<ScalarValue, SqlError> {
    let combined = address(values, 0)?.combined(address(values, 1)?, combine);
    let refused = || SqlError::statement("22023", format!("cannot {verb} inet values of different sizes"));
    combined.map(inet).ok_or_else(refused)
}

fn moved(value: Inet, by: i64) -> Result<ScalarValue, SqlError> {
    value.moved(by).map(inet).ok_or_else(out_of_range)
}

fn out_of_range() -> SqlError {
    SqlError::statement("22003", "result is out of range")
}

/// Returns a cast of an address to text, with its mask; `None` of other values.
pub fn cast_address_to_text(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr.get_type(schema) {
        Ok(ArrowType::FixedSizeBinary(_)) => by_row::call(NETWORK_SHOW, vec![expr.clone()]),
        _ => None,
    }
}

/// Returns a cast of an address to a network, or the other way round; `None` of other casts.
pub fn cast_network(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> Option<Expr> {
    let from = expr.get_type(schema).ok()?;
    let function = match (data_type_of_arrow(&from), data_type_of_arrow(to)) {
        (DataType::Inet, DataType::Cidr) => TO_CIDR,
        (DataType::Cidr, DataType::Inet) => TO_INET,
        _ => return None,
    };
    by_row::call(function, vec![expr.clone()])
}

/// Returns the type in which addresses and networks are compared, or become one value: INET. `None` where all are of one type, or others
/// are among them.
pub fn network_type<'a>(types: impl IntoIterator<Item = &'a ArrowType>) -> Option<ArrowType> {
    let (mut is_inet, mut is_cidr) = (false, false);
    for ty in types {
        match (ty, data_type_of_arrow(ty)) {
            (ArrowType::FixedSizeBinary(_), DataType::Inet) => is_inet = true,
            (ArrowType::FixedSizeBinary(_), DataType::Cidr) => is_cidr = true,
            _ => return None,
        }
    }
    (is_inet && is_cidr).then(|| arrow_type(&DataType::Inet))
}
