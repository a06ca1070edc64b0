//! Clients that do not read their results, or send nothing at all: what they hold is released, and others go on.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rukh::Database;
use rukh_testkit::need;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
};

use crate::killed::start_with_open_files;
use crate::{Config, server, server_over, server_with, tls};
use rukh_testkit::raw::{Raw, bind, execute, framed, parse, text};

/// Far more rows than the system holds for a client that does not read.
const MANY: &str = "SELECT value, 'some text to fill the line' FROM generate_series(1, 10000000) AS t(value)";

/// How long anything may take that is to come about.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until it is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

/// Returns what a session does, as another sees it; `None` if it is gone.
fn state(watcher: &mut Raw, pid: i32) -> Option<String> {
    let answer = watcher.simple(&format!("SELECT state FROM pg_stat_activity WHERE pid = {pid}"));
    answer.texts().into_iter().next()?.into_iter().next()?
}

/// Asks for many rows in one of the ways that there are.
type Silence = fn(&mut Raw);

const WAYS: [(&str, Silence); 3] = [
    ("simple", |raw| raw.send(b'Q', &text(MANY))),
    ("extended", |raw| {
        let sync = framed(Some(b'S'), b"");
        let messages = [
            parse("", MANY, &[]),
            bind("", "", &[], 0, 1),
            execute("", 0),
            sync,
        ];
        raw.send_bytes(&messages.concat());
    }),
    ("copy", |raw| {
        raw.send(b'Q', &text(&format!("COPY ({MANY}) TO STDOUT")))
    }),
];

/// A test's certificate is its own.
#[derive(Debug)]
struct Trusting(CryptoProvider);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Connects by TLS, and logs in.
fn encrypted(address: SocketAddr) -> Raw {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let request = framed(None, &80_877_103_i32.to_be_bytes());
    std::io::Write::write_all(&mut stream, &request).expect("the server reads");
    let mut answer = [0];
    std::io::Read::read_exact(&mut stream, &mut answer).expect("the server answers");
    assert_eq!(answer, *b"S");
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("there are versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting(ring::default_provider())))
        .with_no_client_auth();
    let name = ServerName::from(address.ip());
    let connection = ClientConnection::new(Arc::new(config), name).expect("it can begin");
    Raw::over(StreamOwned::new(connection, stream)).logged_in(&[("user", "tester")])
}

/// Runs a test on plain connections, and on encrypted ones where a certificate can be made.
fn on_both(name: &str, test: impl Fn(SocketAddr, fn(SocketAddr) -> Raw)) {
    let plain = server();
    test(plain.address(), Raw::connect);
    plain.stop();
    let directory = tempfile::tempdir().expect("a directory can be made");
    let made = tls::certificate(directory.path(), &["-newkey", "rsa:2048"]);
    let Some(files) = need::or_skip(name, made) else {
        return;
    };
    let with_tls = server_with(Config {
        tls: Some(files),
        ..Config::default()
    });
    test(with_tls.address(), encrypted);
    with_tls.stop();
}

#[test]
fn who_does_not_read_can_be_sent_away() {
    on_both("who_does_not_read_can_be_sent_away", |address, connect| {
        let mut watcher = Raw::connect(address);
        for (way, ask) in WAYS {
            let mut raw = connect(address);
            let pid = raw.key.0;
            ask(&mut raw);
            wait_until("it runs", || {
                state(&mut watcher, pid).as_deref() == Some("active")
            });
            let ended = watcher.simple(&format!("SELECT pg_terminate_backend({pid})"));
            assert_eq!(ended.texts(), [[Some("t".to_string())]]);
            wait_until(way, || state(&mut watcher, pid).is_none());
        }
    });
}

#[test]
fn a_statement_that_nobody_reads_ends_in_time() {
    on_both(
        "a_statement_that_nobody_reads_ends_in_time",
        |address, connect| {
            let mut watcher = Raw::connect(address);
            for (way, ask) in WAYS {
                let mut raw = connect(address);
                let pid = raw.key.0;
                raw.simple("SET statement_timeout = 300");
                ask(&mut raw);
                wait_until(way, || state(&mut watcher, pid).as_deref() == Some("idle"));
                // A client that reads on finds whole messages, then why there are no more.
                let answer = raw.answer();
                let end = (answer.sqlstate(), answer.status);
                assert_eq!(end, ("57014".to_string(), 'I'), "{way}");
                assert!(answer.field(b'M').contains("statement timeout"), "{way}");
                assert_eq!(raw.simple("SELECT 1").tags, ["SELECT 1"], "{way}");
            }
        },
    );
}

#[test]
fn a_transaction_that_nobody_reads_ends_in_time() {
    on_both(
        "a_transaction_that_nobody_reads_ends_in_time",
        |address, connect| {
            let mut watcher = Raw::connect(address);
            let cases: [&[&str]; 3] = [
                &["SET transaction_timeout = 300", "BEGIN"],
                // A statement by itself is a transaction.
                &["SET transaction_timeout = 300"],
                &[
                    "SET statement_timeout = 200",
                    "SET idle_in_transaction_session_timeout = 200",
                    "BEGIN",
                ],
            ];
            for (way, ask) in WAYS {
                for before in cases {
                    let mut raw = connect(address);
                    let pid = raw.key.0;
                    for statement in before {
                        raw.simple(statement);
                    }
                    ask(&mut raw);
                    wait_until(way, || state(&mut watcher, pid).is_none());
                }
            }
        },
    );
}

/// A client that reads gets the reason, and a transaction that has ended in time bounds nothing after it.
#[test]
fn transactions_by_themselves_have_their_timeout() {
    let server = server();
    let mut raw = Raw::connect(server.address());
    raw.simple("SET transaction_timeout = 200");
    let answer = raw.simple("SELECT count(*) FROM generate_series(1, 100000000000) AS t(n)");
    assert_eq!(answer.sqlstate(), "57014");
    let end = raw.answer();
    assert_eq!((end.sqlstate().as_str(), end.status), ("25P04", '-'));
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    raw.simple("INSERT INTO t VALUES (1, 1)");
    raw.simple("SET transaction_timeout = 1000");
    raw.simple("BEGIN");
    raw.simple("UPDATE t SET a = 2 WHERE id = 1");
    let started = Instant::now();
    assert_eq!(raw.simple("COMMIT").tags, ["COMMIT"]);
    while started.elapsed() < Duration::from_millis(1500) {
        assert_eq!(raw.simple("SELECT count(*) FROM t").tags, ["SELECT 1"]);
    }
    server.stop();
}

/// However long a client takes for what it reads, as long as it reads.
#[test]
fn who_reads_slowly_is_waited_for() {
    let server = server();
    let (mut raw, mut other) = (Raw::connect(server.address()), Raw::connect(server.address()));
    raw.simple("SET idle_session_timeout = 300");
    let rows = 400_000;
    let query =
        format!("SELECT value, 'some text to fill the line' FROM generate_series(1, {rows}) AS t(value)");
    raw.send(b'Q', &text(&query));
    let started = Instant::now();
    let mut read = 0;
    while let Some(message) = raw.read() {
        read += usize::from(message.kind == b'D');
        if message.kind == b'Z' {
            break;
        }
        if read % 20_000 == 0 {
            // It does something else for a while.
            other.simple("SELECT count(*) FROM generate_series(1, 5000000) AS t(n)");
        }
    }
    assert_eq!(read, rows);
    assert!(started.elapsed() > Duration::from_millis(300));
    server.stop();
}

#[test]
fn who_does_not_log_in_in_time_is_closed() {
    let server = server_with(Config {
        authentication_timeout_s: 1,
        connections_max: 1,
        ..Config::default()
    });
    let mut idle = Raw::open(server.address());
    assert_eq!(idle.read(), None);
    wait_until("its place is free", || {
        let mut raw = Raw::open(server.address());
        raw.send_startup(&[("user", "tester")]);
        raw.answer().status == 'I'
    });
    server.stop();
}

/// Connections that send nothing take places, and no more than there are: storage keeps its descriptors.
#[cfg(target_os = "linux")]
#[test]
fn idle_connections_take_no_descriptors_from_storage() {
    const OPEN_FILES: usize = 256;
    let directory = tempfile::tempdir().expect("a directory can be made");
    let (mut child, address) = start_with_open_files(&directory.path().join("db"), OPEN_FILES);
    let mut raw = Raw::connect(address);
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY, a TEXT)");
    let mut idle: Vec<Raw> = (0..OPEN_FILES + 50).map(|_| Raw::open(address)).collect();
    // The last has no place, and gets an error before it sends anything.
    let last = idle.last_mut().expect("there are some").answer();
    assert_eq!(
        (last.sqlstate().as_str(), last.field(b'S').as_str()),
        ("53300", "FATAL")
    );
    for round in 0..3 {
        let insert =
            format!("INSERT INTO t SELECT {round} * 1000 + n, 'a' FROM generate_series(1, 1000) AS s(n)");
        assert_eq!(raw.simple(&insert).tags, ["INSERT 0 1000"]);
        assert_eq!(raw.simple("CHECKPOINT").tags, ["CHECKPOINT"]);
    }
    assert_eq!(raw.simple("CREATE INDEX t_a ON t (a)").tags, ["CREATE INDEX"]);
    let count = raw.simple("SELECT count(*) FROM t").texts();
    assert_eq!(count, [[Some("3000".to_string())]]);
    drop(idle);
    wait_until("new sessions are served", || {
        let mut another = Raw::open(address);
        another.send_startup(&[("user", "tester")]);
        another.answer().status == 'I' && another.simple("SELECT 1").tags == ["SELECT 1"]
    });
    child.kill().expect("the server can be killed");
    child.wait().expect("the server ends");
}

/// A statement can be cancelled though there is no place for another session.
#[test]
fn a_full_server_takes_requests_to_cancel() {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let server = server_over(
        database,
        Config {
            connections_max: 1,
            ..Config::default()
        },
    );
    let mut raw = Raw::connect(server.address());
    let (pid, secret) = raw.key;
    raw.send(
        b'Q',
        &text("SELECT count(*) FROM generate_series(1, 100000000000) AS t(n)"),
    );
    let ended = std::sync::atomic::AtomicBool::new(false);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            // One that comes too early finds nothing to cancel.
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                let mut other = Raw::open(server.address());
                let body = [
                    80_877_102_i32.to_be_bytes(),
                    pid.to_be_bytes(),
                    secret.to_be_bytes(),
                ];
                // A client that is turned away at once may be gone.
                let _ = other.try_send(&framed(None, &body.concat()));
                // It gets nothing, or that even the spare places are taken.
                let answer = other.answer();
                assert!(matches!(answer.sqlstate().as_str(), "" | "53300"), "{answer:?}");
            }
        });
        let answer = raw.answer();
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
        answer
    });
    assert_eq!(answer.sqlstate(), "57014");
    server.stop();
}
