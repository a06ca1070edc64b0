//! Endings of names that are neither typed nor shown: they distinguish columns and relations of one name.

/// Begins the part of a column name that is not shown; no keyboard types it.
pub const HIDDEN: char = '\u{2063}';

/// Returns the name of the field that `(row).*` is read as: `(row).star`.
pub fn record_star() -> String {
    format!("{HIDDEN}star")
}

/// Returns the name that an argument behind VARIADIC has.
pub fn variadic() -> String {
    format!("{HIDDEN}variadic")
}

/// Returns the name of what the count of `FETCH … WITH TIES` is read as: of a function of it among the tokens, and of a column in a plan.
pub fn with_ties() -> String {
    format!("{HIDDEN}ties")
}

/// Returns the name of a result column as a user sees it.
pub fn shown_name(name: &str) -> &str {
    name.split_once(HIDDEN).map_or(name, |(shown, _)| shown)
}
