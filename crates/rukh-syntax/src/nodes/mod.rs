//! Expressions and queries: walks over them, makers, and their depth.

pub(crate) mod depth;
pub mod make;
mod printed;
mod respell;
mod sides;
mod walk;

pub use printed::sql_text;
pub use respell::Respell;
pub use sides::{each_side, each_side_mut};
pub use walk::{Tree, Walk, WalkMut};
