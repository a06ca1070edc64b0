//! The SQL dialect: PostgreSQL's, where PostgreSQL has an opinion.
//!
//! sqlparser asks a dialect two kinds of questions: named switches, and "are you this concrete
//! type?". The second kind is answered with PostgreSQL's type, so every branch that is written for
//! PostgreSQL is taken; of the first kind, each switch that PostgreSQL sets is passed on, except:
//!
//! | switch                         | here   | because                                              |
//! |--------------------------------|--------|------------------------------------------------------|
//! | custom operators               | off    | there are none, and `a >-1` would be read as one      |
//! | geometric types                | off    | `path`, `line`, `point`, `box` are column names here  |
//! | strings joined across newlines | on     | `'a'` newline `'b'` is `'ab'` in PostgreSQL           |
//! | hints in comments              | on     | `/*+ INDEX(t i) */` steers the planner                |
//! | table versions                 | on     | where FOR SYSTEM_TIME is written                      |
//! | words that are no alias        | more   | `SELECT 1 FOR UPDATE` names no column `for`            |
//!
//! Deliberately not here: statements that only Rukh has; `read` does that.

use std::any::TypeId;

use sqlparser::ast::{BinaryOperator, Expr, Ident, ObjectNamePart};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::subscripts::is_subscripts;
use super::words::is_reserved;

const POSTGRESQL: PostgreSqlDialect = PostgreSqlDialect {};

/// Words that PostgreSQL takes for a column alias only after AS, beside those that sqlparser knows.
const NO_COLUMN_ALIAS: &[Keyword] = &[
    Keyword::ARRAY,
    Keyword::CREATE,
    Keyword::FOR,
    Keyword::GRANT,
    Keyword::ON,
    Keyword::OVERLAPS,
    Keyword::TO,
    Keyword::WINDOW,
];

/// The dialect that every statement is read in.
#[derive(Clone, Copy, Debug, Default)]
pub struct RukhDialect {
    /// Whether FOR SYSTEM_TIME stands somewhere in the statement: sqlparser then reads `AT` and `BEFORE`
    /// behind a table as forms of other databases, which are names everywhere else.
    pub past: bool,
}

impl RukhDialect {
    /// Returns the dialect of a statement.
    pub fn of(past: bool) -> &'static RukhDialect {
        match past {
            true => &RukhDialect { past: true },
            false => &RukhDialect { past: false },
        }
    }
}

/// Passes switches on to PostgreSQL's dialect.
macro_rules! as_in_postgresql {
    ($($switch:ident)*) => {
        $(fn $switch(&self) -> bool {
            POSTGRESQL.$switch()
        })*
    };
}

impl Dialect for RukhDialect {
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        POSTGRESQL.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        POSTGRESQL.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        POSTGRESQL.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        POSTGRESQL.is_identifier_part(ch)
    }

    /// The subscripts of a column that is assigned to, see `subscripts`.
    fn is_identifier_generating_function_name(&self, name: &Ident, _: &[ObjectNamePart]) -> bool {
        is_subscripts(&name.value)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        POSTGRESQL.is_reserved_for_identifier(keyword)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        POSTGRESQL.get_next_precedence(parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        POSTGRESQL.prec_value(precedence)
    }

    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        !NO_COLUMN_ALIAS.contains(keyword) && POSTGRESQL.is_column_alias(keyword, parser)
    }

    fn is_table_alias(&self, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        !is_reserved(&keyword.to_string()) && POSTGRESQL.is_table_alias(keyword, parser)
    }

    /// `x [NOT] BETWEEN SYMMETRIC a AND b`, which sqlparser does not know, and ASYMMETRIC, which says nothing;
    /// `x IS [NOT] DISTINCT FROM y`, of which it takes all that follows for `y`, AND and OR too.
    fn parse_infix(&self, parser: &mut Parser<'_>, expr: &Expr, _: u8) -> Option<Result<Expr, ParserError>> {
        let is = |parser: &Parser<'_>, at: usize, keyword: Keyword| matches!(&parser.peek_nth_token_ref(at).token, Token::Word(word) if word.keyword == keyword);
        if is(parser, 0, Keyword::IS) {
            let same = is(parser, 1, Keyword::NOT);
            let at = 1 + usize::from(same);
            if !is(parser, at, Keyword::DISTINCT) || !is(parser, at + 1, Keyword::FROM) {
                return None;
            }
            (0..at + 2).for_each(|_| parser.advance_token());
            let other = parser.parse_subexpr(self.prec_value(Precedence::Is));
            let distinct = match same {
                true => Expr::IsNotDistinctFrom,
                false => Expr::IsDistinctFrom,
            };
            return Some(other.map(|other| distinct(Box::new(expr.clone()), Box::new(other))));
        }
        let negated = is(parser, 0, Keyword::NOT);
        let at = usize::from(negated);
        let symmetric = is(parser, at + 1, Keyword::SYMMETRIC);
        if !is(parser, at, Keyword::BETWEEN) || !(symmetric || is(parser, at + 1, Keyword::ASYMMETRIC)) {
            return None;
        }
        (0..at + 2).for_each(|_| parser.advance_token());
        let precedence = self.prec_value(Precedence::Between);
        let bounds = parser.parse_subexpr(precedence).and_then(|low| {
            parser.expect_keyword_is(Keyword::AND)?;
            Ok((low, parser.parse_subexpr(precedence)?))
        });
        Some(bounds.map(|(low, high)| between(expr, low, high, symmetric, negated)))
    }

    fn is_custom_operator_part(&self, _: char) -> bool {
        false
    }

    fn supports_geometric_types(&self) -> bool {
        false
    }

    fn supports_string_literal_concatenation_with_newline(&self) -> bool {
        true
    }

    fn supports_comment_optimizer_hint(&self) -> bool {
        true
    }

    fn supports_table_versioning(&self) -> bool {
        self.past
    }

    as_in_postgresql! {
        allow_extract_custom
        allow_extract_single_quotes
        supports_alter_column_type_using
        supports_array_typedef_with_brackets
        supports_bitwise_shift_operators
        supports_comma_separated_trim
        supports_comment_on
        supports_create_index_with_clause
        supports_create_table_like_parenthesized
        supports_empty_projections
        supports_explain_with_utility_options
        supports_factorial_operator
        supports_filter_during_aggregation
        supports_group_by_expr
        supports_insert_table_alias
        supports_interval_options
        supports_listen_notify
        supports_load_extension
        supports_named_fn_args_with_colon_operator
        supports_named_fn_args_with_expr_name
        supports_nested_comments
        supports_notnull_operator
        supports_numeric_literal_underscores
        supports_select_wildcard_with_alias
        supports_set_names
        supports_string_escape_constant
        supports_unicode_string_literal
        supports_xml_expressions
    }
}

/// `x BETWEEN SYMMETRIC a AND b` is `x BETWEEN a AND b OR x BETWEEN b AND a`.
fn between(expr: &Expr, low: Expr, high: Expr, symmetric: bool, negated: bool) -> Expr {
    let one = |low: Expr, high: Expr, negated| Expr::Between {
        expr: Box::new(expr.clone()),
        negated,
        low: Box::new(low),
        high: Box::new(high),
    };
    if !symmetric {
        return one(low, high, negated);
    }
    let op = match negated {
        true => BinaryOperator::And,
        false => BinaryOperator::Or,
    };
    Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(one(low.clone(), high.clone(), negated)),
        op,
        right: Box::new(one(high, low, negated)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::ast::{SetExpr, Statement};

    fn parse(sql: &str) -> Vec<Statement> {
        Parser::parse_sql(RukhDialect::of(false), sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// What sqlparser prints for a statement, so that a reading can be compared.
    fn printed(sql: &str) -> String {
        parse(sql)[0].to_string()
    }

    #[test]
    fn operators_end_before_a_sign() {
        assert_eq!(printed("select 1 where a>-1"), "SELECT 1 WHERE a > -1");
        assert_eq!(printed("select 1 where a>=-1"), "SELECT 1 WHERE a >= -1");
        assert_eq!(printed("select 1 where a<>-1"), "SELECT 1 WHERE a <> -1");
        assert_eq!(printed("select a*-b, a%-2"), "SELECT a * -b, a % -2");
    }

    #[test]
    fn postgresql_syntax_is_read() {
        for sql in [
            "SELECT a::TEXT FROM t",
            "SELECT E'a\\nb'",
            "SELECT a ~ 'x', b !~* 'y', c ^ 2, a << 1",
            "SELECT count(*) FILTER (WHERE a > 1) FROM t",
            "SELECT path, line, point FROM t WHERE box = 1",
            "SELECT DISTINCT ON (a) a, b FROM t",
            "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
        ] {
            parse(sql);
        }
        assert_eq!(printed("select 'a'\n 'b'"), "SELECT 'ab'");
    }

    #[test]
    fn distinct_from_binds_as_is_does() {
        let nested = |sql: &str| {
            let expr = Parser::new(RukhDialect::of(false))
                .try_with_sql(sql)
                .unwrap()
                .parse_expr();
            match expr.unwrap() {
                Expr::BinaryOp { left, op, right } => format!("({left}) {op} ({right})"),
                Expr::IsDistinctFrom(left, right) => format!("({left}) <=/=> ({right})"),
                Expr::IsNotDistinctFrom(left, right) => format!("({left}) <=> ({right})"),
                other => other.to_string(),
            }
        };
        assert_eq!(
            nested("a IS DISTINCT FROM 1 AND b"),
            "(a IS DISTINCT FROM 1) AND (b)"
        );
        assert_eq!(
            nested("a IS NOT DISTINCT FROM 1 OR b"),
            "(a IS NOT DISTINCT FROM 1) OR (b)"
        );
        assert_eq!(nested("a IS DISTINCT FROM b + 1"), "(a) <=/=> (b + 1)");
        assert_eq!(nested("a IS NOT DISTINCT FROM b = c"), "(a) <=> (b = c)");
        assert_eq!(
            nested("a AND b IS NOT DISTINCT FROM NULL"),
            "(a) AND (b IS NOT DISTINCT FROM NULL)"
        );
    }

    #[test]
    fn hints_reach_the_tree() {
        let statements = parse("SELECT /*+ INDEX(t i) */ a FROM t");
        let Statement::Query(query) = &statements[0] else {
            panic!("a query")
        };
        let SetExpr::Select(select) = query.body.as_ref() else {
            panic!("a select")
        };
        assert_eq!(select.optimizer_hints[0].text.trim(), "INDEX(t i)");
    }
}
