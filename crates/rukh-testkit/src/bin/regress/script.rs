//! Scripts of other databases' test suites, taken apart into statements.
//!
//! | suite      | files                                | statements                                                       |
//! |------------|--------------------------------------|------------------------------------------------------------------|
//! | postgresql | `src/test/regress/sql/*.sql`           | what psql sends; `\set`, `\getenv`, `\gset` and variables are read, other commands are left out |
//! | sqlite     | `test/*.test`                          | the texts in braces behind `do_execsql_test`, `execsql` and their like, those with Tcl variables left out |
//! | duckdb     | `test/sql/**/*.test`                   | those behind `statement` and `query` in sqllogictest's format      |
//!
//! The results that the files expect are not read: PostgreSQL answers each statement itself.

use std::collections::HashMap;
use std::path::Path;

/// A part of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A statement, and the rows of its COPY FROM STDIN.
    Statement { sql: String, rows: Option<String> },
    /// A query whose row sets variables of this prefix.
    SetFrom { sql: String, prefix: String },
    /// A variable, or an entry of the environment that becomes one.
    Set { name: String, value: String },
}

/// A suite of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    PostgreSql,
    Sqlite,
    DuckDb,
}

impl Suite {
    /// Returns the suite of this name.
    pub fn named(name: &str) -> Option<Suite> {
        match name {
            "postgresql" => Some(Suite::PostgreSql),
            "sqlite" => Some(Suite::Sqlite),
            "duckdb" => Some(Suite::DuckDb),
            _ => None,
        }
    }

    /// Returns the steps of a file.
    pub fn steps(self, path: &Path) -> Result<Vec<Step>, String> {
        let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(match self {
            Suite::PostgreSql => psql(&text),
            Suite::Sqlite => tcl(&text),
            Suite::DuckDb => sqllogictest(&text),
        })
    }
}

/// Takes a script of psql apart.
fn psql(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        let (sql, end, after) = statement(rest);
        let sql = sql.trim();
        match end {
            End::Semicolon => {
                let from_stdin = is_copy_from_stdin(sql);
                let (rows, after) = match from_stdin {
                    true => copied(after),
                    false => (None, after),
                };
                if !sql.is_empty() {
                    steps.push(Step::Statement {
                        sql: sql.to_string(),
                        rows,
                    });
                }
                rest = after;
            }
            End::Command(command) => {
                steps.extend(step_of(sql, &command));
                rest = after;
            }
            End::Text => return steps,
        }
    }
}

/// Returns what a command of psql does with the statement before it.
fn step_of(sql: &str, command: &str) -> Option<Step> {
    let mut words = command.split_whitespace();
    let name = words.next().unwrap_or_default();
    match name {
        "gset" if !sql.is_empty() => Some(Step::SetFrom {
            sql: sql.to_string(),
            prefix: words.next().unwrap_or_default().to_string(),
        }),
        "g" | "gx" | "gdesc" | "crosstabview" if !sql.is_empty() => Some(Step::Statement {
            sql: sql.to_string(),
            rows: None,
        }),
        "set" => {
            let (name, rest) = (words.next()?, words.collect::<Vec<_>>());
            let unquoted = rest.iter().map(|word| word.trim_matches('\''));
            Some(Step::Set {
                name: name.to_string(),
                value: unquoted.collect(),
            })
        }
        "getenv" => Some(Step::Set {
            name: words.next()?.to_string(),
            value: format!("${}", words.next()?),
        }),
        _ => None,
    }
}

fn is_copy_from_stdin(sql: &str) -> bool {
    let words: Vec<String> = sql.split_whitespace().map(str::to_lowercase).collect();
    let is_copy = words.first().is_some_and(|word| word == "copy");
    is_copy
        && words
            .windows(2)
            .any(|pair| pair[0] == "from" && pair[1].trim_end_matches([';', '(']) == "stdin")
}

/// Returns the lines up to `\.`, and what follows.
fn copied(text: &str) -> (Option<String>, &str) {
    let text = text.split_once('\n').map_or("", |(_, rest)| rest);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "\\." {
            return (Some(text[..at].to_string()), &text[at + line.len()..]);
        }
        at += line.len();
    }
    (Some(text.to_string()), "")
}

/// How a statement ends.
enum End {
    Semicolon,
    /// A command of psql, without its backslash.
    Command(String),
    Text,
}

/// Returns the first statement of a text without its comments, how it ends, and what follows.
fn statement(text: &str) -> (String, End, &str) {
    let mut sql = String::new();
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '-' if rest.starts_with("--") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = &rest[comment_length(rest)..];
                sql.push(' ');
                continue;
            }
            '\'' | '"' => quoted_length(rest, sql.ends_with(['e', 'E'])),
            '$' => dollar_length(rest),
            ';' if depth == 0 => return (sql, End::Semicolon, &rest[1..]),
            '\\' if rest.starts_with("\\;") => {
                return (sql, End::Semicolon, &rest[2..]);
            }
            '\\' => {
                let end = rest.find('\n').unwrap_or(rest.len());
                let command = rest[1..end].trim().to_string();
                return (sql, End::Command(command), &rest[end..]);
            }
            '(' => {
                depth += 1;
                1
            }
            ')' => {
                depth = depth.saturating_sub(1);
                1
            }
            c => c.len_utf8(),
        };
        sql.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    (sql, End::Text, "")
}

fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Returns the length of a quoted text at the start, in which a backslash may escape.
fn quoted_length(text: &str, escapes: bool) -> usize {
    let quote = text.chars().next().unwrap_or('\'');
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c == '\\' && escapes && quote == '\'' {
            characters.next();
        } else if c == quote {
            match characters.peek() {
                Some((_, next)) if *next == quote => drop(characters.next()),
                _ => return at + 1,
            }
        }
    }
    text.len()
}

/// Returns the length of a text in dollars at the start, or 1 if there is none.
fn dollar_length(text: &str) -> usize {
    let tag = text[1..].find('$').map(|end| &text[..end + 2]);
    let tag = tag.filter(|tag| {
        let name = &tag[1..tag.len() - 1];
        name.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    });
    match tag {
        Some(tag) => match text[tag.len()..].find(tag) {
            Some(end) => tag.len() * 2 + end,
            None => text.len(),
        },
        None => 1,
    }
}

/// Takes the statements of a test in Tcl.
fn tcl(text: &str) -> Vec<Step> {
    const COMMANDS: [&str; 4] = ["do_execsql_test", "do_catchsql_test", "execsql", "catchsql"];
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some((at, command)) = COMMANDS
        .iter()
        .filter_map(|command| rest.find(command).map(|at| (at, *command)))
        .min()
    {
        rest = &rest[at + command.len()..];
        let Some(open) = rest
            .find('{')
            .filter(|open| !rest[..*open].contains(['\n', '"', '}']))
        else {
            continue;
        };
        let block = &rest[open + 1..];
        let length = braced_length(block);
        let (block, after) = block.split_at(length);
        if !block.contains('$') && !block.contains('[') {
            steps.extend(psql(&format!("{block};")));
        }
        rest = after;
    }
    steps
}

fn braced_length(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return at,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Takes the statements of a test in the format of sqllogictest.
fn sqllogictest(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("statement ") && !line.starts_with("query ") {
            continue;
        }
        let is_end = |line: &&str| !line.trim().is_empty() && line.trim() != "----";
        let sql: Vec<&str> = lines.by_ref().take_while(is_end).collect();
        // Loops are not unrolled.
        let sql = sql.join("\n");
        if !sql.contains("${") {
            steps.extend(psql(&format!("{sql};")));
        }
    }
    steps
}

/// Puts the values of variables in the place of `:name`, `:'name'` and `:"name"`.
pub fn filled_in(sql: &str, variables: &HashMap<String, String>) -> String {
    let mut made = String::new();
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\'' | '"' => quoted_length(rest, made.ends_with(['e', 'E'])),
            '$' => dollar_length(rest),
            ':' if rest.starts_with("::") => 2,
            ':' => match variable(rest, variables) {
                Some((length, value)) => {
                    made.push_str(&value);
                    rest = &rest[length..];
                    continue;
                }
                None => 1,
            },
            c => c.len_utf8(),
        };
        made.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    made
}

/// Reads a variable at the start; returns its length and what it stands for.
fn variable(text: &str, variables: &HashMap<String, String>) -> Option<(usize, String)> {
    let rest = &text[1..];
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let inner = if quote.is_some() { &rest[1..] } else { rest };
    let length = inner
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(inner.len());
    let value = variables.get(&inner[..length])?;
    match quote {
        None => Some((1 + length, value.clone())),
        Some(quote) if inner[length..].starts_with(quote) => {
            let doubled = value.replace(quote, &format!("{quote}{quote}"));
            Some((length + 3, format!("{quote}{doubled}{quote}")))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(steps: Vec<Step>) -> Vec<String> {
        let sql = |step| match step {
            Step::Statement { sql, .. } | Step::SetFrom { sql, .. } => Some(sql),
            Step::Set { .. } => None,
        };
        steps.into_iter().filter_map(sql).collect()
    }

    #[test]
    fn scripts_of_psql() {
        let text = "-- a; b\nSELECT ';' /* ; */, $x$;$x$;\n\\d t\nCOPY t FROM stdin;\n1\t2\n\\.\nSELECT 1 AS a \\gset p_\n\\set b 'x' y\nCREATE RULE r AS (a; b);";
        let steps = psql(text);
        let copy = Step::Statement {
            sql: "COPY t FROM stdin".to_string(),
            rows: Some("1\t2\n".to_string()),
        };
        assert!(steps.contains(&copy), "{steps:?}");
        let expected = [
            "SELECT ';'  , $x$;$x$",
            "COPY t FROM stdin",
            "SELECT 1 AS a",
            "CREATE RULE r AS (a; b)",
        ];
        assert_eq!(statements(steps), expected);
    }

    #[test]
    fn scripts_of_tcl_and_sqllogictest() {
        let tcl_text =
            "do_execsql_test a-1.1 {\n SELECT 1; SELECT 2\n} {1 2}\nexecsql {SELECT $x}\nset y {SELECT 3}";
        assert_eq!(statements(tcl(tcl_text)), ["SELECT 1", "SELECT 2"]);
        let logic = "statement ok\nCREATE TABLE t (a int)\n\nquery I\nSELECT 1\n----\n1\n\nstatement error\nSELECT ${x}\n";
        assert_eq!(
            statements(sqllogictest(logic)),
            ["CREATE TABLE t (a int)", "SELECT 1"]
        );
    }

    #[test]
    fn variables_are_filled_in() {
        let variables = HashMap::from([("a".to_string(), "it's".to_string())]);
        assert_eq!(
            filled_in("SELECT :'a', ':a', x::a, :a, :b", &variables),
            "SELECT 'it''s', ':a', x::a, it's, :b"
        );
    }
}
