//! FOREIGN KEY constraints: rows of one table that refer to rows of another, or of the same.

use rukh_keys::DataType;
use serde::{Deserialize, Serialize};

use crate::{ColumnId, TableId};

/// A FOREIGN KEY constraint of the referencing table: where none of its columns is NULL, there is a row of the referenced table with
/// the same values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Name, unique within the table.
    pub name: String,
    /// The referencing columns.
    pub columns: Vec<ColumnId>,
    /// The referenced table.
    pub referenced: TableId,
    /// Its columns, one for each referencing column; together they are its primary key, or those of a UNIQUE index.
    pub referenced_columns: Vec<ColumnId>,
    /// What becomes of referencing rows when the referenced row is deleted.
    pub on_delete: ForeignAction,
    /// What becomes of them when it gets other values in the referenced columns.
    pub on_update: ForeignAction,
    /// MATCH FULL: either all columns are NULL, or none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub match_full: bool,
    /// When it is checked.
    #[serde(default)]
    pub timing: ForeignTiming,
    /// NOT VALID, and not validated since: rows that were there when it was added may break it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_valid: bool,
}

/// What becomes of referencing rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForeignAction {
    /// The statement fails if one is left at its end, or at that of the transaction.
    #[default]
    NoAction,
    /// The statement fails if one is left at its end, even if the constraint is deferred.
    Restrict,
    /// They are deleted, or get the new values.
    Cascade,
    /// The referencing columns become NULL.
    SetNull,
    /// The referencing columns get their defaults.
    SetDefault,
}

/// When a constraint is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForeignTiming {
    /// At the end of each statement.
    #[default]
    NotDeferrable,
    /// At the end of each statement, unless SET CONSTRAINTS says otherwise.
    Deferrable,
    /// At the end of the transaction, unless SET CONSTRAINTS says otherwise.
    Deferred,
}

impl ForeignAction {
    /// Returns the words of SQL.
    pub fn name(self) -> &'static str {
        match self {
            ForeignAction::NoAction => "NO ACTION",
            ForeignAction::Restrict => "RESTRICT",
            ForeignAction::Cascade => "CASCADE",
            ForeignAction::SetNull => "SET NULL",
            ForeignAction::SetDefault => "SET DEFAULT",
        }
    }
}

/// Whether values of a referencing column can be looked for among those of a referenced one.
pub fn can_refer(referencing: &DataType, referenced: &DataType) -> bool {
    let is_integer = |ty: &DataType| matches!(ty, DataType::SmallInt | DataType::Integer | DataType::BigInt);
    referencing == referenced || is_integer(referencing) && is_integer(referenced) || {
        let is_text = |ty: &DataType| matches!(ty, DataType::Varchar { .. });
        is_text(referencing) && is_text(referenced)
    }
}
