//! Random schemas, rows, changes and conditions.
//!
//! Values come from small pools of nasty ones, so that equal values meet and boundaries are hit:
//! ends of integer types and just outside, NaN and infinities, `''`, `a\x01`, the highest code
//! point, runs of `\xff`, the first and last days.
//!
//! What is deliberately left out, because PostgreSQL answers otherwise on purpose: arithmetic at the
//! ends of a type, LIKE on CHAR (PostgreSQL's sees the blanks), constants shorter than a BINARY,
//! REAL in IN with numbers that no REAL is, and -0 as a stored value.

mod aggregated;
mod case;
mod change;
mod computed;
mod condition;
mod framed;
mod mixed;
mod query;
mod schema;
mod value;

pub use case::{SmallCase, row_of_texts};
pub use change::{Change, values};
pub use computed::SEQUENCE;
pub use condition::{Condition, condition};
pub use query::{Query, query};
pub use schema::{CREATE_TYPES, RandomColumn, RandomIndex, RandomKeyElement, RandomTable};
pub use value::{Constant, constant, stored};
