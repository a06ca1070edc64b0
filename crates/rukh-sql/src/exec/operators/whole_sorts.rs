//! Sorts of a few rows by arrays or rows keep all rows until the last.
//!
//! `ORDER BY a LIMIT 5`: DataFusion keeps the 5 first rows so far, and compares those that come with the last of them by Arrow's comparison
//! of nested values, to which NULL within them is less than all else. The sort has it behind all else, and so rows would be lost. Here the
//! sort is of all rows, and a limit above it takes the first.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use rukh_walk::Tree;

use super::rule::physical_rule;

/// Replaces sorts of a few rows where a key is an array or a row. It runs before sorts give scans what they found out.
#[derive(Debug)]
pub(crate) struct WholeSorts;

physical_rule!(WholeSorts, "whole_sorts", |plan, _| {
    plan.turn_up(&mut |node| {
        let Some((sort, fetch)) = node
            .downcast_ref::<SortExec>()
            .and_then(|sort| Some((sort, sort.fetch()?)))
        else {
            return Ok(Transformed::no(node));
        };
        let schema = sort.input().schema();
        let mut keys = sort.expr().iter();
        if !keys.any(|key| key.expr.data_type(&schema).is_ok_and(|ty| ty.is_nested())) {
            return Ok(Transformed::no(node));
        }
        let all: Arc<dyn ExecutionPlan> = Arc::new(sort.with_fetch(None));
        Ok(Transformed::yes(Arc::new(LocalLimitExec::new(all, fetch))))
    })
    .data()
});
