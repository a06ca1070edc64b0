//! Finds where statements end in a text of many, without parsing them.
//!
//! A semicolon ends a statement unless it stands in one of
//!
//! | construct           | example            | ends with                                        |
//! |---------------------|--------------------|--------------------------------------------------|
//! | string              | `'it''s; fine'`    | a quote that is not doubled                      |
//! | escape string       | `E'\'; '`          | the same, and a backslash guards the next character |
//! | quoted name         | `"a;""b"`          | a double quote that is not doubled               |
//! | dollar-quoted text  | `$tag$ ; $tag$`    | the same tag                                     |
//! | comment to line end | `-- ;`             | the end of the line                              |
//! | block comment, hint | `/* /* ; */ ; */`  | as many `*/` as `/*`                             |
//!
//! The rules are PostgreSQL's. Everything outside of these constructs is passed over, so text that
//! is no SQL splits as well and fails later, statement by statement.

use std::ops::Range;

/// The statements of a text, as byte ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Statements that a semicolon ends, without it, and without blanks and comments around them.
    /// Empty statements are left out.
    pub statements: Vec<Range<usize>>,
    /// What follows the last semicolon: empty if that is nothing but blanks and comments, else a
    /// statement that is not ended. Inside of an open string, name or comment it reaches to the end.
    pub rest: Range<usize>,
}

/// Splits a text at the semicolons that end statements.
///
/// | text                      | statements           | rest      |
/// |---------------------------|----------------------|-----------|
/// | `select 1; select 2`      | `select 1`           | `select 2` |
/// | `select ';';`             | `select ';'`         |           |
/// | `;; -- nothing`           |                      |           |
/// | `select 'a`               |                      | `select 'a` |
pub fn split_statements(sql: &str) -> Split {
    let mut split = Split {
        statements: Vec::new(),
        rest: sql.len()..sql.len(),
    };
    let mut open: Option<Range<usize>> = None;
    let mut at = 0;
    while at < sql.len() {
        let piece = next_piece(sql, at);
        at = piece.end;
        match piece.kind {
            Kind::Semicolon => split.statements.extend(open.take()),
            Kind::Blank => {}
            Kind::Text => open.get_or_insert(piece.start..at).end = at,
        }
    }
    if let Some(rest) = open {
        split.rest = rest;
    }
    split
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// White space or a whole comment: no part of a statement at its edges.
    Blank,
    Semicolon,
    /// Anything else, and constructs that are not closed.
    Text,
}

struct Piece {
    kind: Kind,
    start: usize,
    end: usize,
}

/// Reads the construct that starts at `start`, which is less than the length of the text.
fn next_piece(sql: &str, start: usize) -> Piece {
    let rest = &sql[start..];
    let (kind, length) = match rest.as_bytes()[0] {
        b';' => (Kind::Semicolon, 1),
        b'\'' => text(quoted(rest, b'\'', false), rest),
        b'"' => text(quoted(rest, b'"', false), rest),
        b'e' | b'E' if rest[1..].starts_with('\'') => {
            text(quoted(&rest[1..], b'\'', true).map(|length| length + 1), rest)
        }
        b'$' => text(dollar_quoted(rest), rest),
        b'-' if rest.starts_with("--") => (Kind::Blank, line_length(rest)),
        b'/' if rest.starts_with("/*") => match block_comment(rest) {
            Some(length) => (Kind::Blank, length),
            None => (Kind::Text, rest.len()),
        },
        _ => plain(rest),
    };
    Piece {
        kind,
        start,
        end: start + length,
    }
}

/// A construct of a known length, or one that is not closed and takes all.
fn text(length: Option<usize>, rest: &str) -> (Kind, usize) {
    (Kind::Text, length.unwrap_or(rest.len()))
}

/// Passes over one word, or one other character.
fn plain(rest: &str) -> (Kind, usize) {
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    if word > 0 {
        return (Kind::Text, word);
    }
    let first = rest.chars().next().map_or(1, char::len_utf8);
    let blank = rest.starts_with(char::is_whitespace);
    (if blank { Kind::Blank } else { Kind::Text }, first)
}

/// Whether a character may stand inside of a word; a `$` there starts no dollar quote.
fn is_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_ascii_alphanumeric() || (!c.is_ascii() && !c.is_whitespace())
}

/// Returns the length of a quoted construct that starts with `quote`, or `None` if it is open.
fn quoted(rest: &str, quote: u8, escapes: bool) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Returns the length of a dollar-quoted text, 1 for a dollar that quotes nothing, or `None` if it
/// is open.
fn dollar_quoted(rest: &str) -> Option<usize> {
    let tag = rest[1..]
        .find(|c| c == '$' || !is_word(c))
        .map(|length| &rest[1..1 + length]);
    let Some(tag) = tag.filter(|tag| rest[1 + tag.len()..].starts_with('$')) else {
        return Some(1);
    };
    if tag.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(1);
    }
    let delimiter = &rest[..tag.len() + 2];
    let body = &rest[delimiter.len()..];
    body.find(delimiter)
        .map(|end| delimiter.len() + end + delimiter.len())
}

fn line_length(rest: &str) -> usize {
    rest.find(['\n', '\r']).unwrap_or(rest.len())
}

/// Returns the length of a comment with all comments nested in it, or `None` if it is open.
fn block_comment(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut depth = 1;
    let mut at = 2;
    while depth > 0 {
        match bytes.get(at..at + 2)? {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, statements: &[&str], rest: &str) {
        let split = split_statements(sql);
        let found: Vec<_> = split.statements.iter().map(|range| &sql[range.clone()]).collect();
        assert_eq!(found, statements, "statements of {sql:?}");
        assert_eq!(&sql[split.rest.clone()], rest, "rest of {sql:?}");
    }

    #[test]
    fn semicolons_end_statements() {
        check("", &[], "");
        check("select 1", &[], "select 1");
        check("select 1;", &["select 1"], "");
        check(" select 1 ; select 2 ", &["select 1"], "select 2");
        check(";; \n;", &[], "");
        check("-- only a comment", &[], "");
        check("select 1; -- done", &["select 1"], "");
    }

    #[test]
    fn quoted_semicolons_do_not() {
        check("select ';', 'it''s;';x", &["select ';', 'it''s;'"], "x");
        check(r"select '\';x", &[r"select '\'"], "x");
        check(r"select E'\';';x", &[r"select E'\';'"], "x");
        check(r"select e'\\';x", &[r"select e'\\'"], "x");
        check("select \"a;\"\"b\";x", &["select \"a;\"\"b\""], "x");
        check("select $$;$$;x", &["select $$;$$"], "x");
        check("select $a$ $$;$b$; $a$;x", &["select $a$ $$;$b$; $a$"], "x");
        check("select $ключ$;$ключ$;x", &["select $ключ$;$ключ$"], "x");
    }

    #[test]
    fn dollars_that_quote_nothing() {
        check("select $1;x", &["select $1"], "x");
        check("select $1$2;x", &["select $1$2"], "x");
        check("select a$b$c;x$b$", &["select a$b$c"], "x$b$");
        check("select 1 $;x", &["select 1 $"], "x");
    }

    #[test]
    fn comments_and_hints() {
        check("select 1 -- ;\n+ 2;x", &["select 1 -- ;\n+ 2"], "x");
        check("/* ; */ select 1;x", &["select 1"], "x");
        check(
            "select /*+ FULL_SCAN; */ 1;x",
            &["select /*+ FULL_SCAN; */ 1"],
            "x",
        );
        check("select 1 /* /* ; */ ; */;x", &["select 1"], "x");
        check("select 2/1;x", &["select 2/1"], "x");
        check("select 2-1;x", &["select 2-1"], "x");
    }

    #[test]
    fn open_constructs_reach_to_the_end() {
        check("a; select 'b;", &["a"], "select 'b;");
        check("a; select E'b\\';", &["a"], "select E'b\\';");
        check("a; select \"b;", &["a"], "select \"b;");
        check("a; select $x$b;$$", &["a"], "select $x$b;$$");
        check("a; /* b;", &["a"], "/* b;");
        check("a; /* /* */", &["a"], "/* /* */");
        check("E'\\", &[], "E'\\");
    }

    #[test]
    fn other_text_is_passed_over() {
        check("中国;好声音", &["中国"], "好声音");
        check("\u{3000};x", &[], "x");
        check("e;E", &["e"], "E");
        check("'é';x", &["'é'"], "x");
    }
}
