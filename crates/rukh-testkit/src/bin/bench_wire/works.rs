//! What is measured.

use std::fmt;
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use postgres::fallible_iterator::FallibleIterator;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rukh_testkit::postgres::program;

use crate::peers::{Failure, Peer, Peers};

/// How much.
pub struct Setting {
    pub time: Duration,
    pub scale: u64,
    pub copied: u64,
    pub streamed: u64,
}

/// A figure of both servers.
pub struct Line {
    work: String,
    unit: &'static str,
    rukh: f64,
    postgres: Option<f64>,
    bar: &'static str,
}

/// The head of the table of lines.
pub const HEAD: &str = "| work | Rukh | PostgreSQL | Rukh is | bar |\n|---|---|---|---|---|";

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { work, unit, bar, .. } = self;
        let shown = |figure: f64| match figure {
            figure if figure < 100.0 => format!("{figure:.1} {unit}"),
            figure => format!("{figure:.0} {unit}"),
        };
        let is_rate = unit.ends_with("/s");
        let (peer, ratio) = match self.postgres {
            Some(peer) if is_rate => (shown(peer), format!("{:.2}x", self.rukh / peer)),
            Some(peer) => (shown(peer), format!("{:.2}x", peer / self.rukh)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        write!(f, "| {work} | {} | {peer} | {ratio} | {bar} |", shown(self.rukh))
    }
}

/// Runs `pgbench -S`.
pub fn points(peers: &Peers, setting: &Setting) -> Result<Vec<Line>, Failure> {
    let pgbench = program("pgbench")?;
    let scale = setting.scale;
    let tables = [
        "CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88))".to_owned(),
        "CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84))"
            .to_owned(),
        format!(
            "INSERT INTO pgbench_branches (bid, bbalance) SELECT value, 0 FROM generate_series(1, {scale}) AS t(value)"
        ),
    ];
    peers.each(|peer| {
        peer.run(&tables)?;
        let mut client = peer.connect()?;
        let mut writer = client.copy_in("COPY pgbench_accounts FROM STDIN")?;
        for aid in 1..=scale * 100_000 {
            writeln!(writer, "{aid}\t{}\t0\t", (aid - 1) / 100_000 + 1)?;
        }
        writer.finish()?;
        peer.settle("pgbench_accounts")
    })?;
    let mut lines = Vec::new();
    for mode in ["prepared", "simple"] {
        for clients in [1, 16] {
            let (rukh, postgres) = peers.each(|peer| {
                let mut command = Command::new(&pgbench);
                command.args(["-n", "-S", "-M", mode, "-h", "127.0.0.1", "-U", peer.user()]);
                command.args([
                    "-p",
                    &peer.port.to_string(),
                    "-T",
                    &setting.time.as_secs().to_string(),
                ]);
                command.args(["-c", &clients.to_string(), "-j", &clients.min(4).to_string()]);
                // Both read the same keys.
                command.args(["-s", &scale.to_string(), "--random-seed", "7", peer.database()]);
                rate_of(&mut command)
            })?;
            lines.push(Line {
                work: format!("pgbench -S -M {mode}, {clients} clients"),
                unit: "/s",
                rukh,
                postgres,
                bar: "1x",
            });
        }
    }
    Ok(lines)
}

/// Runs pgbench; returns its transactions a second.
fn rate_of(pgbench: &mut Command) -> Result<f64, Failure> {
    let output = pgbench.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("tps = "));
    let rate = line.and_then(|line| line.split(' ').next()?.parse().ok());
    rate.filter(|_| output.status.success())
        .ok_or_else(|| format!("pgbench: {text}{}", String::from_utf8_lossy(&output.stderr)).into())
}

/// Lets clients work for so long; returns how often a second they did.
fn rate(
    peer: Peer,
    clients: u64,
    time: Duration,
    work: impl Fn(&mut postgres::Client, &postgres::Statement, &mut StdRng) -> Result<(), Failure> + Sync,
    sql: &str,
) -> Result<f64, Failure> {
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let barrier = std::sync::Barrier::new(clients as usize + 1);
    let elapsed = std::thread::scope(|scope| -> Result<Duration, Failure> {
        let mut threads = Vec::new();
        for number in 0..clients {
            let (done, stop, barrier, work) = (&done, &stop, &barrier, &work);
            threads.push(scope.spawn(move || -> Result<(), Failure> {
                let prepared = peer.connect().and_then(|mut client| {
                    let statement = client.prepare(sql)?;
                    Ok((client, statement))
                });
                // A client that failed is waited for, too.
                barrier.wait();
                let (mut client, statement) = prepared?;
                let mut random = StdRng::seed_from_u64(number);
                while !stop.load(Ordering::Relaxed) {
                    work(&mut client, &statement, &mut random)?;
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }));
        }
        barrier.wait();
        let started = Instant::now();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let elapsed = started.elapsed();
        for thread in threads {
            thread.join().map_err(|_| "a client panicked")??;
        }
        Ok(elapsed)
    })?;
    Ok(done.load(Ordering::Relaxed) as f64 / elapsed.as_secs_f64())
}

/// Reads 300 rows by an index.
pub fn ranges(peers: &Peers, setting: &Setting) -> Result<Vec<Line>, Failure> {
    const GROUPS: u64 = 1_000;
    peers.each(|peer| {
        peer.run(&[
            "CREATE TABLE items (id bigint PRIMARY KEY, grp int, a int, name varchar(40), at timestamp)"
                .to_owned(),
            "CREATE INDEX items_grp ON items (grp)".to_owned(),
        ])?;
        let mut client = peer.connect()?;
        let mut writer = client.copy_in("COPY items FROM STDIN")?;
        for id in 0..GROUPS * 300 {
            // The rows of a group lie apart, as they do where an index is needed.
            writeln!(
                writer,
                "{id}\t{}\t{}\tname of {id}\t2024-01-01 00:00:00",
                id % GROUPS,
                id * 7 % 1_000
            )?;
        }
        writer.finish()?;
        peer.settle("items")
    })?;
    let mut lines = Vec::new();
    for clients in [1, 8] {
        let (rukh, postgres) = peers.each(|peer| {
            let work =
                |client: &mut postgres::Client, statement: &postgres::Statement, random: &mut StdRng| {
                    let group = random.random_range(0..GROUPS as i32);
                    match client.query(statement, &[&group])?.len() {
                        300 => Ok(()),
                        other => Err(format!("{other} rows instead of 300").into()),
                    }
                };
            rate(
                peer,
                clients,
                setting.time,
                work,
                "SELECT id, a, name, at FROM items WHERE grp = $1",
            )
        })?;
        lines.push(Line {
            work: format!("300 rows by index, binary, {clients} clients"),
            unit: "/s",
            rukh,
            postgres,
            bar: "more than 1x",
        });
    }
    Ok(lines)
}

/// Changes and adds rows.
pub fn upserts(peers: &Peers, setting: &Setting) -> Result<Vec<Line>, Failure> {
    const CLIENTS: u64 = 16;
    const KEYS: i64 = 100_000;
    let (rukh, postgres) = peers.each(|peer| {
        peer.run(&[
            "CREATE TABLE counts (id bigint PRIMARY KEY, a int, b varchar(20), c int)".to_owned(),
            "CREATE INDEX counts_a ON counts (a)".to_owned(),
            "CREATE INDEX counts_b ON counts (b)".to_owned(),
            format!(
                "INSERT INTO counts SELECT value, value % 100, 'b' || (value % 1000), 0 \
                 FROM generate_series(1, {}) AS t(value)",
                KEYS / 2
            ),
        ])?;
        peer.settle("counts")?;
        let sql = match peer.is_rukh {
            true => "UPSERT INTO counts VALUES ($1, $2, $3, $4)",
            false => {
                "INSERT INTO counts VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO UPDATE \
                 SET a = excluded.a, b = excluded.b, c = excluded.c"
            }
        };
        let work = |client: &mut postgres::Client, statement: &postgres::Statement, random: &mut StdRng| {
            let id: i64 = random.random_range(1..=KEYS);
            let a: i32 = random.random_range(0..100);
            let b = format!("b{}", random.random_range(0..1000));
            client.execute(statement, &[&id, &a, &b, &a])?;
            Ok(())
        };
        rate(peer, CLIENTS, setting.time, work, sql)
    })?;
    Ok(vec![Line {
        work: format!("UPSERT of a row, 2 indexes, {CLIENTS} clients"),
        unit: "/s",
        rukh,
        postgres,
        bar: "1x",
    }])
}

/// Adds to one row within BEGIN … COMMIT, again where that fails; then reads it, to see that nothing was lost.
pub fn hot(peers: &Peers, setting: &Setting) -> Result<Vec<Line>, Failure> {
    const CLIENTS: u64 = 8;
    let mut lines = Vec::new();
    for conflict in ["wait", "fail"] {
        let failed = AtomicU64::new(0);
        let (rukh, postgres) = peers.each(|peer| {
            peer.run(&[
                "DROP TABLE IF EXISTS hot".to_owned(),
                "CREATE TABLE hot (id bigint PRIMARY KEY, n bigint)".to_owned(),
                "INSERT INTO hot VALUES (1, 0)".to_owned(),
            ])?;
            let added = AtomicU64::new(0);
            let begin = match peer.is_rukh {
                true => format!("BEGIN; SET LOCAL conflict = {conflict}"),
                false => "BEGIN".to_owned(),
            };
            let work = |client: &mut postgres::Client, statement: &postgres::Statement, _: &mut StdRng| loop {
                client.batch_execute(&begin)?;
                let done = client
                    .execute(statement, &[])
                    .and_then(|_| client.batch_execute("COMMIT"));
                match done {
                    Ok(()) => {
                        added.fetch_add(1, Ordering::Relaxed);
                        return Ok(());
                    }
                    Err(error) if error.code().is_some_and(|code| code.code() == "40001") => {
                        failed.fetch_add(1, Ordering::Relaxed);
                        client.batch_execute("ROLLBACK")?;
                    }
                    Err(error) => return Err(error.into()),
                }
            };
            let rate = rate(
                peer,
                CLIENTS,
                setting.time,
                work,
                "UPDATE hot SET n = n + 1 WHERE id = 1",
            )?;
            let n: i64 = peer.connect()?.query_one("SELECT n FROM hot", &[])?.get(0);
            match n.unsigned_abs() == added.load(Ordering::Relaxed) {
                true => Ok((rate, n as f64)),
                false => Err(format!("{n} instead of {added:?}").into()),
            }
        })?;
        let failed = failed.load(Ordering::Relaxed) as f64;
        lines.push(Line {
            work: format!("BEGIN, add to one row, COMMIT, {CLIENTS} clients, conflict = {conflict}"),
            unit: "/s",
            rukh: rukh.0,
            postgres: postgres.map(|(rate, _)| rate),
            bar: "-",
        });
        lines.push(Line {
            work: format!("of them run again for 40001, conflict = {conflict}"),
            unit: "%",
            rukh: 100.0 * failed / (failed + rukh.1),
            postgres: None,
            bar: if conflict == "wait" { "0" } else { "-" },
        });
    }
    Ok(lines)
}

/// Copies rows in.
pub fn copy(peers: &Peers, setting: &Setting) -> Result<Vec<Line>, Failure> {
    let rows = setting.copied;
    let mut text = Vec::new();
    let mut random = StdRng::seed_from_u64(1);
    for id in 0..rows {
        writeln!(text, "{id}\t{}\tname of {id}", random.random_range(0..1_000_000))?;
    }
    let (rukh, postgres) = peers.each(|peer| {
        peer.run(&[
            "CREATE TABLE copied (id bigint PRIMARY KEY, a int, name varchar(40))".to_owned(),
            "CREATE INDEX copied_a ON copied (a)".to_owned(),
        ])?;
        let mut client = peer.connect()?;
        let started = Instant::now();
        let mut writer = client.copy_in("COPY copied FROM STDIN")?;
        for part in text.chunks(64 << 10) {
            writer.write_all(part)?;
        }
        let written = writer.finish()?;
        let elapsed = started.elapsed();
        if written != rows {
            return Err(format!("{written} of {rows} rows were copied").into());
        }
        Ok(rows as f64 / elapsed.as_secs_f64())
    })?;
    Ok(vec![Line {
        work: format!("COPY in of {rows} rows, 1 index"),
        unit: "rows/s",
        rukh,
        postgres,
        bar: "2x",
    }])
}

/// What was seen of a long result.
struct Streamed {
    first: Duration,
    all: Duration,
    /// What the server's memory was above that before, at most.
    more: Option<u64>,
}

/// Reads a long result.
pub fn stream(peers: &Peers, setting: &Setting) -> Result<Vec<Line>, Failure> {
    let rows = setting.streamed;
    peers.each(|peer| {
        peer.run(&["CREATE TABLE big (id bigint PRIMARY KEY, a bigint, name varchar(40))".to_owned()])?;
        let mut client = peer.connect()?;
        let mut writer = client.copy_in("COPY big FROM STDIN")?;
        for id in 0..rows {
            writeln!(writer, "{id}\t{}\tname of {id}", id % 1_000)?;
        }
        writer.finish()?;
        peer.settle("big")
    })?;
    let (rukh, postgres) = peers.each(|peer| {
        let memory = || peer.is_rukh.then(|| peers.rukh.resident_bytes()).transpose();
        let mut client = peer.connect()?;
        let statement = client.prepare("SELECT * FROM big")?;
        // The first time reads what no cache has.
        let before = memory()?;
        let started = Instant::now();
        let mut result = client.query_raw(&statement, [] as [&i64; 0])?;
        let found = result.next()?;
        let first = started.elapsed();
        let (mut count, mut most) = (u64::from(found.is_some()), before);
        while result.next()?.is_some() {
            count += 1;
            if count % 500_000 == 0 {
                most = most.max(memory()?);
            }
        }
        if count != rows {
            return Err(format!("{count} rows instead of {rows}").into());
        }
        Ok(Streamed {
            first,
            all: started.elapsed(),
            more: most.zip(before).map(|(most, before)| most.saturating_sub(before)),
        })
    })?;
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let per_second = |streamed: &Streamed| rows as f64 / streamed.all.as_secs_f64();
    Ok(vec![
        Line {
            work: format!("first of {rows} rows"),
            unit: "ms",
            rukh: millis(rukh.first),
            postgres: postgres.as_ref().map(|streamed| millis(streamed.first)),
            bar: "under 20 ms",
        },
        Line {
            work: format!("all of {rows} rows"),
            unit: "rows/s",
            rukh: per_second(&rukh),
            postgres: postgres.as_ref().map(per_second),
            bar: "-",
        },
        Line {
            work: format!("memory more for {rows} rows"),
            unit: "MiB",
            rukh: rukh.more.unwrap_or(0) as f64 / f64::from(1 << 20),
            postgres: None,
            bar: "constant",
        },
    ])
}

/// Connects many clients in a burst, and has all of them ask at once.
pub fn connections(peers: &Peers, _: &Setting) -> Result<Vec<Line>, Failure> {
    const CLIENTS: usize = 200;
    let peer = Peer {
        is_rukh: true,
        port: peers.rukh.address().port(),
    };
    peer.run(&[
        "CREATE TABLE sampled (id int PRIMARY KEY, a text, b int)".to_owned(),
        "INSERT INTO sampled SELECT value, 'text ' || value, value % 100 FROM generate_series(1, 10000) AS t(value)"
            .to_owned(),
        "SELECT b, count(*) FROM sampled GROUP BY b".to_owned(),
    ])?;
    let before = peers.rukh.resident_bytes()?;
    let more = || -> Result<f64, Failure> {
        let bytes = peers.rukh.resident_bytes()?.saturating_sub(before);
        Ok(bytes as f64 / 1024.0 / CLIENTS as f64)
    };
    let connected: Result<Vec<postgres::Client>, Failure> = (0..CLIENTS).map(|_| peer.connect()).collect();
    let mut clients = connected?;
    let idle = more()?;
    std::thread::scope(|scope| -> Result<(), Failure> {
        let ask = |client: &mut postgres::Client| -> Result<(), Failure> {
            client.query("SELECT a FROM sampled WHERE id = $1", &[&7_i32])?;
            let groups = client.query("SELECT b, count(*) FROM sampled GROUP BY b", &[])?;
            match groups.len() {
                100 => Ok(()),
                other => Err(format!("{other} groups instead of 100").into()),
            }
        };
        let threads: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || ask(client)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a client panicked")?)
    })?;
    let queried = more()?;
    let line = |work: String, rukh: f64| Line {
        work,
        unit: "KiB",
        rukh,
        postgres: None,
        bar: "under 1300 KiB",
    };
    Ok(vec![
        line(format!("memory a connection, {CLIENTS} of them"), idle),
        line(
            "memory a connection, after a row and a GROUP BY".to_owned(),
            queried,
        ),
    ])
}
