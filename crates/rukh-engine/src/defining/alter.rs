//! Changes of a table's definition, which rewrite no rows unless they must.
//!
//! All that a change brings with it is there before the definition is: column families of new indexes are filled under names that
//! no definition has yet (a crash leaves them unnamed, and the next open drops them), and rows that have to be rewritten
//! ([`rewrite`](crate::building::rewrite), [`rekey`](crate::building::rekey)) are in the batch that stores the definition.

use crate::building::backfill::backfill;
use crate::building::build::maintainers;
use crate::building::rekey::{Images, rekey};
use crate::building::rewrite::rewrite;
use crate::defining::change::{Change, has_other_lifetime, keeps_other_images};
use crate::forms::codec::TableCodec;
use crate::forms::maintain::Maintainer;
use crate::forms::stored;
use crate::reading::snapshot::Snapshot;
use crate::reading::storages::storages_of;
use crate::state::builds::Build;
use crate::state::scope::Changed;
use crate::state::shared::{Engine, Inner};
use crate::writing::constraint::validate;
use crate::{EngineError, NoProgress, Progress};
use rukh_catalog::{
    Catalog, CatalogError, Column, ColumnId, ForeignKey, Index, IndexDraft, IndexId, IndexState, Sequence,
    SequenceId, Table, TableId, View, check_columnar, validate_index,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What becomes of a table, all at once.
#[derive(Clone, Debug)]
pub struct Alteration {
    /// The table as it shall be. Columns that are generated and new are computed in the rows that are there.
    pub table: Table,
    /// Indexes to add, which are filled while writers wait.
    pub indexes: Vec<IndexDraft>,
    /// Sequences of columns that are new, which get ids and the table as owner; the rows that are there take numbers
    /// from them in the order of the primary key.
    pub sequences: Vec<(ColumnId, Sequence)>,
    /// The table with columns that it loses, and generated ones that are computed from them before they go: under the same ids, they
    /// are columns of the table as any other.
    pub through: Option<Table>,
    /// A column of the table, and the one of `through` whose values it gets: rows and entries are written under new keys.
    pub retyped: Option<(ColumnId, ColumnId)>,
    /// Views whose queries change with the table.
    pub views: Vec<View>,
    /// Tables of materialized views whose queries do; nothing else of them may.
    pub materialized: Vec<Table>,
}

impl From<Table> for Alteration {
    fn from(table: Table) -> Self {
        Alteration {
            table,
            indexes: Vec::new(),
            sequences: Vec::new(),
            through: None,
            retyped: None,
            views: Vec::new(),
            materialized: Vec::new(),
        }
    }
}

impl Engine {
    /// Changes the definition of a table, while no other does; returns the new one.
    ///
    /// `alteration` is shown all definitions and the table as it is, may read rows that are there, and returns
    /// the table as it shall be, or that with what is to come beside it. Indexes that it leaves out are dropped, families that it
    /// adds are made, and so is what a history needs that begins.
    /// Fails with the error of `alteration`, on expressions that do not compile, on rows that break a rule of the new table,
    /// and with [`EngineError::StatementTooLarge`] if rows that must be rewritten are too many for a batch.
    pub fn alter_table<E: From<EngineError>, A: Into<Alteration>>(
        &self,
        id: TableId,
        alteration: impl FnOnce(&Catalog, &Table) -> Result<A, E>,
    ) -> Result<Arc<Table>, E> {
        let change = self.begin_change()?;
        let definitions = change.definitions.clone();
        definitions.codec(id)?;
        change.lock_table(id)?;
        let before = &definitions.codec(id)?.table;
        let alteration = alteration(&definitions.catalog, before)?.into();
        Ok(self.alter(change, before, alteration)?)
    }

    /// Makes an alteration of the table that was `before`.
    fn alter(
        &self,
        change: Change<'_>,
        before: &Table,
        alteration: Alteration,
    ) -> Result<Arc<Table>, EngineError> {
        let (id, inner) = (before.id, change.inner);
        let definitions = change.definitions.clone();
        let Alteration {
            table: mut next,
            indexes,
            sequences,
            through,
            retyped,
            views,
            materialized,
        } = alteration;
        let mut added = Vec::with_capacity(indexes.len());
        for draft in indexes {
            let is_ours = next.indexes.iter().any(|index| index.name == draft.name);
            let free = definitions.catalog.check_name_free(&next.schema, &draft.name);
            match is_ours {
                true => Err(CatalogError::DuplicateRelation {
                    name: draft.name.clone(),
                }),
                false => free,
            }
            .map_err(EngineError::from)?;
            let index = validate_index(draft, &next, IndexId(change.take_id())).map_err(EngineError::from)?;
            added.push(index.id);
            next.indexes.push(Index {
                state: IndexState::Ready,
                ..index
            });
        }
        let mut owned = owned(&definitions.catalog, &next, sequences)?;
        owned
            .iter_mut()
            .for_each(|sequence| sequence.id = SequenceId(change.take_id()));
        next.settle_former(before);
        let columnar = next.indexes.iter().try_for_each(check_columnar);
        columnar
            .and_then(|()| next.check_layout())
            .map_err(EngineError::from)?;
        let codec = TableCodec::new(Arc::new(next.clone()));
        let mut maintainer = Maintainer::new(Arc::new(codec), inner.functions.as_ref())?;
        if before.row_id().is_none()
            && let Some(position) = next.row_id()
        {
            maintainer.rules.give_row_ids(position, inner.new_row_ids(id));
        }
        let through = through.map(|table| {
            let codec = Arc::new(TableCodec::new(Arc::new(table)));
            Maintainer::new(codec, inner.functions.as_ref())
        });
        let through = through.transpose()?;
        let other_lifetime = has_other_lifetime(before, &next);
        if other_lifetime {
            change.check_alone("ALTER TABLE that changes how long rows live")?;
            inner.end_lifetime(before)?;
        }
        let mut changed = change.nothing();
        if definitions.history(id).is_some() && keeps_other_images(before, &next) {
            change.check_alone("ALTER TABLE that changes how many former images are kept")?;
            changed.batch = inner.forget_surplus(&definitions, &next)?;
        }
        let known: BTreeSet<String> = storages_of(before).collect();
        let new = storages_of(&next).filter(|name| !known.contains(name));
        let new: Vec<String> = new.collect();
        change.create_storage(&new, &next)?;
        let images = Images {
            after: &maintainer,
            through: through.as_ref(),
            retyped,
        };
        let brought = bring(&change, before, images, &added, owned, &mut changed);
        change.give_up_after(brought)?;
        let validated = validate_keys(&change, before, &next, &changed);
        change.give_up_after(validated)?;
        if before.options.versions.is_some() && next.options.versions.is_none() {
            stored::delete_statistics(&mut changed.batch, id.history());
        }
        // The sequences of columns that are gone go, too.
        for sequence in definitions.catalog.sequences_of(id) {
            let column = sequence.owner.and_then(|(_, column)| next.column(column));
            if column.is_none() {
                changed.remove_sequence(sequence.id);
            }
        }
        changed.put_table(next);
        for view in views {
            stored::put_view(&mut changed.batch, &view);
            changed.catalog = changed.catalog.with_view(view);
        }
        for table in materialized {
            change.lock_table(table.id)?;
            changed.put_table(table);
        }
        let finished = change.finish(changed);
        if other_lifetime && finished.is_err() {
            // Storage may forget again what the definition that stays says.
            self.inner.set_purges(id)?;
        }
        finished?;
        self.defined(id)
    }
}

/// Checks that the rows which are there keep constraints that are new, or were not valid.
fn validate_keys(
    change: &Change<'_>,
    before: &Table,
    next: &Table,
    changed: &Changed,
) -> Result<(), EngineError> {
    let is_new = |key: &&ForeignKey| {
        let was_valid = before
            .foreign_key(&key.name)
            .is_some_and(|known| !known.not_valid);
        !key.not_valid && !was_valid
    };
    let new: Vec<&ForeignKey> = next.foreign_keys.iter().filter(is_new).collect();
    if new.is_empty() {
        return Ok(());
    }
    if !changed.rewritten.is_empty() {
        let message =
            "a foreign key cannot be added by the statement that rewrites the rows of its table".to_string();
        return Err(CatalogError::Unsupported { message }.into());
    }
    new.iter().try_for_each(|key| change.lock_table(key.referenced))?;
    let snapshot = change.snapshot_as(changed.catalog.with_table(next.clone()));
    new.iter().try_for_each(|key| validate(&snapshot, next.id, key))
}

/// Puts the additions of a table into what is written, before any session sees them: entries of the indexes `added`, sequences, and
/// the values of columns.
fn bring(
    change: &Change<'_>,
    before: &Table,
    images: Images<'_>,
    added: &[IndexId],
    sequences: Vec<Sequence>,
    changed: &mut Changed,
) -> Result<(), EngineError> {
    let (maintainer, through) = (images.after, images.through);
    let (inner, table) = (change.inner, &maintainer.codec.table);
    let is_new = |column: &&Column| before.column(column.id).is_none();
    let mut new = table.columns.iter().filter(is_new);
    let retypes = images.retyped.is_some();
    let computes = through.is_some() && !retypes || new.any(|column| column.values.generated.is_some());
    let widens_keys = retypes || has_other_key_bytes(before, table);
    if widens_keys && (computes || !added.is_empty() || !sequences.is_empty()) {
        let message = format!(
            "the type of a column in keys of table \"{}\" has to be changed by a statement of its own",
            table.name
        );
        return Err(CatalogError::Unsupported { message }.into());
    }
    if widens_keys || before.row_id().is_some() != table.row_id().is_some() {
        let read = through.map_or(before, |through| &through.codec.table);
        let snapshot = change.snapshot_as(changed.catalog.with_table(Table::clone(read)));
        let rows = rekey(inner, &snapshot, before, images, &mut changed.batch)?;
        changed.rewritten.push((table.id, rows));
        return Ok(());
    }
    if added.is_empty() && sequences.is_empty() && !computes {
        return Ok(());
    }
    // Rows that a block gives are laid out by the table that the snapshot knows, and read by the layouts of `through`.
    let read = through.map_or(table, |through| &through.codec.table);
    let snapshot = change.snapshot_as(changed.catalog.with_table(Table::clone(read)));
    if computes || !sequences.is_empty() {
        let images = (maintainer, through);
        let (sequences, rows) = rewrite(inner, &snapshot, images, added, sequences, &mut changed.batch)?;
        for (sequence, state) in sequences {
            changed.put_new_sequence(sequence, state);
        }
        changed.rewritten.extend((rows > 0).then_some((table.id, rows)));
        return Ok(());
    }
    added
        .iter()
        .map(|index| Build::new(table.id, *index, *index, 0))
        .try_for_each(|build| fill(inner, &snapshot, &build, &NoProgress))
}

/// Whether a column in the primary key or an index has got a type that keys have in other bytes.
fn has_other_key_bytes(before: &Table, next: &Table) -> bool {
    let has_other = |column: &&Column| {
        let was = before.column(column.id);
        was.is_some_and(|was| !was.ty.has_key_bytes_of(&column.ty))
    };
    let in_key = |id: ColumnId| {
        let mut key = next.primary_key.iter().flat_map(|element| element.expr.columns());
        let mut indexes = next.indexes.iter();
        key.any(|of| of == id)
            || indexes.any(|index| index.columns_read(next).contains(&id) || index.include.contains(&id))
    };
    let mut changed = next.columns.iter().filter(has_other);
    changed.any(|column| in_key(column.id))
}

/// Fills the storage of an index from a snapshot.
pub(crate) fn fill(
    inner: &Inner,
    snapshot: &Snapshot,
    build: &Build,
    progress: &dyn Progress,
) -> Result<(), EngineError> {
    let alone = maintainers(inner, snapshot, build)?;
    backfill(inner, snapshot, &alone, build, progress)
}

/// Gives sequences that come with a table their owners.
pub(crate) fn owned(
    catalog: &Catalog,
    table: &Table,
    sequences: Vec<(ColumnId, Sequence)>,
) -> Result<Vec<Sequence>, EngineError> {
    let mut owned = Vec::with_capacity(sequences.len());
    for (column, sequence) in sequences {
        catalog.check_name_free(&sequence.schema, &sequence.name)?;
        owned.push(Sequence {
            owner: Some((table.id, column)),
            ..sequence.checked()?
        });
    }
    Ok(owned)
}
