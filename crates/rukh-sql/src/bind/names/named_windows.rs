//! `WINDOW w AS (…)`: every OVER that names a window is spelled out before names are resolved.
//!
//! | written, with `WINDOW w AS (PARTITION BY a)` | becomes                              |
//! |----------------------------------------------|--------------------------------------|
//! | `OVER w`                                     | `OVER (PARTITION BY a)`              |
//! | `OVER (w ORDER BY b)`                        | `OVER (PARTITION BY a ORDER BY b)`   |
//! | `OVER (w ROWS 1 PRECEDING)`                  | `OVER (PARTITION BY a ROWS 1 PRECEDING)` |
//! | `WINDOW v AS (w ORDER BY b)`, `OVER v`       | `OVER (PARTITION BY a ORDER BY b)`   |
//!
//! A window that refers to another copies what that one is divided by, and its order if it gives none of its own. It has
//! its frame to itself. `OVER w` is `w` as it stands, frame and all. DataFusion knows `OVER w` in a select list only, and
//! forgets `w` in `OVER (w …)`.

use std::ops::ControlFlow;

use rukh_syntax::sqlparser::ast::{
    Expr, Ident, NamedWindowDefinition, NamedWindowExpr, OrderByKind, Query, Select, SetExpr, VisitorMut,
    WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use rukh_error::SqlError;
use rukh_syntax::{WalkMut, folded};

/// Spells out the named windows of all SELECTs of a query.
///
/// Fails with 42704 on a name that no window has, and with 42P20 on a name given twice, on a window that may not be
/// copied as it is, and on a frame that no rows can have.
pub(crate) fn spell_out(query: &mut Query) -> Result<(), SqlError> {
    match query.walk_mut(&mut Selects) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Spells out SELECTs, outer ones first.
struct Selects;

impl VisitorMut for Selects {
    type Break = SqlError;

    /// ORDER BY stands in the query, not in its SELECT, whose windows it names.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        if let SetExpr::Select(select) = query.body.as_ref()
            && let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(keys) = &mut order.kind
        {
            let windows = Windows::of(select)?;
            keys.walk_mut(&mut Overs::of(&windows))?;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        let windows = Windows::of(select)?;
        let mut overs = Overs::of(&windows);
        select.projection.walk_mut(&mut overs)?;
        select.distinct.walk_mut(&mut overs)?;
        select.having.walk_mut(&mut overs)?;
        select.qualify.walk_mut(&mut overs)?;
        select.named_window = Vec::new();
        ControlFlow::Continue(())
    }
}

/// The windows of one SELECT, each spelled out, in the order in which they stand.
struct Windows(Vec<(String, WindowSpec)>);

impl Windows {
    fn of(select: &Select) -> ControlFlow<SqlError, Windows> {
        let mut windows = Windows(Vec::new());
        for NamedWindowDefinition(name, window) in &select.named_window {
            match windows.define(name, window) {
                Ok(()) => {}
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(windows)
    }

    /// Adds a window, which may refer to those before it.
    fn define(&mut self, name: &Ident, window: &NamedWindowExpr) -> Result<(), SqlError> {
        let spec = match window {
            NamedWindowExpr::NamedWindow(other) => self.named(other)?.clone(),
            NamedWindowExpr::WindowSpec(spec) => self.copied(spec, true)?,
        };
        let name = folded(name);
        if self.0.iter().any(|(known, _)| *known == name) {
            let message = format!("window \"{name}\" is already defined");
            return Err(SqlError::statement("42P20", message));
        }
        self.0.push((name, spec));
        Ok(())
    }

    fn named(&self, name: &Ident) -> Result<&WindowSpec, SqlError> {
        let name = folded(name);
        let known = self.0.iter().find(|(known, _)| *known == name);
        known.map(|(_, spec)| spec).ok_or_else(|| {
            let message = format!("window \"{name}\" does not exist");
            SqlError::statement("42704", message)
        })
    }

    /// Returns a window without the name of another; `is_defined` is true for one of WINDOW, false for one of OVER.
    fn copied(&self, spec: &WindowSpec, is_defined: bool) -> Result<WindowSpec, SqlError> {
        let copied = match &spec.window_name {
            Some(name) => self.taken_from(name, spec, is_defined)?,
            None => spec.clone(),
        };
        check_frame(&copied)?;
        Ok(copied)
    }

    fn taken_from(&self, name: &Ident, spec: &WindowSpec, is_defined: bool) -> Result<WindowSpec, SqlError> {
        let other = self.named(name)?;
        let refused = |what: &str| {
            let message = format!("cannot override {what} clause of window \"{}\"", folded(name));
            SqlError::statement("42P20", message)
        };
        if !spec.partition_by.is_empty() {
            return Err(refused("PARTITION BY"));
        }
        if !spec.order_by.is_empty() && !other.order_by.is_empty() {
            return Err(refused("ORDER BY"));
        }
        if other.window_frame.is_some() {
            let says_more = is_defined || !spec.order_by.is_empty() || spec.window_frame.is_some();
            return Err(frame_copied(name, says_more));
        }
        Ok(WindowSpec {
            window_name: None,
            partition_by: other.partition_by.clone(),
            order_by: match spec.order_by.is_empty() {
                true => other.order_by.clone(),
                false => spec.order_by.clone(),
            },
            window_frame: spec.window_frame.clone(),
        })
    }
}

/// Fails with 42P20 on a frame that ends before it starts, or that the order of its window does not support.
fn check_frame(spec: &WindowSpec) -> Result<(), SqlError> {
    use WindowFrameBound::{CurrentRow, Following, Preceding};
    let Some(frame) = &spec.window_frame else {
        return Ok(());
    };
    let (start, end) = (&frame.start_bound, frame.end_bound.as_ref());
    let has_distance = |bound: &WindowFrameBound| matches!(bound, Preceding(Some(_)) | Following(Some(_)));
    let by_distance = has_distance(start) || end.is_some_and(has_distance);
    let message = match (start, end) {
        (Following(None), _) => "frame start cannot be UNBOUNDED FOLLOWING",
        (_, Some(Preceding(None))) => "frame end cannot be UNBOUNDED PRECEDING",
        (CurrentRow, Some(Preceding(_))) => "frame starting from current row cannot have preceding rows",
        (Following(_), None) => "frame starting from following row cannot end with current row",
        (Following(_), Some(Preceding(_) | CurrentRow)) => {
            "frame starting from following row cannot have preceding rows"
        }
        _ => match frame.units {
            WindowFrameUnits::Groups if spec.order_by.is_empty() => "GROUPS mode requires an ORDER BY clause",
            WindowFrameUnits::Range if by_distance && spec.order_by.len() != 1 => {
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
            }
            _ => return Ok(()),
        },
    };
    Err(SqlError::statement("42P20", message))
}

/// The error of a window that refers to one with a frame; `OVER (w)` could do with `OVER w`.
fn frame_copied(name: &Ident, says_more: bool) -> SqlError {
    let message = format!(
        "cannot copy window \"{}\" because it has a frame clause",
        folded(name)
    );
    let error = SqlError::statement("42P20", message);
    match says_more {
        true => error,
        false => error.with_hint("Omit the parentheses in this OVER clause."),
    }
}

/// Spells out the OVERs of one SELECT, but not those of queries within it.
struct Overs<'a> {
    windows: &'a Windows,
    depth: usize,
}

impl<'a> Overs<'a> {
    fn of(windows: &'a Windows) -> Self {
        Overs { windows, depth: 0 }
    }

    fn spelled(&self, over: &WindowType) -> Result<WindowType, SqlError> {
        let spec = match over {
            WindowType::NamedWindow(name) => self.windows.named(name)?.clone(),
            WindowType::WindowSpec(spec) => self.windows.copied(spec, false)?,
        };
        Ok(WindowType::WindowSpec(spec))
    }
}

impl VisitorMut for Overs<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if let (0, Expr::Function(call)) = (self.depth, expr)
            && let Some(over) = &call.over
        {
            match self.spelled(over) {
                Ok(spec) => call.over = Some(spec),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind::spelling::parsing::parse;
    use rukh_syntax::Statement;

    fn check(written: &str, expected: &str) {
        let Ok(Statement::Query(query)) = parse(written) else {
            panic!("{written} is a query");
        };
        let mut query = *query;
        let spelled = spell_out(&mut query).map(|()| query.to_string());
        assert_eq!(
            spelled.unwrap_or_else(|error| error.message),
            expected,
            "{written}"
        );
    }

    #[test]
    fn windows_are_spelled_out() {
        check(
            "SELECT sum(a) OVER w FROM t WINDOW w AS (ORDER BY b ROWS 1 PRECEDING)",
            "SELECT sum(a) OVER (ORDER BY b ROWS 1 PRECEDING) FROM t",
        );
        check(
            "SELECT sum(a) OVER (w ROWS 1 PRECEDING) FROM t WINDOW w AS (PARTITION BY c ORDER BY b)",
            "SELECT sum(a) OVER (PARTITION BY c ORDER BY b ROWS 1 PRECEDING) FROM t",
        );
        check(
            "SELECT 1 FROM t WINDOW w AS (PARTITION BY c), v AS (w ORDER BY b) ORDER BY rank() OVER v",
            "SELECT 1 FROM t ORDER BY rank() OVER (PARTITION BY c ORDER BY b)",
        );
        check(
            "SELECT rank() OVER (w) FROM t WINDOW w AS (ROWS 1 PRECEDING)",
            "cannot copy window \"w\" because it has a frame clause",
        );
        check(
            "SELECT (SELECT rank() OVER w) FROM t WINDOW w AS (ORDER BY b)",
            "window \"w\" does not exist",
        );
    }
}
