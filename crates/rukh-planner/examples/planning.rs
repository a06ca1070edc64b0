//! Measures how long planning takes, in nanoseconds per plan: `cargo run --release -p rukh-planner
//! --example planning [filter] [analyzed]`, with `analyzed` of tables with statistics. The best of many short rounds counts: what else the machine does only
//! adds to the others.
//!
//! | column    | plans                                                                  |
//! |-----------|------------------------------------------------------------------------|
//! | `plan`    | all paths from the table and its indexes, each prepared again: [`plan`]  |
//! | `choose`  | the path taken, all made ready before: [`Planner::choose`]               |
//! | `target`  | the table alone, made ready before: [`access_path_on`]                   |

use std::hint::black_box;
use std::time::{Duration, Instant};

use rukh_catalog::{
    Column, ColumnId, FamilyId, Index, IndexDraft, IndexId, IndexState, KeyElement, KeyExpr, Table,
    TableDraft, TableId, validate_index, validate_table,
};
use rukh_keys::{DataType, Datum, SortOrder};
use rukh_planner::{
    CommonValues, CompareOp, Constant, Histogram, Operand, Planner, Predicate, Query, Source, Statistics,
    Target, TermId, TermStatistics, access_path_on, plan,
};

const ROUNDS: usize = 100;

/// Time after which three rounds are enough.
const ROUNDS_TIME_MAX: Duration = Duration::from_millis(200);

struct Case {
    name: &'static str,
    /// Columns of the key; of none the key is the text.
    key: u32,
    /// Indexes on `(d)`, `(e)` …
    indexes: u32,
    conjuncts: Vec<Predicate>,
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let analyzed = std::env::args().any(|argument| argument == "analyzed");
    println!(
        "{:<34}{:>10}{:>10}{:>10}",
        "ns per plan", "plan", "choose", "target"
    );
    for case in cases().iter().filter(|case| case.name.contains(&filter)) {
        let table = table(case.key, case.indexes);
        let statistics = match analyzed {
            true => statistics(&table),
            false => Statistics::UNKNOWN,
        };
        let query = Query {
            conjuncts: &case.conjuncts,
            statistics: &statistics,
            ..Query::new(&table)
        };
        let target = Target::new(&query, Source::Table).expect("a table can be read");
        let whole = measured(|| drop(black_box(plan(black_box(&query)))));
        let planner = Planner::new(&query);
        let chosen = measured(|| drop(black_box(planner.choose(black_box(&query)))));
        let alone = measured(|| drop(black_box(access_path_on(black_box(&query), black_box(&target)))));
        println!("{:<34}{whole:>10}{chosen:>10}{alone:>10}", case.name);
    }
}

/// Statistics as ANALYZE finds them: 50 common values and 101 bounds of each column.
fn statistics(table: &Table) -> Statistics {
    let value = |ty, number: i64| match ty {
        DataType::BigInt => Datum::Int(number),
        _ => Datum::Text(format!("name{number:04}")),
    };
    let of_column = |column: &Column| {
        let common = (0..50).map(|at| (value(column.ty, at * 20), 0.01));
        let known = TermStatistics {
            distinct: Some(10_000),
            min: Some(value(column.ty, 0)),
            max: Some(value(column.ty, 9_999)),
            null_share: Some(0.0),
            common: CommonValues::new(common.collect()),
            histogram: Histogram::new((0..=100).map(|at| value(column.ty, at * 100)).collect()),
        };
        (TermId::column(column.id), known)
    };
    Statistics {
        rows: Some(10_000_000),
        terms: table.columns.iter().map(of_column).collect(),
        ..Statistics::default()
    }
}

/// Nanoseconds per call.
fn measured(mut work: impl FnMut()) -> u128 {
    let mut times = 1;
    let mut round = |times: u32| {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        start.elapsed().as_nanos()
    };
    while round(times) < 1_000_000 {
        times *= 2;
    }
    let begun = Instant::now();
    let is_time = |at: &usize| *at < 3 || begun.elapsed() < ROUNDS_TIME_MAX;
    let best = (0..ROUNDS).take_while(is_time).map(|_| round(times)).min();
    best.unwrap_or_default() / u128::from(times)
}

fn cases() -> Vec<Case> {
    let case = |name, key, indexes, conjuncts| Case {
        name,
        key,
        indexes,
        conjuncts,
    };
    let points = |count: u32| {
        (0..count)
            .map(|at| compare(at, CompareOp::Eq, 7))
            .collect::<Vec<_>>()
    };
    let prefix_and_range = || {
        vec![
            compare(0, CompareOp::Eq, 7),
            compare(1, CompareOp::GtEq, 10),
            compare(1, CompareOp::Lt, 20),
        ]
    };
    let list_and_range = |count| vec![list(0, count), compare(1, CompareOp::GtEq, 10)];
    vec![
        case("point, 1 column", 1, 0, points(1)),
        case("point, 1 column, 2 indexes", 1, 2, points(1)),
        case("point, 3 columns", 3, 0, points(3)),
        case("point, 10 columns", 10, 0, points(10)),
        case("point, text", 0, 0, vec![text_point()]),
        case(
            "point and another column",
            1,
            0,
            vec![compare(0, CompareOp::Eq, 7), compare(4, CompareOp::Eq, 1)],
        ),
        case(
            "point of an index, 3 indexes",
            1,
            3,
            vec![compare(4, CompareOp::Eq, 1)],
        ),
        case("prefix and range", 3, 0, prefix_and_range()),
        case("prefix and range, 2 indexes", 3, 2, prefix_and_range()),
        case("IN of 10 and range", 3, 0, list_and_range(10)),
        case("IN of 10", 1, 0, vec![list(0, 10)]),
        case(
            "OR of two",
            3,
            0,
            vec![Predicate::Or(vec![
                compare(0, CompareOp::Eq, 7),
                compare(0, CompareOp::Eq, 9),
            ])],
        ),
        case(
            "OR of two boxes",
            3,
            0,
            vec![Predicate::Or(vec![
                Predicate::And(vec![compare(0, CompareOp::Eq, 7), compare(1, CompareOp::Eq, 1)]),
                Predicate::And(vec![compare(0, CompareOp::Eq, 9), compare(1, CompareOp::Eq, 2)]),
            ])],
        ),
        case("IN of 100", 3, 0, vec![list(0, 100)]),
        case("IN of 1000", 3, 0, vec![list(0, 1000)]),
        case("IN of 10000", 3, 0, vec![list(0, 10_000)]),
        case("IN of 10000 and range", 3, 2, list_and_range(10_000)),
        case(
            "IN of 1000 x IN of 1000",
            3,
            0,
            vec![list(0, 1000), list(1, 1000)],
        ),
        case(
            "IN of 1000, three times",
            3,
            2,
            vec![list(0, 1000), list(1, 1000), list(2, 1000)],
        ),
        case("row IN of 10000", 3, 0, vec![rows(10_000)]),
        case("OR of 10000 conjunctions", 3, 0, vec![conjunctions(10_000, 3)]),
        case(
            "OR of 10000, out of order",
            3,
            2,
            vec![conjunctions(10_000, 2), compare(4, CompareOp::Gt, 1)],
        ),
        case("OR of 10000 ranges", 3, 0, vec![ranges(10_000)]),
        case(
            "two ORs of 1000 conjunctions",
            3,
            0,
            vec![conjunctions(1000, 2), conjunctions(1000, 3)],
        ),
        case(
            "NOT IN of 10000",
            3,
            0,
            vec![Predicate::Not(Box::new(list(0, 10_000)))],
        ),
        case("64 columns, points", 64, 0, points(64)),
        case(
            "64 columns, IN of 3 each",
            64,
            0,
            (0..64).map(|at| list(at, 3)).collect(),
        ),
        case(
            "64 columns, ranges",
            64,
            0,
            (0..64).map(|at| compare(at, CompareOp::Gt, 7)).collect(),
        ),
        case("64 columns, row value >", 64, 0, vec![row_greater(64)]),
        case(
            "range and another column",
            1,
            0,
            vec![compare(0, CompareOp::Gt, 7), compare(4, CompareOp::Eq, 1)],
        ),
    ]
}

/// `(c0, c1, c2) IN (…)`.
fn rows(count: i64) -> Predicate {
    let row = |at: i64| vec![constant(at * 37 % 10_007), constant(at % 13), constant(at)];
    Predicate::RowIn {
        left: (0..3).map(|id| Operand::column(ColumnId(id))).collect(),
        list: (0..count).map(row).collect(),
        negated: false,
    }
}

/// `c0 = … AND c1 = … AND …` or the next.
fn conjunctions(count: i64, columns: u32) -> Predicate {
    let values = |at: i64| [at * 7919 % 10_007, at % 11, at * 31 % 1009];
    let one = |at: i64| {
        let of = |column: u32| compare(column, CompareOp::Eq, values(at)[column as usize]);
        Predicate::And((0..columns).map(of).collect())
    };
    Predicate::Or((0..count).map(one).collect())
}

/// `c0 >= … AND c0 < … AND c1 > …` or the next.
fn ranges(count: i64) -> Predicate {
    let one = |at: i64| {
        let start = at * 7919 % 100_003;
        Predicate::And(vec![
            compare(0, CompareOp::GtEq, start),
            compare(0, CompareOp::Lt, start + 5),
            compare(1, CompareOp::Gt, at % 11),
        ])
    };
    Predicate::Or((0..count).map(one).collect())
}

/// `(c0, c1, …) > (7, 7, …)`.
fn row_greater(columns: u32) -> Predicate {
    Predicate::RowCompare {
        op: CompareOp::Gt,
        left: (0..columns).map(|id| Operand::column(ColumnId(id))).collect(),
        right: (0..columns).map(|_| constant(7)).collect(),
    }
}

fn compare(column: u32, op: CompareOp, value: i64) -> Predicate {
    Predicate::compare(op, Operand::column(ColumnId(column)), constant(value))
}

fn constant(value: i64) -> Operand {
    Operand::Constant(Constant::new(Datum::Int(value), DataType::BigInt))
}

fn list(column: u32, count: i64) -> Predicate {
    Predicate::In {
        operand: Operand::column(ColumnId(column)),
        list: (0..count).map(|at| constant(at * 37 % 10_007)).collect(),
        negated: false,
    }
}

/// A comparison of the text column.
fn text_point() -> Predicate {
    Predicate::compare(
        CompareOp::Eq,
        Operand::column(ColumnId(10)),
        Operand::text("alice"),
    )
}

/// BIGINT columns, ten at least, the first ones of them the key, and a text.
fn table(key: u32, indexes: u32) -> Table {
    let column = |id: u32, ty| Column {
        id: ColumnId(id),
        name: format!("c{id}"),
        ty,
        nullable: false,
        default: None,
        family: FamilyId(0),
        values: Default::default(),
    };
    let mut columns: Vec<Column> = (0..key.max(10)).map(|id| column(id, DataType::BigInt)).collect();
    columns.push(column(key.max(10), DataType::Varchar(None)));
    let draft = TableDraft {
        schema: "public".to_string(),
        name: "t".to_string(),
        columns,
        primary_key: match key {
            0 => vec![element(10)],
            key => (0..key).map(element).collect(),
        },
        ..TableDraft::default()
    };
    let mut table = validate_table(draft, TableId(1)).expect("the draft is valid");
    for at in 0..indexes {
        let draft = IndexDraft {
            name: format!("i{at}"),
            unique: false,
            nulls_distinct: true,
            constraint: false,
            elements: vec![element(3 + at)],
            include: Vec::new(),
            predicate: None,
            layout: Default::default(),
        };
        let index = validate_index(draft, &table, IndexId(10 + at)).expect("the index is valid");
        table.indexes.push(Index {
            state: IndexState::Ready,
            ..index
        });
    }
    table
}

fn element(id: u32) -> KeyElement {
    KeyElement {
        expr: KeyExpr::Column(ColumnId(id)),
        order: SortOrder::Asc,
    }
}
