//! FOR SYSTEM_TIME: spelled so that sqlparser reads it.
//!
//! | written                               | becomes                                  |
//! |---------------------------------------|------------------------------------------|
//! | `FOR SYSTEM_TIME AS OF x`             |                                          |
//! | `FOR SYSTEM_TIME FROM a TO b`         | `FOR SYSTEM_TIME AS OF "…from" BETWEEN a AND b`    |
//! | `FOR SYSTEM_TIME BETWEEN a AND b`     | `FOR SYSTEM_TIME AS OF "…between" BETWEEN a AND b` |
//! | `FOR SYSTEM_TIME ALL`                 | `FOR SYSTEM_TIME AS OF "…all"`           |
//!
//! The names in quotes are such as no statement has. [`Period`] reads them back.

use sqlparser::ast::{Expr, TableVersion};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::hidden_names::HIDDEN;

/// The period of FOR SYSTEM_TIME.
#[derive(Clone, Debug, PartialEq)]
pub enum Period<'a> {
    /// AS OF.
    AsOf(&'a Expr),
    /// FROM … TO: the second is not part of it.
    FromTo(&'a Expr, &'a Expr),
    /// BETWEEN … AND: the second is part of it.
    Between(&'a Expr, &'a Expr),
    /// ALL.
    All,
}

impl<'a> Period<'a> {
    /// Reads what sqlparser read; `None` if it is a form of other databases.
    pub fn of(version: &'a TableVersion) -> Option<Period<'a>> {
        let TableVersion::ForSystemTimeAsOf(time) = version else {
            return None;
        };
        let marked = |expr: &'a Expr| match expr {
            Expr::Identifier(name) => name.value.strip_prefix(HIDDEN),
            _ => None,
        };
        if let Expr::Between { expr, low, high, .. } = time {
            match marked(expr) {
                Some("from") => return Some(Period::FromTo(low, high)),
                Some("between") => return Some(Period::Between(low, high)),
                _ => {}
            }
        }
        match marked(time) {
            Some("all") => Some(Period::All),
            _ => Some(Period::AsOf(time)),
        }
    }
}

/// Spells the forms that sqlparser does not know; returns whether there is FOR SYSTEM_TIME at all.
pub(crate) fn respell(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let mut at = 0;
    while let Some(place) = next_period(tokens, at) {
        at = place + 1;
        let marker = match &tokens[place].token {
            Token::Word(word) if word.keyword == Keyword::FROM => "from",
            Token::Word(word) if word.keyword == Keyword::BETWEEN => "between",
            Token::Word(word) if word.keyword == Keyword::ALL => "all",
            _ => continue,
        };
        if marker == "from" {
            let Some(to) = end_of_from(tokens, at) else {
                continue;
            };
            tokens[to].token = Token::make_keyword("AND");
        }
        let name = Token::Word(Word {
            value: format!("{HIDDEN}{marker}"),
            quote_style: Some('"'),
            keyword: Keyword::NoKeyword,
        });
        let mut spelled = vec![Token::make_keyword("AS"), Token::make_keyword("OF"), name];
        if marker != "all" {
            spelled.push(Token::make_keyword("BETWEEN"));
        }
        let span = tokens[place].span;
        let spelled = spelled.into_iter().map(|token| TokenWithSpan { token, span });
        tokens.splice(place..=place, spelled);
    }
    at > 0
}

/// Returns the place of the word behind the next FOR SYSTEM_TIME.
fn next_period(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let is = |at: usize, wanted: Keyword| match &tokens[at].token {
        Token::Word(word) => word.keyword == wanted,
        _ => false,
    };
    let visible = |at: &usize| !matches!(tokens[*at].token, Token::Whitespace(_));
    let named = (from..tokens.len()).find(|at| is(*at, Keyword::SYSTEM_TIME))?;
    let before = (0..named).rev().find(visible);
    let behind = (named + 1..tokens.len()).find(visible)?;
    match before.is_some_and(|at| is(at, Keyword::FOR)) {
        true => Some(behind),
        false => next_period(tokens, named + 1),
    }
}

/// Returns the place of the TO that ends FROM.
fn end_of_from(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.checked_sub(1)?,
            Token::Word(word) if depth == 0 && word.keyword == Keyword::TO => return Some(at),
            _ => {}
        }
    }
    None
}
