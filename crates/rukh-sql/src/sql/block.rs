//! Transaction blocks: what is between BEGIN and COMMIT, with PostgreSQL's states and messages.
//!
//! | state   | until                                 | statements                                        |
//! |---------|---------------------------------------|---------------------------------------------------|
//! | none    | BEGIN                                 | each is a transaction of its own                  |
//! | open    | an error; COMMIT, ROLLBACK            | read and write the block's transaction            |
//! | aborted | ROLLBACK TO; COMMIT, which rolls back | are refused with 25P02                            |
//!
//! The block's transaction, with its snapshot, starts with the first statement that needs one. An
//! error aborts the block wherever it comes up: in the text of a statement, in its run, or among its
//! rows as they are read. Settings go back with the block, or with a part of it.
//!
//! Definitions change with the block, too. What cannot be taken back is refused inside of one: statements about files and upkeep.

use std::sync::Arc;
use std::time::Duration;

use rukh_catalog::{Catalog, ForeignTiming, Table};
use rukh_engine::{
    LockWait, Patience, Row, RowLock, Savepoint, Snapshot, StatementLocks, Transaction, Write,
};
use rukh_syntax::{
    CopyDirection, Discarded, FunctionStatement, IndexAction, Isolation, KeptStatement, LockStatement, Name,
    ObjectName, Ownable, SchemaStatement, Statement, TransactionModes, TransactionStatement, TypeStatement,
};

use crate::exec::held::{Block, NamedSavepoint, Prepared, TransactionStatus};
use crate::exec::rows::Aborted;
use crate::exec::session_settings::client_settings::has_no_effect;
use crate::exec::session_settings::notice::Notice;
use crate::exec::session_settings::settings::{Settings, WhenLocked};
use crate::exec::session_settings::transaction_time::TransactionTime;
use crate::sql::session::Session;
use rukh_error::SqlError;

impl Session {
    /// Returns whether the session is in a transaction block, and whether that is aborted.
    pub fn transaction_status(&self) -> TransactionStatus {
        match &self.block {
            None => TransactionStatus::Idle,
            Some(block) if block.aborted.is_set() => TransactionStatus::Aborted,
            Some(_) => TransactionStatus::Open,
        }
    }

    /// Returns what a statement reads: the state of the block's transaction, or the newest.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        match self.block {
            None => self.engine().snapshot(),
            Some(_) => self.transaction().snapshot(),
        }
    }

    /// Returns the version of the definitions that a statement sees.
    pub(crate) fn catalog_version(&self) -> u64 {
        self.catalog().version
    }

    /// Returns the definitions that a statement sees.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.engine().catalog()
    }

    /// Begins a statement that changes rows, in the block's transaction if there is one.
    pub(crate) fn begin_write(&mut self) -> Result<Write, SqlError> {
        if self.block.is_none() && self.statement_locks.is_none() {
            self.statement_locks = self.engine().statement_locks();
        }
        let write = match self.block {
            Some(_) => self.transaction().write()?,
            None => self.engine().begin_locking(self.statement_locks.clone())?,
        };
        self.begins_write(&write);
        Ok(write)
    }

    /// Locks rows, of which the columns of the primary key are read, until the block's transaction ends.
    /// Says for each whether it is locked, see [`Transaction::lock_rows`].
    pub(crate) fn lock_rows(
        &mut self,
        table: &Table,
        rows: &[Row],
        lock: RowLock,
        wait: LockWait,
    ) -> Result<Vec<bool>, SqlError> {
        Ok(self.transaction().lock_rows(table, rows, lock, wait)?)
    }

    /// Returns how many savepoints the block has; `None` outside of a block.
    pub(crate) fn savepoints(&self) -> Option<usize> {
        self.block.as_ref().map(|block| block.savepoints.len())
    }

    /// Runs LOCK TABLE.
    pub(crate) fn lock_tables(&mut self, lock: &LockStatement) -> Result<(), SqlError> {
        self.block_for("LOCK TABLE")?;
        // The state that is locked is that of its start.
        self.transaction();
        for name in &lock.tables {
            let table = self.table(name)?;
            if !lock.others_write {
                let wait = if lock.nowait {
                    LockWait::Fail
                } else {
                    LockWait::Wait
                };
                self.transaction().lock_table(&table, wait)?;
            }
        }
        Ok(())
    }

    /// Begins a statement that changes definitions: in the block's transaction, or alone, when no other transaction has changed some. What is
    /// returned keeps others from it.
    pub(crate) fn begin_definition(
        &mut self,
        statement: &Statement,
    ) -> Result<Option<StatementLocks>, SqlError> {
        if self.block.is_some() {
            self.transaction();
            return Ok(None);
        }
        let turn = self.engine().wait_for_definitions(&self.patience())?;
        // An index may be built for hours, and its table is all that others cannot change meanwhile.
        let is_long = matches!(
            statement,
            Statement::CreateIndex(_)
                | Statement::AlterIndex { .. }
                | Statement::ReindexIndex { .. }
                | Statement::ReindexTable { .. }
        );
        Ok(turn.filter(|_| !is_long))
    }

    /// Whether the session is in a transaction block.
    pub(crate) fn is_in_block(&self) -> bool {
        self.block.is_some()
    }

    /// Returns what rows read in a block set when they meet an error.
    pub(crate) fn aborted(&self) -> Option<Aborted> {
        self.block.as_ref().map(|block| block.aborted.clone())
    }

    /// Aborts the block, if there is one.
    pub fn abort(&self) {
        if let Some(block) = &self.block {
            block.aborted.set();
            // Changes since the last savepoint are not committed, so no other session needs to wait for them.
            if let Some(transaction) = &block.transaction {
                transaction.unlock(block.newest_savepoint());
            }
        }
    }

    /// Returns how long the session's statements wait for locks of rows.
    pub(crate) fn patience(&self) -> Patience {
        let timeout = self.setting("lock_timeout").ok();
        let timeout_ms: u64 = timeout.and_then(|ms| ms.parse().ok()).unwrap_or(0);
        let cancel = self.cancel().clone();
        Patience {
            timeout: (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms)),
            cancelled: Arc::new(move || cancel.is_cancelled()),
        }
    }

    /// Has a statement of a transaction that waits for others see what it may: under READ COMMITTED the newest state.
    pub(crate) fn begin_in_block(&mut self) {
        let Some(transaction) = self.block.as_ref().and_then(|block| block.transaction.as_ref()) else {
            return;
        };
        if transaction.waits() && self.transaction_status() == TransactionStatus::Open {
            transaction.set_patience(self.patience());
            if self.settings.isolation == Isolation::ReadCommitted {
                transaction.refresh();
            }
        }
    }

    /// Notes that a statement has ended: its answer depends on the state of the block's transaction.
    pub(crate) fn end_in_block(&mut self) {
        if let Some(block) = &mut self.block
            && block.transaction.is_some()
        {
            block.fresh = false;
        }
    }

    /// Returns the state that a statement goes back to which is run again; `None` where none is.
    pub(crate) fn begin_again_from(&mut self, statement: &Statement) -> Option<Savepoint> {
        self.statement_locks = None;
        let runs_again = match statement {
            Statement::Query(query) => !query.locks.is_empty(),
            Statement::Lock(_) => true,
            statement => writes_rows(statement) || defines(statement),
        };
        let waits = self.settings.conflict == WhenLocked::Wait;
        (runs_again && waits && self.block.is_some()).then(|| self.transaction().savepoint())
    }

    /// Whether a statement that has failed is to be run again: because another has changed what it read, and the transaction
    /// may read a newer state, or because it has waited for another outside of a transaction.
    pub(crate) fn may_run_again(&mut self, start: Option<&Savepoint>) -> Result<bool, SqlError> {
        let again = match (&self.statement_locks, &self.block, start) {
            (Some(locks), None, _) => locks.wait(&self.patience())?,
            (_, Some(block), Some(start)) => self.renew(block, start),
            _ => false,
        };
        if again {
            self.check_cancel()?;
            self.forget_messages();
        }
        Ok(again)
    }

    /// Goes back to the start of a statement, on a newer state; `false` if that is not why it failed, or not allowed.
    fn renew(&self, block: &Block, start: &Savepoint) -> bool {
        let outdated = block
            .transaction
            .as_ref()
            .filter(|transaction| transaction.take_outdated());
        let Some(transaction) = outdated else {
            return false;
        };
        let committed = self.settings.isolation == Isolation::ReadCommitted;
        if !block.fresh && !committed {
            return false;
        }
        transaction.undo_to(start);
        match block.fresh {
            true => {
                transaction.start_over();
                true
            }
            false => transaction.refresh(),
        }
    }

    /// Returns the block's transaction, started if it was not. There is a block.
    fn transaction(&mut self) -> &Transaction {
        let engine = self.engine().clone();
        let patience = self.patience();
        let waits = self.settings.conflict == WhenLocked::Wait;
        let block = self.block.get_or_insert_with(|| Block::new(&self.settings));
        block.transaction.get_or_insert_with(|| {
            let transaction = match waits {
                true => engine.transaction_that_waits(patience),
                false => engine.transaction(),
            };
            engine.enter(&transaction);
            for savepoint in &mut block.savepoints {
                savepoint.state = Some(transaction.savepoint());
            }
            transaction
        })
    }

    /// Fails if a statement may not run where the session stands.
    pub(crate) fn check_allowed(&self, statement: &Statement) -> Result<(), SqlError> {
        if self.transaction_status() == TransactionStatus::Aborted && !ends_aborted(statement) {
            let message = "current transaction is aborted, commands ignored until end of transaction block";
            return Err(SqlError::statement("25P02", message));
        }
        // The statements of a block are checked one by one.
        let reads = only_reads(statement) || matches!(statement, Statement::Do(_));
        if self.settings.transaction_read_only && !reads {
            let message = format!("cannot execute {} in a read-only transaction", command(statement));
            return Err(SqlError::statement("25006", message));
        }
        if self.block.is_some() && !may_be_in_block(statement) {
            let message = format!("{} cannot run inside a transaction block", command(statement));
            return Err(SqlError::statement("25001", message));
        }
        Ok(())
    }

    /// Runs a statement about transactions; returns its tag.
    pub(crate) fn run_transaction(
        &mut self,
        statement: &TransactionStatement,
    ) -> Result<&'static str, SqlError> {
        match statement {
            TransactionStatement::Begin { start, modes } => {
                self.begin_block(*modes)?;
                Ok(if *start { "START TRANSACTION" } else { "BEGIN" })
            }
            TransactionStatement::Commit { chain } => self.commit_block(*chain),
            TransactionStatement::Rollback { chain } => self.roll_back_block(*chain),
            TransactionStatement::Savepoint(name) => self.add_savepoint(name),
            TransactionStatement::Release(name) => self.release(name),
            TransactionStatement::RollbackTo(name) => self.roll_back_to(name),
            TransactionStatement::SetConstraints { names, deferred } => {
                self.set_constraints(names, *deferred)?;
                Ok("SET CONSTRAINTS")
            }
            TransactionStatement::SetTransaction(modes) => {
                match self.block {
                    Some(_) => self.set_modes(*modes)?,
                    None => self.warn("25P01", "SET TRANSACTION can only be used in transaction blocks"),
                }
                Ok("SET")
            }
            TransactionStatement::SetCharacteristics(modes) => {
                if let Some(read_only) = modes.read_only {
                    let value = if read_only { "on" } else { "off" };
                    self.set_setting("default_transaction_read_only", value, false)?;
                }
                if let Some(level) = modes.isolation {
                    self.set_setting("default_transaction_isolation", level.name(), false)?;
                }
                Ok("SET")
            }
        }
    }

    /// Runs SET CONSTRAINTS: foreign keys are the constraints that it is about.
    fn set_constraints(&mut self, names: &[ObjectName], deferred: bool) -> Result<(), SqlError> {
        if self.block.is_none() {
            self.warn("25P01", "SET CONSTRAINTS can only be used in transaction blocks");
            return Ok(());
        }
        self.transaction();
        let (catalog, path) = (self.catalog(), self.path());
        if names.is_empty() {
            return Ok(self.transaction().set_constraints(None, deferred)?);
        }
        for name in names {
            let is_in = |schema: &String| match &name.schema {
                Some(named) => named == schema,
                None => path.contains(schema),
            };
            let tables = catalog.tables().filter(|table| is_in(&table.schema));
            let found = tables.filter_map(|table| Some((table.id, table.foreign_key(&name.name)?)));
            let found: Vec<_> = found.collect();
            if found.is_empty() {
                let message = format!("constraint \"{}\" does not exist", name.name);
                return Err(SqlError::statement("42704", message).at(name.position));
            }
            for (table, key) in found {
                if key.timing == ForeignTiming::NotDeferrable {
                    let message = format!("constraint \"{}\" is not deferrable", key.name);
                    return Err(SqlError::statement("42809", message).at(name.position));
                }
                self.transaction()
                    .set_constraints(Some((table, &key.name)), deferred)?;
            }
        }
        Ok(())
    }

    /// Whether a statement outside of a block is run in one of its own: one that waits, locks rows that others may have locked, or does several things.
    pub(crate) fn needs_block(&self, prepared: &Prepared) -> bool {
        match prepared.statement() {
            Statement::Query(query) => !query.locks.is_empty() && self.settings.conflict == WhenLocked::Wait,
            Statement::Refresh { .. } | Statement::Do(_) => true,
            statement => writes_rows(statement) && may_wait(prepared.sql()),
        }
    }

    /// Runs a statement in a transaction of its own, which waits for locks of others: so it holds up no writer but those of the rows that it
    /// has found.
    pub(crate) fn in_own_block<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.begin_block(TransactionModes::default())?;
        self.settings.conflict = WhenLocked::Wait;
        match run(self) {
            Ok(done) => self.commit_block(false).map(|_| done),
            Err(error) => {
                self.roll_back_block(false)?;
                Err(error)
            }
        }
    }

    fn begin_block(&mut self, modes: TransactionModes) -> Result<(), SqlError> {
        match self.block {
            Some(_) => self.warn("25001", "there is already a transaction in progress"),
            None => {
                self.block = Some(Block::new(&self.settings));
                self.advisory.begin();
                self.time = TransactionTime::new(self.engine());
                self.time.micros();
                self.take_default_modes();
            }
        }
        self.set_modes(modes)
    }

    fn set_modes(&mut self, modes: TransactionModes) -> Result<(), SqlError> {
        let started = self
            .block
            .as_ref()
            .is_some_and(|block| block.transaction.is_some());
        if modes.isolation.is_some() && started {
            let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
            return Err(SqlError::statement("25001", message));
        }
        if let Some(level) = modes.isolation {
            self.settings.isolation = level;
        }
        match modes.read_only {
            Some(false) if started && self.settings.transaction_read_only => {
                let message = "transaction read-write mode must be set before any query";
                Err(SqlError::statement("25001", message))
            }
            Some(read_only) => {
                self.settings.transaction_read_only = read_only;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn commit_block(&mut self, chain: bool) -> Result<&'static str, SqlError> {
        if self.transaction_status() == TransactionStatus::Aborted {
            return self.roll_back_block(chain);
        }
        if self.block.is_some()
            && let Err(error) = self.commit_temporary()
        {
            self.roll_back_block(false)?;
            return Err(error);
        }
        let Some(block) = self.end_block("COMMIT", chain)? else {
            return Ok("COMMIT");
        };
        let modes = self.modes();
        // How the commit is made durable may have been SET LOCAL.
        let durability = self.durability();
        let committed = match block.transaction {
            Some(transaction) => transaction.commit(durability).map(|_| ()),
            None => Ok(()),
        };
        self.leave_block(match committed {
            Ok(()) => block.kept,
            Err(_) => block.before,
        });
        self.kept.end_transaction(committed.is_ok());
        committed?;
        self.chain(chain, modes)?;
        Ok("COMMIT")
    }

    fn roll_back_block(&mut self, chain: bool) -> Result<&'static str, SqlError> {
        if let Some(block) = self.end_block("ROLLBACK", chain)? {
            let modes = self.modes();
            self.leave_block(block.before);
            self.kept.end_transaction(false);
            self.chain(chain, modes)?;
        }
        Ok("ROLLBACK")
    }

    /// Takes the block; a warning if there is none, or an error if another was to follow it.
    fn end_block(&mut self, verb: &str, chain: bool) -> Result<Option<Block>, SqlError> {
        if self.block.is_none() && chain {
            let message = format!("{verb} AND CHAIN can only be used in transaction blocks");
            return Err(SqlError::statement("25P01", message));
        }
        match self.block {
            Some(_) => {
                self.forget_snapshot();
                self.engine().leave();
            }
            None => self.warn("25P01", "there is no transaction in progress"),
        }
        Ok(self.block.take())
    }

    /// Goes on with these settings; statements by themselves run as the defaults say.
    fn leave_block(&mut self, settings: Settings) {
        self.advisory.end();
        self.settings = settings.into();
        self.take_default_modes();
    }

    /// Has the next transaction run as the defaults say.
    fn take_default_modes(&mut self) {
        self.settings.transaction_read_only = self.settings.default_transaction_read_only;
        self.settings.isolation = self.settings.default_isolation;
    }

    fn modes(&self) -> TransactionModes {
        TransactionModes {
            isolation: Some(self.settings.isolation),
            read_only: Some(self.settings.transaction_read_only),
        }
    }

    fn chain(&mut self, chain: bool, modes: TransactionModes) -> Result<(), SqlError> {
        match chain {
            true => self.begin_block(modes),
            false => Ok(()),
        }
    }

    fn add_savepoint(&mut self, name: &Name) -> Result<&'static str, SqlError> {
        let settings = (*self.settings).clone();
        let advisory = self.advisory.of_transaction();
        let block = self.block_for("SAVEPOINT")?;
        block.savepoints.push(NamedSavepoint {
            name: name.text.clone(),
            state: block.transaction.as_ref().map(Transaction::savepoint),
            settings,
            kept: block.kept.clone(),
            advisory,
        });
        Ok("SAVEPOINT")
    }

    /// Begins a part of the block's transaction that can be undone.
    pub(crate) fn begin_part(&mut self, name: &Name) -> Result<(), SqlError> {
        self.add_savepoint(name).map(drop)
    }

    /// Ends a part, whose changes stay.
    pub(crate) fn end_part(&mut self, name: &Name) -> Result<(), SqlError> {
        self.release(name).map(drop)
    }

    /// Ends a part, and undoes its changes.
    pub(crate) fn undo_part(&mut self, name: &Name) -> Result<(), SqlError> {
        self.roll_back_to(name)?;
        self.end_part(name)
    }

    fn release(&mut self, name: &Name) -> Result<&'static str, SqlError> {
        let block = self.block_for("RELEASE SAVEPOINT")?;
        let at = block.savepoint(name)?;
        block.savepoints.truncate(at);
        self.kept.release(at);
        Ok("RELEASE")
    }

    fn roll_back_to(&mut self, name: &Name) -> Result<&'static str, SqlError> {
        let block = self.block_for("ROLLBACK TO SAVEPOINT")?;
        let at = block.savepoint(name)?;
        block.savepoints.truncate(at + 1);
        let savepoint = &block.savepoints[at];
        if let (Some(transaction), Some(state)) = (&block.transaction, &savepoint.state) {
            transaction.roll_back_to(state);
        }
        block.kept = savepoint.kept.clone();
        // Rows read before may yet fail; they abort what was, not what is.
        block.aborted = Aborted::default();
        let (settings, advisory) = (savepoint.settings.clone(), savepoint.advisory.clone());
        self.advisory.release_since(&advisory);
        self.settings = settings.into();
        self.kept.close_cursors_after(at);
        Ok("ROLLBACK")
    }

    fn block_for(&mut self, what: &str) -> Result<&mut Block, SqlError> {
        let outside = || {
            let message = format!("{what} can only be used in transaction blocks");
            SqlError::statement("25P01", message)
        };
        self.block.as_mut().ok_or_else(outside)
    }

    /// Returns the value of a setting; fails with 42704 on an unknown name.
    pub fn setting(&self, name: &str) -> Result<String, SqlError> {
        self.settings.value(name)
    }

    /// Changes a setting as SET does.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        self.set_setting(name, value, false)
    }

    /// Sets a setting: until the end of the block if `local`, else for as long as the block's changes.
    pub(crate) fn set_setting(&mut self, name: &str, value: &str, local: bool) -> Result<(), SqlError> {
        let default = match value {
            "default" => self.defaults.default_of(name),
            _ => None,
        };
        let mut value = default.as_deref().unwrap_or(value);
        // A client may log in as a role that no CREATE ROLE has made, and set that again.
        let own = self.client.user().to_string();
        if name == "role" && value == own && self.engine().newest_catalog().role_named(value).is_none() {
            value = "none";
        }
        if local && self.block.is_none() {
            let mut unused = (*self.settings).clone();
            unused.set(name, value)?;
            self.warn("25P01", "SET LOCAL can only be used in transaction blocks");
            return Ok(());
        }
        if name == "role" && !matches!(value, "none" | "default") {
            self.check_role(value)?;
        }
        if name == "session_authorization" && value != "default" {
            self.check_authorization(value)?;
        }
        if name == "transaction_read_only" || name == "transaction_isolation" {
            return self.set_mode(name, value);
        }
        let started = self
            .block
            .as_ref()
            .is_some_and(|block| block.transaction.is_some());
        if name == "conflict" && started {
            let message = "parameter \"conflict\" must be set before any query of a transaction";
            return Err(SqlError::statement("25001", message));
        }
        self.settings.set(name, value)?;
        if has_no_effect(name) && value != "default" {
            self.notice(Notice::new(format!("parameter \"{name}\" has no effect")));
        }
        match &mut self.block {
            Some(block) if !local => block.kept.set(name, value)?,
            Some(_) => {}
            // Without a block, every statement is a transaction that takes the defaults.
            None => self.take_default_modes(),
        }
        Ok(())
    }

    /// Sets a mode of the present transaction.
    fn set_mode(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let mut wanted = (*self.settings).clone();
        wanted.set(name, value)?;
        let (read_only, level) = (wanted.transaction_read_only, wanted.isolation);
        match self.block {
            None => Ok(()),
            Some(_) => self.set_modes(TransactionModes {
                isolation: (name == "transaction_isolation").then_some(level),
                read_only: (name == "transaction_read_only").then_some(read_only),
            }),
        }
    }

    /// Makes the present settings those that RESET and DISCARD give: what a connection was begun with.
    pub fn keep_settings(&mut self) {
        self.defaults = (*self.settings).clone();
    }

    /// Gives all settings their defaults. The session counts as the role as which it did, and has its rights, unless this `is_whole`.
    pub(crate) fn reset_settings(&mut self, is_whole: bool) {
        let (read_only, isolation) = (self.settings.transaction_read_only, self.settings.isolation);
        let conflict = self.settings.conflict;
        let mut fresh = self.defaults.clone();
        if !is_whole {
            fresh.role.clone_from(&self.settings.role);
            fresh
                .session_authorization
                .clone_from(&self.settings.session_authorization);
        }
        self.settings = fresh.clone().into();
        self.take_default_modes();
        if let Some(block) = &mut self.block {
            block.kept = fresh;
            // How a transaction runs is no setting of the session.
            self.settings.transaction_read_only = read_only;
            self.settings.isolation = isolation;
            self.settings.conflict = conflict;
        }
    }

    fn warn(&mut self, sqlstate: &'static str, message: &str) {
        self.notice(Notice::warning(message).with_sqlstate(sqlstate));
    }
}

/// Whether a statement changes rows.
fn writes_rows(statement: &Statement) -> bool {
    use Statement::{Delete, Insert, Merge, Update, Writes};
    matches!(
        statement,
        Insert(_) | Update(_) | Delete(_) | Merge(_) | Writes(_)
    )
}

/// Whether the text of a statement may call `pg_sleep` or `pg_advisory_lock`, or one of their kin.
fn may_wait(sql: &str) -> bool {
    const WAITING: [&[u8]; 2] = [b"pg_sleep", b"pg_advisory"];
    let sql = sql.as_bytes();
    let starts = |at: usize, name: &[u8]| {
        let part = sql.get(at..at + name.len());
        part.is_some_and(|part| part.eq_ignore_ascii_case(name))
    };
    (0..sql.len())
        .filter(|at| sql[*at] | 0x20 == b'p')
        .any(|at| WAITING.iter().any(|name| starts(at, name)))
}

/// Whether a statement may follow an error in a block.
fn ends_aborted(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Transaction(
            TransactionStatement::Commit { .. }
                | TransactionStatement::Rollback { .. }
                | TransactionStatement::RollbackTo(_)
        )
    )
}

/// Whether a statement works on the block's transaction, or on none.
pub(crate) fn may_be_in_block(statement: &Statement) -> bool {
    if matches!(statement, Statement::Kept(kept) if **kept == KeptStatement::Discard(Discarded::All)) {
        return false;
    }
    matches!(
        statement,
        Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Writes(_)
            | Statement::Query(_)
            | Statement::Copy(_)
            | Statement::Do(_)
    ) || matches!(statement, Statement::Explain { .. })
        || defines(statement)
        || only_reads(statement)
}

/// Whether a statement changes definitions, or empties tables, and a block can take that back.
fn defines(statement: &Statement) -> bool {
    match statement {
        Statement::CreateIndex(index) => !index.concurrently,
        Statement::AlterIndex { action, .. } => matches!(
            action,
            IndexAction::RenameTo(_) | IndexAction::Rebuild | IndexAction::Enable | IndexAction::Storage(_)
        ),
        Statement::CreateTable(_)
        | Statement::DropTable { .. }
        | Statement::DropIndex { .. }
        | Statement::ReindexIndex { .. }
        | Statement::ReindexTable { .. }
        | Statement::AlterTable(_)
        | Statement::CreateView(_)
        | Statement::DropView { .. }
        | Statement::Refresh { .. }
        | Statement::Comment { .. }
        | Statement::CreateSequence { .. }
        | Statement::DropSequence { .. }
        | Statement::AlterSequence(_)
        | Statement::Truncate { .. }
        | Statement::Role(_)
        | Statement::Schema(_)
        | Statement::Type(_)
        | Statement::Function(_)
        | Statement::SetSchema { .. }
        | Statement::Rename { .. } => true,
        _ => false,
    }
}

/// Whether a statement changes neither rows nor definitions.
pub(crate) fn only_reads(statement: &Statement) -> bool {
    match statement {
        Statement::Copy(copy) => copy.direction == CopyDirection::To,
        Statement::Explain {
            analyze, statement, ..
        } => !analyze || only_reads(statement),
        Statement::Query(query) => query.locks.is_empty(),
        Statement::Show(_)
        | Statement::CheckTable { .. }
        | Statement::CheckIndex { .. }
        | Statement::Set { .. }
        | Statement::Reset { .. }
        | Statement::Extension(_)
        | Statement::Kept(_)
        | Statement::Lock(_)
        | Statement::Transaction(_) => true,
        _ => false,
    }
}

/// Returns the command that messages name.
fn command(statement: &Statement) -> &'static str {
    match statement {
        Statement::Query(_) => "SELECT FOR UPDATE",
        Statement::Insert(insert) if insert.upsert => "UPSERT",
        Statement::Insert(_) => "INSERT",
        Statement::Update(_) => "UPDATE",
        Statement::Delete(_) => "DELETE",
        Statement::Merge(_) => "MERGE",
        Statement::Writes(writes) => match &writes.statement {
            // Its WITH writes.
            Statement::Query(_) => writes.parts.first().map_or("SELECT", command),
            statement => command(statement),
        },
        Statement::CreateTable(table) if table.materialized => "CREATE MATERIALIZED VIEW",
        Statement::CreateTable(_) => "CREATE TABLE",
        Statement::CreateIndex(index) if index.concurrently => "CREATE INDEX CONCURRENTLY",
        Statement::CreateIndex(_) => "CREATE INDEX",
        Statement::DropTable { .. } => "DROP TABLE",
        Statement::DropIndex { .. } => "DROP INDEX",
        Statement::AlterTable(_) => "ALTER TABLE",
        Statement::AlterIndex { .. } => "ALTER INDEX",
        Statement::ReindexIndex { .. } | Statement::ReindexTable { .. } => "REINDEX",
        Statement::CreateView(_) => "CREATE VIEW",
        Statement::DropView {
            materialized: true, ..
        } => "DROP MATERIALIZED VIEW",
        Statement::DropView { .. } => "DROP VIEW",
        Statement::Refresh { .. } => "REFRESH MATERIALIZED VIEW",
        Statement::Comment { .. } => "COMMENT ON",
        Statement::CreateSequence { .. } => "CREATE SEQUENCE",
        Statement::DropSequence { .. } => "DROP SEQUENCE",
        Statement::Truncate { .. } => "TRUNCATE TABLE",
        Statement::Analyze { .. } => "ANALYZE",
        Statement::Copy(_) => "COPY FROM",
        Statement::Backup { .. } => "BACKUP DATABASE",
        Statement::Checkpoint { .. } => "CHECKPOINT",
        Statement::Compact { .. } => "COMPACT",
        Statement::Vacuum(_) => "VACUUM",
        Statement::Lock(_) => "LOCK TABLE",
        Statement::Do(_) => "DO",
        Statement::Role(_) => "a statement about roles",
        Statement::Schema(schema) => match schema.as_ref() {
            SchemaStatement::Create { .. } => "CREATE SCHEMA",
            SchemaStatement::Rename { .. } => "ALTER SCHEMA",
            SchemaStatement::Drop { .. } => "DROP SCHEMA",
        },
        Statement::Kept(_) => "DISCARD ALL",
        Statement::AlterSequence(_) => "ALTER SEQUENCE",
        Statement::Type(statement) => match statement.as_ref() {
            TypeStatement::CreateEnum { .. } | TypeStatement::CreateRecord { .. } => "CREATE TYPE",
            TypeStatement::CreateDomain(_) => "CREATE DOMAIN",
            TypeStatement::AlterDomain { .. } => "ALTER DOMAIN",
            TypeStatement::Drop { domains: true, .. } => "DROP DOMAIN",
            TypeStatement::Drop { .. } => "DROP TYPE",
            _ => "ALTER TYPE",
        },
        Statement::Function(statement) => match statement.as_ref() {
            FunctionStatement::Create(_) => "CREATE FUNCTION",
            FunctionStatement::Drop { .. } => "DROP FUNCTION",
            FunctionStatement::Alter { .. } => "ALTER FUNCTION",
        },
        Statement::SetSchema { kind, .. } | Statement::Rename { kind, .. } => match kind {
            Ownable::Type => "ALTER TYPE",
            Ownable::View => "ALTER VIEW",
            Ownable::Sequence => "ALTER SEQUENCE",
            _ => "ALTER TABLE",
        },
        Statement::Explain { statement, .. } => command(statement),
        _ => "this statement",
    }
}
