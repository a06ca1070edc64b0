//! Crash runs: the statements of a child process that is killed, and the models that they are compared with.
//!
//! The child runs a list of statements that follows from a seed, and prints `done n` when statement
//! `n` is acknowledged. The parent kills it, opens the database, and looks for the state after `n`
//! statements, or after `n + 1`: the statement that was running may have been written, as a whole.
//!
//! - [`ledger`]: rows that are read before they are written, with indexes, in rows or in columns;
//! - [`meter`]: what is written without being read, and what has lifetimes, families and versions.
//!
//! Deliberately not here: loss of the machine's power, which a killed process does not show.

pub mod ledger;
pub mod meter;

use crate::client::Client;

/// What the statements are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`ledger`], in rows.
    Rows,
    /// [`ledger`], in columns.
    Columnar,
    /// [`meter`].
    Meter,
}

impl Kind {
    /// Reads the name of a kind.
    pub fn named(name: &str) -> Option<Kind> {
        [Kind::Rows, Kind::Columnar, Kind::Meter]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Rows => "rows",
            Kind::Columnar => "columnar",
            Kind::Meter => "meter",
        }
    }

    /// Returns the statements that come before anything is killed.
    pub fn setup(self) -> Vec<String> {
        match self {
            Kind::Rows | Kind::Columnar => ledger::setup(self == Kind::Columnar),
            Kind::Meter => meter::setup(),
        }
    }

    /// Returns statement `number`, or those of a transaction, as they follow from a seed.
    pub fn statements(self, seed: u64, number: u64) -> Vec<String> {
        match self {
            Kind::Rows | Kind::Columnar => ledger::Step::of(seed, number).statements(),
            Kind::Meter => meter::Step::of(seed, number).statements(),
        }
    }

    /// Returns what another connection does all the time.
    pub fn beside(self) -> &'static [&'static str] {
        match self {
            Kind::Rows | Kind::Columnar => ledger::builds(self == Kind::Columnar),
            Kind::Meter => meter::BESIDE,
        }
    }

    /// Returns what must be there after [`Kind::setup`].
    pub fn model(self) -> Box<dyn State> {
        match self {
            Kind::Rows | Kind::Columnar => Box::new(ledger::Model::after_setup()),
            Kind::Meter => Box::new(meter::Model::after_setup()),
        }
    }
}

/// What the tables must hold.
pub trait State {
    /// Does what statement `number` does.
    fn apply(&mut self, seed: u64, number: u64);

    /// Reads the tables in every way there is, and says what is wrong with them, and how they differ.
    fn compare(&self, client: &mut Client) -> Result<(), Difference>;
}

/// How a database is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It holds other rows: those of another moment, perhaps.
    Rows(String),
    /// It can be right at no moment.
    Damage(String),
}
