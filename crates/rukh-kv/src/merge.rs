//! Blind changes of a value: how operands fold into what is stored.

use crate::KvError;

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

    /// Returns one operand that does what `older` and then `newer` do, or `None` when only the value
    /// can decide, or the bytes are no operands.
    ///
    /// A store asks for it to keep chains of operands short, and keeps apart what it gets no answer
    /// for; an overlay needs the answer, and gives a corruption error without one.
    fn combine(&self, key: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        let _ = (key, older, newer);
        None
    }
}

/// Folds operands into the value of a key.
///
/// # Errors
///
/// `Corruption` that names the key where they do not fold.
pub fn fold(
    operator: &dyn MergeOperator,
    table: &str,
    key: &[u8],
    value: Option<&[u8]>,
    operands: &[&[u8]],
) -> Result<Vec<u8>, KvError> {
    let folded = operator.fold(key, value, operands);
    folded.ok_or_else(|| unfoldable(table, key))
}

/// Makes the error for operands that do not fold.
pub(crate) fn unfoldable(table: &str, key: &[u8]) -> KvError {
    KvError::Corruption {
        table: Some(table.to_owned()),
        key: Some(key.to_vec()),
        message: "a merge could not be folded".to_owned(),
    }
}
