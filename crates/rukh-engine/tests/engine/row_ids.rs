//! The keys of tables that are declared without one: unique, in the order of the inserts, whatever the clock does.

use crate::support;
use rukh_catalog::{Column, ColumnId, KeyElement, KeyExpr, Table, TableDraft};
use rukh_engine::{Engine, OnConflict, ScanRequest};
use rukh_keys::{Datum, SortOrder};
use rukh_kv::{Durability, KvStore};
use std::sync::Arc;
use std::thread;

/// Opens a database at a time, in microseconds since 1970.
fn open(store: &Arc<dyn KvStore>, now: i64) -> Engine {
    let engine = support::open(store.clone());
    engine.set_time_source(Arc::new(move || now));
    engine
}

/// A table with a column of numbers, and without a primary key.
fn draft(columnar: bool) -> TableDraft {
    let mut draft = support::table_draft("t", "a INTEGER NULL", "a", None);
    let id = ColumnId(draft.columns.len() as u32);
    draft.columns.push(Column::row_id(id));
    draft.columns[0].nullable = true;
    draft.primary_key = vec![KeyElement {
        expr: KeyExpr::Column(id),
        order: SortOrder::Asc,
    }];
    draft.options.columnar = columnar;
    draft
}

fn row(value: i64) -> Vec<Datum> {
    vec![Datum::Int(value), Datum::Null]
}

fn insert(engine: &Engine, table: &Arc<Table>, values: &[i64]) {
    let mut write = engine.begin().unwrap();
    let rows = values.iter().map(|value| row(*value)).collect();
    write.insert(table, rows, OnConflict::Error).unwrap();
    write.commit(Durability::Buffered).unwrap();
}

/// Returns the values with the row ids, in the order of these.
fn rows(engine: &Engine, table: &Arc<Table>) -> Vec<(i64, i64)> {
    let all = ScanRequest::all(table.clone(), Vec::new());
    let number = |datum: &Datum| match datum {
        Datum::Int(number) => *number,
        other => panic!("{other:?} is no number"),
    };
    let rows = support::read(&engine.snapshot(), all);
    rows.iter()
        .map(|row| (number(&row[0]), number(&row[row.len() - 1])))
        .collect()
}

#[test]
fn ids_are_the_time_or_follow_the_greatest() {
    for columnar in [false, true] {
        let store: Arc<dyn KvStore> = support::memory();
        let engine = open(&store, 1000);
        let table = engine.create_table(draft(columnar)).unwrap();
        insert(&engine, &table, &[7, 5]);
        insert(&engine, &table, &[7]);
        assert_eq!(rows(&engine, &table), [(7, 1000), (5, 1001), (7, 1002)]);
        drop(engine);
        // The clock has gone back: no row takes the place of another.
        let engine = open(&store, 10);
        let table = support::table(&engine, "t");
        insert(&engine, &table, &[3]);
        assert_eq!(rows(&engine, &table)[2..], [(7, 1002), (3, 1003)]);
        drop(engine);
        let engine = open(&store, 5000);
        let table = support::table(&engine, "t");
        insert(&engine, &table, &[1]);
        assert_eq!(rows(&engine, &table)[3..], [(3, 1003), (1, 5000)]);
    }
}

#[test]
fn loads_and_transactions_share_the_numbers() {
    let store: Arc<dyn KvStore> = support::memory();
    let engine = open(&store, 100);
    let table = engine.create_table(draft(false)).unwrap();
    let (first, second) = (engine.transaction(), engine.transaction());
    for (transaction, value) in [(&first, 1), (&second, 2), (&first, 3)] {
        let mut write = transaction.write().unwrap();
        write.insert(&table, vec![row(value)], OnConflict::Error).unwrap();
        write.commit(Durability::Buffered).unwrap();
    }
    second.commit(Durability::Buffered).unwrap();
    let mut load = engine.load(table.id).unwrap();
    load.add(vec![row(4), row(5)]).unwrap();
    load.finish().unwrap();
    // Which rows a load has changed is not remembered.
    let refused = first.commit(Durability::Buffered);
    assert!(refused.is_err(), "a load touches all of a table");
    assert_eq!(rows(&engine, &table), [(2, 101), (4, 103), (5, 104)]);
}

#[test]
fn threads_get_numbers_of_their_own() {
    let store: Arc<dyn KvStore> = support::memory();
    let engine = open(&store, 0);
    let table = engine.create_table(draft(false)).unwrap();
    thread::scope(|scope| {
        for of_thread in 0..4 {
            let (engine, table) = (&engine, &table);
            scope.spawn(move || (0..50).for_each(|_| insert(engine, table, &[of_thread, of_thread])));
        }
    });
    let rows = rows(&engine, &table);
    assert_eq!(rows.len(), 400);
    assert!(rows.windows(2).all(|pair| pair[0].1 + 1 == pair[1].1));
}

#[test]
fn a_column_that_comes_later_stands_before_the_row_id() {
    let store: Arc<dyn KvStore> = support::memory();
    let engine = open(&store, 7);
    let table = engine.create_table(draft(false)).unwrap();
    insert(&engine, &table, &[1]);
    let added = Column {
        name: "b".to_string(),
        nullable: true,
        ..table.columns[0].clone()
    };
    let altered = engine.alter_table(table.id, |_, table| {
        let next = table.with_column(added.clone());
        next.map_err(rukh_engine::EngineError::from)
    });
    let table = altered.unwrap();
    assert_eq!(table.row_id(), Some(2));
    let mut write = engine.begin().unwrap();
    let new = vec![Datum::Int(2), Datum::Int(3), Datum::Null];
    write.insert(&table, vec![new], OnConflict::Error).unwrap();
    write.commit(Durability::Buffered).unwrap();
    assert_eq!(rows(&engine, &table), [(1, 7), (2, 8)]);
}
