//! Characters and tokens.

mod dialect;
mod hidden_names;
mod number;
mod parameters;
mod passwords;
mod past;
mod source;
mod spelling;
mod split;
mod subscripts;
mod template;
mod words;

pub use dialect::RukhDialect;
pub use hidden_names::{HIDDEN, record_star, shown_name, variadic, with_ties};
pub use number::is_double;
pub use parameters::with_wide_number;
pub use passwords::has_password;
pub use past::Period;
pub(crate) use past::respell as respell_past;
pub(crate) use source::Source;
pub use source::place_of;
pub(crate) use spelling::respell;
pub use split::{Split, split_statements};
pub(crate) use subscripts::respell as respell_subscripts;
pub use subscripts::{Subscript, subscripts};
pub use template::{Cut, Literal, LiteralType};
pub(crate) use words::is_word;
pub use words::{is_reserved, quoted, quoted_string, rows_name};
