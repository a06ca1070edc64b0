//! Reads a statement token by token: the vocabulary in which the parsers of this folder are written.
//!
//! It is a thin coat over sqlparser's parser, which reads all expressions and queries. Words are
//! compared as text, because most words of Rukh's own statements are no keywords of sqlparser.

use sqlparser::ast::{self, Expr, Ident};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use crate::StatementError;
use crate::nodes::{Respell, depth};
use crate::text::{RukhDialect, Source, is_reserved, is_word, respell, respell_past, respell_subscripts};
use crate::tree::{Name, ObjectName};

/// Deepest nesting by parentheses and subqueries.
const NESTING_MAX: usize = 200;

/// A place within the tokens of a statement.
pub(crate) struct Reader<'a> {
    source: &'a Source<'a>,
    words: &'a dyn Respell,
    dialect: &'static RukhDialect,
    tokens: Vec<TokenWithSpan>,
    parser: Parser<'static>,
}

impl<'a> Reader<'a> {
    /// Starts at the first token; fails on text that is no token.
    pub(crate) fn new(source: &'a Source<'a>, words: &'a dyn Respell) -> Result<Self, StatementError> {
        let mut tokens = source.tokens()?;
        depth::check_tokens(&tokens)?;
        respell(&mut tokens);
        respell_subscripts(&mut tokens);
        let dialect = RukhDialect::of(respell_past(&mut tokens));
        let parser = Parser::new(dialect)
            .with_recursion_limit(NESTING_MAX)
            .with_tokens_with_locations(tokens.clone());
        Ok(Reader {
            source,
            words,
            dialect,
            tokens,
            parser,
        })
    }

    /// Returns how the caller spells trees.
    pub(crate) fn words(&self) -> &dyn Respell {
        self.words
    }

    /// Returns the next token, which is [`Token::EOF`] after the last.
    pub(crate) fn peek(&self) -> &TokenWithSpan {
        self.parser.peek_token_ref()
    }

    /// Returns the token `n` places after the next.
    pub(crate) fn peek_at(&self, n: usize) -> &Token {
        &self.parser.peek_nth_token_ref(n).token
    }

    /// Returns the place of the next token in characters from 1.
    pub(crate) fn position(&self) -> usize {
        self.source.position(self.peek())
    }

    /// Makes the error for a next token that cannot stand there.
    pub(crate) fn unexpected(&self) -> StatementError {
        self.source.unexpected(self.peek())
    }

    /// Makes the error for a word that sqlparser took for a name, and that cannot be one.
    pub(crate) fn unexpected_name(&self, name: &Ident) -> StatementError {
        let token = TokenWithSpan {
            token: Token::make_word(&name.value, None),
            span: name.span,
        };
        self.source.unexpected(&token)
    }

    /// Makes the error for something that is understood and not done, at the next token.
    pub(crate) fn unsupported(&self, message: impl Into<String>) -> StatementError {
        StatementError::unsupported(message).at(self.position())
    }

    /// Returns the text from the next token on.
    pub(crate) fn rest(&self) -> String {
        self.source
            .text_from(self.peek())
            .trim_end_matches([';', ' ', '\n'])
            .to_string()
    }

    /// Returns the text of the whole statement.
    pub(crate) fn whole(&self) -> String {
        let text = self
            .tokens
            .first()
            .map_or("", |first| self.source.text_from(first));
        text.trim_matches([';', ' ', '\n']).to_string()
    }

    /// Whether the token `n` places after the next is this word, unquoted, in any case.
    pub(crate) fn peeks_at(&self, n: usize, word: &str) -> bool {
        is_word(self.peek_at(n), word)
    }

    /// Whether the next tokens are these words.
    pub(crate) fn peeks(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(n, word)| self.peeks_at(n, word))
    }

    /// Whether WITH is next and the statement after its queries writes.
    pub(crate) fn with_opens_write(&self) -> bool {
        let visible = self.tokens[self.parser.index()..].iter();
        let mut visible = visible.filter(|token| !matches!(token.token, Token::Whitespace(_)));
        if !visible.next().is_some_and(|token| is_word(&token.token, "with")) {
            return false;
        }
        let (mut depth, mut was_closed) = (0_usize, false);
        for token in visible {
            match &token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                // A query of WITH ends with a parenthesis; what follows is a comma or the statement.
                word if depth == 0 && was_closed => {
                    let writes = ["insert", "upsert", "update", "delete", "merge"];
                    if writes.iter().any(|verb| is_word(word, verb)) {
                        return true;
                    }
                }
                _ => {}
            }
            was_closed = depth == 0 && token.token == Token::RParen;
        }
        false
    }

    /// Whether WITH is next and one of its queries writes.
    pub(crate) fn with_has_writes(&self) -> bool {
        if !self.peeks(&["with"]) {
            return false;
        }
        let mut depth = 0_usize;
        let visible = self.visible_from_here();
        for (nth, at) in visible.iter().enumerate() {
            match &self.tokens[*at].token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                word if depth == 0 && is_word(word, "as") => {
                    let behind = visible[nth + 1..].iter().map(|at| &self.tokens[*at].token);
                    if opens_write(behind) {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// Whether a query of WITH is next, with its name, that writes.
    pub(crate) fn writing_query_is_next(&self) -> bool {
        let mut tokens = self.visible_from_here().into_iter();
        let mut tokens = tokens
            .by_ref()
            .map(|at| &self.tokens[at].token)
            .skip(1)
            .peekable();
        if tokens.next_if_eq(&&Token::LParen).is_some() {
            tokens.by_ref().find(|token| **token == Token::RParen);
        }
        tokens.next().is_some_and(|token| is_word(token, "as")) && opens_write(tokens)
    }

    /// Whether the next token is one of these words.
    pub(crate) fn peeks_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.peeks_at(0, word))
    }

    /// Takes the next token.
    pub(crate) fn take(&mut self) -> TokenWithSpan {
        self.parser.next_token()
    }

    /// Takes the next tokens if they are these words.
    pub(crate) fn accept(&mut self, words: &[&str]) -> bool {
        let found = self.peeks(words);
        if found {
            words.iter().for_each(|_| self.parser.advance_token());
        }
        found
    }

    /// Takes these words, or fails at the first that is another.
    pub(crate) fn expect(&mut self, words: &[&str]) -> Result<(), StatementError> {
        for word in words {
            if !self.accept(&[word]) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// Takes the next token if it is this one.
    pub(crate) fn accept_token(&mut self, token: &Token) -> bool {
        self.parser.consume_token(token)
    }

    /// Takes this token, or fails.
    pub(crate) fn expect_token(&mut self, token: &Token) -> Result<(), StatementError> {
        match self.accept_token(token) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    /// Takes `IF EXISTS` if it is next.
    pub(crate) fn if_exists(&mut self) -> bool {
        self.accept(&["if", "exists"])
    }

    /// Takes `IF NOT EXISTS` if it is next.
    pub(crate) fn if_not_exists(&mut self) -> bool {
        self.accept(&["if", "not", "exists"])
    }

    /// Takes CASCADE or RESTRICT if one is next; returns whether it is CASCADE.
    pub(crate) fn cascade(&mut self) -> bool {
        let cascade = self.accept(&["cascade"]);
        if !cascade {
            self.accept(&["restrict"]);
        }
        cascade
    }

    /// Takes an identifier, folded to lower case unless quoted; reserved words must be quoted.
    pub(crate) fn name(&mut self) -> Result<Name, StatementError> {
        let position = self.position();
        match self.peek_at(0) {
            Token::Word(word) if word.quote_style.is_some() => {}
            Token::Word(word) if !is_reserved(&word.value) => {}
            _ => return Err(self.unexpected()),
        }
        Ok(Name {
            text: self.word(),
            position,
        })
    }

    /// Takes a table or index name with an optional schema before it.
    pub(crate) fn object_name(&mut self) -> Result<ObjectName, StatementError> {
        let first = self.name()?;
        if !self.accept_token(&Token::Period) {
            return Ok(ObjectName {
                schema: None,
                name: first.text,
                position: first.position,
            });
        }
        let second = self.name()?;
        if *self.peek_at(0) == Token::Period {
            return Err(self.unsupported("cross-database references are not supported"));
        }
        Ok(ObjectName {
            schema: Some(first.text),
            name: second.text,
            position: first.position,
        })
    }

    /// Takes the name of a column behind that of its table.
    pub(crate) fn column_of_table(&mut self) -> Result<(ObjectName, Name), StatementError> {
        let mut parts = vec![self.name()?];
        while parts.len() < 3 && self.accept_token(&Token::Period) {
            parts.push(self.name()?);
        }
        let (Some(column), Some(table)) = (parts.pop(), parts.pop()) else {
            return Err(self.unexpected());
        };
        let table = ObjectName {
            position: parts.first().map_or(table.position, |schema| schema.position),
            schema: parts.pop().map(|schema| schema.text),
            name: table.text,
        };
        Ok((table, column))
    }

    /// Takes any word, reserved or not, folded to lower case unless quoted.
    pub(crate) fn any_word(&mut self) -> Result<Name, StatementError> {
        let position = self.position();
        match self.peek_at(0) {
            Token::Word(_) => Ok(Name {
                text: self.word(),
                position,
            }),
            _ => Err(self.unexpected()),
        }
    }

    /// Takes an unsigned integer.
    pub(crate) fn integer(&mut self) -> Result<u64, StatementError> {
        let value = match self.peek_at(0) {
            Token::Number(digits, _) => digits.parse().ok(),
            _ => None,
        };
        let value = value.ok_or_else(|| self.unexpected())?;
        self.take();
        Ok(value)
    }

    /// Takes a string.
    pub(crate) fn string(&mut self) -> Result<String, StatementError> {
        let Token::SingleQuotedString(text) = self.peek_at(0) else {
            return Err(self.unexpected());
        };
        let text = text.clone();
        self.take();
        Ok(text)
    }

    /// Takes a string; returns it with how many characters of the statement stand before its first.
    pub(crate) fn quoted_text(&mut self) -> Result<(String, usize), StatementError> {
        let written = self.source.text(self.peek());
        let opening = match written.starts_with('$') {
            true => written[1..]
                .find('$')
                .map_or(0, |at| written[..at + 2].chars().count()),
            false => written.find('\'').map_or(0, |at| at + 1),
        };
        let place = self.position().saturating_sub(1).saturating_add(opening);
        Ok((self.string()?, place))
    }

    /// Takes one or more items between commas.
    pub(crate) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, StatementError>,
    ) -> Result<Vec<T>, StatementError> {
        let mut items = vec![item(self)?];
        while self.accept_token(&Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Takes one or more items between commas, in parentheses.
    pub(crate) fn parenthesised<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<T, StatementError>,
    ) -> Result<Vec<T>, StatementError> {
        self.expect_token(&Token::LParen)?;
        let items = self.list(item)?;
        self.expect_token(&Token::RParen)?;
        Ok(items)
    }

    /// Takes one or more names between commas, in parentheses.
    pub(crate) fn names(&mut self) -> Result<Vec<Name>, StatementError> {
        self.parenthesised(Reader::name)
    }

    /// Takes an expression.
    pub(crate) fn expression(&mut self) -> Result<Expr, StatementError> {
        let expr = self.parse(Parser::parse_expr)?;
        self.shallow(expr)
    }

    /// Takes a function call, or any other expression that no operator follows.
    pub(crate) fn call(&mut self) -> Result<Expr, StatementError> {
        let expr = self.parse(Parser::parse_prefix)?;
        self.shallow(expr)
    }

    /// Makes a tree shallow, or fails if it cannot be, and spells out its casts.
    pub(crate) fn shallow(&self, mut expr: Expr) -> Result<Expr, StatementError> {
        depth::balance(&mut expr);
        depth::check_tree(&expr)?;
        self.words.expression(&mut expr);
        Ok(expr)
    }

    /// Spells words that follow somewhere in the statement in another way; places stay as they are.
    pub(crate) fn respell(&mut self, words: &[&str], others: &[&str]) {
        let visible: Vec<usize> = (0..self.tokens.len())
            .filter(|at| !matches!(self.tokens[*at].token, Token::Whitespace(_)))
            .collect();
        let is_here = |places: &&[usize]| {
            let mut pairs = places.iter().zip(words);
            pairs.all(|(at, word)| is_word(&self.tokens[*at].token, word))
        };
        let Some(places) = visible.windows(words.len()).find(is_here) else {
            return;
        };
        for (at, other) in places.iter().zip(others) {
            self.tokens[*at].token = Token::make_keyword(other);
        }
        self.read_again();
    }

    /// Puts a semicolon before every such word that follows outside of parentheses.
    pub(crate) fn end_before(&mut self, word: &str) {
        let mut depth = 0_usize;
        let mut tokens = Vec::with_capacity(self.tokens.len() + 4);
        for (at, token) in self.tokens.drain(..).enumerate() {
            match &token.token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                found if at >= self.parser.index() && depth == 0 && is_word(found, word) => {
                    let (token, span) = (Token::SemiColon, token.span);
                    tokens.push(TokenWithSpan { token, span });
                }
                _ => {}
            }
            tokens.push(token);
        }
        self.tokens = tokens;
        self.read_again();
    }

    /// Takes words out that follow somewhere in the statement; returns whether they are there.
    pub(crate) fn take_out(&mut self, words: &[&str]) -> bool {
        let visible = self.visible_from_here();
        let is_here = |places: &&[usize]| {
            let mut pairs = places.iter().zip(words);
            pairs.all(|(at, word)| is_word(&self.tokens[*at].token, word))
        };
        let Some(places) = visible.windows(words.len()).find(is_here) else {
            return false;
        };
        for at in places {
            self.tokens[*at].token = Token::Whitespace(Whitespace::Space);
        }
        self.read_again();
        true
    }

    /// Takes the parentheses out around `(VALUES …)` that follow the table and the columns of an INSERT: `INSERT INTO t (VALUES (1))`.
    pub(crate) fn bare_values(&mut self) {
        let visible = self.visible_from_here();
        let token = |nth: usize| visible.get(nth).map_or(&Token::EOF, |at| &self.tokens[*at].token);
        let (mut depth, mut open) = (0_usize, None);
        for nth in 0..visible.len() {
            match token(nth) {
                Token::LParen if depth == 0 && is_word(token(nth + 1), "values") => {
                    open = Some(nth);
                    break;
                }
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                Token::Word(_) if depth == 0 => {
                    let ends = ["values", "select", "with", "default", "on", "returning"];
                    if ends.iter().any(|word| is_word(token(nth), word)) {
                        return;
                    }
                }
                _ => {}
            }
        }
        let Some(open) = open else { return };
        let mut close = None;
        for nth in open..visible.len() {
            match token(nth) {
                Token::LParen => depth += 1,
                Token::RParen if depth == 1 => {
                    close = Some(nth);
                    break;
                }
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        let Some(close) = close else { return };
        for nth in [open, close] {
            self.tokens[visible[nth]].token = Token::Whitespace(Whitespace::Space);
        }
        self.read_again();
    }

    /// Takes the WHERE out that stands behind the columns of ON CONFLICT, and before DO.
    pub(crate) fn arbiter_condition(&mut self) -> Result<Option<Expr>, StatementError> {
        let visible = self.visible_from_here();
        let token = |nth: usize| visible.get(nth).map_or(&Token::EOF, |at| &self.tokens[*at].token);
        let begins = |nth: &usize| {
            is_word(token(*nth), "on")
                && is_word(token(nth + 1), "conflict")
                && *token(nth + 2) == Token::LParen
        };
        let Some(on) = (0..visible.len()).find(begins) else {
            return Ok(None);
        };
        let closes = |nth: &usize| *token(*nth) == Token::RParen;
        let Some(close) = (on + 3..visible.len()).find(closes) else {
            return Ok(None);
        };
        let ends = |nth: &usize| is_word(token(*nth), "do");
        let (true, Some(end)) = (
            is_word(token(close + 1), "where"),
            (close + 2..visible.len()).find(ends),
        ) else {
            return Ok(None);
        };
        let condition: Vec<TokenWithSpan> = visible[close + 2..end]
            .iter()
            .map(|at| self.tokens[*at].clone())
            .collect();
        let mut parser = Parser::new(self.dialect)
            .with_recursion_limit(NESTING_MAX)
            .with_tokens_with_locations(condition);
        let parsed = parser
            .parse_expr()
            .map_err(|error| self.source.parser_error(error, &self.tokens))?;
        let rest = parser.peek_token();
        if rest.token != Token::EOF {
            return Err(self.source.unexpected(&rest));
        }
        for at in &visible[close + 1..end] {
            self.tokens[*at].token = Token::Whitespace(Whitespace::Space);
        }
        self.read_again();
        self.shallow(parsed).map(Some)
    }

    /// Returns the places of the tokens from the next on, without blanks and comments, up to a parenthesis that was
    /// opened before.
    fn visible_from_here(&self) -> Vec<usize> {
        let mut depth = 0_usize;
        let is_within = |at: &usize| {
            match &self.tokens[*at].token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 0 => return false,
                Token::RParen => depth -= 1,
                _ => {}
            }
            true
        };
        (self.parser.index()..self.tokens.len())
            .take_while(is_within)
            .filter(|at| !matches!(self.tokens[*at].token, Token::Whitespace(_)))
            .collect()
    }

    /// Has the parser read the tokens as they are now, from the same place on.
    fn read_again(&mut self) {
        let taken = self.parser.index();
        self.parser = Parser::new(self.dialect)
            .with_recursion_limit(NESTING_MAX)
            .with_tokens_with_locations(self.tokens.clone());
        while self.parser.index() < taken {
            self.parser.advance_token();
        }
    }

    /// Runs one of sqlparser's own parsers at this place.
    pub(crate) fn parse<T>(
        &mut self,
        parse: impl FnOnce(&mut Parser<'static>) -> Result<T, ParserError>,
    ) -> Result<T, StatementError> {
        parse(&mut self.parser).map_err(|error| self.source.parser_error(error, &self.tokens))
    }

    /// Takes a type name.
    pub(crate) fn data_type(&mut self) -> Result<ast::DataType, StatementError> {
        match self.peek_at(0) {
            Token::Word(_) => self.parse(Parser::parse_data_type),
            _ => Err(self.unexpected()),
        }
    }

    /// Takes an optional semicolon and fails unless nothing follows.
    pub(crate) fn end(&mut self) -> Result<(), StatementError> {
        while self.accept_token(&Token::SemiColon) {}
        match self.peek_at(0) {
            Token::EOF => Ok(()),
            _ => Err(self.unexpected()),
        }
    }

    /// Takes a word that was peeked at.
    fn word(&mut self) -> String {
        match self.take().token {
            Token::Word(word) if word.quote_style.is_some() => word.value,
            Token::Word(word) => word.value.to_ascii_lowercase(),
            other => other.to_string(),
        }
    }
}

/// Whether tokens behind AS open a query of WITH that writes.
fn opens_write<'t>(behind: impl Iterator<Item = &'t Token>) -> bool {
    let is_one_of = |token: &Token, words: &[&str]| words.iter().any(|word| is_word(token, word));
    let mut behind = behind.skip_while(|token| is_one_of(token, &["not", "materialized"]));
    let verbs = ["insert", "upsert", "update", "delete", "merge"];
    behind.next() == Some(&Token::LParen) && behind.next().is_some_and(|token| is_one_of(token, &verbs))
}

/// Reads a truth value in any of PostgreSQL's spellings.
pub(crate) fn boolean(reader: &mut Reader<'_>) -> Result<bool, StatementError> {
    let text = match reader.peek_at(0) {
        Token::Word(word) => word.value.to_ascii_lowercase(),
        Token::Number(text, _) | Token::SingleQuotedString(text) => text.to_ascii_lowercase(),
        _ => return Err(reader.unexpected()),
    };
    let value = match text.as_str() {
        "true" | "on" | "1" | "yes" => true,
        "false" | "off" | "0" | "no" => false,
        _ => return Err(reader.unexpected()),
    };
    reader.take();
    Ok(value)
}
