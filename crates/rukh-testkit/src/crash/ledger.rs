//! Rows that are read before they are written.
//!
//! | statement              | share  | what a crash must not leave                                |
//! |------------------------|--------|------------------------------------------------------------|
//! | UPSERT of up to 40 rows | most  | some of the rows, or a row without its entries             |
//! | UPDATE of a range      | some   | half of the range; entries of old values                   |
//! | DELETE of a range      | some   | half of the range; entries without rows                    |
//! | CREATE, DROP INDEX     | few    | an index that is read before it is full                    |
//! | ALTER INDEX … REBUILD  | few    | the old index without what was written since               |
//! | REPACK, beside these   | some   | rows lost between blocks and changes                       |
//! | transactions of these  | some   | some of its statements; what it rolled back                |
//!
//! The table keeps all versions, columnar or not: a crash must not leave a row without what it was, or that without the row.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{Difference, State};
use crate::client::Client;
use crate::table::Table;

/// Buckets of the table; statements change ranges within one.
const BUCKETS: i64 = 8;
/// Ids in a bucket.
const IDS: i64 = 1000;
/// Rows of the table when the first statement runs:
/// so many that indexes are filled beside writers.
const FIRST_ROWS: i64 = 16_000;

/// What another connection does all the time; if the table is columnar, with what makes blocks.
pub fn builds(columnar: bool) -> &'static [&'static str] {
    match columnar {
        false => &[
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS ledger_beside ON ledger (amount DESC, id)",
            "REINDEX INDEX CONCURRENTLY ledger_beside",
            "DROP INDEX ledger_beside",
        ],
        true => &[
            "ALTER TABLE ledger REPACK",
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS ledger_beside ON ledger USING columnar (amount DESC)",
            "ALTER TABLE ledger REPACK",
            "ALTER INDEX ledger_by_amount REPACK",
            "ALTER INDEX ledger_beside REPACK",
            "REINDEX INDEX CONCURRENTLY ledger_beside",
            "ALTER TABLE ledger REPACK",
            "DROP INDEX ledger_beside",
        ],
    }
}

/// A row's value: amount and note.
type RowValue = (i64, Option<String>);

/// A row as a statement writes it: bucket, id, amount, note.
type WrittenRow = (i64, i64, i64, Option<String>);

/// Ids of a bucket, first to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    bucket: i64,
    first: i64,
    last: i64,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes rows.
    Upsert(Vec<WrittenRow>),
    /// Adds to the amounts of these rows.
    Update(Ids, i64),
    /// Removes these rows.
    Delete(Ids),
    /// Makes the second index, unless it is there.
    CreateIndex,
    /// Drops the second index, if it is there.
    DropIndex,
    /// Fills the first index again.
    RebuildIndex,
    /// Changes rows, and between the statements some that are undone.
    Transaction(Vec<Step>),
}

impl Step {
    /// Returns statement `number` of the list that follows from `seed`.
    pub fn of(seed: u64, number: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        match random.random_range(0..25) {
            24 => Step::RebuildIndex,
            18 => Step::CreateIndex,
            19 => Step::DropIndex,
            20.. => Step::Transaction((0..4).map(|_| Step::of_rows(&mut random)).collect()),
            _ => Step::of_rows(&mut random),
        }
    }

    /// Draws a statement that changes rows.
    fn of_rows(random: &mut StdRng) -> Self {
        let bucket = random.random_range(0..BUCKETS);
        let first = random.random_range(0..IDS);
        let last = first + random.random_range(0..40);
        let ids = Ids { bucket, first, last };
        match random.random_range(0..18) {
            0..=11 => Step::Upsert((first..=last).map(|id| drawn_row(bucket, id, random)).collect()),
            12..=14 => Step::Update(ids, random.random_range(-5..=5)),
            _ => Step::Delete(ids),
        }
    }

    /// Returns the statements, which are acknowledged together.
    pub fn statements(&self) -> Vec<String> {
        let Step::Transaction(steps) = self else {
            return vec![self.sql()];
        };
        let undone = [
            "SAVEPOINT s",
            "DELETE FROM ledger WHERE bucket = 3 AND id % 3 = 0",
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

    /// Returns the statement, or those of a transaction that are not undone.
    pub fn sql(&self) -> String {
        match self {
            Step::Transaction(steps) => {
                let steps: Vec<String> = steps.iter().map(Step::sql).collect();
                steps.join("; ")
            }
            Step::Upsert(rows) => {
                let rows: Vec<String> = rows.iter().map(row_sql).collect();
                format!(
                    "UPSERT INTO ledger (bucket, id, amount, note) VALUES {}",
                    rows.join(", ")
                )
            }
            Step::Update(ids, add) => {
                format!("UPDATE ledger SET amount = amount + {add} WHERE {}", ids.sql())
            }
            Step::Delete(ids) => format!("DELETE FROM ledger WHERE {}", ids.sql()),
            Step::CreateIndex => {
                "CREATE INDEX IF NOT EXISTS ledger_by_note ON ledger (note DESC) INCLUDE (amount)".to_owned()
            }
            Step::DropIndex => "DROP INDEX IF EXISTS ledger_by_note".to_owned(),
            Step::RebuildIndex => "ALTER INDEX ledger_by_amount REBUILD".to_owned(),
        }
    }
}

impl Ids {
    fn sql(&self) -> String {
        format!(
            "bucket = {} AND id BETWEEN {} AND {}",
            self.bucket, self.first, self.last
        )
    }
}

fn drawn_row(bucket: i64, id: i64, random: &mut StdRng) -> WrittenRow {
    let note = random
        .random_bool(0.8)
        .then(|| format!("note {}", random.random_range(0..50)));
    (bucket, id, random.random_range(0..1000), note)
}

fn row_sql((bucket, id, amount, note): &WrittenRow) -> String {
    let note = note
        .as_ref()
        .map_or("NULL".to_owned(), |note| format!("'{note}'"));
    format!("({bucket}, {id}, {amount}, {note})")
}

/// Statements that make the table and its first rows, before anything is killed; table and index columnar, or not.
pub fn setup(columnar: bool) -> Vec<String> {
    let per_bucket = FIRST_ROWS / BUCKETS;
    let using = if columnar { " USING columnar" } else { "" };
    let mut statements = vec![
        format!(
            "CREATE TABLE ledger (bucket INTEGER NOT NULL, id BIGINT NOT NULL, amount BIGINT NOT NULL, \
             note VARCHAR, PRIMARY KEY (bucket, id DESC)){using} VERSIONS 1000000"
        ),
        format!("CREATE INDEX ledger_by_amount ON ledger{using} (amount) INCLUDE (note)"),
    ];
    statements.extend((0..BUCKETS).map(|bucket| {
        let rows: Vec<String> = (0..per_bucket)
            .map(|id| row_sql(&(bucket, id, id % 100, None)))
            .collect();
        format!(
            "INSERT INTO ledger (bucket, id, amount, note) VALUES {}",
            rows.join(", ")
        )
    }));
    statements
}

/// What the table must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    rows: BTreeMap<(i64, i64), RowValue>,
    /// How many images of each row there were, the present one counted.
    images: BTreeMap<(i64, i64), i64>,
}

impl Model {
    /// Returns the state after [`setup`].
    pub fn after_setup() -> Self {
        let keys = || (0..BUCKETS).flat_map(|bucket| (0..FIRST_ROWS / BUCKETS).map(move |id| (bucket, id)));
        Model {
            rows: keys()
                .map(|(bucket, id)| ((bucket, id), (id % 100, None)))
                .collect(),
            images: keys().map(|key| (key, 1)).collect(),
        }
    }

    /// Does what a statement does: each row that it leaves written has one image more.
    fn run(&mut self, step: &Step) {
        let mut written = BTreeSet::new();
        self.change(step, &mut written);
        for key in written.into_iter().filter(|key| self.rows.contains_key(key)) {
            *self.images.entry(key).or_default() += 1;
        }
    }

    fn change(&mut self, step: &Step, written: &mut BTreeSet<(i64, i64)>) {
        match step {
            Step::Upsert(rows) => {
                for (bucket, id, amount, note) in rows {
                    self.rows.insert((*bucket, *id), (*amount, note.clone()));
                    written.insert((*bucket, *id));
                }
            }
            Step::Update(Ids { bucket, first, last }, add) => {
                self.rows
                    .range_mut((*bucket, *first)..=(*bucket, *last))
                    .for_each(|(key, row)| {
                        row.0 += add;
                        written.insert(*key);
                    });
            }
            Step::Delete(Ids { bucket, first, last }) => {
                self.rows
                    .retain(|(b, id), _| b != bucket || id < first || id > last);
            }
            Step::Transaction(steps) => steps.iter().for_each(|step| self.change(step, written)),
            Step::CreateIndex | Step::DropIndex | Step::RebuildIndex => {}
        }
    }

    /// Returns the rows as the table gives them, in order of bucket and id, then how many images there are of each.
    fn table(&self) -> Table {
        let text = |number: i64| Some(number.to_string());
        let rows = self.rows.iter().map(|((bucket, id), (amount, note))| {
            vec![text(*bucket), text(*id), text(*amount), note.clone()]
        });
        let images = self.images.iter().map(|((bucket, id), images)| {
            vec![text(*bucket), text(*id), text(*images), Some("images".to_owned())]
        });
        let columns = ["bucket", "id", "amount", "note"].map(str::to_owned).to_vec();
        Table {
            columns,
            kinds: Vec::new(),
            rows: rows.chain(images).collect(),
        }
    }
}

impl State for Model {
    fn apply(&mut self, seed: u64, number: u64) {
        self.run(&Step::of(seed, number));
    }

    fn compare(&self, client: &mut Client) -> Result<(), Difference> {
        client.check("ledger").map_err(Difference::Damage)?;
        let table = contents(client).map_err(Difference::Damage)?;
        table.same_rows(self.table(), true).map_err(Difference::Rows)
    }
}

/// Reads the table by its primary key, and the same rows by its first index; then counts the images of each row, again
/// by both.
///
/// Fails when the two differ or the table cannot be read.
fn contents(client: &mut Client) -> Result<Table, String> {
    const ALL: &str = "bucket, id, amount, note FROM ledger";
    let mut read = |sql: String| client.query(&sql).map_err(|error| format!("{sql}: {error}"));
    let mut table = read(format!("SELECT /*+ FULL_SCAN */ {ALL} ORDER BY bucket, id"))?;
    let by_index = read(format!(
        "SELECT /*+ INDEX(ledger ledger_by_amount) */ {ALL} ORDER BY bucket, id"
    ))?;
    by_index
        .same_rows(table.clone(), true)
        .map_err(|difference| format!("by index: {difference}"))?;
    const IMAGES: &str = "bucket, id, count(*), 'images' FROM ledger FOR SYSTEM_TIME ALL \
                          GROUP BY bucket, id ORDER BY bucket, id";
    let images = read(format!("SELECT /*+ FULL_SCAN */ {IMAGES}"))?;
    let by_index = read(format!("SELECT /*+ INDEX(ledger ledger_by_amount) */ {IMAGES}"))?;
    by_index
        .same_rows(images.clone(), true)
        .map_err(|difference| format!("images by index: {difference}"))?;
    table.rows.extend(images.rows);
    Ok(table)
}
