//! Templates that a session knows, see `template`.

use std::collections::HashMap;
use std::sync::Arc;

use rukh_keys::DataType;
use rukh_syntax::Cut;

use super::PLANS_MAX;
use crate::exec::direct_plans::direct::DirectPlan;
use crate::exec::hints::TableHint;

/// The direct plan of a template.
pub(crate) struct TemplatePlan {
    pub(crate) plan: DirectPlan,
    pub(crate) hints: Vec<TableHint>,
    /// Types of the parameters.
    pub(crate) types: Vec<DataType>,
}

/// What is known of a template. Most texts come once; what comes again is worth a plan.
pub(crate) enum KnownTemplate {
    /// It was seen.
    Seen,
    /// It was planned for a version of the catalog, and has a direct plan or none.
    Planned(u64, Option<Arc<TemplatePlan>>),
}

/// The templates of a session's texts.
#[derive(Default)]
pub(crate) struct Templates {
    pub(crate) known: HashMap<String, KnownTemplate>,
    /// Where texts are cut, kept for its room.
    pub(crate) cut: Cut,
}

impl Templates {
    pub(crate) fn keep(&mut self, template: &str, known: KnownTemplate) {
        if self.known.len() >= PLANS_MAX {
            self.known.clear();
        }
        self.known.insert(template.to_string(), known);
    }
}
