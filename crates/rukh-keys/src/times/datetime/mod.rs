//! Reads dates, times of day and timestamps, in every form that PostgreSQL reads while `DateStyle` is `MDY`.
//!
//! | part | forms                                                                                            |
//! |------|--------------------------------------------------------------------------------------------------|
//! | date | `2012-01-31`, `1/31/2012`, `31 Jan 2012`, `Jan-31-2012`, `20120131`, `120131`, `2012.031`, `J2455958` |
//! | time | `12:30`, `12:30:15.123456`, `123015`, `12:30 PM`, `T123015`, `allballs`                            |
//! | zone | `Z`, `PST`, `+02`, `-03:30:15`, `America/New_York`, `GMT+8`                                        |
//! | era  | `AD`, `BC`                                                                                        |
//! | word | `epoch`, `infinity`, `-infinity`; `now`, `today`, `tomorrow`, `yesterday` for a reader with a clock |
//!
//! A text is split into tokens (`tokens`), and what each means depends on what stood before it (`fields`). Source: PostgreSQL's manual,
//! appendix B, and what PostgreSQL 15 answers.
//!
//! Deliberately not here: the limits of types, and clocks.

mod canonical;
mod fields;
mod parts;
mod read;
mod tokens;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use parts::{Day, Failure, Moment};
pub use read::RelativeMoment;
pub(crate) use read::{read_moment, read_time};
