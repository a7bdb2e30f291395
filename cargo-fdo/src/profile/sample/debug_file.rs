//! Where the debug information of a stripped program is.
//!
//! Distributions and `objcopy --only-keep-debug` put it into a file apart, which is found by the
//! program's build id or by a name and checksum that the program carries. The order is gdb's,
//! "Debugging Information in Separate Files" in its manual.

use super::image::Image;
use std::path::{Path, PathBuf};

/// Where distributions put debug files.
const SYSTEM: &str = "/usr/lib/debug";

/// Where the debug file of `program` may be, likely places first; `directories` come before the
/// system's own. The file need not exist.
pub fn candidates(program: &Path, image: &Image<'_>, directories: &[PathBuf]) -> Vec<PathBuf> {
    let own = program.parent().unwrap_or(Path::new("")).to_owned();
    let mut places = Vec::new();
    let system = PathBuf::from(SYSTEM);
    for root in directories.iter().chain([&system]) {
        if let Some((first, rest)) = image.build_id.as_deref().and_then(<[u8]>::split_first)
            && !rest.is_empty()
        {
            let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
            let by_id = root.join(".build-id").join(format!("{first:02x}"));
            places.push(by_id.join(format!("{rest}.debug")));
        }
    }
    // A name with a directory in it would lead out of those directories.
    let link = image.debug_link.as_ref().map(|(name, _)| Path::new(name));
    if let Some(link) = link.filter(|link| Some(link.as_os_str()) == link.file_name()) {
        for directory in directories {
            places.push(directory.join(link));
        }
        places.push(own.join(link));
        places.push(own.join(".debug").join(link));
        if let Ok(below_root) = own.strip_prefix("/") {
            places.push(Path::new(SYSTEM).join(below_root).join(link));
        }
    }
    // A link that names the program itself.
    places.retain(|place| place != program);
    places
}

/// Whether a file holds the debug information of just this image: by build id, or by checksum if
/// one of the two has no build id.
pub fn belongs(image: &Image<'_>, debug: &[u8]) -> bool {
    let Ok(other) = Image::read(debug) else {
        return false;
    };
    match (&image.build_id, &other.build_id) {
        (Some(own), Some(other)) => own == other,
        _ => image.debug_link.as_ref().is_some_and(|(_, checksum)| {
            let mut crc = flate2::Crc::new();
            crc.update(debug);
            crc.sum() == *checksum
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(program: &str, link: &str, directories: &[&str]) -> Vec<String> {
        let data = include_bytes!("../../../tests-data/sampled-clang.elf");
        let mut image = Image::read(data).unwrap();
        image.debug_link = Some((link.to_owned(), 0));
        let directories: Vec<PathBuf> = directories.iter().map(PathBuf::from).collect();
        let found = candidates(Path::new(program), &image, &directories);
        found
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }

    #[test]
    fn places() {
        assert_eq!(
            paths("/opt/bin/server", "server.debug", &["/debug"]),
            [
                "/debug/.build-id/01/23456789abcdef.debug",
                "/usr/lib/debug/.build-id/01/23456789abcdef.debug",
                "/debug/server.debug",
                "/opt/bin/server.debug",
                "/opt/bin/.debug/server.debug",
                "/usr/lib/debug/opt/bin/server.debug",
            ]
        );
    }

    #[test]
    fn names_that_lead_elsewhere_are_not_followed() {
        for link in ["../secret", "/etc/passwd", "a/b", ".."] {
            let places = paths("/opt/bin/server", link, &[]);
            assert_eq!(
                places,
                ["/usr/lib/debug/.build-id/01/23456789abcdef.debug"],
                "{link}"
            );
        }
        // Nor one that leads back to the program.
        let places = paths("/opt/bin/server", "server", &[]);
        assert!(!places.contains(&"/opt/bin/server".to_owned()));
    }

    #[test]
    fn a_file_belongs_by_build_id_or_checksum() {
        let data: &[u8] = include_bytes!("../../../tests-data/sampled-clang.elf");
        let other: &[u8] = include_bytes!("../../../tests-data/sampled-gcc.elf");
        let mut image = Image::read(data).unwrap();
        assert!(belongs(&image, data));
        // All fixtures have one build id.
        assert!(belongs(&image, other));
        image.build_id = Some(vec![1, 2]);
        assert!(!belongs(&image, data));
        let mut crc = flate2::Crc::new();
        crc.update(data);
        image.build_id = None;
        image.debug_link = Some(("x".to_owned(), crc.sum()));
        assert!(belongs(&image, data) && !belongs(&image, other));
    }
}
