//! Users, tokens, encryption.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::Action;
use arrow_flight::sql::client::FlightSqlServiceClient;
use futures::TryStreamExt;
use rukh::Database;
use rukh_flight::{Config, StartError, start};
use rukh_testkit::need;
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};

use crate::{error, failure, rows, served_with};

pub fn with_users() -> Database {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let mut connection = database.connect();
    for statement in [
        "CREATE USER boss SUPERUSER PASSWORD 'secret'",
        "CREATE USER ann PASSWORD 'pen:cil'",
        "CREATE ROLE nobody",
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "CREATE TABLE u (id INT PRIMARY KEY)",
        "GRANT SELECT ON t TO ann",
    ] {
        connection.execute(statement).map(drop).expect("it runs");
    }
    database
}

#[test]
fn who_has_no_password_is_refused() {
    served_with(with_users(), Config::default()).run(|run| async move {
        let mut client = run.client().await;
        let refused = rows(&mut client, "SELECT 1").await;
        assert_eq!(failure(refused), error(Code::Unauthenticated, "28000"));
        for (user, password) in [("ann", "wrong"), ("who", "secret"), ("nobody", ""), ("", "")] {
            let refused = client.handshake(user, password).await;
            let message = refused.map(drop).expect_err("it is refused").to_string();
            assert!(message.contains("28P01"), "{user}: {message}");
        }
        for token in ["", "x", "AAAA", "ü"] {
            client.set_token(token.to_string());
            let refused = rows(&mut client, "SELECT 1").await;
            if token.is_ascii() {
                assert_eq!(failure(refused), error(Code::Unauthenticated, "28000"));
            }
        }
    });
}

#[test]
fn users_may_do_what_they_are_granted() {
    served_with(with_users(), Config::default()).run(|run| async move {
        let mut client = run.client().await;
        client
            .handshake("ann", "pen:cil")
            .await
            .expect("it is her password");
        let who = rows(&mut client, "SELECT current_user").await;
        assert_eq!(who.expect("it runs"), ["ann"]);
        assert!(
            rows(&mut client, "SELECT * FROM t")
                .await
                .expect("she may")
                .is_empty()
        );
        for sql in ["SELECT * FROM u", "INSERT INTO t VALUES (1)", "DROP TABLE t"] {
            let refused = rows(&mut client, sql).await;
            assert_eq!(failure(refused), error(Code::PermissionDenied, "42501"), "{sql}");
        }
        // The token is good on other connections, and on none when the session is closed.
        let mut other = run.client().await;
        other.set_token(client.token().cloned().expect("there is a token"));
        let who = rows(&mut other, "SELECT current_user").await;
        assert_eq!(who.expect("it runs"), ["ann"]);
        let closed = other.do_action(Action::new("CloseSession", "")).await;
        let closed: Result<Vec<_>, _> = closed.expect("it closes").try_collect().await;
        assert_eq!(closed.expect("it is answered").len(), 1);
        let refused = rows(&mut client, "SELECT 1").await;
        assert_eq!(failure(refused), error(Code::Unauthenticated, "28000"));
    });
}

#[test]
fn sessions_expire() {
    let config = Config {
        session_timeout: Duration::from_millis(1),
        ..Config::default()
    };
    served_with(with_users(), config).run(|run| async move {
        let mut client = run.client().await;
        client
            .handshake("boss", "secret")
            .await
            .expect("it is the password");
        let mut watcher = run.database.connect();
        let count = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'boss'";
        loop {
            let mut found = watcher.query(count).expect("it runs");
            let row = found.next_row().expect("it is answered").expect("there is a row");
            if row.get::<i64>(0).expect("it is a number") == 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        let refused = rows(&mut client, "SELECT 1").await;
        assert_eq!(failure(refused), error(Code::Unauthenticated, "28000"));
    });
}

#[test]
fn other_machines_need_users_and_encryption() {
    let listen = |database: Database| {
        let config = Config {
            listen: "0.0.0.0:0".to_string(),
            ..Config::default()
        };
        start(database, config).map(|server| server.stop())
    };
    let empty = Database::open_in_memory().expect("a database in memory can be made");
    assert!(matches!(listen(empty), Err(StartError::Open { .. })));
    assert!(matches!(listen(with_users()), Err(StartError::Plain { .. })));
}

/// Makes a certificate for localhost, and returns its files: itself and its key.
pub fn certificate(directory: &Path) -> Result<(PathBuf, PathBuf), String> {
    let (certificate, key) = (directory.join("server.crt"), directory.join("server.key"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-newkey", "rsa:2048"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-out")
        .arg(&certificate)
        .arg("-keyout")
        .arg(&key)
        .output();
    match made {
        Ok(output) if output.status.success() => Ok((certificate, key)),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(format!("openssl: {error}")),
    }
}

#[test]
fn connections_are_encrypted() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let made = certificate(directory.path());
    let Some((certificate, key)) = need::or_skip("connections_are_encrypted", made) else {
        return;
    };
    let tls = server_config(&certificate, &key);
    let config = Config {
        tls: Some(tls),
        ..Config::default()
    };
    served_with(with_users(), config).run(|run| async move {
        let address = format!("https://localhost:{}", run.address.port());
        let pem = std::fs::read(&certificate).expect("the certificate can be read");
        let trust = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
        let endpoint = Endpoint::from_shared(address).expect("it is an address");
        let endpoint = endpoint.tls_config(trust).expect("it is a certificate");
        let channel = endpoint.connect().await.expect("the server is trusted");
        let mut client = FlightSqlServiceClient::new(channel);
        client
            .handshake("boss", "secret")
            .await
            .expect("it is the password");
        let who = rows(&mut client, "SELECT current_user").await;
        assert_eq!(who.expect("it runs"), ["boss"]);
        // Nothing is answered in plain.
        let plain = Endpoint::from_shared(format!("http://{}", run.address)).expect("it is an address");
        if let Ok(channel) = plain.connect().await {
            let mut client = FlightSqlServiceClient::new(channel);
            assert!(client.handshake("boss", "secret").await.is_err());
        }
    });
}

/// Returns what a server encrypts with.
pub fn server_config(certificate: &Path, key: &Path) -> Arc<tokio_rustls::rustls::ServerConfig> {
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio_rustls::rustls::{ServerConfig, crypto};

    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate)
        .expect("the certificate can be read")
        .collect();
    let key = PrivateKeyDer::from_pem_file(key).expect("the key can be read");
    let config = ServerConfig::builder_with_provider(crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("there are versions")
        .with_no_client_auth()
        .with_single_cert(chain.expect("the certificate is one"), key);
    config.expect("certificate and key belong together").into()
}
