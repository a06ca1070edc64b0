//! One way to keep the table: nothing of it may be seen in what the table says.
//!
//! | drawn                              | as                                                             |
//! |------------------------------------|----------------------------------------------------------------|
//! | where                              | in memory, or on disk, where it is closed and opened now and then |
//! | on disk                            | each in a column family of its own, all in shared ones, or some here and some there |
//! | order of the key, salt             | four orders, buckets of the whole key or of a part              |
//! | layout                             | rows with families or without, or columnar                      |
//! | indexes                            | come and go: plain, covering, UNIQUE, partial, columnar          |
//! | between statements                 | COMPACT, CHECKPOINT, REINDEX, DISABLE, REPACK, ANALYZE          |

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh::{Database, Options};
use rukh_testkit::client::Client;
use tempfile::TempDir;

/// Indexes by name. Those of `note` are not for tables that keep it in a family.
const INDEXES: &[(&str, &str)] = &[
    ("by_a", "ON t (a, k)"),
    ("by_a_down", "ON t (a DESC) INCLUDE (c, ts)"),
    ("by_note", "ON t (note) INCLUDE (a)"),
    ("by_lower", "ON t (lower(note), c) WHERE a > 2"),
    ("by_ts", "ON t (ts DESC, g)"),
    ("unique", "ON t (k, g, a)"),
    ("in_columns", "ON t USING columnar (a) INCLUDE (c, ts)"),
    ("all_columns", "ON t USING columnar (k, a DESC)"),
];

pub struct Configuration {
    pub client: Client,
    directory: Option<TempDir>,
    own_families: usize,
    pub is_columnar: bool,
    note_in_family: bool,
    /// All that was run.
    pub log: String,
}

impl Configuration {
    /// Draws one, and makes the table with these options; with a family it is not columnar.
    pub fn draw(random: &mut StdRng, options: &str, family: &str, clock: &str) -> Configuration {
        let directory = random
            .random_bool(0.6)
            .then(|| tempfile::tempdir().expect("a directory can be made"));
        let own_families = [0, 3, usize::MAX][random.random_range(0..3)];
        let is_columnar = family.is_empty() && random.random_bool(0.5);
        let mut configuration = Configuration {
            client: open(directory.as_ref(), own_families),
            directory,
            own_families,
            is_columnar,
            note_in_family: !is_columnar && random.random_bool(0.3),
            log: String::new(),
        };
        configuration.client.set_clock(clock);
        let key = ["g, k", "g DESC, k", "k, g", "k DESC, g DESC", "HASH(k, 4), k, g"]
            .choose(random)
            .expect("there are orders");
        let salt = ["", "SALT_BUCKETS = 4", "SALT_BUCKETS = 3 ON (g)"]
            .choose(random)
            .expect("there are salts");
        let note = if configuration.note_in_family {
            ", FAMILY notes (note)"
        } else {
            ""
        };
        let layout = if is_columnar { "USING columnar" } else { "" };
        let family = match (family, is_columnar) {
            ("", false) if random.random_bool(0.5) => ", FAMILY tags (tag)",
            (family, _) => family,
        };
        let options: Vec<&str> = [*salt, options]
            .into_iter()
            .filter(|option| !option.is_empty())
            .collect();
        configuration.must(&format!(
            "CREATE TABLE t (g INTEGER, k VARCHAR, a BIGINT, note VARCHAR, c COUNTER, ts TIMESTAMP, tag VARCHAR, \
             PRIMARY KEY ({key}){note}{family}) {layout} {}",
            with(&options)
        ));
        configuration
    }

    /// Runs what must succeed.
    pub fn must(&mut self, sql: &str) {
        if let Err(error) = self.run(sql) {
            panic!("{}\n{}: {error}", self.log, error.sqlstate);
        }
    }

    /// Runs a statement; returns the rows it counted.
    pub fn run(&mut self, sql: &str) -> Result<u64, rukh::Error> {
        self.log += &format!("{sql};\n");
        self.client.run(sql).map(|output| output.count())
    }

    /// Does some of what changes nothing that is seen.
    pub fn stir(&mut self, random: &mut StdRng, clock: &str) {
        for _ in 0..random.random_range(0..3) {
            let (name, definition) = INDEXES.choose(random).expect("there are indexes");
            let unique = if *name == "unique" { "UNIQUE" } else { "" };
            match random.random_range(0..12) {
                0..=2 if self.can_have(definition) => {
                    let concurrently = ["", "CONCURRENTLY"][random.random_range(0..2)];
                    self.must(&format!(
                        "CREATE {unique} INDEX {concurrently} IF NOT EXISTS \"{name}\" {definition}"
                    ));
                }
                3 => self.must(&format!("DROP INDEX IF EXISTS \"{name}\"")),
                4 => self.must("REINDEX TABLE t"),
                5 => {
                    self.must(&format!("ALTER INDEX IF EXISTS \"{name}\" DISABLE"));
                    if random.random_bool(0.7) {
                        self.must(&format!("ALTER INDEX IF EXISTS \"{name}\" ENABLE"));
                    }
                }
                6 if name.ends_with("columns") => {
                    let repack = format!("ALTER INDEX IF EXISTS \"{name}\" REPACK");
                    match self.is_disabled(name) {
                        // There is nothing to fold.
                        true => {
                            let refused = self.run(&repack).expect_err("it is refused");
                            assert_eq!(refused.sqlstate, "55000", "{}\n{refused}", self.log);
                        }
                        false => self.must(&repack),
                    }
                }
                6 | 7 if self.is_columnar => self.must("ALTER TABLE t REPACK"),
                6..=8 => self.must("COMPACT TABLE t"),
                9 => self.must("CHECKPOINT"),
                10 => self.must("ANALYZE t"),
                _ => self.reopen(clock),
            }
        }
    }

    fn is_disabled(&mut self, index: &str) -> bool {
        let indexes = self.client.query("SHOW INDEXES FROM t").expect("they are listed");
        let column = |name| indexes.columns.iter().position(|column| column == name);
        let (name, state) = (column("name").unwrap(), column("state").unwrap());
        indexes
            .rows
            .iter()
            .any(|row| row[name].as_deref() == Some(index) && row[state].as_deref() == Some("disabled"))
    }

    fn can_have(&self, definition: &str) -> bool {
        !(self.note_in_family && definition.contains("note"))
    }

    fn reopen(&mut self, clock: &str) {
        if self.directory.is_some() {
            self.client = Client::in_memory();
            self.client = open(self.directory.as_ref(), self.own_families);
            self.client.set_clock(clock);
            self.log += "-- opened again\n";
        }
    }

    /// Draws how a query is run: a hint, and whether by the general path.
    pub fn way(&self, random: &mut StdRng) -> (String, &'static str) {
        let (name, _) = INDEXES.choose(random).expect("there are indexes");
        let hint = match random.random_range(0..6) {
            0 => "/*+ FULL_SCAN */".to_owned(),
            1 => "/*+ SKIP_SCAN */".to_owned(),
            2..=4 => format!("/*+ INDEX(t {name}) */"),
            _ => String::new(),
        };
        (hint, ["auto", "general"][random.random_range(0..2)])
    }
}

fn with(options: &[&str]) -> String {
    match options.is_empty() {
        true => String::new(),
        false => format!("WITH ({})", options.join(", ")),
    }
}

fn open(directory: Option<&TempDir>, own_families: usize) -> Client {
    match directory {
        Some(directory) => {
            let path = directory.path().join("db");
            let options = Options {
                own_families: Some(own_families),
                ..Options::default()
            };
            Client::new(&Database::open_with(path, options).expect("the database opens"))
        }
        None => Client::in_memory(),
    }
}
