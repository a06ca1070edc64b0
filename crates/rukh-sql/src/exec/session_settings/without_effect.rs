//! Settings of PostgreSQL's planner, memory and workers, which clients and scripts make: they are kept, shown and have no effect.
//!
//! They change how PostgreSQL finds rows, and never which rows it finds. What would change rows, rights or durability is not among them.
//! A statement that sets one gets a NOTICE that says so.

use super::known_setting::{Known, Takes, known};

const ABOUT: &str = "of PostgreSQL's planner and executor; it has no effect";

const fn switch(name: &'static str) -> Known {
    known(name, "on", Takes::Switch, ABOUT)
}

const fn number(name: &'static str, default: &'static str, min: f64, max: f64) -> Known {
    known(name, default, Takes::Number(min, max), ABOUT)
}

const fn memory(name: &'static str, default: &'static str) -> Known {
    known(name, default, Takes::Memory, ABOUT)
}

const MOST: f64 = i32::MAX as f64;

pub(super) const KNOWN: &[Known] = &[
    known(
        "constraint_exclusion",
        "partition",
        Takes::OneOf(&["partition", "on", "off"]),
        ABOUT,
    ),
    number("cpu_index_tuple_cost", "0.005", 0.0, f64::MAX),
    number("cpu_operator_cost", "0.0025", 0.0, f64::MAX),
    number("cpu_tuple_cost", "0.01", 0.0, f64::MAX),
    number("cursor_tuple_fraction", "0.1", 0.0, 1.0),
    number("default_statistics_target", "100", 1.0, 10_000.0),
    known(
        "default_toast_compression",
        "pglz",
        Takes::OneOf(&["pglz", "lz4"]),
        ABOUT,
    ),
    memory("effective_cache_size", "4GB"),
    number("effective_io_concurrency", "1", 0.0, 1000.0),
    switch("enable_async_append"),
    switch("enable_bitmapscan"),
    switch("enable_gathermerge"),
    switch("enable_hashagg"),
    switch("enable_incremental_sort"),
    switch("enable_indexonlyscan"),
    switch("enable_indexscan"),
    switch("enable_material"),
    switch("enable_memoize"),
    switch("enable_nestloop"),
    switch("enable_parallel_append"),
    switch("enable_parallel_hash"),
    switch("enable_partition_pruning"),
    known("enable_partitionwise_aggregate", "off", Takes::Switch, ABOUT),
    known("enable_partitionwise_join", "off", Takes::Switch, ABOUT),
    switch("enable_seqscan"),
    switch("enable_sort"),
    switch("enable_tidscan"),
    switch("escape_string_warning"),
    known(
        "force_parallel_mode",
        "off",
        Takes::OneOf(&["off", "on", "regress"]),
        ABOUT,
    ),
    number("from_collapse_limit", "8", 1.0, MOST),
    switch("geqo"),
    number("geqo_threshold", "12", 2.0, MOST),
    number("hash_mem_multiplier", "2", 1.0, 1000.0),
    number("jit_above_cost", "100000", -1.0, f64::MAX),
    number("jit_inline_above_cost", "500000", -1.0, f64::MAX),
    number("jit_optimize_above_cost", "500000", -1.0, f64::MAX),
    number("join_collapse_limit", "8", 1.0, MOST),
    memory("maintenance_work_mem", "64MB"),
    number("max_parallel_maintenance_workers", "2", 0.0, 1024.0),
    number("max_parallel_workers", "8", 0.0, 1024.0),
    number("max_parallel_workers_per_gather", "2", 0.0, 1024.0),
    memory("max_stack_depth", "2MB"),
    memory("min_parallel_index_scan_size", "512kB"),
    memory("min_parallel_table_scan_size", "8MB"),
    switch("parallel_leader_participation"),
    number("parallel_setup_cost", "1000", 0.0, f64::MAX),
    number("parallel_tuple_cost", "0.1", 0.0, f64::MAX),
    known(
        "plan_cache_mode",
        "auto",
        Takes::OneOf(&["auto", "force_generic_plan", "force_custom_plan"]),
        ABOUT,
    ),
    number("random_page_cost", "4", 0.0, f64::MAX),
    number("recursive_worktable_factor", "10", 0.001, 1_000_000.0),
    number("seq_page_cost", "1", 0.0, f64::MAX),
    switch("synchronize_seqscans"),
    memory("temp_buffers", "8MB"),
    memory("work_mem", "4MB"),
];
