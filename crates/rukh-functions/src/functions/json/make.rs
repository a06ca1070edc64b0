//! Values as JSON and JSONB: `to_json`, `json_build_object`, `json_build_array`, and what `row_to_json`, `json_agg` and
//! `json_object_agg` are made of. `row_to_json(t, true)` puts each field on a line, `array_to_json(a, true)` each element.
//!
//! | SQL                                | JSON                                          |
//! |------------------------------------|-----------------------------------------------|
//! | NULL                               | `null`                                        |
//! | numbers but NaN and infinity        | as they are                                   |
//! | booleans                           | `true`, `false`                               |
//! | timestamps                         | `"2024-01-02T03:04:05"`, with `+00:00` of a zone |
//! | JSON, JSONB                        | as it is                                      |
//! | arrays, structures                 | `[1,2]`, `{"f":1}`                            |
//! | all else                           | a string: its text                            |
//!
//! A function of JSONB makes the text, and its form of that.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, LargeBinaryArray, LargeStringArray, StringArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_keys::{DataType, Datum, Json, quote_json};

use crate::errors::external;
use crate::scalars::datums_from_array;
use crate::types::{data_type_of, data_type_of_arrow};
use rukh_error::SqlError;

/// Makes an object of names and values in turn, without blanks: what `row_to_json` becomes.
pub const ROW: &str = "json_row";

/// What `to_json` is to rows, which may be made objects before, and to arrays. Their second argument puts what they have on lines.
const ON_LINES: [&str; 2] = ["row_to_json", "array_to_json"];

/// Functions of any number of arguments, and what they are called of an array of them, behind VARIADIC.
pub const OF_ELEMENTS: [(&str, &str); 4] = [
    ("json_build_object", "json_build_object_of"),
    ("jsonb_build_object", "jsonb_build_object_of"),
    ("json_build_array", "json_build_array_of"),
    ("jsonb_build_array", "jsonb_build_array_of"),
];

/// A value as JSON, NULL as `null`: what elements of `json_agg` become.
pub const ELEMENT: &str = "json_element";

/// A name and a value as a member of an object: what elements of `json_object_agg` become.
pub const MEMBER: &str = "json_member";

/// Aggregates that are spelled as texts put together, and what makes a document of the text.
pub const AGGREGATES: [(&str, &str); 4] = [
    ("json_agg", "json_agg_of_text"),
    ("jsonb_agg", "jsonb_agg_of_text"),
    ("json_object_agg", "json_object_agg_of_text"),
    ("jsonb_object_agg", "jsonb_object_agg_of_text"),
];

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    use Kind::{Array, Element, Elements, Lines, Member, Members, Object, Raw, Row, Single};
    let of = |kind: Kind, name: &'static str| {
        let any_number = vec![TypeSignature::VariadicAny, TypeSignature::Nullary];
        let signature = match kind {
            Object | Array | Row => Signature::one_of(any_number, Volatility::Immutable),
            Lines => {
                let one_or_two = vec![TypeSignature::Any(1), TypeSignature::Any(2)];
                Signature::one_of(one_or_two, Volatility::Immutable)
            }
            Member => Signature::any(2, Volatility::Immutable),
            Single | Element | Elements | Members | Raw => Signature::any(1, Volatility::Immutable),
        };
        Arc::new(ScalarUDF::from(ToJson {
            kind,
            name,
            signature,
        }))
    };
    let all = [
        (Object, "json_build_object"),
        (Object, "jsonb_build_object"),
        (Array, "json_build_array"),
        (Array, "jsonb_build_array"),
        (Single, "to_json"),
        (Single, "to_jsonb"),
        (Row, ROW),
        (Element, ELEMENT),
        (Member, MEMBER),
    ];
    let raw = AGGREGATES.map(|(_, name)| (Raw, name));
    let lines = ON_LINES.map(|name| (Lines, name));
    let of_elements = OF_ELEMENTS.map(|(_, name)| match name.contains("object") {
        true => (Members, name),
        false => (Elements, name),
    });
    let all = all.into_iter().chain(raw).chain(lines).chain(of_elements);
    all.map(move |(kind, name)| of(kind, name))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Object,
    Array,
    Row,
    Single,
    /// Of one value, and whether its elements or fields are on lines.
    Lines,
    Element,
    Member,
    /// An array of the elements of one argument.
    Elements,
    /// An object of the elements of one argument.
    Members,
    Raw,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToJson {
    kind: Kind,
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for ToJson {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(match self.kind {
            // They are put together as texts.
            Kind::Element | Kind::Member => ArrowType::Utf8,
            _ if self.name.contains("jsonb") => ArrowType::LargeBinary,
            _ => ArrowType::LargeUtf8,
        })
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let count = arguments.arg_fields.len();
        if matches!(self.kind, Kind::Object | Kind::Row) && count % 2 == 1 {
            return Err(DataFusionError::External(Box::new(odd())));
        }
        Ok(Arc::new(Field::new(self.name(), self.return_type(&[])?, true)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let rows = if one { 1 } else { arguments.number_rows };
        let values = arguments.args.iter().zip(&arguments.arg_fields);
        let made: Vec<Option<String>> = match (self.kind, arguments.args.as_slice()) {
            (Kind::Elements | Kind::Members, [value]) => {
                self.of_elements(&value.to_array(rows)?).map_err(external)?
            }
            _ => {
                let columns: Vec<Column> = values
                    .map(|(value, field)| {
                        let array = value.to_array(rows)?;
                        let nulls = nulls_of(&array);
                        let texts = self.texts(&array, field).map_err(external)?;
                        Ok(Column { texts, nulls })
                    })
                    .collect::<DataFusionResult<_>>()?;
                let made = (0..rows).map(|at| self.row(&columns, at));
                made.collect::<Result<_, _>>().map_err(external)?
            }
        };
        let made: ArrayRef = match self.return_type(&[])? {
            ArrowType::Utf8 => Arc::new(StringArray::from(made)),
            ArrowType::LargeUtf8 => Arc::new(LargeStringArray::from(made)),
            _ => {
                let form = |text: Option<String>| text.map(|text| Json::parse(&text)?.to_jsonb()).transpose();
                let forms = made.into_iter().map(form).collect::<Result<Vec<_>, _>>();
                let forms = forms.map_err(external)?;
                Arc::new(forms.into_iter().collect::<LargeBinaryArray>())
            }
        };
        Ok(match one {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?),
            false => ColumnarValue::Array(made),
        })
    }
}

/// An argument: its values as JSON, and which of them are NULL.
struct Column {
    texts: Vec<String>,
    nulls: Vec<bool>,
}

impl ToJson {
    fn texts(&self, array: &ArrayRef, field: &Field) -> Result<Vec<String>, SqlError> {
        match array.as_string_opt::<i32>() {
            Some(texts) if self.kind == Kind::Raw => Ok(texts
                .iter()
                .map(|text| text.unwrap_or("null").to_string())
                .collect()),
            _ => json_of(array, field),
        }
    }

    /// Returns what the function gives of each array, whose elements stand for arguments.
    fn of_elements(&self, arrays: &ArrayRef) -> Result<Vec<Option<String>>, SqlError> {
        let of_array = |at: usize| {
            let (mut elements, mut field) = match (arrays.as_list_opt::<i32>(), arrays.data_type()) {
                (Some(lists), ArrowType::List(field)) if lists.is_valid(at) => {
                    (lists.value(at), field.clone())
                }
                _ => return Ok(None),
            };
            // Those of all dimensions, one behind the other.
            while let (Some(lists), ArrowType::List(of)) =
                (elements.as_list_opt::<i32>(), elements.data_type())
            {
                let of = of.clone();
                let (start, end) = (lists.value_offsets().first(), lists.value_offsets().last());
                let start = usize::try_from(start.copied().unwrap_or(0)).unwrap_or(0);
                let end = usize::try_from(end.copied().unwrap_or(0)).unwrap_or(0);
                elements = lists.values().slice(start, end.saturating_sub(start));
                field = of;
            }
            let nulls = nulls_of(&elements).into_iter();
            let texts = json_of(&elements, &field)?.into_iter();
            let one = |(text, null)| Column {
                texts: vec![text],
                nulls: vec![null],
            };
            let columns: Vec<Column> = texts.zip(nulls).map(one).collect();
            match self.kind {
                Kind::Members if columns.len() % 2 == 1 => Err(odd()),
                _ => self.row(&columns, 0),
            }
        };
        (0..arrays.len()).map(of_array).collect()
    }

    /// Returns what the function gives of row `at`.
    #[expect(clippy::arithmetic_side_effects, reason = "places of arguments")]
    fn row(&self, columns: &[Column], at: usize) -> Result<Option<String>, SqlError> {
        let text = |column: &Column| column.texts[at].clone();
        Ok(Some(match (self.kind, columns) {
            (Kind::Single | Kind::Lines | Kind::Raw, [column, ..]) if column.nulls[at] => return Ok(None),
            (Kind::Single | Kind::Lines | Kind::Raw | Kind::Element, [column]) => text(column),
            (Kind::Lines, [_, wanted]) if wanted.nulls[at] => return Ok(None),
            (Kind::Lines, [column, wanted]) => match wanted.texts[at].as_str() {
                "true" => on_lines(&column.texts[at]),
                _ => text(column),
            },
            (Kind::Member, [name, value]) => {
                if name.nulls[at] {
                    return Err(SqlError::statement("22004", "field name must not be null"));
                }
                format!("{} : {}", quoted(text(name)), text(value))
            }
            (Kind::Array | Kind::Elements, columns) => {
                let elements: Vec<String> = columns.iter().map(text).collect();
                format!("[{}]", elements.join(", "))
            }
            (kind, columns) => {
                let (colon, comma) = if kind == Kind::Row {
                    (":", ",")
                } else {
                    (" : ", ", ")
                };
                let mut pairs = Vec::with_capacity(columns.len() / 2);
                for (nth, pair) in columns.chunks_exact(2).enumerate() {
                    if pair[0].nulls[at] {
                        let message = format!("argument {} cannot be null", 2 * nth + 1);
                        let hint = "Object keys should be text.";
                        return Err(SqlError::statement("22023", message).with_hint(hint));
                    }
                    let name = quoted(text(&pair[0]));
                    pairs.push(format!("{name}{colon}{}", text(&pair[1])));
                }
                format!("{{{}}}", pairs.join(comma))
            }
        }))
    }
}

fn odd() -> SqlError {
    let message = "argument list must have even number of elements";
    SqlError::statement("22023", message)
}

/// Puts a line feed and a blank behind each comma between the elements of a document.
fn on_lines(json: &str) -> String {
    let mut lines = String::with_capacity(json.len().saturating_add(16));
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for letter in json.chars() {
        lines.push(letter);
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '[' | '{' => depth = depth.saturating_add(1),
            ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 1 => lines.push_str("\n "),
            _ => {}
        }
    }
    lines
}

/// Returns which values are NULL; all are where there is no type.
fn nulls_of(array: &ArrayRef) -> Vec<bool> {
    let nulls = array.logical_nulls();
    let is_null = |at| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
    (0..array.len()).map(is_null).collect()
}

/// Returns the name of a member: a string, or what any other value is as a text.
fn quoted(name: String) -> String {
    match name.starts_with('"') {
        true => name,
        false => string(&name),
    }
}

/// Returns each value of an array as JSON.
fn json_of(array: &ArrayRef, field: &Field) -> Result<Vec<String>, SqlError> {
    let texts: Vec<String> = match array.data_type() {
        ArrowType::List(of) => {
            let lists = array.as_list::<i32>().iter();
            let list = |values: Option<ArrayRef>| match values {
                None => Ok(String::new()),
                Some(values) => Ok(format!("[{}]", json_of(&values, of)?.join(","))),
            };
            lists.map(list).collect::<Result<_, SqlError>>()?
        }
        ArrowType::Struct(fields) => {
            let structures = array.as_struct();
            let columns = structures.columns().iter().zip(fields);
            let columns: Vec<(String, Vec<String>)> = columns
                .map(|(column, field)| Ok((string(field.name()), json_of(column, field)?)))
                .collect::<Result<_, SqlError>>()?;
            let object = |at: usize| {
                let pairs = columns
                    .iter()
                    .map(|(name, texts)| format!("{name}:{}", texts[at]));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
            };
            (0..array.len()).map(object).collect()
        }
        arrow => {
            let ty = match data_type_of_arrow(arrow) {
                // The metadata may say more of a text than its layout does.
                DataType::Varchar(None) => data_type_of(field),
                ty => ty,
            };
            let datums = datums_from_array(array, &ty)?;
            datums.iter().map(|datum| scalar(datum, &ty)).collect()
        }
    };
    let all = texts.into_iter().zip(nulls_of(array));
    Ok(all
        .map(|(text, null)| if null { "null".to_string() } else { text })
        .collect())
}

fn scalar(datum: &Datum, ty: &DataType) -> String {
    let text = ty.format_text(datum);
    match datum {
        Datum::Null => "null".to_string(),
        Datum::Boolean(value) => value.to_string(),
        _ if matches!(ty, DataType::Json | DataType::Jsonb) => text,
        Datum::Timestamp(_) => {
            let mut iso = text.replacen(' ', "T", 1);
            if *ty == DataType::TIMESTAMP_TZ && iso.ends_with("+00") {
                iso.push_str(":00");
            }
            string(&iso)
        }
        _ if ty.is_integer() => text,
        // NaN and infinities are strings.
        _ if (ty.is_decimal() || ty.is_float()) && text.ends_with(|last: char| last.is_ascii_digit()) => text,
        _ => string(&text),
    }
}

/// Returns a text as a string of JSON.
fn string(text: &str) -> String {
    let mut json = String::with_capacity(text.len().saturating_add(2));
    // Writing into a String does not fail.
    let _ = quote_json(text, &mut json);
    json
}
