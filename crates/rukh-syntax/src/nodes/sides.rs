//! The sides of set operations.

use sqlparser::ast::SetExpr;

/// Calls `visit` with the sides of a query that are no set operations themselves, from the left: with the query itself if it is none.
pub fn each_side<'b>(body: &'b SetExpr, visit: &mut dyn FnMut(&'b SetExpr)) {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            each_side(left, visit);
            each_side(right, visit);
        }
        side => visit(side),
    }
}

/// [`each_side`], to change them.
pub fn each_side_mut(body: &mut SetExpr, visit: &mut dyn FnMut(&mut SetExpr)) {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            each_side_mut(left, visit);
            each_side_mut(right, visit);
        }
        side => visit(side),
    }
}
