//! Changes on top of a snapshot: a view shows what a store shows that the changes were written to.

use crate::scans::{self, Change, Scan, filter, filter_with_skips, key, show, show_with_skips};
use crate::suite::Append;
use proptest::collection::vec;
use proptest::prelude::*;
use rukh_keys::KeyRange;
use rukh_kv::{
    Durability, KvError, KvSnapshot, KvStore, Mark, MemoryStore, Overlay, RocksOptions, RocksStore, ScanSpec,
    TableOptions, WriteBatch,
};
use std::collections::BTreeMap;
use std::sync::Arc;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// What becomes of a key.
#[derive(Debug, Clone)]
enum Edit {
    Put(Vec<u8>),
    Delete,
    /// These bytes come behind the value.
    Append(Vec<u8>),
    /// It goes, with all others.
    Clear,
}

/// What a transaction does.
#[derive(Debug, Clone)]
enum Step {
    /// One statement.
    Apply(Vec<(Vec<u8>, Edit)>),
    Mark,
    /// Goes back to one of the marks, and forgets those after it.
    GoBack(prop::sample::Index),
    /// Forgets a mark and those after it.
    Release(prop::sample::Index),
    /// Takes a view that later steps must not touch.
    View,
}

fn step() -> impl Strategy<Value = Step> {
    let edit = prop_oneof![
        3 => vec(any::<u8>(), 0..4).prop_map(Edit::Put),
        2 => Just(Edit::Delete),
        2 => vec(1_u8.., 0..3).prop_map(Edit::Append),
        1 => Just(Edit::Clear),
    ];
    prop_oneof![
        6 => vec((key(), edit), 0..12).prop_map(Step::Apply),
        2 => Just(Step::Mark),
        2 => any::<prop::sample::Index>().prop_map(Step::GoBack),
        1 => any::<prop::sample::Index>().prop_map(Step::Release),
        2 => Just(Step::View),
    ]
}

fn batch_of(changes: &[(Vec<u8>, Edit)]) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for (key, edit) in changes {
        match edit {
            Edit::Put(value) => batch.put("t", key, value),
            Edit::Delete => batch.delete("t", key),
            Edit::Append(bytes) => batch.merge("t", key, bytes),
            Edit::Clear => batch.delete_range("t", &KeyRange::all()),
        }
    }
    batch
}

fn apply(model: &mut Model, changes: &[(Vec<u8>, Edit)]) {
    for (key, edit) in changes {
        match edit {
            Edit::Put(value) => drop(model.insert(key.clone(), value.clone())),
            Edit::Delete => drop(model.remove(key)),
            Edit::Append(bytes) => model.entry(key.clone()).or_default().extend_from_slice(bytes),
            Edit::Clear => model.clear(),
        }
    }
}

/// Checks scans, counts and gets of a view against what it must hold.
fn check(view: &dyn KvSnapshot, model: &Model, scans: &[Scan]) -> Result<(), TestCaseError> {
    for scan in scans {
        let expected = filter(model, &scan.spec);
        let (shown, _) = show(view, "t", scan);
        prop_assert_eq!(&shown, &expected, "{:?}", scan);
        let expected_with_skips = filter_with_skips(model, scan);
        prop_assert_eq!(
            show_with_skips(view, "t", scan),
            expected_with_skips,
            "{:?}",
            scan
        );
        let (count, _) = view.count("t", scan.spec.clone()).unwrap();
        prop_assert_eq!(count, expected.len() as u64);
        let keys: Vec<Vec<u8>> = scan.spec.ranges.iter().map(|range| range.start.clone()).collect();
        let values: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
        prop_assert_eq!(&view.multi_get("t", &keys).unwrap(), &values);
        for (key, value) in keys.iter().zip(values) {
            prop_assert_eq!(view.get("t", key).unwrap(), value);
        }
    }
    Ok(())
}

fn overlays_are_stores(
    store: &dyn KvStore,
    changes: &[Change],
    steps: &[Step],
    scans: &[Scan],
) -> Result<(), TestCaseError> {
    let mut model = scans::apply(store, "t", changes);
    let base = store.snapshot();
    let overlay = Overlay::with_merge_operator(store.merge_operator());
    let mut marks: Vec<(Mark, Model)> = Vec::new();
    let mut views = vec![(overlay.over(base.clone()), model.clone())];
    for step in steps {
        match step {
            Step::Apply(changes) => {
                overlay.apply(&batch_of(changes)).unwrap();
                apply(&mut model, changes);
            }
            Step::Mark => marks.push((overlay.mark(), model.clone())),
            Step::GoBack(to) if !marks.is_empty() => {
                marks.truncate(to.index(marks.len()) + 1);
                let (mark, then) = marks.last().unwrap();
                overlay.go_back(mark);
                model = then.clone();
            }
            Step::Release(from) if !marks.is_empty() => marks.truncate(from.index(marks.len())),
            Step::GoBack(_) | Step::Release(_) => {}
            Step::View => views.push((overlay.over(base.clone()), model.clone())),
        }
        check(&*overlay.over(base.clone()), &model, &scans[..1])?;
    }
    views.push((overlay.over(base.clone()), model.clone()));
    // What was taken before others wrote, and before the overlay went away, stays.
    store.write(overlay.batch(), Durability::Buffered).unwrap();
    drop((overlay, marks));
    for (view, model) in &views {
        check(&**view, model, scans)?;
    }
    check(&*store.snapshot(), &model, scans)
}

proptest! {
    #[test]
    fn views_show_what_a_store_would(
        changes in scans::changes(),
        steps in vec(step(), 0..24),
        scans in vec(scans::scan(), 1..5),
    ) {
        overlays_are_stores(&MemoryStore::with_merge_operator(Arc::new(Append)), &changes, &steps, &scans)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn views_show_what_rocks_would(
        changes in scans::changes(),
        steps in vec(step(), 0..24),
        scans in vec(scans::scan(), 1..5),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let options = RocksOptions {
            merge: Some(Arc::new(Append)),
            ..RocksOptions::default()
        };
        let store = RocksStore::open(directory.path().join("db"), &options).unwrap();
        overlays_are_stores(&store, &changes, &steps, &scans)?;
    }
}

fn put(key: &[u8], value: &[u8]) -> WriteBatch {
    let mut batch = WriteBatch::new();
    batch.put("t", key, value);
    batch
}

#[test]
fn memory_is_counted_and_given_back() {
    let overlay = Overlay::new();
    assert!(overlay.is_empty() && overlay.bytes() == 0);
    overlay.apply(&put(b"k", &[7; 1000])).unwrap();
    let one = overlay.bytes();
    assert!((1000..1300).contains(&one), "{one}");
    (0..100).for_each(|_| overlay.apply(&put(b"k", &[7; 1000])).unwrap());
    assert_eq!(overlay.bytes(), one, "nobody sees the versions before");
    let mark = overlay.mark();
    overlay.apply(&put(b"k", &[8; 1000])).unwrap();
    assert!(overlay.bytes() > 2 * one, "the mark keeps the version before");
    overlay.go_back(&mark);
    drop(mark);
    assert_eq!(overlay.bytes(), one);
}

#[test]
fn what_no_key_says_is_refused_whole() {
    let overlay = Overlay::new();
    let mut batch = put(b"a", b"1");
    batch.merge("t", b"b", b"2");
    assert!(matches!(overlay.apply(&batch), Err(KvError::Unsupported { .. })));
    assert!(overlay.is_empty());
    let overlay = Overlay::with_merge_operator(Some(Arc::new(Append)));
    batch.merge("t", b"a", &[0]);
    assert!(matches!(overlay.apply(&batch), Err(KvError::Corruption { .. })));
    assert!(overlay.is_empty());
}

#[test]
fn a_cancelled_scan_of_a_view_ends() {
    let store = MemoryStore::new();
    store.create_table("t", &TableOptions::default()).unwrap();
    let overlay = Overlay::new();
    let mut batch = WriteBatch::new();
    (0..10_000_u32).for_each(|key| batch.put("t", &key.to_be_bytes(), b""));
    overlay.apply(&batch).unwrap();
    let spec = ScanSpec {
        cancel: Some(Arc::new(true.into())),
        ..ScanSpec::all()
    };
    let counted = overlay.over(store.snapshot()).count("t", spec);
    assert!(matches!(counted, Err(KvError::Cancelled)));
}
