//! Words that are compared with a file.

use std::fs;
use std::path::Path;

/// Compares with `tests/snapshots/NAME.txt`, which `FDO_TESTS_BLESS=1` writes.
#[track_caller]
pub fn assert_snapshot(name: &str, actual: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    let path = directory.join(format!("{name}.txt"));
    if std::env::var_os("FDO_TESTS_BLESS").is_some() {
        fs::create_dir_all(&directory)
            .and_then(|()| fs::write(&path, actual))
            .expect("the repository is writable");
        return;
    }
    // No file is an empty one: the message below shows what it should be.
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "`{}` says otherwise; if the new words are right, run with FDO_TESTS_BLESS=1\n\
         --- expected\n{expected}--- actual\n{actual}---",
        path.display()
    );
}
