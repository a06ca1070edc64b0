//! Which columns of a relation a statement uses, as far as its tree shows it.
//!
//! | written                                   | uses                                             |
//! |-------------------------------------------|--------------------------------------------------|
//! | `a`                                       | the column of each relation that has it           |
//! | `t.a`                                     | the column of the relation that is called so      |
//! | `t`, `t.*`                                | all of its columns                                |
//! | `*`, NATURAL JOIN                         | all of the relations of the SELECT                |
//! | `USING (a)`                               | as `a`                                           |
//!
//! A name may be of another relation, or of an output column; then more rights are needed than in PostgreSQL, never fewer.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_syntax::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, JoinConstraint, JoinOperator, ObjectName, Select,
    SelectItem, SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins, Visitor,
};
use rukh_syntax::{Walk, folded};

use crate::bind::names::outer_names::name_of;

/// Columns of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    /// All of them.
    All,
    /// Those of some names; a relation need not have all of them.
    Named {
        names: BTreeSet<String>,
        /// Names that its first columns have here.
        aliases: Vec<String>,
    },
}

impl Columns {
    /// Returns the columns of these names.
    pub(super) fn named(names: BTreeSet<String>) -> Columns {
        let aliases = Vec::new();
        Columns::Named { names, aliases }
    }

    /// Returns the columns of a list; all of them if there is none.
    pub(super) fn listed(names: impl IntoIterator<Item = String>) -> Columns {
        let names: BTreeSet<String> = names.into_iter().collect();
        match names.is_empty() {
            true => Columns::All,
            false => Columns::named(names),
        }
    }

    /// Whether a column is among them, by its place and its name.
    pub(super) fn contain(&self, at: usize, name: &str) -> bool {
        match self {
            Columns::All => true,
            Columns::Named { names, aliases } => names.contains(aliases.get(at).map_or(name, String::as_str)),
        }
    }
}

/// The names that a statement uses.
#[derive(Clone, Default)]
pub(super) struct Uses {
    names: BTreeSet<String>,
    qualified: BTreeSet<(String, String)>,
    /// Relations of which all is used.
    whole: BTreeSet<String>,
}

impl Uses {
    /// Returns the names that a part of a statement uses.
    pub(super) fn of(part: &impl Walk) -> Uses {
        let mut uses = Uses::default();
        uses.add(part);
        uses
    }

    /// Adds the names that another part uses.
    pub(super) fn add(&mut self, part: &impl Walk) {
        let ControlFlow::Continue(()) = part.walk(self);
    }

    /// Returns what is used of a relation of FROM.
    pub(super) fn of_relation(&self, factor: &TableFactor) -> Columns {
        let mut columns = self.of_named(&name_of(factor).unwrap_or_default());
        if let (
            TableFactor::Table {
                alias: Some(alias), ..
            },
            Columns::Named { aliases, .. },
        ) = (factor, &mut columns)
        {
            *aliases = alias.columns.iter().map(|column| folded(&column.name)).collect();
        }
        columns
    }

    /// Returns what is used of a relation of a name.
    pub(super) fn of_named(&self, name: &str) -> Columns {
        if self.whole.contains(name) || self.names.contains(name) {
            return Columns::All;
        }
        let qualified = self.qualified.iter().filter(|(relation, _)| relation == name);
        let qualified = qualified.map(|(_, column)| column.clone());
        Columns::named(self.names.iter().cloned().chain(qualified).collect())
    }

    /// Adds the columns by which relations are joined.
    pub(super) fn add_joins(&mut self, from: &[TableWithJoins]) {
        for join in from.iter().flat_map(|item| &item.joins) {
            if let Some(JoinConstraint::Using(names)) = constraint(&join.join_operator) {
                self.names.extend(names.iter().filter_map(last));
            }
        }
    }
}

/// Whether all columns of the relations of a FROM are used, whatever else is said of them.
pub(super) fn has_star(items: &[SelectItem], from: &[TableWithJoins]) -> bool {
    items.iter().any(|item| matches!(item, SelectItem::Wildcard(_))) || from.iter().any(is_natural)
}

/// Whether relations are joined by all names that they have in common.
fn is_natural(item: &TableWithJoins) -> bool {
    let within = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin {
            table_with_joins: inner,
            ..
        } => is_natural(inner),
        _ => false,
    };
    let by_all = |join: &JoinOperator| matches!(constraint(join), Some(JoinConstraint::Natural));
    within(&item.relation)
        || item
            .joins
            .iter()
            .any(|join| by_all(&join.join_operator) || within(&join.relation))
}

fn constraint(join: &JoinOperator) -> Option<&JoinConstraint> {
    use JoinOperator::{CrossJoin, FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
    match join {
        Join(on) | Inner(on) | CrossJoin(on) | Left(on) | LeftOuter(on) => Some(on),
        Right(on) | RightOuter(on) | FullOuter(on) => Some(on),
        _ => None,
    }
}

fn last(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(folded)
}

impl Visitor for Uses {
    type Break = Infallible;

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Infallible> {
        self.add_joins(&select.from);
        for item in &select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
            {
                self.whole.extend(last(name));
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Infallible> {
        if let TableFactor::NestedJoin {
            table_with_joins: inner,
            ..
        } = factor
        {
            self.add_joins(std::slice::from_ref(inner));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::Identifier(name) => {
                self.names.insert(folded(name));
            }
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., relation, column] => {
                    self.qualified.insert((folded(relation), folded(column)));
                }
                [name] => {
                    self.names.insert(folded(name));
                }
                [] => {}
            },
            Expr::QualifiedWildcard(name, _) => self.whole.extend(last(name)),
            Expr::Function(function) => {
                if let FunctionArguments::List(list) = &function.args {
                    for argument in &list.args {
                        if let FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) = argument {
                            self.whole.extend(last(name));
                        }
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
