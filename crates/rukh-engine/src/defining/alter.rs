//! Changes of a table's definition, which rewrite no rows unless they must.
//!
//! All that a change brings with it is there before the definition is: column families of new indexes are filled under names that
//! no definition has yet (a crash leaves them unnamed, and the next open drops them), and rows that have to be rewritten
//! ([`rewrite`](crate::building::rewrite), [`rekey`](crate::building::rekey)) are in the batch that stores the definition.

use crate::building::backfill::backfill;
use crate::building::build::maintainers;
use crate::building::rekey::rekey;
use crate::building::rewrite::rewrite;
use crate::forms::codec::TableCodec;
use crate::forms::maintain::Maintainer;
use crate::reading::storages::storages_of;
use crate::state::builds::Build;
use crate::state::shared::{Engine, Inner};
use crate::{EngineError, NoProgress, SequenceState};
use rukh_catalog::{
    Catalog, CatalogError, Column, ColumnId, Index, IndexDraft, IndexId, IndexState, Sequence, SequenceId,
    Table, TableId, check_columnar, validate_index,
};
use rukh_kv::WriteBatch;
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
}

impl From<Table> for Alteration {
    fn from(table: Table) -> Self {
        Alteration {
            table,
            indexes: Vec::new(),
            sequences: Vec::new(),
            through: None,
        }
    }
}

impl Engine {
    /// Changes the definition of a table under the writer lock; returns the new one.
    ///
    /// `change` is shown all definitions and the table as it is, may read rows that are there, and returns
    /// the table as it shall be, or that with what is to come beside it. Indexes that it leaves out are dropped, families that it
    /// adds are made, and so is what a history needs that begins.
    /// Fails with the error of `change`, on expressions that do not compile, on rows that break a rule of the new table,
    /// and with [`EngineError::StatementTooLarge`] if rows that must be rewritten are too many for a batch.
    pub fn alter_table<E: From<EngineError>, A: Into<Alteration>>(
        &self,
        id: TableId,
        change: impl FnOnce(&Catalog, &Table) -> Result<A, E>,
    ) -> Result<Arc<Table>, E> {
        let inner = &self.inner;
        let guard = inner.lock_writer()?;
        let definitions = inner.definitions();
        let before = &definitions.codec(id)?.table;
        let Alteration {
            table: mut next,
            indexes,
            sequences,
            through,
        } = change(&definitions.catalog, before)?.into();
        let first_id = inner.next_storage_id()?;
        let mut next_id = first_id;
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
            let index = validate_index(draft, &next, IndexId(next_id)).map_err(EngineError::from)?;
            next_id += 1;
            added.push(index.id);
            next.indexes.push(Index {
                state: IndexState::Ready,
                ..index
            });
        }
        let sequences = owned(&definitions.catalog, &next, sequences, &mut next_id)?;
        next.settle_former(before);
        let columnar = next.indexes.iter().try_for_each(check_columnar);
        columnar
            .and_then(|()| next.check_layout())
            .map_err(EngineError::from)?;
        let codec = TableCodec::new(Arc::new(next.clone()));
        let maintainer = Maintainer::new(Arc::new(codec), inner.functions.as_ref())?;
        let through = through.map(|table| {
            let codec = Arc::new(TableCodec::new(Arc::new(table)));
            Maintainer::new(codec, inner.functions.as_ref())
        });
        let through = through.transpose()?;
        let other_lifetime = has_other_lifetime(before, &next);
        if other_lifetime {
            inner.end_lifetime(before)?;
        }
        let mut batch = inner.forget_surplus(&definitions, &next)?;
        let known: BTreeSet<String> = storages_of(before).collect();
        let new = storages_of(&next).filter(|name| !known.contains(name));
        let new: Vec<String> = new.collect();
        let created = inner.create_storage(&new, &next);
        created.inspect_err(|_| inner.pass_over(next_id))?;
        let shown = definitions.catalog.with_table(next.clone());
        let filled = inner.bring(
            &shown,
            before,
            (&maintainer, through.as_ref()),
            &added,
            sequences,
            &mut batch,
        );
        let (sequences, rewritten) = filled.inspect_err(|_| inner.drop_unnamed())?;
        let ends_history = before.options.versions.is_some() && next.options.versions.is_none();
        if ends_history {
            crate::forms::stored::delete_statistics(&mut batch, id.history());
        }
        crate::forms::stored::put_table(&mut batch, &next);
        let mut catalog = definitions.catalog.with_table(next.clone());
        // The sequences of columns that are gone go, too.
        for sequence in definitions.catalog.sequences_of(id) {
            let column = sequence.owner.and_then(|(_, column)| next.column(column));
            if column.is_none() {
                crate::forms::stored::delete_sequence(&mut batch, sequence.id);
                catalog = catalog.without_sequence(sequence.id);
            }
        }
        for (sequence, state) in sequences {
            crate::forms::stored::put_sequence(&mut batch, &sequence);
            crate::forms::stored::put_sequence_state(&mut batch, sequence.id, state);
            catalog = catalog.with_sequence(sequence);
        }
        if next_id > first_id {
            crate::forms::stored::put_next_id(&mut batch, next_id);
        }
        let beside_blocks = match rewritten {
            0 => Vec::new(),
            _ => inner.changes_of(std::iter::once(id), &batch),
        };
        let written = match rewritten {
            0 => inner.commit_definitions(batch, catalog),
            _ => inner.commit_definitions_with_rows(batch, catalog),
        };
        if before.row_id().is_some() && next.row_id().is_none() && written.is_ok() {
            inner.forget_statistics(id);
            let codec = definitions.codec(id)?;
            let layouts = codec.indexes.iter().chain(&codec.blocks);
            layouts.for_each(|index| inner.forget_debt(index.index.id));
        }
        if other_lifetime && written.is_ok() {
            inner.retire(definitions.codec(id)?);
        }
        if ends_history && written.is_ok() {
            inner.forget_history(id);
        }
        let purged = inner.set_purges(id);
        inner.drop_unnamed();
        drop(guard);
        written?;
        if rewritten > 0 {
            inner.note_changed_rows(id, rewritten);
            inner.note_changes(&beside_blocks);
        }
        purged?;
        Ok(inner.definitions().codec(id)?.table.clone())
    }
}

impl Inner {
    /// Writes the additions of a table, before any session sees it: entries of the indexes `added`, and
    /// the values of columns, which go into `batch`. Returns the sequences with what they give next, and how many rows
    /// are rewritten.
    fn bring(
        &self,
        shown: &Catalog,
        before: &Table,
        (maintainer, through): (&Maintainer, Option<&Maintainer>),
        added: &[IndexId],
        sequences: Vec<Sequence>,
        batch: &mut WriteBatch,
    ) -> Result<(Vec<(Sequence, SequenceState)>, u64), EngineError> {
        if before.row_id().is_some() && maintainer.codec.table.row_id().is_none() {
            let rows = rekey(self, &self.snapshot(), before, maintainer, batch)?;
            return Ok((Vec::new(), rows));
        }
        let is_new = |column: &&Column| before.column(column.id).is_none();
        let mut new = maintainer.codec.table.columns.iter().filter(is_new);
        let computes = through.is_some() || new.any(|column| column.values.generated.is_some());
        if added.is_empty() && sequences.is_empty() && !computes {
            return Ok((Vec::new(), 0));
        }
        let snapshot = self.snapshot_as(shown.clone());
        if computes || !sequences.is_empty() {
            return rewrite(self, &snapshot, (maintainer, through), added, sequences, batch);
        }
        for index in added {
            let build = Build::new(maintainer.codec.table.id, *index, *index, 0);
            let alone = maintainers(self, &snapshot, &build)?;
            backfill(self, &snapshot, &alone, &build, &NoProgress)?;
        }
        Ok((Vec::new(), 0))
    }
}

/// Gives sequences their ids and owners.
fn owned(
    catalog: &Catalog,
    table: &Table,
    sequences: Vec<(ColumnId, Sequence)>,
    next_id: &mut u32,
) -> Result<Vec<Sequence>, EngineError> {
    let mut owned = Vec::with_capacity(sequences.len());
    for (column, sequence) in sequences {
        catalog.check_name_free(&sequence.schema, &sequence.name)?;
        owned.push(Sequence {
            id: SequenceId(*next_id),
            owner: Some((table.id, column)),
            ..sequence.checked()?
        });
        *next_id += 1;
    }
    Ok(owned)
}

/// Whether rows, or values of a family that both have, live for another time.
fn has_other_lifetime(before: &Table, next: &Table) -> bool {
    let other_family = next.families.iter().any(|family| {
        let known = before.families.iter().find(|known| known.id == family.id);
        known.is_some_and(|known| known.options.ttl_micros != family.options.ttl_micros)
    });
    other_family || before.options.lifetime != next.options.lifetime
}
