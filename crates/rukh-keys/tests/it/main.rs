//! Tests of rukh-keys from the outside: properties of keys, ranges and masked compare over random
//! layouts, tables of values and bytes, and the examples of the specification.

mod candidates;
mod hex;
mod keys;
mod masks;
mod noise;
mod notation;
mod ranges;
mod spec;
mod support;
mod text;
