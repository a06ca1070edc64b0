//! PL/pgSQL: `[<<label>>] [DECLARE …] BEGIN … END`.
//!
//! What is SQL is cut out between the words around it, by parentheses and brackets, and stays text: `IF … THEN` has the text up to the THEN that
//! is in none of them. Source: PostgreSQL's manual, chapter 43.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::definitions::function::language;
use super::reader::Reader;
use crate::StatementError;
use crate::text::{Source, is_word};
use crate::tree::{
    Condition, Declaration, Fragment, Handler, Into, LoopQuery, ProcedureAction, ProcedureBlock,
    ProcedureStep, Raise, Raised, Target, VariableKind, folded,
};

/// Deepest nesting of blocks and loops.
const NESTING_MAX: usize = 100;

/// Levels of RAISE.
const LEVELS: [&str; 6] = ["debug", "log", "info", "notice", "warning", "exception"];

/// Reads a block; a semicolon may end it.
///
/// # Errors
/// 42601 with the place in the text, in characters from 1.
pub fn parse_procedure(text: &str) -> Result<ProcedureBlock, StatementError> {
    let source = Source::new(text);
    let tokens = source.written_tokens()?;
    let mut reader = Procedure {
        source: &source,
        tokens,
        at: 0,
        depth: 0,
    };
    let label = reader.label()?;
    let block = reader.block(label)?;
    reader.accept(&Token::SemiColon);
    match reader.is_at_end() {
        true => Ok(block),
        false => Err(reader.unexpected()),
    }
}

/// Reads `DO [LANGUAGE name] 'block' [LANGUAGE name]`.
///
/// # Errors
/// Those of [`parse_procedure`], at their place in the statement; 42704 and 0A000 on other languages.
pub(crate) fn do_block(reader: &mut Reader<'_>) -> Result<ProcedureBlock, StatementError> {
    reader.expect(&["do"])?;
    let mut block = None;
    loop {
        if reader.accept(&["language"]) {
            let position = reader.position();
            let name = language(reader)?;
            if name != "plpgsql" {
                let error = match name.as_str() {
                    "sql" => {
                        StatementError::unsupported("language \"sql\" does not support inline code execution")
                    }
                    _ => StatementError::statement("42704", format!("language \"{name}\" does not exist")),
                };
                return Err(error.at(position));
            }
        } else if block.is_none() {
            let (text, place) = reader.quoted_text()?;
            let placed = |mut error: StatementError| {
                error.position = error.position.map(|at| at.saturating_add(place));
                error
            };
            block = Some(parse_procedure(&text).map_err(placed)?);
        } else {
            break;
        }
        if matches!(reader.peek_at(0), Token::EOF | Token::SemiColon) {
            break;
        }
    }
    block.ok_or_else(|| reader.unexpected())
}

/// A block that is read.
struct Procedure<'s> {
    source: &'s Source<'s>,
    /// Without blanks and comments.
    tokens: Vec<TokenWithSpan>,
    at: usize,
    depth: usize,
}

type Read<T> = Result<T, StatementError>;

impl Procedure<'_> {
    fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn token(&self, ahead: usize) -> &Token {
        self.tokens
            .get(self.at.saturating_add(ahead))
            .map_or(&Token::EOF, |token| &token.token)
    }

    fn peeks(&self, word: &str) -> bool {
        is_word(self.token(0), word)
    }

    fn peeks_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.peeks(word))
    }

    fn unexpected(&self) -> StatementError {
        let end = TokenWithSpan::wrap(Token::EOF);
        self.source.unexpected(self.tokens.get(self.at).unwrap_or(&end))
    }

    fn position(&self) -> usize {
        let end = TokenWithSpan::wrap(Token::EOF);
        self.source.position(self.tokens.get(self.at).unwrap_or(&end))
    }

    fn accept(&mut self, token: &Token) -> bool {
        let is_next = self.token(0) == token;
        self.at += usize::from(is_next);
        is_next
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let is_next = self.peeks(word);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, token: &Token) -> Read<()> {
        match self.accept(token) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn expect_word(&mut self, word: &str) -> Read<()> {
        match self.accept_word(word) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn semicolon(&mut self) -> Read<()> {
        self.expect(&Token::SemiColon)
    }

    /// Takes a name, folded to lower case unless quoted.
    fn name(&mut self) -> Read<String> {
        let Token::Word(word) = self.token(0) else {
            return Err(self.unexpected());
        };
        let name = folded(&word.clone().into_ident(self.tokens[self.at].span));
        self.at += 1;
        Ok(name)
    }

    /// Takes `<<label>>` if it is next.
    fn label(&mut self) -> Read<Option<String>> {
        if !self.accept(&Token::ShiftLeft) {
            return Ok(None);
        }
        let label = self.name()?;
        self.expect(&Token::ShiftRight)?;
        Ok(Some(label))
    }

    /// Takes a label behind END, EXIT or CONTINUE.
    fn closing_label(&mut self) -> Read<Option<String>> {
        match self.token(0) {
            Token::Word(_) if !self.peeks("when") => self.name().map(Some),
            _ => Ok(None),
        }
    }

    /// Takes the text up to the next token outside of parentheses that ends it, which stays.
    fn until(&mut self, ends: impl Fn(&Token) -> bool) -> Read<Fragment> {
        let (start, mut depth) = (self.at, 0_usize);
        loop {
            let token = self.token(0);
            match token {
                Token::EOF => return Err(self.unexpected()),
                token if depth == 0 && ends(token) => break,
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => {
                    depth = depth.checked_sub(1).ok_or_else(|| self.unexpected())?;
                }
                Token::SemiColon => return Err(self.unexpected()),
                _ => {}
            }
            self.at += 1;
        }
        if start == self.at {
            return Err(self.unexpected());
        }
        Ok(self.fragment(start, self.at))
    }

    fn until_word(&mut self, word: &str) -> Read<Fragment> {
        let fragment = self.until(|token| is_word(token, word))?;
        self.at += 1;
        Ok(fragment)
    }

    /// Takes the text up to a semicolon, and that.
    fn until_semicolon(&mut self) -> Read<Fragment> {
        let fragment = self.until(|token| *token == Token::SemiColon)?;
        self.at += 1;
        Ok(fragment)
    }

    /// Takes texts between commas.
    fn list(&mut self, ends: impl Fn(&Token) -> bool + Copy) -> Read<Vec<Fragment>> {
        let mut list = Vec::new();
        loop {
            list.push(self.until(|token| *token == Token::Comma || ends(token))?);
            if !self.accept(&Token::Comma) {
                return Ok(list);
            }
        }
    }

    /// Returns the text of tokens that follow each other.
    fn fragment(&self, start: usize, end: usize) -> Fragment {
        let (first, last) = (
            &self.tokens[start],
            &self.tokens[end.saturating_sub(1).max(start)],
        );
        Fragment {
            text: self.source.text_between(first, last).to_string(),
            position: self.source.position(first),
        }
    }

    /// Takes `[DECLARE …] BEGIN … END`.
    fn block(&mut self, label: Option<String>) -> Read<ProcedureBlock> {
        let mut declarations = Vec::new();
        if self.accept_word("declare") {
            while !self.peeks("begin") {
                // DECLARE may stand before each.
                if !self.accept_word("declare") {
                    declarations.push(self.declaration()?);
                }
            }
        }
        self.expect_word("begin")?;
        let body = self.body(&["exception", "end"])?;
        let mut handlers = Vec::new();
        if self.accept_word("exception") {
            while self.accept_word("when") {
                let mut conditions = vec![self.condition()?];
                while self.accept_word("or") {
                    conditions.push(self.condition()?);
                }
                self.expect_word("then")?;
                let body = self.body(&["when", "end"])?;
                handlers.push(Handler { conditions, body });
            }
        }
        self.expect_word("end")?;
        self.end_label(label.as_deref())?;
        Ok(ProcedureBlock {
            label,
            declarations,
            body,
            handlers,
        })
    }

    /// Takes the label behind END, which has to be that before the block.
    fn end_label(&mut self, label: Option<&str>) -> Read<()> {
        let position = self.position();
        match (self.closing_label()?, label) {
            (None, _) => Ok(()),
            (Some(end), Some(label)) if end == label => Ok(()),
            (Some(end), Some(label)) => {
                let message = format!("end label \"{end}\" differs from block's label \"{label}\"");
                Err(StatementError::syntax(message).at(position))
            }
            (Some(end), None) => {
                let message = format!("end label \"{end}\" specified for unlabeled block");
                Err(StatementError::syntax(message).at(position))
            }
        }
    }

    fn condition(&mut self) -> Read<Condition> {
        let position = self.position();
        if self.accept_word("sqlstate") {
            return Ok(Condition::SqlState(self.text()?));
        }
        Ok(Condition::Named(self.name()?, position))
    }

    /// Takes a literal of text.
    fn text(&mut self) -> Read<String> {
        let text = match self.token(0) {
            Token::SingleQuotedString(text)
            | Token::EscapedStringLiteral(text)
            | Token::NationalStringLiteral(text)
            | Token::UnicodeStringLiteral(text) => text.clone(),
            Token::DollarQuotedString(text) => text.value.clone(),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(text)
    }

    fn declaration(&mut self) -> Read<Declaration> {
        let position = self.position();
        let name = self.name()?;
        let kind = self.variable()?;
        Ok(Declaration { name, position, kind })
    }

    fn variable(&mut self) -> Read<VariableKind> {
        if self.accept_word("alias") {
            self.expect_word("for")?;
            let of = match self.token(0) {
                Token::Placeholder(number) => {
                    let number = number.clone();
                    self.at += 1;
                    number
                }
                _ => self.name()?,
            };
            self.semicolon()?;
            return Ok(VariableKind::Alias(of));
        }
        let is_scroll = self.accept_word("no") | self.accept_word("scroll");
        if is_scroll || self.peeks("cursor") {
            self.expect_word("cursor")?;
            return self.cursor();
        }
        let constant = self.accept_word("constant");
        let ends = |token: &Token| {
            let words = ["not", "default", "collate"];
            matches!(token, Token::SemiColon | Token::Assignment | Token::Eq)
                || words.iter().any(|word| is_word(token, word))
        };
        let ty = self.until(ends)?;
        if self.accept_word("collate") {
            self.name()?;
        }
        let not_null = self.accept_word("not");
        if not_null {
            self.expect_word("null")?;
        }
        let has_default =
            self.accept_word("default") || self.accept(&Token::Assignment) || self.accept(&Token::Eq);
        let default = match has_default {
            true => Some(self.until_semicolon()?),
            false => {
                self.semicolon()?;
                None
            }
        };
        Ok(VariableKind::Value {
            ty,
            constant,
            not_null,
            default,
        })
    }

    fn cursor(&mut self) -> Read<VariableKind> {
        let mut parameters = Vec::new();
        if self.accept(&Token::LParen) {
            loop {
                let name = self.name()?;
                let ty = self.until(|token| matches!(token, Token::Comma | Token::RParen))?;
                parameters.push((name, ty));
                if !self.accept(&Token::Comma) {
                    break;
                }
            }
            self.expect(&Token::RParen)?;
        }
        if !self.accept_word("for") {
            self.expect_word("is")?;
        }
        let query = self.until_semicolon()?;
        Ok(VariableKind::Cursor { parameters, query })
    }

    /// Takes statements up to one of these words, which stays.
    fn body(&mut self, ends: &[&str]) -> Read<Vec<ProcedureStep>> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            let message = "blocks and loops are nested too deeply";
            return Err(StatementError::statement("54001", message).at(self.position()));
        }
        let mut steps = Vec::new();
        while !self.peeks_any(ends) {
            if self.is_at_end() {
                return Err(self.unexpected());
            }
            let position = self.position();
            let action = self.step()?;
            steps.push(ProcedureStep { position, action });
        }
        self.depth -= 1;
        Ok(steps)
    }

    fn step(&mut self) -> Read<ProcedureAction> {
        let label = self.label()?;
        let is_assigned = matches!(self.token(0), Token::Word(_)) && self.assigns();
        if label.is_none() && is_assigned {
            return self.assignment();
        }
        if self.peeks_any(&["declare", "begin"]) {
            let block = self.block(label)?;
            self.semicolon()?;
            return Ok(ProcedureAction::Block(block));
        }
        if self.peeks_any(&["loop", "while", "for", "foreach"]) {
            return self.looped(label);
        }
        if label.is_some() {
            return Err(self.unexpected());
        }
        match () {
            () if self.accept_word("if") => self.if_else(),
            () if self.accept_word("case") => self.case(),
            () if self.peeks_any(&["exit", "continue"]) => self.leave(),
            () if self.accept_word("return") => self.returned(),
            () if self.accept_word("raise") => self.raise().map(ProcedureAction::Raise),
            () if self.accept_word("assert") => {
                let condition = self.until(|token| matches!(token, Token::Comma | Token::SemiColon))?;
                let message = match self.accept(&Token::Comma) {
                    true => Some(self.until(|token| *token == Token::SemiColon)?),
                    false => None,
                };
                self.semicolon()?;
                Ok(ProcedureAction::Assert { condition, message })
            }
            () if self.accept_word("perform") => Ok(ProcedureAction::Perform(self.until_semicolon()?)),
            () if self.accept_word("execute") => self.execute(),
            () if self.accept_word("get") => self.diagnostics(),
            () if self.accept_word("open") => self.open(),
            () if self.peeks_any(&["fetch", "move"]) => self.fetch(),
            () if self.accept_word("close") => {
                let cursor = self.name()?;
                self.semicolon()?;
                Ok(ProcedureAction::Close(cursor))
            }
            () if self.peeks_any(&["commit", "rollback"]) && *self.token(1) == Token::SemiColon => {
                let commits = self.peeks("commit");
                self.at += 2;
                Ok(ProcedureAction::EndTransaction { commits })
            }
            () if self.accept_word("null") => {
                self.semicolon()?;
                Ok(ProcedureAction::Nothing)
            }
            () if matches!(self.token(0), Token::Word(_) | Token::LParen) => self.sql(),
            () => Err(self.unexpected()),
        }
    }

    /// Whether the next tokens are a name, with fields or elements, and `:=` or `=`.
    fn assigns(&self) -> bool {
        let (mut ahead, mut depth) = (1_usize, 0_usize);
        loop {
            match self.token(ahead) {
                Token::Assignment | Token::Eq if depth == 0 => return true,
                Token::LBracket => depth += 1,
                Token::RBracket => depth = depth.saturating_sub(1),
                Token::EOF | Token::SemiColon => return false,
                Token::Period => {}
                Token::Word(_) if depth == 0 && *self.token(ahead - 1) == Token::Period => {}
                _ if depth > 0 => {}
                _ => return false,
            }
            ahead += 1;
        }
    }

    fn assignment(&mut self) -> Read<ProcedureAction> {
        let target = self.until(|token| matches!(token, Token::Assignment | Token::Eq))?;
        self.at += 1;
        let value = self.until_semicolon()?;
        Ok(ProcedureAction::Assign { target, value })
    }

    fn if_else(&mut self) -> Read<ProcedureAction> {
        let mut arms = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            let condition = self.until_word("then")?;
            arms.push((condition, self.body(&["elsif", "elseif", "else", "end"])?));
            if self.accept_word("else") {
                otherwise = self.body(&["end"])?;
            }
            if self.accept_word("end") {
                break;
            }
            self.at += 1;
        }
        self.expect_word("if")?;
        self.semicolon()?;
        Ok(ProcedureAction::If {
            arms,
            otherwise: Some(otherwise),
            is_case: false,
        })
    }

    fn case(&mut self) -> Read<ProcedureAction> {
        let operand = match self.peeks("when") {
            true => None,
            false => Some(self.until(|token| is_word(token, "when"))?),
        };
        let (mut tested, mut compared) = (Vec::new(), Vec::new());
        while self.accept_word("when") {
            match operand {
                None => {
                    let condition = self.until_word("then")?;
                    tested.push((condition, self.body(&["when", "else", "end"])?));
                }
                Some(_) => {
                    let values = self.list(|token| is_word(token, "then"))?;
                    self.at += 1;
                    compared.push((values, self.body(&["when", "else", "end"])?));
                }
            }
        }
        let otherwise = match self.accept_word("else") {
            true => Some(self.body(&["end"])?),
            false => None,
        };
        self.expect_word("end")?;
        self.expect_word("case")?;
        self.semicolon()?;
        Ok(match operand {
            None => ProcedureAction::If {
                arms: tested,
                otherwise,
                is_case: true,
            },
            Some(operand) => ProcedureAction::Case {
                operand,
                arms: compared,
                otherwise,
            },
        })
    }

    /// Takes `LOOP … END LOOP [label];`.
    fn loop_body(&mut self, label: Option<&str>) -> Read<Vec<ProcedureStep>> {
        self.expect_word("loop")?;
        let body = self.body(&["end"])?;
        self.expect_word("end")?;
        self.expect_word("loop")?;
        self.end_label(label)?;
        self.semicolon()?;
        Ok(body)
    }

    fn looped(&mut self, label: Option<String>) -> Read<ProcedureAction> {
        let is_loop = |token: &Token| is_word(token, "loop");
        if self.accept_word("for") {
            return self.for_loop(label);
        }
        if self.accept_word("foreach") {
            let target = self.until(|token| is_word(token, "in") || is_word(token, "slice"))?;
            if self.peeks("slice") {
                return Err(
                    StatementError::unsupported("FOREACH … SLICE is not supported").at(self.position())
                );
            }
            self.expect_word("in")?;
            self.expect_word("array")?;
            let array = self.until(is_loop)?;
            let body = self.loop_body(label.as_deref())?;
            return Ok(ProcedureAction::ForEach {
                label,
                target,
                array,
                body,
            });
        }
        let condition = match self.accept_word("while") {
            true => Some(self.until(is_loop)?),
            false => None,
        };
        let body = self.loop_body(label.as_deref())?;
        Ok(ProcedureAction::Loop {
            label,
            condition,
            body,
        })
    }

    fn for_loop(&mut self, label: Option<String>) -> Read<ProcedureAction> {
        let is_loop = |token: &Token| is_word(token, "loop");
        let targets = self.list(|token| is_word(token, "in"))?;
        self.expect_word("in")?;
        if self.accept_word("execute") {
            let query = self.computed(is_loop)?;
            let body = self.loop_body(label.as_deref())?;
            return Ok(ProcedureAction::ForQuery {
                label,
                targets,
                query,
                body,
            });
        }
        let start = self.at;
        let reverse = self.accept_word("reverse");
        let range = self.until(is_loop)?;
        let Some((from, rest)) = cut_range(&range) else {
            let query = LoopQuery::Written(match reverse {
                true => self.fragment(start, self.at),
                false => range,
            });
            let body = self.loop_body(label.as_deref())?;
            return Ok(ProcedureAction::ForQuery {
                label,
                targets,
                query,
                body,
            });
        };
        let (to, by) = match cut_word(&rest, "by")? {
            Some((to, by)) => (to, Some(by)),
            None => (rest, None),
        };
        let [variable] = targets.as_slice() else {
            let message = "integer FOR loop must have only one target variable";
            return Err(StatementError::syntax(message).at(self.position()));
        };
        let variable = variable.text.clone();
        let body = self.loop_body(label.as_deref())?;
        Ok(ProcedureAction::ForRange {
            label,
            variable: unquoted(&variable),
            reverse,
            from,
            to,
            by,
            body,
        })
    }

    /// Takes a text that is run, and USING.
    fn computed(&mut self, ends: impl Fn(&Token) -> bool + Copy) -> Read<LoopQuery> {
        let sql = self.until(|token| ends(token) || is_word(token, "using"))?;
        let using = match self.accept_word("using") {
            true => self.list(ends)?,
            false => Vec::new(),
        };
        Ok(LoopQuery::Computed { sql, using })
    }

    fn leave(&mut self) -> Read<ProcedureAction> {
        let goes_on = self.peeks("continue");
        self.at += 1;
        let label = self.closing_label()?;
        let when = match self.accept_word("when") {
            true => Some(self.until(|token| *token == Token::SemiColon)?),
            false => None,
        };
        self.semicolon()?;
        Ok(ProcedureAction::Leave { goes_on, label, when })
    }

    fn returned(&mut self) -> Read<ProcedureAction> {
        let is_end = |token: &Token| *token == Token::SemiColon;
        if self.accept(&Token::SemiColon) {
            return Ok(ProcedureAction::Return(None));
        }
        if self.accept_word("next") {
            let mut value = self.until_semicolon()?;
            value.text.insert_str(0, "SELECT ");
            return Ok(ProcedureAction::ReturnRows(LoopQuery::Written(value)));
        }
        if self.accept_word("query") {
            let query = match self.accept_word("execute") {
                true => self.computed(is_end)?,
                false => LoopQuery::Written(self.until(is_end)?),
            };
            self.semicolon()?;
            return Ok(ProcedureAction::ReturnRows(query));
        }
        Ok(ProcedureAction::Return(Some(self.until_semicolon()?)))
    }

    fn raise(&mut self) -> Read<Raise> {
        let is_level = self.peeks_any(&LEVELS);
        let level = match is_level {
            true => self.name()?,
            false => "exception".to_string(),
        };
        let ends = |token: &Token| *token == Token::SemiColon || is_word(token, "using");
        let what = match self.token(0) {
            Token::SemiColon if !is_level => None,
            Token::Word(_) if self.peeks("using") => Some(Raised::Options),
            Token::Word(_) => Some(Raised::Condition(self.condition()?)),
            _ => {
                let position = self.position();
                let format = self.text()?;
                let values = match self.accept(&Token::Comma) {
                    true => self.list(ends)?,
                    false => Vec::new(),
                };
                let places = format.replace("%%", "").matches('%').count();
                if places != values.len() {
                    let message = match places > values.len() {
                        true => "too few parameters specified for RAISE",
                        false => "too many parameters specified for RAISE",
                    };
                    return Err(StatementError::syntax(message).at(position));
                }
                Some(Raised::Format(format, values))
            }
        };
        let mut options = Vec::new();
        if self.accept_word("using") {
            loop {
                let option = self.name()?;
                if !self.accept(&Token::Eq) {
                    self.expect(&Token::Assignment)?;
                }
                options.push((
                    option,
                    self.until(|token| matches!(token, Token::Comma | Token::SemiColon))?,
                ));
                if !self.accept(&Token::Comma) {
                    break;
                }
            }
        }
        self.semicolon()?;
        Ok(Raise { level, what, options })
    }

    /// Takes the variables behind INTO.
    fn targets_of_into(&mut self) -> Read<Into> {
        let strict = self.accept_word("strict");
        let mut targets = Vec::new();
        loop {
            targets.push(self.target()?);
            if !self.accept(&Token::Comma) {
                return Ok(Into { strict, targets });
            }
        }
    }

    /// Takes a variable with its fields and elements.
    fn target(&mut self) -> Read<Target> {
        let start = self.at;
        self.name()?;
        loop {
            if self.accept(&Token::Period) {
                self.name()?;
            } else if *self.token(0) == Token::LBracket {
                self.at += 1;
                self.until(|token| *token == Token::RBracket)?;
                self.at += 1;
            } else {
                return Ok(self.fragment(start, self.at));
            }
        }
    }

    fn execute(&mut self) -> Read<ProcedureAction> {
        let ends =
            |token: &Token| *token == Token::SemiColon || is_word(token, "into") || is_word(token, "using");
        let sql = self.until(ends)?;
        let (mut into, mut using) = (None, Vec::new());
        loop {
            if into.is_none() && self.accept_word("into") {
                into = Some(self.targets_of_into()?);
            } else if using.is_empty() && self.accept_word("using") {
                using = self.list(ends)?;
            } else {
                break;
            }
        }
        self.semicolon()?;
        Ok(ProcedureAction::Execute { sql, into, using })
    }

    /// Takes a statement of SQL, and INTO out of it.
    fn sql(&mut self) -> Read<ProcedureAction> {
        let start = self.at;
        let (mut into, mut depth) = (None, 0_usize);
        let mut text = String::new();
        let mut from = start;
        loop {
            let before = self.at.checked_sub(1).map(|at| &self.tokens[at].token);
            let follows_verb = before.is_some_and(|token| {
                ["insert", "upsert", "merge"]
                    .iter()
                    .any(|verb| is_word(token, verb))
            });
            match self.token(0) {
                Token::EOF => return Err(self.unexpected()),
                Token::SemiColon if depth == 0 => break,
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => {
                    depth = depth.checked_sub(1).ok_or_else(|| self.unexpected())?;
                }
                token if depth == 0 && is_word(token, "into") && self.at > start && !follows_verb => {
                    if into.is_some() {
                        let message = "INTO specified more than once";
                        return Err(StatementError::syntax(message).at(self.position()));
                    }
                    text += &self.fragment(from, self.at).text;
                    self.at += 1;
                    into = Some(self.targets_of_into()?);
                    from = self.at;
                    text.push(' ');
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        if from < self.at {
            text += &self.fragment(from, self.at).text;
        }
        let sql = Fragment {
            text: text.trim_end().to_string(),
            position: self.source.position(&self.tokens[start]),
        };
        self.semicolon()?;
        Ok(ProcedureAction::Sql { sql, into })
    }

    fn diagnostics(&mut self) -> Read<ProcedureAction> {
        let stacked = self.accept_word("stacked");
        if !stacked {
            self.accept_word("current");
        }
        self.expect_word("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let target = self.target()?;
            if !self.accept(&Token::Eq) {
                self.expect(&Token::Assignment)?;
            }
            items.push((target, self.name()?));
            if !self.accept(&Token::Comma) {
                break;
            }
        }
        self.semicolon()?;
        Ok(ProcedureAction::Diagnostics { stacked, items })
    }

    fn open(&mut self) -> Read<ProcedureAction> {
        let cursor = self.name()?;
        if self.accept_word("no") | self.accept_word("scroll") {
            self.accept_word("scroll");
        }
        let query = match () {
            () if self.accept_word("for") => Some(match self.accept_word("execute") {
                true => self.computed(|token| *token == Token::SemiColon)?,
                false => LoopQuery::Written(self.until(|token| *token == Token::SemiColon)?),
            }),
            () if *self.token(0) == Token::LParen => Some(LoopQuery::Written(
                self.until(|token| *token == Token::SemiColon)?,
            )),
            () => None,
        };
        self.semicolon()?;
        Ok(ProcedureAction::Open { cursor, query })
    }

    fn fetch(&mut self) -> Read<ProcedureAction> {
        let fetches = self.peeks("fetch");
        self.at += 1;
        let start = self.at;
        let mut words = Vec::new();
        // The cursor is the last name before INTO or the end.
        while !matches!(self.token(0), Token::SemiColon | Token::EOF) && !self.peeks("into") {
            words.push(self.at);
            self.at += 1;
        }
        let Some(last) = words.pop().filter(|_| self.at > start) else {
            return Err(self.unexpected());
        };
        let end = self.at;
        self.at = last;
        let cursor = self.name()?;
        self.at = end;
        let direction = match words.as_slice() {
            [] => None,
            [first, .., last] | [first @ last] => {
                let text = self.fragment(*first, last.saturating_add(1)).text;
                let text = text.trim_end();
                let bare = ["from", "in"].iter().find_map(|word| {
                    let cut = text.len().checked_sub(word.len())?;
                    let (head, tail) = (text.get(..cut)?, text.get(cut..)?);
                    tail.eq_ignore_ascii_case(word)
                        .then(|| head.trim_end().to_string())
                });
                Some(bare.unwrap_or_else(|| text.to_string())).filter(|text| !text.is_empty())
            }
        };
        let targets = match fetches {
            true => {
                self.expect_word("into")?;
                self.targets_of_into()?.targets
            }
            false => Vec::new(),
        };
        self.semicolon()?;
        Ok(ProcedureAction::Fetch {
            cursor,
            direction,
            targets,
        })
    }
}

/// Returns a name as it is found: folded to lower case, or without its quotes.
fn unquoted(name: &str) -> String {
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(name) => name.replace("\"\"", "\""),
        None => name.to_lowercase(),
    }
}

/// Cuts `from..to` at the points, which stand in no text and no parentheses.
fn cut_range(range: &Fragment) -> Option<(Fragment, Fragment)> {
    let (mut depth, mut quote) = (0_i32, None);
    let chars: Vec<(usize, char)> = range.text.char_indices().collect();
    for (nth, (at, c)) in chars.iter().enumerate() {
        match (quote, c) {
            (Some(open), c) if open == *c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(*c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, '.') if depth == 0 && chars.get(nth + 1).is_some_and(|(_, next)| *next == '.') => {
                return Some(cut(range, *at, at + 2));
            }
            _ => {}
        }
    }
    None
}

/// Cuts a text at a word outside of parentheses.
fn cut_word(fragment: &Fragment, word: &str) -> Read<Option<(Fragment, Fragment)>> {
    let source = Source::new(&fragment.text);
    let mut depth = 0_i32;
    for token in source.written_tokens()? {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth -= 1,
            found if depth == 0 && is_word(found, word) => {
                let from = source.text_from(&token).len();
                let at = fragment.text.len() - from;
                return Ok(Some(cut(fragment, at, at + word.len())));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// Returns what stands before a byte and from another on.
fn cut(fragment: &Fragment, end: usize, start: usize) -> (Fragment, Fragment) {
    let (before, behind) = (&fragment.text[..end], &fragment.text[start..]);
    let blanks = behind.len() - behind.trim_start().len();
    let place = fragment.text[..start + blanks].chars().count();
    let left = Fragment {
        text: before.trim_end().to_string(),
        position: fragment.position,
    };
    let right = Fragment {
        text: behind.trim().to_string(),
        position: fragment.position + place,
    };
    (left, right)
}
