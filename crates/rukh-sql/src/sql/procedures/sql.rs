//! SQL of blocks: expressions, queries and whole statements, run in the transaction of the block.

use std::sync::Arc;

use rukh_error::SqlError;
use rukh_keys::DataType;
use rukh_syntax::{Fragment, LoopQuery, Statement};

use super::names::put_values;
use super::steps::Runner;
use super::variables::{Fields, Value, assigned, names_of, rows_of};
use crate::bind::spelling::parsing::parse;
use crate::exec::held::Prepared;
use crate::exec::rows::Rows;

/// What a statement gave.
pub(super) struct Done {
    pub(super) rows: Option<Rows>,
    /// How many rows it wrote, of one that writes.
    pub(super) written: Option<u64>,
}

impl Runner<'_> {
    /// Runs a statement with the values of variables and parameters.
    pub(super) fn statement(&mut self, text: &str, parameters: &[Value]) -> Result<Done, SqlError> {
        let mut statement = parse(text)?;
        if matches!(statement, Statement::Transaction(_)) {
            return Err(SqlError::unsupported(
                "unsupported transaction command in PL/pgSQL",
            ));
        }
        let qualified = self.session.qualified(&statement)?;
        let catalog = self.session.catalog();
        put_values(
            &mut statement,
            qualified.as_ref(),
            &self.variables,
            parameters,
            &catalog,
        )?;
        let prepared = Prepared {
            sql: text.into(),
            statement: Arc::new(statement),
        };
        let (tag, rows) = self.session.run_within(&prepared)?;
        let written = match prepared.statement() {
            Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Writes(_) => tag.rsplit(' ').next().and_then(|count| count.parse().ok()),
            _ => None,
        };
        Ok(Done { rows, written })
    }

    /// Runs the query of a loop.
    pub(super) fn loop_rows(&mut self, query: &LoopQuery) -> Result<Rows, SqlError> {
        let done = match query {
            LoopQuery::Written(fragment) => self.statement(&fragment.text, &[])?,
            LoopQuery::Computed { sql, using } => self.computed(sql, using)?,
        };
        let none = || SqlError::statement("42601", "a loop takes a query that gives rows");
        done.rows.ok_or_else(none)
    }

    /// Runs EXECUTE.
    pub(super) fn computed(&mut self, sql: &Fragment, using: &[Fragment]) -> Result<Done, SqlError> {
        let text = self
            .value(sql)?
            .shown()
            .ok_or_else(|| SqlError::statement("22004", "query string argument of EXECUTE is null"))?;
        let parameters = using.iter().map(|value| self.value(value));
        let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
        // Names in a text that is computed are none of the block.
        let variables = std::mem::take(&mut self.variables);
        let done = self.statement(&text, &parameters);
        self.variables = variables;
        done
    }

    /// Computes an expression: the one value of a query.
    pub(super) fn value(&mut self, expression: &Fragment) -> Result<Value, SqlError> {
        let (_, row) = self.row(&expression.text)?;
        match row.as_deref() {
            None => Ok(Value::null()),
            Some([value]) => Ok(value.clone()),
            Some(values) => {
                let message = format!("query returned {} columns", values.len());
                Err(SqlError::syntax(message))
            }
        }
    }

    /// Computes a row of expressions, or of a query that is written without SELECT.
    pub(super) fn row(&mut self, text: &str) -> Result<(Vec<String>, Option<Vec<Value>>), SqlError> {
        let done = self.statement(&format!("SELECT {text}"), &[])?;
        let mut rows = done
            .rows
            .ok_or_else(|| SqlError::internal("an expression gives no rows"))?;
        let (names, mut first) = first_rows(&mut rows, 2)?;
        if first.len() > 1 {
            return Err(SqlError::statement("21000", "query returned more than one row"));
        }
        Ok((names, first.pop()))
    }

    /// Computes a condition; NULL is false.
    pub(super) fn holds(&mut self, condition: &Fragment) -> Result<bool, SqlError> {
        let value = self.value(condition)?;
        let value = assigned(&value, DataType::Boolean, "condition")?;
        Ok(value == Value::boolean(true))
    }

    /// Computes a whole number.
    pub(super) fn integer(&mut self, expression: &Fragment, what: &str) -> Result<i32, SqlError> {
        let value = self.value(expression)?;
        if value.is_null() {
            return Err(SqlError::statement(
                "22004",
                format!("{what} of FOR loop cannot be null"),
            ));
        }
        match assigned(&value, DataType::Integer, "i")?.datum {
            rukh_keys::Datum::Int(value) => {
                i32::try_from(value).map_err(|_| SqlError::statement("22003", "integer out of range"))
            }
            other => Err(SqlError::internal(format!("{other:?} is no whole number"))),
        }
    }
}

/// Returns the names of columns, and so many rows at most.
pub(super) fn first_rows(rows: &mut Rows, most: usize) -> Result<(Vec<String>, Vec<Vec<Value>>), SqlError> {
    let mut names: Vec<String> = rows.columns().iter().map(|column| column.name.clone()).collect();
    let mut first = Vec::new();
    while first.len() < most {
        let Some(batch) = rows.filled_batch()? else { break };
        names = names_of(&batch);
        first.extend(rows_of(
            &batch.slice(0, batch.num_rows().min(most - first.len())),
        )?);
    }
    Ok((names, first))
}

/// Returns a row with the names of its columns.
pub(super) fn fields_of(names: &[String], row: Vec<Value>) -> Fields {
    names.iter().cloned().zip(row).collect()
}
