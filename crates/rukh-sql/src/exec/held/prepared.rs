//! A statement that was parsed once.

use std::sync::Arc;

use rukh_error::SqlError;
use rukh_syntax::sqlparser::ast;
use rukh_syntax::{Statement, with_wide_number};

use crate::bind::spelling::parameters::types::cast_in;
use crate::bind::spelling::parsing::{parse, parse_expression};

/// A statement parsed once, to be run with parameters.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(crate) sql: Arc<str>,
    pub(crate) statement: Arc<Statement>,
}

impl Prepared {
    /// Returns the text.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// Whether it is a COPY from or to the client.
    pub fn is_client_copy(&self) -> bool {
        matches!(self.statement(), Statement::Copy(copy) if copy.files.is_empty())
    }

    pub(crate) fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Returns it with a number in the place of parameter `at`, counted from 1; `None` if a DECIMAL holds the number, or it is none.
    pub fn with_wide_number(&self, at: usize, number: &str) -> Result<Option<Self>, SqlError> {
        let Some(sql) = with_wide_number(&self.sql, at, number)? else {
            return Ok(None);
        };
        let statement = Arc::new(parse(&sql)?);
        let sql = sql.into();
        Ok(Some(Prepared { sql, statement }))
    }

    /// Returns it with parameters, by their numbers from 1, cast to types that no column has: `INTERVAL`, `SMALLINT[]`.
    pub fn with_casts(&self, casts: &[(usize, String)]) -> Result<Self, SqlError> {
        let ty = |name: &str| match parse_expression(&format!("CAST(NULL AS {name})"))? {
            ast::Expr::Cast { data_type, .. } => Ok(data_type),
            other => Err(SqlError::statement("42601", format!("{other} is no cast"))),
        };
        let types = casts.iter().map(|(number, name)| Ok((*number, ty(name)?)));
        let mut statement = self.statement.as_ref().clone();
        cast_in(&mut statement, &types.collect::<Result<Vec<_>, SqlError>>()?);
        // What is kept of a statement is found by its text, and places count from its beginning.
        let notes: Vec<String> = casts
            .iter()
            .map(|(number, name)| format!("${number} {name}"))
            .collect();
        Ok(Prepared {
            sql: format!("{} /* {} */", self.sql, notes.join(", ")).into(),
            statement: Arc::new(statement),
        })
    }
}
