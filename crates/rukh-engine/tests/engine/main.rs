//! The engine, tested from outside, in one program.

#![allow(clippy::unwrap_used)]

mod beside;
mod columnar;
mod columnar_first;
mod columnar_totals;
mod corruption;
mod counters;
mod damage;
mod debts;
mod definitions_within;
mod erase;
mod faults;
mod foreign_keys;
mod former;
mod golden;
mod lifetimes;
mod load;
mod lost;
mod many;
mod model;
mod online;
mod patches;
mod points;
mod rocks;
mod row_counts;
mod row_format;
mod row_ids;
mod single_reads;
mod statements;
mod support;
mod transactions;
