//! LIKE: patterns taken apart, matched, and turned into the texts they may match.

use rukh_keys::DataType;

use crate::conditions::domain::{bytes_prefix, text_cut, text_prefix};
use crate::conditions::interval::IntervalSet;

/// A piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// This character.
    Literal(char),
    /// `_`: any character.
    One,
    /// `%`: any text.
    Any,
}

/// A pattern taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pieces: Vec<Piece>,
    case_insensitive: bool,
}

/// Most starts of texts that a pattern without regard to case is taken apart into.
const STARTS_MAX: usize = 16;

impl Pattern {
    /// Takes a pattern apart. The escape character is a backslash unless another is given; at the
    /// end of the pattern it stands for itself.
    pub(crate) fn new(text: &str, escape: Option<char>, case_insensitive: bool) -> Pattern {
        let escape = escape.unwrap_or('\\');
        let mut pieces = Vec::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            pieces.push(match character {
                c if c == escape => Piece::Literal(characters.next().unwrap_or(escape)),
                '%' => Piece::Any,
                '_' => Piece::One,
                c => Piece::Literal(c),
            });
        }
        Pattern {
            pieces,
            case_insensitive,
        }
    }

    /// Returns the texts of a type that may match, and whether all of them do.
    ///
    /// | pattern | set                          | all match |
    /// |---------|------------------------------|-----------|
    /// | `002%`  | those that start with `002`  | yes       |
    /// | `002_`  | those that start with `002`  | no        |
    /// | `0%1`   | those that start with `0`    | no        |
    /// | `%1`    | all                          | no        |
    /// | `%`     | all                          | yes       |
    /// | `002`   | `002`                        | yes       |
    ///
    /// CHAR keeps no trailing blanks, while SQL engines differ in whether they take part in LIKE:
    /// the set then is one that is right for both, and only a prefix without a blank at its end is
    /// exact.
    pub(crate) fn set(&self, ty: DataType) -> (IntervalSet, bool) {
        let literals = self.pieces.iter().map_while(|piece| self.fixed(piece));
        let prefix: String = literals.collect();
        let rest = &self.pieces[prefix.chars().count()..];
        let only_any = !rest.is_empty() && rest.iter().all(|piece| *piece == Piece::Any);
        if matches!(ty, DataType::Varchar(_))
            && let Some(starts) = self.starts()
        {
            let sets: Vec<IntervalSet> = starts.iter().map(|start| text_prefix(ty, start)).collect();
            return (IntervalSet::union(&sets), false);
        }
        match ty {
            DataType::Char(_) => {
                let trimmed = prefix.trim_end_matches(' ');
                let exact = only_any && trimmed.len() == prefix.len();
                let set = if rest.is_empty() {
                    point_text(ty, trimmed)
                } else {
                    text_prefix(ty, trimmed)
                };
                (set, exact)
            }
            DataType::Binary(_) | DataType::Varbinary(_) => (
                bytes_prefix(ty, prefix.as_bytes()),
                only_any && !self.case_insensitive,
            ),
            _ if rest.is_empty() => (point_text(ty, &prefix), true),
            _ => (text_prefix(ty, &prefix), only_any),
        }
    }

    /// What texts may begin with where case does not count and the pattern begins with letters, as long as
    /// that is little; `None` if it does not.
    fn starts(&self) -> Option<Vec<String>> {
        let mut starts = vec![String::new()];
        for piece in &self.pieces {
            let Piece::Literal(c) = piece else { break };
            let cases = match self.fixed(piece) {
                Some(c) => vec![c],
                // These have forms that are no ASCII letters: the Kelvin sign, a long s, an i without its dot.
                None if !c.is_ascii() || matches!(c.to_ascii_lowercase(), 'i' | 'k' | 's') => break,
                None => vec![c.to_ascii_uppercase(), c.to_ascii_lowercase()],
            };
            if starts.len() * cases.len() > STARTS_MAX {
                break;
            }
            let with = |start: &String| cases.iter().map(|c| format!("{start}{c}")).collect::<Vec<_>>();
            starts = starts.iter().flat_map(with).collect();
        }
        (starts.len() > 1).then_some(starts)
    }

    /// The character that a text must have for this piece. Without regard to case, only ASCII
    /// characters that are no letters are the same in every text that matches.
    fn fixed(&self, piece: &Piece) -> Option<char> {
        match piece {
            Piece::Literal(c) if !self.case_insensitive || (c.is_ascii() && !c.is_ascii_alphabetic()) => {
                Some(*c)
            }
            _ => None,
        }
    }

    /// Takes a pattern for bytes apart: every byte is a character.
    pub(crate) fn for_bytes(text: &str, escape: Option<char>) -> Pattern {
        let mut pattern = Pattern::new(text, escape, false);
        let bytes = |piece: &Piece| match piece {
            Piece::Literal(c) => c
                .encode_utf8(&mut [0; 4])
                .bytes()
                .map(|b| Piece::Literal(char::from(b)))
                .collect(),
            other => vec![*other],
        };
        pattern.pieces = pattern.pieces.iter().flat_map(bytes).collect();
        pattern
    }

    /// Returns whether bytes match a pattern made for bytes.
    pub(crate) fn matches_bytes(&self, bytes: &[u8]) -> bool {
        let text: Vec<char> = bytes.iter().map(|byte| char::from(*byte)).collect();
        self.matches_from(&self.pieces, &text)
    }

    /// Returns whether a text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = match self.case_insensitive {
            true => text.chars().flat_map(char::to_lowercase).collect(),
            false => text.chars().collect(),
        };
        let pieces = self.comparable_pieces();
        self.matches_from(&pieces, &text)
    }

    /// The pieces in lower case if case does not count.
    fn comparable_pieces(&self) -> Vec<Piece> {
        let lower = |piece: &Piece| match piece {
            Piece::Literal(c) if self.case_insensitive => {
                c.to_lowercase().map(Piece::Literal).collect::<Vec<_>>()
            }
            other => vec![*other],
        };
        self.pieces.iter().flat_map(lower).collect()
    }

    /// Matches by walking both; at a mismatch the last `%` takes one more character.
    fn matches_from(&self, pieces: &[Piece], text: &[char]) -> bool {
        let (mut at, mut piece) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while at < text.len() {
            match pieces.get(piece) {
                Some(Piece::Any) => {
                    retry = Some((at, piece));
                    piece += 1;
                    continue;
                }
                Some(Piece::One) => {}
                Some(Piece::Literal(c)) if *c == text[at] => {}
                _ => match &mut retry {
                    None => return false,
                    Some((from, any)) => {
                        *from += 1;
                        (at, piece) = (*from, *any + 1);
                        continue;
                    }
                },
            }
            at += 1;
            piece += 1;
        }
        pieces[piece..].iter().all(|piece| *piece == Piece::Any)
    }
}

fn point_text(ty: DataType, text: &str) -> IntervalSet {
    IntervalSet::between(text_cut(ty, text, false), text_cut(ty, text, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern, None, false).matches(text)
    }

    #[test]
    fn wildcards_match() {
        let yes = [
            ("002%", "002"),
            ("0%1", "01"),
            ("0%1", "0111"),
            ("_b_", "abc"),
            ("%", ""),
            ("a%b%c", "axxbyyc"),
        ];
        let no = [
            ("002_", "002"),
            ("0%1", "0112"),
            ("_", "ab"),
            ("", "a"),
            ("a%b%c", "acb"),
        ];
        yes.iter()
            .for_each(|(pattern, text)| assert!(matches(pattern, text), "{pattern} {text}"));
        no.iter()
            .for_each(|(pattern, text)| assert!(!matches(pattern, text), "{pattern} {text}"));
    }

    #[test]
    fn escapes_take_the_meaning() {
        assert!(matches("50\\%", "50%"));
        assert!(!matches("50\\%", "500"));
        assert!(Pattern::new("50!%", Some('!'), false).matches("50%"));
        assert!(matches("a\\", "a\\"));
    }

    #[test]
    fn case_may_not_count() {
        assert!(Pattern::new("ÄB%", None, true).matches("äbc"));
        let ty = DataType::Varchar(None);
        let (set, exact) = Pattern::new("12k%", None, true).set(ty);
        assert_eq!((set, exact), (text_prefix(ty, "12"), false));
        let (set, exact) = Pattern::new("12a-b%", None, true).set(ty);
        let starts = ["12A-B", "12A-b", "12a-B", "12a-b"].map(|start| text_prefix(ty, start));
        assert_eq!((set, exact), (IntervalSet::union(&starts), false));
    }
}
