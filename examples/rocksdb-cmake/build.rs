//! Builds RocksDB by its own `CMakeLists.txt`, from the sources that librocksdb-sys brings along.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ROCKSDB_LIB_DIR");
    assert!(
        env::var_os("ROCKSDB_LIB_DIR").is_some(),
        "run cargo inside the directory of this example: without its `.cargo/config.toml` \
         librocksdb-sys links a RocksDB of its own"
    );

    let source = metadata("DEP_ROCKSDB_CARGO_MANIFEST_DIR").join("rocksdb");
    let lz4 = metadata("DEP_LZ4_ROOT").join("liblz4.a");
    let db_bench = env::var_os("CARGO_FEATURE_DB_BENCH").is_some();

    let mut config = cmake::Config::new(source);
    config
        // Also in a debug build of the Rust code, which is no reason to debug RocksDB.
        .profile("Release")
        // Not for the processor of the machine that builds.
        .define("PORTABLE", "1")
        // A diagnostic about a profile is no error.
        .define("FAIL_ON_WARNINGS", "OFF")
        .define("ROCKSDB_BUILD_SHARED", "OFF")
        .define("WITH_LZ4", "ON")
        .define("lz4_INCLUDE_DIRS", metadata("DEP_LZ4_INCLUDE"))
        .define("lz4_LIBRARIES", lz4)
        .define("WITH_LIBURING", "OFF")
        .define("WITH_TESTS", "OFF")
        .define("WITH_TOOLS", "OFF")
        .define("WITH_CORE_TOOLS", "OFF")
        .define("WITH_TRACE_TOOLS", "OFF")
        .define("WITH_BENCHMARK_TOOLS", on_or_off(db_bench))
        .define("WITH_GFLAGS", on_or_off(db_bench))
        // The program brings the library with it.
        .build_target(if db_bench { "db_bench" } else { "rocksdb" });
    fdo_build::configure().cmake(&mut config);
    let build = config.build().join("build");

    println!("cargo::rustc-link-search=native={}", build.display());
    if db_bench {
        let program = build.join("db_bench");
        println!("cargo::rustc-env=DB_BENCH={}", program.display());
    }
}

/// A path that the build script of a dependency has left for us.
fn metadata(name: &str) -> PathBuf {
    match env::var_os(name) {
        Some(path) => path.into(),
        None => panic!("`{name}` is not set: has the dependency changed its metadata?"),
    }
}

fn on_or_off(switch: bool) -> &'static str {
    if switch { "ON" } else { "OFF" }
}
