//! A client that speaks the protocol byte by byte, so that it can also say what no client says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A message of the server: its type and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The letter of its type.
    pub kind: u8,
    /// What stands behind its length.
    pub body: Vec<u8>,
}

/// What came until the server was ready again.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// All messages, in order.
    pub messages: Vec<Message>,
    /// Names and types of the columns, of the last description.
    pub columns: Option<Vec<(String, u32)>>,
    /// Values of rows, as they were sent.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// What statements said when they were done.
    pub tags: Vec<String>,
    /// Fields of the first error.
    pub error: Option<Vec<(u8, String)>>,
    /// Messages of notices.
    pub notices: Vec<String>,
    /// `I`, `T` or `E`.
    pub status: char,
}

impl Answer {
    /// Returns the SQLSTATE of the error; empty if there was none.
    pub fn sqlstate(&self) -> String {
        self.field(b'C')
    }

    /// Returns a field of the error; empty if there was none.
    pub fn field(&self, code: u8) -> String {
        let fields = self.error.iter().flatten();
        fields
            .filter(|(field, _)| *field == code)
            .map(|(_, text)| text.clone())
            .next()
            .unwrap_or_default()
    }

    /// Returns the types of the messages.
    pub fn kinds(&self) -> String {
        self.messages
            .iter()
            .map(|message| char::from(message.kind))
            .collect()
    }

    /// Returns the rows as text.
    pub fn texts(&self) -> Vec<Vec<Option<String>>> {
        let text = |value: &Option<Vec<u8>>| {
            value
                .as_ref()
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        self.rows
            .iter()
            .map(|row| row.iter().map(text).collect())
            .collect()
    }
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A connection.
pub struct Raw {
    stream: Box<dyn Stream>,
    /// Number and key to cancel by.
    pub key: (i32, i32),
}

impl Raw {
    /// Runs a statement; its first value, or its SQLSTATE.
    pub fn first(&mut self, sql: &str) -> String {
        let answer = self.simple(sql);
        match answer.error {
            Some(_) => answer.sqlstate(),
            None => answer
                .texts()
                .into_iter()
                .flatten()
                .flatten()
                .next()
                .unwrap_or_default(),
        }
    }

    /// Connects without a word.
    pub fn open(address: SocketAddr) -> Raw {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a timeout can be set");
        stream.set_nodelay(true).expect("a socket takes options");
        Raw {
            stream: Box::new(stream),
            key: (0, 0),
        }
    }

    /// Goes on where a connection has been made.
    pub fn over(stream: impl Read + Write + Send + 'static) -> Raw {
        Raw {
            stream: Box::new(stream),
            key: (0, 0),
        }
    }

    /// Connects and logs in.
    pub fn connect(address: SocketAddr) -> Raw {
        Raw::open(address).logged_in(&[("user", "tester"), ("database", "any")])
    }

    /// Connects to the socket of a PostgreSQL.
    pub fn connect_unix(path: &Path) -> Raw {
        let stream = UnixStream::connect(path).expect("the server listens");
        let raw = Raw {
            stream: Box::new(stream),
            key: (0, 0),
        };
        raw.logged_in(&[("user", "rukh"), ("database", "postgres")])
    }

    /// Logs in with these parameters.
    pub fn logged_in(mut self, parameters: &[(&str, &str)]) -> Raw {
        self.send_startup(parameters);
        let answer = self.answer();
        assert_eq!(answer.status, 'I', "{answer:?}");
        let key = answer
            .messages
            .iter()
            .find(|message| message.kind == b'K')
            .expect("there is a key");
        let number = |at: usize| i32::from_be_bytes(key.body[at..at + 4].try_into().expect("four bytes"));
        self.key = (number(0), number(4));
        self
    }

    /// Sends the first message.
    pub fn send_startup(&mut self, parameters: &[(&str, &str)]) {
        let mut body = 196_608_i32.to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend(text(name));
            body.extend(text(value));
        }
        body.push(0);
        self.send_bytes(&framed(None, &body));
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.try_send(bytes).expect("the server reads");
    }

    /// Sends bytes as they are, to a server that may have closed.
    pub fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a message.
    pub fn send(&mut self, kind: u8, body: &[u8]) {
        self.send_bytes(&framed(Some(kind), body));
    }

    /// Runs a text in the simple protocol.
    pub fn simple(&mut self, sql: &str) -> Answer {
        self.send(b'Q', &text(sql));
        self.answer()
    }

    /// Runs a statement in the extended protocol; results come in this format.
    pub fn extended(&mut self, sql: &str, parameters: &[Option<&[u8]>], binary: bool) -> Answer {
        let mut bytes = parse("", sql, &[]);
        bytes.extend(bind("", "", parameters, 0, i16::from(binary)));
        bytes.extend(framed(Some(b'D'), b"P\0"));
        bytes.extend(execute("", 0));
        bytes.extend(framed(Some(b'S'), b""));
        self.send_bytes(&bytes);
        self.answer()
    }

    /// Reads bytes as they are.
    pub fn read_bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).expect("the server answers");
        bytes
    }

    /// Reads the next message; `None` when the server has closed.
    pub fn read(&mut self) -> Option<Message> {
        let mut head = [0; 5];
        match self.stream.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("the server is silent"),
            Err(_) => return None,
        }
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body).ok()?;
        Some(Message { kind: head[0], body })
    }

    /// Reads until the server is ready, or closes.
    pub fn answer(&mut self) -> Answer {
        self.answer_with(|_| Ok(()))
    }

    /// As [`Raw::answer`]; where COPY waits for rows, `give` sends them.
    pub fn answer_with(&mut self, give: impl Fn(&mut Raw) -> std::io::Result<()>) -> Answer {
        let mut answer = Answer {
            status: '-',
            ..Answer::default()
        };
        while let Some(message) = self.read() {
            let body = &message.body;
            match message.kind {
                b'T' => answer.columns = Some(columns(body)),
                b'D' => answer.rows.push(values(body)),
                b'C' => answer
                    .tags
                    .push(String::from_utf8_lossy(&body[..body.len() - 1]).into_owned()),
                b'E' => {
                    answer.error.get_or_insert(fields(body));
                }
                b'N' => {
                    let message = fields(body).into_iter().find(|(code, _)| *code == b'M');
                    answer.notices.extend(message.map(|(_, text)| text));
                }
                b'Z' => answer.status = char::from(body[0]),
                // A server that closed says so at the next read.
                b'G' => drop(give(self)),
                _ => {}
            }
            let is_ready = message.kind == b'Z';
            answer.messages.push(message);
            if is_ready {
                break;
            }
        }
        answer
    }
}

/// Returns a text with the zero byte that ends it.
pub fn text(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// Makes a message.
pub fn framed(kind: Option<u8>, body: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = kind.into_iter().collect();
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// Makes a Parse message.
pub fn parse(name: &str, sql: &str, types: &[u32]) -> Vec<u8> {
    let mut body = text(name);
    body.extend(text(sql));
    body.extend((types.len() as u16).to_be_bytes());
    types.iter().for_each(|oid| body.extend(oid.to_be_bytes()));
    framed(Some(b'P'), &body)
}

/// Makes a Bind message; all parameters are in one format, and all results.
pub fn bind(portal: &str, name: &str, parameters: &[Option<&[u8]>], format: i16, results: i16) -> Vec<u8> {
    let mut body = text(portal);
    body.extend(text(name));
    body.extend(1_u16.to_be_bytes());
    body.extend(format.to_be_bytes());
    body.extend((parameters.len() as u16).to_be_bytes());
    for parameter in parameters {
        match parameter {
            None => body.extend((-1_i32).to_be_bytes()),
            Some(bytes) => {
                body.extend((bytes.len() as u32).to_be_bytes());
                body.extend(*bytes);
            }
        }
    }
    body.extend(1_u16.to_be_bytes());
    body.extend(results.to_be_bytes());
    framed(Some(b'B'), &body)
}

/// Makes an Execute message.
pub fn execute(portal: &str, rows_max: i32) -> Vec<u8> {
    let mut body = text(portal);
    body.extend(rows_max.to_be_bytes());
    framed(Some(b'E'), &body)
}

fn take_text(body: &mut &[u8]) -> String {
    let end = body.iter().position(|byte| *byte == 0).expect("texts end");
    let text = String::from_utf8_lossy(&body[..end]).into_owned();
    *body = &body[end + 1..];
    text
}

fn fields(mut body: &[u8]) -> Vec<(u8, String)> {
    let mut fields = Vec::new();
    while body[0] != 0 {
        let code = body[0];
        body = &body[1..];
        fields.push((code, take_text(&mut body)));
    }
    fields
}

fn columns(body: &[u8]) -> Vec<(String, u32)> {
    let count = u16::from_be_bytes([body[0], body[1]]);
    let mut rest = &body[2..];
    let column = |_| {
        let name = take_text(&mut rest);
        let oid = u32::from_be_bytes(rest[6..10].try_into().expect("four bytes"));
        rest = &rest[18..];
        (name, oid)
    };
    (0..count).map(column).collect()
}

fn values(body: &[u8]) -> Vec<Option<Vec<u8>>> {
    let count = u16::from_be_bytes([body[0], body[1]]);
    let mut rest = &body[2..];
    let value = |_| {
        let length = i32::from_be_bytes(rest[..4].try_into().expect("four bytes"));
        rest = &rest[4..];
        let length = usize::try_from(length).ok()?;
        let value = rest[..length].to_vec();
        rest = &rest[length..];
        Some(value)
    };
    (0..count).map(value).collect()
}
