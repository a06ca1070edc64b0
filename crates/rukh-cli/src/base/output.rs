//! Where results go: standard output, or the file of `\o`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::base::error::CliError;

/// The place results are written to.
pub struct Output {
    name: String,
    writer: Box<dyn Write>,
}

impl Output {
    /// Returns standard output.
    pub fn stdout() -> Output {
        Output {
            name: "standard output".to_owned(),
            writer: Box::new(BufWriter::new(io::stdout())),
        }
    }

    /// Creates or empties the file at `path`.
    pub fn file(path: &Path) -> Result<Output, CliError> {
        let name = format!("file \"{}\"", path.display());
        let file = File::create(path).map_err(|source| CliError::write(&name, source))?;
        Ok(Output {
            name,
            writer: Box::new(BufWriter::new(file)),
        })
    }

    /// Runs `write` on this output and names it in the error.
    pub fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
        write(&mut *self.writer).map_err(|source| CliError::write(&self.name, source))
    }

    /// Hands on what is buffered.
    pub fn flush(&mut self) -> Result<(), CliError> {
        self.write(|out| out.flush())
    }
}

/// Writes text for the person at the terminal to standard output, whatever `\o` says.
pub fn tell(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|source| CliError::write("standard output", source))
}

/// Writes text to standard error; a closed one is ignored, since there is no other place to report to.
pub fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
