//! Generators with the nasty cases built in: random types, datums, layouts and rows.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rukh_keys::{
    DATE_INFINITY, DATE_MAX, DATE_MIN, DATE_MINUS_INFINITY, DAY_MICROS, DataType, Datum, EnumDefinition,
    EnumType, Interval, KeyColumn, KeyLayout, LabelPlace, NUMERIC_NAN, NumericParts, RecordDefinition,
    RecordField, RecordType, Salt, SortOrder, TIMESTAMP_INFINITY, TIMESTAMP_MAX, TIMESTAMP_MIN,
    TIMESTAMP_MINUS_INFINITY,
};

/// Runs `cases` cases, or more or fewer in proportion to `PROPTEST_CASES` (256 by default).
pub fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: (cases * default.cases / 256).max(1),
        ..default
    }
}

/// Any type, with lengths small enough that values reach them.
pub fn any_type() -> BoxedStrategy<DataType> {
    let plain = select(vec![
        DataType::Boolean,
        DataType::Boolean,
        DataType::Boolean,
        DataType::TinyInt,
        DataType::SmallInt,
        DataType::Integer,
        DataType::BigInt,
        DataType::Real,
        DataType::Double,
        DataType::NUMERIC,
        DataType::Numeric {
            precision: 40,
            scale: 2,
        },
        DataType::Date,
        DataType::TIMESTAMP,
        DataType::TIMESTAMP_TZ,
        DataType::Uuid,
        DataType::Inet,
        DataType::Cidr,
        DataType::Inet.array(),
        DataType::Varchar(None),
        DataType::Varbinary(None),
        DataType::Integer.array(),
        DataType::Varchar(None).array(),
        mood(),
        mood().array(),
        spot(),
        spot().array(),
    ]);
    prop_oneof![
        8 => plain,
        1 => (1_u8..=38).prop_flat_map(|precision| (Just(precision), 0..=precision))
            .prop_map(|(precision, scale)| DataType::Decimal { precision, scale }),
        1 => select(vec![0, 1, 2, 3, 6]).prop_map(|precision| DataType::Time { precision }),
        1 => (1_u32..6).prop_map(DataType::Char),
        1 => (1_u32..6).prop_map(|limit| DataType::Varchar(Some(limit))),
        1 => (1_u32..6).prop_map(DataType::Binary),
        1 => (1_u32..6).prop_map(|limit| DataType::Varbinary(Some(limit))),
    ]
    .boxed()
}

/// An enum whose labels are in no order of texts, one of them added between others.
pub fn mood() -> DataType {
    let labels = ["sad", "ok", "happy"].map(String::from);
    let mood = EnumDefinition::new(1, "public", "mood", &labels);
    let mood = mood.with_label("it's fine", LabelPlace::After("sad"));
    DataType::Enum(EnumType::of(mood.expect("there is room")))
}

/// A composite type with a text between numbers.
pub fn spot() -> DataType {
    let field = |name: &str, ty| RecordField {
        name: name.to_string(),
        ty,
    };
    DataType::Record(RecordType::of(RecordDefinition {
        id: 2,
        schema: "public".to_string(),
        name: "spot".to_string(),
        fields: vec![
            field("n", DataType::Integer),
            field("t", DataType::Varchar(None)),
            field("d", DataType::NUMERIC),
        ],
    }))
}

/// Any value of a type but NULL, often at the edges of the type.
pub fn any_value(ty: DataType) -> BoxedStrategy<Datum> {
    let near = |values: Vec<i64>, low: i64, high: i64| prop_oneof![select(values), low..=high].boxed();
    match ty {
        DataType::Boolean => any::<bool>().prop_map(Datum::Boolean).boxed(),
        DataType::TinyInt => any_int(i8::MIN.into(), i8::MAX.into()),
        DataType::SmallInt => any_int(i16::MIN.into(), i16::MAX.into()),
        DataType::Integer => any_int(i32::MIN.into(), i32::MAX.into()),
        DataType::BigInt => any_int(i64::MIN, i64::MAX),
        DataType::Real => any_real()
            .prop_map(move |v| checked(ty, Datum::Float(v.into())))
            .boxed(),
        DataType::Double => any_double()
            .prop_map(move |v| checked(ty, Datum::Float(v)))
            .boxed(),
        DataType::Decimal { precision, .. } => {
            let max = 10_i128.pow(precision.into()) - 1;
            prop_oneof![select(vec![0, 1, -1, max, -max, max - 1]), -max..=max]
                .prop_map(Datum::Decimal)
                .boxed()
        }
        DataType::Numeric { precision, scale } => {
            let most = |digits: u8| 10_u128.pow(digits.into()) - 1;
            let (whole, fraction) = (most(precision - scale), most(scale));
            let unit = 10_u128.pow(u32::from(38 - scale));
            let whole = prop_oneof![select(vec![0, 1, 9, 100, whole]), 0..=whole];
            let fraction = prop_oneof![select(vec![0, 1, fraction]), 0..=fraction];
            let number = (any::<bool>(), whole, fraction).prop_map(move |(negative, whole, fraction)| {
                let parts = NumericParts::new(negative, whole, fraction * unit);
                Datum::Numeric(parts.expect("it is in range").to_form())
            });
            prop_oneof![9 => number, 1 => Just(Datum::Numeric(NUMERIC_NAN.to_vec()))].boxed()
        }
        DataType::Date => {
            let days = near(vec![0, 1, -1, DATE_MIN.into(), DATE_MAX.into()], 15_000, 15_010);
            let infinities = select(vec![DATE_MINUS_INFINITY, DATE_INFINITY]).prop_map(Datum::Date);
            prop_oneof![9 => days.prop_map(|days| Datum::Date(days as i32)), 1 => infinities].boxed()
        }
        DataType::Time { .. } => near(
            vec![0, 1_000_000, DAY_MICROS, DAY_MICROS - 1_000_000],
            0,
            DAY_MICROS,
        )
        .prop_map(move |micros| checked(ty, Datum::Time(micros)))
        .boxed(),
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
            let special = vec![0, 1, -1, TIMESTAMP_MIN, TIMESTAMP_MAX];
            let micros = near(special, TIMESTAMP_MIN, TIMESTAMP_MAX);
            let infinities = select(vec![TIMESTAMP_MINUS_INFINITY, TIMESTAMP_INFINITY]);
            prop_oneof![9 => micros, 1 => infinities]
                .prop_map(Datum::Timestamp)
                .boxed()
        }
        DataType::Enum(of) => select(of.definition().labels.clone())
            .prop_map(|label| Datum::Int(label.code.into()))
            .boxed(),
        DataType::Uuid => prop_oneof![Just([0; 16]), Just([0xff; 16]), any::<[u8; 16]>()]
            .prop_map(Datum::Uuid)
            .boxed(),
        DataType::Inet | DataType::Cidr => (any::<bool>(), any::<u128>(), 0..=128_u8)
            .prop_map(move |(is_v6, address, mask)| {
                let text = match is_v6 {
                    true => format!("{}/{mask}", std::net::Ipv6Addr::from_bits(address)),
                    false => format!("{}/{}", std::net::Ipv4Addr::from_bits(address as u32), mask % 33),
                };
                checked(ty, DataType::Inet.parse_text(&text).unwrap())
            })
            .boxed(),
        DataType::Array(element) => proptest::collection::vec(any_value(*element), 0..4)
            .prop_map(move |values| {
                let form = rukh_keys::array_form(*element, &values);
                Datum::Array(form.expect("they are values"))
            })
            .boxed(),
        DataType::Record(of) => {
            let values: Vec<_> = of
                .fields()
                .iter()
                .map(|field| prop_oneof![Just(Datum::Null), any_value(field.ty)])
                .collect();
            values
                .prop_map(move |values| {
                    let form = rukh_keys::record_form(of, &values);
                    Datum::Array(form.expect("they are values"))
                })
                .boxed()
        }
        DataType::Interval => (
            any::<i32>(),
            any::<i32>(),
            -9_000_000_000_000_000..9_000_000_000_000_000_i64,
        )
            .prop_map(|(months, days, micros)| Datum::Interval(Interval { months, days, micros }))
            .boxed(),
        DataType::Json => "\"[a-z]{0,5}\"|[1-9]{1,3}".prop_map(Datum::Text).boxed(),
        DataType::Jsonb => "\"[a-z]{0,5}\"|[1-9]{1,3}"
            .prop_map(move |text| ty.parse_text(&text).expect("it is JSON"))
            .boxed(),
        DataType::Char(length) => any_text(length)
            .prop_filter_map("a CHAR of that length", move |text| {
                ty.check(Datum::Text(text.replace('\0', " "))).ok()
            })
            .boxed(),
        DataType::Varchar(limit) => any_text(limit.unwrap_or(8)).prop_map(Datum::Text).boxed(),
        DataType::Binary(length) => any_bytes(length)
            .prop_map(move |bytes| checked(ty, Datum::Bytes(bytes)))
            .boxed(),
        DataType::Varbinary(limit) => any_bytes(limit.unwrap_or(8)).prop_map(Datum::Bytes).boxed(),
    }
}

fn checked(ty: DataType, datum: Datum) -> Datum {
    ty.check(datum).expect("the generator stays in the domain")
}

fn any_int(min: i64, max: i64) -> BoxedStrategy<Datum> {
    let edges = select(vec![min, min + 1, -1, 0, 1, 2, 3, max - 1, max]);
    prop_oneof![edges, min..=max].prop_map(Datum::Int).boxed()
}

fn any_real() -> BoxedStrategy<f32> {
    let edges = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN_POSITIVE,
    ];
    prop_oneof![select(edges), any::<u32>().prop_map(f32::from_bits)].boxed()
}

fn any_double() -> BoxedStrategy<f64> {
    let edges = vec![
        0.0,
        -0.0,
        1.5,
        -1.5,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
    ];
    prop_oneof![select(edges), any::<u64>().prop_map(f64::from_bits)].boxed()
}

fn any_text(length_max: u32) -> BoxedStrategy<String> {
    let characters = select(vec![
        '\0',
        '\u{1}',
        '\u{2}',
        ' ',
        'a',
        'a',
        'b',
        '\'',
        'é',
        '\u{ff}',
        '\u{10ffff}',
    ]);
    vec(characters, 0..=length_max as usize)
        .prop_map(|text| text.into_iter().collect())
        .boxed()
}

fn any_bytes(length_max: u32) -> BoxedStrategy<Vec<u8>> {
    vec(
        select(vec![0, 0, 1, 2, 0x61, 0xfe, 0xff, 0xff]),
        0..=length_max as usize,
    )
    .boxed()
}

/// Any value of a column that a key has room for, NULL if it takes it.
pub fn any_datum(column: KeyColumn) -> BoxedStrategy<Datum> {
    let value = any_value(column.ty)
        .prop_filter("a value that fits into a key", move |datum| {
            !is_wide(column.ty, datum)
        })
        .boxed();
    if column.nullable {
        prop_oneof![1 => Just(Datum::Null), 3 => value].boxed()
    } else {
        value
    }
}

/// Whether a CHAR takes more bytes than its place in keys.
fn is_wide(ty: DataType, datum: &Datum) -> bool {
    matches!((ty, datum), (DataType::Char(length), Datum::Text(text)) if text.len() > length as usize)
}

pub fn any_column() -> BoxedStrategy<KeyColumn> {
    let order = select(vec![SortOrder::Asc, SortOrder::Desc]);
    (any_type(), order, prop::bool::weighted(0.3))
        .prop_map(|(ty, order, nullable)| KeyColumn { ty, order, nullable })
        .boxed()
}

/// Columns of a layout: a few of any kind, or runs of booleans longer than a byte.
fn any_columns() -> BoxedStrategy<Vec<KeyColumn>> {
    let boolean = select(vec![
        SortOrder::Asc,
        SortOrder::Asc,
        SortOrder::Asc,
        SortOrder::Desc,
    ])
    .prop_map(|order| KeyColumn {
        ty: DataType::Boolean,
        order,
        nullable: false,
    });
    prop_oneof![
        4 => vec(any_column(), 1..6),
        1 => (vec(any_column(), 0..2), vec(boolean, 1..19), vec(any_column(), 0..3))
            .prop_map(|(before, run, after)| [before, run, after].concat()),
    ]
    .boxed()
}

/// A layout, one in three with a salt.
pub fn any_layout() -> BoxedStrategy<KeyLayout> {
    any_columns()
        .prop_flat_map(|columns| {
            let positions: Vec<usize> = (0..columns.len()).collect();
            let salt = (
                2_u16..=256,
                proptest::sample::subsequence(positions.clone(), 1..=positions.len()),
            )
                .prop_map(|(buckets, columns)| Salt { buckets, columns });
            (Just(columns), prop::option::weighted(0.33, salt))
        })
        .prop_map(|(columns, salt)| KeyLayout::new(columns, salt))
        .boxed()
}

pub type Row = Vec<Datum>;

/// Rows that share values with each other, so that comparisons reach the later columns.
pub fn any_rows(layout: &KeyLayout, count: usize) -> BoxedStrategy<Vec<Row>> {
    let columns: Vec<_> = layout
        .columns()
        .iter()
        .map(|column| {
            (
                vec(any_datum(*column), 1..4),
                vec(any::<prop::sample::Index>(), count),
            )
                .prop_map(|(values, picks)| picks.iter().map(|pick| pick.get(&values).clone()).collect())
        })
        .collect::<Vec<_>>();
    columns
        .prop_map(move |columns: Vec<Vec<Datum>>| {
            (0..count)
                .map(|row| columns.iter().map(|column| column[row].clone()).collect())
                .collect()
        })
        .boxed()
}

/// A layout and rows of it.
pub fn layout_and_rows(count: usize) -> BoxedStrategy<(KeyLayout, Vec<Row>)> {
    any_layout()
        .prop_flat_map(move |layout| (Just(layout.clone()), any_rows(&layout, count)))
        .boxed()
}

/// The column of a type, ascending and NOT NULL.
pub fn ascending(ty: DataType) -> KeyColumn {
    KeyColumn {
        ty,
        order: SortOrder::Asc,
        nullable: false,
    }
}

/// Reads hexadecimal digits; blanks do not count.
pub fn unhex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("hex") as u8)
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Writes bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
