//! `@?`, `@@`, `jsonb_path_query` and its kin: what a path finds in a document.
//!
//! | function                                               | gives                                                       |
//! |--------------------------------------------------------|-------------------------------------------------------------|
//! | `jsonb_path_exists(d, p [, vars [, silent]])`, `d @? p` | whether it finds anything; the operator takes errors as NULL |
//! | `jsonb_path_match(…)`, `d @@ p`                        | the truth that it finds                                      |
//! | `jsonb_path_query_array(…)`                            | all that it finds, as an array                               |
//! | `jsonb_path_query_first(…)`                            | the first                                                    |
//! | `jsonb_path_query(…)`                                  | rows: the elements of `jsonb_path_query_list(…)`             |
//! | `jsonpath_in(text)`                                    | the path as PostgreSQL writes it, which is the cast           |
//!
//! With `_tz` at the end of the name, moments with a zone compare with those without. A path is a text here.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanBuilder, LargeBinaryBuilder, ListBuilder, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_keys::{Json, Jsonb, JsonbKind};

use super::expand::list_of;
use super::jsonpath::{Failure, Item, Path, Search};

/// The function of `'$.a'::jsonpath`.
pub const CAST: &str = "jsonpath_in";

/// The functions of `@?` and `@@`.
pub const EXISTS_OPERATOR: &str = "jsonb_path_exists_opr";
/// See [`EXISTS_OPERATOR`].
pub const MATCH_OPERATOR: &str = "jsonb_path_match_opr";

/// The function whose values are rows.
pub const QUERY: &str = "jsonb_path_query";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Asks {
    Exists,
    Match,
    Array,
    First,
    Rows,
    Cast,
}

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    ALL.iter().cloned()
}

static ALL: LazyLock<Vec<Arc<ScalarUDF>>> = LazyLock::new(|| {
    let function = |name: String, asks, has_zone, is_operator| {
        let volatility = match has_zone {
            true => Volatility::Stable,
            false => Volatility::Immutable,
        };
        let signature = Signature::user_defined(volatility);
        Arc::new(ScalarUDF::from(Function {
            name,
            asks,
            has_zone,
            is_operator,
            signature,
        }))
    };
    let usual = [
        ("jsonb_path_exists", Asks::Exists),
        ("jsonb_path_match", Asks::Match),
        ("jsonb_path_query_array", Asks::Array),
        ("jsonb_path_query_first", Asks::First),
    ];
    let mut all = Vec::new();
    for has_zone in [false, true] {
        let ending = if has_zone { "_tz" } else { "" };
        for (name, asks) in usual {
            all.push(function(format!("{name}{ending}"), asks, has_zone, false));
        }
        let rows = list_of(&format!("{QUERY}{ending}"));
        all.push(function(rows, Asks::Rows, has_zone, false));
    }
    all.push(function(EXISTS_OPERATOR.to_string(), Asks::Exists, false, true));
    all.push(function(MATCH_OPERATOR.to_string(), Asks::Match, false, true));
    all.push(function(CAST.to_string(), Asks::Cast, false, false));
    all
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    name: String,
    asks: Asks,
    has_zone: bool,
    /// Whether errors of the values are NULL though nothing says `silent`.
    is_operator: bool,
    signature: Signature,
}

/// The last path, which most rows share.
#[derive(Default)]
struct LastPath {
    text: String,
    path: Option<Path>,
}

impl LastPath {
    fn of(&mut self, text: &str) -> Result<&Path, SqlError> {
        if self.path.is_none() || self.text != text {
            self.path = Some(Path::read(text)?);
            self.text = text.to_string();
        }
        self.path.as_ref().ok_or_else(|| SqlError::internal("no path"))
    }
}

/// The arguments of a call, row by row.
struct Arguments<'a> {
    arrays: &'a [ArrayRef],
    no_variables: &'a [u8],
    is_operator: bool,
}

impl<'a> Arguments<'a> {
    fn form(&self, at: usize, row: usize) -> Option<Jsonb<'a>> {
        let forms = self.arrays.get(at)?.as_binary_opt::<i64>()?;
        Some(Jsonb::new(forms.value(row)))
    }

    /// Returns what the path of a row finds; `None` where an argument is NULL, and where an error is passed over.
    fn search<'p, T>(
        &self,
        row: usize,
        last: &'p mut LastPath,
        has_zone: bool,
        run: impl FnOnce(&Search<'p, 'a>, bool) -> Result<T, Failure>,
    ) -> Result<Option<T>, SqlError> {
        if self.arrays.iter().any(|array| array.is_null(row)) {
            return Ok(None);
        }
        let paths = self.arrays.get(1).and_then(|paths| paths.as_string_opt::<i32>());
        let (Some(document), Some(paths)) = (self.form(0, row), paths) else {
            return Err(SqlError::internal("a search takes a document and a path"));
        };
        let path = last.of(paths.value(row))?;
        let variables = self.form(2, row).unwrap_or(Jsonb::new(self.no_variables));
        let flags = self.arrays.get(3).and_then(|flags| flags.as_boolean_opt());
        let is_silent = self.is_operator || flags.is_some_and(|flags| flags.value(row));
        let search = Search::new(path, document, variables, has_zone)?;
        match run(&search, is_silent) {
            Ok(value) => Ok(Some(value)),
            Err(Failure::Soft(_)) if is_silent => Ok(None),
            Err(Failure::Soft(error) | Failure::Hard(error)) => Err(error),
        }
    }
}

/// Returns the truth that a path has found, which has to be one value.
fn truth(items: &[Item<'_>], is_silent: bool) -> Result<Option<bool>, Failure> {
    match items {
        [item] if let JsonbKind::Bool(value) = item.kind() => return Ok(Some(value)),
        [item] if item.kind() == JsonbKind::Null => return Ok(None),
        _ => {}
    }
    match is_silent {
        true => Ok(None),
        false => {
            let error = SqlError::statement("22038", "single boolean result is expected");
            Err(Failure::Hard(error))
        }
    }
}

impl Function {
    fn of_rows(&self, arrays: &[ArrayRef]) -> Result<ArrayRef, SqlError> {
        let rows = arrays.first().map_or(0, |array| array.len());
        if self.asks == Asks::Cast {
            let Some(texts) = arrays.first().and_then(|texts| texts.as_string_opt::<i32>()) else {
                return Err(SqlError::internal("a path is read from a text"));
            };
            let mut builder = StringBuilder::new();
            for text in texts {
                builder.append_option(text.map(Path::read).transpose()?.map(|path| path.to_string()));
            }
            return Ok(Arc::new(builder.finish()));
        }
        let no_variables = Json::Object(Vec::new()).to_jsonb()?;
        let arguments = Arguments {
            arrays,
            no_variables: &no_variables,
            is_operator: self.is_operator,
        };
        let mut last = LastPath::default();
        match self.asks {
            Asks::Exists | Asks::Match => {
                let mut builder = BooleanBuilder::with_capacity(rows);
                for row in 0..rows {
                    let value = arguments.search(row, &mut last, self.has_zone, |search, is_silent| {
                        match self.asks {
                            Asks::Exists => search.any(is_silent).map(Some),
                            _ => truth(&search.all(is_silent)?, is_silent),
                        }
                    })?;
                    builder.append_option(value.flatten());
                }
                Ok(Arc::new(builder.finish()))
            }
            Asks::Rows => {
                let field = Arc::new(Field::new_list_field(ArrowType::LargeBinary, true));
                let mut lists = ListBuilder::new(LargeBinaryBuilder::new()).with_field(field);
                for row in 0..rows {
                    let found = arguments.search(row, &mut last, self.has_zone, |search, is_silent| {
                        search.all(is_silent)
                    })?;
                    for item in found.unwrap_or_default() {
                        lists.values().append_value(item.into_bytes()?);
                    }
                    lists.append(true);
                }
                Ok(Arc::new(lists.finish()))
            }
            _ => {
                let mut builder = LargeBinaryBuilder::new();
                for row in 0..rows {
                    let found = arguments.search(row, &mut last, self.has_zone, |search, is_silent| {
                        search.all(is_silent)
                    })?;
                    match (found, self.asks) {
                        (None, _) => builder.append_null(),
                        (Some(found), Asks::First) => {
                            let first = found.into_iter().next().map(Item::into_bytes).transpose()?;
                            builder.append_option(first);
                        }
                        (Some(found), _) => {
                            let json = |item: Item<'_>| Ok(Jsonb::new(&item.into_bytes()?).to_json());
                            let all = found
                                .into_iter()
                                .map(json)
                                .collect::<Result<Vec<_>, SqlError>>()?;
                            builder.append_value(Json::Array(all).to_jsonb()?);
                        }
                    }
                }
                Ok(Arc::new(builder.finish()))
            }
        }
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let wanted = match self.asks {
            Asks::Cast => vec![ArrowType::Utf8],
            _ => vec![
                ArrowType::LargeBinary,
                ArrowType::Utf8,
                ArrowType::LargeBinary,
                ArrowType::Boolean,
            ],
        };
        match types.len() <= wanted.len() && !types.is_empty() {
            true => Ok(wanted[..types.len()].to_vec()),
            false => Err(DataFusionError::Internal(format!(
                "{} has other arguments",
                self.name
            ))),
        }
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(match self.asks {
            Asks::Exists | Asks::Match => ArrowType::Boolean,
            Asks::Array | Asks::First => ArrowType::LargeBinary,
            Asks::Rows => ArrowType::new_list(ArrowType::LargeBinary, true),
            Asks::Cast => ArrowType::Utf8,
        })
    }

    fn is_strict(&self) -> bool {
        self.asks != Asks::Rows
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let is_scalar = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let found = self.of_rows(&arrays);
        let found = found.map_err(|error| DataFusionError::External(Box::new(error)))?;
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?)),
            false => Ok(ColumnarValue::Array(found)),
        }
    }
}
