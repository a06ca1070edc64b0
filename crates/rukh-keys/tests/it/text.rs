//! Text in and out as in PostgreSQL: tables of input, output and error.

use crate::support::{any_type, any_value, config};
use proptest::prelude::*;
use rukh_keys::{DataType, Datum};

const DECIMAL: &str = "DECIMAL(5,2)";

/// Type, input, and what PostgreSQL prints for it or says against it.
const CASES: &[(&str, &str, &str)] = &[
    ("BOOLEAN", " TRUE ", "t"),
    ("BOOLEAN", "y", "t"),
    ("BOOLEAN", "on", "t"),
    ("BOOLEAN", "1", "t"),
    ("BOOLEAN", "fal", "f"),
    ("BOOLEAN", "of", "f"),
    ("BOOLEAN", "o", "invalid input syntax for type boolean: \"o\""),
    ("BOOLEAN", "", "invalid input syntax for type boolean: \"\""),
    ("TINYINT", "-128", "-128"),
    ("TINYINT", "128", "value \"128\" is out of range for type tinyint"),
    ("SMALLINT", "0x7fff", "32767"),
    ("INTEGER", " +1_000 ", "1000"),
    (
        "INTEGER",
        "1__0",
        "invalid input syntax for type integer: \"1__0\"",
    ),
    ("INTEGER", "1.5", "invalid input syntax for type integer: \"1.5\""),
    ("INTEGER", "abc", "invalid input syntax for type integer: \"abc\""),
    ("INTEGER", "-", "invalid input syntax for type integer: \"-\""),
    ("BIGINT", "-9223372036854775808", "-9223372036854775808"),
    (
        "BIGINT",
        "9223372036854775808",
        "value \"9223372036854775808\" is out of range for type bigint",
    ),
    ("BIGINT", "0b101", "5"),
    ("REAL", "0.1", "0.1"),
    ("REAL", "1e39", "\"1e39\" is out of range for type real"),
    ("REAL", "1e-60", "\"1e-60\" is out of range for type real"),
    ("REAL", "1e6", "1e+06"),
    ("REAL", "123456", "123456"),
    ("DOUBLE", "0.1", "0.1"),
    ("DOUBLE", "-0", "0"),
    ("DOUBLE", "1e14", "100000000000000"),
    ("DOUBLE", "1e15", "1e+15"),
    ("DOUBLE", "0.0001", "0.0001"),
    ("DOUBLE", "0.00001234", "1.234e-05"),
    ("DOUBLE", "-12.5", "-12.5"),
    ("DOUBLE", "nan", "NaN"),
    ("DOUBLE", "-inf", "-Infinity"),
    (
        "DOUBLE",
        "1e400",
        "\"1e400\" is out of range for type double precision",
    ),
    (
        "DOUBLE",
        "1e-400",
        "\"1e-400\" is out of range for type double precision",
    ),
    (
        "DOUBLE",
        "x",
        "invalid input syntax for type double precision: \"x\"",
    ),
    (DECIMAL, "1", "1.00"),
    (DECIMAL, "1.005", "1.01"),
    (DECIMAL, "-1.005", "-1.01"),
    (DECIMAL, "-0.004", "0.00"),
    (DECIMAL, "999.994", "999.99"),
    (DECIMAL, "999.995", "numeric field overflow"),
    (DECIMAL, "1e3", "numeric field overflow"),
    (DECIMAL, "1e2", "100.00"),
    (DECIMAL, "5e-3", "0.01"),
    (DECIMAL, "4e-3", "0.00"),
    (DECIMAL, "1e-999999999999999", "0.00"),
    (DECIMAL, "1e999999999999999", "numeric field overflow"),
    (DECIMAL, "0e999999999999999", "0.00"),
    (DECIMAL, ".5", "0.50"),
    (DECIMAL, "5.", "5.00"),
    (DECIMAL, ".", "invalid input syntax for type numeric: \".\""),
    (DECIMAL, "NaN", "NaN is not supported in type numeric(5,2)"),
    (
        "NUMERIC",
        "-Infinity",
        "infinity is not supported in type numeric",
    ),
    (
        "DECIMAL(38,0)",
        "99999999999999999999999999999999999999",
        "99999999999999999999999999999999999999",
    ),
    (
        "DECIMAL(38,0)",
        "100000000000000000000000000000000000000",
        "numeric field overflow",
    ),
    ("DECIMAL(3,3)", "0.9994", "0.999"),
    ("DATE", "2012-01-31", "2012-01-31"),
    ("DATE", "20120131", "2012-01-31"),
    ("DATE", "2012-1-5 23:00", "2012-01-05"),
    ("DATE", "0001-01-01", "0001-01-01"),
    ("DATE", "5874897-12-31", "5874897-12-31"),
    ("DATE", "5874898-01-01", "date out of range: \"5874898-01-01\""),
    (
        "DATE",
        "0000-01-01",
        "date/time field value out of range: \"0000-01-01\"",
    ),
    (
        "DATE",
        "2011-02-29",
        "date/time field value out of range: \"2011-02-29\"",
    ),
    (
        "DATE",
        "2012-13-01",
        "date/time field value out of range: \"2012-13-01\"",
    ),
    ("DATE", "infinity", "infinity"),
    ("DATE", "12:00", "invalid input syntax for type date: \"12:00\""),
    ("TIME", "12:30", "12:30:00"),
    ("TIME", "12:30:15.250000", "12:30:15.25"),
    ("TIME", "24:00", "24:00:00"),
    (
        "TIME",
        "24:00:01",
        "date/time field value out of range: \"24:00:01\"",
    ),
    ("TIME(0)", "12:30:15.5", "12:30:16"),
    ("TIME(3)", "12:30:15.1234", "12:30:15.123"),
    ("TIME", "1:05 pm", "13:05:00"),
    ("TIMESTAMP", "2012-01-31", "2012-01-31 00:00:00"),
    ("TIMESTAMP", "2012-01-31T12:30", "2012-01-31 12:30:00"),
    (
        "TIMESTAMP",
        "2012-01-31 12:30:15.000001+02",
        "2012-01-31 12:30:15.000001",
    ),
    ("TIMESTAMP", "1969-12-31 23:59:59.5", "1969-12-31 23:59:59.5"),
    (
        "TIMESTAMP",
        "294246-12-31 23:59:59.999999",
        "294246-12-31 23:59:59.999999",
    ),
    (
        "TIMESTAMP",
        "294247-01-01",
        "timestamp out of range: \"294247-01-01\"",
    ),
    (
        "TIMESTAMP",
        "yesterday",
        "invalid input syntax for type timestamp: \"yesterday\"",
    ),
    (
        "TIMESTAMP WITH TIME ZONE",
        "2012-01-31 12:30:00+02:00",
        "2012-01-31 10:30:00+00",
    ),
    (
        "TIMESTAMP WITH TIME ZONE",
        "2012-01-31 23:30:00-0330",
        "2012-02-01 03:00:00+00",
    ),
    (
        "TIMESTAMP WITH TIME ZONE",
        "2012-01-31 12:30Z",
        "2012-01-31 12:30:00+00",
    ),
    ("TIMESTAMP WITH TIME ZONE", "2012-01-31", "2012-01-31 00:00:00+00"),
    (
        "TIMESTAMP WITH TIME ZONE",
        "x",
        "invalid input syntax for type timestamp with time zone: \"x\"",
    ),
    (
        "UUID",
        "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    (
        "UUID",
        "{a0eebc999c0b4ef8bb6d6bb9bd380a11}",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    (
        "UUID",
        "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    (
        "UUID",
        "a0eebc99",
        "invalid input syntax for type uuid: \"a0eebc99\"",
    ),
    ("CHAR(3)", "ab  ", "ab"),
    ("CHAR(3)", "abcd", "value too long for type character(3)"),
    ("CHAR(3)", "ééé ", "ééé"),
    ("CHAR(3)", "éééé", "value too long for type character(3)"),
    (
        "CHAR(3)",
        "a\0b",
        "invalid byte sequence for encoding \"UTF8\": 0x00",
    ),
    ("VARCHAR(3)", "ééé", "ééé"),
    ("VARCHAR(3)", "abc   ", "abc"),
    (
        "VARCHAR(3)",
        "abcd",
        "value too long for type character varying(3)",
    ),
    ("VARCHAR", " a ", " a "),
    ("VARBINARY", "\\x00 fF", "\\x00ff"),
    ("VARBINARY", "a\\\\b\\001", "\\x615c6201"),
    (
        "VARBINARY",
        "\\x0",
        "invalid hexadecimal data: odd number of digits",
    ),
    ("VARBINARY", "\\x0g", "invalid hexadecimal digit: \"g\""),
    (
        "VARBINARY",
        "\\400",
        "invalid input syntax for type bytea: \"\\400\"",
    ),
    ("VARBINARY(2)", "abc", "value too long for type varbinary(2)"),
    ("BINARY(4)", "ab", "\\x61620000"),
    ("BINARY(4)", "abcde", "value too long for type binary(4)"),
];

#[test]
fn text_is_read_and_written_as_in_postgresql() {
    for (ty, input, expected) in CASES {
        let ty: DataType = ty.parse().unwrap();
        let found = match ty.parse_text(input) {
            Ok(datum) => ty.format_text(&datum),
            Err(error) => error.to_string(),
        };
        assert_eq!(&found, expected, "{ty} {input:?}");
    }
}

#[test]
fn key_elements_print_readably() {
    let cases = [
        ("INTEGER", "5", "5"),
        ("BOOLEAN", "t", "true"),
        ("DECIMAL(5,2)", "1.5", "1.50"),
        ("DECIMAL(5,2)", "-0.05", "-0.05"),
        ("REAL", "0.1", "0.1"),
        ("DATE", "2012-01-01", "2012-01-01"),
        ("TIMESTAMP", "2012-01-01", "2012-01-01"),
        ("TIMESTAMP", "2012-01-01 01:00", "2012-01-01T01:00:00"),
        ("TIMESTAMP", "2012-01-01 01:00:00.25", "2012-01-01T01:00:00.25"),
        ("TIME", "12:30", "12:30:00"),
        ("VARCHAR", "it's\u{1}", "'it''s\\x01'"),
        ("VARBINARY", "\\x00ff", "x'00ff'"),
        (
            "UUID",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
    ];
    for (ty, input, expected) in cases {
        let ty: DataType = ty.parse().unwrap();
        assert_eq!(ty.display(&ty.parse_text(input).unwrap()).to_string(), expected);
    }
}

#[test]
fn types_are_read_by_their_other_names() {
    let cases = [
        ("int", "INTEGER"),
        ("Bool", "BOOLEAN"),
        ("double  precision", "DOUBLE"),
        ("numeric(10)", "DECIMAL(10,0)"),
        ("character varying ( 20 )", "VARCHAR(20)"),
        ("text", "VARCHAR"),
        ("bytea", "VARBINARY"),
        ("char", "CHAR(1)"),
        ("timestamptz", "TIMESTAMP WITH TIME ZONE"),
        ("time(3) without time zone", "TIME(3)"),
    ];
    for (name, spelling) in cases {
        assert_eq!(name.parse::<DataType>().unwrap().to_string(), spelling);
    }
    for name in [
        "",
        "intt",
        "varchar(0)",
        "varchar(",
        "varchar(x)",
        "decimal(39)",
        "decimal(3,4)",
        "time(4)",
        "char(-1)",
    ] {
        assert!(name.parse::<DataType>().is_err(), "{name}");
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn written_text_reads_back((ty, datum) in any_type().prop_flat_map(|ty| (Just(ty), any_value(ty)))) {
        if ty.is_bytes() || !ty.is_text() {
            prop_assert_eq!(ty.parse_text(&ty.format_text(&datum)).unwrap(), datum.clone());
        }
        prop_assert_eq!(ty.check(datum.clone()).unwrap(), datum);
    }

    #[test]
    fn datums_survive_json(datum in any_type().prop_flat_map(any_value)) {
        let json = serde_json::to_string(&datum).unwrap();
        prop_assert_eq!(serde_json::from_str::<Datum>(&json).unwrap(), datum);
    }

    #[test]
    fn types_read_back(ty in any_type()) {
        // A database knows its own types by their names.
        if !matches!(ty.element().unwrap_or(ty), DataType::Enum(_) | DataType::Record(_)) {
            prop_assert_eq!(ty.to_string().parse::<DataType>().unwrap(), ty);
        }
        let json = serde_json::to_string(&ty).unwrap();
        prop_assert_eq!(serde_json::from_str::<DataType>(&json).unwrap(), ty);
    }

    #[test]
    fn any_text_is_a_value_or_an_error(ty in any_type(), text in "[-+0-9.:eETZ/ _xa-f\\\\]{0,20}|\\PC*") {
        let _ = ty.parse_text(&text);
        let _ = text.parse::<DataType>();
    }

    #[test]
    fn neighbours_are_nearest((ty, datum) in any_type().prop_flat_map(|ty| (Just(ty), any_value(ty)))) {
        let (next, before) = (ty.successor(&datum), ty.predecessor(&datum));
        if let Some(next) = &next {
            prop_assert!(*next > datum && ty.predecessor(next).as_ref() == Some(&datum));
            prop_assert_eq!(&ty.check(next.clone()).unwrap(), next);
        }
        match ty.min_max() {
            Some((min, max)) => {
                prop_assert_eq!((next.is_none(), before.is_none()), (datum == max, datum == min));
            }
            None => prop_assert!(next.is_none() && before.is_none()),
        }
    }
}
