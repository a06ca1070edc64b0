//! The store as the engine sees it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rukh_hbase::Client;
use rukh_keys::KeyRange;
use rukh_kv::{
    Capabilities, Commit, CommitOrder, Committed, Durability, KvError, KvSnapshot, KvStore, MergeOperator,
    SingleWriter, TableName, TableOptions, TableUsage, Traffic, WriteBatch,
};

use super::keys::{ROWS, TableId, failed};
use super::owner::Lease;
use super::runtime::Runtime;
use super::shared::{DECISION, Shared, State};
use super::sizes::Sizes;
use super::snapshot::{HbaseSnapshot, Shows};
use super::upkeep::Upkeep;
use crate::{Began, Error, Settings, Transactions};

/// How a store is opened.
#[derive(Clone)]
pub struct Options {
    /// Makes the namespace and an empty database when there is none.
    pub create: bool,
    /// How merges are folded; without it they are refused.
    pub merge: Option<Arc<dyn MergeOperator>>,
    /// How long a request may take with all its attempts.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            create: true,
            merge: None,
            patience: Duration::from_secs(30),
        }
    }
}

/// A store in a namespace of an HBase.
pub struct HbaseStore {
    shared: Arc<Shared>,
    /// One process at a time has the database, by its lease.
    order: SingleWriter,
    _upkeep: Upkeep,
}

impl HbaseStore {
    /// Opens the store of a URL, `hbase://host:port[,host:port…]/namespace`. Where another process has it and lives, this takes a few seconds and fails; where that has died
    /// on another machine, ten seconds.
    ///
    /// # Errors
    ///
    /// `InvalidUrl`, `AlreadyOpen`, `NotFound` where none is to be made, `Unreachable`, `NotReady`.
    pub fn open(url: &str, options: Options) -> Result<HbaseStore, KvError> {
        let runtime = Runtime::new()?;
        let times = rukh_hbase::Settings {
            operation: options.patience,
            ..rukh_hbase::Settings::default()
        };
        let client = Client::new(url, times).map_err(|error| KvError::InvalidUrl {
            reason: error.to_string(),
        })?;
        let settings = Settings {
            // One process has the store: locks of others are those of the dead.
            lifetime: Duration::ZERO,
            repeats: options.patience.min(DECISION),
            ..Settings::default()
        };
        let address = url.to_string();
        let opened = runtime.wait(async move { open(&client, &address, options.create, settings).await });
        let (transactions, lease, began) = opened?;
        let shared = Arc::new(Shared {
            url: url.to_string(),
            runtime,
            transactions,
            merge: options.merge,
            rows: ROWS.into(),
            state: RwLock::new(State {
                newest: began.start,
                tables: Arc::default(),
                is_closed: false,
            }),
            writer: Mutex::default(),
            lease,
            sizes: Sizes::default(),
            region_starts: Mutex::default(),
            is_undecided: AtomicBool::new(false),
            lost_answers: AtomicU32::new(0),
        });
        let store = HbaseStore {
            order: SingleWriter::default(),
            _upkeep: Upkeep::start(&shared)?,
            shared,
        };
        let tables = store.shared.read_directory()?;
        store.shared.state.write().tables = Arc::new(tables);
        Ok(store)
    }

    /// Makes as if another process had taken this one for dead, and died in turn.
    #[doc(hidden)]
    pub fn take_over_for_test(&self) {
        let (lease, transactions) = (self.shared.lease.clone(), self.shared.transactions.clone());
        let taken = self
            .shared
            .runtime
            .wait(async move { lease.take_over(&transactions).await });
        assert!(matches!(taken, Ok(true)), "it was this process's");
    }

    /// Loses the answer to the next commit: it is carried out, or fails, and the store does not know.
    #[doc(hidden)]
    pub fn lose_answer_for_test(&self) {
        self.shared.lost_answers.store(1, Ordering::Relaxed);
    }

    fn id(&self, table: &str) -> Result<TableId, KvError> {
        let id = self.shared.state.read().tables.get(table).copied();
        id.ok_or_else(|| KvError::unknown_table(table))
    }
}

impl Drop for HbaseStore {
    fn drop(&mut self) {
        // Nothing more can be done about a failure: the lease expires by itself.
        let _ = self.close();
    }
}

async fn open(
    client: &Client,
    url: &str,
    may_create: bool,
    settings: Settings,
) -> Result<(Transactions, Lease, Began), KvError> {
    client
        .reach()
        .await
        .map_err(|error| failed("reach HBase", error.into()))?;
    let failed = |error: rukh_hbase::Error| failed("open the database", error.into());
    let namespaces = client.namespaces().await.map_err(failed)?;
    let namespace = client.namespace();
    let is_there = namespaces.iter().any(|name| name == namespace)
        && client
            .tables()
            .await
            .map_err(failed)?
            .iter()
            .any(|name| name == ROWS);
    if !is_there && !may_create {
        return Err(KvError::NotFound { path: url.into() });
    }
    if !namespaces.iter().any(|name| name == namespace) {
        client.create_namespace(namespace).await.map_err(failed)?;
    }
    let failed = |error: Error| super::keys::failed("open the database", error);
    let transactions = Transactions::open(client.clone(), settings)
        .await
        .map_err(failed)?;
    let lease = Lease::take(&transactions, url).await?;
    if !is_there {
        transactions
            .create_table(ROWS, Vec::new())
            .await
            .map_err(failed)?;
    }
    let began = transactions.begin().await.map_err(failed)?;
    Ok((transactions, lease, began))
}

impl KvStore for HbaseStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            atomic_across_tables: true,
            snapshots: true,
            masked_pushed_down: false,
            durable: true,
            merge: self.shared.merge.is_some(),
        }
    }

    fn merge_operator(&self) -> Option<Arc<dyn MergeOperator>> {
        self.shared.merge.clone()
    }

    fn tables(&self) -> Vec<String> {
        self.shared.state.read().tables.keys().cloned().collect()
    }

    fn table_exists(&self, table: &str) -> bool {
        self.shared.state.read().tables.contains_key(table)
    }

    fn create_table(&self, table: &str, _: &TableOptions) -> Result<(), KvError> {
        self.shared.create_table(&TableName::new(table)?)
    }

    fn configure_table(&self, table: &str, _: &TableOptions) -> Result<(), KvError> {
        self.id(table).map(|_| ())
    }

    fn drop_table(&self, table: &str) -> Result<(), KvError> {
        self.shared.drop_table(table)
    }

    fn snapshot(&self) -> Arc<dyn KvSnapshot> {
        let shows = match self.shared.state_now() {
            Ok(state) => Shows::Then(state),
            Err(error) => Shows::Nothing(error.to_string()),
        };
        Arc::new(HbaseSnapshot::new(&self.shared, shows))
    }

    fn latest(&self) -> Arc<dyn KvSnapshot> {
        Arc::new(HbaseSnapshot::new(&self.shared, Shows::Now))
    }

    fn apply(&self, batch: WriteBatch, _: Durability) -> Result<Traffic, KvError> {
        self.shared.write(&batch)
    }

    fn commit(&self, commit: Commit<'_>) -> Result<Committed, KvError> {
        self.order.commit(self, commit)
    }

    fn order(&self) -> &dyn CommitOrder {
        &self.order
    }

    fn sync(&self) -> Result<(), KvError> {
        self.shared.check_open()
    }

    /// Compacts all tables, as they lie together.
    fn compact(&self, table: &str) -> Result<(), KvError> {
        self.id(table)?;
        self.shared.compact()
    }

    fn compact_all(
        &self,
        tables: &[String],
        done: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), KvError> {
        if tables.iter().any(|table| self.table_exists(table)) {
            self.shared.compact()?;
        }
        let _ = done(tables.len() as u64);
        Ok(())
    }

    fn approximate_size(&self, table: &str, range: &KeyRange) -> Result<u64, KvError> {
        Ok(self.shared.sample(self.id(table)?, range)?.bytes)
    }

    fn approximate_keys(&self, table: &str) -> Result<u64, KvError> {
        let id = self.id(table)?;
        match self.shared.sizes.keys(id) {
            Some(keys) => Ok(keys),
            None => self.shared.count_keys(id),
        }
    }

    /// Cuts where regions begin.
    fn split_points(&self, table: &str, range: &KeyRange, parts: usize) -> Result<Vec<Vec<u8>>, KvError> {
        self.shared.split_points(self.id(table)?, range, parts)
    }

    fn table_usage(&self, table: &str) -> Result<TableUsage, KvError> {
        Ok(TableUsage {
            keys: self.approximate_keys(table)?,
            ..TableUsage::default()
        })
    }

    fn close(&self) -> Result<(), KvError> {
        // The writer that is under way ends first.
        let _writer = self.shared.writer.lock();
        {
            let mut state = self.shared.state.write();
            if state.is_closed {
                return Err(KvError::Closed);
            }
            state.is_closed = true;
            state.tables = Arc::default();
        }
        let (lease, transactions) = (self.shared.lease.clone(), self.shared.transactions.clone());
        let release = async move { lease.release(&transactions).await };
        self.shared
            .runtime
            .wait_within(DECISION, "close the database", release)
    }
}
