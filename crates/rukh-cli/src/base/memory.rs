//! Sizes of memory, as the command line and the environment give them: `512MB`, `4GB`.

/// The variable that says how much memory a database may take, where the command line does not.
const VARIABLE: &str = "RUKH_MEMORY";

/// Reads a number of bytes, with a unit of 1024s or without one.
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let shift = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        "t" | "tb" => 40,
        _ => return Err("a size is a number with kB, MB, GB or TB behind it".to_owned()),
    };
    let number: u64 = text[..digits]
        .parse()
        .map_err(|_| "a size starts with a number".to_owned())?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "the size is too great".to_owned())
}

/// Returns what the environment says; an error names the variable.
pub fn from_environment() -> Result<Option<u64>, String> {
    match std::env::var(VARIABLE) {
        Ok(text) => match parse(&text) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(reason) => Err(format!("{VARIABLE} is \"{text}\": {reason}")),
        },
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("7", Some(7)),
            ("512MB", Some(512 << 20)),
            (" 4 gb ", Some(4 << 30)),
            ("1k", Some(1024)),
            ("", None),
            ("MB", None),
            ("1.5GB", None),
            ("-1", None),
            ("99999999999TB", None),
        ] {
            assert_eq!(parse(text).ok(), bytes, "{text}");
        }
    }
}
