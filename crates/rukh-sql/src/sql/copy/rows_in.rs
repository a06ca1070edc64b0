//! Records of files become rows of a table.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rukh_catalog::{Sequence, Table};
use rukh_engine::{Engine, Progress, Row, RowFunction, RowFunctions};
use rukh_keys::{DataType, Datum, ValueError};
use rukh_syntax::{CopyHeader, CopyOptions, CopyStatement, Expression, ForcedColumns, GivenColumns, Name};

use super::errors::file_error;
use super::formats::csv::{ReadError, Record, Records};
use super::lines::{csv_line, given_columns};
use super::rejects::Rejects;
use super::sink::Sink;
use crate::bind::types::expressions::{DefaultValue, Functions, stored_expression};
use crate::exec::session_settings::progress::Task;
use crate::exec::session_settings::transaction_time::TransactionTime;
use crate::pg::sequences::{Sequences, sequence_of_default};
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Rows between two reports of progress.
const REPORT_ROWS: u64 = 4096;

/// Rows that a condition is evaluated on at once.
const CHOSEN_ROWS: usize = 1024;

/// One COPY FROM under way.
pub(super) struct Import<'a> {
    /// The file that is read.
    pub(super) path: &'a Path,
    /// Whether there are others.
    pub(super) several: bool,
    pub(super) engine: Engine,
    pub(super) columns: Columns,
    pub(super) condition: Option<Condition>,
    /// By position in the table, when the word for NULL is NULL; all are `Unquoted` if it is empty.
    pub(super) null_rules: Vec<NullRule>,
    pub(super) sink: Sink<'a>,
    pub(super) rejects: Rejects,
    pub(super) task: Task,
    pub(super) total: u64,
    /// Units of the files before.
    pub(super) before: u64,
    pub(super) reported: u64,
    pub(super) rows: u64,
}

/// When the word for NULL is NULL in a column of CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NullRule {
    Unquoted,
    Quoted,
    Never,
    Always,
}

pub(super) fn null_rules(forced: &ForcedColumns, columns: &Columns) -> Result<Vec<NullRule>, SqlError> {
    let all = &columns.table.columns;
    let is_allowed = |(at, column): (usize, &'_ rukh_catalog::Column)| match columns.allowed.contains(&at) {
        true => column.name.clone(),
        false => String::new(),
    };
    let names: Vec<String> = all.iter().enumerate().map(is_allowed).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    check_columns(&columns.table, forced.null.as_ref())?;
    check_columns(&columns.table, forced.not_null.as_ref())?;
    let null = given_columns(forced.null.as_ref(), &names, "FORCE_NULL")?;
    let not_null = given_columns(forced.not_null.as_ref(), &names, "FORCE_NOT_NULL")?;
    if null.is_empty() && not_null.is_empty() {
        return Ok(Vec::new());
    }
    let is = |given: &[bool], at: usize| given.get(at).copied().unwrap_or_default();
    let rule = |at: usize| match (is(&null, at), is(&not_null, at)) {
        // As in PostgreSQL, which turns each into the other.
        (true, true) => NullRule::Quoted,
        (true, false) => NullRule::Always,
        (false, true) => NullRule::Never,
        (false, false) => NullRule::Unquoted,
    };
    Ok((0..names.len()).map(rule).collect())
}

/// Fails on a name that an option lists and the table does not have.
pub(super) fn check_columns(table: &Table, given: Option<&GivenColumns>) -> Result<(), SqlError> {
    let Some(GivenColumns::Named(names)) = given else {
        return Ok(());
    };
    names
        .iter()
        .try_for_each(|name| position_of(table, name).map(|_| ()))
}

/// WHERE: which rows are taken.
pub(super) struct Condition {
    pub(super) compiled: Arc<dyn RowFunction>,
    /// Rows that were not looked at yet.
    pub(super) waiting: Vec<Row>,
}

impl Condition {
    pub(super) fn new(table: &Table, Expression { expr, position }: &Expression) -> Result<Self, SqlError> {
        let stored = stored_expression(table, expr, "COPY FROM WHERE condition");
        let (typed, sql) = stored.map_err(|error| error.at(*position))?;
        if typed.ty != DataType::Boolean {
            let message = format!(
                "argument of WHERE must be type boolean, not type {}",
                typed.ty.postgres_name()
            );
            return Err(SqlError::statement("42804", message).at(*position));
        }
        let mut columns = typed.columns.iter().filter_map(|id| table.column(*id));
        if let Some(column) = columns.find(|column| column.values.generated.is_some()) {
            let message = "generated columns are not supported in COPY FROM WHERE conditions";
            let detail = format!("Column \"{}\" is a generated column.", column.name);
            return Err(SqlError::statement("42P10", message)
                .at(*position)
                .with_detail(detail));
        }
        Ok(Condition {
            compiled: Functions.compile(table, &sql, &DataType::Boolean)?,
            waiting: Vec::new(),
        })
    }

    /// Says which rows are taken.
    fn holds(&self, rows: &[Row]) -> Result<Vec<bool>, SqlError> {
        let rows: Vec<&[Datum]> = rows.iter().map(Vec::as_slice).collect();
        let values = self.compiled.evaluate(&rows)?;
        Ok(values
            .iter()
            .map(|value| *value == Datum::Boolean(true))
            .collect())
    }
}

/// The columns that a file may fill.
pub(super) struct Columns {
    pub(super) table: Arc<Table>,
    /// Positions in the table, in the order of the list.
    pub(super) allowed: Vec<usize>,
    /// Whether the statement lists them.
    pub(super) listed: bool,
    pub(super) row_number: Option<usize>,
    /// The number of the next row, in all files.
    pub(super) next_number: Arc<AtomicI64>,
    pub(super) sequences: Arc<Sequences>,
    /// The value of `now()` in defaults.
    time: TransactionTime,
}

impl Columns {
    pub(super) fn new(
        session: &Session,
        table: &Arc<Table>,
        list: &[Name],
        row_number: Option<&Name>,
    ) -> Result<Self, SqlError> {
        let row_number = row_number
            .map(|name| row_number_column(table, name))
            .transpose()?;
        let mut allowed = Vec::new();
        for name in list {
            let position = position_of(table, name)?;
            if table.columns[position].values.generated.is_some() {
                let message = format!("column \"{}\" is a generated column", name.text);
                return Err(SqlError::statement("42P10", message)
                    .at(name.position)
                    .with_detail("Generated columns cannot be used in COPY."));
            }
            if allowed.contains(&position) || row_number == Some(position) {
                let message = format!("column \"{}\" specified more than once", name.text);
                return Err(SqlError::statement("42701", message).at(name.position));
            }
            allowed.push(position);
        }
        if list.is_empty() {
            allowed = (0..table.declared_columns().len())
                .filter(|position| Some(*position) != row_number)
                .filter(|position| table.columns[*position].values.generated.is_none())
                .collect();
        }
        Ok(Columns {
            table: table.clone(),
            allowed,
            listed: !list.is_empty(),
            row_number,
            next_number: Arc::new(AtomicI64::new(1)),
            sequences: session.sequences.clone(),
            time: session.time.clone(),
        })
    }

    /// Returns the position of a column that the file names, by its exact name or in lower case.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        let is = |name: &str| {
            self.allowed
                .iter()
                .find(|p| self.table.columns[**p].name == name)
                .copied()
        };
        is(name).or_else(|| is(&name.to_ascii_lowercase()))
    }

    /// Returns name and type of a column.
    pub(super) fn column(&self, position: usize) -> (&str, &DataType) {
        let column = &self.table.columns[position];
        (&column.name, &column.ty)
    }

    /// Makes what completes rows whose fields fill these columns.
    pub(super) fn assembler(&self, fields: Vec<usize>) -> Result<Assembler, SqlError> {
        let mut numbered = Vec::new();
        let mut template = Vec::with_capacity(self.table.columns.len());
        for (position, column) in self.table.columns.iter().enumerate() {
            let is_given = fields.contains(&position) || self.row_number == Some(position);
            let default = column.default_sql().filter(|_| !is_given);
            let sequence = default.and_then(sequence_of_default);
            template.push(match (default, &sequence) {
                (Some(sql), None) => {
                    DefaultValue::compile(sql, &column.ty, &column.name, self.time.micros())?
                        .next(&column.ty, &column.name)?
                }
                _ => Datum::Null,
            });
            if let Some(name) = sequence {
                numbered.push((position, column.ty, self.sequences.named(&name)?));
            }
        }
        let row_number = self
            .row_number
            .map(|position| (position, self.table.columns[position].ty));
        Ok(Assembler {
            template,
            numbered,
            sequences: self.sequences.clone(),
            fields,
            row_number,
            next_number: self.next_number.clone(),
        })
    }

    /// Fails if a column of the list is not among these.
    pub(super) fn check_all_given(&self, fields: &[usize], place: &str) -> Result<(), SqlError> {
        let missing = self.allowed.iter().find(|position| !fields.contains(position));
        match missing.filter(|_| self.listed) {
            None => Ok(()),
            Some(position) => {
                let message = format!("column \"{}\" is not in {place}", self.column(*position).0);
                Err(SqlError::statement("22P04", message))
            }
        }
    }

    /// Makes the error for a name in the file that is none of the columns.
    pub(super) fn unknown(&self, name: &str, place: &str) -> SqlError {
        let message = format!(
            "column \"{name}\" of {place} is not a column of \"{}\" to copy",
            self.table.name
        );
        SqlError::statement("42703", message).with_hint(format!(
            "List the columns of the file: COPY {} (…) FROM ….",
            self.table.name
        ))
    }
}

fn position_of(table: &Table, name: &Name) -> Result<usize, SqlError> {
    table
        .columns
        .iter()
        .position(|column| column.name == name.text)
        .ok_or_else(|| {
            let message = format!(
                "column \"{}\" of relation \"{}\" does not exist",
                name.text, table.name
            );
            SqlError::statement("42703", message).at(name.position)
        })
}

fn row_number_column(table: &Table, name: &Name) -> Result<usize, SqlError> {
    let position = position_of(table, name)?;
    match table.columns[position].ty.is_integer() {
        true => Ok(position),
        false => {
            let message = format!("ROW_NUMBER column \"{}\" must be of an integer type", name.text);
            Err(SqlError::statement("42804", message).at(name.position))
        }
    }
}

/// Completes rows: defaults and row numbers.
pub(super) struct Assembler {
    pub(super) template: Row,
    /// Columns that take the next number of a sequence.
    pub(super) numbered: Vec<(usize, DataType, Arc<Sequence>)>,
    pub(super) sequences: Arc<Sequences>,
    /// Position in the table of each field.
    pub(super) fields: Vec<usize>,
    pub(super) row_number: Option<(usize, DataType)>,
    pub(super) next_number: Arc<AtomicI64>,
}

impl Assembler {
    /// Returns a row of defaults, numbered, to be filled in; its memory is that of another.
    pub(super) fn row(&mut self, mut row: Row) -> Result<Row, SqlError> {
        row.clone_from(&self.template);
        for (position, ty, sequence) in &self.numbered {
            row[*position] = ty.check(Datum::Int(self.sequences.next(sequence)?))?;
        }
        if let Some((position, ty)) = &self.row_number {
            let number = self.next_number.fetch_add(1, Ordering::Relaxed);
            row[*position] = ty.check(Datum::Int(number))?;
        }
        Ok(row)
    }
}

impl<'a> Import<'a> {
    /// Adds a row, and reports now and then; `done` says how far the file is read.
    fn push(&mut self, row: Row, done: impl FnOnce() -> u64) -> Result<(), SqlError> {
        match &mut self.condition {
            None => self.sink.push(row)?,
            Some(condition) => {
                condition.waiting.push(row);
                if condition.waiting.len() >= CHOSEN_ROWS {
                    self.push_chosen()?;
                }
            }
        }
        self.rows += 1;
        if self.rows.is_multiple_of(REPORT_ROWS) {
            let done = self.before + done();
            self.task
                .rename(format!("copy {}, {} rows", self.columns.table.name, self.rows));
            self.task.advance(done.saturating_sub(self.reported));
            self.reported = done;
            if self.task.cancelled() {
                return Err(SqlError::cancelled());
            }
        }
        Ok(())
    }

    /// Adds those of the rows that wait which the condition takes.
    pub(super) fn push_chosen(&mut self) -> Result<(), SqlError> {
        let Some(condition) = &mut self.condition else {
            return Ok(());
        };
        let holds = condition.holds(&condition.waiting)?;
        for (row, holds) in condition.waiting.drain(..).zip(holds) {
            if holds {
                self.sink.push(row)?;
            }
        }
        Ok(())
    }

    /// Adds the row of a line; where records may be passed over, one that breaks a rule of the table is.
    pub(super) fn push_checked(
        &mut self,
        mut row: Row,
        line: u64,
        done: impl FnOnce() -> u64,
        record: impl FnOnce() -> String,
    ) -> Result<(), SqlError> {
        // Rows that the condition excludes break no rule.
        if self.rejects.takes()
            && let Some(condition) = &self.condition
            && condition.holds(std::slice::from_ref(&row))? == [false]
        {
            return Ok(());
        }
        if self.rejects.takes()
            && let Err(error) = self.engine.check_row(&self.columns.table, &mut row)
        {
            return self.reject(error.into(), line, record);
        }
        self.push(row, done)
    }

    /// Passes over the record of a line, if that may be.
    pub(super) fn reject(
        &mut self,
        error: SqlError,
        line: u64,
        record: impl FnOnce() -> String,
    ) -> Result<(), SqlError> {
        self.rejects.add(error, self.path, line, record)
    }

    /// Announces how much is left to read.
    pub(super) fn total(&mut self, more: u64) {
        self.total = self.total.saturating_add(more);
        self.task.total(Some(self.total));
    }

    /// Adds to an error where in the file it arose, as PostgreSQL's CONTEXT does.
    pub(super) fn located(&self, error: SqlError, place: &str) -> SqlError {
        let copy = match self.several {
            true => format!(
                "COPY {}, file \"{}\", {place}",
                self.columns.table.name,
                self.path.display()
            ),
            false => format!("COPY {}, {place}", self.columns.table.name),
        };
        match &error.detail {
            None => error.with_detail(copy),
            Some(detail) => {
                let detail = format!("{detail} {copy}");
                error.with_detail(detail)
            }
        }
    }

    /// Reads CSV or text.
    pub(super) fn records<R: Read>(
        &mut self,
        mut records: Records<R>,
        statement: &CopyStatement,
    ) -> Result<(), SqlError> {
        let mut record = Record::default();
        let fields = match statement.options.header {
            CopyHeader::None => self.columns.allowed.clone(),
            CopyHeader::Skip | CopyHeader::Names if !self.next_record(&mut records, &mut record)? => {
                return Ok(());
            }
            CopyHeader::Skip => self.columns.allowed.clone(),
            CopyHeader::Names => self.header_fields(&record)?,
        };
        let mut assembler = self.columns.assembler(fields)?;
        while self.next_record(&mut records, &mut record)? {
            let text = || record_text(&record, &statement.options);
            let spent = self.sink.spent();
            match self.row(&record, &mut assembler, &statement.options.null, spent) {
                Ok(row) => self.push_checked(row, record.line, || records.bytes(), text)?,
                Err(error) => self.reject(error, record.line, text)?,
            }
        }
        Ok(())
    }

    fn next_record<R: Read>(&self, records: &mut Records<R>, record: &mut Record) -> Result<bool, SqlError> {
        records.read(record).map_err(|error| match error {
            ReadError::Io(error) => file_error("read", self.path, &error),
            ReadError::Sql(error, line) => self.located(*error, &format!("line {line}")),
        })
    }

    /// Returns the column of each field by the names in the first line.
    fn header_fields(&self, record: &Record) -> Result<Vec<usize>, SqlError> {
        let place = "the header line";
        let mut fields = Vec::with_capacity(record.len());
        for position in 0..record.len() {
            let name = String::from_utf8_lossy(record.field(position).0)
                .trim()
                .to_string();
            let column = self.columns.named(&name).ok_or_else(|| {
                let error = self.columns.unknown(&name, place);
                let hint = format!(
                    "{} Or pass over the line: HEADER skip.",
                    error.hint.clone().unwrap_or_default()
                );
                error.with_hint(hint)
            })?;
            if fields.contains(&column) {
                let message = format!("column \"{name}\" specified more than once in {place}");
                return Err(SqlError::statement("42701", message));
            }
            fields.push(column);
        }
        self.columns.check_all_given(&fields, place)?;
        Ok(fields)
    }

    fn row(
        &self,
        record: &Record,
        assembler: &mut Assembler,
        null: &str,
        spent: Row,
    ) -> Result<Row, SqlError> {
        let line = record.line;
        let in_line = |error: SqlError| self.located(error, &format!("line {line}"));
        if record.len() > assembler.fields.len() {
            return Err(in_line(SqlError::statement(
                "22P04",
                "extra data after last expected column",
            )));
        }
        if let Some(missing) = assembler.fields.get(record.len()) {
            let message = format!("missing data for column \"{}\"", self.columns.column(*missing).0);
            return Err(in_line(SqlError::statement("22P04", message)));
        }
        let mut row = assembler.row(spent).map_err(in_line)?;
        for (field, position) in assembler.fields.iter().enumerate() {
            let (bytes, quoted) = record.field(field);
            let is_null = bytes == null.as_bytes()
                && match self.null_rules.get(*position) {
                    None | Some(NullRule::Unquoted) => !quoted,
                    Some(NullRule::Quoted) => quoted,
                    Some(NullRule::Never) => false,
                    Some(NullRule::Always) => true,
                };
            row[*position] = match is_null {
                true => Datum::Null,
                false => self.value(bytes, *position, line)?,
            };
        }
        Ok(row)
    }

    fn value(&self, bytes: &[u8], position: usize, line: u64) -> Result<Datum, SqlError> {
        let (name, ty) = self.columns.column(position);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) if !bytes.contains(&0) => text,
            Ok(_) => {
                return Err(self.located(
                    ValueError::NullByte.into(),
                    &format!("line {line}, column {name}"),
                ));
            }
            Err(error) => {
                let place = format!("line {line}, column {name}");
                return Err(self.located(invalid_utf8(bytes, error), &place));
            }
        };
        ty.parse_text(text).map_err(|error| {
            let place = format!("line {line}, column {name}: \"{}\"", shortened(text));
            self.located(error.into(), &place)
        })
    }
}

/// Returns a record as a line of CSV again.
fn record_text(record: &Record, options: &CopyOptions) -> String {
    let fields = (0..record.len()).map(|position| {
        let (bytes, quoted) = record.field(position);
        let is_null = bytes == options.null.as_bytes() && !quoted;
        (!is_null).then(|| String::from_utf8_lossy(bytes).into_owned())
    });
    let mut line = csv_line(fields, options);
    line.pop();
    line
}

/// Makes the error for bytes that are no UTF-8; it names those that are not.
pub(super) fn invalid_utf8(bytes: &[u8], error: std::str::Utf8Error) -> SqlError {
    let start = error.valid_up_to();
    let length = error.error_len().unwrap_or(bytes.len() - start);
    let bad: Vec<String> = bytes[start..start + length]
        .iter()
        .map(|byte| format!("0x{byte:02x}"))
        .collect();
    SqlError::statement(
        "22021",
        format!("invalid byte sequence for encoding \"UTF8\": {}", bad.join(" ")),
    )
}

/// Returns a value as errors show it: at most 100 characters.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(100) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
