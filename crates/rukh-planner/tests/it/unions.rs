//! Unions give the rows of the query, each of them once.

use proptest::prelude::*;
use rukh_planner::{Planner, Predicate, Query};

use crate::choices::{Choices, numbers};
use crate::headline::{config, may_go_unseen, run};
use crate::predicates::predicate;
use crate::worlds::{Row, World};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn paths_of_a_union_give_each_row_once(
        definitions in numbers(100),
        rows in numbers(300),
        query in numbers(160),
    ) {
        let world = World::random(&mut Choices::new(definitions), &mut Choices::new(rows));
        let mut choices = Choices::new(query);
        let arms = (0..2 + choices.below(3)).map(|_| predicate(&mut choices, &world, 1));
        let mut conjuncts = vec![Predicate::Or(arms.collect())];
        if choices.one_in(2) {
            conjuncts.push(predicate(&mut choices, &world, 2));
        }
        let query = Query { hints: &[], ..world.query(&conjuncts) };
        let planner = Planner::new(&query);
        let best = planner.choose(&query).path;
        if let Some(union) = planner.union(&query, &best) {
            let read = union.arms.iter().flat_map(|arm| run(&world, &arm.conjuncts, &arm.path));
            let mut read: Vec<&Row> = read.collect();
            read.sort();
            let passes = |row: &&Row| conjuncts.iter().all(|one| world.passes(row, one));
            let unseen = |row: &Row| conjuncts.iter().any(|one| may_go_unseen(&world, row, one));
            read.retain(|row| passes(row) || !unseen(row));
            let mut wanted: Vec<&Row> = world.rows.iter().filter(passes).collect();
            wanted.sort();
            prop_assert_eq!(read, wanted);
            prop_assert!(union.arms.len() > 1 && union.estimate.cost < best.estimate.cost);
        }
    }
}
