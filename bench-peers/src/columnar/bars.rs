//! What is wanted of ratios, and whether they are what is wanted.

use std::fmt;

/// What a ratio should be.
#[derive(Clone, Copy, Debug)]
pub enum Bar {
    /// Less than this.
    Below(f64),
    /// This or less.
    AtMost(f64),
    /// This or more.
    AtLeast(f64),
}

impl Bar {
    fn is_reached(self, ratio: f64) -> bool {
        match self {
            Bar::Below(limit) => ratio < limit,
            Bar::AtMost(limit) => ratio <= limit,
            Bar::AtLeast(limit) => ratio >= limit,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bar::Below(limit) => write!(f, "below {limit}"),
            Bar::AtMost(limit) => write!(f, "at most {limit}"),
            Bar::AtLeast(limit) => write!(f, "at least {limit}"),
        }
    }
}

/// All bars of a run with the ratios that were measured.
#[derive(Default)]
pub struct Bars(Vec<(String, f64, Bar)>);

impl Bars {
    /// Notes a ratio, what it is of, and what is wanted of it.
    pub fn note(&mut self, work: impl Into<String>, ratio: f64, bar: Bar) {
        self.0.push((work.into(), ratio, bar));
    }

    /// Prints them to stdout, a line each.
    pub fn print(&self) {
        println!("{:66} {:>7}  {:14} reached", "bar", "ratio", "wanted");
        for (work, ratio, bar) in &self.0 {
            let reached = if bar.is_reached(*ratio) { "yes" } else { "no" };
            println!("{work:66} {ratio:7.2}  {:14} {reached}", bar.to_string());
        }
        let reached = self.0.iter().filter(|(_, ratio, bar)| bar.is_reached(*ratio));
        println!("{} of {} reached", reached.count(), self.0.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_that_is_no_number_reaches_nothing() {
        for bar in [Bar::Below(1.0), Bar::AtMost(1.0), Bar::AtLeast(1.0)] {
            assert!(!bar.is_reached(f64::NAN), "{bar}");
        }
        assert!(!Bar::Below(1.0).is_reached(1.0) && Bar::AtMost(1.0).is_reached(1.0));
        assert!(Bar::AtLeast(0.6).is_reached(0.6) && !Bar::AtLeast(0.6).is_reached(0.59));
    }
}
