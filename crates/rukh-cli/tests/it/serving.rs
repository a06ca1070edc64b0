//! Settings of `rukh serve` by a file, by variables and by options: every setting that is documented, in every form.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use postgres::{Client, Config, NoTls, SimpleQueryMessage};

use crate::transcript::Place;

/// Settings with their values as numbers where they can be such, as text with units, and what sessions then show.
const SETTINGS: [(&str, &str, &str, Option<&str>); 19] = [
    ("listen", "127.0.0.1:0", "127.0.0.1:0", None),
    ("http", "127.0.0.1:0", "127.0.0.1:0", None),
    ("flight", "0", "127.0.0.1:0", None),
    ("flight_session_timeout_s", "60", "1min", None),
    ("connections_max", "20", "20", None),
    ("message_bytes_max", "1048576", "1MB", None),
    ("authentication_timeout_s", "120", "2min", None),
    ("shutdown_timeout_s", "1", "1s", None),
    ("statement_timeout", "5000", "5s", Some("5000")),
    ("transaction_timeout", "60000", "1min", Some("60000")),
    ("idle_in_transaction_session_timeout", "0", "0", Some("0")),
    ("idle_session_timeout", "3600000", "1h", Some("3600000")),
    ("query_memory_limit", "0", "0", Some("0")),
    ("conflict", "fail", "fail", Some("fail")),
    (
        "default_transaction_isolation",
        "repeatable read",
        "repeatable read",
        Some("repeatable read"),
    ),
    ("lock_timeout", "5000", "5s", Some("5000")),
    ("log_format", "text", "text", None),
    ("tls.certificate", "", "", None),
    ("tls.key", "", "", None),
];

/// Which of the two forms of a value.
#[derive(Clone, Copy, Debug)]
enum Form {
    Number,
    Text,
}

fn value(
    form: Form,
    setting: &(&'static str, &'static str, &'static str, Option<&'static str>),
) -> &'static str {
    match form {
        Form::Number => setting.1,
        Form::Text => setting.2,
    }
}

/// Writes a value as TOML has it: numbers as such in one form, as text in the other.
fn toml(form: Form, value: &str) -> String {
    match (form, value.parse::<u64>()) {
        (Form::Number, Ok(number)) => number.to_string(),
        _ => format!("\"{value}\""),
    }
}

/// A server that was started, or the words it ended with.
enum Started {
    Serves(Child, u16),
    Refused(String),
}

fn start(place: &Place, arguments: &[&str], variables: &[(String, String)]) -> Started {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rukh"));
    command.args(["serve", ":memory:"]).args(arguments);
    command.current_dir(place.path("."));
    command.env_clear().envs(variables.iter().cloned());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built");
    let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut said = String::new();
    while log.read_line(&mut said).expect("the log is text") > 0 {
        let last = said.lines().next_back().unwrap_or_default();
        if let Some(address) = last.strip_prefix("listening on 127.0.0.1:") {
            let port = address.parse().expect("it is a port");
            // Read to the end, so that the server never waits for its log to be read.
            std::thread::spawn(move || log.read_to_end(&mut Vec::new()));
            return Started::Serves(child, port);
        }
    }
    child.wait().expect("it has ended");
    Started::Refused(said)
}

fn serves(what: &str, started: Started) -> (Child, u16) {
    match started {
        Started::Serves(child, port) => (child, port),
        Started::Refused(said) => panic!("{what}: {said}"),
    }
}

/// Compares what sessions show with what was set, and ends the server.
fn check(what: &str, started: Started) {
    let (mut child, port) = serves(what, started);
    let mut config = Config::new();
    config.host("127.0.0.1").port(port).user("tester").dbname("rukh");
    let mut client: Client = config.connect(NoTls).expect("the server takes connections");
    for (name, .., shown) in SETTINGS {
        let Some(shown) = shown else {
            continue;
        };
        let answer = client
            .simple_query(&format!("SHOW {name}"))
            .expect("it is a setting");
        let row = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_string),
            _ => None,
        });
        assert_eq!(row.as_deref(), Some(shown), "{what}: {name}");
    }
    child.kill().expect("the server can be killed");
    child.wait().expect("it ends");
}

#[test]
fn every_setting_in_every_form() {
    let place = Place::empty();
    for form in [Form::Number, Form::Text] {
        let plain = SETTINGS.iter().filter(|(name, ..)| !name.starts_with("tls."));
        let lines = plain
            .clone()
            .map(|setting| format!("{} = {}\n", setting.0, toml(form, value(form, setting))));
        place.write("rukh.toml", &lines.collect::<String>());
        check(
            &format!("file, {form:?}"),
            start(&place, &["--config", "rukh.toml"], &[]),
        );
        let variable = |setting: &(&'static str, _, _, _)| {
            (
                format!("RUKH_{}", setting.0.to_uppercase()),
                value(form, setting).to_string(),
            )
        };
        let variables: Vec<(String, String)> = plain.map(variable).collect();
        check(&format!("variables, {form:?}"), start(&place, &[], &variables));
    }
    for flight in ["0", "127.0.0.1:0"] {
        let options = [
            "--listen",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0",
            "--flight",
            flight,
        ];
        let (mut child, _) = serves("options", start(&place, &options, &[]));
        child.kill().expect("the server can be killed");
        child.wait().expect("it ends");
    }
}

/// Certificate and key are read in every form; the server ends with an error that they do not exist.
#[test]
fn settings_of_tls_in_every_form() {
    let place = Place::empty();
    for required in ["true", "\"true\"", "\"on\"", "1"] {
        let file =
            format!("listen = \"127.0.0.1:0\"\n[tls]\ncertificate = \"1\"\nkey = 2\nrequired = {required}\n");
        place.write("rukh.toml", &file);
        for (what, started) in [
            ("file", start(&place, &["--config", "rukh.toml"], &[])),
            (
                "variables",
                start(
                    &place,
                    &["--listen", "127.0.0.1:0"],
                    &[
                        ("RUKH_TLS__CERTIFICATE".to_string(), "1".to_string()),
                        ("RUKH_TLS__KEY".to_string(), "2".to_string()),
                        ("RUKH_TLS__REQUIRED".to_string(), required.replace('"', "")),
                    ],
                ),
            ),
        ] {
            match started {
                Started::Refused(said) => {
                    assert!(
                        said.contains("could not use \"1\" for TLS"),
                        "{what}, {required}: {said}"
                    );
                }
                Started::Serves(..) => panic!("{what}: it serves without a certificate"),
            }
        }
    }
}

#[test]
fn values_that_are_none_are_refused_by_name() {
    let place = Place::empty();
    for (name, value, message) in [
        ("statement_timeout", "soon", "statement_timeout"),
        ("query_memory_limit", "much", "query_memory_limit"),
        ("connections_max", "-1", "whole number"),
        ("message_bytes_max", "1 metre", "bytes"),
        ("shutdown_timeout_s", "1.5", "seconds"),
        ("tls__required", "perhaps", "true or false"),
    ] {
        let variables = [
            (format!("RUKH_{}", name.to_uppercase()), value.to_string()),
            ("RUKH_TLS__KEY".to_string(), "none".to_string()),
            ("RUKH_TLS__CERTIFICATE".to_string(), "none".to_string()),
        ];
        let variables = match name.starts_with("tls") {
            true => &variables[..],
            false => &variables[..1],
        };
        match start(&place, &["--listen", "127.0.0.1:0"], variables) {
            Started::Refused(said) => assert!(said.contains(message), "{name}: {said}"),
            Started::Serves(..) => panic!("{name}: {value} was taken"),
        }
    }
}

/// The tables of the documentation name no setting that is not tried here.
#[test]
fn what_is_documented_is_tried() {
    let tried: Vec<&str> = SETTINGS
        .iter()
        .map(|(name, ..)| *name)
        .chain(["tls.required"])
        .collect();
    for (page, heading) in [("server.md", "## Configuration"), ("flight.md", "RUKH_FLIGHT")] {
        let file = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&file).expect("the page is there");
        let from = text.find(heading).expect("the page has a table of settings");
        let rows = text[from..].lines().skip_while(|line| !line.starts_with('|'));
        let rows = rows
            .take_while(|line| line.starts_with('|'))
            .filter(|row| row.contains("RUKH_"));
        let names: Vec<&str> = rows
            .filter_map(|row| row.split('|').nth(1))
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
            .collect();
        assert!(!names.is_empty(), "{page}");
        for name in names {
            assert!(tried.contains(&name), "{page}: {name}");
        }
    }
}
