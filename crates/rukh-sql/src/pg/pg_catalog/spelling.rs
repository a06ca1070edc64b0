//! `format` and `parse_ident`: texts of SQL put together and taken apart.

use rukh_error::SqlError;
use rukh_functions::functions::texts::quoting::quoted_literal;
use rukh_syntax::quoted;

use super::table::Cell;

/// Most characters that a width of `format` makes of a value.
const WIDTH_MAX: usize = 1 << 20;

/// `format(template, …)`: `%s` a value, `%I` a name, `%L` a literal, `%2$s` the second value, `%-10s` padded.
pub(super) fn format(given: &[Cell]) -> Result<Cell, SqlError> {
    let [template, values @ ..] = given else {
        return Ok(Cell::Null);
    };
    if *template == Cell::Null {
        return Ok(Cell::Null);
    }
    let template = template.to_text();
    let mut written = String::new();
    let mut characters = template.chars().peekable();
    let mut next = 0;
    while let Some(character) = characters.next() {
        if character != '%' {
            written.push(character);
            continue;
        }
        if characters.next_if_eq(&'%').is_some() {
            written.push('%');
            continue;
        }
        let mut digits = String::new();
        while let Some(digit) = characters.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        if characters.next_if_eq(&'$').is_some() {
            let place: usize = digits.parse().unwrap_or(0);
            let none = || refused("format specifies argument 0, but arguments are numbered from 1");
            next = place.checked_sub(1).ok_or_else(none)?;
            digits.clear();
        }
        let left = characters.next_if_eq(&'-').is_some();
        while let Some(digit) = characters.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        let Some(kind) = characters.next() else {
            return Err(refused("unterminated format() type specifier"));
        };
        if !matches!(kind, 's' | 'I' | 'L') {
            let message = format!("unrecognized format() type specifier \"{kind}\"");
            return Err(refused(&message));
        }
        let value = values
            .get(next)
            .ok_or_else(|| refused("too few arguments for format()"))?;
        next += 1;
        let width = digits.parse().unwrap_or(0_usize).min(WIDTH_MAX);
        let value = spelled(kind, value)?;
        let padding = " ".repeat(width.saturating_sub(value.chars().count()));
        match left {
            true => written.extend([value, padding]),
            false => written.extend([padding, value]),
        }
    }
    Ok(written.into())
}

fn spelled(kind: char, value: &Cell) -> Result<String, SqlError> {
    match (kind, value) {
        ('s', Cell::Null) => Ok(String::new()),
        ('I', Cell::Null) => Err(SqlError::statement(
            "22004",
            "null values cannot be formatted as an SQL identifier",
        )),
        ('L', Cell::Null) => Ok("NULL".to_string()),
        ('I', value) => Ok(quoted(&shown(value))),
        ('L', value) => Ok(quoted_literal(&shown(value))),
        (_, value) => Ok(shown(value)),
    }
}

fn shown(value: &Cell) -> String {
    match value {
        Cell::Bool(value) => if *value { "t" } else { "f" }.to_string(),
        value => value.to_text(),
    }
}

fn refused(message: &str) -> SqlError {
    SqlError::statement("22023", message)
}

/// `parse_ident('"My schema".table')`: the parts of a name, as they are stored.
pub(super) fn parse_ident(given: &[Cell]) -> Result<Cell, SqlError> {
    let name = given[0].to_text();
    let strict = given.get(1) != Some(&Cell::Bool(false));
    let wrong = || {
        let message = format!("string is not a valid identifier: \"{name}\"");
        SqlError::statement("22023", message)
    };
    let mut rest = name.trim_start();
    let mut parts = Vec::new();
    loop {
        let part = match rest.strip_prefix('"') {
            Some(inner) => {
                let (part, after) = unquoted(inner).ok_or_else(wrong)?;
                rest = after;
                part
            }
            None => {
                let begins = |c: char| c.is_alphabetic() || c == '_';
                let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
                let end = rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
                let (part, after) = rest.split_at(end);
                if !part.starts_with(begins) {
                    return Err(wrong());
                }
                rest = after;
                part.to_lowercase()
            }
        };
        if part.is_empty() {
            return Err(wrong());
        }
        parts.push(Some(part));
        match rest.trim_start().strip_prefix('.') {
            Some(after) => rest = after.trim_start(),
            None if strict && !rest.trim_start().is_empty() => return Err(wrong()),
            None => return Ok(Cell::Texts(parts)),
        }
    }
}

/// Returns a name without the quotes around it, and what follows them.
fn unquoted(inner: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = inner;
    loop {
        let (before, after) = rest.split_once('"')?;
        part.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                part.push('"');
                rest = more;
            }
            None => return Some((part, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(result: Result<Cell, SqlError>) -> Result<Cell, &'static str> {
        result.map_err(|error| error.sqlstate)
    }

    #[test]
    fn texts_are_put_together() {
        let format = |template: &str, values: &[Cell]| {
            let given: Vec<Cell> = std::iter::once(template.into()).chain(values.to_vec()).collect();
            said(format(&given))
        };
        let names = ["a".into(), "B c".into(), "d'".into()];
        assert_eq!(format("%s-%I-%L", &names), Ok("a-\"B c\"-'d'''".into()));
        assert_eq!(
            format("%2$s %1$s %s|%%", &[1.into(), true.into()]),
            Ok("t 1 t|%".into())
        );
        let padded = ["é".into(), "b".into()];
        assert_eq!(format("[%5s|%-5s]", &padded), Ok("[    é|b    ]".into()));
        assert_eq!(format("%s%L", &[Cell::Null, Cell::Null]), Ok("NULL".into()));
        assert_eq!(format("%I", &[Cell::Null]), Err("22004"));
        for wrong in ["%s", "%", "%x", "%0$s"] {
            assert_eq!(format(wrong, &[]), Err("22023"), "{wrong}");
        }
    }

    #[test]
    fn names_are_taken_apart() {
        let parse = |name: &str| said(parse_ident(&[name.into()]));
        let parts = |parts: &[&str]| {
            let parts = parts.iter().map(|part| Some(part.to_string()));
            Ok(Cell::Texts(parts.collect()))
        };
        assert_eq!(parse("Public.Games"), parts(&["public", "games"]));
        assert_eq!(parse(" \"My \"\"s\" . t$1 "), parts(&["My \"s", "t$1"]));
        for wrong in ["", "1a", "a.", ".a", "a b", "\"a", "\"\"", "a-b"] {
            assert_eq!(parse(wrong), Err("22023"), "{wrong}");
        }
        let loose = parse_ident(&["a.b()".into(), false.into()]);
        assert_eq!(said(loose), parts(&["a", "b"]));
    }
}
