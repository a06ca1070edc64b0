//! Errors and notices as text, in the shape PostgreSQL's tools give them.
//!
//! ```text
//! load.sql:12: ERROR:  42P01: table "hots" does not exist
//! LINE 1: SELECT * FROM hots
//!                       ^
//! DETAIL:  …
//! HINT:  Perhaps you meant the table "hosts".
//! ```
//!
//! The place of a script comes first, as editors understand it; SQLSTATE only when verbose. Of a long line
//! only a window around the caret is shown.

use rukh::{Error, Notice};

use crate::base::error::CliError;
use crate::format::{escape_line, width};
use crate::sessions::settings::Verbosity;
use crate::words::lexer;

/// The columns of a statement shown around the caret.
const EXCERPT_WIDTH: usize = 60;
/// Columns kept after the caret when both sides are cut.
const EXCERPT_AFTER: usize = 20;

/// Returns the lines about `error`, each ended by a line feed; nothing for a closed pipe.
pub fn render(error: &CliError, verbosity: Verbosity) -> String {
    match error {
        CliError::ClosedPipe => String::new(),
        CliError::Placed { origin, line, source } => {
            let line = line + error_line(source);
            format!("{origin}:{line}: {}", render(source, verbosity))
        }
        CliError::Statement { sql, source } => statement(source, sql, verbosity),
        CliError::Open { path, source } => {
            let message = format!(
                "could not open database \"{}\": {}",
                path.display(),
                source.message
            );
            lines(
                "ERROR",
                &message,
                source.detail.as_deref(),
                source.hint.as_deref(),
                "",
            )
        }
        CliError::Command { message, hint } => lines("ERROR", message, None, hint.as_deref(), ""),
        _ => lines("ERROR", &error.to_string(), None, None, ""),
    }
}

/// Returns the lines about `notice`.
pub fn notice(notice: &Notice) -> String {
    lines(notice.severity, &notice.message, None, notice.hint.as_deref(), "")
}

fn statement(error: &Error, sql: &str, verbosity: Verbosity) -> String {
    let message = match verbosity {
        Verbosity::Verbose => format!("{}: {}", error.sqlstate, error.message),
        Verbosity::Default => error.message.clone(),
    };
    let place = error
        .position
        .map(|position| excerpt(sql, position))
        .unwrap_or_default();
    lines(
        "ERROR",
        &message,
        error.detail.as_deref(),
        error.hint.as_deref(),
        &place,
    )
}

fn lines(severity: &str, message: &str, detail: Option<&str>, hint: Option<&str>, place: &str) -> String {
    let mut text = format!("{severity}:  {message}\n{place}");
    for (label, sentence) in [("DETAIL", detail), ("HINT", hint)] {
        if let Some(sentence) = sentence {
            text.push_str(&format!("{label}:  {sentence}\n"));
        }
    }
    text
}

/// Returns how many lines below the start of its statement an error is.
fn error_line(error: &CliError) -> usize {
    match error {
        CliError::Statement { sql, source } => match source.position {
            Some(position) => locate(sql, position).line,
            None => sql[..lexer::first_word(sql).unwrap_or(0)].matches('\n').count(),
        },
        _ => 0,
    }
}

/// A character of a text.
struct Location<'a> {
    /// Lines before it.
    line: usize,
    /// The text of its line.
    text: &'a str,
    /// Bytes before it on its line.
    offset: usize,
}

/// Finds the character at the 1-based `position`; one past the end is the end.
fn locate(sql: &str, position: usize) -> Location<'_> {
    let at = sql
        .char_indices()
        .nth(position.saturating_sub(1))
        .map_or(sql.len(), |(at, _)| at);
    let start = sql[..at].rfind('\n').map_or(0, |feed| feed + 1);
    let end = sql[start..].find('\n').map_or(sql.len(), |len| start + len);
    Location {
        line: sql[..at].matches('\n').count(),
        text: &sql[start..end],
        offset: at - start,
    }
}

/// Returns the line of the statement that holds `position` and a caret under it.
fn excerpt(sql: &str, position: usize) -> String {
    let place = locate(sql, position);
    let (before, after) = place.text.split_at(place.offset);
    let (before, after) = (escape_line(before), escape_line(after.trim_end()));
    let (before, after) = window(&before, &after);
    let label = format!("LINE {}: ", place.line + 1);
    let caret = " ".repeat(width(&label) + width(&before));
    format!("{label}{before}{after}\n{caret}^\n")
}

/// Cuts the two sides of the caret so that both fit in [`EXCERPT_WIDTH`] columns.
fn window(before: &str, after: &str) -> (String, String) {
    if width(before) + width(after) <= EXCERPT_WIDTH {
        return (before.to_owned(), after.to_owned());
    }
    let before_max = EXCERPT_WIDTH - width(after).min(EXCERPT_AFTER);
    let shown_before = keep_end(before, before_max);
    let shown_after = keep_start(after, EXCERPT_WIDTH - width(&shown_before));
    (shown_before, shown_after)
}

fn keep_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept = fitting(text.chars(), columns.saturating_sub(3));
    kept.into_iter().chain("...".chars()).collect()
}

fn keep_end(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept = fitting(text.chars().rev(), columns.saturating_sub(3));
    "...".chars().chain(kept.into_iter().rev()).collect()
}

/// Returns the characters from the front that take at most `columns`.
fn fitting(characters: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut used = 0;
    let fits = |c: &char| {
        used += width(c.encode_utf8(&mut [0; 4]));
        used <= columns
    };
    characters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(sql: &str, position: Option<usize>) -> CliError {
        let error = Error {
            kind: rukh::ErrorKind::Statement,
            sqlstate: "42P01",
            message: "table \"hots\" does not exist".to_owned(),
            detail: None,
            hint: Some("Perhaps you meant \"hosts\".".to_owned()),
            position,
            violated: None,
        };
        CliError::statement(sql, error)
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        let error = failed("SELECT *\n  FROM hots -- '好'\n WHERE a = 1", Some(17));
        let expected = "ERROR:  table \"hots\" does not exist\n\
                        LINE 2:   FROM hots -- '好'\n               ^\n\
                        HINT:  Perhaps you meant \"hosts\".\n";
        assert_eq!(render(&error, Verbosity::Default), expected);
        let verbose = render(&error, Verbosity::Verbose);
        assert!(verbose.starts_with("ERROR:  42P01: table"), "{verbose}");
    }

    #[test]
    fn places_of_scripts_count_from_the_file() {
        let source = Box::new(failed("SELECT *\nFROM hots", Some(15)));
        let error = CliError::Placed {
            origin: "load.sql".to_owned(),
            line: 12,
            source,
        };
        assert!(render(&error, Verbosity::Default).starts_with("load.sql:13: ERROR:  table"));
    }

    #[test]
    fn excerpts() {
        let long = format!("SELECT {}, x, {}", "a, ".repeat(40), "b, ".repeat(40));
        let place = long.find('x').expect("x is there") + 1;
        let cases = [
            ("SELECT 1 +", 11, "LINE 1: SELECT 1 +\n                  ^\n"),
            ("SELECT 1 +", 99, "LINE 1: SELECT 1 +\n                  ^\n"),
            ("", 1, "LINE 1: \n        ^\n"),
            ("\tx\u{1b}", 2, "LINE 1:  x\\x1B\n         ^\n"),
            (
                "SELECT '好', x",
                13,
                "LINE 1: SELECT '好', x\n                     ^\n",
            ),
            ("a\r\nb", 4, "LINE 2: b\n        ^\n"),
            (
                &long,
                place,
                "LINE 1: ..., a, a, a, a, a, a, a, a, a, a, a, , x, b, b, b, b, b,...\n                                                ^\n",
            ),
        ];
        for (sql, position, expected) in cases {
            assert_eq!(excerpt(sql, position), expected, "{sql:?}");
        }
    }
}
