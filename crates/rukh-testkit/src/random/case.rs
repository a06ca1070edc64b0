//! A query on a table of known rows, made as small as possible while it fails.

use super::computed::SEQUENCE;
use super::query::Query;
use super::schema::{CREATE_TYPES, RandomIndex, RandomTable};
use super::value::Constant;
use super::{change, value};

/// A table with its rows and indexes, and a query.
#[derive(Clone, Debug)]
pub struct SmallCase {
    /// The table.
    pub table: RandomTable,
    /// The indexes that are there.
    pub indexes: Vec<RandomIndex>,
    /// The rows.
    pub rows: Vec<Vec<Constant>>,
    /// The query.
    pub query: Query,
}

impl SmallCase {
    /// Returns the statements that make table, rows and indexes on Rukh.
    pub fn setup(&self) -> Vec<String> {
        let mut statements = CREATE_TYPES.map(String::from).to_vec();
        statements.extend([self.table.create_sql(), format!("CREATE SEQUENCE {SEQUENCE}")]);
        statements.extend(self.insert());
        statements.extend(
            self.indexes
                .iter()
                .map(|index| self.table.create_index_sql(index)),
        );
        statements
    }

    /// Returns the statement that writes the rows, if there are some.
    pub fn insert(&self) -> Option<String> {
        (!self.rows.is_empty()).then(|| format!("INSERT INTO t VALUES {}", change::values(&self.rows)))
    }

    /// Goes to smaller cases as long as one fails; returns the smallest and how it fails.
    pub fn shrink(self, fails: &mut dyn FnMut(&SmallCase) -> Option<String>) -> Option<(SmallCase, String)> {
        let mut why = fails(&self)?;
        let mut case = self;
        loop {
            let next = case
                .smaller()
                .find_map(|smaller| fails(&smaller).map(|because| (smaller, because)));
            let Some((smaller, because)) = next else { break };
            (case, why) = (smaller, because);
        }
        Some((case, why))
    }

    /// Returns the cases that are smaller by one step: fewer rows first, then indexes, then query.
    fn smaller(&self) -> impl Iterator<Item = SmallCase> {
        let count = self.rows.len();
        let halves = [0..count / 2, count / 2..count]
            .into_iter()
            .filter(move |_| count > 1);
        let ones = (0..count).map(|row| row..row + 1);
        let fewer_rows = halves.chain(ones).map(|without| {
            let mut case = self.clone();
            case.rows.drain(without);
            case
        });
        let fewer_indexes = (0..self.indexes.len()).map(|index| {
            let mut case = self.clone();
            case.indexes.remove(index);
            case
        });
        let smaller_queries = self.query.smaller().into_iter().map(|query| SmallCase {
            query,
            ..self.clone()
        });
        fewer_rows.chain(fewer_indexes).chain(smaller_queries)
    }
}

/// Turns a row that PostgreSQL printed into constants.
pub fn row_of_texts(table: &RandomTable, row: &[Option<String>]) -> Vec<Constant> {
    let columns = table.columns.iter().zip(row);
    columns
        .map(|(column, text)| match text {
            Some(text) => value::of_text(column.ty, text),
            None => Constant::null(column.ty),
        })
        .collect()
}
