//! Prepared statements and cursors of a session, which SQL names: PREPARE, EXECUTE, DECLARE, FETCH and their kin.
//!
//! A prepared statement is its text, parsed once; EXECUTE runs it as a client does that keeps the statement
//! itself, with the same plans. A cursor is the rows of a query that has begun, on the state of its transaction
//! when it was declared: what is fetched is made then, so that a cursor takes no more memory than a query. It goes
//! with its transaction, or with the savepoint that it was declared after. One WITH HOLD stays when its transaction
//! is committed, and goes on reading that state.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use parking_lot::Mutex;
use rukh_keys::{DataType, Datum};
use rukh_planner::Constant;

use crate::bind::names::type_names;
use crate::bind::spelling::parsing::parse_expression;
use crate::exec::held::{
    Cursor, Description, Fetch, Hold, Kept, KeptCursor, KeptPrepared, Made, Prepared, ScrolledFetch,
    check_room, no_cursor,
};
use crate::exec::rows::Rows;
use crate::exec::session_settings::cursors::ShownCursor;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::scalars::datums_from_array;
use rukh_syntax::{Discarded, Expression, FetchedRows, KeptStatement, Name};

impl Session {
    /// Runs a statement about what the session keeps, but for EXECUTE; returns its tag and rows.
    pub(crate) fn run_kept(
        &mut self,
        statement: &KeptStatement,
        params: &[Constant],
    ) -> Result<(String, Option<Rows>), SqlError> {
        let tag = match statement {
            KeptStatement::Prepare {
                name,
                types,
                casts,
                sql,
            } => {
                let prepared = match casts.is_empty() {
                    true => self.prepare(sql)?,
                    false => self.prepare(sql)?.with_casts(casts)?,
                };
                self.describe(&prepared, types)?;
                self.name_prepared(&name.text, &prepared, types)?;
                "PREPARE"
            }
            KeptStatement::Execute { .. } => {
                return Err(SqlError::internal("EXECUTE runs as the statement that it names"));
            }
            KeptStatement::Deallocate(None) => {
                self.kept.statements.clear();
                "DEALLOCATE ALL"
            }
            KeptStatement::Deallocate(Some(name)) => {
                self.kept.statement(name)?;
                self.kept.statements.remove(&name.text);
                "DEALLOCATE"
            }
            KeptStatement::Declare {
                name,
                sql,
                statement,
                scrolls,
                holds,
            } => {
                let shown = ShownCursor {
                    statement: statement.clone(),
                    holds: *holds,
                    scrolls: *scrolls,
                    declared: self.engine().now(),
                };
                self.declare(name, sql, params, shown)?;
                "DECLARE CURSOR"
            }
            KeptStatement::Fetch { name, rows, moves } => return self.fetch(name, *rows, *moves),
            KeptStatement::Close(None) => {
                self.kept.cursors.clear();
                "CLOSE CURSOR ALL"
            }
            KeptStatement::Close(Some(name)) => {
                self.kept
                    .cursors
                    .remove(&name.text)
                    .ok_or_else(|| no_cursor(name))?;
                "CLOSE CURSOR"
            }
            KeptStatement::Discard(Discarded::All) => {
                self.reset_settings(true);
                self.kept = Kept::default();
                self.sequences.forget();
                self.advisory.forget();
                self.discard_temporary()?;
                "DISCARD ALL"
            }
            // Plans are made again wherever definitions have changed.
            KeptStatement::Discard(Discarded::Plans) => "DISCARD PLANS",
            KeptStatement::Discard(Discarded::Sequences) => {
                self.sequences.forget();
                "DISCARD SEQUENCES"
            }
            KeptStatement::Discard(Discarded::Temporary) => {
                self.discard_temporary()?;
                "DISCARD TEMP"
            }
        };
        Ok((tag.to_string(), None))
    }

    /// Keeps a statement by a name, as PREPARE does, for a protocol in which statements have names.
    pub fn name_prepared(
        &mut self,
        name: &str,
        prepared: &Prepared,
        types: &[Option<DataType>],
    ) -> Result<(), SqlError> {
        if self.kept.statements.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::statement("42P05", message));
        }
        check_room(self.kept.statements.len(), "prepared statements")?;
        let kept = KeptPrepared {
            prepared: prepared.clone(),
            types: types.to_vec(),
        };
        self.kept.statements.insert(name.to_string(), kept);
        Ok(())
    }

    /// Removes a statement with a name; nothing happens if there is none.
    pub fn forget_prepared(&mut self, name: &str) {
        self.kept.statements.remove(name);
    }

    /// Returns the statement that EXECUTE names, with its parameters.
    pub(crate) fn executed(
        &mut self,
        name: &Name,
        arguments: &[Expression],
    ) -> Result<(Prepared, Vec<Constant>), SqlError> {
        let KeptPrepared { prepared, types } = self.kept.statement(name)?;
        let description = self.describe(&prepared, &types)?;
        let expected = description.parameters.len();
        if expected != arguments.len() {
            let message = format!(
                "wrong number of parameters for prepared statement \"{}\"",
                name.text
            );
            let detail = format!("Expected {expected} parameters but got {}.", arguments.len());
            return Err(SqlError::syntax(message).with_detail(detail));
        }
        let snapshot = self.snapshot();
        let mut params = Vec::with_capacity(expected);
        for (at, (argument, ty)) in arguments.iter().zip(&description.parameters).enumerate() {
            // An array comes as its text.
            let ty = match description.arrays.contains(&at) {
                true => &DataType::Varchar(None),
                false => ty,
            };
            let text = type_names::spelled_text(&argument.expr);
            let mut cast = parse_expression(&format!("CAST(({text}) AS {ty})"))?;
            type_names::resolve(&mut cast, &type_names::in_catalog(&snapshot.catalog));
            let value = self.evaluate(&snapshot, None, &cast, &[]);
            let value = value.map_err(|error| error.at(argument.position))?;
            let mut datums = datums_from_array(&value.to_array()?, ty)?.into_iter();
            params.push(Constant::new(datums.next().unwrap_or(Datum::Null), *ty));
        }
        Ok((prepared, params))
    }

    /// Describes the columns of EXECUTE.
    pub(crate) fn describe_executed(&mut self, name: &Name) -> Result<Arc<Description>, SqlError> {
        let KeptPrepared { prepared, types } = self.kept.statement(name)?;
        self.describe(&prepared, &types)
    }

    /// Returns the columns of a cursor's rows.
    pub(crate) fn cursor_schema(&mut self, name: &Name) -> Result<SchemaRef, SqlError> {
        Ok(self.kept.cursor(name)?.lock().rows.schema())
    }

    fn declare(
        &mut self,
        name: &Name,
        sql: &str,
        params: &[Constant],
        shown: ShownCursor,
    ) -> Result<(), SqlError> {
        let ShownCursor { holds, scrolls, .. } = shown;
        let (savepoints, hold) = match (self.savepoints(), holds) {
            (Some(savepoints), true) => (savepoints, Hold::IfCommitted),
            (Some(savepoints), false) => (savepoints, Hold::Transaction),
            (None, true) => (0, Hold::Session),
            (None, false) => {
                let message = "DECLARE CURSOR can only be used in transaction blocks";
                return Err(SqlError::statement("25P01", message));
            }
        };
        if self.kept.cursors.contains_key(&name.text) {
            let message = format!("cursor \"{}\" already exists", name.text);
            return Err(SqlError::statement("42P03", message));
        }
        check_room(self.kept.cursors.len(), "cursors")?;
        let prepared = self.prepare(sql)?;
        let outcome = self.execute_prepared(&prepared, params)?;
        let Some(rows) = outcome.rows else {
            return Err(SqlError::internal("a query has no rows"));
        };
        let cursor = Cursor {
            rows,
            rest: None,
            position: 0,
            is_over: false,
            made: scrolls.then(Made::default),
        };
        let kept = KeptCursor {
            cursor: Arc::new(Mutex::new(cursor)),
            savepoints,
            hold,
            shown: self.client.cursors.show(&name.text, shown),
        };
        self.kept.cursors.insert(name.text.clone(), kept);
        Ok(())
    }

    fn fetch(
        &mut self,
        name: &Name,
        rows: FetchedRows,
        moves: bool,
    ) -> Result<(String, Option<Rows>), SqlError> {
        let shared = self.kept.cursor(name)?;
        let mut cursor = shared.lock();
        if cursor.made.is_some() {
            let rows = cursor.scroll(rows)?;
            if moves {
                return Ok((format!("MOVE {}", rows.count), None));
            }
            let schema = cursor.rows.schema();
            drop(cursor);
            let rows = ScrolledFetch { cursor: shared, rows };
            return Ok(("FETCH".to_string(), Some(Rows::fetched(schema, rows))));
        }
        let backward = || {
            SqlError::statement("55000", "cursor can only scan forward")
                .with_hint("Declare it with SCROLL option to enable backward scan.")
        };
        let position = i64::try_from(cursor.position).unwrap_or(i64::MAX);
        let (passed, wanted) = match rows {
            FetchedRows::Next(rows) if rows > 0 => (0, rows),
            FetchedRows::All => (0, u64::MAX),
            FetchedRows::Relative(rows) if rows > 0 => (rows.unsigned_abs() - 1, 1),
            FetchedRows::Absolute(row) if row > position => ((row - 1 - position).unsigned_abs(), 1),
            _ => return Err(backward()),
        };
        cursor.pass(passed)?;
        if moves {
            return Ok((format!("MOVE {}", cursor.pass(wanted)?), None));
        }
        let schema = cursor.rows.schema();
        drop(cursor);
        let rows = Fetch {
            cursor: shared,
            left: wanted,
        };
        Ok(("FETCH".to_string(), Some(Rows::fetched(schema, rows))))
    }
}
