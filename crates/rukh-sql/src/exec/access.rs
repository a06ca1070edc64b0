//! From the conditions on one table to an access path: translation, statistics, hints, choice.

use std::sync::{Arc, OnceLock};

use datafusion::logical_expr::Expr;
use rukh_catalog::{ColumnId, IndexId, Table};
use rukh_engine::{EntryFilter, Grouping, MergePart, ScanRequest};
use rukh_keys::{Datum, KeyRange, ValueError};
use rukh_planner::{
    AccessPath, Constant, Grouped, Hint, IndexExpression, OpaquePredicate, OrderKey, Plan, Planner,
    Predicate, Query, Run, Source, Statistics, TermId, TermKind, Union, access_path, bind, evaluate,
};

use crate::bind::types::expressions::parse_predicate;
use crate::exec::context::{CancelHandle, StatementContext};
use crate::exec::hints::TableHint;
use crate::exec::session_settings::notice::Notice;
use crate::exec::translate::{Translator, index_expressions};
use crate::exec::within::RowNames;
use rukh_error::SqlError;

/// The conditions on one table, translated once and planned as often as parameters change.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    pub(crate) table: Arc<Table>,
    /// One per conjunct of WHERE.
    pub(crate) predicates: Vec<Predicate>,
    opaque: Vec<OpaquePredicate>,
    expressions: Vec<IndexExpression>,
    index_predicates: Vec<(IndexId, Predicate)>,
    /// The sources of the table, made ready when the conditions are first planned.
    planner: OnceLock<Arc<Planner>>,
    /// How many of the last predicates only narrow what is read: the caller checks them on the rows.
    narrowing: usize,
    /// Whether two indexes may be read for two conditions.
    intersect: bool,
}

/// What a statement wants of a table beside its conditions.
pub(crate) struct Wanted<'a> {
    /// Bound conditions.
    pub(crate) predicates: &'a [Predicate],
    /// Columns read.
    pub(crate) columns: &'a [ColumnId],
    /// The wanted order.
    pub(crate) order: &'a [OrderKey],
    /// Most rows needed, or groups.
    pub(crate) limit: Option<u64>,
    /// Which rows matter, if one of each group does.
    pub(crate) groups: Option<&'a Grouped>,
}

/// What a path leaves to check, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Residual {
    /// Positions of conjuncts checked on index entries, before rows are looked up.
    pub(crate) entry: Vec<usize>,
    /// Positions of conjuncts checked on rows.
    pub(crate) row: Vec<usize>,
}

impl Conditions {
    /// Translates the conjuncts of a WHERE on `table`.
    pub(crate) fn translate(table: &Arc<Table>, conjuncts: &[Expr]) -> Result<Self, SqlError> {
        let (expressions, normalised) = index_expressions(table);
        let mut translator = Translator::new(table, &normalised);
        let predicates = conjuncts.iter().map(|expr| translator.predicate(expr)).collect();
        let mut index_predicates = Vec::new();
        for index in &table.indexes {
            if let Some(predicate) = &index.predicate {
                let expr = parse_predicate(table, &predicate.sql)?;
                index_predicates.push((index.id, translator.predicate(&expr)));
            }
        }
        let opaque = translator.opaque;
        Ok(Conditions {
            table: table.clone(),
            predicates,
            opaque,
            expressions,
            index_predicates,
            planner: OnceLock::new(),
            narrowing: 0,
            intersect: true,
        })
    }

    /// Returns the conditions with further ones that rows need not be checked for.
    pub(crate) fn narrowed(&self, by: Vec<Predicate>) -> Self {
        let mut conditions = self.clone();
        conditions.narrowing += by.len();
        // What is read for some rows at a time is not worth two indexes.
        conditions.intersect = false;
        conditions.predicates.extend(by);
        conditions
    }

    /// Returns the conditions with parameters filled in.
    pub(crate) fn bound(&self, params: &[Constant]) -> Vec<Predicate> {
        self.predicates
            .iter()
            .map(|predicate| bind(predicate, params))
            .collect()
    }

    /// Chooses the access path for these (bound) predicates.
    pub(crate) fn plan(&self, wanted: &Wanted<'_>, context: &StatementContext) -> Plan {
        let hints = self.hints(context);
        let statistics = self.statistics(context);
        let query = Query {
            intersect: self.intersect && context.methods.index_intersection,
            ..self.query(wanted, &hints, &statistics)
        };
        let plan = self
            .planner
            .get_or_init(|| Arc::new(Planner::new(&query)))
            .choose(&query);
        plan.notices
            .iter()
            .for_each(|message| context.notice(Notice::warning(message)));
        plan
    }

    /// Plans one source for these (bound) predicates; `None` if it cannot be used.
    pub(crate) fn plan_on(
        &self,
        source: Source,
        wanted: &Wanted<'_>,
        context: &StatementContext,
    ) -> Option<AccessPath> {
        let hints = self.hints(context);
        let statistics = self.statistics(context);
        access_path(&self.query(wanted, &hints, &statistics), source)
    }

    /// Returns these conditions, said with other predicates.
    pub(crate) fn with_predicates(&self, predicates: Vec<Predicate>) -> Self {
        Conditions {
            predicates,
            intersect: false,
            ..self.clone()
        }
    }

    /// Returns the paths that arms of an OR are better read by than by the path chosen for all, if so.
    pub(crate) fn union(
        &self,
        wanted: &Wanted<'_>,
        context: &StatementContext,
        chosen: &AccessPath,
    ) -> Option<Union> {
        let is_or = |predicate: &Predicate| matches!(predicate, Predicate::Or(_));
        if !context.methods.index_union || !wanted.predicates.iter().any(is_or) {
            return None;
        }
        let hints = self.hints(context);
        let statistics = self.statistics(context);
        let query = self.query(wanted, &hints, &statistics);
        let planner = self.planner.get_or_init(|| Arc::new(Planner::new(&query)));
        planner.union(&query, chosen)
    }

    /// Returns the hints of the statement for the table.
    pub(crate) fn hints(&self, context: &StatementContext) -> Vec<Hint> {
        let table = self.table.name_of_rows();
        let is_ours = |hint: &&TableHint| hint.table.as_ref().is_none_or(|name| *name == table);
        let ours = context.hints.iter().filter(is_ours);
        ours.map(|hint| hint.hint.clone()).collect()
    }

    /// Returns what is known of the table's rows.
    pub(crate) fn statistics(&self, context: &StatementContext) -> Arc<Statistics> {
        let known = &context.statistics;
        known.of(&context.engine, &self.table, &self.expressions)
    }

    /// Puts the question to the planner.
    pub(crate) fn query<'a>(
        &'a self,
        wanted: &Wanted<'a>,
        hints: &'a [Hint],
        statistics: &'a Statistics,
    ) -> Query<'a> {
        Query {
            table: &self.table,
            conjuncts: wanted.predicates,
            needed: wanted.columns,
            order: wanted.order,
            limit: wanted.limit,
            groups: wanted.groups,
            hints,
            intersect: self.intersect,
            statistics,
            expressions: &self.expressions,
            index_predicates: &self.index_predicates,
            opaque: &self.opaque,
        }
    }

    /// Says where each unproven conjunct of a path is checked.
    ///
    /// A loose scan checks all of them before it leaves a group.
    pub(crate) fn residual(&self, path: &AccessPath) -> Residual {
        let checked = self.predicates.len() - self.narrowing;
        let is_checked = |position: &usize| *position < checked;
        if path.loose.is_some() {
            let left = path.residual_index.iter().chain(&path.residual);
            return Residual {
                entry: left.copied().filter(is_checked).collect(),
                row: Vec::new(),
            };
        }
        let (entry, late): (Vec<_>, Vec<_>) = path
            .residual_index
            .iter()
            .copied()
            .filter(is_checked)
            .partition(|position| self.predicates[*position].is_decidable(self.table.as_ref()));
        let row = path.residual.iter().copied().filter(is_checked);
        Residual {
            entry,
            row: row.chain(late).collect(),
        }
    }

    /// Returns the columns that these conjuncts read.
    pub(crate) fn columns_read(&self, conjuncts: &[usize]) -> Vec<ColumnId> {
        let mut columns = Vec::new();
        for position in conjuncts {
            let predicate = &self.predicates[*position];
            predicate.visit_terms(&mut |term| match term.kind() {
                TermKind::Column(column) | TermKind::Hash { column, .. } => columns.push(column),
                TermKind::Expression(i) => columns.extend(&self.expressions[i as usize].columns),
            });
            predicate.visit_opaque(&mut |i| columns.extend(&self.opaque[i as usize].columns));
        }
        columns.sort();
        columns.dedup();
        columns
    }

    /// Makes the engine's request to read some ranges of a path.
    pub(crate) fn request(&self, path: &AccessPath, read: Read<'_>) -> ScanRequest {
        let mut entry_columns = self.columns_read(read.entry_positions);
        if let Some(names) = &read.within {
            entry_columns.retain(|column| !names.columns.contains(column));
            entry_columns.splice(0..0, names.columns.iter().copied());
        }
        let table = || self.table.clone();
        let part = |run: &Run| MergePart {
            ranges: run.ranges.clone(),
            prefix: run.prefix,
        };
        let is_checked = !read.entry.is_empty() || read.within.is_some();
        let filter =
            is_checked.then(|| entry_filter(table(), read.entry, entry_columns.clone(), read.within));
        ScanRequest {
            table: table(),
            source: engine_source(path.source),
            ranges: read.ranges,
            masked: path.masked.clone(),
            reverse: path.reverse,
            merge: path
                .merge
                .as_ref()
                .map(|merge| merge.runs.iter().map(part).collect()),
            groups: path.loose.as_ref().map(|loose| Grouping {
                columns: loose.columns,
                null_tag: loose.null_tag,
            }),
            limit: read.limit,
            columns: read.columns,
            entry_filter: filter,
            entry_columns,
            tests: path
                .columnar
                .iter()
                .flat_map(|read| &read.tests)
                .map(column_test)
                .collect(),
            first: Vec::new(),
            either_end: false,
            cancel: Some(read.cancel.flag()),
        }
    }
}

/// What to read of a path.
pub(crate) struct Read<'a> {
    /// Ranges of the path.
    pub(crate) ranges: Vec<KeyRange>,
    /// Columns given out.
    pub(crate) columns: Vec<ColumnId>,
    /// Most rows.
    pub(crate) limit: Option<u64>,
    /// Predicates checked on index entries, parameters filled in.
    pub(crate) entry: Vec<Predicate>,
    /// Their positions among the conjuncts.
    pub(crate) entry_positions: &'a [usize],
    /// The rows that an index has to be among.
    pub(crate) within: Option<Arc<RowNames>>,
    /// Ends the scan.
    pub(crate) cancel: &'a CancelHandle,
}

/// Returns whether a row of these columns fulfils all predicates; fails where one has no answer for it.
pub(crate) fn accepts(
    table: &Table,
    predicates: &[Predicate],
    columns: &[ColumnId],
    row: &[Datum],
) -> Result<bool, ValueError> {
    let value = |term: TermId| {
        let position = columns.iter().position(|id| TermId::column(*id) == term);
        position.map_or(Datum::Null, |position| row[position].clone())
    };
    for predicate in predicates {
        if evaluate(predicate, table, &value)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn column_test(test: &rukh_planner::ColumnTest) -> rukh_engine::ColumnTest {
    rukh_engine::ColumnTest {
        column: test.column,
        ranges: test.ranges(),
        null: test.null(),
    }
}

/// A test on index entries; the columns that name a row come first.
fn entry_filter(
    table: Arc<Table>,
    predicates: Vec<Predicate>,
    columns: Vec<ColumnId>,
    within: Option<Arc<RowNames>>,
) -> EntryFilter {
    let named = within.as_ref().map_or(0, |names| names.columns.len());
    Box::new(move |view| {
        let mut row = Vec::with_capacity(columns.len());
        for at in 0..columns.len() {
            if at == named && within.as_ref().is_some_and(|names| !names.contains(&row)) {
                return Ok(false);
            }
            row.push(view.datum(at)?.into_owned());
        }
        let is_among = || within.as_ref().is_none_or(|names| names.contains(&row));
        Ok((columns.len() > named || is_among()) && accepts(&table, &predicates, &columns, &row)?)
    })
}

/// Returns a source in the engine's words.
pub(crate) fn engine_source(source: Source) -> rukh_engine::Source {
    match source {
        Source::Table => rukh_engine::Source::Table,
        Source::Index(id) => rukh_engine::Source::Index(id),
    }
}
