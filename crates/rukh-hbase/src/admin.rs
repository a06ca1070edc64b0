//! Tables: made and removed by procedures of the master, which are polled until they end.

use std::time::{Duration, Instant};

use bytes::Bytes;
use prost::Message;

use crate::connection::protocol;
use crate::proto::admin::{
    CreateTableRequest, GetProcedureResultRequest, GetProcedureResultResponse, ProcedureResponse,
    TableRequest,
};
use crate::proto::common::{BytesBytesPair, ColumnFamilySchema, TableName, TableSchema};
use crate::{Client, Error};

/// A column family of a table to be made: its name, and attributes by HBase's names, such as `TTL` or `VERSIONS`.
#[derive(Clone, Debug)]
pub struct Family {
    /// The name.
    pub name: String,
    /// Attributes and their values, in HBase's spelling.
    pub attributes: Vec<(String, String)>,
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

    /// Takes a table out of use, which must come before it is deleted.
    pub async fn disable_table(&self, table: &str) -> Result<(), Error> {
        self.procedure("DisableTable", &self.table_request(table)).await
    }

    /// Removes a disabled table and all its rows.
    pub async fn delete_table(&self, table: &str) -> Result<(), Error> {
        self.procedure("DeleteTable", &self.table_request(table)).await
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
        let submit = async |limit| self.master(method, message, limit).await;
        let submitted = self.retry(method, false, submit).await?;
        let id = ProcedureResponse::decode(submitted)
            .ok()
            .and_then(|response| response.proc_id);
        let request = GetProcedureResultRequest {
            proc_id: id.ok_or_else(|| protocol("master", "a procedure has no number"))?,
        };
        let begun = Instant::now();
        loop {
            let poll = async |limit| self.master("getProcedureResult", &request, limit).await;
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
            tokio::time::sleep(Duration::from_millis(50)).await;
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
