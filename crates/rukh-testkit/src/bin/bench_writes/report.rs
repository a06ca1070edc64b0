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
    pub bar: Bar,
}

/// What is to be reached.
#[derive(Clone, Copy, Debug)]
pub enum Bar {
    /// To be so many times better than PostgreSQL, and than SQLite.
    Better(Option<f64>, Option<f64>),
    AtLeast(f64),
    AtMost(f64),
    /// Megabytes, at most.
    Megabytes(f64),
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bar::Better(postgres, sqlite) => {
                let name = |times: &Option<f64>, name| times.map(|times| format!("{times}x {name}"));
                let names: Vec<String> = [name(postgres, "PostgreSQL"), name(sqlite, "SQLite")]
                    .into_iter()
                    .flatten()
                    .collect();
                f.write_str(&names.join(", "))
            }
            Bar::AtLeast(times) => write!(f, "at least {times}x"),
            Bar::AtMost(times) => write!(f, "at most {times}x"),
            Bar::Megabytes(megabytes) => write!(f, "at most {megabytes} MB"),
        }
    }
}

impl Line {
    /// Whether the bar is reached, as far as there are engines to compare with; `None` if there are none.
    fn is_reached(&self) -> Option<bool> {
        let better = |figure: Option<Figure>, times: Option<f64>| Some(self.rukh.against(figure?) >= times?);
        match self.bar {
            Bar::AtLeast(times) => Some(self.rukh.rate() >= times),
            Bar::AtMost(times) => Some(self.rukh.rate() <= times),
            Bar::Megabytes(megabytes) => Some(self.rukh.rate() <= megabytes * 1e6),
            Bar::Better(postgres, sqlite) => {
                let all = [better(self.postgres, postgres), better(self.sqlite, sqlite)];
                let mut known = all.into_iter().flatten().peekable();
                known.peek()?;
                Some(known.all(|reached| reached))
            }
        }
    }
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
        let reached = match self.is_reached() {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        };
        write!(
            f,
            "| {work} | {rukh} | {postgres} | {sqlite} | {bar} | {reached} |"
        )
    }
}

/// The head of the report.
pub const HEAD: &str =
    "| work | Rukh | PostgreSQL (Rukh is) | SQLite (Rukh is) | bar | reached |\n|---|---|---|---|---|---|";
