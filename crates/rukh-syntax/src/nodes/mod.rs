//! Expressions and queries: walks over them, makers, and their depth.

pub(crate) mod depth;
pub mod make;
mod respell;
mod walk;

pub use respell::Respell;
pub use walk::{Tree, Walk, WalkMut};
