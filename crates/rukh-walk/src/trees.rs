//! The two traits, over the trees that DataFusion has.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;

/// What is called with each node, to turn it into another.
pub type Turn<'a, T> = &'a mut dyn FnMut(T) -> Result<Transformed<T>>;

/// Walks over a tree. Every method fails with the first error of the closure.
pub trait Tree: Sized {
    /// Turns the nodes into others, children before their parents.
    fn turn_up(self, turn: Turn<'_, Self>) -> Result<Transformed<Self>>;

    /// Turns the nodes into others, parents before their children.
    fn turn_down(self, turn: Turn<'_, Self>) -> Result<Transformed<Self>>;

    /// Turns the children of the node into others, and nothing below them.
    fn turn_children(self, turn: Turn<'_, Self>) -> Result<Transformed<Self>>;

    /// Calls `visit` with the nodes, parents before their children, as far as it says.
    fn each<'n>(
        &'n self,
        visit: &mut dyn FnMut(&'n Self) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion>;

    /// Whether `test` holds for a node.
    fn any(&self, test: &mut dyn FnMut(&Self) -> Result<bool>) -> Result<bool>;
}

macro_rules! walk {
    ($($tree:ty),+) => {
        $(impl Tree for $tree {
            fn turn_up(self, turn: Turn<'_, Self>) -> Result<Transformed<Self>> {
                self.transform_up(turn)
            }

            fn turn_down(self, turn: Turn<'_, Self>) -> Result<Transformed<Self>> {
                self.transform_down(turn)
            }

            fn turn_children(self, turn: Turn<'_, Self>) -> Result<Transformed<Self>> {
                self.map_children(turn)
            }

            fn each<'n>(
                &'n self,
                visit: &mut dyn FnMut(&'n Self) -> Result<TreeNodeRecursion>,
            ) -> Result<TreeNodeRecursion> {
                self.apply(visit)
            }

            fn any(&self, test: &mut dyn FnMut(&Self) -> Result<bool>) -> Result<bool> {
                self.exists(test)
            }
        })+
    };
}

walk!(Expr, LogicalPlan, Arc<dyn PhysicalExpr>, Arc<dyn ExecutionPlan>);

/// Walks over a plan with the plans of its subqueries, and over the expressions of a node.
pub trait PlanTree: Sized {
    /// As [`Tree::turn_up`], in the plans of subqueries, too.
    fn turn_all_up(self, turn: Turn<'_, Self>) -> Result<Transformed<Self>>;

    /// As [`Tree::turn_down`], in the plans of subqueries, too.
    fn turn_all_down(self, turn: Turn<'_, Self>) -> Result<Transformed<Self>>;

    /// Turns the expressions of this node into others, and none of its inputs.
    fn turn_expressions(self, turn: Turn<'_, Expr>) -> Result<Transformed<Self>>;

    /// As [`Tree::each`], in the plans of subqueries, too.
    fn each_of_all(
        &self,
        visit: &mut dyn FnMut(&Self) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion>;

    /// Calls `visit` with the expressions of this node.
    fn each_expression(
        &self,
        visit: &mut dyn FnMut(&Expr) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion>;
}

impl PlanTree for LogicalPlan {
    fn turn_all_up(self, turn: Turn<'_, Self>) -> Result<Transformed<Self>> {
        self.transform_up_with_subqueries(turn)
    }

    fn turn_all_down(self, turn: Turn<'_, Self>) -> Result<Transformed<Self>> {
        self.transform_down_with_subqueries(turn)
    }

    fn turn_expressions(self, turn: Turn<'_, Expr>) -> Result<Transformed<Self>> {
        self.map_expressions(turn)
    }

    fn each_of_all(
        &self,
        visit: &mut dyn FnMut(&Self) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.apply_with_subqueries(visit)
    }

    fn each_expression(
        &self,
        visit: &mut dyn FnMut(&Expr) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.apply_expressions(visit)
    }
}
