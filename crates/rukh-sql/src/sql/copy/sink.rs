//! Where imported rows go: few of them in one ordinary write, many in a bulk load.
//!
//! In a transaction block all are one write, in memory. In a store that takes no loads, each ten thousand are a write of their own,
//! so that memory is bounded; rows of a file that a journal notes are one, as the note is of all of them.

use std::sync::Arc;

use rukh_catalog::Table;
use rukh_engine::{Engine, ImportNote, Load, OnConflict, Progress, Row, Write};
use rukh_keys::Datum;
use rukh_kv::Durability;

use super::arriving::Arriving;
use crate::exec::session_settings::progress::Task;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Most rows that one ordinary write takes.
const WRITE_ROWS_MAX: u64 = 10_000;

/// Most bytes that one ordinary write takes.
const WRITE_BYTES_MAX: usize = 8 << 20;

/// Rows handed to a bulk load at once.
const LOAD_ROWS: usize = 4096;

/// Bytes handed to a bulk load at once.
const LOAD_BYTES: usize = 4 << 20;

/// Takes the rows of one COPY and makes them visible, all at once where the store takes loads.
pub(super) struct Sink<'a> {
    engine: Engine,
    table: Arc<Table>,
    durability: Durability,
    waiting: Vec<Row>,
    waiting_bytes: usize,
    load: Option<Load>,
    /// Rows whose memory is free.
    spent: Vec<Row>,
    /// The client that sends the rows; a load begins only after the last of them.
    arriving: Option<Arriving<'a>>,
    /// The write that all rows go to, if they are not to be loaded.
    write: Option<Write>,
    /// What is stored with the rows.
    imported: Option<ImportNote>,
    rows: u64,
    /// Rows that are stored whatever becomes of the others.
    stored: u64,
}

impl<'a> Sink<'a> {
    pub(super) fn new(session: &mut Session, table: &Arc<Table>) -> Result<Self, SqlError> {
        let write = match session.is_in_block() {
            true => Some(session.begin_write()?),
            false => None,
        };
        Ok(Sink {
            engine: session.engine().clone(),
            table: table.clone(),
            durability: session.durability(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            load: None,
            spent: Vec::new(),
            arriving: None,
            write,
            imported: session.imported.take(),
            rows: 0,
            stored: 0,
        })
    }

    /// Sets the client that sends the rows.
    pub(super) fn wait_for(&mut self, arriving: Arriving<'a>) {
        self.arriving = Some(arriving);
    }

    /// Adds a row of all columns in declared order.
    pub(super) fn push(&mut self, row: Row) -> Result<(), SqlError> {
        self.rows += 1;
        self.waiting_bytes += row.iter().map(datum_bytes).sum::<usize>();
        self.waiting.push(row);
        let (rows_max, bytes_max) = match self.load {
            Some(_) => (LOAD_ROWS, LOAD_BYTES),
            None => (WRITE_ROWS_MAX as usize, WRITE_BYTES_MAX),
        };
        if self.waiting.len() >= rows_max || self.waiting_bytes >= bytes_max {
            self.pass_on()?;
        }
        Ok(())
    }

    /// Hands waiting rows to the write of all, or to the bulk load; which of them it is starts now if it has not.
    fn pass_on(&mut self) -> Result<(), SqlError> {
        if self.write.is_none()
            && self.load.is_none()
            && let Some(arriving) = &self.arriving
        {
            arriving.wait(&self.engine)?;
        }
        if self.write.is_none() && self.engine.can_load() {
            // Rows that refer to one another are checked when all are there.
            let mut keys = self.table.foreign_keys.iter();
            if keys.any(|key| key.referenced == self.table.id) {
                self.write = Some(self.engine.begin()?);
            }
        }
        if self.write.is_none() && !self.engine.can_load() {
            let mut write = self.engine.begin()?;
            if self.imported.is_none() {
                self.waiting_bytes = 0;
                let rows = std::mem::take(&mut self.waiting);
                let count = rows.len() as u64;
                write.insert(&self.table, rows, OnConflict::Error)?;
                write.commit(self.durability)?;
                self.stored += count;
                return Ok(());
            }
            self.write = Some(write);
        }
        if let Some(write) = &mut self.write {
            self.waiting_bytes = 0;
            write.insert(&self.table, std::mem::take(&mut self.waiting), OnConflict::Error)?;
            return Ok(());
        }
        if self.load.is_none() {
            self.load = Some(self.engine.load(self.table.id)?);
        }
        self.waiting_bytes = 0;
        let rows = std::mem::take(&mut self.waiting);
        match &mut self.load {
            Some(load) => {
                self.spent = load.add(rows)?;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Returns a row to be filled, with any values.
    pub(super) fn spent(&mut self) -> Row {
        self.spent.pop().unwrap_or_default()
    }

    /// Adds to an error how many rows are stored all the same.
    pub(super) fn explained(stored: u64, error: SqlError) -> SqlError {
        if stored == 0 {
            return error;
        }
        let parts = format!(
            "The first {stored} rows are stored: this storage takes a large COPY in parts, unless it is in a transaction block."
        );
        let detail = match &error.detail {
            Some(detail) => format!("{detail} {parts}"),
            None => parts,
        };
        error.with_detail(detail)
    }

    /// Returns how many rows are stored whatever becomes of the others.
    pub(super) fn stored(&self) -> u64 {
        self.stored
    }

    /// Makes all rows visible; returns how many. Fails on keys that are taken, and then adds none but those stored before.
    pub(super) fn finish(self, task: &Task) -> Result<u64, SqlError> {
        let stored = self.stored;
        self.finish_rest(task)
            .map_err(|error| Sink::explained(stored, error))
    }

    fn finish_rest(mut self, task: &Task) -> Result<u64, SqlError> {
        if self.load.is_some() {
            self.pass_on()?;
        }
        if let Some(mut load) = self.load {
            if let Some(note) = self.imported {
                load.note_import(note);
            }
            return Ok(load.finish_watched(task)?);
        }
        let mut write = match self.write {
            Some(write) => write,
            None => self.engine.begin()?,
        };
        if let Some(note) = self.imported {
            write.note_import(note);
        }
        write.insert(&self.table, self.waiting, OnConflict::Error)?;
        if task.cancelled() {
            return Err(SqlError::cancelled());
        }
        write.commit(self.durability)?;
        Ok(self.rows)
    }
}

fn datum_bytes(datum: &Datum) -> usize {
    let more = match datum {
        Datum::Text(text) => text.len(),
        Datum::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    size_of::<Datum>() + more
}
