//! Calls in stored queries.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use rukh_catalog::{Catalog, Function, FunctionId, PUBLIC};
use rukh_error::SqlError;
use rukh_syntax::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArguments, Ident, Query, Select, TableFactor, Visitor, VisitorMut,
};
use rukh_syntax::{Walk, WalkMut, folded};

use super::calls::{Calls, stored_name};

/// A visit of nothing but calls.
struct Expander<'a>(Calls<'a>);

impl VisitorMut for Expander<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        self.0.enter_query(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        self.0.enter_select(select);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<SqlError> {
        self.0.leave_select();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        self.0
            .enter_expr(expr)
            .map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<SqlError> {
        self.0.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        self.0
            .enter_factor(factor)
            .map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }

    fn post_visit_table_factor(&mut self, _: &mut TableFactor) -> ControlFlow<SqlError> {
        self.0.leave();
        ControlFlow::Continue(())
    }
}

/// Puts bodies in the place of the calls of a stored query.
pub(crate) fn expand(query: &mut Query, catalog: &Catalog) -> Result<(), SqlError> {
    if catalog.functions().next().is_none() {
        return Ok(());
    }
    let path = [PUBLIC.to_string()];
    match query.walk_mut(&mut Expander(Calls::new(catalog, &path))) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Whether a query may call a function that the database defines.
pub(crate) fn calls_any(query: &Query, catalog: &Catalog) -> bool {
    let is_known = |name: &str| catalog.functions().any(|function| function.name == name);
    let mut finder = Names {
        is_called: &mut |name| is_known(&folded(name)),
    };
    query.walk(&mut finder).is_break()
}

/// Calls a function with the last part of the name of each call.
struct Names<'f> {
    is_called: &'f mut dyn FnMut(&Ident) -> bool,
}

impl Names<'_> {
    fn step(&mut self, name: &ast::ObjectName) -> ControlFlow<()> {
        let last = name.0.last().and_then(|part| part.as_ident());
        match last.is_some_and(|name| (self.is_called)(name)) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Visitor for Names<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(call) => self.step(&call.name),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                name, args: Some(_), ..
            }
            | TableFactor::Function { name, .. } => self.step(name),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Returns the functions that a stored query calls, without those that their bodies call.
pub(crate) fn called_in(query: &mut Query, catalog: &Catalog) -> Vec<Arc<Function>> {
    let mut found = Vec::new();
    each_call(query, catalog, &mut |function, _| found.push(function));
    found
}

/// Gives the calls of a function in a stored query another name; returns whether there are any.
pub(crate) fn rename(query: &mut Query, catalog: &Catalog, id: FunctionId, schema: &str, name: &str) -> bool {
    let mut found = false;
    each_call(query, catalog, &mut |function, called| {
        if function.id == id {
            *called = stored_name(schema, name);
            found = true;
        }
    });
    found
}

/// Receives a function and the name by which a call names it.
type Call<'c> = dyn FnMut(Arc<Function>, &mut ast::ObjectName) + 'c;

/// Visits the calls in a stored query.
fn each_call(query: &mut Query, catalog: &Catalog, visit: &mut Call<'_>) {
    struct Finder<'a, 'c> {
        calls: Calls<'a>,
        visit: &'c mut Call<'c>,
    }

    impl Finder<'_, '_> {
        fn step(&mut self, name: &mut ast::ObjectName, arguments: Option<&[FunctionArg]>) {
            if let Ok(Some((function, _))) = self.calls.called(name, arguments) {
                (self.visit)(function, name);
            }
        }
    }

    impl VisitorMut for Finder<'_, '_> {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
            if let Expr::Function(ast::Function {
                name,
                args: FunctionArguments::List(list),
                ..
            }) = expr
            {
                self.step(name, Some(&list.args));
            }
            ControlFlow::Continue(())
        }

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
            match factor {
                TableFactor::Table {
                    name,
                    args: Some(args),
                    ..
                } => self.step(name, Some(&args.args)),
                TableFactor::Function { name, args, .. } => self.step(name, Some(args)),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }

    let path = [PUBLIC.to_string()];
    let calls = Calls::new(catalog, &path);
    let ControlFlow::Continue(()) = query.walk_mut(&mut Finder { calls, visit });
}
