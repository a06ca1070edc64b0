//! What is written without being read, and what has lifetimes, families and versions: two tables.
//!
//! | table   | has                                              | so that                                       |
//! |---------|--------------------------------------------------|-----------------------------------------------|
//! | `plain` | a counter, a family, columns that no index holds | adds and partial UPSERTs are merges           |
//! | `timed` | TTL, a family with its own, VERSIONS, a counter, an index | images, entries and rows end together |
//!
//! Beside the statements the tables are compacted and what is in memory is flushed, with the filters and merges that
//! this runs, and an index is built, rebuilt and dropped.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{Difference, State};
use crate::client::Client;
use crate::table::Table;

/// Buckets of the tables.
const BUCKETS: i64 = 4;
/// Ids in a bucket; half of the rows are there at first.
const IDS: i64 = 400;

/// What another connection does.
pub const BESIDE: &[&str] = &[
    "CHECKPOINT",
    "COMPACT TABLE plain",
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS timed_beside ON timed (a DESC, id)",
    "CHECKPOINT",
    "COMPACT TABLE timed",
    "REINDEX INDEX CONCURRENTLY timed_beside",
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS plain_beside ON plain (id)",
    "COMPACT TABLE plain",
    "DROP INDEX timed_beside",
    "DROP INDEX plain_beside",
];

/// Rows of one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    bucket: i64,
    first: i64,
    last: i64,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Adds to the counter of a row that may be there.
    Add(Ids, i64),
    /// Adds to counters, and makes the rows that are not there.
    AddOrInsert(Ids, i64),
    /// Sets one column, and makes the rows that are not there.
    PatchNote(Ids, i64),
    /// The same of another column.
    PatchAmount(Ids, i64),
    /// Removes rows of `plain`.
    Remove(Ids),
    /// Writes rows of `timed`.
    Write(Ids, i64),
    /// Changes a column that an index holds.
    Raise(Ids, i64),
    /// Changes a column of the family with a lifetime of its own.
    Tag(Ids, i64),
    /// Adds to the counter of a row of `timed`.
    Count(Ids, i64),
    /// Removes rows of `timed`.
    End(Ids),
    /// Makes an index of `plain`, after which its amounts are no merges.
    CreateIndex,
    /// Drops it.
    DropIndex,
    /// Some of these, and between them one that is undone.
    Transaction(Vec<Step>),
}

impl Step {
    /// Returns statement `number` of the list that follows from `seed`.
    pub fn of(seed: u64, number: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        match random.random_range(0..28) {
            0 => Step::CreateIndex,
            1 => Step::DropIndex,
            2..=6 => Step::Transaction((0..4).map(|_| Step::of_rows(&mut random)).collect()),
            _ => Step::of_rows(&mut random),
        }
    }

    fn of_rows(random: &mut StdRng) -> Self {
        let bucket = random.random_range(0..BUCKETS);
        let first = random.random_range(0..IDS);
        let last = first + random.random_range(0..20);
        let ids = Ids { bucket, first, last };
        let number = random.random_range(1..9);
        match random.random_range(0..20) {
            0..=2 => Step::Add(ids.one(), number),
            3..=5 => Step::AddOrInsert(ids, number),
            6..=8 => Step::PatchNote(ids, number),
            9 | 10 => Step::PatchAmount(ids, number),
            11 => Step::Remove(ids),
            12..=14 => Step::Write(ids, number),
            15 => Step::Raise(ids, number),
            16 => Step::Tag(ids, number),
            17 | 18 => Step::Count(ids.one(), number),
            _ => Step::End(ids),
        }
    }

    /// Returns the statements, which are acknowledged together.
    pub fn statements(&self) -> Vec<String> {
        let Step::Transaction(steps) = self else {
            return vec![self.sql()];
        };
        let undone = [
            "SAVEPOINT s",
            "UPDATE plain SET hits = hits + 100 WHERE bucket = 1 AND id = 7",
            "UPSERT INTO plain (bucket, id, note) VALUES (2, 9, 'undone')",
            "UPDATE timed SET n = n + 100, tag = 'undone' WHERE bucket = 3",
            "ROLLBACK TO s",
        ];
        let mut statements = vec!["BEGIN".to_owned()];
        for step in steps {
            statements.push(step.sql());
            statements.extend(undone.map(str::to_owned));
        }
        statements.push("COMMIT".to_owned());
        statements
    }

    fn sql(&self) -> String {
        match self {
            Step::Add(ids, add) => format!(
                "UPDATE plain SET hits = hits + {add} WHERE bucket = {} AND id = {}",
                ids.bucket, ids.first
            ),
            Step::AddOrInsert(ids, add) => format!(
                "UPSERT INTO plain (bucket, id, hits) VALUES {} ON DUPLICATE KEY UPDATE hits = hits + {add}",
                ids.rows(&add.to_string())
            ),
            Step::PatchNote(ids, note) => format!(
                "UPSERT INTO plain (bucket, id, note) VALUES {}",
                ids.rows(&format!("'note {note}'"))
            ),
            Step::PatchAmount(ids, a) => {
                format!(
                    "UPSERT INTO plain (bucket, id, a) VALUES {}",
                    ids.rows(&a.to_string())
                )
            }
            Step::Remove(ids) => format!("DELETE FROM plain WHERE {}", ids.condition()),
            Step::Write(ids, a) => format!(
                "UPSERT INTO timed (bucket, id, a, tag) VALUES {}",
                ids.rows(&format!("{a}, 'tag {a}'"))
            ),
            Step::Raise(ids, add) => format!("UPDATE timed SET a = a + {add} WHERE {}", ids.condition()),
            Step::Tag(ids, tag) => format!("UPDATE timed SET tag = 't{tag}' WHERE {}", ids.condition()),
            Step::Count(ids, add) => format!(
                "UPDATE timed SET n = n + {add} WHERE bucket = {} AND id = {}",
                ids.bucket, ids.first
            ),
            Step::End(ids) => format!("DELETE FROM timed WHERE {}", ids.condition()),
            Step::CreateIndex => {
                "CREATE INDEX IF NOT EXISTS plain_a ON plain (a DESC) INCLUDE (bucket)".to_owned()
            }
            Step::DropIndex => "DROP INDEX IF EXISTS plain_a".to_owned(),
            Step::Transaction(steps) => {
                let steps: Vec<String> = steps.iter().map(Step::sql).collect();
                steps.join("; ")
            }
        }
    }
}

impl Ids {
    fn one(self) -> Ids {
        Ids {
            last: self.first,
            ..self
        }
    }

    fn condition(&self) -> String {
        let Ids { bucket, first, last } = self;
        format!("bucket = {bucket} AND id BETWEEN {first} AND {last}")
    }

    /// Rows of key and values, all with the same values.
    fn rows(&self, values: &str) -> String {
        let row = |(bucket, id)| format!("({bucket}, {id}, {values})");
        self.keys().map(row).collect::<Vec<_>>().join(", ")
    }

    fn keys(&self) -> impl Iterator<Item = Key> + use<> {
        let bucket = self.bucket;
        (self.first..=self.last).map(move |id| (bucket, id))
    }
}

/// Returns the statements that make the tables and their first rows.
pub fn setup() -> Vec<String> {
    let rows = |values: &str| {
        format!(
            "SELECT n % {BUCKETS}, n / {BUCKETS}, {values} FROM generate_series(0, {}) AS s(n)",
            BUCKETS * IDS / 2 - 1
        )
    };
    vec![
        "CREATE TABLE plain (bucket INTEGER, id BIGINT, hits COUNTER, a BIGINT, note VARCHAR, \
         PRIMARY KEY (bucket, id), FAMILY notes (note))"
            .to_owned(),
        format!("INSERT INTO plain (bucket, id, hits, a) {}", rows("5, n % 100")),
        "CREATE TABLE timed (bucket INTEGER, id BIGINT, a BIGINT, n COUNTER, tag VARCHAR, \
         PRIMARY KEY (bucket, id DESC), FAMILY tags (tag) TTL = INTERVAL '10 days') \
         WITH (ttl = '300 days', versions = 1000000)"
            .to_owned(),
        "CREATE INDEX timed_a ON timed (a) INCLUDE (n)".to_owned(),
        format!("INSERT INTO timed (bucket, id, a) {}", rows("n % 100")),
    ]
}

type Key = (i64, i64);

/// A row of `plain`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plain {
    hits: i64,
    a: Option<i64>,
    note: Option<String>,
}

/// A row of `timed`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Timed {
    a: Option<i64>,
    n: i64,
    tag: Option<String>,
}

/// What the tables must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    plain: BTreeMap<Key, Plain>,
    timed: BTreeMap<Key, Timed>,
    /// How many images of each row of `timed` there were, the present one counted.
    images: BTreeMap<Key, i64>,
}

impl Model {
    /// Returns the state after [`setup`].
    pub fn after_setup() -> Self {
        let numbers = || 0..BUCKETS * IDS / 2;
        let key = |n: i64| (n % BUCKETS, n / BUCKETS);
        let plain = |n: i64| Plain {
            hits: 5,
            a: Some(n % 100),
            note: None,
        };
        let timed = |n: i64| Timed {
            a: Some(n % 100),
            ..Timed::default()
        };
        Model {
            plain: numbers().map(|n| (key(n), plain(n))).collect(),
            timed: numbers().map(|n| (key(n), timed(n))).collect(),
            images: numbers().map(|n| (key(n), 1)).collect(),
        }
    }

    /// Does what a statement does; `written` are the rows of `timed` that get another image.
    fn change(&mut self, step: &Step, written: &mut BTreeSet<Key>) {
        match step {
            Step::Add(ids, add) => {
                for key in ids.keys() {
                    self.plain.entry(key).and_modify(|row| row.hits += add);
                }
            }
            Step::AddOrInsert(ids, add) => {
                for key in ids.keys() {
                    self.plain.entry(key).or_default().hits += add;
                }
            }
            Step::PatchNote(ids, note) => {
                for key in ids.keys() {
                    self.plain.entry(key).or_default().note = Some(format!("note {note}"));
                }
            }
            Step::PatchAmount(ids, a) => {
                for key in ids.keys() {
                    self.plain.entry(key).or_default().a = Some(*a);
                }
            }
            Step::Remove(ids) => ids.keys().for_each(|key| drop(self.plain.remove(&key))),
            Step::Write(ids, a) => {
                for key in ids.keys() {
                    let row = self.timed.entry(key).or_default();
                    row.a = Some(*a);
                    row.tag = Some(format!("tag {a}"));
                    written.insert(key);
                }
            }
            Step::Raise(ids, add) => self.update(ids, written, |row| row.a = row.a.map(|a| a + add)),
            Step::Tag(ids, tag) => self.update(ids, written, |row| row.tag = Some(format!("t{tag}"))),
            Step::Count(ids, add) => self.update(ids, written, |row| row.n += add),
            Step::End(ids) => ids.keys().for_each(|key| drop(self.timed.remove(&key))),
            Step::CreateIndex | Step::DropIndex => {}
            Step::Transaction(steps) => steps.iter().for_each(|step| self.change(step, written)),
        }
    }

    fn update(&mut self, ids: &Ids, written: &mut BTreeSet<Key>, change: impl Fn(&mut Timed)) {
        for key in ids.keys() {
            if let Some(row) = self.timed.get_mut(&key) {
                change(row);
                written.insert(key);
            }
        }
    }

    /// Returns the answers to [`QUESTIONS`].
    fn answers(&self) -> [Vec<Vec<Option<String>>>; QUESTIONS.len()] {
        let text = |number: i64| Some(number.to_string());
        let plain = self.plain.iter().map(|((bucket, id), row)| {
            let a = row.a.and_then(text);
            vec![text(*bucket), text(*id), text(row.hits), a, row.note.clone()]
        });
        let timed = self.timed.iter().map(|((bucket, id), row)| {
            let a = row.a.and_then(text);
            vec![text(*bucket), text(*id), a, text(row.n), row.tag.clone()]
        });
        let images = self.images.iter();
        let images = images.map(|((bucket, id), images)| vec![text(*bucket), text(*id), text(*images)]);
        let (plain, timed): (Vec<_>, Vec<_>) = (plain.collect(), timed.collect());
        let images: Vec<_> = images.collect();
        [plain, timed.clone(), timed, images.clone(), images]
    }
}

/// The tables, the second by its index, too, and how many images there are of each row, by both again.
const QUESTIONS: [&str; 5] = [
    "SELECT bucket, id, hits, a, note FROM plain ORDER BY bucket, id",
    "SELECT /*+ FULL_SCAN */ bucket, id, a, n, tag FROM timed ORDER BY bucket, id",
    "SELECT /*+ INDEX(timed timed_a) */ bucket, id, a, n, tag FROM timed ORDER BY bucket, id",
    "SELECT /*+ FULL_SCAN */ bucket, id, count(*) FROM timed FOR SYSTEM_TIME ALL GROUP BY bucket, id \
     ORDER BY bucket, id",
    "SELECT /*+ INDEX(timed timed_a) */ bucket, id, count(*) FROM timed FOR SYSTEM_TIME ALL GROUP BY bucket, id \
     ORDER BY bucket, id",
];

impl State for Model {
    fn apply(&mut self, seed: u64, number: u64) {
        let mut written = BTreeSet::new();
        self.change(&Step::of(seed, number), &mut written);
        for key in written.into_iter().filter(|key| self.timed.contains_key(key)) {
            *self.images.entry(key).or_default() += 1;
        }
    }

    fn compare(&self, client: &mut Client) -> Result<(), Difference> {
        for table in ["plain", "timed"] {
            client.check(table).map_err(Difference::Damage)?;
        }
        for (sql, rows) in QUESTIONS.iter().zip(self.answers()) {
            let found = client
                .query(sql)
                .map_err(|error| Difference::Damage(format!("{sql}: {error}")))?;
            let expected = Table {
                columns: found.columns.clone(),
                kinds: Vec::new(),
                rows,
            };
            found
                .same_rows(expected, true)
                .map_err(|difference| Difference::Rows(format!("{sql}: {difference}")))?;
        }
        Ok(())
    }
}
