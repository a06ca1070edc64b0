//! The rows of `pg_opclass` and `pg_opfamily`: the orders of keys, by the names and numbers that PostgreSQL 15 has for them.

use rukh_catalog::Catalog;

use super::table::{Cell, row};
use super::types;
use crate::bind::system::oids;

/// An operator class of the B-tree method.
struct Class {
    oid: i64,
    name: &'static str,
    family: i64,
    /// The type whose values it orders.
    of: i64,
}

const fn class(oid: i64, name: &'static str, family: i64, of: i64) -> Class {
    Class {
        oid,
        name,
        family,
        of,
    }
}

/// The classes that an index takes when none is named.
const CLASSES: &[Class] = &[
    class(1978, "int4_ops", 1976, 23),
    class(1979, "int2_ops", 1976, 21),
    class(1981, "oid_ops", 1989, 26),
    class(3122, "date_ops", 434, 1082),
    class(3123, "float8_ops", 1970, 701),
    class(3124, "int8_ops", 1976, 20),
    class(3125, "numeric_ops", 1988, 1700),
    class(TEXT_OPS, "text_ops", 1994, 25),
    class(3127, "timestamptz_ops", 434, 1184),
    class(3128, "timestamp_ops", 434, 1114),
    class(ARRAY_OPS, "array_ops", 397, 2277),
    class(10_003, "bool_ops", 424, 16),
    class(10_004, "bpchar_ops", 426, 1042),
    class(10_006, "bytea_ops", 428, 17),
    class(10_012, "float4_ops", 1970, 700),
    class(10_022, "interval_ops", 1982, 1186),
    class(RECORD_OPS, "record_ops", 2994, 2249),
    class(10_038, "time_ops", 1996, 1083),
    class(10_065, "uuid_ops", 2968, 2950),
    class(10_015, "inet_ops", 1974, 869),
    class(ENUM_OPS, "enum_ops", 3522, 3500),
    class(10_088, "jsonb_ops", 4033, 3802),
];

const TEXT_OPS: i64 = 3126;
const ARRAY_OPS: i64 = 10_000;
const RECORD_OPS: i64 = 10_034;
const ENUM_OPS: i64 = 10_069;

/// Families of classes whose values compare with each other.
const FAMILIES: &[(i64, &str)] = &[
    (397, "array_ops"),
    (424, "bool_ops"),
    (426, "bpchar_ops"),
    (428, "bytea_ops"),
    (434, "datetime_ops"),
    (1970, "float_ops"),
    (1976, "integer_ops"),
    (1982, "interval_ops"),
    (1988, "numeric_ops"),
    (1989, "oid_ops"),
    (1994, "text_ops"),
    (1996, "time_ops"),
    (1974, "network_ops"),
    (2968, "uuid_ops"),
    (2994, "record_ops"),
    (3522, "enum_ops"),
    (4033, "jsonb_ops"),
];

/// Returns the number of the class that orders values of a type; 0 if there is none.
pub(super) fn of_type(catalog: &Catalog, oid: i64) -> i64 {
    match oid {
        1043 => TEXT_OPS,
        _ => match CLASSES.iter().find(|class| class.of == oid) {
            Some(class) => class.oid,
            None => match types::shape_of(catalog, oid) {
                Some(types::Shape::Array) => ARRAY_OPS,
                Some(types::Shape::Enum) => ENUM_OPS,
                Some(types::Shape::Record) => RECORD_OPS,
                Some(types::Shape::Domain(base)) => of_type(catalog, base),
                None => 0,
            },
        },
    }
}

/// Returns the rows of `pg_opclass`.
pub(super) fn rows() -> Vec<Vec<Cell>> {
    let row = |class: &Class| {
        row![
            class.oid,
            oids::BTREE,
            class.name,
            oids::PG_CATALOG,
            oids::OWNER,
            class.family,
            class.of,
            true,
            0
        ]
    };
    CLASSES.iter().map(row).collect()
}

/// Returns the rows of `pg_opfamily`.
pub(super) fn families() -> Vec<Vec<Cell>> {
    let row = |(oid, name): &(i64, &str)| row![*oid, oids::BTREE, *name, oids::PG_CATALOG, oids::OWNER];
    FAMILIES.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_a_class_and_each_class_a_family() {
        for class in CLASSES {
            assert!(
                FAMILIES.iter().any(|(oid, _)| *oid == class.family),
                "{}",
                class.name
            );
        }
        for (oid, name) in FAMILIES {
            assert!(CLASSES.iter().any(|class| class.family == *oid), "{name}");
        }
    }
}
