//! Casts in the names of computed columns: `sum(id), sum(id::float8)`.
//!
//! DataFusion names a cast by its operand, and refuses two aggregates, two windows or two keys of groups of one
//! name. Where a query has two that differ in casts only, its casts are put into a function with the name of the type:
//!
//! | written                                    | becomes                                                  |
//! |--------------------------------------------|----------------------------------------------------------|
//! | `sum(id), sum(id::float8)`                 | `sum(id), sum(cast_apart(id::float8, 'FLOAT8'))`         |
//! | `GROUP BY id, CAST(id AS text)`            | `GROUP BY id, cast_apart(CAST(id AS text), 'TEXT')`      |
//! | `sum(id::float8), max(id::text)`           | stays: the names differ                                  |
//!
//! The function gives its first argument. The optimiser takes it away, so that plans are the same.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use rukh_syntax::sqlparser::ast::{Expr, GroupByExpr, Ident, Query, Select, Value, Visitor, VisitorMut};

use rukh_functions::functions::common::cast_apart::CAST_APART;

use rukh_syntax::make::call;
use rukh_syntax::{Walk, WalkMut};

/// Gives the casts of a query different names if something in it has the name of something else.
pub(crate) fn tell_apart(query: &mut Query) {
    let mut names = Names::default();
    let _ = query.walk(&mut names);
    if names.has_twins {
        let _ = query.walk_mut(&mut Wrapper);
    }
}

/// What is computed, by the name that DataFusion gives it.
#[derive(Default)]
struct Names {
    /// How it is written, for each name.
    written: HashMap<String, HashSet<String>>,
    has_twins: bool,
}

impl Names {
    fn note(&mut self, expr: &Expr) {
        let mut name = expr.clone();
        let _ = name.walk_mut(&mut Stripper);
        let written = self.written.entry(name.to_string().to_lowercase()).or_default();
        written.insert(expr.to_string());
        self.has_twins |= written.len() > 1 && written.iter().any(|text| has_cast(text));
    }
}

/// Whether a text may be that of an expression with a cast.
fn has_cast(text: &str) -> bool {
    text.contains("::") || text.contains("CAST(")
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(_) = expr {
            self.note(expr);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if let GroupByExpr::Expressions(keys, _) = &select.group_by {
            for key in keys {
                match key {
                    Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) => {
                        sets.iter().flatten().for_each(|key| self.note(key));
                    }
                    key => self.note(key),
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Leaves what DataFusion calls an expression by.
struct Stripper;

impl VisitorMut for Stripper {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let null = || Expr::Value(Value::Null.into());
        match expr {
            Expr::Cast { expr: inner, .. } | Expr::Nested(inner) => {
                *expr = std::mem::replace(inner, null());
            }
            Expr::CompoundIdentifier(parts) => {
                if let Some(last) = parts.pop() {
                    *expr = Expr::Identifier(last);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Puts every cast into the function.
struct Wrapper;

impl VisitorMut for Wrapper {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Cast { data_type, .. } = expr {
            let name = Expr::Value(Value::SingleQuotedString(data_type.to_string()).into());
            let cast = std::mem::replace(expr, Expr::Identifier(Ident::new("")));
            *expr = call(CAST_APART, vec![cast, name]);
        }
        ControlFlow::Continue(())
    }
}
