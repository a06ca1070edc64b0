//! Queries that clients' tools ask of `pg_catalog`: the tables' names and columns, and what only such queries write.
//!
//! Deliberately not here: the rows of these tables and their functions (`pg::pg_catalog`).

pub(crate) mod array_queries;
pub(crate) mod nothing;
pub(crate) mod oids;
pub(crate) mod row_functions;
pub(crate) mod series;
pub(crate) mod subqueries;
pub(crate) mod syntax;
pub(crate) mod system_tables;
pub(crate) mod tableoids;
pub(crate) mod type_tree;
