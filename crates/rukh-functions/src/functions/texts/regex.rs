//! Functions of regular expressions, with PostgreSQL's options and its way from one match to the next.
//!
//! | function                                             | gives                                                |
//! |------------------------------------------------------|------------------------------------------------------|
//! | `regexp_like(s, p [, flags])`                        | whether `p` matches                                  |
//! | `regexp_count(s, p [, start [, flags]])`             | how often                                            |
//! | `regexp_instr(s, p [, start [, n [, end [, flags [, group]]]]])` | where the `n`th match begins, or ends     |
//! | `regexp_substr(s, p [, start [, n [, flags [, group]]]])` | the `n`th match                                 |
//! | `regexp_match(s, p [, flags])`                       | its groups, or the match if there are none           |
//! | `regexp_matches_all(s, p [, flags])`                 | one array for each match: what `regexp_matches` takes its rows from |
//! | `regexp_split_to_array(s, p [, flags])`              | what stands between matches                           |
//! | `regexp_replace(s, p, r [, flags])`, `(s, p, r, start [, n [, flags]])` | with `\1` … `\9` and `\&` in `r`    |
//! | `regexp_substring(s, p)`                             | `substring(s FROM p)`: the first group, or the match   |
//!
//! | `textregexeq(s, p)`, `texticregexeq`, `textregexne`, `texticregexne` | `s ~ p`, `s ~* p`, `s !~ p`, `s !~* p`: those that DataFusion's operators do not mean |
//!
//! A point matches a newline, unless a flag says otherwise. DataFusion's does not. After a match the next one is looked for where it ended,
//! an empty one included: `regexp_replace('hello', 'l*', 'x', 'g')` is `xhxexxox`. An empty match moves on by a character.
//!
//! What a pattern says, and which match counts, `patterns` knows.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, Int64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;

use crate::functions::common::undefined::undefined_function;
use crate::patterns::{Captures, Options, Pattern};

/// What patterns of DataFusion's operators begin with whose points match newlines. PostgreSQL has no option that is spelled so.
pub const POINT_IS_ANY: &str = "(?s-x)";

/// The functions of `~`, `~*`, `!~` and `!~*`, with whether letters match in any case, and whether they hold where nothing matches.
pub const OPERATORS: [(&str, bool, bool); 4] = [
    ("textregexeq", false, false),
    ("texticregexeq", true, false),
    ("textregexne", false, true),
    ("texticregexne", true, true),
];

/// Whether DataFusion's operators find the matches of a pattern that PostgreSQL's find.
///
/// # Errors
/// 2201B where it is no pattern.
pub fn is_plain(pattern: &str) -> Result<bool, SqlError> {
    Ok(Pattern::read(pattern, Options::default())?.is_plain())
}

/// Returns the function of an operator.
pub fn operator(ignores_case: bool, is_negated: bool) -> Arc<ScalarUDF> {
    let kind = Kind::Operator {
        ignores_case,
        is_negated,
    };
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(Function { kind, signature }))
}

/// The array of arrays from which `regexp_matches` takes its rows.
pub const MATCHES_ALL: &str = "regexp_matches_all";

/// The array from which `regexp_split_to_table` takes its rows.
pub const SPLIT_ROWS: &str = "regexp_split_rows";

/// `substring(s FROM p)`.
pub const SUBSTRING: &str = "regexp_substring";

/// Bytes that one call makes of a batch at most.
const BYTES_MAX: usize = 64 << 20;

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    use Kind::{Count, Instr, Like, Match, MatchesAll, Replace, Split, SplitRows, Substr, Substring};
    let all = [
        Like, Count, Instr, Substr, Match, MatchesAll, Split, SplitRows, Replace, Substring,
    ];
    let functions = all.into_iter().map(|kind| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(ScalarUDF::from(Function { kind, signature }))
    });
    functions.chain(OPERATORS.map(|(_, ignores_case, is_negated)| operator(ignores_case, is_negated)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Like,
    Count,
    Instr,
    Substr,
    Match,
    MatchesAll,
    Split,
    SplitRows,
    Replace,
    Substring,
    Operator { ignores_case: bool, is_negated: bool },
}

/// The type of an argument: a text, or a number.
#[derive(Clone, Copy)]
enum Argument {
    Text,
    Number,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Like => "regexp_like",
            Kind::Count => "regexp_count",
            Kind::Instr => "regexp_instr",
            Kind::Substr => "regexp_substr",
            Kind::Match => "regexp_match",
            Kind::MatchesAll => MATCHES_ALL,
            Kind::Split => "regexp_split_to_array",
            Kind::SplitRows => SPLIT_ROWS,
            Kind::Replace => "regexp_replace",
            Kind::Substring => SUBSTRING,
            Kind::Operator {
                ignores_case,
                is_negated,
            } => {
                let mut all = OPERATORS.into_iter();
                all.find(|(_, case, negated)| (*case, *negated) == (ignores_case, is_negated))
                    .map_or("", |(name, ..)| name)
            }
        }
    }

    /// Returns the types of so many arguments, the fourth of which is a text or not; `None` if there is no such call.
    fn arguments(self, count: usize, fourth_is_text: bool) -> Option<Vec<Argument>> {
        use Argument::{Number, Text};
        let all: &[Argument] = match self {
            Kind::Like | Kind::Match | Kind::MatchesAll | Kind::Split | Kind::SplitRows => {
                &[Text, Text, Text]
            }
            Kind::Count => &[Text, Text, Number, Text],
            Kind::Instr => &[Text, Text, Number, Number, Number, Text, Number],
            Kind::Substr => &[Text, Text, Number, Number, Text, Number],
            Kind::Replace if fourth_is_text => &[Text, Text, Text, Text],
            Kind::Replace => &[Text, Text, Text, Number, Number, Text],
            Kind::Substring | Kind::Operator { .. } => &[Text, Text],
        };
        let least = if self == Kind::Replace { 3 } else { 2 };
        (least..=all.len())
            .contains(&count)
            .then(|| all[..count].to_vec())
    }

    fn result(self) -> ArrowType {
        match self {
            Kind::Like | Kind::Operator { .. } => ArrowType::Boolean,
            Kind::Count | Kind::Instr => ArrowType::Int32,
            Kind::Substr | Kind::Replace | Kind::Substring => ArrowType::Utf8,
            Kind::Match | Kind::Split | Kind::SplitRows => texts_type(),
            Kind::MatchesAll => ArrowType::List(Arc::new(Field::new_list_field(texts_type(), true))),
        }
    }
}

/// The type of arrays of texts.
fn texts_type() -> ArrowType {
    ArrowType::List(Arc::new(Field::new_list_field(ArrowType::Utf8, true)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    kind: Kind,
    signature: Signature,
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let is_text = |ty: &ArrowType| ty.is_string() || ty.is_null();
        let fourth_is_text = types.get(3).is_none_or(is_text);
        let wanted = self.kind.arguments(types.len(), fourth_is_text);
        let fits = |(ty, wanted): (&ArrowType, &Argument)| match wanted {
            Argument::Text => is_text(ty).then_some(ArrowType::Utf8),
            Argument::Number => (ty.is_integer() || ty.is_null()).then_some(ArrowType::Int64),
        };
        let coerced = wanted.and_then(|wanted| types.iter().zip(&wanted).map(fits).collect());
        coerced.ok_or_else(|| undefined_function(self.name(), types))
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.kind.result())
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let rows = arrays.first().map_or(0, |array| array.len());
        let mut compiled = Compiled::default();
        let mut bytes = 0_usize;
        let mut results = Vec::with_capacity(rows);
        for row in 0..rows {
            results.push(match arrays.iter().any(|array| array.is_null(row)) {
                true => ScalarValue::try_from(&self.kind.result())?,
                false => {
                    let call = Call {
                        kind: self.kind,
                        arrays: &arrays,
                        row,
                    };
                    call.result(&mut compiled, &mut bytes)
                        .map_err(|error| DataFusionError::External(Box::new(error)))?
                }
            });
        }
        match (one, results.len()) {
            (true, 1) => Ok(ColumnarValue::Scalar(results.remove(0))),
            (_, 0) => Ok(ColumnarValue::Array(datafusion::arrow::array::new_empty_array(
                &self.kind.result(),
            ))),
            _ => Ok(ColumnarValue::Array(ScalarValue::iter_to_array(results)?)),
        }
    }
}

/// The last regular expression, which most rows share.
#[derive(Default)]
struct Compiled {
    pattern: String,
    flags: String,
    regex: Option<(Pattern, bool)>,
}

impl Compiled {
    /// Returns the expression of a pattern, and whether the flags ask for all matches.
    fn of(&mut self, pattern: &str, flags: &str) -> Result<(&Pattern, bool), SqlError> {
        if self.regex.is_none() || self.pattern != pattern || self.flags != flags {
            self.regex = Some(compile(pattern, flags)?);
            self.pattern = pattern.to_string();
            self.flags = flags.to_string();
        }
        match &self.regex {
            Some((regex, is_global)) => Ok((regex, *is_global)),
            None => Err(SqlError::internal("no expression")),
        }
    }
}

/// Compiles a pattern (options of `parse_re_flags` of PostgreSQL), and returns whether `g` is among its flags.
fn compile(pattern: &str, flags: &str) -> Result<(Pattern, bool), SqlError> {
    let mut options = Options::default();
    for flag in flags.chars().filter(|flag| *flag != 'g') {
        if flag == 'b' {
            let message = "basic regular expressions are not supported";
            return Err(SqlError::unsupported(message));
        }
        if !options.set(flag) {
            let message = format!("invalid regular expression option: \"{flag}\"");
            return Err(SqlError::statement("22023", message));
        }
    }
    Ok((Pattern::read(pattern, options)?, flags.contains('g')))
}

/// A call of a function for the values of a row, none of which is NULL.
struct Call<'a> {
    kind: Kind,
    arrays: &'a [ArrayRef],
    row: usize,
}

impl<'a> Call<'a> {
    fn text(&self, at: usize) -> Option<&'a str> {
        let texts = self.arrays.get(at)?.as_string_opt::<i32>()?;
        Some(texts.value(self.row))
    }

    fn number(&self, at: usize) -> Option<i64> {
        let numbers = self.arrays.get(at)?.as_primitive_opt::<Int64Type>()?;
        Some(numbers.value(self.row))
    }

    /// Returns an argument that is at least `least`, or `usual` if it is not there. Fails with 22023.
    fn counted(&self, at: usize, what: &str, least: i64, usual: i64) -> Result<usize, SqlError> {
        let value = self.number(at).unwrap_or(usual);
        usize::try_from(value)
            .ok()
            .filter(|_| value >= least)
            .ok_or_else(|| {
                let message = format!("invalid value for parameter \"{what}\": {value}");
                SqlError::statement("22023", message)
            })
    }

    /// Returns the byte at which the search begins, of a start counted in characters from 1. Past the end is `None`.
    fn start(&self, text: &str, at: usize) -> Result<Option<usize>, SqlError> {
        let start = self.counted(at, "start", 1, 1)?;
        Ok(byte_of(text, start.saturating_sub(1)))
    }

    fn result(&self, compiled: &mut Compiled, bytes: &mut usize) -> Result<ScalarValue, SqlError> {
        let text = self.text(0).unwrap_or_default();
        let pattern = self.text(1).unwrap_or_default();
        let flags = match self.kind {
            Kind::Like | Kind::Match | Kind::MatchesAll | Kind::Split | Kind::SplitRows => self.text(2),
            Kind::Count | Kind::Replace if self.text(3).is_some() => self.text(3),
            Kind::Replace | Kind::Instr => self.text(5),
            Kind::Substr => self.text(4),
            Kind::Operator {
                ignores_case: true, ..
            } => Some("i"),
            Kind::Count | Kind::Substring | Kind::Operator { .. } => None,
        };
        let name = self.kind.name();
        let (regex, is_global) = compiled.of(pattern, flags.unwrap_or_default())?;
        let takes_global = matches!(self.kind, Kind::Replace | Kind::MatchesAll);
        if is_global && !takes_global {
            let message = format!("{name}() does not support the \"global\" option");
            let mut error = SqlError::statement("22023", message);
            if self.kind == Kind::Match {
                error = error.with_hint("Use the regexp_matches function instead.");
            }
            return Err(error);
        }
        match self.kind {
            Kind::Like => Ok(ScalarValue::Boolean(Some(regex.is_match(text)?))),
            Kind::Operator { is_negated, .. } => {
                Ok(ScalarValue::Boolean(Some(regex.is_match(text)? != is_negated)))
            }
            Kind::Count => {
                let start = self.start(text, 2)?;
                let mut count = 0_usize;
                for found in start.into_iter().flat_map(|start| matches(regex, text, start)) {
                    found?;
                    count = count.saturating_add(1);
                }
                Ok(ScalarValue::Int32(Some(i32::try_from(count).unwrap_or(i32::MAX))))
            }
            Kind::Instr => self.place(regex, text),
            Kind::Substr => {
                let found = self.nth(regex, text, 2, 3)?;
                let group = self.counted(5, "subexpr", 0, 0)?;
                let part = found.and_then(|found| found.text(text, group).map(str::to_string));
                counted_text(part, bytes, name)
            }
            Kind::Substring => {
                let group = usize::from(regex.groups() > 0);
                let found = regex.captures_at(text, 0)?;
                let part = found.and_then(|found| found.text(text, group).map(str::to_string));
                counted_text(part, bytes, name)
            }
            Kind::Match => match regex.captures_at(text, 0)? {
                Some(found) => Ok(texts(groups(regex, text, &found))),
                None => Ok(ScalarValue::try_from(&texts_type()).unwrap_or(ScalarValue::Null)),
            },
            Kind::MatchesAll => {
                let found = matches(regex, text, 0).take(if is_global { usize::MAX } else { 1 });
                let mut rows = Vec::new();
                for found in found {
                    let row = groups(regex, text, &found?);
                    let row_bytes = row.iter().flatten().map(|part| part.len());
                    spend(bytes, row_bytes.fold(16, usize::saturating_add), name)?;
                    rows.push(texts(row));
                }
                Ok(ScalarValue::List(ScalarValue::new_list(
                    &rows,
                    &texts_type(),
                    true,
                )))
            }
            Kind::Split | Kind::SplitRows => {
                let pieces = split(regex, text)?;
                spend(
                    bytes,
                    text.len().saturating_add(pieces.len().saturating_mul(16)),
                    name,
                )?;
                Ok(texts(
                    pieces.into_iter().map(|piece| Some(piece.to_string())).collect(),
                ))
            }
            Kind::Replace => {
                let by = self.text(2).unwrap_or_default();
                let has_start = self.number(3).is_some();
                let start = match has_start {
                    true => self.start(text, 3)?,
                    false => Some(0),
                };
                let nth = match self.number(4) {
                    Some(_) => self.counted(4, "n", 0, 1)?,
                    None => usize::from(!is_global),
                };
                let replaced = match start {
                    Some(start) => replace(regex, text, by, start, nth, bytes)?,
                    None => text.to_string(),
                };
                Ok(ScalarValue::Utf8(Some(replaced)))
            }
        }
    }

    /// Returns the match whose number an argument says, from a start on.
    fn nth(
        &self,
        regex: &Pattern,
        text: &str,
        start: usize,
        nth: usize,
    ) -> Result<Option<Captures>, SqlError> {
        let start = self.start(text, start)?;
        let nth = self.counted(nth, "n", 1, 1)?.saturating_sub(1);
        start
            .and_then(|start| matches(regex, text, start).nth(nth))
            .transpose()
    }

    /// Returns where a match or one of its groups begins or ends, in characters from 1; 0 if there is none.
    fn place(&self, regex: &Pattern, text: &str) -> Result<ScalarValue, SqlError> {
        let found = self.nth(regex, text, 2, 3)?;
        let end = self.counted(4, "endoption", 0, 0)?;
        let group = self.counted(6, "subexpr", 0, 0)?;
        if end > 1 {
            let message = format!("invalid value for parameter \"endoption\": {end}");
            return Err(SqlError::statement("22023", message));
        }
        let part = found.and_then(|found| found.get(group));
        let place = part.map_or(0, |part| {
            let byte = if end == 1 { part.1 } else { part.0 };
            text[..byte].chars().count().saturating_add(1)
        });
        Ok(ScalarValue::Int32(Some(i32::try_from(place).unwrap_or(i32::MAX))))
    }
}

fn spend(bytes: &mut usize, more: usize, name: &str) -> Result<(), SqlError> {
    *bytes = bytes.saturating_add(more);
    match *bytes > BYTES_MAX {
        false => Ok(()),
        true => Err(
            SqlError::statement("54000", format!("requested length too large in {name}()"))
                .with_hint("A function makes at most 64 MiB at once."),
        ),
    }
}

fn counted_text(text: Option<String>, bytes: &mut usize, name: &str) -> Result<ScalarValue, SqlError> {
    spend(bytes, text.as_ref().map_or(0, String::len), name)?;
    Ok(ScalarValue::Utf8(text))
}

/// Returns an array of texts.
fn texts(values: Vec<Option<String>>) -> ScalarValue {
    let array: ArrayRef = Arc::new(StringArray::from(values));
    SingleRowListArrayBuilder::new(array).build_list_scalar()
}

/// Returns the place of a character, counted from 0; that of the end is there, too.
fn byte_of(text: &str, character: usize) -> Option<usize> {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.into_iter().nth(character)
}

/// Returns the place behind a character, or past the end if there is none.
fn behind(text: &str, at: usize) -> usize {
    let width = text
        .get(at..)
        .and_then(|rest| rest.chars().next())
        .map_or(1, char::len_utf8);
    at.saturating_add(width)
}

/// Returns all matches from a byte on.
fn matches(regex: &Pattern, text: &str, start: usize) -> impl Iterator<Item = Result<Captures, SqlError>> {
    let mut from = start;
    std::iter::from_fn(move || {
        if from > text.len() {
            return None;
        }
        let found = regex.captures_at(text, from).transpose()?;
        from = match &found {
            Ok(found) => match found.whole() {
                (start, end) if start == end => behind(text, end),
                (_, end) => end,
            },
            Err(_) => usize::MAX,
        };
        Some(found)
    })
}

/// Returns the groups of a match, or the match if the expression has none.
fn groups(regex: &Pattern, text: &str, found: &Captures) -> Vec<Option<String>> {
    let first = usize::from(regex.groups() > 0);
    (first..=regex.groups())
        .map(|group| found.text(text, group).map(str::to_string))
        .collect()
}

/// Returns what stands between matches. Empty ones at the ends, or right behind another one, do not count.
fn split<'t>(regex: &Pattern, text: &'t str) -> Result<Vec<&'t str>, SqlError> {
    let (mut pieces, mut from, mut last_end) = (Vec::new(), 0, 0);
    for found in matches(regex, text, 0) {
        let (start, end) = found?.whole();
        if start < text.len() && end > last_end {
            pieces.push(&text[from..start]);
            from = end;
        }
        last_end = end;
    }
    pieces.push(&text[from..]);
    Ok(pieces)
}

/// Replaces the `nth` match from a byte on, or all of them if it is 0.
fn replace(
    regex: &Pattern,
    text: &str,
    by: &str,
    start: usize,
    nth: usize,
    bytes: &mut usize,
) -> Result<String, SqlError> {
    let (mut made, mut kept) = (String::new(), 0);
    for (at, found) in matches(regex, text, start).enumerate() {
        let found = found?;
        let (start, end) = found.whole();
        let number = at.saturating_add(1);
        if nth != 0 && number != nth {
            continue;
        }
        let before = made.len();
        made.push_str(&text[kept..start]);
        fill_in(&mut made, by, text, &found);
        kept = end;
        spend(bytes, made.len().saturating_sub(before), "regexp_replace")?;
        if nth != 0 {
            break;
        }
    }
    made.push_str(&text[kept..]);
    spend(bytes, text.len().saturating_sub(kept), "regexp_replace")?;
    Ok(made)
}

/// Appends a replacement: `\1` to `\9` are groups, `\&` is the match, `\\` a backslash; other backslashes stand for themselves.
fn fill_in(made: &mut String, by: &str, text: &str, found: &Captures) {
    let mut rest = by;
    while let Some((plain, behind)) = rest.split_once('\\') {
        made.push_str(plain);
        let next = behind.chars().next();
        let group = match next {
            Some('&') => Some(0),
            Some(digit) => digit.to_digit(10).filter(|digit| *digit > 0),
            None => None,
        };
        match group {
            Some(group) => made.push_str(found.text(text, group as usize).unwrap_or("")),
            None => made.push('\\'),
        }
        // All that was read is one byte long.
        let is_read = group.is_some() || next == Some('\\');
        rest = &behind[usize::from(is_read)..];
    }
    made.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, pattern: &str, by: &str, flags: &str) -> String {
        let (regex, is_global) = compile(pattern, flags).expect("the pattern compiles");
        replace(&regex, text, by, 0, usize::from(!is_global), &mut 0).expect("the text is short")
    }

    #[test]
    fn replacements_go_from_match_to_match_as_in_postgresql() {
        for (text, pattern, by, flags, expected) in [
            ("hello", "l*", "x", "g", "xhxexxox"),
            ("hello", "l+", "[\\&]", "g", "he[ll]o"),
            ("foobarbaz", "b..", "X", "", "fooXbaz"),
            ("foobarbaz", "b(..)", "X\\1Y", "g", "fooXarYXazY"),
            ("a\nb", "a.b", "x", "", "x"),
            ("a\nb", "a.b", "x", "n", "a\nb"),
            ("AbC", "b", "\\\\", "i", "A\\C"),
            ("a.c", ".", "x", "gq", "axc"),
            ("abc", "b", "\\é\\0\\\\1\\", "", "a\\é\\0\\1\\c"),
        ] {
            assert_eq!(
                replaced(text, pattern, by, flags),
                expected,
                "{text} {pattern} {flags}"
            );
        }
    }

    #[test]
    fn empty_matches_do_not_split_at_the_ends() {
        let pieces = |text: &str, pattern: &str| {
            let (regex, _) = compile(pattern, "").expect("the pattern compiles");
            split(&regex, text).expect("the text is short").join("|")
        };
        assert_eq!(pieces("the fox", "\\s*"), "t|h|e|f|o|x");
        assert_eq!(pieces("a,b,,c", ","), "a|b||c");
        assert_eq!(pieces(",a,", ","), "|a|");
        assert_eq!(pieces("", ","), "");
    }
}
