//! What every store must do: the conformance suite, run over each of them.
//!
//! [`run`] takes an empty store that can merge by [`Append`]; each check works in tables of its
//! own. What is about files and their sizes is left out where a store has none. The property that a scan shows what a naive filter shows is in `scans`.

use rukh_keys::KeyRange;
use rukh_kv::{
    Commit, Committed, Durability, KvError, KvSnapshot, KvStore, LoadFile, LocalFiles, MergeOperator,
    ScanSpec, TableName, TableOptions, Touch, TouchKind, Turn, Version, WriteBatch,
};
use std::ops::ControlFlow;

/// The files of a store of this machine.
fn local(store: &dyn KvStore) -> &dyn LocalFiles {
    store.local().expect("only stores with files are tested so")
}

/// Moves what is in memory into files, where a store has any.
pub fn flush(store: &dyn KvStore) {
    if let Some(files) = store.local() {
        files.flush().unwrap();
    }
}

/// Merges by appending; an operand of one zero byte cannot be folded.
pub struct Append;

impl MergeOperator for Append {
    fn name(&self) -> &str {
        "append"
    }

    fn fold(&self, _: &[u8], value: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut folded = value.unwrap_or_default().to_vec();
        for operand in operands {
            if *operand == [0] {
                return None;
            }
            folded.extend_from_slice(operand);
        }
        Some(folded)
    }

    fn combine(&self, _: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        (older != [0] && newer != [0]).then(|| [older, newer].concat())
    }
}

/// Runs all checks but the properties.
pub fn run(store: &dyn KvStore) {
    keys_are_set_and_removed(store);
    values_come_in_the_order_of_keys(store);
    a_batch_is_all_or_nothing(store);
    the_first_to_commit_wins(store);
    ranges_are_deleted(store);
    merges_fold(store);
    a_snapshot_does_not_change(store);
    the_latest_view_moves_on(store);
    a_dropped_table_stays_readable(store);
    a_cursor_can_be_left_and_taken_up(store);
    a_visitor_may_write(store);
    tables_come_and_go(store);
    if store.local().is_some() {
        loads_are_ingested(store);
        loads_keep_their_order(store);
        loads_remove_keys(store);
        abandoned_loads_are_distinguished(store);
        stray_loads_are_discarded(store);
        ranges_are_split_evenly(store);
    }
    a_closed_store_says_so(store);
}

pub fn table(store: &dyn KvStore, name: &str) {
    store.create_table(name, &TableOptions::default()).unwrap();
}

pub fn name(table: &str) -> TableName {
    TableName::new(table).unwrap()
}

/// Writes `key=value` pairs; a lone `key` is deleted.
pub fn write(store: &dyn KvStore, table: &str, changes: &str) {
    let mut batch = WriteBatch::new();
    for change in changes.split_whitespace() {
        match change.split_once('=') {
            Some((key, value)) => batch.put(table, key.as_bytes(), value.as_bytes()),
            None => batch.delete(table, change.as_bytes()),
        }
    }
    store.write(batch, Durability::Buffered).unwrap();
}

/// Returns what a scan shows, as `key=value` pairs.
pub fn read(snapshot: &dyn KvSnapshot, table: &str, spec: ScanSpec) -> String {
    let mut cursor = snapshot.scan(table, spec).unwrap();
    let mut shown = Vec::new();
    while let Some(entry) = cursor.next().unwrap() {
        shown.push(format!("{}={}", text(entry.key), text(entry.value)));
    }
    shown.join(" ")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn all(snapshot: &dyn KvSnapshot, table: &str) -> String {
    read(snapshot, table, ScanSpec::all())
}

pub fn range(start: &str, limit: &str) -> KeyRange {
    KeyRange {
        start: start.into(),
        limit: Some(limit.into()),
    }
}

fn keys_are_set_and_removed(store: &dyn KvStore) {
    table(store, "keys");
    write(store, "keys", "a=1 b=2 =0");
    write(store, "keys", "a=3 b missing");
    let snapshot = store.snapshot();
    assert_eq!(snapshot.get("keys", b"a").unwrap(), Some(b"3".to_vec()));
    assert_eq!(snapshot.get("keys", b"b").unwrap(), None);
    assert_eq!(snapshot.get("keys", b"").unwrap(), Some(b"0".to_vec()));
    assert_eq!(all(&*snapshot, "keys"), "=0 a=3");
    let spec = ScanSpec::ranges(vec![KeyRange::point(Vec::new())]).reversed();
    assert_eq!(read(&*snapshot, "keys", spec), "=0");
    assert!(matches!(
        snapshot.get("nowhere", b"a"),
        Err(KvError::UnknownTable { .. })
    ));
    assert!(matches!(
        snapshot.scan("nowhere", ScanSpec::all()),
        Err(KvError::UnknownTable { .. })
    ));
}

fn values_come_in_the_order_of_keys(store: &dyn KvStore) {
    table(store, "many");
    let mut batch = WriteBatch::new();
    for n in (0_u32..3000).filter(|n| n % 3 != 0) {
        batch.put("many", &n.to_be_bytes(), &n.to_le_bytes());
    }
    store.write(batch, Durability::Buffered).unwrap();
    let value = |n: u32| (n < 3000 && !n.is_multiple_of(3)).then(|| n.to_le_bytes().to_vec());
    let shuffled: Vec<u32> = (0..4000).map(|n| n * 1237 % 3500).collect();
    let ascending: Vec<u32> = (0..3500).collect();
    for numbers in [shuffled, ascending, vec![5, 5, 3, 5], vec![]] {
        let keys: Vec<Vec<u8>> = numbers.iter().map(|n| n.to_be_bytes().to_vec()).collect();
        let values: Vec<_> = numbers.iter().map(|n| value(*n)).collect();
        assert_eq!(store.snapshot().multi_get("many", &keys).unwrap(), values);
        assert_eq!(store.latest().multi_get("many", &keys).unwrap(), values);
    }
}

fn a_batch_is_all_or_nothing(store: &dyn KvStore) {
    table(store, "left");
    table(store, "right");
    let mut batch = WriteBatch::new();
    batch.put("left", b"a", b"1");
    batch.put("right", b"a", b"1");
    batch.delete("left", b"a");
    batch.put("left", b"b", b"2");
    store.write(batch.clone(), Durability::Synced).unwrap();
    assert_eq!(all(&*store.snapshot(), "left"), "b=2");
    assert_eq!(all(&*store.snapshot(), "right"), "a=1");
    batch.put("nowhere", b"a", b"1");
    batch.put("left", b"c", b"3");
    let error = store.write(batch, Durability::Synced).unwrap_err();
    assert_eq!(error.to_string(), "table \"nowhere\" does not exist");
    assert_eq!(all(&*store.snapshot(), "left"), "b=2");
    store.write(WriteBatch::new(), Durability::Synced).unwrap();
    store.sync().unwrap();
}

/// A turn for which others wait, or not, and whether it was given up.
#[derive(Default)]
pub struct TestTurn {
    pub is_awaited: bool,
    pub has_ended: bool,
}

impl Turn for TestTurn {
    fn is_awaited(&self) -> bool {
        self.is_awaited
    }

    fn end(&mut self) {
        assert!(!self.has_ended, "a turn ends once");
        self.has_ended = true;
    }
}

/// Commits a value of a key, and says so of the key.
pub fn commit(
    store: &dyn KvStore,
    (table, key, value): (&str, &str, &str),
    since: Version,
    turn: &mut TestTurn,
) -> Result<Committed, KvError> {
    let mut batch = WriteBatch::new();
    batch.put(table, key.as_bytes(), value.as_bytes());
    let touched = [Touch {
        relation: 1,
        key: u64::from(key.as_bytes()[0]),
        kind: TouchKind::Changed,
        since,
    }];
    store.commit(Commit {
        batch,
        durability: Durability::Synced,
        touched: &touched,
        turn,
    })
}

fn the_first_to_commit_wins(store: &dyn KvStore) {
    table(store, "order");
    assert!(!store.order().is_watched());
    let (early, late) = (store.order().watch(), store.order().watch());
    assert!(store.order().is_watched());
    let put = |key, value, since| commit(store, ("order", key, value), since, &mut TestTurn::default());
    let Committed::At { version, .. } = put("a", "1", early.began()).unwrap() else {
        panic!("no other commit has touched the key");
    };
    assert!(version > early.began());
    assert_eq!(store.order().version(), version);
    assert_eq!(
        put("a", "2", late.began()).unwrap(),
        Committed::Conflict { touch: 0 }
    );
    assert_eq!(all(&*store.snapshot(), "order"), "a=1");
    // Read again, the key may be changed, and so may another.
    assert!(matches!(put("a", "3", version).unwrap(), Committed::At { .. }));
    assert!(matches!(
        put("b", "4", late.began()).unwrap(),
        Committed::At { .. }
    ));
    assert_eq!(all(&*store.snapshot(), "order"), "a=3 b=4");
    drop((early, late));
    assert!(!store.order().is_watched());
}

fn ranges_are_deleted(store: &dyn KvStore) {
    table(store, "deleted");
    write(store, "deleted", "a=1 b=2 c=3 d=4 e=5");
    let mut batch = WriteBatch::new();
    batch.put("deleted", b"bb", b"9");
    batch.delete_range("deleted", &range("b", "d"));
    batch.delete_range("deleted", &range("x", "a"));
    batch.put("deleted", b"c", b"7");
    store.write(batch, Durability::Buffered).unwrap();
    assert_eq!(all(&*store.snapshot(), "deleted"), "a=1 c=7 d=4 e=5");
    let mut batch = WriteBatch::new();
    batch.put("deleted", b"zz", b"9");
    batch.delete_range(
        "deleted",
        &KeyRange {
            start: b"d".to_vec(),
            limit: None,
        },
    );
    batch.put("deleted", b"f", b"6");
    store.write(batch, Durability::Buffered).unwrap();
    assert_eq!(all(&*store.snapshot(), "deleted"), "a=1 c=7 f=6");
    let mut batch = WriteBatch::new();
    batch.delete_range("deleted", &KeyRange::all());
    store.write(batch, Durability::Buffered).unwrap();
    assert_eq!(all(&*store.snapshot(), "deleted"), "");
}

fn merges_fold(store: &dyn KvStore) {
    table(store, "merged");
    assert!(store.capabilities().merge);
    write(store, "merged", "a=1");
    let mut batch = WriteBatch::new();
    batch.merge("merged", b"a", b"2");
    batch.merge("merged", b"b", b"x");
    batch.merge("merged", b"a", b"3");
    store.write(batch, Durability::Buffered).unwrap();
    assert_eq!(all(&*store.snapshot(), "merged"), "a=123 b=x");
    flush(store);
    let mut batch = WriteBatch::new();
    batch.merge("merged", b"a", b"4");
    store.write(batch, Durability::Buffered).unwrap();
    assert_eq!(
        store.snapshot().get("merged", b"a").unwrap(),
        Some(b"1234".to_vec())
    );
    let mut batch = WriteBatch::new();
    batch.merge("merged", b"c", &[0]);
    let written = store.write(batch, Durability::Buffered);
    let error = written
        .and_then(|()| store.snapshot().get("merged", b"c").map(|_| ()))
        .unwrap_err();
    assert!(matches!(error, KvError::Corruption { .. }), "{error}");
    store.drop_table("merged").unwrap();
}

fn a_snapshot_does_not_change(store: &dyn KvStore) {
    table(store, "frozen");
    write(store, "frozen", "a=1 b=2 c=3");
    let snapshot = store.snapshot();
    let mut cursor = snapshot.scan("frozen", ScanSpec::all()).unwrap();
    assert_eq!(cursor.next().unwrap().unwrap().key, b"a");
    write(store, "frozen", "a=9 b d=4");
    let newer = store.snapshot();
    let mut batch = WriteBatch::new();
    batch.delete_range("frozen", &KeyRange::all());
    store.write(batch, Durability::Buffered).unwrap();
    flush(store);
    store.compact("frozen").unwrap();
    assert_eq!(all(&*snapshot, "frozen"), "a=1 b=2 c=3");
    assert_eq!(all(&*newer, "frozen"), "a=9 c=3 d=4");
    assert_eq!(
        newer
            .multi_get("frozen", &[b"b".to_vec(), b"d".to_vec()])
            .unwrap(),
        [None, Some(b"4".to_vec())]
    );
    assert_eq!(all(&*store.snapshot(), "frozen"), "");
    drop(snapshot);
    assert_eq!(cursor.next().unwrap().unwrap().key, b"b");
    assert_eq!(cursor.next().unwrap().unwrap().value, b"3");
    assert_eq!(cursor.next().unwrap(), None);
    assert_eq!(all(&*newer, "frozen"), "a=9 c=3 d=4");
}

fn the_latest_view_moves_on(store: &dyn KvStore) {
    table(store, "moving");
    let latest = store.latest();
    write(store, "moving", "a=1 b=2");
    assert_eq!(latest.get("moving", b"a").unwrap(), Some(b"1".to_vec()));
    let mut cursor = latest.scan("moving", ScanSpec::all()).unwrap();
    assert_eq!(cursor.next().unwrap().unwrap().value, b"1");
    write(store, "moving", "a=3 b=4 c=5");
    assert_eq!(all(&*latest, "moving"), "a=3 b=4 c=5");
    assert_eq!(cursor.next().unwrap().unwrap().value, b"2");
    assert_eq!(cursor.next().unwrap(), None);
    let ranges = ["a", "b", "c"].map(|key| KeyRange::point(key.into())).to_vec();
    let mut cursor = latest.scan("moving", ScanSpec::ranges(ranges)).unwrap();
    assert_eq!(cursor.next().unwrap().unwrap().value, b"3");
    write(store, "moving", "a b c");
    assert_eq!(cursor.next().unwrap().unwrap().value, b"4");
    assert_eq!(cursor.next().unwrap().unwrap().value, b"5");
}

fn a_dropped_table_stays_readable(store: &dyn KvStore) {
    table(store, "dropped");
    write(store, "dropped", "a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8");
    flush(store);
    write(store, "dropped", "i=9");
    let snapshot = store.snapshot();
    let mut cursor = store.latest().scan("dropped", ScanSpec::all()).unwrap();
    assert_eq!(cursor.next().unwrap().unwrap().key, b"a");
    store.drop_table("dropped").unwrap();
    assert!(!store.table_exists("dropped"));
    let mut batch = WriteBatch::new();
    batch.put("dropped", b"x", b"1");
    assert!(matches!(
        store.write(batch, Durability::Buffered),
        Err(KvError::UnknownTable { .. })
    ));
    table(store, "dropped");
    write(store, "dropped", "z=1");
    assert_eq!(all(&*store.snapshot(), "dropped"), "z=1");
    assert_eq!(all(&*store.latest(), "dropped"), "z=1");
    let old = "a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 i=9";
    assert_eq!(all(&*snapshot, "dropped"), old);
    assert_eq!(snapshot.get("dropped", b"i").unwrap(), Some(b"9".to_vec()));
    drop(snapshot);
    let mut rest = 0;
    assert!(
        cursor
            .for_each(&mut |_, _| {
                rest += 1;
                ControlFlow::Continue(())
            })
            .unwrap()
    );
    assert_eq!(rest, 8);
}

fn a_cursor_can_be_left_and_taken_up(store: &dyn KvStore) {
    table(store, "left_off");
    write(store, "left_off", "a=1 b=2 c=3 d=4 e=5");
    let mut cursor = store
        .snapshot()
        .scan("left_off", ScanSpec::all().limited(4))
        .unwrap();
    let mut seen = String::new();
    let mut visit = |key: &[u8], _: &[u8]| {
        seen += &text(key);
        if key == b"b" {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    assert!(!cursor.for_each(&mut visit).unwrap());
    assert_eq!(cursor.next().unwrap().unwrap().key, b"c");
    let mut visit = |key: &[u8], _: &[u8]| {
        seen += &text(key);
        ControlFlow::Continue(())
    };
    assert!(cursor.for_each(&mut visit).unwrap());
    assert_eq!(seen, "abd");
    assert_eq!(cursor.next().unwrap(), None);
    assert_eq!(cursor.stats().keys_examined, 4);
    assert_eq!(cursor.stats().bytes_read, 8);
    let (keys, stats) = store.snapshot().count("left_off", ScanSpec::all()).unwrap();
    assert_eq!((keys, stats.keys_examined, stats.bytes_read), (5, 5, 5));
}

fn a_visitor_may_write(store: &dyn KvStore) {
    table(store, "visited");
    write(store, "visited", "a=1 b=2 c=3");
    let mut cursor = store.snapshot().scan("visited", ScanSpec::all()).unwrap();
    let mut visit = |key: &[u8], value: &[u8]| {
        write(
            store,
            "visited",
            &format!("{}{}={}", text(key), text(key), text(value)),
        );
        ControlFlow::Continue(())
    };
    assert!(cursor.for_each(&mut visit).unwrap());
    assert_eq!(all(&*store.snapshot(), "visited"), "a=1 aa=1 b=2 bb=2 c=3 cc=3");
}

fn tables_come_and_go(store: &dyn KvStore) {
    table(store, "b@index");
    assert!(store.table_exists("b@index"));
    assert!(store.tables().contains(&"b@index".to_owned()));
    assert!(store.tables().is_sorted());
    let options = TableOptions {
        large_value_bytes: Some(100),
        purged: true,
        compression: None,
        block_bytes: Some(4096),
        own_family: false,
    };
    let again = store.create_table("b@index", &options).unwrap_err();
    assert_eq!(again.to_string(), "table \"b@index\" already exists");
    for name in ["", "default", "shared.0", "a\0b"] {
        let refused = store.create_table(name, &options);
        assert!(
            matches!(refused, Err(KvError::InvalidTableName { .. })),
            "{name:?}"
        );
    }
    store.configure_table("b@index", &options).unwrap();
    let before = store.snapshot();
    table(store, "later");
    assert!(before.get("later", b"a").is_err());
    assert!(
        before.tables().contains(&"b@index".to_owned()) && !before.tables().contains(&"later".to_owned())
    );
    store.drop_table("b@index").unwrap();
    for error in [
        store.drop_table("b@index"),
        store.compact("b@index"),
        store.configure_table("b@index", &options),
    ] {
        assert!(matches!(error, Err(KvError::UnknownTable { .. })));
    }
}

/// Loads entries and returns the files.
fn load(store: &dyn KvStore, table: &str, entries: &[(&str, &str)]) -> Vec<LoadFile> {
    let mut writer = local(store).sorted_writer(table).unwrap();
    for (key, value) in entries {
        writer.add(key.as_bytes(), value.as_bytes()).unwrap();
    }
    assert_eq!(writer.entries(), entries.len() as u64);
    writer.finish().unwrap()
}

fn loads_are_ingested(store: &dyn KvStore) {
    table(store, "loaded");
    table(store, "loaded2");
    write(store, "loaded", "b=old x=old");
    let before = store.snapshot();
    let first = load(store, "loaded", &[("a", "1"), ("b", "2")]);
    let second = load(store, "loaded2", &[("c", "3")]);
    assert_eq!(load(store, "loaded", &[]), []);
    assert_eq!(all(&*store.snapshot(), "loaded"), "b=old x=old");
    let mut waiting = local(store).load_files().unwrap();
    waiting.sort();
    let mut expected = [first.clone(), second.clone()].concat();
    expected.sort();
    assert_eq!(waiting, expected);
    local(store)
        .ingest(vec![(name("loaded"), first.clone()), (name("loaded2"), second)])
        .unwrap();
    assert_eq!(all(&*store.snapshot(), "loaded"), "a=1 b=2 x=old");
    assert_eq!(all(&*store.snapshot(), "loaded2"), "c=3");
    assert_eq!(all(&*before, "loaded"), "b=old x=old");
    assert_eq!(local(store).load_files().unwrap(), []);
    let again = local(store).ingest(vec![(name("loaded"), first)]);
    assert!(matches!(again, Err(KvError::UnknownLoadFile { .. })));
    let third = load(store, "loaded", &[("z", "1")]);
    let nowhere = local(store).ingest(vec![(name("nowhere"), third)]);
    assert!(matches!(nowhere, Err(KvError::UnknownTable { .. })));
    write(store, "loaded", "b=new");
    assert_eq!(all(&*store.snapshot(), "loaded"), "a=1 b=new x=old");
    local(store).discard_stray_files(&[]).unwrap();
}

fn loads_keep_their_order(store: &dyn KvStore) {
    table(store, "ordered");
    let mut writer = local(store).sorted_writer("ordered").unwrap();
    writer.add(b"", b"0").unwrap();
    writer.add(b"b", b"1").unwrap();
    for key in [&b"b"[..], b"a", b""] {
        assert!(matches!(writer.add(key, b"2"), Err(KvError::KeyOrder { .. })));
    }
    writer.add(b"c", b"3").unwrap();
    let files = writer.finish().unwrap();
    local(store).ingest(vec![(name("ordered"), files)]).unwrap();
    assert_eq!(all(&*store.snapshot(), "ordered"), "=0 b=1 c=3");
    assert!(local(store).sorted_writer("nowhere").is_err());
}

fn loads_remove_keys(store: &dyn KvStore) {
    table(store, "removed");
    for key in ["a=1", "b=2", "c=3"] {
        write(store, "removed", key);
    }
    let before = store.snapshot();
    let mut writer = local(store).sorted_writer("removed").unwrap();
    writer.remove(b"a").unwrap();
    writer.add(b"b", b"new").unwrap();
    writer.remove(b"nothing").unwrap();
    assert!(matches!(writer.remove(b"b"), Err(KvError::KeyOrder { .. })));
    assert_eq!(writer.entries(), 3);
    let files = writer.finish().unwrap();
    local(store).ingest(vec![(name("removed"), files)]).unwrap();
    assert_eq!(all(&*store.snapshot(), "removed"), "b=new c=3");
    assert_eq!(all(&*before, "removed"), "a=1 b=2 c=3");
    write(store, "removed", "a=again");
    assert_eq!(all(&*store.snapshot(), "removed"), "a=again b=new c=3");
}

fn abandoned_loads_are_distinguished(store: &dyn KvStore) {
    table(store, "abandoned");
    let (kept, given_up) = (
        load(store, "abandoned", &[("a", "1")]),
        load(store, "abandoned", &[("b", "2")]),
    );
    local(store).make_room(&[name("abandoned")]).unwrap();
    assert!(!local(store).is_abandoned(&given_up[0]).unwrap());
    local(store).abandon_files(&given_up).unwrap();
    local(store).abandon_files(&given_up).unwrap();
    let mut both = [kept.clone(), given_up.clone()].concat();
    both.sort();
    let mut waiting = local(store).load_files().unwrap();
    waiting.sort();
    assert_eq!(waiting, both);
    assert!(
        local(store).is_abandoned(&given_up[0]).unwrap() && !local(store).is_abandoned(&kept[0]).unwrap()
    );
    local(store).discard_files(&given_up).unwrap();
    assert!(!local(store).is_abandoned(&given_up[0]).unwrap());
    local(store).abandon_files(&given_up).unwrap();
    assert_eq!(local(store).load_files().unwrap(), kept);
    local(store).ingest(vec![(name("abandoned"), kept)]).unwrap();
    assert_eq!(all(&*store.snapshot(), "abandoned"), "a=1");
}

fn stray_loads_are_discarded(store: &dyn KvStore) {
    table(store, "stray");
    let kept = load(store, "stray", &[("a", "1")]);
    let stray = load(store, "stray", &[("b", "2")]);
    let mut unfinished = local(store).sorted_writer("stray").unwrap();
    unfinished.add(b"c", b"3").unwrap();
    drop(unfinished);
    let other = load(store, "stray", &[("d", "4")]);
    local(store).discard_files(&other).unwrap();
    local(store).discard_files(&other).unwrap();
    assert_eq!(local(store).load_files().unwrap().len(), kept.len() + stray.len());
    local(store).discard_stray_files(&kept).unwrap();
    assert_eq!(local(store).load_files().unwrap(), kept);
    assert!(local(store).ingest(vec![(name("stray"), stray)]).is_err());
    let written_down = kept.iter().map(|file| LoadFile::new(file.as_str())).collect();
    local(store).ingest(vec![(name("stray"), written_down)]).unwrap();
    assert_eq!(all(&*store.snapshot(), "stray"), "a=1");
}

/// The counts of keys between the split points.
pub fn pieces(store: &dyn KvStore, table: &str, within: &KeyRange, parts: usize) -> Vec<u64> {
    let points = store.split_points(table, within, parts).unwrap();
    assert!(points.is_sorted() && points.len() < parts.max(1), "{points:?}");
    let starts = [vec![within.start.clone()], points.clone()].concat();
    let limits = points.into_iter().map(Some).chain([within.limit.clone()]);
    let ranges = starts
        .into_iter()
        .zip(limits)
        .map(|(start, limit)| KeyRange { start, limit });
    let count = |range: KeyRange| {
        store
            .snapshot()
            .count(table, ScanSpec::ranges(vec![range]))
            .unwrap()
            .0
    };
    ranges.map(count).collect()
}

fn ranges_are_split_evenly(store: &dyn KvStore) {
    table(store, "split");
    assert_eq!(pieces(store, "split", &KeyRange::all(), 4), [0]);
    assert_eq!(store.approximate_size("split", &KeyRange::all()).unwrap(), 0);
    let mut batch = WriteBatch::new();
    for n in 0_u32..20_000 {
        // Half of the keys lie in one hundredth of the key space.
        let key = if n % 2 == 0 { n } else { n * 100 };
        batch.put("split", &[b"prefix", &key.to_be_bytes()[..]].concat(), &[7; 50]);
    }
    store.write(batch, Durability::Buffered).unwrap();
    for _ in ["in memory", "in files"] {
        for parts in [2, 3, 8] {
            let pieces = pieces(store, "split", &KeyRange::all(), parts);
            assert_eq!(pieces.len(), parts);
            let keys = store.snapshot().count("split", ScanSpec::all()).unwrap().0;
            let fair = keys / parts as u64;
            assert!(
                pieces.iter().all(|piece| (fair / 2..fair * 2).contains(piece)),
                "{pieces:?}"
            );
        }
        let whole = store.approximate_size("split", &KeyRange::all()).unwrap();
        let point = store
            .split_points("split", &KeyRange::all(), 2)
            .unwrap()
            .remove(0);
        let half = KeyRange {
            start: Vec::new(),
            limit: Some(point),
        };
        let half = store.approximate_size("split", &half).unwrap();
        assert!(half * 3 > whole && half * 3 < whole * 2, "{half} of {whole}");
        assert!(store.approximate_keys("split").unwrap() > 15_000);
        flush(store);
    }
    assert_eq!(pieces(store, "split", &KeyRange::all(), 1).len(), 1);
    assert_eq!(
        store.split_points("split", &range("x", "y"), 4).unwrap(),
        Vec::<Vec<u8>>::new()
    );
}

fn a_closed_store_says_so(store: &dyn KvStore) {
    table(store, "last");
    write(store, "last", "a=1 b=2");
    let snapshot = store.snapshot();
    let mut cursor = snapshot.scan("last", ScanSpec::all()).unwrap();
    store.close().unwrap();
    assert!(matches!(store.close(), Err(KvError::Closed)));
    assert!(matches!(
        store.write(WriteBatch::new(), Durability::Synced),
        Err(KvError::Closed)
    ));
    assert!(matches!(store.snapshot().get("last", b"a"), Err(KvError::Closed)));
    assert!(matches!(
        store.latest().count("last", ScanSpec::all()),
        Err(KvError::Closed)
    ));
    assert_eq!(store.tables(), Vec::<String>::new());
    assert_eq!(snapshot.get("last", b"a").unwrap(), Some(b"1".to_vec()));
    drop(snapshot);
    assert_eq!(cursor.next().unwrap().unwrap().key, b"a");
}
