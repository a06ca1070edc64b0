//! Names of types that the database defines: from names to types, and back to names in what is stored.
//!
//! | where                       | a type is                                                                     |
//! |-----------------------------|-------------------------------------------------------------------------------|
//! | the text of a statement     | a name, found by the search path                                              |
//! |                             | a relation of that name, in a cast: the type of its rows                      |
//! | the tree that is planned    | [`found_type`], which is the type itself; of a domain, [`domain_casts`]        |
//! | stored texts                | [`rukh_keys::EnumType::sql_name`], the name with its schema unless that is `public`       |
//!
//! Stored texts of a table name types of its columns only, so that a table can be read alone. A type that gets another name gets it in
//! all texts, too ([`renamed`]).

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_catalog::{Catalog, Domain, PUBLIC, Table, TypeKind};
use rukh_error::SqlError;
use rukh_keys::{DataType, RecordField, RecordType};
use rukh_syntax::sql_text;
use rukh_syntax::sqlparser::ast::{
    self, ArrayElemTypeDef, CastKind, DataType as Parsed, Expr, Ident, Query, Value, Visitor, VisitorMut,
};
use rukh_syntax::{ObjectName, Walk, WalkMut, data_type, found_data_type, found_type, make, quoted};

use crate::bind::spelling::domain_casts;
use crate::bind::spelling::spelled::domain_call;

/// Finds a type by its schema, if one is named, and its name.
pub(crate) type Find<'f> = dyn Fn(Option<&str>, &str) -> Option<Found> + 'f;

/// A type that was found.
pub(crate) enum Found {
    /// An enum or a composite type.
    Type(DataType),
    /// A domain.
    Domain(Domain),
}

/// Returns a type of the definitions.
pub(crate) fn in_catalog(catalog: &Catalog) -> impl Fn(Option<&str>, &str) -> Option<Found> {
    |schema, name| {
        let found = catalog.type_named(schema.unwrap_or(PUBLIC), name)?;
        Some(match &found.kind {
            TypeKind::Domain(domain) => Found::Domain(domain.clone()),
            TypeKind::Enum(_) | TypeKind::Record(_) => Found::Type(found.data_type()),
        })
    }
}

/// Returns a type of the definitions, or that of the rows of a table or view.
pub(crate) fn with_rows(catalog: &Catalog) -> impl Fn(Option<&str>, &str) -> Option<Found> {
    |schema, name| in_catalog(catalog)(schema, name).or_else(|| rows_of(catalog, schema, name))
}

/// Returns the type of the rows of a table or view.
fn rows_of(catalog: &Catalog, schema: Option<&str>, name: &str) -> Option<Found> {
    let schema = schema.unwrap_or(PUBLIC);
    let field = |name: &str, ty: DataType| RecordField {
        name: name.to_string(),
        ty,
    };
    let fields: Vec<RecordField> = match catalog.view_named(schema, name) {
        Some(view) => view
            .columns
            .iter()
            .map(|column| field(&column.name, column.ty))
            .collect(),
        None => {
            let table = catalog.table_named(schema, name).ok()?;
            let columns = table.declared_columns().iter();
            columns.map(|column| field(&column.name, column.ty)).collect()
        }
    };
    RecordType::of_rows(schema, name, fields).map(|found| Found::Type(DataType::Record(found)))
}

/// Returns the schemas and names of the relations whose rows a stored query names the types of, in casts of NULL.
///
/// # Errors
/// 0A000 on casts of values: they would not be of the type any more when the relation gets another column.
pub(crate) fn relations_named(query: &Query) -> Result<Vec<(&'static str, &'static str)>, SqlError> {
    struct Finder(Vec<(&'static str, &'static str)>);

    impl Visitor for Finder {
        type Break = SqlError;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<SqlError> {
            if let Expr::Cast {
                data_type,
                expr: value,
                ..
            } = expr
                && let Parsed::Custom(name, _) = element_of(data_type)
                && let Some(ty @ DataType::Record(of)) = found_data_type(name)
                && of.is_of_relation()
            {
                if !matches!(value.as_ref(), Expr::Value(value) if value.value == Value::Null) {
                    let name = of.sql_name();
                    let message = format!(
                        "a view that casts values to the type of the rows of {name} is not supported"
                    );
                    let error = SqlError::unsupported(message);
                    return ControlFlow::Break(error.with_hint("Cast to a type of CREATE TYPE … AS (…)."));
                }
                self.0.extend(defined_name(ty));
            }
            ControlFlow::Continue(())
        }
    }

    let mut finder = Finder(Vec::new());
    match query.walk(&mut finder) {
        ControlFlow::Continue(()) => Ok(finder.0),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Returns an enum or composite type that is the type of a column, or of its elements or fields.
pub(crate) fn of_columns(table: &Table) -> impl Fn(Option<&str>, &str) -> Option<Found> {
    |schema, name| {
        let mut types = table.columns.iter().map(|column| column.ty);
        types.find_map(|ty| of_type(ty)(schema, name))
    }
}

/// Returns the enum or composite type that a type is, or the type of its elements or fields, if it has this name.
pub(crate) fn of_type(ty: DataType) -> impl Fn(Option<&str>, &str) -> Option<Found> {
    move |schema, name| {
        let ty = ty.element().unwrap_or(ty);
        let is_meant = defined_name(ty) == Some((schema.unwrap_or(PUBLIC), name));
        match ty {
            _ if is_meant => Some(Found::Type(ty)),
            DataType::Record(of) => {
                let mut fields = of.fields().iter();
                fields.find_map(|field| of_type(field.ty)(schema, name))
            }
            _ => None,
        }
    }
}

/// Returns the schema and the name of a type that a database defines.
fn defined_name(ty: DataType) -> Option<(&'static str, &'static str)> {
    match ty {
        DataType::Enum(of) => Some((&of.definition().schema, &of.definition().name)),
        DataType::Record(of) => Some((&of.definition().schema, &of.definition().name)),
        _ => None,
    }
}

/// Puts types in the place of their names in the casts of a tree; names that are not found stay.
pub(crate) fn resolve(node: &mut (impl WalkMut + ?Sized), find: &Find<'_>) {
    struct Resolver<'f>(&'f Find<'f>);

    impl VisitorMut for Resolver<'_> {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
            resolve_cast(expr, self.0);
            ControlFlow::Continue(())
        }
    }

    let ControlFlow::Continue(()) = node.walk_mut(&mut Resolver(find));
}

/// Puts a type in the place of its name, if an expression is a cast. Arrays of domains stay.
pub(crate) fn resolve_cast(expr: &mut Expr, find: &Find<'_>) {
    let Expr::Cast { data_type, .. } = expr else {
        return;
    };
    if let Some(name) = named(data_type)
        && let Some(found) = find(name.schema.as_deref(), &name.name)
    {
        match found {
            Found::Type(found) => {
                if let Some(found) = found_type(found) {
                    *element(data_type) = found;
                }
            }
            Found::Domain(domain) if !matches!(data_type, Parsed::Array(_)) => {
                domain_casts::spell(expr, &domain);
                resolve(expr, &of_type(domain.ty));
            }
            Found::Domain(_) => {}
        }
    }
}

/// Returns a type, or that of the elements of an array.
fn element_of(ty: &Parsed) -> &Parsed {
    match ty {
        Parsed::Array(ArrayElemTypeDef::SquareBracket(element, _)) => element.as_ref(),
        other => other,
    }
}

/// Returns a type, or that of the elements of an array.
fn element(ty: &mut Parsed) -> &mut Parsed {
    match ty {
        Parsed::Array(ArrayElemTypeDef::SquareBracket(element, _)) => element.as_mut(),
        other => other,
    }
}

/// Returns the name of a type that only the definitions know, or of the elements of an array of it.
fn named(ty: &Parsed) -> Option<ObjectName> {
    match element_of(ty) {
        element @ Parsed::Custom(name, modifiers) if modifiers.is_empty() && data_type(element).is_err() => {
            ObjectName::from_ast(name).ok()
        }
        _ => None,
    }
}

/// Whether a part of a statement names a type that only the definitions know.
pub(crate) fn names_types(part: &impl Walk) -> bool {
    struct Finder;

    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Cast { data_type, .. } if named(data_type).is_some() => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }

    part.walk(&mut Finder).is_break()
}

/// Gives the types of a tree the names by which they are stored.
pub(crate) fn spell_out(node: &mut (impl WalkMut + ?Sized)) {
    struct Speller;

    impl VisitorMut for Speller {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
            if let Some((cast, domain)) = domain_call(expr) {
                let ty = type_of(&domain.schema, &domain.name);
                *expr = match cast.clone() {
                    Expr::Cast { expr: value, .. } => make::cast(*value, ty),
                    cut => make::cast(cut, ty),
                };
            }
            if let Expr::Cast { data_type, .. } = expr
                && let place = element(data_type)
                && let Parsed::Custom(name, _) = place
                && let Some((schema, name)) = found_data_type(name).and_then(defined_name)
            {
                *place = type_of(schema, name);
            }
            ControlFlow::Continue(())
        }
    }

    let ControlFlow::Continue(()) = node.walk_mut(&mut Speller);
}

/// Returns a type by its name, as [`rukh_keys::EnumType::sql_name`] writes it.
fn type_of(schema: &str, name: &str) -> Parsed {
    let ident = |name: &str| match quoted(name) == name {
        true => Ident::new(name),
        false => Ident::with_quote('"', name),
    };
    let parts = match schema {
        PUBLIC => vec![ident(name)],
        schema => vec![ident(schema), ident(name)],
    };
    Parsed::Custom(ast::ObjectName::from(parts), Vec::new())
}

/// Returns an expression with the names of its types.
pub(crate) fn spelled_text(expr: &Expr) -> String {
    let mut expr = expr.clone();
    spell_out(&mut expr);
    sql_text(&expr)
}

/// Returns an expression of a definition as it is stored.
pub(crate) fn stored_text(expr: &Expr) -> String {
    let mut expr = expr.clone();
    without_domains(&mut expr);
    spelled_text(&expr)
}

/// Makes casts to the types of their values of casts to domains: a definition is read without those of others.
pub(crate) fn without_domains(node: &mut (impl WalkMut + ?Sized)) {
    struct Base;

    impl VisitorMut for Base {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
            if let Some((cast, _)) = domain_call(expr) {
                *expr = cast.clone();
            }
            ControlFlow::Continue(())
        }
    }

    let ControlFlow::Continue(()) = node.walk_mut(&mut Base);
}

/// What becomes of a type in stored texts.
pub(crate) enum Change<'c> {
    /// Another name, or another schema.
    Name {
        /// Schema and name before.
        old: (&'c str, &'c str),
        /// Schema and name after.
        new: (&'c str, &'c str),
    },
    /// Another text of a label.
    Label {
        /// Schema and name of the type.
        of: (&'c str, &'c str),
        /// The label before.
        old: &'c str,
        /// The label after.
        new: &'c str,
    },
}

impl Change<'_> {
    fn type_name(&self) -> (&str, &str) {
        match self {
            Change::Name { old, .. } => *old,
            Change::Label { of, .. } => *of,
        }
    }
}

/// Changes what a stored tree says of a type; returns whether it says something.
pub(crate) fn renamed(node: &mut (impl WalkMut + ?Sized), change: &Change<'_>) -> bool {
    struct Renamer<'c> {
        change: &'c Change<'c>,
        found: bool,
    }

    impl VisitorMut for Renamer<'_> {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
            let Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr: value,
                data_type,
                ..
            } = expr
            else {
                return ControlFlow::Continue(());
            };
            let is_meant = named(data_type).is_some_and(|name| {
                (name.schema.as_deref().unwrap_or(PUBLIC), name.name.as_str()) == self.change.type_name()
            });
            if !is_meant {
                return ControlFlow::Continue(());
            }
            self.found = true;
            match self.change {
                Change::Name { new, .. } => *element(data_type) = type_of(new.0, new.1),
                Change::Label { old, new, .. } => {
                    if let Expr::Value(value) = value.as_mut()
                        && let Value::SingleQuotedString(text) = &mut value.value
                        && text == old
                    {
                        *text = (*new).to_string();
                    }
                }
            }
            ControlFlow::Continue(())
        }
    }

    let mut renamer = Renamer { change, found: false };
    let ControlFlow::Continue(()) = node.walk_mut(&mut renamer);
    renamer.found
}
