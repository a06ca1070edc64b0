//! COPY FROM: which field of the file fills which column.
//!
//! | file                   | fields are matched by                                         |
//! |------------------------|---------------------------------------------------------------|
//! | CSV, text, binary      | their place: the column list, else the table's columns        |
//! | … with HEADER          | the names in the first line                                   |
//! | … with HEADER skip     | their place                                                   |
//! | JSON, Parquet, Arrow   | their names                                                   |
//!
//! Names must be columns of the list, if there is one, else of the table; columns that the file does
//! not have take their default. `ROW_NUMBER c` fills column `c` with 1, 2, 3 … in the order of the file.

use std::fs::File;
use std::path::Path;

use rukh_syntax::{CopyFormat, CopySource, CopyStatement};

use super::client::CopyClient;
use super::formats::{binary, ipc, json, parquet};
use super::rejects::Rejects;
use super::rows_in::{Columns, Condition, null_rules};
use super::sink::Sink;
use crate::exec::session_settings::notice::Notice;
use crate::sql::copy::arriving::Arriving;
use crate::sql::copy::client::{CopyShape, FromClient, client_error};
use crate::sql::copy::errors::file_error;
use crate::sql::copy::formats::csv::Records;
use crate::sql::copy::rows_in::Import;
use crate::sql::dml::unchangeable;
use crate::sql::session::Session;
use crate::sql::statistics::analyze_after_load;
use rukh_error::SqlError;

/// Runs COPY FROM; returns the number of rows.
pub(super) fn import(
    session: &mut Session,
    statement: &CopyStatement,
    client: Option<&mut dyn CopyClient>,
) -> Result<u64, SqlError> {
    let CopySource::Table { name, columns } = &statement.source else {
        return Err(SqlError::syntax("COPY FROM takes a table"));
    };
    let table = session.table(name)?;
    if table.materialized.is_some() {
        return Err(unchangeable(&table).at(name.position));
    }
    let row_number = statement.options.row_number.as_ref();
    let columns = Columns::new(session, &table, columns, row_number)?;
    let rejects = Rejects::new(&statement.options.rejects, &statement.files)?;
    let in_bytes = matches!(
        statement.options.format,
        CopyFormat::Csv | CopyFormat::Text | CopyFormat::Json
    );
    let selection = statement.selection.as_ref();
    let condition = selection
        .map(|selection| Condition::new(&table, selection))
        .transpose()?;
    let null_rules = null_rules(&statement.options.forced, &columns)?;
    let sink = Sink::new(session, &table)?;
    let unit = if in_bytes { "bytes" } else { "rows" };
    let task = session.task(format!("copy {}", table.name), unit);
    let mut import = Import {
        path: Path::new(""),
        several: statement.files.len() > 1,
        engine: session.engine().clone(),
        columns,
        condition,
        null_rules,
        sink,
        rejects,
        task,
        total: 0,
        before: 0,
        reported: 0,
        rows: 0,
    };
    if in_bytes && client.is_none() {
        let sizes = statement.files.iter().map(std::fs::metadata);
        let sizes = sizes.map(|metadata| metadata.ok().filter(|metadata| metadata.is_file()));
        let sizes: Option<Vec<_>> = sizes.map(|metadata| Some(metadata?.len())).collect();
        sizes
            .into_iter()
            .for_each(|sizes| import.total(sizes.iter().sum()));
    }
    let read = match client {
        Some(client) => import.client(client, statement),
        None => {
            let mut files = statement.files.iter();
            files.try_for_each(|file| import.file(Path::new(file), statement))
        }
    };
    if let Err(error) = read.and_then(|()| import.push_chosen()) {
        return Err(Sink::explained(import.sink.stored(), error));
    }
    let Import {
        sink, mut rejects, ..
    } = import;
    rejects.finish()?;
    let task = session.task(format!("copy {}", table.name), "entries");
    let rows = sink.finish(&task)?;
    if rejects.count() > 0 {
        session.notice(Notice::new(format!("{} rows were skipped", rejects.count())));
    }
    analyze_after_load(session, &table, rows);
    Ok(rows)
}

impl<'a> Import<'a> {
    fn file(&mut self, path: &'a Path, statement: &CopyStatement) -> Result<(), SqlError> {
        self.path = path;
        self.before = self.reported;
        let file = File::open(path).map_err(|error| file_error("open", path, &error))?;
        match statement.options.format {
            CopyFormat::Csv | CopyFormat::Text => {
                let records = Records::new(file, &statement.options);
                self.records(
                    records.map_err(|error| file_error("read", path, &error))?,
                    statement,
                )
            }
            CopyFormat::Binary => binary::read(self, file),
            CopyFormat::Json => json::read(self, file),
            CopyFormat::Parquet => parquet::read(self, file),
            CopyFormat::Arrow | CopyFormat::ArrowStream => ipc::read(self, file),
        }
    }

    /// Reads what a client sends, up to its end.
    fn client(&mut self, client: &'a mut dyn CopyClient, statement: &CopyStatement) -> Result<(), SqlError> {
        self.path = Path::new("STDIN");
        let shape = CopyShape {
            from_client: true,
            is_binary: matches!(
                statement.options.format,
                CopyFormat::Binary | CopyFormat::Arrow | CopyFormat::ArrowStream
            ),
            columns: self.columns.allowed.len(),
        };
        client.begin(shape).map_err(client_error)?;
        let mut input = Arriving::new(FromClient(client));
        self.sink.wait_for(input.clone());
        match statement.options.format {
            CopyFormat::Json => json::read(self, &mut input)?,
            CopyFormat::Binary => binary::read(self, &mut input)?,
            CopyFormat::Arrow | CopyFormat::ArrowStream => ipc::read(self, &mut input)?,
            _ => {
                let records = Records::new(&mut input, &statement.options).map_err(client_error)?;
                self.records(records.ended_by_mark(), statement)?;
            }
        }
        input.drain()
    }
}
