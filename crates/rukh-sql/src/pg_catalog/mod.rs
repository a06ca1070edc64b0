//! `pg_catalog`: definitions as PostgreSQL's clients look them up, and the functions that they call.
//!
//! | file          | has                                                                        |
//! |---------------|----------------------------------------------------------------------------|
//! | `schema`      | the list of these tables, as one statement sees them                        |
//! | `table`       | columns, rows and batches of such tables                                    |
//! | `procs`       | the functions, `pg_proc`                                                    |
//! | `oids`        | numbers of objects                                                          |
//! | `types`       | `pg_type`, names of types                                                   |
//! | `relations`   | tables, indexes, views, sequences and these tables themselves, as one list   |
//! | `rows`        | the tables that have rows                                                   |
//! | `empty`       | the tables that never have any: triggers, policies, publications …           |
//! | `texts`       | definitions of indexes and constraints as SQL                               |
//! | `arrays`      | functions on arrays                                                         |
//! | `functions`   | `pg_get_indexdef`, `format_type`, `has_table_privilege` …                    |
//! | `lookup`      | what these functions look up                                                |
//! | `syntax`      | what only such queries write: `OPERATOR(pg_catalog.~)`, `'t'::regclass`      |
//! | `nothing`     | queries that never have rows, which need not be planned                      |
//! | `tableoids`   | `c.tableoid`, which columns of these tables do not have                      |
//! | `subqueries`  | subqueries of such queries, in a form that DataFusion runs                   |
//!
//! Tables are made from the statement's own catalog when a query names them, and the functions read the
//! same catalog. What a table does not know is NULL, or what PostgreSQL has in a database that does not use
//! the feature.
//!
//! Deliberately not here: `information_schema`, which has a file of its own.

mod arrays;
mod empty;
mod functions;
mod lookup;
mod nothing;
mod oids;
mod procs;
mod relations;
mod rows;
mod schema;
mod subqueries;
mod syntax;
mod table;
mod tableoids;
mod texts;
mod types;

pub(crate) use functions::register;
pub(crate) use lookup::schemas;
pub(crate) use procs::learn as learn_functions;
pub(crate) use schema::{DATABASE, PgCatalog, Source};
use schema::{Definition, Maker, definition, definitions};
pub(crate) use subqueries::spell_out_subqueries;
pub(crate) use syntax::spell_out;
pub(crate) use table::{Cell, Kind};
