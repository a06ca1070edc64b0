//! A progress bar on standard error for statements that take long.
//!
//! The database reports from any thread; the bar appears once a statement has run for
//! [`PATIENCE`] and goes away with the first row or the end of the statement, so that it never stands in
//! the output. Without a terminal there is none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use rukh::{Connection, ProgressReport};

/// The time a statement runs before its progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows the progress of the statements of one connection.
#[derive(Clone, Default)]
pub struct Progress {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// When the running statement began; none while nothing may be drawn.
    started: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Listens to the reports of `connection`.
    pub fn attach(connection: &mut Connection) -> Progress {
        let progress = Progress::default();
        let receiver = progress.clone();
        connection.on_progress(Box::new(move |report| receiver.report(report)));
        progress
    }

    /// Begins a statement.
    pub fn begin(&self) {
        self.lock().started = Some(Instant::now());
    }

    /// Removes the bar; later reports of the statement draw nothing.
    pub fn end(&self) {
        let mut state = self.lock();
        state.started = None;
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn report(&self, report: &ProgressReport) {
        let mut state = self.lock();
        if state.started.is_some_and(|started| started.elapsed() >= PATIENCE) {
            let bar = state.bar.get_or_insert_with(|| new_bar(report));
            show(bar, report);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn new_bar(report: &ProgressReport) -> ProgressBar {
    let bar = ProgressBar::no_length().with_style(style(report));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn style(report: &ProgressReport) -> ProgressStyle {
    let unit = report.unit;
    let template = match report.total {
        Some(_) if unit == "bytes" => {
            "{msg} [{bar:30}] {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left".to_owned()
        }
        Some(_) => {
            format!("{{msg}} [{{bar:30}}] {{human_pos}}/{{human_len}} {unit}, {{per_sec}}, {{eta}} left")
        }
        None => format!("{{spinner}} {{msg}} {{human_pos}} {unit}, {{per_sec}}, {{elapsed}}"),
    };
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn show(bar: &ProgressBar, report: &ProgressReport) {
    if let Some(total) = report.total
        && bar.length() != Some(total)
    {
        bar.set_length(total);
        bar.set_style(style(report));
    }
    bar.set_message(report.label.clone());
    bar.set_position(report.done);
}
