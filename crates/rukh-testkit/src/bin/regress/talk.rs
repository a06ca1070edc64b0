//! Connections that send each statement as psql does: in the simple protocol, one answer for each.
//!
//! The client library runs COPY in the extended protocol. When one failed, it was now and then an answer behind from there on.

use crate::play::Answer;
use rukh_testkit::raw::{Raw, framed, text};

/// Why a statement has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sqlstate} {message}")]
pub struct Refusal {
    /// `XXXXX` where the connection ended.
    pub sqlstate: String,
    pub message: String,
}

/// One connection.
pub struct Talk(Raw);

impl Talk {
    /// Goes on where a connection has been made, and logs in.
    pub fn begin(connection: Raw, user: &str, database: &str) -> Talk {
        Talk(connection.logged_in(&[("user", user), ("database", database)]))
    }

    /// Runs a statement; COPY gets `rows`, or fails without them.
    pub fn ask(&mut self, sql: &str, rows: Option<&str>) -> Result<Answer, Refusal> {
        self.send(&framed(Some(b'Q'), &text(sql)))?;
        let answer = self.0.answer_with(|raw| match rows {
            Some(rows) => {
                raw.try_send(&framed(Some(b'd'), rows.as_bytes()))?;
                raw.try_send(&framed(Some(b'c'), b""))
            }
            None => raw.try_send(&framed(Some(b'f'), b"no rows are there\0")),
        });
        if answer.error.is_some() {
            return Err(Refusal {
                sqlstate: answer.sqlstate(),
                message: answer.field(b'M'),
            });
        }
        if answer.status == '-' {
            return Err(lost("the server closed the connection"));
        }
        let mut rows = answer.texts();
        // Lines of COPY TO are rows of one value.
        let lines = answer.messages.iter().filter(|message| message.kind == b'd');
        rows.extend(lines.map(|line| vec![Some(String::from_utf8_lossy(&line.body).into_owned())]));
        let columns: Vec<String> = answer
            .columns
            .into_iter()
            .flatten()
            .map(|(name, _)| name)
            .collect();
        // As the client library counts: tags without a number count nothing.
        let touched = |tag: &String| {
            tag.rsplit(' ')
                .next()
                .and_then(|count| count.parse().ok())
                .unwrap_or(0)
        };
        let count = answer.tags.last().filter(|_| columns.is_empty()).map(touched);
        Ok(Answer { columns, rows, count })
    }

    /// Runs statements whose answers do not matter.
    pub fn run(&mut self, sql: &str) -> Result<(), Refusal> {
        self.ask(sql, None).map(|_| ())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.0.try_send(bytes).map_err(|error| lost(&error.to_string()))
    }
}

fn lost(message: &str) -> Refusal {
    Refusal {
        sqlstate: "XXXXX".to_string(),
        message: message.to_string(),
    }
}
