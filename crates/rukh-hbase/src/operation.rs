//! Gets, mutations and conditions, as a caller builds them.

use bytes::Bytes;

use crate::Error;
use crate::cell::{Cell, CellKind, Row};
use crate::proto::common::{ColumnFamilyTimeRange, TimeRange};
use crate::proto::data;

/// What to read of one row.
#[derive(Clone, Debug)]
pub struct Get(pub(crate) data::Get);

impl Get {
    /// Reads the newest version of every column of a row.
    pub fn new(row: impl Into<Bytes>) -> Get {
        Get(data::Get {
            row: row.into(),
            ..data::Get::default()
        })
    }

    /// Reads this family too, where until now all were read.
    pub fn family(mut self, family: impl Into<Bytes>) -> Get {
        self.0.column.push(data::Column {
            family: family.into(),
            qualifier: Vec::new(),
        });
        self
    }

    /// Reads this column too, where until now all were read.
    pub fn column(mut self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Get {
        let (family, qualifier) = (family.into(), qualifier.into());
        match self.0.column.iter_mut().find(|column| column.family == family) {
            Some(column) => column.qualifier.push(qualifier),
            None => self.0.column.push(data::Column {
                family,
                qualifier: vec![qualifier],
            }),
        }
        self
    }

    /// Reads only cells with timestamps from `from` on and below `to`.
    pub fn times(mut self, from: u64, to: u64) -> Get {
        self.0.time_range = Some(times(from, to));
        self
    }

    /// The same for the cells of one family, whatever [`Get::times`] says.
    pub fn family_times(mut self, family: impl Into<Bytes>, from: u64, to: u64) -> Get {
        self.0.cf_time_range.push(ColumnFamilyTimeRange {
            column_family: family.into(),
            time_range: times(from, to),
        });
        self
    }

    /// Reads so many versions of each column at most; one unless this is said.
    pub fn versions(mut self, versions: u32) -> Get {
        self.0.max_versions = Some(versions);
        self
    }
}

pub(crate) fn times(from: u64, to: u64) -> TimeRange {
    TimeRange {
        from: Some(from),
        to: Some(to),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Increment = 1,
    Put = 2,
    Delete = 3,
}

/// A change of one row.
#[derive(Clone, Debug)]
pub struct Mutation {
    pub(crate) row: Bytes,
    pub(crate) change: Change,
    pub(crate) cells: Vec<Cell>,
    /// Milliseconds after which its cells are gone.
    pub(crate) ttl_ms: Option<u64>,
}

impl Mutation {
    /// Writes cells, which [`Mutation::cell`] adds.
    pub fn put(row: impl Into<Bytes>) -> Mutation {
        Mutation::new(row, Change::Put)
    }

    /// Writes delete markers, which [`Mutation::cell`] adds.
    pub fn delete(row: impl Into<Bytes>) -> Mutation {
        Mutation::new(row, Change::Delete)
    }

    /// Adds `amount` to the number in a column. Its outcome is the row with the new number, eight bytes.
    pub fn increment(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        amount: i64,
    ) -> Mutation {
        let amount = Bytes::copy_from_slice(&amount.to_be_bytes());
        Mutation::new(row, Change::Increment).cell(CellKind::Put, family, qualifier, crate::LATEST, amount)
    }

    fn new(row: impl Into<Bytes>, change: Change) -> Mutation {
        Mutation {
            row: row.into(),
            change,
            cells: Vec::new(),
            ttl_ms: None,
        }
    }

    /// Lets the cells of a put go so many milliseconds after their timestamps.
    pub fn ttl_ms(mut self, ttl_ms: u64) -> Mutation {
        self.ttl_ms = Some(ttl_ms);
        self
    }

    /// Adds a cell: a value to a put, a marker of some kind to a delete. [`crate::LATEST`] lets the server choose the time.
    pub fn cell(
        mut self,
        kind: CellKind,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        timestamp: u64,
        value: impl Into<Bytes>,
    ) -> Mutation {
        self.cells.push(Cell {
            row: self.row.clone(),
            family: family.into(),
            qualifier: qualifier.into(),
            timestamp,
            kind,
            value: value.into(),
        });
        self
    }

    /// Refuses what the codec or every server would refuse.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let invalid = |reason: &str| Error::Argument {
            what: "mutation".to_string(),
            reason: reason.to_string(),
        };
        let length = |cell: &Cell| cell.qualifier.len().saturating_add(cell.value.len());
        match self.row.len() {
            0 => return Err(invalid("the row is empty")),
            length if length > i16::MAX as usize => {
                return Err(invalid("the row is longer than 32767 bytes"));
            }
            _ if self.cells.is_empty() => return Err(invalid("it has no cells")),
            _ => {}
        }
        match self
            .cells
            .iter()
            .find(|cell| cell.family.len() > 127 || length(cell) > 64 << 20)
        {
            Some(_) => Err(invalid("a cell is too long")),
            None => Ok(()),
        }
    }
}

/// Changes of one row that are made together or not at all, if a condition holds.
#[derive(Clone, Debug)]
pub struct CheckAndMutate {
    pub(crate) condition: data::Condition,
    pub(crate) mutations: Vec<Mutation>,
}

impl CheckAndMutate {
    /// Makes the changes if the row has no cell in this column with a timestamp from `from` on and below `to`.
    pub fn if_absent(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        from: u64,
        to: u64,
    ) -> CheckAndMutate {
        // An empty value compared for equality is HBase's way of saying "there is none".
        CheckAndMutate::new(row, family, qualifier, Bytes::new(), times(from, to))
    }

    /// Makes the changes if the newest cell of the column with a timestamp from `from` on and below `to` has this value.
    ///
    /// An empty value means that there is no cell or that it is empty, as in HBase.
    pub fn if_equal(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        value: impl Into<Bytes>,
        from: u64,
        to: u64,
    ) -> CheckAndMutate {
        CheckAndMutate::new(row, family, qualifier, value.into(), times(from, to))
    }

    fn new(
        row: impl Into<Bytes>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        value: Bytes,
        time_range: TimeRange,
    ) -> CheckAndMutate {
        CheckAndMutate {
            condition: data::Condition {
                row: row.into(),
                family: Some(family.into()),
                qualifier: Some(qualifier.into()),
                compare_type: Some(2),
                comparator: Some(crate::filter::binary(value)),
                time_range: Some(time_range),
                filter: None,
            },
            mutations: Vec::new(),
        }
    }

    /// Adds a change.
    pub fn then(mut self, mutation: Mutation) -> CheckAndMutate {
        self.mutations.push(mutation);
        self
    }
}

/// What came of a conditional change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Whether the condition held and the changes were made.
    pub processed: bool,
    /// What an increment left; empty otherwise.
    pub row: Row,
}
