//! Clients of PostgreSQL, really run: those of the examples of `docs/server.md`, and the scripts of
//! `tests/clients`.
//!
//! Python's and node's packages are installed once, below the target directory; JDBC's driver is Debian's.
//! What cannot be had here is said to be skipped, and fails where `CI` is set.

use std::path::{Path, PathBuf};
use std::process::Command;

use rukh_testkit::install::{self, activerecord, jdbc, succeed};
use rukh_testkit::{need, paths, postgres};

use crate::server;

/// Where what is installed is kept.
const KEPT: &str = env!("CARGO_TARGET_TMPDIR");

fn python() -> Result<PathBuf, String> {
    install::python(Path::new(KEPT))
}

fn node() -> Result<PathBuf, String> {
    install::node(Path::new(KEPT))
}

/// Returns the example under a heading of `docs/server.md`: the block after it.
fn example(heading: &str) -> String {
    let page = std::fs::read_to_string(paths::repository().join("docs/server.md"));
    let page = page.expect("docs/server.md can be read");
    let (_, after) = page
        .split_once(&format!("\n### {heading}\n"))
        .unwrap_or_else(|| panic!("docs/server.md has no heading {heading}"));
    let block = after.split("```").nth(1).expect("a block follows the heading");
    let (_, text) = block.split_once('\n').expect("a block has lines");
    text.to_string()
}

/// Returns a script of `tests/clients`.
fn script(name: &str) -> String {
    let path = paths::tests().join("clients").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs a program text with a client, against a server of its own; returns what it printed.
fn run(name: &str, text: &str, start: impl FnOnce(&Path) -> Command) -> String {
    let server = server();
    let text = text.replace("5432", &server.address().port().to_string());
    let directory = Path::new(KEPT).join(format!("client-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory can be made");
    let file = directory.join(name);
    std::fs::write(&file, text).expect("a program can be written");
    let printed = succeed(&mut start(&file));
    server.stop();
    printed.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn run_python(test: &str, name: &str, text: &str) -> Option<String> {
    let python = need::or_skip(test, python())?;
    Some(run(name, text, |file| {
        let mut command = Command::new(python);
        command.arg(file);
        command
    }))
}

/// Runs a program and compares what it printed with `tests/clients/NAME.out`.
fn compare(name: &str, printed: &str) {
    let path = paths::tests().join("clients").join(format!("{name}.out"));
    if std::env::var_os("UPDATE_CLIENTS").is_some() {
        std::fs::write(&path, printed).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        printed == expected,
        "{name} printed other than {}:\n{printed}",
        path.display()
    );
}

#[test]
fn examples_of_python_run() {
    for (heading, name) in [
        ("psycopg 3", "psycopg_example.py"),
        ("asyncpg", "asyncpg_example.py"),
        ("SQLAlchemy", "sqlalchemy_example.py"),
    ] {
        let printed = run_python("examples_of_python_run", name, &example(heading));
        if let Some(printed) = printed {
            assert_eq!(printed, "[(1, 'Ada'), (2, 'Grace')]\n", "{heading}");
        }
    }
}

#[test]
fn the_example_of_node_runs() {
    let Some(modules) = need::or_skip("the_example_of_node_runs", node()) else {
        return;
    };
    let printed = run("example.js", &example("node"), |file| {
        let mut command = Command::new("node");
        command.arg(file).env("NODE_PATH", modules);
        command
    });
    assert_eq!(printed, "[ { id: 1, name: 'Ada' }, { id: 2, name: 'Grace' } ]\n");
}

fn run_java(test: &str, name: &str, text: &str) -> Option<String> {
    let jar = need::or_skip(test, jdbc())?;
    Some(run(name, text, |file| {
        let mut command = Command::new("java");
        command.arg("-cp").arg(jar).arg(file);
        command
    }))
}

#[test]
fn the_example_of_jdbc_runs() {
    let printed = run_java("the_example_of_jdbc_runs", "Example.java", &example("JDBC"));
    if let Some(printed) = printed {
        assert_eq!(printed, "1 Ada\n2 Grace\n");
    }
}

#[test]
fn psycopg_reads_and_writes() {
    if let Some(printed) = run_python(
        "psycopg_reads_and_writes",
        "psycopg_client.py",
        &script("psycopg_client.py"),
    ) {
        compare("psycopg", &printed);
    }
}

#[test]
fn asyncpg_reads_and_writes() {
    if let Some(printed) = run_python(
        "asyncpg_reads_and_writes",
        "asyncpg_client.py",
        &script("asyncpg_client.py"),
    ) {
        compare("asyncpg", &printed);
    }
}

/// What Grafana, Metabase, DBeaver and pgAdmin ask.
#[test]
fn tools_find_what_there_is() {
    let test = "tools_find_what_there_is";
    if let Some(printed) = run_python(test, "tools_client.py", &script("tools_client.py")) {
        compare("tools", &printed);
    }
}

#[test]
fn odbc_reads_and_writes() {
    let test = "odbc_reads_and_writes";
    let Some(driver) = need::or_skip(test, install::odbc()) else {
        return;
    };
    let text = script("odbc_client.py").replace("psqlodbcw.so", &driver.to_string_lossy());
    if let Some(printed) = run_python(test, "odbc_client.py", &text) {
        compare("odbc", &printed);
    }
}

#[test]
fn pgcli_completes_and_runs() {
    let test = "pgcli_completes_and_runs";
    if let Some(printed) = run_python(test, "pgcli_client.py", &script("pgcli_client.py")) {
        compare("pgcli", &printed);
    }
}

#[test]
fn sqlx_reads_and_writes() {
    let source = paths::tests().join("clients").join("sqlx");
    let program = install::rust(Path::new(KEPT), &source, "sqlx-client");
    let Some(program) = need::or_skip("sqlx_reads_and_writes", program) else {
        return;
    };
    let server = server();
    let printed = succeed(Command::new(program).arg(server.address().port().to_string()));
    server.stop();
    compare("sqlx", &printed.unwrap_or_else(|error| panic!("sqlx: {error}")));
}

#[test]
fn sqlalchemy_reflects() {
    if let Some(printed) = run_python("sqlalchemy_reflects", "alchemy.py", &script("alchemy.py")) {
        compare("sqlalchemy", &printed);
    }
}

#[test]
fn alembic_migrates() {
    let test = "alembic_migrates";
    if let Some(printed) = run_python(test, "alembic_client.py", &script("alembic_client.py")) {
        compare("alembic", &printed);
    }
}

/// The migrations of Django's own applications, as they are.
#[test]
fn django_migrates() {
    let test = "django_migrates";
    if let Some(printed) = run_python(test, "django_client.py", &script("django_client.py")) {
        compare("django", &printed);
    }
}

#[test]
fn django_looks_into_documents() {
    let test = "django_looks_into_documents";
    if let Some(printed) = run_python(test, "django_documents.py", &script("django_documents.py")) {
        compare("django_documents", &printed);
    }
}

#[test]
fn activerecord_migrates() {
    if need::or_skip("activerecord_migrates", activerecord()).is_none() {
        return;
    }
    let printed = run("activerecord.rb", &script("activerecord.rb"), |file| {
        let mut command = Command::new("ruby");
        command.arg(file);
        command
    });
    compare("activerecord", &printed);
}

#[test]
fn node_reads_and_writes() {
    let Some(modules) = need::or_skip("node_reads_and_writes", node()) else {
        return;
    };
    let printed = run("node.js", &script("node.js"), |file| {
        let mut command = Command::new("node");
        command.arg(file).env("NODE_PATH", modules);
        command
    });
    compare("node", &printed);
}

/// Prisma tries migrations on a database beside, which is one of another server: a server has one.
#[test]
fn prisma_migrates() {
    let Some(modules) = need::or_skip("prisma_migrates", install::prisma(Path::new(KEPT))) else {
        return;
    };
    let servers = [server(), server()];
    let mut sh = Command::new("sh");
    sh.arg(paths::tests().join("clients/prisma/run.sh")).arg(modules);
    sh.args(
        servers
            .iter()
            .map(|server| format!("postgresql://tester@{}/rukh", server.address())),
    );
    let printed = succeed(&mut sh);
    servers.into_iter().for_each(|server| server.stop());
    compare("prisma", &printed.unwrap_or_else(|error| panic!("{error}")));
}

#[test]
fn jdbc_reads_definitions() {
    if let Some(printed) = run_java("jdbc_reads_definitions", "Jdbc.java", &script("Jdbc.java")) {
        compare("jdbc", &printed);
    }
}

#[test]
fn psql_describes() {
    let Some(program) = need::or_skip("psql_describes", postgres::program("psql")) else {
        return;
    };
    let server = server();
    let mut psql = Command::new(program);
    psql.args(["-X", "-a", "-h", "127.0.0.1", "-U", "tester", "-d", "rukh"]);
    psql.args(["-p", &server.address().port().to_string(), "-f"]);
    psql.arg(paths::tests().join("clients").join("describe.sql"));
    let output = psql.env_remove("PGSERVICE").output().expect("psql runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    let printed = printed.replace(&format!("\"{}\"", server.address().port()), "\"5432\"");
    // Errors begin with the path of the script.
    let printed = printed.replace(&format!("{}/clients/", paths::tests().display()), "");
    server.stop();
    compare("psql", &printed);
}

#[test]
fn pgbench_runs_in_every_mode() {
    let Some(program) = need::or_skip("pgbench_runs_in_every_mode", postgres::program("pgbench")) else {
        return;
    };
    let server = server();
    let port = server.address().port().to_string();
    let pgbench = |arguments: &[&str]| {
        let mut pgbench = Command::new(&program);
        pgbench.args(["-h", "127.0.0.1", "-U", "tester", "-p", &port]);
        succeed(pgbench.args(arguments).arg("rukh"))
    };
    let made = paths::tests().join("clients").join("pgbench.sql");
    let mut psql = Command::new(program.with_file_name("psql"));
    psql.args([
        "-X",
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-h",
        "127.0.0.1",
        "-U",
        "tester",
        "-p",
        &port,
    ]);
    succeed(psql.arg("-f").arg(made).arg("rukh")).unwrap_or_else(|error| panic!("pgbench.sql: {error}"));
    for mode in ["simple", "extended", "prepared"] {
        for script in ["select-only", "simple-update", "tpcb-like"] {
            let printed = pgbench(&[
                "-n",
                "-s",
                "1",
                "-c",
                "2",
                "-t",
                "20",
                "--max-tries=200",
                "-M",
                mode,
                "-b",
                script,
            ]);
            let printed = printed.unwrap_or_else(|error| panic!("{mode} {script}: {error}"));
            assert!(
                printed.contains("number of transactions actually processed: 40/40"),
                "{mode} {script}: {printed}"
            );
        }
    }
    server.stop();
}

/// What a database shows that was loaded from a dump.
const OF_A_DUMP: &[&str] = &[
    "SELECT * FROM shop.customers ORDER BY customer_id",
    "SELECT * FROM public.films ORDER BY film_id",
    "SELECT * FROM public.rentals ORDER BY customer_id, film_id",
    "SELECT at, message, bytes, flag, count(*) FROM public.log GROUP BY at, message, bytes, flag ORDER BY at, message",
    "COPY public.log TO STDOUT",
    "COPY public.films TO STDOUT",
    "SELECT * FROM public.film_list ORDER BY id",
    "SELECT table_schema, table_name, column_name, is_nullable FROM information_schema.columns WHERE table_schema IN ('public', 'shop') ORDER BY 1, 2, 3",
    "SELECT conname, contype FROM pg_constraint WHERE contype IN ('p', 'u', 'c') AND connamespace IN ('public'::regnamespace, 'shop'::regnamespace) ORDER BY 1",
    "SELECT obj_description('public.films'::regclass)",
    "INSERT INTO shop.customers (first_name) VALUES ('new') RETURNING customer_id",
    "INSERT INTO public.films (title, minutes) VALUES ('new', 90) RETURNING film_id, hours",
    "SELECT nextval('public.tickets')",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' ORDER BY 1",
    "SELECT * FROM sequels ORDER BY 1",
    "SELECT * FROM shop.orders WHERE state > 'new' ORDER BY state",
    "SELECT enum_range(NULL::shop.state), obj_description('shop.state'::regtype)",
    "INSERT INTO shop.orders (order_id) VALUES (5) RETURNING state",
    "SELECT * FROM shop.contacts WHERE born > 1990 ORDER BY mail",
    "INSERT INTO shop.contacts (contact_id) VALUES (4) RETURNING mail, born",
    "SELECT * FROM shop.years ORDER BY 1",
    "SELECT typname, typnotnull, obj_description(oid) FROM pg_type WHERE typtype = 'd' AND typnamespace IN ('public'::regnamespace, 'shop'::regnamespace) ORDER BY 1",
    "SELECT * FROM social.summaries ORDER BY 1",
    "SELECT * FROM social.domains ORDER BY 1",
    "SELECT member_id, reason FROM social.suggestions ORDER BY rank DESC, member_id",
    "DELETE FROM social.posts WHERE id = 1 RETURNING *",
    "DELETE FROM social.members WHERE id = 1; SELECT id, moved_to_id FROM social.members ORDER BY 1; SELECT * FROM social.follows ORDER BY 1",
    "SELECT count(*) FROM (SELECT lower(username) FROM social.members WHERE lower(username) = 'user3' AND coalesce(lower(domain), '') = '') t",
    "INSERT INTO social.follows (member_id, target_id) VALUES (2, NULL) ON CONFLICT (member_id, target_id) DO UPDATE SET uri = 'new' RETURNING *",
    "INSERT INTO social.members (also_known_as) VALUES (DEFAULT) RETURNING *",
];

#[test]
fn a_dump_of_postgres_loads() {
    let test = "a_dump_of_postgres_loads";
    let found = postgres::program("pg_dump").and_then(|program| Ok((program, postgres::database()?)));
    let Some((pg_dump, database)) = need::or_skip(test, found) else {
        return;
    };
    let of_postgres = database.arguments().expect("the server runs");
    let server = server();
    let port = server.address().port().to_string();
    // The user of PostgreSQL, whose the relations of the dump are.
    let of_rukh = ["-h", "127.0.0.1", "-p", &port, "-U", "rukh", "-d", "rukh"].map(String::from);
    let psql = |database: &[String], arguments: &[&str]| {
        let mut psql = Command::new(pg_dump.with_file_name("psql"));
        psql.args(["-X", "-q", "-At", "-v", "ON_ERROR_STOP=1"]);
        psql.env_remove("PGSERVICE").env("PGTZ", "UTC");
        succeed(psql.args(database).args(arguments))
    };
    let made = paths::tests().join("clients").join("dumped.sql");
    psql(&of_postgres, &["-f", &made.to_string_lossy()]).unwrap_or_else(|error| panic!("{error}"));
    for rows in [&[][..], &["--rows-per-insert=7"]] {
        let dump = succeed(Command::new(&pg_dump).args(rows).args(&of_postgres));
        let dump = dump.unwrap_or_else(|error| panic!("{error}"));
        let directory = tempfile::tempdir().expect("a directory can be made");
        let file = directory.path().join("dump.sql");
        std::fs::write(&file, dump).expect("a dump can be written");
        psql(&of_rukh, &["-f", &file.to_string_lossy()]).unwrap_or_else(|error| panic!("{error}"));
        for sql in OF_A_DUMP {
            let expected = psql(&of_postgres, &["-c", &format!("BEGIN; {sql}"), "-c", "ROLLBACK"]);
            let shown = psql(&of_rukh, &["-c", &format!("BEGIN; {sql}"), "-c", "ROLLBACK"]);
            assert_eq!(shown, expected, "{sql}");
        }
        let dropped = "DROP VIEW film_list, shop.years; DROP TABLE shop.contacts, shop.customers, shop.orders, films, rentals, log, sequels; DROP TYPE shop.state; DROP DOMAIN public.year, shop.mail; DROP SEQUENCE tickets; DROP SCHEMA shop; DROP SCHEMA social CASCADE";
        psql(&of_rukh, &["-c", dropped]).unwrap_or_else(|error| panic!("{error}"));
    }
    server.stop();
}
