//! Filters and comparators: a Java class by name, and its own message, serialized.

use bytes::Bytes;
use prost::Message;

use super::common::BytesBytesPair;

#[derive(Clone, PartialEq, Message)]
pub struct Filter {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub serialized_filter: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Comparator {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub serialized_comparator: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ByteArrayComparable {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub value: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct BinaryComparator {
    #[prost(message, required, tag = "1")]
    pub comparable: ByteArrayComparable,
}

#[derive(Clone, PartialEq, Message)]
pub struct BinaryComponentComparator {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub value: Bytes,
    #[prost(uint32, required, tag = "2")]
    pub offset: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct CompareFilter {
    #[prost(int32, required, tag = "1")]
    pub compare_op: i32,
    #[prost(message, optional, tag = "2")]
    pub comparator: Option<Comparator>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RowFilter {
    #[prost(message, required, tag = "1")]
    pub compare_filter: CompareFilter,
}

/// Operators: `1` all must pass, `2` one must pass.
#[derive(Clone, PartialEq, Message)]
pub struct FilterList {
    #[prost(int32, required, tag = "1")]
    pub operator: i32,
    #[prost(message, repeated, tag = "2")]
    pub filters: Vec<Filter>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FuzzyRowFilter {
    #[prost(message, repeated, tag = "1")]
    pub fuzzy_keys_data: Vec<BytesBytesPair>,
    #[prost(bool, optional, tag = "2")]
    pub is_mask_v2: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct KeyOnlyFilter {
    #[prost(bool, required, tag = "1")]
    pub len_as_val: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct PageFilter {
    #[prost(int64, required, tag = "1")]
    pub page_size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct RowRange {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub start_row: Option<Bytes>,
    #[prost(bool, optional, tag = "2")]
    pub start_row_inclusive: Option<bool>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub stop_row: Option<Bytes>,
    #[prost(bool, optional, tag = "4")]
    pub stop_row_inclusive: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MultiRowRangeFilter {
    #[prost(message, repeated, tag = "1")]
    pub row_range_list: Vec<RowRange>,
}
