//! Messages to clients: errors, notices, descriptions, and the words of PostgreSQL for them.

use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::data::{FieldDescription, RowDescription};
use pgwire::messages::response::{
    CommandComplete, ErrorResponse, NoticeResponse, ReadyForQuery, TransactionStatus as Status,
};
use rukh::{ColumnInfo, Error, Notice, TransactionStatus};

use crate::protocol::output::Format;
use crate::protocol::types::{WireType, modifier_of, size_of};

/// How bad an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The statement has failed.
    Error,
    /// The connection ends.
    Fatal,
}

/// Makes the message of an error; `offset` is added to its place in the text.
pub(crate) fn error(error: &Error, severity: Severity, offset: usize) -> Message {
    let severity = match severity {
        Severity::Error => "ERROR",
        Severity::Fatal => "FATAL",
    };
    let mut fields = head(severity, error.sqlstate, &error.message);
    fields.extend(error.detail.iter().map(|detail| (b'D', clean(detail))));
    fields.extend(error.hint.iter().map(|hint| (b'H', clean(hint))));
    let position = error.position.map(|position| position + offset);
    fields.extend(position.map(|position| (b'P', position.to_string())));
    fields.extend(objects(error).map(|(code, name)| (code, clean(name))));
    Message::ErrorResponse(ErrorResponse::new(fields))
}

/// Returns the names of what a violated constraint is about, which clients ask for by themselves.
///
/// The messages are PostgreSQL's, and name columns and constraints between quotes.
fn objects(error: &Error) -> impl Iterator<Item = (u8, &str)> {
    let after = |word: &str| {
        let (_, rest) = error.message.split_once(word)?;
        let (name, _) = rest.split_once('"')?;
        Some(name)
    };
    let (column, constraint) = match error.sqlstate {
        "23502" => (after("column \""), None),
        "23503" | "23505" | "23514" => (None, after("constraint \"")),
        _ => (None, None),
    };
    let table = error.violated.as_ref().map(|violated| violated.table.as_str());
    let named = [(b't', table), (b'c', column), (b'n', constraint)];
    named.into_iter().filter_map(|(code, name)| Some((code, name?)))
}

/// Makes the message of a notice.
pub(crate) fn notice(notice: &Notice) -> Message {
    let mut fields = head(notice.severity, notice.sqlstate, &notice.message);
    fields.extend(notice.hint.iter().map(|hint| (b'H', clean(hint))));
    Message::NoticeResponse(NoticeResponse::new(fields))
}

fn head(severity: &str, sqlstate: &str, message: &str) -> Vec<(u8, String)> {
    vec![
        (b'S', severity.to_string()),
        (b'V', severity.to_string()),
        (b'C', sqlstate.to_string()),
        (b'M', clean(message)),
    ]
}

/// A zero byte would end the text early.
fn clean(text: &str) -> String {
    text.replace('\0', "\\0")
}

/// Makes the description of rows.
pub(crate) fn columns(columns: &[ColumnInfo], formats: &[Format]) -> Message {
    let field = |(column, format): (&ColumnInfo, &Format)| {
        let wire = WireType::from(column);
        FieldDescription::new(
            clean(&column.name),
            0,
            0,
            wire.oid,
            size_of(wire),
            modifier_of(wire),
            format.code(),
        )
    };
    Message::RowDescription(RowDescription::new(
        columns.iter().zip(formats).map(field).collect(),
    ))
}

/// Makes the end of a statement.
pub(crate) fn complete(tag: &str, rows: u64) -> Message {
    Message::CommandComplete(CommandComplete::new(shown_tag(tag, rows)))
}

/// Returns a tag as PostgreSQL's clients know it: SELECT has the number of rows, and UPSERT, of which
/// they know nothing, is an INSERT.
fn shown_tag(tag: &str, rows: u64) -> String {
    match tag.strip_prefix("UPSERT ") {
        Some(count) => format!("INSERT 0 {count}"),
        None if tag == "SELECT" || tag == "FETCH" => format!("{tag} {rows}"),
        None => tag.to_string(),
    }
}

/// Makes the invitation to go on.
pub(crate) fn ready(status: TransactionStatus) -> Message {
    let status = match status {
        TransactionStatus::Idle => Status::Idle,
        TransactionStatus::Open => Status::Transaction,
        TransactionStatus::Aborted => Status::Error,
    };
    Message::ReadyForQuery(ReadyForQuery::new(status))
}
