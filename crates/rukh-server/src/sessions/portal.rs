//! Prepared statements and portals: a statement with what it takes and gives, and one run of it.

use std::sync::Arc;

use pgwire::messages::extendedquery::{Bind, Parse};
use rukh::{
    Connection, DataType, Datum, Description, Error, Row, Rows, Statement, StatementKind, Value, oid_of,
};

use crate::protocol::input::{number_of, read_value};
use crate::protocol::output::Format;
use crate::protocol::types::{OID_ARRAY, UNSPECIFIED, WireType, array_of, element_of, type_of};

/// A prepared statement.
pub(crate) struct Prepared {
    /// `None` for a text without a statement.
    pub(crate) statement: Option<Statement>,
    /// Types that the client has said, by its numbers.
    oids: Vec<u32>,
    given: Vec<Option<DataType>>,
}

/// A prepared statement with its parameters.
pub(crate) struct Portal {
    pub(crate) prepared: Arc<Prepared>,
    values: Vec<Value>,
    formats: Vec<i16>,
    /// The columns as Describe returns them.
    pub(crate) description: Arc<Description>,
    pub(crate) run: Run,
}

/// How far a portal has run.
pub(crate) enum Run {
    /// It has not.
    Ready,
    /// It gives rows; some may have been sent.
    Rows {
        rows: Box<Rows>,
        /// A row that was read to know whether there are more.
        next: Option<Row>,
        tag: String,
    },
    /// It has given all its rows; what it ended with.
    Over(String),
    /// It has run to its end, and gives no rows.
    Done,
}

impl Prepared {
    /// Parses a statement; fails where it is not known or understood.
    pub(crate) fn parse(
        connection: &mut Connection,
        message: Parse,
        parse: impl FnOnce(&mut Connection, &str) -> Result<Option<Statement>, Error>,
    ) -> Result<Self, Error> {
        let unknown = |oid| {
            let message = format!("parameters of the type with OID {oid} are not supported");
            Error::unsupported(message).with_hint("Cast a text parameter, as in $1::date.")
        };
        let given = message.type_oids.iter().map(|oid| type_of(*oid).map_err(unknown));
        let given = given.collect::<Result<_, _>>()?;
        let casts: Vec<(usize, String)> = (1..).zip(&message.type_oids).filter_map(cast_of).collect();
        let statement = match parse(connection, &message.query)? {
            Some(statement) if !casts.is_empty() => Some(statement.with_casts(&casts)?),
            statement => statement,
        };
        let prepared = Prepared {
            given,
            statement,
            oids: message.type_oids,
        };
        prepared.describe(connection)?;
        Ok(prepared)
    }

    /// Returns it with numbers written into the statement that no parameter can be.
    fn with_statement(&self, statement: Statement) -> Self {
        Prepared {
            statement: Some(statement),
            oids: self.oids.clone(),
            given: self.given.clone(),
        }
    }

    /// Gives the statement its name for EXECUTE; a text without one has none.
    pub(crate) fn name(&self, connection: &mut Connection, name: &str) -> Result<(), Error> {
        match &self.statement {
            Some(statement) => connection.name_prepared(name, statement, &self.given),
            None => Ok(()),
        }
    }

    /// Describes the parameters and columns of the statement as of now.
    pub(crate) fn describe(&self, connection: &mut Connection) -> Result<Arc<Description>, Error> {
        match &self.statement {
            Some(statement) => connection.describe(statement, &self.given),
            None => Ok(Arc::new(Description {
                parameters: Vec::new(),
                arrays: Vec::new(),
                oids: Vec::new(),
                columns: None,
                schema: None,
            })),
        }
    }

    /// Returns the numbers of the parameters' types.
    pub(crate) fn parameter_oids(&self, description: &Description) -> Vec<u32> {
        let types = description.parameters.iter().enumerate();
        types.map(|(at, ty)| self.oid(at, ty, description)).collect()
    }

    fn oid(&self, at: usize, ty: &DataType, description: &Description) -> u32 {
        match self.oids.get(at) {
            None | Some(&UNSPECIFIED) if description.oids.contains(&at) => OID_ARRAY,
            None | Some(&UNSPECIFIED) => match description.arrays.contains(&at) {
                true => array_of(oid_of(ty)).unwrap_or_else(|| oid_of(ty)),
                false => oid_of(ty),
            },
            Some(given) => *given,
        }
    }

    /// Returns what kind of statement this is; `None` for a text without one.
    pub(crate) fn kind(&self) -> Option<StatementKind> {
        self.statement.as_ref().map(Statement::kind)
    }
}

/// Returns the type that a parameter is cast to whose type no column has.
fn cast_of((number, oid): (usize, &u32)) -> Option<(usize, String)> {
    let element = type_of(element_of(*oid)?).ok()??;
    Some((number, format!("{element}[]")))
}

impl Portal {
    /// Gives a prepared statement its parameters.
    pub(crate) fn bind(
        connection: &mut Connection,
        prepared: Arc<Prepared>,
        bind: &Bind,
    ) -> Result<Self, Error> {
        let description = prepared.describe(connection)?;
        let wanted = description.parameters.len();
        let given = bind.parameters.len();
        if given != wanted {
            let name = bind.statement_name.as_deref().unwrap_or_default();
            let message = format!(
                "bind message supplies {given} parameters, but prepared statement \"{name}\" requires {wanted}"
            );
            return Err(Error::statement("08P01", message));
        }
        let codes = &bind.parameter_format_codes;
        if codes.len() > 1 && codes.len() != given {
            let message = format!(
                "bind message has {} parameter formats but {given} parameters",
                codes.len()
            );
            return Err(Error::statement("08P01", message));
        }
        let mut values = Vec::with_capacity(given);
        let mut written: Option<Statement> = None;
        for (at, (bytes, ty)) in bind.parameters.iter().zip(&description.parameters).enumerate() {
            let format = format_at(codes, at)?;
            if let Some(number) = number_of(bytes.as_deref(), ty, format)
                && let Some(statement) = written.as_ref().or(prepared.statement.as_ref())
                && let Some(statement) = statement.with_wide_number(at + 1, &number)?
            {
                written = Some(statement);
                values.push(Value::new(Datum::Null, *ty));
                continue;
            }
            let oid = prepared.oid(at, ty, &description);
            values.push(read_value(bytes.as_deref(), ty, oid, format, at + 1)?);
        }
        let prepared = match written {
            Some(statement) => Arc::new(prepared.with_statement(statement)),
            None => prepared,
        };
        let portal = Portal {
            prepared,
            values,
            formats: bind.result_column_format_codes.clone(),
            description,
            run: Run::Ready,
        };
        portal.formats()?;
        Ok(portal)
    }

    /// Returns the format of each column.
    pub(crate) fn formats(&self) -> Result<Vec<Format>, Error> {
        let columns = self
            .description
            .columns
            .as_ref()
            .map_or(0, |columns| columns.len());
        if self.formats.len() > 1 && self.formats.len() != columns {
            let message = format!(
                "bind message has {} result formats but query has {columns} columns",
                self.formats.len()
            );
            return Err(Error::statement("08P01", message));
        }
        (0..columns).map(|at| format_at(&self.formats, at)).collect()
    }

    /// Runs the statement.
    pub(crate) fn execute(
        &self,
        connection: &mut Connection,
        statement: &Statement,
    ) -> Result<rukh::Outcome, Error> {
        let outcome = connection.execute_prepared(statement, &self.values)?;
        if let (Some(rows), Some(described)) = (&outcome.rows, &self.description.columns) {
            // A text that is a parameter makes VARCHAR and CHAR beside it texts, which are sent alike.
            let same = |(is, described): (&rukh::ColumnInfo, &rukh::ColumnInfo)| {
                is.ty == described.ty
                    || is.ty.is_text() && described.ty.is_text()
                    || WireType::from(is).oid == WireType::from(described).oid
            };
            let columns = rows.columns();
            if columns.len() != described.len() || !columns.iter().zip(described.iter()).all(same) {
                return Err(Error::unsupported("cached plan must not change result type"));
            }
        }
        Ok(outcome)
    }
}

/// Returns the format at a place of a list: one code holds for all, none is text.
fn format_at(codes: &[i16], at: usize) -> Result<Format, Error> {
    let code = match codes {
        [] => 0,
        [all] => *all,
        codes => codes.get(at).copied().unwrap_or_default(),
    };
    Format::of_code(code).ok_or_else(|| Error::statement("22023", format!("unsupported format code: {code}")))
}
