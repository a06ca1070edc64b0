//! Checks of Rust files: docs first, leftovers, tests that do not test, purity, terminal output.

use super::finding::Finding;
use super::source::{blank_out, test_lines, test_modules};
use super::tree::SourceFile;

/// Not allowed outside tests, and why.
const LEFTOVERS: &[(&str, &str)] = &[
    ("todo!", "todo! outside tests"),
    ("unimplemented!", "unimplemented! outside tests"),
    ("dbg!", "dbg! outside tests"),
    (
        ".unwrap()",
        "unwrap outside tests; return the error, or expect(\"the stated invariant\")",
    ),
    (".unwrap_err()", "unwrap_err outside tests"),
];

/// Not allowed anywhere, and why.
const FALSE_ATTRIBUTES: &[(&str, &str)] = &[
    ("#[ignore", "a test that is switched off"),
    ("should_panic", "should_panic; return an error and assert it"),
];

/// Not allowed in tests, and why.
const SLEEPS: &[(&str, &str)] = &[
    ("thread::sleep", "a test that sleeps; wait for the event"),
    ("time::sleep", "a test that sleeps; wait for the event"),
];

/// Not allowed in the pure crates outside tests: input and output, clocks, threads, randomness, async.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::io",
    "std::net",
    "std::thread",
    "Instant::now",
    "SystemTime",
    "std::env",
    "std::process",
    "async fn",
    "rand::",
];

/// The pure crates: the heart that is tested in seconds.
const PURE_CRATES: &[&str] = &["rukh-keys", "rukh-catalog", "rukh-syntax", "rukh-planner"];

/// Places that may print to the terminal.
const MAY_PRINT: &[&str] = &["crates/rukh-cli/", "crates/rukh-bench/", "xtask/", "bench-peers/"];

/// Checks every Rust file.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let rust: Vec<&SourceFile> = files.iter().filter(|file| file.ending() == "rs").collect();
    let test_files = test_only_files(&rust);
    let mut findings = Vec::new();
    for file in &rust {
        let is_test =
            is_test_place(&file.path) || test_files.iter().any(|prefix| file.path.starts_with(prefix));
        findings.extend(check_header(file));
        findings.extend(check_index(file));
        findings.extend(check_code(file, is_test));
    }
    findings.extend(check_unsafe(&rust));
    findings
}

/// Says whether a path holds nothing but test code.
fn is_test_place(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ["/tests/", "/benches/", "/fuzz_targets/"]
        .iter()
        .any(|place| path.contains(place))
        || path.starts_with("tests/")
        || path.starts_with("crates/rukh-testkit/")
        || name == "tests.rs"
}

/// Returns path prefixes of files that are modules under `#[cfg(test)]`.
fn test_only_files(files: &[&SourceFile]) -> Vec<String> {
    let mut prefixes = Vec::new();
    for file in files {
        let code = blank_out(&file.text);
        let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let own = match name {
            "lib.rs" | "main.rs" | "mod.rs" => directory.to_string(),
            _ => file.path.trim_end_matches(".rs").to_string(),
        };
        for module in test_modules(&code) {
            prefixes.push(format!("{own}/{module}.rs"));
            prefixes.push(format!("{own}/{module}/"));
        }
    }
    prefixes
}

fn check_header(file: &SourceFile) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or("");
    match first.starts_with("//! ") {
        true => None,
        false => Some(Finding::error(&file.path, 1, "the file does not open with //!")),
    }
}

/// `lib.rs` and `mod.rs` hold docs, `mod` and `use` only.
fn check_index(file: &SourceFile) -> Option<Finding> {
    if !file.path.ends_with("/lib.rs") && !file.path.ends_with("/mod.rs") || is_test_place(&file.path) {
        return None;
    }
    let code = blank_out(&file.text);
    let defines = |line: &str| {
        let words = line.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        let words = words
            .trim_start_matches("const ")
            .trim_start_matches("unsafe ")
            .trim_start_matches("async ");
        ["fn ", "struct ", "enum ", "trait ", "impl ", "impl<", "static "]
            .iter()
            .any(|keyword| words.starts_with(keyword))
    };
    let line = code.lines().position(defines)?;
    Some(Finding::error(
        &file.path,
        line + 1,
        "lib.rs and mod.rs hold docs, mod and use only",
    ))
}

fn check_code(file: &SourceFile, is_test: bool) -> Vec<Finding> {
    let code = blank_out(&file.text);
    let in_test = test_lines(&code);
    let may_sleep = may_sleep(&file.path);
    let mut findings = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut faults = faults_of(line, FALSE_ATTRIBUTES);
        faults.extend(match is_test || in_test[index] {
            true if may_sleep => Vec::new(),
            true => faults_of(line, SLEEPS),
            false => production_faults(&file.path, line),
        });
        findings.extend(
            faults
                .into_iter()
                .map(|message| Finding::error(&file.path, index + 1, message)),
        );
    }
    findings
}

/// Says whether sleeping is what a file is for: waiting for a server that tests need, or killing a process
/// at a random moment.
fn may_sleep(path: &str) -> bool {
    path.starts_with("crates/rukh-testkit/src/") || path.ends_with("/tests/crash.rs")
}

fn production_faults(path: &str, line: &str) -> Vec<String> {
    let mut faults = faults_of(line, LEFTOVERS);
    if PURE_CRATES
        .iter()
        .any(|name| path.starts_with(&format!("crates/{name}/src/")))
    {
        let impure = IMPURE.iter().filter(|word| has_word(line, word));
        faults.extend(impure.map(|word| format!("{word} in a pure crate")));
    }
    let prints = ["println!", "print!", "eprintln!", "eprint!"]
        .iter()
        .any(|word| has_word(line, word));
    let may_print = MAY_PRINT.iter().any(|place| path.starts_with(place)) || path.contains("/examples/");
    if prints && !may_print {
        faults.push("a library does not touch the terminal".to_string());
    }
    faults
}

fn faults_of(line: &str, rules: &[(&str, &str)]) -> Vec<String> {
    let broken = rules.iter().filter(|(word, _)| has_word(line, word));
    broken.map(|(_, message)| message.to_string()).collect()
}

/// Says whether `line` holds `word` where it is not the end of a longer word.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        word.starts_with(['.', '#']) || !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

/// `unsafe` may be allowed in one file of `rukh-kv`, and nowhere else.
fn check_unsafe(files: &[&SourceFile]) -> Vec<Finding> {
    let mut allowed: Option<&str> = None;
    let mut findings = Vec::new();
    for file in files {
        let code = blank_out(&file.text);
        let Some(index) = code.lines().position(|line| line.contains("allow(unsafe_code)")) else {
            continue;
        };
        match allowed {
            None if file.path.starts_with("crates/rukh-kv/src/") => allowed = Some(&file.path),
            None => findings.push(Finding::error(
                &file.path,
                index + 1,
                "unsafe code outside rukh-kv",
            )),
            Some(first) => {
                let message = format!("a second file with unsafe code; {first} is the one");
                findings.push(Finding::error(&file.path, index + 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    fn check_one(path: &str, text: &str) -> Vec<String> {
        lines(&check(&[SourceFile::new(path, text)]))
    }

    #[test]
    fn files_open_with_docs() {
        assert!(check_one("crates/a/src/b.rs", "//! A file.\n").is_empty());
        for text in ["", "// a\n", "use b;\n//! late\n"] {
            assert_eq!(
                check_one("crates/a/src/b.rs", text),
                ["crates/a/src/b.rs:1: the file does not open with //!"]
            );
        }
    }

    #[test]
    fn leftovers_are_found_outside_tests_only() {
        let text = "//! A\nfn a() {\n    b().unwrap();\n    // c().unwrap()\n    d(\".unwrap()\");\n}\n\
                    #[cfg(test)]\nmod tests {\n    fn e() { f().unwrap(); todo!() }\n}\n";
        assert_eq!(
            check_one("crates/a/src/b.rs", text),
            [
                "crates/a/src/b.rs:3: unwrap outside tests; return the error, or expect(\"the stated invariant\")"
            ]
        );
        assert!(check_one("crates/a/tests/b.rs", "//! A\nfn a() { b().unwrap() }\n").is_empty());
        assert!(
            check_one(
                "crates/a/src/b.rs",
                "//! A\nfn a() { b.unwrap_or(1); my_todo!() }\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn every_leftover_is_found() {
        for (word, message) in LEFTOVERS {
            let receiver = if word.starts_with('.') { "b" } else { "" };
            let text = format!("//! A\nfn a() {{ {receiver}{word} }}\n");
            assert_eq!(
                check_one("crates/a/src/b.rs", &text),
                [format!("crates/a/src/b.rs:2: {message}")]
            );
        }
    }

    #[test]
    fn tests_that_sleep_are_found() {
        for (word, message) in SLEEPS {
            let text = format!("//! A\n#[test]\nfn a() {{ {word} }}\n");
            assert_eq!(
                check_one("crates/a/src/b.rs", &text),
                [format!("crates/a/src/b.rs:3: {message}")]
            );
            let text = format!("//! A\nfn a() {{ {word} }}\n");
            assert_eq!(
                check_one("crates/a/tests/b.rs", &text),
                [format!("crates/a/tests/b.rs:2: {message}")]
            );
            assert!(check_one("crates/a/src/b.rs", &text).is_empty());
            assert!(check_one("crates/rukh-testkit/src/b.rs", &text).is_empty());
        }
    }

    #[test]
    fn tests_that_are_switched_off_are_found() {
        for (attribute, message) in [
            ("#[ignore]", "a test that is switched off"),
            ("#[ignore = \"slow\"]", "a test that is switched off"),
            ("#[should_panic]", "should_panic; return an error and assert it"),
        ] {
            for text in [
                format!("//! A\n\n{attribute}\n#[test]\nfn a() {{}}\n"),
                format!("//! A\n#[test]\n{attribute}\nfn a() {{}}\n"),
            ] {
                assert_eq!(
                    check_one("crates/a/src/b.rs", &text),
                    [format!("crates/a/src/b.rs:3: {message}")]
                );
            }
        }
    }

    #[test]
    fn modules_of_tests_may_unwrap() {
        let files = [
            SourceFile::new(
                "crates/a/src/lib.rs",
                "//! A\n#[cfg(test)]\nmod checks;\nmod b;\n",
            ),
            SourceFile::new("crates/a/src/checks.rs", "//! A\nfn a() { b().unwrap() }\n"),
            SourceFile::new("crates/a/src/b.rs", "//! A\n#[cfg(test)]\nmod c;\n"),
            SourceFile::new("crates/a/src/b/c.rs", "//! A\nfn a() { b().unwrap() }\n"),
        ];
        assert!(check(&files).is_empty());
    }

    #[test]
    fn indexes_define_nothing() {
        assert!(
            check_one(
                "crates/a/src/lib.rs",
                "//! A\nmod b;\npub use b::c;\npub type A = c;\n"
            )
            .is_empty()
        );
        for text in ["pub fn a() {}", "struct A;", "impl A {}", "pub const fn a() {}"] {
            assert_eq!(
                check_one("crates/a/src/b/mod.rs", &format!("//! A\n{text}\n")),
                ["crates/a/src/b/mod.rs:2: lib.rs and mod.rs hold docs, mod and use only"]
            );
        }
    }

    #[test]
    fn pure_crates_do_no_io() {
        assert_eq!(
            check_one(
                "crates/rukh-planner/src/a.rs",
                "//! A\nuse std::time::SystemTime;\n"
            ),
            ["crates/rukh-planner/src/a.rs:2: SystemTime in a pure crate"]
        );
        assert!(check_one("crates/rukh-kv/src/a.rs", "//! A\nuse std::time::SystemTime;\n").is_empty());
        assert!(check_one("crates/rukh-keys/src/a.rs", "//! A\nuse Operand::*;\n").is_empty());
        assert!(check_one("crates/rukh-keys/tests/a.rs", "//! A\nuse std::fs;\n").is_empty());
    }

    #[test]
    fn libraries_do_not_print() {
        let text = "//! A\nfn a() { println!(\"b\"); }\n";
        assert!(check_one("crates/rukh-planner/examples/a.rs", text).is_empty());
        assert_eq!(
            check_one("crates/rukh-sql/src/a.rs", text),
            ["crates/rukh-sql/src/a.rs:2: a library does not touch the terminal"]
        );
        assert!(check_one("crates/rukh-cli/src/a.rs", text).is_empty());
    }

    #[test]
    fn unsafe_has_one_home() {
        let text = "//! A\n#![allow(unsafe_code)]\n";
        let file = |path: &str| SourceFile::new(path, text);
        assert!(check(&[file("crates/rukh-kv/src/a.rs")]).is_empty());
        assert_eq!(
            lines(&check(&[
                file("crates/rukh-kv/src/a.rs"),
                file("crates/rukh-kv/src/b.rs")
            ])),
            ["crates/rukh-kv/src/b.rs:2: a second file with unsafe code; crates/rukh-kv/src/a.rs is the one"]
        );
        assert_eq!(
            lines(&check(&[file("crates/rukh-sql/src/a.rs")])),
            ["crates/rukh-sql/src/a.rs:2: unsafe code outside rukh-kv"]
        );
    }
}
