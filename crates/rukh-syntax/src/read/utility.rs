//! Statements that are no query and define no table or index, and the choice among all statements.

use rukh_catalog::CheckOption;
use sqlparser::tokenizer::Token;

use super::copy;
use super::definitions::alter;
use super::definitions::create_index;
use super::definitions::create_table;
use super::definitions::domain;
use super::definitions::extension;
use super::definitions::function;
use super::definitions::role;
use super::definitions::schema;
use super::definitions::sequence;
use super::definitions::types;
use super::kept;
use super::lock;
use super::merge;
use super::operations;
use super::procedural;
use super::query;
use super::reader::{Reader, boolean};
use super::transaction;
use crate::StatementError;
use crate::text::quoted;
use crate::tree::{
    CommentTarget, CreateViewStatement, ExplainFormat, KeptStatement, Name, ObjectName, ShowStatement,
    Statement,
};

/// Reads any statement.
pub(crate) fn statement(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    let Token::Word(word) = reader.peek_at(0) else {
        return match reader.peek_at(0) {
            Token::LParen => query::query(reader),
            _ => Err(reader.unexpected()),
        };
    };
    let statement = word.value.to_ascii_lowercase();
    if role::is_next(reader) {
        return role::role(reader).map(|role| Statement::Role(Box::new(role)));
    }
    if kept::is_next(reader) {
        return kept::kept(reader).map(|kept| Statement::Kept(Box::new(kept)));
    }
    match statement.as_str() {
        "select" | "with" | "values" | "table" => query::query(reader),
        "insert" | "upsert" => query::insert(reader, None),
        "update" if is_update_statistics(reader) => update_statistics(reader),
        "update" => query::update(reader, None),
        "delete" => query::delete(reader, None),
        "merge" => merge::merge(reader, None),
        "create" => create(reader),
        "alter" if reader.peeks(&["alter", "schema"]) => schema::alter_schema(reader),
        "alter" if reader.peeks(&["alter", "type"]) => types::alter_type(reader),
        "alter" if reader.peeks(&["alter", "domain"]) => domain::alter_domain(reader),
        "alter" if reader.peeks(&["alter", "function"]) => function::alter_function(reader),
        "alter" => alter::alter(reader),
        "reindex" => alter::reindex(reader),
        "refresh" => refresh(reader),
        "comment" => comment(reader),
        "drop" => drop(reader),
        "truncate" => truncate(reader),
        "explain" => explain(reader),
        "show" => show(reader),
        "describe" | "desc" => describe(reader),
        "check" => check(reader),
        "analyze" | "analyse" => analyze(reader),
        "copy" => copy::copy(reader),
        "backup" => operations::backup(reader),
        "checkpoint" => operations::checkpoint(reader),
        "compact" => operations::compact(reader),
        "vacuum" => operations::vacuum(reader),
        "lock" => lock::lock(reader),
        "do" => procedural::do_block(reader).map(|block| Statement::Do(Box::new(block))),
        "set" => set(reader),
        "reset" => reset(reader),
        "begin" | "start" | "commit" | "end" | "rollback" | "abort" | "savepoint" | "release" => {
            transaction::transaction(reader).map(Statement::Transaction)
        }
        other if NOT_DONE.contains(&other) => {
            let name = other.to_ascii_uppercase();
            Err(reader.unsupported(format!("{name} is not supported")))
        }
        _ => Err(reader.unexpected()),
    }
}

/// First words of statements that PostgreSQL has and Rukh has not.
const NOT_DONE: &[&str] = &[
    "call", "cluster", "import", "listen", "load", "notify", "reassign", "security", "unlisten",
];

pub(crate) fn create(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    // What is made, behind the words that say how long it stays.
    let how = ["local", "global", "temp", "temporary", "unlogged"];
    let is_how = |at: &usize| how.iter().any(|word| reader.peeks_at(*at, word));
    let at = match reader.peeks(&["create", "or", "replace"]) {
        true => 3,
        false => 1,
    };
    let what = (at..at + 2).find(|at| !is_how(at)).unwrap_or(at + 2);
    match () {
        () if reader.peeks_at(what, "table") && at == 1 => create_table::create_table(reader),
        () if reader.peeks(&["create", "materialized", "view"]) => create_table::create_materialized(reader),
        () if reader.peeks_at(what, "view") => create_view(reader),
        () if reader.peeks_at(what, "sequence") && at == 1 => sequence::create_sequence(reader),
        () if reader.peeks(&["create", "extension"]) => extension::create_extension(reader),
        () if reader.peeks(&["create", "schema"]) => schema::create_schema(reader),
        () if reader.peeks(&["create", "type"]) => types::create_type(reader),
        () if reader.peeks(&["create", "domain"]) => domain::create_domain(reader),
        () if reader.peeks_at(at, "function") => function::create_function(reader),
        () if reader.peeks(&["create", "index"]) => create_index::create_index(reader),
        () if reader.peeks(&["create", "unique", "index"]) => create_index::create_index(reader),
        () => not_done(reader, "CREATE"),
    }
}

/// What CREATE and DROP could name in PostgreSQL or Phoenix.
const OBJECTS: &[&str] = &[
    "access",
    "aggregate",
    "cast",
    "collation",
    "columnar",
    "conversion",
    "database",
    "domain",
    "event",
    "external",
    "foreign",
    "global",
    "language",
    "local",
    "materialized",
    "operator",
    "or",
    "owned",
    "policy",
    "procedure",
    "publication",
    "recursive",
    "rule",
    "server",
    "statistics",
    "subscription",
    "tablespace",
    "temp",
    "temporary",
    "text",
    "transform",
    "trigger",
    "unlogged",
];

/// Fails with the name of what should be created or dropped, or with a syntax error.
fn not_done(reader: &mut Reader<'_>, verb: &str) -> Result<Statement, StatementError> {
    let position = reader.position();
    reader.take();
    match reader.peek_at(0) {
        Token::Word(word) if OBJECTS.contains(&word.value.to_ascii_lowercase().as_str()) => {
            let object = word.value.to_ascii_uppercase();
            Err(StatementError::unsupported(format!("{verb} {object} is not supported")).at(position))
        }
        _ => Err(reader.unexpected()),
    }
}

fn drop(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    if reader.accept(&["drop", "sequence"]) {
        let if_exists = reader.if_exists();
        let names = reader.list(Reader::object_name)?;
        let cascade = reader.cascade();
        return Ok(Statement::DropSequence {
            names,
            if_exists,
            cascade,
        });
    }
    if reader.peeks(&["drop", "extension"]) {
        return extension::drop_extension(reader);
    }
    if reader.peeks(&["drop", "schema"]) {
        return schema::drop_schema(reader);
    }
    if reader.peeks(&["drop", "type"]) || reader.peeks(&["drop", "domain"]) {
        return types::drop_type(reader);
    }
    if reader.peeks(&["drop", "function"]) {
        return function::drop_function(reader);
    }
    let materialized = reader.peeks(&["drop", "materialized", "view"]);
    if reader.accept(&["drop", "view"]) || reader.accept(&["drop", "materialized", "view"]) {
        let if_exists = reader.if_exists();
        let names = reader.list(Reader::object_name)?;
        let cascade = reader.cascade();
        return Ok(Statement::DropView {
            names,
            if_exists,
            cascade,
            materialized,
        });
    }
    let is_table = reader.peeks(&["drop", "table"]);
    if !is_table && !reader.peeks(&["drop", "index"]) {
        return not_done(reader, "DROP");
    }
    reader.take();
    reader.take();
    if !is_table {
        reader.accept(&["concurrently"]);
    }
    let if_exists = reader.if_exists();
    let names = reader.list(Reader::object_name)?;
    if !is_table && reader.peeks(&["on"]) {
        return Err(reader
            .unsupported("DROP INDEX … ON is not supported")
            .with_hint("Names of indexes are unique: DROP INDEX name."));
    }
    // Nothing depends on an index.
    let cascade = reader.cascade();
    Ok(match is_table {
        true => Statement::DropTable {
            names,
            if_exists,
            cascade,
        },
        false => Statement::DropIndex { names, if_exists },
    })
}

/// Reads COMMENT ON.
fn comment(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    if reader.peeks(&["comment", "on", "extension"]) {
        return extension::comment_on_extension(reader);
    }
    reader.expect(&["comment", "on"])?;
    let on = if reader.accept(&["table"]) {
        CommentTarget::Table(reader.object_name()?)
    } else if reader.accept(&["index"]) {
        CommentTarget::Index(reader.object_name()?)
    } else if reader.accept(&["materialized", "view"]) {
        CommentTarget::Table(reader.object_name()?)
    } else if reader.accept(&["view"]) {
        CommentTarget::View(reader.object_name()?)
    } else if reader.accept(&["sequence"]) {
        CommentTarget::Sequence(reader.object_name()?)
    } else if reader.accept(&["schema"]) {
        CommentTarget::Schema(reader.name()?)
    } else if reader.accept(&["type"]) || reader.accept(&["domain"]) {
        CommentTarget::Type(reader.object_name()?)
    } else if reader.accept(&["function"]) {
        CommentTarget::Function(function::function_name(reader)?)
    } else if reader.accept(&["column"]) {
        let (table, column) = reader.column_of_table()?;
        CommentTarget::Column { table, column }
    } else if reader.accept(&["constraint"]) {
        let name = reader.name()?;
        reader.expect(&["on"])?;
        if reader.peeks(&["domain"]) {
            return Err(reader.unsupported("comments on constraints of domains are not supported"));
        }
        let table = reader.object_name()?;
        CommentTarget::Constraint { table, name }
    } else {
        return Err(reader.unsupported(
            "COMMENT ON takes a table, column, constraint, index, view, sequence, type, function or schema",
        ));
    };
    reader.expect(&["is"])?;
    let text = match reader.accept(&["null"]) {
        true => None,
        false => Some(reader.string()?).filter(|text| !text.is_empty()),
    };
    Ok(Statement::Comment { on, text })
}

/// Reads CREATE [OR REPLACE] [TEMP | TEMPORARY] VIEW.
fn create_view(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["create"])?;
    let or_replace = reader.accept(&["or", "replace"]);
    let is_temporary = create_table::temporary(reader);
    reader.expect(&["view"])?;
    let name = create_table::new_name(reader, is_temporary)?;
    let columns = match reader.peek_at(0) {
        Token::LParen => reader.names()?,
        _ => Vec::new(),
    };
    if reader.peeks(&["with"]) {
        return Err(reader.unsupported("CREATE VIEW … WITH is not supported"));
    }
    reader.expect(&["as"])?;
    let query = query::read_only_query(reader)?;
    let check = match () {
        () if !reader.accept(&["with"]) => None,
        () if reader.accept(&["local"]) => Some(CheckOption::Local),
        () => {
            reader.accept(&["cascaded"]);
            Some(CheckOption::Cascaded)
        }
    };
    if check.is_some() {
        reader.expect(&["check", "option"])?;
    }
    Ok(Statement::CreateView(Box::new(CreateViewStatement {
        name,
        or_replace,
        columns,
        query,
        check,
    })))
}

/// Reads REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH [NO] DATA].
fn refresh(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["refresh", "materialized", "view"])?;
    let concurrently = reader.accept(&["concurrently"]);
    let name = reader.object_name()?;
    let position = reader.position();
    let with_data = !reader.accept(&["with", "no", "data"]);
    reader.accept(&["with", "data"]);
    if concurrently && !with_data {
        let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
        return Err(StatementError::syntax(message).at(position));
    }
    Ok(Statement::Refresh {
        name,
        concurrently,
        with_data,
    })
}

fn truncate(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["truncate"])?;
    reader.accept(&["table"]);
    reader.accept(&["only"]);
    let tables = reader.list(Reader::object_name)?;
    let restart = reader.accept(&["restart", "identity"]);
    reader.accept(&["continue", "identity"]);
    let cascade = reader.cascade();
    Ok(Statement::Truncate {
        tables,
        restart,
        cascade,
    })
}

fn explain(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["explain"])?;
    let mut options = ExplainOptions {
        analyze: false,
        alternatives: false,
        format: ExplainFormat::Text,
    };
    if *reader.peek_at(0) == Token::LParen && !opens_query(reader) {
        reader.parenthesised(|reader| explain_option(reader, &mut options))?;
    }
    loop {
        if reader.accept(&["analyze"]) || reader.accept(&["analyse"]) {
            options.analyze = true;
        } else if reader.accept(&["format"]) {
            options.format = explain_format(reader)?;
        } else if !reader.accept(&["verbose"]) {
            break;
        }
    }
    let position = reader.position();
    let statement = match reader.peeks(&["explain"]) {
        true => return Err(reader.unexpected()),
        false => statement(reader)?,
    };
    let is_execute =
        matches!(&statement, Statement::Kept(kept) if matches!(**kept, KeptStatement::Execute { .. }));
    match statement {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Kept(_)
            if is_execute || !matches!(statement, Statement::Kept(_)) =>
        {
            let ExplainOptions {
                analyze,
                alternatives,
                format,
            } = options;
            Ok(Statement::Explain {
                analyze,
                alternatives,
                format,
                statement: Box::new(statement),
            })
        }
        _ => Err(StatementError::unsupported(
            "EXPLAIN takes a query, INSERT, UPSERT, UPDATE, DELETE, MERGE or EXECUTE",
        )
        .at(position)),
    }
}

struct ExplainOptions {
    analyze: bool,
    alternatives: bool,
    format: ExplainFormat,
}

/// Whether the parenthesis that is next starts a query.
fn opens_query(reader: &Reader<'_>) -> bool {
    let inner = (1..).find(|n| *reader.peek_at(*n) != Token::LParen).unwrap_or(1);
    ["select", "with", "values", "table"]
        .iter()
        .any(|word| reader.peeks_at(inner, word))
}

fn explain_option(reader: &mut Reader<'_>, options: &mut ExplainOptions) -> Result<(), StatementError> {
    let Name { text, position } = reader.any_word()?;
    match text.as_str() {
        "analyze" | "analyse" => options.analyze = optional_boolean(reader)?,
        "alternatives" => options.alternatives = optional_boolean(reader)?,
        "format" => options.format = explain_format(reader)?,
        // Choices about columns that PostgreSQL prints; what is printed here does not depend on them.
        "verbose" | "costs" | "settings" | "buffers" | "wal" | "timing" | "summary" => {
            optional_boolean(reader)?;
        }
        _ => {
            let message = format!("unrecognized EXPLAIN option \"{text}\"");
            return Err(StatementError::syntax(message).at(position));
        }
    }
    Ok(())
}

/// Reads `[true | false | on | off | 1 | 0]`, which is true if absent.
fn optional_boolean(reader: &mut Reader<'_>) -> Result<bool, StatementError> {
    if matches!(reader.peek_at(0), Token::Comma | Token::RParen) {
        return Ok(true);
    }
    boolean(reader)
}

fn explain_format(reader: &mut Reader<'_>) -> Result<ExplainFormat, StatementError> {
    let position = reader.position();
    let text = match reader.peek_at(0) {
        Token::SingleQuotedString(_) => reader.string()?.to_ascii_lowercase(),
        _ => reader.any_word()?.text,
    };
    match text.as_str() {
        "text" => Ok(ExplainFormat::Text),
        "json" => Ok(ExplainFormat::Json),
        _ => {
            let message = format!("unrecognized value for EXPLAIN option \"format\": \"{text}\"");
            Err(StatementError::statement("22023", message).at(position))
        }
    }
}

fn show(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["show"])?;
    let of_table = |reader: &mut Reader<'_>| -> Result<Option<ObjectName>, StatementError> {
        match reader.accept(&["from"]) || reader.accept(&["on"]) || reader.accept(&["in"]) {
            true => reader.object_name().map(Some),
            false => Ok(None),
        }
    };
    Ok(Statement::Show(if reader.accept(&["tables"]) {
        ShowStatement::Tables
    } else if reader.accept(&["indexes"]) || reader.accept(&["index"]) || reader.accept(&["indices"]) {
        ShowStatement::Indexes {
            table: of_table(reader)?,
        }
    } else if reader.accept(&["create", "table"]) || reader.accept(&["create", "view"]) {
        ShowStatement::CreateTable {
            name: reader.object_name()?,
        }
    } else if reader.accept(&["columns"]) {
        let name = of_table(reader)?.ok_or_else(|| reader.unexpected())?;
        ShowStatement::Columns { name }
    } else if reader.accept(&["last", "query", "stats"]) {
        ShowStatement::LastQueryStats
    } else if reader.accept(&["stats"]) {
        ShowStatement::Stats {
            table: of_table(reader)?,
        }
    } else if reader.accept(&["database", "stats"]) {
        ShowStatement::DatabaseStats
    } else if reader.accept(&["backups"]) {
        if !reader.accept(&["from"]) {
            reader.expect(&["in"])?;
        }
        ShowStatement::Backups {
            directory: operations::directory(reader)?,
        }
    } else if reader.accept(&["all"]) {
        ShowStatement::All
    } else {
        ShowStatement::Setting(setting_name(reader)?)
    }))
}

fn describe(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.take();
    if reader.peeks(&["file"]) && matches!(reader.peek_at(1), Token::SingleQuotedString(_)) {
        reader.take();
        return copy::describe_file(reader).map(Statement::Show);
    }
    reader.accept(&["table"]);
    Ok(Statement::Show(ShowStatement::Columns {
        name: reader.object_name()?,
    }))
}

fn check(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["check"])?;
    if reader.accept(&["index"]) {
        return Ok(Statement::CheckIndex {
            name: reader.object_name()?,
        });
    }
    reader.expect(&["table"])?;
    Ok(Statement::CheckTable {
        name: reader.object_name()?,
    })
}

fn analyze(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.take();
    reader.accept(&["verbose"]);
    reader.accept(&["table"]);
    let table = if ends(reader) {
        None
    } else {
        Some(reader.object_name()?)
    };
    Ok(Statement::Analyze { table })
}

/// Whether this is `UPDATE STATISTICS t`, not an UPDATE of a table called `statistics`.
fn is_update_statistics(reader: &Reader<'_>) -> bool {
    if !reader.peeks(&["update", "statistics"]) || !matches!(reader.peek_at(2), Token::Word(_)) {
        return false;
    }
    let after_name = if *reader.peek_at(3) == Token::Period { 5 } else { 3 };
    matches!(reader.peek_at(after_name), Token::EOF | Token::SemiColon)
}

fn update_statistics(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["update", "statistics"])?;
    Ok(Statement::Analyze {
        table: Some(reader.object_name()?),
    })
}

fn set(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["set"])?;
    if reader.peeks(&["transaction"]) {
        return transaction::set_transaction(reader).map(Statement::Transaction);
    }
    let session = !reader.peeks(&["session", "authorization"]) && reader.accept(&["session"]);
    if session && reader.peeks(&["characteristics"]) {
        return transaction::set_characteristics(reader).map(Statement::Transaction);
    }
    let local = !session && reader.accept(&["local"]);
    if local && reader.peeks(&["transaction"]) {
        return transaction::set_transaction(reader).map(Statement::Transaction);
    }
    if reader.accept(&["constraints"]) {
        return transaction::set_constraints(reader).map(Statement::Transaction);
    }
    let of_role = match () {
        () if reader.accept(&["role"]) => Some("role"),
        () if !session && reader.accept(&["session", "authorization"]) => Some("session_authorization"),
        () => None,
    };
    if let Some(name) = of_role {
        let value = match () {
            () if matches!(reader.peek_at(0), Token::SingleQuotedString(_)) => Some(reader.string()?),
            () if name != "role" && reader.accept(&["default"]) => None,
            () => Some(reader.name()?.text),
        };
        let name = name.to_string();
        return Ok(Statement::Set { name, value, local });
    }
    let name = if reader.accept(&["time", "zone"]) {
        "timezone".to_string()
    } else if reader.accept(&["names"]) {
        "client_encoding".to_string()
    } else {
        let name = setting_name(reader)?;
        if !reader.accept_token(&Token::Eq) {
            reader.expect(&["to"])?;
        }
        name
    };
    let value = match name.as_str() {
        "search_path" if !reader.peeks(&["default"]) => Some(path(&reader.list(setting_item)?)),
        _ => setting_value(reader)?,
    };
    Ok(Statement::Set { name, value, local })
}

/// Returns the names of a search path as a value of the setting.
fn path(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    names.join(", ")
}

fn reset(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["reset"])?;
    let name = match reader.accept(&["all"]) {
        true => None,
        false => Some(setting_name(reader)?),
    };
    Ok(Statement::Reset { name })
}

/// Reads the name of a setting, which may have dots; some of PostgreSQL's have blanks.
fn setting_name(reader: &mut Reader<'_>) -> Result<String, StatementError> {
    if reader.accept(&["time", "zone"]) {
        return Ok("timezone".to_string());
    }
    if reader.accept(&["session", "authorization"]) {
        return Ok("session_authorization".to_string());
    }
    if reader.accept(&["transaction", "isolation", "level"]) {
        return Ok("transaction_isolation".to_string());
    }
    let mut name = reader.any_word()?.text.to_ascii_lowercase();
    while reader.accept_token(&Token::Period) {
        name = format!("{name}.{}", reader.any_word()?.text.to_ascii_lowercase());
    }
    Ok(name)
}

/// Reads the value of a setting as text; a list is joined by commas, DEFAULT is `None`.
fn setting_value(reader: &mut Reader<'_>) -> Result<Option<String>, StatementError> {
    if reader.accept(&["default"]) {
        return Ok(None);
    }
    Ok(Some(reader.list(setting_item)?.join(", ")))
}

fn setting_item(reader: &mut Reader<'_>) -> Result<String, StatementError> {
    let sign = if reader.accept_token(&Token::Minus) {
        "-"
    } else {
        ""
    };
    match reader.peek_at(0) {
        Token::Number(digits, _) => {
            let value = format!("{sign}{digits}");
            reader.take();
            Ok(value)
        }
        _ if !sign.is_empty() => Err(reader.unexpected()),
        Token::SingleQuotedString(_) => reader.string(),
        _ => Ok(reader.any_word()?.text),
    }
}

/// Whether nothing more of the statement follows.
fn ends(reader: &Reader<'_>) -> bool {
    matches!(reader.peek_at(0), Token::EOF | Token::SemiColon)
}
