//! EXTRACT and `date_part`: the fields of moments and intervals.
//!
//! `extract(field, x)` is exact and NUMERIC, with the digits that the field has; `date_part` is the same as a DOUBLE. Source:
//! PostgreSQL's manual, 9.9.1.
//!
//! Fields of dates and timestamps that are whole numbers are computed by `date_part` as it was before: DataFusion's, whole numbers
//! as INTEGER, with seconds as DOUBLE and a few fields more. Expressions that databases hold call it, and an index on it serves
//! conditions on EXTRACT.
//!
//! | field                             | DataFusion     | in `date_part` as it was               |
//! |-----------------------------------|----------------|----------------------------------------|
//! | `second`, `millisecond`           | cut to INTEGER | DOUBLE, fraction and all               |
//! | `decade`, `century`, `millennium` | unknown        | INTEGER                                |
//! | `julian`                          | unknown        | DOUBLE: days, and what of the day is over |

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float64Array, Int32Array,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Date32Type, Field, FieldRef, Float64Type, Int32Type, IntervalMonthDayNanoType,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, i256,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::datetime;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{
    DATE_INFINITY, DATE_MINUS_INFINITY, DAY_MICROS, DataType, Interval, JULIAN_1970, NUMERIC_HALF,
    ValueError, civil_from_days, is_infinite_timestamp,
};

use crate::forms::intervals::interval_of;
use crate::functions::common::undefined::undefined_function;
use crate::types::{arrow_type, data_type_of_arrow, postgres_name};
use crate::usual::as_usual;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Seconds of a year of 365.25 days.
const YEAR: f64 = 31_557_600.0;

/// Microseconds of a minute.
const MINUTE_MICROS: i64 = 60_000_000;

/// `extract`.
pub const EXTRACT: &str = "extract";

/// `date_part`: of statements that of PostgreSQL, of stored expressions the one as it was before.
pub const DATE_PART: &str = "date_part";

/// What stored expressions call `date_part` by.
pub const STORED_DATE_PART: &str = "stored_date_part";

/// Returns `date_part` as it was before.
pub fn date_part() -> Arc<ScalarUDF> {
    let (usual, aliases) = (datetime::date_part(), [STORED_DATE_PART.to_string()]);
    Arc::new(ScalarUDF::from(DatePart { usual, aliases }))
}

/// Returns `extract`.
pub fn extract() -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(Extract { signature }))
}

/// Fields of dates and timestamps that `date_part` gives as whole numbers.
const WHOLE_PARTS: [&str; 13] = [
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "dow",
    "isodow",
    "doy",
    "decade",
    "century",
    "millennium",
];

/// Whether `date_part` as it was before gives a field as INTEGER.
pub fn is_whole_part(field: &ScalarValue) -> bool {
    name_of(Some(field)).is_some_and(|name| WHOLE_PARTS.contains(&name.to_ascii_lowercase().as_str()))
}

/// Returns the `date_part` as it was before that gives what `extract` does of a field and values of a type; `None` where it does not.
pub fn whole_part(field: &ScalarValue, of: &ArrowType) -> Option<Arc<ScalarUDF>> {
    let name = name_of(Some(field))?.to_ascii_lowercase();
    // A DATE has no time.
    let has_it = match of {
        ArrowType::Date32 => !matches!(name.as_str(), "hour" | "minute"),
        ArrowType::Timestamp(..) => true,
        _ => false,
    };
    (has_it && WHOLE_PARTS.contains(&name.as_str())).then(date_part)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DatePart {
    usual: Arc<ScalarUDF>,
    aliases: [String; 1],
}

/// A field that is computed of another one of DataFusion's.
#[derive(Clone, Copy)]
enum Made {
    /// Of the microseconds of a minute: divided by so many.
    Fraction(f64),
    /// Of the year: so many years each.
    Years(i32),
    /// Of the seconds since 1970.
    Julian,
}

impl Made {
    fn of(field: &str) -> Option<Made> {
        Some(match field.to_ascii_lowercase().as_str() {
            "second" | "seconds" | "sec" | "secs" | "s" => Made::Fraction(1e6),
            "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => Made::Fraction(1e3),
            "decade" | "decades" | "dec" | "decs" => Made::Years(10),
            "century" | "centuries" | "cent" | "c" => Made::Years(100),
            "millennium" | "millennia" | "mil" | "mils" => Made::Years(1000),
            "julian" => Made::Julian,
            _ => return None,
        })
    }

    fn base(self) -> &'static str {
        match self {
            Made::Fraction(_) => "microsecond",
            Made::Years(_) => "year",
            Made::Julian => "epoch",
        }
    }

    fn ty(self) -> ArrowType {
        match self {
            Made::Years(_) => ArrowType::Int32,
            _ => ArrowType::Float64,
        }
    }

    /// Computes the field of what DataFusion gives for its base.
    fn values(self, base: &ArrayRef) -> DataFusionResult<ArrayRef> {
        Ok(match self {
            Made::Fraction(micros) => {
                let base = cast(base, &ArrowType::Float64)?;
                let values: Float64Array = base.as_primitive::<Float64Type>().unary(|value| value / micros);
                Arc::new(values)
            }
            Made::Julian => {
                let base = cast(base, &ArrowType::Float64)?;
                let days = |seconds: f64| seconds / DAY + JULIAN_1970 as f64;
                let values: Float64Array = base.as_primitive::<Float64Type>().unary(days);
                Arc::new(values)
            }
            Made::Years(years) => {
                let base = cast(base, &ArrowType::Int32)?;
                let values: Int32Array = base
                    .as_primitive::<Int32Type>()
                    .unary(|year| span_of_years(year, years));
                Arc::new(values)
            }
        })
    }
}

/// Returns in which decade (from 0), century or millennium (from 1) a year lies.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "years are those of dates, and the divisors are constants"
)]
fn span_of_years(year: i32, years: i32) -> i32 {
    match years {
        10 => year.div_euclid(10),
        _ if year > 0 => year.saturating_sub(1) / years + 1,
        _ => year / years - 1,
    }
}

fn name_of(value: Option<&ScalarValue>) -> Option<&str> {
    match value? {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)) => Some(text),
        _ => None,
    }
}

impl ScalarUDFImpl for DatePart {
    as_usual!(name signature coerce_types output_ordering);

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Err(undefined_function(self.name(), types))
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let name = name_of(arguments.scalar_arguments.first().copied().flatten());
        if let (Some(name), [_, of]) = (name, arguments.arg_fields)
            && matches!(of.data_type(), ArrowType::Interval(_))
        {
            let ty = match part(name, of.data_type())?.digits(of.data_type()) {
                Some((_, 0)) => ArrowType::Int64,
                _ => ArrowType::Float64,
            };
            return Ok(Arc::new(Field::new(self.name(), ty, true)));
        }
        match name.and_then(Made::of) {
            Some(made) => Ok(Arc::new(Field::new(self.name(), made.ty(), true))),
            // A field of an infinity is NULL.
            None => {
                let field = self.usual.return_field_from_args(arguments)?;
                Ok(Arc::new(field.as_ref().clone().with_nullable(true)))
            }
        }
    }

    fn invoke_with_args(&self, mut arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let name = match arguments.args.first() {
            Some(ColumnarValue::Scalar(field)) => name_of(Some(field)),
            _ => None,
        };
        if let (Some(name), [_, of]) = (name, arguments.args.as_slice())
            && matches!(of.data_type(), ArrowType::Interval(_))
        {
            return of_intervals(name, of);
        }
        let part = name.and_then(Part::of);
        if let (Some(name), Some(part), [_, of]) = (name, part, arguments.args.as_slice())
            && matches!(
                of.data_type(),
                ArrowType::Date32 | ArrowType::Timestamp(TimeUnit::Microsecond, _)
            )
            && *arguments.return_type() == ArrowType::Int32
        {
            return whole_numbers(part, name, of);
        }
        let made = name.and_then(Made::of);
        let (Some(made), [_, _]) = (made, arguments.args.as_slice()) else {
            return self.usual.invoke_with_args(arguments);
        };
        let base = ScalarValue::Utf8(Some(made.base().to_string()));
        let ty = match made {
            Made::Julian => ArrowType::Float64,
            _ => ArrowType::Int32,
        };
        arguments.args[0] = ColumnarValue::Scalar(base);
        arguments.return_field = Arc::new(Field::new(self.name(), ty, true));
        match self.usual.invoke_with_args(arguments)? {
            ColumnarValue::Array(base) => Ok(ColumnarValue::Array(made.values(&base)?)),
            ColumnarValue::Scalar(base) => {
                let values = made.values(&base.to_array()?)?;
                let value = ScalarValue::try_from_array(&values, 0)?;
                Ok(ColumnarValue::Scalar(value))
            }
        }
    }
}

/// Returns a field of dates or timestamps that is a whole number.
fn whole_numbers(part: Part, name: &str, of: &ColumnarValue) -> DataFusionResult<ColumnarValue> {
    let values = of.to_array(1)?;
    let (ty, moment) = (values.data_type(), moments(&values)?);
    let number = |row: usize| match values.is_null(row) {
        true => Ok(None),
        false => {
            // A date has a time of day in these fields: midnight.
            let moment = match moment(row) {
                Moment::Date(_) if part.of_time(0).is_some() => Moment::Time(0),
                moment => moment,
            };
            let value = field_of(part, name, moment, ty)?;
            Ok(value.and_then(|(value, _)| i32::try_from(value).ok()))
        }
    };
    let numbers = (0..values.len()).map(number);
    let numbers: ArrayRef = Arc::new(numbers.collect::<DataFusionResult<Int32Array>>()?);
    match of {
        ColumnarValue::Scalar(_) => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&numbers, 0)?)),
        ColumnarValue::Array(_) => Ok(ColumnarValue::Array(numbers)),
    }
}

/// Returns a field of intervals as `date_part` gave it before.
fn of_intervals(name: &str, of: &ColumnarValue) -> DataFusionResult<ColumnarValue> {
    let values = of.to_array(1)?;
    let (ty, intervals) = (
        values.data_type(),
        values.as_primitive::<IntervalMonthDayNanoType>(),
    );
    let part = part(name, ty)?;
    let number = |interval: Interval| match part {
        Part::Epoch => {
            let years = f64::from(interval.months / 12) * YEAR;
            let days = f64::from(interval.months % 12) * 30.0 + f64::from(interval.days);
            Some(years + days * DAY + interval.micros as f64 / 1e6)
        }
        _ => {
            let (value, scale) = part.of_interval(interval)?;
            Some(value as f64 / 10_f64.powi(scale.into()))
        }
    };
    let numbers = intervals.iter().map(|interval| {
        let number = interval.map(|interval| number(interval_of(interval)));
        let number = number.map(|number| number.ok_or_else(|| unit_error("0A000", name, "supported", ty)));
        number.transpose()
    });
    let numbers: ArrayRef = Arc::new(numbers.collect::<DataFusionResult<Float64Array>>()?);
    let numbers = match part.digits(ty) {
        Some((_, 0)) => cast(&numbers, &ArrowType::Int64)?,
        _ => numbers,
    };
    match of {
        ColumnarValue::Scalar(_) => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&numbers, 0)?)),
        ColumnarValue::Array(_) => Ok(ColumnarValue::Array(numbers)),
    }
}

/// `extract`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Extract {
    signature: Signature,
}

/// A field by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Microseconds,
    Milliseconds,
    Seconds,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    Epoch,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    IsoYear,
    Julian,
    Zone,
    ZoneHour,
    ZoneMinute,
}

/// What fields are taken of.
#[derive(Clone, Copy)]
enum Moment {
    /// Days since 1970.
    Date(i64),
    /// Microseconds of the day.
    Time(i64),
    /// Microseconds since 1970, and whether they are those of UTC.
    Timestamp(i64, bool),
    Interval(Interval),
}

/// A number and its digits after the point; `None` where there is no such field.
type Digits = Option<(i128, u8)>;

/// Digits of whole numbers.
const WHOLE_DIGITS: (u8, u8) = (19, 0);

/// Type of whole numbers.
pub const WHOLE: ArrowType = ArrowType::Decimal128(19, 0);

#[expect(
    clippy::arithmetic_side_effects,
    reason = "quotients and remainders of parts by constants, and their products, which 128 bits hold"
)]
impl Part {
    /// Returns the field of a name, as PostgreSQL spells them.
    pub(crate) fn of(name: &str) -> Option<Part> {
        Some(match name.to_ascii_lowercase().as_str() {
            "microsecond" | "microseconds" | "usec" | "usecs" | "us" => Part::Microseconds,
            "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => Part::Milliseconds,
            "second" | "seconds" | "sec" | "secs" | "s" => Part::Seconds,
            "minute" | "minutes" | "min" | "mins" | "m" => Part::Minute,
            "hour" | "hours" | "hr" | "hrs" | "h" => Part::Hour,
            "day" | "days" | "d" => Part::Day,
            "week" | "weeks" | "w" => Part::Week,
            "month" | "months" | "mon" | "mons" => Part::Month,
            "quarter" | "qtr" => Part::Quarter,
            "year" | "years" | "yr" | "yrs" | "y" => Part::Year,
            "decade" | "decades" | "dec" | "decs" => Part::Decade,
            "century" | "centuries" | "cent" | "c" => Part::Century,
            "millennium" | "millennia" | "mil" | "mils" => Part::Millennium,
            "epoch" => Part::Epoch,
            "dow" => Part::DayOfWeek,
            "isodow" => Part::IsoDayOfWeek,
            "doy" => Part::DayOfYear,
            "isoyear" => Part::IsoYear,
            "julian" => Part::Julian,
            "timezone" => Part::Zone,
            "timezone_hour" | "timezone_h" => Part::ZoneHour,
            "timezone_minute" | "timezone_m" => Part::ZoneMinute,
            _ => return None,
        })
    }

    /// Returns precision and scale of a field of values of a type; `None` where each value has its own.
    fn digits(self, of: &ArrowType) -> Option<(u8, u8)> {
        Some(match self {
            Part::Seconds => (8, 6),
            Part::Milliseconds => (8, 3),
            Part::Epoch if *of == ArrowType::Date32 => WHOLE_DIGITS,
            // Months of 32 bits.
            Part::Epoch if matches!(of, ArrowType::Interval(_)) => (24, 6),
            Part::Epoch => (20, 6),
            Part::Julian if *of != ArrowType::Date32 => return None,
            _ => WHOLE_DIGITS,
        })
    }

    /// Returns the field; `None` of what such a moment has not.
    fn value(self, moment: Moment) -> Digits {
        match moment {
            Moment::Date(days) => match self {
                Part::Epoch => Some((i128::from(days) * 86_400, 0)),
                Part::Julian => Some((i128::from(days) + i128::from(JULIAN_1970), 0)),
                _ => self.of_day(days).map(whole),
            },
            Moment::Time(micros) => match self {
                Part::Epoch => Some((i128::from(micros), 6)),
                _ => self.of_time(micros),
            },
            Moment::Timestamp(micros, is_utc) => {
                let (days, time) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS));
                match self {
                    Part::Epoch => Some((i128::from(micros), 6)),
                    Part::Julian => {
                        // So many digits hold a microsecond of a day.
                        const SCALE: u8 = 20;
                        let day = (i128::from(days) + i128::from(JULIAN_1970)) * 10_i128.pow(SCALE.into());
                        let part = i128::from(time) * 10_i128.pow(SCALE.into());
                        Some((
                            day + (part + i128::from(DAY_MICROS / 2)) / i128::from(DAY_MICROS),
                            SCALE,
                        ))
                    }
                    Part::Zone | Part::ZoneHour | Part::ZoneMinute => is_utc.then_some((0, 0)),
                    _ => self.of_time(time).or_else(|| self.of_day(days).map(whole)),
                }
            }
            Moment::Interval(interval) => self.of_interval(interval),
        }
    }

    /// Whether the field of a later moment is never less: that of `infinity` would be infinite.
    fn grows(self) -> bool {
        use Part::{Century, Decade, Epoch, IsoYear, Julian, Millennium, Year};
        matches!(
            self,
            Year | Decade | Century | Millennium | IsoYear | Julian | Epoch
        )
    }

    fn of_time(self, micros: i64) -> Digits {
        let of_minute = i128::from(micros % MINUTE_MICROS);
        Some(match self {
            Part::Microseconds => (of_minute, 0),
            Part::Milliseconds => (of_minute, 3),
            Part::Seconds => (of_minute, 6),
            Part::Minute => whole(micros / MINUTE_MICROS % 60),
            Part::Hour => whole(micros / (60 * MINUTE_MICROS)),
            _ => return None,
        })
    }

    fn of_day(self, days: i64) -> Option<i64> {
        let (year, month, day) = civil_from_days(days);
        let first = |year: i64| rukh_keys::days_from_civil(year, 1, 1);
        // The year 0 is 1 BC.
        let said = |year: i64| if year > 0 { year } else { year - 1 };
        let span = |years: i64| match year > 0 {
            true => (year + years - 1) / years,
            false => -((years - 1 - (year - 1)) / years),
        };
        let weekday = (days + 3).rem_euclid(7);
        // The week of a day has the year of its Thursday.
        let iso_year = civil_from_days(days - weekday + 3).0;
        Some(match self {
            Part::Day => i64::from(day),
            Part::Month => i64::from(month),
            Part::Quarter => i64::from((month - 1) / 3 + 1),
            Part::Year => said(year),
            Part::Decade => year.div_euclid(10),
            Part::Century => span(100),
            Part::Millennium => span(1_000),
            Part::DayOfWeek => (weekday + 1) % 7,
            Part::IsoDayOfWeek => weekday + 1,
            Part::DayOfYear => days - first(year) + 1,
            Part::IsoYear => said(iso_year),
            Part::Week => (days - weekday + 3 - first(iso_year)) / 7 + 1,
            _ => return None,
        })
    }

    fn of_interval(self, interval: Interval) -> Digits {
        let Interval { months, days, micros } = interval;
        Some(match self {
            Part::Day => whole(i64::from(days)),
            Part::Month => whole(i64::from(months % 12)),
            Part::Quarter => whole(i64::from(months % 12 / 3 + 1)),
            Part::Year => whole(i64::from(months / 12)),
            Part::Decade => whole(i64::from(months / 120)),
            Part::Century => whole(i64::from(months / 1_200)),
            Part::Millennium => whole(i64::from(months / 12_000)),
            // 365.25 days a year, 30 a month that is left over.
            Part::Epoch => {
                let quarters_of_days =
                    i128::from(months / 12) * 1_461 + (i128::from(months % 12) * 30 + i128::from(days)) * 4;
                (quarters_of_days * 21_600_000_000 + i128::from(micros), 6)
            }
            _ => return self.of_time(micros),
        })
    }
}

impl Moment {
    fn is_infinite(self) -> bool {
        match self {
            Moment::Date(days) => [DATE_INFINITY, DATE_MINUS_INFINITY]
                .iter()
                .any(|end| i64::from(*end) == days),
            Moment::Timestamp(micros, _) => is_infinite_timestamp(micros),
            Moment::Time(_) | Moment::Interval(_) => false,
        }
    }
}

/// Returns the field of a moment, in digits; `None` of an infinity that has none.
///
/// # Errors
/// 0A000 where such moments have no such field, or it would be infinite.
fn field_of(part: Part, name: &str, moment: Moment, of: &ArrowType) -> DataFusionResult<Digits> {
    let of_finite = match (moment.is_infinite(), moment) {
        (true, Moment::Date(_)) => Moment::Date(0),
        (true, Moment::Timestamp(_, is_utc)) => Moment::Timestamp(0, is_utc),
        (_, moment) => moment,
    };
    let value = part.value(of_finite);
    let value = value.ok_or_else(|| unit_error("0A000", name, "supported", of))?;
    match moment.is_infinite() {
        false => Ok(Some(value)),
        true if part.grows() => {
            let (value, ty) = ("infinity", DataType::NUMERIC);
            Err(DataFusionError::External(Box::new(SqlError::from(
                ValueError::NotFinite { value, ty },
            ))))
        }
        true => Ok(None),
    }
}

fn whole(value: i64) -> (i128, u8) {
    (i128::from(value), 0)
}

/// Returns the field of a name. Fails with 22023 where there is none.
fn part(name: &str, of: &ArrowType) -> DataFusionResult<Part> {
    Part::of(name).ok_or_else(|| unit_error("22023", name, "recognized", of))
}

fn unit_error(state: &'static str, name: &str, what: &str, of: &ArrowType) -> DataFusionError {
    let ty = match of {
        ArrowType::Interval(_) => "interval",
        ty => postgres_name(&data_type_of_arrow(ty)),
    };
    let message = format!("unit \"{}\" not {what} for type {ty}", name.to_ascii_lowercase());
    DataFusionError::External(Box::new(SqlError::statement(state, message)))
}

/// Returns the moments of an array.
fn moments(values: &ArrayRef) -> DataFusionResult<Box<dyn Fn(usize) -> Moment + '_>> {
    Ok(match values.data_type() {
        ArrowType::Date32 => {
            let days = values.as_primitive::<Date32Type>();
            Box::new(move |row| Moment::Date(days.value(row).into()))
        }
        ArrowType::Time64(TimeUnit::Microsecond) => {
            let micros = values.as_primitive::<Time64MicrosecondType>();
            Box::new(move |row| Moment::Time(micros.value(row)))
        }
        ArrowType::Timestamp(TimeUnit::Microsecond, zone) => {
            let (micros, is_utc) = (values.as_primitive::<TimestampMicrosecondType>(), zone.is_some());
            Box::new(move |row| Moment::Timestamp(micros.value(row), is_utc))
        }
        ArrowType::Interval(_) => {
            let intervals = values.as_primitive::<IntervalMonthDayNanoType>();
            Box::new(move |row| Moment::Interval(interval_of(intervals.value(row))))
        }
        other => return Err(undefined_function(EXTRACT, &[ArrowType::Utf8, other.clone()])),
    })
}

impl ScalarUDFImpl for Extract {
    fn name(&self) -> &str {
        EXTRACT
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Err(undefined_function(self.name(), types))
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let [_, of] = arguments.arg_fields else {
            return Err(undefined_function(self.name(), &[]));
        };
        let name = name_of(arguments.scalar_arguments.first().copied().flatten());
        let part = name.map(|name| part(name, of.data_type())).transpose()?;
        let ty = match part.and_then(|part| part.digits(of.data_type())) {
            Some((precision, scale)) => DataType::Decimal { precision, scale },
            None => DataType::NUMERIC,
        };
        Ok(Arc::new(Field::new(self.name(), arrow_type(&ty), true)))
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "256 bits hold 128 with 38 digits more"
    )]
    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let is_one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [names, values] = arrays.as_slice() else {
            return Err(undefined_function(self.name(), &[]));
        };
        let names = cast(names, &ArrowType::Utf8)?;
        let names = names.as_string::<i32>();
        let (of, moment) = (values.data_type(), moments(values)?);
        let value = |row: usize| -> DataFusionResult<Option<(i128, u8)>> {
            if names.is_null(row) || values.is_null(row) {
                return Ok(None);
            }
            let name = names.value(row);
            field_of(part(name, of)?, name, moment(row), of)
        };
        let rows = 0..values.len();
        let made: ArrayRef = match arguments.return_type() {
            ArrowType::Decimal128(precision, scale) => {
                let values = rows.map(|row| Ok(value(row)?.map(|(value, _)| value)));
                let values: Decimal128Array = values.collect::<DataFusionResult<_>>()?;
                Arc::new(values.with_precision_and_scale(*precision, *scale)?)
            }
            _ => {
                let exact = |(value, scale): (i128, u8)| {
                    let shift = u32::from(NUMERIC_HALF.saturating_sub(scale));
                    i256::from_i128(value) * i256::from_i128(10).wrapping_pow(shift)
                };
                let values = rows.map(|row| Ok(value(row)?.map(exact)));
                let values: Decimal256Array = values.collect::<DataFusionResult<_>>()?;
                Arc::new(values.with_data_type(arrow_type(&DataType::NUMERIC)))
            }
        };
        match is_one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}
