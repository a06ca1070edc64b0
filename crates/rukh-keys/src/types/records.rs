//! Composite types: rows of named fields, each of a type.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use crate::types::DataType;
use crate::types::enums::type_sql_name;

/// A field of a composite type, which PostgreSQL calls an attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordField {
    /// Name, unique within the type.
    pub name: String,
    /// Type of its values.
    pub ty: DataType,
}

/// The definition of a composite type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordDefinition {
    /// Identity within the database; 0 of rows that are of no type with one.
    pub id: u32,
    /// Schema name.
    pub schema: String,
    /// Name within the schema.
    pub name: String,
    /// The fields in their order.
    pub fields: Vec<RecordField>,
}

/// The type of rows: a definition at one moment.
///
/// Two are equal if their definitions are. Definitions are kept for the life of the process: there are as many as changes of types.
#[derive(Clone, Copy)]
pub struct RecordType(&'static Known);

struct Known {
    number: usize,
    definition: RecordDefinition,
}

/// All definitions of this process.
#[derive(Default)]
struct All {
    by_number: Vec<&'static Known>,
    by_definition: HashMap<RecordDefinition, &'static Known>,
}

/// How many types a process keeps before it keeps no more without a name.
const UNNAMED_MAX: usize = 10_000;

static ALL: Mutex<Option<All>> = Mutex::new(None);

impl RecordType {
    /// Returns the type of a definition.
    pub fn of(definition: RecordDefinition) -> RecordType {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        if let Some(known) = all.by_definition.get(&definition) {
            return RecordType(known);
        }
        let known: &'static Known = Box::leak(Box::new(Known {
            number: all.by_number.len(),
            definition: definition.clone(),
        }));
        all.by_number.push(known);
        all.by_definition.insert(definition, known);
        RecordType(known)
    }

    /// Returns the type of rows that are of no type with a name, such as those of `ROW(…)`; `None` where a process knows
    /// 10,000 types.
    pub fn unnamed(fields: Vec<RecordField>) -> Option<RecordType> {
        RecordType::of_rows("", "record", fields)
    }

    /// Returns the type of the rows of a table or view, which has no identity of its own; `None` where a process knows 10,000 types.
    pub fn of_rows(schema: &str, name: &str, fields: Vec<RecordField>) -> Option<RecordType> {
        let definition = RecordDefinition {
            id: 0,
            schema: schema.to_string(),
            name: name.to_string(),
            fields,
        };
        let is_full = || {
            let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
            all.as_ref().is_some_and(|all| {
                all.by_number.len() >= UNNAMED_MAX && !all.by_definition.contains_key(&definition)
            })
        };
        (!is_full()).then(|| RecordType::of(definition))
    }

    /// Whether this is the type of the rows of a table or view.
    pub fn is_of_relation(self) -> bool {
        self.definition().id == 0 && !self.definition().schema.is_empty()
    }

    /// Returns the type of a [`number`](RecordType::number).
    pub fn numbered(number: usize) -> Option<RecordType> {
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.as_ref()?.by_number.get(number).map(|known| RecordType(known))
    }

    /// Returns a number that no other type of this process has. It means nothing outside of the process.
    pub fn number(self) -> usize {
        self.0.number
    }

    /// Returns the definition.
    pub fn definition(self) -> &'static RecordDefinition {
        &self.0.definition
    }

    /// Returns the fields in their order.
    pub fn fields(self) -> &'static [RecordField] {
        &self.0.definition.fields
    }

    /// Returns its name as SQL, with the schema unless that is `public`.
    pub fn sql_name(self) -> String {
        let RecordDefinition { schema, name, .. } = self.definition();
        type_sql_name(schema, name)
    }
}

impl PartialEq for RecordType {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number()
    }
}

impl Eq for RecordType {}

impl Hash for RecordType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number().hash(state);
    }
}

impl fmt::Debug for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecordType").field(self.definition()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_definitions_are_one_type() {
        let definition = |ty| RecordDefinition {
            id: 7,
            schema: "public".to_string(),
            name: "address".to_string(),
            fields: vec![RecordField {
                name: "zip".to_string(),
                ty,
            }],
        };
        let (one, same) = (
            RecordType::of(definition(DataType::Integer)),
            RecordType::of(definition(DataType::Integer)),
        );
        let other = RecordType::of(definition(DataType::BigInt));
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(RecordType::numbered(other.number()), Some(other));
        assert_eq!(one.sql_name(), "address");
    }
}
