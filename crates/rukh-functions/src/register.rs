//! All functions, for a session of DataFusion.

use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;

use crate::aggregates::aggregates;
use crate::functions::{functions, outer_aggregate};
use crate::result_types;
use crate::signatures::overloaded;

/// DataFusion's other names of functions that are ours, which PostgreSQL does not have.
const OTHER_NAMES: [&str; 4] = ["datepart", "list_dims", "list_length", "list_ndims"];

/// Adds the functions to a session of DataFusion, in the place of its own where they have the same name.
pub fn register(state: &mut SessionState) {
    for name in OTHER_NAMES {
        state
            .deregister_udf(name)
            .expect("functions of a session can be taken from it");
    }
    for function in functions().into_iter().chain(result_types::scalars()) {
        state
            .register_udf(function)
            .expect("functions of a session can be added to");
    }
    for aggregate in aggregates().into_iter().chain(result_types::aggregates()) {
        state
            .register_udaf(aggregate)
            .expect("aggregates of a session can be replaced");
    }
    outer_aggregate::register(state).expect("functions of a session can be added to");
    overloaded::register(state).expect("functions of a session can be replaced");
    for window in result_types::windows() {
        state
            .register_udwf(window)
            .expect("window functions of a session can be replaced");
    }
}
