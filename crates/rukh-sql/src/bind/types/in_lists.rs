//! IN lists kept apart while DataFusion simplifies.
//!
//! Its simplifier merges two lists of one operand by comparing their elements as expressions, which
//! holds for two-valued logic and constants only:
//!
//! | written                                    | DataFusion's  | wrong where                 |
//! |--------------------------------------------|---------------|-----------------------------|
//! | `x IN (y, 2) AND x IN (z, 3)`              | false         | x, y and z are equal        |
//! | `x NOT IN (NULL, 1) AND x IN (NULL, 2)`    | `x IN (2)`    | x is 2: NULL, not true      |
//! | `NOT (x IN (1, 2) AND x IN (3, 4))`        | true          | x is NULL                   |
//!
//! So the operands of lists that could meet are made different before, by a function that does nothing,
//! and the function is taken away again afterwards. The planner of ranges intersects such lists itself.

use std::collections::{HashMap, HashSet};

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility, lit,
};

use rukh_functions::casts::numbers::number_cast;
use rukh_functions::casts::times::time_cast;
use rukh_walk::{PlanTree, Tree};

/// Makes the operands of IN lists different where DataFusion could merge two of them.
pub(crate) fn keep_apart(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let mut operands = Operands::default();
    plan.each_of_all(&mut |node| {
        node.each_expression(&mut |expr| operands.note_all(expr))?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    let met = operands.met();
    if met.is_empty() {
        return Ok(plan);
    }
    let mut marks = 0;
    map_expressions(plan, |expr| marked(expr, &met, &mut marks))
}

/// Undoes [`keep_apart`].
pub(crate) fn join_again(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let mut is_marked = false;
    plan.each_of_all(&mut |node| {
        node.each_expression(&mut |expr| {
            is_marked = is_marked || expr.any(&mut |part| Ok(mark_of(part).is_some()))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    match is_marked {
        true => map_expressions(plan, unmarked),
        false => Ok(plan),
    }
}

/// Simplifies one expression with its IN lists kept apart.
pub(crate) fn simplified_apart(
    expr: Expr,
    simplify: impl FnOnce(Expr) -> DataFusionResult<Expr>,
) -> DataFusionResult<Expr> {
    let mut operands = Operands::default();
    operands.note_all(&expr)?;
    let expr = marked(expr, &operands.met(), &mut 0)?.data;
    Ok(unmarked(simplify(expr)?)?.data)
}

fn map_expressions(
    plan: LogicalPlan,
    mut change: impl FnMut(Expr) -> DataFusionResult<Transformed<Expr>>,
) -> DataFusionResult<LogicalPlan> {
    let changed = plan.turn_all_up(&mut |node| {
        let names = NamePreserver::new(&node);
        let mapped = node.turn_expressions(&mut |expr| {
            let name = names.save(&expr);
            Ok(change(expr)?.update_data(|expr| name.restore(expr)))
        })?;
        mapped.map_data(LogicalPlan::recompute_schema)
    })?;
    Ok(changed.data)
}

/// The operands of IN lists, by name: columns that are renamed on their way are the same.
#[derive(Default)]
struct Operands {
    lists: HashMap<String, usize>,
    /// Names that stand for one column.
    renamed: Vec<(String, String)>,
}

impl Operands {
    fn note_all(&mut self, expr: &Expr) -> DataFusionResult<TreeNodeRecursion> {
        expr.each(&mut |part| {
            match part {
                Expr::InList(InList { expr, .. }) => *self.lists.entry(name_of(expr)).or_default() += 1,
                Expr::Alias(alias) => self.renamed.push((name_of(&alias.expr), alias.name.clone())),
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        })
    }

    /// Returns the names of operands that have more than one list.
    fn met(&self) -> HashSet<String> {
        let mut groups: HashMap<&str, usize> = HashMap::new();
        let same = |name: &str| -> HashSet<&str> {
            let mut names: HashSet<&str> = HashSet::new();
            let mut left = vec![
                self.lists
                    .get_key_value(name)
                    .map_or("", |(name, _)| name.as_str()),
            ];
            while let Some(name) = left.pop() {
                if names.insert(name) {
                    for (a, b) in &self.renamed {
                        if a == name {
                            left.push(b);
                        } else if b == name {
                            left.push(a);
                        }
                    }
                }
            }
            names
        };
        for name in self.lists.keys() {
            let lists = same(name).into_iter().filter_map(|name| self.lists.get(name));
            groups.insert(name, lists.sum());
        }
        let met = groups.into_iter().filter(|(_, lists)| *lists > 1);
        met.map(|(name, _)| name.to_string()).collect()
    }
}

/// Returns the name by which an operand is known: a column's without its table.
fn name_of(expr: &Expr) -> String {
    match expr {
        Expr::Column(column) => column.name.clone(),
        Expr::Cast(cast) => name_of(&cast.expr),
        Expr::ScalarFunction(call)
            if number_cast(&call.func)
                .or_else(|| time_cast(&call.func))
                .is_some() =>
        {
            call.args.first().map(name_of).unwrap_or_default()
        }
        other => other.schema_name().to_string(),
    }
}

fn marked(expr: Expr, met: &HashSet<String>, marks: &mut i64) -> DataFusionResult<Transformed<Expr>> {
    expr.turn_up(&mut |part| match part {
        Expr::InList(InList { expr, list, negated }) if met.contains(&name_of(&expr)) => {
            *marks += 1;
            let expr = Box::new(ScalarUDF::from(Mark::new()).call(vec![*expr, lit(*marks)]));
            Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })))
        }
        other => Ok(Transformed::no(other)),
    })
}

fn unmarked(expr: Expr) -> DataFusionResult<Transformed<Expr>> {
    expr.turn_up(&mut |part| match mark_of(&part) {
        Some(operand) => Ok(Transformed::yes(operand.clone())),
        None => Ok(Transformed::no(part)),
    })
}

/// Returns the operand that is marked, if one is.
fn mark_of(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.inner().is::<Mark>() => args.first(),
        _ => None,
    }
}

/// A function that gives its first argument; the second makes it differ from others.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Mark {
    signature: Signature,
}

impl Mark {
    fn new() -> Self {
        Mark {
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Mark {
    fn name(&self) -> &str {
        "in_list_operand"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(types.first().cloned().unwrap_or(ArrowType::Null))
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let first = arguments.arg_fields.first().cloned();
        first.ok_or_else(|| DataFusionError::Internal("the mark has an operand".to_string()))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let first = arguments.args.into_iter().next();
        Ok(first.unwrap_or(ColumnarValue::Scalar(ScalarValue::Null)))
    }
}
