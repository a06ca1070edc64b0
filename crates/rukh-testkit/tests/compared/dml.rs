//! Random statements that write: what they do, return and refuse is what PostgreSQL's do.
//!
//! A case has two tables, `t` and `s`, on both databases. Rukh's have layouts, families, versions and indexes that are
//! drawn, which must change nothing. Statements are the same text for both: INSERT of values and of queries with and without ON
//! CONFLICT, UPDATE and DELETE with and without other tables, MERGE, WITH, RETURNING; some within transactions with savepoints.
//! After each, both tables are what PostgreSQL has; at the end indexes say what their tables say.
//!
//! Rukh checks UNIQUE when a statement is done. PostgreSQL does so for deferrable constraints, which take no ON CONFLICT: a
//! case has either ON CONFLICT, or keys that change. Which of several errors of a statement is reported first is left open.

use std::fmt::Write;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_testkit::client::Client;
use rukh_testkit::need;
use rukh_testkit::postgres::{self, PostgresDatabase};
use rukh_testkit::seed::{Case, Cases};

/// Cases of a usual run.
const CASES: u64 = 25;
/// Statements of a case.
const STEPS: usize = 40;

/// Columns of `t`, without its key.
const COLUMNS: &str = "a INT, b VARCHAR(5), c INT CHECK (c < 40), d BIGINT DEFAULT 7, e VARCHAR, f DECIMAL(8,2), \
                       g BIGINT GENERATED ALWAYS AS (c * 2 + a) STORED";
/// What follows the columns on Rukh, and is nothing to PostgreSQL.
const LAYOUTS: [&str; 5] = [
    "",
    " USING columnar",
    " WITH (versions = 3)",
    " WITH (ttl = '10 years')",
    " WITH (salt_buckets = 4)",
];
const INDEXES: [&str; 8] = [
    "CREATE INDEX t_c ON t (c, a)",
    "CREATE INDEX t_e ON t (e) INCLUDE (c)",
    "CREATE INDEX t_g ON t (g DESC)",
    "CREATE INDEX t_upper ON t (upper(e))",
    "CREATE INDEX t_d ON t (d) WHERE c > 3",
    "CREATE INDEX t_b ON t (b, c DESC)",
    "CREATE INDEX t_all ON t USING columnar",
    "CREATE INDEX s_c ON s (c)",
];
const ALL: &str = "*, c + 1, upper(e), d::text, CASE WHEN c > 0 THEN e END AS named";

#[test]
fn statements_that_write_do_what_they_do_on_postgres() {
    let name = "statements_that_write_do_what_they_do_on_postgres";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    for case in Cases::from_environment("dml", CASES).iter() {
        let mut world = World::new(case, &mut postgres);
        let outcome = world.run();
        assert!(
            outcome.is_ok(),
            "{}\n{}{}",
            case.replay(),
            world.history,
            outcome.unwrap_err()
        );
    }
}

struct World<'a> {
    random: StdRng,
    rukh: Client,
    postgres: &'a mut PostgresDatabase,
    /// Whether keys change, and nothing says ON CONFLICT.
    moves: bool,
    /// Whether a transaction is open, and whether it has a savepoint.
    block: Option<bool>,
    history: String,
}

impl<'a> World<'a> {
    fn new(case: Case, postgres: &'a mut PostgresDatabase) -> Self {
        let mut random = case.random();
        let moves = random.random_bool(0.4);
        World {
            random,
            rukh: Client::in_memory(),
            postgres,
            moves,
            block: None,
            history: String::new(),
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let (deferrable, unique) = match self.moves {
            true => (" DEFERRABLE", ", UNIQUE (c, e)"),
            false => ("", ""),
        };
        let layout = self.pick(&LAYOUTS);
        let s = "CREATE TABLE s (a INT, b VARCHAR(5), c INT, e VARCHAR, PRIMARY KEY (a, b)";
        self.on_rukh(&format!(
            "CREATE TABLE t ({COLUMNS}, PRIMARY KEY (a, b){unique}){layout}"
        ))?;
        self.on_rukh(&format!("{s})"))?;
        for table in ["t", "s"] {
            self.on_postgres(&format!("DROP TABLE IF EXISTS {table}"))?;
        }
        let unique = unique.replace(')', &format!("){deferrable}"));
        self.on_postgres(&format!(
            "CREATE TABLE t ({COLUMNS}, PRIMARY KEY (a, b){deferrable}{unique})"
        ))?;
        self.on_postgres(&format!("{s}{deferrable})"))?;
        for _ in 0..STEPS {
            self.step()?;
        }
        if self.block.is_some() {
            self.both("COMMIT")?;
        }
        for table in ["t", "s"] {
            self.rukh.check(table)?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        match (self.block, self.random.random_range(0..20)) {
            (None, 0) => {
                self.block = Some(false);
                self.both("BEGIN")
            }
            (None, 1..=2) => {
                let index = self.pick(&INDEXES);
                // It may be there already.
                self.on_rukh(&index.replace("INDEX", "INDEX IF NOT EXISTS"))
            }
            (None, 3) => {
                for index in ["t_c", "t_e", "t_all"] {
                    self.on_rukh(&format!("DROP INDEX IF EXISTS {index}"))?;
                }
                Ok(())
            }
            (Some(_), 0) => {
                let end = self.pick(&["COMMIT", "ROLLBACK"]);
                self.block = None;
                self.both(end)?;
                self.compare_tables()
            }
            (Some(_), 1) => {
                self.block = Some(true);
                self.both("SAVEPOINT p")
            }
            (Some(true), 2) => {
                self.both("ROLLBACK TO SAVEPOINT p")?;
                self.compare_tables()
            }
            _ => {
                let statement = self.statement();
                self.write(&statement)
            }
        }
    }

    /// Runs a statement on both, and compares the results.
    fn write(&mut self, sql: &str) -> Result<(), String> {
        writeln!(self.history, "{sql};").expect("a string takes all");
        let returns = sql.contains(" RETURNING ");
        let ours = self.rukh.run(sql);
        let theirs = match returns {
            true => self
                .postgres
                .query(sql)
                .map(|table| (table.rows.len() as u64, Some(table))),
            false => self.postgres.execute(sql).map(|count| (count, None)),
        };
        match (ours, theirs) {
            (Ok(output), Ok((count, table))) => {
                if output.count() != count {
                    return Err(format!("{} rows, not {count}", output.count()));
                }
                let (table, expected) = (output.table.unwrap_or_default(), table.unwrap_or_default());
                if table.columns != expected.columns {
                    return Err(format!("columns {:?}, not {:?}", table.columns, expected.columns));
                }
                table.same_rows(expected, false)?;
            }
            (Err(ours), Err(_)) if !["XX000", "0A000", "42601"].contains(&ours.sqlstate) => {
                match self.block {
                    None => {}
                    Some(true) => self.both("ROLLBACK TO SAVEPOINT p")?,
                    Some(false) => {
                        self.block = None;
                        self.both("ROLLBACK")?;
                    }
                }
            }
            (ours, theirs) => {
                let theirs = theirs.map(|(count, _)| count);
                return Err(format!("{:?}, not {theirs:?}", ours.map(|output| output.tag)));
            }
        }
        self.compare_tables()
    }

    fn compare_tables(&mut self) -> Result<(), String> {
        for table in ["t", "s"] {
            let sql = format!("SELECT * FROM {table}");
            let ours = self.rukh.query(&sql).map_err(|error| error.to_string())?;
            let theirs = self.postgres.query(&sql).map_err(|error| error.to_string())?;
            ours.same_rows(theirs, false)
                .map_err(|difference| format!("table {table}: {difference}"))?;
        }
        Ok(())
    }

    fn both(&mut self, sql: &str) -> Result<(), String> {
        self.on_rukh(sql)?;
        self.on_postgres(sql)
    }

    fn on_rukh(&mut self, sql: &str) -> Result<(), String> {
        writeln!(self.history, "{sql};").expect("a string takes all");
        self.rukh
            .run(sql)
            .map(drop)
            .map_err(|error| format!("{sql}: {error}"))
    }

    fn on_postgres(&mut self, sql: &str) -> Result<(), String> {
        let done = self.postgres.execute(sql);
        done.map(drop)
            .map_err(|error| format!("PostgreSQL: {sql}: {error}"))
    }

    fn pick<'s>(&mut self, from: &[&'s str]) -> &'s str {
        from.choose(&mut self.random).expect("there is something to pick")
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.random.random_bool(probability)
    }

    fn statement(&mut self) -> String {
        let returning = match self.chance(0.5) {
            true => format!(" RETURNING {ALL}"),
            false => String::new(),
        };
        match self.random.random_range(0..16) {
            0..=3 => {
                let (rows, conflict) = (self.rows(), self.conflict());
                format!("INSERT INTO t (a, b, c, d, e, f) VALUES {rows}{conflict}{returning}")
            }
            4..=5 => {
                let (query, conflict) = (self.source(), self.conflict());
                format!("INSERT INTO t (a, b, c, e) {query}{conflict}{returning}")
            }
            6..=7 => {
                let (sets, condition) = (self.sets("t"), self.condition("t"));
                format!("UPDATE t SET {sets} WHERE {condition}{returning}")
            }
            8 => {
                let (sets, condition) = (self.sets("t"), self.condition("t"));
                let returning = returning.replace(ALL, "t.a, t.b, t.c, t.d, t.e, t.g, s.c AS of_s");
                let sets = sets.replace("9", "s.c");
                format!(
                    "UPDATE t SET {sets} FROM s WHERE s.a = t.a AND s.b = t.b AND ({condition}){returning}"
                )
            }
            9 => {
                let condition = self.condition("t");
                format!("DELETE FROM t WHERE {condition} AND t.a > 1{returning}")
            }
            10 => {
                let condition = self.condition("s");
                let returning = returning.replace(ALL, "t.*, s.e, s.c - 1");
                format!("DELETE FROM t USING s WHERE s.a = t.a AND s.b = t.b AND ({condition}){returning}")
            }
            11..=12 => self.merge(),
            13 => {
                let (condition, sets) = (self.condition("s"), self.sets("t"));
                format!(
                    "WITH x AS (SELECT a, max(c) AS c FROM s WHERE {condition} GROUP BY a) \
                     UPDATE t SET {sets} FROM x WHERE x.a = t.a AND x.c > 1"
                )
            }
            14 => {
                let rows = self.rows_of(4);
                let conflict = match self.moves {
                    true => "",
                    false => " ON CONFLICT (a, b) DO UPDATE SET c = excluded.c, e = excluded.e",
                };
                format!("INSERT INTO s (a, b, c, e) VALUES {rows}{conflict}")
            }
            _ => {
                let (number, condition) = (self.number("s"), self.condition("s"));
                format!("UPDATE s SET c = {number} WHERE {condition}")
            }
        }
    }

    fn rows(&mut self) -> String {
        let count = self.random.random_range(1..=4);
        let rows: Vec<String> = (0..count)
            .map(|_| {
                let d = self.pick(&["DEFAULT", "1", "NULL", "5 + 6"]);
                let f = self.pick(&["1.5", "NULL", "-2.25", "1e3", "0.005"]);
                let (key, c, e) = (self.key(), self.constant(), self.text_constant());
                format!("({key}, {c}, {d}, {e}, {f})")
            })
            .collect();
        rows.join(", ")
    }

    fn rows_of(&mut self, count_max: usize) -> String {
        let count = self.random.random_range(1..=count_max);
        let rows: Vec<String> = (0..count)
            .map(|_| {
                let (key, c, e) = (self.key(), self.constant(), self.text_constant());
                format!("({key}, {c}, {e})")
            })
            .collect();
        rows.join(", ")
    }

    fn key(&mut self) -> String {
        let b = self.pick(&["'k'", "'k'", "'l'", "''", "'kÉ'"]);
        let a = match self.chance(0.03) {
            true => "NULL".to_owned(),
            false => self.random.random_range(0..8).to_string(),
        };
        format!("{a}, {b}")
    }

    fn constant(&mut self) -> String {
        match self.random.random_range(0..12) {
            0 => "NULL".to_owned(),
            1 => "50".to_owned(),
            _ => self.random.random_range(-3..12).to_string(),
        }
    }

    fn text_constant(&mut self) -> &'static str {
        self.pick(&["NULL", "''", "'x'", "'xy'", "'Éa'", "'z%'"])
    }

    /// A query of rows for `t`.
    fn source(&mut self) -> String {
        let from = self.pick(&["s", "t"]);
        let (condition, number) = (self.condition(from), self.number(from));
        let step = self.random.random_range(0..3);
        match self.random.random_range(0..3) {
            0 => format!("SELECT a + {step}, b, {number}, e FROM {from} WHERE {condition}"),
            1 => format!(
                "SELECT {from}.a + {step}, 'n', count(*), max(e) FROM {from} WHERE {condition} GROUP BY {from}.a"
            ),
            _ => format!(
                "WITH x AS (SELECT * FROM {from} WHERE {condition}) SELECT x.a, x.b, s.c, x.e FROM x JOIN s ON s.a = x.a AND s.b = x.b"
            ),
        }
    }

    fn conflict(&mut self) -> String {
        if self.moves {
            return String::new();
        }
        match self.random.random_range(0..6) {
            0 => " ON CONFLICT DO NOTHING".to_owned(),
            1 => " ON CONFLICT (a, b) DO NOTHING".to_owned(),
            2 => " ON CONFLICT (b, a) DO UPDATE SET c = excluded.c + 1, e = t.e || 'w'".to_owned(),
            3 => " ON CONFLICT (a, b) DO UPDATE SET (d, e) = (excluded.d, substr(excluded.e || t.e, 1, 4)) \
                 WHERE t.c IS DISTINCT FROM excluded.c"
                .to_owned(),
            4 => {
                let (sets, condition) = (self.sets("t"), self.condition("t"));
                format!(" ON CONFLICT (a, b) DO UPDATE SET {sets} WHERE {condition}")
            }
            _ => String::new(),
        }
    }

    /// Assignments to columns of `t` from values of one of its rows.
    fn sets(&mut self, of: &str) -> String {
        let (number, other) = (self.number(of), self.number(of));
        let text = match self.random.random_range(0..4) {
            0 => self.text_constant().to_owned(),
            1 => format!("substr({of}.e || 'w', 1, 4)"),
            2 => format!("upper({of}.e)"),
            _ => format!("CASE WHEN {of}.c > 3 THEN 'big' ELSE {of}.b END"),
        };
        let mut sets = vec![
            format!("c = {number}"),
            format!("d = {other}"),
            format!("e = {text}"),
            format!("(f, d) = (1.25, {number})"),
            "d = DEFAULT".to_owned(),
            format!("f = {of}.f * 2"),
        ];
        if self.moves {
            sets.push(format!("a = {of}.a + 1"));
            sets.push(format!("b = 'm', a = 7 - {of}.a"));
        }
        let mut sets: Vec<String> = sets.choose_multiple(&mut self.random, 2).cloned().collect();
        // A column is assigned once.
        if sets[0].contains("d") && sets[1].contains("d")
            || sets[0].contains("a =") && sets[1].contains("a =")
        {
            sets.pop();
        }
        if sets.len() == 2 && sets.iter().all(|set| set.contains("f")) {
            sets.pop();
        }
        sets.join(", ")
    }

    /// A number made of a row of a table.
    fn number(&mut self, of: &str) -> String {
        match self.random.random_range(0..10) {
            0 => format!("{of}.c + 1"),
            1 => format!("{of}.a * 2"),
            2 => format!("COALESCE({of}.c, 9)"),
            3 => format!("CASE WHEN {of}.c > 3 THEN 1 ELSE {of}.c END"),
            4 => format!("length({of}.e)"),
            5 => "(SELECT min(z.c) FROM s AS z)".to_owned(),
            6 => format!("(SELECT count(*) FROM s AS z WHERE z.a = {of}.a)"),
            7 => "9".to_owned(),
            _ => self.constant(),
        }
    }

    fn condition(&mut self, of: &str) -> String {
        let simple = |world: &mut Self| match world.random.random_range(0..12) {
            0 => format!("{of}.a = {}", world.random.random_range(0..8)),
            1 => format!("{of}.a IN (1, 2, 5)"),
            2 => format!("{of}.c > {}", world.random.random_range(-3..12)),
            3 => format!("{of}.c IS NULL"),
            4 => format!("{of}.e LIKE 'x%'"),
            5 => format!("{of}.b = 'k'"),
            6 => format!("({of}.a, {of}.b) > (3, 'k')"),
            7 => format!("EXISTS (SELECT 1 FROM s AS z WHERE z.a = {of}.a AND z.c > 2)"),
            8 => format!("{of}.a IN (SELECT z.a FROM s AS z WHERE z.c < 8)"),
            9 => format!("{of}.a NOT IN (SELECT z.c FROM s AS z WHERE z.a > 2)"),
            10 => format!("{of}.c = (SELECT max(z.c) FROM t AS z)"),
            _ => format!("{of}.a + {of}.c BETWEEN 2 AND 9"),
        };
        let first = simple(self);
        match self.random.random_range(0..4) {
            0 => format!("{first} AND {}", simple(self)),
            1 => format!("({first} OR {})", simple(self)),
            2 => format!("NOT ({first})"),
            _ => first,
        }
    }

    fn merge(&mut self) -> String {
        let source = match self.chance(0.5) {
            true => "s".to_owned(),
            false => format!("(SELECT a, b, c, e FROM s WHERE {}) AS s", self.condition("s")),
        };
        let (sets, condition) = (self.sets("t"), self.condition("t"));
        let matched = match self.random.random_range(0..4) {
            0 => format!("WHEN MATCHED AND {condition} THEN DELETE WHEN MATCHED THEN UPDATE SET {sets}"),
            1 => format!("WHEN MATCHED AND s.c > t.c THEN UPDATE SET {sets} WHEN MATCHED THEN DO NOTHING"),
            2 => "WHEN MATCHED THEN UPDATE SET c = s.c, e = s.e".to_owned(),
            _ => String::new(),
        };
        let other = match self.random.random_range(0..3) {
            0 => "WHEN NOT MATCHED AND s.c > 2 THEN INSERT (a, b, c, e) VALUES (s.a, s.b, s.c, s.e)",
            1 => {
                "WHEN NOT MATCHED AND s.c IS NULL THEN DO NOTHING WHEN NOT MATCHED THEN INSERT (a, b, d) VALUES (s.a, s.b, DEFAULT)"
            }
            _ if matched.is_empty() => "WHEN NOT MATCHED THEN INSERT (b, a) VALUES (s.b, s.a)",
            _ => "",
        };
        format!("MERGE INTO t USING {source} ON t.a = s.a AND t.b = s.b {matched} {other}")
    }
}
