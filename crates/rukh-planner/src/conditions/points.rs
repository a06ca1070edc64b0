//! Lists of plain comparisons, lowered arm by arm without lists of boxes in between.
//!
//! `a = 1 AND b = 2 OR a = 3 AND b = 4 OR …` and `(a, b) IN ((1, 2), (3, 4), …)` are one box per arm,
//! and there may be thousands of arms, in queries of programs that have a list of keys. An arm of
//! comparisons of columns (or index expressions) with constants is made a box at once. What the
//! general way gives is the same:
//!
//! | arm                 | box          | because                                         |
//! |---------------------|--------------|-------------------------------------------------|
//! | a = 1 AND b > 2     | a 1; b from 3| a comparison of a term with a constant is exact |
//! | a = NULL AND b = 2  | none         | the arm is never true                           |
//! | a = 1 AND a = 2     | none         | nothing is in both                              |
//! | a >= -128 (TINYINT) | all          | nothing is left out                             |
//!
//! Arms that say the same of a term share one set, so that later steps compare addresses.
//!
//! Deliberately not here: functions, parameters, comparisons of terms: `None`, and the arm goes the
//! general way.

use std::collections::HashMap;
use std::sync::Arc;

use rukh_keys::{DataType, Datum};

use crate::conditions::boxes::TermBox;
use crate::conditions::domain::place;
use crate::conditions::interval::IntervalSet;
use crate::conditions::mix::BuildMix;
use crate::conditions::predicate::{CompareOp, Constant, Operand, Predicate};
use crate::conditions::term::{TermId, TermTypes};
use crate::conditions::value::constant_value;

/// The sets of comparisons met so far.
pub(crate) struct PointLists<'a> {
    types: &'a dyn TermTypes,
    known: HashMap<(TermId, CompareOp, DataType, &'a Datum), Said, BuildMix>,
}

/// Most comparisons that are remembered: what arms share, they share early.
const KNOWN_MAX: usize = 1_024;

/// What a comparison says of its term.
#[derive(Clone)]
enum Said {
    /// It is never true.
    Nothing,
    /// It is always true.
    Everything,
    /// It holds for these values.
    Set(Arc<IntervalSet>),
}

/// An arm as a box; `None` inside if it is never true.
type Arm = Option<TermBox>;

impl<'a> PointLists<'a> {
    pub(crate) fn new(types: &'a dyn TermTypes) -> PointLists<'a> {
        PointLists {
            types,
            known: HashMap::default(),
        }
    }

    /// Lowers a part of an OR; `None` if it is not plain comparisons.
    pub(crate) fn arm(&mut self, part: &'a Predicate, negated: bool) -> Option<Arm> {
        match part {
            Predicate::Compare { op, left, right } => {
                let op = if negated { op.negated() } else { *op };
                let mut arm = Some(TermBox::everything());
                self.narrow(&mut arm, op, left, right)?;
                Some(arm)
            }
            Predicate::Not(inner) => self.arm(inner, !negated),
            Predicate::And(all) if !negated => self.conjunction(all, negated),
            Predicate::Or(all) if negated => self.conjunction(all, negated),
            _ => None,
        }
    }

    fn conjunction(&mut self, all: &'a [Predicate], negated: bool) -> Option<Arm> {
        let mut arm = Some(TermBox::with_capacity(all.len()));
        for part in all {
            let Predicate::Compare { op, left, right } = part else {
                return None;
            };
            let op = if negated { op.negated() } else { *op };
            self.narrow(&mut arm, op, left, right)?;
        }
        Some(arm)
    }

    /// Lowers an element of a list of row values.
    pub(crate) fn row(&mut self, left: &'a [Operand], row: &'a [Operand]) -> Option<Arm> {
        if left.len() != row.len() || left.is_empty() {
            return None;
        }
        let mut arm = Some(TermBox::with_capacity(left.len()));
        for (left, right) in left.iter().zip(row) {
            self.narrow(&mut arm, CompareOp::Eq, left, right)?;
        }
        Some(arm)
    }

    /// Narrows an arm by a comparison; `None` if it is not of a term with a constant.
    fn narrow(&mut self, arm: &mut Arm, op: CompareOp, left: &'a Operand, right: &'a Operand) -> Option<()> {
        let (term, op, constant) = match (left, right) {
            (Operand::Term(term), Operand::Constant(constant)) => (*term, op, constant),
            (Operand::Constant(constant), Operand::Term(term)) => (*term, op.flipped(), constant),
            _ => return None,
        };
        let said = self.said(term, op, constant)?;
        let left_over = match (arm.as_mut(), said) {
            (None, _) | (_, Said::Everything) => return Some(()),
            (Some(_), Said::Nothing) => false,
            (Some(one), Said::Set(set)) => one.narrow_term(term, &set),
        };
        if !left_over {
            *arm = None;
        }
        Some(())
    }

    /// What a comparison says; `None` if the two do not compare.
    fn said(&mut self, term: TermId, op: CompareOp, constant: &'a Constant) -> Option<Said> {
        if constant.datum.is_null() {
            return Some(Said::Nothing);
        }
        let question = (term, op, constant.ty, &constant.datum);
        if let Some(known) = self.known.get(&question) {
            return Some(known.clone());
        }
        let of = self.types.term_type(term)?;
        let value = constant_value(&constant.datum, constant.ty, of.ty)?;
        let set = place(of.ty, &value)?.set(op);
        let said = match set {
            set if set.is_empty() => Said::Nothing,
            set if set.is_everything(of.nullable) => Said::Everything,
            set => Said::Set(Arc::new(set)),
        };
        if self.known.len() < KNOWN_MAX {
            self.known.insert(question, said.clone());
        }
        Some(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::boxes::Boxes;
    use crate::conditions::lower::lower;
    use crate::conditions::term::TermType;
    use rukh_catalog::ColumnId;

    /// Two TINYINTs, the second of which may be NULL.
    struct Types;

    impl TermTypes for Types {
        fn term_type(&self, term: TermId) -> Option<TermType> {
            let nullable = term == TermId::column(ColumnId(1));
            Some(TermType {
                ty: DataType::TinyInt,
                nullable,
            })
        }
    }

    const OPS: [CompareOp; 6] = [
        CompareOp::Eq,
        CompareOp::NotEq,
        CompareOp::Lt,
        CompareOp::LtEq,
        CompareOp::Gt,
        CompareOp::GtEq,
    ];

    fn comparisons() -> Vec<Predicate> {
        let constants = [Some(-128), Some(127), Some(5), Some(1000), None];
        let datum = |value: Option<i64>| value.map_or(Datum::Null, Datum::Int);
        let mut all = Vec::new();
        for column in [0, 1].map(|id| Operand::column(ColumnId(id))) {
            for op in OPS {
                for value in constants {
                    let constant = Operand::Constant(Constant::new(datum(value), DataType::BigInt));
                    all.push(Predicate::compare(op, column.clone(), constant.clone()));
                    all.push(Predicate::compare(op, constant, column.clone()));
                }
            }
        }
        all
    }

    /// The boxes of an arm, without OR around it: never through here.
    fn in_general(arm: &Predicate, negated: bool) -> Boxes {
        match negated {
            false => lower(arm, &Types),
            true => lower(&Predicate::Not(Box::new(arm.clone())), &Types),
        }
    }

    #[test]
    fn arms_are_the_boxes_of_the_general_way() {
        let all = comparisons();
        let pairs = all.iter().flat_map(|a| all.iter().map(move |b| [a, b]));
        let pairs = pairs.map(|pair| pair.map(Clone::clone).to_vec());
        let single = all.iter().map(|one| vec![one.clone()]);
        let mut none = 0;
        for parts in pairs.chain(single) {
            for (arm, negated) in [
                (Predicate::And(parts.clone()), false),
                (Predicate::Or(parts.clone()), true),
            ] {
                let mut lists = PointLists::new(&Types);
                let quick = lists.arm(&arm, negated).expect("plain comparisons");
                let general = in_general(&arm, negated);
                assert!(general.exact, "{arm:?}");
                assert_eq!(
                    quick.clone().into_iter().collect::<Vec<_>>(),
                    general.list,
                    "{arm:?}"
                );
                none += usize::from(quick.is_none());
            }
        }
        assert!(none > 1000, "{none}");
    }

    #[test]
    fn what_is_not_plain_goes_the_general_way() {
        let (a, b) = (Operand::column(ColumnId(0)), Operand::column(ColumnId(1)));
        let mut lists = PointLists::new(&Types);
        let of_terms = Predicate::compare(CompareOp::Eq, a.clone(), b.clone());
        assert!(lists.arm(&of_terms, false).is_none());
        let parameter = Predicate::compare(CompareOp::Eq, a.clone(), Operand::Parameter(0));
        assert!(lists.arm(&parameter, false).is_none());
        let text = Predicate::compare(CompareOp::Eq, a.clone(), Operand::text("x"));
        assert!(lists.arm(&text, false).is_none());
        let rows = [a, b];
        assert!(lists.row(&rows, &rows[..1]).is_none());
        assert!(lists.row(&rows[..0], &rows[..0]).is_none());
    }
}
