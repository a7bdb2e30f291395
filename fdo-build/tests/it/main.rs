//! Build scripts that use the library, run by the real cargo.

#[cfg(all(feature = "cc", unix))]
mod cc;
#[cfg(all(feature = "cmake", unix))]
mod cmake;
mod configure;
mod package;
