//! One connection to one service of one server, shared by any number of calls.
//!
//! A connection opens with `HBas`, version 0, authentication 80 (SIMPLE), and a `ConnectionHeader` behind its length.
//! A frame is a length of four bytes, a delimited header, a delimited message, and a cell block. Answers come in any
//! order and find their call by its number. A length beyond `FRAME_BYTES_MAX`, a torn frame or an answer that
//! no call waits for ends the connection and with it every open call; memory grows with what has come, not
//! with what a length claims.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use parking_lot::Mutex;
use prost::Message;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::Error;
use crate::cell::take;
use crate::proto::rpc::{
    CellBlockMeta, ConnectionHeader, ExceptionResponse, RequestHeader, ResponseHeader, UserInformation,
    VersionInfo,
};
use crate::traffic::Meter;

/// The longest answer that is taken, in bytes.
pub(crate) const FRAME_BYTES_MAX: usize = 256 << 20;
/// The number that a server gives to what is about the connection itself.
const NO_CALL: u32 = u32::MAX;

/// What a call brought: the message, not yet decoded, and the cells beside it.
pub(crate) struct Answer {
    pub message: Bytes,
    pub cells: Bytes,
}

/// A connection, and what counts the calls on it.
pub(crate) struct Line {
    pub(crate) connection: Arc<Connection>,
    pub(crate) meter: Option<Arc<Meter>>,
}

impl Line {
    /// Calls a method, see [`Connection::call`].
    pub(crate) async fn call(
        &self,
        method: &str,
        message: &impl Message,
        cells: &[u8],
        limit: Duration,
    ) -> Result<Answer, Error> {
        if let Some(meter) = &self.meter {
            meter.sent(message.encoded_len() + cells.len());
        }
        let answer = self.connection.call(method, message, cells, limit).await?;
        if let Some(meter) = &self.meter {
            meter.received(answer.message.len() + answer.cells.len());
        }
        Ok(answer)
    }
}

/// The two halves of a stream, encrypted or not.
type Reading = Box<dyn AsyncRead + Send + Unpin>;
type Writing = Box<dyn AsyncWrite + Send + Unpin>;

type Waiting = HashMap<u32, oneshot::Sender<Result<Answer, Error>>>;

/// Open calls, or why there can be none any more.
struct Calls(Mutex<Result<Waiting, Error>>);

/// A connection; calls may be made from any task.
pub(crate) struct Connection {
    server: String,
    calls: Arc<Calls>,
    next_id: AtomicU32,
    writer: Arc<tokio::sync::Mutex<Writing>>,
    reader: tokio::task::AbortHandle,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Connection {
    /// Connects within `limit` and sends the header; a server that refuses says so with the first call.
    pub async fn open(
        (host, port): (&str, u16),
        service: &str,
        tls: Option<&TlsConnector>,
        limit: Duration,
    ) -> Result<Connection, Error> {
        let server = format!("{host}:{port}");
        let failed = |source: std::io::Error| Error::Connect {
            server: server.clone(),
            source: Arc::new(source),
        };
        let opening = async {
            let stream = TcpStream::connect((host, port)).await?;
            stream.set_nodelay(true)?;
            let (read, mut write) = match tls {
                None => {
                    let (read, write) = stream.into_split();
                    (Box::new(read) as Reading, Box::new(write) as Writing)
                }
                Some(tls) => {
                    let name = ServerName::try_from(host.to_string()).map_err(std::io::Error::other)?;
                    let (read, write) = tokio::io::split(tls.connect(name, stream).await?);
                    (Box::new(read) as Reading, Box::new(write) as Writing)
                }
            };
            write.write_all(&preamble(service)).await?;
            write.flush().await?;
            Ok((read, write))
        };
        let opened = tokio::time::timeout(limit, opening).await;
        let (read, write) = opened
            .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
            .map_err(failed)?;
        let calls = Arc::new(Calls(Mutex::new(Ok(HashMap::new()))));
        let reader = tokio::spawn(read_all(read, server.clone(), calls.clone())).abort_handle();
        Ok(Connection {
            server,
            calls,
            next_id: AtomicU32::new(0),
            writer: Arc::new(tokio::sync::Mutex::new(write)),
            reader,
        })
    }

    /// Returns whether no call can succeed any more.
    pub fn is_closed(&self) -> bool {
        self.calls.0.lock().is_err()
    }

    /// Calls a method and waits for its answer, at most `limit`. A server that is late loses its connection.
    pub async fn call(
        &self,
        method: &str,
        message: &impl Message,
        cells: &[u8],
        limit: Duration,
    ) -> Result<Answer, Error> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) & (NO_CALL >> 1);
        let (sender, receiver) = oneshot::channel();
        match &mut *self.calls.0.lock() {
            Ok(waiting) => waiting.insert(id, sender),
            Err(error) => return Err(error.clone()),
        };
        let frame = request(id, method, message, cells, limit);
        self.send(frame);
        match tokio::time::timeout(limit, receiver).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(lost(&self.server, "it was closed"))),
            Err(_) => {
                let error = Error::Timeout {
                    server: self.server.clone(),
                    method: method.to_string(),
                    waited_ms: limit.as_millis() as u64,
                };
                self.close(&error);
                Err(error)
            }
        }
    }

    /// Writes in a task of its own: a caller that goes away must not tear the frame.
    fn send(&self, frame: Vec<u8>) {
        let (writer, calls, server) = (self.writer.clone(), self.calls.clone(), self.server.clone());
        tokio::spawn(async move {
            let mut writer = writer.lock().await;
            let sent = match writer.write_all(&frame).await {
                Ok(()) => writer.flush().await,
                Err(error) => Err(error),
            };
            if let Err(error) = sent {
                close(&calls, &lost(&server, &error.to_string()));
            }
        });
    }

    fn close(&self, error: &Error) {
        self.reader.abort();
        close(&self.calls, error);
    }
}

fn lost(server: &str, reason: &str) -> Error {
    Error::Lost {
        server: server.to_string(),
        reason: reason.to_string(),
    }
}

/// Ends every open call with this error, and refuses those to come.
fn close(calls: &Calls, error: &Error) {
    let mut state = calls.0.lock();
    let Ok(waiting) = std::mem::replace(&mut *state, Err(error.clone())) else {
        return;
    };
    for sender in waiting.into_values() {
        // A caller that has gone away needs no error.
        let _ = sender.send(Err(error.clone()));
    }
}

fn preamble(service: &str) -> BytesMut {
    let header = ConnectionHeader {
        user_info: Some(UserInformation {
            effective_user: "rukh".to_string(),
            real_user: None,
        }),
        service_name: Some(service.to_string()),
        cell_block_codec_class: Some("org.apache.hadoop.hbase.codec.KeyValueCodec".to_string()),
        version_info: Some(VersionInfo {
            version: "2.6.4".to_string(),
            user: "rukh".to_string(),
            version_major: Some(2),
            version_minor: Some(6),
            ..VersionInfo::default()
        }),
    };
    let mut out = BytesMut::from(&b"HBas\x00\x50"[..]);
    out.put_u32(header.encoded_len() as u32);
    out.put_slice(&header.encode_to_vec());
    out
}

fn request(id: u32, method: &str, message: &impl Message, cells: &[u8], limit: Duration) -> Vec<u8> {
    let header = RequestHeader {
        call_id: Some(id),
        method_name: Some(method.to_string()),
        request_param: Some(true),
        cell_block_meta: (!cells.is_empty()).then_some(CellBlockMeta {
            length: Some(cells.len() as u32),
        }),
        priority: None,
        timeout: Some(limit.as_millis().min(u128::from(u32::MAX)) as u32),
    };
    let head = header.encode_length_delimited_to_vec();
    let body = message.encode_length_delimited_to_vec();
    let length = (head.len() + body.len() + cells.len()) as u32;
    [&length.to_be_bytes()[..], &head, &body, cells].concat()
}

async fn read_all(mut read: Reading, server: String, calls: Arc<Calls>) {
    loop {
        let answered = match frame(&mut read, &server).await {
            Ok(frame) => deliver(frame, &server, &calls),
            Err(error) => Err(error),
        };
        if let Err(error) = answered {
            return close(&calls, &error);
        }
    }
}

async fn frame(read: &mut Reading, server: &str) -> Result<Bytes, Error> {
    let torn = |error: std::io::Error| lost(server, &error.to_string());
    let length = read.read_u32().await.map_err(torn)? as usize;
    if length > FRAME_BYTES_MAX {
        return Err(protocol(
            server,
            &format!("a frame of {length} bytes is longer than {FRAME_BYTES_MAX}"),
        ));
    }
    let mut frame = BytesMut::new();
    let mut rest = read.take(length as u64);
    while frame.len() < length {
        if rest.read_buf(&mut frame).await.map_err(torn)? == 0 {
            return Err(lost(server, "it ended within a frame"));
        }
    }
    Ok(frame.freeze())
}

pub(crate) fn protocol(server: &str, reason: &str) -> Error {
    Error::Protocol {
        server: server.to_string(),
        reason: reason.to_string(),
    }
}

/// Hands a frame to the call that waits for it. An error ends the connection.
fn deliver(mut frame: Bytes, server: &str, calls: &Calls) -> Result<(), Error> {
    let header = delimited(&mut frame).and_then(|bytes| ResponseHeader::decode(bytes).ok());
    let header = header.ok_or_else(|| protocol(server, "the header of an answer does not decode"))?;
    let id = header.call_id.unwrap_or(NO_CALL);
    let answer = match header.exception {
        Some(exception) if id == NO_CALL => return Err(refused(server, exception)),
        Some(exception) => Err(remote(server, exception)),
        None => {
            let cells = header.cell_block_meta.and_then(|meta| meta.length).unwrap_or(0) as usize;
            Ok(body(frame, cells)
                .ok_or_else(|| protocol(server, "the lengths of an answer contradict each other"))?)
        }
    };
    let sender = match &mut *calls.0.lock() {
        Ok(waiting) => waiting.remove(&id),
        Err(error) => return Err(error.clone()),
    };
    let sender =
        sender.ok_or_else(|| protocol(server, &format!("no request waits for the answer to call {id}")))?;
    // A caller that has gone away needs no answer.
    let _ = sender.send(answer);
    Ok(())
}

fn body(mut frame: Bytes, cells: usize) -> Option<Answer> {
    let message = delimited(&mut frame)?;
    (frame.len() == cells).then_some(Answer {
        message,
        cells: frame,
    })
}

fn delimited(bytes: &mut Bytes) -> Option<Bytes> {
    let length = prost::decode_length_delimiter(&mut *bytes).ok()?;
    take(bytes, length)
}

fn refused(server: &str, exception: ExceptionResponse) -> Error {
    match remote(server, exception) {
        Error::Remote { class, message, .. } if class.ends_with("AccessDeniedException") => {
            Error::Unsupported {
                what: format!("authentication by Kerberos, which {server} requires ({message}),"),
            }
        }
        error => error,
    }
}

fn remote(server: &str, exception: ExceptionResponse) -> Error {
    let trace = exception.stack_trace.unwrap_or_default();
    let class = exception.exception_class_name.unwrap_or_default();
    Error::Remote {
        server: server.to_string(),
        message: first_line(&trace, &class),
        class,
        do_not_retry: exception.do_not_retry.unwrap_or(false),
    }
}

/// Returns the message of an exception: the first line of its stack trace, without its class.
pub(crate) fn first_line(trace: &str, class: &str) -> String {
    let line = trace.lines().next().unwrap_or("");
    let message = line.strip_prefix(class).and_then(|rest| rest.strip_prefix(": "));
    message.unwrap_or(line).to_string()
}
