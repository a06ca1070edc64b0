//! Blocks give back what was put in, tests on them are tests on datums, and no bytes make them panic.

use super::*;
use crate::columnar::stored::column::Column;
use crate::columnar::stored::head::Head;
use crate::columnar::stored::pieces::{Cut, Pieces};
use crate::columnar::values::test::{ColumnTest, Test};
use proptest::prelude::*;
use rukh_catalog::ColumnId;
use rukh_keys::{DataType, Datum, Interval};
use std::ops::Bound;

const TYPES: [DataType; 21] = [
    DataType::Boolean,
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Integer,
    DataType::BigInt,
    DataType::Real,
    DataType::Double,
    DataType::Decimal {
        precision: 10,
        scale: 2,
    },
    DataType::Decimal {
        precision: 38,
        scale: 4,
    },
    DataType::Date,
    DataType::Time { precision: 3 },
    DataType::TIMESTAMP,
    DataType::Uuid,
    DataType::Interval,
    DataType::Inet,
    DataType::Cidr,
    DataType::Json,
    DataType::Jsonb,
    DataType::Char(6),
    DataType::Varchar(None),
    DataType::Varbinary(None),
];

/// A value of the type, often one of a few, NULL at times.
fn datum(ty: DataType) -> BoxedStrategy<Datum> {
    let small = prop_oneof![-3_i64..3, any::<i64>()];
    let int = |bits: u32| (prop_oneof![-3_i64..3, any::<i64>()]).prop_map(move |v| v >> (64 - bits));
    let text = || prop_oneof!["[ab]{0,3}", "[a-z]{30,40}", "[é]{0,2}"];
    let float = || {
        prop_oneof![
            Just(0.0),
            Just(-0.0),
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            -2.0..2.0,
            any::<f64>(),
        ]
    };
    let value = match ty {
        DataType::Boolean => any::<bool>().prop_map(Datum::Boolean).boxed(),
        DataType::TinyInt => int(8).prop_map(Datum::Int).boxed(),
        DataType::SmallInt => int(16).prop_map(Datum::Int).boxed(),
        DataType::Integer => int(32).prop_map(Datum::Int).boxed(),
        DataType::BigInt => small.prop_map(Datum::Int).boxed(),
        DataType::Real => float().prop_map(|v| Datum::Float(f64::from(v as f32))).boxed(),
        DataType::Double => float().prop_map(Datum::Float).boxed(),
        DataType::Decimal { precision: 10, .. } => int(32).prop_map(|v| Datum::Decimal(v.into())).boxed(),
        DataType::Decimal { .. } => prop_oneof![
            int(32).prop_map(|v| Datum::Decimal(v.into())),
            any::<i64>().prop_map(|v| Datum::Decimal(i128::from(v) * 1_000_000_007)),
        ]
        .boxed(),
        DataType::Date => (-800_000_i32..800_000).prop_map(Datum::Date).boxed(),
        DataType::Time { .. } => (0_i64..86_400_000).prop_map(|v| Datum::Time(v * 1000)).boxed(),
        DataType::Timestamp { .. } => int(50).prop_map(Datum::Timestamp).boxed(),
        DataType::Uuid => (0_u8..4, any::<u8>())
            .prop_map(|(a, b)| Datum::Uuid([a, b].repeat(8).try_into().unwrap()))
            .boxed(),
        DataType::Inet | DataType::Cidr => "1?0\\.[01]\\.0\\.0/[12]?[0-9]|[0-3]::/[3-6][0-9]"
            .prop_map(move |text| ty.check(DataType::Inet.parse_text(&text).unwrap()).unwrap())
            .boxed(),
        DataType::Interval => (int(20), int(8), int(50))
            .prop_map(|(months, days, micros)| {
                let (months, days) = (months as i32, days as i32);
                Datum::Interval(Interval { months, days, micros })
            })
            .boxed(),
        DataType::Json => "[1-9]{1,3}|\"[a-c]{0,3}\"".prop_map(Datum::Text).boxed(),
        DataType::Jsonb => "[1-9]{1,3}|\"[a-c]{0,3}\"|\\[null\\]"
            .prop_map(move |text| ty.parse_text(&text).unwrap())
            .boxed(),
        DataType::Varbinary(_) => prop::collection::vec(any::<u8>(), 0..40)
            .prop_map(Datum::Bytes)
            .boxed(),
        _ => text().prop_map(Datum::Text).boxed(),
    };
    let canonical = value.prop_filter_map("a value of the type", move |v| ty.check(v).ok());
    prop_oneof![6 => canonical, 1 => Just(Datum::Null)].boxed()
}

fn column() -> impl Strategy<Value = (DataType, Vec<Datum>)> {
    (0..TYPES.len(), 1_usize..5).prop_flat_map(|(ty, run)| {
        let few = prop::collection::vec(datum(TYPES[ty]), 1..60);
        few.prop_map(move |values| {
            let repeated = values.into_iter().flat_map(|v| std::iter::repeat_n(v, run));
            (TYPES[ty], repeated.collect())
        })
    })
}

fn vector(ty: DataType, values: &[Datum]) -> ColumnVector {
    let mut vector = ColumnVector::new(ty);
    values
        .iter()
        .for_each(|value| vector.push(&value.as_ref()).unwrap());
    vector
}

fn datums(vector: &ColumnVector) -> Vec<Datum> {
    (0..vector.len())
        .map(|row| vector.datum(row).unwrap().into_owned())
        .collect()
}

/// Equal in every bit: `-0` is not `0` here.
fn same(left: &Datum, right: &Datum) -> bool {
    match (left, right) {
        (Datum::Float(left), Datum::Float(right)) => left.to_bits() == right.to_bits(),
        _ => left == right,
    }
}

fn condition(ty: DataType) -> impl Strategy<Value = ColumnTest> {
    let cuts = prop::collection::vec(datum(ty), 0..14);
    (cuts, any::<[bool; 3]>(), any::<u16>()).prop_map(|(mut cuts, [first, last, null], edges)| {
        cuts.retain(|cut| !cut.is_null());
        cuts.sort();
        cuts.dedup();
        let mut edge = edges;
        let mut bound = |cut: &Datum| {
            edge = edge.rotate_left(1);
            match edge & 1 {
                0 => Bound::Included(cut.clone()),
                _ => Bound::Excluded(cut.clone()),
            }
        };
        let pairs = cuts
            .chunks_exact(2)
            .map(|pair| (bound(&pair[0]), bound(&pair[1])));
        let mut ranges: Vec<_> = pairs.collect();
        if let Some(range) = ranges.first_mut().filter(|_| first) {
            range.0 = Bound::Unbounded;
        }
        if let Some(range) = ranges.last_mut().filter(|_| last) {
            range.1 = Bound::Unbounded;
        }
        ColumnTest {
            column: ColumnId(0),
            ranges,
            null,
        }
    })
}

fn fulfils(test: &ColumnTest, value: &Datum) -> bool {
    if value.is_null() {
        return test.null;
    }
    test.ranges.iter().any(|(low, high)| {
        let above = match low {
            Bound::Unbounded => true,
            Bound::Included(low) => value >= low,
            Bound::Excluded(low) => value > low,
        };
        above
            && match high {
                Bound::Unbounded => true,
                Bound::Included(high) => value <= high,
                Bound::Excluded(high) => value < high,
            }
    })
}

/// The key of a row.
fn key(row: usize) -> Vec<u8> {
    format!("row {row:06}").into_bytes()
}

/// The pieces of one block of one column, cut as in blocks of so many rows, and the column's.
fn cut_and_stored(
    ty: DataType,
    values: &[Datum],
    block_rows: usize,
) -> (Vec<(Vec<u8>, Vec<u8>)>, ColumnVector) {
    let vector = vector(ty, values);
    let keys: Vec<Vec<u8>> = (0..values.len()).map(key).collect();
    let columns = std::slice::from_ref(&vector);
    let cutting = Cutting::new(block_rows);
    let pieces = encode(&[0], columns, 0..values.len(), cutting, &|row| &keys[row]);
    (pieces, vector)
}

/// The pieces of one block of one column that is whole, and the column's.
fn stored(ty: DataType, values: &[Datum]) -> (Vec<(Vec<u8>, Vec<u8>)>, ColumnVector) {
    cut_and_stored(ty, values, 1 << 20)
}

/// Reads a column of a block from its pieces: those that some rows lie in.
fn opened<'a>(
    ty: DataType,
    head: &'a Head<'a>,
    pieces: &'a [(Vec<u8>, Vec<u8>)],
    rows: std::ops::Range<usize>,
) -> Pieces<'a> {
    let cut = Cut::of(head.parts.as_deref(), Some(0), head.rows);
    assert_eq!(cut.pieces, pieces.len());
    let wanted = cut.of_rows(rows);
    let columns = pieces.iter().enumerate().filter_map(|(nth, (at, value))| {
        let first = key(0);
        assert_eq!(at, &Piece::Column(0).key(cut.key(nth, &first)));
        let column = Column::parse(ty, at, value).unwrap();
        assert_eq!(column.rows(), cut.rows(nth, head.rows));
        wanted.contains(&nth).then_some(Some(column))
    });
    Pieces::some(&cut, wanted.start, columns.collect())
}

proptest! {
    #[test]
    fn blocks_give_back_what_was_put_in((ty, values) in column()) {
        let (pieces, before) = stored(ty, &values);
        let [(head_key, head), (key, value)] = pieces.as_slice() else { panic!("{} pieces", pieces.len()) };
        prop_assert_eq!(Piece::of(key).unwrap(), (Piece::Column(0), &self::key(0)[..]));
        let head = Head::parse(head_key, head).unwrap();
        prop_assert_eq!((head.rows, head.last_key), (values.len(), &self::key(values.len() - 1)[..]));
        let column = Column::parse(ty, key, value).unwrap();
        prop_assert_eq!(column.rows(), values.len());
        let mut all = ColumnVector::new(ty);
        column.read_all(&mut all).unwrap();
        let odd: Vec<u32> = (0..values.len() as u32).filter(|row| row % 2 == 1).collect();
        column.read_rows(&odd, &mut all).unwrap();
        let read = datums(&all);
        prop_assert_eq!(before.len(), values.len());
        for (row, value) in values.iter().enumerate() {
            prop_assert!(same(&read[row], value), "{} is {}", read[row], value);
            prop_assert!(same(&column.datum(row).unwrap().into_owned(), value));
        }
        for (at, row) in odd.iter().enumerate() {
            prop_assert!(same(&read[values.len() + at], &values[*row as usize]));
        }
    }

    #[test]
    fn columns_in_pieces_are_columns(
        (ty, values) in column(),
        block_rows in 1_usize..200,
        some in prop::collection::vec(any::<prop::sample::Index>(), 1..9),
    ) {
        let (pieces, _) = cut_and_stored(ty, &values, block_rows);
        let head = Head::parse(&pieces[0].0, &pieces[0].1).unwrap();
        let rows = values.len();
        let column = opened(ty, &head, &pieces[1..], 0..rows);
        let mut all = ColumnVector::new(ty);
        column.read_all(&mut all).unwrap();
        let mut some: Vec<u32> = some.iter().map(|at| at.index(rows) as u32).collect();
        some.sort_unstable();
        column.read_rows(&some, &mut all).unwrap();
        some.reverse();
        column.read_rows(&some, &mut all).unwrap();
        let read = datums(&all);
        let wanted = (0..rows).chain(some.iter().rev().chain(&some).map(|row| *row as usize));
        for (read, row) in read.iter().zip(wanted) {
            prop_assert!(same(read, &values[row]), "{} is {}", read, values[row]);
        }
        prop_assert_eq!(read.len(), rows + 2 * some.len());
        for row in some {
            let row = row as usize;
            let alone = opened(ty, &head, &pieces[1..], row..row + 1);
            prop_assert!(same(&alone.datum(row).unwrap().into_owned(), &values[row]));
            // The part of its key is one that it lies in.
            if let Some(parts) = &head.parts {
                prop_assert!(parts.rows_at(&key(row), rows).contains(&row));
                let other = values.iter().enumerate().position(|(at, _)| alone.datum(at).is_err());
                prop_assert_eq!(other.is_some(), pieces.len() > 2);
            }
        }
    }

    #[test]
    fn tests_of_blocks_are_tests_of_datums(
        // No plan tests values that are not in keys: their order is not that of what is stored.
        ((ty, values), test) in column().prop_filter("a type of keys", |(ty, _)| ty.is_of_keys()).prop_flat_map(|(ty, values)| (Just((ty, values)), condition(ty))),
        from in any::<prop::sample::Index>(),
    ) {
        let (pieces, _) = cut_and_stored(ty, &values, 64);
        let head = Head::parse(&pieces[0].0, &pieces[0].1).unwrap();
        let column = opened(ty, &head, &pieces[1..], 0..values.len());
        let ready = Test::new(ty, &test).unwrap();
        let mut mask = vec![1; values.len()];
        column.test(&ready, &mut mask).unwrap();
        let expected: Vec<bool> = values.iter().map(|value| fulfils(&test, value)).collect();
        let found: Vec<bool> = mask.iter().map(|mask| *mask == 1).collect();
        prop_assert_eq!(&found, &expected, "{:?}", test);
        // Of the first pieces no row is left, and they are not read.
        let from = from.index(values.len());
        let behind = opened(ty, &head, &pieces[1..], from..values.len());
        let mut mask: Vec<u8> = (0..values.len()).map(|row| u8::from(row >= from)).collect();
        behind.test(&ready, &mut mask).unwrap();
        let found: Vec<bool> = mask.iter().map(|mask| *mask == 1).collect();
        prop_assert_eq!(&found[from..], &expected[from..], "{:?}", test);
        prop_assert!(!found[..from].contains(&true));
        let known = head.column(0).unwrap();
        prop_assert!(known.meets(&ready) || !expected.contains(&true));
        prop_assert!(!known.holds(&ready) || !expected.contains(&false));
    }

    /// A REAL is compared with floats that are no REAL.
    #[test]
    fn reals_are_compared_with_any_float(values in prop::collection::vec(any::<f32>(), 1..20), off in -1_i8..2) {
        let values: Vec<Datum> = values.into_iter().map(|v| DataType::Real.check(Datum::Float(f64::from(v))).unwrap()).collect();
        let Datum::Float(first) = values[0] else { unreachable!() };
        let cut = f64::from_bits(first.to_bits().wrapping_add_signed(i64::from(off)));
        let Ok(cut) = DataType::Double.check(Datum::Float(cut)) else { unreachable!() };
        for test in [
            (Bound::Included(cut.clone()), Bound::Unbounded),
            (Bound::Excluded(cut.clone()), Bound::Unbounded),
            (Bound::Unbounded, Bound::Included(cut.clone())),
            (Bound::Unbounded, Bound::Excluded(cut.clone())),
        ] {
            let test = ColumnTest { column: ColumnId(0), ranges: vec![test], null: false };
            let (pieces, _) = stored(DataType::Real, &values);
            let column = Column::parse(DataType::Real, &pieces[1].0, &pieces[1].1).unwrap();
            let mut mask = vec![1; values.len()];
            column.test(&Test::new(DataType::Real, &test).unwrap(), &mut mask);
            for (value, mask) in values.iter().zip(mask) {
                prop_assert_eq!(mask == 1, fulfils(&test, value), "{} {:?}", value, test);
            }
        }
    }

    #[test]
    fn a_changed_byte_is_noticed((ty, values) in column(), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let (pieces, _) = cut_and_stored(ty, &values, 32);
        for (key, value) in &pieces {
            let mut changed = value.clone();
            let at = at.index(changed.len());
            changed[at] ^= 1 << bit;
            prop_assert!(Head::parse(key, &changed).is_err());
            prop_assert!(Column::parse(ty, key, &changed).is_err());
            prop_assert!(Column::parse(ty, b"another key", value).is_err());
        }
    }

    /// Whatever stands behind a right checksum is refused or read, never a panic.
    #[test]
    fn any_bytes_parse_or_fail(
        (ty, values) in column(),
        noise in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..20), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let (pieces, _) = cut_and_stored(ty, &values, 32);
        for (key, value) in &pieces {
            let mut body = value[..value.len() - 8].to_vec();
            for (at, byte) in &noise {
                let at = at.index(body.len());
                body[at] = *byte;
            }
            for mut body in [body.clone(), body[..cut.index(body.len())].to_vec()] {
                crate::columnar::stored::column::seal(key, &mut body);
                let _ = Head::parse(key, &body);
                for ty in TYPES {
                    let Ok(column) = Column::parse(ty, key, &body) else { continue };
                    let mut all = ColumnVector::new(ty);
                    let _ = column.read_all(&mut all);
                    for row in 0..column.rows().min(100) {
                        let _ = column.datum(row);
                    }
                    let test = ColumnTest { column: ColumnId(0), ranges: vec![(Bound::Unbounded, Bound::Unbounded)], null: true };
                    column.test(&Test::new(ty, &test).unwrap(), &mut vec![1; column.rows()]);
                }
            }
        }
    }

    #[test]
    fn cut_blocks_are_even_and_whole(rows in 0_usize..5000, block_rows in 1_usize..600) {
        let blocks: Vec<_> = cut(rows, block_rows).collect();
        prop_assert_eq!(blocks.iter().map(|block| block.len()).sum::<usize>(), rows);
        prop_assert!(blocks.iter().all(|block| !block.is_empty() && block.len() * 2 <= block_rows * 3 + 1));
        prop_assert!(blocks.windows(2).all(|pair| pair[0].end == pair[1].start));
    }
}
