//! What is known to differ.

/// The lines of a list.
pub struct Known {
    lines: Vec<Line>,
}

struct Line {
    text: &'static str,
    difference: &'static str,
    call: &'static str,
    is_met: bool,
}

impl Known {
    /// Reads a list: lines of a difference, a call and, behind ` -- `, a reason. `#` begins a comment.
    pub fn read(list: &'static str) -> Self {
        let lines = list.lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let line = |text: &'static str| {
            let reasoned = text.split_once(" -- ").filter(|(_, reason)| !reason.is_empty());
            let parts = reasoned.and_then(|(known, _)| known.trim().split_once(' '));
            let (difference, call) =
                parts.unwrap_or_else(|| panic!("{text}: no difference, call and reason"));
            Line {
                text,
                difference,
                call: call.trim(),
                is_met: false,
            }
        };
        Known {
            lines: lines.map(line).collect(),
        }
    }

    /// Whether a call is known to differ in this way.
    pub fn has(&mut self, difference: &str, call: &str) -> bool {
        let mut has = false;
        for line in &mut self.lines {
            if line.difference == difference && matches(line.call, call) {
                line.is_met = true;
                has = true;
            }
        }
        has
    }

    /// Whether a call is known to differ in any way.
    pub fn names(&self, call: &str) -> bool {
        self.lines.iter().any(|line| matches(line.call, call))
    }

    /// Returns the lines that nothing met.
    pub fn unmet(&self) -> Vec<&str> {
        let unmet = self.lines.iter().filter(|line| !line.is_met);
        unmet.map(|line| line.text).collect()
    }
}

/// Whether a text is as a pattern, whose `*` are any texts.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, rest)) => text.strip_prefix(before).is_some_and(|text| {
            text.char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .any(|at| matches(rest, &text[at..]))
        }),
    }
}

#[test]
fn stars_are_any_text() {
    assert!(matches("sum(*)", "sum(bigint)"));
    assert!(matches("* + *", "date + integer"));
    assert!(!matches("sum(*)", "max(bigint)"));
    assert!(!matches("sum(", "sum(bigint)"));
}
