//! Aggregates of floats as PostgreSQL computes them: means, variances, correlations.
//!
//! DataFusion loses the digits of large values that lie close together, and gives 0 for the variance of one infinity.
//! Here sums of squares are those of Youngs and Cramer ("Some results relevant to choice of sum and sum-of-product
//! algorithms", Technometrics 13, 1971), updated value by value: with n values so far, among them `x`, and their sum S,
//!
//! ```text
//! Sxx += (n x - S)^2 / (n (n - 1))        Sxy += (n x - Sx) (n y - Sy) / (n (n - 1))
//! ```
//!
//! NaN and infinity make what they enter NaN; what overflows is 22003.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
    Volatility,
};
use rukh_keys::ValueError;

use crate::aggregates::intervals::{self, are_intervals};
use crate::aggregates::recomputed::Recomputed;
use crate::forms::intervals::INTERVAL;
use crate::functions::common::undefined::undefined_function;
use rukh_error::SqlError;

/// Returns the aggregates that replace DataFusion's.
pub fn aggregates() -> Vec<Arc<AggregateUDF>> {
    ALL.iter()
        .map(|measure| {
            let usual = measure.is_mean().then(avg_udaf);
            let signature = Signature::user_defined(Volatility::Immutable);
            Arc::new(AggregateUDF::from(FloatAggregate {
                measure,
                signature,
                aliases: measure.aliases.iter().map(ToString::to_string).collect(),
                usual,
            }))
        })
        .collect()
}

/// The statistic of the values of a group.
#[derive(Debug)]
struct Measure {
    name: &'static str,
    aliases: &'static [&'static str],
    /// 1, or 2: `y, x`.
    arguments: usize,
    value: fn(&Moments) -> Option<f64>,
}

const fn of_one(
    name: &'static str,
    aliases: &'static [&'static str],
    value: fn(&Moments) -> Option<f64>,
) -> Measure {
    Measure {
        name,
        aliases,
        arguments: 1,
        value,
    }
}

const fn of_two(
    name: &'static str,
    aliases: &'static [&'static str],
    value: fn(&Moments) -> Option<f64>,
) -> Measure {
    Measure {
        name,
        aliases,
        arguments: 2,
        value,
    }
}

static ALL: [Measure; 16] = [
    of_one("avg", &["mean"], |m| m.some(m.x.sum / m.rows)),
    of_one("var_pop", &["var_population"], |m| m.some(m.x.squares / m.rows)),
    of_one("var", &["var_samp", "var_sample", "variance"], |m| {
        m.sample(m.x.squares / (m.rows - 1.0))
    }),
    of_one("stddev_pop", &[], |m| m.some((m.x.squares / m.rows).sqrt())),
    of_one("stddev", &["stddev_samp"], |m| {
        m.sample((m.x.squares / (m.rows - 1.0)).sqrt())
    }),
    of_two("covar_pop", &[], |m| m.some(m.products / m.rows)),
    of_two("covar_samp", &["covar"], |m| {
        m.sample(m.products / (m.rows - 1.0))
    }),
    of_two("corr", &[], |m| {
        let spread = m.x.squares != 0.0 && m.y.squares != 0.0;
        m.some(m.products / (m.x.squares * m.y.squares).sqrt())
            .filter(|_| spread)
    }),
    of_two("regr_slope", &[], |m| m.sloped(m.products / m.x.squares)),
    of_two("regr_intercept", &[], |m| {
        m.sloped((m.y.sum - m.x.sum * m.products / m.x.squares) / m.rows)
    }),
    of_two("regr_r2", &[], |m| {
        m.sloped(match m.y.squares == 0.0 {
            true => 1.0,
            false => (m.products * m.products) / (m.x.squares * m.y.squares),
        })
    }),
    of_two("regr_avgx", &[], |m| m.some(m.x.sum / m.rows)),
    of_two("regr_avgy", &[], |m| m.some(m.y.sum / m.rows)),
    of_two("regr_sxx", &[], |m| m.some(m.x.squares)),
    of_two("regr_syy", &[], |m| m.some(m.y.squares)),
    of_two("regr_sxy", &[], |m| m.some(m.products)),
];

/// The sum of values, and the sum of the squares of their distances from the mean.
#[derive(Clone, Copy, Debug, Default)]
struct Axis {
    sum: f64,
    squares: f64,
}

/// What is kept of the values of a group, or of pairs.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    rows: f64,
    x: Axis,
    y: Axis,
    /// The sum of the products of the distances of `x` and `y` from their means.
    products: f64,
}

impl Axis {
    /// Adds a value, the `rows`th, its square as `weighed`; returns `rows` times its distance from the mean.
    fn add(&mut self, value: f64, rows: f64, weighed: impl Fn(f64) -> f64) -> Result<f64, ValueError> {
        let before = self.sum;
        self.sum += value;
        if rows <= 1.0 {
            if !value.is_finite() {
                self.squares = f64::NAN;
            }
            return Ok(0.0);
        }
        let distance = value * rows - self.sum;
        self.squares += weighed(distance * distance);
        if self.sum.is_infinite() || self.squares.is_infinite() {
            if !before.is_infinite() && !value.is_infinite() {
                return Err(ValueError::FloatOverflow);
            }
            self.squares = f64::NAN;
        }
        Ok(distance)
    }

    /// Puts two parts of a group together; returns the distance of their means.
    fn merge(&mut self, rows: f64, other: &Axis, other_rows: f64) -> Result<f64, ValueError> {
        let distance = self.sum / rows - other.sum / other_rows;
        let sum = self.sum + other.sum;
        let weight = rows * other_rows / (rows + other_rows);
        let squares = self.squares + other.squares + weight * distance * distance;
        let overflows =
            |made: f64, one: f64, two: f64| made.is_infinite() && one.is_finite() && two.is_finite();
        if overflows(sum, self.sum, other.sum) || overflows(squares, self.squares, other.squares) {
            return Err(ValueError::FloatOverflow);
        }
        *self = Axis { sum, squares };
        Ok(distance)
    }
}

impl Moments {
    fn some(&self, value: f64) -> Option<f64> {
        (self.rows > 0.0).then_some(value)
    }

    fn sample(&self, value: f64) -> Option<f64> {
        (self.rows > 1.0).then_some(value)
    }

    fn sloped(&self, value: f64) -> Option<f64> {
        self.some(value).filter(|_| self.x.squares != 0.0)
    }

    fn add_to_sum(&mut self, x: f64) -> Result<(), ValueError> {
        let before = self.x.sum;
        self.rows += 1.0;
        self.x.sum += x;
        match self.x.sum.is_infinite() && before.is_finite() && x.is_finite() {
            true => Err(ValueError::FloatOverflow),
            false => Ok(()),
        }
    }

    fn add(&mut self, x: f64) -> Result<(), ValueError> {
        self.rows += 1.0;
        let weight = self.rows * (self.rows - 1.0);
        self.x.add(x, self.rows, |square| square / weight)?;
        Ok(())
    }

    fn add_pair(&mut self, y: f64, x: f64) -> Result<(), ValueError> {
        self.rows += 1.0;
        let (sums, finite) = ((self.x.sum, self.y.sum), x.is_finite() && y.is_finite());
        let scale = 1.0 / (self.rows * (self.rows - 1.0));
        // PostgreSQL multiplies pairs and divides single values, which shows in the last digit.
        let weighed = |square: f64| square * scale;
        let distances = self.x.add(x, self.rows, weighed)? * self.y.add(y, self.rows, weighed)?;
        if self.rows <= 1.0 {
            self.products = if finite { 0.0 } else { f64::NAN };
            return Ok(());
        }
        self.products += distances * scale;
        if self.products.is_infinite() {
            if finite && sums.0.is_finite() && sums.1.is_finite() {
                return Err(ValueError::FloatOverflow);
            }
            self.products = f64::NAN;
        }
        Ok(())
    }

    fn merge(&mut self, other: &Moments) -> Result<(), ValueError> {
        if other.rows == 0.0 {
            return Ok(());
        }
        if self.rows == 0.0 {
            *self = *other;
            return Ok(());
        }
        let weight = self.rows * other.rows / (self.rows + other.rows);
        let x = self.x.merge(self.rows, &other.x, other.rows)?;
        let y = self.y.merge(self.rows, &other.y, other.rows)?;
        let products = self.products + other.products + weight * x * y;
        if products.is_infinite() && self.products.is_finite() && other.products.is_finite() {
            return Err(ValueError::FloatOverflow);
        }
        self.products = products;
        self.rows += other.rows;
        Ok(())
    }

    fn parts(&self) -> [f64; 6] {
        let Moments { rows, x, y, products } = self;
        [*rows, x.sum, x.squares, y.sum, y.squares, *products]
    }

    fn of_parts(parts: [f64; 6]) -> Moments {
        let [rows, sum, squares, y_sum, y_squares, products] = parts;
        Moments {
            rows,
            x: Axis { sum, squares },
            y: Axis {
                sum: y_sum,
                squares: y_squares,
            },
            products,
        }
    }
}

fn is_number(ty: &ArrowType) -> bool {
    ty.is_numeric() || ty.is_null()
}

/// How many of the [parts](Moments::parts) are kept of so many arguments.
fn parts_of(arguments: usize) -> usize {
    if arguments == 1 { 3 } else { 6 }
}

fn failure(error: ValueError) -> DataFusionError {
    DataFusionError::External(Box::new(SqlError::from(error)))
}

/// An aggregate of floats; `avg` of other numbers is DataFusion's.
#[derive(Debug)]
struct FloatAggregate {
    measure: &'static Measure,
    signature: Signature,
    aliases: Vec<String>,
    usual: Option<Arc<AggregateUDF>>,
}

impl PartialEq for FloatAggregate {
    fn eq(&self, other: &Self) -> bool {
        self.measure.name == other.measure.name
    }
}

impl Eq for FloatAggregate {}

impl std::hash::Hash for FloatAggregate {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.measure.name.hash(state);
    }
}

impl FloatAggregate {
    /// DataFusion's aggregate, where it is for values of another type than floats, or for each value once.
    fn usual_of(&self, types: &[FieldRef], is_distinct: bool) -> Option<&Arc<AggregateUDF>> {
        let are_floats = types.iter().all(|field| field.data_type().is_floating());
        self.usual.as_ref().filter(|_| is_distinct || !are_floats)
    }

    /// The accumulator of `avg` of intervals, if that is what the arguments ask for.
    fn mean_of_intervals(
        &self,
        arguments: &AccumulatorArgs<'_>,
    ) -> DataFusionResult<Option<Box<dyn Accumulator>>> {
        match self.usual.is_some() && are_intervals(arguments.expr_fields) {
            true => Ok(Some(Box::new(intervals::Total::new(
                true,
                arguments.is_distinct,
            )?))),
            false => Ok(None),
        }
    }

    fn refuse_distinct(&self, is_distinct: bool) -> DataFusionResult<()> {
        match is_distinct {
            false => Ok(()),
            true => Err(DataFusionError::External(Box::new(SqlError::unsupported(
                format!(
                    "{}(DISTINCT …) beside other aggregates is not supported",
                    self.measure.name
                ),
            )))),
        }
    }

    fn moments(&self) -> MomentsAccumulator {
        MomentsAccumulator {
            measure: self.measure,
            moments: Moments::default(),
        }
    }
}

impl AggregateUDFImpl for FloatAggregate {
    fn name(&self) -> &str {
        self.measure.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        match &self.usual {
            Some(usual) => usual.coerce_types(types),
            None if types.len() == self.measure.arguments && types.iter().all(is_number) => {
                Ok(vec![ArrowType::Float64; types.len()])
            }
            None => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match &self.usual {
            Some(_) if matches!(types, [ArrowType::Interval(_)]) => Ok(INTERVAL),
            Some(usual) if !types.iter().all(ArrowType::is_floating) => usual.return_type(types),
            _ => Ok(ArrowType::Float64),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        if let Some(mean) = self.mean_of_intervals(&arguments)? {
            return Ok(mean);
        }
        if let Some(usual) = self.usual_of(arguments.expr_fields, arguments.is_distinct) {
            return usual.accumulator(arguments);
        }
        self.refuse_distinct(arguments.is_distinct)?;
        Ok(Box::new(self.moments()))
    }

    fn create_sliding_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn Accumulator>> {
        if let Some(mean) = self.mean_of_intervals(&arguments)? {
            return Ok(mean);
        }
        if let Some(usual) = self.usual_of(arguments.expr_fields, arguments.is_distinct) {
            return usual.create_sliding_accumulator(arguments);
        }
        self.refuse_distinct(arguments.is_distinct)?;
        let measure = self.measure;
        Ok(Box::new(Recomputed::new(move || MomentsAccumulator {
            measure,
            moments: Moments::default(),
        })))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> DataFusionResult<Vec<FieldRef>> {
        if self.usual.is_some() && are_intervals(arguments.input_fields) {
            return Ok(intervals::state_fields(arguments.name));
        }
        if let Some(usual) = self.usual_of(arguments.input_fields, arguments.is_distinct) {
            return usual.state_fields(arguments);
        }
        let field = |part: usize| {
            let name = format_state_name(arguments.name, &format!("part {part}"));
            Arc::new(Field::new(name, ArrowType::Float64, false))
        };
        Ok((0..parts_of(self.measure.arguments)).map(field).collect())
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs<'_>) -> bool {
        match self.usual_of(arguments.expr_fields, arguments.is_distinct) {
            Some(_) if are_intervals(arguments.expr_fields) => false,
            Some(usual) => usual.groups_accumulator_supported(arguments),
            None => !arguments.is_distinct,
        }
    }

    fn create_groups_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn GroupsAccumulator>> {
        match self.usual_of(arguments.expr_fields, arguments.is_distinct) {
            Some(usual) => usual.create_groups_accumulator(arguments),
            None => Ok(Box::new(MomentsOfGroups {
                measure: self.measure,
                groups: Vec::new(),
            })),
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

fn is_kept(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}

/// Calls `add` for each row that has all of its values.
fn each_row(
    values: &[ArrayRef],
    mut add: impl FnMut(usize, f64, f64) -> Result<(), ValueError>,
) -> DataFusionResult<()> {
    let as_double = |values: &ArrayRef| datafusion::arrow::compute::cast(values, &ArrowType::Float64);
    match values {
        [x] => {
            let x = as_double(x)?;
            for (row, x) in x.as_primitive::<Float64Type>().iter().enumerate() {
                if let Some(x) = x {
                    add(row, x, 0.0).map_err(failure)?;
                }
            }
        }
        [y, x] => {
            let (y, x) = (as_double(y)?, as_double(x)?);
            let (y, x) = (y.as_primitive::<Float64Type>(), x.as_primitive::<Float64Type>());
            for (row, pair) in y.iter().zip(x.iter()).enumerate() {
                if let (Some(y), Some(x)) = pair {
                    add(row, x, y).map_err(failure)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

impl Measure {
    /// Whether it is `avg`, which needs no squares.
    fn is_mean(&self) -> bool {
        self.name == "avg"
    }

    fn add(&self, moments: &mut Moments, x: f64, y: f64) -> Result<(), ValueError> {
        match self.arguments {
            1 if self.is_mean() => moments.add_to_sum(x),
            1 => moments.add(x),
            _ => moments.add_pair(y, x),
        }
    }

    fn states_of(&self, groups: &[Moments]) -> Vec<ArrayRef> {
        let part = |at: usize| -> ArrayRef {
            let parts = groups.iter().map(|moments| moments.parts()[at]);
            Arc::new(Float64Array::from_iter_values(parts))
        };
        (0..parts_of(self.arguments)).map(part).collect()
    }

    /// The state in a row, as far as it is kept.
    fn state_in(&self, states: &[ArrayRef], row: usize) -> Moments {
        let mut parts = [0.0; 6];
        for (part, values) in parts.iter_mut().zip(states) {
            *part = values.as_primitive::<Float64Type>().value(row);
        }
        Moments::of_parts(parts)
    }

    fn result(&self, moments: &Moments) -> Option<f64> {
        // Processors give NaN a sign, by which it would be less than all.
        (self.value)(moments).map(|value| if value.is_nan() { f64::NAN } else { value })
    }
}

#[derive(Debug)]
struct MomentsAccumulator {
    measure: &'static Measure,
    moments: Moments,
}

impl Accumulator for MomentsAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        each_row(values, |_, x, y| self.measure.add(&mut self.moments, x, y))
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        Ok(ScalarValue::Float64(self.measure.result(&self.moments)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let parts = self.moments.parts();
        let kept = &parts[..parts_of(self.measure.arguments)];
        Ok(kept
            .iter()
            .map(|part| ScalarValue::Float64(Some(*part)))
            .collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let rows = states.first().map_or(0, |values| values.len());
        for row in 0..rows {
            let other = self.measure.state_in(states, row);
            self.moments.merge(&other).map_err(failure)?;
        }
        Ok(())
    }
}

struct MomentsOfGroups {
    measure: &'static Measure,
    groups: Vec<Moments>,
}

impl GroupsAccumulator for MomentsOfGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> DataFusionResult<()> {
        self.groups.resize(count, Moments::default());
        let (measure, all) = (self.measure, &mut self.groups);
        each_row(values, |row, x, y| match is_kept(filter, row) {
            true => measure.add(&mut all[groups[row]], x, y),
            false => Ok(()),
        })
    }

    fn evaluate(&mut self, emit: EmitTo) -> DataFusionResult<ArrayRef> {
        let groups = emit.take_needed(&mut self.groups);
        let results = groups.iter().map(|moments| self.measure.result(moments));
        Ok(Arc::new(results.collect::<Float64Array>()))
    }

    fn state(&mut self, emit: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        let groups = emit.take_needed(&mut self.groups);
        Ok(self.measure.states_of(&groups))
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DataFusionResult<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |values| values.len());
        let mut groups = vec![Moments::default(); rows];
        each_row(values, |row, x, y| match is_kept(filter, row) {
            true => self.measure.add(&mut groups[row], x, y),
            false => Ok(()),
        })?;
        Ok(self.measure.states_of(&groups))
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> DataFusionResult<()> {
        self.groups.resize(count, Moments::default());
        for (row, group) in groups.iter().enumerate() {
            let other = self.measure.state_in(states, row);
            self.groups[*group].merge(&other).map_err(failure)?;
        }
        Ok(())
    }

    #[expect(clippy::arithmetic_side_effects, reason = "bytes that are in memory")]
    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Moments>()
    }
}
