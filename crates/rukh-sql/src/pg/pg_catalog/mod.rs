//! `pg_catalog`: definitions as PostgreSQL's clients look them up, and the functions that they call.
//!
//! | file          | has                                                                        |
//! |---------------|----------------------------------------------------------------------------|
//! | `schema`      | these tables, as one statement sees them                                    |
//! | `source`      | what rows and functions are made of                                         |
//! | `table`       | columns, rows and batches of such tables                                    |
//! | `procs`       | the functions, `pg_proc`                                                    |
//! | `defined`     | the functions that the database defines                                     |
//! | `types`       | `pg_type`, names of types                                                   |
//! | `relations`   | tables, indexes, views, sequences and these tables themselves, as one list   |
//! | `rows`        | makers of the rows                                                          |
//! | `default_text` | defaults of columns, as they are shown                                     |
//! | `opclasses`   | `pg_opclass` and `pg_opfamily`                                              |
//! | `texts`       | definitions of indexes and constraints as SQL                               |
//! | `view_text`   | queries of views, as they are shown                                        |
//! | `arrays`      | functions on arrays                                                         |
//! | `spelling`    | `format`, `parse_ident`                                                    |
//! | `functions`   | `pg_get_indexdef`, `format_type`, `has_table_privilege` …                    |
//! | `lookup`      | what these functions look up                                                |
//!
//! Tables are made from the statement's own catalog when a query names them, and the functions read the
//! same catalog. What a table does not know is NULL, or what PostgreSQL has in a database that does not use
//! the feature.
//!
//! Deliberately not here: `information_schema`, which has a file of its own, but for what `information` has.

mod arrays;
mod casts;
mod default_text;
mod defined;
mod functions;
mod information;
mod lookup;
mod opclasses;
mod operators;
mod procs;
mod relations;
mod rows;
mod schema;
mod source;
mod spelling;
mod table;
mod texts;
mod types;
mod view_text;

pub(crate) use default_text::default_text;
pub(crate) use functions::{learn_functions, register};
pub(crate) use information::{information_names, information_table};
pub(crate) use lookup::schemas;
pub use procs::function_name;
pub(crate) use relations::{Relation, is_constraint, relation};
pub(crate) use schema::PgCatalog;
pub(crate) use table::Kind;
pub(crate) use texts::{in_parentheses, referenced_key};
pub(crate) use types::column_type_name;
