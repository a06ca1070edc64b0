//! Random tables and indexes.

use std::fmt::Write;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rukh_keys::{DataType, EnumDefinition, EnumType, RecordDefinition, RecordField, RecordType};

use super::condition::{Condition, simple_condition};

/// A column.
#[derive(Clone, Debug)]
pub struct RandomColumn {
    /// `c0`, `c1`, ….
    pub name: String,
    /// Type.
    pub ty: DataType,
    /// Whether it may hold NULL; key columns may not.
    pub nullable: bool,
}

/// An element of a key.
#[derive(Clone, Debug)]
pub struct RandomKeyElement {
    /// Place of the column.
    pub column: usize,
    /// Bytes of the hash, if it is one.
    pub hash: Option<u8>,
    /// Whether it is descending.
    pub descending: bool,
}

/// An index.
#[derive(Clone, Debug)]
pub struct RandomIndex {
    /// `i0`, `i1`, ….
    pub name: String,
    /// Whether it is UNIQUE.
    pub unique: bool,
    /// NULLS DISTINCT, or NULLS NOT DISTINCT.
    pub nulls_distinct: bool,
    /// Elements of its key.
    pub elements: Vec<RandomKeyElement>,
    /// Places of the columns included.
    pub include: Vec<usize>,
    /// Which rows have entries.
    pub predicate: Option<Condition>,
    /// Whether it is columnar.
    pub columnar: bool,
}

/// A table named `t`.
#[derive(Clone, Debug)]
pub struct RandomTable {
    /// Columns; those of the key come first.
    pub columns: Vec<RandomColumn>,
    /// Number of columns in the key.
    pub key_columns: usize,
    /// Elements of the primary key; every key column is in one.
    pub key: Vec<RandomKeyElement>,
    /// Whether there is no primary key: rows may be equal, and all columns count as those of the key.
    pub keyless: bool,
    /// What follows the closing parenthesis.
    pub options: String,
    /// Indexes.
    pub indexes: Vec<RandomIndex>,
}

impl RandomTable {
    /// Draws a table with its indexes.
    pub fn draw(random: &mut StdRng) -> Self {
        let key_columns = random.random_range(1..=4);
        let count = key_columns + random.random_range(0..=3);
        let columns: Vec<RandomColumn> = (0..count)
            .map(|place| RandomColumn {
                name: format!("c{place}"),
                ty: draw_type(place >= key_columns, random),
                nullable: place >= key_columns && random.random_bool(0.8),
            })
            .collect();
        let key = draw_key(key_columns, random);
        let options = draw_options(key_columns, random);
        let mut table = RandomTable {
            columns,
            key_columns,
            key,
            keyless: false,
            options,
            indexes: Vec::new(),
        };
        if random.random_bool(0.2) {
            table.lose_key();
        }
        table.indexes = (0..random.random_range(0..=3))
            .map(|number| draw_index(&table, number, random))
            .collect();
        table
    }

    /// Takes its primary key, and the options that need one.
    fn lose_key(&mut self) {
        self.keyless = true;
        self.key_columns = self.columns.len();
        let element = |column| RandomKeyElement {
            column,
            hash: None,
            descending: false,
        };
        self.key = self.all_columns().into_iter().map(element).collect();
        if let Some(at) = self.options.find(" SALT_BUCKETS") {
            self.options.truncate(at);
        }
    }

    /// Makes nothing of it columnar.
    pub fn keep_in_rows(&mut self) {
        self.options = self.options.replace(" USING columnar", "");
        self.indexes.retain(|index| !index.columnar);
    }

    /// Returns the definition for Rukh.
    pub fn create_sql(&self) -> String {
        let columns = self.columns.iter().map(column_sql).collect::<Vec<_>>().join(", ");
        let key = match self.keyless {
            true => String::new(),
            false => format!(", PRIMARY KEY ({})", self.elements_sql(&self.key)),
        };
        format!("CREATE TABLE t ({columns}{key}){}", self.options)
    }

    /// Returns the definition for PostgreSQL: columns only. Uniqueness is checked by
    /// [`RandomTable::duplicates_sql`] when a statement is done.
    pub fn create_heap_sql(&self) -> String {
        format!(
            "CREATE TABLE t ({})",
            self.columns.iter().map(column_sql).collect::<Vec<_>>().join(", ")
        )
    }

    /// Returns the definition of an index.
    pub fn create_index_sql(&self, index: &RandomIndex) -> String {
        let mut sql = format!(
            "CREATE {}INDEX {} ON t{} ({})",
            if index.unique { "UNIQUE " } else { "" },
            index.name,
            if index.columnar { " USING columnar" } else { "" },
            self.elements_sql(&index.elements)
        );
        if !index.include.is_empty() {
            write!(sql, " INCLUDE ({})", self.names(&index.include)).expect("a string takes all");
        }
        if !index.nulls_distinct {
            sql += " NULLS NOT DISTINCT";
        }
        if let Some(predicate) = &index.predicate {
            write!(sql, " WHERE {predicate}").expect("a string takes all");
        }
        sql
    }

    /// Returns queries that give a row if something is there twice that must be unique: the key,
    /// and the columns of the unique indexes among `indexes`.
    pub fn duplicates_sql<'a>(&self, indexes: impl Iterator<Item = &'a RandomIndex>) -> Vec<String> {
        let key: Vec<usize> = (0..self.key_columns).collect();
        let mut queries = match self.keyless {
            true => Vec::new(),
            false => vec![self.duplicate_sql(&key, "true")],
        };
        for index in indexes.filter(|index| index.unique) {
            let columns: Vec<usize> = index.elements.iter().map(|element| element.column).collect();
            let mut holds = index
                .predicate
                .as_ref()
                .map_or("true".to_owned(), |p| format!("({p})"));
            for column in columns.iter().filter(|_| index.nulls_distinct) {
                // `IS NOT NULL` is false of a row with a NULL field, which is a value that must be unique.
                let name = &self.columns[*column].name;
                write!(holds, " AND {name} IS DISTINCT FROM NULL").expect("a string takes all");
            }
            queries.push(self.duplicate_sql(&columns, &holds));
        }
        queries
    }

    /// Returns names of columns, joined by commas.
    pub fn names(&self, columns: &[usize]) -> String {
        columns
            .iter()
            .map(|column| self.columns[*column].name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Returns the places of all columns.
    pub fn all_columns(&self) -> Vec<usize> {
        (0..self.columns.len()).collect()
    }

    fn duplicate_sql(&self, columns: &[usize], holds: &str) -> String {
        let names = self.names(columns);
        format!("SELECT 1 FROM t WHERE {holds} GROUP BY {names} HAVING count(*) > 1 LIMIT 1")
    }

    fn elements_sql(&self, elements: &[RandomKeyElement]) -> String {
        let element = |element: &RandomKeyElement| {
            let name = &self.columns[element.column].name;
            let expression = match element.hash {
                Some(bytes) => format!("HASH({name}, {bytes})"),
                None => name.clone(),
            };
            format!("{expression}{}", if element.descending { " DESC" } else { "" })
        };
        elements.iter().map(element).collect::<Vec<_>>().join(", ")
    }
}

/// Every other INTEGER is one of a domain, which means the same.
fn column_sql(column: &RandomColumn) -> String {
    let ty = match column.ty {
        DataType::Integer if column.name.ends_with(['0', '2', '4', '6']) => "whole".to_string(),
        ty => ty.to_string(),
    };
    format!(
        "{} {ty}{}",
        column.name,
        if column.nullable { "" } else { " NOT NULL" }
    )
}

/// An enum whose labels are in another order than their texts.
fn mood() -> DataType {
    let labels = ["sad", "ok", "it's fine", "happy", "Happy", ""].map(String::from);
    DataType::Enum(EnumType::of(EnumDefinition::new(0, "public", "mood", &labels)))
}

/// A composite type.
fn spot() -> DataType {
    let field = |name: &str, ty| RecordField {
        name: name.to_string(),
        ty,
    };
    DataType::Record(RecordType::of(RecordDefinition {
        id: 0,
        schema: "public".to_string(),
        name: "spot".to_string(),
        fields: vec![field("n", DataType::Integer), field("t", DataType::Varchar(None))],
    }))
}

/// The statements that make the types of [`RandomTable`]s: an enum, which gets a label between others later, a composite type, and a domain of INTEGER.
pub const CREATE_TYPES: [&str; 4] = [
    "CREATE TYPE spot AS (n INTEGER, t TEXT)",
    "CREATE TYPE mood AS ENUM ('sad', 'it''s fine', 'happy', 'Happy', '')",
    "ALTER TYPE mood ADD VALUE 'ok' BEFORE 'it''s fine'",
    "CREATE DOMAIN whole AS INTEGER CHECK (VALUE IS NULL OR abs(VALUE::bigint) >= 0)",
];

/// Draws a type; one that no key has only where `in_values` says that the column is in none.
fn draw_type(in_values: bool, random: &mut StdRng) -> DataType {
    if in_values && random.random_bool(0.15) {
        let unkeyed = [DataType::Interval, DataType::Jsonb];
        return *unkeyed.choose(random).expect("there are types");
    }
    if random.random_bool(0.08) {
        let arrays = [
            DataType::Integer.array(),
            DataType::Varchar(None).array(),
            mood().array(),
            spot(),
        ];
        return *arrays.choose(random).expect("there are types");
    }
    let types = [
        DataType::Boolean,
        DataType::TinyInt,
        DataType::SmallInt,
        DataType::Integer,
        DataType::Integer,
        DataType::BigInt,
        DataType::Real,
        DataType::Double,
        DataType::Decimal {
            precision: 6,
            scale: 2,
        },
        DataType::Decimal {
            precision: 20,
            scale: 4,
        },
        DataType::NUMERIC,
        DataType::Date,
        DataType::Time { precision: 3 },
        DataType::Time { precision: 6 },
        DataType::TIMESTAMP,
        DataType::TIMESTAMP_TZ,
        DataType::Uuid,
        DataType::Inet,
        DataType::Cidr,
        DataType::Char(3),
        DataType::Varchar(None),
        DataType::Varchar(None),
        DataType::Varchar(Some(3)),
        DataType::Binary(2),
        DataType::Varbinary(None),
        mood(),
    ];
    *types.choose(random).expect("there are types")
}

/// Every key column once, some as hashes, some as hash and value, in any order and direction.
fn draw_key(key_columns: usize, random: &mut StdRng) -> Vec<RandomKeyElement> {
    let mut columns: Vec<usize> = (0..key_columns).collect();
    columns.shuffle(random);
    let mut key = Vec::new();
    for column in columns {
        let hash = random.random_bool(0.12).then(|| draw_hash(random));
        if hash.is_some() {
            key.push(RandomKeyElement {
                column,
                hash,
                descending: random.random_bool(0.3),
            });
        }
        if hash.is_none() || random.random_bool(0.5) {
            key.push(RandomKeyElement {
                column,
                hash: None,
                descending: random.random_bool(0.4),
            });
        }
    }
    key
}

/// Four bytes are too few when values are drawn at random, but not from a pool of ten.
fn draw_hash(random: &mut StdRng) -> u8 {
    *[4, 8, 16].choose(random).expect("there are widths")
}

fn draw_options(key_columns: usize, random: &mut StdRng) -> String {
    let using = match random.random_bool(0.3) {
        true => " USING columnar",
        false => "",
    };
    if random.random_bool(0.75) {
        return using.to_string();
    }
    let buckets = [2, 5, 16].choose(random).expect("there are numbers");
    match random.random_bool(0.5) {
        true => format!("{using} SALT_BUCKETS = {buckets}"),
        false => format!(
            "{using} SALT_BUCKETS = {buckets} ON (c{})",
            random.random_range(0..key_columns)
        ),
    }
}

fn draw_index(table: &RandomTable, number: usize, random: &mut StdRng) -> RandomIndex {
    let mut columns = table.all_columns();
    columns.shuffle(random);
    let (mut columns, mut include): (Vec<usize>, Vec<usize>) = columns
        .into_iter()
        .partition(|column| table.columns[*column].ty.is_of_keys());
    let size = random.random_range(1..=3).min(columns.len());
    include.extend(columns.split_off(size));
    let elements = columns
        .into_iter()
        .map(|column| RandomKeyElement {
            column,
            hash: random.random_bool(0.1).then(|| draw_hash(random)),
            descending: random.random_bool(0.35),
        })
        .collect();
    let columnar = random.random_bool(0.3);
    RandomIndex {
        name: format!("i{number}"),
        unique: random.random_bool(0.2) && !columnar,
        nulls_distinct: random.random_bool(0.7),
        elements,
        include: include.into_iter().filter(|_| random.random_bool(0.4)).collect(),
        predicate: random
            .random_bool(0.25)
            .then(|| simple_condition(table, random))
            .filter(|_| !columnar),
        columnar,
    }
}
