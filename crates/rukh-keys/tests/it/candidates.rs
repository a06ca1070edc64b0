//! The next and the previous candidate: they move, they skip no match, and they skip all they can.

use crate::masks::{layout_rows_and_tests, masked};
use crate::support::{ascending, config};
use proptest::prelude::*;
use rukh_keys::{Candidate, DataType, Datum, Edge, KeyLayout, MaskedCompare};

/// Runs a scan that seeks after every key and returns the matches with the number of keys visited.
fn scan_forward(keys: &[Vec<u8>], masked: &MaskedCompare) -> (Vec<Vec<u8>>, usize) {
    let (mut found, mut visited, mut target) = (Vec::new(), 0, Vec::new());
    while let Some(key) = keys.iter().find(|key| **key >= target) {
        visited += 1;
        if masked.matches(key) {
            found.push(key.clone());
        }
        if masked.next_candidate(key, &mut target) == Candidate::End {
            break;
        }
        assert!(target > *key, "the scan moves");
    }
    (found, visited)
}

fn scan_backward(keys: &[Vec<u8>], masked: &MaskedCompare) -> Vec<Vec<u8>> {
    let (mut found, mut bound) = (Vec::new(), None::<Vec<u8>>);
    loop {
        let below = |key: &&Vec<u8>| bound.as_ref().is_none_or(|bound| *key < bound);
        let Some(key) = keys.iter().rev().find(below) else {
            break;
        };
        if masked.matches(key) {
            found.push(key.clone());
        }
        let mut next = Vec::new();
        if masked.previous_candidate(key, &mut next) == Candidate::End {
            break;
        }
        assert!(next <= *key, "the scan moves");
        bound = Some(next);
    }
    found.reverse();
    found
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn seeking_scans_find_all_matches((layout, rows, tests) in layout_rows_and_tests(24)) {
        let (_, masked) = masked(&layout, tests);
        let mut keys: Vec<Vec<u8>> = rows.iter().map(|row| layout.encode(row).unwrap()).collect();
        keys.sort();
        keys.dedup();
        let matches: Vec<Vec<u8>> = keys.iter().filter(|key| masked.matches(key)).cloned().collect();
        prop_assert_eq!(&scan_forward(&keys, &masked).0, &matches);
        prop_assert_eq!(&scan_backward(&keys, &masked), &matches);
    }

    #[test]
    fn a_candidate_passes_the_tests((layout, rows, tests) in layout_rows_and_tests(4)) {
        let (tests, masked) = masked(&layout, tests);
        let mut out = Vec::new();
        for row in &rows {
            let key = layout.encode(row).unwrap();
            if !masked.matches(&key) && masked.next_candidate(&key, &mut out) == Candidate::Seek {
                prop_assert!(out > key && masked.matches(&out));
                prop_assert!(tests.iter().all(|test| test.field_test(&layout).unwrap().matches(&out)));
            }
        }
    }

}

proptest! {
    #![proptest_config(config(150))]

    /// Where a layout has few keys, each of them can be tried.
    #[test]
    fn a_candidate_is_the_nearest_one(
        flags in 0_usize..11,
        tests in proptest::collection::vec((0_usize..10, any::<i8>(), any::<i8>()), 1..4),
        row in (any::<[bool; 16]>(), any::<i8>()),
        number_at in 0_usize..5,
    ) {
        let layout = small_layout(flags, number_at);
        let masked = small_tests(&layout, &tests);
        let keys = all_keys(&layout);
        let key = &keys[row.0.iter().fold(row.1 as u8 as usize, |n, bit| n * 2 + usize::from(*bit)) % keys.len()];
        if masked.matches(key) {
            return Ok(());
        }
        let mut out = Vec::new();
        let next = masked.next_candidate(key, &mut out);
        match keys.iter().find(|other| *other > key && masked.matches(other)) {
            Some(nearest) => {
                out.resize(nearest.len(), 0);
                prop_assert_eq!((next, &out), (Candidate::Seek, nearest));
            }
            None => prop_assert_eq!(next, Candidate::End),
        }
        let previous = masked.previous_candidate(key, &mut out);
        match keys.iter().rev().find(|other| *other < key && masked.matches(other)) {
            Some(nearest) => {
                prop_assert_eq!(previous, Candidate::Seek);
                prop_assert!(*nearest < out && out <= *key);
                prop_assert_eq!(keys.iter().rev().find(|other| **other < out), Some(nearest));
            }
            None => prop_assert_eq!(previous, Candidate::End),
        }
    }
}

/// Flags in one or two bytes; with a TINYINT among them if they are few.
fn small_layout(flags: usize, number_at: usize) -> KeyLayout {
    let mut columns = vec![ascending(DataType::Boolean); flags];
    if flags < 5 {
        columns.insert(number_at.min(flags), ascending(DataType::TinyInt));
    }
    KeyLayout::new(columns, None)
}

/// All keys of a layout of flags and TINYINTs, in order.
fn all_keys(layout: &KeyLayout) -> Vec<Vec<u8>> {
    let mut rows: Vec<Vec<Datum>> = vec![Vec::new()];
    for column in layout.columns() {
        let values: Vec<Datum> = match column.ty {
            DataType::Boolean => [false, true].map(Datum::Boolean).to_vec(),
            _ => (-128..128).map(Datum::Int).collect(),
        };
        let with = |row: &Vec<Datum>, value: &Datum| [row.as_slice(), std::slice::from_ref(value)].concat();
        rows = rows
            .iter()
            .flat_map(|row| values.iter().map(|value| with(row, value)))
            .collect();
    }
    rows.iter()
        .map(|row| layout.encode(row).expect("rows of the layout"))
        .collect()
}

/// A test per (column, low, high): an interval of numbers, or one value of a flag.
fn small_tests(layout: &KeyLayout, tests: &[(usize, i8, i8)]) -> MaskedCompare {
    let tests = tests.iter().filter_map(|(column, low, high)| {
        let column = column % layout.columns().len();
        let [low, high] = match layout.columns()[column].ty {
            DataType::Boolean => [low, low].map(|value| Datum::Boolean(*value < 0)),
            _ => [low, high].map(|value| Datum::Int((*value).into())),
        };
        let interval = (Some((&low, Edge::Included)), Some((&high, Edge::Included)));
        layout.field_test(column, &[interval], false)
    });
    MaskedCompare::new(tests.collect())
}

#[test]
fn a_scan_with_a_test_on_the_second_column_skips() {
    let layout = KeyLayout::new(vec![ascending(DataType::Integer); 2], None);
    let keys: Vec<Vec<u8>> = (0..10)
        .flat_map(|a| (0..100).map(move |b| [Datum::Int(a), Datum::Int(b)]))
        .map(|row| layout.encode(&row).unwrap())
        .collect();
    let (low, high) = (Datum::Int(40), Datum::Int(41));
    let interval = (Some((&low, Edge::Included)), Some((&high, Edge::Included)));
    let masked = MaskedCompare::new(layout.field_test(1, &[interval], false).into_iter().collect());
    let (found, visited) = scan_forward(&keys, &masked);
    // Per value of a: the key before the matches, two matches, the key behind them.
    assert_eq!((found.len(), visited), (20, 31));
}

#[test]
fn a_scan_with_a_test_behind_a_text_skips() {
    let text = ascending(DataType::Varchar(None));
    let layout = KeyLayout::new(vec![text, ascending(DataType::Integer), text], None);
    let rows = (0..10).flat_map(|a| (0..100).map(move |b| (a, b)));
    let keys: Vec<Vec<u8>> = rows
        .map(|(a, b)| {
            [
                Datum::Text(format!("{a}\0")),
                Datum::Int(b),
                Datum::Text(String::new()),
            ]
        })
        .map(|row| layout.encode(&row).unwrap())
        .collect();
    let (low, high) = (Datum::Int(40), Datum::Int(41));
    let interval = (Some((&low, Edge::Included)), Some((&high, Edge::Included)));
    let test = layout.field_test(1, &[interval], false);
    let masked = MaskedCompare::new(test.into_iter().collect());
    let (found, visited) = scan_forward(&keys, &masked);
    // Per text: the key before the matches, two matches, the key behind them.
    assert_eq!((found.len(), visited), (20, 40));
    assert_eq!(scan_backward(&keys, &masked), found);
    // Texts that are tested are sought with the smallest number.
    let (three, seven) = (Datum::Text("3\0".to_string()), Datum::Text("7\0".to_string()));
    let points = [&three, &seven].map(|value| (Some((value, Edge::Included)), Some((value, Edge::Included))));
    let tests = [
        layout.field_test(0, &points, false),
        layout.field_test(1, &[interval], false),
    ];
    let masked = MaskedCompare::new(tests.into_iter().flatten().collect());
    let (found, visited) = scan_forward(&keys, &masked);
    // The first key; per text two matches and the key behind them.
    assert_eq!((found.len(), visited), (4, 7));
    assert_eq!(scan_backward(&keys, &masked), found);
}
