//! A peer that is registry, hbase:meta and server of a table `t` of two regions, cut at `m`, and answers calls for rows as a script says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use rukh_hbase::proto::common::{RegionInfo, ServerName, TableName};
use rukh_hbase::proto::data::{ScanRequest, ScanResponse};
use rukh_hbase::proto::rpc::{
    CellBlockMeta, ExceptionResponse, GetMetaRegionLocationsResponse, RegionLocation, RequestHeader,
    ResponseHeader,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A call for rows: `Multi`, or `Scan` of the table.
pub struct Call {
    pub id: u32,
    pub method: String,
    pub message: Bytes,
    /// How many there were before.
    pub nth: usize,
}

/// What the peer does about a call.
#[derive(Clone)]
pub enum Answer {
    /// A message and cells.
    Well(Vec<u8>, Vec<u8>),
    /// These bytes in place of everything behind the length of the frame, and a length.
    Raw(u32, Vec<u8>),
    Exception(&'static str, bool),
    Nothing,
    Close,
}

type Script = dyn Fn(&Call) -> Answer + Send + Sync;

/// A peer; it ends with the runtime of the test.
pub struct Peer {
    pub url: String,
    /// Calls for rows so far.
    pub calls: Arc<AtomicUsize>,
    /// Lookups of regions so far.
    pub lookups: Arc<AtomicUsize>,
}

#[derive(Clone)]
struct State {
    port: u16,
    script: Arc<Script>,
    calls: Arc<AtomicUsize>,
    lookups: Arc<AtomicUsize>,
}

impl Peer {
    pub async fn start(script: impl Fn(&Call) -> Answer + Send + Sync + 'static) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State {
            port,
            script: Arc::new(script),
            calls: Arc::default(),
            lookups: Arc::default(),
        };
        let peer = Peer {
            url: format!("hbase://127.0.0.1:{port}/"),
            calls: state.calls.clone(),
            lookups: state.lookups.clone(),
        };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, state.clone()));
            }
        });
        peer
    }

    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    pub fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }
}

/// Serves a connection until the client leaves it, or the script closes it.
async fn serve(mut stream: TcpStream, state: State) -> Option<()> {
    let mut head = [0; 6];
    stream.read_exact(&mut head).await.ok()?;
    assert_eq!(head, *b"HBas\x00\x50");
    frame(&mut stream).await?;
    loop {
        let mut call = frame(&mut stream).await?;
        let header = RequestHeader::decode(delimited(&mut call)).unwrap();
        let (id, method) = (header.call_id.unwrap(), header.method_name.unwrap());
        let message = delimited(&mut call);
        let answer = match state.answer(id, method, message) {
            Answer::Well(message, cells) => well(id, &message, &cells),
            Answer::Raw(length, bytes) => [&length.to_be_bytes()[..], &bytes].concat(),
            Answer::Exception(class, do_not_retry) => exception(id, class, do_not_retry),
            Answer::Nothing => continue,
            Answer::Close => return None,
        };
        stream.write_all(&answer).await.ok()?;
    }
}

async fn frame(stream: &mut TcpStream) -> Option<Bytes> {
    let mut bytes = vec![0; stream.read_u32().await.ok()? as usize];
    stream.read_exact(&mut bytes).await.ok()?;
    Some(bytes.into())
}

fn delimited(bytes: &mut Bytes) -> Bytes {
    let length = prost::decode_length_delimiter(&mut *bytes).unwrap();
    bytes.split_to(length)
}

/// A frame without its length.
pub fn body(id: u32, message: &[u8], cells: &[u8]) -> Vec<u8> {
    let header = ResponseHeader {
        call_id: Some(id),
        cell_block_meta: (!cells.is_empty()).then_some(CellBlockMeta {
            length: Some(cells.len() as u32),
        }),
        ..ResponseHeader::default()
    };
    let mut length = BytesMut::new();
    prost::encode_length_delimiter(message.len(), &mut length).unwrap();
    [
        &header.encode_length_delimited_to_vec()[..],
        &length,
        message,
        cells,
    ]
    .concat()
}

fn well(id: u32, message: &[u8], cells: &[u8]) -> Vec<u8> {
    let body = body(id, message, cells);
    [&(body.len() as u32).to_be_bytes()[..], &body].concat()
}

fn exception(id: u32, class: &str, do_not_retry: bool) -> Vec<u8> {
    let header = ResponseHeader {
        call_id: Some(id),
        exception: Some(ExceptionResponse {
            exception_class_name: Some(class.to_string()),
            stack_trace: Some(format!("{class}: as the script says\n\tat somewhere")),
            do_not_retry: Some(do_not_retry),
            ..ExceptionResponse::default()
        }),
        ..ResponseHeader::default()
    };
    let header = header.encode_length_delimited_to_vec();
    [&(header.len() as u32).to_be_bytes()[..], &header].concat()
}

/// A cell of a block.
pub fn cell(row: &[u8], family: &str, qualifier: &str, value: &[u8]) -> Vec<u8> {
    let key = row.len() + family.len() + qualifier.len() + 12;
    let mut out = BytesMut::new();
    out.put_u32((8 + key + value.len()) as u32);
    out.put_u32(key as u32);
    out.put_u32(value.len() as u32);
    out.put_u16(row.len() as u16);
    out.put_slice(row);
    out.put_u8(family.len() as u8);
    out.put_slice(family.as_bytes());
    out.put_slice(qualifier.as_bytes());
    out.put_u64(1);
    out.put_u8(4);
    out.put_slice(value);
    out.to_vec()
}

impl State {
    fn answer(&self, id: u32, method: String, message: Bytes) -> Answer {
        let scan = (method == "Scan").then(|| ScanRequest::decode(message.clone()).unwrap());
        let of_meta = scan.as_ref().is_some_and(|scan| {
            scan.region
                .as_ref()
                .is_some_and(|region| region.value.starts_with(b"hbase:meta"))
        });
        match method.as_str() {
            "GetMetaRegionLocations" => self.meta(),
            "Scan" if of_meta => self.region(&scan.unwrap()),
            _ => {
                let nth = self.calls.fetch_add(1, Ordering::SeqCst);
                (self.script)(&Call {
                    id,
                    method,
                    message,
                    nth,
                })
            }
        }
    }

    fn meta(&self) -> Answer {
        let location = RegionLocation {
            region_info: RegionInfo {
                region_id: 1,
                table_name: TableName {
                    namespace: Bytes::from_static(b"hbase"),
                    qualifier: Bytes::from_static(b"meta"),
                },
                ..RegionInfo::default()
            },
            server_name: Some(ServerName {
                host_name: "127.0.0.1".to_string(),
                port: Some(u32::from(self.port)),
                start_code: Some(1),
            }),
            seq_num: 1,
        };
        let response = GetMetaRegionLocationsResponse {
            meta_locations: vec![location],
        };
        Answer::Well(response.encode_to_vec(), Vec::new())
    }

    /// The line of hbase:meta at or before what is sought.
    fn region(&self, scan: &ScanRequest) -> Answer {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let sought = scan.scan.as_ref().unwrap().start_row.clone().unwrap();
        let (start, end) = match *sought >= b"t,m,"[..] {
            false => ("", "m"),
            true => ("m", ""),
        };
        let info = RegionInfo {
            region_id: 1,
            table_name: TableName {
                namespace: Bytes::from_static(b"default"),
                qualifier: Bytes::from_static(b"t"),
            },
            start_key: Some(start.into()),
            end_key: Some(end.into()),
            ..RegionInfo::default()
        };
        let info = [b"PBUF", &info.encode_to_vec()[..]].concat();
        let row = format!("t,{start},1.");
        let server = format!("127.0.0.1:{}", self.port);
        let cells = [
            cell(row.as_bytes(), "info", "regioninfo", &info),
            cell(row.as_bytes(), "info", "server", server.as_bytes()),
            cell(row.as_bytes(), "info", "serverstartcode", &1_u64.to_be_bytes()),
        ];
        let response = ScanResponse {
            cells_per_result: vec![3],
            more_results: Some(false),
            ..ScanResponse::default()
        };
        Answer::Well(response.encode_to_vec(), cells.concat())
    }
}
