//! The headline: planned scan = full scan + filter, for every table, index, row and predicate.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rukh_catalog::{KeyElement, KeyExpr};
use rukh_keys::{DataType, Datum, KeyRange, SortOrder, ValueError};
use std::ops::RangeBounds;

use rukh_planner::{
    AccessPath, ColumnTest, Hint, OrderKey, Predicate, Query, ScanKind, Source, TermId, TermTypes,
    access_path, explain_text, plan,
};

use crate::choices::{Choices, numbers};
use crate::predicates::predicate;
use crate::worlds::{Row, World};

/// Cases of a run; `PROPTEST_CASES` asks for more.
const CASES: u32 = 4_000;

pub fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    match std::env::var("PROPTEST_CASES") {
        Ok(_) => default,
        Err(_) => ProptestConfig {
            cases: CASES,
            ..default
        },
    }
}

/// A world and a query on it.
struct Case {
    world: World,
    conjuncts: Vec<Predicate>,
    order: Vec<OrderKey>,
    hints: Vec<Hint>,
}

impl Case {
    fn random(definitions: Vec<u32>, rows: Vec<u32>, choices: Vec<u32>) -> Case {
        let world = World::random(&mut Choices::new(definitions), &mut Choices::new(rows));
        let mut choices = Choices::new(choices);
        let conjuncts = (0..1 + choices.below(3))
            .map(|_| predicate(&mut choices, &world, 3))
            .collect();
        let order = random_order(&mut choices, &world);
        let hints = match choices.below(12) {
            9 => vec![Hint::RangeScan],
            10 => vec![Hint::SkipScan],
            11 => vec![Hint::FullScan],
            _ => Vec::new(),
        };
        Case {
            world,
            conjuncts,
            order,
            hints,
        }
    }

    fn query(&self) -> Query<'_> {
        Query {
            order: &self.order,
            hints: &self.hints,
            ..self.world.query(&self.conjuncts)
        }
    }

    fn describe(&self, path: &AccessPath) -> String {
        let query = self.query();
        let columns: Vec<String> = self
            .world
            .table
            .columns
            .iter()
            .map(|c| format!("{} {}{}", c.name, c.ty, if c.nullable { " NULL" } else { "" }))
            .collect();
        let whole = Query {
            hints: &[Hint::FullScan],
            ..query
        };
        let planned = access_path(&whole, Source::Table).map(|path| explain_text(&whole, &path, None));
        format!(
            "{}\nasked: {}\n{}",
            columns.join(", "),
            planned.unwrap_or_default(),
            explain_text(&query, path, None)
        )
    }
}

/// Often a prefix of a key, forward or backward with a slip now and then; else any columns.
pub fn random_order(choices: &mut Choices, world: &World) -> Vec<OrderKey> {
    if choices.one_in(3) {
        return Vec::new();
    }
    let terms: Vec<(TermId, bool)> = match choices.one_in(3) {
        true => world
            .table
            .columns
            .iter()
            .map(|column| (TermId::column(column.id), choices.one_in(2)))
            .collect(),
        false => key_terms(choices, world),
    };
    let backward = choices.one_in(2);
    let order = terms.into_iter().map(|(term, descending)| {
        let descending = (descending != backward) != choices.one_in(12);
        OrderKey {
            term,
            descending,
            nulls_first: descending != choices.one_in(6),
        }
    });
    order.take(3).collect()
}

/// The columns of a key and whether they descend.
pub fn key_terms(choices: &mut Choices, world: &World) -> Vec<(TermId, bool)> {
    let table = &world.table;
    let elements = match *choices.pick(&world.sources()) {
        Source::Table => table.primary_key.clone(),
        Source::Index(id) => table
            .index(id)
            .map_or_else(Vec::new, |index| index.key_elements(table)),
    };
    let term = |element: &KeyElement| match element.expr {
        KeyExpr::Column(id) => Some((TermId::column(id), element.order == SortOrder::Desc)),
        _ => None,
    };
    elements.iter().filter_map(term).collect()
}

/// The rows that a path delivers, in the order of the path.
pub fn run<'a>(world: &'a World, conjuncts: &[Predicate], path: &AccessPath) -> Vec<&'a Row> {
    let mut read: Vec<(Vec<u8>, &Row)> = world
        .rows
        .iter()
        .filter_map(|row| Some((world.key(row, path.source)?, row)))
        .filter(|(key, _)| path.ranges.iter().any(|range| range.contains(key)))
        .filter(|(key, _)| path.masked.matches(key))
        .filter(|(_, row)| {
            path.columnar
                .iter()
                .flat_map(|read| &read.tests)
                .all(|test| fulfils(row, test))
        })
        .collect();
    match &path.merge {
        None => read.sort(),
        Some(merge) => {
            let behind = |key: &[u8]| {
                let runs = merge.runs.iter();
                let mut holding = runs.filter(|run| run.ranges.iter().any(|range| range.contains(key)));
                let run = holding.next().expect("a key that is read is in a run");
                assert!(holding.next().is_none(), "a key is in one run");
                key[run.prefix..].to_vec()
            };
            read.sort_by_cached_key(|(key, row)| (behind(key), *row));
        }
    }
    if path.reverse {
        read.reverse();
    }
    let among = path
        .within
        .as_ref()
        .map(|within| run(world, conjuncts, &within.path));
    read.retain(|(_, row)| among.as_ref().is_none_or(|rows| rows.contains(row)));
    let residual: Vec<_> = path.residual_index.iter().chain(&path.residual).collect();
    let passes = |row: &&Row| residual.iter().all(|at| world.passes(row, &conjuncts[**at]));
    read.into_iter().map(|(_, row)| row).filter(passes).collect()
}

/// Whether a conjunct makes the statement fail for a row that is delivered nevertheless: another arm of an OR
/// holds for it, a moment lies behind the end of the calendar, or a float leaves its type. Else a row is checked
/// where that may fail.
pub fn may_go_unseen(world: &World, row: &Row, conjunct: &Predicate) -> bool {
    match world.answer(row, conjunct) {
        Ok(_) => false,
        Err(ValueError::FloatOverflow | ValueError::FloatUnderflow) => true,
        Err(_) => has_arms(conjunct) || moves_moments(world, conjunct),
    }
}

fn has_arms(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::And(parts) => parts.iter().any(has_arms),
        Predicate::Or(_) | Predicate::Not(_) | Predicate::NotTrue(_) => true,
        Predicate::In { negated, .. } => *negated,
        _ => false,
    }
}

fn moves_moments(world: &World, predicate: &Predicate) -> bool {
    let query = world.query(&[]);
    let mut found = false;
    predicate.visit_terms(&mut |term| {
        let ty = query.term_type(term).map(|found| found.ty);
        found |= matches!(
            ty,
            Some(DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. })
        );
    });
    found
}

/// Whether a row passes a test on an encoded column.
fn fulfils(row: &Row, test: &ColumnTest) -> bool {
    let value = &row[test.column.0 as usize];
    if value.is_null() {
        return test.null();
    }
    test.ranges().iter().any(|range| range.contains(value))
}

fn check(case: &Case, path: &AccessPath) -> Result<(), TestCaseError> {
    let Case { world, conjuncts, .. } = case;
    let wanted: BTreeSet<&Row> = world
        .rows
        .iter()
        .filter(|row| conjuncts.iter().all(|one| world.passes(row, one)))
        .collect();
    let delivered = run(world, conjuncts, path);
    let mut found: BTreeSet<&Row> = delivered.iter().copied().collect();
    found.retain(|row| wanted.contains(row) || !conjuncts.iter().any(|one| may_go_unseen(world, row, one)));
    prop_assert_eq!(found, wanted, "{}", case.describe(path));
    check_ranges(case, path)?;
    check_kind(case, path)?;
    check_order(case, path, &delivered)
}

fn check_ranges(case: &Case, path: &AccessPath) -> Result<(), TestCaseError> {
    let apart = |pair: &[KeyRange]| pair[0].limit.as_ref().is_some_and(|limit| *limit < pair[1].start);
    let sorted = path.ranges.windows(2).all(|pair| {
        apart(pair)
            || path.buckets.is_some() && {
                pair[0]
                    .limit
                    .as_ref()
                    .is_some_and(|limit| *limit <= pair[1].start)
            }
    });
    prop_assert!(sorted, "ranges {:?}\n{}", path.ranges, case.describe(path));
    prop_assert!(
        path.ranges.iter().all(|range| !range.is_empty()),
        "{}",
        case.describe(path)
    );
    // What EXPLAIN prints is what is read.
    for row in &case.world.rows {
        let Some(key) = case.world.key(row, path.source) else {
            continue;
        };
        let datums = path.layout.decode_prefix(&key, decodable(case, path, &key));
        let datums = datums.expect("keys of the world decode");
        let printed = path.spans.iter().any(|span| span.contains(&path.layout, &datums));
        let read = path.ranges.iter().any(|range| range.contains(&key));
        let same = printed == read || (printed && path.buckets.is_some());
        prop_assert!(
            same,
            "key {} printed {printed} read {read}\n{}",
            path.layout.display(&datums),
            case.describe(path)
        );
    }
    Ok(())
}

/// The columns that a key holds: all, or those of a UNIQUE index.
fn decodable(case: &Case, path: &AccessPath, key: &[u8]) -> usize {
    let all = path.layout.columns().len();
    let Source::Index(id) = path.source else {
        return all;
    };
    let index = case.world.table.index(id).expect("the path is of the world");
    let own = index.elements.len();
    match index.unique {
        false => all,
        true => match path.layout.decode_prefix(key, own) {
            Ok(datums) if !datums.iter().any(Datum::is_null) => own,
            _ => all,
        },
    }
}

fn check_kind(case: &Case, path: &AccessPath) -> Result<(), TestCaseError> {
    match path.kind {
        ScanKind::Empty => prop_assert!(path.ranges.is_empty()),
        ScanKind::PointLookup => {
            let rows = case.world.rows.iter();
            let all: Vec<_> = rows.filter_map(|row| case.world.key(row, path.source)).collect();
            for range in &path.ranges {
                let keys: Vec<_> = all.iter().filter(|key| range.contains(key)).collect();
                prop_assert!(keys.len() <= 1, "{}", case.describe(path));
                prop_assert!(
                    keys.iter().all(|key| **key == range.start),
                    "{}",
                    case.describe(path)
                );
            }
        }
        ScanKind::Columnar => prop_assert!(path.columnar.is_some()),
        ScanKind::FullScan => prop_assert_eq!(&path.ranges, &vec![KeyRange::all()]),
        ScanKind::RangeScan => prop_assert_eq!(path.spans.len(), 1),
        ScanKind::SkipScan => prop_assert!(path.spans.len() > 1),
    }
    Ok(())
}

fn check_order(case: &Case, path: &AccessPath, delivered: &[&Row]) -> Result<(), TestCaseError> {
    let in_order = |order: &[OrderKey]| {
        delivered
            .windows(2)
            .all(|pair| compare_rows(&case.world, order, pair[0], pair[1]).is_le())
    };
    prop_assert!(
        in_order(&path.order),
        "delivers {:?}\n{}",
        path.order,
        case.describe(path)
    );
    if path.ordered {
        prop_assert!(
            in_order(&case.order),
            "choices {:?}\n{}",
            case.order,
            case.describe(path)
        );
    }
    Ok(())
}

pub fn compare_rows(world: &World, order: &[OrderKey], a: &Row, b: &Row) -> std::cmp::Ordering {
    for key in order {
        let (x, y) = (world.value(a, key.term), world.value(b, key.term));
        let ordering = match (x.is_null(), y.is_null()) {
            (true, true) => std::cmp::Ordering::Equal,
            (true, false) if key.nulls_first => std::cmp::Ordering::Less,
            (true, false) => std::cmp::Ordering::Greater,
            (false, true) if key.nulls_first => std::cmp::Ordering::Greater,
            (false, true) => std::cmp::Ordering::Less,
            (false, false) if key.descending => y.cmp(&x),
            (false, false) => x.cmp(&y),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    std::cmp::Ordering::Equal
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn planned_scan_is_full_scan_and_filter(
        definitions in numbers(100),
        rows in numbers(300),
        choices in numbers(160),
    ) {
        let case = Case::random(definitions, rows, choices);
        let query = case.query();
        for source in case.world.sources() {
            if let Some(path) = access_path(&query, source) {
                check(&case, &path)?;
            }
        }
        check(&case, &plan(&query).path)?;
    }
}
