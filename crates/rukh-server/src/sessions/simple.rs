//! The simple protocol: a text of statements in, their results as text out.

use std::ops::Range;

use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::response::EmptyQueryResponse;
use rukh::{Error, IntervalStyle, Outcome, Rows, Statement, StatementKind, TransactionStatus};

use crate::protocol::messages;
use crate::protocol::output::{Format, write_row};
use crate::protocol::types::wire_types;
use crate::protocol::wire::WireError;
use crate::sessions::session::{Failure, Session};

impl Session {
    /// Runs the statements of a text; the first error ends them.
    pub(crate) fn simple_query(&mut self, text: &str) -> Result<(), WireError> {
        // The unnamed portal goes with every query.
        self.portals.remove("");
        match self.simple_statements(text) {
            Ok(()) => {}
            Err((Failure::Error(error), offset)) => {
                self.connection.abort_transaction();
                self.fail_at(*error, offset)?;
            }
            Err((Failure::Wire(error), _)) => return Err(error),
        }
        if let Err(error) = self.end_implicit() {
            self.fail_at(error, 0)?;
        }
        if self.connection.transaction_status() == TransactionStatus::Idle {
            self.portals.clear();
        }
        self.ready()
    }

    /// Runs the statements; an error comes with the characters before its statement.
    fn simple_statements(&mut self, text: &str) -> Result<(), (Failure, usize)> {
        if let Some(statement) = only_statement(text) {
            return self
                .timed(statement, |session| session.simple_statement(statement))
                .map_err(|error| (error, 0));
        }
        let split = rukh::split_statements(text);
        let mut places: Vec<Range<usize>> = split.statements;
        places.extend(Some(split.rest).filter(|rest| !rest.is_empty()));
        let offset = |place: &Range<usize>| text[..place.start].chars().count();
        if places.is_empty() {
            let empty = Message::EmptyQueryResponse(EmptyQueryResponse::new());
            return self.wire.push(empty).map_err(|error| (Failure::from(error), 0));
        }
        // Nothing runs if one of them cannot be read.
        let mut statements = Vec::with_capacity(places.len());
        for place in &places {
            let statement = self.connection.prepare(&text[place.clone()]);
            statements.push(statement.map_err(|error| (Failure::from(error), offset(place)))?);
        }
        let alone = statements.len() == 1;
        for (statement, place) in statements.iter().zip(&places) {
            self.timed(&text[place.clone()], |session| {
                session.one_of_many(statement, alone)
            })
            .map_err(|error| (error, offset(place)))?;
        }
        Ok(())
    }

    /// Runs a text that is one statement.
    fn simple_statement(&mut self, sql: &str) -> Result<(), Failure> {
        if let Some(done) = self.deallocate(sql)? {
            return Ok(self.wire.push(done)?);
        }
        if begins_copy(sql) {
            let statement = self.connection.prepare(sql)?;
            return self.one_of_many(&statement, true);
        }
        let outcome = self.connection.execute(sql)?;
        let kind = kind_of_tag(&outcome.tag);
        self.send(outcome)?;
        Ok(self.after(kind)?)
    }

    fn one_of_many(&mut self, statement: &Statement, alone: bool) -> Result<(), Failure> {
        let kind = statement.kind();
        if let Some(tag) = self.before(kind, alone)? {
            self.after(kind)?;
            return Ok(self.wire.push(messages::complete(tag, 0))?);
        }
        if statement.is_client_copy() {
            self.copy(statement)?;
            return Ok(self.after(kind)?);
        }
        let outcome = self.connection.execute_prepared(statement, &[])?;
        self.send(outcome)?;
        Ok(self.after(kind)?)
    }

    /// Sends the result of a statement as text.
    fn send(&mut self, mut outcome: Outcome) -> Result<(), Failure> {
        self.tell(std::mem::take(&mut outcome.notices))?;
        let mut sent = 0;
        if let Some(mut rows) = outcome.rows.take() {
            let formats = vec![Format::Text; rows.columns().len()];
            self.check_width(formats.len())?;
            self.wire.push(messages::columns(rows.columns(), &formats))?;
            sent = self.send_rows(&mut rows, &formats)?;
        }
        Ok(self.complete(outcome, sent)?)
    }

    /// Returns how the client wants intervals to be written.
    pub(super) fn interval_style(&self) -> Result<IntervalStyle, Failure> {
        let name = self.connection.setting("intervalstyle")?;
        Ok(IntervalStyle::of_name(&name).unwrap_or_default())
    }

    /// Sends rows to their end; returns how many.
    fn send_rows(&mut self, rows: &mut Rows, formats: &[Format]) -> Result<u64, Failure> {
        let types = wire_types(rows.columns());
        let style = self.interval_style()?;
        let mut sent = 0;
        while let Some(row) = rows.next_row()? {
            write_row(&row, &types, formats, style, &mut self.wire.output);
            sent += 1;
            if self.wire.send_when_full(&self.slot.cancel)? {
                self.check_cancelled()?;
            }
        }
        Ok(sent)
    }

    /// Fails on more columns than the protocol counts.
    pub(crate) fn check_width(&self, columns: usize) -> Result<(), Error> {
        match i16::try_from(columns) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::statement("54011", "a result has at most 32767 columns")),
        }
    }
}

/// Returns a text without what follows its only semicolon, if it surely is one statement.
fn only_statement(text: &str) -> Option<&str> {
    let text = text.trim_ascii();
    let text = text.strip_suffix(';').unwrap_or(text).trim_ascii_end();
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.contains(';');
    // A comment may hide the end.
    (plain && !text.contains("--") && !text.contains("/*")).then_some(text)
}

fn begins_copy(sql: &str) -> bool {
    sql.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("copy"))
}

/// Returns the kind of a statement that has run, as far as it matters then.
fn kind_of_tag(tag: &str) -> StatementKind {
    match tag {
        "BEGIN" | "START TRANSACTION" => StatementKind::Begin,
        "COMMIT" | "ROLLBACK" => StatementKind::End,
        "SET" | "RESET" => StatementKind::Setting,
        _ => StatementKind::Read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_statement() {
        assert_eq!(only_statement(" SELECT 1 ; "), Some("SELECT 1"));
        assert_eq!(only_statement("SELECT 1"), Some("SELECT 1"));
        for text in [
            "",
            ";",
            " ",
            "SELECT 1; SELECT 2",
            "SELECT ';'",
            "-- x",
            "SELECT 1 -- ;",
            "/* */ SELECT 1",
            "SELECT 1;;",
        ] {
            assert_eq!(only_statement(text), None, "{text:?}");
        }
    }
}
