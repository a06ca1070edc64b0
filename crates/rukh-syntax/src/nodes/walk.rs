//! Walks over syntax trees: [`Walk::walk`] reads a tree, [`WalkMut::walk_mut`] changes it.
//!
//! The parser's own `Visit::visit` is compiled again, for every kind of node, with every visitor it is
//! given: some twenty thousand functions a visitor. These walks are compiled once. They hand the parser one
//! visitor, which calls the real one through a trait object, and take what the real one breaks with to the
//! caller past the parser.
//!
//! Invariant: what a walk calls, in which order, and what it ends with is what `Visit::visit` would have.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor,
    VisitorMut,
};

/// Reads a syntax tree with a visitor.
pub trait Walk: Visit {
    /// Visits every part of the tree until the visitor breaks off, and returns what it broke off with.
    #[allow(clippy::disallowed_methods, reason = "the one walk that all others are")]
    fn walk<V: Visitor>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut keeping = Keeping {
            visitor,
            broken: None,
        };
        let _ = self.visit(&mut Through(&mut keeping));
        keeping
            .broken
            .map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

impl<N: Visit + ?Sized> Walk for N {}

/// Changes a syntax tree with a visitor.
pub trait WalkMut: VisitMut {
    /// Visits every part of the tree until the visitor breaks off, and returns what it broke off with.
    #[allow(clippy::disallowed_methods, reason = "the one walk that all others are")]
    fn walk_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut keeping = Keeping {
            visitor,
            broken: None,
        };
        let _ = self.visit(&mut ThroughMut(&mut keeping));
        keeping
            .broken
            .map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

impl<N: VisitMut + ?Sized> WalkMut for N {}

/// Any tree that may be changed, whatever its kind; [`WalkMut::walk_mut`] walks over it.
pub trait Tree {
    /// Visits every part of the tree until the visitor breaks off.
    fn visit_any(&mut self, visitor: &mut dyn AnyVisitorMut) -> ControlFlow<()>;
}

impl<N: VisitMut> Tree for N {
    #[allow(clippy::disallowed_methods, reason = "the one walk that all others are")]
    fn visit_any(&mut self, visitor: &mut dyn AnyVisitorMut) -> ControlFlow<()> {
        self.visit(&mut ThroughMut(visitor))
    }
}

impl VisitMut for dyn Tree + '_ {
    fn visit<V: VisitorMut>(&mut self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut keeping = Keeping {
            visitor,
            broken: None,
        };
        let _ = self.visit_any(&mut keeping);
        keeping
            .broken
            .map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

/// A visitor, and what it broke off with.
struct Keeping<'v, V, B> {
    visitor: &'v mut V,
    broken: Option<B>,
}

/// Takes what a visitor breaks off with out of the way of the parser.
fn keep<B>(broken: &mut Option<B>, step: ControlFlow<B>) -> ControlFlow<()> {
    step.map_break(|value| *broken = Some(value))
}

/// Writes, for one of the parser's two visitor traits, the trait whose objects stand for any visitor, its
/// one implementation, and the visitor that the parser sees.
macro_rules! walks {
    ($visitor:ident, $object:ident, $through:ident, $($step:ident($node:ty)),* $(,)?) => {
        /// Any visitor, as an object.
        pub trait $object {
            $(/// As the step of the visitor.
            fn $step(&mut self, node: $node) -> ControlFlow<()>;)*
        }

        impl<V: $visitor> $object for Keeping<'_, V, V::Break> {
            $(fn $step(&mut self, node: $node) -> ControlFlow<()> {
                keep(&mut self.broken, self.visitor.$step(node))
            })*
        }

        struct $through<'o>(&'o mut dyn $object);

        impl $visitor for $through<'_> {
            type Break = ();

            $(fn $step(&mut self, node: $node) -> ControlFlow<()> {
                self.0.$step(node)
            })*
        }
    };
}

walks! {
    Visitor, AnyVisitor, Through,
    pre_visit_query(&Query),
    post_visit_query(&Query),
    pre_visit_select(&Select),
    post_visit_select(&Select),
    pre_visit_relation(&ObjectName),
    post_visit_relation(&ObjectName),
    pre_visit_table_factor(&TableFactor),
    post_visit_table_factor(&TableFactor),
    pre_visit_expr(&Expr),
    post_visit_expr(&Expr),
    pre_visit_statement(&Statement),
    post_visit_statement(&Statement),
    pre_visit_value(&ValueWithSpan),
    post_visit_value(&ValueWithSpan),
}

walks! {
    VisitorMut, AnyVisitorMut, ThroughMut,
    pre_visit_query(&mut Query),
    post_visit_query(&mut Query),
    pre_visit_select(&mut Select),
    post_visit_select(&mut Select),
    pre_visit_relation(&mut ObjectName),
    post_visit_relation(&mut ObjectName),
    pre_visit_table_factor(&mut TableFactor),
    post_visit_table_factor(&mut TableFactor),
    pre_visit_expr(&mut Expr),
    post_visit_expr(&mut Expr),
    pre_visit_statement(&mut Statement),
    post_visit_statement(&mut Statement),
    pre_visit_value(&mut ValueWithSpan),
    post_visit_value(&mut ValueWithSpan),
}
