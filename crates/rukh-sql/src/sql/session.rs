//! A session: runs statements one after another, on a snapshot each or on that of a transaction.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::catalog::TableProvider;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::scalar::ScalarValue;
use parking_lot::{Mutex, RwLock};
use rukh_catalog::TableId;
use rukh_engine::{Engine, ImportNote, ScanCounters, Snapshot, StatementLocks, Write};
use rukh_keys::Span;
use rukh_kv::{Durability, KvStore, Traffic};
use rukh_planner::Constant;
use rukh_syntax::make::select_values;
use rukh_syntax::sqlparser::ast;
use rukh_syntax::{OnCommit, Statement};

use crate::bind::names::functions::calls_any;
use crate::bind::names::qualify::{makes_temporary, qualify};
use crate::bind::names::type_names::names_types;
use crate::bind::passes::{self, PassWatch};
use crate::bind::spelling::parameters::arrays::array_parameters;
use crate::bind::spelling::parameters::frames::frame_parameters;
use crate::bind::spelling::parameters::series::has_series_parameters;
use crate::bind::spelling::parsing::parse;
use crate::bind::spelling::rewrite::{check_supported, uses_clock};
use crate::bind::types::expressions::{Functions, moment};
use crate::exec::context::{CancelHandle, QueryStats, RunPath, StatementContext};
use crate::exec::direct_plans::direct::DirectPlan;
use crate::exec::general;
use crate::exec::held::{Block, Descriptions, Kept, PLANS_MAX, Templates};
use crate::exec::hints::{TableHint, hints_of};
use crate::exec::known_statistics::KnownStatistics;
use crate::exec::operators::Abandoned;
use crate::exec::plan_text::direct_lines;
use crate::exec::rows::Rows;
use crate::exec::runtime::Runtime;
use crate::exec::session_settings::client::Identity;
use crate::exec::session_settings::notice::Notice;
use crate::exec::session_settings::progress::ProgressSink;
use crate::exec::session_settings::query_memory::QueryMemory;
use crate::exec::session_settings::search_path::{SearchPath, temporary_schema};
use crate::exec::session_settings::settings::{Opened, PathSetting, Settings, SharedSettings};
use crate::exec::session_settings::transaction_time::TransactionTime;
use crate::exec::slow_log::{Ran, SlowLog, Watch};
use crate::exec::tally::{self, Counting, ReadBy};
use crate::exec::translate::constants_of;
use crate::pg::activity;
use crate::pg::advisory::{self, Advisory};
use crate::pg::asking::{Asking, Backends, Served};
use crate::pg::catalog_provider::RukhCatalog;
use crate::pg::current::CurrentStatement;
use crate::pg::pg_catalog;
use crate::pg::sequences::{self, Sequences};
use crate::sql::background::{self, Background};
use rukh_error::SqlError;
use rukh_syntax::has_password;

/// What all sessions of one database share.
#[derive(Clone)]
pub struct Shared {
    engine: Engine,
    runtime: Arc<Runtime>,
    env: Arc<RuntimeEnv>,
    statistics: Arc<KnownStatistics>,
    parallelism: usize,
    slow_log: Arc<SlowLog>,
    opened: Opened,
    served: Served,
    /// Ends when the last session does.
    background: Option<Arc<Background>>,
    tally: Arc<tally::Entries>,
    /// Schemas of temporary relations of sessions that have ended, which are still there.
    ended_schemas: Arc<Mutex<Vec<String>>>,
}

impl Shared {
    /// Opens the engine over a store and starts the query threads.
    pub fn open(store: Arc<dyn KvStore>, read_only: bool) -> Result<Self, SqlError> {
        let engine = Engine::open(store, Arc::new(Functions), read_only)?;
        // With one part DataFusion takes what GROUP BY ROLLUP gives for sorted where the rows read are, and leaves the sort of ORDER BY out.
        let parallelism = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
        Ok(Shared {
            engine,
            runtime: Arc::new(Runtime::start()?),
            env: general::runtime_env(general::QUERY_MEMORY_MAX)?,
            statistics: Arc::default(),
            parallelism,
            slow_log: Arc::default(),
            opened: Opened::default(),
            served: Served::default(),
            background: None,
            tally: Arc::default(),
            ended_schemas: Arc::default(),
        })
    }

    /// Has statistics of tables of which much has changed gathered in the background, from now on.
    pub fn keep_statistics(&mut self) -> Result<(), SqlError> {
        if self.background.is_none() && !self.engine.is_read_only() {
            self.background = Some(Arc::new(Background::start(self.engine.clone(), background::NAP)?));
        }
        Ok(())
    }

    /// Gathers statistics of tables of which much has changed, and returns when that is done.
    pub fn refresh_statistics(&self) -> Result<(), SqlError> {
        Ok(background::refresh(&self.engine)?)
    }

    /// Says where slow statements are written, and from which duration on new sessions do so.
    pub fn set_slow_log(&mut self, log: SlowLog, min: Option<Duration>) {
        self.slow_log = Arc::new(log);
        self.opened.log_min_duration = min;
    }

    /// Divides what is left of a memory budget, `memory_bytes` in all, after the cache and the write
    /// buffers: half for queries, a quarter each for a bulk load and for the changes of a statement.
    pub fn set_memory(&mut self, memory_bytes: u64, rest_bytes: u64) -> Result<(), SqlError> {
        self.opened.memory_bytes = memory_bytes;
        let quarter = usize::try_from(rest_bytes / 4).unwrap_or(usize::MAX);
        self.env = general::runtime_env(quarter.saturating_mul(2))?;
        self.engine.set_load_bytes_max(quarter);
        self.engine.set_statement_bytes_max(rest_bytes / 4);
        self.engine.set_transaction_bytes_max(rest_bytes / 4);
        Ok(())
    }

    /// Adds a server of clients, whose sessions `pg_stat_activity` shows.
    pub fn add_backends(&self, backends: Arc<dyn Backends>) {
        self.served.add(backends);
    }

    /// Counts from now on what statements cost, for `pg_stat_statements`.
    pub fn count_statements(&self) {
        self.tally.start();
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the schemas of temporary relations that the next session that ends is to drop.
    pub(crate) fn ended_schemas(&self) -> Arc<Mutex<Vec<String>>> {
        self.ended_schemas.clone()
    }

    /// Starts a session.
    pub fn session(&self) -> Session {
        let engine = self.engine.for_session();
        let asking = Asking {
            engine: engine.clone(),
            served: self.served.clone(),
            tally: self.tally.clone(),
            who: Arc::default(),
        };
        let current = Arc::new(CurrentStatement::new(asking.clone()));
        let sequences = Arc::new(Sequences::new(engine.clone()));
        let (memory, env) = QueryMemory::within(&self.env);
        let mut state = general::session_state(env, Arc::new(RukhCatalog::new(current.clone())));
        sequences::register(&mut state, &sequences);
        let advisory = Arc::new(Advisory::new(engine.advisory_owner()));
        advisory::register(&mut state, &advisory);
        pg_catalog::register(&mut state, &current);
        activity::register(&mut state, &asking);
        pg_catalog::learn_functions(&state);
        let mut defaults = Settings::new(self.opened);
        defaults.temporary_schema = temporary_schema();
        Session {
            shared: self.clone(),
            state,
            memory,
            sequences,
            advisory,
            current,
            cancel: CancelHandle::default(),
            settings: defaults.clone().into(),
            defaults,
            client: Identity::default(),
            began: None,
            time: TransactionTime::new(&engine),
            engine,
            counted_from: None,
            known: tally::Known::default(),
            ran: None,
            block: None,
            statement_locks: None,
            held: Vec::new(),
            last: None,
            last_stats: None,
            writing: None,
            is_point: false,
            notices: Vec::new(),
            plans: HashMap::new(),
            templates: Templates::default(),
            described: Descriptions::default(),
            progress: ProgressSink::default(),
            imported: None,
            who: asking.who,
            kept: Kept::default(),
            permitted: HashMap::new(),
            permitted_for: String::new(),
            planned_path: SearchPath::default(),
            on_commits: Vec::new(),
        }
    }
}

/// Result of one statement.
pub struct Outcome {
    /// Command tag as PostgreSQL gives it: `SELECT`, `INSERT 0 4`, `CREATE TABLE`.
    pub tag: String,
    /// Rows, for statements that give some.
    pub rows: Option<Rows>,
    /// Messages beside the result.
    pub notices: Vec<Notice>,
}

/// Runs statements one after another.
pub struct Session {
    pub(crate) shared: Shared,
    /// The engine as the session sees it: with the definitions of its transaction.
    engine: Engine,
    pub(crate) state: SessionState,
    memory: Arc<QueryMemory>,
    pub(crate) sequences: Arc<Sequences>,
    pub(crate) advisory: Arc<Advisory>,
    current: Arc<CurrentStatement>,
    cancel: CancelHandle,
    pub(crate) settings: SharedSettings,
    /// What RESET gives.
    pub(crate) defaults: Settings,
    /// The role that runs the statements.
    pub(crate) client: Identity,
    /// When the running statement began, if slow ones are logged.
    began: Option<Instant>,
    /// The value of `now()`.
    pub(crate) time: TransactionTime,
    /// The same, if statements are counted.
    counted_from: Option<Instant>,
    /// The statements that were counted before, by their texts.
    known: tally::Known,
    /// How its query ran, if slow ones are logged.
    ran: Option<Ran>,
    pub(crate) block: Option<Block>,
    /// The rows that the running statement has locked, outside of a transaction.
    pub(crate) statement_locks: Option<Arc<StatementLocks>>,
    /// What the queries of WITH that write have returned so far, to those behind them.
    pub(crate) held: Vec<(String, Arc<dyn TableProvider>)>,
    last: Option<(Arc<StatementContext>, RunPath)>,
    /// What the last query did, once its snapshot was released.
    last_stats: Option<QueryStats>,
    /// When the running write began, and what its snapshot had counted then.
    writing: Option<(Instant, Traffic)>,
    /// Whether the running statement read a point, of which only those numbers are left.
    is_point: bool,
    notices: Vec<Notice>,
    plans: HashMap<String, CachedPlan>,
    pub(crate) templates: Templates,
    pub(crate) described: Descriptions,
    pub(crate) progress: ProgressSink,
    /// What the COPY FROM that runs stores with its rows.
    pub(crate) imported: Option<ImportNote>,
    /// Prepared statements and cursors that SQL names.
    pub(crate) kept: Kept,
    /// The role that the session is; none for an administrator's of the library.
    pub(crate) who: Arc<RwLock<Option<String>>>,
    /// Texts that the role may run, by the version of the catalog.
    pub(crate) permitted: HashMap<String, u64>,
    /// That role.
    pub(crate) permitted_for: String,
    /// The search path that all of these plans and descriptions were made with.
    planned_path: SearchPath,
    /// What COMMIT does with temporary tables.
    pub(crate) on_commits: Vec<(TableId, OnCommit)>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.block.take().is_some() {
            self.engine.leave();
        }
        self.end_temporary();
    }
}

/// A query ready to run.
pub(crate) enum Planned {
    /// One key access.
    Direct(Box<DirectPlan>),
    /// A DataFusion plan.
    General(Arc<dyn ExecutionPlan>),
}

/// The direct plan of a query text, or that it has none, for one version of the catalog.
#[derive(Clone)]
struct CachedPlan {
    version: u64,
    plan: Option<Arc<DirectPlan>>,
    hints: Arc<[TableHint]>,
}

impl Session {
    /// Returns a handle that ends the running statement from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Returns what the last query did.
    pub fn last_stats(&self) -> Option<QueryStats> {
        let last = self.last.as_ref();
        last.map(|(context, path)| context.stats(*path))
            .or_else(|| self.last_stats.clone())
    }

    /// Releases the snapshot of the last query, and a transaction's changes with it; the numbers
    /// of the query stay.
    pub(crate) fn forget_snapshot(&mut self) {
        self.retire_last();
        self.current.forget();
    }

    fn retire_last(&mut self) {
        if let Some((context, path)) = self.last.take() {
            self.last_stats = Some(context.stats(path));
        }
    }

    /// Makes a statement the one whose tables are found by name.
    pub(crate) fn set_current(&self, context: Arc<StatementContext>) {
        self.current.set(context);
    }

    /// Runs a COPY FROM, outside of a transaction block, which stores a note with its rows.
    pub fn execute_import(&mut self, sql: &str, note: ImportNote) -> Result<Outcome, SqlError> {
        self.imported = Some(note);
        let outcome = self.execute(sql);
        self.imported = None;
        outcome
    }

    /// Sets the receiver of progress reports.
    pub fn set_progress(&mut self, sink: ProgressSink) {
        self.progress = sink;
    }

    /// Returns the engine, with the definitions of the transaction that the session is in.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn cancel(&self) -> &CancelHandle {
        &self.cancel
    }

    pub(crate) fn runtime(&self) -> &Arc<Runtime> {
        &self.shared.runtime
    }

    pub(crate) fn check_cancel(&self) -> Result<(), SqlError> {
        self.cancel.check()
    }

    /// Returns how a commit is made durable, by the setting `synchronous_commit`.
    pub(crate) fn durability(&self) -> Durability {
        match self.settings.synchronous_commit {
            true => Durability::Synced,
            false => Durability::Buffered,
        }
    }

    /// Sets the role of the session and the number of its connection.
    pub fn set_client(&mut self, user: &str, pid: i32) {
        self.client = Identity::new(user, pid);
        self.settings.session_authorization = user.into();
        self.defaults.session_authorization = user.into();
    }

    /// Starts a statement: forgets the notices and cancel requests of the last one.
    pub(crate) fn begin_statement(&mut self) {
        for (name, value, local) in self.client.take_changes() {
            // The call of set_config has failed if it cannot be set.
            let _ = self.set_setting(&name, &value, local);
        }
        self.forget_other_path();
        if self.block.is_none() {
            self.time = TransactionTime::new(self.engine());
        }
        self.begin_in_block();
        self.memory.set_limit(self.settings.query_memory_bytes);
        self.cancel.reset();
        self.notices.clear();
        self.began = self.settings.log_min_duration.map(|_| Instant::now());
        self.ran = None;
        self.is_point = false;
        self.counted_from = self.shared.tally.is_on().then(Instant::now);
    }

    /// Returns what counts the running statement when it has ended, if statements are counted.
    pub(crate) fn counting(&mut self, sql: &str) -> Option<Counting> {
        let started = self.counted_from.take()?;
        let who = self.who.read();
        let entry = self.shared.tally.of(sql, who.as_deref(), &mut self.known)?;
        let ran = match &self.last {
            Some((context, path)) if context.started >= started => {
                Some(ReadBy::Context(context.clone(), *path))
            }
            Some(_) => None,
            None => self
                .last_stats
                .clone()
                .filter(|_| self.is_point)
                .map(ReadBy::Past),
        };
        Some(Counting {
            entry,
            started,
            ran,
            rows: 0,
        })
    }

    /// Forgets what was planned for names as another search path finds them.
    pub(crate) fn forget_other_path(&mut self) {
        if self.planned_path != self.settings.search_path {
            self.planned_path = self.settings.search_path.clone();
            self.plans.clear();
            self.templates = Templates::default();
            self.described = Descriptions::default();
            self.permitted.clear();
        }
    }

    /// Returns a statement with the schemas that the search path gives its names; `None` if it is the same.
    pub(crate) fn qualified(&self, statement: &Statement) -> Result<Option<Statement>, SqlError> {
        let (path, user) = (&self.settings.search_path, self.path_user());
        let temporary = &self.settings.temporary_schema;
        let names_a_type = || match statement {
            Statement::Query(query) => names_types(query.as_ref()),
            Statement::Insert(insert) => {
                names_types(&insert.ast) || names_types(&insert.with) || names_types(&insert.arbiter)
            }
            Statement::Update(update) => names_types(&update.ast) || names_types(&update.with),
            Statement::Delete(delete) => names_types(&delete.ast) || names_types(&delete.with),
            _ => true,
        };
        let catalog = self.engine().catalog();
        let calls_a_function = || match statement {
            Statement::Query(query) => calls_any(query, &catalog),
            _ => true,
        };
        let is_plain = path.is_public(&catalog, user, temporary) && !makes_temporary(statement);
        if is_plain && !names_a_type() && (catalog.functions().next().is_none() || !calls_a_function()) {
            return Ok(None);
        }
        let catalog = self.catalog();
        let mut statement = statement.clone();
        let schemas = path.schemas(&catalog, user, temporary);
        qualify(&mut statement, &catalog, &schemas, temporary)?;
        Ok(Some(statement))
    }

    /// Returns the schemas of the search path that are there.
    pub(crate) fn path(&self) -> Vec<String> {
        let catalog = self.engine().catalog();
        let settings = &self.settings;
        settings
            .search_path
            .schemas(&catalog, self.path_user(), &settings.temporary_schema)
    }

    /// Returns the user whose schema may be in the search path.
    fn path_user(&self) -> &str {
        self.settings.acting_role()
    }

    /// Returns the log entry of the running statement, should it turn out to be slow; no log has a text that may
    /// have a password.
    pub(crate) fn watch(&mut self, sql: &str) -> Option<Watch> {
        let min = self.settings.log_min_duration.filter(|_| !has_password(sql))?;
        Some(Watch {
            min,
            log: self.shared.slow_log.clone(),
            started: self.began?,
            sql: sql.to_string(),
            ran: self.ran.take(),
        })
    }

    /// Adds a message to the running statement's result.
    pub(crate) fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// Adds notices to the running statement's result.
    pub(crate) fn notices(&mut self, messages: &[String]) {
        self.notices
            .extend(messages.iter().map(|message| Notice::new(message.clone())));
    }

    /// Forgets what a statement has said and held that is run again.
    pub(crate) fn forget_messages(&mut self) {
        self.notices.clear();
        self.held.clear();
    }

    /// Takes the notices of the running statement, or of the last one if it failed: those of a statement that ended are in its outcome.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        if let Some((context, _)) = &self.last {
            self.notices.append(&mut context.notices.lock());
        }
        std::mem::take(&mut self.notices)
    }

    /// Makes the context of a query on a snapshot, with the query's hints.
    pub(crate) fn context(
        &self,
        snapshot: Snapshot,
        query: &ast::Query,
    ) -> Result<Arc<StatementContext>, SqlError> {
        check_supported(query)?;
        self.advisory.set_timeout(self.patience().timeout);
        let (hints, notices) = hints_of(query);
        let context = self.context_with(snapshot, hints);
        notices.into_iter().for_each(|notice| context.notice(notice));
        Ok(Arc::new(context))
    }

    fn context_with(&self, snapshot: Snapshot, hints: Vec<TableHint>) -> StatementContext {
        let Shared {
            engine,
            statistics,
            parallelism,
            ..
        } = &self.shared;
        let (engine, statistics) = (engine.clone(), statistics.clone());
        let began = self.statement_began();
        StatementContext::new(
            engine,
            snapshot,
            statistics,
            hints,
            self.cancel.clone(),
            *parallelism,
            self.client.with(&self.settings),
        )
        .with_tables(self.held.clone())
        .at(began)
    }

    /// Returns when a statement that begins now begins, in microseconds since 1970: outside of a block it is a transaction.
    pub(crate) fn statement_began(&self) -> i64 {
        match self.is_in_block() {
            true => self.engine().now(),
            false => self.time.micros(),
        }
    }

    /// Makes the context of a statement that needs no plan.
    pub(crate) fn plain_context(&self, snapshot: Snapshot) -> Arc<StatementContext> {
        let context = self.context_with(snapshot, Vec::new());
        context.planned();
        Arc::new(context)
    }

    /// Makes a statement that ran without a plan the last one.
    pub(crate) fn ran_directly(&mut self, context: Arc<StatementContext>, counters: &ScanCounters) {
        context.totals.add(counters);
        context.totals.add_rows(counters.rows);
        context.finished();
        self.last = Some((context, RunPath::Direct));
    }

    /// Notes that a write begins, which may read by a query.
    pub(crate) fn begins_write(&mut self, write: &Write) {
        self.retire_last();
        self.writing = Some((Instant::now(), write.snapshot().traffic()));
    }

    /// Adds what a commit took to what is known of the query that the write has read by; makes the write the last query where it had none.
    pub(crate) fn committed(&mut self, read: Traffic, commit: Traffic) {
        if let Some((context, _)) = &self.last {
            return context.add_commit(commit);
        }
        let Some((began, before)) = self.writing.take() else {
            return;
        };
        let mut traffic = read - before;
        traffic += commit;
        self.last_stats = Some(QueryStats {
            path: RunPath::Direct,
            counters: ScanCounters::default(),
            traffic,
            planning_us: 0,
            elapsed_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        });
    }

    /// Makes a query that needed no context the last one.
    pub(crate) fn ran_point(&mut self, stats: QueryStats) {
        self.last = None;
        self.last_stats = Some(stats);
        self.is_point = true;
    }

    /// Plans a query: directly when it is one key access, generally otherwise.
    pub(crate) fn plan(
        &mut self,
        query: &ast::Query,
        params: &[ScalarValue],
        context: &Arc<StatementContext>,
    ) -> Result<Planned, SqlError> {
        self.last = Some((context.clone(), RunPath::General));
        self.current.set(context.clone());
        self.state.mark_start_execution();
        self.state.execution_props_mut().query_execution_start_time = moment(self.time.micros());
        let runtime = self.runtime().clone();
        let logical = runtime.block_on(passes::logical_plan(
            &self.state,
            &context.snapshot.catalog,
            query,
            params,
        ))?;
        if self.settings.path == PathSetting::Auto
            && let Some(plan) = DirectPlan::of(&logical)?
            && plan.paths(context, &[]).is_some()
        {
            return Ok(Planned::Direct(Box::new(plan)));
        }
        let physical = runtime.block_on(general::physical_plan(&self.state, &logical))?;
        Ok(Planned::General(physical))
    }

    /// Returns the spans of the primary key that hold just the rows which a query asks for, where there are such.
    pub(crate) fn spans_of(
        &mut self,
        query: &ast::Query,
        params: &[ScalarValue],
        context: &Arc<StatementContext>,
    ) -> Result<Option<Vec<Span>>, SqlError> {
        let runtime = self.runtime().clone();
        let catalog = &context.snapshot.catalog;
        let logical = runtime.block_on(passes::logical_plan(&self.state, catalog, query, params))?;
        let plan = DirectPlan::of(&logical)?;
        Ok(plan.and_then(|plan| plan.proven_spans(context)))
    }

    /// Returns the optimised logical plan of a query, which is not run.
    pub(crate) fn plan_of(&mut self, query: &ast::Query) -> Result<LogicalPlan, SqlError> {
        self.watched_plan_of(query, &mut |_, _| {})
    }

    /// [`Session::plan_of`], which shows `watch` what each pass makes.
    pub(crate) fn watched_plan_of(
        &mut self,
        query: &ast::Query,
        watch: &mut PassWatch<'_>,
    ) -> Result<LogicalPlan, SqlError> {
        let context = self.context(self.engine().snapshot(), query)?;
        self.current.set(context.clone());
        let runtime = self.runtime().clone();
        let catalog = &context.snapshot.catalog;
        runtime.block_on(passes::watched_plan(&self.state, catalog, query, &[], watch))
    }

    /// Starts a planned query.
    pub(crate) fn run(
        &mut self,
        planned: &Planned,
        context: &Arc<StatementContext>,
    ) -> Result<Rows, SqlError> {
        match planned {
            Planned::Direct(plan) => {
                if self.settings.log_min_duration.is_some() {
                    self.ran = Some(Ran::Direct(direct_lines(plan, context, &[])));
                }
                let cursor = plan.start(context, &[])?;
                let cursor =
                    cursor.ok_or_else(|| SqlError::internal("a direct plan holds when it was chosen"))?;
                self.last = Some((context.clone(), RunPath::Direct));
                Ok(Rows::direct(cursor, context.clone()))
            }
            Planned::General(physical) => {
                context.planned();
                if self.settings.log_min_duration.is_some() {
                    self.ran = Some(Ran::General(physical.clone(), context.clone()));
                }
                // Operators spawn tasks as they start, which takes the query threads' context.
                let abandoned = Abandoned::default();
                let start = async { general::start(&self.state, physical.clone(), &abandoned) };
                let stream = self.runtime().block_on(start)?;
                let running = self.runtime().run(stream, abandoned);
                Ok(Rows::running(running, context.clone()))
            }
        }
    }

    /// Plans and starts a query.
    pub(crate) fn query(
        &mut self,
        query: &ast::Query,
        params: &[ScalarValue],
        context: &Arc<StatementContext>,
    ) -> Result<Rows, SqlError> {
        let planned = self.plan(query, params, context)?;
        self.run(&planned, context)
    }

    /// Runs a query by its cached direct plan, if it has one that holds for these parameters.
    pub(crate) fn query_direct(
        &mut self,
        sql: &str,
        query: &ast::Query,
        params: &[Constant],
    ) -> Result<Option<Rows>, SqlError> {
        if self.settings.path != PathSetting::Auto {
            return Ok(None);
        }
        let version = self.catalog_version();
        let known = match self.plans.get(sql) {
            Some(cached) if cached.version == version => Some(cached.clone()),
            _ => {
                let snapshot = self.snapshot();
                self.cache_plan(sql, query, snapshot)?
            }
        };
        let Some(CachedPlan {
            version,
            plan: Some(plan),
            hints,
        }) = known
        else {
            return Ok(None);
        };
        match constants_of(params) {
            Some(params) => self.start_direct(&plan, &hints, version, &params),
            None => Ok(None),
        }
    }

    /// Starts a direct plan with these parameters, if it holds for them; it was made for a version of the
    /// catalog.
    pub(crate) fn start_direct(
        &mut self,
        plan: &DirectPlan,
        hints: &[TableHint],
        version: u64,
        params: &[Constant],
    ) -> Result<Option<Rows>, SqlError> {
        if let Some(point) = plan.point()
            && hints.is_empty()
            && let Some(rows) = self.read_point(point, version, params)?
        {
            return Ok(Some(rows));
        }
        if let Some(prefix) = plan.prefix()
            && hints.is_empty()
            && let Some(rows) = self.read_prefix(plan, prefix, version, params)?
        {
            return Ok(Some(rows));
        }
        let snapshot = self.snapshot();
        if snapshot.catalog.version != version {
            return Ok(None);
        }
        let context = Arc::new(self.context_with(snapshot, hints.to_vec()));
        let Some(cursor) = plan.start(&context, params)? else {
            return Ok(None);
        };
        if self.settings.log_min_duration.is_some() {
            self.ran = Some(Ran::Direct(direct_lines(plan, &context, params)));
        }
        self.last = Some((context.clone(), RunPath::Direct));
        Ok(Some(Rows::direct(cursor, context)))
    }

    /// Makes the direct plan of a text without parameters, or with open ones.
    pub(crate) fn direct_plan(
        &mut self,
        sql: &str,
        snapshot: &Snapshot,
    ) -> Option<(DirectPlan, Vec<TableHint>)> {
        let statement = parse(sql).ok()?;
        let statement = self.qualified(&statement).ok()?.unwrap_or(statement);
        let Statement::Query(query) = statement else {
            return None;
        };
        if uses_clock(&query) || has_values(&query) {
            return None;
        }
        let context = self.context(snapshot.clone(), &query).ok()?;
        self.current.set(context.clone());
        let logical =
            self.runtime()
                .block_on(passes::logical_plan(&self.state, &snapshot.catalog, &query, &[]));
        let plan = DirectPlan::of(&logical.ok()?).ok()??;
        let silent = context.notices.lock().is_empty();
        silent.then(|| (plan, context.hints.clone()))
    }

    /// Makes the direct plan of a query with its parameters left open, and keeps it.
    ///
    /// Queries that have hints which cannot apply are not kept: their notices would be lost.
    fn cache_plan(
        &mut self,
        sql: &str,
        query: &ast::Query,
        snapshot: Snapshot,
    ) -> Result<Option<CachedPlan>, SqlError> {
        let version = snapshot.catalog.version;
        let context = self.context(snapshot, query)?;
        self.current.set(context.clone());
        let logical = self.runtime().block_on(passes::logical_plan(
            &self.state,
            &context.snapshot.catalog,
            query,
            &[],
        ));
        let plan = match logical {
            Ok(logical) if !uses_clock(query) && !has_values(query) => {
                DirectPlan::of(&logical)?.map(Arc::new)
            }
            _ => None,
        };
        if !context.notices.lock().is_empty() {
            return Ok(None);
        }
        let cached = CachedPlan {
            version,
            plan,
            hints: context.hints.clone().into(),
        };
        if self.plans.len() >= PLANS_MAX {
            self.plans.clear();
        }
        self.plans.insert(sql.to_string(), cached.clone());
        Ok(Some(cached))
    }

    /// Plans and starts a query that sees tables of its own.
    pub(crate) fn query_with_rows(
        &mut self,
        snapshot: &Snapshot,
        query: &ast::Query,
        params: &[ScalarValue],
        tables: Vec<(String, Arc<dyn TableProvider>)>,
    ) -> Result<Rows, SqlError> {
        check_supported(query)?;
        let context = self.context_with(snapshot.clone(), Vec::new());
        self.query(query, params, &Arc::new(context.with_tables(tables)))
    }

    /// Evaluates an expression that reads no table but in its subqueries, which see the queries of `with`.
    pub(crate) fn evaluate(
        &mut self,
        snapshot: &Snapshot,
        with: Option<&ast::With>,
        expr: &ast::Expr,
        params: &[ScalarValue],
    ) -> Result<ScalarValue, SqlError> {
        let query = ast::Query {
            with: with.cloned(),
            ..select_values(vec![ast::SelectItem::UnnamedExpr(expr.clone())])
        };
        let context = self.context(snapshot.clone(), &query)?;
        let mut rows = self.query(&query, params, &context)?;
        let mut value = ScalarValue::Null;
        while let Some(batch) = rows.next_batch()? {
            if batch.num_rows() > 0 {
                value = ScalarValue::try_from_array(batch.column(0), 0)?;
            }
        }
        Ok(value)
    }
}

/// Whether a query has parameters whose values are put into it before it is planned.
fn has_values(query: &ast::Query) -> bool {
    !array_parameters(query).is_empty() || !frame_parameters(query).is_empty() || has_series_parameters(query)
}
