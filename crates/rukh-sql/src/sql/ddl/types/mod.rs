//! Types: CREATE, ALTER and DROP TYPE and DOMAIN.

mod changed;
mod domain;
mod record;
mod statements;

pub(super) use statements::{rename, run, set_schema};
