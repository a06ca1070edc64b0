//! What benches share: generated tables, and the engines' answers to the same questions.
//!
//! [`UrlScans`] is the table `url_scans` of any size, the same for the same seed. Engines other than
//! Rukh are not here but in `bench-peers/`, a workspace of its own, so that no other build has them.

mod csv;
mod random;
mod url_scans;

pub use random::Random;
pub use url_scans::{UrlScan, UrlScans};
