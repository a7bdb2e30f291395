//! The declarations of `cpp/include/textpack.h`.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int};

/// Success; anything else is explained by [`textpack_error`].
pub const TEXTPACK_OK: c_int = 0;

/// Memory of the library, to be given back with [`textpack_release`].
#[repr(C)]
pub struct textpack_buffer {
    /// The first byte; never null after a success.
    pub data: *mut u8,
    /// The number of bytes.
    pub size: usize,
}

/// A found document.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct textpack_hit {
    /// Its number, in the order of adding.
    pub document: u32,
    /// The larger, the better it fits.
    pub score: u32,
}

/// An index; only ever behind a pointer.
#[repr(C)]
pub struct textpack_index {
    _private: [u8; 0],
}

unsafe extern "C" {
    pub fn textpack_error() -> *const c_char;
    pub fn textpack_pack(
        codec: *const c_char,
        data: *const u8,
        size: usize,
        packed: *mut textpack_buffer,
    ) -> c_int;
    pub fn textpack_unpack(data: *const u8, size: usize, unpacked: *mut textpack_buffer) -> c_int;
    pub fn textpack_release(buffer: textpack_buffer);
    pub fn textpack_index_new(tokens: *const c_char) -> *mut textpack_index;
    pub fn textpack_index_delete(index: *mut textpack_index);
    pub fn textpack_index_add(
        index: *mut textpack_index,
        text: *const c_char,
        size: usize,
        document: *mut u32,
    ) -> c_int;
    pub fn textpack_index_search(
        index: *mut textpack_index,
        query: *const c_char,
        size: usize,
        hits: *mut textpack_hit,
        capacity: usize,
        count: *mut usize,
    ) -> c_int;
}
