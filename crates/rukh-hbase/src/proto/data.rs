//! Gets, mutations, conditions and scans.

use bytes::Bytes;
use prost::Message;

use super::common::{ColumnFamilyTimeRange, NameBytesPair, NameInt64Pair, RegionSpecifier, TimeRange};
use super::filter::{Comparator, Filter};

#[derive(Clone, PartialEq, Message)]
pub struct Column {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub family: Bytes,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub qualifier: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Get {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub row: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub column: Vec<Column>,
    #[prost(message, optional, tag = "4")]
    pub filter: Option<Filter>,
    #[prost(message, optional, tag = "5")]
    pub time_range: Option<TimeRange>,
    #[prost(uint32, optional, tag = "6")]
    pub max_versions: Option<u32>,
    #[prost(bool, optional, tag = "7")]
    pub cache_blocks: Option<bool>,
    #[prost(message, repeated, tag = "13")]
    pub cf_time_range: Vec<ColumnFamilyTimeRange>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Cell {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub row: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub family: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub qualifier: Option<Bytes>,
    #[prost(uint64, optional, tag = "4")]
    pub timestamp: Option<u64>,
    #[prost(int32, optional, tag = "5")]
    pub cell_type: Option<i32>,
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub value: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Result {
    #[prost(message, repeated, tag = "1")]
    pub cell: Vec<Cell>,
    #[prost(int32, optional, tag = "2")]
    pub associated_cell_count: Option<i32>,
    #[prost(bool, optional, tag = "3")]
    pub exists: Option<bool>,
    #[prost(bool, optional, tag = "5")]
    pub partial: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Condition {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub row: Bytes,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub family: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub qualifier: Option<Bytes>,
    #[prost(int32, optional, tag = "4")]
    pub compare_type: Option<i32>,
    #[prost(message, optional, tag = "5")]
    pub comparator: Option<Comparator>,
    #[prost(message, optional, tag = "6")]
    pub time_range: Option<TimeRange>,
    #[prost(message, optional, tag = "7")]
    pub filter: Option<Filter>,
}

/// A mutation whose cells are in the cell block. Types: `1` increment, `2` put, `3` delete.
#[derive(Clone, PartialEq, Message)]
pub struct MutationProto {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub row: Option<Bytes>,
    #[prost(int32, optional, tag = "2")]
    pub mutate_type: Option<i32>,
    #[prost(uint64, optional, tag = "4")]
    pub timestamp: Option<u64>,
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<NameBytesPair>,
    #[prost(int32, optional, tag = "8")]
    pub associated_cell_count: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Action {
    #[prost(uint32, optional, tag = "1")]
    pub index: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub mutation: Option<MutationProto>,
    #[prost(message, optional, tag = "3")]
    pub get: Option<Get>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionAction {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(bool, optional, tag = "2")]
    pub atomic: Option<bool>,
    #[prost(message, repeated, tag = "3")]
    pub action: Vec<Action>,
    #[prost(message, optional, tag = "4")]
    pub condition: Option<Condition>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MultiRequest {
    #[prost(message, repeated, tag = "1")]
    pub region_action: Vec<RegionAction>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ResultOrException {
    #[prost(uint32, optional, tag = "1")]
    pub index: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub result: Option<Result>,
    #[prost(message, optional, tag = "3")]
    pub exception: Option<NameBytesPair>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionActionResult {
    #[prost(message, repeated, tag = "1")]
    pub result_or_exception: Vec<ResultOrException>,
    #[prost(message, optional, tag = "2")]
    pub exception: Option<NameBytesPair>,
    #[prost(bool, optional, tag = "3")]
    pub processed: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MultiResponse {
    #[prost(message, repeated, tag = "1")]
    pub region_action_result: Vec<RegionActionResult>,
    #[prost(bool, optional, tag = "2")]
    pub processed: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Scan {
    #[prost(message, repeated, tag = "1")]
    pub column: Vec<Column>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub start_row: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub stop_row: Option<Bytes>,
    #[prost(message, optional, tag = "5")]
    pub filter: Option<Filter>,
    #[prost(message, optional, tag = "6")]
    pub time_range: Option<TimeRange>,
    #[prost(uint32, optional, tag = "7")]
    pub max_versions: Option<u32>,
    #[prost(bool, optional, tag = "8")]
    pub cache_blocks: Option<bool>,
    #[prost(uint64, optional, tag = "10")]
    pub max_result_size: Option<u64>,
    #[prost(bool, optional, tag = "15")]
    pub reversed: Option<bool>,
    #[prost(uint32, optional, tag = "17")]
    pub caching: Option<u32>,
    #[prost(message, repeated, tag = "19")]
    pub cf_time_range: Vec<ColumnFamilyTimeRange>,
    #[prost(bool, optional, tag = "21")]
    pub include_start_row: Option<bool>,
    #[prost(bool, optional, tag = "22")]
    pub include_stop_row: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanRequest {
    #[prost(message, optional, tag = "1")]
    pub region: Option<RegionSpecifier>,
    #[prost(message, optional, tag = "2")]
    pub scan: Option<Scan>,
    #[prost(uint64, optional, tag = "3")]
    pub scanner_id: Option<u64>,
    #[prost(uint32, optional, tag = "4")]
    pub number_of_rows: Option<u32>,
    #[prost(bool, optional, tag = "5")]
    pub close_scanner: Option<bool>,
    #[prost(uint64, optional, tag = "6")]
    pub next_call_seq: Option<u64>,
    #[prost(bool, optional, tag = "7")]
    pub client_handles_partials: Option<bool>,
    #[prost(bool, optional, tag = "8")]
    pub client_handles_heartbeats: Option<bool>,
    #[prost(bool, optional, tag = "9")]
    pub track_scan_metrics: Option<bool>,
    #[prost(bool, optional, tag = "10")]
    pub renew: Option<bool>,
    #[prost(uint32, optional, tag = "11")]
    pub limit_of_rows: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanMetrics {
    #[prost(message, repeated, tag = "1")]
    pub metrics: Vec<NameInt64Pair>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanResponse {
    #[prost(uint32, repeated, tag = "1")]
    pub cells_per_result: Vec<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub scanner_id: Option<u64>,
    #[prost(bool, optional, tag = "3")]
    pub more_results: Option<bool>,
    #[prost(uint32, optional, tag = "4")]
    pub ttl: Option<u32>,
    #[prost(message, repeated, tag = "5")]
    pub results: Vec<Result>,
    #[prost(bool, repeated, tag = "7")]
    pub partial_flag_per_result: Vec<bool>,
    #[prost(bool, optional, tag = "8")]
    pub more_results_in_region: Option<bool>,
    #[prost(bool, optional, tag = "9")]
    pub heartbeat_message: Option<bool>,
    #[prost(message, optional, tag = "10")]
    pub scan_metrics: Option<ScanMetrics>,
}
