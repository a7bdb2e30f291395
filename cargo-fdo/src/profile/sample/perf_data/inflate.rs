//! `perf record -z`: records inside compressed records.
//!
//! perf feeds one zstd stream that it flushes and never ends; a `PERF_RECORD_COMPRESSED` holds a
//! piece of it, and records in it may begin in one piece and end in a later one
//! (`tools/perf/util/zstd.c`).

use zstd_safe::{DCtx, InBuffer, OutBuffer};

/// Decompressed bytes at a time.
const STEP: usize = 128 << 10;
/// Records are shorter than this.
const RECORD: usize = 64 << 10;

/// The stream, and the beginning of the record that its last piece ended in.
pub(super) struct Inflate {
    stream: DCtx<'static>,
    out: Vec<u8>,
    filled: usize,
}

impl Inflate {
    /// `None` if there is no memory for it.
    pub(super) fn new() -> Option<Inflate> {
        Some(Inflate {
            stream: DCtx::try_create()?,
            out: vec![0; RECORD + STEP],
            filled: 0,
        })
    }

    /// Decompresses a piece, in steps. `records` is given all bytes that are waiting and says how
    /// many it used.
    ///
    /// # Errors
    ///
    /// zstd's words, or the error of `records`.
    pub(super) fn piece<E>(
        &mut self,
        compressed: &[u8],
        zstd: impl Fn(&'static str) -> E,
        mut records: impl FnMut(&[u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        let mut input = InBuffer::around(compressed);
        loop {
            // What `records` left is less than a record.
            let kept = self.filled.min(RECORD);
            let mut output = OutBuffer::around(&mut self.out[kept..]);
            let step = self.stream.decompress_stream(&mut output, &mut input);
            step.map_err(|code| zstd(zstd_safe::get_error_name(code)))?;
            self.filled = kept + output.pos();
            let full = self.filled == self.out.len();
            let used = records(&self.out[..self.filled])?;
            self.out.copy_within(used..self.filled, 0);
            self.filled -= used;
            // All input is read and nothing more of it waits in the stream.
            if !full && input.pos() >= compressed.len() {
                return Ok(());
            }
        }
    }
}
