//! A scan taken apart into one for some arms of an OR each, where several indexes do better than one.

use std::sync::Arc;

use datafusion::logical_expr::utils::{disjunction, split_binary};
use datafusion::logical_expr::{Expr, Operator};
use rukh_planner::disjuncts;

use super::{Ask, ScanExec};
use rukh_error::SqlError;

impl ScanExec {
    /// Returns scans that together give the rows of this one, each row once, if these cost less.
    pub(crate) fn arms(&self) -> Result<Option<Vec<ScanExec>>, SqlError> {
        let union = self.conditions.union(&self.wanted(), &self.context, &self.path);
        let Some(union) = union else {
            return Ok(None);
        };
        let all = split_binary(&self.conjuncts[union.conjunct], Operator::Or);
        if all.len() != disjuncts(&self.conditions.predicates[union.conjunct]).len() {
            return Ok(None);
        }
        let or = |arms: &[usize]| disjunction(arms.iter().map(|arm| all[*arm].clone()));
        let mut given = Vec::new();
        let mut scans = Vec::new();
        for arm in union.arms {
            let mut conjuncts = self.conjuncts.as_ref().clone();
            conjuncts[union.conjunct] = or(&arm.disjuncts)
                .ok_or_else(|| SqlError::internal("a path of a union is for one arm at least"))?;
            conjuncts.extend(or(&given).map(|given| Expr::IsNotTrue(Box::new(given))));
            given.extend(arm.disjuncts);
            let ask = Ask {
                limit: self.limit,
                ..Ask::all(&self.context, self.output.clone())
            };
            scans.push(Self::choose(
                self.context.clone(),
                Arc::new(self.conditions.with_predicates(arm.conjuncts)),
                Arc::new(conjuncts),
                ask,
            )?);
        }
        Ok(Some(scans))
    }
}
