//! Bulk ingest: batches go the way of COPY, as the messages that they come in.
//!
//! | the table      | `if_not_exist`        | `if_exists`                                                        |
//! |----------------|-----------------------|--------------------------------------------------------------------|
//! | is not there   | create it, or fail    |                                                                    |
//! | is there       |                       | fail, append, or drop it and create it again                       |
//!
//! A table that is made has the columns of the batches. Its primary key is what the option `primary_key` names,
//! separated by commas, else the first column. If the load fails it is dropped again. One that replaces another is
//! loaded under a name of its own, and takes the other's place when all rows are there.

use std::io;

use arrow_flight::FlightData;
use arrow_flight::sql::{CommandStatementIngest, TableExistsOption, TableNotExistOption};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::StreamExt;
use rukh::arrow::datatypes::{DataType as ArrowType, Field, Schema};
use rukh::{Connection, CopyClient, CopyShape, Error, TransactionStatus, taken_data_type};
use tokio::sync::mpsc;
use tonic::Status;

use crate::error::malformed;
use crate::prepared::count;
use crate::shown::names::quoted;
use crate::waits;

/// The option that names the columns of the primary key.
const PRIMARY_KEY: &str = "primary_key";
/// What messages of Arrow's streams begin with.
const CONTINUATION: u32 = u32::MAX;
/// Heads of messages are padded to multiples of this.
const PADDING: usize = 8;

/// What is to be loaded, and where.
pub(crate) struct Ingest {
    command: CommandStatementIngest,
    schema: Schema,
}

impl Ingest {
    /// Reads what is wanted; `first` is the message with the schema.
    pub(crate) fn new(command: CommandStatementIngest, first: &FlightData) -> Result<Self, Status> {
        let schema = Schema::try_from(first);
        let schema = schema.map_err(|error| malformed(format!("the schema cannot be read: {error}")))?;
        Ok(Ingest { command, schema })
    }

    /// Loads the rows; returns how many there were.
    pub(crate) fn run(self, connection: &mut Connection, messages: &mut Messages) -> Result<i64, Error> {
        if self.command.temporary {
            return Err(Error::unsupported("temporary tables are not supported"));
        }
        let name = self.name();
        let options = self.command.table_definition_options.unwrap_or_default();
        let exists = exists(connection, &name)?;
        let is_made = match exists {
            true if options.if_exists == TableExistsOption::Append as i32 => false,
            true if options.if_exists == TableExistsOption::Replace as i32 => {
                return self.replace(connection, messages, &name);
            }
            true => {
                let message = format!("relation \"{}\" already exists", self.command.table);
                return Err(Error::statement("42P07", message));
            }
            false if options.if_not_exist == TableNotExistOption::Create as i32 => {
                connection.execute(&self.definition(&name)?)?;
                true
            }
            false => {
                let message = format!("relation \"{}\" does not exist", self.command.table);
                return Err(Error::statement("42P01", message));
            }
        };
        let loaded = load(connection, messages, &name);
        if loaded.is_err() && is_made {
            connection.execute(&format!("DROP TABLE {name}"))?;
        }
        loaded
    }

    /// Loads the rows into a new table, and puts it in the place of the one with this name.
    fn replace(
        &self,
        connection: &mut Connection,
        messages: &mut Messages,
        name: &str,
    ) -> Result<i64, Error> {
        if connection.transaction_status() != TransactionStatus::Idle {
            return Err(Error::statement(
                "25001",
                "a table cannot be replaced inside a transaction block",
            ));
        }
        let mut number = 0;
        let fresh = loop {
            let table = format!("{} (new {number})", self.command.table);
            let fresh = self.name_of(&table);
            if !exists(connection, &fresh)? {
                break fresh;
            }
            number += 1;
        };
        connection.execute(&self.definition(&fresh)?)?;
        let replaced = load(connection, messages, &fresh).and_then(|count| {
            connection.execute(&format!("DROP TABLE {name}"))?;
            Ok(count)
        });
        match replaced {
            Ok(count) => {
                let table = quoted(&self.command.table);
                connection.execute(&format!("ALTER TABLE {fresh} RENAME TO {table}"))?;
                Ok(count)
            }
            Err(error) => {
                connection.execute(&format!("DROP TABLE {fresh}"))?;
                Err(error)
            }
        }
    }

    fn name(&self) -> String {
        self.name_of(&self.command.table)
    }

    fn name_of(&self, table: &str) -> String {
        let table = quoted(table);
        match self.command.schema.as_deref().filter(|schema| !schema.is_empty()) {
            Some(schema) => format!("{}.{table}", quoted(schema)),
            None => table,
        }
    }

    fn definition(&self, name: &str) -> Result<String, Error> {
        let fields = self.schema.fields();
        let columns = fields.iter().map(|field| {
            let null = if field.is_nullable() { "" } else { " NOT NULL" };
            Ok(format!("{} {}{null}", quoted(field.name()), column_type(field)?))
        });
        let columns = columns.collect::<Result<Vec<String>, Error>>()?;
        let key: Vec<String> = match self.command.options.get(PRIMARY_KEY) {
            Some(names) => names.split(',').map(|name| quoted(name.trim())).collect(),
            None => fields
                .first()
                .map(|field| quoted(field.name()))
                .into_iter()
                .collect(),
        };
        let (columns, key) = (columns.join(", "), key.join(", "));
        Ok(format!("CREATE TABLE {name} ({columns}, PRIMARY KEY ({key}))"))
    }
}

/// Loads rows into a table that is there; returns how many there were.
fn load(connection: &mut Connection, messages: &mut Messages, name: &str) -> Result<i64, Error> {
    let copy = connection.prepare(&format!("COPY {name} FROM STDIN (FORMAT arrow_stream)"))?;
    let outcome = connection.execute_copy(&copy, messages);
    let outcome = outcome.map_err(|error| messages.ended.take().unwrap_or(error))?;
    Ok(count(&outcome.tag))
}

/// Returns the type of the column that holds a field's values.
fn column_type(field: &Field) -> Result<String, Error> {
    let values = match field.data_type() {
        ArrowType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    if values.is_nested() {
        let message = format!(
            "column \"{}\" has the Arrow type {values}, which no column of a table holds",
            field.name()
        );
        return Err(Error::unsupported(message));
    }
    Ok(taken_data_type(field).to_string())
}

fn exists(connection: &mut Connection, name: &str) -> Result<bool, Error> {
    let select = connection.prepare(&format!("SELECT * FROM {name}"))?;
    match connection.describe(&select, &[]) {
        Ok(_) => Ok(true),
        Err(error) if error.sqlstate == "42P01" => Ok(false),
        // A role with INSERT need not have SELECT.
        Err(error) if error.sqlstate == "42501" => Ok(true),
        Err(error) => Err(error),
    }
}

/// The messages of a client as the bytes of Arrow's stream format.
pub(crate) struct Messages {
    receiver: mpsc::Receiver<Result<FlightData, Status>>,
    /// Why the statement was ended, which a reader of files would take for a bad file.
    ended: Option<Error>,
    /// Fails when the statement is to end.
    check: Box<dyn Fn() -> Result<(), Error> + Send>,
    /// What of the last message has not been taken: its head, and its body.
    waiting: [Bytes; 2],
}

impl Messages {
    /// Takes the messages of a client for a statement of a connection.
    pub(crate) fn new(receiver: mpsc::Receiver<Result<FlightData, Status>>, connection: &Connection) -> Self {
        Messages {
            receiver,
            ended: None,
            check: Box::new(waits::check_of(connection)),
            waiting: [Bytes::new(), Bytes::new()],
        }
    }
}

impl CopyClient for Messages {
    fn begin(&mut self, _: CopyShape) -> io::Result<()> {
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(waiting) = self.waiting.iter_mut().find(|waiting| !waiting.is_empty()) {
                let length = waiting.len().min(buffer.len());
                waiting.copy_to_slice(&mut buffer[..length]);
                return Ok(length);
            }
            let next = waits::receive(&mut self.receiver, &self.check);
            let next = next.map_err(|error| {
                self.ended = Some(error);
                io::Error::other("the statement was ended")
            });
            match next? {
                None => return Ok(0),
                Some(Ok(data)) => self.waiting = [head(&data), data.data_body],
                Some(Err(status)) => {
                    let message = format!("COPY from stdin failed: {}", status.message());
                    return Err(io::Error::other(Error::statement("57014", message)));
                }
            }
        }
    }

    fn send(&mut self, _: &[u8]) -> io::Result<()> {
        Err(io::Error::other(Error::internal(
            "nothing is copied to the client",
        )))
    }
}

/// Returns what stands before the body of a message in a stream; nothing for a message that has no head.
fn head(data: &FlightData) -> Bytes {
    if data.data_header.is_empty() {
        return Bytes::new();
    }
    let length = data.data_header.len().next_multiple_of(PADDING);
    let mut head = BytesMut::with_capacity(length + PADDING);
    head.put_u32_le(CONTINUATION);
    // A message is shorter than 4 GiB.
    head.put_u32_le(length as u32);
    head.put_slice(&data.data_header);
    head.put_bytes(0, length - data.data_header.len());
    head.freeze()
}

/// Forwards messages until the stream ends or the receiver is dropped.
pub(crate) async fn feed<T>(
    mut stream: impl futures::Stream<Item = Result<T, Status>> + Unpin,
    sender: mpsc::Sender<Result<T, Status>>,
) {
    while let Some(item) = stream.next().await {
        let last = item.is_err();
        if sender.send(item).await.is_err() || last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn definition(fields: Vec<Field>, options: &[(&str, &str)]) -> Result<String, Error> {
        let options = options
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        let ingest = Ingest {
            command: CommandStatementIngest {
                table: "a \"t\"".to_string(),
                schema: Some("s".to_string()),
                options: options.collect::<HashMap<_, _>>(),
                ..CommandStatementIngest::default()
            },
            schema: Schema::new(fields),
        };
        ingest.definition(&ingest.name())
    }

    #[test]
    fn tables_have_the_columns_of_the_batches() {
        let fields = || {
            vec![
                Field::new("a", ArrowType::Int64, false),
                Field::new("B", ArrowType::LargeUtf8, true),
            ]
        };
        assert_eq!(
            definition(fields(), &[]).as_deref(),
            Ok(r#"CREATE TABLE "s"."a ""t""" ("a" BIGINT NOT NULL, "B" VARCHAR, PRIMARY KEY ("a"))"#)
        );
        assert_eq!(
            definition(fields(), &[(PRIMARY_KEY, "B, a")]).as_deref(),
            Ok(r#"CREATE TABLE "s"."a ""t""" ("a" BIGINT NOT NULL, "B" VARCHAR, PRIMARY KEY ("B", "a"))"#)
        );
        let list = ArrowType::List(Field::new_list_field(ArrowType::Int64, true).into());
        let refused = definition(vec![Field::new("a", list, true)], &[]);
        assert_eq!(refused.map_err(|error| error.sqlstate), Err("0A000"));
    }
}
