//! `pg_catalog`: definitions as PostgreSQL's clients look them up, and the functions that they call.
//!
//! | file          | has                                                                        |
//! |---------------|----------------------------------------------------------------------------|
//! | `system_tables` | names and columns of these tables                                         |
//! | `schema`      | these tables, as one statement sees them                                    |
//! | `source`      | what rows and functions are made of                                         |
//! | `table`       | columns, rows and batches of such tables                                    |
//! | `procs`       | the functions, `pg_proc`                                                    |
//! | `oids`        | numbers of objects                                                          |
//! | `types`       | `pg_type`, names of types                                                   |
//! | `relations`   | tables, indexes, views, sequences and these tables themselves, as one list   |
//! | `rows`        | makers of the rows                                                          |
//! | `texts`       | definitions of indexes and constraints as SQL                               |
//! | `view_text`   | queries of views, as they are shown                                        |
//! | `array_queries` | arrays of the rows of a query                                            |
//! | `arrays`      | functions on arrays                                                         |
//! | `spelling`    | `format`, `parse_ident`                                                    |
//! | `series`      | series over the places of an array, and the names of what functions give     |
//! | `type_tree`   | types with the types within them, as asyncpg asks for them                   |
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
//! Deliberately not here: `information_schema`, which has a file of its own, but for what `information` has.

mod array_queries;
mod arrays;
mod casts;
mod functions;
mod information;
mod lookup;
mod nothing;
mod oids;
mod operators;
mod procs;
mod relations;
mod rows;
mod schema;
mod series;
mod source;
mod spelling;
mod subqueries;
mod syntax;
mod system_tables;
mod table;
mod tableoids;
mod texts;
mod type_tree;
mod types;
mod view_text;

pub(crate) use functions::{learn_functions, register};
pub(crate) use information::{information_names, information_table};
pub(crate) use lookup::schemas;
pub(crate) use oids::number;
pub(crate) use relations::{Relation, is_constraint, relation};
pub(crate) use schema::PgCatalog;
pub(crate) use subqueries::spell_out_subqueries;
pub(crate) use syntax::spell_out;
pub(crate) use table::Kind;
pub(crate) use type_tree::asks_for_types;
pub(crate) use types::type_name;
