//! Splits a text of a date or time.

/// How a token is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Digits, and perhaps a point within or before them.
    Number,
    /// Parts with `-`, `/` or `.` between them; also the name of a zone that is not of letters alone.
    Date,
    /// Digits with `:` between them.
    Time,
    /// A sign and digits.
    Offset,
    /// Letters.
    Word,
    /// A sign and letters.
    SignedWord,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    /// The sign before an offset or a word; 1 where none stands.
    pub(super) sign: i64,
    /// The text without that sign.
    pub(super) text: &'t str,
}

/// No text has more tokens.
const TOKENS_MAX: usize = 24;

/// No text is longer, in bytes without blanks.
const LENGTH_MAX: usize = 128;

/// Splits a text in lower case. Blanks and other signs stand between tokens. `None` if it has characters that no date has.
pub(super) fn tokens<'t>(text: &'t str, is_word: impl Fn(&str) -> bool) -> Option<Vec<Token<'t>>> {
    let bytes = text.as_bytes();
    let end_of = |from: usize, holds: &dyn Fn(u8) -> bool| {
        let rest = bytes.iter().skip(from);
        from.saturating_add(rest.take_while(|byte| holds(**byte)).count())
    };
    let at = |place: usize| bytes.get(place).copied().unwrap_or(0);
    let (mut found, mut start, mut length) = (Vec::new(), 0, 0_usize);
    while start < bytes.len() {
        let next = start.saturating_add(1);
        let mut sign = None;
        let (kind, end) = match at(start) {
            b'0'..=b'9' => number_or_date(start, &at, &end_of),
            b'.' => (Kind::Number, end_of(next, &|byte| byte.is_ascii_digit())),
            b'a'..=b'z' => {
                let end = end_of(start, &|byte| byte.is_ascii_alphabetic());
                let is_joined = match at(end) {
                    b'-' | b'/' | b'.' => true,
                    b'+' | b'0'..=b'9' => !is_word(text.get(start..end)?),
                    _ => false,
                };
                match is_joined {
                    true => (
                        Kind::Date,
                        end_of(end, &|byte| {
                            byte.is_ascii_alphanumeric()
                                || matches!(byte, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
                        }),
                    ),
                    false => (Kind::Word, end),
                }
            }
            byte @ (b'+' | b'-') => {
                sign = Some(if byte == b'-' { -1 } else { 1 });
                start = end_of(next, &is_blank);
                match at(start) {
                    b'0'..=b'9' => (
                        Kind::Offset,
                        end_of(start, &|byte| {
                            byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-')
                        }),
                    ),
                    b'a'..=b'z' => (
                        Kind::SignedWord,
                        end_of(start, &|byte| byte.is_ascii_alphabetic()),
                    ),
                    _ => return None,
                }
            }
            byte if is_blank(byte) || byte.is_ascii_punctuation() => {
                start = next;
                continue;
            }
            _ => return None,
        };
        length = length.saturating_add(end.saturating_sub(start));
        if found.len() == TOKENS_MAX || length > LENGTH_MAX {
            return None;
        }
        found.push(Token {
            kind,
            sign: sign.unwrap_or(1),
            text: text.get(start..end)?,
        });
        start = end;
    }
    Some(found)
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'\x0b'
}

fn number_or_date(
    start: usize,
    at: &impl Fn(usize) -> u8,
    end_of: &impl Fn(usize, &dyn Fn(u8) -> bool) -> usize,
) -> (Kind, usize) {
    let digits = end_of(start, &|byte| byte.is_ascii_digit());
    let sign = at(digits);
    let next = digits.saturating_add(1);
    match sign {
        b':' => (
            Kind::Time,
            end_of(digits, &|byte| {
                byte.is_ascii_digit() || matches!(byte, b':' | b'.')
            }),
        ),
        b'-' | b'/' | b'.' if at(next).is_ascii_digit() => {
            let end = end_of(next, &|byte| byte.is_ascii_digit());
            match (at(end) == sign, sign) {
                (true, _) => (
                    Kind::Date,
                    end_of(end, &|byte| byte.is_ascii_digit() || byte == sign),
                ),
                (false, b'.') => (Kind::Number, end),
                (false, _) => (Kind::Date, end),
            }
        }
        b'-' | b'/' | b'.' => (
            Kind::Date,
            end_of(next, &|byte| byte.is_ascii_alphanumeric() || byte == sign),
        ),
        _ => (Kind::Number, digits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_split_as_postgresql_splits_them() {
        let split = |text| {
            let tokens = tokens(text, |word| word == "j" || word == "t");
            tokens.map(|tokens| {
                let shown = tokens
                    .iter()
                    .map(|token| format!("{:?} {}", token.kind, token.text));
                shown.collect::<Vec<String>>().join(", ")
            })
        };
        let cases = [
            (
                "2012-01-31t10:30:15.5+02",
                "Date 2012-01-31, Word t, Time 10:30:15.5, Offset 02",
            ),
            ("jan 8, 1999 bc", "Word jan, Number 8, Number 1999, Word bc"),
            ("08-jan-99", "Date 08-jan-99"),
            ("jan-08-99", "Date jan-08-99"),
            ("j2451187", "Word j, Number 2451187"),
            ("1999.008", "Number 1999.008"),
            ("2020.01.05", "Date 2020.01.05"),
            ("10:00 gmt+8", "Time 10:00, Date gmt+8"),
            ("10:00 america/new_york", "Time 10:00, Date america/new_york"),
            ("20200105t103015-08", "Number 20200105, Word t, Date 103015-08"),
            ("10:00 - 02:30", "Time 10:00, Offset 02:30"),
            ("-infinity", "SignedWord infinity"),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(split("é"), None);
        assert_eq!(split("+"), None);
        assert_eq!(split(&"1 ".repeat(25)), None);
    }
}
