//! The calls of a statement that is visited, and what they become.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use rukh_catalog::{Catalog, Function, PUBLIC, Returns, TableId, ValueType, Volatility};
use rukh_error::SqlError;
use rukh_functions::signatures::table;
use rukh_syntax::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArguments, Ident, Query, Select, SelectItem, TableAlias, TableFactor,
    TableWithJoins, Value, Visitor, VisitorMut,
};
use rukh_syntax::{HIDDEN, TEMPORARY, Walk, WalkMut, folded, make, quoted};

use super::bodies::{
    body, columns_of, first_row, has_query, is_single, names_of, names_read, not_null, only_item, reads,
    reads_columns, substitute, typed, typed_item, unless_null, uses,
};
use crate::bind::names::outer_names;
use crate::bind::spelling::named_arguments::by_place;
use crate::bind::spelling::parsing::parse_expression;

/// Most calls that one statement may stand for, those within bodies counted each time.
const CALLS_MAX: usize = 500;

/// Most bodies inside of one another.
const DEPTH_MAX: usize = 32;

/// Built-in functions that give another value whenever they are called.
const VOLATILE: &[&str] = &[
    "clock_timestamp",
    "gen_random_uuid",
    "nextval",
    "pg_sleep",
    "random",
    "setval",
    "timeofday",
    "uuid",
    "uuid_generate_v4",
    "uuidv4",
    "uuidv7",
];

/// How schemas of temporary relations begin.
pub(crate) const OF_TEMPORARY: &str = "pg_temp_";

/// Whether a schema is one of temporary relations. Functions without a schema are not looked for in it, wherever it is in a path, as in
/// PostgreSQL.
pub(crate) fn is_temporary(schema: &str) -> bool {
    schema.starts_with(OF_TEMPORARY)
}

/// The calls of a statement that is being visited.
pub(crate) struct Calls<'a> {
    catalog: &'a Catalog,
    /// The schemas in which a name without a schema is looked for.
    path: &'a [String],
    /// Whether calls stay, with the schemas of what they call: the text of a view follows its functions.
    pub(crate) stay: bool,
    /// The table that the statement changes.
    pub(crate) changed: Option<TableId>,
    /// Whether each of the expressions and FROM items that the visit is inside of was a call.
    inside: Vec<bool>,
    count: usize,
    /// Numbers of calls: those of one function with the same arguments have one, so that GROUP BY finds them to be the same.
    numbers: HashMap<String, usize>,
    /// That of the call that is replaced.
    number: usize,
    /// The relations in FROM of the SELECTs that the visit is inside of.
    scopes: Vec<Vec<Scoped>>,
    /// Names that a WITH of the statement has.
    with: BTreeSet<String>,
}

/// A relation in FROM.
struct Scoped {
    name: Ident,
    columns: Vec<String>,
}

impl<'a> Calls<'a> {
    /// Starts where a statement does.
    pub(crate) fn new(catalog: &'a Catalog, path: &'a [String]) -> Self {
        Calls {
            catalog,
            path,
            stay: false,
            changed: None,
            inside: Vec::new(),
            count: 0,
            numbers: HashMap::new(),
            number: 0,
            scopes: Vec::new(),
            with: BTreeSet::new(),
        }
    }

    /// Takes note of the names that WITH gives to queries.
    pub(crate) fn enter_query(&mut self, query: &Query) {
        self.with.extend(outer_names::names_of_with(query));
    }

    /// Takes note of the relations of a SELECT, and gives its calls their names. [`Calls::leave_select`] follows behind its parts.
    pub(crate) fn enter_select(&mut self, select: &mut Select) {
        self.name_items(&mut select.projection);
        let joined = select.from.iter().flat_map(|from| {
            let joined = from.joins.iter().map(|join| &join.relation);
            std::iter::once(&from.relation).chain(joined)
        });
        // One that is not known may have any column.
        let scope = joined
            .map(|factor| self.scoped(factor))
            .collect::<Option<Vec<Scoped>>>();
        self.scopes.push(scope.unwrap_or_default());
    }

    /// Follows the parts of a SELECT.
    pub(crate) fn leave_select(&mut self) {
        self.scopes.pop();
    }

    fn scoped(&self, factor: &TableFactor) -> Option<Scoped> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
        else {
            return None;
        };
        let named = rukh_syntax::ObjectName::from_ast(name).ok()?;
        if named.schema.is_none() && self.with.contains(&named.name) {
            return None;
        }
        let is_in = |schema: &&String| columns_of(self.catalog, schema, &named.name).is_ok();
        let schema = named.schema.as_ref().or_else(|| self.path.iter().find(is_in))?;
        let columns = columns_of(self.catalog, schema, &named.name).ok()?;
        let columns = columns.into_iter().map(|(name, _)| name).collect();
        match alias {
            Some(alias) if !alias.columns.is_empty() => None,
            Some(alias) => Some(Scoped {
                name: alias.name.clone(),
                columns,
            }),
            None => Some(Scoped {
                name: Ident::with_quote('"', named.name),
                columns,
            }),
        }
    }

    /// Qualifies columns of arguments by the relations that they are of, where those are known.
    fn qualify(&self, arguments: &mut [Expr]) {
        struct Qualifier<'s>(&'s [Scoped]);

        impl VisitorMut for Qualifier<'_> {
            type Break = Infallible;

            fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
                let Expr::Identifier(column) = expr else {
                    return ControlFlow::Continue(());
                };
                let name = folded(column);
                let mut of = self.0.iter().filter(|relation| relation.columns.contains(&name));
                if let (Some(relation), None) = (of.next(), of.next()) {
                    *expr = Expr::CompoundIdentifier(vec![relation.name.clone(), column.clone()]);
                }
                ControlFlow::Continue(())
            }
        }

        if let Some(scope) = self.scopes.last() {
            for argument in arguments.iter_mut().filter(|argument| !has_query(argument)) {
                let ControlFlow::Continue(()) = argument.walk_mut(&mut Qualifier(scope));
            }
        }
    }

    /// Puts a body in the place of an expression that is a call. [`Calls::leave`] follows behind its parts.
    pub(crate) fn enter_expr(&mut self, expr: &mut Expr) -> Result<(), SqlError> {
        let called = match expr {
            Expr::Function(call) => self.called(&call.name, call_arguments(call))?,
            _ => None,
        };
        self.enter(called.as_ref())?;
        let (Some((function, arguments)), Expr::Function(call)) = (called, &mut *expr) else {
            return Ok(());
        };
        if let Some(clause) = aggregate_clause(call) {
            let kind = if clause == "OVER" {
                "a window function nor an"
            } else {
                "an"
            };
            let message = format!(
                "{clause} specified, but {} is not {kind} aggregate function",
                function.name
            );
            return Err(SqlError::statement("42809", message));
        }
        if function.returns.is_set() {
            let message = format!(
                "function {} gives rows, and is called in FROM only",
                function.name
            );
            return Err(SqlError::unsupported(message));
        }
        match self.stay {
            true => call.name = stored_name(&function.schema, &function.name),
            false => *expr = self.value(&function, arguments)?,
        }
        Ok(())
    }

    /// As [`Calls::enter_expr`], of a FROM item.
    pub(crate) fn enter_factor(&mut self, factor: &mut TableFactor) -> Result<(), SqlError> {
        let called = match factor {
            TableFactor::Table {
                name,
                args: Some(args),
                ..
            } => self.called(name, Some(&args.args))?,
            TableFactor::Function { name, args, .. } => self.called(name, Some(args))?,
            _ => None,
        };
        self.enter(called.as_ref())?;
        let Some((function, arguments)) = called else {
            return Ok(());
        };
        match factor {
            TableFactor::Table { name, .. } | TableFactor::Function { name, .. } if self.stay => {
                *name = stored_name(&function.schema, &function.name);
            }
            TableFactor::Table {
                alias,
                with_ordinality: false,
                sample: None,
                version: None,
                ..
            }
            | TableFactor::Function {
                alias,
                with_ordinality: false,
                ..
            } => *factor = self.rows(&function, arguments, alias.take())?,
            _ => {
                let message = format!(
                    "this form of a call of {} in FROM is not supported",
                    function.name
                );
                return Err(SqlError::unsupported(message));
            }
        }
        Ok(())
    }

    fn enter(&mut self, called: Option<&(Arc<Function>, Vec<Expr>)>) -> Result<(), SqlError> {
        self.inside.push(called.is_some());
        let Some((function, arguments)) = called else {
            return Ok(());
        };
        let mut call = function.id.0.to_string();
        for argument in arguments {
            call.push_str(&format!(" {argument}"));
        }
        let next = self.numbers.len();
        self.number = *self.numbers.entry(call).or_insert(next);
        self.count += 1;
        if self.count > CALLS_MAX {
            let message = format!("the statement stands for more than {CALLS_MAX} calls of functions");
            return Err(SqlError::statement("54001", message));
        }
        if self.inside.iter().filter(|inside| **inside).count() > DEPTH_MAX {
            let message = format!("functions are called more than {DEPTH_MAX} deep inside of one another");
            return Err(SqlError::statement("54001", message)
                .with_hint("A function that calls itself is not supported."));
        }
        Ok(())
    }

    /// Follows an expression or a FROM item.
    pub(crate) fn leave(&mut self) {
        self.inside.pop();
    }

    /// Gives calls in a select list the names of their functions.
    pub(crate) fn name_items(&self, items: &mut [SelectItem]) {
        for item in items {
            if let SelectItem::UnnamedExpr(expr) = item
                && let Some(name) = self.name_of(expr)
            {
                *item = SelectItem::ExprWithAlias {
                    expr: std::mem::replace(expr, Expr::Value(Value::Null.into())),
                    alias: Ident::with_quote('"', name),
                };
            }
        }
    }

    /// Returns the name of the function that an expression calls, perhaps under casts.
    fn name_of(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => self.name_of(inner),
            Expr::Function(call) => {
                let (function, _) = self.called(&call.name, call_arguments(call)).ok()??;
                Some(function.name.clone())
            }
            _ => None,
        }
    }

    /// Returns the function that a call is of, with the arguments for its parameters; `None` for what the database does not define.
    pub(super) fn called(
        &self,
        name: &ast::ObjectName,
        arguments: Option<&[FunctionArg]>,
    ) -> Result<Option<(Arc<Function>, Vec<Expr>)>, SqlError> {
        let Some(arguments) = arguments else {
            return Ok(None);
        };
        let parts: Vec<String> = name
            .0
            .iter()
            .filter_map(|part| part.as_ident())
            .map(folded)
            .collect();
        let (schemas, name) = match parts.as_slice() {
            [name] if is_built_in(name, arguments.len()) => return Ok(None),
            [name] => (self.path, name),
            [schema, name] if schema == TEMPORARY => {
                let mut own = self.path.iter().filter(|schema| is_temporary(schema));
                (own.next().map_or(&[][..], std::slice::from_ref), name)
            }
            [schema, name] => (std::slice::from_ref(schema), name),
            _ => return Ok(None),
        };
        let is_searched = |schema: &&String| parts.len() > 1 || !is_temporary(schema);
        for schema in schemas.iter().filter(is_searched) {
            let all = self.catalog.functions_named(schema, name);
            let mut fit = all.filter_map(|function| {
                let names: Vec<Option<&str>> = function
                    .parameters
                    .iter()
                    .map(|parameter| parameter.name.as_deref())
                    .collect();
                let given = by_place(&names, arguments)?;
                let pairs = given.into_iter().zip(&function.parameters);
                let all = pairs.map(|(given, parameter)| {
                    given.or_else(|| parse_expression(parameter.default.as_deref()?).ok())
                });
                Some((function, all.collect::<Option<Vec<Expr>>>()?))
            });
            let Some((function, arguments)) = fit.next() else {
                continue;
            };
            if fit.next().is_some() {
                let message = format!("function {name} is not unique: several take these arguments");
                return Err(SqlError::statement("42725", message));
            }
            let pairs = arguments.into_iter().zip(&function.parameters);
            let arguments = pairs
                .map(|(argument, parameter)| typed(argument, &parameter.ty))
                .collect();
            return Ok(Some((function.clone(), arguments)));
        }
        Ok(None)
    }

    /// Returns the value of a call.
    fn value(&self, function: &Function, mut arguments: Vec<Expr>) -> Result<Expr, SqlError> {
        let Returns::Value(ty) = &function.returns else {
            return Err(SqlError::internal(
                "a function that gives rows is called for a value",
            ));
        };
        let mut query = body(function)?;
        self.check_volatile(function, &query, &arguments)?;
        self.check_unchanged(function, &query)?;
        if function.inlines {
            let Some(mut expr) = only_item(query.as_ref()) else {
                return Err(SqlError::internal(
                    "a function that is an expression has another body",
                ));
            };
            substitute(&mut expr, &arguments);
            let value = typed(make::nested(expr), ty);
            return Ok(match function.strict {
                true => unless_null(arguments, value),
                false => make::nested(value),
            });
        }
        self.number(&mut query);
        self.qualify(&mut arguments);
        if !self.may_capture(&query, &arguments) && is_single(&query) {
            substitute(query.as_mut(), &arguments);
            let value = Expr::Subquery(Box::new(typed_item(first_row(*query), ty)));
            return Ok(match function.strict {
                true => unless_null(arguments, value),
                false => value,
            });
        }
        *query = first_row(*query);
        let from = self.from(&mut query, arguments, 1);
        let column = Expr::CompoundIdentifier(vec![relation(BODY, self.number), column(0)]);
        let item = SelectItem::UnnamedExpr(typed(column, ty));
        let query = make::select_from(
            vec![item],
            from.relations,
            from.condition.filter(|_| function.strict),
        );
        Ok(Expr::Subquery(Box::new(query)))
    }

    /// Gives the relations of a body names that no other body of the statement has, where all its names are known.
    fn number(&self, query: &mut Query) {
        if let Some(names) = names_of(query, self.catalog) {
            outer_names::number(query, self.number, &names.columns);
        }
    }

    /// Whether a name in the arguments could be taken for one of a body.
    fn may_capture(&self, query: &Query, arguments: &[Expr]) -> bool {
        let read = names_read(arguments);
        if read.is_empty() {
            return false;
        }
        match names_of(query, self.catalog) {
            Some(known) => {
                let is_known = |name| known.columns.contains(name) || known.relations.contains(name);
                read.iter().any(is_known)
            }
            None => true,
        }
    }

    /// Returns the rows of a call, as an item of FROM.
    fn rows(
        &self,
        function: &Function,
        arguments: Vec<Expr>,
        alias: Option<TableAlias>,
    ) -> Result<TableFactor, SqlError> {
        let lateral = arguments.iter().any(reads_columns);
        // The only column has the name of the item.
        let name = alias
            .as_ref()
            .map_or_else(|| function.name.clone(), |alias| folded(&alias.name));
        let columns: Vec<(String, ValueType)> = match &function.returns {
            Returns::Value(ty) | Returns::Values(ty) => vec![(name.clone(), ty.clone())],
            Returns::Table(columns) => columns.clone(),
            Returns::Relation { schema, name } => columns_of(self.catalog, schema, name)?,
        };
        let named = |expr, name: &str| SelectItem::ExprWithAlias {
            expr,
            alias: Ident::with_quote('"', name),
        };
        let query = match &function.returns {
            Returns::Value(_) => make::select_values(vec![named(self.value(function, arguments)?, &name)]),
            _ => {
                let mut query = body(function)?;
                self.check_volatile(function, &query, &arguments)?;
                self.check_unchanged(function, &query)?;
                self.number(&mut query);
                let from = self.from(&mut query, arguments, columns.len());
                let items = columns.iter().enumerate().map(|(at, (name, ty))| {
                    let value = Expr::CompoundIdentifier(vec![relation(BODY, self.number), column(at)]);
                    named(typed(value, ty), name)
                });
                make::select_from(
                    items.collect(),
                    from.relations,
                    from.condition.filter(|_| function.strict),
                )
            }
        };
        let mut relation = make::derived(query, &name, Vec::new()).relation;
        if let TableFactor::Derived {
            lateral: is_lateral,
            alias: own,
            ..
        } = &mut relation
        {
            *is_lateral = lateral;
            *own = alias.or(own.take());
        }
        Ok(relation)
    }

    /// Returns the FROM that has the rows of a body, whose columns get names of their own.
    fn from(&self, query: &mut Box<Query>, mut arguments: Vec<Expr>, columns: usize) -> From {
        self.qualify(&mut arguments);
        let mut relations = Vec::new();
        let lateral = arguments.iter().any(reads_columns);
        let condition = match self.may_capture(query, &arguments) {
            false => {
                substitute(query.as_mut(), &arguments);
                not_null(&arguments)
            }
            true => {
                let names = |at| Expr::CompoundIdentifier(vec![relation(ARGUMENTS, self.number), column(at)]);
                let names: Vec<Expr> = (0..arguments.len()).map(names).collect();
                substitute(query.as_mut(), &names);
                let item = |(at, expr)| SelectItem::ExprWithAlias {
                    expr,
                    alias: column(at),
                };
                let row = make::select_values(arguments.into_iter().enumerate().map(item).collect());
                relations.push(make::derived(
                    row,
                    &relation(ARGUMENTS, self.number).value,
                    Vec::new(),
                ));
                not_null(&names)
            }
        };
        let names = (0..columns).map(column).collect();
        let mut rows = make::derived(query.as_ref().clone(), &relation(BODY, self.number).value, names);
        if let TableFactor::Derived {
            lateral: is_lateral, ..
        } = &mut rows.relation
        {
            *is_lateral = lateral;
        }
        relations.push(rows);
        From { relations, condition }
    }

    /// Fails where a function would have to see what the statement has changed so far, as those do that are VOLATILE.
    fn check_unchanged(&self, function: &Function, query: &Query) -> Result<(), SqlError> {
        let Some(changed) = self
            .changed
            .filter(|_| function.volatility == Volatility::Volatile)
        else {
            return Ok(());
        };
        match reads(query, changed, self.catalog) {
            false => Ok(()),
            true => Err(SqlError::unsupported(format!(
                "a statement that changes a table which VOLATILE function {} reads is not supported",
                function.name
            ))
            .with_hint(
                "Declare the function STABLE: it reads the table as it was before the statement then.",
            )),
        }
    }

    /// Fails where an argument gives another value whenever it is computed, and would not be computed once.
    fn check_volatile(&self, function: &Function, query: &Query, arguments: &[Expr]) -> Result<(), SqlError> {
        for (at, argument) in arguments.iter().enumerate() {
            let is_once = function.inlines && !function.strict && uses(query, at + 1) == 1;
            if !is_once && self.is_volatile(argument, 0) {
                let message = format!(
                    "a volatile argument of function {} is not supported",
                    function.name
                );
                return Err(SqlError::unsupported(message)
                    .with_detail("Its body does not compute the argument exactly once."));
            }
        }
        Ok(())
    }

    /// Whether an expression calls a function that gives another value whenever it is called.
    fn is_volatile(&self, expr: &Expr, depth: usize) -> bool {
        struct Finder<'f, 'a> {
            calls: &'f Calls<'a>,
            depth: usize,
        }

        impl Visitor for Finder<'_, '_> {
            type Break = ();

            fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
                let Expr::Function(call) = expr else {
                    return ControlFlow::Continue(());
                };
                let is_volatile = match self.calls.called(&call.name, call_arguments(call)) {
                    Ok(Some((function, _))) => {
                        let body = body(&function).ok().and_then(|query| only_item(&query));
                        let within = |body: Expr| self.calls.is_volatile(&body, self.depth + 1);
                        self.depth >= DEPTH_MAX || body.is_some_and(within)
                    }
                    _ => VOLATILE.contains(&call.name.to_string().to_ascii_lowercase().as_str()),
                };
                match is_volatile {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            }
        }

        expr.walk(&mut Finder { calls: self, depth }).is_break()
    }
}

/// What the rows of a body come from.
struct From {
    relations: Vec<TableWithJoins>,
    /// Whether no argument is NULL.
    condition: Option<Expr>,
}

/// The relation of the arguments of a call.
const ARGUMENTS: &str = "arguments";

/// The relation of the rows of a body.
const BODY: &str = "rows";

/// Names a relation as no statement can.
fn relation(what: &str, number: usize) -> Ident {
    Ident::with_quote('"', format!("{what}{HIDDEN}{number}"))
}

/// Names a column as no statement can.
fn column(at: usize) -> Ident {
    Ident::with_quote('"', format!("value{HIDDEN}{at}"))
}

/// Names a function as stored queries do: without its schema if that is `public`, and no other function is found first.
pub(super) fn stored_name(schema: &str, name: &str) -> ast::ObjectName {
    let ident = |name: &str| match quoted(name) == name {
        true => Ident::new(name),
        false => Ident::with_quote('"', name),
    };
    let is_hidden = table::functions().contains_key(name) || table::aggregate(name).is_some();
    match schema {
        PUBLIC if !is_hidden => ast::ObjectName::from(vec![ident(name)]),
        schema => ast::ObjectName::from(vec![ident(schema), ident(name)]),
    }
}

fn call_arguments(call: &ast::Function) -> Option<&[FunctionArg]> {
    match &call.args {
        FunctionArguments::List(list) => Some(&list.args),
        _ => None,
    }
}

/// Returns the clause of a call that only calls of aggregates have.
fn aggregate_clause(call: &ast::Function) -> Option<&'static str> {
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    match () {
        () if list.duplicate_treatment.is_some() => Some("DISTINCT"),
        () if !call.within_group.is_empty() => Some("WITHIN GROUP"),
        () if !list.clauses.is_empty() => Some("ORDER BY"),
        () if call.filter.is_some() => Some("FILTER"),
        () if call.over.is_some() || call.null_treatment.is_some() => Some("OVER"),
        () => None,
    }
}

/// Whether PostgreSQL has a function of this name that takes so many arguments, which is found first.
fn is_built_in(name: &str, count: usize) -> bool {
    let known = table::functions().get(name).map_or(&[][..], Vec::as_slice);
    let aggregates = table::aggregate(name).unwrap_or_default();
    known
        .iter()
        .chain(aggregates)
        .any(|overload| overload.arguments.len() == count)
}
