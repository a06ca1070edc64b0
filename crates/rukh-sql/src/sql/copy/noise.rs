//! Any bytes as any format: rows or an error, never a panic that gets out, never more memory than was read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rukh_kv::MemoryStore;

use crate::sql::session::{Session, Shared};

/// Formats with the endings of their files.
const FORMATS: [&str; 5] = ["csv", "json", "parquet", "arrow", "arrow_stream"];

fn session() -> Session {
    let shared = Shared::open(Arc::new(MemoryStore::new()), false).expect("memory can be opened");
    let mut session = shared.session();
    for sql in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, a TEXT, b DOUBLE, c DATE, d BOOLEAN)",
        "INSERT INTO t SELECT n, CAST(n AS TEXT), n / 3.0, DATE '2012-01-31', n % 2 = 0 \
         FROM generate_series(1, 300) AS s(n)",
        "CREATE TABLE back (id BIGINT PRIMARY KEY, a TEXT, b DOUBLE, c DATE, d BOOLEAN)",
    ] {
        run(&mut session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    session
}

/// Runs a statement to its end; returns its tag, or the SQLSTATE and message of its error.
fn run(session: &mut Session, sql: &str) -> Result<String, String> {
    let text = |error: rukh_error::SqlError| format!("{}: {}", error.sqlstate, error.message);
    let outcome = session.execute(sql).map_err(text)?;
    if let Some(mut rows) = outcome.rows {
        while rows.next_batch().map_err(text)?.is_some() {}
    }
    Ok(outcome.tag)
}

fn read_back(session: &mut Session, path: &Path, format: &str) -> Result<String, String> {
    let path = path.display();
    let describe = run(session, &format!("DESCRIBE FILE '{path}' (FORMAT {format})"));
    let copied = run(session, &format!("COPY back FROM '{path}' (FORMAT {format})"));
    let skipped = run(
        session,
        &format!("COPY back FROM '{path}' (FORMAT {format}, ON_ERROR ignore)"),
    );
    run(session, "TRUNCATE back").expect("a table can be emptied");
    for outcome in [&describe, &copied, &skipped] {
        if let Err(error) = outcome {
            assert!(
                error.starts_with("22")
                    || error.starts_with("23")
                    || error.starts_with("42")
                    || error.starts_with("54"),
                "{format}: {error}"
            );
        }
    }
    copied
}

/// A generator of numbers that are the same in every run.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// Writes table `t` in a format; returns the bytes and a path to write others to.
fn sound(session: &mut Session, directory: &Path, format: &str) -> (Vec<u8>, PathBuf) {
    let path = directory.join(format!("t-{format}"));
    let sql = format!("COPY t TO '{}' (FORMAT {format})", path.display());
    assert_eq!(run(session, &sql), Ok("COPY 300".to_string()));
    assert_eq!(read_back(session, &path, format), Ok("COPY 300".to_string()));
    (std::fs::read(&path).expect("the file was written"), path)
}

#[test]
fn damaged_files_are_errors() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut session = session();
    let mut noise = Noise(8);
    for format in FORMATS {
        let (bytes, path) = sound(&mut session, directory.path(), format);
        for round in 0..120 {
            let mut damaged = bytes.clone();
            match round % 4 {
                0 => damaged.truncate(noise.below(bytes.len())),
                1 => {
                    for _ in 0..=noise.below(4) {
                        let at = noise.below(bytes.len());
                        damaged[at] = noise.below(256) as u8;
                    }
                }
                2 => {
                    // Lengths are what readers believe.
                    let at = noise.below(bytes.len().saturating_sub(8));
                    let huge = [u64::MAX, i64::MAX as u64, 1 << 62, 1 << 40, 1 << 31][noise.below(5)];
                    damaged[at..at + 8].copy_from_slice(&huge.to_le_bytes());
                }
                _ => {
                    let (from, to) = (noise.below(bytes.len()), noise.below(bytes.len()));
                    let piece = bytes[from..(from + 64).min(bytes.len())].to_vec();
                    damaged.splice(to..to, piece);
                }
            }
            std::fs::write(&path, &damaged).expect("a file can be written");
            // Rows or an error: damage may fall on a value.
            let _ = read_back(&mut session, &path, format);
        }
    }
}

#[test]
fn noise_is_no_file() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut session = session();
    let path = directory.path().join("noise");
    let mut noise = Noise(21);
    for round in 0..60 {
        let length = noise.below(2000);
        let mut bytes: Vec<u8> = (0..length).map(|_| noise.below(256) as u8).collect();
        match round % 3 {
            0 => bytes.splice(0..0, *b"ARROW1\0\0\xff\xff\xff\xff").for_each(drop),
            1 => bytes.extend(b"\xff\xff\xff\x7fPAR1"),
            _ => {}
        }
        std::fs::write(&path, &bytes).expect("a file can be written");
        for format in ["parquet", "arrow", "arrow_stream"] {
            assert!(
                read_back(&mut session, &path, format).is_err(),
                "{format} {bytes:?}"
            );
        }
        for format in ["csv", "json"] {
            let _ = read_back(&mut session, &path, format);
        }
    }
}

#[test]
fn lengths_are_not_believed() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let mut session = session();
    let path = directory.path().join("long");
    // A message of 2 GiB less one, of which there are four bytes.
    std::fs::write(&path, b"\xff\xff\xff\xff\xff\xff\xff\x7fabcd").expect("a file can be written");
    let error = read_back(&mut session, &path, "arrow_stream").expect_err("the message is not there");
    assert!(error.starts_with("22P04: could not read Arrow file"), "{error}");
    // A file that ends where a stream may, before its schema.
    std::fs::write(&path, b"").expect("a file can be written");
    let error = read_back(&mut session, &path, "arrow").expect_err("there is no schema");
    assert!(error.ends_with("it has no schema"), "{error}");
}
