//! The quick ways give the plans of the general one: a planner made before, paths not looked at, the
//! read of one key.

use proptest::prelude::*;
use rukh_catalog::Table;
use rukh_planner::{
    CommonValues, CompareOp, Hint, Histogram, Operand, Planner, Predicate, Query, ScanKind, Source,
    Statistics, Target, TermId, TermStatistics, access_path, access_path_on, explain_text, plan,
};

use crate::choices::{Choices, numbers};
use crate::domains::constant;
use crate::headline::{config, random_order};
use crate::predicates::predicate;
use crate::worlds::World;

/// An equality for each element of the key, and perhaps one or two other conditions.
fn key_equalities(choices: &mut Choices, world: &World) -> Vec<Predicate> {
    let columns = world
        .table
        .primary_key
        .iter()
        .flat_map(|element| element.expr.columns());
    let mut conjuncts: Vec<Predicate> = columns
        .map(|id| {
            let ty = world.table.columns[id.0 as usize].ty;
            let constant = Operand::Constant(constant(choices, ty));
            match choices.one_in(4) {
                false => Predicate::compare(CompareOp::Eq, Operand::column(id), constant),
                true => Predicate::compare(CompareOp::Eq, constant, Operand::column(id)),
            }
        })
        .collect();
    for _ in 0..choices.below(3) {
        let at = choices.below(conjuncts.len() + 1);
        conjuncts.insert(at, predicate(choices, world, 1));
    }
    conjuncts
}

fn random_statistics(choices: &mut Choices, world: &World) -> Statistics {
    let mut statistics = Statistics::UNKNOWN;
    if choices.one_in(2) {
        statistics.rows = Some(*choices.pick(&[0, 1, 2, 30, 5_000, 10_000_000]));
    }
    let indexes = world.table.indexes.iter().map(|index| Source::Index(index.id));
    for source in indexes.chain([Source::Table]) {
        if choices.one_in(4) {
            statistics
                .changes
                .insert(source, *choices.pick(&[0, 1_024, 1 << 20]));
        }
    }
    for column in &world.table.columns {
        if choices.one_in(2) {
            let mut values: Vec<_> = (0..choices.below(6))
                .map(|_| constant(choices, column.ty).datum)
                .collect();
            let bounds = values.split_off(choices.below(values.len() + 1));
            let shares = [0.4, 0.05, 0.001].into_iter().cycle();
            let common = CommonValues::new(values.into_iter().zip(shares).collect());
            let known = TermStatistics {
                distinct: Some(*choices.pick(&[0, 1, 7, 100_000])),
                null_share: choices.one_in(2).then_some(0.3),
                common,
                histogram: Histogram::new(bounds),
                ..TermStatistics::default()
            };
            statistics.terms.insert(TermId::column(column.id), known);
        }
    }
    statistics
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn quick_ways_give_the_plans_of_the_general_one(
        definitions in numbers(80),
        query in numbers(160),
    ) {
        let world = World::random(&mut Choices::new(definitions), &mut Choices::new(Vec::new()));
        let mut choices = Choices::new(query);
        let conjuncts = match choices.one_in(2) {
            true => key_equalities(&mut choices, &world),
            false => (0..choices.below(4)).map(|_| predicate(&mut choices, &world, 2)).collect(),
        };
        let order = random_order(&mut choices, &world);
        let statistics = random_statistics(&mut choices, &world);
        let needed: Vec<_> = world.table.columns.iter().take(choices.below(4)).map(|c| c.id).collect();
        let hints = match choices.below(10) {
            8 => vec![Hint::NoIndex],
            9 => vec![Hint::SkipScan],
            _ => Vec::new(),
        };
        let query = Query {
            order: &order,
            statistics: &statistics,
            needed: &needed,
            hints: &hints,
            limit: choices.one_in(3).then_some(*choices.pick(&[0, 1, 10])),
            ..world.query(&conjuncts)
        };
        let planner = Planner::new(&world.query(&[]));
        let (quick, general) = (planner.choose(&query), plan(&query));
        prop_assert_eq!(
            format!("{:?}", quick.path),
            format!("{:?}", general.path),
            "{}",
            explain_text(&query, &general.path, None)
        );
        prop_assert_eq!(quick.notices, general.notices);
        for source in world.sources() {
            let target = Target::new(&query, source).expect("sources of the world can be read");
            let quick = access_path_on(&query, &target);
            prop_assert_eq!(format!("{quick:?}"), format!("{:?}", access_path(&query, source)));
        }
        // Indexes that are gone are not read.
        let bare = Table { indexes: Vec::new(), ..world.table.clone() };
        let later = Query { table: &bare, ..query };
        prop_assert_eq!(
            format!("{:?}", planner.choose(&later).path),
            format!("{:?}", plan(&later).path)
        );
        // One key of the table, or none, is read from the table.
        let table = access_path(&query, rukh_planner::Source::Table).expect("a table can be read");
        let single = table.kind == ScanKind::PointLookup && table.ranges.len() == 1;
        if hints.is_empty() && (single || table.kind == ScanKind::Empty) {
            prop_assert_eq!(general.path.source, rukh_planner::Source::Table);
        }
    }
}

#[test]
fn planners_are_shared_between_threads() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Planner>();
}
