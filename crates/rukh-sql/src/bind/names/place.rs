//! The place of an error in its statement, found by the name or the literal that the message quotes.
//!
//! DataFusion's errors name columns, tables and functions but not where they stand; the first mention
//! outside of strings and comments is where a user looks. A literal that is no value of its type is one of the statement's if it stands
//! there once.

use rukh_error::SqlError;

/// Adds the place to an error that names an object and has none.
pub(crate) fn located(error: SqlError, sql: &str) -> SqlError {
    let found = match error.sqlstate {
        _ if error.position.is_some() => None,
        state if names_an_object(state) => quoted_name(&error.message).and_then(|name| place_of(sql, name)),
        state if quotes_a_value(state) => {
            quoted_text(&error.message).and_then(|text| place_of_literal(sql, text))
        }
        _ => None,
    };
    match found {
        Some(position) => error.at(position),
        None => error,
    }
}

fn names_an_object(sqlstate: &str) -> bool {
    matches!(sqlstate, "42703" | "42P01" | "42702" | "42883" | "42704")
}

fn quotes_a_value(sqlstate: &str) -> bool {
    matches!(
        sqlstate,
        "22P02" | "22003" | "22007" | "22008" | "22009" | "22015"
    )
}

/// Returns what stands between the first quote of a message and the last.
fn quoted_text(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once('"')?;
    rest.rsplit_once('"').map(|(text, _)| text)
}

/// Returns the place of the only literal that is a text, in characters from 1.
fn place_of_literal(sql: &str, text: &str) -> Option<usize> {
    let literal = format!("'{}'", text.replace('\'', "''"));
    let mut found = sql.match_indices(&literal);
    match (found.next(), found.next()) {
        (Some((start, _)), None) => Some(sql[..start].chars().count() + 1),
        _ => None,
    }
}

/// Returns the last part of the name in the message: `"x"`, or the word behind `column` or `function`.
fn quoted_name(message: &str) -> Option<&str> {
    let name = match message.split_once('"') {
        Some((_, rest)) => rest.split('"').next()?,
        None => message.split_whitespace().nth(1)?,
    };
    Some(name)
}

/// Returns the place of the first mention of a name, in characters from 1.
fn place_of(sql: &str, name: &str) -> Option<usize> {
    let visible = without_strings(sql);
    let lower = visible.to_lowercase();
    let name = name.to_lowercase();
    if name.is_empty() || lower.len() != sql.len() {
        return None;
    }
    let mut from = 0;
    while let Some(found) = lower[from..].find(&name) {
        let (start, end) = (from + found, from + found + name.len());
        if !touches_word(&lower, start, end) {
            return Some(sql[..start].chars().count() + 1);
        }
        from = end;
    }
    None
}

fn touches_word(text: &str, start: usize, end: usize) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text[..start].chars().next_back().is_some_and(word) || text[end..].chars().next().is_some_and(word)
}

/// Returns the text with strings and line comments blanked out, byte for byte.
fn without_strings(sql: &str) -> String {
    let mut inside = None;
    let mut previous = ' ';
    let blank = |c: char| " ".repeat(c.len_utf8());
    sql.chars()
        .map(|c| {
            let shown = match (inside, c) {
                (None, '\'') => {
                    inside = Some('\'');
                    blank(c)
                }
                (None, '-') if previous == '-' => {
                    inside = Some('\n');
                    blank(c)
                }
                (Some(end), c) if c == end => {
                    inside = None;
                    blank(c)
                }
                (Some(_), c) => blank(c),
                (None, c) => c.to_string(),
            };
            previous = c;
            shown
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_found_where_they_stand_once() {
        let table = [
            (
                "SELECT 'é', date 'it''s'",
                "invalid input syntax for type date: \"it's\"",
                Some(18),
            ),
            (
                "SELECT int 'x', 'x'",
                "invalid input syntax for type integer: \"x\"",
                None,
            ),
            (
                "SELECT int '\"'",
                "invalid input syntax for type integer: \"\"\"",
                Some(12),
            ),
            ("SELECT 1", "invalid input syntax for type integer: \"x\"", None),
        ];
        for (sql, message, expected) in table {
            let error = located(SqlError::statement("22007", message), sql);
            assert_eq!(error.position, expected, "{sql}");
        }
    }

    #[test]
    fn names_are_found_outside_of_strings() {
        let table = [
            ("SELECT * FROM nowhere", "nowhere", Some(15)),
            ("SELECT 'x', x", "x", Some(13)),
            ("SELECT xx, x", "x", Some(12)),
            ("SELECT ü, x -- x", "x", Some(11)),
            ("SELECT 1", "x", None),
        ];
        for (sql, name, expected) in table {
            assert_eq!(place_of(sql, name), expected, "{sql}");
        }
    }
}
