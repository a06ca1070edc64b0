//! Templates that a session knows, and running texts by them.

use std::sync::Arc;

use rukh_engine::Snapshot;
use rukh_planner::Constant;
use rukh_syntax::{Cut, Literal};

use super::constants::{constant_of_literal, parameter_types};
use crate::exec::held::{KnownTemplate, TemplatePlan, TransactionStatus};
use crate::exec::rows::Rows;
use crate::exec::session_settings::settings::PathSetting;
use crate::sql::session::Session;
use rukh_error::SqlError;

impl TemplatePlan {
    /// Returns literals as the parameters; `None` where one does not fit.
    fn constants(&self, literals: &[Literal]) -> Option<Vec<Constant>> {
        let pairs = literals.iter().zip(&self.types);
        pairs
            .map(|(literal, ty)| constant_of_literal(literal, *ty))
            .collect()
    }
}

impl Session {
    /// Runs a plain text by the direct plan of its template, if it has one that holds for its
    /// literals.
    pub(crate) fn query_template(&mut self, sql: &str) -> Result<Option<Rows>, SqlError> {
        let aborted = self.transaction_status() == TransactionStatus::Aborted;
        if self.settings.path != PathSetting::Auto || aborted {
            return Ok(None);
        }
        let mut cut = std::mem::take(&mut self.templates.cut);
        let rows = match cut.cut(sql) {
            true => self.query_cut(sql, &cut),
            false => Ok(None),
        };
        self.templates.cut = cut;
        rows
    }

    fn query_cut(&mut self, sql: &str, cut: &Cut) -> Result<Option<Rows>, SqlError> {
        let version = self.catalog_version();
        let template = match self.templates.known.get(&cut.template) {
            Some(KnownTemplate::Planned(planned_for, plan)) if *planned_for == version => plan.clone(),
            Some(_) => {
                let snapshot = self.snapshot();
                let version = snapshot.catalog.version;
                let plan = self.plan_template(sql, cut, &snapshot).map(Arc::new);
                let known = KnownTemplate::Planned(version, plan.clone());
                self.templates.keep(&cut.template, known);
                plan
            }
            None => {
                self.templates.keep(&cut.template, KnownTemplate::Seen);
                None
            }
        };
        let Some(template) = template else {
            return Ok(None);
        };
        if !self.may_read(template.plan.table()) {
            // The text itself says why, or reads a view.
            return Ok(None);
        }
        match template.constants(&cut.literals) {
            Some(constants) => self.start_direct(&template.plan, &template.hints, version, &constants),
            None => Ok(None),
        }
    }

    /// Makes the direct plan of a template, seen in the text `sql`; `None` if it has none that gives
    /// what the text itself does. Errors and notices are the text's own to report.
    fn plan_template(&mut self, sql: &str, cut: &Cut, snapshot: &Snapshot) -> Option<TemplatePlan> {
        let (open, _) = self.direct_plan(&cut.template, snapshot)?;
        let (plain, hints) = self.direct_plan(sql, snapshot)?;
        let types = parameter_types(open.table(), &open.conditions().predicates, cut.literals.len())?;
        let template = TemplatePlan {
            plan: open,
            hints,
            types,
        };
        let constants = template.constants(&cut.literals)?;
        template.plan.is_like(&constants, &plain).then_some(template)
    }
}
