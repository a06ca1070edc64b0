//! Types as clients read of them: their numbers, modifiers and names.

use rukh_catalog::{Catalog, Column, Domain};
use rukh_keys::{DataType, type_sql_name};
use rukh_syntax::parse_object_name;

use super::relations::{Relation, relations};
use super::source::Source;
use super::table::{Cell, row};
use crate::bind::system::oids;

/// A type: number, name, SQL name, length, category, array.
struct Type {
    oid: i64,
    name: &'static str,
    sql: &'static str,
    length: i64,
    category: &'static str,
    array: i64,
}

const fn ty(
    oid: i64,
    name: &'static str,
    sql: &'static str,
    length: i64,
    category: &'static str,
    array: i64,
) -> Type {
    Type {
        oid,
        name,
        sql,
        length,
        category,
        array,
    }
}

const TYPES: &[Type] = &[
    ty(16, "bool", "boolean", 1, "B", 1000),
    ty(17, "bytea", "bytea", -1, "U", 1001),
    ty(18, "char", "\"char\"", 1, "Z", 1002),
    ty(19, "name", "name", 64, "S", 1003),
    ty(20, "int8", "bigint", 8, "N", 1016),
    ty(21, "int2", "smallint", 2, "N", 1005),
    ty(22, "int2vector", "int2vector", -1, "A", 1006),
    ty(23, "int4", "integer", 4, "N", 1007),
    ty(24, "regproc", "regproc", 4, "N", 1008),
    ty(25, "text", "text", -1, "S", 1009),
    ty(26, "oid", "oid", 4, "N", 1028),
    ty(30, "oidvector", "oidvector", -1, "A", 1013),
    ty(114, "json", "json", -1, "U", 199),
    ty(650, "cidr", "cidr", -1, "I", 651),
    ty(700, "float4", "real", 4, "N", 1021),
    ty(701, "float8", "double precision", 8, "N", 1022),
    ty(705, "unknown", "unknown", -2, "X", 0),
    ty(869, "inet", "inet", -1, "I", 1041),
    ty(1042, "bpchar", "character", -1, "S", 1014),
    ty(1043, "varchar", "character varying", -1, "S", 1015),
    ty(1082, "date", "date", 4, "D", 1182),
    ty(1083, "time", "time without time zone", 8, "D", 1183),
    ty(1114, "timestamp", "timestamp without time zone", 8, "D", 1115),
    ty(1184, "timestamptz", "timestamp with time zone", 8, "D", 1185),
    ty(1186, "interval", "interval", 16, "T", 1187),
    ty(1700, "numeric", "numeric", -1, "N", 1231),
    ty(2205, "regclass", "regclass", 4, "N", 2210),
    ty(2206, "regtype", "regtype", 4, "N", 2211),
    ty(2249, "record", "record", -1, "P", 2287),
    ty(2275, "cstring", "cstring", -2, "P", 1263),
    ty(2276, "any", "\"any\"", 4, "P", 0),
    ty(2277, "anyarray", "anyarray", -1, "P", 0),
    ty(2279, "trigger", "trigger", 4, "P", 0),
    ty(2281, "internal", "internal", 8, "P", 0),
    ty(2283, "anyelement", "anyelement", 4, "P", 0),
    ty(2278, "void", "void", 4, "P", 0),
    ty(3838, "event_trigger", "event_trigger", 4, "P", 0),
    ty(3500, "anyenum", "anyenum", 4, "P", 0),
    ty(2776, "anynonarray", "anynonarray", 4, "P", 0),
    ty(5077, "anycompatible", "anycompatible", 4, "P", 0),
    ty(5078, "anycompatiblearray", "anycompatiblearray", -1, "P", 0),
    ty(2950, "uuid", "uuid", 16, "U", 2951),
    ty(3802, "jsonb", "jsonb", -1, "U", 3807),
];

/// Returns the number of the type of arrays of a type; 0 if there are none.
pub(super) fn array_of(oid: i64) -> i64 {
    TYPES.iter().find(|ty| ty.oid == oid).map_or(0, |ty| ty.array)
}

/// Returns the number of the type of a column.
pub(crate) fn oid_of(ty: &DataType) -> i64 {
    i64::from(rukh_functions::types::oid_of(ty))
}

/// Returns the name of the type of a column, as `pg_type` has it.
pub(crate) fn type_name(ty: &DataType) -> String {
    match ty {
        DataType::Enum(of) => return of.definition().name.clone(),
        DataType::Record(of) => return of.definition().name.clone(),
        _ => {}
    }
    if let Some(element) = ty.element() {
        return format!("_{}", type_name(&element));
    }
    let oid = oid_of(ty);
    let found = TYPES.iter().find(|known| known.oid == oid);
    found.map_or("unknown", |known| known.name).to_string()
}

/// Returns the name of the type that a column is declared of, of a domain that of its values.
pub(crate) fn column_type_name(column: &Column) -> String {
    match column_oid(column) {
        VARCHAR => "varchar".to_string(),
        VARCHAR_ARRAY => "_varchar".to_string(),
        _ => type_name(&column.ty),
    }
}

/// Returns length or precision as PostgreSQL packs it, or -1 for none.
pub(crate) fn modifier_of(ty: &DataType) -> i64 {
    match ty {
        DataType::Array(element) => modifier_of(element),
        ty if *ty == DataType::NUMERIC => -1,
        DataType::Decimal { precision, scale } | DataType::Numeric { precision, scale } => {
            (i64::from(*precision) << 16 | i64::from(*scale)) + 4
        }
        DataType::Char(length) | DataType::Varchar(Some(length)) => i64::from(*length) + 4,
        DataType::Time { precision }
        | DataType::Timestamp { precision }
        | DataType::TimestampTz { precision }
            if *precision < 6 =>
        {
            i64::from(*precision)
        }
        _ => -1,
    }
}

/// Returns the number of the type that a column is declared of, of a domain that of its values.
pub(crate) fn column_oid(column: &Column) -> i64 {
    match (column.is_text(), column.ty) {
        (false, DataType::Varchar(None)) => VARCHAR,
        (false, ty) if ty.element() == Some(DataType::Varchar(None)) => VARCHAR_ARRAY,
        (_, ty) => oid_of(&ty),
    }
}

/// Returns length or precision of such a type as PostgreSQL packs it, or -1 for none.
pub(crate) fn column_modifier(column: &Column) -> i64 {
    match column.ty.element().unwrap_or(column.ty) {
        DataType::Time { precision }
        | DataType::Timestamp { precision }
        | DataType::TimestampTz { precision }
            if column.values.declared =>
        {
            i64::from(precision)
        }
        _ => modifier_of(&column.ty),
    }
}

/// The number of `character varying`.
const VARCHAR: i64 = 1043;
/// The number of its arrays.
const VARCHAR_ARRAY: i64 = 1015;

/// Returns the length of values, or -1 where it varies.
pub(crate) fn length_of(oid: i64) -> i64 {
    let found = TYPES.iter().find(|ty| ty.oid == oid);
    found.map_or(-1, |ty| ty.length)
}

/// Returns the name of a type as SQL writes it, with its modifier: `numeric(10,2)`.
pub(crate) fn sql_name(oid: i64, modifier: Option<i64>) -> Option<String> {
    if let Some(of) = TYPES.iter().find(|ty| ty.array == oid && oid != 0) {
        return Some(format!("{}[]", sql_name(of.oid, modifier)?));
    }
    let ty = TYPES.iter().find(|ty| ty.oid == oid)?;
    let Some(modifier) = modifier.filter(|modifier| *modifier >= 0) else {
        return Some(
            if ty.oid == 1042 && modifier.is_some() {
                "bpchar"
            } else {
                ty.sql
            }
            .to_string(),
        );
    };
    Some(match ty.oid {
        1042 | 1043 => format!("{}({})", ty.sql, modifier - 4),
        1700 => {
            let packed = modifier - 4;
            format!("numeric({},{})", packed >> 16, packed & 0xffff)
        }
        1083 | 1114 | 1184 => {
            let (head, tail) = ty.sql.split_once(' ').unwrap_or((ty.sql, ""));
            format!("{head}({modifier}) {tail}")
        }
        _ => ty.sql.to_string(),
    })
}

/// Returns the name of a type as SQL writes it, enums among them.
pub(super) fn name_in(catalog: &Catalog, oid: i64, modifier: Option<i64>) -> Option<String> {
    let of_enum = || {
        defined(catalog).find_map(|(_, of, own, array)| match oid {
            oid if oid == own => Some(of.postgres_name()),
            oid if oid == array => Some(of.array().postgres_name()),
            _ => None,
        })
    };
    let of_domain = || {
        let domain = domains(catalog).find(|domain| oids::object(domain.id) == oid);
        domain.map(Domain::sql_name)
    };
    let of_relation = || {
        of_rows(catalog).find_map(|(relation, id)| {
            let name = || type_sql_name(relation.schema(), &relation.name());
            match oid {
                oid if oid == oids::row_type(id) => Some(name()),
                oid if oid == oids::array_of_rows(id) => Some(format!("{}[]", name())),
                _ => None,
            }
        })
    };
    sql_name(oid, modifier)
        .or_else(of_enum)
        .or_else(of_domain)
        .or_else(of_relation)
}

/// Returns the number of a type by a name of it, enums among them.
pub(super) fn number_in(source: &Source<'_>, name: &str) -> Option<i64> {
    let of_enum = || {
        let (name, is_array) = match name.trim().strip_suffix("[]") {
            Some(name) => (name, true),
            None => (name.trim(), false),
        };
        let name = parse_object_name(name).ok()?;
        let path = match &name.schema {
            Some(schema) => vec![schema.clone()],
            None => source.path(),
        };
        let number = |schema: &String| match source.catalog().type_named(schema, &name.name) {
            Some(found) => Some(match is_array {
                true if found.domain().is_some() => None,
                true => Some(oid_of(&found.data_type().array())),
                false => Some(oids::object(found.id().0)),
            }),
            None => {
                let mut all = of_rows(source.catalog());
                let found = all.find(|(of, _)| of.schema() == schema && of.name() == name.name);
                found.map(|(_, id)| {
                    Some(match is_array {
                        true => oids::array_of_rows(id),
                        false => oids::row_type(id),
                    })
                })
            }
        };
        path.iter().find_map(number).flatten()
    };
    oid_named(name).or_else(of_enum)
}

/// Returns all enums and composite types with what they are of values, their numbers, and those of their arrays.
fn defined(catalog: &Catalog) -> impl Iterator<Item = (&rukh_catalog::Type, DataType, i64, i64)> {
    let types = catalog.types().filter(|ty| ty.domain().is_none());
    types.map(|ty| {
        let of = ty.data_type();
        (ty.as_ref(), of, oid_of(&of), oid_of(&of.array()))
    })
}

/// Returns the tables and views, whose rows are of a type each, with their ids.
fn of_rows(catalog: &Catalog) -> impl Iterator<Item = (Relation<'_>, u32)> {
    let found = relations(catalog).filter(|of| matches!(of, Relation::Table(_) | Relation::View(_)));
    found.filter_map(|of| Some((of, of.object()?)))
}

/// What kinds of values a type has.
pub(super) enum Shape {
    Array,
    Enum,
    Record,
    /// A domain over the type of this number.
    Domain(i64),
}

/// Returns what a type is that is not among PostgreSQL's scalars.
pub(super) fn shape_of(catalog: &Catalog, oid: i64) -> Option<Shape> {
    if TYPES.iter().any(|ty| ty.array == oid && oid != 0) {
        return Some(Shape::Array);
    }
    let of_defined = defined(catalog).find_map(|(ty, _, own, array)| match oid {
        oid if oid == array => Some(Shape::Array),
        oid if oid != own => None,
        _ if ty.record().is_some() => Some(Shape::Record),
        _ => Some(Shape::Enum),
    });
    let of_domain = || {
        let domain = domains(catalog).find(|domain| oids::object(domain.id) == oid)?;
        Some(Shape::Domain(oid_of(&domain.ty)))
    };
    of_defined.or_else(of_domain)
}

/// Returns all domains.
pub(super) fn domains(catalog: &Catalog) -> impl Iterator<Item = &Domain> {
    catalog.types().filter_map(|ty| ty.domain())
}

/// Returns the number of a type by a name of it.
pub(crate) fn oid_named(name: &str) -> Option<i64> {
    let name = name.trim().to_ascii_lowercase();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    if let Some(of) = name.strip_suffix("[]") {
        let element = oid_named(of)?;
        return TYPES.iter().find(|ty| ty.oid == element).map(|ty| ty.array);
    }
    let name = match name.split_once('(') {
        Some((head, _)) => head.trim(),
        None => name,
    };
    let name = match name {
        "int" => "int4",
        "decimal" => "numeric",
        "float" => "float8",
        "char" => "character",
        "time" => "time without time zone",
        "timestamp" => "timestamp without time zone",
        other => other,
    };
    if let Some(of) = name.strip_prefix('_') {
        return TYPES.iter().find(|ty| ty.name == of).map(|ty| ty.array);
    }
    let found = TYPES.iter().find(|ty| ty.name == name || ty.sql == name);
    found.map(|ty| ty.oid)
}

/// The number of the function that reads arrays.
const ARRAY_IN: i64 = 750;

/// Returns the number of a function that reads values of types.
pub(crate) fn input_function(name: &str) -> Option<i64> {
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    (name == "array_in").then_some(ARRAY_IN)
}

/// Returns the name of such a function.
pub(super) fn input_function_name(oid: i64) -> Option<&'static str> {
    (oid == ARRAY_IN).then_some("array_in")
}

/// Returns the collation of a type's values; 0 for those that have none.
pub(crate) fn collation_of(oid: i64) -> i64 {
    match oid {
        19 => 950,
        25 | 1042 | 1043 => 100,
        _ => 0,
    }
}

/// Shows a default of values of a type.
type DefaultText = fn(&Catalog, &str, &DataType) -> String;

/// The rows of `pg_type`.
///
/// `default_text` shows defaults of values of a type.
pub(super) fn pg_type(source: &Source<'_>, default_text: DefaultText) -> Vec<Vec<Cell>> {
    let row = |ty: &Type, array| type_row(ty, array, (oids::PG_CATALOG, oids::OWNER));
    let own = TYPES.iter().map(|ty| row(ty, false));
    let arrays = TYPES.iter().filter(|ty| ty.array != 0);
    let arrays = arrays.map(|ty| row(ty, true));
    let defined = defined(source.catalog()).flat_map(|(defined, _, oid, array)| {
        let (length, category) = match defined.record() {
            Some(_) => (-1, "C"),
            None => (4, "E"),
        };
        let ty = ty(oid, "", "", length, category, array);
        let owner = super::lookup::owner(source, defined.id().0);
        let place = (oids::schema(defined.schema()), owner);
        let row = |array: bool, name: String| {
            let mut row = type_row(&ty, array, place);
            row[TYPE_NAME] = name.into();
            row
        };
        [
            row(false, defined.name().to_string()),
            row(true, format!("_{}", defined.name())),
        ]
    });
    let domains = domains(source.catalog()).map(|domain| domain_row(source, domain, default_text));
    let rows = of_rows(source.catalog()).flat_map(|(of, id)| {
        let ty = ty(oids::row_type(id), "", "", -1, "C", oids::array_of_rows(id));
        let place = (oids::schema(of.schema()), super::lookup::owner(source, id));
        [(false, of.name()), (true, format!("_{}", of.name()))].map(|(array, name)| {
            let mut row = type_row(&ty, array, place);
            row[TYPE_NAME] = name.into();
            if !array {
                row[TYPE_RELATION] = of.oid().into();
            }
            row
        })
    });
    own.chain(arrays)
        .chain(defined)
        .chain(domains)
        .chain(rows)
        .collect()
}

/// A domain is stored as values of its type are.
fn domain_row(source: &Source<'_>, domain: &Domain, default_text: DefaultText) -> Vec<Cell> {
    let base = oid_of(&domain.ty);
    let found = TYPES.iter().find(|ty| ty.oid == base);
    let (length, category) = match (&domain.ty, found) {
        (DataType::Enum(_), _) => (4, "E"),
        (_, Some(ty)) => (ty.length, ty.category),
        (_, None) => (-1, "A"),
    };
    let owner = super::lookup::owner(source, domain.id);
    let oid = oids::object(domain.id);
    let ty = ty(oid, "", "", length, category, 0);
    let mut row = type_row(&ty, false, (oids::schema(&domain.schema), owner));
    let below = domain.domain.as_ref().map(|below| oids::object(below.id));
    let default = domain.default.as_ref();
    let default = default.map(|sql| default_text(source.catalog(), sql, &domain.ty));
    let set = [
        (TYPE_NAME, domain.name.as_str().into()),
        (TYPE_KIND, "d".into()),
        (TYPE_NOT_NULL, (!domain.nullable).into()),
        (TYPE_BASE, below.unwrap_or(base).into()),
        (TYPE_MODIFIER, modifier_of(&domain.ty).into()),
        (TYPE_COLLATION, collation_of(base).into()),
        (TYPE_DEFAULT, default.into()),
    ];
    for (at, cell) in set {
        row[at] = cell;
    }
    row
}

/// Places of columns in `pg_type`.
const TYPE_NAME: usize = 1;
const TYPE_KIND: usize = 6;
const TYPE_RELATION: usize = 11;
const TYPE_NOT_NULL: usize = 24;
const TYPE_BASE: usize = 25;
const TYPE_MODIFIER: usize = 26;
const TYPE_COLLATION: usize = 28;
const TYPE_DEFAULT: usize = 30;

/// The rows of `pg_enum`.
pub(super) fn pg_enum(catalog: &Catalog) -> Vec<Vec<Cell>> {
    let enums = catalog.types().filter_map(|ty| Some((ty.id(), ty.labels()?)));
    let rows = enums.flat_map(|(id, of)| {
        let labels = of.labels.iter().enumerate();
        labels.map(move |(at, label)| row![oids::label(id, at), oids::object(id.0), at + 1, &label.text])
    });
    rows.collect()
}

/// `place` has the numbers of the type's schema and of its owner.
fn type_row(ty: &Type, array: bool, place: (i64, i64)) -> Vec<Cell> {
    let oid = if array { ty.array } else { ty.oid };
    let name = if array {
        format!("_{}", ty.name)
    } else {
        ty.name.to_string()
    };
    let length = if array { -1 } else { ty.length };
    let kind = if ty.category == "P" || ty.category == "X" {
        "p"
    } else if ty.category == "E" {
        "e"
    } else if ty.category == "C" {
        "c"
    } else {
        "b"
    };
    let element = match (array, ty.name) {
        (true, _) => ty.oid,
        (false, "int2vector") => 21,
        (false, "oidvector") => 26,
        (false, "name") => 18,
        _ => 0,
    };
    row![
        oid,
        name,
        place.0,
        place.1,
        length,
        (1..=8).contains(&length),
        if array { "b" } else { kind },
        if array { "A" } else { ty.category },
        !array && matches!(ty.oid, 16 | 25 | 26 | 701 | 1184 | 1186),
        true,
        ",",
        // The relation that has the fields of a composite type is of its number.
        if ty.category == "C" && !array { oid } else { 0 },
        0,
        element,
        if array { 0 } else { ty.array },
        if array { ARRAY_IN } else { 0 },
        0,
        0,
        0,
        0,
        0,
        0,
        if length == 8 { "d" } else { "i" },
        if length < 0 { "x" } else { "p" },
        false,
        0,
        -1,
        0,
        collation_of(ty.oid),
        Cell::Null,
        Cell::Null,
        Cell::Null,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types() {
        let cases = [
            (23, None, "integer"),
            (1700, Some((10 << 16 | 2) + 4), "numeric(10,2)"),
            (1043, Some(24), "character varying(20)"),
            (1043, Some(-1), "character varying"),
            (1083, Some(3), "time(3) without time zone"),
            (1184, Some(-1), "timestamp with time zone"),
            (1009, Some(-1), "text[]"),
        ];
        for (oid, modifier, expected) in cases {
            assert_eq!(sql_name(oid, modifier).as_deref(), Some(expected));
        }
        assert_eq!(oid_named("numeric(10,2)"), Some(1700));
        assert_eq!(oid_named("int4[]"), Some(1007));
        assert_eq!(oid_named("_text"), Some(1009));
        assert_eq!(oid_named("nothing"), None);
        assert_eq!(sql_name(1, None), None);
    }
}
