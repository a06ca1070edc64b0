//! A source made ready for planning: its key, element by element.

use std::sync::Arc;

use rukh_catalog::{ColumnId, Index, IndexId, IndexState, KeyElement, KeyExpr};
use rukh_keys::{DataType, KeyLayout, SortOrder};

use crate::conditions::interval::IntervalSet;
use crate::conditions::term::TermId;
use crate::inputs::query::{Query, Source};

/// One element of a key.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// What the element holds; `None` for an expression that no term stands for.
    pub(crate) term: Option<TermId>,
    /// The column and length, if the element is a hash.
    pub(crate) hash_of: Option<(ColumnId, u8)>,
    pub(crate) ty: DataType,
    pub(crate) nullable: bool,
    pub(crate) descending: bool,
    /// As SQL, for EXPLAIN.
    pub(crate) name: String,
}

/// A table or index with what planning needs to know of its key.
///
/// Depends on definitions only, so a prepared statement makes it once and plans with
/// [`access_path_on`](crate::access_path_on) for every execution.
#[derive(Clone, Debug)]
pub struct Target {
    pub(crate) source: Source,
    pub(crate) layout: Arc<KeyLayout>,
    /// All elements of the layout.
    pub(crate) slots: Vec<Slot>,
    /// Leading elements that every key has: spans and masked compares are on these only.
    pub(crate) searchable: usize,
    /// Whether values of the searchable elements without NULL name at most one entry.
    pub(crate) unique: bool,
    /// Whether an element is a hash.
    pub(crate) hashed: bool,
    /// Whether entries are stored in blocks.
    pub(crate) columnar: bool,
}

impl Target {
    /// Makes a source ready; `None` if there is no such index or it may not be read yet.
    pub fn new(query: &Query<'_>, source: Source) -> Option<Target> {
        let table = query.table;
        let (elements, layout, searchable, unique, columnar) = match source {
            Source::Table => {
                let elements = table.primary_key.clone();
                let count = elements.len();
                (elements, table.key_layout(), count, true, table.is_columnar())
            }
            Source::Index(id) => {
                let index = ready_index(query, id)?;
                let elements = index.key_elements(table);
                (
                    elements,
                    index.key_layout(table),
                    index.searchable(table),
                    index.unique,
                    index.is_columnar(),
                )
            }
        };
        let slots: Vec<Slot> = elements.iter().map(|element| Slot::new(query, element)).collect();
        Some(Target {
            source,
            layout: Arc::new(layout),
            hashed: slots.iter().any(|slot| slot.hash_of.is_some()),
            slots,
            searchable,
            unique,
            columnar,
        })
    }

    /// The source this was made of.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The layout of the keys.
    pub fn layout(&self) -> &Arc<KeyLayout> {
        &self.layout
    }

    /// The index, if the source is one; `None` too if it is gone or may not be read any more.
    pub(crate) fn index<'a>(&self, query: &Query<'a>) -> Option<&'a Index> {
        match self.source {
            Source::Table => None,
            Source::Index(id) => ready_index(query, id),
        }
    }

    /// The slots that spans and masked compares may be on.
    pub(crate) fn search_slots(&self) -> &[Slot] {
        &self.slots[..self.searchable.min(self.slots.len())]
    }
}

fn ready_index<'a>(query: &Query<'a>, id: IndexId) -> Option<&'a Index> {
    let index = query.table.index(id)?;
    (index.state == IndexState::Ready).then_some(index)
}

impl Slot {
    fn new(query: &Query<'_>, element: &KeyElement) -> Slot {
        let column = query.table.key_column(element);
        let (term, hash_of) = match &element.expr {
            KeyExpr::Column(id) => (Some(TermId::column(*id)), None),
            KeyExpr::Hash { column, bytes } => (Some(TermId::hash(*column, *bytes)), Some((*column, *bytes))),
            KeyExpr::Expression { sql, .. } => {
                let position = query.expressions.iter().position(|known| known.sql == *sql);
                (position.map(|position| TermId::expression(position as u32)), None)
            }
        };
        Slot {
            term,
            hash_of,
            ty: column.ty,
            nullable: column.nullable,
            descending: column.order == SortOrder::Desc,
            name: element.expr.sql(query.table),
        }
    }

    /// Whether a set says nothing about this element.
    pub(crate) fn is_everything(&self, set: &IntervalSet) -> bool {
        set.is_everything(self.nullable)
    }
}
