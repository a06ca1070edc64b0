//! Random changes, as Rukh takes them and as PostgreSQL does step by step.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::condition::condition;
use super::schema::RandomTable;
use super::value::{Constant, stored};

/// A change of rows.
#[derive(Clone, Debug)]
pub enum Change {
    /// `INSERT INTO t VALUES …`; all rows or none.
    Insert(Vec<Vec<Constant>>),
    /// `INSERT … ON CONFLICT DO NOTHING`: rows that conflict are passed over, one after another.
    InsertOrIgnore(Vec<Vec<Constant>>),
    /// `UPSERT INTO t (columns) VALUES …`; every key column is named, no key is there twice.
    Upsert {
        /// Places of the columns named.
        columns: Vec<usize>,
        /// Their values.
        rows: Vec<Vec<Constant>>,
    },
    /// UPDATE or DELETE: the same text for both databases.
    Same(String),
}

impl Change {
    /// Draws a change.
    pub fn draw(table: &RandomTable, random: &mut StdRng) -> Self {
        match random.random_range(0..12) {
            0..=3 => Change::Insert(rows(table, &table.all_columns(), 6, random)),
            4 => Change::InsertOrIgnore(rows(table, &table.all_columns(), 6, random)),
            5..=7 if table.keyless => Change::Insert(rows(table, &table.all_columns(), 6, random)),
            5..=7 => upsert(table, random),
            8 => Change::Same(update(table, random)),
            9 => Change::Same(joined_update(table, random)),
            10 => Change::Same(joined_delete(table, random)),
            _ => Change::Same(format!("DELETE FROM t WHERE {}", condition(table, random))),
        }
    }

    /// Returns the statement for Rukh.
    pub fn sql(&self, table: &RandomTable) -> String {
        match self {
            Change::Insert(rows) => format!("INSERT INTO t VALUES {}", values(rows)),
            Change::InsertOrIgnore(rows) => {
                format!("INSERT INTO t VALUES {} ON CONFLICT DO NOTHING", values(rows))
            }
            Change::Upsert { columns, rows } => {
                format!("UPSERT INTO t ({}) VALUES {}", table.names(columns), values(rows))
            }
            Change::Same(sql) => sql.clone(),
        }
    }
}

/// Writes rows as the list behind VALUES.
pub fn values(rows: &[Vec<Constant>]) -> String {
    let row = |row: &Vec<Constant>| {
        format!(
            "({})",
            row.iter()
                .map(|value| value.sql.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        )
    };
    rows.iter().map(row).collect::<Vec<_>>().join(", ")
}

fn rows(table: &RandomTable, columns: &[usize], rows_max: usize, random: &mut StdRng) -> Vec<Vec<Constant>> {
    let count = random.random_range(1..=rows_max);
    (0..count)
        .map(|_| {
            columns
                .iter()
                .map(|column| value(table, *column, random))
                .collect()
        })
        .collect()
}

fn value(table: &RandomTable, column: usize, random: &mut StdRng) -> Constant {
    let column = &table.columns[column];
    match column.nullable && random.random_bool(0.2) {
        true => Constant::null(column.ty),
        false => stored(&column.ty, random),
    }
}

/// Names the key and all NOT NULL columns, and some of the others.
fn upsert(table: &RandomTable, random: &mut StdRng) -> Change {
    let mut columns: Vec<usize> = table
        .all_columns()
        .into_iter()
        .filter(|column| !table.columns[*column].nullable || random.random_bool(0.6))
        .collect();
    columns.shuffle(random);
    let mut rows = rows(table, &columns, 6, random);
    let mut seen: Vec<Vec<String>> = Vec::new();
    rows.retain(|row| {
        let key: Vec<String> = (0..table.key_columns)
            .filter_map(|key| columns.iter().position(|column| *column == key))
            .map(|place| row[place].sql.clone())
            .collect();
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    Change::Upsert { columns, rows }
}

/// Joins the table with some of its own rows, by the whole key.
fn joined_rows(table: &RandomTable, random: &mut StdRng) -> (String, String) {
    let keys = &table.columns[..table.key_columns];
    let names = keys.iter().enumerate();
    let names: Vec<String> = names.map(|(at, key)| format!("{} AS j{at}", key.name)).collect();
    let equal = keys.iter().enumerate();
    let equal: Vec<String> = equal
        .map(|(at, key)| format!("t.{} = x.j{at}", key.name))
        .collect();
    let rows = format!(
        "(SELECT {} FROM t WHERE {}) AS x",
        names.join(", "),
        condition(table, random)
    );
    (rows, equal.join(" AND "))
}

fn joined_delete(table: &RandomTable, random: &mut StdRng) -> String {
    let (rows, equal) = joined_rows(table, random);
    format!("DELETE FROM t USING {rows} WHERE {equal}")
}

fn joined_update(table: &RandomTable, random: &mut StdRng) -> String {
    let (rows, equal) = joined_rows(table, random);
    let column = random.random_range(0..table.columns.len());
    let value = value(table, column, random).sql;
    format!(
        "UPDATE t SET {} = {value} FROM {rows} WHERE {equal}",
        table.columns[column].name
    )
}

fn update(table: &RandomTable, random: &mut StdRng) -> String {
    let mut columns = table.all_columns();
    columns.shuffle(random);
    columns.truncate(random.random_range(1..=2));
    let sets: Vec<String> = columns
        .iter()
        .map(|column| {
            format!(
                "{} = {}",
                table.columns[*column].name,
                value(table, *column, random).sql
            )
        })
        .collect();
    format!(
        "UPDATE t SET {} WHERE {}",
        sets.join(", "),
        condition(table, random)
    )
}
