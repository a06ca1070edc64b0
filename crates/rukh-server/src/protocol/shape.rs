//! Whether the counts and lengths within a message are true, and its texts are UTF-8.
//!
//! pgwire takes both for granted: it would panic on the one and replace characters on the other.

/// What is wrong with a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is no message: the connection cannot go on.
    Malformed(String),
    /// A text in it is not UTF-8; the next message may be good.
    Encoding,
}

/// Reads a message from its start.
struct Walk<'a> {
    rest: &'a [u8],
}

/// Checks a whole message: type, length, body. The error is what PostgreSQL says.
pub(crate) fn check(message: &[u8]) -> Result<(), Fault> {
    let (Some(kind), Some(body)) = (message.first(), message.get(5..)) else {
        return Err(bad());
    };
    let mut walk = Walk { rest: body };
    match kind {
        b'Q' => walk.text()?,
        b'P' => {
            walk.text()?;
            walk.text()?;
            let types = walk.count()?;
            walk.skip(types * 4)?;
        }
        b'B' => {
            walk.text()?;
            walk.text()?;
            let formats = walk.count()?;
            walk.skip(formats * 2)?;
            for _ in 0..walk.count()? {
                walk.value()?;
            }
            let formats = walk.count()?;
            walk.skip(formats * 2)?;
        }
        b'D' | b'C' => {
            walk.skip(1)?;
            walk.text()?;
        }
        b'E' => {
            walk.text()?;
            walk.skip(4)?;
        }
        b'f' => walk.text()?,
        b'H' | b'S' | b'X' | b'c' => {}
        // Their bodies are taken as they are.
        b'd' | b'p' => return Ok(()),
        other => return Err(Fault::Malformed(format!("invalid frontend message type {other}"))),
    }
    match walk.rest {
        [] => Ok(()),
        _ => Err(bad()),
    }
}

fn bad() -> Fault {
    Fault::Malformed("invalid message format".to_string())
}

impl Walk<'_> {
    /// Passes over a text, which ends with a zero byte.
    fn text(&mut self) -> Result<(), Fault> {
        let end = self.rest.iter().position(|byte| *byte == 0).ok_or_else(bad)?;
        let (text, rest) = self.rest.split_at(end);
        if std::str::from_utf8(text).is_err() {
            return Err(Fault::Encoding);
        }
        self.rest = &rest[1..];
        Ok(())
    }

    fn count(&mut self) -> Result<usize, Fault> {
        let bytes = self.rest.first_chunk::<2>().copied().ok_or_else(bad)?;
        self.skip(2)?;
        Ok(usize::from(u16::from_be_bytes(bytes)))
    }

    /// Passes over a value: its length, or -1 for NULL, and as many bytes.
    fn value(&mut self) -> Result<(), Fault> {
        let bytes = self.rest.first_chunk::<4>().copied().ok_or_else(bad)?;
        self.skip(4)?;
        match i32::from_be_bytes(bytes) {
            -1 => Ok(()),
            length => self.skip(usize::try_from(length).map_err(|_| bad())?),
        }
    }

    fn skip(&mut self, bytes: usize) -> Result<(), Fault> {
        self.rest = self.rest.get(bytes..).ok_or_else(bad)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut message = vec![kind];
        message.extend((body.len() as u32 + 4).to_be_bytes());
        message.extend(body);
        message
    }

    #[test]
    fn counts_must_be_true() {
        let good: [(u8, &[u8]); 8] = [
            (b'Q', b"SELECT 1\0"),
            (b'P', b"s\0SELECT 1\0\0\0"),
            (b'P', b"\0SELECT $1\0\0\x01\0\0\0\x17"),
            (b'B', b"\0\0\0\0\0\x01\0\0\0\x01a\0\0"),
            (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xff\0\0"),
            (b'D', b"S\0"),
            (b'E', b"\0\0\0\0\0"),
            (b'S', b""),
        ];
        for (kind, body) in good {
            assert_eq!(check(&message(kind, body)), Ok(()), "{body:?}");
        }
        let bad: [(u8, &[u8]); 10] = [
            (b'Q', b"SELECT 1"),
            (b'Q', b"\xff\0"),
            (b'Q', b"SELECT 1\0more"),
            (b'P', b"s\0SELECT 1\0"),
            (b'P', b"s\0SELECT 1\0\xff\xff"),
            (b'B', b"\0\0\xff\xff\0\0\0\0"),
            (b'B', b"\0\0\0\0\xff\xff\0\0"),
            (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"),
            (b'D', b""),
            (b'z', b""),
        ];
        for (kind, body) in bad {
            assert!(check(&message(kind, body)).is_err(), "{body:?}");
        }
        for length in 0..5 {
            assert!(check(&b"Q\0\0\0\x04"[..length]).is_err());
        }
    }
}
