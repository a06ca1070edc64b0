//! COPY FROM a file or the client, and COPY TO a file or the client.
//!
//! ```text
//! COPY t [(column, …)] FROM 'file' | ('file', …) | STDIN [[WITH] (option [value], …)] [WHERE condition]
//! COPY t [(column, …)] | (query) TO 'file' | STDOUT [[WITH] (option [value], …)]
//! ```
//!
//! PostgreSQL's old form, `COPY t FROM 'file' CSV HEADER DELIMITER ';'`, is read too.

use sqlparser::tokenizer::Token;

use super::definitions::sequence::conflicting_options;
use super::query;
use super::reader::Reader;
use super::reader::boolean;
use crate::StatementError;
use crate::tree::{
    CopyDirection, CopyFormat, CopyHeader, CopyOptions, CopySource, CopyStatement, Expression, ForcedColumns,
    GivenColumns, Name, RejectOptions, ShowStatement, Statement,
};

/// Reads COPY.
pub(crate) fn copy(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["copy"])?;
    let source = source(reader)?;
    let direction = match reader.accept(&["to"]) {
        true => CopyDirection::To,
        false if matches!(source, CopySource::Query(_)) => return Err(reader.unexpected()),
        false => {
            reader.expect(&["from"])?;
            CopyDirection::From
        }
    };
    if reader.peeks(&["program"]) {
        return Err(reader.unsupported("COPY … PROGRAM is not supported"));
    }
    let files = match direction {
        // PostgreSQL takes either word for either direction.
        _ if reader.accept(&["stdin"]) || reader.accept(&["stdout"]) => Vec::new(),
        CopyDirection::From if *reader.peek_at(0) == Token::LParen => reader.parenthesised(Reader::string)?,
        _ => vec![reader.string()?],
    };
    let mut options = Options::default();
    read_options(reader, &mut options)?;
    let position = reader.position();
    let selection = match reader.accept(&["where"]) {
        true if direction == CopyDirection::To => {
            return Err(StatementError::syntax("WHERE clause not allowed with COPY TO").at(position));
        }
        true => Some(Expression {
            position: reader.position(),
            expr: reader.expression()?,
        }),
        false => None,
    };
    options.check_direction(direction)?;
    let options = options.settled(files.first().map(String::as_str))?;
    if direction == CopyDirection::To && options.rejects != RejectOptions::default() {
        let message = "ON_ERROR, REJECT_LIMIT and REJECTS are for COPY FROM";
        return Err(StatementError::statement("22023", message));
    }
    Ok(Statement::Copy(Box::new(CopyStatement {
        source,
        direction,
        files,
        options,
        selection,
    })))
}

/// Reads what follows DESCRIBE FILE.
pub(crate) fn describe_file(reader: &mut Reader<'_>) -> Result<ShowStatement, StatementError> {
    let file = reader.string()?;
    let mut options = Options::default();
    read_options(reader, &mut options)?;
    let options = options.settled(Some(&file))?;
    Ok(ShowStatement::File { file, options })
}

fn source(reader: &mut Reader<'_>) -> Result<CopySource, StatementError> {
    if reader.accept_token(&Token::LParen) {
        if reader.peeks_any(&["insert", "upsert", "update", "delete", "merge"]) {
            return Err(reader.unsupported("COPY of a statement that writes is not supported"));
        }
        let query = query::read_only_query(reader)?;
        reader.expect_token(&Token::RParen)?;
        return Ok(CopySource::Query(query));
    }
    let name = reader.object_name()?;
    let columns = if *reader.peek_at(0) == Token::LParen {
        reader.names()?
    } else {
        Vec::new()
    };
    Ok(CopySource::Table { name, columns })
}

/// Options as given, each with its place.
#[derive(Default)]
struct Options {
    /// What was given, each once.
    given: Vec<String>,
    format: Option<CopyFormat>,
    header: Option<CopyHeader>,
    delimiter: Option<u8>,
    quote: Option<u8>,
    escape: Option<u8>,
    null: Option<String>,
    row_number: Option<Name>,
    rejects: RejectOptions,
    forced: ForcedColumns,
    /// Place of the first option that only COPY TO has, and of the first that only COPY FROM has.
    to_only: Option<Name>,
    from_only: Option<Name>,
    /// Place of the first option that only CSV and text have.
    lines_only: Option<Name>,
    /// Place of the first option that only CSV has.
    csv_only: Option<Name>,
}

impl Options {
    /// Fills in what was not given; `file` is the name of the file, if there is one.
    fn settled(self, file: Option<&str>) -> Result<CopyOptions, StatementError> {
        let by_name = || file.map_or(CopyFormat::Text, format_of);
        let format = self.format.unwrap_or_else(by_name);
        self.check_allowed(format)?;
        if !self.rejects.ignore && self.rejects != RejectOptions::default() {
            let message = "COPY REJECT_LIMIT and REJECTS require ON_ERROR to be set to IGNORE";
            return Err(StatementError::statement("22023", message));
        }
        let (delimiter, null) = match format {
            CopyFormat::Text => (b'\t', "\\N"),
            _ => (b',', ""),
        };
        let delimiter = self.delimiter.unwrap_or(delimiter);
        let quote = self.quote.unwrap_or(b'"');
        let null = self.null.unwrap_or_else(|| null.to_string());
        let wrong = match format {
            CopyFormat::Text if TEXT_DELIMITERS_NOT.contains(&delimiter) => {
                format!("COPY delimiter cannot be \"{}\"", char::from(delimiter))
            }
            CopyFormat::Text if null.contains(['\n', '\r']) => {
                "COPY null representation cannot use newline or carriage return".to_string()
            }
            CopyFormat::Text if null.contains(char::from(delimiter)) => {
                "COPY delimiter must not appear in the NULL specification".to_string()
            }
            CopyFormat::Text => String::new(),
            _ if delimiter == quote => "COPY delimiter and quote must be different".to_string(),
            _ => String::new(),
        };
        if !wrong.is_empty() {
            return Err(StatementError::statement("22023", wrong));
        }
        Ok(CopyOptions {
            format,
            header: self.header.unwrap_or_default(),
            delimiter,
            quote,
            escape: self.escape.unwrap_or(quote),
            null,
            row_number: self.row_number,
            rejects: self.rejects,
            forced: self.forced,
        })
    }

    /// Reads the value of an option that is for columns.
    fn force(&mut self, reader: &mut Reader<'_>, option: Name) -> Result<(), StatementError> {
        let is_listed = *reader.peek_at(0) == Token::LParen;
        let columns = match () {
            () if reader.accept_token(&Token::Mul) => GivenColumns::All,
            () if is_listed => GivenColumns::Named(reader.names()?),
            () => GivenColumns::Named(reader.list(Reader::name)?),
        };
        let (place, only) = match option.text.as_str() {
            "force_quote" => (&mut self.forced.quote, &mut self.to_only),
            "force_null" => (&mut self.forced.null, &mut self.from_only),
            _ => (&mut self.forced.not_null, &mut self.from_only),
        };
        *place = Some(columns);
        only.get_or_insert(option.clone());
        self.csv_only.get_or_insert(option);
        Ok(())
    }

    /// Fails on an option that was given before.
    fn check_new(&mut self, option: &Name) -> Result<(), StatementError> {
        if self.given.contains(&option.text) {
            return Err(conflicting_options(option.position));
        }
        self.given.push(option.text.clone());
        Ok(())
    }

    /// Fails on options of the other direction.
    fn check_direction(&self, direction: CopyDirection) -> Result<(), StatementError> {
        let (wrong, other) = match direction {
            CopyDirection::From => (&self.to_only, "COPY TO"),
            CopyDirection::To => (&self.from_only, "COPY FROM"),
        };
        match wrong {
            None => Ok(()),
            Some(option) => {
                let name = option.text.replace('_', " ");
                let message = format!("COPY {name} only available using {other}");
                Err(StatementError::unsupported(message).at(option.position))
            }
        }
    }

    /// Notes the place of an option that not all formats have.
    fn note(&mut self, option: Name) {
        let place = match option.text.as_str() {
            "format" => return,
            "quote" | "escape" => &mut self.csv_only,
            _ => &mut self.lines_only,
        };
        place.get_or_insert(option);
    }

    /// Fails on options that the format does not have.
    fn check_allowed(&self, format: CopyFormat) -> Result<(), StatementError> {
        let wrong = match format {
            CopyFormat::Csv => None,
            CopyFormat::Text => self.csv_only.as_ref(),
            CopyFormat::Binary if self.rejects.ignore => {
                let message = "only ON_ERROR STOP is allowed in BINARY mode";
                return Err(StatementError::statement("42601", message));
            }
            _ => {
                let first = [&self.lines_only, &self.csv_only].into_iter().flatten();
                first.min_by_key(|name| name.position)
            }
        };
        match wrong {
            None => Ok(()),
            Some(option) => {
                let name = option.text.to_ascii_uppercase();
                let message = match format {
                    CopyFormat::Binary => format!("cannot specify {name} in BINARY mode"),
                    _ => format!("COPY {name} available only in CSV mode"),
                };
                Err(StatementError::unsupported(message).at(option.position))
            }
        }
    }
}

/// What may not separate fields of text: it would look like what a backslash guards.
const TEXT_DELIMITERS_NOT: &[u8] = b"\\.abcdefghijklmnopqrstuvwxyz0123456789";

/// Returns the format from the end of a file's name; CSV if that says nothing.
fn format_of(file: &str) -> CopyFormat {
    let extension = file
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase());
    match extension.as_deref() {
        Some("parquet") => CopyFormat::Parquet,
        Some("json" | "jsonl" | "ndjson") => CopyFormat::Json,
        Some("arrow" | "ipc" | "feather") => CopyFormat::Arrow,
        Some("arrows") => CopyFormat::ArrowStream,
        _ => CopyFormat::Csv,
    }
}

fn read_options(reader: &mut Reader<'_>, options: &mut Options) -> Result<(), StatementError> {
    reader.accept(&["with"]);
    if *reader.peek_at(0) == Token::LParen {
        reader.parenthesised(|reader| new_option(reader, options))?;
        return Ok(());
    }
    while let Token::Word(_) = reader.peek_at(0) {
        if reader.peeks(&["where"]) {
            return Ok(());
        }
        old_option(reader, options)?;
    }
    Ok(())
}

/// Reads one option in parentheses.
fn new_option(reader: &mut Reader<'_>, options: &mut Options) -> Result<(), StatementError> {
    let name = reader.any_word()?;
    options.check_new(&name)?;
    match name.text.as_str() {
        "format" => options.format = Some(format(reader)?),
        "header" => options.header = Some(header(reader)?),
        "delimiter" => options.delimiter = Some(character(reader, &name)?),
        "quote" => options.quote = Some(character(reader, &name)?),
        "escape" => options.escape = Some(character(reader, &name)?),
        "null" => options.null = Some(reader.string()?),
        "encoding" => return encoding(reader),
        "row_number" => {
            options.row_number = Some(reader.name()?);
            return Ok(());
        }
        "on_error" => {
            options.rejects.ignore = on_error(reader)?;
            return Ok(());
        }
        "reject_limit" => {
            options.rejects.limit = Some(reject_limit(reader)?);
            return Ok(());
        }
        "rejects" => {
            options.rejects.file = Some(reader.string()?);
            return Ok(());
        }
        "force_quote" | "force_null" | "force_not_null" => return options.force(reader, name),
        "freeze" | "default" | "log_verbosity" => {
            let message = format!("COPY option \"{}\" is not supported", name.text);
            return Err(StatementError::unsupported(message).at(name.position));
        }
        _ => {
            let message = format!("option \"{}\" not recognized", name.text);
            return Err(StatementError::syntax(message).at(name.position));
        }
    }
    options.note(name);
    Ok(())
}

/// Reads one option of the old form, which has no parentheses.
fn old_option(reader: &mut Reader<'_>, options: &mut Options) -> Result<(), StatementError> {
    let mut name = reader.any_word()?;
    let format = match name.text.as_str() {
        "csv" => Some(CopyFormat::Csv),
        "binary" => Some(CopyFormat::Binary),
        _ => None,
    };
    if format.is_some() {
        name.text = "format".to_string();
        options.format = format;
        return options.check_new(&name);
    }
    if name.text == "force" {
        name.text = match () {
            () if reader.accept(&["quote"]) => "force_quote",
            () if reader.accept(&["not", "null"]) => "force_not_null",
            () => {
                reader.expect(&["null"])?;
                "force_null"
            }
        }
        .to_string();
        options.check_new(&name)?;
        return options.force(reader, name);
    }
    options.check_new(&name)?;
    if name.text == "header" {
        options.header = Some(CopyHeader::Names);
        return Ok(());
    }
    reader.accept(&["as"]);
    match name.text.as_str() {
        "delimiter" => options.delimiter = Some(character(reader, &name)?),
        "quote" => options.quote = Some(character(reader, &name)?),
        "escape" => options.escape = Some(character(reader, &name)?),
        "null" => options.null = Some(reader.string()?),
        "encoding" => return encoding(reader),
        _ => {
            let message = format!("option \"{}\" not recognized", name.text);
            return Err(StatementError::syntax(message).at(name.position));
        }
    }
    options.note(name);
    Ok(())
}

fn format(reader: &mut Reader<'_>) -> Result<CopyFormat, StatementError> {
    let position = reader.position();
    let text = word_or_string(reader)?;
    match text.as_str() {
        "csv" => Ok(CopyFormat::Csv),
        "json" => Ok(CopyFormat::Json),
        "parquet" => Ok(CopyFormat::Parquet),
        "arrow" => Ok(CopyFormat::Arrow),
        "arrow_stream" => Ok(CopyFormat::ArrowStream),
        "text" => Ok(CopyFormat::Text),
        "binary" => Ok(CopyFormat::Binary),
        _ => {
            let message = format!("COPY format \"{text}\" not recognized");
            Err(StatementError::statement("22023", message).at(position))
        }
    }
}

/// Reads the value of ON_ERROR: whether records that are no rows are passed over.
fn on_error(reader: &mut Reader<'_>) -> Result<bool, StatementError> {
    let position = reader.position();
    match word_or_string(reader)?.as_str() {
        "stop" => Ok(false),
        "ignore" => Ok(true),
        other => {
            let message = format!("COPY ON_ERROR \"{other}\" not recognized");
            Err(StatementError::statement("22023", message).at(position))
        }
    }
}

fn reject_limit(reader: &mut Reader<'_>) -> Result<u64, StatementError> {
    let position = reader.position();
    match reader.integer()? {
        0 => {
            Err(StatementError::statement("22023", "REJECT_LIMIT (0) must be greater than zero").at(position))
        }
        limit => Ok(limit),
    }
}

/// Reads the value of HEADER: a truth value, MATCH, or SKIP.
fn header(reader: &mut Reader<'_>) -> Result<CopyHeader, StatementError> {
    if matches!(reader.peek_at(0), Token::Comma | Token::RParen) || reader.accept(&["match"]) {
        return Ok(CopyHeader::Names);
    }
    if reader.accept(&["skip"]) {
        return Ok(CopyHeader::Skip);
    }
    Ok(if boolean(reader)? {
        CopyHeader::Names
    } else {
        CopyHeader::None
    })
}

/// Reads a string of one byte.
fn character(reader: &mut Reader<'_>, option: &Name) -> Result<u8, StatementError> {
    let position = reader.position();
    let text = reader.string()?;
    match text.as_bytes() {
        [b'\n' | b'\r'] => {
            let message = format!("COPY {} cannot be newline or carriage return", option.text);
            Err(StatementError::statement("22023", message).at(position))
        }
        [byte] => Ok(*byte),
        _ => {
            let message = format!("COPY {} must be a single one-byte character", option.text);
            Err(StatementError::unsupported(message).at(position))
        }
    }
}

fn encoding(reader: &mut Reader<'_>) -> Result<(), StatementError> {
    let position = reader.position();
    let text = word_or_string(reader)?;
    match text.as_str() {
        "utf8" | "utf-8" => Ok(()),
        _ => Err(StatementError::unsupported(format!("encoding \"{text}\" is not supported")).at(position)),
    }
}

fn word_or_string(reader: &mut Reader<'_>) -> Result<String, StatementError> {
    match reader.peek_at(0) {
        Token::SingleQuotedString(_) => Ok(reader.string()?.to_ascii_lowercase()),
        _ => Ok(reader.any_word()?.text),
    }
}
