//! Words: which of them are reserved, and names and strings as SQL.

use sqlparser::tokenizer::Token;

use super::hidden_names::HIDDEN;

/// Whether a token is this word, unquoted, in any case.
pub(crate) fn is_word(token: &Token, expected: &str) -> bool {
    matches!(token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
}

/// Whether PostgreSQL reserves a word, so that it names a table or column only in quotes.
pub fn is_reserved(word: &str) -> bool {
    RESERVED
        .binary_search(&word.to_ascii_lowercase().as_str())
        .is_ok()
}

/// Returns a name as SQL: in quotes where PostgreSQL or sqlparser would read it otherwise.
///
/// | name      | SQL         |
/// |-----------|-------------|
/// | `url`     | `url`       |
/// | `Url`     | `"Url"`     |
/// | `order`   | `"order"`   |
/// | `a "b"`   | `"a ""b"""` |
pub fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    match starts_plain && name.chars().all(plain) && !is_reserved(name) && !is_special(name) {
        true => name.to_string(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Returns the name by which the rows of the `nth` query that writes are read.
pub fn rows_name(nth: usize) -> String {
    format!("{HIDDEN}with{nth}")
}

/// Returns a string as SQL.
pub fn quoted_string(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Whether a word starts a type, a function with a syntax of its own, or a clause.
fn is_special(word: &str) -> bool {
    SPECIAL.binary_search(&word).is_ok()
}

/// PostgreSQL's reserved words, sorted, without those that it allows as names of functions or types.
const RESERVED: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "current_catalog",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "initially",
    "intersect",
    "into",
    "lateral",
    "leading",
    "limit",
    "localtime",
    "localtimestamp",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "placing",
    "primary",
    "references",
    "returning",
    "select",
    "session_user",
    "some",
    "symmetric",
    "system_user",
    "table",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "variadic",
    "when",
    "where",
    "window",
    "with",
];

/// PostgreSQL's words that are reserved in part, sorted.
const SPECIAL: &[&str] = &[
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "char",
    "character",
    "coalesce",
    "collation",
    "concurrently",
    "cross",
    "current_schema",
    "dec",
    "decimal",
    "exists",
    "extract",
    "family",
    "float",
    "freeze",
    "full",
    "greatest",
    "grouping",
    "hash",
    "ilike",
    "inner",
    "inout",
    "int",
    "integer",
    "interval",
    "is",
    "isnull",
    "join",
    "least",
    "left",
    "like",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "notnull",
    "nullif",
    "numeric",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "position",
    "precision",
    "real",
    "right",
    "row",
    "set",
    "setof",
    "similar",
    "smallint",
    "struct",
    "substring",
    "tablesample",
    "time",
    "timestamp",
    "treat",
    "trim",
    "values",
    "varchar",
    "verbose",
    "xmlattributes",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_sorted() {
        assert!(RESERVED.is_sorted());
        assert!(SPECIAL.is_sorted());
    }

    #[test]
    fn names_are_quoted_where_needed() {
        let cases = [
            ("url", "url"),
            ("a1_b", "a1_b"),
            ("Url", "\"Url\""),
            ("1a", "\"1a\""),
            ("order", "\"order\""),
            ("time", "\"time\""),
            ("date", "date"),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("中国", "\"中国\""),
            ("", "\"\""),
        ];
        for (name, sql) in cases {
            assert_eq!(quoted(name), sql);
        }
    }
}
