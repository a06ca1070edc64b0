//! COPY for PostgreSQL: the files that Rukh loads, past Rukh's own loader.
//!
//! CSV is PostgreSQL's own: the file goes through the connection with the options of the statement.
//! Parquet is read here, row by row, and goes as CSV; `ROW_NUMBER column` becomes a last field.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};

use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::postgres::PostgresDatabase;
use crate::tokens::{Token, TokenKind, closing, text_of, tokens};

/// A COPY statement, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct CopyFrom {
    table: String,
    columns: Option<Vec<String>>,
    path: String,
    /// Options as written, without the parentheses.
    options: String,
    is_parquet: bool,
    row_number: Option<String>,
}

/// Runs Rukh's `COPY table FROM 'file'` on PostgreSQL.
pub fn copy_from(database: &mut PostgresDatabase, sql: &str) -> Result<(), String> {
    let copy = parse(sql).ok_or_else(|| format!("not understood: {sql}"))?;
    let columns = copy
        .columns
        .as_ref()
        .map(|columns| format!(" ({})", columns.join(", ")));
    let columns = columns.unwrap_or_default();
    let file = File::open(&copy.path).map_err(|error| format!("{}: {error}", copy.path))?;
    if copy.is_parquet {
        let numbered = copy
            .columns
            .clone()
            .unwrap_or_default()
            .into_iter()
            .chain(copy.row_number.clone());
        let columns: Vec<String> = numbered.collect();
        let statement = format!(
            "COPY {} ({}) FROM STDIN WITH (FORMAT csv)",
            copy.table,
            columns.join(", ")
        );
        return database.copy_in(&statement, |out| {
            parquet_as_csv(file, copy.row_number.is_some(), out)
        });
    }
    let statement = format!("COPY {}{columns} FROM STDIN WITH ({})", copy.table, copy.options);
    database.copy_in(&statement, |out| {
        std::io::copy(&mut BufReader::new(file), out)
            .map(drop)
            .map_err(|error| error.to_string())
    })
}

/// Writes the rows of a Parquet file as CSV, numbered from 1 if `numbered`.
fn parquet_as_csv(file: File, numbered: bool, out: &mut dyn Write) -> Result<(), String> {
    let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    let mut out = BufWriter::new(out);
    let rows = reader.get_row_iter(None).map_err(|error| error.to_string())?;
    for (number, row) in rows.enumerate() {
        let row = row.map_err(|error| error.to_string())?;
        let mut fields: Vec<String> = row
            .get_column_iter()
            .map(|(_, field)| field.to_string())
            .collect();
        if numbered {
            fields.push((number + 1).to_string());
        }
        writeln!(out, "{}", fields.join(",")).map_err(|error| error.to_string())?;
    }
    out.flush().map_err(|error| error.to_string())
}

fn parse(sql: &str) -> Option<CopyFrom> {
    let tokens: Vec<Token> = tokens(sql);
    let words: Vec<&Token> = tokens
        .iter()
        .filter(|token| token.kind != TokenKind::Blank)
        .collect();
    let from = tokens.iter().position(|token| token.is_word("from"))?;
    let names = tokens[..from].iter().position(|token| token.is_symbol('('));
    let columns = names.map(|open| words_in(&tokens[open..closing(&tokens, open)]));
    let path = tokens[from..]
        .iter()
        .find(|token| token.kind == TokenKind::Text)?;
    let options = tokens[from..]
        .iter()
        .position(|token| token.is_symbol('('))
        .map(|place| place + from);
    let options = options.map_or(&[][..], |open| &tokens[open + 1..closing(&tokens, open)]);
    let option_words = words_in(options);
    let numbering = option_words.iter().position(|word| word == "row_number");
    Some(CopyFrom {
        table: words.get(1)?.text.clone(),
        columns,
        path: path.text.trim_matches('\'').replace("''", "'"),
        options: text_of(options),
        is_parquet: option_words.iter().any(|word| word == "parquet"),
        row_number: numbering.and_then(|place| option_words.get(place + 1).cloned()),
    })
}

fn words_in(tokens: &[Token]) -> Vec<String> {
    let words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
    words.map(|token| token.text.to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_taken_apart() {
        let copy = parse("COPY t (a, b) FROM '/d/f.parquet' WITH (FORMAT parquet, ROW_NUMBER id)").unwrap();
        assert_eq!((copy.table.as_str(), copy.path.as_str()), ("t", "/d/f.parquet"));
        assert_eq!(copy.columns, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((copy.is_parquet, copy.row_number), (true, Some("id".to_owned())));
        let copy = parse("COPY t FROM 'f.csv' WITH (FORMAT csv, HEADER true, NULL 'NA')").unwrap();
        assert_eq!(copy.options, "FORMAT csv, HEADER true, NULL 'NA'");
        assert_eq!(
            (copy.columns, copy.is_parquet, copy.row_number),
            (None, false, None)
        );
    }
}
