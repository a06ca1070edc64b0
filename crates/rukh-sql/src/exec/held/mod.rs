//! What a session holds from one statement to the next, as plain data: its transaction block, what it keeps by name, and what it has
//! planned and described. The methods of a session that change them stand beside the statements that they belong to (`block`, `kept`,
//! `describe`, `template`).
//!
//! Deliberately not here: settings, which have a file of their own, and anything that runs a statement.

mod block;
mod descriptions;
mod kept;
mod prepared;
mod scroll;
mod templates;

pub use block::TransactionStatus;
pub(crate) use block::{Block, NamedSavepoint};
pub use descriptions::Description;
pub(crate) use descriptions::{Described, Descriptions};
pub(crate) use kept::{Cursor, Fetch, Hold, Kept, KeptCursor, KeptPrepared, check_room, no_cursor};
pub use prepared::Prepared;
pub(crate) use scroll::{Made, ScrolledFetch};
pub(crate) use templates::{KnownTemplate, TemplatePlan, Templates};

/// Most direct plans, templates and descriptions that a session keeps, of each.
pub(crate) const PLANS_MAX: usize = 256;
