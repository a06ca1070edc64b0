//! All functions, for a session of DataFusion.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use datafusion::execution::FunctionRegistry;
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::AggregateUDF;

use crate::aggregates::aggregates;
use crate::functions::{common::outer_aggregate, functions};
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

/// Whether a function of this name, in whatever case, is an aggregate of a session that has all functions.
pub fn is_aggregate(name: &str) -> bool {
    static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let usual = SessionStateDefaults::default_aggregate_functions();
        let all = usual
            .into_iter()
            .chain(aggregates())
            .chain(result_types::aggregates());
        let names = |function: Arc<AggregateUDF>| {
            let other = function.aliases().to_vec();
            std::iter::once(function.name().to_string()).chain(other)
        };
        all.flat_map(names).collect()
    });
    NAMES.contains(name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use datafusion::execution::session_state::SessionStateBuilder;

    use super::*;

    #[test]
    fn aggregates_are_those_of_a_session() {
        let mut state = SessionStateBuilder::new().with_default_features().build();
        register(&mut state);
        let of_session = state.aggregate_functions();
        for name in of_session.keys().chain(state.scalar_functions().keys()) {
            assert_eq!(is_aggregate(name), of_session.contains_key(name), "{name}");
        }
    }
}
