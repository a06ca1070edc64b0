//! Spellings of PostgreSQL's that sqlparser does not know, settled among the tokens.
//!
//! | written                      | becomes                       | because                                         |
//! |------------------------------|-------------------------------|-------------------------------------------------|
//! | `FOR NO KEY UPDATE`          | `FOR UPDATE`                  | a row is locked as a whole: the next stronger   |
//! | `FOR KEY SHARE`              | `FOR SHARE`                   | lock holds what the weaker one promises         |
//! | `FROM ONLY t`, `UPDATE ONLY` | `FROM t`, `UPDATE t`          | no table inherits from another                  |
//! | `TABLE t` as a query         | `SELECT * FROM t`             |                                                 |
//! | `ORDER BY a USING <`, `>`    | `ORDER BY a ASC`, `DESC`      | types have one order each                       |
//! | `'1 d'::interval PRECEDING`  | `INTERVAL '1 d' PRECEDING`    |                                                 |
//! | `interval(2) '1.234 s'`      | `'1.234 s'::interval(2)`      | the digits would be lost                        |
//! | `SELECT top FROM t`          | `SELECT "top" FROM t`         | TOP is no word of PostgreSQL's                  |

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::words::is_word;

/// Of each clause the first word is left, and the last.
const LOCKS: [&[&str]; 2] = [&["for", "no", "key", "update"], &["for", "key", "share"]];

/// What stands before ONLY and the name of a table.
const BEFORE_ONLY: [&str; 5] = ["from", "update", "into", "join", "using"];

/// What stands before a query, if it does not begin the statement or stand in parentheses.
const BEFORE_QUERY: [&str; 7] = ["as", "union", "except", "intersect", "all", "distinct", "explain"];

/// Settles the spellings of a statement.
pub(crate) fn respell(tokens: &mut Vec<TokenWithSpan>) {
    for token in tokens.iter_mut().filter(|token| is_word(&token.token, "top")) {
        token.token = Token::make_word("top", Some('"'));
    }
    let any = |words: &[&str]| {
        let mut all = tokens.iter();
        all.any(|token| words.iter().any(|word| is_word(&token.token, word)))
    };
    if !any(&[
        "key",
        "only",
        "table",
        "using",
        "preceding",
        "following",
        "interval",
    ]) {
        return;
    }
    let visible = places(tokens);
    let blank = Token::Whitespace(Whitespace::Space);
    for words in LOCKS {
        for places in visible.windows(words.len()) {
            let mut pairs = places.iter().zip(words);
            if pairs.all(|(at, word)| is_word(&tokens[*at].token, word)) {
                for at in &places[1..words.len() - 1] {
                    tokens[*at].token = blank.clone();
                }
            }
        }
    }
    for places in visible.windows(3) {
        let is_name = matches!(tokens[places[2]].token, Token::Word(_));
        if is_one_of(&tokens[places[0]].token, &BEFORE_ONLY)
            && is_word(&tokens[places[1]].token, "only")
            && is_name
        {
            tokens[places[1]].token = blank.clone();
        }
    }
    for places in visible.windows(2) {
        let direction = match tokens[places[1]].token {
            Token::Lt => "ASC",
            Token::Gt => "DESC",
            _ => continue,
        };
        if is_word(&tokens[places[0]].token, "using") {
            tokens[places[0]].token = Token::make_keyword(direction);
            tokens[places[1]].token = blank.clone();
        }
    }
    for places in visible.windows(4) {
        let [text, colons, ty, end] = [0, 1, 2, 3].map(|at| &tokens[places[at]].token);
        let is_frame = matches!((text, colons), (Token::SingleQuotedString(_), Token::DoubleColon))
            && is_word(ty, "interval")
            && is_one_of(end, &["preceding", "following"]);
        if is_frame {
            tokens[places[1]].token = text.clone();
            tokens[places[0]].token = Token::make_keyword("INTERVAL");
            tokens[places[2]].token = blank.clone();
        }
    }
    // From the last on, so that places before stay what they are.
    for nth in (0..visible.len()).rev() {
        let before = nth.checked_sub(1).map(|before| &tokens[visible[before]].token);
        let begins = match before {
            None | Some(Token::LParen) => true,
            Some(before) => is_one_of(before, &BEFORE_QUERY),
        };
        let names = |at: &usize| matches!(tokens[*at].token, Token::Word(_));
        if begins && is_word(&tokens[visible[nth]].token, "table") && visible.get(nth + 1).is_some_and(names)
        {
            let span = tokens[visible[nth]].span;
            let spelled = [
                Token::make_keyword("SELECT"),
                Token::Mul,
                Token::make_keyword("FROM"),
            ];
            let spelled = spelled.map(|token| TokenWithSpan { token, span });
            tokens.splice(visible[nth]..=visible[nth], spelled);
        }
    }
    for places in places(tokens).windows(5).rev() {
        let [ty, open, digits, close, text] = [0, 1, 2, 3, 4].map(|at| tokens[places[at]].clone());
        let is_typed = is_word(&ty.token, "interval")
            && open.token == Token::LParen
            && matches!(digits.token, Token::Number(..))
            && close.token == Token::RParen
            && matches!(text.token, Token::SingleQuotedString(_));
        if is_typed {
            let colons = TokenWithSpan {
                token: Token::DoubleColon,
                span: ty.span,
            };
            let spelled = [text, colons, ty, open, digits, close];
            tokens.splice(places[0]..=places[4], spelled);
        }
    }
}

/// Returns the places of what is no blank.
fn places(tokens: &[TokenWithSpan]) -> Vec<usize> {
    (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
        .collect()
}

fn is_one_of(token: &Token, words: &[&str]) -> bool {
    words.iter().any(|word| is_word(token, word))
}
