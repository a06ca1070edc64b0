//! The figures side by side.

use std::time::Duration;

/// One question and what each peer took for it.
pub struct Line {
    /// The question.
    pub question: String,
    /// Questions in a round: times are divided by it.
    pub questions: u64,
    /// Rukh's round.
    pub rukh: Duration,
    /// SQLite's round.
    pub sqlite: Option<Duration>,
    /// The storage's own round.
    pub raw: Option<Duration>,
    /// Rows of one answer, on average.
    pub rows: f64,
    /// Keys that Rukh visited for one answer.
    pub keys_examined: Option<u64>,
}

/// Titles of the columns.
const TITLES: [&str; 8] = [
    "",
    "Rukh",
    "SQLite",
    "SQLite/Rukh",
    "raw",
    "Rukh/raw",
    "rows",
    "keys examined",
];

/// Renders lines under titles, columns aligned; a ratio above 1 means that the first one took longer.
pub fn render(lines: &[Line]) -> String {
    let mut cells: Vec<[String; 8]> = vec![TITLES.map(String::from)];
    cells.extend(lines.iter().map(Line::cells));
    let widths: Vec<usize> = (0..TITLES.len())
        .map(|column| cells.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in cells {
        let aligned: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        text.push_str(aligned.join("  ").trim_end());
        text.push('\n');
    }
    text
}

impl Line {
    fn cells(&self) -> [String; 8] {
        let each = |round: Duration| round / u32::try_from(self.questions.max(1)).unwrap_or(u32::MAX);
        let show = |round: Option<Duration>| round.map_or("-".to_string(), |round| time(each(round)));
        [
            self.question.clone(),
            show(Some(self.rukh)),
            show(self.sqlite),
            ratio(self.sqlite, Some(self.rukh)),
            show(self.raw),
            ratio(Some(self.rukh), self.raw),
            format!("{:.1}", self.rows).trim_end_matches(".0").to_string(),
            self.keys_examined
                .map_or("-".to_string(), |keys| keys.to_string()),
        ]
    }
}

fn ratio(one: Option<Duration>, other: Option<Duration>) -> String {
    match (one, other) {
        (Some(one), Some(other)) => format!("{:.2}", one.as_secs_f64() / other.as_secs_f64().max(1e-9)),
        _ => "-".to_string(),
    }
}

/// Renders a time with three or four digits and a fitting unit.
fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    match value {
        v if v < 10.0 => format!("{v:.2} {unit}"),
        v if v < 100.0 => format!("{v:.1} {unit}"),
        v => format!("{v:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (micros, text) in [
            (2, "2.00 us"),
            (55, "55.0 us"),
            (1500, "1.50 ms"),
            (250_000, "250 ms"),
            (12_340_000, "12.3 s"),
        ] {
            assert_eq!(time(Duration::from_micros(micros)), text);
        }
    }

    #[test]
    fn lines_are_aligned_and_divided_by_their_questions() {
        let line = Line {
            question: "point read".into(),
            questions: 10,
            rukh: Duration::from_micros(40),
            sqlite: Some(Duration::from_micros(60)),
            raw: None,
            rows: 1.0,
            keys_examined: Some(1),
        };
        let expected = "               Rukh   SQLite  SQLite/Rukh  raw  Rukh/raw  rows  keys examined\n\
                        point read  4.00 us  6.00 us         1.50    -         -     1              1\n";
        assert_eq!(render(&[line]), expected);
    }
}
