//! Small domains of adversarial values: ends of types and just outside, NULL's neighbours, prefixes.

use rukh_keys::{DAY_MICROS, DataType, Datum, EnumDefinition, EnumType};
use rukh_planner::Constant;

use crate::choices::Choices;

const TYPES: &[DataType] = &[
    DataType::Integer,
    DataType::Boolean,
    DataType::TinyInt,
    DataType::BigInt,
    DataType::SmallInt,
    DataType::Varchar(None),
    DataType::Char(2),
    DataType::Varchar(Some(2)),
    DataType::Date,
    DataType::TIMESTAMP,
    DataType::TIMESTAMP_TZ,
    DataType::Time { precision: 0 },
    DataType::Time { precision: 3 },
    DataType::Time { precision: 6 },
    DataType::Decimal {
        precision: 4,
        scale: 2,
    },
    DataType::Decimal {
        precision: 20,
        scale: 1,
    },
    DataType::NUMERIC,
    DataType::Numeric {
        precision: 40,
        scale: 2,
    },
    DataType::Real,
    DataType::Double,
    DataType::Uuid,
    DataType::Binary(2),
    DataType::Varbinary(None),
    DataType::Varbinary(Some(2)),
    DataType::Char(5),
    DataType::Array(&DataType::Integer),
    DataType::Array(&DataType::Varchar(None)),
    DataType::Inet,
    DataType::Cidr,
];

/// All of them, and an enum.
pub fn types() -> Vec<DataType> {
    let labels = ["sad", "ok", "it's fine", "happy"].map(String::from);
    let mood = EnumDefinition::new(1, "public", "mood", &labels);
    TYPES
        .iter()
        .copied()
        .chain([DataType::Enum(EnumType::of(mood))])
        .collect()
}

/// Values of a type, in the form it stores, that keys have room for.
pub fn values(ty: DataType) -> Vec<Datum> {
    let fits = |datum: &Datum| match (ty, datum) {
        (DataType::Char(bytes), Datum::Text(text)) => text.len() <= bytes as usize,
        _ => true,
    };
    let all = raw_values(ty);
    let checked = all.into_iter().filter_map(|datum| ty.check(datum).ok());
    checked.filter(fits).collect()
}

fn raw_values(ty: DataType) -> Vec<Datum> {
    let ints = |all: &[i64]| all.iter().map(|v| Datum::Int(*v)).collect::<Vec<_>>();
    match ty {
        DataType::Boolean => vec![Datum::Boolean(false), Datum::Boolean(true)],
        DataType::TinyInt => ints(&[1, 2, 3, 0, -1, 127, -128, 126]),
        DataType::SmallInt => ints(&[1, 2, 0, -32768, 32767]),
        DataType::Integer => ints(&[
            1,
            2,
            3,
            4,
            5,
            2,
            3,
            4,
            1,
            2,
            3,
            0,
            -1,
            i64::from(i32::MIN),
            i64::from(i32::MAX),
        ]),
        DataType::BigInt => ints(&[
            1,
            2,
            0,
            i64::MIN,
            i64::MAX,
            i64::MAX - 1,
            (1 << 53) + 1,
            1 << 53,
            (1 << 53) - 1,
        ]),
        DataType::Real => floats(&[1.0, 1.5, 0.0, -0.0, 2.0, f64::from(f32::MAX), f64::from(0.1_f32)]),
        DataType::Double => floats(&[1.0, 1.5, 0.0, -0.0, 2.0, 0.1, f64::MAX, 9_007_199_254_740_992.0]),
        DataType::Decimal { precision: 4, .. } => decimals(&[100, 150, 0, 101, -1, 9999, -9999]),
        DataType::Decimal { .. } => decimals(&[
            10,
            15,
            0,
            -5,
            10_i128.pow(20) - 1,
            1 - 10_i128.pow(20),
            (1 << 53) * 10 + 10,
        ]),
        DataType::Numeric { .. } => numerics(),
        DataType::Date => [
            0,
            1,
            -1,
            15_340,
            15_341,
            15_371,
            rukh_keys::DATE_MIN,
            rukh_keys::DATE_MAX,
            rukh_keys::DATE_MINUS_INFINITY,
            rukh_keys::DATE_INFINITY,
        ]
        .map(Datum::Date)
        .to_vec(),
        DataType::Time { .. } => [0, 1, 999, 1000, 1_000_000, 1_000_001, DAY_MICROS - 1, DAY_MICROS]
            .map(Datum::Time)
            .to_vec(),
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => instants(),
        DataType::Uuid => [0_u128, 1, 256, u128::MAX, u128::MAX - 1]
            .map(|v| Datum::Uuid(v.to_be_bytes()))
            .to_vec(),
        DataType::Enum(of) => {
            let codes = of.definition().labels.iter().map(|label| i64::from(label.code));
            ints(&codes.collect::<Vec<_>>())
        }
        // No condition on them is planned.
        DataType::Interval | DataType::Json | DataType::Jsonb => Vec::new(),
        DataType::Array(element) => arrays(ty, element.is_text()),
        // Their values have no places in sets.
        DataType::Record(_) => Vec::new(),
        DataType::Inet | DataType::Cidr => addresses(ty),
        DataType::Char(_) | DataType::Varchar(_) => texts(),
        DataType::Binary(_) | DataType::Varbinary(_) => byte_strings(),
    }
}

fn floats(finite: &[f64]) -> Vec<Datum> {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    finite.iter().chain(&special).map(|v| Datum::Float(*v)).collect()
}

fn numerics() -> Vec<Datum> {
    let nines = "9".repeat(38);
    let all = [
        "1",
        "1.5",
        "0",
        "-0.5",
        "1.005",
        "-1.005",
        "1e-38",
        "-1e-38",
        "9007199254740993",
        "1e20",
        "100",
        "-99999999999999999999",
        "NaN",
    ];
    let most = [format!("{nines}.{nines}"), format!("-{nines}.{nines}"), nines];
    let all = all.into_iter().map(str::to_string).chain(most);
    all.map(|text| DataType::NUMERIC.parse_text(&text).expect("it is a number"))
        .collect()
}

fn decimals(all: &[i128]) -> Vec<Datum> {
    all.iter().map(|v| Datum::Decimal(*v)).collect()
}

fn instants() -> Vec<Datum> {
    let day = 15_340 * DAY_MICROS;
    [
        day,
        day + 1,
        day - 1,
        day + DAY_MICROS,
        day + 3_600_000_000,
        0,
        -1,
        rukh_keys::TIMESTAMP_MIN,
        rukh_keys::TIMESTAMP_MAX,
        rukh_keys::TIMESTAMP_MINUS_INFINITY,
        rukh_keys::TIMESTAMP_INFINITY,
    ]
    .map(Datum::Timestamp)
    .to_vec()
}

fn texts() -> Vec<Datum> {
    let all = [
        "a",
        "b",
        "ab",
        "",
        "aa",
        "a\u{1}",
        "a b",
        " ",
        "ab ",
        "é",
        "aé",
        "\u{10ffff}",
        "b\u{7f}",
        "abc",
        "0",
        "a%",
        "A",
        "\u{1}",
        "!",
    ];
    all.map(|text| Datum::Text(text.to_string())).to_vec()
}

fn byte_strings() -> Vec<Datum> {
    let all: [&[u8]; 9] = [
        b"a",
        b"",
        b"ab",
        b"\x00",
        b"\xff",
        b"\xff\xff",
        b"a\x00",
        b"a\x00\x01",
        b"\xff\xff\xff\xff",
    ];
    all.map(|bytes| Datum::Bytes(bytes.to_vec())).to_vec()
}

fn addresses(ty: DataType) -> Vec<Datum> {
    let all = [
        "0.0.0.0/0",
        "0.0.0.0",
        "10.0.0.0/8",
        "10.0.0.0/9",
        "10.1.2.3",
        "10.1.2.3/8",
        "10.1.2.2/31",
        "255.255.255.255",
        "::/0",
        "::",
        "2001:db8::/32",
        "2001:db8::1",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ];
    all.into_iter()
        .filter_map(|text| ty.parse_text(text).ok())
        .collect()
}

fn arrays(ty: DataType, are_texts: bool) -> Vec<Datum> {
    let all = match are_texts {
        true => [
            r#"{}"#,
            r#"{""}"#,
            "{a}",
            "{a,b}",
            "{ab}",
            r#"{a,""}"#,
            "{NULL}",
            "{a,NULL}",
            "{NULL,a}",
        ],
        false => [
            "{}",
            "{1}",
            "{1,2}",
            "{2}",
            "{-2147483648}",
            "{2147483647}",
            "{NULL}",
            "{1,NULL}",
            "{NULL,1}",
        ],
    };
    all.map(|text| ty.parse_text(text).expect("it is an array"))
        .to_vec()
}

/// A constant that may be compared with values of a type: often of the type, sometimes of another,
/// sometimes NULL, sometimes text.
pub fn constant(choices: &mut Choices, ty: DataType) -> Constant {
    if choices.one_in(20) {
        return Constant::new(Datum::Null, ty);
    }
    let other = if choices.one_in(4) {
        *choices.pick(&comparable_types(ty))
    } else {
        wide_type(ty)
    };
    let datum = choices.pick(&values(other)).clone();
    if choices.one_in(12) {
        return Constant::new(Datum::Text(ty.format_text(&datum)), DataType::Varchar(None));
    }
    Constant::new(datum, other)
}

/// The type without a limit, so that constants may lie outside of the domain.
fn wide_type(ty: DataType) -> DataType {
    match ty {
        DataType::Char(_) | DataType::Varchar(_) => DataType::Varchar(None),
        DataType::Binary(_) | DataType::Varbinary(_) => DataType::Varbinary(None),
        DataType::Time { .. } => DataType::Time { precision: 6 },
        DataType::Numeric { .. } => DataType::NUMERIC,
        other => other,
    }
}

/// The types whose constants compare with values of a type.
pub fn comparable_types(ty: DataType) -> Vec<DataType> {
    let numbers = |ty: &DataType| ty.is_integer() || ty.is_float() || ty.is_decimal();
    let instants = |ty: &DataType| {
        matches!(
            ty,
            DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. }
        )
    };
    let networks = |ty: &DataType| matches!(ty, DataType::Inet | DataType::Cidr);
    types()
        .into_iter()
        .filter(|other| {
            // Which NUMERICs are equal to a float as floats is left to the filter.
            let by_filter = matches!(ty, DataType::Numeric { .. }) && other.is_float();
            (numbers(&ty) && numbers(other) && !by_filter)
                || (instants(&ty) && instants(other))
                || (ty.is_text() && other.is_text())
                || (ty.is_bytes() && other.is_bytes())
                || (networks(&ty) && networks(other))
                || *other == ty
        })
        .collect()
}
