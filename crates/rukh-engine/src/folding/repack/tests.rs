//! Steps of a repack, with what others write between the time that a step is made and the time that it is written.

use super::*;
use crate::{NoFunctions, Row, ScanRequest};
use rukh_catalog::{Column, ColumnId, ColumnValues, FamilyId, KeyElement, KeyExpr, TableDraft, TableOptions};
use rukh_keys::{DataType, Datum, SortOrder};
use rukh_kv::{KvStore, MemoryStore, RocksOptions, RocksStore};
use std::collections::BTreeMap;

/// A columnar table of two numbers whose writers fold nothing; blocks have 16 rows.
fn engine(store: Arc<dyn KvStore>) -> (Engine, Arc<Table>) {
    let engine = Engine::open(store, Arc::new(NoFunctions), false).unwrap();
    engine.set_block_rows(16);
    engine.set_repack_rows(1_000_000);
    let column = |at: u32, name: &str| Column {
        id: ColumnId(at),
        name: name.to_string(),
        ty: DataType::BigInt,
        nullable: false,
        default: None,
        family: FamilyId(0),
        values: ColumnValues::default(),
    };
    let draft = TableDraft {
        name: "t".to_string(),
        columns: vec![column(0, "k"), column(1, "v")],
        primary_key: vec![KeyElement {
            expr: KeyExpr::Column(ColumnId(0)),
            order: SortOrder::Asc,
        }],
        options: TableOptions {
            columnar: true,
            ..TableOptions::default()
        },
        ..TableDraft::default()
    };
    let table = engine.create_table(draft).unwrap();
    (engine, table)
}

fn row(key: i64, value: i64) -> Row {
    vec![Datum::Int(key), Datum::Int(value)]
}

fn upsert(engine: &Engine, table: &Arc<Table>, rows: impl Iterator<Item = (i64, i64)>) {
    let mut write = engine.begin().unwrap();
    let rows = rows.map(|(key, value)| row(key, value)).collect();
    write.upsert(table, &[ColumnId(0), ColumnId(1)], rows).unwrap();
    write.commit(Durability::Buffered).unwrap();
}

fn rows(engine: &Engine, table: &Arc<Table>) -> BTreeMap<i64, i64> {
    let request = ScanRequest::all(table.clone(), vec![ColumnId(0), ColumnId(1)]);
    let mut cursor = engine.snapshot().scan(request).unwrap();
    let mut found = BTreeMap::new();
    let int = |datum: DatumRef<'_>| match datum {
        DatumRef::Int(value) => value,
        other => panic!("{other:?} is no number"),
    };
    let mut sink = |view: &crate::RowView<'_>| {
        found.insert(int(view.datum(0)?), int(view.datum(1)?));
        Ok(())
    };
    while cursor.next_rows(100, &mut sink).unwrap() > 0 {}
    found
}

/// The heads of all blocks.
fn heads(engine: &Engine, table: &Table) -> Vec<(Vec<u8>, Vec<u8>)> {
    let heads = ScanSpec::ranges(vec![Piece::Head.range(&KeyRange::all())]);
    let snapshot = engine.snapshot();
    let mut cursor = snapshot.raw.scan(&table.blocks_name(), heads).unwrap();
    let mut found = Vec::new();
    while let Some(head) = cursor.next().unwrap() {
        found.push((head.key.to_vec(), head.value.to_vec()));
    }
    found
}

fn debt(engine: &Engine, table: &Table) -> ColumnarDebt {
    engine.columnar_debt(Engine::layout_id(table)).unwrap().unwrap()
}

fn repack(engine: &Engine, table: &Table) -> u64 {
    engine
        .repack_index(Engine::layout_id(table), &NoProgress)
        .unwrap()
}

fn first_step(engine: &Engine, table: &Table) -> Made {
    let made = make(&engine.inner, Engine::layout_id(table), &[], Want::Changes);
    made.unwrap().unwrap()
}

/// What a step writes now.
fn batch_now(engine: &Engine, made: &Made) -> WriteBatch {
    let left = still_left(&engine.inner.snapshot(), &made.index, &made.step).unwrap();
    batch_of(&made.index, &made.step, &left.unwrap()).unwrap()
}

#[test]
fn what_others_write_meanwhile_stays_among_what_goes_as_a_range() {
    let directory = tempfile::tempdir().unwrap();
    let rocks = RocksStore::open(directory.path().join("db"), &RocksOptions::default()).unwrap();
    let stores: [Arc<dyn KvStore>; 2] = [Arc::new(MemoryStore::new()), Arc::new(rocks)];
    for store in stores {
        let (engine, table) = engine(store);
        upsert(&engine, &table, (0..60).map(|key| (key * 10, 0)));
        let old = engine.snapshot();
        let made = first_step(&engine, &table);
        assert_eq!(made.step.folded.len(), 60);
        // A new row between two, one of those folded again, and one that is gone.
        upsert(&engine, &table, [(105, 1), (400, 1)].into_iter());
        let mut write = engine.begin().unwrap();
        write.delete(&table, vec![row(500, 0)]).unwrap();
        write.commit(Durability::Buffered).unwrap();
        let expected = rows(&engine, &table);
        let batch = batch_now(&engine, &made);
        let gone: Vec<String> = batch
            .ops()
            .filter(|op| op.table() == made.index.storage)
            .map(|op| op.to_string().split('/').next().unwrap_or_default().to_string())
            .collect();
        // The range, and what was written since: 105, 400 and 500.
        assert_eq!(gone.len(), 4, "{gone:?}");
        assert!(batch.to_string().contains(" - "), "{batch}");
        assert!(apply(&engine.inner, &made).unwrap());
        assert_eq!(rows(&engine, &table), expected);
        assert_eq!(debt(&engine, &table).delta_rows, 3);
        assert!(engine.check_table(table.id, &NoProgress).unwrap().is_clean());
        // Keys of the range are free for later writes, and the step is not done twice.
        upsert(&engine, &table, [(110, 2), (115, 2)].into_iter());
        assert!(!apply(&engine.inner, &made).unwrap());
        assert_eq!(repack(&engine, &table), 5);
        let found = rows(&engine, &table);
        assert_eq!(
            (found.len(), found[&110], found[&115], found[&400]),
            (61, 2, 2, 1)
        );
        assert!(engine.check_table(table.id, &NoProgress).unwrap().is_clean());
        drop(old);
    }
}

#[test]
fn a_step_is_looked_at_again_once_anything_was_written() {
    let (engine, table) = engine(Arc::new(MemoryStore::new()));
    upsert(&engine, &table, (0..40).map(|key| (key, 0)));
    let made = first_step(&engine, &table);
    assert!(made.writes.is_some() && made.writes == engine.inner.watched.writes());
    upsert(&engine, &table, [(7, 1)].into_iter());
    assert_ne!(made.writes, engine.inner.watched.writes());
    assert!(apply(&engine.inner, &made).unwrap());
    assert_eq!(
        (rows(&engine, &table)[&7], debt(&engine, &table).delta_rows),
        (1, 1)
    );
    // The rest in one step, beside which nothing is written.
    let made = first_step(&engine, &table);
    assert!(apply(&engine.inner, &made).unwrap());
    assert!(!apply(&engine.inner, &made).unwrap());
    assert_eq!(
        (rows(&engine, &table)[&7], debt(&engine, &table).delta_rows),
        (1, 0)
    );
    // A table that was emptied meanwhile stays so.
    upsert(&engine, &table, (0..40).map(|key| (key, 2)));
    let made = first_step(&engine, &table);
    engine.truncate(table.id).unwrap();
    assert!(!apply(&engine.inner, &made).unwrap());
    assert!(rows(&engine, &table).is_empty());
}

#[test]
fn a_step_of_which_most_has_changed_meanwhile_takes_away_the_rest_alone() {
    let (engine, table) = engine(Arc::new(MemoryStore::new()));
    upsert(&engine, &table, (0..60).map(|key| (key, 0)));
    let made = first_step(&engine, &table);
    upsert(&engine, &table, (0..60).step_by(2).map(|key| (key, 1)));
    let expected = rows(&engine, &table);
    let batch = batch_now(&engine, &made);
    let of_changes = batch.ops().filter(|op| op.table() == made.index.storage);
    assert_eq!(of_changes.count(), 30);
    assert!(apply(&engine.inner, &made).unwrap());
    assert_eq!(
        (rows(&engine, &table), debt(&engine, &table).delta_rows),
        (expected, 30)
    );
    assert_eq!(repack(&engine, &table), 30);
    assert!(engine.check_table(table.id, &NoProgress).unwrap().is_clean());
}

#[test]
fn what_is_written_beside_a_repack_stays_known_as_what_is_to_be_folded() {
    let (engine, table) = engine(Arc::new(MemoryStore::new()));
    let known = || engine.changes_beside_blocks(table.id);
    upsert(&engine, &table, (0..50).map(|key| (key, 0)));
    assert_eq!(known(), [(None, 50)]);
    repack(&engine, &table);
    assert_eq!(known(), [(None, 0)]);
    upsert(&engine, &table, (20..30).map(|key| (key, 1)));
    let id = Engine::layout_id(&table);
    let before = engine.inner.known_changes(id);
    upsert(&engine, &table, (20..23).map(|key| (key, 2)));
    engine.inner.settle_debt(id, before).unwrap();
    assert_eq!(known(), [(None, 3)]);
    engine.inner.settle_debt(id, None).unwrap();
    assert_eq!(known(), [(None, 10)]);
}

#[test]
fn a_repack_lets_those_who_write_to_others_fold() {
    let (engine, table) = engine(Arc::new(MemoryStore::new()));
    engine.set_repack_rows(20);
    let other = engine.inner.debts.repack_of(IndexId(77));
    let of_table = engine.inner.debts.repack_of(Engine::layout_id(&table));
    let known = || engine.changes_beside_blocks(table.id)[0].1;
    let _other = other.lock();
    let repack = of_table.lock();
    upsert(&engine, &table, (0..50).map(|key| (key, 0)));
    assert_eq!(known(), 50);
    drop(repack);
    upsert(&engine, &table, (50..51).map(|key| (key, 0)));
    assert!(known() <= 20, "{} changes are left", known());
    assert_eq!(rows(&engine, &table).len(), 51);
}

#[test]
fn rows_behind_all_others_leave_full_blocks_as_they_are() {
    let (engine, table) = engine(Arc::new(MemoryStore::new()));
    upsert(&engine, &table, (0..32).map(|key| (key, 0)));
    repack(&engine, &table);
    let before = heads(&engine, &table);
    assert_eq!(before.len(), 2);
    upsert(&engine, &table, (32..64).map(|key| (key, 0)));
    repack(&engine, &table);
    let after = heads(&engine, &table);
    assert_eq!((after.len(), &after[..2]), (4, &before[..]));
    // A few rows join the last block, and changes among its rows make it again.
    upsert(&engine, &table, (64..67).map(|key| (key, 0)));
    repack(&engine, &table);
    let joined = heads(&engine, &table);
    assert_eq!((joined.len(), &joined[..3]), (4, &after[..3]));
    upsert(&engine, &table, (60..100).map(|key| (key, 1)));
    repack(&engine, &table);
    assert_eq!(&heads(&engine, &table)[..3], &after[..3]);
    assert_eq!(rows(&engine, &table).len(), 100);
    assert_eq!(debt(&engine, &table).delta_rows, 0);
    assert!(engine.check_table(table.id, &NoProgress).unwrap().is_clean());
}

#[test]
fn a_repack_leaves_no_word_for_indexes_being_built() {
    let (engine, table) = engine(Arc::new(MemoryStore::new()));
    upsert(&engine, &table, (0..64).map(|key| (key, 0)));
    let build = Arc::new(crate::state::builds::Build::new(
        table.id,
        IndexId(77),
        IndexId(78),
        0,
    ));
    engine
        .inner
        .store
        .create_table(&build.touched(), &rukh_kv::TableOptions::default())
        .unwrap();
    engine.inner.builds.register(build.clone());
    upsert(&engine, &table, (60..70).map(|key| (key, 0)));
    let touched = || {
        let all = ScanSpec::all().keys_only();
        engine.snapshot().raw.count(&build.touched(), all).unwrap().0
    };
    assert_eq!(touched(), 10);
    assert_eq!(repack(&engine, &table), 70);
    assert_eq!((touched(), build.next_pass()), (10, (0, Vec::new())));
}
