//! Spellings of one condition must read the same keys: permuted conjuncts, flipped operators, repeated
//! arms, `AND 1 = 1`, double NOT, IN spelled as OR, constants as parameters, one AND of all.

use proptest::prelude::*;
use rukh_keys::{DataType, Datum};
use rukh_planner::{
    AccessPath, CompareOp, Constant, Operand, Predicate, Query, ScanKind, Source, access_path, bind,
    explain_text,
};

use crate::choices::{Choices, numbers};
use crate::headline::config;
use crate::predicates::{leaf, predicate};
use crate::worlds::World;

/// A way to say the same.
type Spelling = (&'static str, fn(&[Predicate]) -> Vec<Predicate>);

const SPELLINGS: [Spelling; 8] = [
    ("permuted", |conjuncts| {
        conjuncts.iter().rev().map(permuted).collect()
    }),
    ("flipped", |conjuncts| conjuncts.iter().map(flipped).collect()),
    ("repeated", |conjuncts| {
        conjuncts
            .iter()
            .flat_map(|one| [one.clone(), repeated(one)])
            .collect()
    }),
    ("and 1 = 1", |conjuncts| {
        conjuncts.iter().cloned().chain([one_is_one()]).collect()
    }),
    ("double not", |conjuncts| {
        conjuncts.iter().map(|one| not(not(one.clone()))).collect()
    }),
    ("in as or", |conjuncts| conjuncts.iter().map(in_as_or).collect()),
    ("one and", |conjuncts| vec![Predicate::And(conjuncts.to_vec())]),
    ("parameters", |conjuncts| {
        let mut constants = Vec::new();
        let prepared: Vec<_> = conjuncts
            .iter()
            .map(|one| as_parameters(one, &mut constants))
            .collect();
        prepared.iter().map(|one| bind(one, &constants)).collect()
    }),
];

fn not(predicate: Predicate) -> Predicate {
    Predicate::Not(Box::new(predicate))
}

fn one_is_one() -> Predicate {
    let one = || Operand::Constant(Constant::new(Datum::Int(1), DataType::Integer));
    Predicate::compare(CompareOp::Eq, one(), one())
}

fn repeated(predicate: &Predicate) -> Predicate {
    Predicate::Or(vec![predicate.clone(), predicate.clone()])
}

/// Rewrites the parts of a tree, leaves first.
fn rewritten(predicate: &Predicate, rewrite: &mut dyn FnMut(Predicate) -> Predicate) -> Predicate {
    let whole = match predicate {
        Predicate::And(parts) => Predicate::And(parts.iter().map(|one| rewritten(one, rewrite)).collect()),
        Predicate::Or(parts) => Predicate::Or(parts.iter().map(|one| rewritten(one, rewrite)).collect()),
        Predicate::Not(inner) => not(rewritten(inner, rewrite)),
        leaf => leaf.clone(),
    };
    rewrite(whole)
}

fn permuted(predicate: &Predicate) -> Predicate {
    let reversed = |mut parts: Vec<Predicate>| {
        parts.reverse();
        parts
    };
    rewritten(predicate, &mut |one| match one {
        Predicate::And(parts) => Predicate::And(reversed(parts)),
        Predicate::Or(parts) => Predicate::Or(reversed(parts)),
        other => other,
    })
}

fn flipped(predicate: &Predicate) -> Predicate {
    rewritten(predicate, &mut |one| match one {
        Predicate::Compare { op, left, right } => Predicate::compare(op.flipped(), right, left),
        Predicate::RowCompare { op, left, right } => Predicate::RowCompare {
            op: op.flipped(),
            left: right,
            right: left,
        },
        other => other,
    })
}

fn in_as_or(predicate: &Predicate) -> Predicate {
    rewritten(predicate, &mut |one| match one {
        Predicate::In {
            operand,
            list,
            negated,
        } => {
            let equal = |one: Operand| Predicate::compare(CompareOp::Eq, operand.clone(), one);
            let any = Predicate::Or(list.into_iter().map(equal).collect());
            if negated { not(any) } else { any }
        }
        other => other,
    })
}

fn as_parameters(predicate: &Predicate, constants: &mut Vec<Constant>) -> Predicate {
    let mut parameter = |operand: Operand| match operand {
        Operand::Constant(constant) => {
            constants.push(constant);
            Operand::Parameter(constants.len() - 1)
        }
        other => other,
    };
    rewritten(predicate, &mut |one| match one {
        Predicate::Compare { op, left, right } => Predicate::compare(op, parameter(left), parameter(right)),
        Predicate::In {
            operand,
            list,
            negated,
        } => Predicate::In {
            operand,
            list: list.into_iter().map(&mut parameter).collect(),
            negated,
        },
        Predicate::Like {
            operand,
            pattern,
            escape,
            case_insensitive,
            negated,
        } => Predicate::Like {
            operand,
            pattern: parameter(pattern),
            escape,
            case_insensitive,
            negated,
        },
        other => other,
    })
}

/// The keys of a source.
fn keys_of(world: &World, source: Source) -> Vec<Vec<u8>> {
    world
        .rows
        .iter()
        .filter_map(|row| world.key(row, source))
        .collect()
}

/// How many keys the ranges hold.
fn keys_examined(keys: &[Vec<u8>], path: &AccessPath) -> usize {
    let is_read = |key: &&Vec<u8>| path.ranges.iter().any(|range| range.contains(key));
    keys.iter().filter(is_read).count()
}

fn describe(query: &Query<'_>, path: &AccessPath) -> String {
    format!("{:?}\n{}", query.conjuncts, explain_text(query, path, None))
}

/// Fewer cases than others by default: each plans eight spellings on every source.
fn few() -> ProptestConfig {
    let usual = config();
    let cases = match std::env::var("PROPTEST_CASES") {
        Ok(_) => usual.cases,
        Err(_) => usual.cases / 2,
    };
    ProptestConfig { cases, ..usual }
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn spellings_read_the_same_keys(
        definitions in numbers(60),
        rows in numbers(200),
        query in numbers(100),
    ) {
        let world = World::random(&mut Choices::new(definitions), &mut Choices::new(rows));
        let mut choices = Choices::new(query);
        let count = 1 + choices.below(3);
        let conjuncts: Vec<_> = (0..count).map(|_| predicate(&mut choices, &world, 2)).collect();
        let query = world.query(&conjuncts);
        for source in world.sources() {
            let Some(path) = access_path(&query, source) else { continue };
            let all = keys_of(&world, source);
            let keys = keys_examined(&all, &path);
            for (name, spell) in SPELLINGS {
                let spelled = spell(&conjuncts);
                let other = world.query(&spelled);
                let Some(second) = access_path(&other, source) else { continue };
                let others = keys_examined(&all, &second);
                let ranges = path.ranges.len().max(second.ranges.len());
                prop_assert!(
                    keys.abs_diff(others) <= ranges,
                    "{name}: {keys} and {others} keys\n{}\n{}",
                    describe(&query, &path),
                    describe(&other, &second)
                );
            }
        }
    }

    #[test]
    fn contradictions_read_nothing(definitions in numbers(60), query in numbers(40)) {
        let world = World::random(&mut Choices::new(definitions), &mut Choices::new(Vec::new()));
        let mut choices = Choices::new(query);
        let one = leaf(&mut choices, &world);
        let alone = [one.clone()];
        let tight = world.sources().into_iter().any(|source| {
            access_path(&world.query(&alone), source).is_some_and(|path| path.residual.is_empty())
        });
        let both = [one.clone(), not(one)];
        for source in world.sources() {
            let query = world.query(&both);
            if let (true, Some(path)) = (tight, access_path(&query, source)) {
                prop_assert_eq!(path.kind, ScanKind::Empty, "{}", describe(&query, &path));
                prop_assert!(path.ranges.is_empty());
            }
        }
    }
}
