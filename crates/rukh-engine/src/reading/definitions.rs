//! The definitions of one moment, with everything prepared from them.

use crate::EngineError;
use crate::columnar::Packed;
use crate::forms::codec::TableCodec;
use crate::reading::lifetime;
use rukh_catalog::{Catalog, CatalogError, ForeignKey, Table, TableId};
use std::collections::HashMap;
use std::sync::Arc;

/// The definitions of one moment with everything prepared from them; replaced as a whole by DDL.
pub(crate) struct Definitions {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) codecs: HashMap<TableId, Arc<TableCodec>>,
    /// How long values live, of the column families where they do not live for ever.
    pub(crate) lifetimes: Arc<lifetime::Rules>,
    /// Whether rows of any table carry times.
    pub(crate) timed: bool,
    /// By referenced table, the constraints that refer to it.
    pub(crate) references: HashMap<TableId, Vec<Arc<Reference>>>,
    /// The columnar tables.
    pub(crate) packed: Arc<Packed>,
    /// Tables whose rows are not there, and what storage lacks of each.
    pub(crate) lost: Arc<Lost>,
}

/// A FOREIGN KEY constraint, seen from the referenced table.
#[derive(PartialEq)]
pub(crate) struct Reference {
    /// The referencing table.
    pub(crate) table: TableId,
    pub(crate) key: ForeignKey,
}

/// Tables of which storage lacks something, by the name of that.
pub(crate) type Lost = HashMap<TableId, String>;

impl Definitions {
    /// Prepares all tables of a catalog, keeping what was prepared before for those unchanged.
    pub(crate) fn new(catalog: Catalog, before: Option<&Definitions>) -> Self {
        let prepare = |table: &Arc<Table>| {
            let known = before.and_then(|before| before.codecs.get(&table.id));
            let known = known.filter(|codec| Arc::ptr_eq(&codec.table, table));
            let codec = known
                .cloned()
                .unwrap_or_else(|| Arc::new(TableCodec::new(table.clone())));
            (table.id, codec)
        };
        let mut codecs: HashMap<TableId, Arc<TableCodec>> = catalog.tables().map(prepare).collect();
        for table in catalog.tables() {
            let id = table.id.history();
            let known = before.and_then(|before| {
                let same = before.codecs.get(&table.id)?;
                Arc::ptr_eq(&same.table, table).then(|| before.codecs.get(&id).cloned())?
            });
            let make = || Some(Arc::new(TableCodec::new(Arc::new(table.history()?))));
            codecs.extend(known.or_else(make).map(|history| (id, history)));
        }
        let timed = catalog.tables().any(|table| table.options.timed);
        let packed = |codec: &Arc<TableCodec>| {
            let blocks = codec.blocks.clone()?;
            Some((blocks.storage.clone(), blocks))
        };
        let packed: Packed = codecs.values().filter_map(packed).collect();
        let mut references: HashMap<TableId, Vec<Arc<Reference>>> = HashMap::new();
        for table in catalog.tables() {
            for key in &table.foreign_keys {
                let reference = Reference {
                    table: table.id,
                    key: key.clone(),
                };
                references
                    .entry(key.referenced)
                    .or_default()
                    .push(Arc::new(reference));
            }
        }
        Definitions {
            references,
            lifetimes: Arc::new(lifetime::rules(&catalog)),
            timed,
            packed: Arc::new(packed),
            catalog: Arc::new(catalog),
            codecs,
            lost: before.map_or_else(Arc::default, |before| before.lost.clone()),
        }
    }

    /// Returns the same with tables of which storage lacks something.
    pub(crate) fn without(mut self, lost: Lost) -> Self {
        self.lost = Arc::new(lost);
        self
    }

    /// Returns what storage lacks of a table.
    pub(crate) fn lost(&self, id: TableId) -> Option<&str> {
        self.lost.get(&id.history_of().unwrap_or(id)).map(String::as_str)
    }

    /// Returns the constraints that refer to a table.
    pub(crate) fn references_to(&self, id: TableId) -> &[Arc<Reference>] {
        self.references.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Whether rows of any table are stored in blocks, which are read together with what is beside them.
    pub(crate) fn has_packed(&self) -> bool {
        !self.packed.is_empty()
    }

    /// Returns the history of a table, if it has one.
    pub(crate) fn history(&self, id: TableId) -> Option<&Arc<TableCodec>> {
        self.codecs.get(&id.history())
    }

    /// Returns a table prepared for reading and writing; of one that storage lacks something of, what that is.
    pub(crate) fn codec(&self, id: TableId) -> Result<&Arc<TableCodec>, EngineError> {
        let codec = self.codecs.get(&id);
        if let (Some(codec), Some(storage)) = (codec, self.lost(id)) {
            return Err(EngineError::TableLost {
                table: codec.table.name.clone(),
                storage: storage.to_string(),
            });
        }
        codec.ok_or_else(|| {
            CatalogError::UnknownTable {
                name: format!("table {}", id.0),
            }
            .into()
        })
    }
}
