//! A name of the table as a function of DataFusion, until its call is bound.
//!
//! A call of it has the type of the signature that it means as soon as it is planned; the typing of the plan replaces it by the
//! implementation with the casts that the signature takes.

use std::sync::Arc;

use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType as ArrowType, Field, FieldRef,
};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum, NumericParts, ValueError};

use crate::casts::table::Kind;
use crate::errors::external;
use crate::signatures::resolve::{self, Meant, Unresolved};
use crate::signatures::table::{self, Overload};
use crate::types::{TYPE_KEY, arrow_type};

/// Functions that are another one under another name.
const SAME: [(&str, &str); 3] = [
    ("ceiling", "ceil"),
    ("date_part", "extract"),
    ("position", "strpos"),
];

/// Most digits of a number of a fixed width.
const DIGITS_MAX: u8 = 38;
/// Digits of a SMALLINT.
pub const INT2_DIGITS: u8 = 5;
/// Digits of an INTEGER.
pub const INT4_DIGITS: u8 = 10;
/// Digits of a BIGINT.
pub const INT8_DIGITS: u8 = 19;

/// A function of the table.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Overloaded {
    name: &'static str,
    implementation: Implementation,
    /// The implementation of calls whose first argument is of a kind.
    others: Vec<(Kind, Arc<ScalarUDF>)>,
    signature: Signature,
}

/// What the names of functions end in that compute calls whose first argument is of a kind.
const OF_KINDS: [(Kind, &str); 2] = [(Kind::Bytes, "_of_bytes"), (Kind::Interval, "_of_interval")];

/// How a function of the table is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Implementation {
    /// By another function, which takes the arguments of the signature.
    Function(Arc<ScalarUDF>),
    /// By a cast to the result of the signature.
    Cast,
}

/// Puts the functions of the table in the place of their implementations; what has none is not there.
pub fn register(state: &mut SessionState) -> DataFusionResult<()> {
    for name in table::functions().keys() {
        let implementing = |name: &str| {
            let usual = state.scalar_functions().get(name)?;
            Some(match overloaded(usual) {
                Some(Overloaded {
                    implementation: Implementation::Function(inner),
                    ..
                }) => inner.clone(),
                _ => usual.clone(),
            })
        };
        let same = SAME.iter().find(|(alias, _)| alias == name);
        let implementation = match implementing(same.map_or(*name, |(_, usual)| *usual)) {
            Some(usual) => Implementation::Function(usual),
            None if table::cast_target(name).is_some() => Implementation::Cast,
            None => continue,
        };
        let volatility = match &implementation {
            Implementation::Function(usual) => usual.signature().volatility,
            Implementation::Cast => Volatility::Immutable,
        };
        let of_kind = |(kind, ending)| Some((kind, implementing(&format!("{name}{ending}"))?));
        let function = Overloaded {
            name,
            implementation,
            others: OF_KINDS.into_iter().filter_map(of_kind).collect(),
            signature: Signature::user_defined(volatility),
        };
        state.register_udf(Arc::new(ScalarUDF::from(function)))?;
    }
    Ok(())
}

/// Returns a function of the table behind a function of DataFusion; `None` of all others.
pub fn overloaded(function: &ScalarUDF) -> Option<&Overloaded> {
    function.inner().downcast_ref::<Overloaded>()
}

/// Returns the text of a literal without a type.
pub fn unknown_text(literal: Option<&ScalarValue>) -> Option<&str> {
    match literal {
        Some(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text))) => Some(text),
        _ => None,
    }
}

/// The type of a value that no signature takes: a row, a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoKind;

/// Returns the type of an argument or operand; `Ok(None)` of a literal without one, and of NULL. Fails on what no signature takes.
pub fn kind(field: &Field, literal: Option<&ScalarValue>) -> Result<Option<Kind>, NoKind> {
    match literal {
        Some(ScalarValue::Utf8(_) | ScalarValue::Utf8View(_) | ScalarValue::Null) => return Ok(None),
        // An argument that is left a constant.
        Some(ScalarValue::Int64(Some(value))) if i32::try_from(*value).is_ok() => {
            return Ok(Some(Kind::Integer));
        }
        _ => {}
    }
    match field.data_type() {
        ArrowType::Null => Ok(None),
        _ => Kind::of_field(field).map(Some).ok_or(NoKind),
    }
}

impl Overloaded {
    /// Returns how a call is computed.
    pub fn implementation(&self, meant: &Meant) -> Implementation {
        let first = meant.arguments.first();
        match self.others.iter().find(|(kind, _)| Some(kind) == first) {
            Some((_, other)) => Implementation::Function(other.clone()),
            None => self.implementation.clone(),
        }
    }

    /// Returns the signature that a call means.
    ///
    /// # Errors
    /// 42883 if there is none for these arguments, 42725 if several fit equally well.
    pub fn chosen(&self, fields: &[FieldRef], literals: &[Option<&ScalarValue>]) -> DataFusionResult<Meant> {
        let overloads = &table::functions()[self.name];
        let literal = |at: usize| literals.get(at).copied().flatten();
        let kinds: Result<Vec<Option<Kind>>, NoKind> = fields
            .iter()
            .enumerate()
            .map(|(at, field)| kind(field, literal(at)))
            .collect();
        let chosen = match &kinds {
            // A literal is read in the type that it is cast to, whichever signatures there are.
            Ok(kinds) if self.implementation == Implementation::Cast && kinds.as_slice() == [None] => {
                resolve::function(&overloads[..1], kinds)
            }
            Ok(kinds) if self.is_identity(kinds) => Ok(Meant {
                arguments: kinds.iter().copied().flatten().collect(),
                result: kinds[0].unwrap_or(Kind::Text),
            }),
            Ok(kinds) => match resolve::function(overloads, kinds) {
                Err(Unresolved::None) => resolve::function(table::stored(self.name), kinds),
                other => other,
            },
            Err(NoKind) => Err(Unresolved::None),
        };
        let is_parameter = |at: usize| fields[at].data_type().is_null() && literal(at).is_none();
        let chosen = match (chosen, &kinds) {
            (Err(Unresolved::Ambiguous | Unresolved::Untyped), Ok(kinds))
                if (0..fields.len()).any(is_parameter) =>
            {
                resolve::with_parameters(overloads, kinds)
            }
            (chosen, _) => chosen,
        };
        // What is no function is a cast by way of a text.
        if let (Err(Unresolved::None), Ok([Some(from)]), Some(to)) =
            (&chosen, kinds.as_deref(), table::cast_target(self.name))
            && (from.is_text() || to.is_text())
        {
            return Ok(Meant {
                arguments: vec![*from],
                result: to,
            });
        }
        chosen.map_err(|why| external(unresolved(self.name, why, fields, literals)))
    }

    /// Whether a cast is to the type that its argument has.
    fn is_identity(&self, kinds: &[Option<Kind>]) -> bool {
        self.implementation == Implementation::Cast
            && kinds == [table::cast_target(self.name)]
            && kinds != [None]
    }

    /// Returns the type of a signature's result, given that of the implementation's: numbers have digits of their own.
    pub fn result(meant: &Meant, usual: &ArrowType) -> ArrowType {
        match meant.result {
            Kind::Numeric if matches!(usual, ArrowType::Decimal128(..) | ArrowType::Decimal256(..)) => {
                usual.clone()
            }
            Kind::Array(_) if matches!(usual, ArrowType::List(_)) => usual.clone(),
            kind => arrow_of(kind, None),
        }
    }

    /// Returns the arguments as the implementation of a signature takes them: the types of the signature, with the digits that numbers
    /// have, and BIGINT where it takes no INTEGER.
    pub fn taken(
        &self,
        meant: &Meant,
        fields: &[FieldRef],
        literals: &[Option<&ScalarValue>],
    ) -> Vec<FieldRef> {
        let literal = |at: usize| literals.get(at).copied().flatten();
        let taken = meant.arguments.iter().zip(fields).enumerate();
        let taken: Vec<FieldRef> = taken
            .map(|(at, (kind, field))| {
                let ty = argument_type(*kind, field, literal(at));
                typed_field(field.name(), *kind, &ty, field.is_nullable())
            })
            .collect();
        let taken = with_digits_alike(taken);
        let Implementation::Function(usual) = &self.implementation(meant) else {
            return taken;
        };
        let is_taken = |fields: &[FieldRef]| {
            fields_with_udf(fields, usual.as_ref()).is_ok_and(|coerced| {
                let mut pairs = coerced.iter().zip(fields);
                pairs.all(|(coerced, field)| coerced.data_type() == field.data_type())
            })
        };
        if is_taken(&taken) {
            return taken;
        }
        let wide = |field: &FieldRef| match field.data_type() {
            ArrowType::Int32 => Arc::new(field.as_ref().clone().with_data_type(ArrowType::Int64)),
            _ => field.clone(),
        };
        let wide: Vec<FieldRef> = taken.iter().map(wide).collect();
        if is_taken(&wide) { wide } else { taken }
    }

    fn field(&self, arguments: &ReturnFieldArgs) -> DataFusionResult<FieldRef> {
        let literal = |at: usize| arguments.scalar_arguments.get(at).copied().flatten();
        let meant = self.chosen(arguments.arg_fields, arguments.scalar_arguments)?;
        let is_nullable = arguments.arg_fields.iter().any(|field| field.is_nullable());
        let Implementation::Function(usual) = &self.implementation(&meant) else {
            return Ok(typed_field(
                self.name,
                meant.result,
                &arrow_of(meant.result, None),
                is_nullable,
            ));
        };
        let taken = self.taken(&meant, arguments.arg_fields, arguments.scalar_arguments);
        let literals: Vec<Option<ScalarValue>> = taken
            .iter()
            .enumerate()
            .map(|(at, field)| literal(at).and_then(|value| value.cast_to(field.data_type()).ok()))
            .collect();
        let literals: Vec<Option<&ScalarValue>> = literals.iter().map(Option::as_ref).collect();
        let field = usual.return_field_from_args(ReturnFieldArgs {
            arg_fields: &fields_with_udf(&taken, usual.as_ref())?,
            scalar_arguments: &literals,
        })?;
        let ty = Overloaded::result(&meant, field.data_type());
        Ok(typed_field(self.name, meant.result, &ty, field.is_nullable()))
    }
}

/// Returns the signature that a call of an aggregate or window function means.
///
/// # Errors
/// 42883 if there is none for these arguments, 42725 if several fit equally well, 42804 if no argument gives a polymorphic type its meaning.
pub fn chosen_of(
    name: &str,
    overloads: &[Overload],
    fields: &[FieldRef],
    literals: &[Option<&ScalarValue>],
) -> DataFusionResult<Meant> {
    let kinds = fields.iter().zip(literals);
    let kinds: Result<Vec<Option<Kind>>, NoKind> =
        kinds.map(|(field, literal)| kind(field, *literal)).collect();
    let chosen = match &kinds {
        Ok(kinds) => resolve::function(overloads, kinds),
        Err(NoKind) => Err(Unresolved::None),
    };
    chosen.map_err(|why| external(unresolved(name, why, fields, literals)))
}

/// Returns the error of a call that means no signature.
pub fn unresolved(
    name: &str,
    why: Unresolved,
    fields: &[FieldRef],
    literals: &[Option<&ScalarValue>],
) -> SqlError {
    let literal = |at: usize| literals.get(at).copied().flatten();
    let names = || {
        let name = |(at, field): (usize, &FieldRef)| match kind(field, literal(at)) {
            Ok(None) => "unknown".to_string(),
            Ok(Some(kind)) => kind.to_string(),
            Err(NoKind) => crate::types::postgres_name_of(field).to_string(),
        };
        fields.iter().enumerate().map(name).collect::<Vec<_>>().join(", ")
    };
    match why {
        Unresolved::Untyped => SqlError::statement(
            "42804",
            "could not determine polymorphic type because input has type unknown",
        ),
        Unresolved::None => {
            SqlError::statement("42883", format!("function {name}({}) does not exist", names())).with_hint(
                "No function matches the given name and argument types. You might need to add explicit type casts.",
            )
        }
        Unresolved::Ambiguous => {
            SqlError::statement("42725", format!("function {name}({}) is not unique", names())).with_hint(
                "Could not choose a best candidate function. You might need to add explicit type casts.",
            )
        }
    }
}

fn typed_field(name: &str, kind: Kind, ty: &ArrowType, is_nullable: bool) -> FieldRef {
    let field = Field::new(name, ty.clone(), is_nullable);
    Arc::new(match kind {
        Kind::Uuid => field.with_metadata([(TYPE_KEY.to_string(), DataType::Uuid.to_string())].into()),
        _ => field,
    })
}

impl ScalarUDFImpl for Overloaded {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        internal_err!("the type of {} follows from its fields", self.name)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> DataFusionResult<FieldRef> {
        self.field(&arguments)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        internal_err!("the call of {} was not bound", self.name)
    }
}

/// Gives numbers beside arrays of numbers the digits of all where they have not the same.
fn with_digits_alike(fields: Vec<FieldRef>) -> Vec<FieldRef> {
    let is_decimal = |ty: &ArrowType| matches!(ty, ArrowType::Decimal128(..) | ArrowType::Decimal256(..));
    let number = |field: &FieldRef| match field.data_type() {
        ArrowType::List(of) if is_decimal(of.data_type()) => Some(of.data_type().clone()),
        ty if is_decimal(ty) => Some(ty.clone()),
        _ => None,
    };
    let numbers: Vec<ArrowType> = fields.iter().filter_map(number).collect();
    let has_array = fields.iter().any(|field| field.data_type().is_nested());
    if !has_array || numbers.iter().all(|ty| *ty == numbers[0]) {
        return fields;
    }
    let (mut whole, mut fraction) = (0, 0);
    for ty in &numbers {
        if let ArrowType::Decimal128(precision, scale) | ArrowType::Decimal256(precision, scale) = ty {
            let scale = u8::try_from(*scale).unwrap_or_default();
            whole = whole.max(precision.saturating_sub(scale));
            fraction = fraction.max(scale);
        }
    }
    let ty = match whole.saturating_add(fraction) {
        digits @ ..=DECIMAL128_MAX_PRECISION => ArrowType::Decimal128(digits, fraction as i8),
        digits => ArrowType::Decimal256(digits.min(DECIMAL256_MAX_PRECISION), fraction as i8),
    };
    let alike = |field: FieldRef| {
        let ty = match (number(&field), field.data_type()) {
            (None, _) => return field,
            (Some(_), ArrowType::List(_)) => ArrowType::new_list(ty.clone(), true),
            (Some(_), _) => ty.clone(),
        };
        Arc::new(field.as_ref().clone().with_data_type(ty))
    };
    fields.into_iter().map(alike).collect()
}

/// Returns the type that an argument of a signature has: numbers have the digits of what they are made of.
pub fn argument_type(kind: Kind, from: &Field, literal: Option<&ScalarValue>) -> ArrowType {
    match (kind, from.data_type()) {
        (Kind::Numeric, ty @ (ArrowType::Decimal128(..) | ArrowType::Decimal256(..))) => ty.clone(),
        (kind @ Kind::Array(_), ty) if Kind::of_field(from) == Some(kind) => ty.clone(),
        (Kind::Numeric, ArrowType::Int8 | ArrowType::Int16) => ArrowType::Decimal128(INT2_DIGITS, 0),
        (Kind::Numeric, ArrowType::Int32) => ArrowType::Decimal128(INT4_DIGITS, 0),
        (Kind::Numeric, ty) if ty.is_integer() => ArrowType::Decimal128(INT8_DIGITS, 0),
        (kind, _) => arrow_of(kind, unknown_text(literal)),
    }
}

/// Returns the type that a literal without a type is read in as an operand of an operator.
pub fn operand_type(kind: Kind, literal: &ScalarValue) -> ArrowType {
    arrow_of(kind, unknown_text(Some(literal)))
}

fn arrow_of(kind: Kind, literal: Option<&str>) -> ArrowType {
    match (column_type(kind, literal), kind) {
        (Some(ty), _) => arrow_type(&ty),
        // Numbers of a literal keep their digits.
        (None, Kind::Array(Kind::Numeric)) => arrow_type(&DataType::NUMERIC.array()),
        (None, Kind::Array(element)) => ArrowType::new_list(arrow_of(*element, None), true),
        (None, _) => ArrowType::Null,
    }
}

/// Returns the type of columns of a kind; a number has the digits behind the point that a literal has. `None` of what no column is.
pub fn column_type(kind: Kind, literal: Option<&str>) -> Option<DataType> {
    Some(match kind {
        Kind::Boolean => DataType::Boolean,
        Kind::SmallInt => DataType::SmallInt,
        Kind::Integer => DataType::Integer,
        Kind::BigInt => DataType::BigInt,
        Kind::Real => DataType::Real,
        Kind::Double => DataType::Double,
        Kind::Numeric => numeric_type(literal),
        Kind::Date => DataType::Date,
        Kind::Time => DataType::Time { precision: 6 },
        Kind::Timestamp => DataType::TIMESTAMP,
        Kind::TimestampTz => DataType::TIMESTAMP_TZ,
        Kind::Uuid => DataType::Uuid,
        Kind::Inet => DataType::Inet,
        Kind::Cidr => DataType::Cidr,
        Kind::Interval => DataType::Interval,
        Kind::Json => DataType::Json,
        Kind::Jsonb => DataType::Jsonb,
        Kind::Bytes => DataType::Varbinary(None),
        Kind::Text | Kind::Varchar | Kind::Char | Kind::JsonPath => DataType::Varchar(None),
        Kind::Enum(of) => DataType::Enum(of),
        Kind::Array(_) | Kind::Record => return None,
    })
}

/// Returns the type in which a literal is read as a number: all the digits of a fixed width, as long as they hold it.
fn numeric_type(literal: Option<&str>) -> DataType {
    let Some(text) = literal else {
        return DataType::Decimal {
            precision: DIGITS_MAX,
            scale: 0,
        };
    };
    let ty = DataType::Decimal {
        precision: DIGITS_MAX,
        scale: fraction_digits(text),
    };
    match ty.parse_text(text) {
        Ok(number)
            if DataType::NUMERIC
                .parse_text(text)
                .is_ok_and(|exact| is_same(&number, ty, &exact)) =>
        {
            ty
        }
        Ok(_) | Err(ValueError::NumericOverflow { .. } | ValueError::NotFinite { .. }) => DataType::NUMERIC,
        Err(_) => ty,
    }
}

fn is_same(number: &Datum, ty: DataType, exact: &Datum) -> bool {
    match (number, ty, exact) {
        (Datum::Decimal(value), DataType::Decimal { scale, .. }, Datum::Numeric(form)) => {
            NumericParts::of_decimal(*value, scale).is_some_and(|parts| parts.to_form() == *form)
        }
        _ => false,
    }
}

/// Returns how many digits behind the point the number has that a text says: `1.5e-3` has 4.
pub fn fraction_digits(text: &str) -> u8 {
    let (number, exponent) = match text.trim().split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i64>().unwrap_or_default()),
        None => (text.trim(), 0),
    };
    let written = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    let digits = i64::try_from(written)
        .unwrap_or(i64::MAX)
        .saturating_sub(exponent)
        .clamp(0, i64::from(DIGITS_MAX.saturating_sub(1)));
    u8::try_from(digits).unwrap_or_default()
}
