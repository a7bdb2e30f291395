//! Where in a shell command a placeholder stands, and how its value is quoted there.
//!
//! Quoting a value as a word of its own is right only outside of quotes: inside of them
//! (`"{tmp}/db"`) the added quotes would close the user's, and a path with a blank fall apart.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Reads a shell command from its start and knows what is open.
///
/// Enough of the shell's grammar to tell quotes: strings, escapes, substitutions, comments.
/// Here-documents and `case` patterns inside of substitutions are not understood.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// The innermost last; empty at the top.
    open: Vec<Open>,
    escaped: bool,
    comment: bool,
    /// The character before; none at the start.
    last: Option<char>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Single,
    Double,
    /// `(…)` and `$(…)`, in which quoting starts anew.
    Parenthesis,
    Backtick,
}

impl Scanner {
    /// Reads on.
    pub(super) fn read(&mut self, text: &str) {
        for c in text.chars() {
            self.step(c);
            self.last = Some(c);
        }
    }

    /// Steps over a quoted value.
    pub(super) fn skip_value(&mut self) {
        self.escaped = false;
        // Like a letter: a `#` after it starts no comment.
        self.last = Some('x');
    }

    fn step(&mut self, c: char) {
        if self.comment {
            self.comment = c != '\n';
            return;
        }
        if std::mem::take(&mut self.escaped) {
            return;
        }
        let inner = self.open.last().copied();
        match (inner, c) {
            (Some(Open::Single), '\'')
            | (Some(Open::Double), '"')
            | (Some(Open::Parenthesis), ')')
            | (Some(Open::Backtick), '`') => {
                self.open.pop();
            }
            (Some(Open::Single), _) => {}
            (_, '\\') => self.escaped = true,
            (_, '`') => self.open.push(Open::Backtick),
            (Some(Open::Double), '(') if self.last == Some('$') => {
                self.open.push(Open::Parenthesis);
            }
            (Some(Open::Double), _) => {}
            (_, '\'') => self.open.push(Open::Single),
            (_, '"') => self.open.push(Open::Double),
            (_, '(') => self.open.push(Open::Parenthesis),
            (_, '#') => {
                self.comment = self
                    .last
                    .is_none_or(|last| last.is_whitespace() || last == ';')
            }
            _ => {}
        }
    }

    /// The value, quoted for this place.
    pub(super) fn quote(&self, value: &OsStr) -> OsString {
        let value = value.as_bytes();
        let quoted = match self.open.last() {
            Some(Open::Single) => replace(value, |byte| match byte {
                b'\'' => Some(br"'\''"),
                _ => None,
            }),
            Some(Open::Double) => replace(value, |byte| match byte {
                b'"' => Some(br#"\""#),
                b'$' => Some(br"\$"),
                b'`' => Some(br"\`"),
                b'\\' => Some(br"\\"),
                _ => None,
            }),
            _ => shlex::bytes::Quoter::new()
                // A path has none; without it the call can't fail.
                .allow_nul(true)
                .quote(value)
                .map_or_else(|_| value.to_vec(), Cow::into_owned),
        };
        OsString::from_vec(quoted)
    }
}

/// `value` with some bytes replaced.
fn replace(value: &[u8], by: impl Fn(u8) -> Option<&'static [u8]>) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(value.len());
    for byte in value {
        match by(*byte) {
            Some(bytes) => replaced.extend_from_slice(bytes),
            None => replaced.push(*byte),
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use crate::config::Template;
    use std::convert::Infallible;
    use std::ffi::OsString;
    use std::process::Command;

    /// What a real shell makes of the text, with `value` for each `{tmp}`.
    #[track_caller]
    fn output(text: &str, value: &str) -> String {
        let template = Template::parse(text).unwrap();
        let Ok(command) =
            template.expand_for_shell(&mut |_| Ok::<OsString, Infallible>(value.into()));
        let output = Command::new("sh").arg("-c").arg(&command).output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn values_survive_a_shell_wherever_they_stand() {
        for value in [
            "/plain",
            "/a b",
            "it's",
            "a\"b",
            "$HOME `id` \\ !",
            "*;&|#",
            "",
        ] {
            for text in [
                "printf '<%s>' {tmp}/x",
                "printf '<%s>' \"{tmp}/x\"",
                "printf '<%s>' '{tmp}/x'",
                "printf '<%s>' \"$(printf %s \"{tmp}\")/x\"",
                "printf '<%s>' \"$(printf %s {tmp})/x\"",
                "# don't\nprintf '<%s>' {tmp}/x",
                "printf '<%s>' \\\"{tmp}/x | sed 's/\"//'",
            ] {
                if text.contains("sed") && value.contains('"') {
                    continue;
                }
                assert_eq!(output(text, value), format!("<{value}/x>"), "{text}");
            }
        }
    }

    #[test]
    fn a_value_is_one_word() {
        assert_eq!(output("set -- {tmp} {tmp}; echo $#", "a b"), "2\n");
        assert_eq!(output("(set -- {tmp}; echo $#)", "a ' b"), "1\n");
    }
}
