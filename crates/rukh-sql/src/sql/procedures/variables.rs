//! Variables of blocks: their scopes, their values, and what is assigned to them.

use std::collections::BTreeMap;

use datafusion::arrow::array::RecordBatch;
use rukh_error::SqlError;
use rukh_functions::batch::array_of;
use rukh_functions::scalars::{assigned_datums, datums_from_array};
use rukh_functions::types::{data_type_of, unnamed_record};
use rukh_keys::{DataType, Datum, RecordType, record_text, record_values};
use rukh_syntax::sqlparser::ast::{Expr, Value as AstValue};
use rukh_syntax::{make, shown_name};

use crate::bind::spelling::casts;
use crate::bind::spelling::parameters::types::written_type;

/// A value with its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) datum: Datum,
    pub(super) ty: DataType,
}

impl Value {
    pub(super) fn new(datum: Datum, ty: DataType) -> Self {
        Value { datum, ty }
    }

    pub(super) fn null() -> Self {
        Value::new(Datum::Null, DataType::Varchar(None))
    }

    pub(super) fn boolean(value: bool) -> Self {
        Value::new(Datum::Boolean(value), DataType::Boolean)
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Value::new(Datum::Text(text.into()), DataType::Varchar(None))
    }

    pub(super) fn is_null(&self) -> bool {
        self.datum == Datum::Null
    }

    /// Returns the value as results show it; `None` of NULL.
    pub(super) fn shown(&self) -> Option<String> {
        (!self.is_null()).then(|| self.ty.format_text(&self.datum))
    }

    /// Returns the value as an expression of its type.
    pub(super) fn literal(&self) -> Expr {
        if let (DataType::Record(ty), Datum::Array(form)) = (self.ty, &self.datum)
            && ty.definition().schema.is_empty()
        {
            let values = record_values(ty, form).unwrap_or_default().into_iter();
            let values = values.zip(ty.fields());
            let values = values.map(|(datum, field)| Value::new(datum, field.ty).literal());
            return make::call("row", values.collect());
        }
        let value = match self.shown() {
            Some(text) => AstValue::SingleQuotedString(text),
            None => AstValue::Null,
        };
        let mut literal = make::cast(Expr::Value(value.into()), written_type(self.ty));
        casts::spell_out(&mut literal);
        literal
    }
}

/// Returns the rows of a batch as values.
pub(super) fn rows_of(batch: &RecordBatch) -> Result<Vec<Vec<Value>>, SqlError> {
    let mut rows = vec![Vec::with_capacity(batch.num_columns()); batch.num_rows()];
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let ty = unnamed_record(field).unwrap_or_else(|| data_type_of(field));
        for (row, datum) in rows.iter_mut().zip(datums_from_array(array, &ty)?) {
            row.push(Value::new(datum, ty));
        }
    }
    Ok(rows)
}

/// Returns the names of the columns of a batch.
pub(super) fn names_of(batch: &RecordBatch) -> Vec<String> {
    let schema = batch.schema();
    let fields = schema.fields().iter();
    fields.map(|field| shown_name(field.name()).to_string()).collect()
}

/// Fields of a row, in order.
pub(super) type Fields = Vec<(String, Value)>;

/// A variable.
#[derive(Clone, Debug)]
pub(super) enum Variable {
    /// One of a value.
    Scalar {
        value: Value,
        /// The domain that it is of, as written.
        domain: Option<String>,
        constant: bool,
        not_null: bool,
    },
    /// One of a row.
    Record(Row),
}

/// A variable of a row: of type RECORD, of a composite type, or of the row of a relation.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// The values; none where the row is NULL, or not assigned yet.
    pub(super) fields: Option<Fields>,
    /// The fields that every row of it has, each NULL; none of RECORD.
    pub(super) shape: Option<Fields>,
    /// The composite type that it is of.
    pub(super) ty: Option<RecordType>,
    /// The domain that it is of, as written.
    pub(super) domain: Option<String>,
    pub(super) constant: bool,
    pub(super) not_null: bool,
}

impl Row {
    /// Makes a variable of a relation's row.
    pub(super) fn shaped(shape: Fields) -> Row {
        Row {
            shape: Some(shape),
            ..Row::default()
        }
    }

    /// Makes a variable of a composite type.
    pub(super) fn of(ty: RecordType, domain: Option<String>) -> Row {
        let fields = ty.fields().iter();
        let shape = fields.map(|field| (field.name.clone(), Value::new(Datum::Null, field.ty)));
        Row {
            ty: Some(ty),
            domain,
            ..Row::shaped(shape.collect())
        }
    }

    /// Returns the fields as they are read: those of a NULL are NULL.
    ///
    /// # Errors
    /// 55000 where no row says which fields there are.
    pub(super) fn read(&self, name: &str) -> Result<&Fields, SqlError> {
        self.fields.as_ref().or(self.shape.as_ref()).ok_or_else(|| {
            let error = SqlError::statement("55000", format!("record \"{name}\" is not assigned yet"));
            error.with_detail("The tuple structure of a not-yet-assigned record is indeterminate.")
        })
    }

    /// Returns the whole row as an expression.
    pub(super) fn expression(&self) -> Result<Expr, SqlError> {
        match (&self.fields, self.whole()?) {
            (_, Some(whole)) => Ok(whole.literal()),
            (Some(fields), None) => {
                let values = fields.iter().map(|(_, value)| value.literal()).collect();
                Ok(make::call("row", values))
            }
            (None, None) => Ok(Expr::Value(AstValue::Null.into())),
        }
    }

    /// Returns the row as a value of its composite type, if it has one.
    pub(super) fn whole(&self) -> Result<Option<Value>, SqlError> {
        let Some(ty) = self.ty.map(DataType::Record) else {
            return Ok(None);
        };
        let Some(fields) = &self.fields else {
            return Ok(Some(Value::new(Datum::Null, ty)));
        };
        let shown: Vec<Option<String>> = fields.iter().map(|(_, value)| value.shown()).collect();
        let text = record_text(shown.iter().map(Option::as_deref));
        Ok(Some(Value::new(ty.parse_text(&text)?, ty)))
    }
}

/// Returns the fields of a value that is assigned to a variable of a row; `None` of NULL. What is no row is read from its text, where the
/// variable is of a composite type.
///
/// # Errors
/// 0A000 on what is no row, 42601 on more than one value, those of the input of `ty`.
pub(super) fn taken_apart(
    row: Option<Vec<Value>>,
    ty: Option<RecordType>,
) -> Result<Option<Fields>, SqlError> {
    let Some(row) = row else { return Ok(None) };
    let [value] = row.as_slice() else {
        let message = format!("assignment source returned {} columns", row.len());
        return Err(SqlError::syntax(message));
    };
    match (&value.datum, value.ty) {
        (Datum::Null, _) => Ok(None),
        (Datum::Array(form), DataType::Record(ty)) => {
            let values = record_values(ty, form);
            let values = values.ok_or_else(|| SqlError::internal("a row has other fields than its type"))?;
            let fields = ty.fields().iter().zip(values);
            Ok(Some(
                fields
                    .map(|(field, datum)| (field.name.clone(), Value::new(datum, field.ty)))
                    .collect(),
            ))
        }
        _ => {
            let Some(ty) = ty else {
                let message = "input of anonymous composite types is not implemented";
                return Err(SqlError::unsupported(message));
            };
            let record = DataType::Record(ty);
            let read = Value::new(record.parse_text(&value.shown().unwrap_or_default())?, record);
            taken_apart(Some(vec![read]), Some(ty))
        }
    }
}

/// The variables of a block or loop.
#[derive(Debug, Default)]
struct Scope {
    label: Option<String>,
    names: BTreeMap<String, usize>,
}

/// All variables that a statement sees.
#[derive(Debug, Default)]
pub(super) struct Variables {
    scopes: Vec<Scope>,
    all: Vec<Variable>,
}

/// Where a scope began.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    scopes: usize,
    variables: usize,
}

impl Variables {
    /// Begins a scope.
    pub(super) fn begin(&mut self, label: Option<&str>) -> Mark {
        let mark = Mark {
            scopes: self.scopes.len(),
            variables: self.all.len(),
        };
        self.scopes.push(Scope {
            label: label.map(str::to_string),
            names: BTreeMap::new(),
        });
        mark
    }

    /// Ends a scope, and those within.
    pub(super) fn end(&mut self, mark: Mark) {
        self.scopes.truncate(mark.scopes);
        self.all.truncate(mark.variables);
    }

    /// Adds a variable to the innermost scope.
    pub(super) fn declare(&mut self, name: &str, variable: Variable) -> Result<(), SqlError> {
        self.all.push(variable);
        let place = self.all.len().saturating_sub(1);
        self.name(name, place)
    }

    /// Gives a variable another name.
    pub(super) fn alias(&mut self, name: &str, of: &str) -> Result<(), SqlError> {
        let place = self
            .place(&[of])
            .ok_or_else(|| SqlError::statement("42704", format!("variable \"{of}\" does not exist")))?;
        self.name(name, place.0)
    }

    fn name(&mut self, name: &str, place: usize) -> Result<(), SqlError> {
        let scope = self.scopes.last_mut();
        let scope = scope.ok_or_else(|| SqlError::internal("a variable has no block"))?;
        match scope.names.insert(name.to_string(), place) {
            None => Ok(()),
            Some(_) => Err(SqlError::syntax(format!(
                "duplicate declaration at or near \"{name}\""
            ))),
        }
    }

    /// Finds a variable by its name, with the label of its block or not; returns it with how many parts of the name are its own.
    fn place(&self, parts: &[&str]) -> Option<(usize, usize)> {
        let (first, second) = (parts.first()?, parts.get(1));
        for scope in self.scopes.iter().rev() {
            if let Some(place) = scope.names.get(*first) {
                return Some((*place, 1));
            }
            if scope.label.as_deref() == Some(first)
                && let Some(place) = second.and_then(|second| scope.names.get(*second))
            {
                return Some((*place, 2));
            }
        }
        None
    }

    /// Returns what a name of parts means: a variable, or a field of one; `None` where it means neither.
    ///
    /// # Errors
    /// 55000 on a field of a record that has no row yet, 42703 on one that it has not.
    pub(super) fn meant(&self, parts: &[&str]) -> Result<Option<Meant<'_>>, SqlError> {
        let Some((place, used)) = self.place(parts) else {
            return Ok(None);
        };
        let name = parts[used.saturating_sub(1)];
        match (&self.all[place], &parts[used..]) {
            (Variable::Scalar { value, .. }, []) => Ok(Some(Meant::Value(value))),
            (Variable::Record(row), []) => Ok(Some(Meant::Row(row))),
            (Variable::Record(row), [field]) => {
                let found = row.read(name)?.iter().find(|(known, _)| known == field);
                let value = found.map(|(_, value)| Meant::Value(value));
                value.ok_or_else(|| no_field(name, field)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns the variable of a name, and the field of it that is named.
    ///
    /// # Errors
    /// 42601 where there is none.
    pub(super) fn target(&mut self, parts: &[&str]) -> Result<(&mut Variable, Option<String>), SqlError> {
        let unknown = || {
            let name = parts.join(".");
            SqlError::syntax(format!("\"{name}\" is not a known variable"))
        };
        let (place, used) = self.place(parts).ok_or_else(unknown)?;
        let field = match (&parts[used..], &self.all[place]) {
            ([], _) => None,
            ([field], _) => Some((*field).to_string()),
            (_, Variable::Record(_)) => {
                let message = "assignment to fields of fields is not supported in blocks";
                return Err(SqlError::unsupported(message));
            }
            _ => return Err(unknown()),
        };
        Ok((&mut self.all[place], field))
    }
}

/// What a name means.
pub(super) enum Meant<'v> {
    Value(&'v Value),
    Row(&'v Row),
}

/// The error that a row has no such field.
pub(super) fn no_field(name: &str, field: &str) -> SqlError {
    SqlError::statement("42703", format!("record \"{name}\" has no field \"{field}\""))
}

/// Returns a value as a variable of a type holds it, by the rules of assignment; what has no cast is read from its text.
///
/// # Errors
/// Those of the type's input.
pub(super) fn assigned(value: &Value, ty: DataType, name: &str) -> Result<Value, SqlError> {
    if value.ty == ty || value.is_null() {
        return Ok(Value::new(value.datum.clone(), ty));
    }
    let array = array_of(&value.ty, std::slice::from_ref(&value.datum))?;
    let datum = match assigned_datums(&array, &ty, name) {
        Ok(datums) => datums.into_iter().next().unwrap_or(Datum::Null),
        Err(error) if error.sqlstate == "42804" => ty
            .parse_text(&value.ty.format_text(&value.datum))
            .map_err(SqlError::from)?,
        Err(error) => return Err(error),
    };
    Ok(Value::new(datum, ty))
}
