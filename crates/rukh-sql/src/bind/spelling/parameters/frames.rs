//! Parameters that are distances of window frames: `ROWS BETWEEN $1 PRECEDING AND CURRENT ROW`.
//!
//! DataFusion reads them from the tree, as constants. When the values are known they are put into the query: numbers, or intervals. Before, the
//! frame of a parameter is one without it, which changes no type.
//!
//! Texts, as values have them of which a driver does not say the type, are read as the frame takes them: rows and groups are counted by
//! integers, and in a range a text that is no number is an interval.

use std::borrow::Cow;
use std::ops::ControlFlow;

use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_functions::scalars::datum_from_scalar;
use rukh_functions::types::data_type_of_arrow;
use rukh_syntax::sqlparser::ast::{
    Expr, Interval, NamedWindowExpr, Query, Select, Value, Visitor, VisitorMut, WindowFrame,
    WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};
use rukh_syntax::{Walk, WalkMut};

use crate::bind::spelling::parameters::arrays::parameter_within;

/// Returns the parameter of a bound and its number.
fn parameter_of(bound: &WindowFrameBound) -> Option<usize> {
    match bound {
        WindowFrameBound::Preceding(Some(distance)) | WindowFrameBound::Following(Some(distance)) => {
            parameter_within(distance, |_| true)
        }
        _ => None,
    }
}

/// A parameter that is a distance: its number, and whether it counts rows or groups.
pub(crate) struct Distance {
    pub(crate) number: usize,
    pub(crate) counts: bool,
}

/// Returns the parameters that are distances of frames.
pub(crate) fn frame_parameters(tree: &impl Walk) -> Vec<Distance> {
    let mut finder = Finder(Vec::new());
    // The finder never stops.
    let _ = tree.walk(&mut finder);
    finder.0
}

struct Finder(Vec<Distance>);

impl Finder {
    fn read(&mut self, window: &WindowSpec) {
        if let Some(frame) = &window.window_frame {
            let counts = frame.units != WindowFrameUnits::Range;
            let bounds = [Some(&frame.start_bound), frame.end_bound.as_ref()];
            let numbers = bounds.into_iter().flatten().filter_map(parameter_of);
            self.0.extend(numbers.map(|number| Distance { number, counts }));
        }
    }
}

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for window in &select.named_window {
            if let NamedWindowExpr::WindowSpec(window) = &window.1 {
                self.read(window);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(call) = expr
            && let Some(WindowType::WindowSpec(window)) = &call.over
        {
            self.read(window);
        }
        ControlFlow::Continue(())
    }
}

/// Returns a query whose frames have the values of their parameters.
///
/// Fails with 22013 on a negative distance, with 22004 on NULL, and with 22P02 on a text that is none.
pub(crate) fn with_frames<'a>(
    query: Cow<'a, Query>,
    params: &[ScalarValue],
) -> Result<Cow<'a, Query>, SqlError> {
    if params.is_empty() {
        return Ok(query);
    }
    replaced(
        query,
        &|number, counts, which| match number.checked_sub(1).and_then(|at| params.get(at)) {
            Some(value) => distance(value, counts, which).map(Some),
            None => Ok(None),
        },
    )
}

/// Returns a query whose frames have no end where one is a parameter: of the same columns.
pub(crate) fn without_frames(query: Cow<'_, Query>) -> Result<Cow<'_, Query>, SqlError> {
    replaced(query, &|_, _, _| Ok(None))
}

/// Which bound of a frame: what its error calls it.
type Which = &'static str;

/// Returns what a bound gets in place of a parameter: nothing, for a frame without that end.
type Replace<'r> = dyn Fn(usize, bool, Which) -> Result<Option<Expr>, SqlError> + 'r;

fn replaced<'a>(query: Cow<'a, Query>, replace: &Replace<'_>) -> Result<Cow<'a, Query>, SqlError> {
    if frame_parameters(query.as_ref()).is_empty() {
        return Ok(query);
    }
    let mut query = query.into_owned();
    match query.walk_mut(&mut Replacer(replace)) {
        ControlFlow::Continue(()) => Ok(Cow::Owned(query)),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Replacer<'r>(&'r Replace<'r>);

impl Replacer<'_> {
    fn write(&self, window: &mut WindowSpec) -> Result<(), SqlError> {
        let Some(WindowFrame {
            units,
            start_bound,
            end_bound,
        }) = &mut window.window_frame
        else {
            return Ok(());
        };
        let counts = *units != WindowFrameUnits::Range;
        if let Some(number) = parameter_of(start_bound) {
            match ((self.0)(number, counts, "starting")?, &mut *start_bound) {
                (
                    Some(value),
                    WindowFrameBound::Preceding(distance) | WindowFrameBound::Following(distance),
                ) => {
                    *distance = Some(Box::new(value));
                }
                _ => *start_bound = WindowFrameBound::Preceding(None),
            }
        }
        if let Some(end_bound) = end_bound
            && let Some(number) = parameter_of(end_bound)
        {
            match ((self.0)(number, counts, "ending")?, &mut *end_bound) {
                (
                    Some(value),
                    WindowFrameBound::Preceding(distance) | WindowFrameBound::Following(distance),
                ) => {
                    *distance = Some(Box::new(value));
                }
                _ => *end_bound = WindowFrameBound::Following(None),
            }
        }
        Ok(())
    }
}

impl VisitorMut for Replacer<'_> {
    type Break = SqlError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        for window in &mut select.named_window {
            if let NamedWindowExpr::WindowSpec(window) = &mut window.1
                && let Err(error) = self.write(window)
            {
                return ControlFlow::Break(error);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        match expr {
            Expr::Function(call) => match &mut call.over {
                Some(WindowType::WindowSpec(window)) => match self.write(window) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => ControlFlow::Break(error),
                },
                _ => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Returns a distance as the tree has it.
fn distance(value: &ScalarValue, counts: bool, which: Which) -> Result<Expr, SqlError> {
    if value.is_null() {
        let message = format!("frame {which} offset must not be null");
        return Err(SqlError::statement("22004", message));
    }
    let ty = data_type_of_arrow(&value.data_type());
    let text = ty.format_text(&datum_from_scalar(value, &ty, "offset")?);
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    if counts && text.parse::<i64>().is_err() {
        let message = format!("invalid input syntax for type bigint: \"{text}\"");
        return Err(SqlError::statement("22P02", message));
    }
    if is_number && text.starts_with('-') {
        let message = match counts {
            true => format!("frame {which} offset must not be negative"),
            false => "invalid preceding or following size in window function".to_string(),
        };
        return Err(SqlError::statement("22013", message));
    }
    Ok(match is_number {
        true => Expr::Value(Value::Number(text, false).into()),
        false => Expr::Interval(Interval {
            value: Box::new(Expr::Value(Value::SingleQuotedString(text).into())),
            leading_field: None,
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: None,
        }),
    })
}
