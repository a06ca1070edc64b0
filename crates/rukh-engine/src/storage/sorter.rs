//! External sort: any number of keys and values, brought into key order in bounded memory.
//!
//! Entries collect in a buffer of chunks, so that it grows without being copied. When it is full it is sorted and written to a *run*, a file
//! without a name that the system removes with the process. Reading merges all runs and what is
//! left in the buffer; before runs become too many to be open at once they are merged into one.
//!
//! ```text
//! run     entry*
//! entry   key length (u32, little-endian), value length (u32), key, value
//! ```
//!
//! Deliberately not here: what equal keys mean. They come out next to each other.

use crate::EngineError;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Runs that are merged into one when there are so many.
const RUNS_MAX: usize = 128;

/// Buffer of each file, in bytes.
const FILE_BUFFER: usize = 256 << 10;

/// Bytes of the lengths before an entry.
const HEADER_LEN: usize = 8;

/// Bytes of a chunk of the buffer, and of its first; an entry that is larger has one of its own.
const CHUNK_BYTES: usize = 1 << 20;
const CHUNK_BYTES_MIN: usize = 4 << 10;

/// An entry in the buffer: where it is, and the first bytes of its key for quick comparison.
#[derive(Clone, Copy)]
struct Item {
    prefix: u64,
    chunk: u32,
    offset: u32,
    key_len: u32,
    value_len: u32,
}

/// Entries one after another.
type Chunks = Vec<Vec<u8>>;

/// Sorts entries by key.
pub(crate) struct Sorter {
    directory: PathBuf,
    chunks: Chunks,
    /// Bytes that the chunks take.
    chunk_bytes: usize,
    items: Vec<Item>,
    runs: Vec<File>,
    entries: u64,
}

impl Sorter {
    /// Makes a sorter whose runs lie in `directory`.
    pub(crate) fn new(directory: &Path) -> Self {
        let directory = directory.to_path_buf();
        Sorter {
            directory,
            chunks: Chunks::new(),
            chunk_bytes: 0,
            items: Vec::new(),
            runs: Vec::new(),
            entries: 0,
        }
    }

    /// Adds an entry; keys and values are shorter than 4 GiB.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        let bytes = key.len() + value.len();
        let has_room = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= bytes;
        if !self.chunks.last().is_some_and(has_room) {
            let usual = self.chunk_bytes.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES);
            let chunk = Vec::with_capacity(bytes.max(usual));
            self.chunk_bytes += chunk.capacity();
            self.chunks.push(chunk);
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        self.items.push(Item {
            prefix: prefix(key),
            chunk: last as u32,
            offset: chunk.len() as u32,
            key_len: key.len() as u32,
            value_len: value.len() as u32,
        });
        chunk.extend_from_slice(key);
        chunk.extend_from_slice(value);
        self.entries += 1;
    }

    /// Returns the number of entries added.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the bytes that the buffer takes.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.chunk_bytes + self.items.len() * size_of::<Item>()
    }

    /// Sorts the buffer and writes it to a run.
    pub(crate) fn spill(&mut self) -> Result<(), EngineError> {
        if self.items.is_empty() {
            return Ok(());
        }
        self.sort();
        let mut run = RunWriter::new(&self.directory)?;
        for item in &self.items {
            let (key, value) = item.parts(&self.chunks);
            run.add(key, value)?;
        }
        self.items.clear();
        self.chunks.clear();
        self.chunk_bytes = 0;
        self.runs.push(run.finish()?);
        match self.runs.len() < RUNS_MAX {
            true => Ok(()),
            false => self.join_runs(),
        }
    }

    /// Returns all entries in key order.
    pub(crate) fn finish(self) -> Result<Merge, EngineError> {
        merged(vec![self])
    }

    /// Sorts the buffer.
    pub(crate) fn sort(&mut self) {
        let chunks = &self.chunks;
        self.items.sort_unstable_by(|a, b| {
            a.prefix
                .cmp(&b.prefix)
                .then_with(|| a.parts(chunks).0.cmp(b.parts(chunks).0))
        });
    }

    fn join_runs(&mut self) -> Result<(), EngineError> {
        let runs = std::mem::take(&mut self.runs);
        let mut merge = Merge::new(open_runs(runs), &self.directory)?;
        let mut joined = RunWriter::new(&self.directory)?;
        while merge.advance()? {
            joined.add(merge.key(), merge.value())?;
        }
        self.runs.push(joined.finish()?);
        Ok(())
    }
}

impl Item {
    fn parts<'a>(&self, chunks: &'a Chunks) -> (&'a [u8], &'a [u8]) {
        let entry = &chunks[self.chunk as usize][self.offset as usize..];
        let (key, rest) = entry.split_at(self.key_len as usize);
        (key, &rest[..self.value_len as usize])
    }
}

/// Returns the entries of several sorters in key order.
pub(crate) fn merged(sorters: Vec<Sorter>) -> Result<Merge, EngineError> {
    let directory = sorters.first().map(|sorter| sorter.directory.clone());
    let mut sources = Vec::new();
    for mut sorter in sorters {
        sorter.sort();
        sources.extend(open_runs(sorter.runs));
        sources.push(Source::new(Input::Memory(Memory {
            chunks: sorter.chunks,
            items: sorter.items.into_iter(),
        })));
    }
    Merge::new(sources, &directory.unwrap_or_default())
}

/// Spills the greatest buffers until those of all sorters together keep to `bytes_max`.
pub(crate) fn make_room(sorters: &mut [Sorter], bytes_max: usize) -> Result<(), EngineError> {
    while sorters.iter().map(Sorter::buffered_bytes).sum::<usize>() > bytes_max {
        let greatest = sorters.iter_mut().max_by_key(|sorter| sorter.buffered_bytes());
        greatest.expect("a sum above zero has a summand").spill()?;
    }
    Ok(())
}

/// Returns the first eight bytes of a key as a number; shorter keys are filled up with zeros, so
/// equal prefixes say nothing of the order.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let len = key.len().min(8);
    bytes[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(bytes)
}

/// A run being written.
struct RunWriter {
    directory: PathBuf,
    file: BufWriter<File>,
}

impl RunWriter {
    fn new(directory: &Path) -> Result<Self, EngineError> {
        let file = tempfile::tempfile_in(directory).map_err(failure("create a file in", directory))?;
        Ok(RunWriter {
            directory: directory.to_path_buf(),
            file: BufWriter::with_capacity(FILE_BUFFER, file),
        })
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        let mut header = [0; HEADER_LEN];
        header[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
        header[4..].copy_from_slice(&(value.len() as u32).to_le_bytes());
        let written = [&header, key, value]
            .into_iter()
            .try_for_each(|part| self.file.write_all(part));
        written.map_err(failure("write a file in", &self.directory))
    }

    fn finish(self) -> Result<File, EngineError> {
        let failed = failure("write a file in", &self.directory);
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|mut file| file.rewind().map(|()| file))
            .map_err(failed)
    }
}

fn failure(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> EngineError + use<> {
    let path = path.to_path_buf();
    move |source| EngineError::Io {
        operation,
        path: path.clone(),
        source,
    }
}

fn open_runs(runs: Vec<File>) -> Vec<Source> {
    let open = |file| Source::new(Input::File(BufReader::with_capacity(FILE_BUFFER, file)));
    runs.into_iter().map(open).collect()
}

/// A sorted buffer being read.
struct Memory {
    chunks: Chunks,
    items: std::vec::IntoIter<Item>,
}

enum Input {
    File(BufReader<File>),
    Memory(Memory),
}

/// A sorted input with the entry that is next in it.
struct Source {
    prefix: u64,
    key: Vec<u8>,
    value: Vec<u8>,
    input: Input,
}

impl Source {
    fn new(input: Input) -> Self {
        Source {
            prefix: 0,
            key: Vec::new(),
            value: Vec::new(),
            input,
        }
    }

    /// Reads the next entry; `false` at the end.
    fn advance(&mut self) -> io::Result<bool> {
        self.key.clear();
        self.value.clear();
        match &mut self.input {
            Input::Memory(memory) => {
                let Some(item) = memory.items.next() else {
                    return Ok(false);
                };
                let (key, value) = item.parts(&memory.chunks);
                self.key.extend_from_slice(key);
                self.value.extend_from_slice(value);
            }
            Input::File(file) => {
                let mut header = [0; HEADER_LEN];
                match file.read_exact(&mut header) {
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                    outcome => outcome?,
                }
                let [a, b, c, d, e, f, g, h] = header;
                self.key.resize(u32::from_le_bytes([a, b, c, d]) as usize, 0);
                self.value.resize(u32::from_le_bytes([e, f, g, h]) as usize, 0);
                file.read_exact(&mut self.key)?;
                file.read_exact(&mut self.value)?;
            }
        }
        self.prefix = prefix(&self.key);
        Ok(true)
    }
}

/// The smallest key is the greatest: a heap shows its greatest.
impl Ord for Source {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .prefix
            .cmp(&self.prefix)
            .then_with(|| other.key.cmp(&self.key))
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Source {}

/// Sorted inputs being merged.
pub(crate) struct Merge {
    directory: PathBuf,
    heap: BinaryHeap<Box<Source>>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Merge {
    fn new(sources: Vec<Source>, directory: &Path) -> Result<Self, EngineError> {
        let mut heap = BinaryHeap::with_capacity(sources.len());
        for source in sources {
            let mut source = Box::new(source);
            if source.advance().map_err(failure("read a file in", directory))? {
                heap.push(source);
            }
        }
        Ok(Merge {
            directory: directory.to_path_buf(),
            heap,
            key: Vec::new(),
            value: Vec::new(),
        })
    }

    /// Goes to the next entry in key order; `false` at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, EngineError> {
        use std::collections::binary_heap::PeekMut;
        let Some(mut first) = self.heap.peek_mut() else {
            return Ok(false);
        };
        std::mem::swap(&mut self.key, &mut first.key);
        std::mem::swap(&mut self.value, &mut first.value);
        match first.advance() {
            Ok(true) => drop(first),
            Ok(false) => drop(PeekMut::pop(first)),
            Err(source) => {
                drop(PeekMut::pop(first));
                return Err(failure("read a file in", &self.directory)(source));
            }
        }
        Ok(true)
    }

    /// Returns the key of the current entry.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the value of the current entry.
    pub(crate) fn value(&self) -> &[u8] {
        &self.value
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(entries: &[(Vec<u8>, Vec<u8>)], spill_every: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut sorter = Sorter::new(&std::env::temp_dir());
        for (at, (key, value)) in entries.iter().enumerate() {
            sorter.add(key, value);
            if at % spill_every == spill_every - 1 {
                sorter.spill().unwrap();
            }
        }
        assert_eq!(sorter.entries(), entries.len() as u64);
        let mut merge = sorter.finish().unwrap();
        let mut out = Vec::new();
        while merge.advance().unwrap() {
            out.push((merge.key().to_vec(), merge.value().to_vec()));
        }
        out
    }

    proptest! {
        #[test]
        fn runs_merge_into_key_order(
            entries in prop::collection::vec(
                (prop::collection::vec(0_u8..3, 0..12), prop::collection::vec(any::<u8>(), 0..4)),
                0..60,
            ),
            spill_every in 1_usize..70,
        ) {
            let mut expected = entries.clone();
            expected.sort();
            let mut found = sorted(&entries, spill_every);
            prop_assert!(found.is_sorted_by(|a, b| a.0 <= b.0));
            found.sort();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn many_runs_are_joined() {
        let entries: Vec<_> = (0..400_u16)
            .rev()
            .map(|n| (n.to_be_bytes().to_vec(), vec![1]))
            .collect();
        let mut expected = entries.clone();
        expected.reverse();
        assert_eq!(sorted(&entries, 1), expected);
    }
}
