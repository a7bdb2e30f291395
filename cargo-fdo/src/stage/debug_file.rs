//! The file apart that has a program's debug information, where it was split off.
//!
//! In the order of gdb: by build id below the system's debug directory, then under the name in
//! `.gnu_debuglink` beside the program and in `.debug` there.

use std::path::{Path, PathBuf};

/// Where distributions put debug information.
const SYSTEM: &str = "/usr/lib/debug";

/// Candidates, best first; whether they are there and of the same build is for the caller to see.
pub fn candidates(
    program: &Path,
    build_id: Option<&[u8]>,
    debug_link: Option<&str>,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some([first, rest @ ..]) = build_id
        && !rest.is_empty()
    {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        found.push(PathBuf::from(format!(
            "{SYSTEM}/.build-id/{first:02x}/{rest}.debug"
        )));
    }
    // A name with a directory is no debug link, and would lead anywhere.
    let name = debug_link.filter(|name| !name.is_empty() && !name.contains('/'));
    if let (Some(name), Some(dir)) = (name, program.parent()) {
        found.push(dir.join(name));
        found.push(dir.join(".debug").join(name));
        if let Ok(below) = dir.strip_prefix("/") {
            found.push(Path::new(SYSTEM).join(below).join(name));
        }
    }
    found.retain(|path| path != program);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_id_first_then_the_link() {
        let found = candidates(Path::new("/opt/app"), Some(&[0xab, 1, 2]), Some("app.debug"));
        let paths = [
            "/usr/lib/debug/.build-id/ab/0102.debug",
            "/opt/app.debug",
            "/opt/.debug/app.debug",
            "/usr/lib/debug/opt/app.debug",
        ];
        assert_eq!(found, paths.map(PathBuf::from));
        assert!(candidates(Path::new("/opt/app"), Some(&[1]), Some("../x")).is_empty());
    }
}
