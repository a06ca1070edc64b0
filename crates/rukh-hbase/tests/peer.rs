//! The client against a peer that answers with bytes of the test's choice: damage ends in an error, never in a panic.

use std::time::Duration;

use rukh_hbase::{Client, Error, Get, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Asks a peer that answers the first bytes of each connection with `answer`, and then hangs or closes.
async fn ask(answer: Vec<u8>, hangs: bool) -> Error {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("hbase://{}/", listener.local_addr().unwrap());
    let peer = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let answer = answer.clone();
            tokio::spawn(async move {
                let mut read = [0; 4096];
                let mut seen = Vec::new();
                while !seen.windows(22).any(|part| part == b"GetMetaRegionLocations") {
                    let length = stream.read(&mut read).await.unwrap();
                    assert!(length > 0, "the client went away");
                    seen.extend_from_slice(&read[..length]);
                }
                assert!(seen.starts_with(b"HBas\x00\x50"));
                stream.write_all(&answer).await.unwrap();
                if hangs {
                    std::future::pending::<()>().await;
                }
            });
        }
    });
    let settings = Settings {
        operation: Duration::from_millis(600),
        call: Duration::from_millis(200),
        connect: Duration::from_secs(5),
    };
    let error = Client::new(&url, settings)
        .unwrap()
        .get("t", Get::new("a"))
        .await
        .unwrap_err();
    peer.abort();
    error
}

#[tokio::test]
async fn damaged_answers_are_protocol_errors() {
    let cases: [(&str, &[u8]); 6] = [
        ("is longer than", b"\xff\xff\xff\xff"),
        ("header of an answer", b"\x00\x00\x00\x00"),
        ("header of an answer", b"\x00\x00\x00\x02\x7f\x08"),
        (
            "no request waits for the answer to call 7",
            b"\x00\x00\x00\x04\x02\x08\x07\x00",
        ),
        ("contradict", b"\x00\x00\x00\x04\x02\x08\x00\x09"),
        ("contradict", b"\x00\x00\x00\x08\x06\x08\x00\x1a\x02\x08\x7f\x00"),
    ];
    for (reason, answer) in cases {
        let error = ask(answer.to_vec(), true).await;
        assert!(matches!(error, Error::Protocol { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn silence_and_torn_frames_end_with_the_deadline() {
    let torn = b"\x00\x00\x10\x00abc".to_vec();
    for (answer, hangs) in [
        (vec![], true),
        (vec![], false),
        (torn.clone(), true),
        (torn, false),
    ] {
        let error = ask(answer, hangs).await;
        assert!(matches!(error, Error::Deadline { .. }), "{error}");
    }
}
