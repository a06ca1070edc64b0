//! EXPLAIN (ALTERNATIVES): what is printed below a path.
//!
//! ```text
//!   cost       1 seeks, 6178 µs
//!   not taken  full scan on table t: 1000000 keys, 5000 rows, 1 seeks, 270002 µs
//!                passes 997499 keys more
//!   not used   index t@late
//!                does not hold all rows that this query asks for
//!   hint: CREATE INDEX ON t (c) -- would read 5000 keys instead of 1000000
//! ```
//!
//! As JSON three members of the path's object, which are not there otherwise:
//!
//! | member         | holds                                                                        |
//! |----------------|------------------------------------------------------------------------------|
//! | `alternatives` | array of `{"kind", "index", "within", "ordered", "estimate", "why"}`, the cheapest first |
//! | `unusable`     | array of `{"index", "why"}`                                                  |
//! | `suggestion`   | null, or `{"sql", "keys", "instead_of"}`                                     |

use std::fmt::Write;

use serde_json::{Value, json};

use crate::inputs::query::Query;
use crate::plans::access::AccessPath;
use crate::plans::alternatives::Alternatives;
use crate::texts::explain::{estimate_text, source_name};
use crate::texts::explain_json::{estimate, index_name};

/// Writes what else there was for a query, to stand below its path; each line ended.
pub fn alternatives_text(query: &Query<'_>, chosen: &AccessPath, others: &Alternatives) -> String {
    let mut text = String::new();
    // Writing into a String does not fail.
    let mut line = |word: &str, rest: &str| {
        let _ = writeln!(text, "  {word:<10} {rest}");
    };
    line("cost", &cost_text(chosen));
    for (at, other) in others.paths.iter().enumerate() {
        let path = &other.path;
        let kind = path.kind_name();
        let mut source = source_name(query, path.source);
        if let Some(within) = &path.within {
            source = format!("{source} within {}", source_name(query, within.path.source));
        }
        let estimate = format!("{}, {}", estimate_text(path), cost_text(path));
        let word = if at == 0 { "not taken" } else { "" };
        line(word, &format!("{kind} on {source}: {estimate}"));
        line("", &format!("  {}", other.why));
    }
    for (at, (source, why)) in others.unusable.iter().enumerate() {
        line(
            if at == 0 { "not used" } else { "" },
            &source_name(query, *source),
        );
        line("", &format!("  {why}"));
    }
    if let Some(index) = &others.suggestion {
        let _ = writeln!(text, "  hint: {index}");
    }
    text
}

fn cost_text(path: &AccessPath) -> String {
    let estimate = &path.estimate;
    format!(
        "{:.0} seeks, {:.0} µs",
        estimate.seeks.ceil(),
        estimate.cost.ceil()
    )
}

/// Adds what else there was for a query to the JSON of its path.
pub fn with_alternatives_json(query: &Query<'_>, mut path: Value, others: &Alternatives) -> Value {
    let alternative = |other: &crate::plans::alternatives::Alternative| {
        json!({
            "kind": other.path.kind_name(),
            "index": index_name(query, other.path.source),
            "within": other.path.within.as_ref().and_then(|within| index_name(query, within.path.source)),
            "ordered": other.path.ordered,
            "estimate": estimate(&other.path),
            "why": other.why,
        })
    };
    let unusable = |(source, why): &(crate::inputs::query::Source, String)| json!({ "index": index_name(query, *source), "why": why });
    let suggestion = others
        .suggestion
        .as_ref()
        .map(|index| json!({ "sql": index.sql, "keys": index.keys, "instead_of": index.instead }));
    path["alternatives"] = others.paths.iter().map(alternative).collect();
    path["unusable"] = others.unusable.iter().map(unusable).collect();
    path["suggestion"] = suggestion.unwrap_or_default();
    path
}
