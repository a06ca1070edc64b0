//! Every stored key and value as text.

use std::ops::ControlFlow;

use crate::sql::session::Shared;
use rukh_error::SqlError;

/// Calls `visit` with every stored key and value, decoded; stops when it returns false.
pub fn dump(shared: &Shared, visit: &mut dyn FnMut(&str) -> bool) -> Result<(), SqlError> {
    let mut line = |line: rukh_engine::DumpLine| match visit(&line.to_string()) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    Ok(shared.engine().dump(&mut line)?)
}
