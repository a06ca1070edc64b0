//! Scalar functions, and operators that are computed by functions: one file each, or for a few of one kind, and one line in
//! [`functions`].

pub mod ages;
pub mod arithmetic;
pub mod array_order;
pub mod arrays;
pub mod bounded;
pub mod by_row;
pub mod byte_length;
mod bytes;
pub mod cast_apart;
pub mod characters;
pub mod clock;
mod count_nulls;
pub mod date_bin;
pub mod date_trunc;
pub mod declared;
mod degrees;
mod dimensions;
pub mod encoding;
pub mod exact;
pub mod extract;
pub mod float_functions;
pub mod hash;
pub mod interval_order;
pub mod interval_scale;
pub mod json;
mod letter_case;
mod moment_input;
pub mod moment_parts;
pub mod moments;
mod number_text;
pub mod outer_aggregate;
pub mod overlay;
pub mod pg_typeof;
pub mod quoting;
pub mod regex;
pub mod renamed;
pub mod round_moment;
pub mod rounding;
mod row_values;
pub mod similar;
pub mod time_difference;
pub mod time_zones;
pub mod to_char;
pub mod to_uuid;
pub mod undefined;
pub mod waits;
pub mod wide_number;

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

use crate::casts::texts::{CAST_CHAR, CAST_VARCHAR};

/// `|/ x`, which is of a DOUBLE, where `sqrt(x)` may be of a NUMERIC.
pub const SQUARE_ROOT: &str = "dsqrt";

/// Returns the functions: those DataFusion lacks, and those that do more here.
pub fn functions() -> Vec<Arc<ScalarUDF>> {
    use datafusion::functions::{datetime, math, string, unicode};
    let substr = unicode::substr().as_ref().clone();
    let mut of_floats = float_functions::functions();
    let square_root = of_floats.find(|function| function.name() == "sqrt");
    let square_root = square_root.map(|usual| renamed::renamed(usual, SQUARE_ROOT));
    let ours = vec![
        byte_length::beside(string::octet_length()),
        byte_length::beside(unicode::character_length()),
        date_trunc::beside(datetime::date_trunc()),
        cast_apart::cast_apart(),
        date_bin::date_bin(),
        declared::declared(),
        characters::chr(),
        rounding::round_half_to_even(),
        moments::to_timestamp(),
        overlay::overlay(),
        to_char::to_char(),
        Arc::new(time_zones::timezone()),
        extract::date_part(),
        extract::extract(),
        hash::hash(),
        pg_typeof::pg_typeof(),
        round_moment::round_moment(),
        wide_number::wide_number(),
        to_uuid::random_uuid(),
        renamed::renamed(unicode::left(), CAST_VARCHAR),
        renamed::renamed(string::rtrim(), CAST_CHAR),
        Arc::new(substr.with_aliases(["string_agg_joined"])),
    ];
    ours.into_iter()
        .chain(square_root)
        .chain(to_uuid::functions())
        .chain(count_nulls::functions())
        .chain(by_row::functions())
        .chain(exact::functions())
        .chain(exact::beside(float_functions::functions().collect()))
        .chain(exact::beside(vec![
            rounding::round(),
            math::trunc(),
            math::gcd(),
            math::lcm(),
        ]))
        .chain(rounding::others())
        .chain(clock::functions())
        .chain(waits::functions())
        .chain(similar::functions())
        .chain(ages::functions())
        .chain(bounded::functions())
        .chain(regex::functions())
        .chain(arrays::functions())
        .chain(encoding::functions())
        .chain(moment_parts::functions())
        .chain(json::functions())
        .chain(letter_case::functions())
        .collect()
}
