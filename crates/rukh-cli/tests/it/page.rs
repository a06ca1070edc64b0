//! Pages whose blocks show a session at the prompt: what is typed behind `rukh> `, and what the binary printed.

use crate::transcript::Place;

/// Runs the statements of a page's chosen blocks, one after the other; returns the page with what they print now, and how many
/// statements there were.
pub fn played(
    place: &Place,
    database: &str,
    page: &str,
    is_chosen: impl Fn(&str) -> bool,
) -> (String, usize) {
    let (mut played, mut statements) = (String::new(), 0);
    for (nth, part) in page.split("```").enumerate() {
        let fence = if nth == 0 { "" } else { "```" };
        let is_block = nth % 2 == 1 && part.contains("\nrukh> ") && is_chosen(part);
        played += fence;
        if !is_block {
            played += part;
            continue;
        }
        let mut examples = part.split("rukh> ");
        played += examples.next().unwrap_or_default();
        let shown: Vec<String> = examples
            .map(|example| {
                let statement = example
                    .split_once(";\n")
                    .map_or(example, |(statement, _)| statement);
                let lines: Vec<&str> = statement.lines().map(str::trim).collect();
                let run = place.run(&[database, "-c", &lines.join("\n")], "");
                let rows = stream(&run, "stdout");
                let printed = if rows.is_empty() {
                    stream(&run, "stderr")
                } else {
                    rows
                };
                statements += 1;
                let end = if printed.is_empty() { "" } else { "\n" };
                format!("rukh> {statement};\n{printed}{end}")
            })
            .collect();
        played += &shown.join("\n");
    }
    (played, statements)
}

/// Returns what a run wrote to a stream, without blanks at the ends of lines.
pub fn stream(run: &str, name: &str) -> String {
    let begin = format!("--- {name}\n");
    let text = run.split_once(&begin).map_or("", |(_, rest)| rest);
    let text = text.split("\n--- ").next().unwrap_or("").trim_end();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}
