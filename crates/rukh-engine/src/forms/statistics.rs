//! What is known of the data of tables, and its stored form; see `analyze`.

use crate::EngineError;
use crate::forms::sample::ValueStatistics;
use rukh_catalog::{CatalogError, ColumnId, TableId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

/// Newest format of stored statistics.
const FORMAT: u32 = 2;

/// What is known of a table's data, as of the last ANALYZE.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableStatistics {
    /// Rows.
    pub rows: u64,
    /// Live columns in declared order.
    pub columns: Vec<ColumnStatistics>,
    /// Expressions that indexes have as elements.
    pub expressions: Vec<ExpressionStatistics>,
}

/// What is known of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// The column.
    pub column: ColumnId,
    /// Its values.
    pub values: ValueStatistics,
}

/// What is known of an expression that an index has as an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpressionStatistics {
    /// The expression, as in the index definition.
    pub sql: String,
    /// Its values.
    pub values: ValueStatistics,
}

/// The statistics of all tables, kept in memory.
pub(crate) type KnownStatistics = HashMap<TableId, Known>;

/// The statistics of a table, and how it has grown since they were gathered.
pub(crate) struct Known {
    pub(crate) statistics: Arc<TableStatistics>,
    /// Rows added less rows removed, as far as this process knows.
    pub(crate) growth: AtomicI64,
}

impl Known {
    pub(crate) fn new(statistics: TableStatistics) -> Known {
        Known {
            statistics: Arc::new(statistics),
            growth: AtomicI64::new(0),
        }
    }
}

/// Statistics as they are written.
#[derive(Serialize)]
struct Written<'a> {
    format: u32,
    statistics: &'a TableStatistics,
}

/// The format of what is stored; the first one did not say.
#[derive(Deserialize)]
struct Format {
    #[serde(default)]
    format: Option<u32>,
}

/// Statistics of format 2.
#[derive(Deserialize)]
struct Second {
    statistics: TableStatistics,
}

/// Statistics of format 1.
#[derive(Deserialize)]
struct First {
    rows: u64,
    columns: Vec<FirstColumn>,
}

/// A column in format 1.
#[derive(Deserialize)]
struct FirstColumn {
    column: ColumnId,
    distinct: u64,
    nulls: u64,
}

impl From<First> for TableStatistics {
    fn from(first: First) -> TableStatistics {
        let column = |column: FirstColumn| ColumnStatistics {
            column: column.column,
            values: ValueStatistics {
                distinct: column.distinct,
                nulls: column.nulls,
                ..ValueStatistics::default()
            },
        };
        TableStatistics {
            rows: first.rows,
            columns: first.columns.into_iter().map(column).collect(),
            expressions: Vec::new(),
        }
    }
}

pub(crate) fn encode(statistics: &TableStatistics) -> Vec<u8> {
    let written = Written {
        format: FORMAT,
        statistics,
    };
    serde_json::to_vec(&written).expect("statistics have no map")
}

/// Reads stored statistics of any format up to the newest; `None` if they do not decode.
///
/// Fails on a newer format. Statistics that do not decode are left out: they are advice, and the
/// next ANALYZE replaces them.
pub(crate) fn decode(value: &[u8]) -> Result<Option<TableStatistics>, EngineError> {
    let format = serde_json::from_slice::<Format>(value).map(|known| known.format.unwrap_or(1));
    match format {
        Ok(1) => Ok(serde_json::from_slice::<First>(value)
            .ok()
            .map(TableStatistics::from)),
        Ok(FORMAT) => Ok(serde_json::from_slice::<Second>(value)
            .ok()
            .map(|second| second.statistics)),
        Ok(found) if found > FORMAT => Err(CatalogError::NewerFormat {
            found,
            supported: FORMAT,
        }
        .into()),
        _ => Ok(None),
    }
}

/// Rows changed since statistics were gathered, of each table.
pub(crate) type ChangedRows = HashMap<TableId, u64>;

#[cfg(test)]
mod tests {
    use super::*;
    use rukh_keys::Datum;

    fn of_one_column(values: ValueStatistics) -> TableStatistics {
        let column = ColumnId(3);
        TableStatistics {
            rows: 7,
            columns: vec![ColumnStatistics { column, values }],
            expressions: Vec::new(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let values = ValueStatistics {
            distinct: 5,
            nulls: 1,
            min: Some(Datum::Decimal(i128::MIN)),
            max: Some(Datum::Decimal(i128::MAX)),
            common: vec![crate::CommonValue {
                value: Datum::Float(f64::NAN),
                rows: 2,
            }],
            bounds: vec![Datum::Text("a".into()), Datum::Bytes(vec![0, 255])],
        };
        let statistics = of_one_column(values);
        assert_eq!(decode(&encode(&statistics)).unwrap(), Some(statistics));
    }

    #[test]
    fn the_first_format_is_read_and_a_newer_one_refused() {
        let first = br#"{"rows":7,"columns":[{"column":3,"distinct":5,"nulls":1}]}"#;
        let expected = of_one_column(ValueStatistics {
            distinct: 5,
            nulls: 1,
            ..ValueStatistics::default()
        });
        assert_eq!(decode(first).unwrap(), Some(expected));
        let newer = decode(br#"{"format":3,"secret":1}"#).unwrap_err();
        assert!(matches!(
            newer,
            EngineError::Catalog(CatalogError::NewerFormat {
                found: 3,
                supported: 2
            })
        ));
        for broken in ["", "{", "[]", r#"{"format":2}"#, r#"{"format":0}"#, "{}"] {
            assert_eq!(decode(broken.as_bytes()).unwrap(), None, "{broken}");
        }
    }
}
