//! Tables with VERSIONS against a model of their history: random statements at a clock that is moved by hand,
//! and then any moment of the past, by every way of asking.
//!
//! The model keeps all images of a row with their periods, and forgets those that are too many. What the table
//! says of a moment, or of a time between two, is what the model says: by key, by indexes of all kinds, by reading all
//! keys, without the direct path, inside of transactions, and after the database was opened again.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use rand::Rng;
use rand::rngs::StdRng;
use rukh::Database;
use rukh_testkit::client::Client;
use rukh_testkit::seed::{Case, Cases};
use tempfile::TempDir;

/// Cases of a usual run.
const CASES: u64 = 6;
/// Steps of a case.
const STEPS: usize = 25;
/// Groups and names of keys, few, so that they meet.
const GROUPS: i64 = 3;
const NAMES: [&str; 4] = ["a", "ab", "b", "z z"];
/// Indexes that a case may have.
const INDEXES: [&str; 5] = [
    "INDEX by_a ON t (a, k)",
    "UNIQUE INDEX by_a ON t (a DESC, k, g)",
    "INDEX by_a ON t (a) INCLUDE (c)",
    "INDEX by_a ON t (a DESC, g DESC) WHERE a > 1",
    "INDEX by_a ON t ((a % 3), k)",
];

#[test]
fn every_moment_of_the_past_is_what_it_was() {
    for case in Cases::from_environment("history", CASES).iter() {
        let mut world = World::new(case);
        if let Err(failure) = world.run() {
            panic!("{}\n{}\n{failure}", case.replay(), world.log);
        }
    }
}

/// The key of a row: group and name.
type Key = (i64, &'static str);

/// Number, note, counter.
type Values = (i64, Option<String>, i64);

/// What a row was, from a second on and, unless it stands, before another.
#[derive(Clone, Debug)]
struct Image {
    values: Values,
    start: i64,
    end: Option<i64>,
}

struct World {
    random: StdRng,
    client: Client,
    directory: Option<TempDir>,
    now: i64,
    /// By key, oldest first; at most the last stands.
    images: BTreeMap<Key, Vec<Image>>,
    kept: usize,
    has_index: bool,
    log: String,
}

impl World {
    fn new(case: Case) -> World {
        let mut random = case.random();
        let directory = (case.seed % 2 == 1).then(|| tempfile::tempdir().unwrap());
        let key = ["g, k", "g DESC, k", "k, g", "k DESC, g DESC"][random.random_range(0..4)];
        let salt = ["", "SALT_BUCKETS = 4,", "SALT_BUCKETS = 3 ON (g),"][random.random_range(0..3)];
        let family = ["", ", FAMILY notes (note)"][random.random_range(0..2)];
        let kept = [2, 3, 1000][random.random_range(0..3)];
        let mut world = World {
            client: open(directory.as_ref()),
            random,
            directory,
            now: 0,
            images: BTreeMap::new(),
            kept,
            has_index: false,
            log: String::new(),
        };
        world.pass();
        world.must(&format!(
            "CREATE TABLE t (g INTEGER, k VARCHAR, a BIGINT, note VARCHAR, c COUNTER, \
             PRIMARY KEY ({key}){family}) {salt} VERSIONS {kept}"
        ));
        world
    }

    fn run(&mut self) -> Result<(), String> {
        for step in 0..STEPS {
            self.step();
            if step % 4 == 3 {
                self.compare()?;
            }
        }
        self.client.check("t")
    }

    /// Moves the clock by none to two seconds.
    fn pass(&mut self) {
        self.now += self.random.random_range(0..3);
        self.client.set_clock(&time(self.now));
        self.log += &format!("-- {}\n", time(self.now));
    }

    fn must(&mut self, sql: &str) {
        self.log += &format!("{sql};\n");
        if let Err(error) = self.client.run(sql) {
            panic!("{}\n{error}", self.log);
        }
    }

    fn step(&mut self) {
        self.pass();
        match self.random.random_range(0..28) {
            0 | 1 => self.toggle_index(),
            2 | 3 if self.has_index => self.must("ALTER INDEX by_a REBUILD"),
            4 => self.keep(),
            5 if self.random.random_bool(0.3) => {
                self.images.clear();
                self.must("TRUNCATE t");
            }
            6 | 7 if self.directory.is_some() => {
                self.client = Client::in_memory();
                self.client = open(self.directory.as_ref());
                self.client.set_clock(&time(self.now));
                self.log += "-- opened again\n";
            }
            8..=11 => self.transaction(),
            _ => {
                let at = self.now;
                self.change(at);
            }
        }
    }

    fn toggle_index(&mut self) {
        self.has_index = !self.has_index;
        let index = INDEXES[self.random.random_range(0..INDEXES.len())];
        self.must(&match self.has_index {
            true => format!("CREATE {index}"),
            false => "DROP INDEX by_a".to_owned(),
        });
    }

    /// Changes how many images of a row are kept.
    fn keep(&mut self) {
        self.kept = [2, 3, 4, 1000][self.random.random_range(0..4)];
        self.must(&format!("ALTER TABLE t SET (versions = {})", self.kept));
        for images in self.images.values_mut() {
            let former = images.iter().filter(|image| image.end.is_some()).count();
            images.drain(..former.saturating_sub(self.kept - 1));
        }
    }

    /// Several statements while time passes: all of it happens when the first runs, or never.
    fn transaction(&mut self) {
        let before = self.images.clone();
        let at = self.now;
        self.must("BEGIN");
        for nth in 0..self.random.random_range(1..4) {
            if nth > 0 {
                self.pass();
            }
            self.change(at);
        }
        match self.random.random_range(0..4) {
            0 => {
                self.images = before;
                self.must("ROLLBACK");
            }
            _ => self.must("COMMIT"),
        }
    }

    /// Runs a statement that changes rows at a time.
    fn change(&mut self, at: i64) {
        let (key, a) = (self.key(), self.random.random_range(0..6));
        let note = self.random.random_bool(0.7).then(|| format!("n{a}"));
        let note_sql = note
            .as_ref()
            .map_or("NULL".to_owned(), |note| format!("'{note}'"));
        let (g, k) = key;
        let named = format!("g = {g} AND k = '{k}'");
        match self.random.random_range(0..8) {
            0..=2 => {
                self.must(&format!(
                    "UPSERT INTO t (g, k, a, note) VALUES ({g}, '{k}', {a}, {note_sql})"
                ));
                let c = self.present(key).map_or(0, |values| values.2);
                self.put(key, (a, note, c), at);
            }
            3 => {
                self.must(&format!("UPSERT INTO t (g, k, a) VALUES ({g}, '{k}', {a})"));
                let (_, note, c) = self.present(key).unwrap_or_default();
                self.put(key, (a, note, c), at);
            }
            4 => {
                self.must(&format!("UPDATE t SET c = c + {} WHERE {named}", a + 1));
                if let Some((number, note, c)) = self.present(key) {
                    self.put(key, (number, note, c + a + 1), at);
                }
            }
            5 => {
                self.must(&format!(
                    "UPDATE t SET a = a + 1, note = {note_sql} WHERE a >= {a}"
                ));
                for (key, values) in self.standing() {
                    if values.0 >= a {
                        self.put(key, (values.0 + 1, note.clone(), values.2), at);
                    }
                }
            }
            6 => {
                self.must(&format!("DELETE FROM t WHERE {named}"));
                self.end(key, at);
            }
            _ => {
                self.must(&format!("DELETE FROM t WHERE g = {g} AND a < 3"));
                for (key, values) in self.standing() {
                    if key.0 == g && values.0 < 3 {
                        self.end(key, at);
                    }
                }
            }
        }
    }

    fn key(&mut self) -> Key {
        let name = NAMES[self.random.random_range(0..NAMES.len())];
        (self.random.random_range(0..GROUPS), name)
    }

    fn present(&self, key: Key) -> Option<Values> {
        let last = self.images.get(&key)?.last()?;
        last.end.is_none().then(|| last.values.clone())
    }

    fn standing(&self) -> Vec<(Key, Values)> {
        let keys = self.images.keys();
        keys.filter_map(|key| Some((*key, self.present(*key)?))).collect()
    }

    /// Ends the present image; one that no snapshot saw is forgotten, as are those that are too many.
    fn end(&mut self, key: Key, at: i64) {
        let kept = self.kept - 1;
        let Some(images) = self.images.get_mut(&key) else {
            return;
        };
        match images.last_mut() {
            Some(last) if last.end.is_none() && last.start < at => last.end = Some(at),
            Some(last) if last.end.is_none() => drop(images.pop()),
            _ => return,
        }
        images.drain(..images.len().saturating_sub(kept));
    }

    fn put(&mut self, key: Key, values: Values, at: i64) {
        self.end(key, at);
        let image = Image {
            values,
            start: at,
            end: None,
        };
        self.images.entry(key).or_default().push(image);
    }

    /// Returns the images that pass a test, as rows with their periods, in order of key and start.
    fn rows(&self, passes: impl Fn(&Image) -> bool) -> Vec<Vec<Option<String>>> {
        let mut rows = Vec::new();
        for ((g, k), images) in &self.images {
            for image in images.iter().filter(|image| passes(image)) {
                let (a, note, c) = &image.values;
                rows.push(vec![
                    Some(g.to_string()),
                    Some((*k).to_owned()),
                    Some(a.to_string()),
                    note.clone(),
                    Some(c.to_string()),
                    Some(format!("{}+00", time(image.start))),
                    image.end.map(|end| format!("{}+00", time(end))),
                ]);
            }
        }
        rows
    }

    fn compare(&mut self) -> Result<(), String> {
        for _ in 0..3 {
            let moment = self.random.random_range(0..=self.now + 1);
            let stands = |image: &Image| image.start <= moment && image.end.is_none_or(|end| moment < end);
            let a = self.random.random_range(0..7);
            let (g, k) = self.key();
            let as_of = format!("t FOR SYSTEM_TIME AS OF '{}'", time(moment));
            let of_rows = |test: &dyn Fn(&Image) -> bool| {
                let mut rows = self.rows(|image| stands(image) && test(image));
                rows.iter_mut().for_each(|row| row.truncate(5));
                rows
            };
            let all = of_rows(&|_| true);
            let by_a = of_rows(&|image| (a..=a + 1).contains(&image.values.0));
            let more = of_rows(&|image| image.values.0 > 1 && image.values.0 != a);
            let rest = of_rows(&|image| image.values.0 % 3 == a % 3);
            let mut by_key = all.clone();
            by_key.retain(|row| row[0] == Some(g.to_string()) && row[1].as_deref() == Some(k));
            self.ask(&as_of, "", all)?;
            self.ask(&as_of, &format!("WHERE a BETWEEN {a} AND {}", a + 1), by_a)?;
            self.ask(&as_of, &format!("WHERE g = {g} AND k = '{k}'"), by_key)?;
            self.ask(&as_of, &format!("WHERE a > 1 AND a <> {a}"), more)?;
            self.ask(&as_of, &format!("WHERE a % 3 = {}", a % 3), rest)?;
        }
        let from = self.random.random_range(0..=self.now);
        let to = self.random.random_range(from..=self.now + 1);
        let ended_after = |image: &Image| image.end.is_none_or(|end| end > from);
        let from_to = self.rows(|image| image.start < to && ended_after(image) && from < to);
        let between = self.rows(|image| image.start <= to && ended_after(image));
        let all = self.rows(|_| true);
        let a = self.random.random_range(2..7);
        let of_a =
            self.rows(|image| image.values.0 == a && image.start < to && ended_after(image) && from < to);
        let all_of_a = self.rows(|image| image.values.0 >= a);
        let (from, to) = (time(from), time(to));
        let from_to_sql = format!("t FOR SYSTEM_TIME FROM '{from}' TO '{to}'");
        self.ask(&from_to_sql, &format!("WHERE a = {a}"), of_a)?;
        self.ask("t FOR SYSTEM_TIME ALL", &format!("WHERE a >= {a}"), all_of_a)?;
        self.ask(&from_to_sql, "", from_to)?;
        self.ask(
            &format!("t FOR SYSTEM_TIME BETWEEN '{from}' AND '{to}'"),
            "",
            between,
        )?;
        self.ask("t FOR SYSTEM_TIME ALL", "", all)
    }

    /// Asks in all ways.
    fn ask(&mut self, from: &str, condition: &str, expected: Vec<Vec<Option<String>>>) -> Result<(), String> {
        let order = match from.contains("AS OF") {
            true => "g, k",
            false => "g, k, row_start",
        };
        let mut hints = vec!["", "/*+ FULL_SCAN */", "/*+ SKIP_SCAN */"];
        if self.has_index {
            hints.push("/*+ INDEX(t by_a) */");
        }
        for path in ["auto", "general"] {
            self.client
                .run(&format!("SET execution_path = {path}"))
                .map_err(|error| error.to_string())?;
            for hint in &hints {
                let sql = format!("SELECT {hint} * FROM {from} {condition} ORDER BY {order}");
                let rows = self
                    .client
                    .query(&sql)
                    .map_err(|error| format!("{sql}\n{error}"))?
                    .rows;
                if rows != expected {
                    return Err(format!("{sql}\ngives    {rows:?}\nexpected {expected:?}"));
                }
            }
        }
        let sql = format!("SELECT count(*) FROM {from} {condition}");
        let count = self
            .client
            .query(&sql)
            .map_err(|error| format!("{sql}\n{error}"))?;
        match count.rows[0][0] == Some(expected.len().to_string()) {
            true => Ok(()),
            false => Err(format!("{sql}\ngives {:?}, not {}", count.rows, expected.len())),
        }
    }
}

fn open(directory: Option<&TempDir>) -> Client {
    match directory {
        Some(directory) => Client::new(&Database::open(directory.path().join("db")).unwrap()),
        None => Client::in_memory(),
    }
}

/// Writes a second of the test as timestamp.
fn time(second: i64) -> String {
    format!(
        "2024-05-01 {:02}:{:02}:{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}
