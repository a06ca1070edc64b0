//! COPY FROM PostgreSQL's binary format.
//!
//! | part    | bytes                                                                               |
//! |---------|-------------------------------------------------------------------------------------|
//! | head    | `PGCOPY\n\xff\r\n\0`, flags (4), length of what follows in the head (4), that        |
//! | row     | number of fields (2), for each its length (4, -1 for NULL) and its bytes            |
//! | end     | -1 (2)                                                                              |
//!
//! Fields are matched by position. Their bytes are those of `binary`.

use std::io::{self, BufReader, Read};

use rukh_keys::Datum;

use crate::SqlError;
use crate::binary;
use crate::sql::copy::errors::file_error;
use crate::sql::copy::lines::SIGNATURE;
use crate::sql::copy::rows_in::{Assembler, Import, invalid_utf8};

/// Flags of which those are that a reader must know.
const CRITICAL: u32 = 0xffff_0000;
/// Longest field, bytes.
const FIELD_BYTES_MAX: u64 = 256 << 20;
/// Longest that may follow in the head, bytes.
const HEAD_BYTES_MAX: u64 = 1 << 20;

/// Reads all rows.
pub(in crate::sql::copy) fn read(import: &mut Import<'_>, input: impl Read) -> Result<(), SqlError> {
    let mut input = BufReader::with_capacity(256 << 10, input);
    let mut assembler = import.columns.assembler(import.columns.allowed.clone())?;
    read_head(import, &mut input)?;
    let mut line = 0;
    let mut bytes = Vec::new();
    loop {
        line += 1;
        let count = number::<2>(import, &mut input).map(i16::from_be_bytes);
        let count = count.map_err(|error| import.located(error, &format!("line {line}")))?;
        if count == -1 {
            break;
        }
        let row = row(import, &mut input, count, line, &mut assembler, &mut bytes)?;
        import.push_checked(row, line, || line, String::new)?;
    }
    let after = io::copy(&mut input.take(1), &mut io::sink());
    match after.map_err(|error| file_error("read", import.path, &error))? {
        0 => Ok(()),
        _ => Err(malformed("received copy data after EOF marker")),
    }
}

fn malformed(message: &str) -> SqlError {
    SqlError::statement("22P04", message)
}

fn read_head(import: &Import<'_>, input: &mut impl Read) -> Result<(), SqlError> {
    let signature = number::<11>(import, input).map_err(|error| match error.sqlstate {
        "22P04" => malformed("COPY file signature not recognized"),
        _ => error,
    })?;
    if signature != *SIGNATURE {
        return Err(malformed("COPY file signature not recognized"));
    }
    let flags = u32::from_be_bytes(number(import, input)?);
    if flags & CRITICAL != 0 {
        return Err(malformed("unrecognized critical flags in COPY file header"));
    }
    let length = u64::from(u32::from_be_bytes(number(import, input)?));
    if length > HEAD_BYTES_MAX {
        return Err(malformed("invalid COPY file header (wrong length)"));
    }
    let read = io::copy(&mut input.take(length), &mut io::sink());
    match read.map_err(|error| file_error("read", import.path, &error))? == length {
        true => Ok(()),
        false => Err(malformed("invalid COPY file header (wrong length)")),
    }
}

/// Reads as many bytes.
fn number<const N: usize>(import: &Import<'_>, input: &mut impl Read) -> Result<[u8; N], SqlError> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => malformed("unexpected EOF in COPY data"),
        _ => file_error("read", import.path, &error),
    })?;
    Ok(bytes)
}

fn row(
    import: &Import<'_>,
    input: &mut impl Read,
    count: i16,
    line: u64,
    assembler: &mut Assembler,
    bytes: &mut Vec<u8>,
) -> Result<Vec<Datum>, SqlError> {
    let in_line = |error: SqlError| import.located(error, &format!("line {line}"));
    let expected = assembler.fields.len();
    if usize::try_from(count) != Ok(expected) {
        let message = format!("row field count is {count}, expected {expected}");
        return Err(in_line(malformed(&message)));
    }
    let mut row = assembler.row(Vec::new()).map_err(in_line)?;
    for position in &assembler.fields {
        let place = || format!("line {line}, column {}", import.columns.column(*position).0);
        let value = value(import, input, *position, bytes);
        row[*position] = value.map_err(|error| import.located(error, &place()))?;
    }
    Ok(row)
}

fn value(
    import: &Import<'_>,
    input: &mut impl Read,
    position: usize,
    bytes: &mut Vec<u8>,
) -> Result<Datum, SqlError> {
    let length = match i32::from_be_bytes(number(import, input)?) {
        -1 => return Ok(Datum::Null),
        length => u64::try_from(length).map_err(|_| malformed("invalid field size"))?,
    };
    if length > FIELD_BYTES_MAX {
        return Err(SqlError::statement("54000", "a field is longer than 256 MiB"));
    }
    bytes.clear();
    let read = input.take(length).read_to_end(bytes);
    let read = read.map_err(|error| file_error("read", import.path, &error))?;
    if read as u64 != length {
        return Err(malformed("unexpected EOF in COPY data"));
    }
    let ty = import.columns.column(position).1;
    let no_value = || SqlError::statement("22P03", "incorrect binary data format");
    if ty.is_text() {
        let text = std::str::from_utf8(bytes).map_err(|error| invalid_utf8(bytes, error))?;
        return Ok(ty.parse_text(text)?);
    }
    match ty {
        ty if ty.is_decimal() => Ok(ty.parse_text(&binary::read_decimal(bytes).ok_or_else(no_value)?)?),
        ty => Ok(ty.check(binary::read(bytes, ty).ok_or_else(no_value)?)?),
    }
}
