//! The works on Rukh, in process, as `Peers.java` has them.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rukh::{Connection, Database, Options, Statement, Value};
use rukh_hbase_store::{Moment, observe_steps_for_test};

use crate::{Failure, Measured, WORKS};

/// Rows of a sensor.
const TIMES: u64 = 100;

struct Works {
    connection: Connection,
    rows: u64,
    measured: BTreeMap<String, Measured>,
}

/// What the steps of commits have taken: when the last one began, and how often each was and for how long.
static STEPS: Mutex<(Option<Instant>, BTreeMap<&str, (u32, Duration)>)> = Mutex::new((None, BTreeMap::new()));

fn note_step(step: &'static str, moment: Moment) {
    let mut steps = STEPS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match (moment, steps.0.take()) {
        (Moment::Before, _) => steps.0 = Some(Instant::now()),
        (Moment::After, Some(begun)) => {
            let (count, time) = steps.1.entry(step).or_default();
            *count += 1;
            *time += begun.elapsed();
        }
        (Moment::After, None) => {}
    }
}

/// Says how long the steps of commits took in the mean, since the last call.
fn steps() -> String {
    let mut steps = STEPS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let all = std::mem::take(&mut steps.1).into_iter();
    let texts = all.map(|(step, (count, time))| format!("{step} {} us", (time / count).as_micros()));
    texts.collect::<Vec<_>>().join(", ")
}

/// Writes the rows to an empty database at a URL, and runs all works; says what commits consist of.
pub(crate) fn measure(url: &str, rows: u64) -> Result<BTreeMap<String, Measured>, Failure> {
    observe_steps_for_test(Box::new(note_step));
    let options = Options {
        auto_analyze: false,
        ..Options::default()
    };
    let database = Database::open_with(url, options)?;
    let mut works = Works {
        connection: database.connect(),
        rows,
        measured: BTreeMap::new(),
    };
    works.run()?;
    Ok(works.measured)
}

/// A number that is spread over a range, the same in all programs.
fn spread(nth: u64, range: u64) -> u64 {
    nth * 7919 % range
}

/// Each run writes other values: what is there already need not be written.
fn values(sensor: u64, time: u64, nth: u64) -> Vec<Value> {
    vec![
        Value::from(sensor as i64),
        Value::from(time as i64),
        Value::from(((sensor * TIMES + time) % 2000) as i32),
        Value::from(sensor as f64 * 0.5 + (time + nth) as f64),
        Value::from(format!("reading {time} of sensor {sensor}")),
    ]
}

impl Works {
    fn run(&mut self) -> Result<(), Failure> {
        for sql in [
            "CREATE TABLE readings (sensor BIGINT, t BIGINT, site INTEGER, v DOUBLE PRECISION, note VARCHAR, PRIMARY KEY (sensor, t))",
            "CREATE INDEX readings_site ON readings (site, t) INCLUDE (v)",
        ] {
            self.connection.execute(sql)?;
        }
        let (rows, sensors) = (self.rows, self.rows / TIMES);
        let upsert = self
            .connection
            .prepare("UPSERT INTO readings VALUES ($1, $2, $3, $4, $5)")?;
        self.measure(0, rows / 1000, |works, nth| {
            works.connection.execute("BEGIN")?;
            for at in 0..1000 {
                let number = nth % (rows / 1000) * 1000 + at;
                works
                    .connection
                    .execute_prepared(&upsert, &values(number / TIMES, number % TIMES, nth))?;
            }
            works.connection.execute("COMMIT")?;
            Ok(1000)
        })?;
        println!("steps of a batch: {}", steps());
        self.connection.execute("ANALYZE readings")?;
        steps();
        self.connection.execute("COMPACT TABLE readings")?;
        self.measure(1, 200, |works, nth| {
            let row = values(spread(nth, sensors), nth % TIMES, nth + 5000);
            works.connection.execute_prepared(&upsert, &row)?;
            Ok(1)
        })?;
        println!("steps of an upsert: {}", steps());
        let two = |nth: u64| {
            vec![
                Value::from(spread(nth, sensors) as i64),
                Value::from((nth % TIMES) as i64),
            ]
        };
        let sensor = |nth: u64| vec![Value::from(spread(nth, sensors) as i64)];
        let site = |nth: u64| vec![Value::from(spread(nth, 2000) as i64)];
        let time = |nth: u64| vec![Value::from((nth % TIMES) as i64)];
        self.measure_query(2, 400, "SELECT * FROM readings WHERE sensor = $1 AND t = $2", two)?;
        self.measure_query(3, 200, "SELECT * FROM readings WHERE sensor = $1", sensor)?;
        self.measure_query(4, 200, "SELECT t, v FROM readings WHERE site = $1", site)?;
        self.measure_query(5, 100, "SELECT t, v, note FROM readings WHERE site = $1", site)?;
        let masked =
            "SELECT /*+ NO_INDEX(readings) */ sensor, v, note FROM readings WHERE t = $1 AND site < 100";
        self.measure_query(6, 10, masked, time)?;
        let count = self.connection.prepare("SELECT count(*) FROM readings")?;
        self.measure(7, 5, |works, _| {
            let mut rows = works.connection.query_prepared(&count, &[])?;
            let row = rows.next_row()?.ok_or("a count has a row")?;
            Ok(row.get::<i64>(0)? as u64)
        })
    }

    fn measure_query(
        &mut self,
        work: usize,
        runs: u64,
        sql: &str,
        parameters: impl Fn(u64) -> Vec<Value>,
    ) -> Result<(), Failure> {
        let query: Statement = self.connection.prepare(sql)?;
        self.measure(work, runs, |works, nth| {
            let rows = works.connection.query_prepared(&query, &parameters(nth))?;
            let mut found = 0;
            for row in rows {
                row?;
                found += 1;
            }
            Ok(found)
        })
    }

    /// Runs a work so many times, after a quarter as many to warm up, and notes the median.
    fn measure(
        &mut self,
        work: usize,
        runs: u64,
        run: impl Fn(&mut Works, u64) -> Result<u64, Failure>,
    ) -> Result<(), Failure> {
        for nth in 0..(runs / 4).max(1) {
            run(self, nth + 1000)?;
        }
        let mut times = Vec::new();
        let mut found = 0;
        for nth in 0..runs.max(1) {
            let begun = Instant::now();
            found = run(self, nth)?;
            times.push(begun.elapsed().as_micros() as u64);
        }
        times.sort_unstable();
        self.measured
            .insert(WORKS[work].to_string(), (times[times.len() / 2], found));
        Ok(())
    }
}
