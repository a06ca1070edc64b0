//! From the text of one statement to a tree.
//!
//! sqlparser reads queries, INSERT, UPDATE, DELETE and every expression. It cannot read what only
//! Rukh has (keys, salt, families, hashes, UPSERT, CHECK, SHOW LAST QUERY STATS), and it accepts much
//! that would silently do nothing, so a small recursive descent stands in front of it:
//!
//! | file           | reads                                                                 |
//! |----------------|-----------------------------------------------------------------------|
//! | `source`       | text to tokens, places, syntax errors                                  |
//! | `reader`       | the vocabulary of the descent: words, names, lists                     |
//! | `create_table` | CREATE TABLE with its columns, key, families and options               |
//! | `create_index` | CREATE INDEX                                                           |
//! | `alter`        | ALTER TABLE, ALTER INDEX                                               |
//! | `schema`       | CREATE SCHEMA, ALTER SCHEMA, DROP SCHEMA                               |
//! | `sequence`     | CREATE SEQUENCE, ALTER SEQUENCE, options of identity columns                           |
//! | `data_type`    | names of types                                                         |
//! | `copy`         | COPY                                                                   |
//! | `query`        | queries and writes, by sqlparser; refuses clauses that would be ignored |
//! | `writes`       | WITH whose queries write                                               |
//! | `many_rows`    | INSERT and UPSERT of many rows of literals                             |
//! | `merge`        | MERGE                                                                  |
//! | `tree`         | what is read: the types of all statements                              |
//! | `parse`        | the entries                                                            |
//! | `transaction`  | BEGIN, COMMIT, SAVEPOINT and their kin                                 |
//! | `operations`   | BACKUP, CHECKPOINT, COMPACT, VACUUM                                    |
//! | `lock`         | LOCK TABLE                                                             |
//! | `spelling`     | spellings that sqlparser does not know, such as FOR KEY SHARE           |
//! | `kept`         | PREPARE, EXECUTE, DECLARE, FETCH and their kin                          |
//! | `role`         | CREATE USER, GRANT and their kin                                       |
//! | `utility`      | everything else                                                        |
//! | `casts`        | spells out casts to types that DataFusion does not have               |
//! | `number`       | numbers with exponents, underscores and too many digits               |
//! | `depth`        | keeps trees shallow                                                    |
//!
//! Deliberately not here: whether tables and columns exist, and what types expressions have.

mod alter;
mod casts;
mod copy;
mod create_index;
mod create_table;
mod data_type;
mod depth;
mod kept;
mod lifetime;
mod lock;
mod many_rows;
mod merge;
mod number;
mod operations;
mod parse;
mod past;
mod query;
mod reader;
mod role;
mod schema;
mod sequence;
mod source;
mod spelling;
#[cfg(test)]
mod tests;
mod transaction;
mod tree;
mod utility;
mod writes;

pub(crate) use casts::call;
pub(crate) use data_type::data_type;
pub use kept::{FetchedRows, KeptStatement};
pub use lifetime::LifetimeDefinition;
pub use merge::{MergeAction, MergeClause, MergeKind, MergeStatement};
pub use parse::{parse, parse_expression, parse_object_name};
pub(crate) use past::Period;
pub(crate) use reader::is_reserved;
pub use role::{GrantObjects, Ownable, RoleOptions, RoleStatement, Secret};
pub use schema::SchemaStatement;
pub use sequence::{AlterSequenceStatement, OwnedBy, Restart};
pub(crate) use source::place_of;
pub(crate) use transaction::serializable;
pub use transaction::{Isolation, TransactionModes, TransactionStatement};
pub use tree::*;
pub use writes::WritesStatement;
pub(crate) use writes::rows_name;
