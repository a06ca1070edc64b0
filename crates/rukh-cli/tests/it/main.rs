//! Transcripts of the `rukh` binary: its arguments and input, its output, and how it ended.

mod commands;
mod errors;
mod formats;
mod page;
mod pipes;
mod readme;
mod scripts;
mod serving;
mod tools;
mod transcript;
