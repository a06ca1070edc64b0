//! Window frames over types that DataFusion has no ranges of: TIME, binary strings and rows.
//!
//! `OVER (ORDER BY t)` has by default the frame RANGE UNBOUNDED PRECEDING: all rows up to the last that is
//! equal to the present one. Without a distance in it that is what GROUPS UNBOUNDED PRECEDING says, which
//! needs no type to be subtracted. With a distance there is no other way to say it.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits};

use rukh_error::SqlError;
use rukh_functions::types::{data_type_of_arrow, postgres_name};

/// Frames a window function by groups where its ORDER BY has no ranges.
///
/// Fails with 0A000 on a frame that has a distance there.
pub(crate) fn framed(
    mut function: Box<WindowFunction>,
    schema: &DFSchema,
) -> DataFusionResult<Transformed<Expr>> {
    let frame = &function.params.window_frame;
    let first = function.params.order_by.first();
    let ty = first.and_then(|sort| sort.expr.get_type(schema).ok());
    let Some(ty) = ty.filter(|ty| frame.units == WindowFrameUnits::Range && has_no_ranges(ty)) else {
        return Ok(Transformed::no(Expr::WindowFunction(function)));
    };
    let is_plain =
        |bound: &WindowFrameBound| bound.is_unbounded() || matches!(bound, WindowFrameBound::CurrentRow);
    if !is_plain(&frame.start_bound) || !is_plain(&frame.end_bound) {
        let message = format!(
            "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
            postgres_name(&data_type_of_arrow(&ty))
        );
        return Err(DataFusionError::External(Box::new(SqlError::unsupported(
            message,
        ))));
    }
    function.params.window_frame = WindowFrame::new_bounds(
        WindowFrameUnits::Groups,
        frame.start_bound.clone(),
        frame.end_bound.clone(),
    );
    Ok(Transformed::yes(Expr::WindowFunction(function)))
}

fn has_no_ranges(ty: &ArrowType) -> bool {
    matches!(
        ty,
        ArrowType::Time32(_) | ArrowType::Time64(_) | ArrowType::Struct(_)
    ) || ty.is_binary()
}
