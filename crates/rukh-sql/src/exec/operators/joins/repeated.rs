//! What DataFusion wrongly concludes about the rows of joins and grouping sets.
//!
//! | believed                                             | but                                                                |
//! |------------------------------------------------------|--------------------------------------------------------------------|
//! | ordered by `r.a`, then by `l.b`, as the inputs are   | rows of `r` with one `a` each begin again with the first `b`       |
//! | `q.c = 1`, as in the input, after `l LEFT JOIN q`    | rows of `l` without a partner have NULL                            |
//! | `a = c`, as in the input, after `GROUP BY CUBE (a, c)` | sets without `c` have NULL                                       |
//!
//! Sorts were left out for either, and with them went ORDER BY, PARTITION BY and the numbers of `row_number()`. (The first is
//! apache/datafusion#25052, not mended in 55.)
//!
//! So an input whose rows are repeated hides its order from the join, and one whose columns may be made up hides all that is known of it.
//! DataFusion also sorts the repeated input of a merge where that order is wanted above; merges are
//! [`MergeJoinExec`](super::MergeJoinExec) for that.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{JoinSide, JoinType, Statistics};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    ReplaceChildrenOptions, StatisticsArgs,
};
use rukh_walk::Tree;

use crate::exec::operators::delegated::{recomputed_children, with_children};
use crate::exec::operators::rule::physical_rule;

/// Hides what joins do not keep of their inputs. Runs once all joins are chosen, before sorts are left out.
#[derive(Debug)]
pub(crate) struct RepeatedSides;

physical_rule!(RepeatedSides, "repeated_sides", |plan, _| {
    plan.turn_up(&mut |node| {
        Ok(match hidden(&node)? {
            Some(hidden) => Transformed::yes(hidden),
            None => Transformed::no(node),
        })
    })
    .data()
});

/// What of an input does not hold for the rows of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// Nothing.
    Nothing,
    /// The order: rows are repeated.
    Order,
    /// All that is known: columns may be NULL in rows that the join makes up.
    All,
}

/// Returns what does not hold of the left and of the right input of a join, of which one may be read again for each row of the other.
pub(crate) fn hidden_of(join_type: JoinType, repeated: Option<JoinSide>) -> [Hidden; 2] {
    let of = |side: JoinSide, is_made_up: bool| match is_made_up {
        true => Hidden::All,
        false if repeated == Some(side) => Hidden::Order,
        false => Hidden::Nothing,
    };
    [
        of(
            JoinSide::Left,
            matches!(join_type, JoinType::Right | JoinType::Full),
        ),
        of(
            JoinSide::Right,
            matches!(join_type, JoinType::Left | JoinType::Full),
        ),
    ]
}

/// Returns a join or aggregate whose inputs hide what does not hold, if they have something to hide.
fn hidden(node: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let sides = if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        hidden_of(*join.join_type(), Some(JoinSide::Left))
    } else if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        hidden_of(*join.join_type(), None)
    } else if let Some(aggregate) = node.downcast_ref::<AggregateExec>()
        && aggregate.group_expr().has_grouping_set()
    {
        [Hidden::All; 2]
    } else {
        return Ok(None);
    };
    let inputs = node.children();
    if !inputs.iter().zip(sides).any(|(input, hidden)| has(input, hidden)) {
        return Ok(None);
    }
    let hide =
        |(input, hidden): (&Arc<dyn ExecutionPlan>, Hidden)| RepeatedExec::around(input.clone(), hidden);
    let children = inputs.into_iter().zip(sides).map(hide).collect();
    with_children(node, children).map(Some)
}

/// Whether an input has something of this to hide.
fn has(input: &Arc<dyn ExecutionPlan>, hidden: Hidden) -> bool {
    let known = input.equivalence_properties();
    match hidden {
        Hidden::Nothing => false,
        Hidden::Order => input.output_ordering().is_some(),
        Hidden::All => input.output_ordering().is_some() || !known.eq_group().is_empty(),
    }
}

/// Rows of an input as they come, of which less is said than is known.
#[derive(Debug, Clone)]
pub(crate) struct RepeatedExec {
    input: Arc<dyn ExecutionPlan>,
    hidden: Hidden,
    properties: Arc<PlanProperties>,
}

impl RepeatedExec {
    /// Hides this of an input, if it has it.
    pub(crate) fn around(input: Arc<dyn ExecutionPlan>, hidden: Hidden) -> Arc<dyn ExecutionPlan> {
        match has(&input, hidden) {
            true => Arc::new(RepeatedExec::new(input, hidden)),
            false => input,
        }
    }

    fn new(input: Arc<dyn ExecutionPlan>, hidden: Hidden) -> Self {
        let mut known = input.equivalence_properties().clone();
        match hidden {
            Hidden::Nothing => {}
            Hidden::Order => known.clear_orderings(),
            Hidden::All => known = EquivalenceProperties::new(input.schema()),
        }
        let properties = input.properties().as_ref().clone().with_eq_properties(known);
        RepeatedExec {
            input,
            hidden,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for RepeatedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RepeatedExec")
    }
}

impl ExecutionPlan for RepeatedExec {
    fn name(&self) -> &'static str {
        "RepeatedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        Ok(Arc::new(RepeatedExec::new(
            input.unwrap_or_else(|| self.input.clone()),
            self.hidden,
        )))
    }

    recomputed_children!();

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        Ok(inputs[0].clone())
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        // A projection gives back one that it cannot take into itself, above this operator as it was.
        if self.input.is::<ProjectionExec>() {
            return Ok(None);
        }
        let input = self.input.try_swapping_with_projection(projection)?;
        Ok(input.map(|input| Arc::new(RepeatedExec::new(input, self.hidden)) as Arc<dyn ExecutionPlan>))
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> DataFusionResult<FilterDescription> {
        FilterDescription::from_children(filters, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> DataFusionResult<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(result))
    }
}
