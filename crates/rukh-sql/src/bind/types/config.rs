//! How DataFusion is set up.

use datafusion::prelude::SessionConfig;

/// Name of the catalog that statements are planned with.
pub(crate) const CATALOG: &str = "rukh";

/// Most keys of one side of a hash join that the scan of the other side gets as a list, and their bytes.
const JOIN_LIST_MAX: usize = 10_000;

const JOIN_LIST_BYTES_MAX: usize = 1 << 20;

/// Returns how DataFusion is set up: PostgreSQL's literals and NULL order.
pub(crate) fn session_config() -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, "public")
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(false);
    let options = config.options_mut();
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.map_string_types_to_utf8view = false;
    options.sql_parser.default_null_ordering = "nulls_max".to_string();
    // It leaves out the ORDER BY of subqueries; where that matters is said by `inner_order`.
    options.sql_parser.enable_subquery_sort_elimination = false;
    // Its heap of the first groups takes NaN for less than any number, or fails.
    options.optimizer.enable_topk_aggregation = false;
    // Its two analyses of NULL differ: of `CASE WHEN n <= i THEN n ELSE 1 END` the logical plan knows that it is never NULL, the physical
    // plan does not, and the check fails where an aggregate is above.
    options.execution.skip_physical_aggregate_schema_check = true;
    options.optimizer.hash_join_inlist_pushdown_max_distinct_values = JOIN_LIST_MAX;
    options.optimizer.hash_join_inlist_pushdown_max_size = JOIN_LIST_BYTES_MAX;
    config
}
