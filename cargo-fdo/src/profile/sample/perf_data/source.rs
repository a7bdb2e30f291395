//! A buffer over an input that can't be sought, for records that are read in place.

use crate::profile::sample::read::ReadError;
use std::io::{ErrorKind, Read};

/// Bytes held at once: a few times the longest record, 64 KiB.
const BUFFER: usize = 256 << 10;

/// The input, and how far it was read.
pub(super) struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    /// The part of the buffer that was filled and not consumed.
    at: usize,
    end: usize,
    /// Bytes from the input's start to `at`.
    position: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Source<R> {
        Source {
            input,
            buffer: vec![0; BUFFER],
            at: 0,
            end: 0,
            position: 0,
        }
    }

    /// Bytes consumed so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// What is buffered.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.at..self.end]
    }

    /// Moves on within what is buffered.
    pub(super) fn consume(&mut self, len: usize) {
        let len = len.min(self.end - self.at);
        self.at += len;
        self.position += len as u64;
    }

    /// Buffers more; `false` at the end of the input or if the buffer is full.
    pub(super) fn more(&mut self) -> Result<bool, ReadError> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.end -= self.at;
        self.at = 0;
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(ReadError::Io {
                        at: self.position + self.end as u64,
                        source,
                    });
                }
            }
        }
    }

    /// Skips bytes; `false` if there are fewer.
    pub(super) fn skip(&mut self, mut len: u64) -> Result<bool, ReadError> {
        loop {
            let buffered = self.bytes().len();
            let now = usize::try_from(len).map_or(buffered, |len| len.min(buffered));
            self.consume(now);
            len -= now as u64;
            if len == 0 {
                return Ok(true);
            }
            if !self.more()? {
                return Ok(false);
            }
        }
    }

    /// Reads bytes into memory, fewer if the input ends. Grows with what is there, not with `len`.
    pub(super) fn take(&mut self, len: usize) -> Result<Vec<u8>, ReadError> {
        let mut taken = Vec::new();
        while taken.len() < len {
            if self.bytes().is_empty() && !self.more()? {
                break;
            }
            let now = self.bytes().len().min(len - taken.len());
            taken.extend_from_slice(&self.bytes()[..now]);
            self.consume(now);
        }
        Ok(taken)
    }
}
