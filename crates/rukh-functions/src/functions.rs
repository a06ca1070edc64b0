//! Scalar functions, and operators that are computed by functions: one file each, or for a few of one kind, and one line in
//! [`functions`].

pub mod by_row;
pub mod common;
pub mod json;
pub mod lists;
pub mod networks;
pub mod numbers;
pub mod texts;
pub mod times;

use std::sync::Arc;

use datafusion::functions_nested::string::string_to_array_udf;
use datafusion::logical_expr::ScalarUDF;

use crate::casts::texts::{CAST_CHAR, CAST_VARCHAR};

/// `|/ x`, which is of a DOUBLE, where `sqrt(x)` may be of a NUMERIC.
pub const SQUARE_ROOT: &str = "dsqrt";

/// The array from which `string_to_table` takes its rows: `string_to_array`, under a name of its own.
pub const STRING_ROWS: &str = "string_rows";

/// Returns the functions: those DataFusion lacks, and those that do more here.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    use datafusion::functions::{datetime, math, string, unicode};
    let substr = unicode::substr().as_ref().clone();
    let mut of_floats = numbers::float_functions::functions();
    let square_root = of_floats.find(|function| function.name() == "sqrt");
    let square_root = square_root.map(|usual| common::renamed::renamed(usual, SQUARE_ROOT));
    let ours = vec![
        texts::byte_length::beside(string::octet_length()),
        texts::byte_length::beside(unicode::character_length()),
        times::date_trunc::beside(datetime::date_trunc()),
        common::cast_apart::cast_apart(),
        times::date_bin::date_bin(),
        common::declared::declared(),
        texts::characters::chr(),
        numbers::rounding::round_half_to_even(),
        times::moments::to_timestamp(),
        texts::overlay::overlay(),
        times::to_char::to_char(),
        Arc::new(times::time_zones::timezone()),
        times::extract::date_part(),
        times::extract::extract(),
        common::hash::hash(),
        common::pg_typeof::pg_typeof(),
        times::round_moment::round_moment(),
        numbers::wide_number::wide_number(),
        texts::to_uuid::random_uuid(),
        common::renamed::renamed(string_to_array_udf(), STRING_ROWS),
        common::renamed::renamed(unicode::left(), CAST_VARCHAR),
        common::renamed::renamed(string::rtrim(), CAST_CHAR),
        Arc::new(substr.with_aliases(["string_agg_joined"])),
    ];
    ours.into_iter()
        .chain(square_root)
        .chain(texts::to_uuid::functions())
        .chain(common::alike::functions())
        .chain(common::count_nulls::functions())
        .chain(by_row::functions())
        .chain(common::exact::functions())
        .chain(common::exact::beside(
            numbers::float_functions::functions().collect(),
        ))
        .chain(common::exact::beside(vec![
            numbers::rounding::round(),
            math::trunc(),
            math::gcd(),
            math::lcm(),
        ]))
        .chain(numbers::rounding::others())
        .chain(times::clock::functions())
        .chain(common::waits::functions())
        .chain(texts::similar::functions())
        .chain(times::ages::functions())
        .chain(common::bounded::functions())
        .chain(texts::regex::functions())
        .chain(lists::arrays::functions())
        .chain(lists::quantified::functions())
        .chain(lists::enums::functions().into_iter().map(Arc::new))
        .chain(texts::encoding::functions())
        .chain(times::moment_parts::functions())
        .chain(json::access::functions())
        .chain(json::expand::functions())
        .chain(json::make::functions())
        .chain(json::path::functions())
        .chain([json::order::function()])
        .chain(texts::letter_case::functions())
        .collect()
}
