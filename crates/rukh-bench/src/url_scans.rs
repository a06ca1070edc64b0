//! Rows of `url_scans`, a crawler's results, of any number.
//!
//! Row `i` of `n` depends on the seed, `i` and `n` only, so that the same command line gives the same
//! file everywhere. Rows come in the order in which a crawler writes them: day by day.
//!
//! | field    | distribution                                                                        |
//! |----------|-------------------------------------------------------------------------------------|
//! | md5url   | MD5 of url; one row in ten is another scan of an earlier url                        |
//! | sitecode | up to 50,000 sites, the most common with 2.7 % of all urls; one site in fifty is `BT…` |
//! | status   | -1: 97 %, 1: 1.5 %, 0: 1 %, 2: 0.5 %                                                |
//! | code     | 200: 62 %, 404: 18 %, 301: 7 %, 302: 4 %, 500, 503: 3 %, 403: 2 %, 410: 1 %         |
//! | sdate    | 400 days from 2016-01-01 to 2017-02-03, as many rows on each, ascending             |
//! | type     | empty: 80 %, `image`: 10 %, `script`: 5 %, `document`: 4 %, `media`: 1 %            |
//! | free     | true: 5 %                                                                           |
//! | close    | true: 2 %                                                                           |
//! | queue    | true: 10 %                                                                          |
//! | scantype | -1: 70 %, 0 to 9: 3 % each                                                          |
//! | stime    | a moment of sdate, to the microsecond; no two rows have the same time of day        |
//! | url      | `http://<sitecode>.example/<number>`                                                |
//! | ip, port | an address of 10/8 that belongs to the site; 80: 85 %, 443: 12 %, 8080: 3 %         |
//! | intime   | up to an hour before stime                                                          |
//! | scanmemo | NULL: 95 %, else a short note                                                       |

use std::fmt::Write;

use md5::{Digest, Md5};

use crate::Random;

/// Days that the scans cover.
pub const DAYS: u64 = 400;
/// Sites that may appear.
pub const SITES: u64 = 50_000;

/// First day, in days since 1970-01-01: 2016-01-01.
const FIRST_DAY: i32 = 16_801;
/// Microseconds of a day.
pub const MICROS_PER_DAY: u64 = 86_400_000_000;
/// Shares no factor with the microseconds of a day (2, 3 and 5), so that multiples of it, taken
/// modulo a day, meet every microsecond once; near the golden ratio of a day, so that they spread.
const TIME_STEP: u64 = 53_398_136_581;

/// The streams of random numbers: one for the rows, one for the urls.
const ROWS: u64 = 0;
const URLS: u64 = 1 << 62;

/// One result of the crawler: a row of `url_scans`, its fields in the order of the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlScan {
    /// MD5 of `url` in hex digits.
    pub md5url: String,
    /// Name of the site, ten characters.
    pub sitecode: String,
    /// State of the scan, mostly -1.
    pub status: i16,
    /// HTTP status.
    pub code: i16,
    /// Day of the scan, in days since 1970-01-01.
    pub sdate: i32,
    /// What the URL led to; mostly empty.
    pub kind: &'static str,
    /// Whether the page is free.
    pub free: bool,
    /// Whether the page is closed.
    pub close: bool,
    /// Whether the page waits for another scan.
    pub queue: bool,
    /// Kind of scan, mostly -1.
    pub scantype: i8,
    /// Moment of the scan, in microseconds since 1970-01-01 00:00.
    pub stime: i64,
    /// The URL.
    pub url: String,
    /// Address of the server.
    pub ip: String,
    /// Port of the server.
    pub port: i32,
    /// Moment the URL was queued, in microseconds since 1970-01-01 00:00.
    pub intime: i64,
    /// A note, if there is one.
    pub scanmemo: Option<&'static str>,
}

/// The rows of a table: an iterator over `rows` scans.
#[derive(Clone, Debug)]
pub struct UrlScans {
    rows: u64,
    seed: u64,
    next: u64,
}

impl UrlScans {
    /// Names of the columns, in the order of [`UrlScan`].
    pub const COLUMNS: [&'static str; 16] = [
        "md5url", "sitecode", "status", "code", "sdate", "type", "free", "close", "queue", "scantype",
        "stime", "url", "ip", "port", "intime", "scanmemo",
    ];

    /// Returns the table of `rows` rows that belongs to `seed`.
    pub fn new(rows: u64, seed: u64) -> UrlScans {
        UrlScans { rows, seed, next: 0 }
    }

    /// Returns row `index`, from 0.
    pub fn row(&self, index: u64) -> UrlScan {
        let mut random = Random::new(self.seed, ROWS + index);
        let number = if random.per_mille(100) {
            random.below(index)
        } else {
            index
        };
        let site = self.site(number);
        let sitecode = sitecode(site);
        let url = format!("http://{}.example/{number}", sitecode.to_lowercase());
        let sdate = FIRST_DAY + (u128::from(index) * u128::from(DAYS) / u128::from(self.rows.max(1))) as i32;
        let time = (u128::from(index + 1) * u128::from(TIME_STEP) % u128::from(MICROS_PER_DAY)) as i64;
        let stime = i64::from(sdate) * MICROS_PER_DAY as i64 + time;
        UrlScan {
            md5url: md5_hex(&url),
            sitecode,
            status: random.weighted(&[(-1, 970), (1, 15), (0, 10), (2, 5)]),
            code: random.weighted(CODES),
            sdate,
            kind: random.weighted(KINDS),
            free: random.per_mille(50),
            close: random.per_mille(20),
            queue: random.per_mille(100),
            scantype: if random.per_mille(700) {
                -1
            } else {
                random.below(10) as i8
            },
            stime,
            url,
            ip: format!("10.{}.{}.{}", site >> 16, (site >> 8) & 255, site & 255),
            port: random.weighted(&[(80, 85), (443, 12), (8080, 3)]),
            intime: stime - random.below(3_600_000_000) as i64,
            scanmemo: if random.per_mille(950) {
                None
            } else {
                Some(random.weighted(MEMOS))
            },
        }
    }

    /// Returns the site of a URL. The cube of an even number in `[0, 1)` prefers small ones: a site of
    /// rank r gets about `r^(-2/3)` times the urls of the first.
    fn site(&self, number: u64) -> u64 {
        let unit = Random::new(self.seed, URLS + number).unit();
        (SITES as f64 * unit * unit * unit) as u64
    }
}

const CODES: &[(i16, u64)] = &[
    (200, 62),
    (404, 18),
    (301, 7),
    (302, 4),
    (500, 3),
    (503, 3),
    (403, 2),
    (410, 1),
];
const KINDS: &[(&str, u64)] = &[
    ("", 80),
    ("image", 10),
    ("script", 5),
    ("document", 4),
    ("media", 1),
];
const MEMOS: &[(&str, u64)] = &[
    ("slow", 6),
    ("moved twice", 2),
    ("certificate expired", 1),
    ("empty body", 1),
];

impl Iterator for UrlScans {
    type Item = UrlScan;

    fn next(&mut self) -> Option<UrlScan> {
        (self.next < self.rows).then(|| {
            self.next += 1;
            self.row(self.next - 1)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.rows - self.next).ok();
        (left.unwrap_or(usize::MAX), left)
    }
}

fn sitecode(site: u64) -> String {
    match site % 50 {
        49 => format!("BT{:08}", 10_000_000 + site),
        _ => format!("{:010}", 1_000_000_000 + site * 163_841),
    }
}

fn md5_hex(text: &str) -> String {
    let mut hex = String::with_capacity(32);
    for byte in Md5::digest(text) {
        write!(hex, "{byte:02x}").expect("writing to a string does not fail");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashSet};

    const ROWS: u64 = 20_000;

    fn share<T: Ord>(of: impl Fn(&UrlScan) -> T) -> BTreeMap<T, u64> {
        let mut counts = BTreeMap::new();
        for row in UrlScans::new(ROWS, 1) {
            *counts.entry(of(&row)).or_default() += 1;
        }
        counts
    }

    #[test]
    fn the_same_seed_gives_the_same_rows_and_another_others() {
        let rows = |seed| UrlScans::new(100, seed).collect::<Vec<_>>();
        assert_eq!(rows(1), rows(1));
        assert_ne!(rows(1), rows(2));
        assert_eq!(rows(1).len(), 100);
        assert_eq!(UrlScans::new(100, 1).row(57), rows(1)[57]);
    }

    #[test]
    fn no_two_rows_share_their_time_of_day() {
        let times: HashSet<i64> = UrlScans::new(ROWS, 1)
            .map(|row| row.stime.rem_euclid(MICROS_PER_DAY as i64))
            .collect();
        assert_eq!(times.len() as u64, ROWS);
        assert!([2, 3, 5].iter().all(|factor| !TIME_STEP.is_multiple_of(*factor)));
    }

    #[test]
    fn days_ascend_and_are_all_there() {
        let days = share(|row| row.sdate);
        assert_eq!(days.len() as u64, DAYS);
        assert!(days.values().all(|count| *count == ROWS / DAYS));
        let (first, last) = (days.keys().next().unwrap(), days.keys().last().unwrap());
        assert_eq!((*first, *last), (FIRST_DAY, FIRST_DAY + 399));
        for row in UrlScans::new(1000, 1) {
            assert_eq!(i64::from(row.sdate), row.stime.div_euclid(MICROS_PER_DAY as i64));
        }
    }

    #[test]
    fn fields_are_spread_as_the_module_says() {
        let within = |found: u64, per_mille: u64| {
            let expected = ROWS * per_mille / 1000;
            found.abs_diff(expected) < expected / 5 + 30
        };
        for (code, weight) in CODES {
            assert!(within(share(|row| row.code)[code], weight * 10), "code {code}");
        }
        assert!(within(share(|row| row.status)[&-1], 970));
        assert!(within(share(|row| row.free)[&true], 50));
        assert!(within(share(|row| row.close)[&true], 20));
        assert!(within(share(|row| row.queue)[&true], 100));
        assert!(within(share(|row| row.scantype)[&-1], 700));
        assert!(within(share(|row| row.kind)[""], 800));
        assert!(within(share(|row| row.scanmemo.is_none())[&true], 950));
        assert!(within(share(|row| row.md5url.clone()).len() as u64, 900));
    }

    #[test]
    fn a_url_belongs_to_one_site_and_one_hash() {
        let mut seen: BTreeMap<String, UrlScan> = BTreeMap::new();
        for row in UrlScans::new(ROWS, 1) {
            assert_eq!(row.md5url, md5_hex(&row.url));
            let first = seen.entry(row.md5url.clone()).or_insert_with(|| row.clone());
            assert_eq!(
                (&first.sitecode, &first.ip, &first.url),
                (&row.sitecode, &row.ip, &row.url)
            );
        }
    }

    #[test]
    fn sites_have_names_of_their_own() {
        let names: HashSet<String> = (0..SITES).map(sitecode).collect();
        assert_eq!(names.len() as u64, SITES);
        assert!(names.iter().all(|name| name.len() == 10));
    }
}
