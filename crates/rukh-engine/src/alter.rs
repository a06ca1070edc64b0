//! Changes of a table's definition that rewrite no rows.

use crate::EngineError;
use crate::codec::TableCodec;
use crate::engine::{Engine, storages_of};
use crate::maintain::Maintainer;
use rukh_catalog::{Catalog, Table, TableId, check_columnar};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Engine {
    /// Changes the definition of a table while nobody writes; returns the new one.
    ///
    /// `change` is shown all definitions and the table as it is, may read rows that are there, and returns
    /// the table as it shall be. Indexes that it leaves out are dropped, families that it adds are made, and so is what
    /// a history needs that begins.
    /// Fails with the error of `change`, and on expressions that do not compile.
    pub fn alter_table<E: From<EngineError>>(
        &self,
        id: TableId,
        change: impl FnOnce(&Catalog, &Table) -> Result<Table, E>,
    ) -> Result<Arc<Table>, E> {
        let inner = &self.inner;
        let _guard = inner.lock_writer()?;
        let definitions = inner.definitions();
        let before = &definitions.codec(id)?.table;
        let mut next = change(&definitions.catalog, before)?;
        next.settle_former(before);
        let columnar = next.indexes.iter().try_for_each(check_columnar);
        columnar
            .and_then(|()| next.check_layout())
            .map_err(EngineError::from)?;
        let codec = TableCodec::new(Arc::new(next.clone()));
        Maintainer::new(Arc::new(codec), inner.functions.as_ref())?;
        let other_lifetime = has_other_lifetime(before, &next);
        if other_lifetime {
            inner.end_lifetime(before)?;
        }
        let mut batch = inner.forget_surplus(&definitions, &next)?;
        let known: BTreeSet<String> = storages_of(before).collect();
        let new = storages_of(&next).filter(|name| !known.contains(name));
        inner.create_storage(&new.collect::<Vec<String>>(), &next)?;
        let ends_history = before.options.versions.is_some() && next.options.versions.is_none();
        if ends_history {
            crate::stored::delete_statistics(&mut batch, id.history());
        }
        crate::stored::put_table(&mut batch, &next);
        let mut catalog = definitions.catalog.with_table(next.clone());
        // The sequences of columns that are gone go, too.
        for sequence in definitions.catalog.sequences_of(id) {
            let column = sequence.owner.and_then(|(_, column)| next.column(column));
            if column.is_none() {
                crate::stored::delete_sequence(&mut batch, sequence.id);
                catalog = catalog.without_sequence(sequence.id);
            }
        }
        let written = inner.commit_definitions(batch, catalog);
        if other_lifetime && written.is_ok() {
            inner.retire(definitions.codec(id)?);
        }
        if ends_history && written.is_ok() {
            inner.forget_history(id);
        }
        let purged = inner.set_purges(id);
        inner.drop_unnamed();
        written?;
        purged?;
        Ok(inner.definitions().codec(id)?.table.clone())
    }
}

/// Whether rows, or values of a family that both have, live for another time.
fn has_other_lifetime(before: &Table, next: &Table) -> bool {
    let other_family = next.families.iter().any(|family| {
        let known = before.families.iter().find(|known| known.id == family.id);
        known.is_some_and(|known| known.options.ttl_micros != family.options.ttl_micros)
    });
    other_family || before.options.lifetime != next.options.lifetime
}
