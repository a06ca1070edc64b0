//! Makes parts of a tree.

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    self, BinaryOperator, CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, GroupByExpr, Ident, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Query, Select,
    SelectFlavor, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins,
    UnaryOperator, Value, WildcardAdditionalOptions,
};

/// Makes a cast.
pub fn cast(expr: Expr, data_type: ast::DataType) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type,
        array: false,
        format: None,
    }
}

/// Makes a call.
pub fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    Expr::Function(Function {
        name: ast::ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.into_iter().map(argument).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Makes `left AND right`.
pub fn and(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    }
}

/// Makes `left OR right`.
pub fn or(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::Or,
        right: Box::new(right),
    }
}

/// Makes `NOT expr`.
pub fn not(expr: Expr) -> Expr {
    Expr::UnaryOp {
        op: UnaryOperator::Not,
        expr: Box::new(nested(expr)),
    }
}

/// Makes one expression of many, with an operator between them; `true` of none.
pub fn join(parts: impl Iterator<Item = Expr>, op: BinaryOperator) -> Expr {
    parts
        .reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: op.clone(),
            right: Box::new(right),
        })
        .unwrap_or(Expr::Value(Value::Boolean(true).into()))
}

/// Makes `left op right`, each in parentheses where it needs them.
pub fn binary(left: &Expr, op: BinaryOperator, right: &Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(nested(left.clone())),
        op,
        right: Box::new(nested(right.clone())),
    }
}

/// Makes `CASE WHEN condition THEN result … ELSE otherwise END`.
pub fn case(when: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Expr {
    let when = when
        .into_iter()
        .map(|(condition, result)| ast::CaseWhen { condition, result });
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: when.collect(),
        else_result: otherwise.map(Box::new),
    }
}

/// Puts an expression in parentheses unless it stands alone anyway.
pub fn nested(expr: Expr) -> Expr {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::Nested(_) => expr,
        other => Expr::Nested(Box::new(other)),
    }
}

/// Makes `SELECT items FROM from WHERE selection`.
pub fn select(items: Vec<SelectItem>, from: TableWithJoins, selection: Option<Expr>) -> Query {
    select_from(items, vec![from], selection)
}

/// Makes `SELECT items FROM from, … WHERE selection`.
pub fn select_from(items: Vec<SelectItem>, from: Vec<TableWithJoins>, selection: Option<Expr>) -> Query {
    let select = Select {
        projection: items,
        from,
        selection,
        ..empty_select()
    };
    query_of(SetExpr::Select(Box::new(select)))
}

/// Makes `SELECT items`.
pub fn select_values(items: Vec<SelectItem>) -> Query {
    query_of(SetExpr::Select(Box::new(Select {
        projection: items,
        ..empty_select()
    })))
}

/// Makes `SELECT * FROM schema.table`.
pub fn select_table(schema: &str, table: &str) -> Query {
    let parts = [schema, table].map(|part| Ident::with_quote('"', part));
    let mut relation = table_factor(Ident::new(""), Ident::new(""));
    if let TableFactor::Table { name, alias, .. } = &mut relation {
        *name = parts.to_vec().into();
        *alias = None;
    }
    let from = TableWithJoins {
        relation,
        joins: Vec::new(),
    };
    let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    select(vec![all], from, None)
}

/// Makes `SELECT * FROM table`.
pub fn select_unqualified(table: Ident) -> Query {
    let mut query = select_table("", "");
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(from) = select.from.first_mut()
        && let TableFactor::Table { name, .. } = &mut from.relation
    {
        *name = table.into();
    }
    query
}

/// Makes `SELECT items FROM table AS alias, … WHERE …`, whose tables, each given with its alias, are joined
/// by a column that all of them have, and in whose order rows come.
pub fn select_joined(items: Vec<SelectItem>, tables: Vec<(String, String)>, by: &str) -> Query {
    let quoted = |text: &str| Ident::with_quote('"', text);
    let key = |alias: &str| Expr::CompoundIdentifier(vec![quoted(alias), quoted(by)]);
    let equal = |pair: &[(String, String)]| binary(&key(&pair[0].1), BinaryOperator::Eq, &key(&pair[1].1));
    let selection = tables.windows(2).map(equal).reduce(and);
    let order = tables.first().map(|(_, alias)| key(alias));
    let from = tables.iter().map(|(table, alias)| TableWithJoins {
        relation: table_factor(quoted(table), quoted(alias)),
        joins: Vec::new(),
    });
    let select = Select {
        projection: items,
        from: from.collect(),
        selection,
        ..empty_select()
    };
    let query = query_of(SetExpr::Select(Box::new(select)));
    match order {
        Some(key) => ordered(query, key),
        None => query,
    }
}

/// Adds `ORDER BY key` to a query.
pub fn ordered(query: Query, key: Expr) -> Query {
    let key = OrderByExpr {
        expr: key,
        options: OrderByOptions::default(),
        with_fill: None,
    };
    Query {
        order_by: Some(OrderBy {
            kind: OrderByKind::Expressions(vec![key]),
            interpolate: None,
        }),
        ..query
    }
}

/// Makes `(query) AS name (column, …)`.
pub fn derived(query: Query, name: &str, columns: Vec<Ident>) -> TableWithJoins {
    let columns = columns.into_iter().map(|name| TableAliasColumnDef {
        name,
        data_type: None,
    });
    let relation = TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query),
        alias: Some(TableAlias {
            explicit: true,
            name: Ident::with_quote('"', name),
            columns: columns.collect(),
            at: None,
        }),
        sample: None,
    };
    TableWithJoins {
        relation,
        joins: Vec::new(),
    }
}

fn table_factor(name: Ident, alias: Ident) -> TableFactor {
    TableFactor::Table {
        name: name.into(),
        alias: Some(TableAlias {
            explicit: true,
            name: alias,
            columns: Vec::new(),
            at: None,
        }),
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

/// Makes a query of a body alone.
pub fn query_of(body: SetExpr) -> Query {
    Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

fn empty_select() -> Select {
    Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection: Vec::new(),
        exclude: None,
        into: None,
        from: Vec::new(),
        lateral_views: Vec::new(),
        prewhere: None,
        selection: None,
        connect_by: Vec::new(),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        cluster_by: Vec::new(),
        distribute_by: Vec::new(),
        sort_by: Vec::new(),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    }
}
