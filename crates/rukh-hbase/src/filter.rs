//! Filters, which servers apply to what they read, and comparators: each a Java class and its message.

use bytes::Bytes;
use prost::Message;

use crate::proto::common::BytesBytesPair;
use crate::proto::filter::{
    self as message, BinaryComparator, BinaryComponentComparator, ByteArrayComparable, Comparator,
    CompareFilter, FilterList, FuzzyRowFilter, KeyOnlyFilter, MultiRowRangeFilter, RowFilter, RowRange,
};

const PACKAGE: &str = "org.apache.hadoop.hbase.filter.";

/// How bytes compare, as unsigned numbers from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `<`
    Less = 0,
    /// `<=`
    LessOrEqual = 1,
    /// `=`
    Equal = 2,
    /// `<>`
    NotEqual = 3,
    /// `>=`
    GreaterOrEqual = 4,
    /// `>`
    Greater = 5,
}

/// What a server leaves out of a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    pub(crate) message: message::Filter,
    /// Whether it, or a part of it, is for scans forward only.
    pub(crate) is_forward: bool,
}

impl Filter {
    /// Lets pass the rows of these ranges, from the first key of each on and below the second; an empty second key is the
    /// end. Servers seek from range to range. They need not be in order, nor apart.
    ///
    /// For scans forward: backward, servers of HBase 2.6.4 leave out rows that lie in a range, and a scan with such a filter
    /// is refused.
    pub fn ranges(ranges: impl IntoIterator<Item = (Bytes, Bytes)>) -> Filter {
        let range = |(start, stop)| RowRange {
            start_row: Some(start),
            start_row_inclusive: Some(true),
            stop_row: Some(stop),
            stop_row_inclusive: Some(false),
        };
        let row_range_list = ranges.into_iter().map(range).collect();
        Filter {
            is_forward: true,
            ..Filter::of("MultiRowRangeFilter", &MultiRowRangeFilter { row_range_list })
        }
    }

    /// Lets pass the rows that begin with the bytes of one of these keys, where its mask has `true`; other bytes are
    /// anything. Servers seek past what cannot match. Key and mask of a pair are of one length.
    ///
    /// For scans forward: backward, servers of HBase 2.6.4 do not come to an end, and a scan with such a filter is refused.
    pub fn fuzzy(keys: impl IntoIterator<Item = (Bytes, Vec<bool>)>) -> Filter {
        // Version 2 of the mask: -1 where the byte is fixed, 2 where it is not.
        let byte = |is_fixed: &bool| if *is_fixed { 0xff } else { 2 };
        let pair = |(key, mask): (Bytes, Vec<bool>)| BytesBytesPair {
            first: key,
            second: mask.iter().map(byte).collect::<Vec<u8>>().into(),
        };
        let message = FuzzyRowFilter {
            fuzzy_keys_data: keys.into_iter().map(pair).collect(),
            is_mask_v2: Some(true),
        };
        Filter {
            is_forward: true,
            ..Filter::of("FuzzyRowFilter", &message)
        }
    }

    /// Lets pass the rows whose bytes from `offset` on, as many as `value` has, compare so with `value`.
    pub fn row_part(compare: Compare, value: impl Into<Bytes>, offset: u32) -> Filter {
        let message = BinaryComponentComparator {
            value: value.into(),
            offset,
        };
        Filter::row(compare, comparator("BinaryComponentComparator", &message))
    }

    /// Lets pass the rows that compare so with `key`.
    pub fn row_key(compare: Compare, key: impl Into<Bytes>) -> Filter {
        Filter::row(compare, binary(key.into()))
    }

    fn row(compare: Compare, comparator: Comparator) -> Filter {
        let compare_filter = CompareFilter {
            compare_op: compare as i32,
            comparator: Some(comparator),
        };
        Filter::of("RowFilter", &RowFilter { compare_filter })
    }

    /// Leaves out values: cells have their keys only.
    pub fn key_only() -> Filter {
        Filter::of("KeyOnlyFilter", &KeyOnlyFilter { len_as_val: false })
    }

    /// Lets pass the first cell of each row.
    pub fn first_cell() -> Filter {
        Filter::named("FirstKeyOnlyFilter", Bytes::new())
    }

    /// Lets pass what all of these let pass.
    pub fn all(filters: impl IntoIterator<Item = Filter>) -> Filter {
        Filter::list(1, filters)
    }

    /// Lets pass what one of these lets pass.
    pub fn any(filters: impl IntoIterator<Item = Filter>) -> Filter {
        Filter::list(2, filters)
    }

    fn list(operator: i32, filters: impl IntoIterator<Item = Filter>) -> Filter {
        let parts: Vec<Filter> = filters.into_iter().collect();
        let is_forward = parts.iter().any(|part| part.is_forward);
        let filters = parts.into_iter().map(|part| part.message).collect();
        Filter {
            is_forward,
            ..Filter::of("FilterList", &FilterList { operator, filters })
        }
    }

    fn of(name: &str, message: &impl Message) -> Filter {
        Filter::named(name, message.encode_to_vec().into())
    }

    fn named(name: &str, message: Bytes) -> Filter {
        Filter {
            message: message::Filter {
                name: format!("{PACKAGE}{name}"),
                serialized_filter: Some(message),
            },
            is_forward: false,
        }
    }
}

/// Compares whole values byte by byte.
pub(crate) fn binary(value: Bytes) -> Comparator {
    let message = BinaryComparator {
        comparable: ByteArrayComparable { value: Some(value) },
    };
    comparator("BinaryComparator", &message)
}

fn comparator(name: &str, message: &impl Message) -> Comparator {
    Comparator {
        name: format!("{PACKAGE}{name}"),
        serialized_comparator: Some(message.encode_to_vec().into()),
    }
}
