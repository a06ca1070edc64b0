//! Queries, INSERT, UPSERT, UPDATE and DELETE: read by sqlparser, then checked.
//!
//! sqlparser reads clauses of a dozen databases, and DataFusion passes over many of them in silence
//! (`SELECT INTO` and `FOR UPDATE` in a subquery, hints of MySQL …). A clause that would be ignored is refused here.
//! `FETCH FIRST n ROWS ONLY` becomes LIMIT. Hints and TABLESAMPLE stay in the tree.

use std::ops::ControlFlow;

use sqlparser::ast::{
    self, Expr, Fetch, FromTable, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, LimitClause,
    ObjectName, ObjectNamePart, OnConflict, OnConflictAction, OnInsert, Query, Select, SetExpr, TableFactor,
    TableObject, TableWithJoins, Value, VisitorMut,
};
use sqlparser::parser::Parser;

use super::merge::merge;
use super::reader::Reader;
use super::writes::writes;
use crate::StatementError;
use crate::nodes::{Walk, WalkMut, depth};
use crate::text::{Period, is_reserved, quoted, with_ties};
use crate::tree::{
    CreateTableStatement, DeleteStatement, InsertStatement, Overriding, Statement, TEMPORARY, TableSource,
    UpdateStatement,
};

/// Reads a query, or a statement that writes with WITH before it.
pub(crate) fn query(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    if reader.with_has_writes() {
        return writes(reader);
    }
    if reader.with_opens_write() {
        return write_after_with(reader);
    }
    let position = reader.position();
    let mut query = reader.parse(Parser::parse_query)?;
    limit_behind_locks(reader, &mut query)?;
    let into = into_of(&mut query.body);
    // Rows are locked by the statement itself, never within it.
    let locks = std::mem::take(&mut query.locks);
    let mut query = checked(reader, *query, position)?;
    match into {
        Some(into) if locks.is_empty() => select_into(&into, query, position),
        Some(_) => {
            Err(StatementError::unsupported("SELECT INTO that locks rows is not supported").at(position))
        }
        None => {
            query.locks = locks;
            Ok(Statement::Query(Box::new(query)))
        }
    }
}

/// Takes INTO of the first SELECT of a query.
fn into_of(body: &mut SetExpr) -> Option<ast::SelectInto> {
    match body {
        SetExpr::Select(select) => select.into.take(),
        SetExpr::SetOperation { left, .. } => into_of(left),
        _ => None,
    }
}

/// Makes CREATE TABLE … AS of SELECT … INTO.
fn select_into(into: &ast::SelectInto, query: Query, position: usize) -> Result<Statement, StatementError> {
    let mut name = crate::tree::ObjectName::from_ast(&into.name).map_err(|error| error.at(position))?;
    if into.temporary {
        name.schema = Some(TEMPORARY.to_string());
    }
    let mut table = CreateTableStatement::of(name, false);
    table.source = Some(TableSource {
        names: Vec::new(),
        query: Box::new(query),
        with_data: true,
    });
    Ok(Statement::CreateTable(Box::new(table)))
}

/// Reads LIMIT, OFFSET and FETCH that stand behind FOR UPDATE, as they may in PostgreSQL.
fn limit_behind_locks(reader: &mut Reader<'_>, query: &mut Query) -> Result<(), StatementError> {
    let is_free = query.limit_clause.is_none() && query.fetch.is_none();
    if query.locks.is_empty() || !is_free {
        return Ok(());
    }
    let (mut limit, mut offset) = (None, None);
    loop {
        if limit.is_none() && reader.accept(&["limit"]) {
            limit = reader.parse(Parser::parse_limit)?;
        } else if offset.is_none() && reader.accept(&["offset"]) {
            offset = Some(reader.parse(Parser::parse_offset)?);
        } else if limit.is_none() && query.fetch.is_none() && reader.accept(&["fetch"]) {
            query.fetch = Some(reader.parse(Parser::parse_fetch)?);
        } else {
            break;
        }
    }
    if limit.is_some() || offset.is_some() {
        query.limit_clause = Some(LimitClause::LimitOffset {
            limit,
            offset,
            limit_by: Vec::new(),
        });
    }
    Ok(())
}

/// Reads a query that must not write, such as that of a COPY.
pub(crate) fn read_only_query(reader: &mut Reader<'_>) -> Result<Box<Query>, StatementError> {
    let position = reader.position();
    let query = reader.parse(Parser::parse_query)?;
    checked(reader, *query, position).map(Box::new)
}

/// Reads INSERT INTO or UPSERT INTO.
pub(crate) fn insert(reader: &mut Reader<'_>, with: Option<ast::With>) -> Result<Statement, StatementError> {
    let position = reader.position();
    let upsert = reader.peeks(&["upsert"]);
    let verb = reader.take();
    if upsert {
        reader.respell(&["duplicate", "key", "ignore"], &["CONFLICT", "DO", "NOTHING"]);
    }
    let overriding = match () {
        () if reader.take_out(&["overriding", "system", "value"]) => Some(Overriding::System),
        () if reader.take_out(&["overriding", "user", "value"]) => Some(Overriding::User),
        () => None,
    };
    reader.bare_values();
    let arbiter = reader.arbiter_condition()?;
    let statement = reader.parse(|parser| parser.parse_insert(verb))?;
    let ast::Statement::Insert(mut ast) = statement else {
        return Err(StatementError::unsupported("INSERT OVERWRITE DIRECTORY is not supported").at(position));
    };
    // Values are evaluated one by one, each under the WITH of the statement.
    if let (Some(with), Some(source)) = (&with, &mut ast.source)
        && !matches!(*source.body, SetExpr::Values(_))
    {
        put_with(source, with.clone());
    }
    check_insert(&ast, upsert, position)?;
    settle(reader, &mut ast, position)?;
    Ok(Statement::Insert(Box::new(InsertStatement {
        with,
        ast,
        upsert,
        overriding,
        arbiter,
    })))
}

/// Reads UPDATE.
pub(crate) fn update(reader: &mut Reader<'_>, with: Option<ast::With>) -> Result<Statement, StatementError> {
    let position = reader.position();
    let verb = reader.take();
    match reader.parse(|parser| parser.parse_update(verb))? {
        ast::Statement::Update(update) => update_statement(reader, update, with, position),
        _ => Err(StatementError::internal("UPDATE was read as another statement")),
    }
}

/// Reads DELETE.
pub(crate) fn delete(reader: &mut Reader<'_>, with: Option<ast::With>) -> Result<Statement, StatementError> {
    let position = reader.position();
    let verb = reader.take();
    match reader.parse(|parser| parser.parse_delete(verb))? {
        ast::Statement::Delete(delete) => delete_statement(reader, delete, with, position),
        _ => Err(StatementError::internal("DELETE was read as another statement")),
    }
}

/// Reads WITH and the statement that writes after it.
fn write_after_with(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    let position = reader.position();
    let with_token = reader.take();
    let recursive = reader.accept(&["recursive"]);
    let cte_tables = reader.list(|reader| reader.parse(Parser::parse_cte))?;
    let mut with = Some(ast::With {
        with_token: with_token.into(),
        recursive,
        cte_tables,
    });
    settle(reader, &mut with, position)?;
    match () {
        () if reader.peeks_any(&["insert", "upsert"]) => insert(reader, with),
        () if reader.peeks(&["update"]) => update(reader, with),
        () if reader.peeks(&["delete"]) => delete(reader, with),
        () if reader.peeks(&["merge"]) => merge(reader, with),
        () => Err(reader.unexpected()),
    }
}

/// Puts WITH before a query, outside of one that it may have itself.
fn put_with(query: &mut Box<Query>, with: ast::With) {
    if query.with.is_some() {
        let inner = std::mem::replace(query, Box::new(crate::nodes::make::select_values(Vec::new())));
        *query.body = SetExpr::Query(inner);
    }
    query.with = Some(with);
}

fn is_write(body: &SetExpr) -> bool {
    matches!(
        body,
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_)
    )
}

/// Phoenix's `ON DUPLICATE KEY IGNORE`, as it is spelled for sqlparser.
fn duplicate_key_ignore() -> OnConflict {
    OnConflict {
        conflict_target: None,
        action: OnConflictAction::DoNothing,
    }
}

/// Fails on what an INSERT of sqlparser's may have and ours has not.
fn check_insert(ast: &ast::Insert, upsert: bool, position: usize) -> Result<(), StatementError> {
    let verb = if upsert { "UPSERT" } else { "INSERT" };
    let unsupported = |what: String| Err(StatementError::unsupported(what).at(position));
    if !ast.into || ast.has_table_keyword {
        return Err(
            StatementError::syntax(format!("{verb} must be followed by INTO and a table")).at(position),
        );
    }
    if ast.or.is_some() || ast.overwrite || ast.partitioned.is_some() || ast.output.is_some() {
        return unsupported(format!(
            "{verb} OR, OVERWRITE, PARTITION and OUTPUT are not supported"
        ));
    }
    if !matches!(ast.table, TableObject::TableName(_)) {
        return unsupported(format!("{verb} takes the name of a table"));
    }
    match &ast.on {
        Some(OnInsert::OnConflict(conflict)) if upsert && *conflict != duplicate_key_ignore() => {
            unsupported("UPSERT … ON CONFLICT is not supported".to_string())
        }
        Some(OnInsert::DuplicateKeyUpdate(_)) if !upsert => {
            unsupported("INSERT … ON DUPLICATE KEY is not supported".to_string())
        }
        _ => Ok(()),
    }
}

fn update_statement(
    reader: &Reader<'_>,
    mut ast: ast::Update,
    with: Option<ast::With>,
    position: usize,
) -> Result<Statement, StatementError> {
    if ast.or.is_some() || ast.output.is_some() {
        return Err(StatementError::unsupported("UPDATE OR and OUTPUT are not supported").at(position));
    }
    refuse_past(std::slice::from_ref(&ast.table), position)?;
    if !ast.order_by.is_empty() || ast.limit.is_some() {
        return Err(
            StatementError::unsupported("UPDATE … ORDER BY and LIMIT are not supported").at(position),
        );
    }
    settle(reader, &mut ast, position)?;
    Ok(Statement::Update(Box::new(UpdateStatement { with, ast })))
}

fn delete_statement(
    reader: &Reader<'_>,
    mut ast: ast::Delete,
    with: Option<ast::With>,
    position: usize,
) -> Result<Statement, StatementError> {
    if !ast.tables.is_empty() || ast.output.is_some() {
        return Err(StatementError::unsupported("DELETE from several tables is not supported").at(position));
    }
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &ast.from;
    refuse_past(from, position)?;
    if !ast.order_by.is_empty() || ast.limit.is_some() {
        return Err(
            StatementError::unsupported("DELETE … ORDER BY and LIMIT are not supported").at(position),
        );
    }
    settle(reader, &mut ast, position)?;
    Ok(Statement::Delete(Box::new(DeleteStatement { with, ast })))
}

/// Fails if a table that is to be changed is said to be one of the past, or a sample.
fn refuse_past(tables: &[TableWithJoins], position: usize) -> Result<(), StatementError> {
    let is_other = |table: &TableWithJoins| match &table.relation {
        TableFactor::Table { version, sample, .. } => version.is_some() || sample.is_some(),
        _ => false,
    };
    match tables.iter().any(is_other) {
        false => Ok(()),
        true => Err(StatementError::unsupported("neither the past nor a sample can be changed").at(position)),
    }
}

fn checked(reader: &Reader<'_>, mut query: Query, position: usize) -> Result<Query, StatementError> {
    settle(reader, &mut query, position)?;
    Ok(query)
}

/// Makes a tree shallow and free of clauses that nothing behind it reads.
pub(crate) fn settle<T>(reader: &Reader<'_>, tree: &mut T, position: usize) -> Result<(), StatementError>
where
    T: WalkMut + Walk,
{
    depth::balance(tree);
    depth::check_tree(tree)?;
    reader.words().queries(tree);
    match tree.walk_mut(&mut Refuse { reader }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error.at(position)),
    }
}

/// Refuses clauses that would be ignored and reserved words as names, and turns FETCH into LIMIT.
struct Refuse<'a> {
    reader: &'a Reader<'a>,
}

impl Refuse<'_> {
    /// Fails on a reserved word that sqlparser took for a name, as in `FROM WHERE`.
    fn check_name(&self, name: &Ident) -> ControlFlow<StatementError> {
        if name.quote_style.is_none() && is_reserved(&name.value) {
            return ControlFlow::Break(self.reader.unexpected_name(name));
        }
        ControlFlow::Continue(())
    }
}

fn refuse<T>(what: &str) -> ControlFlow<StatementError, T> {
    ControlFlow::Break(StatementError::unsupported(format!("{what} is not supported")))
}

impl VisitorMut for Refuse<'_> {
    type Break = StatementError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<StatementError> {
        if let Some(lock) = query.locks.first() {
            return refuse(&format!("FOR {}", lock.lock_type));
        }
        if query.for_clause.is_some() {
            return refuse("FOR XML, JSON or BROWSE");
        }
        if query.settings.is_some() || query.format_clause.is_some() {
            return refuse("SETTINGS or FORMAT of a query");
        }
        if is_write(&query.body) {
            let message = "WITH clause containing a data-modifying statement must be at the top level";
            return ControlFlow::Break(StatementError::unsupported(message));
        }
        match query.fetch.take().or_else(|| fetch_of_ties(query)) {
            None => ControlFlow::Continue(()),
            Some(fetch) if fetch.with_ties => check_ties(query, fetch),
            Some(fetch) => limit_by_fetch(query, fetch),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<StatementError> {
        let ignored = [
            (select.into.is_some(), "SELECT INTO"),
            (select.prewhere.is_some(), "PREWHERE"),
            (!select.connect_by.is_empty(), "CONNECT BY"),
            (!select.distribute_by.is_empty(), "DISTRIBUTE BY"),
            (!select.cluster_by.is_empty(), "CLUSTER BY"),
            (!select.sort_by.is_empty(), "SORT BY"),
            (!select.lateral_views.is_empty(), "LATERAL VIEW"),
            (select.top.is_some(), "TOP"),
            (select.exclude.is_some(), "EXCLUDE"),
            (select.value_table_mode.is_some(), "SELECT AS VALUE or STRUCT"),
            (
                select.select_modifiers.as_ref().is_some_and(|m| m.is_any_set()),
                "a modifier of MySQL",
            ),
            (
                select.flavor != ast::SelectFlavor::Standard,
                "FROM without SELECT before it",
            ),
        ];
        match ignored.iter().find(|(found, _)| *found) {
            Some((_, what)) => refuse(what),
            None => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<StatementError> {
        let first = name.0.first().and_then(ObjectNamePart::as_ident);
        first.map_or(ControlFlow::Continue(()), |first| self.check_name(first))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<StatementError> {
        let TableFactor::Table {
            with_hints,
            version,
            with_ordinality,
            args,
            partitions,
            json_path,
            index_hints,
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        if let Some(version) = version
            && Period::of(version).is_none()
        {
            return refuse(&version.to_string());
        }
        if *with_ordinality && args.is_none() {
            return refuse("WITH ORDINALITY");
        }
        if !with_hints.is_empty() || !index_hints.is_empty() {
            return refuse("a hint after a table").map_break(|error| {
                error.with_hint("Hints stand after the verb: SELECT /*+ INDEX(t i) */ ….")
            });
        }
        if !partitions.is_empty() || json_path.is_some() {
            return refuse("PARTITION or a path after a table");
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<StatementError> {
        match expr {
            Expr::Collate { .. } => refuse("COLLATE"),
            Expr::Value(value) if value.value == Value::Placeholder("$0".to_string()) => {
                ControlFlow::Break(StatementError::statement("42P02", "there is no parameter $0"))
            }
            // VALUES (DEFAULT) and SET a = DEFAULT.
            Expr::Identifier(name) if !name.value.eq_ignore_ascii_case("default") => self.check_name(name),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Takes the limit that `FETCH FIRST (n) ROWS WITH TIES` was spelled as.
fn fetch_of_ties(query: &mut Query) -> Option<Fetch> {
    let Some(LimitClause::LimitOffset { limit, .. }) = &mut query.limit_clause else {
        return None;
    };
    let name = quoted(&with_ties());
    let Expr::Function(call) =
        limit.take_if(|count| matches!(count, Expr::Function(call) if call.name.to_string() == name))?
    else {
        return None;
    };
    let FunctionArguments::List(list) = call.args else {
        return None;
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(count))] = list.args.as_slice() else {
        return None;
    };
    Some(Fetch {
        with_ties: true,
        percent: false,
        quantity: Some(Expr::Nested(Box::new(count.clone()))),
    })
}

/// Puts FETCH … WITH TIES back, which binding makes a condition of.
fn check_ties(query: &mut Query, fetch: Fetch) -> ControlFlow<StatementError> {
    if fetch.percent {
        return refuse("FETCH … PERCENT");
    }
    if query.order_by.is_none() {
        let message = "WITH TIES cannot be specified without ORDER BY clause";
        return ControlFlow::Break(StatementError::syntax(message));
    }
    if matches!(
        query.limit_clause,
        Some(LimitClause::LimitOffset { limit: Some(_), .. } | LimitClause::OffsetCommaLimit { .. })
    ) {
        return ControlFlow::Break(StatementError::syntax("multiple LIMIT clauses are not allowed"));
    }
    query.fetch = Some(fetch);
    ControlFlow::Continue(())
}

fn limit_by_fetch(query: &mut Query, fetch: Fetch) -> ControlFlow<StatementError> {
    if fetch.percent {
        return refuse("FETCH … PERCENT");
    }
    let one = || Expr::Value(Value::Number("1".to_string(), false).into());
    let quantity = fetch.quantity.unwrap_or_else(one);
    match query.limit_clause.get_or_insert(LimitClause::LimitOffset {
        limit: None,
        offset: None,
        limit_by: Vec::new(),
    }) {
        LimitClause::LimitOffset {
            limit: limit @ None, ..
        } => {
            *limit = Some(quantity);
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Break(StatementError::syntax("multiple LIMIT clauses are not allowed")),
    }
}
