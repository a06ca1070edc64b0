//! Numbers of bytes as settings have them.

/// Reads a number of bytes as PostgreSQL does: `64MB`, `1 GB`, and `512` in kilobytes.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let unit = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" | "kb" => 1 << 10,
        "b" => 1,
        "mb" => 1 << 20,
        "gb" => 1 << 30,
        "tb" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// Returns a number of bytes as PostgreSQL shows it, in the greatest unit that divides it.
pub(super) fn bytes_text(bytes: u64) -> String {
    let units = [(30, "GB"), (20, "MB"), (10, "kB")];
    let unit = units
        .iter()
        .find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    let small = if bytes == 0 {
        "0".to_string()
    } else {
        format!("{bytes}B")
    };
    unit.map_or(small, |(shift, name)| format!("{}{name}", bytes >> shift))
}
