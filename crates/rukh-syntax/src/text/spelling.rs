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
//! | `inet '10.1.2.3'`            | `'10.1.2.3'::inet`            | also of `cidr`                                  |
//! | `interval(2) '1.234 s'`      | `'1.234 s'::interval(2)`      | the digits would be lost                        |
//! | `FETCH FIRST (n) ROWS ONLY`  | `LIMIT (n)`                   |                                                 |
//! | `… (n) ROWS WITH TIES`       | `LIMIT ties(n)`               | a name that no statement can write              |
//! | `integer ARRAY` as a type    | `integer[]`                   |                                                 |
//! | `SELECT top FROM t`          | `SELECT "top" FROM t`         | TOP is no word of PostgreSQL's                  |
//! | `(row).*`                    | `(row).star`                  | a field, of a name that no statement can write  |
//! | `f(a, VARIADIC b)`           | `f(a, variadic => b)`         | of a name that no statement can write           |
//! | `((SELECT 1) UNION …)`       | `(SELECT 1 UNION …)`          | as a value it is no query otherwise             |

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::hidden_names::{record_star, variadic, with_ties};
use super::words::is_word;

/// Of each clause the first word is left, and the last.
const LOCKS: [&[&str]; 2] = [&["for", "no", "key", "update"], &["for", "key", "share"]];

/// What stands before ONLY and the name of a table.
const BEFORE_ONLY: [&str; 5] = ["from", "update", "into", "join", "using"];

/// What stands before a query, if it does not begin the statement or stand in parentheses.
const BEFORE_QUERY: [&str; 7] = ["as", "union", "except", "intersect", "all", "distinct", "explain"];

/// What stands before the name of a table.
const BEFORE_TABLE: [&str; 9] = [
    "from", "join", "into", "update", "table", "only", "using", "on", "as",
];

/// What stands behind the type of a column.
const BEHIND_TYPES: [&str; 9] = [
    "not",
    "null",
    "default",
    "primary",
    "unique",
    "references",
    "check",
    "constraint",
    "generated",
];

/// What stands between two queries.
const SET_OPERATORS: [&str; 3] = ["union", "intersect", "except"];

/// Clauses that belong to a whole query: one that has them keeps its parentheses.
const OF_QUERIES: [&str; 6] = ["order", "limit", "offset", "fetch", "for", "with"];

/// Types whose literals sqlparser does not know.
const TYPES_OF_LITERALS: [&str; 2] = ["inet", "cidr"];

/// Writes a literal with its type before it as a cast.
fn cast_literals(tokens: &mut Vec<TokenWithSpan>) {
    let visible = places(tokens);
    for pair in visible.windows(2).rev() {
        let (ty, text) = (pair[0], pair[1]);
        let is_literal = matches!(tokens[text].token, Token::SingleQuotedString(_));
        if is_literal && is_one_of(&tokens[ty].token, &TYPES_OF_LITERALS) {
            let (before, behind) = tokens.split_at_mut(text);
            std::mem::swap(&mut before[ty].token, &mut behind[0].token);
            let colons = TokenWithSpan {
                token: Token::DoubleColon,
                span: tokens[text].span,
            };
            tokens.insert(text, colons);
        }
    }
}

/// Makes names of arguments of VARIADIC.
fn name_variadic(tokens: &mut Vec<TokenWithSpan>) {
    let visible = places(tokens);
    for pair in visible.windows(2).rev() {
        let (before, at) = (&tokens[pair[0]].token, pair[1]);
        if matches!(before, Token::LParen | Token::Comma) && is_word(&tokens[at].token, "variadic") {
            let arrow = TokenWithSpan {
                token: Token::RArrow,
                span: tokens[at].span,
            };
            tokens[at].token = Token::make_word(&variadic(), Some('"'));
            tokens.insert(at + 1, arrow);
        }
    }
}

/// Settles the spellings of a statement.
pub(crate) fn respell(tokens: &mut Vec<TokenWithSpan>) {
    for token in tokens.iter_mut().filter(|token| is_word(&token.token, "top")) {
        token.token = Token::make_word("top", Some('"'));
    }
    if tokens.iter().any(|token| is_one_of(&token.token, &SET_OPERATORS)) {
        open_first_queries(tokens);
    }
    let stars: Vec<usize> = (2..tokens.len())
        .filter(|at| {
            let before = |back: usize| &tokens[at - back].token;
            tokens[*at].token == Token::Mul && *before(1) == Token::Period && *before(2) == Token::RParen
        })
        .collect();
    for at in stars {
        tokens[at].token = Token::make_word(&record_star(), Some('"'));
    }
    cast_literals(tokens);
    name_variadic(tokens);
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
        "fetch",
        "array",
    ]) {
        return;
    }
    let visible = places(tokens);
    let blank = Token::Whitespace(Whitespace::Space);
    limit_by_expressions(tokens, &visible);
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
    for nth in (1..visible.len()).rev() {
        let token = |nth: usize| visible.get(nth).map_or(&Token::EOF, |at| &tokens[*at].token);
        let is_type = match token(nth - 1) {
            word @ Token::Word(_) => !is_one_of(word, &BEFORE_TABLE),
            other => *other == Token::RParen,
        };
        let after = token(nth + 1);
        let ends = matches!(
            after,
            Token::Comma | Token::RParen | Token::SemiColon | Token::EOF
        ) || is_one_of(after, &BEHIND_TYPES);
        if is_type && ends && is_word(token(nth), "array") {
            let at = visible[nth];
            let span = tokens[at].span;
            let spelled = [Token::LBracket, Token::RBracket];
            tokens.splice(at..=at, spelled.map(|token| TokenWithSpan { token, span }));
        }
    }
    let visible = places(tokens);
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

/// Spells `FETCH FIRST (n) ROWS ONLY`, or WITH TIES, as LIMIT: of a number in parentheses, and of what else is computed.
fn limit_by_expressions(tokens: &mut [TokenWithSpan], visible: &[usize]) {
    for nth in 0..visible.len() {
        let token = |nth: usize| visible.get(nth).map_or(&Token::EOF, |at| &tokens[*at].token);
        let opens = is_word(token(nth), "fetch")
            && is_one_of(token(nth + 1), &["first", "next"])
            && *token(nth + 2) == Token::LParen;
        if !opens {
            continue;
        }
        let mut depth = 0_usize;
        let close = (nth + 2..visible.len()).find(|at| {
            match token(*at) {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let Some(close) = close else { continue };
        if !is_one_of(token(close + 1), &["row", "rows"]) {
            continue;
        }
        if is_word(token(close + 2), "with") && is_word(token(close + 3), "ties") {
            tokens[visible[nth]].token = Token::make_keyword("LIMIT");
            tokens[visible[nth + 1]].token = Token::make_word(&with_ties(), Some('"'));
            for place in [close + 1, close + 2, close + 3] {
                tokens[visible[place]].token = Token::Whitespace(Whitespace::Space);
            }
        } else if is_word(token(close + 2), "only") {
            tokens[visible[nth]].token = Token::make_keyword("LIMIT");
            for place in [nth + 1, close + 1, close + 2] {
                tokens[visible[place]].token = Token::Whitespace(Whitespace::Space);
            }
        }
    }
}

/// Takes the parentheses away around the first query of a set operation that stands in parentheses itself.
fn open_first_queries(tokens: &mut [TokenWithSpan]) {
    let visible = places(tokens);
    let is = |tokens: &[TokenWithSpan], nth: usize, token: &Token| {
        visible.get(nth).is_some_and(|at| tokens[*at].token == *token)
    };
    for nth in 0..visible.len() {
        let opens = is(tokens, nth, &Token::LParen)
            && is(tokens, nth + 1, &Token::LParen)
            && visible
                .get(nth + 2)
                .is_some_and(|at| is_word(&tokens[*at].token, "select"));
        if !opens {
            continue;
        }
        let mut depth = 0_usize;
        let mut end = None;
        for (nth, at) in visible.iter().enumerate().skip(nth + 1) {
            match &tokens[*at].token {
                Token::LParen => depth += 1,
                Token::RParen if depth == 1 => {
                    end = Some(nth);
                    break;
                }
                Token::RParen => depth -= 1,
                word if depth == 1 && (is_one_of(word, &SET_OPERATORS) || is_one_of(word, &OF_QUERIES)) => {
                    break;
                }
                _ => {}
            }
        }
        let follows = |end: usize| {
            visible
                .get(end + 1)
                .is_some_and(|at| is_one_of(&tokens[*at].token, &SET_OPERATORS))
        };
        if let Some(end) = end.filter(|end| follows(*end)) {
            for at in [visible[nth + 1], visible[end]] {
                tokens[at].token = Token::Whitespace(Whitespace::Space);
            }
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
