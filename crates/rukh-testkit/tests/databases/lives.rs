//! One history under many configurations: lifetimes of table, family and column, versions, counters, transactions,
//! ALTER TABLE, and indexes of all kinds, at a clock that is moved by hand.
//!
//! A case draws what the table promises, and a list of statements. All configurations run the same statements, and
//! each does in between what must change nothing. Every statement counts the rows that the model counts; what the table
//! shows, of now and of the past, by any index and either path, is what the model shows; nothing is missing or dangling.

#![allow(clippy::unwrap_used)]

mod configuration;
mod model;

use configuration::Configuration;
use model::{Image, Key, Model, Values};
use rand::Rng;
use rand::rngs::StdRng;
use rukh_testkit::seed::{Case, Cases};

/// Cases of a usual run.
const CASES: u64 = 4;
/// Steps of a case.
const STEPS: usize = 25;
/// Configurations of a case.
const CONFIGURATIONS: usize = 3;
/// Groups and names of keys, few, so that they meet.
const GROUPS: i64 = 3;
const NAMES: [&str; 4] = ["a", "ab", "b", "z z"];

#[test]
fn all_configurations_have_one_history() {
    for case in Cases::from_environment("lives", CASES).iter() {
        println!("{}", case.replay());
        World::new(case).run();
    }
}

struct World {
    random: StdRng,
    model: Model,
    all: Vec<Configuration>,
    /// Whether rows may have lifetimes or versions.
    timed: bool,
}

impl World {
    fn new(case: Case) -> World {
        let mut random = case.random();
        let mut model = Model::default();
        let timed = random.random_bool(0.75);
        let (mut options, mut family) = (Vec::new(), String::new());
        if timed {
            if random.random_bool(0.5) {
                let (ttl, from_column) = (random.random_range(5..30), random.random_bool(0.4));
                model.set_lifetime(Some((ttl, from_column)));
                options.push(ttl_option(ttl, from_column));
            }
            if random.random_bool(0.5) {
                let kept = [2, 3, 1000][random.random_range(0..3)];
                model.set_versions(Some(kept));
                options.push(format!("VERSIONS = {kept}"));
            }
            let ttl = random.random_range(2..6);
            if !model.lifetime.is_some_and(|lifetime| lifetime.from_column) && random.random_bool(0.5) {
                model.family_ttl = Some(ttl);
                model.timed = true;
                family = format!(", FAMILY tags (tag) TTL = {ttl}");
            }
        }
        let options = options.join(", ");
        let clock = time(0);
        let all = (0..CONFIGURATIONS)
            .map(|_| Configuration::draw(&mut random, &options, &family, &clock))
            .collect();
        World {
            random,
            model,
            all,
            timed,
        }
    }

    fn run(&mut self) {
        for step in 0..STEPS {
            self.step();
            if step % 3 == 2 {
                self.compare();
            }
        }
        self.compare();
    }

    /// Moves the clock by none to three seconds.
    fn pass(&mut self) {
        self.model.now += self.random.random_range(0..4);
        let time = time(self.model.now);
        for configuration in &mut self.all {
            configuration.client.set_clock(&time);
            configuration.log += &format!("-- {time}\n");
        }
    }

    fn step(&mut self) {
        self.pass();
        let clock = time(self.model.now);
        for configuration in &mut self.all {
            configuration.stir(&mut self.random, &clock);
        }
        match self.random.random_range(0..16) {
            0 if self.timed => self.alter_lifetime(),
            1 if self.timed => self.alter_versions(),
            2 => self.alter_x(),
            3 if self.random.random_bool(0.3) => {
                self.all_must("TRUNCATE t", None);
                self.model.clear();
            }
            3..=6 => self.transaction(),
            _ => self.change(),
        }
    }

    /// Runs a statement everywhere; it must succeed, and count so many rows.
    fn all_must(&mut self, sql: &str, rows: Option<u64>) {
        for configuration in &mut self.all {
            match configuration.run(sql) {
                Ok(count) if rows.is_none_or(|rows| rows == count) => {}
                outcome => panic!("{}\n{outcome:?}, not {rows:?}", configuration.log),
            }
        }
    }

    /// Runs a statement everywhere that must fail.
    fn all_must_refuse(&mut self, sql: &str, sqlstate: &str) {
        for configuration in &mut self.all {
            match configuration.run(sql) {
                Err(error) if error.sqlstate == sqlstate => {}
                outcome => panic!("{}\n{outcome:?}, not {sqlstate}", configuration.log),
            }
        }
    }

    fn alter_lifetime(&mut self) {
        if self.random.random_bool(0.25) {
            self.model.set_lifetime(None);
            return self.all_must("ALTER TABLE t RESET (ttl)", None);
        }
        let from_column = self.model.family_ttl.is_none() && self.random.random_bool(0.4);
        let ttl = self.random.random_range(6..40);
        self.all_must(
            &format!("ALTER TABLE t SET ({})", ttl_option(ttl, from_column)),
            None,
        );
        self.model.set_lifetime(Some((ttl, from_column)));
    }

    fn alter_versions(&mut self) {
        if self.random.random_bool(0.25) {
            self.model.set_versions(None);
            return self.all_must("ALTER TABLE t RESET (versions)", None);
        }
        let kept = [2, 3, 4, 1000][self.random.random_range(0..4)];
        self.all_must(&format!("ALTER TABLE t SET (versions = {kept})"), None);
        self.model.set_versions(Some(kept));
    }

    fn alter_x(&mut self) {
        match self.model.has_x {
            true => self.all_must("ALTER TABLE t DROP COLUMN x CASCADE", None),
            false => self.all_must(
                &format!("ALTER TABLE t ADD COLUMN x BIGINT DEFAULT {}", model::DEFAULT_X),
                None,
            ),
        }
        self.model.set_x(!self.model.has_x);
    }

    /// Several statements while time passes, and some that are undone.
    fn transaction(&mut self) {
        let before = self.model.clone();
        self.all_must("BEGIN", None);
        self.model.began = Some(self.model.now);
        for nth in 0..self.random.random_range(1..5) {
            if nth > 0 {
                self.pass();
            }
            let undone = self.random.random_bool(0.25).then(|| self.model.clone());
            if undone.is_some() {
                self.all_must("SAVEPOINT s", None);
            }
            self.change();
            if let Some(model) = undone {
                self.all_must("ROLLBACK TO s", None);
                let now = self.model.now;
                self.model = model;
                self.model.now = now;
            }
            if self.random.random_bool(0.3) {
                self.compare_present();
            }
        }
        if self.random.random_bool(0.25) {
            self.all_must("ROLLBACK", None);
            let now = self.model.now;
            self.model = before;
            self.model.now = now;
        } else {
            self.all_must("COMMIT", None);
        }
        self.model.began = None;
    }

    fn change(&mut self) {
        let (key, a) = (self.key(), self.random.random_range(0..6));
        let note = self.random.random_bool(0.7).then(|| format!("N{a}"));
        let tag = self.random.random_bool(0.6).then(|| format!("t{}", a % 3));
        let ts = self
            .random
            .random_bool(0.8)
            .then(|| self.model.now + self.random.random_range(-12..4));
        let (note_sql, tag_sql) = (text_sql(note.as_deref()), text_sql(tag.as_deref()));
        let ts_sql = ts.map_or("NULL".to_owned(), |ts| format!("'{}'", time(ts)));
        let (g, k) = key;
        let named = format!("g = {g} AND k = '{k}'");
        let present = self.model.present(key);
        match self.random.random_range(0..16) {
            0..=2 => {
                self.all_must(
                    &format!(
                        "UPSERT INTO t (g, k, a, note, ts, tag) VALUES ({g}, '{k}', {a}, {note_sql}, {ts_sql}, {tag_sql})"
                    ),
                    None,
                );
                let before = present.unwrap_or(self.model.defaults());
                let a = Some(a);
                self.model.put(
                    key,
                    Values {
                        a,
                        note,
                        ts,
                        tag,
                        ..before
                    },
                );
            }
            3 => {
                self.all_must(&format!("UPSERT INTO t (g, k, a) VALUES ({g}, '{k}', {a})"), None);
                let before = present.unwrap_or(self.model.defaults());
                self.model.put(key, Values { a: Some(a), ..before });
            }
            4 => {
                self.all_must(
                    &format!(
                        "UPSERT INTO t (g, k, c, ts) VALUES ({g}, '{k}', {a}, {ts_sql}) ON DUPLICATE KEY UPDATE c = c + {a}"
                    ),
                    Some(1),
                );
                let next = match present {
                    Some(before) => Values {
                        c: before.c + a,
                        ..before
                    },
                    None => Values {
                        c: a,
                        ts,
                        ..self.model.defaults()
                    },
                };
                self.model.put(key, next);
            }
            5 => {
                let taken = present.is_some();
                self.all_must(
                    &format!(
                        "INSERT INTO t (g, k, note, ts) VALUES ({g}, '{k}', {note_sql}, {ts_sql}) ON CONFLICT DO NOTHING"
                    ),
                    Some(u64::from(!taken)),
                );
                if !taken {
                    let defaults = self.model.defaults();
                    self.model.put(key, Values { note, ts, ..defaults });
                }
            }
            6 | 7 => self.update(
                &format!("c = c + {}", a + 1),
                &named,
                |other, _| other == key,
                |values| {
                    values.c += a + 1;
                },
            ),
            8 => self.update(
                &format!("note = {note_sql}"),
                &named,
                |other, _| other == key,
                |values| {
                    values.note.clone_from(&note);
                },
            ),
            9 => self.update(
                &format!("a = a + 1, note = {note_sql}"),
                &format!("a >= {a}"),
                |_, values| values.a >= Some(a),
                |values| {
                    values.a = values.a.map(|a| a + 1);
                    values.note.clone_from(&note);
                },
            ),
            10 => self.update(
                &format!("tag = {tag_sql}, ts = {ts_sql}"),
                &format!("g = {g}"),
                |other, _| other.0 == g,
                |values| {
                    values.tag.clone_from(&tag);
                    values.ts = ts;
                },
            ),
            11 if self.model.has_x => self.update(
                &format!("x = {a}, c = c - 1"),
                &format!("x <> {a}"),
                |_, values| values.x != Some(a),
                |values| {
                    values.x = Some(a);
                    values.c -= 1;
                },
            ),
            12 => self.delete(&named, |other, _| other == key),
            13 => self.delete(&format!("g = {g} AND a < 3"), |other, values| {
                other.0 == g && values.a.is_some_and(|a| a < 3)
            }),
            14 if self.model.began.is_none() => self.move_row(key),
            _ => self.delete(&format!("note = 'N{a}'"), |_, values| {
                values.note == Some(format!("N{a}"))
            }),
        }
    }

    /// Changes the rows that pass a test.
    fn update(
        &mut self,
        set: &str,
        condition: &str,
        passes: impl Fn(Key, &Values) -> bool,
        change: impl Fn(&mut Values),
    ) {
        let mut rows = self.model.standing();
        rows.retain(|(key, values)| passes(*key, values));
        self.all_must(
            &format!("UPDATE t SET {set} WHERE {condition}"),
            Some(rows.len() as u64),
        );
        for (key, mut values) in rows {
            change(&mut values);
            self.model.put(key, values);
        }
    }

    fn delete(&mut self, condition: &str, passes: impl Fn(Key, &Values) -> bool) {
        let mut rows = self.model.standing();
        rows.retain(|(key, values)| passes(*key, values));
        self.all_must(
            &format!("DELETE FROM t WHERE {condition}"),
            Some(rows.len() as u64),
        );
        for (key, _) in rows {
            self.model.end(key);
        }
    }

    /// Gives a row another key, which may be taken.
    fn move_row(&mut self, (g, k): Key) {
        let to = (self.random.random_range(0..GROUPS), k);
        let sql = format!("UPDATE t SET g = {} WHERE g = {g} AND k = '{k}'", to.0);
        let Some(values) = self.model.present((g, k)) else {
            return self.all_must(&sql, Some(0));
        };
        if to.0 != g && self.model.present(to).is_some() {
            return self.all_must_refuse(&sql, "23505");
        }
        self.all_must(&sql, Some(1));
        if to.0 != g {
            self.model.end((g, k));
        }
        self.model.put(to, values);
    }

    fn key(&mut self) -> Key {
        let name = NAMES[self.random.random_range(0..NAMES.len())];
        (self.random.random_range(0..GROUPS), name)
    }

    fn compare(&mut self) {
        self.compare_present();
        if self.model.versions.is_some() {
            self.compare_past();
        }
        for configuration in &mut self.all {
            if let Err(finding) = configuration.client.check("t") {
                panic!("{}\n{finding}", configuration.log);
            }
        }
    }

    fn compare_present(&mut self) {
        let rows = self.model.standing();
        let (g, k) = self.key();
        let a = self.random.random_range(0..7);
        let moment = self.model.now - self.random.random_range(0..12);
        let conditions: [(String, &dyn Fn(Key, &Values) -> bool); 8] = [
            ("true".to_owned(), &|_, _| true),
            (format!("a BETWEEN {a} AND {}", a + 1), &|_, values| {
                values.a.is_some_and(|value| (a..=a + 1).contains(&value))
            }),
            (format!("g = {g} AND k = '{k}'"), &|key, _| key == (g, k)),
            (format!("note = 'N{a}'"), &|_, values| {
                values.note == Some(format!("N{a}"))
            }),
            (format!("lower(note) = 'n{a}' AND a > 2"), &|_, values| {
                values.note == Some(format!("N{a}")) && values.a > Some(2)
            }),
            (format!("ts >= '{}'", time(moment)), &|_, values| {
                values.ts >= Some(moment)
            }),
            ("tag IS NULL".to_owned(), &|_, values| values.tag.is_none()),
            (format!("k >= 'ab' AND c > {a}"), &|key, values| {
                key.1 >= "ab" && values.c > a
            }),
        ];
        for (condition, passes) in conditions {
            let passing = rows.iter().filter(|(key, values)| passes(*key, values));
            let expected: Vec<_> = passing.map(|(key, values)| self.shown(*key, values)).collect();
            self.ask("t", &condition, "g, k", "", expected);
        }
    }

    fn compare_past(&mut self) {
        let images = self.model.images();
        let model = self.model.clone();
        for _ in 0..2 {
            let moment = self.random.random_range(0..=self.model.now + 1);
            let stands =
                |image: &Image| model.start(image) <= moment && image.end.is_none_or(|end| moment < end);
            let from = format!("t FOR SYSTEM_TIME AS OF '{}'", time(moment));
            let of_then = images.iter().filter(|(_, image, _)| stands(image));
            let expected = of_then.map(|(key, _, values)| self.shown(*key, values)).collect();
            self.ask(&from, "true", "g, k", "", expected);
            let a = self.random.random_range(0..5);
            let of_then = images
                .iter()
                .filter(|(_, image, values)| stands(image) && values.a >= Some(a));
            let expected = of_then.map(|(key, _, values)| self.shown(*key, values)).collect();
            self.ask(&from, &format!("a >= {a}"), "g, k", "", expected);
        }
        let expected = images.iter().map(|(key, image, values)| {
            let mut row = self.shown(*key, values);
            row.push(Some(format!("{}+00", time(model.start(image)))));
            row.push(image.end.map(|end| format!("{}+00", time(end))));
            row
        });
        let expected = expected.collect();
        self.ask(
            "t FOR SYSTEM_TIME ALL",
            "true",
            "g, k, row_start",
            ", row_start, row_end",
            expected,
        );
    }

    /// A row as queries show it.
    fn shown(&self, (g, k): Key, values: &Values) -> Vec<Option<String>> {
        let mut row = vec![
            Some(g.to_string()),
            Some(k.to_owned()),
            values.a.map(|a| a.to_string()),
            values.note.clone(),
            Some(values.c.to_string()),
            values.ts.map(time),
            values.tag.clone(),
        ];
        if self.model.has_x {
            row.push(values.x.map(|x| x.to_string()));
        }
        row
    }

    /// Asks every configuration, in a way of its own.
    fn ask(
        &mut self,
        from: &str,
        condition: &str,
        order: &str,
        more: &str,
        expected: Vec<Vec<Option<String>>>,
    ) {
        let x = if self.model.has_x { ", x" } else { "" };
        for configuration in &mut self.all {
            let (hint, path) = configuration.way(&mut self.random);
            let rows = format!(
                "SELECT {hint} g, k, a, note, c, ts, tag{x}{more} FROM {from} WHERE {condition} ORDER BY {order}"
            );
            let count = format!("SELECT {hint} count(*) FROM {from} WHERE {condition}");
            let mut ask = |sql: &str| match configuration.client.query(sql) {
                Ok(table) => table.rows,
                Err(error) => panic!("{}{sql}\n{}: {error}", configuration.log, error.sqlstate),
            };
            ask(&format!("SET execution_path = {path}"));
            let given = (ask(&rows), ask(&count));
            let right = (expected.clone(), vec![vec![Some(expected.len().to_string())]]);
            if given != right {
                let explained = ask(&format!("EXPLAIN {rows}"));
                let plan: Vec<String> = explained.into_iter().flatten().flatten().collect();
                panic!(
                    "{}{rows}\ngives    {given:?}\nexpected {right:?}\n{}",
                    configuration.log,
                    plan.join("\n")
                );
            }
        }
    }
}

fn ttl_option(ttl: i64, from_column: bool) -> String {
    let from = if from_column { " FROM ts" } else { "" };
    format!("TTL = {ttl}{from}")
}

fn text_sql(text: Option<&str>) -> String {
    text.map_or("NULL".to_owned(), |text| format!("'{text}'"))
}

/// Writes a second of the test as timestamp, in a future that no clock of a machine has reached: a database that is
/// opened again keeps that time until it is set to another, and what it sees as expired stays so.
fn time(second: i64) -> String {
    let second = second + 100_000;
    format!(
        "2090-05-{:02} {:02}:{:02}:{:02}",
        1 + second / 86_400,
        second / 3600 % 24,
        second / 60 % 60,
        second % 60
    )
}
