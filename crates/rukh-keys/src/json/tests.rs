//! Forms, texts, order and errors of JSON.

use super::*;
use proptest::prelude::*;

fn form(text: &str) -> Vec<u8> {
    Json::parse(text).unwrap().to_jsonb().unwrap()
}

fn shown(text: &str) -> String {
    Jsonb::new(&form(text)).to_string()
}

#[test]
fn numbers_keep_their_digits_after_the_point() {
    for (written, displayed) in [
        ("1.50", "1.50"),
        ("-0", "0"),
        ("-0.00", "0.00"),
        ("15e2", "1500"),
        ("1.5E+1", "15"),
        ("1.5e-2", "0.015"),
        ("0e5", "0"),
        ("12345678901234567890.123", "12345678901234567890.123"),
    ] {
        assert_eq!(shown(written), displayed, "{written}");
    }
    assert_eq!(shown("1.5e300"), format!("15{}", "0".repeat(299)));
    assert_eq!(form("1.5e300"), b"\x0315e299");
    assert_eq!(shown("-1e-99"), format!("-0.{}1", "0".repeat(98)));
    for written in ["1e131072", "1e-16384", "1e99999999999999999999"] {
        assert_eq!(Json::parse(written), Err(JsonError::NumberTooLong), "{written}");
    }
    assert_eq!(shown("0e99999999999999999999"), "0");
}

#[test]
fn members_are_sorted_and_the_last_of_a_name_counts() {
    let text = r#"{"bb": 1, "a": {"x": [1, "z\u00e4\ud83d\ude00\n"]}, "c": null, "a": true}"#;
    let form = form(text);
    let value = Jsonb::new(&form);
    assert_eq!(value.to_string(), r#"{"a": true, "c": null, "bb": 1}"#);
    assert_eq!(
        value.member("bb").map(|value| value.to_string()),
        Some("1".to_string())
    );
    assert_eq!(value.member("b"), None);
    assert_eq!(shown(r#""z\u00e4\ud83d\ude00\n\u0001""#), "\"zä😀\\n\\u0001\"");
}

#[test]
fn errors_are_those_of_postgres() {
    let detail = |text: &str| match Json::parse(text) {
        Err(JsonError::Invalid { detail }) => detail.split(" JSON data").next().unwrap().to_owned(),
        other => panic!("{text}: {other:?}"),
    };
    for (text, wanted) in [
        ("", "The input string ended unexpectedly."),
        ("{", "The input string ended unexpectedly."),
        ("[1,]", "Expected JSON value, but found \"]\"."),
        ("{\"a\"}", "Expected \":\", but found \"}\"."),
        ("{\"a\":1,}", "Expected string, but found \"}\"."),
        ("{1:2}", "Expected string or \"}\", but found \"1\"."),
        ("[1 2]", "Expected \",\" or \"]\", but found \"2\"."),
        ("{\"a\":1 \"b\"}", "Expected \",\" or \"}\", but found \"\"b\"\"."),
        ("1 true", "Expected end of input, but found \"true\"."),
        ("nul", "Token \"nul\" is invalid."),
        ("01", "Token \"01\" is invalid."),
        ("1.", "Token \"1.\" is invalid."),
        ("\"a", "Token \"\"a\" is invalid."),
        ("\"\\q\"", "Escape sequence \"\\q\" is invalid."),
        ("\"\n\"", "Character with value 0x0a must be escaped."),
        (
            "\"\\u12\"",
            "\"\\u\" must be followed by four hexadecimal digits.",
        ),
        (
            "\"\\ud800\"",
            "Unicode low surrogate must follow a high surrogate.",
        ),
    ] {
        assert_eq!(detail(text), wanted, "{text}");
    }
    assert_eq!(Json::parse("\"\\u0000\""), Err(JsonError::Nul));
    assert_eq!(Json::check("\"\\u0000\""), Ok(()));
    assert_eq!(Json::parse(&"[".repeat(5_000)), Err(JsonError::TooDeep));
}

#[test]
fn what_contains_what() {
    for (whole, part, contains) in [
        (r#"{"a": [1, {"b": 2, "c": 3}]}"#, r#"{"a": [{"b": 2.0}]}"#, true),
        (r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#, false),
        ("[1, 2, 2]", "[2, 1, 1]", true),
        ("[1, 2]", "1", true),
        ("1", "[1]", false),
        ("[[1]]", "[1]", false),
        ("[[1, 2]]", "[[1]]", true),
        ("[]", "{}", false),
        ("{}", "{}", true),
        ("1", "1.00", true),
    ] {
        let (one, other) = (form(whole), form(part));
        assert_eq!(
            Jsonb::new(&one).contains(Jsonb::new(&other)),
            contains,
            "{whole} @> {part}"
        );
    }
}

#[test]
fn order_is_that_of_postgres() {
    let ascending = [
        "[]",
        "null",
        "\"\"",
        "\"a\"",
        "\"ab\"",
        "\"b\"",
        "-1e9",
        "-1.5",
        "-1",
        "0",
        "0.5",
        "1",
        "1.5",
        "2",
        "10",
        "1e9",
        "false",
        "true",
        "[null]",
        "[1]",
        "[[]]",
        "[1, 2]",
        "{}",
        "{\"a\": 1}",
        "{\"a\": 2}",
        "{\"b\": 1}",
        "{\"a\": 1, \"b\": 1}",
    ];
    for pair in ascending.windows(2) {
        let (one, other) = (form(pair[0]), form(pair[1]));
        assert!(
            Jsonb::new(&one).order_key() < Jsonb::new(&other).order_key(),
            "{pair:?}"
        );
    }
    let (one, other) = (form("[1.0, {\"a\": 1e2}]"), form("[1, {\"a\": 100.00}]"));
    assert_eq!(Jsonb::new(&one).order_key(), Jsonb::new(&other).order_key());
}

fn documents() -> impl Strategy<Value = Json> {
    let number = "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?(e[+-]?[0-9]{1,2})?";
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number.prop_map(|text| Json::Number(JsonNumber::of_text(&text).unwrap())),
        "[^\0]{0,5}".prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::Array),
            prop::collection::vec(("[a-c]{0,3}|[^\0]{0,3}", inner), 0..5).prop_map(Json::Object),
        ]
    })
}

proptest! {
    #[test]
    fn forms_and_texts_round_trip(json in documents()) {
        let form = json.to_jsonb().unwrap();
        prop_assert!(Jsonb::is_form(&form));
        let value = Jsonb::new(&form);
        prop_assert_eq!(&value.to_json().to_jsonb().unwrap(), &form);
        prop_assert_eq!(&Json::parse(&value.to_string()).unwrap().to_jsonb().unwrap(), &form);
        prop_assert_eq!(&Json::parse(&value.pretty()).unwrap().to_jsonb().unwrap(), &form);
        prop_assert_eq!(&Json::parse(&json.to_string()).unwrap().to_jsonb().unwrap(), &form);
        for (name, member) in value.members() {
            prop_assert_eq!(value.member(name), Some(member));
        }
        prop_assert!(value.contains(value));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(mut bytes in documents().prop_map(|json| json.to_jsonb().unwrap()), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let at = at.index(bytes.len());
        bytes[at] = to;
        let value = Jsonb::new(&bytes);
        let shown = value.to_string();
        let _ = (value.order_key(), value.pretty(), value.contains(value), value.to_json());
        if Jsonb::is_form(&bytes) {
            prop_assert_eq!(Json::parse(&shown).unwrap().to_jsonb().unwrap(), bytes);
        }
    }
}
