//! One column, every type, every constant, every operator: no chance involved.

use rukh_catalog::{
    Column, ColumnId, FamilyId, Index, IndexDraft, IndexId, IndexState, KeyElement, KeyExpr, TableDraft,
    TableId, validate_index, validate_table,
};
use rukh_keys::{DataType, Datum, SortOrder};
use rukh_planner::{CompareOp, Constant, Operand, Predicate, Source, access_path, explain_text};

use crate::domains::{comparable_types, types, values};
use crate::worlds::World;

const OPS: [CompareOp; 6] = [
    CompareOp::Eq,
    CompareOp::NotEq,
    CompareOp::Lt,
    CompareOp::LtEq,
    CompareOp::Gt,
    CompareOp::GtEq,
];

/// A table of one column `a` of a type and a key `id`, with an index on `a` in each direction.
fn world(ty: DataType, nullable: bool) -> World {
    let column = |id: u32, name: &str, ty, nullable| Column {
        id: ColumnId(id),
        name: name.to_string(),
        ty,
        nullable,
        default: None,
        family: FamilyId(0),
        values: Default::default(),
    };
    let key = |id, order| KeyElement {
        expr: KeyExpr::Column(ColumnId(id)),
        order,
    };
    let draft = TableDraft {
        schema: "public".to_string(),
        name: "t".to_string(),
        columns: vec![
            column(0, "a", ty, nullable),
            column(1, "id", DataType::Integer, false),
        ],
        primary_key: vec![key(1, SortOrder::Asc)],
        ..TableDraft::default()
    };
    let mut table = validate_table(draft, TableId(1)).expect("the draft is valid");
    for (id, order) in [(10, SortOrder::Asc), (11, SortOrder::Desc)] {
        let draft = IndexDraft {
            name: format!("i{id}"),
            unique: false,
            nulls_distinct: true,
            constraint: false,
            elements: vec![key(0, order)],
            include: Vec::new(),
            predicate: None,
            layout: Default::default(),
        };
        let index = validate_index(draft, &table, IndexId(id)).expect("the draft is valid");
        table.indexes.push(Index {
            state: IndexState::Ready,
            ..index
        });
    }
    let nulls = nullable.then_some(Datum::Null);
    let stored = values(ty).into_iter().chain(nulls).enumerate();
    let rows = stored
        .map(|(id, value)| vec![value, Datum::Int(id as i64)])
        .collect();
    World {
        table,
        expressions: Vec::new(),
        index_predicates: Vec::new(),
        rows,
    }
}

/// A world, and the keys of its rows in each index.
struct Indexed {
    world: World,
    keys: Vec<Vec<Vec<u8>>>,
}

impl Indexed {
    fn new(world: World) -> Indexed {
        let key = |row, id| world.key(row, Source::Index(id)).expect("no index is partial");
        let of_index = |index: &Index| world.rows.iter().map(|row| key(row, index.id)).collect();
        let keys = world.table.indexes.iter().map(of_index).collect();
        Indexed { world, keys }
    }
}

/// Checks one condition on both indexes; `tight` asks that nothing is left to check.
fn check(indexed: &Indexed, predicate: Predicate, tight: bool) {
    let Indexed { world, keys } = indexed;
    let conjuncts = [predicate];
    let query = world.query(&conjuncts);
    let ty = world.table.columns[0].ty;
    let wanted: Vec<bool> = world
        .rows
        .iter()
        .map(|row| world.passes(row, &conjuncts[0]))
        .collect();
    for (index, keys) in world.table.indexes.iter().zip(keys) {
        let path = access_path(&query, Source::Index(index.id)).expect("the index is ready");
        let describe = || format!("a {ty}: {conjuncts:?}\n{}", explain_text(&query, &path, None));
        let is_read = |key| path.ranges.iter().any(|range| range.contains(key)) && path.masked.matches(key);
        let is_open = !path.residual.is_empty() || !path.residual_index.is_empty();
        for (key, wanted) in keys.iter().zip(&wanted) {
            let found = is_read(key) && (!is_open || *wanted);
            assert_eq!(found, *wanted, "{}", describe());
        }
        let open = is_open || !path.masked_tests.is_empty();
        assert!(!tight || !open, "{}", describe());
    }
}

fn worlds() -> impl Iterator<Item = (DataType, Indexed)> {
    types()
        .into_iter()
        .flat_map(|ty| [false, true].map(|nullable| (ty, Indexed::new(world(ty, nullable)))))
}

fn a() -> Operand {
    Operand::column(ColumnId(0))
}

#[test]
fn every_comparison_with_every_constant_is_tight() {
    for (ty, world) in worlds() {
        for other in comparable_types(ty) {
            for datum in values(other).into_iter().chain([Datum::Null]) {
                let constant = || Operand::Constant(Constant::new(datum.clone(), other));
                for op in OPS {
                    check(&world, Predicate::compare(op, a(), constant()), true);
                    let row = |operand| vec![operand, Operand::column(ColumnId(1))];
                    let id = Operand::Constant(Constant::new(Datum::Int(2), DataType::Integer));
                    let pair = Predicate::RowCompare {
                        op,
                        left: row(a()),
                        right: vec![constant(), id],
                    };
                    // `(a, id) <> (NULL, 2)` says `id <> 2` and nothing of a: no span can prove that.
                    let speaks_of_a = |of| of != CompareOp::NotEq || !datum.is_null();
                    check(&world, pair.clone(), speaks_of_a(op));
                    check(&world, Predicate::Not(Box::new(pair)), speaks_of_a(op.negated()));
                }
                for negated in [false, true] {
                    let (left, right) = (a(), constant());
                    check(&world, Predicate::IsDistinct { left, right, negated }, true);
                    let list = vec![constant(), constant()];
                    check(
                        &world,
                        Predicate::In {
                            operand: a(),
                            list,
                            negated,
                        },
                        true,
                    );
                }
            }
        }
    }
}

#[test]
fn every_text_constant_reads_as_the_other_type() {
    for (ty, world) in worlds() {
        for datum in values(ty) {
            let text = Operand::text(ty.format_text(&datum));
            for op in OPS {
                check(&world, Predicate::compare(op, text.clone(), a()), true);
            }
        }
    }
}

#[test]
fn every_pattern_finds_its_texts() {
    let patterns = [
        "a%", "a", "ab%", "a_", "%b", "%", "", "a\\%", "é%", "a b%", "ab %", " %", "ab ", "abc%", "_",
    ];
    let high = ["\u{10ffff}%", "\u{10ffff}", "a\u{10ffff}%", "b\u{7f}%", "aé%"];
    let texts = |(ty, _): &(DataType, Indexed)| ty.is_text() || ty.is_bytes();
    for (ty, world) in worlds().filter(texts) {
        for pattern in patterns.iter().chain(&high) {
            for (case_insensitive, negated) in [(false, false), (false, true), (true, false), (true, true)] {
                let (operand, pattern) = (a(), Operand::text(*pattern));
                let like = Predicate::Like {
                    operand,
                    pattern,
                    escape: None,
                    case_insensitive,
                    negated,
                };
                check(&world, like, false);
            }
            let prefix = pattern.trim_end_matches('%');
            let starts = Predicate::StartsWith {
                operand: a(),
                prefix: Operand::text(prefix),
            };
            check(&world, starts.clone(), ty.is_text());
            check(&world, Predicate::Not(Box::new(starts)), ty.is_text());
        }
    }
}
