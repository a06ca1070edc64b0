//! `url_scans` as CSV, as PostgreSQL reads it: NULL is an empty field, the empty string is `""`.
//!
//! No other field needs quotes: none holds a comma, a quote or a line end.

use std::fmt;
use std::io::{self, Write};

use crate::url_scans::{MICROS_PER_DAY, UrlScan, UrlScans};

impl UrlScans {
    /// Writes a header and the remaining rows.
    pub fn write_csv(self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", UrlScans::COLUMNS.join(","))?;
        for row in self {
            writeln!(out, "{row}")?;
        }
        out.flush()
    }
}

/// The row as a line of CSV.
impl fmt::Display for UrlScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UrlScan {
            md5url,
            sitecode,
            status,
            code,
            free,
            close,
            queue,
            scantype,
            url,
            ip,
            port,
            ..
        } = self;
        let (sdate, stime, intime) = (Day(self.sdate), Moment(self.stime), Moment(self.intime));
        let kind = if self.kind.is_empty() { "\"\"" } else { self.kind };
        let memo = self.scanmemo.unwrap_or("");
        write!(
            f,
            "{md5url},{sitecode},{status},{code},{sdate},{kind},{free},{close},{queue},{scantype},"
        )?;
        write!(f, "{stime},{url},{ip},{port},{intime},{memo}")
    }
}

/// A day since 1970-01-01 that prints as `2016-12-09`. Days before 2015 are not needed here.
struct Day(i32);

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut year, mut rest) = (2015, self.0 - 16_436);
        let is_leap = |year: i32| year % 4 == 0;
        while rest >= 365 + i32::from(is_leap(year)) {
            rest -= 365 + i32::from(is_leap(year));
            year += 1;
        }
        let february = 28 + i32::from(is_leap(year));
        let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut month = 0;
        while rest >= lengths[month] {
            rest -= lengths[month];
            month += 1;
        }
        write!(f, "{year:04}-{:02}-{:02}", month + 1, rest + 1)
    }
}

/// Microseconds since 1970-01-01 00:00 that print as `2016-12-09 10:15:00.000001`.
struct Moment(i64);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MICROS: i64 = MICROS_PER_DAY as i64;
        let (day, time) = (self.0.div_euclid(MICROS), self.0.rem_euclid(MICROS));
        let (second, micro) = (time / 1_000_000, time % 1_000_000);
        let (hour, minute) = (second / 3600, second / 60 % 60);
        write!(
            f,
            "{} {hour:02}:{minute:02}:{:02}.{micro:06}",
            Day(day as i32),
            second % 60
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_are_these() {
        let mut csv = Vec::new();
        UrlScans::new(3, 1).write_csv(&mut csv).unwrap();
        assert_eq!(String::from_utf8(csv).unwrap(), EXPECTED);
    }

    const EXPECTED: &str = "\
md5url,sitecode,status,code,sdate,type,free,close,queue,scantype,stime,url,ip,port,intime,scanmemo
472fbab526ec06cae824c5c6e1753afa,1029491380,-1,503,2016-01-01,\"\",false,false,false,-1,2016-01-01 14:49:58.136581,http://1029491380.example/0,10.0.0.180,443,2016-01-01 14:47:57.692218,
d4dfb18320f30bf5f2ae4a48dc09738b,7137647701,-1,200,2016-05-13,\"\",false,false,false,-1,2016-05-13 05:39:56.273162,http://7137647701.example/1,10.0.146.85,443,2016-05-13 04:41:09.135462,
00f89d8c120164752b816fe48ded68be,1078971362,-1,200,2016-09-23,\"\",false,false,false,-1,2016-09-23 20:29:54.409743,http://1078971362.example/2,10.0.1.226,80,2016-09-23 20:12:02.724115,
";

    #[test]
    fn moments_print_as_sql_writes_them() {
        for (micros, text) in [
            (1_451_606_400_000_000, "2016-01-01 00:00:00.000000"),
            (1_456_790_399_999_999, "2016-02-29 23:59:59.999999"),
            (1_481_278_500_000_001, "2016-12-09 10:15:00.000001"),
            (1_451_606_399_000_000, "2015-12-31 23:59:59.000000"),
        ] {
            assert_eq!(Moment(micros).to_string(), text);
        }
    }
}
