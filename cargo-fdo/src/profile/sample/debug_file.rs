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
