//! One connection with its settings, and the way of one statement from text to output.
//!
//! Results go to the [`Output`]; notices, errors and the times of scripts go to standard error, so that
//! standard output of a script holds results and nothing else.

use std::time::{Duration, Instant};

use nu_ansi_term::Color;
use rukh::{Connection, Database, Notice, Outcome, Rows};

use crate::base::cancel::{Interrupts, Otherwise, Running};
use crate::base::error::{CliError, Exit};
use crate::base::fetched::Fetched;
use crate::base::output::{self, Output};
use crate::base::progress::Progress;
use crate::base::terminal::Terminal;
use crate::format::{Format, RowWriter, Style, row_writer};
use crate::sessions::render_error;
use crate::sessions::settings::{Settings, Switch, Verbosity};

/// Where statements come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A person at a prompt.
    Interactive,
    /// A file, a pipe, or the command line.
    Script,
}

/// A connection, its settings and its output.
pub struct Session {
    connection: Connection,
    mode: Mode,
    interrupts: Interrupts,
    progress: Option<Progress>,
    last_error: Option<String>,
    failed: bool,
    /// What `\x`, `\pset` and the options change.
    pub settings: Settings,
    /// Where results go.
    pub output: Output,
}

impl Session {
    /// Connects to `database`.
    ///
    /// # Errors
    /// When no handler for Ctrl-C can be installed.
    pub fn new(database: &Database, settings: Settings, mode: Mode) -> Result<Session, CliError> {
        let mut connection = database.connect();
        let otherwise = if mode == Mode::Interactive {
            Otherwise::Ignore
        } else {
            Otherwise::Exit
        };
        let interrupts = Interrupts::install(connection.cancel_handle(), otherwise);
        let interrupts = interrupts.map_err(|source| CliError::Terminal { source })?;
        let progress = Terminal::detect()
            .progress
            .then(|| Progress::attach(&mut connection));
        let output = Output::stdout();
        Ok(Session {
            connection,
            mode,
            interrupts,
            progress,
            last_error: None,
            failed: false,
            settings,
            output,
        })
    }

    /// Returns the connection, for what prints nothing.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Returns whether a failure was reported and passed over.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Runs one statement and writes its rows in the format set, or its tag when tags are printed.
    pub fn run_statement(&mut self, sql: &str) -> Result<(), CliError> {
        let started = Instant::now();
        self.guarded(sql, |session, outcome, running| {
            session.write_outcome(sql, outcome, running)
        })?;
        self.tell_time(started.elapsed())
    }

    /// Runs a COPY of the tool's own and returns how many rows it says that it copied.
    pub fn run_for_count(&mut self, sql: &str) -> Result<u64, CliError> {
        self.count_of(sql, |connection| connection.execute(sql))
    }

    /// As [`Session::run_for_count`], and has the file noted in the database, together with its rows.
    pub fn run_noted(&mut self, sql: &str, journal: &str, file: &str) -> Result<u64, CliError> {
        self.count_of(sql, |connection| connection.execute_import(sql, journal, file))
    }

    fn count_of(
        &mut self,
        sql: &str,
        run: impl FnOnce(&mut Connection) -> rukh::Result<Outcome>,
    ) -> Result<u64, CliError> {
        self.guarded_by(sql, run, |session, outcome, _| {
            session.tell_notices(&outcome.notices)?;
            let count = outcome
                .tag
                .rsplit(' ')
                .next()
                .and_then(|count| count.parse().ok());
            Ok(count.unwrap_or_default())
        })
    }

    /// Runs one statement and hands its outcome to `take`, while Ctrl-C cancels it and progress is shown.
    fn guarded<T>(
        &mut self,
        sql: &str,
        take: impl FnOnce(&mut Session, Outcome, &Running<'_>) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        self.guarded_by(sql, |connection| connection.execute(sql), take)
    }

    /// As [`Session::guarded`], where `run` has the statement run.
    fn guarded_by<T>(
        &mut self,
        sql: &str,
        run: impl FnOnce(&mut Connection) -> rukh::Result<Outcome>,
        take: impl FnOnce(&mut Session, Outcome, &Running<'_>) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let interrupts = self.interrupts.clone();
        let running = interrupts.running();
        let progress = self.progress.clone();
        progress.iter().for_each(Progress::begin);
        let outcome = run(&mut self.connection).map_err(|error| CliError::statement(sql, error));
        if outcome.is_err() {
            let notices = self.connection.take_notices();
            self.tell_notices(&notices)?;
        }
        if outcome
            .as_ref()
            .is_ok_and(|outcome| outcome.rows.is_none() || !outcome.notices.is_empty())
        {
            progress.iter().for_each(Progress::end);
        }
        let taken = outcome.and_then(|outcome| take(self, outcome, &running));
        progress.iter().for_each(Progress::end);
        taken
    }

    fn write_outcome(&mut self, sql: &str, outcome: Outcome, running: &Running<'_>) -> Result<(), CliError> {
        self.tell_notices(&outcome.notices)?;
        let changes = outcome.rows.is_none() || !outcome.tag.starts_with("SELECT");
        if let Some(mut rows) = outcome.rows {
            let mut writer = row_writer(self.settings.format, &rows.schema(), &self.settings.style);
            write_rows(
                sql,
                &mut rows,
                &mut *writer,
                &mut self.output,
                running,
                self.progress.as_ref(),
            )?;
        }
        if self.settings.tags == Switch::On && changes {
            self.output.write(|out| writeln!(out, "{}", outcome.tag))?;
        }
        self.output.flush()
    }

    /// Writes the rows of `query` to `output`, or to where results go, in a format of their own.
    pub fn export(
        &mut self,
        query: &str,
        format: Format,
        style: &Style,
        output: Option<&mut Output>,
    ) -> Result<(), CliError> {
        let started = Instant::now();
        let count = self.guarded(query, |session, outcome, running| {
            session.tell_notices(&outcome.notices)?;
            let mut rows = outcome
                .rows
                .ok_or_else(|| CliError::command("\\copy: the statement gives no rows"))?;
            let mut writer = row_writer(format, &rows.schema(), style);
            let output = output.unwrap_or(&mut session.output);
            let count = write_rows(
                query,
                &mut rows,
                &mut *writer,
                output,
                running,
                session.progress.as_ref(),
            )?;
            output.flush()?;
            Ok(count)
        })?;
        self.tell(&format!("COPY {count}"))?;
        self.tell_time(started.elapsed())
    }

    /// Runs an internal query of the program and returns its rows.
    pub fn fetch(&mut self, query: &str) -> Result<Fetched, CliError> {
        let interrupts = self.interrupts.clone();
        let _running = interrupts.running();
        self.progress.iter().for_each(Progress::begin);
        let fetched = self
            .connection
            .query(query)
            .map_err(Fetched::error)
            .and_then(Fetched::read);
        self.progress.iter().for_each(Progress::end);
        fetched
    }

    /// Writes rows in memory in the format set.
    pub fn write_rows_at_hand(&mut self, rows: &Fetched) -> Result<(), CliError> {
        let mut writer = row_writer(self.settings.format, &rows.batch.schema(), &self.settings.style);
        self.output.write(|out| {
            writer.begin(out)?;
            writer.write_batch(out, &rows.batch)?;
            writer.finish(out)
        })?;
        self.output.flush()
    }

    /// Writes text to where results go.
    pub fn write_text(&mut self, text: &str) -> Result<(), CliError> {
        self.output.write(|out| out.write_all(text.as_bytes()))?;
        self.output.flush()
    }

    /// Reports at the prompt what has changed; scripts hold results only.
    pub fn tell(&mut self, text: &str) -> Result<(), CliError> {
        match self.mode {
            Mode::Script => Ok(()),
            Mode::Interactive => output::tell(&format!(
                "{text}
"
            )),
        }
    }

    /// Shows a failure on standard error, after all output before it.
    pub fn report(&mut self, error: &CliError) {
        // What cannot be written any more must not hide the error.
        let _ = self.output.flush();
        self.last_error = Some(render_error::render(error, Verbosity::Verbose));
        if self.mode == Mode::Interactive && error.exit() == Exit::Interrupted {
            // The terminal has just echoed ^C.
            output::complain("\n");
        }
        let text = render_error::render(error, self.settings.verbosity);
        output::complain(&self.painted(&text));
    }

    /// Reports a failure and passes over it when settings say so, else gives it back.
    pub fn pass_over(&mut self, error: CliError) -> Result<(), CliError> {
        if self.settings.on_error == crate::sessions::settings::OnError::Stop || error.is_final() {
            return Err(error);
        }
        self.report(&error);
        self.failed = true;
        Ok(())
    }

    /// Returns the last error with all it says.
    pub fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    fn tell_notices(&mut self, notices: &[Notice]) -> Result<(), CliError> {
        self.output.flush()?;
        notices
            .iter()
            .for_each(|notice| output::complain(&render_error::notice(notice)));
        Ok(())
    }

    fn tell_time(&mut self, elapsed: Duration) -> Result<(), CliError> {
        let line = format!("{}\n", time_line(elapsed));
        match (self.settings.timing, self.mode) {
            (Switch::Off, _) => {}
            (Switch::On, Mode::Interactive) => output::tell(&line)?,
            (Switch::On, Mode::Script) => output::complain(&line),
        }
        Ok(())
    }

    fn painted(&self, text: &str) -> String {
        let red = Color::Red.bold();
        match text.split_once("ERROR:") {
            Some((before, after)) if self.settings.colours => {
                format!("{before}{}{after}", red.paint("ERROR:"))
            }
            _ => text.to_owned(),
        }
    }
}

/// Writes all rows and returns their number; progress ends with the first of them.
fn write_rows(
    sql: &str,
    rows: &mut Rows,
    writer: &mut dyn RowWriter,
    output: &mut Output,
    running: &Running<'_>,
    progress: Option<&Progress>,
) -> Result<u64, CliError> {
    let mut next = || rows.next_batch().map_err(|error| CliError::statement(sql, error));
    let mut batch = next()?;
    let mut count = 0;
    progress.into_iter().for_each(Progress::end);
    output.write(|out| writer.begin(out))?;
    while let Some(rows) = batch {
        output.write(|out| writer.write_batch(out, &rows))?;
        count += rows.num_rows() as u64;
        if running.is_cancelled() {
            return Err(CliError::Cancelled);
        }
        batch = next()?;
    }
    output.write(|out| writer.finish(out))?;
    Ok(count)
}

/// Returns `Time: 12.345 ms`, with minutes and seconds beside it from one second on.
fn time_line(elapsed: Duration) -> String {
    let milliseconds = elapsed.as_secs_f64() * 1_000.0;
    let seconds = elapsed.as_secs();
    if seconds == 0 {
        return format!("Time: {milliseconds:.3} ms");
    }
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let rest = format!("{minutes:02}:{:02}.{:03}", seconds % 60, elapsed.subsec_millis());
    let clock = if hours > 0 {
        format!("{hours}:{rest}")
    } else {
        rest
    };
    format!("Time: {milliseconds:.3} ms ({clock})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let cases = [
            (Duration::from_micros(1_234), "Time: 1.234 ms"),
            (Duration::from_millis(999), "Time: 999.000 ms"),
            (Duration::from_millis(61_250), "Time: 61250.000 ms (01:01.250)"),
            (Duration::from_secs(3_661), "Time: 3661000.000 ms (1:01:01.000)"),
        ];
        for (elapsed, expected) in cases {
            assert_eq!(time_line(elapsed), expected);
        }
    }
}
