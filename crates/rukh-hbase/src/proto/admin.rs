//! Messages of the master and of the region servers' administration.

use bytes::Bytes;
use prost::Message;

use super::common::{NameStringPair, RegionInfo, RegionSpecifier, ServerName, TableName, TableSchema};

/// The answer to everything that the master does in a procedure.
#[derive(Clone, PartialEq, Message)]
pub struct ProcedureResponse {
    #[prost(uint64, optional, tag = "1")]
    pub proc_id: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CreateTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_schema: TableSchema,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub split_keys: Vec<Bytes>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce: Option<u64>,
}

/// Delete, enable and disable ask in the same form.
#[derive(Clone, PartialEq, Message)]
pub struct TableRequest {
    #[prost(message, required, tag = "1")]
    pub table_name: TableName,
    #[prost(uint64, optional, tag = "2")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TruncateTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_name: TableName,
    #[prost(bool, optional, tag = "2")]
    pub preserve_splits: Option<bool>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ModifyTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_name: TableName,
    #[prost(message, required, tag = "2")]
    pub table_schema: TableSchema,
    #[prost(uint64, optional, tag = "3")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FlushTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_name: TableName,
    #[prost(uint64, optional, tag = "3")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct NamespaceDescriptor {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub name: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub configuration: Vec<NameStringPair>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CreateNamespaceRequest {
    #[prost(message, required, tag = "1")]
    pub namespace_descriptor: NamespaceDescriptor,
    #[prost(uint64, optional, tag = "2")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct DeleteNamespaceRequest {
    #[prost(string, required, tag = "1")]
    pub namespace_name: String,
    #[prost(uint64, optional, tag = "2")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ListNamespacesResponse {
    #[prost(string, repeated, tag = "1")]
    pub namespace_name: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetTableDescriptorsRequest {
    #[prost(message, repeated, tag = "1")]
    pub table_names: Vec<TableName>,
    #[prost(bool, optional, tag = "3")]
    pub include_sys_tables: Option<bool>,
    #[prost(string, optional, tag = "4")]
    pub namespace: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetTableDescriptorsResponse {
    #[prost(message, repeated, tag = "1")]
    pub table_schema: Vec<TableSchema>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetTableNamesRequest {
    #[prost(bool, optional, tag = "2")]
    pub include_sys_tables: Option<bool>,
    #[prost(string, optional, tag = "3")]
    pub namespace: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetTableNamesResponse {
    #[prost(message, repeated, tag = "1")]
    pub table_names: Vec<TableName>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetProcedureResultRequest {
    #[prost(uint64, required, tag = "1")]
    pub proc_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GenericExceptionMessage {
    #[prost(string, optional, tag = "1")]
    pub class_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub message: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ForeignExceptionMessage {
    #[prost(string, optional, tag = "1")]
    pub source: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub generic_exception: Option<GenericExceptionMessage>,
}

/// `0` not found, `1` running, `2` finished.
#[derive(Clone, PartialEq, Message)]
pub struct GetProcedureResultResponse {
    #[prost(int32, required, tag = "1")]
    pub state: i32,
    #[prost(message, optional, tag = "5")]
    pub exception: Option<ForeignExceptionMessage>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SplitTableRegionRequest {
    #[prost(message, required, tag = "1")]
    pub region_info: RegionInfo,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub split_row: Option<Bytes>,
    #[prost(uint64, optional, tag = "3")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce: Option<u64>,
}

/// Regions that lie beside each other, by their encoded names.
#[derive(Clone, PartialEq, Message)]
pub struct MergeTableRegionsRequest {
    #[prost(message, repeated, tag = "1")]
    pub region: Vec<RegionSpecifier>,
    #[prost(bool, optional, tag = "3")]
    pub forcible: Option<bool>,
    #[prost(uint64, optional, tag = "4")]
    pub nonce_group: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub nonce: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MoveRegionRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(message, optional, tag = "2")]
    pub dest_server_name: Option<ServerName>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FlushRegionRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
}

#[derive(Clone, PartialEq, Message)]
pub struct CompactRegionRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(bool, optional, tag = "2")]
    pub major: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetRegionInfoRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(bool, optional, tag = "2")]
    pub compaction_state: Option<bool>,
}

/// Compaction states: `0` none, `1` minor, `2` major, `3` both.
#[derive(Clone, PartialEq, Message)]
pub struct GetRegionInfoResponse {
    #[prost(message, required, tag = "1")]
    pub region_info: RegionInfo,
    #[prost(int32, optional, tag = "2")]
    pub compaction_state: Option<i32>,
}
