//! What no client should send.

use std::io::{Read, Write};
use std::net::TcpStream;

use arrow_flight::sql::{CommandPreparedStatementUpdate, ProstMessageExt};
use arrow_flight::{Action, FlightData, FlightDescriptor, Ticket};
use prost::Message;
use rukh::Database;
use rukh_flight::Config;
use tonic::Code;

use crate::{error, failure, rows, served, served_with};

#[test]
fn garbage_ends_its_connection_only() {
    served().run(|run| async move {
        let mut client = run.client().await;
        assert_eq!(rows(&mut client, "SELECT 1").await.expect("it runs"), ["1"]);
        for bytes in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            &[0xff; 4096],
            &[0; 64],
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            let mut stream = TcpStream::connect(run.address).expect("the server is there");
            stream.write_all(bytes).expect("it can be sent");
            let _ = stream.shutdown(std::net::Shutdown::Write);
            // The server ends it, with an answer or without.
            let _ = stream.read_to_end(&mut Vec::new());
        }
        assert_eq!(rows(&mut client, "SELECT 2").await.expect("it runs"), ["2"]);
    });
}

#[test]
fn messages_that_are_none_are_refused() {
    served().run(|run| async move {
        let mut client = run.client().await;
        for ticket in [&b""[..], b"\xff\xff\xff", b"\x0a\x03abc"] {
            let refused = client.do_get(Ticket::new(ticket.to_vec())).await;
            assert!(refused.is_err());
        }
        for action in ["BeginTransaction", "EndSavepoint", "CancelFlightInfo", "nothing"] {
            let refused = client.do_action(Action::new(action, b"\xff\xff".to_vec())).await;
            assert!(refused.is_err(), "{action}");
        }
        // A batch whose head lies.
        let mut insert = client
            .prepare("SELECT $1".to_string(), None)
            .await
            .expect("it is understood");
        assert!(insert.execute_update().await.is_err());
        let command = CommandPreparedStatementUpdate {
            prepared_statement_handle: vec![1, 2, 3].into(),
        };
        for head in [&b""[..], b"\x01\x02\x03\x04", &[0xff; 200]] {
            let data = FlightData::new()
                .with_descriptor(FlightDescriptor::new_cmd(command.as_any().encode_to_vec()))
                .with_data_header(head.to_vec())
                .with_data_body(vec![7; 100]);
            let refused = client.do_put(futures::stream::iter(vec![data])).await;
            assert_eq!(
                failure(refused.map(drop)),
                Some((Code::Internal, "26000".to_string()))
            );
        }
        assert_eq!(rows(&mut client, "SELECT 1").await.expect("it runs"), ["1"]);
    });
}

#[test]
fn messages_that_are_too_long_are_refused() {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let config = Config {
        message_bytes_max: 100_000,
        ..Config::default()
    };
    served_with(database, config).run(|run| async move {
        let mut client = run.client().await;
        let long = format!("SELECT '{}'", "x".repeat(200_000));
        assert!(rows(&mut client, &long).await.is_err());
        let fits = format!("SELECT length('{}')", "x".repeat(50_000));
        assert_eq!(rows(&mut client, &fits).await.expect("it runs"), ["50000"]);
    });
}

#[test]
fn one_client_too_many_is_refused() {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let config = Config {
        connections_max: 1,
        ..Config::default()
    };
    served_with(database, config).run(|run| async move {
        let mut client = run.client().await;
        assert_eq!(rows(&mut client, "SELECT 1").await.expect("it runs"), ["1"]);
        let mut another = run.client().await;
        let refused = failure(rows(&mut another, "SELECT 1").await.map(drop));
        assert_eq!(refused, error(Code::ResourceExhausted, "53300"));
        assert_eq!(rows(&mut client, "SELECT 2").await.expect("it runs"), ["2"]);
        drop((client, another));
        // Its place is free once the server has seen it go. Until then a client is refused because there are too many, or
        // its connection is closed where refused ones hold the two spare places still.
        loop {
            let mut third = run.client().await;
            match failure(rows(&mut third, "SELECT 3").await.map(drop)) {
                None => break,
                Some((Code::Unknown, message)) => assert_eq!(message, "transport error"),
                refused => assert_eq!(refused, error(Code::ResourceExhausted, "53300")),
            }
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn who_only_connects_is_closed() {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let config = Config {
        authentication_timeout: std::time::Duration::from_millis(300),
        ..Config::default()
    };
    served_with(database, config).run(|run| async move {
        let mut client = run.client().await;
        assert_eq!(rows(&mut client, "SELECT 1").await.expect("it runs"), ["1"]);
        let mut idle = TcpStream::connect(run.address).expect("the server is there");
        let patience = Some(std::time::Duration::from_secs(60));
        idle.set_read_timeout(patience).expect("it takes options");
        let end = idle.read_to_end(&mut Vec::new());
        let silent = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        assert!(!end.as_ref().is_err_and(silent), "{end:?}");
        // An authenticated connection stays.
        assert_eq!(rows(&mut client, "SELECT 2").await.expect("it runs"), ["2"]);
    });
}
