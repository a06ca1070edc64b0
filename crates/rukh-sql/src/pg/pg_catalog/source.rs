//! What rows of `pg_catalog` and its functions are made of.

use rukh_catalog::Catalog;

use super::table::Cell;
use crate::exec::context::StatementContext;

/// Name of the database.
pub(crate) const DATABASE: &str = "rukh";

/// What rows and functions are made of.
pub(crate) struct Source<'a> {
    pub(crate) context: &'a StatementContext,
}

impl Source<'_> {
    /// Returns the definitions at the statement's snapshot.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.context.snapshot.catalog
    }

    /// Returns the schemas of the search path that are there.
    pub(crate) fn path(&self) -> Vec<String> {
        let settings = &self.context.client.settings;
        let path = &settings.search_path;
        path.schemas(self.catalog(), self.user(), &settings.temporary_schema)
    }

    /// Returns the user that runs the statement.
    pub(crate) fn user(&self) -> &str {
        &self.context.client.user
    }
}

/// Makes the rows of a table.
pub(crate) type Maker = fn(&Source<'_>) -> Vec<Vec<Cell>>;
