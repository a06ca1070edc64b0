//! Distinguishes code from comments and strings, and production code from tests, by reading characters.
//!
//! [`blank_out`] keeps every line where it is, so that what a check finds in the result has the line
//! of the source. Not done: macros that build items, and `#[cfg(any(test, …))]`, which no one needs here.

/// Returns `text` with comments and the insides of strings and characters replaced by blanks.
///
/// | source            | result            |
/// |-------------------|-------------------|
/// | `a(); // b()`     | `a();       `     |
/// | `f("x.unwrap()")` | `f("          ")` |
/// | `'"'`, `'a: loop` | `' '`, `'a: loop` |
pub fn blank_out(text: &str) -> String {
    let mut scanner = Scanner {
        rest: text,
        code: String::with_capacity(text.len()),
    };
    while !scanner.rest.is_empty() {
        scanner.step();
    }
    scanner.code
}

struct Scanner<'a> {
    rest: &'a str,
    code: String,
}

impl Scanner<'_> {
    fn step(&mut self) {
        let rest = self.rest;
        if rest.starts_with("//") {
            self.blank(rest.find('\n').unwrap_or(rest.len()));
        } else if rest.starts_with("/*") {
            self.blank(block_comment_length(rest));
        } else if let Some(hashes) = raw_string_hashes(rest).filter(|_| !self.inside_word()) {
            let opening = rest.find('"').expect("a raw string has a quote") + 1;
            let closing = format!("\"{}", "#".repeat(hashes));
            self.keep(opening);
            self.blank(self.rest.find(&closing).unwrap_or(self.rest.len()));
            self.keep(closing.len());
        } else if rest.starts_with('"') {
            self.keep(1);
            self.blank(string_length(self.rest));
            self.keep(1);
        } else if let Some(length) = character_length(rest) {
            self.keep(1);
            self.blank(length);
            self.keep(1);
        } else {
            self.keep(rest.chars().next().map_or(0, char::len_utf8));
        }
    }

    fn inside_word(&self) -> bool {
        self.code.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    }

    fn keep(&mut self, length: usize) {
        let (kept, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.code.push_str(kept);
        self.rest = rest;
    }

    fn blank(&mut self, length: usize) {
        let (blanked, rest) = self.rest.split_at(length);
        self.code
            .extend(blanked.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }
}

/// Returns the length of a block comment with the comments nested in it.
fn block_comment_length(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    loop {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
        } else {
            at += rest.chars().next().map_or(0, char::len_utf8);
        }
        if depth == 0 || at >= text.len() {
            return at.min(text.len());
        }
    }
}

/// Returns the number of `#` of a raw string that starts here.
fn raw_string_hashes(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].starts_with('"').then_some(hashes)
}

/// Returns the bytes up to the closing quote of a string whose opening quote was passed.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return at,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Returns the bytes between the quotes of a character literal; `None` for a lifetime.
fn character_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    if let Some(escape) = inside.strip_prefix('\\') {
        let skipped = escape.chars().next()?.len_utf8();
        return Some(1 + skipped + escape[skipped..].find('\'')?);
    }
    let length = inside.chars().next()?.len_utf8();
    inside[length..].starts_with('\'').then_some(length)
}

/// Says for each line of blanked-out code whether it stands under `#[cfg(test)]` or `#[test]`.
pub fn test_lines(code: &str) -> Vec<bool> {
    let mut inside = vec![false; code.lines().count()];
    for attribute in ["#[cfg(test)]", "#[test]"] {
        for (start, _) in code.match_indices(attribute) {
            let end = start + attribute.len() + item_length(&code[start + attribute.len()..]);
            let (first, last) = (line_of(code, start), line_of(code, end));
            inside[first - 1..last].fill(true);
        }
    }
    inside
}

/// Returns the bytes up to the end of the item that starts here: its `;` or its closing brace.
fn item_length(code: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in code.char_indices() {
        match c {
            ';' if depth == 0 => return at,
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && c == '}' {
                    return at;
                }
            }
            _ => {}
        }
    }
    code.len().saturating_sub(1)
}

/// Returns the line, from 1, of a byte of a text.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Returns the names of modules that exist in tests only: `#[cfg(test)] mod name;`.
pub fn test_modules(code: &str) -> Vec<&str> {
    let declarations = code
        .match_indices("#[cfg(test)]")
        .map(|(at, found)| &code[at + found.len()..]);
    declarations
        .filter_map(|rest| {
            rest.trim_start()
                .strip_prefix("mod ")?
                .split_once(';')
                .map(|(name, _)| name.trim())
        })
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blanked() {
        for (source, expected) in [
            ("a(); // b()", "a();       "),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("x\"y") + g"#, r#"f("    ") + g"#),
            (r##"f(r#"a"b"#) + g"##, r##"f(r#"   "#) + g"##),
            ("f('\"', 'a', '\\'', b'x')", "f(' ', ' ', '  ', b' ')"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            ("for \"x\n y\" z", "for \" \n  \" z"),
            ("let bar\"q\"", "let bar\" \""),
            ("'\\u{e9}' + é", "'      ' + é"),
        ] {
            assert_eq!(blank_out(source), expected, "{source}");
        }
    }

    #[test]
    fn unfinished_texts_end() {
        for source in ["/* a", "\"a", "r#\"a", "'", "'\\", "b", "//"] {
            assert_eq!(
                blank_out(source).chars().count(),
                source.chars().count(),
                "{source}"
            );
        }
    }

    #[test]
    fn test_code_is_recognized() {
        let code = "fn a() {\n}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        assert_eq!(test_lines(code), [false, false, true, true, true, true, false]);
        let code = "#[cfg(test)]\nuse a::{b, c};\nfn d() {}\n";
        assert_eq!(test_lines(code), [true, true, false]);
        let code = "#[test]\nfn a(x: [u8; 2]) {\n}\nfn b() {}";
        assert_eq!(test_lines(code), [true, true, true, false]);
    }

    #[test]
    fn modules_of_tests_are_named() {
        assert_eq!(
            test_modules("mod a;\n#[cfg(test)]\nmod b;\n#[cfg(test)]\nmod c {\n x; }"),
            ["b"]
        );
    }
}
