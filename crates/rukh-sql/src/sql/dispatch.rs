//! From a parsed statement to its result.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::scalar::ScalarValue;
use rukh_catalog::{Catalog, Table, View};
use rukh_engine::{Engine, ScrubReport};
use rukh_keys::{DataType, Datum};
use rukh_planner::Constant;
use rukh_syntax::sqlparser::ast::{self, Expr, TimezoneInfo, Value, VisitorMut};
use rukh_syntax::{ExplainFormat, KeptStatement, ObjectName, ShowStatement, Statement, WalkMut, make};

use crate::bind::names::qualify::qualify;
use crate::bind::spelling::parsing::parse;
use crate::exec::context::{QueryStats, RunPath};
use crate::exec::held::Prepared;
use crate::exec::plan_text::ExplainOptions;
use crate::exec::rows::Rows;
use crate::exec::session_settings::notice::Notice;
use crate::exec::session_settings::progress::Task;
use crate::exec::text_batch::text_batch;
use crate::pg::show;
use crate::sql::copy;
use crate::sql::copy::CopyClient;
use crate::sql::ddl;
use crate::sql::dml;
use crate::sql::explain;
use crate::sql::locking;
use crate::sql::operations;
use crate::sql::point_write;
use crate::sql::procedures;
use crate::sql::roles;
use crate::sql::session::{Outcome, Session};
use crate::sql::statistics::analyze;
use rukh_error::SqlError;
use rukh_functions::scalars::scalar_from_datum;

/// The function whose value is the time at which a statement began.
const CLOCK: &str = "statement_timestamp";

impl Session {
    /// Returns a statement with the schemas that the search path gives its names.
    pub(crate) fn with_schemas(&self, prepared: &Prepared) -> Result<Prepared, SqlError> {
        let mut statement = self.qualified(&prepared.statement)?;
        let text = prepared.sql.as_bytes();
        if text
            .windows(CLOCK.len())
            .any(|part| part.eq_ignore_ascii_case(CLOCK.as_bytes()))
        {
            let statement = statement.get_or_insert_with(|| prepared.statement().clone());
            self.put_in_time(statement);
        }
        Ok(Prepared {
            sql: prepared.sql.clone(),
            statement: statement.map_or_else(|| prepared.statement.clone(), Arc::new),
        })
    }

    /// Puts the time at which a statement that writes began in the place of `statement_timestamp()`, which those that read call.
    fn put_in_time(&self, statement: &mut Statement) {
        struct Clock(String);

        impl VisitorMut for Clock {
            type Break = Infallible;

            fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
                if let Expr::Function(call) = expr
                    && call.name.to_string().eq_ignore_ascii_case(CLOCK)
                {
                    let time = Expr::Value(Value::SingleQuotedString(self.0.clone()).into());
                    *expr = make::cast(time, ast::DataType::Timestamp(None, TimezoneInfo::WithTimeZone));
                }
                ControlFlow::Continue(())
            }
        }

        let began = self.statement_began();
        let mut clock = Clock(rukh_keys::DataType::TIMESTAMP_TZ.format_text(&Datum::Timestamp(began)));
        let ControlFlow::Continue(()) = match statement {
            Statement::Insert(insert) => insert.ast.walk_mut(&mut clock),
            Statement::Update(update) => update.ast.walk_mut(&mut clock),
            Statement::Delete(delete) => delete.ast.walk_mut(&mut clock),
            _ => ControlFlow::Continue(()),
        };
    }

    /// Runs one statement; a closing semicolon is allowed.
    pub fn execute(&mut self, sql: &str) -> Result<Outcome, SqlError> {
        self.begin_statement();
        match self.query_template(sql) {
            Ok(None) => {
                let prepared = self.prepare(sql)?;
                self.run_prepared(&prepared, &[])
            }
            result => self.outcome(sql, result.map(|rows| ("SELECT".to_string(), rows))),
        }
    }

    /// Parses a statement to be run with parameters.
    pub fn prepare(&mut self, sql: &str) -> Result<Prepared, SqlError> {
        Ok(Prepared {
            sql: sql.into(),
            statement: Arc::new(parse(sql).inspect_err(|_| self.abort())?),
        })
    }

    /// Runs a parsed statement; `params[0]` is `$1`.
    pub fn execute_prepared(
        &mut self,
        prepared: &Prepared,
        params: &[Constant],
    ) -> Result<Outcome, SqlError> {
        self.begin_statement();
        self.run_prepared(prepared, params)
    }

    /// Runs a parsed statement that has begun.
    fn run_prepared(&mut self, prepared: &Prepared, params: &[Constant]) -> Result<Outcome, SqlError> {
        if let Statement::Kept(kept) = prepared.statement()
            && let KeptStatement::Execute { name, arguments } = kept.as_ref()
        {
            let found = self.check_allowed(&prepared.statement);
            return match found.and_then(|()| self.executed(name, arguments)) {
                Ok((inner, params)) => self.run_prepared(&inner, &params),
                Err(error) => self.outcome(&prepared.sql, Err(error)),
            };
        }
        if let Statement::Explain {
            analyze,
            alternatives,
            format,
            statement,
        } = prepared.statement()
            && let Statement::Kept(kept) = statement.as_ref()
            && let KeptStatement::Execute { name, arguments } = kept.as_ref()
        {
            let found = self.check_allowed(&prepared.statement);
            return match found.and_then(|()| self.executed(name, arguments)) {
                Ok((inner, params)) => {
                    let explained = Prepared {
                        sql: prepared.sql.clone(),
                        statement: Arc::new(Statement::Explain {
                            analyze: *analyze,
                            alternatives: *alternatives,
                            format: match format {
                                ExplainFormat::Json => ExplainFormat::JsonList,
                                other => *other,
                            },
                            statement: Box::new(inner.statement().clone()),
                        }),
                    };
                    self.run_prepared(&explained, &params)
                }
                Err(error) => self.outcome(&prepared.sql, Err(error)),
            };
        }
        let result = self
            .check_allowed(&prepared.statement)
            .and_then(|()| self.with_schemas(prepared))
            .and_then(|prepared| {
                self.check_rights(&prepared)?;
                self.dispatch_until_done(&prepared, params)
            });
        self.outcome(&prepared.sql, result)
    }

    /// Runs COPY FROM STDIN or COPY TO STDOUT, and any other statement as [`Session::execute_prepared`] does.
    pub fn execute_with_client(
        &mut self,
        prepared: &Prepared,
        params: &[Constant],
        client: &mut dyn CopyClient,
    ) -> Result<Outcome, SqlError> {
        if !matches!(prepared.statement(), Statement::Copy(_)) {
            return self.execute_prepared(prepared, params);
        }
        self.begin_statement();
        let result = self
            .check_allowed(&prepared.statement)
            .and_then(|()| self.with_schemas(prepared))
            .and_then(|prepared| {
                self.check_rights(&prepared)?;
                match prepared.statement() {
                    Statement::Copy(statement) => {
                        copy::run(self, statement, &scalars_of(params), Some(client))
                    }
                    _ => Err(SqlError::internal("COPY became another statement")),
                }
            });
        self.outcome(&prepared.sql, result.map(|tag| (tag, None)))
    }

    /// Makes the outcome of a statement from its tag and rows; an error gets its place in the text,
    /// and aborts the transaction.
    fn outcome(
        &mut self,
        sql: &str,
        result: Result<(String, Option<Rows>), SqlError>,
    ) -> Result<Outcome, SqlError> {
        self.end_in_block();
        let result = result.inspect_err(|_| self.abort());
        let watch = self.watch(sql);
        let (tag, mut rows) = result.map_err(|error| crate::bind::names::place::located(error, sql))?;
        let counting = self.counting(sql);
        match &mut rows {
            Some(rows) => {
                rows.watch(watch);
                rows.count_by(counting);
            }
            None => drop(counting.map(|counting| counting.changed(&tag))),
        }
        if let (Some(rows), Some(aborted)) = (&mut rows, self.aborted()) {
            rows.abort_on_error(aborted);
        }
        Ok(Outcome {
            tag,
            rows,
            notices: self.take_notices(),
        })
    }

    /// Runs a statement that writes rows; `None` for any other. Returns the tag, and the rows of RETURNING.
    pub(crate) fn write(
        &mut self,
        statement: &Statement,
        params: &[ScalarValue],
    ) -> Result<Option<(String, Option<Rows>)>, SqlError> {
        if let Some(tag) = point_write::run(self, statement, params)? {
            return Ok(Some((tag, None)));
        }
        let verb = verb_of(statement);
        let done = match statement {
            Statement::Insert(insert) => dml::insert(self, insert, params)?,
            Statement::Update(update) => dml::update(self, update, params)?,
            Statement::Delete(delete) => dml::delete(self, delete, params)?,
            Statement::Merge(merge) => dml::merge(self, merge, params)?,
            Statement::Writes(writes) => return dml::writes(self, writes, params).map(Some),
            _ => return Ok(None),
        };
        Ok(Some(tagged(verb, done)))
    }

    /// Runs a statement, again where it has failed because others changed the same rows and it may see a newer state.
    fn dispatch_until_done(
        &mut self,
        prepared: &Prepared,
        params: &[Constant],
    ) -> Result<(String, Option<Rows>), SqlError> {
        if !self.is_in_block() && self.needs_block(prepared) {
            return self.in_own_block(|session| session.dispatch_until_done(prepared, params));
        }
        let start = self.begin_again_from(&prepared.statement);
        loop {
            let result = self.dispatch(prepared, params);
            let again = result.is_err() && self.may_run_again(start.as_ref())?;
            if !again {
                self.statement_locks = None;
                if result.is_ok() && !self.is_in_block() {
                    self.commit_temporary()?;
                }
                return result;
            }
        }
    }

    /// Runs a statement of a block, in the transaction of the block.
    pub(crate) fn run_within(&mut self, prepared: &Prepared) -> Result<(String, Option<Rows>), SqlError> {
        self.check_allowed(&prepared.statement)?;
        self.begin_in_block();
        let prepared = self.with_schemas(prepared)?;
        self.check_rights(&prepared)?;
        let done = self.dispatch_until_done(&prepared, &[]);
        self.end_in_block();
        done
    }

    fn dispatch(
        &mut self,
        prepared: &Prepared,
        params: &[Constant],
    ) -> Result<(String, Option<Rows>), SqlError> {
        if let Statement::Query(query) = prepared.statement.as_ref()
            && query.locks.is_empty()
            && let Some(rows) = self.query_direct(&prepared.sql, query, params)?
        {
            return Ok(("SELECT".to_string(), Some(rows)));
        }
        let (constants, params) = (params, &scalars_of(params));
        if let Some(written) = self.write(&prepared.statement, params)? {
            return Ok(written);
        }
        match prepared.statement.as_ref() {
            Statement::Query(query) if !query.locks.is_empty() => {
                Ok(("SELECT".to_string(), Some(locking::query(self, query, params)?)))
            }
            Statement::Query(query) => {
                let snapshot = self.snapshot();
                let context = self.context(snapshot, query)?;
                let rows = self.query(query, params, &context)?;
                Ok(("SELECT".to_string(), Some(rows)))
            }
            Statement::Explain {
                analyze,
                alternatives,
                format,
                statement,
            } => {
                let options = ExplainOptions {
                    analyze: *analyze,
                    alternatives: *alternatives,
                    format: *format,
                };
                let rows = explain::explain(self, statement, options, params)?;
                Ok(("EXPLAIN".to_string(), Some(rows)))
            }
            Statement::Show(show) => Ok(("SHOW".to_string(), Some(self.show(show)?))),
            Statement::CheckTable { name } => {
                let table = self.table(name)?;
                let task = self.task(format!("check table {}", table.name), "rows");
                let snapshot = self.snapshot();
                let report = self.engine().check_table_at(&snapshot, table.id, &task)?;
                self.mark_broken(&snapshot.catalog, &report)?;
                Ok(("CHECK TABLE".to_string(), Some(scrub_rows(&report)?)))
            }
            Statement::CheckIndex { name } => {
                let catalog = self.catalog();
                let schema = name.schema.as_deref().unwrap_or("public");
                let found = catalog.index_named(schema, &name.name);
                let index = found
                    .map_err(|error| SqlError::from(error).at(name.position))?
                    .1
                    .id;
                let task = self.task(format!("check index {}", name.name), "entries");
                let snapshot = self.snapshot();
                let report = self.engine().check_index_at(&snapshot, index, &task)?;
                self.mark_broken(&snapshot.catalog, &report)?;
                Ok(("CHECK INDEX".to_string(), Some(scrub_rows(&report)?)))
            }
            Statement::Analyze { table } => {
                for table in self.tables(table.as_ref())? {
                    analyze(self, &table)?;
                }
                Ok(("ANALYZE".to_string(), None))
            }
            Statement::Copy(statement) => Ok((copy::run(self, statement, params, None)?, None)),
            Statement::Backup { directory, keep } => {
                let rows = operations::backup(self, directory, *keep)?;
                Ok(("BACKUP".to_string(), Some(rows)))
            }
            Statement::Checkpoint { directory } => {
                operations::checkpoint(self, directory.as_deref())?;
                Ok(("CHECKPOINT".to_string(), None))
            }
            Statement::Compact { table } => {
                operations::compact(self, table.as_ref())?;
                Ok(("COMPACT".to_string(), None))
            }
            Statement::Vacuum(vacuum) => {
                operations::vacuum(self, vacuum)?;
                Ok(("VACUUM".to_string(), None))
            }
            Statement::Do(block) => {
                procedures::run::run(self, block)?;
                Ok(("DO".to_string(), None))
            }
            Statement::Lock(lock) => {
                self.lock_tables(lock)?;
                Ok(("LOCK TABLE".to_string(), None))
            }
            Statement::Set { name, value, local } => {
                self.set_setting(name, value.as_deref().unwrap_or("default"), *local)?;
                Ok(("SET".to_string(), None))
            }
            Statement::Reset { name } => {
                match name {
                    Some(name) => self.set_setting(name, "default", false)?,
                    None => self.reset_settings(false),
                }
                Ok(("RESET".to_string(), None))
            }
            Statement::Extension(statement) => Ok((ddl::extension(self, statement)?.to_string(), None)),
            Statement::Transaction(statement) => Ok((self.run_transaction(statement)?.to_string(), None)),
            Statement::Kept(statement) => self.run_kept(statement, constants),
            Statement::Role(statement) => {
                let _turn = self.begin_definition(&prepared.statement)?;
                Ok((roles::run(self, statement)?.to_string(), None))
            }
            definition => {
                let _turn = self.begin_definition(definition)?;
                let before = self.engine().catalog();
                self.begin_temporary(definition)?;
                let tag = ddl::run(self, definition)?;
                roles::claim(self, definition, &before)?;
                ddl::create_elements(self, definition)?;
                Ok((tag, None))
            }
        }
    }

    /// Runs a statement that is part of CREATE SCHEMA; names without a schema are found by `path`.
    pub(crate) fn run_element(&mut self, element: &Statement, path: &[String]) -> Result<(), SqlError> {
        let before = self.engine().catalog();
        let mut element = element.clone();
        qualify(&mut element, &before, path, &self.settings.temporary_schema)?;
        if let Some(user) = self.user() {
            roles::Checker::of(&before, &user)?.statement(&element)?;
        }
        ddl::run(self, &element)?;
        roles::claim(self, &element, &before)
    }

    /// Returns a table by name, or an error at its place.
    pub(crate) fn table(&self, name: &ObjectName) -> Result<Arc<Table>, SqlError> {
        let catalog = self.catalog();
        let schema = name.schema.as_deref().unwrap_or("public");
        let found = catalog.table_named(schema, &name.name);
        found.cloned().map_err(|_| {
            match catalog.view_named(schema, &name.name).is_some()
                || catalog.sequence_named(schema, &name.name).is_some()
            {
                true => {
                    let message = format!("\"{}\" is not a table", name.name);
                    SqlError::statement("42809", message).at(name.position)
                }
                false => name.undefined().into(),
            }
        })
    }

    fn tables(&self, name: Option<&ObjectName>) -> Result<Vec<Arc<Table>>, SqlError> {
        match name {
            Some(name) => Ok(vec![self.table(name)?]),
            None => Ok(self.catalog().tables().cloned().collect()),
        }
    }

    /// Starts a piece of long work that reports to the session's listener.
    pub(crate) fn task(&self, label: String, unit: &'static str) -> Task {
        Task::new(&self.progress, self.cancel(), label, unit)
    }

    /// Takes indexes that were found to differ from their table out of use, with a notice.
    fn mark_broken(&mut self, catalog: &Catalog, report: &ScrubReport) -> Result<(), SqlError> {
        if self.is_in_block() || self.engine().is_read_only() {
            return Ok(());
        }
        for id in &report.broken {
            // One that was rebuilt or dropped meanwhile is none of ours any more.
            let is_there = self.engine().catalog().index(*id).is_some();
            let Some((_, index)) = catalog.index(*id).filter(|_| is_there) else {
                continue;
            };
            if self.engine().mark_broken(*id)? {
                let message = format!(
                    "index \"{}\" differs from its table and is not used any more",
                    index.name
                );
                self.notice(Notice {
                    hint: Some("Fill it again with ALTER INDEX … REBUILD.".to_string()),
                    ..Notice::warning(message)
                });
            }
        }
        Ok(())
    }

    pub(crate) fn show(&mut self, statement: &ShowStatement) -> Result<Rows, SqlError> {
        let catalog = self.catalog();
        let batch = match statement {
            ShowStatement::Tables => {
                let engine = self.engine();
                let lost = |table: &Table| engine.lost(table.id);
                show::tables(&catalog, lost, |table| {
                    engine.columnar_debt(Engine::layout_id(table))
                })?
            }
            ShowStatement::Indexes { table } => {
                let table = table.as_ref().map(|name| self.table(name)).transpose()?;
                let (engine, builds) = (self.engine(), self.engine().builds());
                show::indexes(&catalog, &builds, table.as_deref(), |id| engine.columnar_debt(id))?
            }
            ShowStatement::CreateTable { name } if let Some(view) = view_named(&catalog, name) => {
                show::create_view(view)?
            }
            ShowStatement::CreateTable { name } => show::create_table(&catalog, &*self.table(name)?)?,
            ShowStatement::Columns { name } if let Some(view) = view_named(&catalog, name) => {
                show::view_columns(view)?
            }
            ShowStatement::Columns { name } => show::columns(&*self.table(name)?)?,
            ShowStatement::LastQueryStats => stats_batch(self.last_stats())?,
            ShowStatement::Stats { table } => {
                let table = table.as_ref().map(|name| self.table(name)).transpose()?;
                operations::stats(self.engine(), table.as_deref())?
            }
            ShowStatement::DatabaseStats => operations::database_stats(self.engine())?,
            ShowStatement::File { file, options } => copy::describe(file, options)?,
            ShowStatement::Backups { directory } => operations::backups(directory)?,
            ShowStatement::Setting(name) => {
                text_batch(&[shown_name_of_setting(name)], [vec![self.settings.value(name)?]])?
            }
            ShowStatement::All => {
                let all = self.settings.all();
                let column = |i: usize| all.iter().map(|row| row[i].clone()).collect::<Vec<_>>();
                text_batch(
                    &["name", "setting", "description"],
                    [column(0), column(1), column(2)],
                )?
            }
        };
        Ok(Rows::ready(batch))
    }
}

/// Returns the values of parameters. Arrow has no UUIDs: an array of them is its text, which is read where it stands.
fn scalars_of(params: &[Constant]) -> Vec<ScalarValue> {
    let scalar = |Constant { datum, ty, .. }: &Constant| match (datum, ty.element()) {
        (Datum::Null, Some(DataType::Uuid)) => ScalarValue::Utf8(None),
        (array, Some(DataType::Uuid)) => ScalarValue::Utf8(Some(ty.format_text(array))),
        _ => scalar_from_datum(datum, ty),
    };
    params.iter().map(scalar).collect()
}

/// Returns the view of a name.
fn view_named<'a>(catalog: &'a Catalog, name: &ObjectName) -> Option<&'a View> {
    let schema = name.schema.as_deref().unwrap_or("public");
    catalog.view_named(schema, &name.name).map(|view| view.as_ref())
}

/// Returns what the tag of a statement that writes begins with.
pub(crate) fn verb_of(statement: &Statement) -> &'static str {
    match statement {
        Statement::Insert(insert) if insert.upsert => "UPSERT",
        Statement::Insert(_) => "INSERT 0",
        Statement::Update(_) => "UPDATE",
        Statement::Delete(_) => "DELETE",
        Statement::Merge(_) => "MERGE",
        _ => "SELECT",
    }
}

/// Returns tag and rows of a statement that wrote.
pub(crate) fn tagged(verb: &str, written: dml::Written) -> (String, Option<Rows>) {
    (format!("{verb} {}", written.count), written.rows)
}

fn stats_batch(stats: Option<QueryStats>) -> Result<RecordBatch, SqlError> {
    let stats = stats.ok_or_else(|| SqlError::statement("55000", "no query has run in this session"))?;
    let path = match stats.path {
        RunPath::Direct => "direct",
        RunPath::General => "general",
    };
    let counters = &stats.counters;
    let numbers = [
        ("ranges", counters.ranges),
        ("seeks", counters.seeks),
        ("keys_examined", counters.keys_examined),
        ("masked_misses", counters.masked_misses),
        ("lookups", counters.lookups),
        ("rows", counters.rows),
        ("bytes_read", counters.bytes_read),
    ];
    let traffic = &stats.traffic;
    let elsewhere = [
        ("requests", traffic.requests),
        ("regions", traffic.regions),
        ("bytes_sent", traffic.bytes_sent),
        ("bytes_received", traffic.bytes_received),
    ];
    let times = [
        ("planning_us", stats.planning_us),
        ("elapsed_us", stats.elapsed_us),
    ];
    // Where the data are on this machine there are no requests to show.
    let shown = if traffic.requests > 0 { &elsewhere[..] } else { &[] };
    let mut names = vec!["path".to_string()];
    let mut values = vec![path.to_string()];
    for (name, value) in numbers.iter().chain(shown).chain(&times) {
        names.push(name.to_string());
        values.push(value.to_string());
    }
    text_batch(&["name", "value"], [names, values])
}

/// Returns what a scrub found: counts, then the findings with their keys.
fn scrub_rows(report: &ScrubReport) -> Result<Rows, SqlError> {
    let counts = [
        ("rows", report.rows),
        ("entries", report.entries),
        ("missing", report.missing),
        ("dangling", report.dangling),
        ("differing", report.differing),
        ("corrupt", report.corrupt),
    ];
    let mut columns = [Vec::new(), Vec::new(), Vec::new()];
    for (what, count) in counts {
        columns[0].push(what.to_string());
        columns[1].push(count.to_string());
        columns[2].push(String::new());
    }
    for finding in &report.findings {
        columns[0].push(format!("{:?}", finding.kind).to_lowercase());
        columns[1].push(finding.key.clone());
        columns[2].push(finding.detail.clone());
    }
    Ok(Rows::ready(text_batch(&["finding", "value", "detail"], columns)?))
}

/// Returns the name of a setting as PostgreSQL shows it: three have capitals.
fn shown_name_of_setting(name: &str) -> &str {
    const WITH_CAPITALS: [&str; 3] = ["DateStyle", "IntervalStyle", "TimeZone"];
    let shown = WITH_CAPITALS
        .into_iter()
        .find(|shown| shown.eq_ignore_ascii_case(name));
    shown.unwrap_or(name)
}
