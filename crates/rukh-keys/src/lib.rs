//! Typed values, and keys whose byte order is the order of the values.
//!
//! A [`KeyLayout`] turns a tuple of [`Datum`]s into bytes such that comparing the bytes compares
//! the tuples, column by column, ascending or descending. On top of that order stand three things:
//! [`Span`]s (intervals over datums) that become [`KeyRange`]s (intervals over bytes),
//! [`MaskedCompare`]s that test columns inside an encoded key without decoding it, and decoding
//! that is total: any bytes give either datums or a [`KeyDecodeError`].
//!
//! ```
//! use rukh_keys::{DataType, Datum, KeyColumn, KeyLayout, SortOrder};
//!
//! let layout = KeyLayout::new(
//!     vec![
//!         KeyColumn { ty: DataType::Integer, order: SortOrder::Asc, nullable: false },
//!         KeyColumn { ty: DataType::Varchar(None), order: SortOrder::Asc, nullable: false },
//!     ],
//!     None,
//! );
//! let key = layout.encode(&[Datum::Int(1), Datum::Text("a".into())])?;
//! assert_eq!(key, [0x80, 0, 0, 1, 0x61]);
//! # Ok::<(), rukh_keys::ValueError>(())
//! ```
//!
//! The byte-level specification is `docs/key-encoding.md`; its examples are run as tests.
//!
//! Deliberately not here: tables and indexes (rukh-catalog), predicates (rukh-planner), rows
//! (rukh-engine), clocks, randomness and I/O.

mod array;
mod candidate;
mod check;
mod convert;
mod counters;
mod datum;
mod decode;
mod display;
mod encode;
mod error;
mod field_test;
mod group;
mod hash;
mod input;
mod json;
mod layout;
mod mask;
mod numeric;
mod output;
mod range;
mod successor;
mod times;
mod types;

pub use array::{
    array_form, array_of_dimensions, array_text, array_values, dimensions as array_dimensions,
    elements as array_elements, is_array_form, record_form, record_text, record_values,
};
pub use convert::{decimal_to_double, decimal_to_real, double_to_decimal, real_to_decimal};
pub use counters::ScanCounters;
pub use datum::{Datum, DatumRef};
pub use display::{DatumDisplay, KeyDisplay, SpanDisplay};
pub use error::{KeyDecodeError, ValueError};
pub use field_test::{Bound, FieldTest};
pub use group::KeyGroup;
pub use hash::hash_datum;
pub use json::{
    Json, JsonError, JsonMember, JsonNumber, Jsonb, JsonbKind, json_elements, json_members, quote_json,
};
pub use layout::{Field, KeyColumn, KeyLayout, Salt, SortOrder};
pub use mask::{Candidate, MaskedCompare};
pub use numeric::{NUMERIC_HALF, NUMERIC_NAN, NumericParts};
pub use range::{Edge, KeyRange, Span};
pub use successor::prefix_successor;
pub use times::calendar::{
    DATE_INFINITY, DATE_MAX, DATE_MIN, DATE_MINUS_INFINITY, DAY_MICROS, JULIAN_1970, TIMESTAMP_INFINITY,
    TIMESTAMP_MAX, TIMESTAMP_MIN, TIMESTAMP_MINUS_INFINITY, civil_from_days, date_of_timestamp,
    days_from_civil, days_in_month, is_infinite_timestamp, timestamp_of_date,
};
pub use times::datetime::RelativeMoment;
pub use times::interval::Interval;
pub use times::interval_style::IntervalStyle;
pub use times::zones::{ZONE_OFFSET_MAX, Zone};
pub use types::DataType;
pub use types::enums::{
    EnumDefinition, EnumLabel, EnumType, LabelError, LabelPlace, quoted_name, type_sql_name,
};
pub use types::inet::{CIDR_WIDE, INET_WIDE, Inet};
pub use types::records::{RecordDefinition, RecordField, RecordType};
