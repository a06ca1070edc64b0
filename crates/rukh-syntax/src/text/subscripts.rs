//! Subscripts of columns that SET assigns to, which sqlparser does not know, spelled as calls, which it reads in a name.
//!
//! | written                | becomes                              |
//! |------------------------|--------------------------------------|
//! | `SET a[1] = 2`         | `SET a.at(1) = 2`                    |
//! | `SET a[1:2] = b`       | `SET a.at(slice(1, 2)) = b`          |
//! | `SET a[:2] = b`        | `SET a.at(slice(NULL, 2)) = b`       |
//! | `SET d['a'][0] = '1'`  | `SET d.at('a', 0) = '1'`             |
//!
//! Both calls have names that no statement can write.

use sqlparser::ast::{self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::hidden_names::HIDDEN;
use super::words::is_word;

/// A subscript of a column that is assigned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscript<'a> {
    /// `[1]`, `['a']`.
    At(&'a Expr),
    /// `[1:2]`; NULL is a bound that is not given.
    Slice(&'a Expr, &'a Expr),
}

/// Returns the subscripts behind the name of a column that is assigned to, in order.
pub fn subscripts(name: &ast::ObjectName) -> Vec<Subscript<'_>> {
    let arguments = name.0.iter().filter_map(|part| match part {
        ObjectNamePart::Function(call) if is_subscripts(&call.name.value) => Some(&call.args),
        _ => None,
    });
    let slice = slice();
    let mut all = Vec::new();
    for argument in arguments.flatten() {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument {
            all.push(bounds(expr, &slice).unwrap_or(Subscript::At(expr)));
        }
    }
    all
}

/// Returns the slice that a subscript is.
fn bounds<'a>(expr: &'a Expr, slice: &str) -> Option<Subscript<'a>> {
    let Expr::Function(call) = expr else {
        return None;
    };
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    match list.args.as_slice() {
        [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(low)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(high)),
        ] if call.name.0.last()?.as_ident()?.value == slice => Some(Subscript::Slice(low, high)),
        _ => None,
    }
}

/// Whether an identifier names the subscripts of a column.
pub(crate) fn is_subscripts(name: &str) -> bool {
    name.strip_prefix(HIDDEN) == Some("at")
}

fn slice() -> String {
    format!("{HIDDEN}slice")
}

/// Spells the subscripts of a statement.
pub(crate) fn respell(tokens: &mut Vec<TokenWithSpan>) {
    let mut is_set = false;
    let may_have = tokens.iter().any(|token| {
        is_set |= is_word(&token.token, "set");
        is_set && token.token == Token::LBracket
    });
    if !may_have {
        return;
    }
    let visible: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
        .collect();
    let token = |nth: usize| visible.get(nth).map_or(&Token::EOF, |at| &tokens[*at].token);
    let mut opened = Vec::new();
    // Whether SET stands before, within each of the parentheses that are open.
    let mut in_set = vec![false];
    for nth in 0..visible.len() {
        let found = token(nth);
        match found {
            Token::LParen | Token::LBracket => in_set.push(false),
            Token::RParen | Token::RBracket if in_set.len() > 1 => {
                in_set.pop();
            }
            Token::Word(_) => {
                let before = nth.checked_sub(1).map_or(&Token::EOF, &token);
                let ends = ["where", "returning", "when"]
                    .iter()
                    .any(|word| is_word(found, word))
                    || (is_word(found, "from") && !is_word(before, "distinct"));
                if let Some(in_set) = in_set.last_mut() {
                    *in_set = !ends && (*in_set || is_word(found, "set"));
                }
                let begins = is_word(before, "set") || *before == Token::Comma;
                if begins && in_set.last() == Some(&true) && *token(nth + 1) == Token::LBracket {
                    opened.push(nth + 1);
                }
            }
            _ => {}
        }
    }
    for open in opened.into_iter().rev() {
        if let Some((end, spelled)) = spelled(tokens, &visible, open) {
            tokens.splice(visible[open]..=visible[end], spelled);
        }
    }
}

/// Returns the call that subscripts are, and where they end; `None` if no `=` follows.
fn spelled(tokens: &[TokenWithSpan], visible: &[usize], open: usize) -> Option<(usize, Vec<TokenWithSpan>)> {
    let (first, span) = (open, tokens[visible[open]].span);
    let made = |token: Token| TokenWithSpan { token, span };
    let name = |name: &str| made(Token::make_word(name, Some('"')));
    let mut all = vec![
        made(Token::Period),
        name(&format!("{HIDDEN}at")),
        made(Token::LParen),
    ];
    let mut nth = first;
    while visible
        .get(nth)
        .is_some_and(|at| tokens[*at].token == Token::LBracket)
    {
        if nth > first {
            all.push(made(Token::Comma));
        }
        let (mut depth, mut parts) = (0_usize, vec![Vec::new()]);
        loop {
            nth += 1;
            let token = &tokens[*visible.get(nth)?];
            match token.token {
                Token::RBracket if depth == 0 => break,
                Token::Colon if depth == 0 => {
                    parts.push(Vec::new());
                    continue;
                }
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                _ => {}
            }
            parts.last_mut()?.push(token.clone());
        }
        match <[Vec<TokenWithSpan>; 2]>::try_from(parts) {
            Ok(bounds) => {
                all.extend([name(&slice()), made(Token::LParen)]);
                for (at, bound) in bounds.into_iter().enumerate() {
                    if at > 0 {
                        all.push(made(Token::Comma));
                    }
                    match bound.is_empty() {
                        true => all.push(made(Token::make_keyword("NULL"))),
                        false => all.extend(bound),
                    }
                }
                all.push(made(Token::RParen));
            }
            Err(parts) => all.extend(parts.into_iter().flatten()),
        }
        nth += 1;
    }
    all.push(made(Token::RParen));
    let assigns = visible.get(nth).is_some_and(|at| tokens[*at].token == Token::Eq);
    assigns.then_some((nth - 1, all))
}
