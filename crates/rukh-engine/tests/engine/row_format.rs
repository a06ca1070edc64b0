//! The examples of `docs/row-format.md`, run: tables are made, rows inserted, and the values put
//! compared byte by byte, in the order of the page.

use crate::support;
use rukh_engine::{Engine, OnConflict};
use rukh_kv::{Durability, MemoryStore, Operation, RecordStore, Recording, WriteOp};
use std::collections::VecDeque;
use std::sync::Arc;

const PAGE: &str = include_str!("../../../../docs/row-format.md");

struct Example {
    store: Arc<RecordStore>,
    engine: Engine,
    /// Keys and values of the last row's batch.
    puts: VecDeque<(String, String)>,
}

#[test]
fn the_page_tells_the_truth() {
    let blocks: Vec<&str> = PAGE
        .split("```example\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() >= 5);
    for block in blocks {
        let store = Arc::new(RecordStore::new(Arc::new(MemoryStore::new()), Recording::Writes));
        let engine = support::open(store.clone());
        let mut example = Example {
            store,
            engine,
            puts: VecDeque::new(),
        };
        block.lines().for_each(|line| example.run(line));
        assert_eq!(example.puts, [], "put that the page does not show");
    }
}

impl Example {
    fn run(&mut self, line: &str) {
        let (command, rest) = line.split_once(' ').unwrap();
        match command {
            "table" => self.table(rest.trim()),
            "index" => self.index(rest.trim()),
            "row" => self.row(rest.trim()),
            "put" => self.put(rest.trim()),
            _ => panic!("{line}"),
        }
    }

    /// `t (COLUMNS) key KEY`
    fn table(&self, text: &str) {
        let (head, key) = text.rsplit_once(") key ").unwrap();
        let (name, columns) = head.split_once(" (").unwrap();
        let key = key
            .strip_prefix('(')
            .and_then(|key| key.strip_suffix(')'))
            .unwrap_or(key);
        support::create_table(&self.engine, name, columns, key);
    }

    /// `name (KEY) [unique] [include COLUMNS]`
    fn index(&self, text: &str) {
        let (head, rest) = text.split_once(')').unwrap();
        let (name, key) = head.split_once(" (").unwrap();
        let include = rest.split_once("include ").map_or("", |(_, columns)| columns);
        let unique = rest.contains("unique");
        support::create_index(
            &self.engine,
            &support::table(&self.engine, "t"),
            name,
            key,
            include,
            unique,
        );
    }

    fn row(&mut self, text: &str) {
        assert_eq!(self.puts, [], "put that the page does not show");
        self.store.take();
        let table = support::table(&self.engine, "t");
        let mut write = self.engine.begin().unwrap();
        write
            .insert(&table, vec![support::row(&table, text)], OnConflict::Error)
            .unwrap();
        write.commit(Durability::Buffered).unwrap();
        for operation in self.store.take() {
            let Operation::Write { batch, .. } = operation else {
                continue;
            };
            let keys = self.engine.describe(&batch);
            for (op, line) in batch.ops().zip(keys.lines()) {
                let WriteOp::Put { value, .. } = op else {
                    panic!("{op}")
                };
                let hex = value.iter().map(|byte| format!("{byte:02x}")).collect();
                self.puts
                    .push_back((line.strip_prefix("put ").unwrap().to_string(), hex));
            }
        }
    }

    fn put(&mut self, text: &str) {
        let (key, value) = text.split_once(" = ").unwrap();
        let expected = (key.to_string(), value.replace(' ', ""));
        assert_eq!(self.puts.pop_front(), Some(expected));
    }
}
