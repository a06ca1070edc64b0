//! Bodies of functions: their names, parameters, first rows.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_catalog::{Catalog, Function, PUBLIC, TableId, ValueType};
use rukh_error::SqlError;
use rukh_syntax::sqlparser::ast::{
    self, Expr, Ident, Query, SelectItem, SetExpr, TableFactor, Value, Visitor, VisitorMut,
};
use rukh_syntax::{Statement, Walk, WalkMut, folded, make};

use crate::bind::spelling::parameters::types::written_type;
use crate::bind::spelling::parsing::parse;

/// Returns the body of a function.
pub(super) fn body(function: &Function) -> Result<Box<Query>, SqlError> {
    match parse(&function.sql)? {
        Statement::Query(query) => Ok(query),
        _ => Err(SqlError::internal(
            "a function holds another statement than a query",
        )),
    }
}

/// Returns the value that a query is, if it is `SELECT value`.
pub(crate) fn only_item(query: &Query) -> Option<Expr> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] => {
            let alone = make::select_values(vec![SelectItem::UnnamedExpr(expr.clone())]);
            let mut this = query.clone();
            if let SetExpr::Select(select) = this.body.as_mut() {
                select.projection = vec![SelectItem::UnnamedExpr(expr.clone())];
            }
            (this == alone && !has_query(expr)).then(|| expr.clone())
        }
        _ => None,
    }
}

/// Whether an expression holds a query.
pub(crate) fn has_query(expr: &Expr) -> bool {
    struct Finder;

    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }

    expr.walk(&mut Finder).is_break()
}

/// Whether an expression reads anything but constants and parameters.
pub(super) fn reads_columns(expr: &Expr) -> bool {
    struct Finder;

    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    expr.walk(&mut Finder).is_break()
}

/// Returns the names by which expressions read columns: of `t.a` that of the relation.
pub(super) fn names_read(exprs: &[Expr]) -> BTreeSet<String> {
    struct Finder(BTreeSet<String>);

    impl Visitor for Finder {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
            match expr {
                Expr::Identifier(name) => self.0.extend([folded(name)]),
                Expr::CompoundIdentifier(parts) => self.0.extend(parts.first().map(folded)),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }

    let mut finder = Finder(BTreeSet::new());
    for expr in exprs {
        let ControlFlow::Continue(()) = expr.walk(&mut finder);
    }
    finder.0
}

/// The names of all relations of a body, and of their columns.
#[derive(Default)]
pub(super) struct NamesOf {
    pub(super) relations: BTreeSet<String>,
    pub(super) columns: BTreeSet<String>,
}

/// Returns the names of a body; `None` where they are not all known without planning it.
pub(super) fn names_of(query: &Query, catalog: &Catalog) -> Option<NamesOf> {
    struct Finder<'c> {
        catalog: &'c Catalog,
        names: NamesOf,
    }

    impl Visitor for Finder<'_> {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            match query.with {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            let TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } = factor
            else {
                return match factor {
                    TableFactor::NestedJoin { alias: None, .. } => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                };
            };
            let Ok(named) = rukh_syntax::ObjectName::from_ast(name) else {
                return ControlFlow::Break(());
            };
            let schema = named.schema.as_deref().unwrap_or(PUBLIC);
            let Ok(columns) = columns_of(self.catalog, schema, &named.name) else {
                return ControlFlow::Break(());
            };
            self.names
                .columns
                .extend(columns.into_iter().map(|(name, _)| name));
            self.names.relations.extend([match alias {
                Some(alias) => folded(&alias.name),
                None => named.name,
            }]);
            let renamed = alias.iter().flat_map(|alias| &alias.columns);
            self.names
                .columns
                .extend(renamed.map(|column| folded(&column.name)));
            ControlFlow::Continue(())
        }
    }

    let mut finder = Finder {
        catalog,
        names: NamesOf::default(),
    };
    let is_known = query.walk(&mut finder).is_continue();
    is_known.then_some(finder.names)
}

/// Whether a query reads a table, by its name or by that of a view.
pub(super) fn reads(query: &Query, id: TableId, catalog: &Catalog) -> bool {
    struct Finder<'c>(&'c Catalog, TableId);

    impl Visitor for Finder<'_> {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            let TableFactor::Table { name, args: None, .. } = factor else {
                return ControlFlow::Continue(());
            };
            let Ok(name) = rukh_syntax::ObjectName::from_ast(name) else {
                return ControlFlow::Continue(());
            };
            let schema = name.schema.as_deref().unwrap_or(PUBLIC);
            let is_table = self
                .0
                .table_named(schema, &name.name)
                .is_ok_and(|table| table.id == self.1);
            let view = self.0.view_named(schema, &name.name);
            match is_table || view.is_some_and(|view| view.reads.iter().any(|(id, _)| *id == self.1)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }

    query.walk(&mut Finder(catalog, id)).is_break()
}

/// Whether a query is one SELECT of one value, as `SELECT value FROM … ORDER BY …` is.
pub(super) fn is_single(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    let item = matches!(
        select.projection.as_slice(),
        [SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }]
    );
    item && select.distinct.is_none()
}

/// Gives the value of such a query a type.
pub(super) fn typed_item(mut query: Query, ty: &ValueType) -> Query {
    if let SetExpr::Select(select) = query.body.as_mut() {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                let value = std::mem::replace(expr, Expr::Value(Value::Null.into()));
                *expr = typed(make::nested(value), ty);
            }
        }
    }
    query
}

/// Returns the first row of a query.
pub(super) fn first_row(mut query: Query) -> Query {
    let fetched = query.fetch.take().and_then(|fetch| fetch.quantity);
    let none = ast::LimitClause::LimitOffset {
        limit: fetched,
        offset: None,
        limit_by: Vec::new(),
    };
    if let ast::LimitClause::LimitOffset { limit, .. } = query.limit_clause.get_or_insert(none) {
        let one = Expr::Value(Value::Number("1".to_string(), false).into());
        let is_number =
            |limit: &Expr| matches!(limit, Expr::Value(value) if matches!(value.value, Value::Number(..)));
        *limit = Some(match limit.take() {
            Some(none) if none.to_string() == "0" => none,
            Some(other) if !is_number(&other) => make::call("least", vec![other, one]),
            _ => one,
        });
    }
    query
}

/// Returns the number of a parameter of a body, from 1.
pub(crate) fn parameter_number(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => name.strip_prefix('$')?.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Returns how often a body reads a parameter.
pub(super) fn uses(query: &Query, number: usize) -> usize {
    struct Counter {
        number: usize,
        count: usize,
    }

    impl Visitor for Counter {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
            self.count += usize::from(parameter_number(expr) == Some(self.number));
            ControlFlow::Continue(())
        }
    }

    let mut counter = Counter { number, count: 0 };
    let ControlFlow::Continue(()) = query.walk(&mut counter);
    counter.count
}

/// Puts values in the place of the parameters of a body.
pub(crate) fn substitute(node: &mut (impl WalkMut + ?Sized), values: &[Expr]) {
    struct Substituter<'v>(&'v [Expr]);

    impl VisitorMut for Substituter<'_> {
        type Break = Infallible;

        // Behind its parts: those of a value are no parts of the body.
        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
            let number = parameter_number(expr).and_then(|number| number.checked_sub(1));
            if let Some(value) = number.and_then(|at| self.0.get(at)) {
                *expr = value.clone();
            }
            ControlFlow::Continue(())
        }
    }

    let ControlFlow::Continue(()) = node.walk_mut(&mut Substituter(values));
}

/// Returns a value as one of a type.
pub(crate) fn typed(value: Expr, ty: &ValueType) -> Expr {
    make::cast(value, written(ty))
}

/// Returns the type of values as a statement has it.
fn written(ty: &ValueType) -> ast::DataType {
    match &ty.domain {
        Some(domain) => {
            let parts = [&domain.schema, &domain.name].map(|part| Ident::with_quote('"', part));
            ast::DataType::Custom(ast::ObjectName::from(parts.to_vec()), Vec::new())
        }
        None => written_type(ty.ty),
    }
}

fn is_null(expr: &Expr) -> Expr {
    Expr::IsNull(Box::new(make::nested(expr.clone())))
}

/// Returns NULL where an argument is NULL, and otherwise a value.
pub(super) fn unless_null(arguments: Vec<Expr>, value: Expr) -> Expr {
    let Some(condition) = arguments.iter().map(is_null).reduce(make::or) else {
        return make::nested(value);
    };
    make::case(vec![(condition, Expr::Value(Value::Null.into()))], Some(value))
}

pub(super) fn not_null(arguments: &[Expr]) -> Option<Expr> {
    let is_not = |expr: &Expr| Expr::IsNotNull(Box::new(make::nested(expr.clone())));
    arguments.iter().map(is_not).reduce(make::and)
}

/// Returns the columns of a table or view.
pub(crate) fn columns_of(
    catalog: &Catalog,
    schema: &str,
    name: &str,
) -> Result<Vec<(String, ValueType)>, SqlError> {
    let value = |ty| ValueType { ty, domain: None };
    if let Some(view) = catalog.view_named(schema, name) {
        let columns = view.columns.iter();
        return Ok(columns
            .map(|column| (column.name.clone(), value(column.ty)))
            .collect());
    }
    let columns = catalog.table_named(schema, name)?.declared_columns().iter();
    Ok(columns
        .map(|column| (column.name.clone(), value(column.ty)))
        .collect())
}
