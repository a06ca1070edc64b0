//! ALTER: of tables and their columns, indexes and sequences; RENAME and SET SCHEMA of all.
//!
//! Deliberately not here: what CREATE and ALTER share (`columns`, `stored`, `lifetime`, `versions`).

mod column_name;
pub(super) mod column_type;
pub(super) mod identity;
pub(super) mod index;
pub(super) mod moves;
pub(super) mod named_indexes;
pub(super) mod nulls;
mod primary_key;
pub(super) mod repack;
pub(super) mod sequence;
pub(super) mod table;
