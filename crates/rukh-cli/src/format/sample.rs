//! The first rows of a result, kept until column widths are known.

/// Rows kept before widths are settled.
const ROWS_MAX: usize = 1_000;
/// Bytes of text kept before widths are settled, so that a few huge values do not fill the memory.
const BYTES_MAX: usize = 4 << 20;

/// A bounded buffer of rows of text.
///
/// Once [`is_full`](Sample::is_full) the owner takes the rows, writes them, and writes all later rows at
/// once with the widths seen so far.
#[derive(Debug, Default)]
pub struct Sample {
    rows: Vec<Vec<String>>,
    bytes: usize,
}

impl Sample {
    /// Adds a row.
    pub fn push(&mut self, row: Vec<String>) {
        self.bytes += row.iter().map(String::len).sum::<usize>();
        self.rows.push(row);
    }

    /// Returns whether a bound is reached.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    /// Returns the rows and leaves the sample empty.
    pub fn take(&mut self) -> Vec<Vec<String>> {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }
}
