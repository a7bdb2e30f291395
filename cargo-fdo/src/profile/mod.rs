//! Profile formats and conversions: what LLVM writes, what its compilers read, and what the
//! numbers in between say.
//!
//! Knows no other module of ours (a test checks), starts no program and decides nothing about a
//! build. Everything here reads data that came from outside, so no input may make it panic or
//! allocate what a length field asks for; errors carry the line or the byte offset.
//!
//! ```text
//! .profraw ── raw ──> plausible?
//!     │ llvm-profdata merge --text
//!     v
//! instr_text ──> summary (hot and cold limits, is the training thin?)
//!     │
//!     └──> slice (Rust | C, every unit number) ──> text for each reader's llvm-profdata
//!                │
//!                └── consumed <── evidence (what the compilers said) and object_file (what they made)
//! ```
//!
//! What is sampled instead of counted has formats and conversions of its own: [`sample`]; whole
//! stacks for flame graphs are [`stacks`].
//!
//! Words: a *record* is one function's counters; a *counter* is one basic block or edge that the
//! compiler chose to count, LLVM's summaries call it a block; a *unit* is one of rustc's codegen
//! units.

pub mod consumed;
pub mod digest;
pub mod evidence;
pub mod instr_text;
pub mod kind;
pub mod linked_file;
pub mod names;
pub mod object_file;
pub mod packed_names;
pub mod raw;
pub mod sample;
pub mod shares;
pub mod slice;
pub mod stacks;
pub mod summary;
mod v0;
