//! Walks over expressions and plans of DataFusion, compiled once.
//!
//! The methods of `TreeNode` are generic over the closure. Each call makes a copy of the walk over every kind of node, with every
//! iterator in it: of 5.3 million lines that LLVM got of rukh-sql a quarter were such copies, and a quarter iterators, most of them in
//! walks (`cargo llvm-lines`, November 2026). The methods here take `&mut dyn FnMut` instead. They call those of DataFusion of the same
//! meaning, and cost an indirect call per node.
//!
//! | here                          | there                            |
//! |-------------------------------|----------------------------------|
//! | [`Tree::turn_up`]             | `transform_up`, `transform`      |
//! | [`Tree::turn_down`]           | `transform_down`                 |
//! | [`Tree::turn_children`]       | `map_children`                   |
//! | [`Tree::each`]                | `apply`                          |
//! | [`Tree::any`]                 | `exists`                         |
//! | [`PlanTree::turn_all_up`]     | `transform_up_with_subqueries`   |
//! | [`PlanTree::turn_all_down`]   | `transform_down_with_subqueries` |
//! | [`PlanTree::turn_expressions`] | `map_expressions`               |
//! | [`PlanTree::each_of_all`]     | `apply_with_subqueries`          |
//! | [`PlanTree::each_expression`] | `apply_expressions`              |

mod trees;

pub use trees::{PlanTree, Tree, Turn};
