//! `docs/functions.md`, which is made of the table. `make update` rewrites it.

use std::fmt::Write;
use std::path::Path;

use crate::signatures::table::{self, Functions, Parameter};

const HEAD: &str = "# Functions and operators

Made of the table of signatures (`crates/rukh-functions/src/signatures/table.rs`) by `make update`. `\\df`, `pg_proc`, `pg_aggregate` and `pg_operator` show
the same. They do what PostgreSQL's manual says, but for what `docs/sql.md` names. Functions on JSON, maps and structures are not in the table: they take
what DataFusion's signatures say.
";

/// Whether a name is one that statements call, and no implementation by another name.
fn is_called(name: &str) -> bool {
    name != "bitwise_not" && !name.contains("_of_")
}

fn types(parameters: &[Parameter]) -> String {
    let names: Vec<String> = parameters.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn calls(page: &mut String, title: &str, functions: &Functions) {
    let _ = write!(page, "\n## {title}\n\n| call | result |\n|------|--------|\n");
    for (name, overloads) in functions.iter().filter(|(name, _)| is_called(name)) {
        for overload in overloads {
            let arguments = types(&overload.arguments);
            let _ = writeln!(page, "| `{name}({arguments})` | {} |", overload.result);
        }
    }
}

fn operators(page: &mut String) {
    let _ = write!(
        page,
        "\n## Operators\n\n| operands | result |\n|----------|--------|\n"
    );
    for (name, overloads) in table::operators() {
        // A bar would end the cell.
        let name = name.replace('|', "\\|");
        for overload in overloads {
            let operands = match overload.arguments.as_slice() {
                [left, right] => format!("{left} `{name}` {right}"),
                other => format!("`{name}` {}", types(other)),
            };
            let _ = writeln!(page, "| {operands} | {} |", overload.result);
        }
    }
}

#[test]
fn the_page_of_functions_is_of_the_table() {
    let mut page = HEAD.to_string();
    calls(&mut page, "Functions", table::functions());
    calls(&mut page, "Aggregates", table::aggregates());
    calls(&mut page, "Window functions", table::windows());
    operators(&mut page);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).expect("there is a page");
    assert!(
        written == page,
        "docs/functions.md is of another table: make update"
    );
}
