//! Encrypted connections, and set-ups that would not give one.

use std::path::{Path, PathBuf};
use std::process::Command;

use rukh::Database;
use rukh_server::{Config, Tls};
use rukh_testkit::{need, postgres};

use crate::{server, server_over};

/// Makes a certificate for 127.0.0.1 with this kind of key, and returns its files.
pub fn certificate(directory: &Path, key: &[&str]) -> Result<Tls, String> {
    let (certificate, file) = (directory.join("server.crt"), directory.join("server.key"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .args(key)
        .arg("-out")
        .arg(&certificate)
        .arg("-keyout")
        .arg(&file)
        .output();
    match made {
        Ok(output) if output.status.success() => Ok(Tls {
            certificate,
            key: file,
            required: false,
        }),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(format!("openssl: {error}")),
    }
}

fn psql(program: &Path, target: &str, sql: &str) -> String {
    let output = Command::new(program)
        .args(["-X", "-A", "-t", "-d", target, "-c", sql])
        .env("PGPASSWORD", "secret")
        .env_remove("PGSERVICE")
        .output()
        .expect("psql runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn with_user() -> Database {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let created = database.connect().execute("CREATE USER u PASSWORD 'secret'");
    created.map(drop).expect("a user can be made");
    database
}

#[test]
fn clients_encrypt_and_bind_their_log_in() {
    let Some(program) = need::or_skip("clients_encrypt_and_bind_their_log_in", postgres::program("psql"))
    else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory can be made");
    let keys: [&[&str]; 4] = [
        &["-newkey", "rsa:2048"],
        &["-newkey", "rsa:2048", "-sha384"],
        &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-sha384"],
    ];
    for key in keys {
        let made = certificate(directory.path(), key);
        let Some(tls) = need::or_skip("clients_encrypt_and_bind_their_log_in", made) else {
            return;
        };
        let root = tls.certificate.display().to_string();
        let config = Config {
            tls: Some(tls),
            ..Config::default()
        };
        let server = server_over(with_user(), config);
        let to = |more: &str| {
            format!(
                "host=127.0.0.1 port={} user=u dbname=any {more}",
                server.address().port()
            )
        };
        let bound = "channel_binding=require";
        for more in [
            "sslmode=require",
            &format!("sslmode=verify-full sslrootcert={root}"),
            &format!("sslmode=verify-full sslrootcert={root} {bound}"),
            "sslmode=require ssl_min_protocol_version=TLSv1.3",
            "sslmode=disable",
        ] {
            assert_eq!(psql(&program, &to(more), "SELECT 1"), "1\n", "{key:?} {more}");
        }
        let plain = psql(&program, &to(&format!("sslmode=disable {bound}")), "SELECT 1");
        assert!(plain.contains("channel binding"), "{plain}");
        server.stop();
    }
}

#[test]
fn nothing_is_plain_by_accident() {
    let Some(program) = need::or_skip("nothing_is_plain_by_accident", postgres::program("psql")) else {
        return;
    };
    // A client that insists is not served in plain.
    let plain = server();
    let target = format!("host=127.0.0.1 port={} user=u dbname=any", plain.address().port());
    let answer = psql(&program, &format!("{target} sslmode=require"), "SELECT 1");
    assert!(answer.contains("server does not support SSL"), "{answer}");
    plain.stop();
    // Nor does a server that insists serve others.
    let directory = tempfile::tempdir().expect("a directory can be made");
    let made = certificate(directory.path(), &["-newkey", "rsa:2048"]);
    let Some(tls) = need::or_skip("nothing_is_plain_by_accident", made) else {
        return;
    };
    let config = |tls: Tls| Config {
        tls: Some(tls),
        ..Config::default()
    };
    let required = Tls {
        required: true,
        ..tls.clone()
    };
    let server = server_over(with_user(), config(required));
    let target = format!(
        "host=127.0.0.1 port={} user=u dbname=any",
        server.address().port()
    );
    let answer = psql(&program, &format!("{target} sslmode=disable"), "SELECT 1");
    assert!(
        answer.contains("this server takes encrypted connections only"),
        "{answer}"
    );
    assert_eq!(
        psql(&program, &format!("{target} sslmode=require"), "SELECT 1"),
        "1\n"
    );
    server.stop();
    // A set-up that gives no encryption gives no server.
    let write = |name: &str, text: &str| -> PathBuf {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path
    };
    let other = tempfile::tempdir().expect("a directory can be made");
    let stranger = certificate(other.path(), &["-newkey", "rsa:2048"]).expect("one was made before");
    let broken = [
        Tls {
            certificate: directory.path().join("gone"),
            ..tls.clone()
        },
        Tls {
            key: directory.path().join("gone"),
            ..tls.clone()
        },
        Tls {
            certificate: write("empty", ""),
            ..tls.clone()
        },
        Tls {
            certificate: write(
                "garbage",
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            ),
            ..tls.clone()
        },
        Tls {
            key: write("key", "no key"),
            ..tls.clone()
        },
        Tls {
            key: tls.certificate.clone(),
            ..tls.clone()
        },
        Tls {
            key: stranger.key,
            ..tls.clone()
        },
    ];
    for tls in broken {
        let shown = format!("{tls:?}");
        let config = Config {
            listen: "127.0.0.1:0".to_string(),
            ..config(tls)
        };
        let error = rukh_server::start(with_user(), config).err();
        let error = error
            .unwrap_or_else(|| panic!("a server starts with {shown}"))
            .to_string();
        assert!(error.contains("for TLS"), "{shown}: {error}");
    }
}
