//! Settings of a session: SET, SHOW.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use rukh_syntax::{Isolation, serializable};

use crate::exec::session_settings::client_settings::ClientSettings;
use crate::exec::session_settings::durations::{duration_text, parse_duration};
use crate::exec::session_settings::known_setting::switch;
use crate::exec::session_settings::search_path::SearchPath;
use crate::exec::session_settings::sizes::{bytes, bytes_text};
use rukh_error::SqlError;

/// The name of the user where none was given.
pub(crate) const USER: &str = "rukh";

/// Ways of reading that the planner may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Methods {
    /// Joins that look up the rows of one side, by the keys of the other.
    pub(crate) lookup_join: bool,
    /// Joins by hash tables; off, lookups are taken wherever they can be.
    pub(crate) hash_join: bool,
    /// Joins of inputs in one order without hash tables.
    pub(crate) merge_join: bool,
    /// Two indexes for two conditions.
    pub(crate) index_intersection: bool,
    /// Several indexes for the arms of one OR.
    pub(crate) index_union: bool,
    /// Scans that are narrowed by what joins above them find out.
    pub(crate) runtime_filter: bool,
    /// Whether groups of columnar scans are numbered, where they are few.
    pub(crate) few_groups: bool,
    /// Whether counts, least and greatest values of columnar scans are read from the heads of blocks.
    pub(crate) block_totals: bool,
}

impl Default for Methods {
    fn default() -> Self {
        Methods {
            lookup_join: true,
            hash_join: true,
            merge_join: true,
            index_intersection: true,
            index_union: true,
            runtime_filter: true,
            few_groups: true,
            block_totals: true,
        }
    }
}

/// What a transaction does about rows that another changes, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WhenLocked {
    /// No transaction waits; the second to commit fails.
    #[default]
    Fail,
    /// Rows are locked when they are changed, and the second waits.
    Wait,
}

/// The settings of a session.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Least duration of statements that are logged; none are.
    pub(crate) log_min_duration: Option<Duration>,
    /// What the database was opened with.
    pub(crate) opened: Opened,
    /// Whether a load of many rows is followed by ANALYZE.
    pub(crate) auto_analyze: bool,
    /// Whether a commit waits until it is on disk.
    pub(crate) synchronous_commit: bool,
    /// Which way queries run.
    pub(crate) path: PathSetting,
    /// Ways of reading that the planner may take.
    pub(crate) methods: Methods,
    /// Whether transactions may only read, unless they say otherwise.
    pub(crate) default_transaction_read_only: bool,
    /// Whether the present transaction may only read.
    pub(crate) transaction_read_only: bool,
    /// What transactions see of others, unless they say otherwise.
    pub(crate) default_isolation: Isolation,
    /// What the present transaction sees of others, if it waits for them.
    pub(crate) isolation: Isolation,
    /// What transactions do about rows that others change, too.
    pub(crate) conflict: WhenLocked,
    /// Whether new tables are columnar, unless they say otherwise.
    pub(crate) columnar_tables: bool,
    /// Memory that the session's queries may take, bytes; 0 is as much as there is.
    pub(crate) query_memory_bytes: u64,
    /// The role that the session counts as.
    pub(crate) session_authorization: Arc<str>,
    /// The role whose rights statements have, if SET ROLE has named another than that of the session.
    pub(crate) role: Option<Arc<str>>,
    /// Where names without a schema are looked up.
    pub(crate) search_path: SearchPath,
    /// The schema of the session's temporary relations, which is made with the first of them.
    pub(crate) temporary_schema: Arc<str>,
    /// Settings of PostgreSQL's clients.
    pub(crate) client: ClientSettings,
}

/// The settings of a session, which its statements see as they were when they began.
#[derive(Clone, Debug)]
pub(crate) struct SharedSettings(Arc<Settings>);

impl From<Settings> for SharedSettings {
    fn from(settings: Settings) -> Self {
        SharedSettings(Arc::new(settings))
    }
}

impl Deref for SharedSettings {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.0
    }
}

impl DerefMut for SharedSettings {
    fn deref_mut(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.0)
    }
}

/// What the database was opened with: defaults of sessions, and what none can change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opened {
    /// From which duration on a statement is logged.
    pub(crate) log_min_duration: Option<Duration>,
    /// The memory budget, in bytes.
    pub(crate) memory_bytes: u64,
}

impl Settings {
    /// Returns the settings of a new session.
    pub(crate) fn new(opened: Opened) -> Self {
        Settings {
            log_min_duration: opened.log_min_duration,
            opened,
            auto_analyze: true,
            synchronous_commit: true,
            path: PathSetting::Auto,
            methods: Methods::default(),
            default_transaction_read_only: false,
            transaction_read_only: false,
            default_isolation: Isolation::default(),
            isolation: Isolation::default(),
            conflict: WhenLocked::default(),
            columnar_tables: false,
            query_memory_bytes: 0,
            session_authorization: USER.into(),
            role: None,
            search_path: SearchPath::default(),
            temporary_schema: "".into(),
            client: ClientSettings::default(),
        }
    }
}

/// Names of all settings, with what they are for.
const KNOWN: [(&str, &str); 23] = [
    ("auto_analyze", "whether COPY of many rows is followed by ANALYZE"),
    (
        "conflict",
        "what a transaction does about a row that another has changed: wait for its end, or fail at COMMIT",
    ),
    (
        "default_table_access_method",
        "how new tables are stored: heap, by rows, or columnar",
    ),
    (
        "default_transaction_isolation",
        "the isolation level of new transactions",
    ),
    (
        "default_transaction_read_only",
        "whether new transactions may only read",
    ),
    (
        "enable_blocktotals",
        "whether counts, least and greatest values of columnar scans are read from the heads of blocks",
    ),
    (
        "enable_fewgroups",
        "whether groups of columnar scans that are known to be few are numbered",
    ),
    (
        "enable_hashjoin",
        "whether joins by hash tables are considered, where lookups could do",
    ),
    (
        "enable_indexintersection",
        "whether two indexes for two conditions are considered",
    ),
    (
        "enable_indexunion",
        "whether several indexes for the arms of one OR are considered",
    ),
    (
        "enable_lookupjoin",
        "whether joins that look up rows by key are considered",
    ),
    (
        "enable_mergejoin",
        "whether joins of large inputs in the order of what is compared are merges",
    ),
    (
        "enable_runtimefilter",
        "whether scans are narrowed by what joins above them find out while they run",
    ),
    (
        "execution_path",
        "auto, or general to run every query by DataFusion",
    ),
    (
        "log_min_duration_statement",
        "from which duration on a statement is written to the log, with its plan; -1 is never",
    ),
    (
        "memory_limit",
        "memory of cache, buffers, queries and loads together, set when the database is opened",
    ),
    (
        "query_memory_limit",
        "memory that the session's queries may take, in kB or with its unit; 0 is as much as there is",
    ),
    (
        "role",
        "the role whose rights statements have; none is that of the session",
    ),
    ("search_path", "where names without a schema are looked up"),
    (
        "session_authorization",
        "the role that the session counts as; that by which it was begun, unless a superuser sets another",
    ),
    ("synchronous_commit", "whether a commit waits until it is on disk"),
    (
        "transaction_isolation",
        "the isolation level of the present transaction",
    ),
    (
        "transaction_read_only",
        "whether the present transaction may only read",
    ),
];

impl Settings {
    /// Sets a setting; fails with 42704 on an unknown name and 22023 on a value it does not take.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        match name {
            "auto_analyze" => self.auto_analyze = boolean(name, value, true)?,
            "log_min_duration_statement" if value == "default" => {
                self.log_min_duration = self.opened.log_min_duration;
            }
            "memory_limit" => {
                let message = format!("parameter \"{name}\" cannot be changed without restarting the server");
                return Err(SqlError::statement("55P02", message));
            }
            "log_min_duration_statement" => {
                self.log_min_duration = parse_duration(value).ok_or_else(|| invalid(name, value))?;
            }
            "default_table_access_method" => {
                self.columnar_tables = match value {
                    "columnar" => true,
                    "heap" | "default" => false,
                    _ => return Err(invalid(name, value)),
                }
            }
            "role" => {
                self.role = match value {
                    "none" | "default" => None,
                    name => Some(name.into()),
                }
            }
            "session_authorization" => {
                self.role = None;
                self.session_authorization = match value {
                    "default" => USER,
                    name => name,
                }
                .into();
            }
            "synchronous_commit" => {
                // There is no other machine that a commit could wait for.
                let is_on = ["local", "remote_write", "remote_apply"].contains(&value);
                self.synchronous_commit = is_on || boolean(name, value, true)?;
            }
            "default_transaction_read_only" => {
                self.default_transaction_read_only = boolean(name, value, false)?;
            }
            "transaction_read_only" => {
                self.transaction_read_only = boolean(name, value, self.default_transaction_read_only)?;
            }
            "default_transaction_isolation" => self.default_isolation = isolation(name, value)?,
            "transaction_isolation" => self.isolation = isolation(name, value)?,
            "conflict" => {
                self.conflict = match value {
                    "wait" => WhenLocked::Wait,
                    "fail" | "default" => WhenLocked::Fail,
                    _ => return Err(invalid(name, value)),
                }
            }
            "enable_blocktotals" => self.methods.block_totals = boolean(name, value, true)?,
            "enable_fewgroups" => self.methods.few_groups = boolean(name, value, true)?,
            "enable_hashjoin" => self.methods.hash_join = boolean(name, value, true)?,
            "enable_indexintersection" => self.methods.index_intersection = boolean(name, value, true)?,
            "enable_indexunion" => self.methods.index_union = boolean(name, value, true)?,
            "enable_lookupjoin" => self.methods.lookup_join = boolean(name, value, true)?,
            "enable_mergejoin" => self.methods.merge_join = boolean(name, value, true)?,
            "enable_runtimefilter" => self.methods.runtime_filter = boolean(name, value, true)?,
            "query_memory_limit" => {
                self.query_memory_bytes = match value {
                    "default" => 0,
                    value => bytes(value).ok_or_else(|| invalid(name, value))?,
                }
            }
            "search_path" => {
                self.search_path = SearchPath::parse(value)
                    .ok_or_else(|| invalid(name, value).with_detail("List syntax is invalid."))?;
            }
            "execution_path" => {
                self.path = match value {
                    "auto" | "default" => PathSetting::Auto,
                    "general" => PathSetting::General,
                    _ => return Err(invalid(name, value)),
                }
            }
            _ => return self.client.set(name, value).unwrap_or_else(|| Err(unknown(name))),
        }
        Ok(())
    }

    /// Returns the value of a setting; fails with 42704 on an unknown name.
    pub(crate) fn value(&self, name: &str) -> Result<String, SqlError> {
        match name {
            "auto_analyze" => Ok(on_or_off(self.auto_analyze)),
            "log_min_duration_statement" => Ok(duration_text(self.log_min_duration)),
            "memory_limit" => Ok(bytes_text(self.opened.memory_bytes)),
            "default_table_access_method" => Ok(match self.columnar_tables {
                true => "columnar",
                false => "heap",
            }
            .to_string()),
            "role" => Ok(self.role.as_deref().unwrap_or("none").to_string()),
            "session_authorization" => Ok(self.session_authorization.to_string()),
            "synchronous_commit" => Ok(on_or_off(self.synchronous_commit)),
            "default_transaction_read_only" => Ok(on_or_off(self.default_transaction_read_only)),
            "transaction_read_only" => Ok(on_or_off(self.transaction_read_only)),
            "default_transaction_isolation" => Ok(self.given(self.default_isolation).name().to_string()),
            "transaction_isolation" => Ok(self.given(self.isolation).name().to_string()),
            "conflict" => Ok(match self.conflict {
                WhenLocked::Wait => "wait",
                WhenLocked::Fail => "fail",
            }
            .to_string()),
            "enable_blocktotals" => Ok(on_or_off(self.methods.block_totals)),
            "enable_fewgroups" => Ok(on_or_off(self.methods.few_groups)),
            "enable_hashjoin" => Ok(on_or_off(self.methods.hash_join)),
            "enable_indexintersection" => Ok(on_or_off(self.methods.index_intersection)),
            "enable_indexunion" => Ok(on_or_off(self.methods.index_union)),
            "enable_lookupjoin" => Ok(on_or_off(self.methods.lookup_join)),
            "enable_mergejoin" => Ok(on_or_off(self.methods.merge_join)),
            "enable_runtimefilter" => Ok(on_or_off(self.methods.runtime_filter)),
            "query_memory_limit" => Ok(bytes_text(self.query_memory_bytes)),
            "search_path" => Ok(self.search_path.text().to_string()),
            "execution_path" => Ok(match self.path {
                PathSetting::Auto => "auto",
                PathSetting::General => "general",
            }
            .to_string()),
            _ => self.client.value(name).ok_or_else(|| unknown(name)),
        }
    }

    /// Returns the role whose rights statements have.
    pub(crate) fn acting_role(&self) -> &Arc<str> {
        self.role.as_ref().unwrap_or(&self.session_authorization)
    }

    /// Returns the isolation level that transactions have which ask for one: without waiting it is the stronger.
    fn given(&self, requested: Isolation) -> Isolation {
        match self.conflict {
            WhenLocked::Wait => requested,
            WhenLocked::Fail => Isolation::RepeatableRead,
        }
    }

    /// Returns the value that a setting has here, if it differs from that of a new database.
    pub(crate) fn default_of(&self, name: &str) -> Option<String> {
        let value = self.value(name).ok()?;
        let new = Settings::new(self.opened).value(name).ok();
        (new.as_ref() != Some(&value)).then_some(value)
    }

    /// Returns all settings as name, value, description.
    pub(crate) fn all(&self) -> Vec<[String; 3]> {
        let row = |(name, about): &(&str, &str)| {
            [
                name.to_string(),
                self.value(name).unwrap_or_default(),
                about.to_string(),
            ]
        };
        let mut names: Vec<(&str, &str)> = KNOWN.iter().copied().chain(ClientSettings::names()).collect();
        names.sort_unstable();
        names.iter().map(row).collect()
    }
}

fn boolean(name: &str, value: &str, default: bool) -> Result<bool, SqlError> {
    match value {
        "default" => Ok(default),
        value => switch(value).ok_or_else(|| invalid(name, value)),
    }
}

fn on_or_off(value: bool) -> String {
    if value { "on" } else { "off" }.to_string()
}

/// Reads an isolation level; fails with 0A000 on the one that there is not.
fn isolation(name: &str, value: &str) -> Result<Isolation, SqlError> {
    match value.to_ascii_lowercase().as_str() {
        "default" => Ok(Isolation::default()),
        "serializable" => Err(serializable().into()),
        level => Isolation::of_name(level).ok_or_else(|| invalid(name, value)),
    }
}

fn unknown(name: &str) -> SqlError {
    SqlError::statement(
        "42704",
        format!("unrecognized configuration parameter \"{name}\""),
    )
}

fn invalid(name: &str, value: &str) -> SqlError {
    SqlError::statement(
        "22023",
        format!("invalid value for parameter \"{name}\": \"{value}\""),
    )
}

/// Forces one way of running statements, for tests and for doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathSetting {
    /// Direct where it can be, general otherwise.
    #[default]
    Auto,
    /// Always general.
    General,
}
