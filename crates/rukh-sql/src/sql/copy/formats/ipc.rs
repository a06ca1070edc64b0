//! COPY FROM Arrow's IPC format, as a stream or as a file.
//!
//! A file is a stream between a magic word and a footer, so both are read front to back, from pipes too.
//! Bytes are handed to the decoder as they come: what it holds in memory is what was read of one message,
//! whatever lengths the message claims.

use std::io::Read;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamDecoder;

use crate::sql::copy::batches::{add_batch, chosen};
use crate::sql::copy::errors::unbroken;
use crate::sql::copy::rows_in::Import;
use rukh_error::SqlError;

/// What a file starts with, padded with zeros, and ends with.
const MAGIC: &[u8; 6] = b"ARROW1";
/// What a file's messages are aligned to at least, in bytes.
const MAGIC_BYTES: usize = 8;
/// Bytes read at once.
const CHUNK_BYTES: usize = 256 << 10;
/// Bytes of a file's footer at most. 64 MiB.
const FOOTER_BYTES_MAX: u64 = 64 << 20;
/// Bytes read without a batch in them, at most: what one message may have. 1 GiB.
const MESSAGE_BYTES_MAX: u64 = 1 << 30;
/// Rows of one batch for each byte read: a column of truth values has eight.
const ROWS_PER_BYTE: u64 = 8;

/// Reads all batches.
pub(in crate::sql::copy) fn read(import: &mut Import<'_>, file: impl Read) -> Result<(), SqlError> {
    let path = import.path.display().to_string();
    let failed = |reason: String| {
        let message = format!("could not read Arrow file \"{path}\": {reason}");
        SqlError::statement("22P04", message)
    };
    let mut batches = Batches::new(file);
    let Some(schema) = batches.schema().map_err(failed)? else {
        return Err(failed("it has no schema".to_string()));
    };
    let (roots, fields) = chosen(&import.columns, &schema)?;
    let mut assembler = import.columns.assembler(fields)?;
    let mut done = 0;
    while let Some(batch) = batches.next().map_err(failed)? {
        let batch = batch.project(&roots).map_err(|error| failed(error.to_string()))?;
        add_batch(import, &batch, &mut assembler, &mut done)?;
    }
    Ok(())
}

/// The batches of a stream or file, one after another. Errors are reasons, as text.
pub(in crate::sql::copy) struct Batches<R> {
    input: R,
    decoder: StreamDecoder,
    /// What was read and not yet decoded.
    waiting: Buffer,
    /// A batch that came with the schema.
    first: Option<RecordBatch>,
    /// Bytes read since the last batch.
    since_batch: u64,
    started: bool,
    /// Whether the input begins as a file does, and not as a stream.
    is_file: bool,
}

impl<R: Read> Batches<R> {
    pub(in crate::sql::copy) fn new(input: R) -> Self {
        Batches {
            input,
            decoder: StreamDecoder::new(),
            waiting: Buffer::from(Vec::<u8>::new()),
            first: None,
            since_batch: 0,
            started: false,
            is_file: false,
        }
    }

    /// Reads on until the schema is known; none where the input ends before.
    pub(in crate::sql::copy) fn schema(&mut self) -> Result<Option<SchemaRef>, String> {
        while self.decoder.schema().is_none() {
            match self.decode()? {
                Step::Batch(batch) => self.first = Some(batch),
                Step::More => {}
                Step::End => return Ok(None),
            }
        }
        Ok(self.decoder.schema())
    }

    /// Returns the next batch; none at the end.
    pub(in crate::sql::copy) fn next(&mut self) -> Result<Option<RecordBatch>, String> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            match self.decode()? {
                Step::Batch(batch) => return Ok(Some(batch)),
                Step::More => {}
                Step::End => return Ok(None),
            }
        }
    }

    /// Decodes what waits, after reading more if nothing does.
    fn decode(&mut self) -> Result<Step, String> {
        if self.waiting.is_empty() {
            // A stream may end with a mark or without; after the mark of a file comes its footer.
            let chunk = self.read_chunk().map_err(|error| error.to_string())?;
            if chunk.is_empty() {
                let finished = self.decoder.finish();
                return finished.map(|()| Step::End).map_err(|error| error.to_string());
            }
            self.since_batch += chunk.len() as u64;
            self.waiting = Buffer::from(chunk);
        }
        if self.since_batch > MESSAGE_BYTES_MAX {
            return Err("a message is longer than 1 GiB".to_string());
        }
        let (decoder, waiting) = (&mut self.decoder, &mut self.waiting);
        let decoded = unbroken(|| decoder.decode(waiting))?;
        match decoded {
            Ok(Some(batch)) => {
                if batch.num_rows() as u64 > self.since_batch.saturating_mul(ROWS_PER_BYTE) {
                    return Err(format!("a batch claims {} rows", batch.num_rows()));
                }
                self.since_batch = self.waiting.len() as u64;
                Ok(Step::Batch(batch))
            }
            Ok(None) => Ok(Step::More),
            // The decoder says so when bytes follow the end, as the footer of a file does.
            Err(_) if self.decoder.finish().is_ok() && self.decoder.schema().is_some() => {
                self.check_footer()?;
                Ok(Step::End)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Fails if what follows the end of a file's stream is not its footer: a message whose length was
    /// damaged may look like the end.
    fn check_footer(&mut self) -> Result<(), String> {
        if !self.is_file {
            return Ok(());
        }
        let mut rest = std::mem::replace(&mut self.waiting, Buffer::from(Vec::<u8>::new())).to_vec();
        let more = self.input.by_ref().take(FOOTER_BYTES_MAX).read_to_end(&mut rest);
        more.map_err(|error| error.to_string())?;
        let footer = rest
            .strip_suffix(MAGIC)
            .and_then(|rest| rest.split_last_chunk::<4>());
        let is_whole = footer.is_some_and(|(footer, len)| u32::from_le_bytes(*len) as usize == footer.len());
        self.waiting = Buffer::from(rest);
        match is_whole {
            true => Ok(()),
            false => Err("the file is damaged".to_string()),
        }
    }

    fn read_chunk(&mut self) -> std::io::Result<Vec<u8>> {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        self.input
            .by_ref()
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut chunk)?;
        if !std::mem::replace(&mut self.started, true) && chunk.starts_with(MAGIC) {
            self.is_file = true;
            // Writers pad as far as they like.
            let padding = chunk[MAGIC.len()..].iter().take_while(|byte| **byte == 0).count();
            let padded = MAGIC.len() + padding;
            chunk.drain(..padded - padded % MAGIC_BYTES);
            if chunk.is_empty() {
                return self.read_chunk();
            }
        }
        Ok(chunk)
    }
}

/// What one step of decoding gave.
enum Step {
    /// A batch.
    Batch(RecordBatch),
    /// Nothing yet.
    More,
    /// There is no more.
    End,
}
