//! A client of HBase 2.5 and later in Rust, over its own protocol: no Java, no ZooKeeper, no `protoc`.
//!
//! It gets, puts, deletes and increments rows, one or [many at once](Client::batch), changes them under conditions, scans ranges with filters, and makes and
//! removes tables, in plain or by TLS. Kerberos is not here. `examples/first.rs` shows it at work:
//!
//! ```no_run
#![doc = include_str!("../examples/first.rs")]
//! ```

mod address;
mod admin;
mod batch;
mod cell;
mod client;
mod connection;
mod error;
mod filter;
mod operation;
pub mod proto;
mod scan;
mod tls;
mod traffic;

pub use address::Address;
pub use admin::{Family, RegionPlace, ServerAddress};
pub use batch::RowRequest;
pub use cell::{Cell, CellKind, LATEST, Row};
pub use client::{Client, Settings};
pub use error::Error;
pub use filter::{Compare, Filter};
pub use operation::{CheckAndMutate, Checked, Get, Mutation};
pub use scan::{Scan, Scanner};
pub use tls::Tls;
pub use traffic::{Meter, Traffic};
