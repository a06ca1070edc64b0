//! Schemas, sequences and views: definitions beside those of tables.

use rukh_keys::{DataType, EnumDefinition, EnumType, RecordDefinition, RecordType};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CatalogError, ColumnId, Domain, TableId};

/// Identifies a sequence for its whole life; never reused, and not the id of anything else either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SequenceId(pub u32);

/// Identifies a view for its whole life; never reused, and not the id of anything else either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ViewId(pub u32);

/// Identifies a schema for its whole life; never reused, and not the id of anything else either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SchemaId(pub u32);

/// Identifies a type for its whole life; never reused, and not the id of anything else either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TypeId(pub u32);

/// A type that CREATE TYPE or CREATE DOMAIN made.
///
/// What is of the type has its definition, too ([`DataType::Enum`], [`ColumnValues::domain`](crate::ColumnValues::domain)), so that it
/// can be read alone: a change of the type changes all that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Type {
    /// What it is, with its name.
    #[serde(flatten)]
    pub kind: TypeKind,
    /// COMMENT ON TYPE, COMMENT ON DOMAIN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TypeKind {
    /// An enum.
    #[serde(rename = "labels")]
    Enum(EnumDefinition),
    /// A domain.
    #[serde(rename = "domain")]
    Domain(Domain),
    /// A composite type.
    #[serde(rename = "record")]
    Record(RecordDefinition),
}

impl Type {
    /// Returns a type of which nothing else is said.
    pub fn new(kind: TypeKind) -> Type {
        Type { kind, comment: None }
    }

    /// Identity.
    pub fn id(&self) -> TypeId {
        TypeId(match &self.kind {
            TypeKind::Enum(of) => of.id,
            TypeKind::Domain(of) => of.id,
            TypeKind::Record(of) => of.id,
        })
    }

    /// Gives the type its identity.
    pub fn set_id(&mut self, id: u32) {
        match &mut self.kind {
            TypeKind::Enum(of) => of.id = id,
            TypeKind::Domain(of) => of.id = id,
            TypeKind::Record(of) => of.id = id,
        }
    }

    /// Name of the schema.
    pub fn schema(&self) -> &str {
        match &self.kind {
            TypeKind::Enum(of) => &of.schema,
            TypeKind::Domain(of) => &of.schema,
            TypeKind::Record(of) => &of.schema,
        }
    }

    /// Name within the schema.
    pub fn name(&self) -> &str {
        match &self.kind {
            TypeKind::Enum(of) => &of.name,
            TypeKind::Domain(of) => &of.name,
            TypeKind::Record(of) => &of.name,
        }
    }

    /// The enum, if it is one.
    pub fn labels(&self) -> Option<&EnumDefinition> {
        match &self.kind {
            TypeKind::Enum(of) => Some(of),
            _ => None,
        }
    }

    /// The domain, if it is one.
    pub fn domain(&self) -> Option<&Domain> {
        match &self.kind {
            TypeKind::Domain(of) => Some(of),
            _ => None,
        }
    }

    /// The composite type, if it is one.
    pub fn record(&self) -> Option<&RecordDefinition> {
        match &self.kind {
            TypeKind::Record(of) => Some(of),
            _ => None,
        }
    }

    /// Returns the type that columns of it have; of a domain, that of its values.
    pub fn data_type(&self) -> DataType {
        match &self.kind {
            TypeKind::Enum(of) => DataType::Enum(EnumType::of(of.clone())),
            TypeKind::Record(of) => DataType::Record(RecordType::of(of.clone())),
            TypeKind::Domain(of) => of.ty,
        }
    }
}

/// Returns a definition with the copies of a type as it is now; `None` if it has nothing of the type.
pub fn with_type<T: Serialize + DeserializeOwned>(definition: &T, ty: &TypeKind) -> Option<T> {
    let mut value = serde_json::to_value(definition).ok()?;
    let (id, new) = match ty {
        TypeKind::Enum(of) => (of.id, serde_json::to_value(of)),
        TypeKind::Domain(of) => (of.id, serde_json::to_value(of)),
        TypeKind::Record(of) => (of.id, serde_json::to_value(of)),
    };
    let new = new.ok()?;
    match put_type(&mut value, id, &mut |found| *found = new.clone()) {
        0 => None,
        _ => serde_json::from_value(value).ok(),
    }
}

/// Whether a definition has something of a type.
pub fn has_type(definition: &impl Serialize, id: TypeId) -> bool {
    serde_json::to_value(definition).is_ok_and(|mut value| put_type(&mut value, id.0, &mut |_| {}) > 0)
}

/// Visits the copies of a type within a stored definition; returns how many there are.
fn put_type(value: &mut Value, id: u32, visit: &mut impl FnMut(&mut Value)) -> usize {
    match value {
        Value::Object(members) => {
            let copies = members
                .iter_mut()
                .filter(|(name, _)| matches!(name.as_str(), "Enum" | "Record" | "domain"));
            for (_, found) in copies {
                if found.get("id").and_then(Value::as_u64) == Some(u64::from(id)) {
                    visit(found);
                    return 1;
                }
            }
            members.values_mut().map(|value| put_type(value, id, visit)).sum()
        }
        Value::Array(elements) => elements.iter_mut().map(|value| put_type(value, id, visit)).sum(),
        _ => 0,
    }
}

/// A schema: a space of names. What is in one carries its name.
///
/// `public` is there from the start; it has a definition only if something is said of it, or if it was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Identity.
    pub id: SchemaId,
    /// Name.
    pub name: String,
    /// COMMENT ON SCHEMA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Whether the statement that makes it with what it holds is not over; what a crash leaves of it is dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub filling: bool,
    /// Whether it was dropped, which is kept of `public` alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
}

impl Schema {
    /// Returns a schema of this name that gets its identity when it is stored.
    pub fn new(name: &str) -> Self {
        Schema {
            id: SchemaId(0),
            name: name.to_string(),
            comment: None,
            filling: false,
            dropped: false,
        }
    }
}

/// A sequence: numbers that are given once each.
///
/// Invariant: made by [`Sequence::checked`], so `increment` is not 0, `cache` is not 0, and
/// `min <= start <= max`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Identity.
    pub id: SequenceId,
    /// Schema name.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
    /// SMALLINT, INTEGER or BIGINT; bounds what may be given.
    pub ty: DataType,
    /// The first number.
    pub start: i64,
    /// From one number to the next; negative to count down.
    pub increment: i64,
    /// The smallest number.
    pub min: i64,
    /// The largest number.
    pub max: i64,
    /// How many numbers a connection takes at once.
    pub cache: u32,
    /// Whether the other end follows the last number.
    pub cycle: bool,
    /// The column that the sequence was made for, and goes with.
    pub owner: Option<(TableId, ColumnId)>,
    /// COMMENT ON SEQUENCE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl Sequence {
    /// Returns the definition if it is valid; messages are PostgreSQL's.
    pub fn checked(self) -> Result<Self, CatalogError> {
        let Sequence { start, min, max, .. } = self;
        let wrong = match () {
            () if self.increment == 0 => Some("INCREMENT must not be zero".to_string()),
            () if self.cache == 0 => Some("CACHE (0) must be greater than zero".to_string()),
            () if min >= max => Some(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")),
            () if start < min => Some(format!(
                "START value ({start}) cannot be less than MINVALUE ({min})"
            )),
            () if start > max => Some(format!(
                "START value ({start}) cannot be greater than MAXVALUE ({max})"
            )),
            () => None,
        };
        match wrong {
            None => Ok(self),
            Some(message) => Err(CatalogError::Value { message }),
        }
    }

    /// Returns the number that follows, or `None` after the last one.
    pub fn after(&self, value: i64) -> Option<i64> {
        let next = value.checked_add(self.increment);
        let next = next.filter(|next| (self.min..=self.max).contains(next));
        let first = if self.increment > 0 { self.min } else { self.max };
        next.or(self.cycle.then_some(first))
    }
}

/// A view: a query under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Identity.
    pub id: ViewId,
    /// Schema name.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
    /// The columns, in order.
    pub columns: Vec<ViewColumn>,
    /// The query, its tables with their schemas, as SQL text.
    pub sql: String,
    /// Tables that the query reads, with the columns.
    pub reads: Vec<(TableId, Vec<ColumnId>)>,
    /// Views that the query reads.
    pub views: Vec<ViewId>,
    /// WITH CHECK OPTION.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckOption>,
    /// COMMENT ON VIEW.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// What a view asks of rows that are written through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckOption {
    /// LOCAL: its own condition holds, and what the views that it reads ask for themselves.
    Local,
    /// CASCADED: its own condition holds, and those of all views that it reads.
    Cascaded,
}

/// A column of a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewColumn {
    /// Name.
    pub name: String,
    /// Name of the query's column.
    pub source: String,
    /// Type.
    pub ty: DataType,
}
