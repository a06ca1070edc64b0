//! What the places of parameters in a plan say of their types.
//!
//! | place                                             | type of `$1`                                  |
//! |---------------------------------------------------|-----------------------------------------------|
//! | `c = $1`, `c IN ($1)`, `c BETWEEN $1 AND 9`       | that of `c`                                   |
//! | `tags \|\| $1`, `doc -> $1`, `f($1)`, `lag(c, $1)` | what the signature takes beside the others    |
//! | `coalesce(c, $1)`, `CASE … THEN c ELSE $1 END`, `ARRAY[c, $1]`, UNION, VALUES | the common type of the others |
//! | `a[$1]`, `x = ANY (a)`                            | INTEGER, the type of the elements             |
//! | `NOT $1`, `WHERE $1`, `CASE WHEN $1`              | BOOLEAN                                       |
//! | `c LIKE $1`                                       | text                                          |
//! | `LIMIT $1`, `OFFSET $1`                           | BIGINT                                        |

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, ExprSchema};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{
    AggregateFunction, Between, Case, InList, Placeholder, ScalarFunction, WindowFunction,
};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, TypeSignature};
use rukh_functions::casts::table::Kind;
use rukh_functions::signatures::overloaded::kind;
use rukh_functions::signatures::resolve::common;
use rukh_functions::types::{data_type_of, data_type_of_arrow};
use rukh_keys::DataType;
use rukh_walk::{PlanTree, Tree};

use super::number_in;
use crate::bind::types::bound_operators::{operand, parameter_type};
use crate::bind::types::{bound_aggregates, bound_calls};

/// Functions whose result is one of their arguments.
const CHOICES: [&str; 5] = ["coalesce", "greatest", "least", "nullif", "make_array"];

/// Returns the types of parameters that a node of a plan says, by their numbers from 1. The first that is said of one counts.
pub(super) fn of_node(node: &LogicalPlan) -> Result<Vec<(usize, DataType)>, DataFusionError> {
    let mut schema = DFSchema::empty();
    for input in node.inputs() {
        schema.merge(input.schema());
    }
    let mut places = Places {
        schema: &schema,
        is_limit: matches!(node, LogicalPlan::Limit(_)),
        told: Vec::new(),
        inferred: Vec::new(),
    };
    match node {
        LogicalPlan::Union(union) => {
            places.columns_of(union.inputs.iter().map(AsRef::as_ref).collect::<Vec<_>>())
        }
        LogicalPlan::Values(values) => {
            for at in 0..values.schema.fields().len() {
                let column = values.values.iter().filter_map(|row| row.get(at));
                places.alike(column);
            }
        }
        LogicalPlan::Filter(filter) => places.is(&filter.predicate, DataType::Boolean),
        _ => {}
    }
    node.each_expression(&mut |expr| expr.each(&mut |expr| places.read(expr)))?;
    places.told.append(&mut places.inferred);
    Ok(places.told)
}

struct Places<'a> {
    schema: &'a DFSchema,
    is_limit: bool,
    told: Vec<(usize, DataType)>,
    /// What DataFusion infers, which counts last.
    inferred: Vec<(usize, DataType)>,
}

impl Places<'_> {
    fn read(&mut self, expr: &Expr) -> Result<TreeNodeRecursion, DataFusionError> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => {
                self.compare(left, right);
                self.compare(right, left);
            }
            Expr::InList(InList { expr, list, .. }) => {
                list.iter().for_each(|item| self.compare(item, expr));
                list.iter().for_each(|item| self.compare(expr, item));
            }
            Expr::Between(Between { expr, low, high, .. }) => {
                self.compare(low, expr);
                self.compare(high, expr);
                self.compare(expr, low);
            }
            Expr::Not(of)
            | Expr::IsTrue(of)
            | Expr::IsFalse(of)
            | Expr::IsNotTrue(of)
            | Expr::IsNotFalse(of) => {
                self.is(of, DataType::Boolean);
            }
            Expr::Like(like) | Expr::SimilarTo(like) => {
                // Whatever DataFusion infers of it.
                let of_bytes = operand(&like.expr, self.schema) == Some(Some(Kind::Bytes));
                if let Expr::Placeholder(Placeholder { id, .. }) = like.pattern.as_ref()
                    && !of_bytes
                {
                    self.told
                        .extend(number_in(id).map(|number| (number, DataType::Varchar(None))));
                }
            }
            Expr::Case(case) => self.read_case(case),
            Expr::ScalarFunction(call) => self.read_call(call),
            Expr::AggregateFunction(AggregateFunction { func, params }) => {
                self.read_signature(func.name(), false, &params.args);
            }
            Expr::WindowFunction(window) => {
                let WindowFunction { fun, params } = window.as_ref();
                self.read_signature(fun.name(), true, &params.args);
            }
            Expr::Placeholder(Placeholder { id, field }) => {
                let ty = field.as_ref().map(|field| data_type_of(field));
                let ty = if self.is_limit { Some(DataType::BigInt) } else { ty };
                self.inferred.extend(number_in(id).zip(ty));
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn read_case(&mut self, case: &Case) {
        let Case {
            expr,
            when_then_expr,
            else_expr,
        } = case;
        for (when, _) in when_then_expr {
            match expr {
                Some(value) => {
                    self.compare(when, value);
                    self.compare(value, when);
                }
                None => self.is(when, DataType::Boolean),
            }
        }
        let results = when_then_expr.iter().map(|(_, then)| then.as_ref());
        self.alike(results.chain(else_expr.as_deref()));
    }

    fn read_call(&mut self, call: &ScalarFunction) {
        let name = call.func.name();
        if CHOICES.contains(&name) {
            return self.alike(call.args.iter());
        }
        if let Some(kinds) = bound_calls::taken(call, self.schema) {
            return self.are(&call.args, &kinds);
        }
        match (call.args.as_slice(), &call.func.signature().type_signature) {
            ([array, places @ ..], _) if matches!(name, "array_element" | "array_slice") => {
                let is_array = matches!(operand(array, self.schema), Some(Some(Kind::Array(_))));
                let places = places.iter().filter(|_| is_array);
                places.for_each(|place| self.is(place, DataType::Integer));
            }
            (ends, _) if name == "generate_series" => self.read_series(ends),
            ([value, array], _) if name.starts_with("any_") || name.starts_with("all_") => {
                if let Some(Some(Kind::Array(element))) = operand(array, self.schema) {
                    self.are(std::slice::from_ref(value), &[*element]);
                }
            }
            (args, TypeSignature::Exact(types)) => {
                for (arg, ty) in args.iter().zip(types) {
                    self.is(arg, data_type_of_arrow(ty));
                }
            }
            _ => {}
        }
    }

    fn read_series(&mut self, arguments: &[Expr]) {
        let kinds = arguments
            .iter()
            .filter_map(|expr| operand(expr, self.schema).flatten());
        let Some(kind) = common(kinds.filter(|kind| *kind != Kind::Interval)) else {
            return;
        };
        let (end, step) = match kind {
            Kind::SmallInt => (Kind::Integer, Kind::Integer),
            Kind::Date => (Kind::TimestampTz, Kind::Interval),
            Kind::Timestamp | Kind::TimestampTz => (kind, Kind::Interval),
            kind => (kind, kind),
        };
        self.are(arguments, &[end, end, step]);
    }

    fn read_signature(&mut self, name: &str, is_window: bool, args: &[Expr]) {
        if let Some(kinds) = bound_aggregates::taken(name, is_window, args, self.schema) {
            self.are(args, &kinds);
        }
    }

    /// Gives parameters the types that a signature takes in their places.
    fn are(&mut self, args: &[Expr], kinds: &[Kind]) {
        for (arg, kind) in args.iter().zip(kinds) {
            if let Some(ty) = parameter_type(*kind) {
                self.is(arg, ty);
            }
        }
    }

    /// Gives a parameter a type, if an expression is one.
    fn is(&mut self, expr: &Expr, ty: DataType) {
        self.told.extend(open_number(expr).map(|number| (number, ty)));
    }

    /// Gives the parameters among expressions the common type of the others.
    fn alike<'e>(&mut self, all: impl Iterator<Item = &'e Expr>) {
        let all: Vec<&Expr> = all.collect();
        let kinds = all.iter().filter_map(|expr| operand(expr, self.schema).flatten());
        let Some(ty) = common(kinds).and_then(parameter_type) else {
            return;
        };
        all.into_iter().for_each(|expr| self.is(expr, ty));
    }

    /// Gives parameters that are columns of queries the common type of that column in the other queries.
    fn columns_of(&mut self, queries: Vec<&LogicalPlan>) {
        let width = queries.first().map_or(0, |query| query.schema().fields().len());
        for at in 0..width {
            let columns = queries.iter().map(|query| column(query, at));
            let columns: Vec<Result<usize, Option<Kind>>> = columns.collect();
            let kinds = columns.iter().filter_map(|column| column.err().flatten());
            if let Some(ty) = common(kinds).and_then(parameter_type) {
                let numbers = columns.iter().filter_map(|column| column.ok());
                self.told.extend(numbers.map(|number| (number, ty)));
            }
        }
    }

    /// Gives a parameter the type of what it is compared with.
    fn compare(&mut self, parameter: &Expr, with: &Expr) {
        let Expr::Placeholder(Placeholder { id, .. }) = parameter else {
            return;
        };
        let ty = match with {
            Expr::Placeholder(_) => None,
            Expr::Column(column) => {
                let field = self.schema.field_from_column(column);
                field.ok().map(|field| data_type_of(field))
            }
            other => {
                // A UUID that is cast to text is one to its field.
                let is_cast = matches!(other, Expr::Cast(_) | Expr::TryCast(_));
                let kind = operand(other, self.schema).flatten().filter(|_| !is_cast);
                kind.and_then(parameter_type).or_else(|| {
                    let ty = other.get_type(self.schema).ok().filter(|ty| !ty.is_null())?;
                    Some(data_type_of_arrow(&ty))
                })
            }
        };
        self.told.extend(number_in(id).zip(ty));
    }
}

/// Returns the number of a parameter without a type that is all of an expression.
fn open_number(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Alias(alias) => open_number(&alias.expr),
        Expr::Placeholder(Placeholder { id, field: None }) => number_in(id),
        _ => None,
    }
}

/// Returns the number of the parameter that a column of a query is, or else its type, where it has one.
fn column(query: &LogicalPlan, at: usize) -> Result<usize, Option<Kind>> {
    let of_field = || kind(query.schema().field(at), None).ok().flatten();
    match query {
        LogicalPlan::Projection(projection) => match open_number(&projection.expr[at]) {
            Some(number) => Ok(number),
            None => Err(operand(unaliased(&projection.expr[at]), projection.input.schema()).flatten()),
        },
        LogicalPlan::SubqueryAlias(alias) => column(&alias.input, at),
        LogicalPlan::Distinct(distinct) => column(distinct.input(), at),
        LogicalPlan::Sort(sort) => column(&sort.input, at),
        LogicalPlan::Limit(limit) => column(&limit.input, at),
        _ => Err(of_field()),
    }
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        expr => expr,
    }
}

fn compares(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}
