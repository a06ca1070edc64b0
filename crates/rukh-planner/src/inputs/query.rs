//! A query to plan: a table, conditions, columns, an order, hints.

use rukh_catalog::{ColumnId, IndexId, Table};
use rukh_keys::DataType;

use crate::conditions::predicate::Predicate;
use crate::conditions::term::{TermId, TermKind, TermType, TermTypes};
use crate::inputs::statistics::Statistics;

/// Statistics of a table of which nothing is known.
static NOTHING_KNOWN: Statistics = Statistics::UNKNOWN;

/// One table's part of a statement.
///
/// Make one with [`Query::new`] and set what differs.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// The table.
    pub table: &'a Table,
    /// The conditions, all of which must be true; plans name them by position.
    pub conjuncts: &'a [Predicate],
    /// Columns that the statement reads, beside those in conjuncts.
    pub needed: &'a [ColumnId],
    /// The wanted order; empty if none.
    pub order: &'a [OrderKey],
    /// At most this many rows are wanted, after conditions and order.
    pub limit: Option<u64>,
    /// Which rows matter, if one of each group does; the limit then counts groups. Paths may give
    /// more rows than these, but no others than those that pass the conditions.
    pub groups: Option<&'a Grouped>,
    /// What the user asks for against the planner's judgement.
    pub hints: &'a [Hint],
    /// Whether two indexes may be read for two conditions.
    pub intersect: bool,
    /// What is known about the rows.
    pub statistics: &'a Statistics,
    /// Index expressions that terms may stand for: [`TermId::expression`]`(i)` is the i-th.
    pub expressions: &'a [IndexExpression],
    /// The conditions of partial indexes; one that is missing here makes its index unusable.
    pub index_predicates: &'a [(IndexId, Predicate)],
    /// What [`Predicate::Opaque`]`(i)` stands for.
    pub opaque: &'a [OpaquePredicate],
}

impl<'a> Query<'a> {
    /// A query for all rows of a table, nothing known about them.
    pub fn new(table: &'a Table) -> Query<'a> {
        Query {
            table,
            conjuncts: &[],
            needed: &[],
            order: &[],
            limit: None,
            groups: None,
            hints: &[],
            intersect: true,
            statistics: &NOTHING_KNOWN,
            expressions: &[],
            index_predicates: &[],
            opaque: &[],
        }
    }

    /// Returns the columns that computing a conjunct reads, or `None` if that is not known.
    pub(crate) fn columns_of(&self, predicate: &Predicate) -> Option<Vec<ColumnId>> {
        let mut columns = Vec::new();
        let mut known = true;
        predicate.visit_terms(&mut |term| match term.kind() {
            TermKind::Column(column) | TermKind::Hash { column, .. } => columns.push(column),
            TermKind::Expression(position) => match self.expressions.get(position as usize) {
                Some(expression) => columns.extend(&expression.columns),
                None => known = false,
            },
        });
        predicate.visit_opaque(&mut |position| match self.opaque.get(position as usize) {
            Some(opaque) => columns.extend(&opaque.columns),
            None => known = false,
        });
        columns.sort();
        columns.dedup();
        known.then_some(columns)
    }
}

impl TermTypes for Query<'_> {
    fn term_type(&self, term: TermId) -> Option<TermType> {
        match term.kind() {
            TermKind::Expression(position) => {
                self.expressions
                    .get(position as usize)
                    .map(|expression| TermType {
                        ty: expression.ty,
                        nullable: expression.nullable,
                    })
            }
            _ => self.table.term_type(term),
        }
    }
}

/// An expression that some index has as a key element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexExpression {
    /// Normalised SQL text, as in [`KeyExpr::Expression`](rukh_catalog::KeyExpr::Expression).
    pub sql: String,
    /// Type of the result.
    pub ty: DataType,
    /// Whether the result may be NULL.
    pub nullable: bool,
    /// Columns that the expression reads.
    pub columns: Vec<ColumnId>,
}

/// A condition that the planner does not understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaquePredicate {
    /// The condition as SQL, for EXPLAIN.
    pub sql: String,
    /// Columns that it reads.
    pub columns: Vec<ColumnId>,
}

/// One key of ORDER BY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderKey {
    /// What is ordered by.
    pub term: TermId,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
}

/// One row of each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouped {
    /// What rows are grouped by; if by nothing, all are one group.
    pub by: Vec<TermId>,
    /// The row that matters.
    pub row: GroupRow,
}

/// The row of a group that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRow {
    /// Any.
    Any,
    /// The first in this order, in which the terms grouped by do not count; of equals any.
    First(Vec<OrderKey>),
    /// One with the least value of a term, which is NULL only where all are.
    Least(TermId),
    /// One with the greatest value of a term, which is NULL only where all are.
    Greatest(TermId),
    /// One of each of both.
    LeastAndGreatest(TermId),
}

/// What the user asks for in `/*+ … */`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Read the whole table and check every condition on decoded rows.
    FullScan,
    /// Use no index.
    NoIndex,
    /// Use the index of this name.
    Index(String),
    /// Use several ranges, however many values a column has, and read one row of each group.
    SkipScan,
    /// Use one range.
    RangeScan,
}

/// Where rows come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The table, in order of its primary key.
    Table,
    /// An index.
    Index(IndexId),
}
