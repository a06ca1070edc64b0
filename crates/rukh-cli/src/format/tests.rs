//! Every format on one result that holds every type and every awkward value.

use std::sync::Arc;

use rukh::arrow::array::*;
use rukh::arrow::buffer::NullBuffer;
use rukh::arrow::datatypes::*;

use super::{Format, Frame, Style, row_writer};

fn written(format: Format, style: &Style, batches: &[RecordBatch]) -> String {
    let mut out = Vec::new();
    let mut writer = row_writer(format, &batches[0].schema(), style);
    writer.begin(&mut out).expect("memory takes any text");
    for batch in batches {
        writer
            .write_batch(&mut out, batch)
            .expect("memory takes any text");
    }
    writer.finish(&mut out).expect("memory takes any text");
    String::from_utf8(out).expect("output is text")
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns have one length")
}

/// Names of several widths, a NULL, an empty text, quotes, pipes, lines and a terminal's escape sequence.
fn awkward() -> RecordBatch {
    batch(vec![
        (
            "id",
            Arc::new(Int32Array::from(vec![
                Some(1),
                Some(20),
                Some(-300),
                Some(4),
                Some(5),
                None,
            ])),
        ),
        (
            "name, full",
            Arc::new(StringArray::from(vec![
                Some("浙江卫视"),
                None,
                Some(""),
                Some("a \"quoted\", b|c\\d"),
                Some("two\nlines\tand \u{1b}[31mred"),
                Some(" blanks "),
            ])),
        ),
        (
            "ok",
            Arc::new(BooleanArray::from(vec![
                Some(true),
                Some(false),
                None,
                Some(true),
                None,
                Some(false),
            ])),
        ),
        (
            "note",
            Arc::new(StringViewArray::from(vec![
                Some("x"),
                None,
                Some("ends\nhere\n"),
                Some("y"),
                Some(""),
                Some("e\u{301}"),
            ])),
        ),
    ])
}

/// One row of every type, and one of NULLs.
fn types() -> RecordBatch {
    let micros = 1_325_379_661_500_000;
    let interval = IntervalMonthDayNano::new(14, 3, 14_706_000_000_000);
    let decimals = Decimal128Array::from(vec![Some(-1_234_500), None])
        .with_precision_and_scale(10, 4)
        .expect("it fits");
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([0u8, 255]), None].into_iter(), 2);
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None, Some(3)]), None]);
    let mut words = ListBuilder::new(StringBuilder::new());
    words.append_value([
        Some("plain"),
        Some("a \"b\""),
        Some(""),
        Some("null"),
        None,
        Some("{"),
    ]);
    words.append_null();
    let members: Vec<(FieldRef, ArrayRef)> = vec![
        (
            Arc::new(Field::new("a", DataType::Int32, true)),
            Arc::new(Int32Array::from(vec![1, 2])),
        ),
        (
            Arc::new(Field::new("b", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("x \"y\""), None])),
        ),
        (
            Arc::new(Field::new("c", DataType::Boolean, true)),
            Arc::new(BooleanArray::from(vec![None, Some(true)])),
        ),
    ];
    let (fields, arrays): (Vec<FieldRef>, Vec<ArrayRef>) = members.into_iter().unzip();
    let record = StructArray::new(fields.into(), arrays, Some(NullBuffer::from(vec![true, false])));
    batch(vec![
        ("boolean", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("int8", Arc::new(Int8Array::from(vec![Some(i8::MIN), None]))),
        ("int16", Arc::new(Int16Array::from(vec![Some(i16::MIN), None]))),
        ("int64", Arc::new(Int64Array::from(vec![Some(i64::MIN), None]))),
        ("uint64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
        ("real", Arc::new(Float32Array::from(vec![Some(0.1), None]))),
        ("double", Arc::new(Float64Array::from(vec![Some(1e20), None]))),
        ("nan", Arc::new(Float64Array::from(vec![Some(f64::NAN), None]))),
        ("decimal", Arc::new(decimals)),
        ("date", Arc::new(Date32Array::from(vec![Some(15_340), None]))),
        (
            "time_ms",
            Arc::new(Time32MillisecondArray::from(vec![Some(45_000_250), None])),
        ),
        (
            "time_us",
            Arc::new(Time64MicrosecondArray::from(vec![Some(45_000_000_000), None])),
        ),
        (
            "timestamp",
            Arc::new(TimestampMicrosecondArray::from(vec![Some(micros), None])),
        ),
        (
            "timestamptz",
            Arc::new(TimestampMicrosecondArray::from(vec![Some(micros), None]).with_timezone("UTC")),
        ),
        (
            "timestamp_ns",
            Arc::new(TimestampNanosecondArray::from(vec![Some(1), None])),
        ),
        (
            "interval",
            Arc::new(IntervalMonthDayNanoArray::from(vec![Some(interval), None])),
        ),
        (
            "duration",
            Arc::new(DurationMicrosecondArray::from(vec![Some(-90_061_000_000), None])),
        ),
        ("text", Arc::new(LargeStringArray::from(vec![Some("text"), None]))),
        (
            "binary",
            Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\x00\xff"), None])),
        ),
        (
            "binary_view",
            Arc::new(BinaryViewArray::from(vec![Some(&b""[..]), None])),
        ),
        ("fixed", Arc::new(fixed.expect("sizes agree"))),
        (
            "dictionary",
            Arc::new(DictionaryArray::<Int8Type>::from_iter([Some("word"), None])),
        ),
        ("list", Arc::new(list)),
        ("words", Arc::new(words.finish())),
        ("struct", Arc::new(record)),
        ("null", Arc::new(NullArray::new(2))),
    ])
}

#[test]
fn awkward_values_in_every_format() {
    for name in Format::names() {
        let format = Format::from_name(name).expect("a format knows its name");
        insta::assert_snapshot!(
            format!("awkward_{name}"),
            written(format, &Style::default(), &[awkward()])
        );
    }
}

#[test]
fn every_type_in_every_spelling() {
    let style = Style {
        null: "∅".to_owned(),
        ..Style::default()
    };
    insta::assert_snapshot!("types_expanded", written(Format::Expanded, &style, &[types()]));
    insta::assert_snapshot!("types_json", written(Format::Json, &style, &[types()]));
    insta::assert_snapshot!("types_csv", written(Format::Csv, &style, &[types()]));
}

#[test]
fn rows_alone() {
    let style = Style {
        frame: Frame::RowsOnly,
        ..Style::default()
    };
    let rows = batch(vec![
        ("id", Arc::new(Int32Array::from(vec![1, 20]))),
        ("a", Arc::new(StringArray::from(vec!["x", "y"]))),
    ]);
    let cases = [
        (Format::Table, "  1 | x\n 20 | y\n"),
        (Format::Expanded, "id | 1\na  | x\n\nid | 20\na  | y\n"),
        (Format::Csv, "1,x\n20,y\n"),
        (
            Format::Json,
            "[{\"id\":1,\"a\":\"x\"},\n{\"id\":20,\"a\":\"y\"}]\n",
        ),
        (Format::Jsonl, "{\"id\":1,\"a\":\"x\"}\n{\"id\":20,\"a\":\"y\"}\n"),
        (Format::Markdown, "| 1 | x |\n| 20 | y |\n"),
    ];
    for (format, expected) in cases {
        assert_eq!(
            written(format, &style, std::slice::from_ref(&rows)),
            expected,
            "{format:?}"
        );
    }
}

#[test]
fn no_rows() {
    let rows = batch(vec![
        ("id", Arc::new(Int32Array::from(Vec::<i32>::new()))),
        ("name", Arc::new(StringArray::from(Vec::<&str>::new()))),
    ]);
    let cases = [
        (Format::Table, " id | name\n----+------\n(0 rows)\n\n"),
        (Format::Expanded, "(0 rows)\n\n"),
        (Format::Csv, "id,name\n"),
        (Format::Json, "[]\n"),
        (Format::Jsonl, ""),
        (Format::Markdown, "| id | name |\n|---:|:---|\n"),
    ];
    for (format, expected) in cases {
        assert_eq!(
            written(format, &Style::default(), std::slice::from_ref(&rows)),
            expected,
            "{format:?}"
        );
    }
}

#[test]
fn no_columns() {
    let options = RecordBatchOptions::new().with_row_count(Some(2));
    let rows =
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).expect("it is empty");
    let cases = [
        (Format::Table, "\n--\n\n\n(2 rows)\n\n"),
        (Format::Csv, "\n\n\n"),
        (Format::Jsonl, "{}\n{}\n"),
    ];
    for (format, expected) in cases {
        assert_eq!(
            written(format, &Style::default(), std::slice::from_ref(&rows)),
            expected,
            "{format:?}"
        );
    }
}

#[test]
fn csv_tells_null_from_text() {
    let rows = batch(vec![(
        "a",
        Arc::new(StringArray::from(vec![
            None,
            Some(""),
            Some("NULL"),
            Some("\\."),
            Some("x;y"),
        ])),
    )]);
    let cases = [
        ("", ',', "a\n\n\"\"\nNULL\n\"\\.\"\nx;y\n"),
        ("NULL", ';', "a\nNULL\n\"\"\n\"NULL\"\n\"\\.\"\n\"x;y\"\n"),
    ];
    for (null, delimiter, expected) in cases {
        let style = Style {
            null: null.to_owned(),
            delimiter,
            ..Style::default()
        };
        assert_eq!(
            written(Format::Csv, &style, std::slice::from_ref(&rows)),
            expected
        );
    }
}

#[test]
fn json_is_json() {
    for rows in [awkward(), types()] {
        let text = written(Format::Json, &Style::default(), &[rows.clone(), rows.clone()]);
        let value: serde_json::Value = serde_json::from_str(&text).expect("it reads back");
        assert_eq!(value.as_array().map(Vec::len), Some(2 * rows.num_rows()));
        let lines = written(Format::Jsonl, &Style::default(), &[rows.clone(), rows.clone()]);
        let objects = lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("it reads back"));
        assert_eq!(
            objects.collect::<Vec<_>>(),
            value.as_array().expect("it is an array")[..]
        );
    }
}

#[test]
fn rows_after_the_sample_keep_its_widths() {
    let first = batch(vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..1_000))),
        ("s", Arc::new(StringArray::from(vec!["x"; 1_000]))),
    ]);
    let later = batch(vec![
        ("n", Arc::new(Int64Array::from(vec![7, 123_456]))),
        ("s", Arc::new(StringArray::from(vec!["y", "z"]))),
    ]);
    let text = written(Format::Table, &Style::default(), &[first, later]);
    assert_eq!(text.lines().nth(2), Some("   0 | x"));
    assert!(
        text.ends_with(" 999 | x\n   7 | y\n 123456 | z\n(1002 rows)\n\n"),
        "{text}"
    );
}
