//! Texts of dates and times drawn at random: PostgreSQL and Rukh read the same, or both nothing.
//!
//! A text is one to five of the parts that dates are written with, in any order, with blanks or commas between them. Which of several things
//! that are wrong with a text an error names is left aside: both fail.
//!
//! Deliberately not here: what depends on the clock, which a text that is no literal does not have here.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_testkit::client::Client;
use rukh_testkit::need;
use rukh_testkit::postgres;
use rukh_testkit::seed::Cases;

/// Cases of a usual run.
const CASES: u64 = 8;

/// The seed of a usual run.
const SEED: u64 = 1;

/// Texts of a case.
const TEXTS: usize = 500;

/// SQLSTATEs of texts that are no moments.
const NO_MOMENT: [&str; 4] = ["22007", "22008", "22009", "22023"];

const PARTS: [&str; 95] = [
    "2020",
    "1999",
    "99",
    "20",
    "1",
    "2",
    "12",
    "13",
    "31",
    "32",
    "366",
    "060",
    "0",
    "00",
    "100",
    "1234",
    "20200229",
    "200229",
    "120000",
    "1200",
    "123015.5",
    "12:30",
    "12:30:15",
    "12:30:15.123",
    "1:2:3",
    "24:00",
    "24:00:01",
    "23:59:60",
    "12:60",
    "12:30:",
    "-08",
    "+02",
    "+02:30",
    "-0330",
    "+5",
    "-16",
    "+1600",
    "Z",
    "UTC",
    "GMT",
    "PST",
    "EST",
    "America/New_York",
    "europe/berlin",
    "Asia/Kolkata",
    "GMT+8",
    "x-3",
    "Jan",
    "january",
    "Feb",
    "march",
    "dec",
    "Mon",
    "tuesday",
    "AM",
    "PM",
    "AD",
    "BC",
    "T",
    "J",
    "j2451187",
    "J2451187.5",
    "julian",
    "y2020",
    "m1",
    "d5",
    "h7",
    "mm3",
    "s4",
    "allballs",
    "at",
    "on",
    "dow",
    "abc",
    "1/2/2020",
    "2020-01-31",
    "2020/1/31",
    "31.12.2020",
    "2020.060",
    "Jan-05-2020",
    "05-Jan-20",
    "2020-Jan-05",
    "5-1-2020",
    "20-1-5",
    "2020-13-01",
    "2020-02-30",
    "0000-01-01",
    "0044-03-15",
    "5874898-01-01",
    "99999-12-31",
    "2020-01-31T12:30:15Z",
    "2020-01-31 12:30:15+02",
    "20200131T123015",
    "1.5",
    "é",
];

const BETWEEN: [&str; 4] = [" ", "  ", ", ", ","];

const TYPES: [&str; 4] = ["date", "timestamp", "timestamptz", "time"];

fn text(random: &mut StdRng) -> String {
    let part = |random: &mut StdRng| *PARTS.choose(random).expect("there are parts");
    let mut text = part(random).to_string();
    for _ in 0..random.random_range(0..5) {
        text.push_str(BETWEEN.choose(random).expect("there are separators"));
        text.push_str(part(random));
    }
    text
}

#[test]
fn texts_of_moments_are_read_as_postgresql_reads_them() {
    let name = "texts_of_moments_are_read_as_postgresql_reads_them";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    postgres
        .execute("SET TimeZone = 'UTC'")
        .expect("PostgreSQL has the setting");
    let mut rukh = Client::in_memory();
    let mut failures = Vec::new();
    let mut read = 0;
    for case in Cases::from_seed(name, SEED, CASES).iter() {
        let mut random = case.random();
        for _ in 0..TEXTS {
            let (text, ty) = (
                text(&mut random),
                TYPES.choose(&mut random).expect("there are types"),
            );
            let sql = format!("SELECT CAST('{text}' AS text)::{ty} AS r");
            let failure = match (rukh.query(&sql), postgres.query(&sql)) {
                (Ok(ours), Ok(theirs)) => {
                    read += 1;
                    ours.same_rows(theirs, true).err()
                }
                (Err(ours), Err(_)) if NO_MOMENT.contains(&ours.sqlstate) => None,
                (Err(ours), _) => Some(format!("{}: {ours}", ours.sqlstate)),
                (Ok(ours), Err(theirs)) => Some(format!("{ours}, not {theirs:?}")),
            };
            failures.extend(failure.map(|failure| format!("{sql}\n  {failure}\n  {}", case.replay())));
        }
    }
    assert!(read > 100, "{read} texts were moments");
    assert!(
        failures.is_empty(),
        "{} differ\n{}",
        failures.len(),
        failures.join("\n")
    );
}
