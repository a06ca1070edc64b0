//! SELECT of one row by its whole key, from a plan that is nothing else.
//!
//! | query                                             | reads        |
//! |---------------------------------------------------|--------------|
//! | `SELECT c FROM t WHERE k = $1`                     | one get      |
//! | `SELECT c, k FROM t WHERE a = $1 AND b = 'x' LIMIT 1` | one get   |
//!
//! A direct plan of such a query knows beforehand what its planner would say, its scan prepare and its cursor
//! hold. What is left is to make the key, to get the row and to decode its columns. Whatever is out
//! of the ordinary (a value that no key has, NULL, hints, a definition that changes meanwhile) goes the way of
//! all direct plans, with the same rows.

use std::borrow::Cow;
use std::sync::OnceLock;

use rukh_catalog::{ColumnId, KeyExpr, TableId};
use rukh_engine::PointReader;
use rukh_keys::{DataType, Datum};
use rukh_planner::{CompareOp, Constant, Operand, Predicate, TermId, equal_datum};
use smallvec::SmallVec;

use crate::exec::access::Conditions;
use crate::exec::columns::Columns;
use crate::exec::direct_plans::shape::Shape;

/// The read of one row by its whole key.
#[derive(Debug)]
pub(crate) struct PointRead {
    pub(crate) table: TableId,
    pub(crate) key: SoughtKey,
    pub(crate) output: Vec<ColumnId>,
    pub(crate) shown: Columns,
    /// Made when the plan first runs.
    pub(crate) reader: OnceLock<PointReader>,
}

#[derive(Debug)]
enum Sought {
    Parameter(usize),
    Constant(Constant),
}

impl PointRead {
    /// Returns the read that conditions and shape come to, if it is one of a single row by its whole key.
    pub(crate) fn of(conditions: &Conditions, shape: &Shape, shown: &Columns) -> Option<PointRead> {
        let table = &conditions.table;
        let plain = shape.totals.is_empty() && shape.groups.is_none() && shape.skip == 0;
        if !plain || shape.fetch == Some(0) || conditions.predicates.len() != table.primary_key.len() {
            return None;
        }
        Some(PointRead {
            table: table.id,
            key: SoughtKey::of(conditions)?,
            output: shape.output.clone(),
            shown: shown.clone(),
            reader: OnceLock::new(),
        })
    }
}

/// What each leading element of a primary key is equal to, and its type.
#[derive(Debug)]
pub(crate) struct SoughtKey(Vec<(Sought, DataType)>);

impl SoughtKey {
    /// Returns what the conditions say leading elements are equal to, if that is all that they say.
    pub(crate) fn of(conditions: &Conditions) -> Option<SoughtKey> {
        let table = &conditions.table;
        let leading = table.primary_key.get(..conditions.predicates.len())?;
        let mut key = Vec::with_capacity(leading.len());
        for element in leading {
            let KeyExpr::Column(id) = &element.expr else {
                return None;
            };
            let sought = conditions.predicates.iter().find_map(|one| sought(one, *id))?;
            key.push((sought, table.column(*id)?.ty));
        }
        Some(SoughtKey(key))
    }

    /// Returns the datums for these parameters; `None` if one is no value of its column.
    pub(crate) fn datums<'a>(&'a self, params: &'a [Constant]) -> Option<SmallVec<[Cow<'a, Datum>; 10]>> {
        let datum = |(sought, ty): &'a (Sought, DataType)| {
            let constant = match sought {
                Sought::Parameter(at) => params.get(*at)?,
                Sought::Constant(constant) => constant,
            };
            match constant {
                Constant { datum, .. } if datum.is_null() => None,
                constant if is_as_stored(constant, *ty) => Some(Cow::Borrowed(&constant.datum)),
                constant => equal_datum(*ty, constant).map(Cow::Owned),
            }
        };
        self.0.iter().map(datum).collect()
    }
}

/// Returns what a conjunct says that a column is equal to, if that is all it says.
fn sought(conjunct: &Predicate, id: ColumnId) -> Option<Sought> {
    let truth = |value| {
        Some(Sought::Constant(Constant::new(
            Datum::Boolean(value),
            DataType::Boolean,
        )))
    };
    let (left, right) = match conjunct {
        Predicate::IsTrue {
            operand: Operand::Term(term),
            negated: false,
        } if *term == TermId::column(id) => {
            return truth(true);
        }
        Predicate::IsFalse {
            operand: Operand::Term(term),
            negated: false,
        } if *term == TermId::column(id) => {
            return truth(false);
        }
        Predicate::Compare {
            op: CompareOp::Eq,
            left,
            right,
        } => (left, right),
        _ => return None,
    };
    let other = match (left, right) {
        (Operand::Term(term), other) | (other, Operand::Term(term)) if *term == TermId::column(id) => other,
        _ => return None,
    };
    match other {
        Operand::Parameter(at) => Some(Sought::Parameter(*at)),
        Operand::Constant(constant) => Some(Sought::Constant(constant.clone())),
        Operand::Term(_) | Operand::Function(..) => None,
    }
}

/// Whether a constant is in the form that a column of the type stores, without a look at its value.
fn is_as_stored(constant: &Constant, ty: DataType) -> bool {
    match ty {
        DataType::Boolean | DataType::BigInt | DataType::Integer | DataType::SmallInt | DataType::TinyInt => {
            constant.ty == ty
        }
        DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
            constant.ty == ty.unrounded()
        }
        DataType::Varchar(_) => matches!(constant.ty, DataType::Varchar(None)),
        _ => false,
    }
}
