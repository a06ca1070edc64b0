//! Names in statements.

/// Writes a name so that it is read as it is.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
