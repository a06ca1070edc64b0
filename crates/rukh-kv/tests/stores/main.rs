//! The stores, tested from outside: one suite for all of them, and what is special to each.

#![allow(clippy::unwrap_used)]

mod histories;
mod memory;
mod overlay;
mod rocks;
mod scans;
mod shared;
mod suite;
mod wrappers;
