//! The life of a database, statement by statement, for runs in which writes fail or the process ends.

use rukh_catalog::{
    Column, ColumnId, ColumnValues, FamilyId, Lifetime, Schema, SchemaId, Sequence, SequenceId, Table,
    Versions,
};
use rukh_engine::{
    Alteration, DefinitionChanges, Engine, EngineError, NoProgress, Numbering, OnConflict, ScanRequest,
    Transaction, Write,
};
use rukh_keys::{DataType, Datum};
use rukh_kv::Durability;
use std::sync::Arc;

/// A statement.
pub type Step = fn(&Engine) -> Result<(), EngineError>;

pub const COLUMNS: &str = "k INTEGER, a INTEGER NULL, s VARCHAR NULL, p VARCHAR NULL IN payload";

/// What a database does in its life, each a statement.
pub const STEPS: &[Step] = &[
    |engine| {
        engine
            .create_table(super::table_draft("t", COLUMNS, "k", None))
            .map(drop)
    },
    |engine| count_rows(engine, "t"),
    |engine| index(engine, "t", "by_a", "a", false),
    |engine| {
        insert(
            engine,
            "t",
            &["1, 10, 'x', 'p'", "2, 20, 'y', NULL", "3, 30, 'z', 'q'"],
        )
    },
    |engine| index(engine, "t", "by_s", "s DESC", true),
    |engine| upsert(engine, "t", &["1, 11, 'w', NULL", "4, 40, NULL, 'r'"]),
    |engine| {
        load(
            engine,
            "t",
            &["9, 90, 'k', 'v'", "8, 80, 'l', NULL", "7, NULL, NULL, 'm'"],
        )
    },
    |engine| index(engine, "t", "late", "a DESC, s", false),
    |engine| delete(engine, "t", "2"),
    |engine| transaction(engine, &["21, 1, 'tx', 'p'", "22, 2, NULL, NULL"], "3"),
    |engine| engine.drop_index(super::table(engine, "t").index_named("by_a").unwrap().id),
    |engine| {
        engine
            .create_table(super::table_draft("u", "k INTEGER", "k", Some(2)))
            .map(drop)
    },
    |engine| rename(engine),
    |engine| {
        engine
            .rebuild_index(
                super::table(engine, "t").index_named("late").unwrap().id,
                &NoProgress,
            )
            .map(drop)
    },
    |engine| erase(engine),
    |engine| engine.disable_index(super::table(engine, "t").index_named("late").unwrap().id),
    |engine| {
        engine
            .rebuild_index(
                super::table(engine, "t").index_named("late").unwrap().id,
                &NoProgress,
            )
            .map(drop)
    },
    |engine| engine.truncate(super::table(engine, "t").id),
    |engine| load(engine, "t", &["1, 1, '1', '1'"]),
    |engine| index(engine, "t", "columnar", "COLUMNAR a", false),
    |engine| upsert(engine, "t", &["1, 2, '2', '2'", "5, 1, NULL, NULL"]),
    |engine| {
        repack(
            engine,
            super::table(engine, "t").index_named("columnar").unwrap().id,
        )
    },
    |engine| engine.drop_table(super::table(engine, "t").id),
    // A table in blocks, with an index in blocks and one of rows; blocks have three rows.
    |engine| {
        engine
            .create_table(super::table_draft("c", COLUMNS, "COLUMNAR k", None))
            .map(drop)
    },
    |engine| count_rows(engine, "c"),
    |engine| index(engine, "c", "c_rows", "s", false),
    |engine| index(engine, "c", "c_blocks", "COLUMNAR a DESC", false),
    |engine| load(engine, "c", FIRST),
    |engine| {
        upsert(
            engine,
            "c",
            &["2, 21, 'other', NULL", "5, NULL, NULL, 'p'", "95, 1, 's', 'p'"],
        )
    },
    |engine| {
        load(
            engine,
            "c",
            &["11, 1, 'q', 'q'", "6, 2, 'q', 'q'", "99, 3, 'q', 'q'"],
        )
    },
    |engine| delete(engine, "c", "4"),
    |engine| repack(engine, Engine::layout_id(&super::table(engine, "c"))),
    |engine| {
        repack(
            engine,
            super::table(engine, "c").index_named("c_blocks").unwrap().id,
        )
    },
    |engine| delete(engine, "c", "2"),
    |engine| {
        engine
            .rebuild_index(
                super::table(engine, "c").index_named("c_blocks").unwrap().id,
                &NoProgress,
            )
            .map(drop)
    },
    |engine| index(engine, "c", "c_late", "COLUMNAR s, a", false),
    |engine| engine.truncate(super::table(engine, "c").id),
    |engine| load(engine, "c", &["1, 1, '1', '1'"]),
    |engine| engine.drop_table(super::table(engine, "c").id),
    // Columns that come with an index, and with a value for each row: in a table of rows, and in blocks.
    |engine| {
        engine
            .create_table(super::table_draft("w", COLUMNS, "k", None))
            .map(drop)
    },
    |engine| load(engine, "w", FIRST),
    |engine| widen(engine, "w"),
    |engine| number(engine, "w"),
    |engine| insert(engine, "w", &["5, 5, 'n', NULL, 77, 100"]),
    |engine| engine.drop_table(super::table(engine, "w").id),
    |engine| {
        engine
            .create_table(super::table_draft("x", COLUMNS, "COLUMNAR k", None))
            .map(drop)
    },
    |engine| load(engine, "x", FIRST),
    |engine| upsert(engine, "x", &["2, 21, 'other', NULL"]),
    |engine| widen(engine, "x"),
    |engine| number(engine, "x"),
    |engine| insert(engine, "x", &["5, 5, 'n', NULL, 77, 100"]),
    |engine| engine.drop_table(super::table(engine, "x").id),
    // What is written without being read: adds to counters, and columns that no index holds.
    |engine| {
        engine
            .create_table(super::table_draft("m", METER, "k", None))
            .map(drop)
    },
    |engine| insert(engine, "m", &["1, 0, 10, 'p'", "2, 5, NULL, NULL"]),
    |engine| add(engine, &[(1, 3), (2, -1)]),
    |engine| patch(engine, &["k", "a"], &["1, 0, 11, NULL", "9, 0, 90, NULL"]),
    |engine| patch(engine, &["k", "p"], &["9, 0, NULL, 'patched'", "7, 0, NULL, 'q'"]),
    |engine| meter(engine),
    |engine| engine.compact(None, &NoProgress),
    |engine| index(engine, "m", "m_a", "a DESC", false),
    |engine| patch(engine, &["k", "a"], &["2, 0, 22, NULL", "7, 0, 70, NULL"]),
    |engine| add(engine, &[(9, 9), (1, 1)]),
    // Lifetimes and versions that come and change by ALTER TABLE.
    |engine| {
        engine
            .create_table(super::table_draft("v", COLUMNS, "k", None))
            .map(drop)
    },
    |engine| index(engine, "v", "v_a", "a", false),
    |engine| {
        insert(
            engine,
            "v",
            &["1, 10, 'x', 'p'", "2, 20, 'y', NULL", "3, 30, 'z', 'q'"],
        )
    },
    |engine| promise(engine, Some(TTL_MICROS), None),
    |engine| upsert(engine, "v", &["1, 11, 'x', 'p'", "4, 40, 'w', NULL"]),
    |engine| promise(engine, Some(TTL_MICROS), Some(3)),
    |engine| upsert(engine, "v", &["1, 12, 'x', 'p'", "2, 21, 'y', NULL"]),
    |engine| upsert(engine, "v", &["1, 13, 'x', 'p'"]),
    |engine| delete(engine, "v", "3"),
    |engine| promise(engine, Some(2 * TTL_MICROS), Some(3)),
    |engine| promise(engine, Some(2 * TTL_MICROS), Some(2)),
    |engine| engine.compact(None, &NoProgress),
    |engine| upsert(engine, "v", &["2, 22, 'y', NULL", "3, 33, NULL, NULL"]),
    |engine| promise(engine, None, None),
    |engine| delete(engine, "v", "1"),
    |engine| engine.drop_table(super::table(engine, "v").id),
    |engine| engine.compact(None, &NoProgress),
    |engine| create_filled(engine),
    |engine| create_schema(engine),
    // Definitions and rows of one transaction, first of one that is rolled back.
    |engine| migrate(engine).map(drop),
    |engine| migrate(engine)?.commit(Durability::Synced).map(drop),
    // Two tables and the numbers of one of them at once.
    |engine| {
        let ids: Vec<_> = engine.catalog().tables().map(|table| table.id).collect();
        engine.truncate_all(&ids, Numbering::Restart).map(drop)
    },
];

/// Begins a transaction that makes a table with rows, has another lose its rows and get an index and numbers, drops one, and takes back more.
fn migrate(engine: &Engine) -> Result<Transaction, EngineError> {
    let transaction = engine.transaction();
    let session = engine.for_session();
    session.enter(&transaction);
    let draft = super::table_draft("y", COLUMNS, "k", None);
    session.create_table_with(draft, vec![(ColumnId(1), numbers("public", "y_a"))])?;
    index(&session, "y", "y_by_a", "a", false)?;
    insert_within(&transaction, "y", &["1, 1, 'x', 'p'", "2, 2, NULL, NULL"])?;
    session.truncate(super::table(&session, "f").id)?;
    insert_within(&transaction, "f", &["3", "4", "5"])?;
    index(&session, "f", "f_2", "k", false)?;
    number(&session, "f")?;
    insert_within(&transaction, "f", &["6, 60"])?;
    session.drop_table(super::table(&session, "m").id)?;
    let savepoint = transaction.savepoint();
    session.create_table(super::table_draft("m", METER, "k", None))?;
    index(&session, "y", "y_s", "s", true)?;
    insert_within(&transaction, "y", &["3, 3, 'z', 'q'"])?;
    session.drop_table(super::table(&session, "u").id)?;
    transaction.roll_back_to(&savepoint);
    index(&session, "y", "y_late", "s, a", false)?;
    insert_within(&transaction, "y", &["4, 4, 'z', 'q'"])?;
    Ok(transaction)
}

fn insert_within(transaction: &Transaction, table: &str, rows: &[&str]) -> Result<(), EngineError> {
    let mut write = transaction.write()?;
    let catalog = write.snapshot().catalog.clone();
    let table = catalog.table_named("public", table)?.clone();
    let rows = rows.iter().map(|row| super::row(&table, row)).collect();
    write.insert(&table, rows, OnConflict::Error)?;
    write.commit(Durability::Buffered).map(|_| ())
}

/// A table with a counter, and a column in a family of its own.
const METER: &str = "k INTEGER, c COUNTER, a INTEGER NULL, p VARCHAR NULL IN payload";

/// Ten years.
const TTL_MICROS: i64 = 10 * 365 * 86_400 * 1_000_000;

/// Makes a table with rows: both are there or neither.
fn create_filled(engine: &Engine) -> Result<(), EngineError> {
    let mut draft = super::table_draft("f", "k INTEGER", "k", None);
    draft.options.filling = true;
    let id = engine.create_table(draft)?.id;
    let filled = index(engine, "f", "f_k", "k DESC", true)
        .and_then(|()| insert(engine, "f", &["1", "2"]))
        .and_then(|()| {
            let filled = engine.alter_table(id, |_, filling| {
                let mut filled = filling.clone();
                filled.options.filling = false;
                Ok::<_, EngineError>(filled)
            });
            filled.map(drop)
        });
    filled.inspect_err(|_| drop(engine.drop_table(id)))
}

/// Makes a schema with a table that has numbers: all is there or nothing.
fn create_schema(engine: &Engine) -> Result<(), EngineError> {
    let schema = |id, filling| DefinitionChanges {
        schemas: vec![Schema {
            id,
            filling,
            ..Schema::new("s")
        }],
        ..DefinitionChanges::default()
    };
    engine.change_definitions(|_| Ok::<_, EngineError>(schema(SchemaId(0), true)))?;
    let id = engine
        .catalog()
        .schema_named("s")
        .map_or(SchemaId(0), |schema| schema.id);
    let mut draft = super::table_draft("within", "k INTEGER", "k", None);
    draft.schema = "s".to_string();
    let numbers = numbers("s", "numbers");
    let made = engine
        .create_table_with(draft, vec![(ColumnId(0), numbers)])
        .and_then(|table| {
            let mut write = engine.begin()?;
            write.insert(&table, vec![vec![Datum::Int(1)]], OnConflict::Error)?;
            write.commit(Durability::Synced)
        })
        .and_then(|_| engine.change_definitions(|_| Ok(schema(id, false))));
    made.inspect_err(|_| {
        drop(engine.change_definitions(|catalog| {
            let within = catalog.tables().filter(|table| table.schema == "s");
            Ok::<_, EngineError>(DefinitionChanges {
                dropped_tables: within.map(|table| table.id).collect(),
                dropped_schemas: vec![id],
                ..DefinitionChanges::default()
            })
        }));
    })
}

/// Adds to counters, which reads nothing but whether the rows are there.
fn add(engine: &Engine, amounts: &[(i64, i64)]) -> Result<(), EngineError> {
    let table = super::table(engine, "m");
    let counter = table.column_named("c").unwrap().id;
    let mut write = engine.begin()?;
    for (key, amount) in amounts {
        write.add(&table, &[Datum::Int(*key)], &[(counter, *amount)])?;
    }
    write.commit(Durability::Synced).map(|_| ())
}

/// Writes some columns, and keeps what others there are.
fn patch(engine: &Engine, named: &[&str], rows: &[&str]) -> Result<(), EngineError> {
    let mut write = engine.begin()?;
    patch_rows(&mut write, engine, named, rows)?;
    write.commit(Durability::Synced).map(|_| ())
}

fn patch_rows(write: &mut Write, engine: &Engine, named: &[&str], rows: &[&str]) -> Result<(), EngineError> {
    let table = super::table(engine, "m");
    let named: Vec<_> = named
        .iter()
        .map(|name| table.column_named(name).unwrap().id)
        .collect();
    let rows = rows.iter().map(|row| super::row(&table, row)).collect();
    write.upsert(&table, &named, rows).map(drop)
}

/// Adds and patches as one, some of which are undone.
fn meter(engine: &Engine) -> Result<(), EngineError> {
    let table = super::table(engine, "m");
    let counter = table.column_named("c").unwrap().id;
    let transaction = engine.transaction();
    let mut write = transaction.write()?;
    write.add(&table, &[Datum::Int(1)], &[(counter, 100)])?;
    write.commit(Durability::Buffered)?;
    let mut write = transaction.write()?;
    patch_rows(
        &mut write,
        engine,
        &["k", "p"],
        &["1, 0, NULL, 'in a transaction'"],
    )?;
    write.commit(Durability::Buffered)?;
    let savepoint = transaction.savepoint();
    let mut write = transaction.write()?;
    write.add(&table, &[Datum::Int(2)], &[(counter, 1000)])?;
    write.commit(Durability::Buffered)?;
    transaction.roll_back_to(&savepoint);
    transaction.commit(Durability::Synced).map(|_| ())
}

/// Says how long rows live, and how many images are kept of each.
fn promise(engine: &Engine, ttl_micros: Option<i64>, kept: Option<u32>) -> Result<(), EngineError> {
    let since_micros = engine.snapshot().now();
    let altered = engine.alter_table(super::table(engine, "v").id, |_, before| {
        let mut next = before.clone();
        next.options.lifetime = ttl_micros.map(|ttl_micros| Lifetime {
            ttl_micros,
            from: None,
            since_micros,
        });
        next.options.versions = kept.map(|kept| Versions { kept, since_micros });
        next.options.timed = true;
        Ok::<_, EngineError>(next)
    });
    altered.map(drop)
}

/// Rows of several blocks.
const FIRST: &[&str] = &[
    "1, 10, 'x', 'p'",
    "2, 20, 'y', NULL",
    "4, 30, NULL, 'q'",
    "10, NULL, 'z', 'q'",
    "12, 20, 'x', 'p'",
    "13, 20, '', 'p'",
    "20, -1, 'x', NULL",
    "30, 0, 'x', 'p'",
    "90, 7, 'x', 'p'",
];

/// Makes blocks of all changes, in as many steps as there are blocks.
fn repack(engine: &Engine, id: rukh_catalog::IndexId) -> Result<(), EngineError> {
    engine.repack_index(id, &NoProgress).map(drop)
}

fn index(engine: &Engine, table: &str, name: &str, key: &str, unique: bool) -> Result<(), EngineError> {
    let table = super::table(engine, table);
    let draft = super::index_draft(&table, name, key, "", None, unique);
    engine.create_index(table.id, draft, &NoProgress).map(drop)
}

/// Has the number of rows of a table be kept.
fn count_rows(engine: &Engine, table: &str) -> Result<(), EngineError> {
    let table = super::table(engine, table);
    let snapshot = engine.snapshot();
    let Some(count) = engine.begin_row_count(&snapshot, &table)? else {
        return Ok(());
    };
    let rows = super::read(&snapshot, ScanRequest::all(table, Vec::new()));
    count.finish(rows.len() as u64);
    Ok(())
}

fn insert(engine: &Engine, table: &str, rows: &[&str]) -> Result<(), EngineError> {
    let table = super::table(engine, table);
    let mut write = engine.begin()?;
    write.insert(
        &table,
        rows.iter().map(|row| super::row(&table, row)).collect(),
        OnConflict::Error,
    )?;
    write.commit(Durability::Synced).map(|_| ())
}

fn upsert(engine: &Engine, table: &str, rows: &[&str]) -> Result<(), EngineError> {
    let table = super::table(engine, table);
    let all: Vec<_> = table.columns.iter().map(|column| column.id).collect();
    let mut write = engine.begin()?;
    write.upsert(
        &table,
        &all,
        rows.iter().map(|row| super::row(&table, row)).collect(),
    )?;
    write.commit(Durability::Synced).map(|_| ())
}

fn delete(engine: &Engine, table: &str, key: &str) -> Result<(), EngineError> {
    let table = super::table(engine, table);
    let mut write = engine.begin()?;
    let row = write
        .snapshot()
        .get(&table, &super::key(&table.key_layout(), key))?
        .unwrap();
    write.delete(&table, vec![row])?;
    write.commit(Durability::Synced).map(|_| ())
}

/// Two statements as one.
fn transaction(engine: &Engine, rows: &[&str], key: &str) -> Result<(), EngineError> {
    let table = super::table(engine, "t");
    let transaction = engine.transaction();
    let mut write = transaction.write()?;
    let rows = rows.iter().map(|row| super::row(&table, row)).collect();
    write.insert(&table, rows, OnConflict::Error)?;
    write.commit(Durability::Buffered)?;
    let mut write = transaction.write()?;
    let row = write
        .snapshot()
        .get(&table, &super::key(&table.key_layout(), key))?
        .unwrap();
    write.delete(&table, vec![row])?;
    write.commit(Durability::Buffered)?;
    transaction.commit(Durability::Synced).map(|_| ())
}

fn load(engine: &Engine, table: &str, rows: &[&str]) -> Result<(), EngineError> {
    let table = super::table(engine, table);
    let mut load = engine.load(table.id)?;
    load.add(rows.iter().map(|row| super::row(&table, row)).collect())?;
    load.finish().map(drop)
}

/// Adds a column together with a UNIQUE index of it.
fn widen(engine: &Engine, table: &str) -> Result<(), EngineError> {
    let altered = engine.alter_table(super::table(engine, table).id, |_, before| {
        let table = added(before, "u", true)?;
        let indexes = vec![super::index_draft(&table, "by_u", "u", "", None, true)];
        Ok::<_, EngineError>(Alteration {
            indexes,
            ..Alteration::from(table)
        })
    });
    altered.map(drop)
}

/// Adds a column that takes numbers, together with a UNIQUE index of it.
fn number(engine: &Engine, table: &str) -> Result<(), EngineError> {
    let altered = engine.alter_table(super::table(engine, table).id, |_, before| {
        let table = added(before, "n", false)?;
        let column = table.columns.last().unwrap().id;
        let numbers = numbers("public", &format!("{}_n", table.name));
        let indexes = vec![super::index_draft(&table, "by_n", "n", "", None, true)];
        Ok::<_, EngineError>(Alteration {
            indexes,
            sequences: vec![(column, numbers)],
            ..Alteration::from(table)
        })
    });
    altered.map(drop)
}

fn numbers(schema: &str, name: &str) -> Sequence {
    Sequence {
        id: SequenceId(0),
        schema: schema.to_string(),
        name: name.to_string(),
        ty: DataType::BigInt,
        start: 7,
        increment: 1,
        min: 1,
        max: 100,
        cache: 1,
        cycle: false,
        owner: None,
        comment: None,
    }
}

fn added(table: &Table, name: &str, nullable: bool) -> Result<Table, EngineError> {
    Ok(table.with_column(Column {
        id: ColumnId(0),
        name: name.into(),
        ty: DataType::BigInt,
        nullable,
        default: None,
        family: FamilyId(0),
        values: ColumnValues::default(),
    })?)
}

/// Gives a column another name.
fn rename(engine: &Engine) -> Result<(), EngineError> {
    let renamed = engine.alter_table(super::table(engine, "t").id, |_, before| {
        let mut next = before.clone();
        next.columns[3].name = "renamed".into();
        Ok::<_, EngineError>(next)
    });
    renamed.map(drop)
}

/// Removes a range of rows, and one row, past the batch.
fn erase(engine: &Engine) -> Result<(), EngineError> {
    let table = super::table(engine, "t");
    let key = |k| super::key(&table.key_layout(), k);
    let row = engine.snapshot().get(&table, &key("9"))?.unwrap();
    let mut erase = engine.begin()?.erase(table.id)?;
    erase.add(vec![row])?;
    let span = rukh_keys::Span {
        start: key("4"),
        start_edge: rukh_keys::Edge::Included,
        end: key("7"),
        end_edge: rukh_keys::Edge::Included,
    };
    erase.add_spans(&[span], &NoProgress)?;
    erase.finish(&NoProgress).map(drop)
}

/// Everything that a user sees: tables, their indexes, their rows, and how many images there are of what was.
pub fn state(engine: &Engine) -> Vec<String> {
    let mut state = Vec::new();
    let catalog = engine.catalog();
    state.extend(catalog.schemas().map(|schema| format!("schema {}", schema.name)));
    state.extend(
        catalog
            .sequences()
            .map(|sequence| format!("sequence {}", sequence.name)),
    );
    for table in engine.catalog().tables() {
        let indexes: Vec<_> = table
            .indexes
            .iter()
            .map(|index| (&index.name, index.state))
            .collect();
        state.push(format!("{} {indexes:?}", table.name));
        let rows = super::read(&engine.snapshot(), ScanRequest::all(table.clone(), Vec::new()));
        state.extend(rows.iter().map(|row| super::show_row(table, row)));
        if let Some(history) = table.history() {
            let images = ScanRequest::all(Arc::new(history), Vec::new());
            let images = super::read(&engine.snapshot(), images);
            state.push(format!("{} images", images.len()));
        }
        let report = engine.check_table(table.id, &NoProgress).unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
    state
}
