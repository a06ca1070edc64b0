//! What a session knows that statements take and give.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use rukh_keys::DataType;

use super::PLANS_MAX;
use crate::exec::columns::ColumnInfo;

/// What a statement takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The types of `$1`, `$2`, ….
    pub parameters: Vec<DataType>,
    /// Which of them are arrays of these types, as texts such as `{1,2}`: places in `parameters`.
    pub arrays: Vec<usize>,
    /// Which of the arrays hold numbers of objects: places in `parameters`.
    pub oids: Vec<usize>,
    /// The columns of its rows; `None` if it gives no rows.
    pub columns: Option<Arc<[ColumnInfo]>>,
    /// The same as Arrow sees them. Whether values may be NULL is not known before it runs.
    pub schema: Option<SchemaRef>,
}

/// Descriptions that a session has made, by the text of the statement.
#[derive(Default)]
pub(crate) struct Descriptions(HashMap<String, Described>);

/// A description, for a version of the catalog and the types that were given.
pub(crate) struct Described {
    pub(crate) version: u64,
    pub(crate) given: Vec<Option<DataType>>,
    pub(crate) description: Arc<Description>,
}

impl Descriptions {
    /// Returns what is known of a text, if it was described for this version and these types.
    pub(crate) fn known(
        &self,
        sql: &str,
        version: u64,
        given: &[Option<DataType>],
    ) -> Option<Arc<Description>> {
        let described = self.0.get(sql)?;
        let same = described.version == version && described.given == given;
        same.then(|| described.description.clone())
    }

    pub(crate) fn keep(&mut self, sql: &str, described: Described) {
        if self.0.len() >= PLANS_MAX {
            self.0.clear();
        }
        self.0.insert(sql.to_string(), described);
    }
}
