//! What runs: `pg_stat_activity`, `pg_cancel_backend` and `pg_terminate_backend`; what has run:
//! `pg_stat_statements` and `pg_stat_statements_reset`.
//!
//! Servers register the sessions of clients, which are shown here; a database without a server has none.
//! Texts are shown to administrators and to the role itself, and never those that may have a password.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, Schema};
use datafusion::catalog::{MemTable, SchemaProvider, TableProvider};
use datafusion::common::cast::as_int64_array;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use crate::exec::tally;
use crate::pg::asking::{Asking, Backend};
use rukh_error::SqlError;
use rukh_syntax::has_password;

impl Asking {
    fn is_superuser(&self) -> bool {
        match self.who.read().as_deref() {
            None => true,
            Some(user) => {
                let catalog = self.engine.catalog();
                catalog.role_named(user).is_some_and(|role| role.superuser)
            }
        }
    }

    /// Returns the rows of `pg_stat_activity`.
    pub(crate) fn activity(&self) -> Result<RecordBatch, SqlError> {
        let (sees_all, user) = (self.is_superuser(), self.who.read().clone());
        let list = self.served.list();
        let roles = self.engine.catalog();
        let shown = |backend: &Backend| match () {
            () if !sees_all && backend.user != user => "<insufficient privilege>".to_string(),
            () if has_password(&backend.statement) => "<statement with a password>".to_string(),
            () => backend.statement.clone(),
        };
        let texts = |value: &dyn Fn(&Backend) -> Option<String>| -> ArrayRef {
            Arc::new(list.iter().map(value).collect::<StringArray>())
        };
        let numbers = |value: &dyn Fn(&Backend) -> Option<i32>| -> ArrayRef {
            Arc::new(list.iter().map(value).collect::<Int32Array>())
        };
        let times = |value: &dyn Fn(&Backend) -> Option<i64>| -> ArrayRef {
            let times = list.iter().map(value).collect::<TimestampMicrosecondArray>();
            Arc::new(times.with_timezone("UTC"))
        };
        let role_of = |backend: &Backend| {
            let role = roles.role_named(backend.user.as_deref()?)?;
            i32::try_from(role.id.0).ok()
        };
        let columns: [(&str, ArrayRef); 18] = [
            ("datid", numbers(&|_| Some(1))),
            ("datname", texts(&|_| Some("rukh".to_string()))),
            ("pid", numbers(&|backend| Some(backend.pid))),
            ("leader_pid", numbers(&|_| None)),
            ("usesysid", numbers(&role_of)),
            ("usename", texts(&|backend| backend.user.clone())),
            (
                "application_name",
                texts(&|backend| Some(backend.application.clone())),
            ),
            ("client_addr", texts(&|backend| Some(backend.address.clone()))),
            ("client_hostname", texts(&|_| None)),
            ("client_port", numbers(&|backend| Some(backend.port))),
            ("backend_start", times(&|backend| Some(backend.began))),
            ("xact_start", times(&|backend| backend.transaction_began)),
            ("query_start", times(&|backend| backend.statement_began)),
            ("state_change", times(&|backend| Some(backend.changed))),
            ("wait_event_type", texts(&|_| None)),
            ("wait_event", texts(&|_| None)),
            ("state", texts(&|backend| Some(backend.state.to_string()))),
            ("query", texts(&|backend| Some(shown(backend)))),
        ];
        let backend_type = texts(&|_| Some("client backend".to_string()));
        let all = columns.into_iter().chain([("backend_type", backend_type)]);
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = all
            .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
            .unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| SqlError::internal(error.to_string()))
    }

    /// Returns the rows of `pg_stat_statements`.
    fn statements(&self) -> Result<RecordBatch, SqlError> {
        let user = self.who.read().clone().filter(|_| !self.is_superuser());
        tally::rows(&self.tally.all(), &self.engine.catalog(), user.as_deref())
    }

    /// Forgets what statements have cost.
    fn reset_statements(&self) -> Result<(), SqlError> {
        if !self.is_superuser() {
            let message = format!("permission denied for function {}", tally::RESET);
            return Err(SqlError::statement("42501", message));
        }
        self.tally.reset();
        Ok(())
    }

    fn signal(&self, signal: Signal, pid: i32) -> Result<bool, SqlError> {
        let Some(backend) = self.served.list().into_iter().find(|backend| backend.pid == pid) else {
            return Ok(false);
        };
        if !self.is_superuser() && backend.user != *self.who.read() {
            let verb = match signal {
                Signal::Terminate => "terminate process",
                Signal::Cancel => "cancel query",
            };
            return Err(SqlError::statement(
                "42501",
                format!("permission denied to {verb}"),
            ));
        }
        Ok(self.served.all().iter().any(|backends| match signal {
            Signal::Terminate => backends.terminate(pid),
            Signal::Cancel => backends.cancel(pid),
        }))
    }
}

/// Adds the functions to a session.
pub(crate) fn register(state: &mut SessionState, asking: &Asking) {
    let signals = [Signal::Cancel, Signal::Terminate].map(Function::Signal);
    for function in signals.into_iter().chain([Function::Reset]) {
        let types = match function {
            Function::Signal(_) => TypeSignature::Exact(vec![ArrowType::Int64]),
            Function::Reset => TypeSignature::Nullary,
        };
        let signature = Signature::one_of(vec![types], Volatility::Volatile);
        let function = BackendFunction {
            function,
            signature,
            asking: asking.clone(),
        };
        state
            .register_udf(Arc::new(ScalarUDF::from(function)))
            .expect("functions of a session can be added to");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Function {
    Signal(Signal),
    /// Forgets what statements have cost.
    Reset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Signal {
    Cancel,
    Terminate,
}

struct BackendFunction {
    function: Function,
    signature: Signature,
    asking: Asking,
}

impl std::fmt::Debug for BackendFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for BackendFunction {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function && Arc::ptr_eq(&self.asking.who, &other.asking.who)
    }
}

impl Eq for BackendFunction {}

impl Hash for BackendFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.hash(state);
    }
}

impl ScalarUDFImpl for BackendFunction {
    fn name(&self) -> &str {
        match self.function {
            Function::Signal(Signal::Cancel) => "pg_cancel_backend",
            Function::Signal(Signal::Terminate) => "pg_terminate_backend",
            Function::Reset => tally::RESET,
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(match self.function {
            Function::Signal(_) => ArrowType::Boolean,
            // As a function that gives nothing is shown.
            Function::Reset => ArrowType::Utf8,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let rows = args.number_rows;
        let Function::Signal(signal) = self.function else {
            let reset = self.asking.reset_statements();
            reset.map_err(|error| DataFusionError::External(Box::new(error)))?;
            return Ok(ColumnarValue::Array(Arc::new(StringArray::from(vec![""; rows]))));
        };
        let Some(first) = args.args.first() else {
            return Err(DataFusionError::Internal("a number is missing".to_string()));
        };
        let array = first.clone().into_array(rows)?;
        let mut done = Vec::with_capacity(rows);
        for pid in as_int64_array(&array)? {
            let Some(pid) = pid else {
                done.push(None);
                continue;
            };
            let signalled = match i32::try_from(pid) {
                Ok(pid) => self.asking.signal(signal, pid),
                Err(_) => Ok(false),
            };
            done.push(Some(
                signalled.map_err(|error| DataFusionError::External(Box::new(error)))?,
            ));
        }
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from(done))))
    }
}

/// `pg_catalog` with the views of this file.
#[derive(Debug)]
pub(crate) struct WithActivity {
    pub(crate) inner: Arc<dyn SchemaProvider>,
    pub(crate) asking: Asking,
}

/// The name of the view.
const ACTIVITY: &str = "pg_stat_activity";

#[async_trait]
impl SchemaProvider for WithActivity {
    fn table_names(&self) -> Vec<String> {
        let mut names = self.inner.table_names();
        names.extend([ACTIVITY, tally::NAME].map(str::to_string));
        names
    }

    async fn table(&self, name: &str) -> DataFusionResult<Option<Arc<dyn TableProvider>>> {
        let rows = match name {
            ACTIVITY => self.asking.activity(),
            tally::NAME => self.asking.statements(),
            _ => return self.inner.table(name).await,
        };
        let rows = rows.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let table = MemTable::try_new(rows.schema(), vec![vec![rows]])?;
        Ok(Some(Arc::new(table)))
    }

    fn table_exist(&self, name: &str) -> bool {
        matches!(name, ACTIVITY | tally::NAME) || self.inner.table_exist(name)
    }
}
