//! ALTER TABLE: from one definition to the next, without rewriting rows where their values stay.
//!
//! All actions of a statement make one new definition, which is stored at once. What it asks of rows that are
//! there, NOT NULL and CHECK, is checked by one scan before, under the writer lock; indexes of UNIQUE are filled meanwhile.
//! Columns that are added with a value for each row, generated or the next number, have the engine rewrite all rows
//! together with the definition, which checks them, too.

use rukh_catalog::{
    Catalog, Column, ColumnId, ColumnValues, Family, FamilyId, FamilyOptions, ForeignKey, Index, IndexDraft,
    Sequence, Table,
};
use rukh_engine::{Alteration, EngineError, Row, RowFunctions};
use rukh_keys::{DataType, Datum};
use rukh_syntax::sqlparser::ast::{self, Ident};
use rukh_syntax::{
    AlterAction, AlterSequenceStatement, AlterTableStatement, ColumnDefinition, Computed, Expression,
    ForeignKeyDefinition, IdentityDefinition, IdentityKind, Name, ObjectName, Ownable, SequenceOptions,
    TypeName, UniqueDefinition,
};

use super::column_name::{in_expressions, in_views};
use super::column_type::{keeps_values, other_values, retyped};
use super::identity::{add_identity, alter_numbers, drop_identity, identity_of, not_so};
use super::moves::rename;
use super::named_indexes::{check_index, use_index};
use super::nulls::make_place_for_nulls;
use super::primary_key::{add_primary_key, drop_primary_key};
use super::repack::repack;
use crate::bind::spelling::sequence_calls::calls_sequence;
use crate::bind::types::expressions::{Functions, domain_rules, evaluate_default, is_volatile};
use crate::exec::rows::rows_of_batch;
use crate::exec::session_settings::notice::Notice;
use crate::pg::sequences::default_of;
use crate::sql::ddl::columns::column_id;
use crate::sql::ddl::create_index::index_error;
use crate::sql::ddl::create_table::{aside, checked_default, create_uniques, own_sequence, unique_draft};
use crate::sql::ddl::foreign::{add_foreign_keys, check_not_in_keys, check_still_unique};
use crate::sql::ddl::lifetime::{set_family, set_lifetime};
use crate::sql::ddl::names::{check_free, check_new_constraint, domain_of, is_declared, skipped};
use crate::sql::ddl::remove::check_no_views;
use crate::sql::ddl::stored::{check_constraint, generated_column};
use crate::sql::ddl::versions::set_versions;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Runs ALTER TABLE.
pub(in crate::sql::ddl) fn alter_table(
    session: &mut Session,
    statement: &AlterTableStatement,
) -> Result<(), SqlError> {
    if let [AlterAction::RenameTo(new)] = statement.actions.as_slice() {
        return rename(session, Ownable::Table, &statement.name, statement.if_exists, new);
    }
    let table = match session.table(&statement.name) {
        Ok(table) => table,
        Err(_) if statement.if_exists => return skipped(session, &statement.name),
        Err(error) => return Err(error),
    };
    if table.materialized.is_some() {
        let message = format!(
            "this change cannot be made to materialized view \"{}\"",
            table.name
        );
        return Err(SqlError::statement("42809", message)
            .at(statement.name.position)
            .with_hint("Drop it, and create it again."));
    }
    if let [AlterAction::AddUnique(unique)] = statement.actions.as_slice() {
        return create_uniques(session, &table, std::slice::from_ref(unique));
    }
    match statement.actions.as_slice() {
        [
            AlterAction::AddPrimaryKey {
                name,
                elements,
                position,
            },
        ] => return add_primary_key(session, &table, name.as_ref(), elements, *position),
        [AlterAction::DropConstraint { name, .. }] if table.key_name().as_ref() == Some(&name.text) => {
            return drop_primary_key(session, &table, name);
        }
        [AlterAction::AddIdentity { column, identity }] => {
            return add_identity(session, &table, column, identity);
        }
        [
            AlterAction::DropComputed {
                column,
                computed: Computed::Identity,
                if_exists,
            },
        ] => return drop_identity(session, &table, column, *if_exists),
        [
            AlterAction::AlterNumbers {
                column,
                sequence,
                kind,
            },
        ] => {
            return alter_numbers(session, &table, column, sequence, *kind);
        }
        _ => {}
    }
    if let [AlterAction::Repack] = statement.actions.as_slice() {
        return repack(session, &table).map_err(|error| error.at(statement.name.position));
    }
    for action in &statement.actions {
        if let AlterAction::SetNullable {
            column,
            nullable: true,
        } = action
        {
            make_place_for_nulls(session, &table, column)?;
        }
    }
    let engine = session.engine().clone();
    let now = engine.now();
    let altered = engine.alter_table(table.id, |catalog, before| {
        let mut change = Change {
            catalog,
            next: before.clone(),
            not_null: Vec::new(),
            checks: Vec::new(),
            domains: Vec::new(),
            notices: Vec::new(),
            uniques: Vec::new(),
            sequences: Vec::new(),
            through: None,
            retyped: None,
            renamed: None,
            now,
        };
        for action in &statement.actions {
            change.act(action)?;
        }
        if change.through.is_some() && statement.actions.len() > 1 {
            let message = "a type that other values come with has to be changed by a statement of its own";
            return Err(SqlError::unsupported(message).into());
        }
        change.next.prune_comments();
        change.next.check_versions().map_err(SqlError::from)?;
        check_still_unique(catalog, before, &change.next)
            .map_err(|error| error.at(statement.name.position))?;
        check_no_ttl(catalog, &change.next)?;
        change.notices.drain(..).for_each(|notice| session.notice(notice));
        change.verify(session, before)?;
        let (views, materialized) = match &change.renamed {
            Some((column, name)) => in_views(session, catalog, before, *column, name)?,
            None => Default::default(),
        };
        Ok::<_, Failed>(Alteration {
            views,
            materialized,
            ..change.alteration()?
        })
    });
    match altered {
        Ok(_) => widen_numbers(session, &table, &statement.actions),
        Err(Failed::Statement(error)) => Err(error),
        Err(Failed::Engine(error)) => Err(engine_error(error).at(statement.name.position)),
    }
}

/// Gives the sequences of identity columns the types that the columns have got.
fn widen_numbers(session: &mut Session, table: &Table, actions: &[AlterAction]) -> Result<(), SqlError> {
    for action in actions {
        let AlterAction::SetType { column, ty, .. } = action else {
            continue;
        };
        let is_identity = table
            .column_named(&column.text)
            .is_some_and(|column| column.values.identity.is_some());
        if !is_identity {
            continue;
        }
        let options = SequenceOptions {
            ty: Some(ty.known()?),
            ..SequenceOptions::default()
        };
        let name = ObjectName {
            schema: None,
            name: String::new(),
            position: column.position,
        };
        let statement = AlterSequenceStatement {
            options,
            ..AlterSequenceStatement::of(name, false)
        };
        alter_numbers(session, table, column, &statement, None)?;
    }
    Ok(())
}

/// Why a table was not altered.
pub(super) enum Failed {
    Statement(SqlError),
    Engine(EngineError),
}

impl From<SqlError> for Failed {
    fn from(error: SqlError) -> Self {
        Failed::Statement(error)
    }
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        Failed::Engine(error)
    }
}

/// Returns PostgreSQL's error of ALTER TABLE for stored rows that break a new rule.
pub(super) fn engine_error(error: EngineError) -> SqlError {
    match error {
        EngineError::NotNullViolation { column, table, .. } => contains_nulls(&table, &column),
        EngineError::CheckViolation {
            table, constraint, ..
        } => violated_by_some(&table, &constraint),
        other => index_error(other),
    }
}

fn contains_nulls(table: &str, column: &str) -> SqlError {
    let message = format!("column \"{column}\" of relation \"{table}\" contains null values");
    SqlError::constraint("23502", message).of_table(table)
}

fn violated_by_some(table: &str, constraint: &str) -> SqlError {
    let message =
        format!("check constraint \"{constraint}\" of relation \"{table}\" is violated by some row");
    SqlError::constraint("23514", message).of_table(table)
}

/// A definition on its way.
pub(in crate::sql::ddl) struct Change<'a> {
    catalog: &'a Catalog,
    pub(in crate::sql::ddl) next: Table,
    /// Columns that no row may have NULL in.
    pub(in crate::sql::ddl) not_null: Vec<ColumnId>,
    /// Constraints that are to hold for all rows.
    checks: Vec<String>,
    /// Columns whose values are to be of their domains.
    domains: Vec<ColumnId>,
    notices: Vec<Notice>,
    /// UNIQUE constraints that are added.
    uniques: Vec<UniqueDefinition>,
    /// Sequences of columns that are added.
    sequences: Vec<(ColumnId, Sequence)>,
    /// The table with columns that get another type, before and after.
    through: Option<Table>,
    retyped: Option<(ColumnId, ColumnId)>,
    /// A column that gets another name.
    renamed: Option<(ColumnId, String)>,
    /// When the statement began.
    now: i64,
}

impl Change<'_> {
    fn act(&mut self, action: &AlterAction) -> Result<(), SqlError> {
        match action {
            AlterAction::Storage {
                column,
                index,
                notices,
            } => {
                if let Some(column) = column {
                    self.position(column)?;
                }
                if let Some(index) = index {
                    check_index(&self.next, index)?;
                }
                self.notices
                    .extend(notices.iter().map(|text| Notice::new(text.clone())));
                Ok(())
            }
            AlterAction::RenameColumn { old, new } => self.rename_column(old, new),
            AlterAction::RenameConstraint { old, new } => {
                self.rename_constraint(old, new)?;
                self.next.comments.rename_constraint(&old.text, &new.text);
                Ok(())
            }
            AlterAction::AddColumn {
                column,
                checks,
                uniques,
                foreign_keys,
                if_not_exists,
            } => {
                let is_there = self.next.column_named(&column.name.text).is_some();
                if is_there && *if_not_exists {
                    let message = format!(
                        "column \"{}\" of relation \"{}\" already exists, skipping",
                        column.name.text, self.next.name
                    );
                    self.notices.push(Notice::new(message));
                    return Ok(());
                }
                self.add_column(column)?;
                for check in checks {
                    self.add_check(check)?;
                }
                self.uniques.extend(uniques.iter().cloned());
                self.add_foreign_keys(foreign_keys)
            }
            AlterAction::DropColumn {
                name,
                if_exists,
                cascade,
            } => match self.next.column_named(&name.text).map(|column| column.id) {
                Some(id) => self.drop_column(id, name, *cascade),
                None if *if_exists => {
                    let message = format!("{}, skipping", self.no_column(name));
                    self.notices.push(Notice::new(message));
                    Ok(())
                }
                None => Err(SqlError::statement("42703", self.no_column(name)).at(name.position)),
            },
            AlterAction::AddCheck(check) => self.add_check(check),
            AlterAction::AddForeignKey(key) => self.add_foreign_keys(std::slice::from_ref(key)),
            AlterAction::ValidateConstraint(name) => {
                if let Some(check) = self.next.checks.iter_mut().find(|check| check.name == name.text) {
                    if std::mem::take(&mut check.not_valid) {
                        self.checks.push(name.text.clone());
                    }
                    return Ok(());
                }
                self.foreign_key_named(name)?.not_valid = false;
                Ok(())
            }
            AlterAction::AlterConstraint { name, timing } => {
                self.foreign_key_named(name)?.timing = *timing;
                Ok(())
            }
            AlterAction::AddUnique(unique) => {
                self.uniques.push(unique.clone());
                Ok(())
            }
            AlterAction::UseIndex { name, index } => {
                let name = name.as_ref().unwrap_or(index);
                self.notices
                    .extend(use_index(self.catalog, &mut self.next, name, index)?);
                Ok(())
            }
            AlterAction::RenameTo(_)
            | AlterAction::AddIdentity { .. }
            | AlterAction::AlterNumbers { .. }
            | AlterAction::Repack
            | AlterAction::AddPrimaryKey { .. }
            | AlterAction::DropComputed {
                computed: Computed::Identity,
                ..
            } => Err(SqlError::internal("the action stands alone")),
            AlterAction::DropComputed {
                column,
                computed: Computed::Expression,
                if_exists,
            } => {
                let at = self.position(column)?;
                match self.next.columns[at].values.generated.take() {
                    Some(_) => Ok(()),
                    None if *if_exists => {
                        let message = format!(
                            "column \"{}\" of relation \"{}\" is not a stored generated column, skipping",
                            column.text, self.next.name
                        );
                        self.notices.push(Notice::new(message));
                        Ok(())
                    }
                    None => Err(not_so(&self.next, column, "is not a stored generated column")),
                }
            }
            AlterAction::SetIdentity { column, kind } => {
                let at = self.position(column)?;
                if self.next.columns[at].values.identity.is_none() {
                    return Err(not_so(&self.next, column, "is not an identity column"));
                }
                self.next.columns[at].values.identity = Some(identity_of(*kind));
                Ok(())
            }
            AlterAction::DropConstraint { name, if_exists, .. } => self.drop_constraint(name, *if_exists),
            AlterAction::SetDefault { column, default } => {
                let at = self.position(column)?;
                let changed = &mut self.next.columns[at];
                if changed.values.identity.is_some() {
                    let message = format!(
                        "column \"{}\" of relation \"{}\" is an identity column",
                        column.text, self.next.name
                    );
                    return Err(SqlError::syntax(message).at(column.position));
                }
                if changed.values.generated.is_some() {
                    let message = format!(
                        "column \"{}\" of relation \"{}\" is a generated column",
                        column.text, self.next.name
                    );
                    return Err(SqlError::syntax(message).at(column.position));
                }
                changed.default = match default {
                    Some(default) => {
                        Some(checked_default(self.catalog, default, &changed.ty, &changed.name)?.0)
                    }
                    None => None,
                };
                Ok(())
            }
            AlterAction::SetNullable { column, nullable } => self.set_nullable(column, *nullable),
            AlterAction::SetType { column, ty, using } => {
                let id = self.next.columns[self.position(column)?].id;
                let (from, to) = (self.next.column(id).map(|column| column.ty), ty.known()?);
                let holds = from.is_some_and(|from| keeps_values(&self.next, from, to));
                let using = match holds {
                    true => other_values(&column.text, ty, using.as_ref()),
                    false => using.as_ref(),
                };
                let keeps = using.is_none() && holds;
                check_not_in_keys(self.catalog, &self.next, id, keeps.then_some(to))
                    .map_err(|error| error.at(column.position))?;
                let own = Expression {
                    expr: ast::Expr::Identifier(Ident::with_quote('"', &column.text)),
                    position: column.position,
                };
                let retyped = retyped(self.catalog, &self.next, id, ty.known()?, (&own, using))
                    .map_err(|error| error.at(column.position))?;
                self.next = retyped.table;
                self.through = retyped.through;
                self.retyped = retyped.retyped;
                self.set_domain(id, ty).map_err(|error| error.at(column.position))
            }
            AlterAction::SetLifetime(lifetime) => {
                let Table { options, columns, .. } = &mut self.next;
                set_lifetime(options, columns, lifetime, self.now)?;
                let placed = |error: rukh_catalog::CatalogError| SqlError::from(error).at(lifetime.position);
                self.next.check_lifetimes().map_err(placed)
            }
            AlterAction::SetFamily {
                family,
                ttl_micros,
                versions,
            } => {
                set_family(&mut self.next, family, *ttl_micros, *versions, self.now)?;
                let placed = |error: rukh_catalog::CatalogError| SqlError::from(error).at(family.position);
                self.next.check_lifetimes().map_err(placed)
            }
            AlterAction::SetVersions(kept) => {
                set_versions(&mut self.next.options, *kept, self.now);
                if kept.is_none() {
                    let families = self.next.families.iter_mut();
                    families.for_each(|family| family.options.versions = None);
                }
                Ok(())
            }
        }
    }

    /// Makes a column one of the domain that its new type is, or of none.
    fn set_domain(&mut self, id: ColumnId, ty: &TypeName) -> Result<(), SqlError> {
        let domain = domain_of(self.catalog, ty)?;
        if domain.is_some() && self.through.is_some() {
            let message = "a column becomes one of a domain only if its type is that of the values";
            return Err(SqlError::unsupported(message)
                .with_hint("Change it to that type first, by a statement of its own."));
        }
        if domain.is_some() {
            self.domains.push(id);
        }
        let columns = self.next.columns.iter_mut();
        let through = self.through.iter_mut().flat_map(|table| &mut table.columns);
        for column in columns.chain(through).filter(|column| column.id == id) {
            column.values.domain.clone_from(&domain);
            column.values.declared = is_declared(ty);
        }
        Ok(())
    }

    fn no_column(&self, name: &Name) -> String {
        format!(
            "column \"{}\" of relation \"{}\" does not exist",
            name.text, self.next.name
        )
    }

    pub(in crate::sql::ddl) fn position(&self, name: &Name) -> Result<usize, SqlError> {
        let at = self
            .next
            .columns
            .iter()
            .position(|column| column.name == name.text);
        at.ok_or_else(|| SqlError::statement("42703", self.no_column(name)).at(name.position))
    }

    fn rename_column(&mut self, old: &Name, new: &Name) -> Result<(), SqlError> {
        let id = column_id(&self.next.columns, old)?;
        if self.next.column_named(&new.text).is_some() {
            return Err(self.taken(new));
        }
        for column in self.next.columns.iter_mut().filter(|column| column.id == id) {
            column.name = new.text.clone();
        }
        self.next = in_expressions(self.next.clone(), &old.text, &new.text)?;
        self.renamed = Some((id, new.text.clone()));
        Ok(())
    }

    fn taken(&self, name: &Name) -> SqlError {
        let message = format!(
            "column \"{}\" of relation \"{}\" already exists",
            name.text, self.next.name
        );
        SqlError::statement("42701", message).at(name.position)
    }

    fn add_column(&mut self, definition: &ColumnDefinition) -> Result<(), SqlError> {
        let Name { text, position } = &definition.name;
        if self.next.column_named(text).is_some() {
            return Err(self.taken(&definition.name));
        }
        let takes_numbers = definition
            .default
            .as_ref()
            .is_some_and(|default| calls_sequence(&default.expr));
        if takes_numbers {
            let message = "a column that takes numbers of another sequence cannot be added";
            return Err(SqlError::unsupported(message)
                .at(*position)
                .with_hint("Give it a sequence of its own: GENERATED … AS IDENTITY, or BIGSERIAL."));
        }
        if let Some(default) = definition
            .default
            .as_ref()
            .filter(|default| is_volatile(&default.expr))
        {
            let message = "a column whose default is another value for every row cannot be added";
            return Err(SqlError::unsupported(message).at(default.position).with_hint(
                "Add it without, and set the default and the values of the rows that are there.",
            ));
        }
        let has_values = definition.identity.is_some() || definition.generated.is_some();
        if has_values && definition.family.is_some() && !self.next.is_columnar() {
            let message = "a column with a value for each row cannot be added to a family";
            return Err(SqlError::unsupported(message).at(*position));
        }
        let (default, ty) = (definition.default.as_ref(), definition.ty.known()?);
        let default = default.map(|default| checked_default(self.catalog, default, &ty, text));
        let (mut default, mut missing) = default.transpose()?.unzip();
        let domain = domain_of(self.catalog, &definition.ty)?;
        let of_domain = domain.as_ref().and_then(|domain| domain.default_sql());
        if let (None, None, Some(sql)) = (&default, &definition.identity, of_domain) {
            missing = Some(evaluate_default(sql, &ty, text)?);
        }
        let mut identity = None;
        let mut sequence = None;
        if let Some(given) = &definition.identity {
            let own = self.own_sequence(definition, given)?;
            default = Some(default_of(&own.schema, &own.name));
            identity = match given.kind {
                IdentityKind::Serial => None,
                kind => Some(identity_of(kind)),
            };
            sequence = Some(own);
        }
        let family = match &definition.family {
            None => FamilyId(0),
            Some(name) if self.next.is_columnar() => {
                self.notices.push(aside(&name.text));
                FamilyId(0)
            }
            Some(name) => self.family(&name.text),
        };
        let column = Column {
            id: ColumnId(0),
            name: text.clone(),
            ty,
            nullable: definition.nullable.unwrap_or(true) && sequence.is_none(),
            default,
            family,
            values: ColumnValues {
                missing: missing.filter(|value| !value.is_null()),
                identity,
                counter: definition.counter,
                domain,
                declared: is_declared(&definition.ty),
                ..ColumnValues::default()
            },
        };
        let is_required = !column.nullable && column.values.missing.is_none();
        let placed = |error: rukh_catalog::CatalogError| SqlError::from(error).at(*position);
        self.next = self.next.with_column(column).map_err(placed)?;
        let at = self.next.declared_columns().len() - 1;
        let id = self.next.columns[at].id;
        if self.next.columns[at].values.domain.is_some() {
            self.domains.push(id);
        }
        if let Some(expression) = &definition.generated {
            let others = self.next.columns.iter();
            let others = others.filter(|column| column.values.generated.is_some() || column.id == id);
            let others: Vec<&str> = others.map(|column| column.name.as_str()).collect();
            let generated = generated_column(&self.next, &self.next.columns[at], expression, &others)?;
            self.next.columns[at].values.generated = Some(generated);
        }
        if is_required && !has_values {
            self.not_null.push(id);
        }
        self.sequences.extend(sequence.map(|sequence| (id, sequence)));
        Ok(())
    }

    /// Makes the sequence of a column that is added.
    fn own_sequence(
        &self,
        definition: &ColumnDefinition,
        given: &IdentityDefinition,
    ) -> Result<Sequence, SqlError> {
        let Name { text, position } = &definition.name;
        if definition.nullable == Some(true) {
            let message = format!("conflicting NULL/NOT NULL declarations for column \"{text}\"");
            return Err(SqlError::syntax(message).at(given.position));
        }
        let table = ObjectName {
            schema: Some(self.next.schema.clone()),
            name: self.next.name.clone(),
            position: *position,
        };
        let is_taken = |name: &str| {
            self.catalog.check_name_free(&self.next.schema, name).is_err()
                || self.sequences.iter().any(|(_, sequence)| sequence.name == name)
        };
        own_sequence(
            &table,
            (&definition.name, definition.ty.known()?),
            given,
            is_taken,
        )
    }

    /// Returns what becomes of the table.
    fn alteration(self) -> Result<Alteration, SqlError> {
        let mut indexes: Vec<IndexDraft> = Vec::with_capacity(self.uniques.len());
        for unique in &self.uniques {
            let names: Vec<String> = indexes.iter().map(|index| index.name.clone()).collect();
            indexes.push(unique_draft(self.catalog, &self.next, unique, &names)?);
        }
        // A column may be dropped by the statement that adds it.
        let is_there = |(column, _): &(ColumnId, Sequence)| self.next.column(*column).is_some();
        Ok(Alteration {
            sequences: self.sequences.into_iter().filter(is_there).collect(),
            through: self.through,
            retyped: self.retyped,
            indexes,
            ..Alteration::from(self.next)
        })
    }

    /// Returns the family of a name, new if there is none.
    fn family(&mut self, name: &str) -> FamilyId {
        if let Some(family) = self.next.families.iter().find(|family| family.name == name) {
            return family.id;
        }
        let last = self.next.families.iter().map(|family| family.id.0).max();
        let id = FamilyId(last.map_or(0, |id| id.saturating_add(1)));
        self.next.families.push(Family {
            id,
            name: name.to_string(),
            options: FamilyOptions::default(),
        });
        id
    }

    fn drop_column(&mut self, id: ColumnId, name: &Name, cascade: bool) -> Result<(), SqlError> {
        let table = &self.next;
        if table
            .primary_key
            .iter()
            .any(|element| element.expr.columns().contains(&id))
        {
            let message = format!(
                "cannot drop column \"{}\" of table \"{}\": it is part of the primary key",
                table.column_name(id),
                table.name
            );
            return Err(SqlError::unsupported(message).at(name.position));
        }
        check_no_views(self.catalog, table, table.column(id)).map_err(|error| error.at(name.position))?;
        if table.options.lifetime.and_then(|lifetime| lifetime.from) == Some(id) {
            let message = format!(
                "cannot drop column \"{}\" of table \"{}\" because TTL counts from it",
                table.column_name(id),
                table.name
            );
            return Err(SqlError::statement("2BP01", message)
                .at(name.position)
                .with_hint("Reset or change the TTL of the table before."));
        }
        let reads = |index: &&Index| index.columns_read(table).contains(&id);
        let indexes: Vec<_> = table.indexes.iter().filter(reads).collect();
        let generated = table.columns.iter().filter(|column| {
            let expression = column.values.generated.as_ref();
            expression.is_some_and(|generated| generated.columns.contains(&id))
        });
        let generated: Vec<&Column> = generated.collect();
        if !cascade && !generated.is_empty() {
            let this = format!("column {} of table {}", table.column_name(id), table.name);
            let columns = generated
                .iter()
                .map(|column| format!("column {} of table {} depends on {this}", column.name, table.name));
            let detail: Vec<String> = columns.collect();
            let message = format!("cannot drop {this} because other objects depend on it");
            return Err(SqlError::statement("2BP01", message)
                .at(name.position)
                .with_detail(detail.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let gone: Vec<_> = indexes.iter().map(|index| index.id).collect();
        let generated: Vec<ColumnId> = generated.iter().map(|column| column.id).collect();
        self.next.indexes.retain(|index| !gone.contains(&index.id));
        self.next.checks.retain(|check| !check.columns.contains(&id));
        self.next.foreign_keys.retain(|key| !key.columns.contains(&id));
        for column in generated {
            self.drop_column(column, name, true)?;
        }
        self.not_null.retain(|column| *column != id);
        let kept: Vec<String> = self.next.checks.iter().map(|check| check.name.clone()).collect();
        self.checks.retain(|check| kept.contains(check));
        self.next = self.next.without_column(id)?;
        Ok(())
    }

    fn add_check(&mut self, definition: &rukh_syntax::CheckDefinition) -> Result<(), SqlError> {
        let check = check_constraint(&self.next, definition)?;
        if !check.not_valid {
            self.checks.push(check.name.clone());
        }
        self.next.checks.push(check);
        Ok(())
    }

    fn add_foreign_keys(&mut self, definitions: &[ForeignKeyDefinition]) -> Result<(), SqlError> {
        let notices = add_foreign_keys(self.catalog, &mut self.next, definitions)?;
        self.notices.extend(notices);
        Ok(())
    }

    fn foreign_key_named(&mut self, name: &Name) -> Result<&mut ForeignKey, SqlError> {
        let unknown = SqlError::statement("42704", self.no_constraint(name)).at(name.position);
        let is_check = self.next.checks.iter().any(|check| check.name == name.text);
        let is_index = self
            .next
            .indexes
            .iter()
            .any(|index| index.constraint && index.name == name.text);
        if is_check || is_index {
            let message = format!(
                "constraint \"{}\" of relation \"{}\" is not a foreign key constraint",
                name.text, self.next.name
            );
            return Err(SqlError::statement("42809", message).at(name.position));
        }
        let mut keys = self.next.foreign_keys.iter_mut();
        keys.find(|key| key.name == name.text).ok_or(unknown)
    }

    fn no_constraint(&self, name: &Name) -> String {
        format!(
            "constraint \"{}\" of relation \"{}\" does not exist",
            name.text, self.next.name
        )
    }

    fn rename_constraint(&mut self, old: &Name, new: &Name) -> Result<(), SqlError> {
        let table = &mut self.next;
        let has_index = table.index_named(&old.text).is_some_and(|index| index.unique);
        let is_key = table.key_name().as_deref() == Some(&old.text);
        if has_index || is_key {
            check_free(self.catalog, &table.schema, new)?;
        }
        check_new_constraint(table, new)?;
        if let Some(check) = table.checks.iter_mut().find(|check| check.name == old.text) {
            check.name = new.text.clone();
        } else if let Some(key) = table.foreign_keys.iter_mut().find(|key| key.name == old.text) {
            key.name = new.text.clone();
        } else if is_key {
            table.set_key_name(new.text.clone());
        } else if has_index {
            let named = table.indexes.iter_mut().filter(|index| index.name == old.text);
            named.for_each(|index| index.name = new.text.clone());
        } else {
            let message = format!(
                "constraint \"{}\" for table \"{}\" does not exist",
                old.text, table.name
            );
            return Err(SqlError::statement("42704", message).at(old.position));
        }
        Ok(())
    }

    fn drop_constraint(&mut self, name: &Name, if_exists: bool) -> Result<(), SqlError> {
        let table = &mut self.next;
        let parts = |table: &Table| table.checks.len() + table.indexes.len() + table.foreign_keys.len();
        let before = parts(table);
        table.checks.retain(|check| check.name != name.text);
        table.foreign_keys.retain(|key| key.name != name.text);
        table
            .indexes
            .retain(|index| !(index.unique && index.name == name.text));
        if parts(table) < before {
            self.checks.retain(|check| *check != name.text);
            return Ok(());
        }
        if table.key_name().as_ref() == Some(&name.text) {
            let message = "a primary key is dropped by a statement of its own";
            return Err(SqlError::unsupported(message).at(name.position));
        }
        if !if_exists {
            return Err(SqlError::statement("42704", self.no_constraint(name)).at(name.position));
        }
        let message = format!("{}, skipping", self.no_constraint(name));
        self.notices.push(Notice::new(message));
        Ok(())
    }

    /// Checks that the rows that are there are rows of the new definition.
    fn verify(&self, session: &mut Session, before: &Table) -> Result<(), SqlError> {
        // Rows that are rewritten are checked then.
        let has_values = |column: &Column| {
            column.values.generated.is_some() || self.sequences.iter().any(|(id, _)| *id == column.id)
        };
        let mut added = self
            .next
            .columns
            .iter()
            .filter(|column| before.column(column.id).is_none());
        if added.any(has_values)
            || self.not_null.is_empty() && self.checks.is_empty() && self.domains.is_empty()
        {
            return Ok(());
        }
        let domains = self.domains.iter().filter_map(|id| {
            let (at, column) = (self.next.position(*id)?, self.next.column(*id)?);
            let domain = column.values.domain.as_ref()?;
            Some(domain_rules(domain).map(|rules| (at, rules)))
        });
        let domains = domains.collect::<Result<Vec<_>, _>>()?;
        let mut checks = Vec::new();
        for check in self
            .next
            .checks
            .iter()
            .filter(|check| self.checks.contains(&check.name))
        {
            let compiled = Functions.compile(&self.next, &check.sql, &DataType::Boolean)?;
            checks.push((check, compiled));
        }
        scan_rows(session, before, |rows| {
            let rows: Vec<Row> = rows.iter().map(|row| moved(row, before, &self.next)).collect();
            for id in &self.not_null {
                let at = self.next.position(*id).unwrap_or_default();
                if rows.iter().any(|row| row[at].is_null()) {
                    return Err(contains_nulls(&self.next.name, self.next.column_name(*id)));
                }
            }
            for (at, rules) in &domains {
                let values: Vec<&Datum> = rows.iter().map(|row| &row[*at]).collect();
                rules.check(&values)?;
            }
            let borrowed: Vec<&[Datum]> = rows.iter().map(Vec::as_slice).collect();
            for (check, compiled) in &checks {
                if compiled.evaluate(&borrowed)?.contains(&Datum::Boolean(false)) {
                    return Err(violated_by_some(&self.next.name, &check.name));
                }
            }
            Ok(())
        })
    }
}

/// Fails if rows of a table that others refer to are to have a TTL.
fn check_no_ttl(catalog: &Catalog, next: &Table) -> Result<(), SqlError> {
    let expires = next.options.lifetime.is_some()
        || next
            .families
            .iter()
            .any(|family| family.options.ttl_micros.is_some());
    match expires && catalog.references_to(next.id).next().is_some() {
        true => {
            let message = format!(
                "rows of table \"{}\" cannot have a TTL because foreign keys refer to it",
                next.name
            );
            Err(SqlError::unsupported(message))
        }
        false => Ok(()),
    }
}

/// Returns a row of one definition as a row of another.
fn moved(row: &[Datum], before: &Table, next: &Table) -> Row {
    let value = |column: &Column| match before.position(column.id) {
        Some(at) => row[at].clone(),
        None => column.values.missing.clone().unwrap_or(Datum::Null),
    };
    next.columns.iter().map(value).collect()
}

/// Shows all rows of a table to `visit`, a batch at a time. The row id of a table without a primary key is NULL in them.
pub(in crate::sql::ddl) fn scan_rows(
    session: &mut Session,
    table: &Table,
    mut visit: impl FnMut(&[Row]) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let query = rukh_syntax::make::select_table(&table.schema, &table.name);
    let context = session.context(session.engine().snapshot(), &query)?;
    let mut rows = session.query(&query, &[], &context)?;
    let columns = rows.columns().to_vec();
    let place = |column: &Column| columns.iter().position(|shown| shown.name == column.name);
    let places: Vec<Option<usize>> = table.columns.iter().map(place).collect();
    let whole = |row: Row| -> Row {
        let value = |place: &Option<usize>| place.map_or(Datum::Null, |at| row[at].clone());
        places.iter().map(value).collect()
    };
    while let Some(batch) = rows.next_batch()? {
        let rows = rows_of_batch(&batch, &columns)?;
        visit(&rows.into_iter().map(whole).collect::<Vec<Row>>())?;
    }
    Ok(())
}
