//! Blind changes of a value: how operands fold into what is stored.

/// Folds operands that were written blindly into the value of a key.
///
/// A store applies it when the key is read, and when it tidies up. Folding must not depend on how
/// the operands are grouped: folding `[a, b]` into a value is folding `a`, then `b`.
pub trait MergeOperator: Send + Sync {
    /// Returns the stored name of the operator; a database stays with the one it was written with.
    fn name(&self) -> &str;

    /// Returns the new value of `key`, or `None` when the bytes cannot be folded, which the reader
    /// gets as a corruption error. `operands` are in the order of their writes.
    fn fold(&self, key: &[u8], value: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>>;
}
