//! Constants of every type: what is stored, and what it is compared with.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh_keys::{DataType, Datum};

/// A constant in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// As SQL, for both databases.
    pub sql: String,
    /// Its own type, for parameters.
    pub ty: DataType,
    /// As text of its type; `None` is NULL.
    pub text: Option<String>,
}

impl Constant {
    /// Makes NULL.
    pub fn null(ty: DataType) -> Self {
        Constant {
            sql: "NULL".to_owned(),
            ty,
            text: None,
        }
    }

    /// Returns the value, for a parameter.
    ///
    /// # Panics
    /// If the text is no value of the type: pools are written by hand.
    pub fn datum(&self) -> Datum {
        let Some(text) = &self.text else {
            return Datum::Null;
        };
        self.ty
            .parse_text(text)
            .unwrap_or_else(|error| panic!("{text} of {}: {error}", self.ty))
    }

    fn of(ty: DataType, text: &str) -> Self {
        Constant {
            sql: literal(&ty, text),
            ty,
            text: Some(text.to_owned()),
        }
    }
}

/// Makes a constant from what PostgreSQL prints.
pub fn of_text(ty: DataType, text: &str) -> Constant {
    let text = match (ty, text) {
        (DataType::Boolean, "t") => "true",
        (DataType::Boolean, _) => "false",
        (DataType::Char(_), text) => text.trim_end_matches(' '),
        (_, text) => text,
    };
    Constant::of(ty, text)
}

/// Draws a value that a column of this type can hold.
pub fn stored(ty: &DataType, random: &mut StdRng) -> Constant {
    Constant::of(*ty, choose(&pool(ty), random))
}

/// Draws a constant to compare a column of this type with: mostly one that may be stored, now and
/// then one that cannot.
pub fn constant(ty: &DataType, random: &mut StdRng) -> Constant {
    let outside = outside(ty);
    if outside.is_empty() || random.random_bool(0.75) {
        return stored(ty, random);
    }
    let (ty, text) = outside.choose(random).expect("the pool is not empty");
    Constant::of(*ty, text)
}

/// Draws a constant that is the same value in the type of the column and in its own.
pub fn exact(ty: &DataType, random: &mut StdRng) -> Constant {
    match ty {
        DataType::Real => Constant::of(*ty, choose(&["-1.5", "0", "1.5", "16777216"], random)),
        _ => constant(ty, random),
    }
}

fn choose<'a>(pool: &[&'a str], random: &mut StdRng) -> &'a str {
    pool.choose(random).expect("the pool is not empty")
}

/// Writes a constant as SQL. A REAL is cast: a bare `0.1` is no REAL's value.
fn literal(ty: &DataType, text: &str) -> String {
    match ty {
        DataType::Real => format!("CAST('{text}' AS REAL)"),
        DataType::Double if text.contains(['N', 'I']) => format!("CAST('{text}' AS DOUBLE PRECISION)"),
        ty if ty.is_decimal() && text == "NaN" => format!("CAST('{text}' AS NUMERIC)"),
        DataType::Date => format!("DATE '{text}'"),
        DataType::Timestamp { .. } => format!("TIMESTAMP '{text}'"),
        DataType::Binary(_) | DataType::Varbinary(_) => format!("x'{}'", text.trim_start_matches("\\x")),
        _ if ty.is_integer() => text.to_owned(),
        DataType::Boolean | DataType::Double => text.to_owned(),
        _ if ty.is_decimal() => text.to_owned(),
        // Beside a column it would be of no type to PostgreSQL.
        DataType::Record(_) => format!("CAST('{}' AS {ty})", text.replace('\'', "''")),
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}

/// Values that a column of this type can hold; no two are equal.
fn pool(ty: &DataType) -> Vec<&'static str> {
    match ty {
        DataType::Enum(of) => {
            let labels = of.definition().labels.iter();
            labels.map(|label| label.text.as_str()).collect()
        }
        DataType::Boolean => vec!["false", "true"],
        DataType::TinyInt => vec!["-128", "-1", "0", "1", "2", "3", "127"],
        DataType::SmallInt => vec!["-32768", "-1", "0", "1", "2", "255", "256", "32767"],
        DataType::Integer => {
            // 16777217 is a number that REAL does not hold, as DOUBLE does not 9007199254740993.
            vec![
                "-2147483648",
                "-65536",
                "-1",
                "0",
                "1",
                "2",
                "3",
                "16777217",
                "2147483647",
            ]
        }
        DataType::BigInt => {
            vec![
                "-9223372036854775808",
                "-1",
                "0",
                "1",
                "2",
                "4294967296",
                "9007199254740993",
                "9223372036854775807",
            ]
        }
        DataType::Real => {
            vec![
                "-Infinity",
                "-1.5",
                "0",
                "1e-37",
                "0.1",
                "1.5",
                "16777216",
                "1e+38",
                "Infinity",
                "NaN",
            ]
        }
        DataType::Double => {
            vec![
                "-Infinity",
                "-1.5",
                "0",
                "1e-300",
                "0.1",
                "1.5",
                "9007199254740992",
                "1e+300",
                "Infinity",
                "NaN",
            ]
        }
        DataType::Decimal { scale: 2, .. } => {
            vec!["-9999.99", "-1.50", "-0.01", "0.00", "0.01", "1.00", "9999.99"]
        }
        DataType::Decimal { .. } => {
            vec![
                "-9999999999999999.9999",
                "-1.0000",
                "0.0000",
                "0.0001",
                "12345678901234.5678",
            ]
        }
        DataType::Numeric { .. } => {
            vec![
                "-99999999999999999999999999.5",
                "-1.5",
                "0",
                "0.000000000000000000001",
                "1",
                "1.00000000000000000001",
                "3.14159265358979",
                "100",
                "12345678901234567890.125",
                "NaN",
            ]
        }
        DataType::Date => vec![
            "-infinity",
            "0044-03-15 BC",
            "0001-01-01",
            "1969-12-31",
            "1970-01-01",
            "2012-01-01",
            "2012-01-02",
            "2012-02-29",
            "9999-12-31",
            "infinity",
        ],
        DataType::Time { precision: 6 } => vec!["00:00:00", "00:00:00.000001", "12:30:00", "23:59:59.999999"],
        DataType::Time { .. } => vec!["00:00:00", "00:00:00.001", "12:30:00", "23:59:59.999"],
        DataType::Timestamp { .. } => TIMESTAMPS.to_vec(),
        DataType::TimestampTz { .. } => TIMESTAMPS_TZ.to_vec(),
        DataType::Interval => vec![
            "-1 mons",
            "-00:00:01",
            "00:00:00",
            "00:00:00.000001",
            "1 day",
            "1 mon -1 days",
            "1 mon",
            "2 years 03:00:00",
        ],
        DataType::Array(DataType::Integer) => {
            vec![
                "{}",
                "{-1,5}",
                "{1}",
                "{1,0}",
                "{1,NULL}",
                "{1,2,3}",
                "{2147483647}",
                "{NULL}",
            ]
        }
        DataType::Array(DataType::Enum(_)) => vec![
            "{}",
            "{\"\"}",
            "{sad}",
            "{ok,sad}",
            "{\"it's fine\",NULL}",
            "{Happy}",
            "{happy}",
            "{NULL}",
        ],
        DataType::Array(DataType::Record(_)) => vec![
            "{}",
            "{\"(1,a)\"}",
            "{\"(1,)\"}",
            "{\"(1,a)\",NULL}",
            "{\"(,)\"}",
            "{NULL}",
        ],
        DataType::Record(_) => vec![
            "(,)",
            "(1,)",
            "(1,a)",
            "(1,\"\")",
            "(1,\"b \"\",c\")",
            "(-1,A)",
            "(2,a)",
            "(,a)",
        ],
        DataType::Array(_) => vec!["{}", "{\"\"}", "{a}", "{a,b}", "{\"a b\",NULL}", "{ab}", "{NULL}"],
        DataType::Json => vec!["null", "1", "\"a\"", "[1,  2]", "{\"b\":1, \"a\" : {}}"],
        DataType::Jsonb => vec![
            "null",
            "1.5",
            "-2",
            "\"a\"",
            "\"\"",
            "true",
            "[]",
            "[1, 2]",
            "[\"a\", {\"k\": null}]",
            "{}",
            "{\"a\": 1}",
            "{\"a\": 1, \"bb\": [1]}",
        ],
        DataType::Uuid => vec![
            "00000000-0000-0000-0000-000000000000",
            "0f0e0d0c-0b0a-0908-0706-050403020100",
            "80000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ],
        DataType::Inet => vec![
            "0.0.0.0/0",
            "10.0.0.0/8",
            "10.1.0.0/8",
            "10.0.0.0",
            "10.255.255.255",
            "192.168.1.5/24",
            "::/0",
            "2001:db8::1/32",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ],
        DataType::Cidr => vec![
            "0.0.0.0/0",
            "10.0.0.0/8",
            "10.0.0.0/9",
            "10.1.2.3/32",
            "192.168.1.0/24",
            "::/0",
            "2001:db8::/32",
        ],
        DataType::Char(length) => TEXTS
            .into_iter()
            // Of characters a key would take more.
            .filter(|text| text.len() <= *length as usize && !text.ends_with(' '))
            .collect(),
        DataType::Varchar(Some(limit)) => TEXTS
            .into_iter()
            .filter(|text| text.chars().count() <= *limit as usize)
            .collect(),
        DataType::Varchar(None) => TEXTS.to_vec(),
        DataType::Binary(_) => vec!["\\x0000", "\\x00ff", "\\x6100", "\\x6101", "\\xff00", "\\xffff"],
        DataType::Varbinary(_) => {
            vec![
                "\\x",
                "\\x00",
                "\\x0000",
                "\\x0001",
                "\\x00ff",
                "\\x61",
                "\\x6100",
                "\\xff",
                "\\xffff",
                "\\xffffff",
            ]
        }
    }
}

const TEXTS: [&str; 17] = [
    "",
    "a",
    "a\u{1}",
    "aa",
    "aaa",
    "ab",
    "a b",
    "b",
    "A",
    "é",
    "\u{10ffff}",
    "002",
    "0021",
    "a%",
    "a_b",
    "b ",
    "it's",
];

const TIMESTAMPS: [&str; 11] = [
    "-infinity",
    "0044-03-15 12:00:00 BC",
    "0001-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "2012-01-01 00:00:00",
    "2012-01-01 01:00:00",
    "2012-01-01 23:59:59.999999",
    "2012-01-02 00:00:00",
    "9999-12-31 23:59:59.999999",
    "infinity",
];

/// There is no infinity among them: fields and differences of it are refused.
const TIMESTAMPS_TZ: [&str; 7] = [
    "0044-03-15 12:00:00+00 BC",
    "0001-01-01 00:00:00+00",
    "1969-12-31 23:59:59.999999+00",
    "2012-01-01 00:00:00+00",
    "2012-01-01 01:00:00+00",
    "2012-01-02 00:00:00+00",
    "9999-12-31 23:59:59.999999+00",
];

/// Constants that no column of this type holds, each with a type of its own.
fn outside(ty: &DataType) -> Vec<(DataType, &'static str)> {
    const DECIMAL: DataType = DataType::Decimal {
        precision: 38,
        scale: 3,
    };
    match ty {
        _ if ty.is_integer() => vec![
            (DECIMAL, "1.5"),
            (DECIMAL, "-0.5"),
            (DECIMAL, "2.000"),
            (DataType::Integer, "1000"),
            (DataType::Integer, "-70000"),
            (DataType::BigInt, "99999999999"),
            (DataType::BigInt, "-99999999999"),
        ],
        DataType::Real => vec![
            (DataType::Double, "1e39"),
            (DataType::Double, "-1e39"),
            (DataType::Double, "0.1"),
        ],
        DataType::Double => vec![
            (DataType::Double, "1e308"),
            (DataType::Double, "-0.0"),
            (DataType::Integer, "1"),
        ],
        DataType::Decimal { .. } | DataType::Numeric { .. } => {
            vec![
                (DECIMAL, "0.005"),
                (DECIMAL, "1.001"),
                (DataType::BigInt, "100000000000000000"),
                (DataType::Integer, "1"),
            ]
        }
        DataType::Date => vec![
            (DataType::TIMESTAMP, "2012-01-01 01:00:00"),
            (DataType::TIMESTAMP, "2012-01-02 00:00:00"),
        ],
        DataType::Timestamp { .. } => vec![
            (DataType::Date, "2012-01-02"),
            (DataType::TIMESTAMP, "2011-12-31 23:59:59.999999"),
        ],
        // Those of several bytes are too wide for keys.
        DataType::Char(_) => ["éé", "aéé", "aé", "\u{10ffff}", "a\u{10ffff}b", "aaaa", "éaaa"]
            .map(|text| (DataType::Varchar(None), text))
            .to_vec(),
        DataType::Varchar(_) => vec![
            (DataType::Varchar(None), "aaaaaaaaaaaa"),
            (DataType::Varchar(None), "~"),
        ],
        DataType::Varbinary(_) => vec![
            (DataType::Varbinary(None), "\\xfe"),
            (DataType::Varbinary(None), "\\x00ff00"),
        ],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_hold_values_of_their_types() {
        let types = [
            DataType::Boolean,
            DataType::TinyInt,
            DataType::SmallInt,
            DataType::Integer,
            DataType::BigInt,
            DataType::Real,
            DataType::Double,
            DataType::Decimal {
                precision: 6,
                scale: 2,
            },
            DataType::Decimal {
                precision: 20,
                scale: 4,
            },
            DataType::NUMERIC,
            DataType::Date,
            DataType::Time { precision: 3 },
            DataType::Time { precision: 6 },
            DataType::TIMESTAMP,
            DataType::TIMESTAMP_TZ,
            DataType::Uuid,
            DataType::Inet,
            DataType::Cidr,
            DataType::Integer.array(),
            DataType::Varchar(None).array(),
            DataType::Interval,
            DataType::Json,
            DataType::Jsonb,
            DataType::Char(3),
            DataType::Varchar(None),
            DataType::Varchar(Some(2)),
            DataType::Binary(2),
            DataType::Varbinary(None),
        ];
        for ty in types {
            for text in pool(&ty) {
                let datum = Constant::of(ty, text).datum();
                assert_eq!(ty.check(datum.clone()), Ok(datum), "{text} of {ty}");
            }
            for (own, text) in outside(&ty) {
                Constant::of(own, text).datum();
            }
        }
    }
}
