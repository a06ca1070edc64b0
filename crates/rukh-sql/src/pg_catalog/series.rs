//! What functions in FROM give, by the names that PostgreSQL gives it.
//!
//! | written                                                             | becomes                         |
//! |---------------------------------------------------------------------|---------------------------------|
//! | `FROM generate_series(1, 3) AS i`                                   | `… AS i (i)`                    |
//! | `x IN (SELECT … s[i] … FROM generate_series(…) AS i, string_to_array(current_setting('search_path'), ',') s)` | `search_path_has(x)` |
//!
//! The second is how Grafana asks whether a schema is on the search path. A series whose ends are not literals
//! is not there otherwise.

use datafusion::sql::sqlparser::ast::{
    Expr, Query, TableAlias, TableAliasColumnDef, TableFactor, UnaryOperator,
};

use crate::statement::call;

/// Functions that give one column, which has the alias of the function for its name.
const OF_ONE_COLUMN: [&str; 2] = ["generate_series", "unnest"];

/// Grafana's search in the search path, without blanks and AS, in lower case.
const SEARCH_PATH: &str = "selectcasewhentrim(s[i])='\"$user\"'thenuserelsetrim(s[i])end\
    fromgenerate_series(array_lower(string_to_array(current_setting('search_path'),','),1),\
    array_upper(string_to_array(current_setting('search_path'),','),1))i,\
    string_to_array(current_setting('search_path'),',')s";

/// Names the column of a function after its alias.
pub(super) fn name_column(factor: &mut TableFactor) {
    let (is_one, alias) = match factor {
        TableFactor::Table {
            name,
            args: Some(_),
            alias: Some(alias),
            ..
        }
        | TableFactor::Function {
            name,
            alias: Some(alias),
            ..
        } => {
            let name = name.to_string().to_ascii_lowercase();
            (OF_ONE_COLUMN.contains(&name.as_str()), alias)
        }
        TableFactor::UNNEST {
            alias: Some(alias),
            array_exprs,
            with_offset: false,
            ..
        } => (array_exprs.len() == 1, alias),
        _ => return,
    };
    if is_one && alias.columns.is_empty() {
        name_after(alias);
    }
}

fn name_after(alias: &mut TableAlias) {
    alias.columns.push(TableAliasColumnDef {
        name: alias.name.clone(),
        data_type: None,
    });
}

/// Returns `x IN (…)` as a call, if it searches the search path.
pub(super) fn search_path(expr: &Expr, query: &Query, negated: bool) -> Option<Expr> {
    if !is_search_path(query) {
        return None;
    }
    let found = call("search_path_has", vec![expr.clone()]);
    Some(match negated {
        true => Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr: Box::new(found),
        },
        false => found,
    })
}

fn is_search_path(query: &Query) -> bool {
    let text = query.to_string();
    if text.len() > 4 * SEARCH_PATH.len() {
        return false;
    }
    let plain = text.to_ascii_lowercase().replace(" as ", " ");
    plain.split_whitespace().collect::<String>() == SEARCH_PATH
}
