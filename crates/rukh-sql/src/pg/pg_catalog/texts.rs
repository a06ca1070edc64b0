//! Definitions as SQL: what `pg_get_indexdef` and its kin give.

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_catalog::{
    Catalog, Check, ColumnId, Domain, DomainCheck, ForeignKey, Index, KeyElement, KeyExpr, Table, begins_with,
};
use rukh_keys::SortOrder;

use crate::bind::spelling::definition_text::{element_list, foreign_key_sql, index_sql};
use crate::bind::spelling::parsing::parse_expression;
use rukh_syntax::sql_text;
use rukh_syntax::sqlparser::ast::{Expr, Ident, VisitorMut};
use rukh_syntax::{WalkMut, quoted};

use super::relations::{Relation, is_constraint, primary_key_name};
use crate::bind::system::oids;

/// Returns `CREATE INDEX …` of an index, with the name of its method as PostgreSQL writes it.
pub(crate) fn index_definition(relation: &Relation<'_>, pretty: bool) -> Option<String> {
    match relation {
        Relation::PrimaryKey(table) => Some(format!(
            "CREATE UNIQUE INDEX {} ON {}.{} USING btree ({})",
            quoted(&primary_key_name(table)),
            quoted(&table.schema),
            quoted(&table.name),
            element_list(table, &table.primary_key)
        )),
        Relation::Index(table, index) => {
            let sql = index_sql(table, index);
            let sql = sql.trim_end_matches(';');
            let full = format!("{}.{}", quoted(&table.schema), quoted(&table.name));
            let method = if index.is_columnar() { "columnar" } else { "btree" };
            let (head, rest) = sql.split_once(" ON ")?;
            let keys = rest.find(" (")?;
            let mut definition = format!("{head} ON {full} USING {method}{}", &rest[keys..]);
            if let (false, Some(predicate)) = (pretty, &index.predicate) {
                definition.truncate(definition.len() - predicate.sql.len());
                definition += &in_parentheses(&predicate.sql);
            }
            Some(definition)
        }
        _ => None,
    }
}

/// Returns an expression as PostgreSQL writes it unless the pretty form is wanted: in parentheses, if it has an operator.
pub(crate) fn in_parentheses(sql: &str) -> String {
    match parse_expression(sql) {
        Ok(
            Expr::BinaryOp { .. }
            | Expr::UnaryOp { .. }
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::Between { .. }
            | Expr::InList { .. }
            | Expr::Like { .. }
            | Expr::ILike { .. },
        ) => format!("({sql})"),
        _ => sql.to_string(),
    }
}

/// Returns `CHECK (condition) [NOT VALID]`.
fn check_definition(check: &Check, pretty: bool) -> String {
    let condition = match pretty {
        true => check.sql.clone(),
        false => in_parentheses(&check.sql),
    };
    let validity = if check.not_valid { " NOT VALID" } else { "" };
    format!("CHECK ({condition}){validity}")
}

impl Constraint<'_> {
    /// Returns the definition in its pretty form.
    pub(crate) fn pretty_definition(&self) -> String {
        let mut checks = self.table.checks.iter().filter(|_| self.kind == "c");
        let check = checks.find(|check| check.name == self.name);
        check.map_or_else(|| self.definition.clone(), |check| check_definition(check, true))
    }
}

/// Returns such an expression in its pretty form.
pub(crate) fn without_parentheses(sql: &str) -> &str {
    let inner = sql.strip_prefix('(').and_then(|sql| sql.strip_suffix(')'));
    match (inner, parse_expression(sql)) {
        (Some(inner), Ok(Expr::Nested(_))) => inner,
        _ => sql,
    }
}

/// Returns one column of an index, counted from 1.
pub(crate) fn index_column(relation: &Relation<'_>, at: usize) -> Option<String> {
    let (table, elements, include): (_, &[KeyElement], &[_]) = match relation {
        Relation::PrimaryKey(table) => (table, &table.primary_key, &[]),
        Relation::Index(table, index) => (table, &index.elements, &index.include),
        _ => return None,
    };
    let at = at.checked_sub(1)?;
    match elements.get(at) {
        Some(element) => {
            let plain = KeyElement {
                order: SortOrder::Asc,
                ..element.clone()
            };
            Some(element_list(table, &[plain]))
        }
        None => {
            let id = include.get(at - elements.len())?;
            Some(quoted(table.column_name(*id)))
        }
    }
}

/// A constraint of a table.
pub(crate) struct Constraint<'a> {
    pub(crate) oid: i64,
    pub(crate) name: String,
    pub(crate) table: &'a Table,
    /// The letter of `contype`.
    pub(crate) kind: &'static str,
    /// The number of the index that keeps it, or 0.
    pub(crate) index: i64,
    /// Places of its columns, counted from 1.
    pub(crate) columns: Vec<i64>,
    pub(crate) definition: String,
    /// The condition of a CHECK.
    pub(crate) check: Option<&'a str>,
    /// What a foreign key refers to.
    pub(crate) foreign: Option<(&'a Table, &'a ForeignKey)>,
    /// Whether no row breaks it: of one that was added NOT VALID it is unknown.
    pub(crate) valid: bool,
}

/// Returns the condition of a domain, which calls its value VALUE.
pub(crate) fn domain_check(check: &DomainCheck) -> String {
    struct Upper;

    impl VisitorMut for Upper {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
            if let Expr::Identifier(name) = expr
                && name.value == Domain::VALUE
            {
                *name = Ident::new("VALUE");
            }
            ControlFlow::Continue(())
        }
    }

    match parse_expression(&check.sql) {
        Ok(mut expr) => {
            let ControlFlow::Continue(()) = expr.walk_mut(&mut Upper);
            sql_text(&expr)
        }
        Err(_) => check.sql.clone(),
    }
}

/// Returns the constraints of a table.
pub(crate) fn constraints<'a>(catalog: &'a Catalog, table: &'a Table) -> Vec<Constraint<'a>> {
    let primary = Constraint {
        oid: oids::constraint(table.id.0),
        name: primary_key_name(table),
        table,
        kind: "p",
        index: oids::primary_key(table.id),
        columns: places(table, &table.primary_key),
        definition: format!("PRIMARY KEY ({})", element_list(table, &table.primary_key)),
        check: None,
        foreign: None,
        valid: true,
    };
    let unique = table.indexes.iter().filter(|index| is_constraint(index));
    let unique = unique.map(|index: &Index| {
        let include: Vec<String> = index
            .include
            .iter()
            .map(|id| quoted(table.column_name(*id)))
            .collect();
        let include = match include.is_empty() {
            true => String::new(),
            false => format!(" INCLUDE ({})", include.join(", ")),
        };
        let nulls = if index.nulls_distinct {
            ""
        } else {
            "NULLS NOT DISTINCT "
        };
        Constraint {
            oid: oids::constraint(index.id.0),
            name: index.name.clone(),
            table,
            kind: "u",
            index: oids::object(index.id.0),
            columns: places(table, &index.elements),
            definition: format!(
                "UNIQUE {nulls}({}){include}",
                element_list(table, &index.elements)
            ),
            check: None,
            foreign: None,
            valid: true,
        }
    });
    let checks = table.checks.iter().enumerate().map(|(at, check)| Constraint {
        oid: oids::check(table, at),
        name: check.name.clone(),
        table,
        kind: "c",
        index: 0,
        columns: check.columns.iter().map(|id| place(table, *id)).collect(),
        definition: check_definition(check, false),
        check: Some(&check.sql),
        foreign: None,
        valid: !check.not_valid,
    });
    let keys = table.foreign_keys.iter().enumerate();
    let keys = keys.filter_map(|(at, key)| {
        let referenced = catalog.table(key.referenced)?.as_ref();
        Some(Constraint {
            oid: oids::foreign_key(table, at),
            name: key.name.clone(),
            table,
            kind: "f",
            index: referenced_key(referenced, key).map_or(0, |(_, index, _)| index),
            columns: key.columns.iter().map(|id| place(table, *id)).collect(),
            definition: foreign_key_sql(catalog, table, key),
            check: None,
            foreign: Some((referenced, key)),
            valid: !key.not_valid,
        })
    });
    let primary = table.row_id().is_none().then_some(primary);
    let own = primary.into_iter().chain(unique).chain(checks);
    own.chain(keys).collect()
}

/// Returns the constraints of a table that have comments, with these.
pub(crate) fn commented<'a>(
    catalog: &'a Catalog,
    table: &'a Table,
) -> impl Iterator<Item = (Constraint<'a>, &'a String)> {
    let comments = &table.comments.constraints;
    let all = match comments.is_empty() {
        true => Vec::new(),
        false => constraints(catalog, table),
    };
    all.into_iter().filter_map(|constraint| {
        let text = comments.get(&table.constraint_comment(&constraint.name)?)?;
        Some((constraint, text))
    })
}

/// Returns the comment of a constraint by its number.
pub(crate) fn constraint_comment(catalog: &Catalog, oid: i64) -> Option<String> {
    let commented = catalog.tables().flat_map(|table| commented(catalog, table));
    let mut found = commented.filter(|(constraint, _)| constraint.oid == oid);
    found.next().map(|(_, text)| text.clone())
}

/// Returns the key that makes the columns unique to which a foreign key refers: its name, the number of its index, and its columns in order.
pub(crate) fn referenced_key(referenced: &Table, key: &ForeignKey) -> Option<(String, i64, Vec<ColumnId>)> {
    let columns = &key.referenced_columns;
    let is_it = |elements: &[KeyElement]| elements.len() == columns.len() && begins_with(elements, columns);
    let ids = |elements: &[KeyElement]| {
        elements
            .iter()
            .flat_map(|element| element.expr.columns())
            .collect()
    };
    if is_it(referenced.declared_key()) {
        let name = primary_key_name(referenced);
        return Some((
            name,
            oids::primary_key(referenced.id),
            ids(&referenced.primary_key),
        ));
    }
    let index = referenced
        .indexes
        .iter()
        .find(|index| index.unique && index.predicate.is_none() && is_it(&index.elements))?;
    Some((index.name.clone(), oids::object(index.id.0), ids(&index.elements)))
}

/// Returns the places of the columns of a key, counted from 1; 0 stands for an expression.
pub(crate) fn places(table: &Table, elements: &[KeyElement]) -> Vec<i64> {
    let of_element = |element: &KeyElement| match &element.expr {
        KeyExpr::Column(id) => place(table, *id),
        _ => 0,
    };
    elements.iter().map(of_element).collect()
}

/// Returns the place of a column, counted from 1.
pub(crate) fn place(table: &Table, id: rukh_catalog::ColumnId) -> i64 {
    table.position(id).map_or(0, |at| at as i64 + 1)
}
