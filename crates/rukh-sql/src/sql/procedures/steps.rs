//! What each statement of a block does.

use rukh_catalog::TypeKind;
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum};
use rukh_syntax::{
    Declaration, Fragment, HIDDEN, Into, LoopQuery, Name, ProcedureAction, ProcedureBlock, ProcedureStep,
    Raise, Raised, Target, VariableKind, parse_object_name,
};

use super::conditions::{handles, kept, state_of};
use super::sql::{Done, fields_of, first_rows};
use super::variables::{Mark, Row, Value, Variable, Variables, names_of, rows_of};
use crate::exec::session_settings::notice::Notice;
use crate::sql::session::Session;

/// Where the next statement is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Behind this one.
    On,
    /// Behind a loop or block.
    Exit(Option<String>),
    /// At the next round of a loop.
    Continue(Option<String>),
    /// Nowhere.
    Return,
}

/// A block that runs.
pub(super) struct Runner<'s> {
    pub(super) session: &'s mut Session,
    pub(super) variables: Variables,
    /// The errors that are being handled, the innermost last.
    handled: Vec<SqlError>,
    /// Rows of the last statement of SQL.
    row_count: u64,
    /// How many subtransactions have begun.
    begun: u64,
}

impl<'s> Runner<'s> {
    pub(super) fn new(session: &'s mut Session) -> Result<Self, SqlError> {
        let mut variables = Variables::default();
        variables.begin(None);
        variables.declare("found", scalar(Value::boolean(false)))?;
        Ok(Runner {
            session,
            variables,
            handled: Vec::new(),
            row_count: 0,
            begun: 0,
        })
    }

    /// Runs a block.
    pub(super) fn block(&mut self, block: &ProcedureBlock) -> Result<Flow, SqlError> {
        let mark = self.variables.begin(block.label.as_deref());
        let flow = self.declared(block);
        self.variables.end(mark);
        Ok(match flow? {
            Flow::Exit(Some(label)) if block.label.as_ref() == Some(&label) => Flow::On,
            flow => flow,
        })
    }

    fn declared(&mut self, block: &ProcedureBlock) -> Result<Flow, SqlError> {
        for declaration in &block.declarations {
            self.declare(declaration)
                .map_err(|error| error.at(declaration.position))?;
        }
        if block.handlers.is_empty() {
            return self.steps(&block.body);
        }
        self.begun += 1;
        let savepoint = Name {
            text: format!("{HIDDEN}handled{}", self.begun),
            position: 1,
        };
        self.session.begin_part(&savepoint)?;
        let handled = self.handled.len();
        let error = match self.steps(&block.body) {
            Ok(flow) => {
                self.session.end_part(&savepoint)?;
                return Ok(flow);
            }
            Err(error) => error,
        };
        self.handled.truncate(handled);
        for handler in &block.handlers {
            let mut is_handled = false;
            for condition in &handler.conditions {
                is_handled |= handles(condition, &error)?;
            }
            if is_handled {
                self.session.undo_part(&savepoint)?;
                let mark = self.variables.begin(None);
                self.variables
                    .declare("sqlstate", scalar(Value::text(error.sqlstate)))?;
                self.variables
                    .declare("sqlerrm", scalar(Value::text(error.message.clone())))?;
                self.handled.push(error);
                let flow = self.steps(&handler.body);
                self.handled.truncate(handled);
                self.variables.end(mark);
                return flow;
            }
        }
        Err(error)
    }

    fn declare(&mut self, declaration: &Declaration) -> Result<(), SqlError> {
        let name = declaration.name.as_str();
        match &declaration.kind {
            VariableKind::Alias(of) => self.variables.alias(name, of),
            VariableKind::Cursor { .. } => Err(SqlError::unsupported("cursors in blocks are not supported")),
            VariableKind::Value {
                ty,
                constant,
                not_null,
                default,
            } => {
                let mut variable = self.variable(ty, *not_null)?;
                match default {
                    Some(default) => {
                        let (_, row) = self.row(&default.text)?;
                        self.give(&mut variable, name, row)?;
                    }
                    None if *not_null => {
                        let message = format!(
                            "variable \"{name}\" must have a default value, since it's declared NOT NULL"
                        );
                        return Err(SqlError::statement("22004", message));
                    }
                    // A domain may refuse NULL.
                    None => self.give(&mut variable, name, None)?,
                }
                match &mut variable {
                    Variable::Scalar { constant: is, .. } => *is = *constant,
                    Variable::Record(row) => row.constant = *constant,
                }
                self.variables.declare(name, variable)
            }
        }
    }

    /// Makes a variable of a type that is written, without a value.
    fn variable(&mut self, ty: &Fragment, not_null: bool) -> Result<Variable, SqlError> {
        let text = ty.text.trim();
        let lower = text.to_lowercase();
        if lower == "record" {
            return Ok(Variable::Record(Row {
                not_null,
                ..Row::default()
            }));
        }
        if let Some((of, kind)) = text.rsplit_once('%') {
            let of = of.trim();
            return match kind.trim().to_lowercase().as_str() {
                "rowtype" => self.row_of(of),
                "type" => self.like(of, not_null),
                _ => Err(SqlError::syntax(format!("syntax error at or near \"%{kind}\""))),
            };
        }
        let (ty, domain) = match self.domain(text) {
            Some(ty) => (ty, Some(text.to_string())),
            None => {
                let mut rows = self.query(&format!("SELECT CAST(NULL AS {text})"))?;
                let (_, first) = first_rows(&mut rows, 1)?;
                let value = first.into_iter().flatten().next();
                let value = value.ok_or_else(|| SqlError::internal("a type gives no value"))?;
                (value.ty, None)
            }
        };
        Ok(match ty {
            DataType::Record(ty) => Variable::Record(Row {
                not_null,
                ..Row::of(ty, domain)
            }),
            ty => Variable::Scalar {
                value: Value::new(Datum::Null, ty),
                domain,
                constant: false,
                not_null,
            },
        })
    }

    /// Returns the type of a domain's values; `None` of what is no domain. Values of domains are checked as they are assigned.
    fn domain(&self, ty: &str) -> Option<DataType> {
        let name = parse_object_name(ty).ok()?;
        let catalog = self.session.catalog();
        let of = |schema: &str| match &catalog.type_named(schema, &name.name)?.kind {
            TypeKind::Domain(domain) => Some(domain.ty),
            _ => None,
        };
        match &name.schema {
            Some(schema) => of(schema),
            None => self.session.path().iter().find_map(|schema| of(schema)),
        }
    }

    /// Makes a variable of a row of a relation.
    fn row_of(&mut self, relation: &str) -> Result<Variable, SqlError> {
        let mut rows = self.query(&format!(
            "SELECT r.* FROM (SELECT 1) AS one LEFT JOIN {relation} AS r ON false"
        ))?;
        let (names, first) = first_rows(&mut rows, 1)?;
        let row = first.into_iter().next();
        let row = row.ok_or_else(|| SqlError::internal("a relation gives no row"))?;
        Ok(Variable::Record(Row::shaped(fields_of(&names, row))))
    }

    /// Makes a variable of the type of a column, or of another variable.
    fn like(&mut self, of: &str, not_null: bool) -> Result<Variable, SqlError> {
        let parts: Vec<String> = parts_of(of);
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        if let Ok((variable, field)) = self.variables.target(&names) {
            let mut made = variable.clone();
            match (&mut made, field) {
                (
                    Variable::Scalar {
                        value,
                        constant,
                        not_null: refuses,
                        ..
                    },
                    None,
                ) => {
                    (value.datum, *constant, *refuses) = (Datum::Null, false, not_null);
                }
                (Variable::Record(row), Some(field)) => {
                    let found = row.read(of)?.iter().find(|(name, _)| *name == field);
                    let ty = found.map_or(DataType::Varchar(None), |(_, value)| value.ty);
                    made = scalar(Value::new(Datum::Null, ty));
                }
                (Variable::Record(row), None) => {
                    (row.fields, row.constant, row.not_null) = (None, false, not_null);
                }
                (Variable::Scalar { .. }, Some(_)) => {}
            }
            return Ok(made);
        }
        let Some((table, column)) = of.rsplit_once('.') else {
            return Err(SqlError::syntax(format!("invalid type name \"{of}%TYPE\"")));
        };
        let sql = format!("SELECT r.{column} FROM (SELECT 1) AS one LEFT JOIN {table} AS r ON false");
        let mut rows = self.query(&sql)?;
        let (_, first) = first_rows(&mut rows, 1)?;
        let value = first.into_iter().flatten().next();
        let value = value.ok_or_else(|| SqlError::internal("a column gives no value"))?;
        Ok(Variable::Scalar {
            value,
            domain: None,
            constant: false,
            not_null,
        })
    }

    /// Runs a query that names no variables.
    pub(super) fn query(&mut self, sql: &str) -> Result<crate::exec::rows::Rows, SqlError> {
        let variables = std::mem::take(&mut self.variables);
        let done = self.statement(sql, &[]);
        self.variables = variables;
        done?
            .rows
            .ok_or_else(|| SqlError::internal("a query gives no rows"))
    }

    fn steps(&mut self, steps: &[ProcedureStep]) -> Result<Flow, SqlError> {
        for step in steps {
            self.session.check_cancel()?;
            // The place of an error within a piece of SQL is none of the statement that the client sent.
            let without_place = |error: SqlError| SqlError {
                position: None,
                ..error
            };
            match self.step(&step.action).map_err(without_place)? {
                Flow::On => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::On)
    }

    fn step(&mut self, action: &ProcedureAction) -> Result<Flow, SqlError> {
        match action {
            ProcedureAction::Nothing => {}
            ProcedureAction::Block(block) => return self.block(block),
            ProcedureAction::Assign { target, value } => {
                let (_, row) = self.row(&value.text)?;
                self.assign(target, row)?;
            }
            ProcedureAction::If {
                arms,
                otherwise,
                is_case,
            } => {
                for (condition, body) in arms {
                    if self.holds(condition)? {
                        return self.steps(body);
                    }
                }
                return self.otherwise(otherwise.as_deref(), *is_case);
            }
            ProcedureAction::Case {
                operand,
                arms,
                otherwise,
            } => {
                let mark = self.variables.begin(None);
                let value = self.value(operand)?;
                let name = format!("{HIDDEN}case");
                self.variables.declare(&name, scalar(value))?;
                let arm = self.matching(&name, arms);
                self.variables.end(mark);
                return match arm? {
                    Some(body) => self.steps(body),
                    None => self.otherwise(otherwise.as_deref(), true),
                };
            }
            ProcedureAction::Loop {
                label,
                condition,
                body,
            } => loop {
                self.session.check_cancel()?;
                if let Some(condition) = condition
                    && !self.holds(condition)?
                {
                    break;
                }
                let flow = self.steps(body)?;
                if let Some(flow) = leaves(flow, label.as_deref()) {
                    return Ok(flow);
                }
            },
            ProcedureAction::ForRange { .. } => return self.count(action),
            ProcedureAction::ForQuery {
                label,
                targets,
                query,
                body,
            } => return self.each_row(label.as_deref(), targets, query, body),
            ProcedureAction::ForEach {
                label,
                target,
                array,
                body,
            } => {
                let query = LoopQuery::Written(Fragment {
                    text: format!("SELECT unnest({})", array.text),
                    position: array.position,
                });
                let targets = std::slice::from_ref(target);
                return self.each_row(label.as_deref(), targets, &query, body);
            }
            ProcedureAction::Leave { goes_on, label, when } => {
                let leaves = match when {
                    Some(when) => self.holds(when)?,
                    None => true,
                };
                if leaves {
                    let label = label.clone();
                    return Ok(if *goes_on {
                        Flow::Continue(label)
                    } else {
                        Flow::Exit(label)
                    });
                }
            }
            ProcedureAction::Return(None) => return Ok(Flow::Return),
            ProcedureAction::Return(Some(_)) => {
                let message = "RETURN cannot have a parameter in function returning void";
                return Err(SqlError::statement("42804", message));
            }
            ProcedureAction::ReturnRows(_) => {
                let message = "cannot use RETURN QUERY in a non-SETOF function";
                return Err(SqlError::statement("42804", message));
            }
            ProcedureAction::Raise(raise) => self.raise(raise)?,
            ProcedureAction::Assert { condition, message } => {
                if !self.holds(condition)? {
                    let message = match message {
                        Some(message) => self.value(message)?.shown(),
                        None => None,
                    };
                    let message = message.unwrap_or_else(|| "assertion failed".to_string());
                    return Err(SqlError::statement("P0004", message));
                }
            }
            ProcedureAction::Perform(query) => {
                let done = self.statement(&format!("SELECT {}", query.text), &[])?;
                let rows = drained(done)?;
                self.noted(rows)?;
            }
            ProcedureAction::Sql { sql, into } => {
                let done = self.statement(&sql.text, &[])?;
                match into {
                    Some(into) => self.into(done, into)?,
                    None if done.rows.is_some() => {
                        let error = SqlError::syntax("query has no destination for result data");
                        let is_query = done.written.is_none();
                        return Err(match is_query {
                            true => error.with_hint(
                                "If you want to discard the results of a SELECT, use PERFORM instead.",
                            ),
                            false => error,
                        });
                    }
                    None => {
                        if let Some(written) = done.written {
                            self.noted(written)?;
                        }
                    }
                }
            }
            ProcedureAction::Execute { sql, into, using } => {
                let done = self.computed(sql, using)?;
                match into {
                    Some(into) => self.into(done, into)?,
                    None => {
                        self.row_count = match done.written {
                            Some(written) => written,
                            None => drained(done)?,
                        };
                    }
                }
            }
            ProcedureAction::Diagnostics { stacked, items } => self.diagnose(*stacked, items)?,
            ProcedureAction::Open { .. } | ProcedureAction::Fetch { .. } | ProcedureAction::Close(_) => {
                return Err(SqlError::unsupported("cursors in blocks are not supported"));
            }
            ProcedureAction::EndTransaction { commits } => {
                let what = if *commits { "COMMIT" } else { "ROLLBACK" };
                return Err(SqlError::unsupported(format!(
                    "{what} in a block is not supported"
                )));
            }
        }
        Ok(Flow::On)
    }

    fn otherwise(&mut self, body: Option<&[ProcedureStep]>, is_case: bool) -> Result<Flow, SqlError> {
        match body {
            Some(body) => self.steps(body),
            None if is_case => {
                let error = SqlError::statement("20000", "case not found");
                Err(error.with_hint("CASE statement is missing ELSE part."))
            }
            None => Ok(Flow::On),
        }
    }

    /// Returns what is done for the first value that is equal to a variable.
    fn matching<'b>(
        &mut self,
        variable: &str,
        arms: &'b [(Vec<Fragment>, Vec<ProcedureStep>)],
    ) -> Result<Option<&'b [ProcedureStep]>, SqlError> {
        for (values, body) in arms {
            for value in values {
                let condition = Fragment {
                    text: format!("\"{variable}\" = ({})", value.text),
                    position: value.position,
                };
                if self.holds(&condition)? {
                    return Ok(Some(body));
                }
            }
        }
        Ok(None)
    }

    /// Runs FOR of whole numbers.
    fn count(&mut self, action: &ProcedureAction) -> Result<Flow, SqlError> {
        let ProcedureAction::ForRange {
            label,
            variable,
            reverse,
            from,
            to,
            by,
            body,
        } = action
        else {
            return Ok(Flow::On);
        };
        let mut at = i64::from(self.integer(from, "lower bound")?);
        let last = i64::from(self.integer(to, "upper bound")?);
        let step = match by {
            Some(by) => i64::from(self.integer(by, "BY value")?),
            None => 1,
        };
        if step <= 0 {
            let message = "BY value of FOR loop must be greater than zero";
            return Err(SqlError::statement("22023", message));
        }
        let mut found = false;
        let mut left = Flow::On;
        while if *reverse { at >= last } else { at <= last } {
            found = true;
            let mark = self.variables.begin(label.as_deref());
            let value = Value::new(Datum::Int(at), DataType::Integer);
            self.variables.declare(variable, scalar(value))?;
            let flow = self.steps(body);
            self.variables.end(mark);
            if let Some(flow) = leaves(flow?, label.as_deref()) {
                left = flow;
                break;
            }
            at = if *reverse { at - step } else { at + step };
        }
        self.set_found(found)?;
        Ok(left)
    }

    fn each_row(
        &mut self,
        label: Option<&str>,
        targets: &[Target],
        query: &LoopQuery,
        body: &[ProcedureStep],
    ) -> Result<Flow, SqlError> {
        let mark: Mark = self.variables.begin(label);
        let flow = self.rows_of_loop(label, targets, query, body);
        self.variables.end(mark);
        flow
    }

    fn rows_of_loop(
        &mut self,
        label: Option<&str>,
        targets: &[Target],
        query: &LoopQuery,
        body: &[ProcedureStep],
    ) -> Result<Flow, SqlError> {
        let mut rows = self.loop_rows(query)?;
        let mut found = false;
        let mut left = Flow::On;
        'all: while let Some(batch) = rows.filled_batch()? {
            let names = names_of(&batch);
            for row in rows_of(&batch)? {
                found = true;
                self.assign_row(targets, &names, Some(row))?;
                let flow = self.steps(body)?;
                if let Some(flow) = leaves(flow, label) {
                    left = flow;
                    break 'all;
                }
            }
        }
        if !found {
            self.assign_row(targets, &[], None)?;
        }
        self.set_found(found)?;
        Ok(left)
    }

    fn set_found(&mut self, found: bool) -> Result<(), SqlError> {
        if let (Variable::Scalar { value, .. }, None) = self.variables.target(&["found"])? {
            *value = Value::boolean(found);
        }
        Ok(())
    }

    /// Notes how many rows a statement has found or written.
    fn noted(&mut self, rows: u64) -> Result<(), SqlError> {
        self.row_count = rows;
        self.set_found(rows > 0)
    }

    /// Puts the first row of a result into variables.
    fn into(&mut self, done: Done, into: &Into) -> Result<(), SqlError> {
        let Done { rows, written } = done;
        let Some(mut rows) = rows else {
            return Err(SqlError::syntax(
                "INTO used with a command that cannot return data",
            ));
        };
        let only_one = into.strict || written.is_some();
        let (names, mut first) = first_rows(&mut rows, if only_one { 2 } else { 1 })?;
        if only_one && first.len() > 1 {
            let error = SqlError::statement("P0003", "query returned more than one row");
            return Err(error.with_hint("Make sure the query returns a single row, or use LIMIT 1."));
        }
        if into.strict && first.is_empty() {
            return Err(SqlError::statement("P0002", "query returned no rows"));
        }
        let row = first.pop();
        self.noted(written.unwrap_or(u64::from(row.is_some())))?;
        self.assign_row(&into.targets, &names, row)
    }

    fn raise(&mut self, raise: &Raise) -> Result<(), SqlError> {
        let (mut state, mut message) = ("P0001", None);
        match &raise.what {
            None => {
                let again = self.handled.last().cloned();
                let outside = || {
                    let message = "RAISE without parameters cannot be used outside an exception handler";
                    SqlError::statement("0Z002", message)
                };
                return Err(again.ok_or_else(outside)?);
            }
            Some(Raised::Format(format, values)) => message = Some(self.formatted(format, values)?),
            Some(Raised::Condition(condition)) => {
                state = state_of(condition)?;
                message = Some(match condition {
                    rukh_syntax::Condition::Named(name, _) => name.clone(),
                    rukh_syntax::Condition::SqlState(state) => state.clone(),
                });
            }
            Some(Raised::Options) => {}
        }
        let (mut detail, mut hint) = (None, None);
        for (option, value) in &raise.options {
            let text = self
                .value(value)?
                .shown()
                .ok_or_else(|| SqlError::statement("22004", "RAISE statement option cannot be null"))?;
            match option.as_str() {
                "message" => message = Some(text),
                "detail" => detail = Some(text),
                "hint" => hint = Some(text),
                "errcode" => {
                    let named = rukh_syntax::Condition::Named(text.clone(), 1);
                    state = match kept(&text) {
                        Ok(state) => state,
                        Err(_) => state_of(&named)?,
                    };
                }
                // Names of what an error is about have no place of their own here.
                "column" | "constraint" | "datatype" | "table" | "schema" => {}
                other => {
                    return Err(SqlError::syntax(format!(
                        "unrecognized RAISE statement option \"{other}\""
                    )));
                }
            }
        }
        let message = message.unwrap_or_else(|| state.to_string());
        let severity = match raise.level.as_str() {
            "exception" => {
                let mut error = SqlError::statement(state, message);
                (error.detail, error.hint) = (detail, hint);
                return Err(error);
            }
            "warning" => "WARNING",
            "notice" => "NOTICE",
            "info" => "INFO",
            // DEBUG and LOG are below what a session prints.
            _ => return Ok(()),
        };
        let sqlstate = match (state, severity) {
            ("P0001", "WARNING") => "01000",
            ("P0001", _) => "00000",
            (state, _) => state,
        };
        self.session.notice(Notice {
            severity,
            sqlstate,
            message,
            hint,
        });
        Ok(())
    }

    /// Puts values in the places of a format.
    fn formatted(&mut self, format: &str, values: &[Fragment]) -> Result<String, SqlError> {
        let mut values = values.iter();
        let mut text = String::new();
        let mut rest = format.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '%' if rest.peek() == Some(&'%') => {
                    rest.next();
                    text.push('%');
                }
                '%' => {
                    let value = match values.next() {
                        Some(value) => self.value(value)?.shown(),
                        None => None,
                    };
                    text += value.as_deref().unwrap_or("<NULL>");
                }
                c => text.push(c),
            }
        }
        Ok(text)
    }

    fn diagnose(&mut self, stacked: bool, items: &[(Target, String)]) -> Result<(), SqlError> {
        for (target, item) in items {
            let value = match (stacked, self.handled.last()) {
                (true, None) => {
                    let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
                    return Err(SqlError::statement("0Z002", message));
                }
                (true, Some(error)) => match item.as_str() {
                    "returned_sqlstate" => Value::text(error.sqlstate),
                    "message_text" => Value::text(error.message.clone()),
                    "pg_exception_detail" => Value::text(error.detail.clone().unwrap_or_default()),
                    "pg_exception_hint" => Value::text(error.hint.clone().unwrap_or_default()),
                    "table_name" => Value::text(
                        error
                            .violated
                            .as_ref()
                            .map_or(String::new(), |violated| violated.table.clone()),
                    ),
                    "pg_exception_context"
                    | "column_name"
                    | "constraint_name"
                    | "pg_datatype_name"
                    | "schema_name" => Value::text(""),
                    other => return Err(unknown_item(other)),
                },
                (false, _) => match item.as_str() {
                    "row_count" => {
                        let count = i64::try_from(self.row_count).unwrap_or(i64::MAX);
                        Value::new(Datum::Int(count), DataType::BigInt)
                    }
                    "pg_context" => Value::text("PL/pgSQL function inline_code_block"),
                    other => return Err(unknown_item(other)),
                },
            };
            self.assign(target, Some(vec![value]))?;
        }
        Ok(())
    }
}

fn unknown_item(item: &str) -> SqlError {
    SqlError::syntax(format!("unrecognized GET DIAGNOSTICS item at or near \"{item}\""))
}

pub(super) fn scalar(value: Value) -> Variable {
    Variable::Scalar {
        value,
        domain: None,
        constant: false,
        not_null: false,
    }
}

/// Returns where a loop goes on behind a round: `None` for the next one.
fn leaves(flow: Flow, label: Option<&str>) -> Option<Flow> {
    let is_meant = |named: &Option<String>| named.is_none() || named.as_deref() == label;
    match flow {
        Flow::On => None,
        Flow::Continue(named) if is_meant(&named) => None,
        Flow::Exit(named) if is_meant(&named) => Some(Flow::On),
        flow => Some(flow),
    }
}

/// Reads all rows of a result; returns how many there are.
fn drained(done: Done) -> Result<u64, SqlError> {
    let mut count = 0;
    if let Some(mut rows) = done.rows {
        while let Some(batch) = rows.filled_batch()? {
            count += batch.num_rows() as u64;
        }
    }
    Ok(count)
}

/// Returns the parts of a name between points, folded to lower case unless quoted.
pub(super) fn parts_of(name: &str) -> Vec<String> {
    let (mut parts, mut part, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                part.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(std::mem::take(&mut part)),
            c if !quoted && c.is_whitespace() => {}
            c if quoted => part.push(c),
            c => part.extend(c.to_lowercase()),
        }
    }
    parts.push(part);
    parts
}
