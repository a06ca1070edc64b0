//! Sequences in SQL: `nextval`, `currval`, `lastval`, `setval`, and defaults that are the next number.
//!
//! A session takes as many numbers at once as a sequence's CACHE says, and remembers which it gave last.

#![warn(clippy::arithmetic_side_effects)]

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, Int64Type};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use parking_lot::Mutex;
use rukh_catalog::{PUBLIC, Sequence, SequenceId};
use rukh_engine::{Engine, SequenceBlock, SequenceState};
use rukh_syntax::{parse_object_name, quoted};

use crate::bind::spelling::parsing::parse_expression;
use crate::bind::spelling::sequence_calls::{FUNCTIONS, next_of};
use crate::bind::system::oids::number;
use crate::pg::pg_catalog::{self, Relation};
use rukh_error::SqlError;

/// What one session knows of sequences.
pub(crate) struct Sequences {
    engine: Engine,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    /// Numbers that the session may still give.
    blocks: HashMap<SequenceId, SequenceBlock>,
    /// The number that it gave last.
    current: HashMap<SequenceId, i64>,
    last: Option<SequenceId>,
}

impl Sequences {
    pub(crate) fn new(engine: Engine) -> Self {
        Sequences {
            engine,
            taken: Mutex::default(),
        }
    }

    /// Forgets all numbers that were taken and given.
    pub(crate) fn forget(&self) {
        *self.taken.lock() = Taken::default();
    }

    /// Forgets the numbers of a sequence that were taken and not given.
    pub(crate) fn forget_block(&self, id: SequenceId) {
        self.taken.lock().blocks.remove(&id);
    }

    /// Returns a sequence by its name as SQL writes it, or by its number, which `'s'::regclass` is.
    pub(crate) fn named(&self, name: &str) -> Result<Arc<Sequence>, SqlError> {
        let catalog = self.engine.catalog();
        if let Some(oid) = number(name) {
            return match pg_catalog::relation(&catalog, oid) {
                Some(Relation::Sequence(sequence)) => catalog.sequence(sequence.id).cloned(),
                Some(other) => {
                    let message = format!("\"{}\" is not a sequence", other.name());
                    return Err(SqlError::statement("42809", message));
                }
                None => None,
            }
            .ok_or_else(|| SqlError::statement("42P01", format!("could not open relation with OID {oid}")));
        }
        let parsed = parse_object_name(name)?;
        let schema = parsed.schema.as_deref().unwrap_or(PUBLIC);
        if let Some(sequence) = catalog.sequence_named(schema, &parsed.name) {
            return Ok(sequence.clone());
        }
        match catalog.check_name_free(schema, &parsed.name) {
            Err(_) => {
                let message = format!("\"{}\" is not a sequence", parsed.name);
                Err(SqlError::statement("42809", message))
            }
            Ok(()) => {
                let message = format!("relation \"{}\" does not exist", parsed.name);
                Err(SqlError::statement("42P01", message))
            }
        }
    }

    /// Gives the next number.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a block was cut to what the sequence has before its end"
    )]
    pub(crate) fn next(&self, sequence: &Sequence) -> Result<i64, SqlError> {
        let mut taken = self.taken.lock();
        let block = match taken.blocks.remove(&sequence.id) {
            Some(block) => block,
            None => self.engine.take_numbers(sequence.id)?,
        };
        if block.count > 1 {
            let rest = SequenceBlock {
                first: block.first + sequence.increment,
                count: block.count - 1,
            };
            taken.blocks.insert(sequence.id, rest);
        }
        taken.current.insert(sequence.id, block.first);
        taken.last = Some(sequence.id);
        Ok(block.first)
    }

    /// Returns the number that the session was given last.
    fn current(&self, sequence: &Sequence) -> Result<i64, SqlError> {
        let current = self.taken.lock().current.get(&sequence.id).copied();
        current.ok_or_else(|| {
            let message = format!(
                "currval of sequence \"{}\" is not yet defined in this session",
                sequence.name
            );
            SqlError::statement("55000", message)
        })
    }

    /// Returns the number that the session was given last by any sequence that is still there.
    fn last(&self) -> Result<i64, SqlError> {
        let taken = self.taken.lock();
        let catalog = self.engine.catalog();
        let last = taken.last.filter(|id| catalog.sequence(*id).is_some());
        let number = last.and_then(|id| taken.current.get(&id).copied());
        number.ok_or_else(|| SqlError::statement("55000", "lastval is not yet defined in this session"))
    }

    /// Makes a sequence go on from a number.
    fn set(&self, sequence: &Sequence, value: i64, is_called: bool) -> Result<i64, SqlError> {
        let Sequence { min, max, name, .. } = sequence;
        if !(*min..=*max).contains(&value) {
            let message =
                format!("setval: value {value} is out of bounds for sequence \"{name}\" ({min}..{max})");
            return Err(SqlError::statement("22003", message));
        }
        let mut taken = self.taken.lock();
        let state = match is_called {
            true => SequenceState::follows(sequence.after(value)),
            false => SequenceState::set(value),
        };
        self.engine.set_sequence_state(sequence.id, state)?;
        taken.blocks.remove(&sequence.id);
        if is_called {
            taken.current.insert(sequence.id, value);
        }
        Ok(value)
    }
}

/// Adds the functions to a session.
pub(crate) fn register(state: &mut SessionState, sequences: &Arc<Sequences>) {
    let text = TypeSignature::Any(1);
    let functions = [
        (
            Kind::Next,
            Signature::one_of(vec![text.clone()], Volatility::Volatile),
        ),
        (Kind::Current, Signature::one_of(vec![text], Volatility::Volatile)),
        (Kind::Last, Signature::nullary(Volatility::Volatile)),
        (
            Kind::Set,
            Signature::one_of(
                vec![TypeSignature::Any(2), TypeSignature::Any(3)],
                Volatility::Volatile,
            ),
        ),
    ];
    for (kind, signature) in functions {
        let sequences = sequences.clone();
        let function = SequenceFunction {
            kind,
            signature,
            sequences,
        };
        state
            .register_udf(Arc::new(ScalarUDF::from(function)))
            .expect("functions of a session can be added to");
    }
}

/// Returns the name of the sequence that a stored default takes numbers from.
pub(crate) fn sequence_of_default(sql: &str) -> Option<String> {
    // Most defaults are recognised without a parser.
    if !sql.starts_with("nextval(") {
        return None;
    }
    next_of(&parse_expression(sql).ok()?)
}

/// Returns schema and name of the sequence that a stored default takes numbers from.
pub(crate) fn sequence_named_in_default(sql: &str) -> Option<(String, String)> {
    let name = parse_object_name(&sequence_of_default(sql)?).ok()?;
    Some((name.schema.unwrap_or_else(|| PUBLIC.to_string()), name.name))
}

/// Returns the default that takes its values from a sequence, as it is stored: without the schema `public`.
pub(crate) fn default_of(schema: &str, sequence: &str) -> String {
    let name = match schema {
        PUBLIC => quoted(sequence),
        schema => format!("{}.{}", quoted(schema), quoted(sequence)),
    };
    format!("nextval('{}')", name.replace('\'', "''"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Next,
    Current,
    Last,
    Set,
}

/// One of the functions, for one session.
struct SequenceFunction {
    kind: Kind,
    signature: Signature,
    sequences: Arc<Sequences>,
}

impl std::fmt::Debug for SequenceFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for SequenceFunction {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && Arc::ptr_eq(&self.sequences, &other.sequences)
    }
}

impl Eq for SequenceFunction {}

impl Hash for SequenceFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

impl ScalarUDFImpl for SequenceFunction {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Next => FUNCTIONS[0],
            Kind::Current => FUNCTIONS[1],
            Kind::Last => FUNCTIONS[2],
            Kind::Set => FUNCTIONS[3],
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let rows = args.number_rows;
        let column = |at: usize, ty: ArrowType| -> DataFusionResult<Option<ArrayRef>> {
            let values = args
                .args
                .get(at)
                .map(|argument| argument.to_array(rows))
                .transpose()?;
            Ok(values.map(|values| cast(&values, &ty)).transpose()?)
        };
        let names = column(0, ArrowType::Utf8)?;
        let values = column(1, ArrowType::Int64)?;
        let is_called = column(2, ArrowType::Boolean)?;
        let mut numbers = Vec::with_capacity(rows);
        for row in 0..rows {
            let number = self.number(names.as_ref(), values.as_ref(), is_called.as_ref(), row);
            numbers.push(number.map_err(|error| DataFusionError::External(Box::new(error)))?);
        }
        Ok(ColumnarValue::Array(Arc::new(Int64Array::from(numbers))))
    }
}

impl SequenceFunction {
    /// Computes one row; NULL arguments give NULL.
    fn number(
        &self,
        names: Option<&ArrayRef>,
        values: Option<&ArrayRef>,
        is_called: Option<&ArrayRef>,
        row: usize,
    ) -> Result<Option<i64>, SqlError> {
        let given = [names, values, is_called];
        if given.iter().flatten().any(|array| array.is_null(row)) {
            return Ok(None);
        }
        let Some(names) = names else {
            return self.sequences.last().map(Some);
        };
        let sequence = self.sequences.named(names.as_string::<i32>().value(row))?;
        let number = match (self.kind, values) {
            (Kind::Set, Some(values)) => {
                let value = values.as_primitive::<Int64Type>().value(row);
                let is_called = is_called.is_none_or(|called| called.as_boolean().value(row));
                self.sequences.set(&sequence, value, is_called)
            }
            (Kind::Current, _) => self.sequences.current(&sequence),
            _ => self.sequences.next(&sequence),
        };
        number.map(Some)
    }
}
