//! Planning is bounded for every query: sizes of plans, and that no row is lost.
//!
//! Each of these takes milliseconds; none is timed, but all would run for hours or out of memory if a
//! bound were missing.

use rukh_catalog::{
    Column, ColumnId, FamilyId, KeyElement, KeyExpr, SaltOptions, Table, TableDraft, TableId, validate_table,
};
use rukh_keys::{DataType, Datum, SortOrder};
use rukh_planner::{
    AccessPath, CompareOp, Constant, Operand, Predicate, Query, Source, TermId, access_path, evaluate,
    explain_text,
};

/// Most ranges of a path.
const RANGES_MAX: usize = 16_384;

/// A table of INTEGER columns, all of them in the key.
fn table(columns: usize, salt: Option<SaltOptions>) -> Table {
    let column = |position: usize| Column {
        id: ColumnId(position as u32),
        name: format!("c{position}"),
        ty: DataType::Integer,
        nullable: false,
        default: None,
        family: FamilyId(0),
        values: Default::default(),
    };
    let element = |position: usize| KeyElement {
        expr: KeyExpr::Column(ColumnId(position as u32)),
        order: if position.is_multiple_of(2) {
            SortOrder::Asc
        } else {
            SortOrder::Desc
        },
    };
    let draft = TableDraft {
        schema: "public".to_string(),
        name: "t".to_string(),
        columns: (0..columns).map(column).collect(),
        primary_key: (0..columns).map(element).collect(),
        salt,
        ..TableDraft::default()
    };
    validate_table(draft, TableId(1)).expect("the draft is valid")
}

fn column(position: usize) -> Operand {
    Operand::column(ColumnId(position as u32))
}

fn int(value: usize) -> Operand {
    Operand::Constant(Constant::new(Datum::Int(value as i64), DataType::Integer))
}

fn equal(position: usize, value: usize) -> Predicate {
    Predicate::compare(CompareOp::Eq, column(position), int(value))
}

fn greater(position: usize, value: usize) -> Predicate {
    Predicate::compare(CompareOp::Gt, column(position), int(value))
}

/// The first `count` multiples of seven, so that no two are neighbours.
fn is_in(position: usize, count: usize) -> Predicate {
    Predicate::In {
        operand: column(position),
        list: (0..count).map(|n| int(n * 7)).collect(),
        negated: false,
    }
}

/// Plans, and checks that each row is read and passes if and only if the conditions say so.
fn check(table: &Table, conjuncts: &[Predicate], rows: &[Vec<i64>]) -> AccessPath {
    let query = Query {
        conjuncts,
        ..Query::new(table)
    };
    let path = access_path(&query, Source::Table).expect("a table can be read");
    assert!(path.ranges.len() <= RANGES_MAX, "{} ranges", path.ranges.len());
    for row in rows {
        let datums: Vec<Datum> = row.iter().map(|value| Datum::Int(*value)).collect();
        let value = |term: TermId| datums[term.0 as usize].clone();
        let passes = |predicate: &Predicate| evaluate(predicate, table, &value) == Ok(Some(true));
        let key = path.layout.encode(&datums).expect("integers fit");
        let read = path.ranges.iter().any(|range| range.contains(&key)) && path.masked.matches(&key);
        let kept = read && path.residual.iter().all(|at| passes(&conjuncts[*at]));
        assert_eq!(
            kept,
            conjuncts.iter().all(passes),
            "{row:?}\n{}",
            explain_text(&query, &path, None)
        );
    }
    path
}

#[test]
fn a_thousand_by_a_thousand() {
    let table = table(3, None);
    let rows = [
        [0, 0, 0],
        [7, 693, 1],
        [6993, 6993, 5],
        [7000, 0, 0],
        [7, 1, 0],
        [1, 7, 0],
    ]
    .map(Vec::from);
    let path = check(&table, &[is_in(0, 1000), is_in(1, 1000)], &rows);
    assert_eq!(path.ranges.len(), 1000);
    check(&table, &[is_in(1, 1000), is_in(2, 1000)], &rows);
    check(&table, &[is_in(0, 1000), is_in(1, 1000), is_in(2, 1000)], &rows);
}

#[test]
fn lists_of_many_values() {
    let table = table(2, None);
    let rows = [[0, 5], [69_993, 5], [70_000, 5], [1, 5], [699_993, 5]].map(Vec::from);
    assert_eq!(
        check(&table, &[is_in(0, 10_000), equal(1, 5)], &rows)
            .ranges
            .len(),
        10_000
    );
    check(&table, &[is_in(0, 100_000), equal(1, 5)], &rows);
    let negated = Predicate::Not(Box::new(is_in(0, 100_000)));
    check(&table, &[negated], &rows);
}

#[test]
fn ten_thousand_arms() {
    let table = table(3, None);
    let rows = [
        [7, 14, 0],
        [7, 21, 0],
        [0, 0, 0],
        [69_993, 139_986, 3],
        [69_993, 1, 3],
    ]
    .map(Vec::from);
    let arm = |n: usize| Predicate::And(vec![equal(0, n * 7), equal(1, n * 14)]);
    let arms = Predicate::Or((0..10_000).map(arm).collect());
    let path = check(&table, std::slice::from_ref(&arms), &rows);
    assert_eq!((path.ranges.len(), path.residual.len()), (10_000, 0));
    let ranges = Predicate::Or(
        (0..10_000)
            .map(|n| Predicate::And(vec![equal(0, n * 7), greater(2, n)]))
            .collect(),
    );
    check(&table, &[arms.clone(), ranges.clone()], &rows);
    check(&table, &[ranges, arms, greater(2, 1)], &rows);
    let many = Predicate::Or((0..40_000).map(arm).collect());
    check(&table, &[many], &rows);
}

#[test]
fn products_of_alternatives() {
    let table = table(64, None);
    let ones = vec![1; 64];
    let mut mixed = ones.clone();
    mixed[7] = 2;
    let rows = [ones, mixed, vec![2; 64], (0..64).collect()];
    let either = |n: usize| Predicate::Or(vec![equal(n, 1), equal((n + 1) % 64, 2)]);
    let conjuncts: Vec<_> = (0..64).map(either).collect();
    check(&table, &conjuncts, &rows);
    check(&table, &[Predicate::And(conjuncts)], &rows);
    let both = |n: usize| Predicate::In {
        operand: column(n),
        list: vec![int(1), int(9)],
        negated: false,
    };
    let conjuncts: Vec<_> = (0..64).map(both).collect();
    check(&table, &conjuncts, &rows);
}

#[test]
fn sixty_four_columns_compared_as_a_row() {
    let table = table(64, None);
    let row = |op| Predicate::RowCompare {
        op,
        left: (0..64).map(column).collect(),
        right: (0..64).map(|_| int(1)).collect(),
    };
    let rows = [
        vec![1; 64],
        vec![2; 64],
        vec![0; 64],
        (0..64).collect(),
        (0..64).rev().collect(),
    ];
    for op in [CompareOp::Gt, CompareOp::LtEq, CompareOp::Eq, CompareOp::NotEq] {
        let path = check(&table, &[row(op)], &rows);
        assert!(path.residual.is_empty());
    }
    check(&table, &[row(CompareOp::Gt), row(CompareOp::LtEq)], &rows);
}

#[test]
fn rows_not_in_a_long_list() {
    let table = table(3, None);
    let list = (0..5_000).map(|n| vec![int(n), int(n)]).collect();
    let not_in = Predicate::RowIn {
        left: vec![column(0), column(1)],
        list,
        negated: true,
    };
    let rows = [[1, 1, 0], [1, 2, 0], [4_999, 4_999, 0], [5_000, 5_000, 0]].map(Vec::from);
    check(&table, std::slice::from_ref(&not_in), &rows);
    let conjuncts: Vec<_> = (0..2_000)
        .map(|n| Predicate::Or(vec![greater(0, n), greater(1, n), greater(2, n)]))
        .chain([not_in])
        .collect();
    check(&table, &conjuncts, &rows);
}

#[test]
fn every_bucket_of_a_salt() {
    let salt = SaltOptions {
        buckets: 256,
        columns: Some(vec![ColumnId(1)]),
    };
    let table = table(3, Some(salt));
    let rows = [[0, 0, 0], [7, 7, 7], [6_993, 1, 0], [6_993, 7, 0]].map(Vec::from);
    check(&table, &[is_in(0, 1_000), greater(1, 0)], &rows);
    check(&table, &[is_in(0, 1_000), is_in(1, 1_000)], &rows);
    let arm = |n: usize| Predicate::And(vec![equal(0, n * 7), greater(2, n)]);
    check(&table, &[Predicate::Or((0..10_000).map(arm).collect())], &rows);
}

#[test]
fn a_salted_list_reads_one_bucket_per_value() {
    let salt = SaltOptions {
        buckets: 16,
        columns: Some(vec![ColumnId(0)]),
    };
    let table = table(2, Some(salt));
    let rows = [[0, 0], [7, 5], [69_993, 5], [1, 5]].map(Vec::from);
    assert_eq!(
        check(&table, &[is_in(0, 10_000), equal(1, 5)], &rows)
            .ranges
            .len(),
        10_000
    );
}
