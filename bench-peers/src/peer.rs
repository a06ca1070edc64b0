//! What a peer answers.

use std::fmt;

use rukh_bench::UrlScan;

/// A failure of an engine or of the run; it is only printed.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// Makes a failure with a message.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes a failure of any error, so that `?` serves for all of them.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

/// An engine that holds the table. Each call asks one kind of question for every key given and returns
/// the rows of all answers, which it has read column by column.
pub trait Peer {
    /// Reads rows by their whole key, prepared once.
    fn points(&mut self, keys: &[UrlScan]) -> Result<u64, Failure>;

    /// Reads the first ten rows of each site, prepared once.
    fn prefixes(&mut self, sites: &[String]) -> Result<u64, Failure>;

    /// Reads up to 300 rows of each day and code through the index, prepared once.
    fn by_index(&mut self, days: &[(i32, i16)]) -> Result<u64, Failure>;

    /// Reads up to 300 entries of each day and code, which hold all wanted columns, prepared once.
    fn covered(&mut self, days: &[(i32, i16)]) -> Result<u64, Failure>;

    /// Reads rows by their whole key, each by a text of its own.
    fn plain_points(&mut self, keys: &[UrlScan]) -> Result<u64, Failure>;

    /// Reads 10,000 keys by a statement that lists their parts, prepared once.
    fn skip_scan(&mut self, sql: &str) -> Result<u64, Failure>;

    /// Reads columns of all rows, in the form that serves a program best.
    fn range(&mut self) -> Result<u64, Failure>;

    /// Reads the last value of each sensor.
    fn last_values(&mut self) -> Result<u64, Failure>;

    /// Reads the whole table for conditions in the middle of the key, using no index.
    fn masked_scan(&mut self) -> Result<u64, Failure>;

    /// Counts the rows.
    fn count(&mut self) -> Result<u64, Failure>;

    /// Returns the keys that the last question visited, where the engine counts them.
    fn keys_examined(&self) -> Option<u64>;
}
