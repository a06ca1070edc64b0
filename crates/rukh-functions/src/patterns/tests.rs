//! What PostgreSQL 15 answers.

use super::{Options, Pattern};

fn pattern(text: &str, flags: &str) -> Pattern {
    let mut options = Options::default();
    assert!(flags.chars().all(|flag| options.set(flag)), "{flags}");
    Pattern::read(text, options).expect("the pattern is one")
}

/// Returns the match and its groups.
fn matched(text: &str, expression: &str, flags: &str) -> Option<Vec<String>> {
    let pattern = pattern(expression, flags);
    let found = pattern.captures_at(text, 0).expect("the search ends")?;
    let part = |group| found.text(text, group).unwrap_or("NULL").to_string();
    Some((0..=pattern.groups()).map(part).collect())
}

/// What PostgreSQL 15 answers, the match before the groups.
#[test]
fn the_longest_match_counts() {
    for (text, expression, flags, expected) in [
        ("foobar", "foo|foobar", "", "foobar"),
        ("abcd", "(a|ab)(c|bcd)(d*)", "", "abcd ab c d"),
        ("abc", "(a*)(b|bc)(c*)", "", "abc a bc "),
        ("XY1234Z", "Y*([0-9]{1,3})", "", "Y123 123"),
        ("XY1234Z", "Y*?([0-9]{1,3})", "", "Y1 1"),
        ("abc01234xyz", "(.*)(\\d+)(.*)", "", "abc01234xyz abc0123 4 xyz"),
        ("abc01234xyz", "(.*?)(\\d+)(.*)", "", "abc0 abc 0 "),
        (
            "abc01234xyz",
            "(?:(.*?)(\\d+)(.*)){1,1}",
            "",
            "abc01234xyz abc 01234 xyz",
        ),
        ("aab", "(a?)(ab)?", "", "aab a ab"),
        ("abab", "(ab|a|b)*", "", "abab ab"),
        ("xabcx", "x(a|b|c)*x", "", "xabcx c"),
        ("ab", "(a)|(b)", "", "a a NULL"),
        ("abcabc", "(abc){2}", "", "abcabc abc"),
        ("", "(a*)*", "", " "),
        ("b", "(a*)+", "", " "),
        ("aba", "((a)|b)*", "", "aba a a"),
        ("foo", "f(o)(o)?(x)?", "", "foo o o NULL"),
        ("foobarbequebaz", "(?=bar)(b.*?q)(ue)", "", "barbeque barbeq ue"),
        ("ab", "(?<=a)b", "", "b"),
        ("ab", "a(?!b)|b", "", "b"),
        ("xab", "x(?=(a|b)+)(.)", "", "xa a"),
        ("aaa", "(a*)+", "", "aaa "),
        ("ab", "(?:^)+(ab)", "", "ab ab"),
        ("llmmmfff", "^(l*){1,1}?(.*)(f*)$", "", "llmmmfff  llmmmfff "),
        (
            "llmmmfff",
            "^(l*){1,1}?(.*){1,1}?(f*)$",
            "",
            "llmmmfff  llmmm fff",
        ),
        ("llmmmfff", "^(l*?){1,1}(.*)(f*)$", "", "llmmmfff ll mmmfff "),
        ("a\nb", "a$", "n", "a"),
        ("a\nb", "[^x]+", "n", "a"),
        ("a\nb", ".+", "p", "a"),
        ("a\nb", "^b", "w", "b"),
        ("abcabd", "(a|ab)(.*)\\1", "", "abcab ab c"),
        ("xabab", "(ab|b)\\1$", "", "abab ab"),
        ("aXxb", "(x)\\1", "i", "Xx X"),
        ("aaxbaab", "(a)\\1b", "", "aab a"),
        ("aaxaay", "(a)\\1(y)", "", "aay a y"),
        ("foo bar", "[[:<:]]bar[[:>:]]", "", "bar"),
        ("a.b", ".", "q", "."),
        ("a b", "a\\ b # c", "x", "a b"),
    ] {
        let found = matched(text, expression, flags).map(|found| found.join(" "));
        let is_known = found.as_deref() == Some(expected);
        assert!(is_known, "{text} {expression} {flags}: {found:?}");
    }
}

#[test]
fn what_is_asked_of_places_and_characters() {
    for (text, expression, is_match) in [
        ("foo bar", "foo\\b", false),
        ("foo bar", "\\yfoo\\y", true),
        ("foo", "\\mfoo\\M\\Z", true),
        ("ab", "a\\x62", true),
        ("a", "\\141", true),
        ("\u{1}", "\\cA", true),
        ("\\", "\\B", true),
        ("&", "[a&&b]", true),
        ("a", "[a&&b]", true),
        ("e", "[[=e=]]", true),
        (".", "[[.period.]]", true),
        ("]", "[]a]", true),
        ("-", "[a-]", true),
        ("a{b", "a{b", true),
        ("a", "|", true),
        ("A", "(?i)a", true),
        ("*", "***=*", true),
        ("xx", "^(x)(y)?\\1$", true),
        ("a", "(b)?\\1", false),
        ("aé", "^\\w+$", true),
    ] {
        let found = pattern(expression, "").is_match(text).expect("the search ends");
        assert_eq!(found, is_match, "{text} {expression}");
    }
}

#[test]
fn wrong_patterns_say_why() {
    for (expression, why) in [
        ("a**", "quantifier operand invalid"),
        ("*a", "quantifier operand invalid"),
        ("^*", "quantifier operand invalid"),
        ("a{2", "braces {} not balanced"),
        ("a{300}", "invalid repetition count(s)"),
        ("a{3,2}", "invalid repetition count(s)"),
        ("(a", "parentheses () not balanced"),
        ("a)", "parentheses () not balanced"),
        ("[a", "brackets [] not balanced"),
        ("[b-a]", "invalid character range"),
        ("[a-c-e]", "invalid character range"),
        ("[[:foo:]]", "invalid character class"),
        ("\\q", "invalid escape \\ sequence"),
        ("a\\", "invalid escape \\ sequence"),
        ("\\1", "invalid backreference number"),
        ("(a)(?=\\1)", "invalid backreference number"),
        ("(?z)a", "invalid embedded option"),
        ("[[.foo.]]", "invalid collating element"),
        (
            "((((a{255}){255}){255}){255})",
            "regular expression is too complex",
        ),
    ] {
        let error = match Pattern::read(expression, Options::default()) {
            Err(error) => error,
            Ok(pattern) => pattern.captures_at("b", 0).expect_err(expression),
        };
        assert_eq!(
            error.message,
            format!("invalid regular expression: {why}"),
            "{expression}"
        );
    }
}

/// Texts and patterns of any length end, one way or another.
#[test]
fn long_texts_end() {
    let text = "ab".repeat(50_000);
    assert_eq!(
        matched(&text, "(a|b)*", "").map(|found| found[0].len()),
        Some(100_000)
    );
    assert!(matched(&text, "((a)(b))*x|(.)$", "").is_some());
    let nested = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Pattern::read(&nested, Options::default()).is_err());
    let parted = matched(&"x".repeat(300), "^(x+)(x+)\\1\\2\\1$", "").map(|found| found[1].len());
    assert_eq!(parted, Some(98));
    let endless = pattern("^(x+)(x+)(x+)(x+)\\1\\2\\3\\4$", "");
    let error = endless
        .captures_at(&"x".repeat(401), 0)
        .expect_err("no half is there");
    assert_eq!(error.sqlstate, "54000");
}
