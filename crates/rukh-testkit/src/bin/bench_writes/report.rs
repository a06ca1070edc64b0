//! The report: a line a work, each with its ratios and its bar.

use std::fmt;
use std::time::Duration;

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    /// So many in this time.
    PerSecond(usize, Duration),
    /// How often as much, or as long, as the same without.
    Times(f64),
    Bytes(u64),
}

impl Figure {
    /// How much better this is than another.
    fn against(self, other: Figure) -> f64 {
        match (self, other) {
            (Figure::Bytes(ours), Figure::Bytes(theirs)) => theirs as f64 / ours as f64,
            (ours, theirs) => ours.rate() / theirs.rate(),
        }
    }

    fn rate(self) -> f64 {
        match self {
            Figure::PerSecond(count, time) => count as f64 / time.as_secs_f64(),
            Figure::Times(times) => times,
            Figure::Bytes(bytes) => bytes as f64,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::PerSecond(..) => write!(f, "{:.0}/s", self.rate()),
            Figure::Times(times) => write!(f, "{times:.2}x"),
            Figure::Bytes(bytes) => write!(f, "{:.1} MB", *bytes as f64 / 1e6),
        }
    }
}

/// One work.
pub struct Line {
    pub work: String,
    pub rukh: Figure,
    pub postgres: Option<Figure>,
    pub sqlite: Option<Figure>,
    pub bar: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = |figure: Option<Figure>| match figure {
            Some(figure) => format!("{figure} ({:.2}x)", self.rukh.against(figure)),
            None => "-".to_owned(),
        };
        let Line { work, rukh, bar, .. } = self;
        let (postgres, sqlite) = (peer(self.postgres), peer(self.sqlite));
        let rukh = rukh.to_string();
        write!(f, "| {work} | {rukh} | {postgres} | {sqlite} | {bar} |")
    }
}

/// The head of the report.
pub const HEAD: &str =
    "| work | Rukh | PostgreSQL (Rukh is) | SQLite (Rukh is) | bar |\n|---|---|---|---|---|";
