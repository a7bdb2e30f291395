//! Sampled profiles: from what perf recorded to what compilers read.
//!
//! ```text
//! perf.data ──> perf_data ──┐
//! perf script ─> perf_script ┴─> recording (addresses, branches, ranges of each image)
//!                                   │
//!      ELF, DWARF ──> image, dwarf ─┴─> convert ──> SampleProfile ──> merge, overlap
//!                                                     │        │
//!                                                llvm_text    gcov (GCC's AutoFDO file)
//! ```
//!
//! Words, LLVM's own: a *head* count says how often a function was entered; a *body* sample is a
//! count at one source position; a *call site* is a position where another function was inlined,
//! with the samples of that inlined copy. Positions are lines relative to the function's
//! declaration, so that code moving within a file keeps its profile.

mod absorb;
pub mod applied;
mod branches;
pub mod consumed;
pub mod convert;
pub mod cpp_names;
pub mod debug_file;
mod discriminator;
pub(in crate::profile) mod dwarf;
mod executed;
pub mod finished;
mod flow;
pub mod gcov;
#[cfg(test)]
pub(crate) mod generate;
pub mod image;
pub(in crate::profile) mod images;
mod instructions;
pub mod limits;
pub mod llvm_text;
pub mod mapped;
pub(in crate::profile) mod maps;
pub mod merge;
pub mod names;
pub mod overlap;
pub mod perf_data;
pub mod perf_script;
pub mod policy;
pub(in crate::profile) mod processes;
pub mod quality;
pub mod read;
pub mod recording;
pub mod slice;

use std::collections::BTreeMap;

/// How deep functions may be inlined into each other in a file that is read.
///
/// A bound for the stack of whoever walks the tree. The deepest real ones, iterator chains of
/// Rust, have some dozens.
pub const MAX_DEPTH: usize = 256;

/// A source position inside a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Location {
    /// Lines from the function's declaration (`DW_AT_decl_line`), modulo 2^16, as both compilers
    /// compute it.
    pub offset: u32,
    /// What tells apart the basic blocks of one line.
    ///
    /// For LLVM the base discriminator, decoded from DWARF's number; for GCC DWARF's number.
    pub discriminator: u32,
}

/// What was sampled in one program, by function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SampleProfile {
    /// Outermost functions by the name that the compiler looks for: the linkage name without the
    /// suffixes that a compiler appends to clones.
    pub functions: BTreeMap<String, FunctionSamples>,
}

/// The samples of one function, or of one inlined copy of it.
///
/// Counts saturate; they are never negative and a position with zero says that it was seen to be
/// cold, which is not the same as an absent one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionSamples {
    /// All samples of the body and of everything inlined in it.
    pub total: u64,
    /// How often the function was entered. Meaningless (zero) in an inlined copy.
    pub head: u64,
    /// Samples at positions.
    pub body: BTreeMap<Location, BodySample>,
    /// Inlined copies, by the position of the call and the callee's name.
    pub call_sites: BTreeMap<Location, BTreeMap<String, FunctionSamples>>,
    /// Checksum of the control-flow graph (`!CFGChecksum`): profiles by pseudo probes only.
    pub checksum: Option<u64>,
    /// LLVM's context attributes (`!Attributes`), uninterpreted.
    pub attributes: Option<u64>,
}

/// The samples at one position.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BodySample {
    /// How often the position was executed, in samples.
    pub count: u64,
    /// What was called from here without being inlined, and how often.
    pub targets: BTreeMap<String, u64>,
}

impl FunctionSamples {
    /// Sets the totals to the sums of what is below them, and returns this function's.
    ///
    /// That is GCC's meaning of them, and so what files without totals get.
    pub fn recount(&mut self) -> u64 {
        let mut total = 0_u64;
        for body in self.body.values() {
            total = total.saturating_add(body.count);
        }
        for copy in self.call_sites.values_mut().flat_map(BTreeMap::values_mut) {
            total = total.saturating_add(copy.recount());
        }
        self.total = total;
        total
    }
}
