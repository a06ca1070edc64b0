//! The proleptic Gregorian calendar: days since 1970-01-01 to year, month, day and back.
//!
//! The conversions count in eras of 400 years (146 097 days) that begin on the first of March, so
//! that the leap day is the last of its year, after the algorithms of Howard Hinnant's
//! "chrono-compatible low-level date algorithms".

/// The microseconds of a day.
pub const DAY_MICROS: i64 = 86_400_000_000;
/// The Julian day of 1970-01-01.
pub const JULIAN_1970: i64 = 2_440_588;
/// The first day of the DATE type, 4714-11-24 BC: day 0 of the Julian count.
pub const DATE_MIN: i32 = -(JULIAN_1970 as i32);
/// The last day of the DATE type, 5874897-12-31.
pub const DATE_MAX: i32 = 2_145_042_905;
/// The DATE `infinity`, after all days; `-infinity` is [`DATE_MINUS_INFINITY`].
pub const DATE_INFINITY: i32 = i32::MAX;
/// The DATE `-infinity`, before all days.
pub const DATE_MINUS_INFINITY: i32 = i32::MIN;
/// The first instant of the TIMESTAMP types, 4714-11-24 BC 00:00:00.
pub const TIMESTAMP_MIN: i64 = DATE_MIN as i64 * DAY_MICROS;
/// The last instant of the TIMESTAMP types, 294246-12-31T23:59:59.999999.
pub const TIMESTAMP_MAX: i64 = 9_223_371_244_800_000_000 - 1;
/// The timestamp `infinity`, after all instants.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// The timestamp `-infinity`, before all instants.
pub const TIMESTAMP_MINUS_INFINITY: i64 = i64::MIN;

/// The days of 400 years.
const ERA_DAYS: i64 = 146_097;
/// The days from the first of March of year 0 to 1970-01-01.
const EPOCH_SHIFT: i64 = 719_468;

/// Returns the days from 1970-01-01 to a date. Month is 1 to 12, day 1 to 31; the caller checks
/// that the month has the day.
pub fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let march_year = if month <= 2 { year - 1 } else { year };
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let march_month = i64::from((month + 9) % 12);
    let day_of_year = (153 * march_month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA_DAYS + day_of_era - EPOCH_SHIFT
}

/// Returns year, month (1 to 12) and day (1 to 31) of a day counted from 1970-01-01.
pub fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + EPOCH_SHIFT;
    let era = shifted.div_euclid(ERA_DAYS);
    let day_of_era = shifted.rem_euclid(ERA_DAYS);
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let year_start = 365 * year_of_era + year_of_era / 4 - year_of_era / 100;
    let day_of_year = day_of_era - year_start;
    let march_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * march_month + 2) / 5 + 1) as u32;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    } as u32;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// Returns the days of a month (1 to 12) of a year.
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Splits microseconds since 1970 into days and microseconds of the day.
pub(crate) fn split_timestamp(micros: i64) -> (i64, i64) {
    (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS))
}

/// Whether microseconds since 1970 are `infinity` or `-infinity`.
pub fn is_infinite_timestamp(micros: i64) -> bool {
    micros == TIMESTAMP_INFINITY || micros == TIMESTAMP_MINUS_INFINITY
}

/// Returns the instant at which a date (days since 1970) begins in UTC, an infinity as such; `None` if it lies beyond all timestamps.
pub fn timestamp_of_date(days: i32) -> Option<i64> {
    match days {
        DATE_INFINITY => Some(TIMESTAMP_INFINITY),
        DATE_MINUS_INFINITY => Some(TIMESTAMP_MINUS_INFINITY),
        days => i64::from(days)
            .checked_mul(DAY_MICROS)
            .filter(|micros| (TIMESTAMP_MIN..=TIMESTAMP_MAX).contains(micros)),
    }
}

/// Returns the date (days since 1970) of an instant in UTC, an infinity as such.
pub fn date_of_timestamp(micros: i64) -> i32 {
    match micros {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        TIMESTAMP_MINUS_INFINITY => DATE_MINUS_INFINITY,
        // 64 bits of microseconds are 10^8 days.
        micros => micros.div_euclid(DAY_MICROS) as i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_are_the_dates_they_claim() {
        assert_eq!(civil_from_days(DATE_MIN.into()), (-4713, 11, 24));
        assert_eq!(civil_from_days(DATE_MAX.into()), (5_874_897, 12, 31));
        assert_eq!(split_timestamp(TIMESTAMP_MIN), (DATE_MIN.into(), 0));
        let (days, time) = split_timestamp(TIMESTAMP_MAX);
        assert_eq!((civil_from_days(days), time), ((294_246, 12, 31), DAY_MICROS - 1));
        assert_eq!(civil_from_days(0), (1970, 1, 1));
    }

    #[test]
    fn dates_and_timestamps_have_the_same_infinities() {
        for days in [DATE_INFINITY, DATE_MINUS_INFINITY, DATE_MIN, 0, 106_751_973] {
            assert_eq!(timestamp_of_date(days).map(date_of_timestamp), Some(days));
        }
        assert_eq!(timestamp_of_date(DATE_MAX), None);
        assert_eq!(date_of_timestamp(-1), -1);
    }

    proptest! {
        #[test]
        fn each_day_follows_the_day_before(days in -3_000_000_000_i64..3_000_000_000) {
            let (year, month, day) = civil_from_days(days);
            prop_assert_eq!(days_from_civil(year, month, day), days);
            let next = if day < days_in_month(year, month) {
                (year, month, day + 1)
            } else if month < 12 {
                (year, month + 1, 1)
            } else {
                (year + 1, 1, 1)
            };
            prop_assert_eq!(civil_from_days(days + 1), next);
        }
    }
}
