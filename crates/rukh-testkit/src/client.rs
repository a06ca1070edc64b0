//! Rukh through its public API, with results as text.

use std::sync::Arc;

use rukh::{Connection, DataType, Database, Datum, Error, Notice, Rows, Value};

use crate::table::{ColumnKind, Table};

/// One connection.
pub struct Client {
    connection: Connection,
    database: Database,
}

/// What a statement gave.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Command tag: `SELECT`, `INSERT 0 4`.
    pub tag: String,
    /// Rows, for statements that give some.
    pub table: Option<Table>,
    /// Messages beside the result.
    pub notices: Vec<Notice>,
}

impl Output {
    /// Returns the rows that the tag says were touched; 0 when it says none.
    pub fn count(&self) -> u64 {
        self.tag
            .rsplit(' ')
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0)
    }
}

impl Client {
    /// Connects to a database.
    pub fn new(database: &Database) -> Self {
        rukh::check_coercions(true);
        Client {
            connection: database.connect(),
            database: database.clone(),
        }
    }

    /// Connects to a new database in memory.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn in_memory() -> Self {
        Client::new(&Database::open_in_memory().expect("a database in memory can be made"))
    }

    /// Makes another connection to the same database.
    pub fn another(&self) -> Self {
        Client::new(&self.database)
    }

    /// Makes the time of the database stand still at a timestamp; it cannot go back.
    ///
    /// # Panics
    /// If the text is no timestamp.
    pub fn set_clock(&self, time: &str) {
        stop_clock(&self.database, time);
    }

    /// Runs one statement and reads its rows to the end.
    pub fn run(&mut self, sql: &str) -> Result<Output, Error> {
        let outcome = self.connection.execute(sql)?;
        let table = outcome.rows.map(table_of).transpose()?;
        Ok(Output {
            tag: outcome.tag,
            table,
            notices: outcome.notices,
        })
    }

    /// Runs a query.
    pub fn query(&mut self, sql: &str) -> Result<Table, Error> {
        Ok(self.run(sql)?.table.unwrap_or_default())
    }

    /// Runs a query with parameters.
    pub fn query_with(&mut self, sql: &str, parameters: &[Value]) -> Result<Table, Error> {
        let statement = self.connection.prepare(sql)?;
        table_of(self.connection.query_prepared(&statement, parameters)?)
    }

    /// Returns PostgreSQL's names of the types of a query's columns, without length or precision.
    pub fn types(&mut self, sql: &str) -> Result<Vec<String>, Error> {
        let statement = self.connection.prepare(sql)?;
        let description = self.connection.describe(&statement, &[])?;
        let columns = description.columns.iter().flat_map(|columns| columns.iter());
        Ok(columns.map(|column| type_name(column.ty, column.oid)).collect())
    }

    /// Returns a number of `SHOW LAST QUERY STATS`, such as `keys_examined`.
    pub fn last_stat(&mut self, name: &str) -> Result<u64, Error> {
        let stats = self.query("SHOW LAST QUERY STATS")?;
        let row = stats.rows.iter().find(|row| row[0].as_deref() == Some(name));
        let value = row
            .and_then(|row| row[1].as_deref())
            .and_then(|text| text.parse().ok());
        Ok(value.unwrap_or_else(|| panic!("SHOW LAST QUERY STATS has no number {name}:\n{stats}")))
    }

    /// Says what is wrong with a table and its indexes; `Ok` if nothing is.
    ///
    /// `CHECK TABLE` gives rows of a word and a number: what was counted, and what was found.
    pub fn check(&mut self, table: &str) -> Result<(), String> {
        const FAULTS: [&str; 4] = ["missing", "dangling", "differing", "corrupt"];
        let report = self
            .query(&format!("CHECK TABLE {table}"))
            .map_err(|error| error.to_string())?;
        let none_of = |fault: &str| {
            let row = report.rows.iter().find(|row| row[0].as_deref() == Some(fault));
            row.is_some_and(|row| row[1].as_deref() == Some("0"))
        };
        match FAULTS.into_iter().all(none_of) {
            true => Ok(()),
            false => Err(format!("CHECK TABLE {table} finds\n{report}")),
        }
    }

    /// Returns the connection.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// Reads rows to the end as text.
pub fn table_of(mut rows: Rows) -> Result<Table, Error> {
    let types: Vec<DataType> = rows.columns().iter().map(|column| column.ty).collect();
    let columns = rows.columns().iter().map(|column| column.name.clone()).collect();
    let kinds = types.iter().map(kind_of).collect();
    let mut table = Table {
        columns,
        kinds,
        rows: Vec::new(),
    };
    while let Some(row) = rows.next_row()? {
        let values = types.iter().enumerate().map(|(column, ty)| {
            let datum = row.datum(column);
            (*datum != rukh::Datum::Null).then(|| ty.format_text(datum))
        });
        table.rows.push(values.collect());
    }
    Ok(table)
}

/// PostgreSQL's number of the type of intervals.
const INTERVAL: u32 = 1186;

/// PostgreSQL's numbers and names of the types of arrays.
const ARRAYS: [(u32, &str); 14] = [
    (1000, "_bool"),
    (1001, "_bytea"),
    (1005, "_int2"),
    (1007, "_int4"),
    (1009, "_text"),
    (1016, "_int8"),
    (1021, "_float4"),
    (1022, "_float8"),
    (1115, "_timestamp"),
    (1182, "_date"),
    (1183, "_time"),
    (1185, "_timestamptz"),
    (1187, "_interval"),
    (1231, "_numeric"),
];

fn type_name(ty: DataType, oid: Option<u32>) -> String {
    match (oid, ty) {
        (Some(INTERVAL), _) => "interval".to_owned(),
        (Some(oid), _) => match ARRAYS.iter().find(|(number, _)| *number == oid) {
            Some((_, name)) => (*name).to_owned(),
            // That of the enum of the random tables.
            None if rukh::element_of_enums(oid).is_some() => "_mood".to_owned(),
            None => format!("type {oid}"),
        },
        (None, DataType::TinyInt) => "smallint".to_owned(),
        (None, ty) if ty.is_bytes() => "bytea".to_owned(),
        (None, ty) => {
            let name = ty.postgres_name();
            name.split('(').next().unwrap_or_default().to_owned()
        }
    }
}

fn kind_of(ty: &DataType) -> ColumnKind {
    match ty {
        DataType::Char(_) => ColumnKind::Char,
        ty if ty.is_decimal() => ColumnKind::Decimal,
        DataType::Real | DataType::Double => ColumnKind::Float,
        _ => ColumnKind::Exact,
    }
}

/// Makes the time of a database stand still at a timestamp.
pub fn stop_clock(database: &Database, time: &str) {
    let Ok(Datum::Timestamp(micros)) = DataType::TIMESTAMP.parse_text(time) else {
        panic!("{time} is no timestamp");
    };
    database.set_time_source(Arc::new(move || micros));
}
