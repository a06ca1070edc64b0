//! Names of types: from sqlparser's tree to the types that columns have.

use rukh_keys::{DataType, EnumType, RecordType, ValueError};
use sqlparser::ast::{self, ArrayElemTypeDef, DataType as Parsed, ExactNumberInfo, Ident, TimezoneInfo};

use crate::StatementError;
use crate::read::reader::Reader;
use crate::tree::{ObjectName, TypeName};

/// Returns the type of a column, or of a CAST, that is written like this.
///
/// | written                               | type                       |
/// |---------------------------------------|----------------------------|
/// | `INT`, `INT4`, `INTEGER`              | INTEGER                    |
/// | `FLOAT`, `FLOAT(25)` to `FLOAT(53)`   | DOUBLE                     |
/// | `FLOAT(1)` to `FLOAT(24)`             | REAL                       |
/// | `NUMERIC`, `DECIMAL` without digits   | NUMERIC                    |
/// | `DECIMAL(p,s)` of more than 38 digits | NUMERIC(p,s)               |
/// | `TEXT`, `STRING`, `VARCHAR`           | VARCHAR                    |
/// | `BYTEA`, `VARBINARY`                  | VARBINARY                  |
/// | `TIMESTAMPTZ`                         | TIMESTAMP WITH TIME ZONE   |
///
/// `type[]`, whatever its dimensions and lengths, is the type of arrays of one dimension, and so is `_int4`.
///
/// Fails with 42704 on a type that is not known, 22023 on a bad length or precision.
pub fn data_type(parsed: &Parsed) -> Result<DataType, StatementError> {
    match parsed {
        Parsed::Float(ExactNumberInfo::Precision(bits)) => float(*bits),
        Parsed::Time(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => match digits {
            None => named("time"),
            Some(digits) => named(&format!("time({digits})")),
        },
        Parsed::Array(ArrayElemTypeDef::SquareBracket(element, _)) => data_type(element).map(DataType::array),
        Parsed::Custom(name, _) if let Some(found) = found_data_type(name) => Ok(found),
        Parsed::Custom(name, modifiers)
            if modifiers.is_empty()
                && let Some(element) = array_name(name) =>
        {
            named(element).map(DataType::array)
        }
        Parsed::Array(_) => Err(StatementError::unsupported("arrays are written as type[]")),
        // sqlparser keeps a name in quotes as it is; types have no capitals.
        _ => named(&parsed.to_string().replace('"', "")),
    }
}

/// Returns the type that is named like this: one that every database has, or a name to be found among the definitions.
pub(crate) fn type_name(parsed: &Parsed, position: usize) -> Result<TypeName, StatementError> {
    let (of, array) = match parsed {
        Parsed::Array(ArrayElemTypeDef::SquareBracket(element, _)) => (element.as_ref(), true),
        other => (other, false),
    };
    match (data_type(parsed), of) {
        (Err(error), Parsed::Custom(name, modifiers))
            if error.sqlstate == "42704" && modifiers.is_empty() =>
        {
            let name = ObjectName {
                position,
                ..ObjectName::from_ast(name)?
            };
            Ok(TypeName::Named {
                name,
                array,
                of: None,
            })
        }
        (Ok(ty), of) if is_declared(of) => Ok(TypeName::Declared(ty)),
        (found, _) => found.map(TypeName::Known).map_err(|error| error.at(position)),
    }
}

/// Types whose arrays go by a name of their own, too, which `pg_type` has: `_int4` is `int4[]`.
const ELEMENTS: [&str; 21] = [
    "bool",
    "bytea",
    "bpchar",
    "cidr",
    "date",
    "float4",
    "float8",
    "inet",
    "int2",
    "int4",
    "int8",
    "interval",
    "json",
    "jsonb",
    "numeric",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "uuid",
    "varchar",
];

/// Returns the type of the elements of an array whose type is named by one word.
fn array_name(name: &ast::ObjectName) -> Option<&'static str> {
    let word = name.0.last()?.as_ident()?.value.to_ascii_lowercase();
    let element = word.strip_prefix('_')?;
    ELEMENTS.into_iter().find(|known| *known == element)
}

/// Whether a type is VARCHAR without a length, or a moment with as many digits as it has without saying so.
fn is_declared(parsed: &Parsed) -> bool {
    match parsed {
        Parsed::Varchar(None) | Parsed::CharacterVarying(None) | Parsed::CharVarying(None) => true,
        Parsed::Time(Some(6), _) | Parsed::Timestamp(Some(6), _) => true,
        Parsed::Custom(name, modifiers) => {
            modifiers.is_empty() && name.to_string().trim_matches('"').eq_ignore_ascii_case("varchar")
        }
        _ => false,
    }
}

/// Returns a type that was found among the definitions as the tree of a statement has it, until it is planned.
///
/// It is a word without quotes that has a blank, which no statement can have.
pub fn found_type(found: DataType) -> Option<Parsed> {
    let word = match found {
        DataType::Enum(of) => format!("{ENUM}{}", of.number()),
        DataType::Record(of) => format!("{RECORD}{}", of.number()),
        _ => return None,
    };
    Some(Parsed::Custom(
        ast::ObjectName::from(vec![Ident::new(word)]),
        Vec::new(),
    ))
}

const ENUM: &str = "enum ";
const RECORD: &str = "row ";

/// Returns the type that such a word is of.
pub fn found_data_type(name: &ast::ObjectName) -> Option<DataType> {
    let [ast::ObjectNamePart::Identifier(word)] = name.0.as_slice() else {
        return None;
    };
    if word.quote_style.is_some() {
        return None;
    }
    let number = |prefix| word.value.strip_prefix(prefix)?.parse().ok();
    let of_enum = number(ENUM).and_then(EnumType::numbered).map(DataType::Enum);
    of_enum.or_else(|| Some(DataType::Record(RecordType::numbered(number(RECORD)?)?)))
}

/// Passes over `COLLATE name`, if it says how text is ordered anyway: by its bytes.
///
/// Fails with 0A000 on another collation.
pub(crate) fn accept_collation(reader: &mut Reader<'_>) -> Result<(), StatementError> {
    if !reader.accept(&["collate"]) {
        return Ok(());
    }
    let name = reader.object_name()?;
    let is_system = name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
    if is_system && matches!(name.name.as_str(), "default" | "C" | "POSIX" | "ucs_basic") {
        return Ok(());
    }
    let message = format!("collation \"{}\" is not supported", name.name);
    let error = StatementError::unsupported(message).at(name.position);
    Err(error.with_hint("Text is ordered by its bytes, as with COLLATE \"C\"."))
}

fn float(bits: u64) -> Result<DataType, StatementError> {
    match bits {
        1..=24 => Ok(DataType::Real),
        25..=53 => Ok(DataType::Double),
        0 => Err(StatementError::statement(
            "22023",
            "precision for type float must be at least 1 bit",
        )),
        _ => Err(StatementError::statement(
            "22023",
            "precision for type float must be less than 54 bits",
        )),
    }
}

fn named(name: &str) -> Result<DataType, StatementError> {
    name.parse().map_err(|error: ValueError| {
        let sqlstate = match error {
            ValueError::UnknownType { .. } => "42704",
            _ => "22023",
        };
        let message = match error {
            ValueError::UnknownType { name } => {
                format!("type \"{}\" does not exist", name.to_ascii_lowercase())
            }
            other => other.to_string(),
        };
        StatementError::statement(sqlstate, message)
    })
}
