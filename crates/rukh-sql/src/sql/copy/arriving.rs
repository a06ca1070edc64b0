//! What a client sends, as it arrives or once it is all there.
//!
//! A bulk load keeps other writers waiting, and a client may take its time. So before a load begins what the client has
//! yet to send is taken into a file, and read from there: other writers wait for the load, never for the client.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::rc::Rc;

use rukh_engine::Engine;

use super::client::{FromClient, client_error};
use rukh_error::SqlError;

/// Bytes taken at once.
const PIECE: usize = 64 << 10;

/// What a client sends. Its clones are the same.
#[derive(Clone)]
pub(super) struct Arriving<'a>(Rc<RefCell<From<'a>>>);

struct From<'a> {
    client: FromClient<'a>,
    /// The rest of it, once it is all there.
    rest: Option<BufReader<File>>,
}

impl<'a> Arriving<'a> {
    pub(super) fn new(client: FromClient<'a>) -> Self {
        Arriving(Rc::new(RefCell::new(From { client, rest: None })))
    }

    /// Waits until the client has sent all.
    pub(super) fn wait(&self, engine: &Engine) -> Result<(), SqlError> {
        let from = &mut *self.0.borrow_mut();
        if from.rest.is_some() {
            return Ok(());
        }
        let mut file = engine.temporary_file()?;
        let failed = |error: io::Error| {
            SqlError::of_system(format!("could not keep what the client sends: {error}"), &error)
        };
        let mut piece = vec![0; PIECE];
        loop {
            match from.client.read(&mut piece).map_err(client_error)? {
                0 => break,
                length => file.write_all(&piece[..length]).map_err(failed)?,
            }
        }
        file.rewind().map_err(failed)?;
        from.rest = Some(BufReader::with_capacity(PIECE, file));
        Ok(())
    }

    /// Passes over what comes after the rows, up to the client's end.
    pub(super) fn drain(&self) -> Result<(), SqlError> {
        self.0.borrow_mut().client.drain()
    }
}

impl Read for Arriving<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let from = &mut *self.0.borrow_mut();
        match &mut from.rest {
            Some(rest) => rest.read(buffer),
            None => from.client.read(buffer),
        }
    }
}
