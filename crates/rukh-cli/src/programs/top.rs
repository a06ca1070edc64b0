//! `rukh top`: what a running server does, looked at again and again: sessions, statements, rates.
//!
//! It is a client like others, and reads `pg_stat_activity` and `pg_stat_statements`. On a terminal each look
//! takes the place of the one before; elsewhere they follow one another as plain text. Rates are what has come
//! since the last look.
//!
//! ```text
//! rukh top  sessions 3 (1 active, 1 in transaction)  statements 812.0/s  rows 8120.0/s  keys 8120.0/s
//!
//!        pid user       state          seconds statement
//!          4 ann        active             0.0 SELECT …
//!
//!    calls/s  ms/call     rows/s     keys/s plan     statement
//!      811.5     0.04     8115.0     8115.0 direct   SELECT n FROM t WHERE id = $1
//! ```

use std::collections::HashMap;
use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls, SimpleQueryMessage, SimpleQueryRow};

use crate::base::error::{CliError, Exit};
use crate::base::terminal::Terminal;
use crate::programs::arguments::TopArguments;
use crate::{base::output, programs::run};

/// The variables with the password.
const PASSWORDS: [&str; 2] = ["RUKH_PASSWORD", "PGPASSWORD"];
/// Moves to the upper left, and clears the screen.
const CLEAR: &str = "\x1b[H\x1b[2J";
/// Sessions and statements that are shown of each look.
const LINES_MAX: usize = 15;
/// Characters of a statement that are shown.
const STATEMENT_CHARS_MAX: usize = 100;

const ACTIVITY: &str = "SELECT pid, coalesce(usename, '') AS usename, state, \
    CASE WHEN state = 'active' THEN date_part('epoch', now()) - date_part('epoch', query_start) ELSE 0 END AS seconds, query \
    FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
    ORDER BY CASE state WHEN 'active' THEN 0 WHEN 'idle' THEN 2 ELSE 1 END, 4 DESC, pid";

const STATEMENTS: &str = "SELECT coalesce(userid, 0) AS userid, query, calls, total_exec_time, rows, keys_examined, \
    coalesce(plan, '') AS plan FROM pg_stat_statements";

/// Shows a server's activity until the user quits.
pub fn run(arguments: &TopArguments) -> Exit {
    match look(arguments) {
        Ok(()) => Exit::Success,
        Err(error) => run::give_up(&error),
    }
}

fn look(arguments: &TopArguments) -> Result<(), CliError> {
    let mut config: Config = arguments.target.parse().map_err(|error| failed(&error))?;
    if config.get_user().is_none() {
        config.user("rukh");
    }
    if config.get_password().is_none()
        && let Some(password) = PASSWORDS.iter().find_map(|name| std::env::var(name).ok())
    {
        config.password(password);
    }
    config.application_name("rukh top");
    let mut client = config.connect(NoTls).map_err(|error| failed(&error))?;
    let terminal = Terminal::detect();
    let is_screen = terminal.interactive && terminal.capable;
    let rounds = arguments.count.or_else(|| (!is_screen).then_some(1));
    let interval = Duration::from_secs_f64(arguments.interval);
    let mut before = Look::new(&mut client)?;
    let mut round = 0;
    while rounds.is_none_or(|rounds| round < rounds) {
        std::thread::sleep(interval);
        let now = Look::new(&mut client)?;
        let text = now.since(&before).text();
        output::tell(&match (is_screen, round) {
            (true, _) => format!("{CLEAR}{text}"),
            (false, 0) => text,
            (false, _) => format!("\n{text}"),
        })?;
        before = now;
        round += 1;
    }
    Ok(())
}

fn failed(error: &postgres::Error) -> CliError {
    let message = error.as_db_error().map(|error| error.message().to_string());
    let mut message = message.unwrap_or_else(|| error.to_string());
    if let Some(source) = std::error::Error::source(error).filter(|_| error.as_db_error().is_none()) {
        message += &format!(": {source}");
    }
    CliError::command(message)
}

/// Counters of a server at one moment.
struct Look {
    at: Instant,
    sessions: Vec<Session>,
    /// By role and text.
    statements: HashMap<(String, String), Statement>,
}

struct Session {
    pid: String,
    user: String,
    state: String,
    seconds: f64,
    text: String,
}

/// What a statement has cost.
#[derive(Clone, Default)]
struct Statement {
    calls: f64,
    ms: f64,
    rows: f64,
    keys: f64,
    plan: String,
}

impl Statement {
    /// Returns the increase since another sample; the whole counts if the server was restarted between them.
    fn since(&self, before: Option<&Statement>) -> Statement {
        let zero = Statement::default();
        let before = before
            .filter(|before| before.calls <= self.calls)
            .unwrap_or(&zero);
        Statement {
            calls: self.calls - before.calls,
            ms: self.ms - before.ms,
            rows: self.rows - before.rows,
            keys: self.keys - before.keys,
            plan: self.plan.clone(),
        }
    }
}

impl Look {
    fn new(client: &mut Client) -> Result<Self, CliError> {
        let session = |row: &SimpleQueryRow| Session {
            pid: text(row, 0),
            user: text(row, 1),
            state: text(row, 2),
            seconds: number(row, 3),
            text: text(row, 4),
        };
        let statement = |row: &SimpleQueryRow| {
            let statement = Statement {
                calls: number(row, 2),
                ms: number(row, 3),
                rows: number(row, 4),
                keys: number(row, 5),
                plan: text(row, 6),
            };
            ((text(row, 0), text(row, 1)), statement)
        };
        let sessions = rows(client, ACTIVITY)?.iter().map(session).collect();
        let statements = rows(client, STATEMENTS)?.iter().map(statement).collect();
        Ok(Look {
            at: Instant::now(),
            sessions,
            statements,
        })
    }

    fn since<'a>(&'a self, before: &Look) -> Screen<'a> {
        let seconds = self.at.duration_since(before.at).as_secs_f64();
        let changed = self.statements.iter().map(|(key, statement)| {
            let since = statement.since(before.statements.get(key));
            (key.1.as_str(), since)
        });
        // The looks themselves are not what is looked for.
        let others = changed.filter(|(text, _)| !text.contains("pg_stat_"));
        let mut statements: Vec<_> = others.filter(|(_, since)| since.calls > 0.0).collect();
        statements.sort_by(|(a, one), (b, two)| two.ms.total_cmp(&one.ms).then(a.cmp(b)));
        Screen {
            seconds: seconds.max(f64::MIN_POSITIVE),
            sessions: &self.sessions,
            statements,
        }
    }
}

fn rows(client: &mut Client, sql: &str) -> Result<Vec<SimpleQueryRow>, CliError> {
    let messages = client.simple_query(sql).map_err(|error| failed(&error))?;
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    };
    Ok(messages.into_iter().filter_map(row).collect())
}

fn text(row: &SimpleQueryRow, at: usize) -> String {
    row.get(at).unwrap_or_default().to_string()
}

fn number(row: &SimpleQueryRow, at: usize) -> f64 {
    row.get(at).and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

/// What is shown of one look.
struct Screen<'a> {
    seconds: f64,
    sessions: &'a [Session],
    /// What statements have cost since the last look, the dearest first.
    statements: Vec<(&'a str, Statement)>,
}

impl Screen<'_> {
    fn text(&self) -> String {
        let count = |what: &str| {
            self.sessions
                .iter()
                .filter(|one| one.state.starts_with(what))
                .count()
        };
        let rate = |of: &dyn Fn(&Statement) -> f64| -> f64 {
            self.statements
                .iter()
                .fold(0.0, |sum, (_, since)| sum + of(since))
                / self.seconds
        };
        let mut text = format!(
            "rukh top  sessions {} ({} active, {} in transaction)  statements {:.1}/s  rows {:.1}/s  keys {:.1}/s\n",
            self.sessions.len(),
            count("active"),
            count("idle in transaction"),
            rate(&|since| since.calls),
            rate(&|since| since.rows),
            rate(&|since| since.keys),
        );
        text += &format!(
            "\n{:>10} {:<10} {:<20} {:>8} statement\n",
            "pid", "user", "state", "seconds"
        );
        for session in self.sessions.iter().take(LINES_MAX) {
            text += &format!(
                "{:>10} {:<10} {:<20} {:>8.1} {}\n",
                session.pid,
                session.user,
                session.state,
                session.seconds,
                shortened(&session.text)
            );
        }
        text += &format!(
            "\n{:>10} {:>10} {:>10} {:>10} {:<8} statement\n",
            "calls/s", "ms/call", "rows/s", "keys/s", "plan"
        );
        for (statement, since) in self.statements.iter().take(LINES_MAX) {
            text += &format!(
                "{:>10.1} {:>10.3} {:>10.1} {:>10.1} {:<8} {}\n",
                since.calls / self.seconds,
                since.ms / since.calls,
                since.rows / self.seconds,
                since.keys / self.seconds,
                since.plan,
                shortened(statement)
            );
        }
        text
    }
}

/// Returns the beginning of a text, in one line.
fn shortened(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(STATEMENT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(calls: f64, ms: f64) -> Statement {
        Statement {
            calls,
            ms,
            rows: calls * 2.0,
            keys: calls * 3.0,
            plan: "direct".to_string(),
        }
    }

    #[test]
    fn rates_are_what_has_come_since() {
        let key = |text: &str| ("0".to_string(), text.to_string());
        let at = Instant::now();
        let look = |after: u64, calls: f64| Look {
            at: at + Duration::from_secs(after),
            sessions: vec![Session {
                pid: "7".to_string(),
                user: "ann".to_string(),
                state: "active".to_string(),
                seconds: 1.25,
                text: "SELECT\n  1".to_string(),
            }],
            statements: HashMap::from([
                (key("SELECT $1"), statement(calls, calls / 2.0)),
                (key("SELECT still"), statement(5.0, 5.0)),
                (key("SELECT * FROM pg_stat_activity"), statement(calls, calls)),
            ]),
        };
        let text = look(2, 30.0).since(&look(0, 10.0)).text();
        assert_eq!(
            text,
            "rukh top  sessions 1 (1 active, 0 in transaction)  statements 10.0/s  rows 20.0/s  keys 30.0/s\n\
             \n       pid user       state                 seconds statement\n\
             \x20        7 ann        active                    1.2 SELECT 1\n\
             \n   calls/s    ms/call     rows/s     keys/s plan     statement\n\
             \x20     10.0      0.500       20.0       30.0 direct   SELECT $1\n"
        );
        // The server was restarted.
        let text = look(2, 4.0).since(&look(0, 10.0)).text();
        assert!(text.contains("statements 2.0/s"), "{text}");
    }

    #[test]
    fn long_statements_are_cut() {
        assert_eq!(shortened("a\n b"), "a b");
        let long = "ü".repeat(200);
        assert_eq!(shortened(&long).chars().count(), STATEMENT_CHARS_MAX + 1);
    }
}
