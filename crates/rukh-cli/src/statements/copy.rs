//! `\copy`: files of this machine in and out.
//!
//! | written                                    | done                                             |
//! |--------------------------------------------|--------------------------------------------------|
//! | `t [(a, b)] FROM 'f' [WITH (…)]`           | `COPY t (a, b) FROM 'f' WITH (…)` by the database |
//! | `t [(a, b)] TO 'f'`, `(query) TO 'f'`      | the rows of the query, written here               |
//! | `… TO STDOUT`                              | the same to where results go                      |
//!
//! Without FORMAT the end of the file's name gives the format, and CSV is the rest. As in COPY, a CSV file
//! has a header only with HEADER, and JSON is one object a line. Formats and options that are not known
//! here (Parquet, QUOTE, …) make the database write the file: `COPY … TO 'f' …`.

use std::path::Path;

use crate::base::error::CliError;
use crate::base::output::Output;
use crate::format::{Format, Frame, Style};
use crate::sessions::session::Session;
use crate::sessions::settings::Switch;
use crate::words::lexer::{self, Kind, Token};

/// A `\copy` taken apart.
#[derive(Debug, PartialEq)]
enum Copy {
    /// The database reads or writes a file.
    Statement {
        /// The statement for the database.
        sql: String,
    },
    /// Rows are written here.
    Export {
        /// The statement that gives the rows.
        query: String,
        /// The file, or standard output without it.
        path: Option<String>,
        format: Format,
        style: Style,
    },
}

/// Runs `\copy` with all that follows the word.
pub fn run(session: &mut Session, arguments: &str) -> Result<(), CliError> {
    match parse(arguments)? {
        Copy::Statement { sql } => session.run_statement(&sql),
        Copy::Export {
            query,
            path: None,
            format,
            style,
        } => session.export(&query, format, &style, None),
        Copy::Export {
            query,
            path: Some(path),
            format,
            style,
        } => {
            let mut output = Output::file(Path::new(&path))?;
            session.export(&query, format, &style, Some(&mut output))
        }
    }
}

fn parse(text: &str) -> Result<Copy, CliError> {
    let words: Vec<Token> = lexer::tokens(text)
        .into_iter()
        .filter(|token| !is_space(token))
        .collect();
    let direction = find_direction(text, &words).ok_or_else(|| {
        CliError::command("\\copy: FROM or TO expected after a table or a query in parentheses")
    })?;
    let target = text[..words[direction].span.start].trim();
    let (place, after) = file_name(text, &words[direction + 1..])?;
    let options = text[after..].trim();
    if text[words[direction].span.clone()].eq_ignore_ascii_case("from") {
        return from(target, place, options);
    }
    match (options_of(options, place.as_deref())?, place) {
        (Some((format, style)), path) => Ok(Copy::Export {
            query: query_of(target),
            path,
            format,
            style,
        }),
        (None, Some(path)) => Ok(Copy::Statement {
            sql: statement(target, "TO", &path, options),
        }),
        (None, None) => Err(CliError::command(
            "\\copy: option not recognized for standard output",
        )),
    }
}

fn statement(target: &str, direction: &str, path: &str, options: &str) -> String {
    let path = path.replace('\'', "''");
    format!("COPY {target} {direction} '{path}' {options}")
        .trim_end()
        .to_owned()
}

fn is_space(token: &Token) -> bool {
    matches!(token.kind, Kind::Space | Kind::Comment(_))
}

/// Returns the position of the FROM or TO that stands outside parentheses.
fn find_direction(text: &str, words: &[Token]) -> Option<usize> {
    let mut depth = 0;
    words.iter().enumerate().find_map(|(position, token)| {
        let word = &text[token.span.clone()];
        match (token.kind, word) {
            (Kind::Symbol, "(") => depth += 1,
            (Kind::Symbol, ")") => depth -= 1,
            _ => {}
        }
        let direction =
            token.kind == Kind::Word && ["from", "to"].iter().any(|name| word.eq_ignore_ascii_case(name));
        (depth == 0 && position > 0 && direction).then_some(position)
    })
}

/// Returns the file named by the first of `words`, none for standard input or output, and where it ends.
///
/// A bare name reaches to the next blank, so that `a-b.csv` needs no quotes.
fn file_name(text: &str, words: &[Token]) -> Result<(Option<String>, usize), CliError> {
    let Some(first) = words.first() else {
        return Err(CliError::command("\\copy: file name expected"));
    };
    let written = &text[first.span.clone()];
    if first.kind == Kind::String(lexer::Closed::Yes) && written.starts_with('\'') {
        return Ok((
            Some(written[1..written.len() - 1].replace("''", "'")),
            first.span.end,
        ));
    }
    let rest = &text[first.span.start..];
    let len = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let name = &rest[..len];
    let standard = ["stdin", "stdout", "pstdin", "pstdout"]
        .iter()
        .any(|stream| name.eq_ignore_ascii_case(stream));
    Ok(((!standard).then(|| name.to_owned()), first.span.start + len))
}

fn from(target: &str, path: Option<String>, options: &str) -> Result<Copy, CliError> {
    let Some(path) = path else {
        return Err(CliError::Command {
            message: "\\copy: rows cannot be read from standard input".to_owned(),
            hint: Some("Name a file; /dev/stdin is one while statements come from elsewhere.".to_owned()),
        });
    };
    Ok(Copy::Statement {
        sql: statement(target, "FROM", &path, options),
    })
}

/// Returns the query for `(query)`, `table` or `table (columns)`.
fn query_of(target: &str) -> String {
    if let Some(query) = target.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return query.trim().to_owned();
    }
    match target.split_once('(') {
        Some((table, columns)) => format!(
            "SELECT {} FROM {}",
            columns.trim_end_matches(')').trim(),
            table.trim()
        ),
        None => format!("SELECT * FROM {target}"),
    }
}

/// Understands `[WITH] (FORMAT csv, HEADER true, …)` and psql's older `[WITH] csv header`; none when an option
/// or format is not known here.
fn options_of(text: &str, path: Option<&str>) -> Result<Option<(Format, Style)>, CliError> {
    let mut format = path.map_or(Some(Format::Csv), |path| format_of_path(Path::new(path)));
    let mut style = Style {
        frame: Frame::RowsOnly,
        ..Style::default()
    };
    let mut words = option_words(text).into_iter().peekable();
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .ok_or_else(|| CliError::command(format!("\\copy: \"{word}\" needs a value")))
        };
        match word.to_ascii_lowercase().as_str() {
            "with" | "as" => {}
            "format" => format = format_of_name(&unquoted(&value()?)),
            "null" => style.null = unquoted(&value()?),
            "delimiter" => style.delimiter = delimiter(&unquoted(&value()?))?,
            "header" => {
                let switch = words.next_if(|next| Switch::from_name(&unquoted(next)).is_some());
                let off =
                    switch.and_then(|switch| Switch::from_name(&unquoted(&switch))) == Some(Switch::Off);
                style.frame = if off { Frame::RowsOnly } else { Frame::Full };
            }
            name => match format_of_name(name) {
                Some(named) => format = Some(named),
                None => return Ok(None),
            },
        }
    }
    if format != Some(Format::Csv) {
        style.frame = Frame::Full;
    }
    Ok(format.map(|format| (format, style)))
}

/// Returns the format of a name; none for one that only the database writes.
fn format_of_name(name: &str) -> Option<Format> {
    match Format::from_name(name)? {
        Format::Json => Some(Format::Jsonl),
        format => Some(format),
    }
}

/// Returns the format that the end of a file's name gives; CSV for any other end.
fn format_of_path(path: &Path) -> Option<Format> {
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or("csv");
    if extension.eq_ignore_ascii_case("parquet") {
        None
    } else {
        format_of_name(extension).or(Some(Format::Csv))
    }
}

fn option_words(text: &str) -> Vec<String> {
    let punctuation = |token: &Token| matches!(&text[token.span.clone()], "(" | ")" | ",");
    let tokens = lexer::tokens(text)
        .into_iter()
        .filter(|token| !is_space(token) && !punctuation(token));
    tokens.map(|token| text[token.span].to_owned()).collect()
}

fn unquoted(word: &str) -> String {
    let inner = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inner.map_or_else(|| word.to_owned(), |inner| inner.replace("''", "'"))
}

fn delimiter(text: &str) -> Result<char, CliError> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) if !matches!(only, '"' | '\n' | '\r') => Ok(only),
        _ => Err(CliError::command("\\copy: delimiter must be a single character")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(query: &str, path: Option<&str>, format: Format, style: Style) -> Copy {
        Copy::Export {
            query: query.to_owned(),
            path: path.map(str::to_owned),
            format,
            style,
        }
    }

    #[test]
    fn directions() {
        let full = Style::default;
        let bare = || Style {
            frame: Frame::RowsOnly,
            ..Style::default()
        };
        let odd = Style {
            delimiter: ';',
            null: "N'A".to_owned(),
            frame: Frame::Full,
        };
        let statement = |sql: &str| Copy::Statement { sql: sql.to_owned() };
        let cases = [
            ("t FROM 'a b.csv'", statement("COPY t FROM 'a b.csv'")),
            (
                "t(a, b) from /tmp/it's.csv WITH (HEADER)",
                statement("COPY t(a, b) FROM '/tmp/it''s.csv' WITH (HEADER)"),
            ),
            (
                "t TO 'o.csv'",
                to("SELECT * FROM t", Some("o.csv"), Format::Csv, bare()),
            ),
            (
                "\"T\" (a, \"B\") TO o.jsonl",
                to(
                    "SELECT a, \"B\" FROM \"T\"",
                    Some("o.jsonl"),
                    Format::Jsonl,
                    full(),
                ),
            ),
            (
                "(SELECT a FROM t WHERE b IN (1) AND c = 'to') TO 'o.md'",
                to(
                    "SELECT a FROM t WHERE b IN (1) AND c = 'to'",
                    Some("o.md"),
                    Format::Markdown,
                    full(),
                ),
            ),
            (
                "(SELECT from_x FROM t) TO STDOUT",
                to("SELECT from_x FROM t", None, Format::Csv, bare()),
            ),
            (
                "t TO 'o.txt' WITH (FORMAT json)",
                to("SELECT * FROM t", Some("o.txt"), Format::Jsonl, full()),
            ),
            (
                "t TO o with csv header",
                to("SELECT * FROM t", Some("o"), Format::Csv, full()),
            ),
            (
                "t TO o (DELIMITER ';', NULL 'N''A', HEADER true)",
                to("SELECT * FROM t", Some("o"), Format::Csv, odd),
            ),
            ("t TO 'o.parquet'", statement("COPY t TO 'o.parquet'")),
            (
                "(SELECT 1) TO o (QUOTE '~')",
                statement("COPY (SELECT 1) TO 'o' (QUOTE '~')"),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(
                parse(text).map_err(|error| error.to_string()),
                Ok(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn mistakes() {
        let cases = [
            (
                "",
                "\\copy: FROM or TO expected after a table or a query in parentheses",
            ),
            (
                "t",
                "\\copy: FROM or TO expected after a table or a query in parentheses",
            ),
            ("t TO", "\\copy: file name expected"),
            ("t FROM stdin", "\\copy: rows cannot be read from standard input"),
            (
                "t TO STDOUT (QUOTE '~')",
                "\\copy: option not recognized for standard output",
            ),
            (
                "t TO o (DELIMITER 'ab')",
                "\\copy: delimiter must be a single character",
            ),
            ("t TO o (NULL", "\\copy: \"NULL\" needs a value"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                parse(text).map_err(|error| error.to_string()),
                Err(expected.to_owned()),
                "{text}"
            );
        }
    }
}
