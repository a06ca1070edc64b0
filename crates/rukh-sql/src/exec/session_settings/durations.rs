//! Durations of settings, as text.

use std::time::Duration;

/// Reads a duration as PostgreSQL writes one: milliseconds, or a number with a unit; -1 is none.
pub(crate) fn parse_duration(text: &str) -> Option<Option<Duration>> {
    let text = text.trim();
    if text == "-1" {
        return Some(None);
    }
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..split].parse().ok()?;
    let micros = match text[split..].trim() {
        "us" => 1,
        "" | "ms" => 1_000,
        "s" => 1_000_000,
        "min" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    };
    number
        .checked_mul(micros)
        .map(|micros| Some(Duration::from_micros(micros)))
}

/// Returns a duration as PostgreSQL shows it, in the greatest unit that divides it.
pub(crate) fn duration_text(duration: Option<Duration>) -> String {
    let Some(duration) = duration else {
        return "-1".to_string();
    };
    let micros = duration.as_micros();
    let units = [
        (86_400_000_000, "d"),
        (3_600_000_000, "h"),
        (60_000_000, "min"),
        (1_000_000, "s"),
        (1_000, "ms"),
        (1, "us"),
    ];
    let unit = units.iter().find(|(size, _)| micros > 0 && micros % size == 0);
    unit.map_or("0".to_string(), |(size, name)| format!("{}{name}", micros / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown() {
        for (text, shown) in [
            ("-1", "-1"),
            ("0", "0"),
            ("250", "250ms"),
            ("250ms", "250ms"),
            ("1500 us", "1500us"),
            ("2000", "2s"),
            ("3min", "3min"),
            ("24h", "1d"),
        ] {
            assert_eq!(
                parse_duration(text).map(duration_text).as_deref(),
                Some(shown),
                "{text}"
            );
        }
        for text in ["", "-2", "x", "5 weeks", "99999999999999999999", "1.5s"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
