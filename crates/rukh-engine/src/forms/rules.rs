//! What a table says of its rows beside their types: generated columns, row ids, domains and CHECK constraints.
//!
//! Every write completes and checks its rows here, lists at a time, before anything else is done with
//! them. Generated columns come first, then domains, then NOT NULL, then CHECK, as in PostgreSQL.

use crate::forms::codec::TableCodec;
use crate::forms::compiled::Compiled;
use crate::forms::names::row_text;
use crate::forms::row_ids::RowIds;
use crate::{EngineError, Row, RowFunctions};
use rukh_catalog::{Check, Domain, Table};
use rukh_keys::{DataType, Datum};
use std::sync::Arc;

/// The generated columns and CHECK constraints of a table, compiled.
pub(crate) struct Rules {
    /// Declared position of each generated column, with what computes it.
    generated: Vec<(usize, Compiled)>,
    /// Declared position of each column of a domain, with what that asks.
    domains: Vec<(usize, DomainRules)>,
    /// Constraints, in the order of their names, in which they are checked, with their conditions.
    checks: Vec<(Check, Compiled)>,
    /// Gives keys to the rows of a table that was declared without one, at their position.
    row_ids: Option<(usize, Arc<RowIds>)>,
}

impl Rules {
    /// Compiles the expressions of a table.
    pub(crate) fn new(table: &Table, functions: &dyn RowFunctions) -> Result<Self, EngineError> {
        let (mut generated, mut domains) = (Vec::new(), Vec::new());
        for (at, column) in table.columns.iter().enumerate() {
            if let Some(expression) = &column.values.generated {
                let compiled = Compiled::new(table, &expression.sql, &column.ty, functions)?;
                generated.push((at, compiled));
            }
            if let Some(domain) = &column.values.domain {
                domains.push((at, DomainRules::new(domain, functions)?));
            }
        }
        let mut checks = Vec::with_capacity(table.checks.len());
        for check in &table.checks {
            let compiled = Compiled::new(table, &check.sql, &DataType::Boolean, functions)?;
            checks.push((check.clone(), compiled));
        }
        checks.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        Ok(Rules {
            generated,
            domains,
            checks,
            row_ids: None,
        })
    }

    /// Has rows get their keys from here.
    pub(crate) fn give_row_ids(&mut self, position: usize, row_ids: Arc<RowIds>) {
        self.row_ids = Some((position, row_ids));
    }

    /// Whether the table says nothing of the kind.
    pub(crate) fn is_empty(&self) -> bool {
        self.generated.is_empty() && self.domains.is_empty() && self.checks.is_empty()
    }

    /// Computes the generated columns of rows, and the keys of those that have none, and checks that the rows fit the table.
    pub(crate) fn apply(&self, codec: &TableCodec, rows: &mut [Row]) -> Result<(), EngineError> {
        self.complete(codec, rows)?;
        self.check(codec, rows, |_| true)
    }

    /// The same for rows that were stored before, which may break constraints that are NOT VALID.
    pub(crate) fn apply_to_stored(&self, codec: &TableCodec, rows: &mut [Row]) -> Result<(), EngineError> {
        self.complete(codec, rows)?;
        self.check(codec, rows, |check| !check.not_valid)
    }

    fn complete(&self, codec: &TableCodec, rows: &mut [Row]) -> Result<(), EngineError> {
        if let Some((position, row_ids)) = &self.row_ids {
            row_ids.give(*position, rows);
        }
        if !self.generated.is_empty() {
            // What is computed is computed of rows that fit, as far as they are given.
            let computed: Vec<usize> = self.generated.iter().map(|(at, _)| *at).collect();
            rows.iter()
                .try_for_each(|row| codec.check_row_but(row, &computed))?;
            for (at, compiled) in &self.generated {
                let values = compiled.evaluate(&borrowed(rows))?;
                for (row, value) in rows.iter_mut().zip(values) {
                    row[*at] = value;
                }
            }
        }
        for (at, domain) in &self.domains {
            let values: Vec<&Datum> = rows.iter().map(|row| &row[*at]).collect();
            domain.check(&values)?;
        }
        rows.iter().try_for_each(|row| codec.check_row(row))
    }

    fn check(
        &self,
        codec: &TableCodec,
        rows: &[Row],
        is_asked: impl Fn(&Check) -> bool,
    ) -> Result<(), EngineError> {
        for (check, compiled) in self.checks.iter().filter(|(check, _)| is_asked(check)) {
            let holds = compiled.evaluate(&borrowed(rows))?;
            if let Some(at) = holds.iter().position(|value| *value == Datum::Boolean(false)) {
                return Err(EngineError::CheckViolation {
                    table: codec.table.name.clone(),
                    constraint: check.name.clone(),
                    row: row_text(&codec.table, &rows[at]),
                });
            }
        }
        Ok(())
    }
}

/// What a domain asks of its values.
pub struct DomainRules {
    /// Its name in messages.
    name: String,
    /// What the domains ask that it is made of, the lowest first.
    parts: Vec<Part>,
}

struct Part {
    nullable: bool,
    /// Names of the conditions, in the order in which they are checked.
    checks: Vec<(String, Compiled)>,
}

impl DomainRules {
    /// Compiles the conditions of a domain.
    ///
    /// # Errors
    /// Those of the expressions.
    pub fn new(domain: &Domain, functions: &dyn RowFunctions) -> Result<Self, EngineError> {
        let table = Table::of_domain(domain);
        let mut parts = Vec::new();
        for domain in domain.chain() {
            let mut checks = Vec::with_capacity(domain.checks.len());
            for check in &domain.checks {
                let compiled = Compiled::new(&table, &check.sql, &DataType::Boolean, functions)?;
                checks.push((check.name.clone(), compiled));
            }
            checks.sort_by(|(a, _), (b, _)| a.cmp(b));
            parts.push(Part {
                nullable: domain.nullable,
                checks,
            });
        }
        Ok(DomainRules {
            name: domain.sql_name(),
            parts,
        })
    }

    /// Checks that values are of the domain.
    ///
    /// # Errors
    /// [`EngineError::DomainNull`] and [`EngineError::DomainViolation`].
    pub fn check(&self, values: &[&Datum]) -> Result<(), EngineError> {
        let rows: Vec<&[Datum]> = values.iter().map(|value| std::slice::from_ref(*value)).collect();
        for part in &self.parts {
            if !part.nullable && values.iter().any(|value| value.is_null()) {
                return Err(EngineError::DomainNull {
                    domain: self.name.clone(),
                });
            }
            for (name, compiled) in &part.checks {
                if compiled.evaluate(&rows)?.contains(&Datum::Boolean(false)) {
                    return Err(EngineError::DomainViolation {
                        domain: self.name.clone(),
                        constraint: name.clone(),
                    });
                }
            }
        }
        Ok(())
    }
}

fn borrowed(rows: &[Row]) -> Vec<&[Datum]> {
    rows.iter().map(Vec::as_slice).collect()
}
