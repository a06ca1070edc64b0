//! Partial indexes: does a query ask for rows that the index has only, and what does an entry prove?

use rukh_catalog::{Index, IndexId};

use crate::conditions::boxes::{Boxes, TermBox};
use crate::conditions::lower::lower;
use crate::conditions::predicate::Predicate;
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::Query;

/// Returns, per conjunct of the query, whether it holds for every entry of the index anyway; `None`
/// if the index may lack rows that the query asks for.
pub(crate) fn given_by_index(query: &Query<'_>, knowledge: &Knowledge, index: &Index) -> Option<Vec<bool>> {
    let nothing = vec![false; query.conjuncts.len()];
    if index.predicate.is_none() {
        return Some(nothing);
    }
    let predicate = predicate_of(query, index.id)?;
    let parts = conjuncts_of(predicate);
    let lowered: Vec<Boxes> = parts.iter().map(|part| lower(part, query)).collect();
    let implied = |(part, boxes): (&&Predicate, &Boxes)| {
        query.conjuncts.iter().any(|conjunct| conjunct == *part) || is_implied(knowledge, boxes)
    };
    if !parts.iter().zip(&lowered).all(implied) {
        return None;
    }
    let given = |(conjunct, boxes): (&Predicate, &Boxes)| {
        parts.contains(&conjunct) || (boxes.exact && lowered.iter().any(|part| all_inside(&part.list, boxes)))
    };
    Some(
        query
            .conjuncts
            .iter()
            .zip(&knowledge.conjuncts)
            .map(given)
            .collect(),
    )
}

fn predicate_of<'a>(query: &Query<'a>, index: IndexId) -> Option<&'a Predicate> {
    query
        .index_predicates
        .iter()
        .find(|(id, _)| *id == index)
        .map(|(_, predicate)| predicate)
}

fn conjuncts_of(predicate: &Predicate) -> Vec<&Predicate> {
    match predicate {
        Predicate::And(all) => all.iter().flat_map(conjuncts_of).collect(),
        other => vec![other],
    }
}

/// Whether every row that the query asks for lies in the boxes of a part.
fn is_implied(knowledge: &Knowledge, part: &Boxes) -> bool {
    let Some(known) = &knowledge.known else {
        return true;
    };
    if !part.exact {
        return false;
    }
    let with_known = |conjunct: &Boxes| -> Vec<TermBox> {
        conjunct
            .list
            .iter()
            .filter_map(|one| one.intersect(known))
            .collect()
    };
    all_inside(std::slice::from_ref(known), part)
        || knowledge
            .conjuncts
            .iter()
            .any(|conjunct| all_inside(&with_known(conjunct), part))
}

/// Whether each box lies in one of the others.
fn all_inside(boxes: &[TermBox], outer: &Boxes) -> bool {
    const WORK_MAX: usize = 65_536;
    boxes.len().saturating_mul(outer.list.len()) <= WORK_MAX
        && boxes
            .iter()
            .all(|one| outer.list.iter().any(|other| one.is_subset(other)))
}
