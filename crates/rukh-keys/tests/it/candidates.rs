//! The next and the previous candidate: they move, they skip no match, and they skip all they can.

use crate::masks::{layout_rows_and_tests, masked};
use crate::support::{ascending, config};
use proptest::prelude::*;
use rukh_keys::{Candidate, DataType, Datum, Edge, KeyLayout, MaskedCompare};

/// Runs a scan that seeks after every key and returns the matches with the number of keys visited.
fn scan_forward(keys: &[Vec<u8>], masked: &MaskedCompare) -> (Vec<Vec<u8>>, usize) {
    let (mut found, mut visited, mut target) = (Vec::new(), 0, Vec::new());
    loop {
        let Some(key) = keys.iter().find(|key| **key >= target) else {
            break;
        };
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
    fn seeking_scans_find_all_matches((layout, rows, asked) in layout_rows_and_tests(24)) {
        let (_, masked) = masked(&layout, asked);
        let mut keys: Vec<Vec<u8>> = rows.iter().map(|row| layout.encode(row).unwrap()).collect();
        keys.sort();
        keys.dedup();
        let matches: Vec<Vec<u8>> = keys.iter().filter(|key| masked.matches(key)).cloned().collect();
        prop_assert_eq!(&scan_forward(&keys, &masked).0, &matches);
        prop_assert_eq!(&scan_backward(&keys, &masked), &matches);
    }

    #[test]
    fn a_candidate_passes_the_tests((layout, rows, asked) in layout_rows_and_tests(4)) {
        let (_, masked) = masked(&layout, asked);
        let mut out = Vec::new();
        for row in &rows {
            let key = layout.encode(row).unwrap();
            if !masked.matches(&key) && masked.next_candidate(&key, &mut out) == Candidate::Seek {
                prop_assert!(masked.matches(&out) && masked.tests().iter().all(|test| test.matches(&out)));
            }
        }
    }

}

proptest! {
    #![proptest_config(config(24))]

    /// On keys of two bytes every byte string can be tried.
    #[test]
    fn a_candidate_is_the_nearest_one(
        tests in proptest::collection::vec((0_usize..2, any::<i8>(), any::<i8>()), 1..3),
        flags in proptest::collection::vec((0_usize..16, any::<bool>()), 0..3),
        key in any::<[u8; 2]>(),
        bits in any::<bool>(),
    ) {
        let masked = if bits { flag_tests(&flags) } else { byte_tests(&tests) };
        if masked.matches(&key) {
            return Ok(());
        }
        let padded = |mut key: Vec<u8>| {
            key.resize(2, 0);
            key
        };
        let all = || (0..=u16::MAX).map(u16::to_be_bytes).filter(|other| masked.matches(other));
        let mut out = Vec::new();
        let next = masked.next_candidate(&key, &mut out);
        match all().find(|other| *other > key) {
            Some(nearest) => {
                prop_assert_eq!((next, padded(out.clone())), (Candidate::Seek, nearest.to_vec()));
            }
            None => prop_assert_eq!(next, Candidate::End),
        }
        let previous = masked.previous_candidate(&key, &mut out);
        match all().rev().find(|other| *other < key) {
            Some(nearest) => {
                let bound = (u16::from_be_bytes(nearest) + 1).to_be_bytes();
                prop_assert_eq!((previous, padded(out)), (Candidate::Seek, bound.to_vec()));
            }
            None => prop_assert_eq!(previous, Candidate::End),
        }
    }
}

/// Tests on a key of two TINYINTs.
fn byte_tests(tests: &[(usize, i8, i8)]) -> MaskedCompare {
    let layout = KeyLayout::new(vec![ascending(DataType::TinyInt); 2], None);
    let tests = tests.iter().filter_map(|(column, low, high)| {
        let (low, high) = (Datum::Int((*low).into()), Datum::Int((*high).into()));
        layout.field_test(
            *column,
            &[(Some((&low, Edge::Included)), Some((&high, Edge::Included)))],
            false,
        )
    });
    MaskedCompare::new(tests.collect())
}

/// Tests on a key of sixteen booleans.
fn flag_tests(flags: &[(usize, bool)]) -> MaskedCompare {
    let layout = KeyLayout::new(vec![ascending(DataType::Boolean); 16], None);
    let tests = flags.iter().filter_map(|(column, value)| {
        let value = Datum::Boolean(*value);
        let end = Some((&value, Edge::Included));
        layout.field_test(*column, &[(end, end)], false)
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
