//! Transcripts of the `rukh` binary: what it was asked, what it wrote, and how it ended.

mod commands;
mod errors;
mod formats;
mod pipes;
mod readme;
mod scripts;
mod serving;
mod tools;
mod transcript;
