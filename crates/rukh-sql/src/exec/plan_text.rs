//! Plans as text and JSON: what EXPLAIN and the log of slow statements print of a query's access paths and operators.

use std::sync::Arc;

use datafusion::physical_plan::{ExecutionPlan, displayable};
use rukh_catalog::Table;
use rukh_planner::{
    AccessPath, Actuals, Constant, Query, Union, UnionArm, actual_text, alternatives, alternatives_text,
    explain_json, explain_lookup_text, explain_text, missing_index, narrowed_text, row_count_json,
    row_count_text, with_alternatives_json,
};
use rukh_syntax::HIDDEN;
use rukh_syntax::{ExplainFormat, quoted};
use serde_json::{Value, json};

use crate::exec::access::{Conditions, Wanted};
use crate::exec::context::StatementContext;
use crate::exec::direct_plans::direct::{Chosen, DirectPlan};
use crate::exec::operators::{LookupJoinExec, RowCountExec, ScanExec};

/// The options of EXPLAIN.
#[derive(Clone, Copy)]
pub(crate) struct ExplainOptions {
    /// Whether the statement is run, a query only.
    pub(crate) analyze: bool,
    /// Whether the access paths that were not taken are listed.
    pub(crate) alternatives: bool,
    /// How the plan is printed.
    pub(crate) format: ExplainFormat,
}

/// Returns the plan of a query that has run, with what really happened, as lines.
pub(crate) fn plan_lines(plan: &Arc<dyn ExecutionPlan>, context: &StatementContext) -> Vec<String> {
    let mut lines = Vec::new();
    physical_node(plan, context, RAN).text(0, &mut lines);
    lines
}

/// Returns the plan that a direct plan is with these parameters, as lines.
pub(crate) fn direct_lines(
    plan: &DirectPlan,
    context: &StatementContext,
    params: &[Constant],
) -> Vec<String> {
    let options = ExplainOptions {
        analyze: false,
        ..RAN
    };
    let mut lines = Vec::new();
    if let Some(node) = direct_node(plan, context, params, options) {
        node.text(0, &mut lines);
    }
    lines
}

/// Counters of a query that has run.
const RAN: ExplainOptions = ExplainOptions {
    analyze: true,
    alternatives: false,
    format: ExplainFormat::Text,
};

/// One operator with its inputs.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) detail: String,
    /// Text and JSON of a scan.
    pub(crate) scan: Option<(String, Value)>,
    pub(crate) children: Vec<Node>,
}

impl Node {
    /// Adds the lines of its text.
    pub(crate) fn text(&self, depth: usize, lines: &mut Vec<String>) {
        let indent = "  ".repeat(depth);
        match &self.scan {
            Some((text, _)) => lines.extend(text.lines().map(|line| format!("{indent}{line}"))),
            None => lines.push(
                format!("{indent}{} {}", self.name, self.detail)
                    .trim_end()
                    .to_string(),
            ),
        }
        self.children
            .iter()
            .for_each(|child| child.text(depth + 1, lines));
    }

    pub(crate) fn json(&self) -> Value {
        let children: Vec<Value> = self.children.iter().map(Node::json).collect();
        match &self.scan {
            Some((_, scan)) => json!({ "node": "scan", "scan": scan }),
            None => json!({ "node": self.name, "detail": self.detail, "inputs": children }),
        }
    }
}

/// The path of a direct plan with these parameters, if it holds for them.
pub(crate) fn direct_node(
    plan: &DirectPlan,
    context: &StatementContext,
    params: &[Constant],
    options: ExplainOptions,
) -> Option<Node> {
    let chosen = plan.paths(context, params)?;
    let actuals = |at: usize| {
        let (counters, elapsed) = match chosen.len() {
            1 => (context.totals.load(), context.elapsed()),
            _ => context.part(at),
        };
        options.analyze.then_some(Actuals { counters, elapsed })
    };
    let node = |(at, one): (usize, &Chosen)| {
        let actuals = actuals(at);
        if one.kept.is_some() {
            return row_count_node(plan.table(), actuals.as_ref());
        }
        if let Some(union) = &one.union {
            return union_node(plan, union, actuals.as_ref(), context, options);
        }
        let scan = Scan {
            conditions: plan.conditions(),
            wanted: plan.wanted(&one.bound, one.total),
            path: &one.plan.path,
            actuals,
        };
        scan_node(&scan, context, options)
    };
    Some(match chosen.as_slice() {
        [only] => node((0, only)),
        totals => Node {
            name: "totals".to_string(),
            detail: plan.column_names().join(", "),
            scan: None,
            children: totals.iter().enumerate().map(node).collect(),
        },
    })
}

/// The number of rows of a table, which is kept.
fn row_count_node(table: &Table, actuals: Option<&Actuals>) -> Node {
    Node {
        name: "row count".to_string(),
        detail: String::new(),
        scan: Some((row_count_text(table, actuals), row_count_json(table, actuals))),
        children: Vec::new(),
    }
}

/// The paths for arms of an OR, with what they did together and each.
fn union_node(
    plan: &DirectPlan,
    union: &Union,
    actuals: Option<&Actuals>,
    context: &StatementContext,
    options: ExplainOptions,
) -> Node {
    let arm = |(at, arm): (usize, &UnionArm)| {
        let (counters, elapsed) = context.part(at);
        let conditions = plan.conditions().with_predicates(arm.conjuncts.clone());
        let scan = Scan {
            wanted: plan.wanted(&arm.conjuncts, None),
            conditions: &conditions,
            path: &arm.path,
            actuals: options.analyze.then_some(Actuals { counters, elapsed }),
        };
        scan_node(&scan, context, options)
    };
    Node {
        name: "union".to_string(),
        detail: actuals.map(actual_text).unwrap_or_default(),
        scan: None,
        children: union.arms.iter().enumerate().map(arm).collect(),
    }
}

/// A scan to be explained.
struct Scan<'a> {
    conditions: &'a Conditions,
    wanted: Wanted<'a>,
    path: &'a AccessPath,
    actuals: Option<Actuals>,
}

fn scan_node(scan: &Scan<'_>, context: &StatementContext, options: ExplainOptions) -> Node {
    let (conditions, path, actuals) = (scan.conditions, scan.path, scan.actuals.as_ref());
    let statistics = conditions.statistics(context);
    let hints = conditions.hints(context);
    let query = conditions.query(&scan.wanted, &hints, &statistics);
    let query = Query {
        intersect: query.intersect && context.methods.index_intersection,
        ..query
    };
    let mut text = explain_text(&query, path, actuals);
    let mut json = explain_json(&query, path, actuals);
    if options.alternatives {
        let others = alternatives(&query, path, quoted);
        text.push_str(&alternatives_text(&query, path, &others));
        json = with_alternatives_json(&query, json, &others);
    } else if options.analyze
        && let Some(index) = missing_index(&query, path, quoted)
    {
        text.push_str(&format!("  hint: {index}\n"));
    }
    Node {
        name: "scan".to_string(),
        detail: String::new(),
        scan: Some((text, json)),
        children: Vec::new(),
    }
}

/// A plan of DataFusion.
pub(crate) fn physical_node(
    plan: &Arc<dyn ExecutionPlan>,
    context: &StatementContext,
    options: ExplainOptions,
) -> Node {
    if let Some(exec) = plan.downcast_ref::<ScanExec>() {
        let scan = Scan {
            conditions: exec.conditions(),
            wanted: exec.wanted(),
            path: exec.path(),
            actuals: options.analyze.then(|| Actuals {
                counters: exec.counters(),
                elapsed: exec.busy(),
            }),
        };
        let mut node = scan_node(&scan, context, options);
        tell_first(&mut node, exec);
        tell_run_time(&mut node, exec, context, options);
        return node;
    }
    if let Some(count) = plan.downcast_ref::<RowCountExec>() {
        return row_count_node(count.table(), None);
    }
    let mut inner = None;
    if let Some(join) = plan.downcast_ref::<LookupJoinExec>() {
        inner = Some(lookup_node(join, context, options));
    }
    let children = plan.children();
    let line = displayable(plan.as_ref()).one_line().to_string();
    let line = line.trim();
    if let [only] = children.as_slice()
        && (is_plumbing(plan.name()) || line.contains("mode=Partial,"))
    {
        return physical_node(only, context, options);
    }
    let (name, detail) = line.split_once(": ").unwrap_or((line, ""));
    let children = children
        .into_iter()
        .map(|child| physical_node(child, context, options))
        .chain(inner)
        .collect();
    Node {
        name: words(name),
        detail: without_threads(detail),
        scan: None,
        children,
    }
}

/// Returns which rows of a scan matter, if not all do.
fn tell_first(node: &mut Node, exec: &ScanExec) {
    let texts = exec.first_texts();
    let Some((text, json)) = node.scan.as_mut().filter(|_| !texts.is_empty()) else {
        return;
    };
    text.push_str(&format!("  {:<10} {}\n", "wanted", texts.join(", ")));
    if let Some(scan) = json.as_object_mut() {
        scan.insert("wanted".to_string(), json!(texts));
    }
}

/// Prints what a scan is narrowed by while it runs, and, once it ran, what it came to read.
fn tell_run_time(node: &mut Node, exec: &ScanExec, context: &StatementContext, options: ExplainOptions) {
    let texts = exec.run_time_texts();
    let Some((text, json)) = node.scan.as_mut().filter(|_| !texts.is_empty()) else {
        return;
    };
    for (at, one) in texts.iter().enumerate() {
        let word = if at == 0 { "run time" } else { "" };
        text.push_str(&format!("  {word:<10} {one}\n"));
    }
    let mut members = vec![("run_time", json!(texts))];
    if let Some(narrowed) = exec.narrowed_when_run().filter(|_| options.analyze) {
        let conditions = narrowed.conditions();
        let (hints, statistics) = (conditions.hints(context), conditions.statistics(context));
        let wanted = narrowed.wanted();
        let query = conditions.query(&wanted, &hints, &statistics);
        text.push_str(&narrowed_text(&query, narrowed.path()));
        members.push(("narrowed", explain_json(&query, narrowed.path(), None)));
    }
    if let Some(scan) = json.as_object_mut() {
        scan.extend(members.into_iter().map(|(name, value)| (name.to_string(), value)));
    }
}

/// The side of a join whose rows are read by key.
fn lookup_node(join: &LookupJoinExec, context: &StatementContext, options: ExplainOptions) -> Node {
    let (scan, one) = (join.inner().scan(), join.inner().one());
    let keys: Vec<String> = join.keys().map(|key| without_threads(&key.to_string())).collect();
    let statistics = one.conditions.statistics(context);
    let hints = one.conditions.hints(context);
    let wanted = one.wanted(scan);
    let query = one.conditions.query(&wanted, &hints, &statistics);
    let actuals = options.analyze.then(|| Actuals {
        counters: scan.counters(),
        elapsed: scan.busy(),
    });
    let text = explain_lookup_text(&query, &one.path, &keys, actuals.as_ref());
    let mut json = explain_json(&query, &one.path, actuals.as_ref());
    if let Some(members) = json.as_object_mut() {
        members.insert("ranges".to_string(), json!([]));
        members.insert("for_each".to_string(), json!(keys));
    }
    Node {
        name: "scan".to_string(),
        detail: String::new(),
        scan: Some((text, json)),
        children: Vec::new(),
    }
}

/// Operators that only move batches between threads, or hide an order.
fn is_plumbing(name: &str) -> bool {
    matches!(
        name,
        "ArmsInOrderExec"
            | "CoalesceBatchesExec"
            | "CoalescePartitionsExec"
            | "RepartitionExec"
            | "CooperativeExec"
            | "BufferExec"
            | "RepeatedExec"
    )
}

/// Leaves out of an operator's description how its work is spread over threads, which differs between
/// machines, the positions of columns: `sort expr=[a@1 ASC]` becomes `sort expr=[a ASC]`; and what distinguishes twins
/// that have one name (`output_names`).
fn without_threads(detail: &str) -> String {
    let parts = detail.split(", ").filter(|part| {
        !["mode=", "preserve_partitioning=", "partition_mode="]
            .iter()
            .any(|word| part.starts_with(word))
    });
    let joined = parts.collect::<Vec<_>>().join(", ");
    let mut text = String::with_capacity(joined.len());
    let mut characters = joined.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '@' if characters.peek().is_some_and(char::is_ascii_digit) => {
                while characters.next_if(char::is_ascii_digit).is_some() {}
            }
            HIDDEN => while characters.next_if(char::is_ascii_alphanumeric).is_some() {},
            _ => text.push(c),
        }
    }
    text
}

/// `HashJoinExec` as `hash join`.
fn words(name: &str) -> String {
    let mut text = String::new();
    for (position, c) in name.trim_end_matches("Exec").chars().enumerate() {
        if c.is_uppercase() && position > 0 {
            text.push(' ');
        }
        text.extend(c.to_lowercase());
    }
    text
}
