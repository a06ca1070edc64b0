//! Completion of keywords, functions, tables, columns, indexes and backslash commands.
//!
//! | where                                          | offered                                     |
//! |------------------------------------------------|---------------------------------------------|
//! | `FROM `, `JOIN `, `INTO `, `UPDATE `, `TABLE ` | tables                                      |
//! | `DROP INDEX `, `CHECK INDEX `                  | indexes                                     |
//! | `t.`, `alias.`                                 | columns of that table                       |
//! | elsewhere                                      | columns of the tables named, functions, keywords |
//! | `\`                                            | commands, and what they take                |
//! | in strings and comments                        | nothing                                     |
//!
//! Keywords follow the letter case of what is typed; names that need quotes get them.

use std::sync::{Arc, Mutex, PoisonError};

use nu_ansi_term::{Color, Style};
use reedline::{Completer, CompletionResult, Span, Suggestion};
use rukh::{NameEntry, NameKind};

use crate::format::Format;
use crate::sessions::meta;
use crate::words::keywords::{FUNCTIONS, KEYWORDS};
use crate::words::lexer::{self, Kind, Token};
use crate::words::names;

/// The names of the database, shared with the thread that refreshes them.
pub type Names = Arc<Mutex<Vec<NameEntry>>>;

/// Completes at the cursor.
pub struct SqlCompleter {
    names: Names,
}

impl SqlCompleter {
    /// Returns a completer that knows `names`.
    pub fn new(names: Names) -> SqlCompleter {
        SqlCompleter { names }
    }
}

impl Completer for SqlCompleter {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let found = complete(line, pos, &names);
        let suggestion = |offer: Offer| Suggestion {
            value: offer.text,
            style: Some(style(offer.what)),
            span: Span::new(found.start, pos),
            append_whitespace: offer.what != "function",
            ..Suggestion::default()
        };
        CompletionResult::fresh(found.offers.into_iter().map(suggestion).collect::<Vec<_>>())
    }
}

/// Returns the colour of a completion in the menu.
fn style(what: &str) -> Style {
    match what {
        "table" | "index" => Color::Cyan.normal(),
        "column" => Color::Green.normal(),
        "function" => Color::Purple.normal(),
        "keyword" => Color::Blue.normal(),
        _ => Style::new(),
    }
}

/// What may replace the text from `start` to the cursor.
#[derive(Debug, Default, PartialEq)]
struct Completion {
    start: usize,
    offers: Vec<Offer>,
}

/// One completion.
#[derive(Debug, PartialEq, PartialOrd, Eq, Ord)]
struct Offer {
    text: String,
    what: &'static str,
}

fn complete(line: &str, cursor: usize, entries: &[NameEntry]) -> Completion {
    let before = &line[..cursor];
    if before.trim_start().starts_with('\\') {
        return complete_command(before, entries);
    }
    let tokens = lexer::tokens(before);
    let place = Place::find(before, &tokens);
    let offers = match place.context {
        Context::Nothing => Vec::new(),
        Context::Tables => of_kind(entries, NameKind::Table),
        Context::Indexes => of_kind(entries, NameKind::Index),
        Context::Member(qualifier) => columns(entries, &[resolve(line, &qualifier)]),
        Context::Anything => anything(line, entries, &place.typed),
    };
    Completion {
        start: place.start,
        offers: fitting(offers, &place.typed),
    }
}

/// What stands before the cursor.
struct Place {
    /// Where the word under the cursor starts.
    start: usize,
    /// The word, without an opening quote.
    typed: String,
    context: Context,
}

enum Context {
    Nothing,
    Tables,
    Indexes,
    Member(String),
    Anything,
}

impl Place {
    fn find(before: &str, tokens: &[Token]) -> Place {
        let text = |token: &Token| before[token.span.clone()].to_owned();
        let (start, typed, previous) = match tokens.split_last() {
            Some((last, previous)) if last.kind == Kind::Word => (last.span.start, text(last), previous),
            Some((last, previous)) if last.kind == Kind::Quoted(lexer::Closed::No) => {
                (last.span.start, text(last)[1..].to_owned(), previous)
            }
            Some((last, _))
                if matches!(last.kind, Kind::String(lexer::Closed::No) | Kind::Number)
                    || ends_in_comment(before, last) =>
            {
                return Place {
                    start: before.len(),
                    typed: String::new(),
                    context: Context::Nothing,
                };
            }
            _ => (before.len(), String::new(), tokens),
        };
        let words: Vec<&Token> = previous
            .iter()
            .filter(|token| !matches!(token.kind, Kind::Space | Kind::Comment(_)))
            .collect();
        let qualified = previous
            .last()
            .is_some_and(|token| &before[token.span.clone()] == ".");
        let context = match qualified {
            true => Context::Member(
                words
                    .iter()
                    .rev()
                    .nth(1)
                    .map(|token| names::meant(&text(token)))
                    .unwrap_or_default(),
            ),
            false => context(&words.iter().map(|token| text(token)).collect::<Vec<_>>()),
        };
        Place {
            start,
            typed,
            context,
        }
    }
}

fn ends_in_comment(before: &str, last: &Token) -> bool {
    match last.kind {
        Kind::Comment(lexer::Closed::No) => true,
        Kind::Comment(lexer::Closed::Yes) => before[last.span.clone()].starts_with("--"),
        _ => false,
    }
}

/// Decides by the words before the one under the cursor.
fn context(words: &[String]) -> Context {
    let upper: Vec<String> = words
        .iter()
        .rev()
        .take(3)
        .map(|word| word.to_ascii_uppercase())
        .collect();
    let last: Vec<&str> = upper.iter().map(String::as_str).collect();
    match last[..] {
        [
            "FROM" | "JOIN" | "INTO" | "UPDATE" | "DESCRIBE" | "TRUNCATE" | "COPY" | "ANALYZE",
            ..,
        ] => Context::Tables,
        ["TABLE", "CREATE", ..] => Context::Nothing,
        ["TABLE", ..] => Context::Tables,
        ["EXISTS", "IF", "TABLE"] => Context::Tables,
        ["INDEX", "CREATE" | "UNIQUE", ..] => Context::Nothing,
        ["INDEX", ..] | ["EXISTS", "IF", "INDEX"] => Context::Indexes,
        ["ON", _, "INDEX"] => Context::Tables,
        [",", ..] if clause(words) == Some("FROM") => Context::Tables,
        _ => Context::Anything,
    }
}

/// Returns the clause of a query that the end of `words` is in, parentheses passed over.
fn clause(words: &[String]) -> Option<&'static str> {
    const CLAUSES: [&str; 9] = [
        "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "SET", "VALUES", "ON",
    ];
    let mut depth = 0;
    words.iter().rev().find_map(|word| {
        match word.as_str() {
            ")" => depth += 1,
            "(" => depth -= 1,
            _ => {}
        }
        let found = CLAUSES
            .into_iter()
            .find(|clause| clause.eq_ignore_ascii_case(word));
        found.filter(|_| depth <= 0)
    })
}

fn anything(line: &str, entries: &[NameEntry], typed: &str) -> Vec<Offer> {
    let mut offers = columns(entries, &tables_named(line, entries));
    if typed.is_empty() {
        return offers;
    }
    offers.extend(FUNCTIONS.iter().map(|name| Offer {
        text: format!("{name}("),
        what: "function",
    }));
    let lower = typed.chars().all(|c| !c.is_uppercase());
    let cased = |keyword: &&str| {
        if lower {
            keyword.to_lowercase()
        } else {
            (*keyword).to_owned()
        }
    };
    offers.extend(KEYWORDS.iter().map(|keyword| Offer {
        text: cased(keyword),
        what: "keyword",
    }));
    offers.extend(of_kind(entries, NameKind::Table));
    offers
}

fn of_kind(entries: &[NameEntry], kind: NameKind) -> Vec<Offer> {
    let what = match kind {
        NameKind::Table => "table",
        NameKind::Index => "index",
        NameKind::Column => "column",
    };
    entries
        .iter()
        .filter(|entry| entry.kind == kind)
        .map(|entry| Offer {
            text: names::quoted(&entry.name),
            what,
        })
        .collect()
}

/// Returns the columns of the tables, or of all tables when none is given.
fn columns(entries: &[NameEntry], tables: &[String]) -> Vec<Offer> {
    let wanted = |entry: &&NameEntry| {
        entry.kind == NameKind::Column
            && (tables.is_empty()
                || entry
                    .parent
                    .as_ref()
                    .is_some_and(|parent| tables.contains(parent)))
    };
    entries
        .iter()
        .filter(wanted)
        .map(|entry| Offer {
            text: names::quoted(&entry.name),
            what: "column",
        })
        .collect()
}

/// Returns the tables whose name stands anywhere in the line.
fn tables_named(line: &str, entries: &[NameEntry]) -> Vec<String> {
    let tokens = lexer::tokens(line);
    let words: Vec<String> = tokens
        .iter()
        .map(|token| names::meant(&line[token.span.clone()]))
        .collect();
    let tables = entries
        .iter()
        .filter(|entry| entry.kind == NameKind::Table && words.contains(&entry.name));
    tables.map(|entry| entry.name.clone()).collect()
}

/// Returns the table that `qualifier` stands for: `FROM users u` and `FROM users AS u` make `u` mean `users`.
fn resolve(line: &str, qualifier: &str) -> String {
    let tokens = lexer::tokens(line);
    let words: Vec<&str> = tokens
        .iter()
        .filter(|token| !matches!(token.kind, Kind::Space | Kind::Comment(_)))
        .map(|token| &line[token.span.clone()])
        .collect();
    let is = |word: &str, keyword: &str| word.eq_ignore_ascii_case(keyword);
    let alias = words.windows(3).find_map(|window| match window {
        [before, table, alias] if names::meant(alias) == qualifier && introduces_table(before) => {
            Some(*table)
        }
        [table, as_word, alias] if names::meant(alias) == qualifier && is(as_word, "as") => Some(*table),
        _ => None,
    });
    names::meant(alias.unwrap_or(qualifier))
}

fn introduces_table(word: &str) -> bool {
    ["from", "join", "update", "into", ","]
        .iter()
        .any(|keyword| word.eq_ignore_ascii_case(keyword))
}

fn fitting(offers: Vec<Offer>, typed: &str) -> Vec<Offer> {
    let typed = typed.to_lowercase();
    let fits = |offer: &Offer| {
        offer
            .text
            .trim_start_matches('"')
            .to_lowercase()
            .starts_with(&typed)
    };
    let mut kept: Vec<Offer> = offers.into_iter().filter(fits).collect();
    let mut seen = std::collections::HashSet::new();
    kept.retain(|offer| seen.insert(offer.text.clone()));
    kept
}

fn complete_command(before: &str, entries: &[NameEntry]) -> Completion {
    let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let words: Vec<&str> = before[..start].split_whitespace().collect();
    let fixed = |words: &[&str], what| {
        words
            .iter()
            .map(|word| Offer {
                text: (*word).to_owned(),
                what,
            })
            .collect()
    };
    let offers: Vec<Offer> = match words[..] {
        [] => fixed(&meta::NAMES, "command"),
        ["\\d" | "\\d+"] => of_kind(entries, NameKind::Table)
            .into_iter()
            .chain(of_kind(entries, NameKind::Index))
            .collect(),
        ["\\dt" | "\\dt+" | "\\dv" | "\\sv" | "\\copy"] => of_kind(entries, NameKind::Table),
        ["\\di" | "\\di+"] => of_kind(entries, NameKind::Index),
        ["\\pset"] => fixed(&meta::SETTINGS, "setting"),
        ["\\pset", "format"] => fixed(&Format::names().collect::<Vec<_>>(), "format"),
        ["\\pset", "verbosity"] => fixed(&["default", "verbose"], "verbosity"),
        ["\\x" | "\\t" | "\\timing"] | ["\\pset", "tuples_only" | "timing"] => {
            fixed(&["on", "off"], "switch")
        }
        _ => Vec::new(),
    };
    Completion {
        start,
        offers: fitting(offers, &before[start..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<NameEntry> {
        let entry = |kind, name: &str, parent: Option<&str>| NameEntry {
            kind,
            name: name.to_owned(),
            parent: parent.map(str::to_owned),
        };
        vec![
            entry(NameKind::Table, "users", None),
            entry(NameKind::Table, "logs", None),
            entry(NameKind::Table, "Odd Name", None),
            entry(NameKind::Column, "id", Some("users")),
            entry(NameKind::Column, "name", Some("users")),
            entry(NameKind::Column, "period", Some("logs")),
            entry(NameKind::Column, "id", Some("logs")),
            entry(NameKind::Index, "by_name", Some("users")),
        ]
    }

    /// Completes at the `|` of `text` and shows `start: offers`.
    fn shown(text: &str) -> String {
        let cursor = text.find('|').expect("the cursor is marked");
        let found = complete(&text.replace('|', ""), cursor, &names());
        let offers: Vec<_> = found.offers.into_iter().map(|offer| offer.text).collect();
        format!("{}: {}", found.start, offers.join(" "))
    }

    #[test]
    fn offers() {
        let cases = [
            ("SELECT * FROM |", "14: users logs \"Odd Name\""),
            ("SELECT * FROM u|", "14: users"),
            ("SELECT * FROM o|", "14: \"Odd Name\""),
            ("SELECT * FROM \"O|", "14: \"Odd Name\""),
            ("SELECT * FROM users, l|", "21: logs"),
            ("SELECT u.| FROM users u", "9: id name"),
            ("SELECT u.n| FROM users AS u", "9: name"),
            ("SELECT logs.p|", "12: period"),
            ("SELECT | FROM logs", "7: period id"),
            (
                "SELECT p| FROM logs",
                "7: period power( partition preceding precision primary",
            ),
            (
                "SELECT P| FROM logs",
                "7: period power( PARTITION PRECEDING PRECISION PRIMARY",
            ),
            ("sel|", "0: select"),
            ("SEL|", "0: SELECT"),
            ("DROP INDEX |", "11: by_name"),
            ("DROP INDEX IF EXISTS b|", "21: by_name"),
            ("DROP TABLE IF EXISTS l|", "21: logs"),
            ("CREATE TABLE l|", "13: "),
            ("CREATE INDEX i ON u|", "18: users"),
            ("CHECK TABLE |", "12: users logs \"Odd Name\""),
            ("SELECT 'FROM |", "13: "),
            ("SELECT 1 -- FROM |", "17: "),
            (
                "SELECT 'é', n| FROM users",
                "13: name now( nullif( natural not nothing null nulls numeric",
            ),
            (
                "\\|",
                "0: \\? \\copy \\d \\df \\di \\dn \\ds \\dt \\du \\dv \\echo \\errverbose \\i \\l \\o \\pset \\q \\sv \\t \\timing \\x",
            ),
            ("\\d u|", "3: users"),
            ("\\pset f|", "6: format"),
            ("\\pset format j|", "13: json jsonl"),
            ("\\x o|", "3: on off"),
            ("|", "0: id name period"),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
