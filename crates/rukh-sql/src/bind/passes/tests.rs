//! Golden scripts in `tests/passes`: queries, and what each pass of binding makes of them.
//!
//! | line                            | shows                                                                         |
//! |---------------------------------|-------------------------------------------------------------------------------|
//! | `> SELECT …`                    | the query behind each pass that changes it, the plan, and what changes the plan |
//! | `> CREATE TABLE …`              | nothing: it is run                                                             |
//! | `[literals] > SELECT …`         | what the passes named make, and no others                                      |
//!
//! `optimised`, DataFusion's own work for the greater part, is shown only where it is named.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use rukh_kv::MemoryStore;
use rukh_syntax::Statement;

use crate::bind::passes::Made;
use crate::{Session, Shared};

test_each_file::test_each_path! { in "./crates/rukh-sql/tests/passes" as scripts => run_script }

fn run_script(path: &Path) {
    let shared = Shared::open(Arc::new(MemoryStore::new()), false).expect("an empty database opens");
    let mut runner = Runner(shared.session());
    goldenscript::run(&mut runner, path).expect("the script runs as recorded");
}

struct Runner(Session);

impl goldenscript::Runner for Runner {
    type Command = goldenscript::Command;

    fn run(
        &mut self,
        command: &goldenscript::Command,
        context: &goldenscript::Context,
    ) -> Result<String, Box<dyn Error>> {
        self.show(&command.name, context)
            .map_err(|error| error.to_string().into())
    }
}

impl Runner {
    fn show(&mut self, sql: &str, context: &goldenscript::Context) -> Result<String, crate::SqlError> {
        let prepared = self.0.prepare(sql)?;
        let prepared = self.0.with_schemas(&prepared)?;
        let Statement::Query(query) = prepared.statement() else {
            self.0.execute(sql)?;
            return Ok(String::new());
        };
        let is_shown = |name: &str| match context.tags.is_empty() {
            true => name != "optimised",
            false => context.tags.contains(name),
        };
        let mut shown = format!("{sql}\n");
        let mut before = (sql.to_string(), String::new());
        let mut show = |name: &str, text: String, before: &mut String| {
            if *before != text && is_shown(name) {
                shown += &format!("    {name}\n");
                shown.extend(text.lines().map(|line| format!("        {line}\n")));
            }
            *before = text;
        };
        show("parsed", query.to_string(), &mut before.0);
        let planned = self.0.watched_plan_of(query, &mut |name, made| match made {
            Made::Query(query) => show(name, query.to_string(), &mut before.0),
            Made::Plan(plan) => show(name, plan.display_indent().to_string(), &mut before.1),
        });
        if let Err(error) = planned {
            shown += &format!("    {} {error}\n", error.sqlstate);
        }
        Ok(shown)
    }
}

/// Every file of the room is in the list of what is corrected.
#[test]
fn corrections_are_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = std::fs::read_to_string(root.join("../../docs/datafusion.md")).expect("the list is there");
    let mut waiting = vec![root.join("src/bind")];
    let mut files = 0;
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of sources can be read") {
            let path = entry.expect("an entry can be read").path();
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
            match name.as_deref() {
                _ if path.is_dir() => waiting.push(path),
                Some("mod" | "tests" | "passes") | None => {}
                Some(name) => {
                    files += 1;
                    let is_listed =
                        list.contains(&format!("/{name}`")) || list.contains(&format!("`{name}`"));
                    assert!(is_listed, "{} is not in docs/datafusion.md", path.display());
                }
            }
        }
    }
    assert!(files > 60, "{files} files");
}
