//! From Rukh's dialect to PostgreSQL's, so that one script runs on both.
//!
//! | Rukh                                         | PostgreSQL                                          |
//! |----------------------------------------------|-----------------------------------------------------|
//! | `TINYINT`, `DOUBLE`, `BINARY(n)`, `VARBINARY` | `SMALLINT`, `DOUBLE PRECISION`, `BYTEA`             |
//! | `COUNTER`                                    | `BIGINT NOT NULL DEFAULT 0`                         |
//! | `PRIMARY KEY (HASH(a, 8), b DESC)`           | `PRIMARY KEY (a, b)`                                |
//! | `FAMILY f (a, b) TTL = 60` among the columns | nothing                                             |
//! | `) SALT_BUCKETS = 4 SPLIT ON (…) WITH (…)`   | `)`                                                 |
//! | `CREATE INDEX … (HASH(a, 8)) WITH (…)`       | `CREATE INDEX … (a)`                                |
//! | `UPSERT INTO t (a, b) …`                     | `INSERT INTO t (a, b) … ON CONFLICT (key) DO UPDATE` |
//! | `x'00ff'`                                    | `'\x00ff'::bytea`                                   |
//! | `/*+ hints */`                               | comments, as they are                               |
//! | `EXPLAIN`, `CHECK`, `SHOW`, `DESCRIBE`, `ANALYZE`, `SET` | nothing, unless of transactions         |
//!
//! `UPSERT` needs the key of its table, so a [`Translator`] remembers the tables it has made.

use std::collections::BTreeMap;

use crate::tokens::{Token, TokenKind, closing, first_word, split_at_commas, text_of, tokens};

/// Translates the statements of one script, in order.
#[derive(Debug, Default)]
pub struct Translator {
    tables: BTreeMap<String, TableNames>,
}

/// Whether SHOW or SET is about what both know: transactions and their commits, schemas, and roles.
fn is_of_transactions(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    [
        "transaction",
        "set constraints",
        "set role",
        "synchronous_commit",
        "search_path",
    ]
    .iter()
    .any(|word| sql.contains(word))
}

/// What an UPSERT has to know of a table.
#[derive(Debug, Default)]
struct TableNames {
    columns: Vec<String>,
    key: Vec<String>,
}

impl Translator {
    /// Makes a translator that knows no table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the statement for PostgreSQL, or `None` when PostgreSQL has none.
    ///
    /// COPY is not translated: the caller loads the file.
    pub fn translate(&mut self, sql: &str) -> Option<String> {
        let tokens = common_words(tokens(sql));
        match first_word(sql).as_str() {
            "show" | "set" if is_of_transactions(sql) => Some(sql.to_owned()),
            "explain" | "check" | "show" | "describe" | "analyze" | "set" => None,
            "create" if names_table(&tokens) => Some(self.create_table(&tokens)),
            "create" if names_index(&tokens) => Some(create_index(&tokens)),
            "upsert" => Some(self.upsert(&tokens)),
            _ => Some(text_of(&tokens)),
        }
    }

    fn create_table(&mut self, tokens: &[Token]) -> String {
        let open = place_of_symbol(tokens, '(');
        if open == tokens.len() {
            return text_of(tokens);
        }
        let close = closing(tokens, open);
        let name = last_name(&tokens[..open]);
        let mut names = TableNames::default();
        let elements: Vec<String> = split_at_commas(&tokens[open + 1..close])
            .iter()
            .filter(|element| !is_family(element))
            .map(|element| table_element(element, &mut names))
            .collect();
        self.tables.insert(name, names);
        format!("{}({})", text_of(&tokens[..open]), elements.join(","))
    }

    fn upsert(&self, tokens: &[Token]) -> String {
        let words: Vec<&Token> = tokens
            .iter()
            .filter(|token| token.kind != TokenKind::Blank)
            .collect();
        let name = words.get(2).map(|token| name_of(token)).unwrap_or_default();
        let Some(table) = self.tables.get(&name) else {
            return text_of(tokens);
        };
        let named = match words.get(3) {
            Some(token) if token.is_symbol('(') => {
                let open = place_of_symbol(tokens, '(');
                names_in(&tokens[open + 1..closing(tokens, open)])
            }
            _ => table.columns.clone(),
        };
        let insert = replace_first_word(tokens, "INSERT");
        format!(
            "{insert} ON CONFLICT ({}) {}",
            table.key.join(", "),
            conflict_action(&named, &table.key)
        )
    }
}

fn conflict_action(named: &[String], key: &[String]) -> String {
    let values: Vec<String> = named
        .iter()
        .filter(|column| !key.contains(column))
        .map(|column| format!("{column} = excluded.{column}"))
        .collect();
    match values.is_empty() {
        true => "DO NOTHING".to_owned(),
        false => format!("DO UPDATE SET {}", values.join(", ")),
    }
}

/// Whether an element of CREATE TABLE is `FAMILY name (columns)`.
fn is_family(element: &[Token]) -> bool {
    let mut words = element.iter().filter(|token| token.kind != TokenKind::Blank);
    words.next().is_some_and(|word| word.is_word("family"))
        && words.next().is_some_and(is_name)
        && words.next().is_some_and(|token| token.is_symbol('('))
        && words.next().is_some_and(is_name)
}

/// Translates a column or constraint, and notes names and key.
fn table_element(element: &[Token], names: &mut TableNames) -> String {
    let words: Vec<&Token> = element
        .iter()
        .filter(|token| token.kind != TokenKind::Blank)
        .collect();
    if words.first().is_some_and(|word| word.is_word("primary")) {
        let open = place_of_symbol(element, '(');
        names.key = key_names(&element[open + 1..closing(element, open)]);
        return format!(" PRIMARY KEY ({})", names.key.join(", "));
    }
    let Some(first) = words.first() else {
        return text_of(element);
    };
    let name = name_of(first);
    let is_key = words
        .windows(2)
        .any(|pair| pair[0].is_word("primary") && pair[1].is_word("key"));
    if is_key {
        names.key = vec![name.clone()];
    }
    names.columns.push(name);
    text_of(element)
}

/// Returns the columns of a primary key, without hashes, directions and repetitions.
fn key_names(elements: &[Token]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for element in split_at_commas(elements) {
        let hashed = element.iter().any(|token| token.is_word("hash"));
        let mut words = element.iter().filter(|token| is_name(token));
        let name = if hashed { words.nth(1) } else { words.next() }.map(name_of);
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}

/// Drops what PostgreSQL does not know about indexes: hashes and options.
fn create_index(tokens: &[Token]) -> String {
    let mut out: Vec<Token> = Vec::new();
    let mut place = 0;
    while place < tokens.len() {
        let token = &tokens[place];
        let is_call = tokens.get(place + 1).is_some_and(|next| next.is_symbol('('));
        if token.is_word("with") || token.is_word("salt_buckets") || token.is_word("split") {
            break;
        }
        if token.is_word("hash") && is_call {
            let close = closing(tokens, place + 1);
            let column = tokens[place + 2..close].iter().find(|token| is_name(token));
            out.extend(column.cloned());
            place = close + 1;
            continue;
        }
        out.push(token.clone());
        place += 1;
    }
    text_of(&out)
}

/// Replaces types and literals that are spelled differently wherever they stand.
fn common_words(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut place = 0;
    while place < tokens.len() {
        let token = &tokens[place];
        let next_word = tokens[place + 1..]
            .iter()
            .find(|token| token.kind != TokenKind::Blank);
        if token.is_word("tinyint") {
            out.push(Token::verbatim("SMALLINT"));
        } else if token.is_word("double") && !next_word.is_some_and(|next| next.is_word("precision")) {
            out.push(Token::verbatim("DOUBLE PRECISION"));
        } else if token.is_word("counter") {
            out.push(Token::verbatim("BIGINT NOT NULL DEFAULT 0"));
        } else if token.is_word("varbinary") || token.is_word("binary") {
            out.push(Token::verbatim("BYTEA"));
            if tokens.get(place + 1).is_some_and(|next| next.is_symbol('(')) {
                place = closing(&tokens, place + 1);
            }
        } else if token.kind == TokenKind::Text && token.text.starts_with(['x', 'X']) {
            out.push(Token::verbatim(format!("'\\x{}::bytea", &token.text[2..])));
        } else {
            out.push(token.clone());
        }
        place += 1;
    }
    out
}

fn names_table(tokens: &[Token]) -> bool {
    let mut words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
    words.nth(1).is_some_and(|word| word.is_word("table"))
}

fn names_index(tokens: &[Token]) -> bool {
    let mut words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
    words.by_ref().take(3).any(|word| word.is_word("index"))
}

fn is_name(token: &Token) -> bool {
    matches!(token.kind, TokenKind::Word | TokenKind::QuotedName)
}

/// Returns a name as it is to be written again: in lower case unless it is quoted.
fn name_of(token: &Token) -> String {
    match token.kind {
        TokenKind::QuotedName => token.text.clone(),
        _ => token.text.to_lowercase(),
    }
}

fn last_name(tokens: &[Token]) -> String {
    tokens
        .iter()
        .rfind(|token| is_name(token))
        .map(name_of)
        .unwrap_or_default()
}

fn names_in(tokens: &[Token]) -> Vec<String> {
    tokens
        .iter()
        .filter(|token| is_name(token))
        .map(name_of)
        .collect()
}

fn place_of_symbol(tokens: &[Token], symbol: char) -> usize {
    tokens
        .iter()
        .position(|token| token.is_symbol(symbol))
        .unwrap_or(tokens.len())
}

fn replace_first_word(tokens: &[Token], word: &str) -> String {
    let mut tokens = tokens.to_vec();
    if let Some(first) = tokens.iter_mut().find(|token| token.kind == TokenKind::Word) {
        first.text = word.to_owned();
    }
    text_of(&tokens)
}

/// Adds a hint to the first SELECT of a query; it holds for all tables of the query.
pub fn with_hint(sql: &str, hint: &str) -> String {
    let mut tokens = tokens(sql);
    let select = tokens.iter().position(|token| token.is_word("select"));
    if let Some(place) = select {
        tokens.insert(place + 1, Token::verbatim(format!(" /*+ {hint} */")));
    }
    text_of(&tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, postgres: &str) {
        assert_eq!(Translator::new().translate(sql).as_deref(), Some(postgres));
    }

    #[test]
    fn tables() {
        check(
            "CREATE TABLE t (a CHAR(32) NOT NULL, b TINYINT, c DOUBLE, d BINARY(2), \
             PRIMARY KEY (HASH(a, 8), b DESC, a)) SALT_BUCKETS = 16 ON (b) SPLIT ON (x'10', x'20')",
            "CREATE TABLE t (a CHAR(32) NOT NULL, b SMALLINT, c DOUBLE PRECISION, d BYTEA, \
             PRIMARY KEY (a, b))"
                .replace("d BYTEA,  PRIMARY", "d BYTEA, PRIMARY")
                .as_str(),
        );
        check(
            "CREATE TABLE t (a INT PRIMARY KEY) WITH (x = 1)",
            "CREATE TABLE t (a INT PRIMARY KEY)",
        );
    }

    #[test]
    fn indexes() {
        check(
            "CREATE UNIQUE INDEX i ON t (HASH(url, 8), day DESC) INCLUDE (x) WHERE x > 1",
            "CREATE UNIQUE INDEX i ON t (url, day DESC) INCLUDE (x) WHERE x > 1",
        );
    }

    #[test]
    fn upserts() {
        let mut translator = Translator::new();
        translator.translate("CREATE TABLE t (a INT, b INT, c INT, PRIMARY KEY (a, b DESC))");
        let mut upsert = |sql: &str| translator.translate(sql).expect("an upsert is translated");
        assert_eq!(
            upsert("UPSERT INTO t (a, b, c) VALUES (1, 2, 3)"),
            "INSERT INTO t (a, b, c) VALUES (1, 2, 3) ON CONFLICT (a, b) DO UPDATE SET c = excluded.c"
        );
        assert_eq!(
            upsert("UPSERT INTO t VALUES (1, 2, 3)"),
            "INSERT INTO t VALUES (1, 2, 3) ON CONFLICT (a, b) DO UPDATE SET c = excluded.c"
        );
        assert_eq!(
            upsert("UPSERT INTO t (a, b) VALUES (1, 2)"),
            "INSERT INTO t (a, b) VALUES (1, 2) ON CONFLICT (a, b) DO NOTHING"
        );
    }

    #[test]
    fn literals_and_statements_without_counterpart() {
        check(
            "SELECT x'00ff', 'x', a::DOUBLE",
            "SELECT '\\x00ff'::bytea, 'x', a::DOUBLE PRECISION",
        );
        assert_eq!(Translator::new().translate("EXPLAIN SELECT 1"), None);
    }

    #[test]
    fn hints() {
        assert_eq!(
            with_hint("SELECT a FROM t", "FULL_SCAN"),
            "SELECT /*+ FULL_SCAN */ a FROM t"
        );
    }
}
