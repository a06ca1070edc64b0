//! Plays a script on PostgreSQL and on Rukh, statement by statement, and compares what they answer.
//!
//! Both have the same rows at every step. PostgreSQL goes first, in a transaction of its own. What it refuses does not count and Rukh is not
//! run there. What Rukh refuses is rolled back in PostgreSQL. Inside a transaction of the script, savepoints do the same.
//!
//! Columns of type `name` are `text` on both, and temporary tables stay.

use std::collections::HashMap;

use crate::script::{Step, filled_in};
use crate::talk::{Refusal, Talk};

/// Which way a statement went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same rows, and the same order where the query has one.
    Same,
    /// Rukh gives other rows, or the same in another order though ORDER BY stands at the end.
    Differs { rukh: Answer, postgres: Answer },
    /// Rukh refuses what PostgreSQL does.
    Refused { sqlstate: String, message: String },
    /// Rukh fails: an internal error, a lost connection, or a message that shows the inside of a library.
    Broken { sqlstate: String, message: String },
    /// PostgreSQL refuses it, for this reason.
    NotCounted(String),
}

/// Names of columns, and rows as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
    /// How many rows a statement without rows says it touched.
    pub count: Option<u64>,
}

/// The two connections of a script.
pub struct Players {
    pub postgres: Talk,
    pub rukh: Talk,
    pub variables: HashMap<String, String>,
    in_transaction: bool,
}

impl Players {
    pub fn new(postgres: Talk, rukh: Talk, variables: HashMap<String, String>) -> Self {
        Players {
            postgres,
            rukh,
            variables,
            in_transaction: false,
        }
    }

    /// Plays a step; `None` if it has no statement.
    pub fn play(&mut self, step: &Step) -> Option<(String, Verdict)> {
        match step {
            Step::Set { name, value } => {
                let value = match value.strip_prefix('$') {
                    Some(entry) => self.variables.get(entry).cloned().unwrap_or_default(),
                    None => self.expanded(value),
                };
                self.variables.insert(name.clone(), value);
                None
            }
            Step::SetFrom { sql, prefix } => {
                let sql = filled_in(sql, &self.variables);
                if let Ok(answer) = self.postgres.ask(&sql, None)
                    && let [row] = answer.rows.as_slice()
                {
                    for (name, value) in answer.columns.iter().zip(row) {
                        let value = value.clone().unwrap_or_default();
                        self.variables.insert(format!("{prefix}{name}"), value);
                    }
                }
                None
            }
            Step::Statement { sql, rows } => {
                let sql = filled_in(sql, &self.variables);
                let (sent, rows) = match rows {
                    Some(rows) => (sql.clone(), Some(rows.clone())),
                    None => from_file(&sql),
                };
                let verdict = self.statement(&adapted(&sent), rows.as_deref());
                Some((sql, verdict))
            }
        }
    }

    /// Expands `:name` in the value of a variable, whose parts psql puts side by side.
    fn expanded(&self, value: &str) -> String {
        let mut names: Vec<&String> = self.variables.keys().collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let mut value = value.to_string();
        for name in names {
            value = value.replace(&format!(":{name}"), &self.variables[name]);
        }
        value
    }

    fn statement(&mut self, sql: &str, rows: Option<&str>) -> Verdict {
        let words: Vec<String> = sql.split_whitespace().take(2).map(str::to_lowercase).collect();
        let first = words.first().map_or("", String::as_str);
        let first = first.trim_end_matches(';');
        match first {
            "begin" | "start" => self.controlled(sql, Some(true)),
            "commit" | "rollback" | "end" | "abort" if !sql.to_lowercase().contains(" to ") => {
                self.controlled(sql, Some(false))
            }
            "savepoint" | "release" | "rollback" => self.controlled(sql, None),
            // These are of no transaction, or of the one they stand in.
            "vacuum" => self.compared(sql, rows, None),
            "declare" | "fetch" | "move" | "close" if !self.in_transaction => self.compared(sql, rows, None),
            _ => {
                let guard = match self.in_transaction {
                    true => Guard::SAVEPOINT,
                    false => Guard::TRANSACTION,
                };
                self.compared(sql, rows, Some(guard))
            }
        }
    }

    /// Runs what begins or ends a transaction on both.
    fn controlled(&mut self, sql: &str, begins: Option<bool>) -> Verdict {
        if let Err(error) = self.postgres.run(sql) {
            // A transaction that cannot be committed has ended, too; which one follows by CHAIN is not known here.
            let is_plain = error.sqlstate != "XXXXX" && !sql.to_lowercase().contains("chain");
            if begins == Some(false) && is_plain {
                self.in_transaction = false;
                if self.rukh.run(sql).is_ok() {
                    let rukh = Answer::default();
                    let columns = vec![error.to_string()];
                    return Verdict::Differs {
                        rukh,
                        postgres: Answer {
                            columns,
                            ..Answer::default()
                        },
                    };
                }
            }
            return Verdict::NotCounted(error.to_string());
        }
        if let Some(begins) = begins {
            self.in_transaction = begins && !sql.to_lowercase().contains("chain");
        }
        match self.rukh.run(sql) {
            Ok(()) => Verdict::Same,
            Err(error) => refusal(error),
        }
    }

    fn compared(&mut self, sql: &str, rows: Option<&str>, guard: Option<Guard>) -> Verdict {
        let guarded = guard.is_some_and(|guard| self.postgres.run(guard.begin).is_ok());
        let rukh_guard = guard.filter(|_| self.in_transaction);
        let undo = |client: &mut Talk, guard: Option<Guard>| {
            if let Some(guard) = guard {
                let _ = client.run(guard.undo);
            }
        };
        let postgres = match self.postgres.ask(sql, rows) {
            Ok(answer) => answer,
            Err(error) => {
                undo(&mut self.postgres, guard.filter(|_| guarded));
                return Verdict::NotCounted(error.to_string());
            }
        };
        if let Some(guard) = rukh_guard {
            let _ = self.rukh.run(guard.begin);
        }
        match self.rukh.ask(sql, rows) {
            Ok(rukh) => {
                if let Some(guard) = rukh_guard {
                    let _ = self.rukh.run(guard.keep);
                }
                if let Some(guard) = guard.filter(|_| guarded) {
                    let _ = self.postgres.run(guard.keep);
                }
                verdict(sql, rukh, postgres)
            }
            Err(error) => {
                undo(&mut self.rukh, rukh_guard);
                undo(&mut self.postgres, guard.filter(|_| guarded));
                refusal(error)
            }
        }
    }
}

/// Statements around another one, which take it back where the other side refuses it.
#[derive(Clone, Copy)]
struct Guard {
    begin: &'static str,
    keep: &'static str,
    undo: &'static str,
}

impl Guard {
    const TRANSACTION: Guard = Guard {
        begin: "BEGIN",
        keep: "COMMIT",
        undo: "ROLLBACK",
    };
    const SAVEPOINT: Guard = Guard {
        begin: "SAVEPOINT rukh_guard",
        keep: "RELEASE rukh_guard",
        undo: "ROLLBACK TO rukh_guard; RELEASE rukh_guard",
    };
}

fn refusal(error: Refusal) -> Verdict {
    let Refusal { sqlstate, message } = error;
    // No message shows a value as Rust prints it for debugging.
    const FORMS: [&str; 6] = ["Some(", "Struct(", " { ", "ScalarUDF", "Literal(", "Utf8"];
    match FORMS.iter().any(|form| message.contains(form)) || sqlstate == "XX000" || sqlstate == "XXXXX" {
        true => Verdict::Broken { sqlstate, message },
        false => Verdict::Refused { sqlstate, message },
    }
}

fn verdict(sql: &str, mut rukh: Answer, mut postgres: Answer) -> Verdict {
    let returns = sql.trim_start().get(..7).unwrap_or_default().to_lowercase();
    if returns.starts_with("explain") {
        // Plans are each system's own.
        return Verdict::Same;
    }
    if rukh == postgres {
        return Verdict::Same;
    }
    let changes = !postgres.columns.is_empty() || is_counted(sql);
    if rukh.rows == postgres.rows && rukh.columns == postgres.columns && !changes {
        // Counts of statements that count no rows.
        return Verdict::Same;
    }
    let is_ordered = orders(sql);
    let lower = sql.to_lowercase();
    let cuts = lower.contains("limit") || lower.contains("offset") || lower.contains("fetch first");
    if cuts && !is_ordered && rukh.columns == postgres.columns && rukh.rows.len() == postgres.rows.len() {
        // Which rows come first is not said.
        return Verdict::Same;
    }
    let (ordered_rukh, ordered_postgres) = (rukh.clone(), postgres.clone());
    rukh.rows.sort();
    postgres.rows.sort();
    let follows = !is_ordered || same_keys(sql, &ordered_rukh, &ordered_postgres);
    match rukh == postgres && follows {
        true => Verdict::Same,
        false => Verdict::Differs {
            rukh: ordered_rukh,
            postgres: ordered_postgres,
        },
    }
}

/// Whether a statement says how many rows it touched.
fn is_counted(sql: &str) -> bool {
    let first = sql.split_whitespace().next().unwrap_or_default().to_lowercase();
    ["insert", "update", "delete", "merge", "copy", "with"].contains(&first.as_str())
}

/// Whether ORDER BY stands outside of parentheses.
fn orders(sql: &str) -> bool {
    order_keys(sql).is_some()
}

/// Returns the keys of the ORDER BY that stands outside of parentheses, in lower case, each as words. An expression in parentheses is `()`.
fn order_keys(sql: &str) -> Option<Vec<Vec<String>>> {
    let mut depth = 0_i32;
    let mut outer = String::new();
    for c in sql.to_lowercase().chars() {
        match c {
            '(' => {
                if depth == 0 {
                    outer.push_str("()");
                }
                depth += 1;
            }
            ')' => depth -= 1,
            ',' if depth == 0 => outer.push_str(" , "),
            c if depth == 0 => outer.push(c),
            _ => {}
        }
    }
    let words: Vec<&str> = outer.split_whitespace().collect();
    let at = words.windows(2).position(|pair| pair == ["order", "by"])?;
    let is_behind = |word: &&&str| ["limit", "offset", "fetch", "for", ";"].contains(*word);
    let keys = words[at + 2..].iter().take_while(|word| !is_behind(word));
    let keys: Vec<String> = keys.map(|word| word.trim_end_matches(';').to_string()).collect();
    Some(keys.split(|word| word == ",").map(<[String]>::to_vec).collect())
}

/// Whether the columns that ORDER BY names have the same values row by row. Rows with equal keys come in any order.
/// It is false where a key is no column of the answer, because nothing can be said of its order then.
fn same_keys(sql: &str, rukh: &Answer, postgres: &Answer) -> bool {
    let column = |key: &Vec<String>| {
        let (name, rest) = key.split_first()?;
        let directions = ["asc", "desc", "nulls", "first", "last"];
        if !rest.iter().all(|word| directions.contains(&word.as_str())) {
            return None;
        }
        if let Ok(place) = name.parse::<usize>() {
            return place
                .checked_sub(1)
                .filter(|place| *place < postgres.columns.len());
        }
        let mut places = postgres.columns.iter().enumerate();
        let (place, _) = places.find(|(_, column)| *column == name)?;
        places.all(|(_, column)| column != name).then_some(place)
    };
    let keys = order_keys(sql).unwrap_or_default();
    let Some(places) = keys.iter().map(column).collect::<Option<Vec<usize>>>() else {
        return false;
    };
    let values =
        |row: &Vec<Option<String>>| places.iter().map(|place| row[*place].clone()).collect::<Vec<_>>();
    rukh.columns == postgres.columns && rukh.rows.iter().map(values).eq(postgres.rows.iter().map(values))
}

/// Returns `COPY … FROM 'file'` as one from the client, with the rows of the file.
fn from_file(sql: &str) -> (String, Option<String>) {
    let lower = sql.to_lowercase();
    let Some(at) = lower.find(" from '").filter(|_| lower.starts_with("copy ")) else {
        return (sql.to_string(), None);
    };
    let rest = &sql[at + 7..];
    let Some(end) = rest.find('\'') else {
        return (sql.to_string(), None);
    };
    match std::fs::read_to_string(&rest[..end]) {
        Ok(rows) => (
            format!("{} FROM STDIN{}", &sql[..at], &rest[end + 1..]),
            Some(rows),
        ),
        Err(_) => (sql.to_string(), None),
    }
}

/// Returns a statement as both sides run it: what it makes stays, and columns of type `name` are of type `text`.
fn adapted(sql: &str) -> String {
    permanent(&without_names(sql))
}

/// Makes a temporary table one that stays: each script has a database of its own.
fn permanent(sql: &str) -> String {
    let mut words = sql.splitn(3, char::is_whitespace);
    match (words.next(), words.next(), words.next()) {
        (Some(create), Some(kind), Some(rest))
            if ["temp", "temporary", "unlogged"].contains(&kind.to_lowercase().as_str()) =>
        {
            format!("{create} {rest}")
        }
        _ => sql.to_string(),
    }
}

/// Gives columns of type `name` the type `text`.
fn without_names(sql: &str) -> String {
    let mut made = String::new();
    let mut words = 0_usize;
    for piece in sql.split_inclusive(|c: char| c.is_whitespace() || c == ',' || c == '(') {
        let word = piece.trim_end_matches(|c: char| c.is_whitespace() || c == ',' || c == '(');
        let bare = word.trim_end_matches(')');
        // The second word of a column definition is its type.
        match words == 1 && bare.eq_ignore_ascii_case("name") {
            true => {
                made.push_str("text");
                made.push_str(&piece[bare.len()..]);
            }
            false => made.push_str(piece),
        }
        words += usize::from(!word.is_empty());
        if piece.ends_with([',', '(']) {
            words = 0;
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stay_and_have_texts() {
        for (sql, expected) in [
            ("CREATE TABLE t (a int)", "CREATE TABLE t (a int)"),
            ("CREATE TEMP TABLE t ()", "CREATE TABLE t ()"),
            ("CREATE TABLE t AS SELECT (1)", "CREATE TABLE t AS SELECT (1)"),
            (
                "CREATE TABLE t (name int,\n b name, c name)",
                "CREATE TABLE t (name int,\n b text, c text)",
            ),
            ("CREATE INDEX i ON t (a)", "CREATE INDEX i ON t (a)"),
        ] {
            assert_eq!(adapted(sql), expected, "{sql}");
        }
    }

    #[test]
    fn order_by_counts_outside_of_parentheses() {
        assert!(orders("SELECT a FROM t ORDER BY a"));
        assert!(!orders("SELECT * FROM (SELECT a FROM t ORDER BY a) x"));
        assert!(!orders("SELECT row_number() OVER (ORDER BY a) FROM t"));
    }

    #[test]
    fn rows_of_equal_keys_come_in_any_order() {
        let answer = |rows: &[[&str; 2]]| Answer {
            columns: vec!["a".to_string(), "b".to_string()],
            rows: rows
                .iter()
                .map(|row| row.map(|value| Some(value.to_string())).to_vec())
                .collect(),
            count: None,
        };
        let one = answer(&[["1", "x"], ["1", "y"], ["2", "z"]]);
        let ties = answer(&[["1", "y"], ["1", "x"], ["2", "z"]]);
        let turned = answer(&[["2", "z"], ["1", "x"], ["1", "y"]]);
        for (sql, same_ties) in [
            ("SELECT a, b FROM t ORDER BY a", true),
            ("SELECT a, b FROM t ORDER BY 1 DESC NULLS LAST LIMIT 3;", true),
            ("SELECT a, b FROM t ORDER BY a, b", false),
            ("SELECT a, b FROM t ORDER BY t.a", false),
            ("SELECT a, b FROM t ORDER BY (a)", false),
            ("SELECT a, b FROM t ORDER BY a + 1", false),
            ("SELECT a, b FROM t ORDER BY 3", false),
            ("SELECT a, b FROM t", true),
        ] {
            let is_same = |other: &Answer| verdict(sql, other.clone(), one.clone()) == Verdict::Same;
            assert_eq!(is_same(&ties), same_ties, "{sql}");
            assert_eq!(is_same(&turned), !orders(sql), "{sql}");
        }
    }
}
