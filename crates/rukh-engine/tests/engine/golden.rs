//! Golden scripts: statements, and the writes they make, decoded.
//!
//! | command                                                        | does                                |
//! |----------------------------------------------------------------|-------------------------------------|
//! | `table NAME COLUMNS key=KEY [salt=N]`                          | creates a table                     |
//! | `index NAME on=T KEY [unique=true] [include=…] [where=…]`      | creates an index                    |
//! | `insert T ROW… [ignore=true]`, `upsert T ROW… [named=COLUMNS]` | adds rows                           |
//! | `update T "KEY => ROW"…`, `delete T KEY…`                      | changes rows found by primary key   |
//! | `load T ROW…`                                                 | bulk load                           |
//! | `begin`, `commit`, `rollback`                                  | several changes as one statement    |
//! | `clock SECONDS`, `versions T N`                                | moves the time; keeps N versions of rows |
//! | `scan T[@INDEX] [columns=…] [prefix=KEY] [limit=N] [reverse=true]` | reads                           |
//! | `get T KEY`, `dump`, `check T`, `drop T`, `dropindex NAME`, `truncate T`, `reopen` | as named        |
//!
//! Changes print their writes: `put t/1/5`, `del t@by_host/'a'/1/5`, `commit 3 ops`.

use crate::support;
use crate::support::toy::ToyFunctions;
use goldenscript::{ArgumentConsumer, Command, Context};
use rukh_catalog::{Table, Versions};
use rukh_engine::{Engine, EngineError, OnConflict, Row, ScanRequest, Source, Write};
use rukh_keys::{KeyLayout, Span};
use rukh_kv::{Durability, MemoryStore, Operation, RecordStore, Recording};
use std::error::Error;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use test_each_file::test_each_path;

test_each_path! { in "./crates/rukh-engine/tests/scripts" as scripts => run }

fn run(path: &Path) {
    goldenscript::run(&mut Runner::new(), path).unwrap();
}

struct Runner {
    store: Arc<RecordStore>,
    engine: Engine,
    open: Option<Write>,
    clock: Arc<AtomicI64>,
}

type Outcome = Result<String, Box<dyn Error>>;

impl Runner {
    fn new() -> Self {
        let store = Arc::new(RecordStore::new(Arc::new(MemoryStore::new()), Recording::Writes));
        let engine = support::open(store.clone());
        store.take();
        Runner {
            store,
            engine,
            open: None,
            clock: Arc::default(),
        }
    }

    /// Moves the time to so many seconds after noon of 2096-10-02, a time that no machine has reached.
    fn clock(&self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let seconds: i64 = positional(args)?.parse()?;
        self.clock
            .store(4_000_017_600_000_000 + 1_000_000 * seconds, Ordering::Relaxed);
        let clock = self.clock.clone();
        let source = Arc::new(move || clock.load(Ordering::Relaxed));
        self.engine.set_time_source(source);
        Ok(String::new())
    }

    fn versions(&self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let (name, kept) = (positional(args)?, positional(args)?.parse()?);
        let since_micros = self.engine.now();
        let change = |_: &rukh_catalog::Catalog, before: &Table| {
            let mut next = before.clone();
            next.options.timed = true;
            next.options.versions = (kept > 1).then_some(Versions { kept, since_micros });
            Ok::<_, EngineError>(next)
        };
        self.engine.alter_table(self.table(name)?.id, change)?;
        Ok(self.writes())
    }

    fn table(&self, name: &str) -> Result<Arc<Table>, EngineError> {
        Ok(self.engine.catalog().table_named("public", name)?.clone())
    }

    /// Prints what was written since the last call.
    fn writes(&self) -> String {
        let shown = self.store.take().into_iter().map(|operation| match operation {
            Operation::Write { batch, .. } => self.engine.describe(&batch),
            operation => format!("{operation}\n"),
        });
        shown.collect()
    }

    /// Runs a change in the open statement, or in one of its own.
    fn change(&mut self, change: impl FnOnce(&mut Write) -> Result<u64, Box<dyn Error>>) -> Outcome {
        let (mut write, alone) = match self.open.take() {
            Some(write) => (write, false),
            None => (self.engine.begin()?, true),
        };
        let count = change(&mut write)?;
        if !alone {
            self.open = Some(write);
            return Ok(format!("{count} rows\n"));
        }
        write.commit(Durability::Synced)?;
        Ok(format!("{}{count} rows\n", self.writes()))
    }

    fn create_table(&self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let (name, columns) = (positional(args)?, positional(args)?);
        let salt = args.take_key("salt").map(str::parse).transpose()?;
        let key = args.take_key("key").ok_or("no key")?;
        self.engine
            .create_table(support::table_draft(name, columns, key, salt))?;
        Ok(self.writes())
    }

    fn create_index(&self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let (name, key) = (positional(args)?, positional(args)?);
        let table = self.table(args.take_key("on").ok_or("no table")?)?;
        let include = args.take_key("include").unwrap_or_default();
        let (predicate, unique) = (args.take_key("where"), args.take_key("unique").is_some());
        let draft = support::index_draft(&table, name, key, include, predicate, unique);
        let created = self
            .engine
            .create_index(table.id, draft, &rukh_engine::NoProgress);
        let writes = self.writes();
        match created {
            Ok(_) => Ok(writes),
            Err(error) => Err(format!("{}\n{writes}", show_error(&error)).into()),
        }
    }

    fn insert(&mut self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let table = self.table(positional(args)?)?;
        let conflict = match args.take_key("ignore") {
            Some(_) => OnConflict::Ignore,
            None => OnConflict::Error,
        };
        let rows = rows(&table, args);
        self.change(|write| Ok(write.insert(&table, rows, conflict)?))
    }

    fn load(&self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let table = self.table(positional(args)?)?;
        let mut load = self.engine.load(table.id)?;
        load.add(rows(&table, args))?;
        let count = load.finish()?;
        // Files are written side by side.
        let mut writes: Vec<String> = self.writes().lines().map(str::to_string).collect();
        let files = writes.iter().take_while(|line| line.starts_with("load ")).count();
        writes[..files].sort();
        Ok(format!("{}\n{count} rows\n", writes.join("\n")))
    }

    fn upsert(&mut self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let table = self.table(positional(args)?)?;
        let all = table.columns.iter().map(|column| column.id).collect();
        let named = args.take_key("named").map_or(all, |text| columns(&table, text));
        let rows = rows(&table, args);
        self.change(|write| Ok(write.upsert(&table, &named, rows)?))
    }

    fn update(&mut self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let table = self.table(positional(args)?)?;
        let texts: Vec<&str> = std::iter::from_fn(|| args.next_pos()).collect();
        self.change(|write| {
            let change = |text: &&str| {
                let (key, new) = text.split_once("=>").ok_or("no =>")?;
                Ok::<_, Box<dyn Error>>((stored(write, &table, key)?, support::row(&table, new)))
            };
            let changes = texts.iter().map(change).collect::<Result<_, _>>()?;
            Ok(write.update(&table, changes)?)
        })
    }

    fn delete(&mut self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let table = self.table(positional(args)?)?;
        let keys: Vec<&str> = std::iter::from_fn(|| args.next_pos()).collect();
        self.change(|write| {
            let rows = keys
                .iter()
                .map(|key| stored(write, &table, key))
                .collect::<Result<_, _>>()?;
            Ok(write.delete(&table, rows)?)
        })
    }

    fn scan(&self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let name = positional(args)?;
        let (name, index) = name
            .split_once('@')
            .map_or((name, None), |(name, index)| (name, Some(index)));
        let table = self.table(name)?;
        let (source, layout) = source(&table, index)?;
        let wanted = args.take_key("columns").map(|text| columns(&table, text));
        let mut request = ScanRequest::all(table.clone(), wanted.unwrap_or_default());
        if request.columns.is_empty() {
            request.columns = table.columns.iter().map(|column| column.id).collect();
        }
        request.source = source;
        if let Some(prefix) = args.take_key("prefix") {
            request.ranges = layout.ranges(&Span::prefix(support::key(&layout, prefix)));
        }
        request.limit = args.take_key("limit").map(str::parse).transpose()?;
        request.reverse = args.take_key("reverse").is_some();
        self.show_scan(request)
    }

    fn show_scan(&self, request: ScanRequest) -> Outcome {
        let table = request.table.clone();
        let ids = request.columns.clone();
        let mut out = String::new();
        let mut cursor = self.engine.snapshot().scan(request)?;
        let mut sink = |view: &rukh_engine::RowView<'_>| {
            for (at, id) in ids.iter().enumerate() {
                let ty = table.column(*id).unwrap().ty;
                let gap = if at == 0 { "" } else { ", " };
                write!(out, "{gap}{}", ty.display(&view.datum(at)?.into_owned())).unwrap();
            }
            out.push('\n');
            Ok(())
        };
        while cursor.next_rows(100, &mut sink)? > 0 {}
        let counters = cursor.counters();
        writeln!(
            out,
            "{} rows, {} ranges, {} seeks, {} keys, {} lookups",
            counters.rows, counters.ranges, counters.seeks, counters.keys_examined, counters.lookups
        )?;
        Ok(out)
    }

    fn get(&self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let table = self.table(positional(args)?)?;
        let key = support::key(&table.key_layout(), positional(args)?);
        Ok(match self.engine.snapshot().get(&table, &key)? {
            Some(row) => support::show_row(&table, &row),
            None => "none".to_string(),
        })
    }

    fn dump(&self) -> Outcome {
        let mut out = String::new();
        self.engine.dump(&mut |line| {
            if line.storage != "catalog" {
                writeln!(out, "{line}").unwrap();
            }
            ControlFlow::Continue(())
        })?;
        Ok(out)
    }

    fn check(&self, args: &mut ArgumentConsumer<'_>) -> Outcome {
        let table = self.table(positional(args)?)?;
        let report = self.engine.check_table(table.id, &rukh_engine::NoProgress)?;
        let mut out: String = report
            .findings
            .iter()
            .map(|finding| format!("{finding}\n"))
            .collect();
        writeln!(
            out,
            "{} rows, {} entries, {} missing, {} dangling, {} differing, {} corrupt",
            report.rows, report.entries, report.missing, report.dangling, report.differing, report.corrupt
        )?;
        Ok(out)
    }

    fn reopen(&mut self) -> Outcome {
        self.engine = Engine::open(self.store.clone(), Arc::new(ToyFunctions), false)?;
        let recovered: String = self
            .engine
            .recovered()
            .iter()
            .map(|r| format!("{r:?}\n"))
            .collect();
        Ok(recovered + &self.writes())
    }
}

impl goldenscript::Runner for Runner {
    type Command = Command;

    fn run(&mut self, command: &Command, _: &Context) -> Outcome {
        let mut args = command.consume_args();
        let args = &mut args;
        let outcome = match command.name.as_str() {
            "table" => self.create_table(args),
            "index" => self.create_index(args),
            "insert" => self.insert(args),
            "load" => self.load(args),
            "clock" => self.clock(args),
            "versions" => self.versions(args),
            "upsert" => self.upsert(args),
            "update" => self.update(args),
            "delete" => self.delete(args),
            "scan" => self.scan(args),
            "get" => self.get(args),
            "dump" => self.dump(),
            "check" => self.check(args),
            "reopen" => self.reopen(),
            "begin" => {
                self.open = Some(self.engine.begin()?);
                Ok(String::new())
            }
            "commit" => {
                self.open
                    .take()
                    .ok_or("nothing begun")?
                    .commit(Durability::Synced)?;
                Ok(self.writes())
            }
            "rollback" => {
                self.open = None;
                Ok(self.writes())
            }
            "drop" => {
                self.engine.drop_table(self.table(positional(args)?)?.id)?;
                Ok(self.writes())
            }
            "truncate" => {
                self.engine.truncate(self.table(positional(args)?)?.id)?;
                Ok(self.writes())
            }
            "dropindex" => {
                let catalog = self.engine.catalog();
                self.engine
                    .drop_index(catalog.index_named("public", positional(args)?)?.1.id)?;
                Ok(self.writes())
            }
            name => Err(format!("unknown command {name}").into()),
        };
        args.reject_next()?;
        outcome.map_err(|error| match error.downcast_ref::<EngineError>() {
            Some(engine) => show_error(engine).into(),
            None => error,
        })
    }
}

fn show_error(error: &EngineError) -> String {
    let detail = error
        .detail()
        .map(|detail| format!("\ndetail: {detail}"))
        .unwrap_or_default();
    let hint = error
        .hint()
        .map(|hint| format!("\nhint: {hint}"))
        .unwrap_or_default();
    format!("{error}{detail}{hint}")
}

fn positional<'a>(args: &mut ArgumentConsumer<'a>) -> Result<&'a str, Box<dyn Error>> {
    Ok(args.next_pos().ok_or("an argument is missing")?)
}

fn rows(table: &Table, args: &mut ArgumentConsumer<'_>) -> Vec<Row> {
    std::iter::from_fn(|| args.next_pos())
        .map(|text| support::row(table, text))
        .collect()
}

fn columns(table: &Table, text: &str) -> Vec<rukh_catalog::ColumnId> {
    support::split(text)
        .iter()
        .map(|name| table.column_named(name).unwrap().id)
        .collect()
}

/// Reads the row that a statement wants to change.
fn stored(write: &Write, table: &Table, key: &str) -> Result<Row, Box<dyn Error>> {
    let row = write
        .snapshot()
        .get(table, &support::key(&table.key_layout(), key))?;
    Ok(row.ok_or("no such row")?)
}

fn source(table: &Table, index: Option<&str>) -> Result<(Source, KeyLayout), Box<dyn Error>> {
    let Some(name) = index else {
        return Ok((Source::Table, table.key_layout()));
    };
    let index = table.index_named(name).ok_or("no such index")?;
    Ok((Source::Index(index.id), index.key_layout(table)))
}
