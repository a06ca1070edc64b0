//! What is assigned to variables: values, rows, fields and elements.

use rukh_error::SqlError;
use rukh_syntax::{HIDDEN, Target};

use super::sql::{fields_of, first_rows};
use super::steps::{Runner, parts_of, scalar};
use super::variables::{Fields, Meant, Row, Value, Variable, assigned, no_field, taken_apart};

impl Runner<'_> {
    /// Whether a target is a variable of a row.
    pub(super) fn is_row(&mut self, target: &Target) -> bool {
        let parts = parts_of(&target.text);
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        matches!(self.variables.target(&names), Ok((Variable::Record(_), None)))
    }

    /// Puts a row into one variable of a row, or its values into as many variables.
    pub(super) fn assign_row(
        &mut self,
        targets: &[Target],
        names: &[String],
        row: Option<Vec<Value>>,
    ) -> Result<(), SqlError> {
        if let [target] = targets
            && self.is_row(target)
        {
            let fields = match row {
                Some(row) => fields_of(names, row),
                None => names.iter().map(|name| (name.clone(), Value::null())).collect(),
            };
            let parts = parts_of(&target.text);
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let (variable, _) = self.variables.target(&parts)?;
            let mut changed = variable.clone();
            if let Variable::Record(row) = &mut changed {
                self.fill_row(row, parts.last().copied().unwrap_or_default(), Some(fields))?;
            }
            *self.variables.target(&parts)?.0 = changed;
            return Ok(());
        }
        let mut values = row.unwrap_or_default().into_iter();
        for target in targets {
            let value = values.next().unwrap_or_else(Value::null);
            self.assign(target, Some(vec![value]))?;
        }
        Ok(())
    }

    /// Assigns a value to a target.
    pub(super) fn assign(&mut self, target: &Target, row: Option<Vec<Value>>) -> Result<(), SqlError> {
        if let Some((array, subscript)) = target.text.split_once('[') {
            return self.assign_element(target, array, subscript, row);
        }
        let parts = parts_of(&target.text);
        let names_of_target: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (variable, field) = self.variables.target(&names_of_target)?;
        let mut changed = variable.clone();
        match (&mut changed, field) {
            (Variable::Record(whole), Some(field)) => {
                let name = parts.first().map_or("", String::as_str);
                let mut fields = whole.read(name)?.clone();
                let found = fields.iter_mut().find(|(name, _)| *name == field);
                let (_, place) = found.ok_or_else(|| no_field(name, &field))?;
                let value = only(row)?;
                *place = assigned(&value, place.ty, &field)?;
                self.fill_row(whole, name, Some(fields))?;
            }
            (_, Some(field)) => {
                return Err(SqlError::syntax(format!(
                    "\"{}.{field}\" is not a known variable",
                    target.text
                )));
            }
            (_, None) => {
                let name = parts.last().cloned().unwrap_or_default();
                self.give(&mut changed, &name, row)?;
            }
        }
        let (variable, _) = self.variables.target(&names_of_target)?;
        *variable = changed;
        Ok(())
    }

    /// Assigns a value to an element of an array.
    fn assign_element(
        &mut self,
        target: &Target,
        array: &str,
        subscript: &str,
        row: Option<Vec<Value>>,
    ) -> Result<(), SqlError> {
        let subscript = subscript.trim_end().strip_suffix(']').unwrap_or(subscript);
        if subscript.contains([':', '[', ']']) {
            let message = "assignment to slices and to elements of arrays of several dimensions is not supported in blocks";
            return Err(SqlError::unsupported(message));
        }
        let parts = parts_of(array);
        let names: Vec<&str> = parts.iter().map(String::as_str).collect();
        let element = match self.variables.meant(&names)? {
            Some(Meant::Value(value)) => value.ty.element(),
            _ => None,
        };
        let Some(element) = element else {
            let message = format!("cannot subscript variable \"{array}\" because it is not an array");
            return Err(SqlError::statement("42804", message));
        };
        let value = assigned(&only(row)?, element, array)?;
        let mark = self.variables.begin(None);
        let name = format!("{HIDDEN}element");
        self.variables.declare(&name, scalar(value))?;
        let changed = self.row(&format!(
            "array_assign({array}, ARRAY[CAST(({subscript}) AS INTEGER)], ARRAY[\"{name}\"])"
        ));
        self.variables.end(mark);
        let (_, row) = changed?;
        let array = Target {
            text: array.trim().to_string(),
            position: target.position,
        };
        self.assign(&array, row)
    }

    /// Gives a variable of a row other values.
    fn fill_row(&mut self, row: &mut Row, name: &str, fields: Option<Fields>) -> Result<(), SqlError> {
        if row.constant {
            return Err(is_constant(name));
        }
        if row.not_null && fields.is_none() {
            return Err(refuses_null(name));
        }
        row.fields = match (fields, &row.shape) {
            (Some(fields), Some(shape)) => {
                let mut given = fields.into_iter().map(|(_, value)| value);
                let mut filled = Vec::with_capacity(shape.len());
                for (field, place) in shape {
                    let value = given.next().unwrap_or_else(Value::null);
                    filled.push((field.clone(), assigned(&value, place.ty, field)?));
                }
                Some(filled)
            }
            (fields, _) => fields,
        };
        let whole = row.whole()?;
        if let (Some(domain), Some(whole)) = (&row.domain, whole) {
            self.checked(&whole, domain)?;
        }
        Ok(())
    }

    /// Gives a variable the value of an expression.
    pub(super) fn give(
        &mut self,
        variable: &mut Variable,
        name: &str,
        row: Option<Vec<Value>>,
    ) -> Result<(), SqlError> {
        match variable {
            Variable::Record(whole) => {
                let fields = taken_apart(row, whole.ty)?;
                self.fill_row(whole, name, fields)
            }
            Variable::Scalar {
                value,
                domain,
                constant,
                not_null,
            } => {
                if *constant {
                    return Err(is_constant(name));
                }
                let given = only(row)?;
                if *not_null && given.is_null() {
                    return Err(refuses_null(name));
                }
                let mut given = assigned(&given, value.ty, name)?;
                if let Some(domain) = domain {
                    given = self.checked(&given, domain)?;
                }
                *value = given;
                Ok(())
            }
        }
    }

    /// Returns a value as the domain has it.
    ///
    /// # Errors
    /// Those of the domain.
    fn checked(&mut self, value: &Value, domain: &str) -> Result<Value, SqlError> {
        let text = match value.shown() {
            Some(text) => rukh_syntax::quoted_string(&text),
            None => "NULL".to_string(),
        };
        let mut rows = self.query(&format!("SELECT CAST({text} AS {domain})"))?;
        let (_, first) = first_rows(&mut rows, 1)?;
        Ok(first
            .into_iter()
            .flatten()
            .next()
            .unwrap_or_else(|| value.clone()))
    }
}

/// Returns the one value of an expression; NULL where a query gave no row.
fn only(row: Option<Vec<Value>>) -> Result<Value, SqlError> {
    let Some(row) = row else { return Ok(Value::null()) };
    let columns = row.len();
    match <[Value; 1]>::try_from(row) {
        Ok([value]) => Ok(value),
        Err(_) => Err(SqlError::syntax(format!(
            "assignment source returned {columns} columns"
        ))),
    }
}

fn is_constant(name: &str) -> SqlError {
    SqlError::statement("22005", format!("variable \"{name}\" is declared CONSTANT"))
}

fn refuses_null(name: &str) -> SqlError {
    let message = format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
    SqlError::statement("22004", message)
}
