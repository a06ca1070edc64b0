//! Writers fold what they leave beside the blocks of columnar indexes as fast as they leave it.

use crate::support;
use rukh_engine::{Engine, NoProgress};
use rukh_kv::Durability;

/// Rows of the table.
const ROWS: i64 = 300;
/// Changes that are left in any case.
const LIMIT: u64 = 60;

fn upsert(engine: &Engine, keys: impl Iterator<Item = i64>, version: i64) {
    let table = support::table(engine, "t");
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let row = |key: i64| support::row(&table, &format!("{key}, {}, 'b{version}'", key + version));
    let rows = keys.map(row).collect();
    let mut write = engine.begin().unwrap();
    write.upsert(&table, &all, rows).unwrap();
    write.commit(Durability::Buffered).unwrap();
}

#[test]
fn changes_of_rows_that_move_are_folded_as_fast_as_they_come() {
    let engine = support::engine();
    engine.set_block_rows(16);
    engine.set_repack_rows(LIMIT);
    let table = support::create_table(&engine, "t", "k INTEGER, a INTEGER, b VARCHAR", "k");
    support::create_index(&engine, &table, "c", "COLUMNAR a", "b", false);
    let table = support::table(&engine, "t");
    let id = table.index_named("c").unwrap().id;
    upsert(&engine, 0..ROWS, 0);
    engine.repack_index(id, &NoProgress).unwrap();
    // Each change is two in the index: a row goes at one place, and comes at another.
    for version in 1..400 {
        let keys = (0..8).map(|nth| (version * 89 + nth * 37) % ROWS);
        upsert(&engine, keys, version * 1000);
        let debt = engine.columnar_debt(id).unwrap().unwrap();
        assert!(debt.delta_rows <= LIMIT + 40, "after {version}: {debt:?}");
    }
    assert!(engine.check_table(table.id, &NoProgress).unwrap().is_clean());
}
