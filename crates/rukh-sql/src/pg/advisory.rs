//! Advisory locks in SQL: `pg_advisory_lock` and its kin.
//!
//! Functions that wait stand in the list of a SELECT, as `pg_sleep` does, and end with their statement. Outside of a transaction block a
//! lock until the end of the transaction is taken and given up at once.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, Int64Type};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use rukh_engine::{AdvisoryAnswer, AdvisoryKey, AdvisoryOwner, AdvisorySpan, HeldLocks};
use rukh_error::SqlError;

/// Time between two requests of a lock that another session holds.
const LOOK: Duration = Duration::from_millis(10);

/// The advisory locks of one session.
pub(crate) struct Advisory {
    owner: AdvisoryOwner,
    in_block: AtomicBool,
    /// The setting `lock_timeout`, milliseconds; 0 for none.
    timeout: AtomicU64,
}

impl Advisory {
    pub(crate) fn new(owner: AdvisoryOwner) -> Self {
        Advisory {
            owner,
            in_block: AtomicBool::new(false),
            timeout: AtomicU64::new(0),
        }
    }

    /// Notes that a transaction block has begun, whose waits take so long at most.
    pub(crate) fn begin(&self) {
        self.in_block.store(true, Ordering::Relaxed);
    }

    /// Gives up the locks of the transaction.
    pub(crate) fn end(&self) {
        self.in_block.store(false, Ordering::Relaxed);
        self.owner.release(AdvisorySpan::Transaction);
    }

    /// Returns the locks of the transaction, as a savepoint keeps them.
    pub(crate) fn of_transaction(&self) -> HeldLocks {
        self.owner.of_transaction()
    }

    /// Gives up the locks that the transaction has taken since a savepoint.
    pub(crate) fn release_since(&self, savepoint: &HeldLocks) {
        self.owner.release_since(savepoint);
    }

    /// Gives up the locks of the session.
    pub(crate) fn forget(&self) {
        self.owner.release(AdvisorySpan::Session);
    }

    /// Has waits fail after so long.
    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) {
        let millis = timeout.map_or(0, |timeout| {
            u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)
        });
        self.timeout.store(millis, Ordering::Relaxed);
    }

    async fn lock(&self, key: AdvisoryKey, call: Call) -> Result<(), SqlError> {
        // Ends the wait where the statement is dropped, too.
        struct Waiting<'a>(&'a AdvisoryOwner);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.give_up();
            }
        }
        let _waiting = Waiting(&self.owner);
        let (began, timeout) = (Instant::now(), self.timeout.load(Ordering::Relaxed));
        loop {
            match self.owner.request(key, call.is_shared, call.span) {
                AdvisoryAnswer::Taken => return Ok(()),
                AdvisoryAnswer::Deadlock => return Err(SqlError::statement("40P01", "deadlock detected")),
                AdvisoryAnswer::Held if timeout > 0 && began.elapsed().as_millis() >= timeout.into() => {
                    let message = "canceling statement due to lock timeout";
                    return Err(SqlError::statement("55P03", message));
                }
                AdvisoryAnswer::Held => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// Ends what lasts as long as a transaction, where there is none.
    fn settle(&self, call: Call) {
        if call.span == AdvisorySpan::Transaction && !self.in_block.load(Ordering::Relaxed) {
            self.owner.release(AdvisorySpan::Transaction);
        }
    }
}

/// What a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Verb {
    Lock,
    Try,
    Unlock,
    UnlockAll,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Call {
    verb: Verb,
    is_shared: bool,
    span: AdvisorySpan,
}

/// Adds the functions to a session.
pub(crate) fn register(state: &mut SessionState, advisory: &Arc<Advisory>) {
    use AdvisorySpan::{Session, Transaction};
    use Verb::{Lock, Try, Unlock, UnlockAll};
    let functions = [
        ("pg_advisory_lock", Lock, false, Session),
        ("pg_advisory_lock_shared", Lock, true, Session),
        ("pg_advisory_xact_lock", Lock, false, Transaction),
        ("pg_advisory_xact_lock_shared", Lock, true, Transaction),
        ("pg_try_advisory_lock", Try, false, Session),
        ("pg_try_advisory_lock_shared", Try, true, Session),
        ("pg_try_advisory_xact_lock", Try, false, Transaction),
        ("pg_try_advisory_xact_lock_shared", Try, true, Transaction),
        ("pg_advisory_unlock", Unlock, false, Session),
        ("pg_advisory_unlock_shared", Unlock, true, Session),
        ("pg_advisory_unlock_all", UnlockAll, false, Session),
    ];
    for (name, verb, is_shared, span) in functions {
        let signature = match verb {
            UnlockAll => Signature::nullary(Volatility::Volatile),
            _ => Signature::one_of(
                vec![TypeSignature::Any(1), TypeSignature::Any(2)],
                Volatility::Volatile,
            ),
        };
        let function = AdvisoryFunction {
            name,
            call: Call {
                verb,
                is_shared,
                span,
            },
            signature,
            advisory: advisory.clone(),
        };
        let function = match verb {
            Lock => AsyncScalarUDF::new(Arc::new(function)).into_scalar_udf(),
            _ => ScalarUDF::from(function),
        };
        state
            .register_udf(Arc::new(function))
            .expect("functions of a session can be added to");
    }
}

/// A function, identified by its name: each session has its own.
struct AdvisoryFunction {
    name: &'static str,
    call: Call,
    signature: Signature,
    advisory: Arc<Advisory>,
}

impl std::fmt::Debug for AdvisoryFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for AdvisoryFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.advisory, &other.advisory)
    }
}

impl Eq for AdvisoryFunction {}

impl Hash for AdvisoryFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Returns the keys of all rows; `None` of NULL.
fn keys(arguments: &ScalarFunctionArgs) -> DataFusionResult<Vec<Option<AdvisoryKey>>> {
    let integers = |value: &ColumnarValue| -> DataFusionResult<ArrayRef> {
        let array = value.to_array(arguments.number_rows)?;
        if !(array.data_type().is_integer() || array.data_type().is_null()) {
            let error = SqlError::statement("42883", "advisory locks are on integers");
            return Err(DataFusionError::External(Box::new(error)));
        }
        Ok(cast(&array, &ArrowType::Int64)?)
    };
    let arrays = arguments
        .args
        .iter()
        .map(integers)
        .collect::<DataFusionResult<Vec<_>>>()?;
    let values = |at: usize| arrays[at].as_primitive::<Int64Type>();
    let short = |value: i64| {
        let error =
            || DataFusionError::External(Box::new(SqlError::statement("22003", "integer out of range")));
        i32::try_from(value).map_err(|_| error())
    };
    (0..arguments.number_rows)
        .map(|row| {
            if arrays.iter().any(|array| array.is_null(row)) {
                return Ok(None);
            }
            Ok(Some(match arrays.len() {
                1 => AdvisoryKey::One(values(0).value(row)),
                _ => AdvisoryKey::Two(short(values(0).value(row))?, short(values(1).value(row))?),
            }))
        })
        .collect()
}

impl ScalarUDFImpl for AdvisoryFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(match self.call.verb {
            Verb::Try | Verb::Unlock => ArrowType::Boolean,
            Verb::Lock | Verb::UnlockAll => ArrowType::Utf8,
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let (owner, call) = (&self.advisory.owner, self.call);
        match call.verb {
            Verb::Lock => {
                let message = format!("{} is supported in the list of a SELECT only", self.name);
                return Err(DataFusionError::External(Box::new(SqlError::unsupported(
                    message,
                ))));
            }
            Verb::UnlockAll => {
                self.advisory.forget();
                let voids = StringArray::from(vec![""; arguments.number_rows]);
                return Ok(ColumnarValue::Array(Arc::new(voids)));
            }
            Verb::Try | Verb::Unlock => {}
        }
        let done = |key: AdvisoryKey| match call.verb {
            Verb::Unlock => owner.unlock(key, call.is_shared),
            _ => owner.try_lock(key, call.is_shared, call.span),
        };
        let keys = keys(&arguments)?.into_iter();
        let answers: BooleanArray = keys.map(|key| key.map(done)).collect();
        self.advisory.settle(call);
        Ok(ColumnarValue::Array(Arc::new(answers)))
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for AdvisoryFunction {
    async fn invoke_async_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let keys = keys(&arguments)?;
        let mut voids = Vec::with_capacity(keys.len());
        for key in keys {
            if let Some(key) = key {
                let locked = self.advisory.lock(key, self.call).await;
                locked.map_err(|error| DataFusionError::External(Box::new(error)))?;
            }
            voids.push(key.map(|_| ""));
        }
        self.advisory.settle(self.call);
        Ok(ColumnarValue::Array(Arc::new(StringArray::from(voids))))
    }
}
