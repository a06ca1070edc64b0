//! Functions of DataFusion whose results have types that SQL has not, given PostgreSQL's.
//!
//! | function                                               | DataFusion            | here     |
//! |--------------------------------------------------------|-----------------------|----------|
//! | `row_number`, `rank`, `dense_rank`                     | unsigned, 64 bits     | BIGINT   |
//! | `ntile`                                                | unsigned, 64 bits     | INTEGER  |
//! | `approx_distinct`, `regr_count`                        | unsigned, 64 bits     | BIGINT   |
//! | `cardinality`, `array_position`                        | unsigned, 64 bits     | INTEGER  |
//! | `array_positions`                                      | lists of such         | INTEGER[] |
//! | `md5`, `string_agg`, `concat`, `concat_ws`             | other layouts of text | TEXT     |
//!
//! Unsigned integers have no arithmetic in SQL: DataFusion makes decimals of them beside signed ones, in some places and
//! not in others. Each function here is DataFusion's own, and what it gives is cast.
//!
//! `string_agg` with ORDER BY sorts by itself what it is given, as `array_agg` does. Here it says so, and two of them may
//! ask for two orders.

#![warn(clippy::arithmetic_side_effects)]

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::{SortOptions, cast};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_aggregate::{approx_distinct, regr, string_agg};
use datafusion::functions_window::{ntile, rank, row_number};
use datafusion::logical_expr::function::{
    AccumulatorArgs, ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs,
};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, EmitTo, GroupsAccumulator, LimitEffect,
    PartitionEvaluator, ReturnFieldArgs, ReversedUDAF, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;

use crate::aggregates::recomputed::sliding;
use crate::usual::as_usual;

/// Returns the functions of one row that replace DataFusion's.
pub fn scalars() -> Vec<Arc<ScalarUDF>> {
    use datafusion::functions::{crypto, string};
    use datafusion::functions_nested::{cardinality, position};
    let numbers = [
        cardinality::cardinality_udf(),
        position::array_position_udf(),
        position::array_positions_udf(),
    ];
    let typed = |usual, integer| Arc::new(ScalarUDF::from(TypedScalar { usual, integer }));
    let numbers = numbers.map(|usual| typed(usual, ArrowType::Int32));
    numbers
        .into_iter()
        .chain(
            [crypto::md5(), string::concat(), string::concat_ws()]
                .map(|usual| typed(usual, ArrowType::Int64)),
        )
        .collect()
}

/// Returns the aggregates that replace DataFusion's.
pub fn aggregates() -> Vec<Arc<AggregateUDF>> {
    let usual = [
        approx_distinct::approx_distinct_udaf(),
        regr::regr_count_udaf(),
        string_agg::string_agg_udaf(),
    ];
    usual
        .map(|usual| Arc::new(AggregateUDF::from(TypedAggregate { usual })))
        .into()
}

/// Returns the window functions that replace DataFusion's.
pub fn windows() -> Vec<Arc<WindowUDF>> {
    let usual = [
        (row_number::row_number_udwf(), ArrowType::Int64),
        (rank::rank_udwf(), ArrowType::Int64),
        (rank::dense_rank_udwf(), ArrowType::Int64),
        (ntile::ntile_udwf(), ArrowType::Int32),
    ];
    usual
        .map(|(usual, integer)| Arc::new(WindowUDF::from(TypedWindow { usual, integer })))
        .into()
}

/// Returns the type of SQL for what has a type of Arrow, where unsigned integers of 64 bits are to be `integer`.
fn typed(ty: &ArrowType, integer: &ArrowType) -> ArrowType {
    match ty {
        ArrowType::UInt8 => ArrowType::Int16,
        ArrowType::UInt16 => ArrowType::Int32,
        ArrowType::UInt32 => ArrowType::Int64,
        ArrowType::UInt64 => integer.clone(),
        ArrowType::LargeUtf8 | ArrowType::Utf8View => ArrowType::Utf8,
        ArrowType::LargeBinary | ArrowType::BinaryView => ArrowType::Binary,
        ArrowType::List(of) => ArrowType::List(typed_field(of, integer)),
        other => other.clone(),
    }
}

fn typed_field(field: &FieldRef, integer: &ArrowType) -> FieldRef {
    let ty = typed(field.data_type(), integer);
    match ty == *field.data_type() {
        true => field.clone(),
        false => Arc::new(field.as_ref().clone().with_data_type(ty)),
    }
}

fn cast_array(array: &ArrayRef, integer: &ArrowType) -> DataFusionResult<ArrayRef> {
    let ty = typed(array.data_type(), integer);
    match ty == *array.data_type() {
        true => Ok(array.clone()),
        false => Ok(cast(array, &ty)?),
    }
}

fn cast_scalar(value: ScalarValue, integer: &ArrowType) -> DataFusionResult<ScalarValue> {
    let present = value.data_type();
    let ty = typed(&present, integer);
    match ty == present {
        true => Ok(value),
        false => value.cast_to(&ty),
    }
}

/// A function of one row with a result of a type of SQL.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TypedScalar {
    usual: Arc<ScalarUDF>,
    integer: ArrowType,
}

impl ScalarUDFImpl for TypedScalar {
    as_usual!(name aliases signature is_strict);

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        // Arrow casts no address to a text. They are texts before the call runs (`concatenated`).
        let has_address = types.iter().any(|ty| matches!(ty, ArrowType::FixedSizeBinary(_)));
        match has_address {
            true => Ok(types.to_vec()),
            false => self.usual.coerce_types(types),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(typed(&self.usual.return_type(types)?, &self.integer))
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let usual = self.usual.return_field_from_args(arguments)?;
        Ok(typed_field(&usual, &self.integer))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match self.usual.invoke_with_args(arguments)? {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(cast_array(&array, &self.integer)?)),
            ColumnarValue::Scalar(value) => Ok(ColumnarValue::Scalar(cast_scalar(value, &self.integer)?)),
        }
    }
}

/// An aggregate with a result of a type of SQL. Its states are DataFusion's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TypedAggregate {
    usual: Arc<AggregateUDF>,
}

impl TypedAggregate {
    /// Whether it sorts what it is given, if it has an order.
    fn sorts(&self) -> bool {
        self.usual.name() == "string_agg"
    }
}

impl AggregateUDFImpl for TypedAggregate {
    as_usual!(name aliases signature coerce_types state_fields groups_accumulator_supported);

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(typed(&self.usual.return_type(types)?, &ArrowType::Int64))
    }

    fn is_nullable(&self) -> bool {
        self.usual.is_nullable()
    }

    fn default_value(&self, _: &ArrowType) -> DataFusionResult<ScalarValue> {
        match self.sorts() {
            true => Ok(ScalarValue::Utf8(None)),
            false => Ok(ScalarValue::Int64(Some(0))),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        let usual = self.usual.accumulator(arguments)?;
        Ok(Box::new(TypedAccumulator { usual }))
    }

    fn create_sliding_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn Accumulator>> {
        let usual = sliding(&self.usual, arguments)?;
        Ok(Box::new(TypedAccumulator { usual }))
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn GroupsAccumulator>> {
        let usual = self.usual.create_groups_accumulator(arguments)?;
        Ok(Box::new(TypedGroups { usual }))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        match self.sorts() {
            true => AggregateOrderSensitivity::SoftRequirement,
            false => AggregateOrderSensitivity::Insensitive,
        }
    }

    fn with_beneficial_ordering(
        self: Arc<Self>,
        _: bool,
    ) -> DataFusionResult<Option<Arc<dyn AggregateUDFImpl>>> {
        Ok(Some(self))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.sorts() {
            true => ReversedUDAF::Reversed(Arc::new(AggregateUDF::from(self.clone()))),
            false => ReversedUDAF::Identical,
        }
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.usual.supports_null_handling_clause()
    }
}

/// Casts what an accumulator gives in the end.
#[derive(Debug)]
struct TypedAccumulator {
    usual: Box<dyn Accumulator>,
}

impl Accumulator for TypedAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        self.usual.update_batch(values)
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        cast_scalar(self.usual.evaluate()?, &ArrowType::Int64)
    }

    fn size(&self) -> usize {
        self.usual.size()
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        self.usual.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        self.usual.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        self.usual.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.usual.supports_retract_batch()
    }
}

/// The same for many groups at once.
struct TypedGroups {
    usual: Box<dyn GroupsAccumulator>,
}

impl GroupsAccumulator for TypedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> DataFusionResult<()> {
        self.usual.update_batch(values, groups, filter, count)
    }

    fn evaluate(&mut self, emit: EmitTo) -> DataFusionResult<ArrayRef> {
        cast_array(&self.usual.evaluate(emit)?, &ArrowType::Int64)
    }

    fn state(&mut self, emit: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        self.usual.state(emit)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> DataFusionResult<()> {
        self.usual.merge_batch(values, groups, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DataFusionResult<Vec<ArrayRef>> {
        self.usual.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.usual.size()
    }
}

/// A window function with a result of a type of SQL.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TypedWindow {
    usual: Arc<WindowUDF>,
    integer: ArrowType,
}

impl WindowUDFImpl for TypedWindow {
    as_usual!(name aliases signature coerce_types);

    fn expressions(&self, arguments: ExpressionArgs<'_>) -> Vec<Arc<dyn PhysicalExpr>> {
        self.usual.inner().expressions(arguments)
    }

    fn partition_evaluator(
        &self,
        arguments: PartitionEvaluatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(TypedEvaluator {
            usual: self.usual.inner().partition_evaluator(arguments)?,
            integer: self.integer.clone(),
        }))
    }

    fn field(&self, arguments: WindowUDFFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let usual = self.usual.inner().field(arguments)?;
        let ty = typed(usual.data_type(), &self.integer);
        Ok(Arc::new(Field::new(usual.name(), ty, usual.is_nullable())))
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.usual.inner().sort_options()
    }

    fn limit_effect(&self, arguments: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.usual.inner().limit_effect(arguments)
    }
}

/// Casts what a window function gives for its rows.
#[derive(Debug)]
struct TypedEvaluator {
    usual: Box<dyn PartitionEvaluator>,
    integer: ArrowType,
}

impl PartitionEvaluator for TypedEvaluator {
    fn memoize(&mut self, state: &mut WindowAggState) -> DataFusionResult<()> {
        self.usual.memoize(state)
    }

    fn get_range(&self, at: usize, rows: usize) -> DataFusionResult<Range<usize>> {
        self.usual.get_range(at, rows)
    }

    fn is_causal(&self) -> bool {
        self.usual.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> DataFusionResult<ArrayRef> {
        cast_array(&self.usual.evaluate_all(values, rows)?, &self.integer)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> DataFusionResult<ScalarValue> {
        cast_scalar(self.usual.evaluate(values, range)?, &self.integer)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> DataFusionResult<ArrayRef> {
        cast_array(&self.usual.evaluate_all_with_rank(rows, ranks)?, &self.integer)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.usual.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.usual.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.usual.include_rank()
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::SessionStateBuilder;
    use datafusion::execution::session_state::SessionState;
    use datafusion::logical_expr::type_coercion::functions::fields_with_udf;

    use super::*;

    /// Every function, with every list of up to three arguments of these types that it takes as they are.
    #[test]
    fn no_function_gives_a_type_that_sql_has_not() {
        let mut state = SessionStateBuilder::new().with_default_features().build();
        crate::register(&mut state);
        let mut found: Vec<String> = Vec::new();
        let mut tried = 0;
        for arguments in argument_lists() {
            for (name, ty) in results(&state, &arguments) {
                tried += 1;
                let is_of_arrow = name.starts_with("arrow_") || name == "union_tag";
                let is_document = name.contains("json");
                if typed(&ty, &ArrowType::Int64) != ty && !is_of_arrow && !is_document {
                    found.push(format!("{name}({}): {ty}", shown(&arguments)));
                }
            }
        }
        assert!(tried > 1000, "{tried} calls are possible");
        assert_eq!(found, Vec::<String>::new());
    }

    /// Returns the results of all functions that take these arguments as they are.
    fn results(state: &SessionState, arguments: &[FieldRef]) -> Vec<(String, ArrowType)> {
        if arguments.is_empty() {
            // Some functions of DataFusion count on an argument before they look whether there is one.
            return Vec::new();
        }
        let types: Vec<ArrowType> = arguments.iter().map(|field| field.data_type().clone()).collect();
        let takes = |fields: DataFusionResult<Vec<FieldRef>>| {
            fields.is_ok_and(|fields| fields.iter().map(|field| field.data_type()).eq(types.iter()))
        };
        let mut all: Vec<(String, ArrowType)> = Vec::new();
        for (name, function) in state.scalar_functions() {
            // A function that does not take the arguments is left out: some count on having one.
            if !takes(fields_with_udf(arguments, function.as_ref())) {
                continue;
            }
            let values = vec![None; arguments.len()];
            let result = function.return_field_from_args(ReturnFieldArgs {
                arg_fields: arguments,
                scalar_arguments: &values,
            });
            if let Ok(field) = result {
                all.push((name.clone(), field.data_type().clone()));
            }
        }
        for (name, function) in state.aggregate_functions() {
            if !takes(fields_with_udf(arguments, function.as_ref())) {
                continue;
            }
            if let Ok(field) = function.return_field(arguments) {
                all.push((name.clone(), field.data_type().clone()));
            }
        }
        for (name, function) in state.window_functions() {
            let takes = takes(fields_with_udf(arguments, function.as_ref()));
            if let (true, Ok(field)) = (takes, function.field(WindowUDFFieldArgs::new(arguments, name))) {
                all.push((name.clone(), field.data_type().clone()));
            }
        }
        all
    }

    fn argument_lists() -> Vec<Vec<FieldRef>> {
        let types = [
            ArrowType::Boolean,
            ArrowType::Int32,
            ArrowType::Int64,
            ArrowType::Float64,
            ArrowType::Decimal128(10, 2),
            ArrowType::Utf8,
            ArrowType::Binary,
            ArrowType::Date32,
            ArrowType::new_list(ArrowType::Int32, true),
            ArrowType::new_list(ArrowType::Utf8, true),
        ];
        let fields = types.map(|ty| -> FieldRef { Arc::new(Field::new("x", ty, true)) });
        let mut lists: Vec<Vec<FieldRef>> = vec![Vec::new()];
        let mut longest = lists.clone();
        for _ in 0..3 {
            let longer = |list: &Vec<FieldRef>| {
                let list = list.clone();
                fields
                    .iter()
                    .map(move |field| [list.clone(), vec![field.clone()]].concat())
            };
            longest = longest.iter().flat_map(longer).collect();
            lists.extend(longest.clone());
        }
        lists
    }

    fn shown(arguments: &[FieldRef]) -> String {
        let types = arguments.iter().map(|field| field.data_type().to_string());
        types.collect::<Vec<_>>().join(", ")
    }
}
