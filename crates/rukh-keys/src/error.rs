//! The two ways in which keys fail: a value that a type does not take, and bytes that are no key.
//!
//! A variant exists where a caller would answer with another SQLSTATE; the state named in its doc
//! is the one PostgreSQL uses. The mapping itself is made in one place outside of this crate.

use crate::json::JsonError;
use crate::types::DataType;
use thiserror::Error;

/// Says why a value is not taken by a type or a key column.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ValueError {
    /// A text is a number outside of its type (22003).
    #[error("{}", out_of_range(.value, .ty))]
    OutOfRange {
        /// The value as text.
        value: String,
        /// The type that refuses it.
        ty: DataType,
    },
    /// An integer lies outside of its type (22003).
    #[error("{} out of range", .ty.postgres_name())]
    IntegerOutOfRange {
        /// The type that refuses it.
        ty: DataType,
    },
    /// A quotient whose divisor is 0 (22012).
    #[error("division by zero")]
    DivisionByZero,
    /// A float computed of finite ones is greater than the greatest (22003).
    #[error("value out of range: overflow")]
    FloatOverflow,
    /// A product or quotient of floats is less than the least that is not 0 (22003).
    #[error("value out of range: underflow")]
    FloatUnderflow,
    /// A decimal has more digits before the point than its type (22003).
    #[error("numeric field overflow")]
    NumericOverflow {
        /// The digits the type holds.
        precision: u8,
        /// The digits after the point.
        scale: u8,
    },
    /// A value is an infinity, which no decimals hold, or NaN, which those of up to 38 digits do not (0A000).
    #[error("{value} is not supported in type {}", .ty.postgres_name())]
    NotFinite {
        /// `NaN` or `infinity`.
        value: &'static str,
        /// The type.
        ty: DataType,
    },
    /// A zone is further from UTC than any is (22009).
    #[error("time zone displacement out of range: \"{value}\"")]
    ZoneOutOfRange {
        /// The value as text.
        value: String,
    },
    /// A zone has a name that is unknown (22023).
    #[error("time zone \"{name}\" not recognized")]
    UnknownZone {
        /// The name, in lower case.
        name: String,
    },
    /// A month or a day is out of range: year, month and day may stand in another order (22008).
    #[error("date/time field value out of range: \"{value}\"")]
    DateOrder {
        /// The text.
        value: String,
    },
    /// A date or time is well formed, but a field of it or the whole is out of range (22008).
    #[error("date/time field value out of range: \"{value}\"")]
    DateTimeOutOfRange {
        /// The value as text.
        value: String,
    },
    /// A date or timestamp lies beyond its type (22008).
    #[error("{} out of range: \"{value}\"", moment_word(ty))]
    MomentBeyond {
        /// DATE, or a timestamp.
        ty: DataType,
        /// The value as text.
        value: String,
    },
    /// An interval is well formed, but too long (22015).
    #[error("interval field value out of range: \"{text}\"")]
    IntervalOutOfRange {
        /// The value as text.
        text: String,
    },
    /// A sum with a date or timestamp lies beyond its type (22008).
    #[error("{} out of range", moment_word(ty))]
    MomentOutOfRange {
        /// The type that does not hold it.
        ty: DataType,
    },
    /// A string or byte string is longer than its type allows (22001).
    #[error("value too long for type {}", .ty.postgres_name())]
    TooLong {
        /// The type that refuses it.
        ty: DataType,
    },
    /// A CHAR value has more bytes than its place in a key (54000).
    #[error("a value of {bytes} bytes does not fit into a key: {} has {places} there", .ty.postgres_name(), places = .ty.key_width().unwrap_or(0))]
    WideForKey {
        /// The type of the key column.
        ty: DataType,
        /// The bytes of the value.
        bytes: usize,
    },
    /// A text is not a value of the type (22P02).
    #[error("{} {}: \"{text}\"", invalid_input(.ty), name_without_digits(.ty))]
    InvalidText {
        /// The wanted type.
        ty: DataType,
        /// The text.
        text: String,
    },
    /// A text is a network with bits set behind its mask (22P02).
    #[error("invalid cidr value: \"{text}\"")]
    NoNetwork {
        /// The text.
        text: String,
    },
    /// A text is no array (22P02).
    #[error("malformed array literal: \"{text}\"")]
    InvalidArray {
        /// The text.
        text: String,
    },
    /// A text is no row of a type (22P02).
    #[error("malformed record literal: \"{text}\"")]
    InvalidRecord {
        /// The text.
        text: String,
        /// What is wrong with it, as PostgreSQL says it.
        detail: &'static str,
    },
    /// An array has several dimensions, which no column holds (0A000).
    #[error("arrays of more than one dimension cannot be stored")]
    ArrayDimensions,
    /// A text is not a date or time (22007).
    #[error("invalid input syntax for type {}: \"{text}\"", .ty.postgres_name())]
    InvalidDateTime {
        /// The wanted type.
        ty: DataType,
        /// The text.
        text: String,
    },
    /// A `\x` byte string holds something that is no hexadecimal digit (22023).
    #[error("invalid hexadecimal digit: \"{digit}\"")]
    InvalidHexDigit {
        /// The character found.
        digit: char,
    },
    /// A `\x` byte string ends in the middle of a byte (22023).
    #[error("invalid hexadecimal data: odd number of digits")]
    OddHexDigits,
    /// A text is no JSON, or no JSONB.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A CHAR value holds a NUL character (22021).
    #[error("invalid byte sequence for encoding \"UTF8\": 0x00")]
    NullByte,
    /// A value of one kind was given where a type wants another (42804).
    #[error("a value of type {} is expected but the value is {found}", .ty.postgres_name())]
    TypeMismatch {
        /// The wanted type.
        ty: DataType,
        /// The kind of the value, such as `text`.
        found: &'static str,
    },
    /// A NOT NULL key column was given NULL (23502).
    #[error("null value in key column {column} violates not-null constraint")]
    NotNull {
        /// The position of the column in the key layout, from 0.
        column: usize,
    },
    /// The number of values is not the number of key columns (internal).
    #[error("a key of {expected} columns was given {found} values")]
    ColumnCount {
        /// The columns of the layout.
        expected: usize,
        /// The values given.
        found: usize,
    },
    /// A type name is not known (42704).
    #[error("type \"{name}\" does not exist")]
    UnknownType {
        /// The name as written.
        name: String,
    },
    /// The length, precision or scale of a type name is not allowed (22023).
    #[error("invalid modifier for type {name}: {reason}")]
    InvalidModifier {
        /// The type name as written.
        name: String,
        /// What is allowed.
        reason: &'static str,
    },
}

/// PostgreSQL does not say `syntax` of labels.
fn invalid_input(ty: &DataType) -> &'static str {
    match ty {
        DataType::Enum(_) => "invalid input value for enum",
        _ => "invalid input syntax for type",
    }
}

/// PostgreSQL does not say how many digits a text would have had room for.
fn name_without_digits(ty: &DataType) -> String {
    match ty {
        DataType::Decimal { .. } => "numeric".to_owned(),
        other => other.postgres_name(),
    }
}

/// PostgreSQL quotes floats without the word `value`.
fn out_of_range(value: &str, ty: &DataType) -> String {
    let word = if ty.is_float() { "" } else { "value " };
    format!(
        "{word}\"{value}\" is out of range for type {}",
        ty.postgres_name()
    )
}

/// Says why, and at which byte, stored bytes are not a key of the layout.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyDecodeError {
    /// The key ends inside of a column.
    #[error("key ends at byte {offset} inside of key column {column}")]
    Truncated {
        /// The length of the key.
        offset: usize,
        /// The position of the column in the layout, from 0.
        column: usize,
    },
    /// Bytes follow the last column.
    #[error("key has trailing bytes from byte {offset}")]
    TrailingBytes {
        /// The first byte too many.
        offset: usize,
    },
    /// The salt byte is not a bucket of the layout.
    #[error("key has bucket {bucket} of {buckets}")]
    InvalidBucket {
        /// The salt byte.
        bucket: u8,
        /// The buckets of the layout.
        buckets: u16,
    },
    /// The tag of a nullable column is neither that of a value nor that of NULL.
    #[error("key has invalid tag 0x{tag:02x} at byte {offset}")]
    InvalidTag {
        /// The place of the tag.
        offset: usize,
        /// The byte found.
        tag: u8,
    },
    /// The escape byte is followed by something else than an escaped byte or the terminator.
    #[error("key has invalid escape sequence at byte {offset}")]
    InvalidEscape {
        /// The place of the escape byte.
        offset: usize,
    },
    /// A text column does not hold UTF-8.
    #[error("key has invalid text at byte {offset}")]
    InvalidUtf8 {
        /// The first byte of the column's value.
        offset: usize,
    },
    /// The bytes of a column are not those of a value of its type: padding that is not zero, a
    /// number outside of the type's domain, a float that is not in canonical form.
    #[error("key has an invalid {} at byte {offset}", .ty.postgres_name())]
    InvalidValue {
        /// The first byte of the column's value.
        offset: usize,
        /// The type of the column.
        ty: DataType,
    },
}

fn moment_word(ty: &DataType) -> &'static str {
    match ty {
        DataType::Date => "date",
        _ => "timestamp",
    }
}
