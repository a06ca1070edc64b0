//! Tables, regions and namespaces: the master changes them by procedures, which are polled until they end.

use std::time::{Duration, Instant};

use bytes::Bytes;
use prost::Message;

use crate::client::{Region, message_of, specifier};
use crate::connection::protocol;
use crate::proto::admin::{
    CompactRegionRequest, CreateNamespaceRequest, CreateTableRequest, DeleteNamespaceRequest,
    FlushRegionRequest, GetProcedureResultRequest, GetProcedureResultResponse, GetRegionInfoRequest,
    GetRegionInfoResponse, GetTableDescriptorsRequest, GetTableDescriptorsResponse, GetTableNamesRequest,
    GetTableNamesResponse, ListNamespacesResponse, MergeTableRegionsRequest, ModifyTableRequest,
    MoveRegionRequest, NamespaceDescriptor, ProcedureResponse, SplitTableRegionRequest, TableRequest,
    TruncateTableRequest,
};
use crate::proto::common::{
    BytesBytesPair, ColumnFamilySchema, RegionSpecifier, ServerName, TableName, TableSchema,
};
use crate::proto::rpc::Empty;
use crate::{Client, Error};

/// How long is waited between two looks at what a server does.
const POLL_PAUSE: Duration = Duration::from_millis(50);

/// A column family of a table to be made: its name, and attributes by HBase's names, such as `TTL` or `VERSIONS`.
#[derive(Clone, Debug)]
pub struct Family {
    /// The name.
    pub name: String,
    /// Attributes and their values, in HBase's spelling.
    pub attributes: Vec<(String, String)>,
}

impl Family {
    /// Makes a family with attributes.
    pub fn new(name: &str, attributes: &[(&str, &str)]) -> Family {
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        Family {
            name: name.to_string(),
            attributes: attributes.iter().map(owned).collect(),
        }
    }
}

/// A server of regions, as it was started.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerAddress(ServerName);

impl std::fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0.host_name, self.0.port.unwrap_or(0))
    }
}

/// A region: the rows from `start` on and below `end`, and the server that has them.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionPlace {
    /// The first row; empty for the beginning of the table.
    pub start: Bytes,
    /// The row behind the last; empty for the end of the table.
    pub end: Bytes,
    /// Where it is.
    pub server: ServerAddress,
}

impl Client {
    /// Makes a table in the URL's namespace, split at these keys, and waits until it can be used.
    pub async fn create_table(
        &self,
        table: &str,
        families: &[Family],
        split_keys: Vec<Bytes>,
    ) -> Result<(), Error> {
        let request = CreateTableRequest {
            table_schema: TableSchema {
                table_name: Some(self.table_name(table)),
                column_families: families.iter().map(family).collect(),
                ..TableSchema::default()
            },
            split_keys,
            ..CreateTableRequest::default()
        };
        self.procedure("CreateTable", &request).await
    }

    /// Gives a table these families in place of those that it has: the data of a family that is not among them are removed.
    pub async fn modify_table(&self, table: &str, families: &[Family]) -> Result<(), Error> {
        let request = ModifyTableRequest {
            table_name: self.table_name(table),
            table_schema: TableSchema {
                table_name: Some(self.table_name(table)),
                column_families: families.iter().map(family).collect(),
                ..TableSchema::default()
            },
            ..ModifyTableRequest::default()
        };
        self.procedure("ModifyTable", &request).await
    }

    /// Takes a table out of use, which must come before it is deleted or truncated.
    pub async fn disable_table(&self, table: &str) -> Result<(), Error> {
        self.procedure("DisableTable", &self.table_request(table)).await
    }

    /// Takes a disabled table into use again.
    pub async fn enable_table(&self, table: &str) -> Result<(), Error> {
        self.procedure("EnableTable", &self.table_request(table)).await
    }

    /// Removes a disabled table and all its rows.
    pub async fn delete_table(&self, table: &str) -> Result<(), Error> {
        self.procedure("DeleteTable", &self.table_request(table)).await?;
        self.forget_regions(table);
        Ok(())
    }

    /// Removes all rows of a disabled table and enables it; with the regions that it has, or as one.
    pub async fn truncate_table(&self, table: &str, keeps_regions: bool) -> Result<(), Error> {
        let request = TruncateTableRequest {
            table_name: self.table_name(table),
            preserve_splits: Some(keeps_regions),
            ..TruncateTableRequest::default()
        };
        self.procedure("truncateTable", &request).await?;
        self.forget_regions(table);
        Ok(())
    }

    /// Returns the names of the tables in the URL's namespace.
    pub async fn tables(&self) -> Result<Vec<String>, Error> {
        let request = GetTableNamesRequest {
            include_sys_tables: Some(false),
            namespace: Some(self.namespace().to_string()),
        };
        let answer: GetTableNamesResponse = self.ask_master("GetTableNames", &request).await?;
        let name = |name: TableName| String::from_utf8_lossy(&name.qualifier).into_owned();
        Ok(answer.table_names.into_iter().map(name).collect())
    }

    /// Returns the families of a table with all attributes that were set.
    pub async fn families(&self, table: &str) -> Result<Vec<Family>, Error> {
        let request = GetTableDescriptorsRequest {
            table_names: vec![self.table_name(table)],
            ..GetTableDescriptorsRequest::default()
        };
        let answer: GetTableDescriptorsResponse = self.ask_master("GetTableDescriptors", &request).await?;
        let Some(schema) = answer.table_schema.into_iter().next() else {
            return Err(Error::TableNotFound {
                table: format!("{}:{table}", self.namespace()),
            });
        };
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let family = |family: ColumnFamilySchema| Family {
            name: text(&family.name),
            attributes: family
                .attributes
                .iter()
                .map(|pair| (text(&pair.first), text(&pair.second)))
                .collect(),
        };
        Ok(schema.column_families.into_iter().map(family).collect())
    }

    /// Makes a namespace.
    pub async fn create_namespace(&self, name: &str) -> Result<(), Error> {
        let request = CreateNamespaceRequest {
            namespace_descriptor: NamespaceDescriptor {
                name: Bytes::copy_from_slice(name.as_bytes()),
                configuration: Vec::new(),
            },
            ..CreateNamespaceRequest::default()
        };
        self.procedure("CreateNamespace", &request).await
    }

    /// Removes a namespace without tables.
    pub async fn delete_namespace(&self, name: &str) -> Result<(), Error> {
        let request = DeleteNamespaceRequest {
            namespace_name: name.to_string(),
            ..DeleteNamespaceRequest::default()
        };
        self.procedure("DeleteNamespace", &request).await
    }

    /// Returns the names of all namespaces.
    pub async fn namespaces(&self) -> Result<Vec<String>, Error> {
        let answer: ListNamespacesResponse = self.ask_master("ListNamespaces", &Empty {}).await?;
        Ok(answer.namespace_name)
    }

    /// Returns the regions of a table in the order of their keys.
    pub async fn regions(&self, table: &str) -> Result<Vec<RegionPlace>, Error> {
        let find = |limit| self.regions_of(table, limit);
        let regions = self.retry("a lookup of regions", true, find).await?;
        let place = |region: &Region| RegionPlace {
            start: region.info.start_key.clone().unwrap_or_default(),
            end: region.end.clone(),
            server: ServerAddress(ServerName {
                host_name: region.host.clone(),
                port: Some(region.port.into()),
                start_code: region.start_code,
            }),
        };
        Ok(regions.iter().map(place).collect())
    }

    /// Cuts the region that holds a row so that a region begins with it.
    pub async fn split_region(&self, table: &str, at: impl Into<Bytes>) -> Result<(), Error> {
        let at = at.into();
        let region = self.region_of(table, &at).await?;
        let request = SplitTableRegionRequest {
            region_info: region.info,
            split_row: Some(at),
            ..SplitTableRegionRequest::default()
        };
        self.procedure("SplitRegion", &request).await?;
        self.forget_regions(table);
        Ok(())
    }

    /// Makes one region of the one that holds a row and the one behind it.
    pub async fn merge_regions(&self, table: &str, row: impl Into<Bytes>) -> Result<(), Error> {
        let region = self.region_of(table, &row.into()).await?;
        if region.end.is_empty() {
            return Err(Error::Argument {
                what: "merge".to_string(),
                reason: "there is no region behind the last one".to_string(),
            });
        }
        let next = self.region_of(table, &region.end).await?;
        let request = MergeTableRegionsRequest {
            region: [&region, &next].map(|region| encoded(&region.name)).into(),
            ..MergeTableRegionsRequest::default()
        };
        self.procedure("MergeTableRegions", &request).await?;
        self.forget_regions(table);
        Ok(())
    }

    /// Moves the region that holds a row to another server; to any, where none is named.
    pub async fn move_region(
        &self,
        table: &str,
        row: impl Into<Bytes>,
        to: Option<ServerAddress>,
    ) -> Result<(), Error> {
        let region = self.region_of(table, &row.into()).await?;
        let request = MoveRegionRequest {
            region: encoded(&region.name),
            dest_server_name: to.map(|server| server.0),
        };
        let submit = |limit| self.master("MoveRegion", &request, limit);
        self.retry("MoveRegion", false, submit).await?;
        self.forget_regions(table);
        Ok(())
    }

    /// Writes what a table has in memory into its files.
    pub async fn flush(&self, table: &str) -> Result<(), Error> {
        for region in self.all_regions(table).await? {
            let request = FlushRegionRequest {
                region: specifier(&region.name),
            };
            self.ask_region::<Empty>(&region, "FlushRegion", &request).await?;
        }
        Ok(())
    }

    /// Has the files of a table merged, into one for each region and family and without what is dead if it is `major`; does not wait for the end
    /// ([`Client::wait_until_compacted`]).
    pub async fn compact(&self, table: &str, major: bool) -> Result<(), Error> {
        for region in self.all_regions(table).await? {
            let request = CompactRegionRequest {
                region: specifier(&region.name),
                major: Some(major),
            };
            self.ask_region::<Empty>(&region, "CompactRegion", &request)
                .await?;
        }
        Ok(())
    }

    /// Whether files of a table are being merged.
    pub async fn is_compacting(&self, table: &str) -> Result<bool, Error> {
        for region in self.all_regions(table).await? {
            let request = GetRegionInfoRequest {
                region: specifier(&region.name),
                compaction_state: Some(true),
            };
            let answer: GetRegionInfoResponse = self.ask_region(&region, "GetRegionInfo", &request).await?;
            if answer.compaction_state.unwrap_or(0) != 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until no files of a table are being merged.
    pub async fn wait_until_compacted(&self, table: &str) -> Result<(), Error> {
        while self.is_compacting(table).await? {
            tokio::time::sleep(POLL_PAUSE).await;
        }
        Ok(())
    }

    async fn all_regions(&self, table: &str) -> Result<Vec<Region>, Error> {
        let find = |limit| self.regions_of(table, limit);
        self.retry("a lookup of regions", true, find).await
    }

    /// The region that holds a row, as hbase:meta has it now.
    async fn region_of(&self, table: &str, row: &Bytes) -> Result<Region, Error> {
        self.forget_regions(table);
        let find = |limit| self.locate(table, row, limit);
        Ok(self.retry("a lookup of a region", true, find).await?.1)
    }

    async fn ask_master<M: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
    ) -> Result<M, Error> {
        let call = |limit| self.master(method, request, limit);
        let answer = self.retry(method, true, call).await?;
        M::decode(answer).map_err(|error| protocol("master", &error.to_string()))
    }

    /// Calls a method of the administration of the server that has a region; one that may be repeated.
    async fn ask_region<M: Message + Default>(
        &self,
        region: &Region,
        method: &str,
        request: &impl Message,
    ) -> Result<M, Error> {
        let call = |limit| async move {
            let line = self.admin_line(region).await?;
            let answer = line.call(method, request, &[], limit).await?;
            message_of::<M>(&region.server(), &answer)
        };
        self.retry(method, true, call).await
    }

    fn table_name(&self, table: &str) -> TableName {
        TableName {
            namespace: Bytes::copy_from_slice(self.namespace().as_bytes()),
            qualifier: Bytes::copy_from_slice(table.as_bytes()),
        }
    }

    fn table_request(&self, table: &str) -> TableRequest {
        TableRequest {
            table_name: self.table_name(table),
            ..TableRequest::default()
        }
    }

    async fn procedure(&self, method: &str, message: &impl Message) -> Result<(), Error> {
        let submit = |limit| self.master(method, message, limit);
        let submitted = self.retry(method, false, submit).await?;
        let id = ProcedureResponse::decode(submitted)
            .ok()
            .and_then(|response| response.proc_id);
        let request = GetProcedureResultRequest {
            proc_id: id.ok_or_else(|| protocol("master", "a procedure has no number"))?,
        };
        let begun = Instant::now();
        loop {
            let poll = |limit| self.master("getProcedureResult", &request, limit);
            let state = self.retry(method, true, poll).await?;
            let state = GetProcedureResultResponse::decode(state);
            let state = state.map_err(|error| protocol("master", &error.to_string()))?;
            if state.state != 1 {
                return finished(state);
            }
            if begun.elapsed() > Duration::from_secs(300) {
                return Err(Error::Timeout {
                    server: "master".to_string(),
                    method: method.to_string(),
                    waited_ms: begun.elapsed().as_millis() as u64,
                });
            }
            tokio::time::sleep(POLL_PAUSE).await;
        }
    }
}

fn finished(state: GetProcedureResultResponse) -> Result<(), Error> {
    let Some(exception) = state.exception else {
        return Ok(());
    };
    let exception = exception.generic_exception.unwrap_or_default();
    Err(Error::Remote {
        server: "master".to_string(),
        class: exception.class_name.unwrap_or_default(),
        message: exception.message.unwrap_or_default(),
        do_not_retry: true,
    })
}

/// A region by its encoded name, the hash at the end of `table,start,id.hash.`.
fn encoded(name: &Bytes) -> RegionSpecifier {
    let hash = name.strip_suffix(b".").unwrap_or(name);
    let from = hash
        .iter()
        .rposition(|byte| *byte == b'.')
        .map_or(0, |dot| dot + 1);
    RegionSpecifier {
        r#type: 2,
        value: Bytes::copy_from_slice(&hash[from..]),
    }
}

fn family(family: &Family) -> ColumnFamilySchema {
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    let attribute = |(name, value): &(String, String)| BytesBytesPair {
        first: bytes(name),
        second: bytes(value),
    };
    ColumnFamilySchema {
        name: bytes(&family.name),
        attributes: family.attributes.iter().map(attribute).collect(),
        configuration: Vec::new(),
    }
}
