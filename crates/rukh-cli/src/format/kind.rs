//! The formats and their names.

/// How the rows of a result are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns under a header, with a row count
    Table,
    /// One block a row, one line a column
    Expanded,
    /// Comma-separated values with a header line
    Csv,
    /// One array of objects
    Json,
    /// One object a line
    #[value(alias = "ndjson")]
    Jsonl,
    /// A pipe table
    #[value(alias = "md")]
    Markdown,
}

impl Format {
    /// Returns the format of a name as typed, in any letter case.
    pub fn from_name(name: &str) -> Option<Format> {
        clap::ValueEnum::from_str(name, true).ok()
    }

    /// Returns the name of this format as `--format` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Expanded => "expanded",
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Jsonl => "jsonl",
            Format::Markdown => "markdown",
        }
    }

    /// Lists the names of all formats in the order of the help text.
    pub fn names() -> impl Iterator<Item = &'static str> {
        <Format as clap::ValueEnum>::value_variants()
            .iter()
            .map(|format| format.name())
    }
}
