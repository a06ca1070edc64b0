//! COPY: rows from a file into a table, and rows of a table or query into a file.
//!
//! | file      | does                                                              |
//! |-----------|-------------------------------------------------------------------|
//! | `import`  | COPY FROM: files and clients, by their format                     |
//! | `rows_in` | which field fills which column, defaults, row numbers             |
//! | `sink`    | rows to the engine: one write if they are few, else a bulk load   |
//! | `client`  | STDIN and STDOUT: rows from and to a client                       |
//! | `arriving`| what a client sends, waited for before a bulk load                |
//! | `formats` | CSV, text, binary, JSON, Parquet, Arrow IPC                       |
//! | `batches` | Arrow batches to rows                                             |
//! | `rejects` | records that are no rows: passed over, counted, written to a file |
//! | `infer`   | DESCRIBE FILE: the columns that a file seems to have              |
//! | `export`  | COPY TO                                                           |
//! | `lines`   | rows as CSV, text, JSON lines and binary rows                     |
//! | `run`     | the entry                                                         |
//! | `errors`  | errors of files                                                   |
//!
//! A COPY is atomic: all rows of the file are there afterwards, or none. Memory is bounded by a few
//! megabytes and what the engine sorts in.

mod arriving;
mod batches;
mod client;
mod errors;
mod export;
mod formats;
mod import;
mod infer;
mod lines;
#[cfg(test)]
mod noise;
mod rejects;
mod rows_in;
mod run;
mod sink;
#[cfg(test)]
mod tests;

pub use client::{CopyClient, CopyShape};
pub(crate) use infer::describe;
pub(crate) use run::run;
