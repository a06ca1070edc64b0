//! The descent: from tokens to the tree of a statement.
//!
//! | file           | reads                                                                   |
//! |----------------|-------------------------------------------------------------------------|
//! | `parse`        | the entries                                                             |
//! | `reader`       | the vocabulary of the descent: words, names, lists                      |
//! | `utility`      | the verb of a statement, and statements that have no file               |
//! | `query`        | queries and writes, by sqlparser; refuses clauses that would be ignored |
//! | `writes`       | WITH whose queries write                                                |
//! | `merge`        | MERGE                                                                   |
//! | `many_rows`    | INSERT and UPSERT of many rows of literals                              |
//! | `copy`         | COPY                                                                    |
//! | `create_table` | CREATE TABLE with its columns, key, families and options                |
//! | `create_index` | CREATE INDEX                                                            |
//! | `lifetime`     | TTL                                                                     |
//! | `alter`        | ALTER TABLE, ALTER INDEX                                                |
//! | `data_type`    | names of types                                                          |
//! | `schema`       | CREATE SCHEMA, ALTER SCHEMA, DROP SCHEMA                                |
//! | `sequence`     | CREATE SEQUENCE, ALTER SEQUENCE, options of identity columns            |
//! | `role`         | CREATE USER, GRANT and their kin                                        |
//! | `transaction`  | BEGIN, COMMIT, SAVEPOINT and their kin                                  |
//! | `kept`         | PREPARE, EXECUTE, DECLARE, FETCH and their kin                          |
//! | `lock`         | LOCK TABLE                                                              |
//! | `procedural`   | blocks of PL/pgSQL                                                      |
//! | `operations`   | BACKUP, CHECKPOINT, COMPACT, VACUUM                                     |

mod copy;
pub(crate) mod definitions;
mod kept;
mod lock;
mod many_rows;
mod merge;
mod operations;
mod parse;
mod procedural;
mod query;
mod reader;
#[cfg(test)]
mod tests;
mod transaction;
mod utility;
mod writes;

pub use definitions::data_type::{data_type, found_data_type, found_type};
pub use parse::{parse, parse_expression, parse_object_name};
pub use procedural::parse_procedure;
pub use transaction::serializable;
