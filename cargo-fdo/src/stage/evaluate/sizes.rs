//! How large a program is.

use crate::comparison::facts::Program;
use object::{Object, ObjectSection, SectionFlags, elf};
use std::path::Path;

/// Size of a program and of its code. A file that is gone has no bytes; a script has no code.
pub fn of_program(name: &str, path: &Path) -> Program {
    Program {
        name: name.to_owned(),
        path: path.display().to_string(),
        bytes: path.metadata().map_or(0, |file| file.len()),
        text_bytes: code_bytes(path),
    }
}

/// Bytes of all sections that can be executed: cold code has a section of its own in some programs
/// and is part of `.text` in others.
fn code_bytes(path: &Path) -> Option<u64> {
    let file = std::fs::File::open(path).ok()?;
    let cache = object::ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    let is_code = |flags| match flags {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(elf::SHF_EXECINSTR),
        _ => false,
    };
    Some(
        object
            .sections()
            .filter(|section| is_code(section.flags()))
            .map(|section| section.size())
            .sum(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_program_has_code_and_a_text_has_none() {
        let program = of_program("self", &std::env::current_exe().unwrap());
        assert!(
            program
                .text_bytes
                .is_some_and(|text| text > 0 && text < program.bytes)
        );
        let text = of_program("text", Path::new("Cargo.toml"));
        assert!(text.bytes > 0 && text.text_bytes.is_none());
        assert_eq!(of_program("gone", Path::new("/gone")).bytes, 0);
    }
}
