//! The form that databases write, `2012-01-31` and `2012-01-31 12:30:15.25+00`, read without taking it apart: files hold millions of it.

use super::parts::{Day, Parts};
use crate::times::calendar::{days_from_civil, days_in_month};
use crate::times::zones::Zone;

/// Reads a text in that form; `None` of every other, and of what is out of range.
pub(super) fn read(text: &[u8]) -> Option<Parts> {
    let (date, rest) = text.split_first_chunk::<10>()?;
    if date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    let century = pair(date[0], date[1])?;
    let (year, month) = (century * 100 + pair(date[2], date[3])?, pair(date[5], date[6])?);
    let day = u32::try_from(pair(date[8], date[9])?).ok()?;
    let month = u32::try_from(month).ok()?;
    if year < 1 || !(1..=12).contains(&month) || !(1..=days_in_month(year, month)).contains(&day) {
        return None;
    }
    let (time, zone) = match rest {
        [] => (0, None),
        [b' ' | b'T', rest @ ..] => clock(rest)?,
        _ => return None,
    };
    Some(Parts {
        day: Day::Date(days_from_civil(year, month, day)),
        time,
        zone,
    })
}

fn clock(text: &[u8]) -> Option<(i64, Option<Zone>)> {
    let (clock, mut rest) = text.split_first_chunk::<8>()?;
    if clock[2] != b':' || clock[5] != b':' {
        return None;
    }
    let (hour, minute) = (pair(clock[0], clock[1])?, pair(clock[3], clock[4])?);
    let second = pair(clock[6], clock[7])?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut micros = 0;
    if let [b'.', digits @ ..] = rest {
        let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=6).contains(&count) {
            return None;
        }
        let (digits, after) = digits.split_at(count);
        let value = digits
            .iter()
            .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        micros = value * 10_i64.pow(6 - count as u32);
        rest = after;
    }
    let zone = match rest {
        [] => None,
        b"Z" | b"+00" => Some(Zone::UTC),
        _ => return None,
    };
    Some((((hour * 60 + minute) * 60 + second) * 1_000_000 + micros, zone))
}

/// Reads two digits.
fn pair(tens: u8, ones: u8) -> Option<i64> {
    let is_pair = tens.is_ascii_digit() && ones.is_ascii_digit();
    is_pair.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}
