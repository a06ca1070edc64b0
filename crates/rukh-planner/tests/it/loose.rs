//! Loose scans: of each group, the wanted row is among those read.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rukh_keys::{Datum, KeyGroup};
use rukh_planner::{
    AccessPath, GroupRow, Grouped, LooseScan, OrderKey, Predicate, Query, TermId, access_path, explain_text,
    plan,
};

use crate::choices::{Choices, numbers};
use crate::headline::{compare_rows, config, key_terms, may_go_unseen, random_order};
use crate::predicates::predicate;
use crate::worlds::{Row, World};

/// Draws groups: by a prefix of some key and sometimes by another column, too.
fn random_groups(choices: &mut Choices, world: &World) -> Grouped {
    let keys = key_terms(choices, world);
    let columns = &world.table.columns;
    let mut by: Vec<TermId> = keys.iter().map(|(term, _)| *term).collect();
    by.truncate(choices.below(keys.len() + 1));
    if choices.one_in(5) {
        by.push(TermId::column(choices.pick(columns).id));
    }
    if choices.one_in(4) && !by.is_empty() {
        by.remove(0);
    }
    by.sort();
    by.dedup();
    let next = keys.iter().map(|(term, _)| *term).find(|term| !by.contains(term));
    let term = match next {
        Some(term) if !choices.one_in(4) => term,
        _ => TermId::column(choices.pick(columns).id),
    };
    let row = match choices.below(6) {
        0 => GroupRow::Any,
        1 => GroupRow::Least(term),
        2 => GroupRow::Greatest(term),
        3 => GroupRow::LeastAndGreatest(term),
        _ => {
            let order: Vec<OrderKey> = random_order(choices, world);
            GroupRow::First(order)
        }
    };
    Grouped { by, row }
}

/// The rows that a loose scan reads: in the direction of the path, then from the other end.
fn run<'a>(world: &'a World, conjuncts: &[Predicate], path: &AccessPath, loose: &LooseScan) -> Vec<&'a Row> {
    let rows = world.rows.iter();
    let keyed = rows.filter_map(|row| Some((world.key(row, path.source)?, row)));
    let in_ranges = |key: &[u8]| path.ranges.iter().any(|range| range.contains(key));
    let mut read: Vec<(Vec<u8>, &Row)> = keyed
        .filter(|(key, _)| in_ranges(key) && path.masked.matches(key))
        .collect();
    read.sort();
    let left: Vec<_> = path.residual_index.iter().chain(&path.residual).collect();
    let mut found = Vec::new();
    let ends = if loose.both_ends { 2 } else { 1 };
    for end in 0..ends {
        if path.reverse != (end == 1) {
            read.reverse();
        }
        let mut group = KeyGroup::default();
        for (key, row) in &read {
            let passes = left.iter().all(|at| world.passes(row, &conjuncts[**at]));
            if passes && !group.contains(key) {
                group
                    .become_group_of(&path.layout, key, loose.columns, loose.null_tag)
                    .expect("keys of the world decode");
                found.push(*row);
            }
        }
        read.sort();
    }
    found
}

/// What is wanted of a group's rows: what two answers must agree in.
fn wanted(world: &World, groups: &Grouped, rows: &[&Row]) -> Vec<Datum> {
    let values = |term: TermId| {
        let values = rows.iter().map(|row| world.value(row, term));
        values.filter(|value| !value.is_null()).collect::<BTreeSet<_>>()
    };
    let least = |term| values(term).first().cloned().unwrap_or(Datum::Null);
    let greatest = |term| values(term).last().cloned().unwrap_or(Datum::Null);
    match &groups.row {
        GroupRow::Any => Vec::new(),
        GroupRow::Least(term) => vec![least(*term)],
        GroupRow::Greatest(term) => vec![greatest(*term)],
        GroupRow::LeastAndGreatest(term) => vec![least(*term), greatest(*term)],
        GroupRow::First(order) => {
            let first = rows.iter().min_by(|a, b| compare_rows(world, order, a, b));
            let first = first.expect("a group has rows");
            order.iter().map(|key| world.value(first, key.term)).collect()
        }
    }
}

type Groups<'a> = BTreeMap<Vec<Datum>, Vec<&'a Row>>;

fn grouped<'a>(world: &World, groups: &Grouped, rows: impl IntoIterator<Item = &'a Row>) -> Groups<'a> {
    let mut all = Groups::new();
    for row in rows {
        let by = groups.by.iter().map(|term| world.value(row, *term)).collect();
        all.entry(by).or_default().push(row);
    }
    all
}

fn check(world: &World, query: &Query<'_>, groups: &Grouped, path: &AccessPath) -> Result<(), TestCaseError> {
    let Some(loose) = &path.loose else {
        return Ok(());
    };
    let unseen = |row: &Row| {
        let mut conjuncts = query.conjuncts.iter();
        conjuncts.any(|one| may_go_unseen(world, row, one))
    };
    if world.rows.iter().any(unseen) {
        return Ok(());
    }
    let text = || format!("{groups:?}\n{}", explain_text(query, path, None));
    let read = run(world, query.conjuncts, path, loose);
    let passes = |row: &&Row| query.conjuncts.iter().all(|one| world.passes(row, one));
    prop_assert!(read.iter().all(passes), "{}", text());
    let all = grouped(world, groups, world.rows.iter().filter(passes));
    let found = grouped(world, groups, read.iter().copied());
    prop_assert_eq!(found.len(), all.len(), "{}", text());
    for (by, rows) in &all {
        let read = &found[by];
        let (expected, given) = (wanted(world, groups, rows), wanted(world, groups, read));
        prop_assert_eq!(given, expected, "group {:?}\n{}", by, text());
        prop_assert!(!loose.exact || read.len() == 1, "group {:?}\n{}", by, text());
    }
    let in_order = |order: &[OrderKey]| {
        let mut pairs = read.windows(2);
        pairs.all(|pair| compare_rows(world, order, pair[0], pair[1]).is_le())
    };
    prop_assert!(in_order(&path.order), "{}", text());
    prop_assert!(!path.ordered || in_order(query.order), "{}", text());
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn loose_scans_read_the_row_wanted_of_each_group(
        definitions in numbers(100),
        rows in numbers(300),
        query in numbers(160),
    ) {
        let world = World::random(&mut Choices::new(definitions), &mut Choices::new(rows));
        let mut choices = Choices::new(query);
        let count = choices.below(3);
        let conjuncts: Vec<Predicate> =
            (0..count).map(|_| predicate(&mut choices, &world, 2)).collect();
        let groups = random_groups(&mut choices, &world);
        let order = match choices.one_in(2) {
            true => random_order(&mut choices, &world),
            false => Vec::new(),
        };
        let query = Query {
            order: &order,
            groups: Some(&groups),
            ..world.query(&conjuncts)
        };
        for source in world.sources() {
            if let Some(path) = access_path(&query, source) {
                check(&world, &query, &groups, &path)?;
            }
        }
        check(&world, &query, &groups, &plan(&query).path)?;
    }
}
