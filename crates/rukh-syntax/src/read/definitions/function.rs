//! Functions.
//!
//! ```text
//! CREATE [OR REPLACE] FUNCTION [schema.]name ([[IN] [name] type [{DEFAULT | =} expression], …])
//!     RETURNS {[SETOF] type | SETOF relation | TABLE (name type, …)}
//!     {LANGUAGE sql | IMMUTABLE | STABLE | VOLATILE | STRICT | RETURNS NULL ON NULL INPUT | CALLED ON NULL INPUT
//!      | SECURITY INVOKER | PARALLEL {SAFE | RESTRICTED | UNSAFE} | COST n | ROWS n} …
//!     {AS 'query' | RETURN expression}
//! DROP FUNCTION [IF EXISTS] [schema.]name [([[name] type, …])], … [CASCADE | RESTRICT]
//! ALTER FUNCTION [schema.]name [([[name] type, …])] {RENAME TO name | SET SCHEMA schema | OWNER TO role}
//! ```

use rukh_catalog::Volatility;
use sqlparser::ast::SelectItem;
use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::nodes::{make, sql_text};
use crate::read::definitions::data_type::type_name;
use crate::read::query;
use crate::read::reader::Reader;
use crate::text::{Source, split_statements, variadic};
use crate::tree::{
    Expression, FunctionAction, FunctionBody, FunctionDefinition, FunctionName, FunctionStatement,
    ParameterDefinition, ReturnsDefinition, Statement, TypeName,
};

/// Reads CREATE FUNCTION.
pub(crate) fn create_function(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["create"])?;
    let or_replace = reader.accept(&["or", "replace"]);
    reader.expect(&["function"])?;
    let name = reader.object_name()?;
    let parameters = parameters(reader)?;
    let position = reader.position();
    if !reader.accept(&["returns"]) {
        return Err(StatementError::unsupported("a function without RETURNS is not supported").at(position));
    }
    let returns = returns(reader)?;
    let mut options = Options {
        volatility: Volatility::Volatile,
        strict: false,
    };
    let (mut language, mut body) = (None, None);
    loop {
        let position = reader.position();
        let given = match () {
            () if reader.accept(&["language"]) => language.replace(language_name(reader)?).is_some(),
            () if reader.accept(&["as"]) => body.replace(text(reader)?).is_some(),
            () if reader.accept(&["return"]) => {
                let position = reader.position();
                let expr = reader.expression()?;
                let source = sql_text(&expr);
                let query = Box::new(make::select_values(vec![SelectItem::UnnamedExpr(expr)]));
                let is_expression = true;
                let returned = FunctionBody {
                    source,
                    is_expression,
                    query,
                    position,
                };
                body.replace(returned).is_some()
            }
            () if reader.peeks(&["begin", "atomic"]) => {
                return Err(reader
                    .unsupported("a body in BEGIN ATOMIC … END is not supported")
                    .with_hint("Write it as AS $$ … $$."));
            }
            () => match option(reader, &mut options)? {
                true => false,
                false => break,
            },
        };
        if given {
            return Err(StatementError::syntax("conflicting or redundant options").at(position));
        }
    }
    let invalid = |message: &str| StatementError::statement("42P13", message);
    let body = body.ok_or_else(|| invalid("no function body specified"))?;
    if language.is_none() && !body.is_expression {
        return Err(invalid("no language specified"));
    }
    Ok(statement(FunctionStatement::Create(FunctionDefinition {
        name,
        or_replace,
        parameters,
        returns,
        volatility: options.volatility,
        strict: options.strict,
        body,
    })))
}

/// Options of a function that stand for themselves.
struct Options {
    volatility: Volatility,
    strict: bool,
}

/// Reads an option of a function that stands for itself; returns false if none is next.
fn option(reader: &mut Reader<'_>, options: &mut Options) -> Result<bool, StatementError> {
    match () {
        () if reader.accept(&["immutable"]) => options.volatility = Volatility::Immutable,
        () if reader.accept(&["stable"]) => options.volatility = Volatility::Stable,
        () if reader.accept(&["volatile"]) => options.volatility = Volatility::Volatile,
        () if reader.accept(&["strict"]) => options.strict = true,
        () if reader.accept(&["returns", "null", "on", "null", "input"]) => options.strict = true,
        () if reader.accept(&["called", "on", "null", "input"]) => options.strict = false,
        // What is leakproof is no matter: a query is planned with the body in it.
        () if reader.accept(&["not", "leakproof"]) || reader.accept(&["leakproof"]) => {}
        () if reader.accept(&["security", "invoker"]) => {}
        () if reader.accept(&["external", "security", "invoker"]) => {}
        () if reader.peeks_any(&["security", "external"]) => {
            return Err(reader
                .unsupported("SECURITY DEFINER is not supported")
                .with_hint("A function reads what the role that calls it may read."));
        }
        () if reader.accept(&["parallel"]) => {
            if !["safe", "restricted", "unsafe"]
                .iter()
                .any(|word| reader.accept(&[word]))
            {
                return Err(reader.unexpected());
            }
        }
        () if reader.peeks_any(&["cost", "rows"]) => {
            reader.take();
            reader.integer()?;
        }
        () if reader.peeks_any(&["set", "window", "support", "transform"]) => {
            return Err(reader.unsupported("this option of a function is not supported"));
        }
        () => return Ok(false),
    }
    Ok(true)
}

/// Reads the name of a language.
pub(crate) fn language(reader: &mut Reader<'_>) -> Result<String, StatementError> {
    match reader.peek_at(0) {
        Token::SingleQuotedString(_) => Ok(reader.string()?.to_ascii_lowercase()),
        _ => Ok(reader.any_word()?.text),
    }
}

/// Reads the name of a language, which has to be SQL.
fn language_name(reader: &mut Reader<'_>) -> Result<(), StatementError> {
    let position = reader.position();
    let name = language(reader)?;
    match name.as_str() {
        "sql" => Ok(()),
        _ => Err(
            StatementError::unsupported(format!("language \"{name}\" is not supported"))
                .at(position)
                .with_hint("Functions are written in SQL: LANGUAGE sql."),
        ),
    }
}

/// Reads the text of a body, which is a query.
fn text(reader: &mut Reader<'_>) -> Result<FunctionBody, StatementError> {
    let position = reader.position();
    let source = match reader.peek_at(0) {
        Token::DollarQuotedString(text) => text.value.clone(),
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text.clone(),
        _ => return Err(reader.unexpected()),
    };
    reader.take();
    let split = split_statements(&source);
    let statements = split.statements.len() + usize::from(!split.rest.is_empty());
    let refused = |message: &str| Err(StatementError::unsupported(message).at(position));
    if statements != 1 {
        return refused(
            "the body of a function is one query: several statements, or none, are not supported",
        );
    }
    // Places in the text are none of the statement.
    let placed = |error: StatementError| error.at(position);
    let text = Source::new(&source);
    let mut body = Reader::new(&text, reader.words()).map_err(placed)?;
    if !body.peeks_any(&["select", "with", "values", "table"]) && *body.peek_at(0) != Token::LParen {
        return refused("the body of a function is a query: other statements are not supported");
    }
    let query = query::read_only_query(&mut body).map_err(placed)?;
    body.end().map_err(placed)?;
    Ok(FunctionBody {
        source,
        is_expression: false,
        query,
        position,
    })
}

fn returns(reader: &mut Reader<'_>) -> Result<ReturnsDefinition, StatementError> {
    if reader.accept(&["table"]) {
        return Ok(ReturnsDefinition::Table(reader.parenthesised(|reader| {
            let name = reader.name()?;
            Ok((name, value_type(reader)?))
        })?));
    }
    let is_set = reader.accept(&["setof"]);
    let position = reader.position();
    for pseudo in ["void", "record", "trigger"] {
        if reader.peeks_at(0, pseudo) {
            return Err(reader.unsupported(format!("functions that return {pseudo} are not supported")));
        }
    }
    Ok(ReturnsDefinition::Type {
        is_set,
        ty: value_type(reader)?,
        position,
    })
}

fn value_type(reader: &mut Reader<'_>) -> Result<TypeName, StatementError> {
    let position = reader.position();
    let ty = reader.data_type()?;
    type_name(&ty, position)
}

fn parameters(reader: &mut Reader<'_>) -> Result<Vec<ParameterDefinition>, StatementError> {
    if matches!(
        (reader.peek_at(0), reader.peek_at(1)),
        (Token::LParen, Token::RParen)
    ) {
        reader.take();
        reader.take();
        return Ok(Vec::new());
    }
    reader.parenthesised(parameter)
}

fn parameter(reader: &mut Reader<'_>) -> Result<ParameterDefinition, StatementError> {
    for mode in ["out", "inout"] {
        if reader.peeks_at(0, mode) && matches!(reader.peek_at(1), Token::Word(_)) {
            let mode = mode.to_ascii_uppercase();
            return Err(reader.unsupported(format!("{mode} parameters are not supported")));
        }
    }
    if matches!(reader.peek_at(0), Token::Word(word) if word.value == variadic()) {
        return Err(reader.unsupported("VARIADIC parameters are not supported"));
    }
    if reader.peeks_at(0, "in") {
        reader.take();
    }
    let name = match is_name(reader) {
        true => Some(reader.any_word()?),
        false => None,
    };
    let position = reader.position();
    let ty = value_type(reader)?;
    let default = match reader.accept(&["default"]) || reader.accept_token(&Token::Eq) {
        true => {
            let position = reader.position();
            let expr = reader.expression()?;
            Some(Expression { expr, position })
        }
        false => None,
    };
    Ok(ParameterDefinition {
        name,
        ty,
        position,
        default,
    })
}

/// Whether the next word is the name of a parameter, whose type follows, and not the first of its type.
fn is_name(reader: &Reader<'_>) -> bool {
    let Token::Word(next) = reader.peek_at(1) else {
        return false;
    };
    let next = next.value.to_ascii_lowercase();
    let of_type = match &next[..] {
        "default" => true,
        "precision" => reader.peeks_at(0, "double"),
        "varying" => ["character", "char", "bit", "nchar"]
            .iter()
            .any(|word| reader.peeks_at(0, word)),
        "with" | "without" => ["time", "timestamp"].iter().any(|word| reader.peeks_at(0, word)),
        _ => false,
    };
    !of_type
}

/// Reads DROP FUNCTION.
pub(crate) fn drop_function(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["drop", "function"])?;
    let if_exists = reader.if_exists();
    let functions = reader.list(function_name)?;
    let cascade = reader.cascade();
    Ok(statement(FunctionStatement::Drop {
        functions,
        if_exists,
        cascade,
    }))
}

/// Reads ALTER FUNCTION.
pub(crate) fn alter_function(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["alter", "function"])?;
    let function = function_name(reader)?;
    let action = match () {
        () if reader.accept(&["rename", "to"]) => FunctionAction::RenameTo(reader.name()?),
        () if reader.accept(&["set", "schema"]) => FunctionAction::SetSchema(reader.name()?),
        () if reader.accept(&["owner", "to"]) => FunctionAction::OwnerTo(reader.name()?),
        () => {
            return Err(reader
                .unsupported("this form of ALTER FUNCTION is not supported")
                .with_hint("CREATE OR REPLACE FUNCTION changes a function."));
        }
    };
    Ok(statement(FunctionStatement::Alter { function, action }))
}

/// Takes the name of a function, and the types of its parameters if they are given.
pub(crate) fn function_name(reader: &mut Reader<'_>) -> Result<FunctionName, StatementError> {
    let name = reader.object_name()?;
    let parameters = match reader.peek_at(0) {
        Token::LParen => Some(
            parameters(reader)?
                .into_iter()
                .map(|parameter| parameter.ty)
                .collect(),
        ),
        _ => None,
    };
    Ok(FunctionName { name, parameters })
}

fn statement(statement: FunctionStatement) -> Statement {
    Statement::Function(Box::new(statement))
}
