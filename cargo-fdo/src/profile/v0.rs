//! The little of Rust's v0 mangling that says which crates a symbol speaks of.
//!
//! Grammar: <https://doc.rust-lang.org/rustc/symbol-mangling/v0.html> (RFC 2603). A symbol is
//! `_R <path> [<instantiating-crate>]`; the instantiating crate is the one whose compilation made
//! the code, present for generics and shims. To find it, the path before it must be skipped
//! exactly: a function may well be called `xC1b`.

/// Deeper nesting than any real symbol has; rustc-demangle stops at 500.
const MAX_DEPTH: u32 = 256;

/// Crates named by a v0 symbol.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Crates<'a> {
    /// The first crate root in the symbol: where the function, or its impl, was written.
    pub(super) first: Option<&'a str>,
    /// The crate whose compilation instantiated it, if the symbol says so.
    pub(super) instantiating: Option<&'a str>,
}

/// Reads the symbol after its `_R`; stops quietly where the grammar does.
pub(super) fn crates(mangled: &str) -> Crates<'_> {
    let mut parser = Parser {
        text: mangled,
        at: 0,
        depth: 0,
        first: None,
    };
    let instantiating = parser.instantiating();
    Crates {
        first: parser.first,
        instantiating,
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    first: Option<&'a str>,
}

impl<'a> Parser<'a> {
    /// Skips the path and returns the crate after it.
    fn instantiating(&mut self) -> Option<&'a str> {
        // An encoding version that is not ours to know.
        if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.path()?;
        match self.next()? {
            b'C' => self.identifier(),
            b'B' => {
                let target = self.base62()?;
                let mut there = Parser {
                    text: self.text,
                    // A backref points to what was already read, so this can't run in circles.
                    at: usize::try_from(target).ok().filter(|&at| at < self.at)?,
                    depth: 0,
                    first: None,
                };
                there.path()?;
                there.first
            }
            _ => None,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        if there {
            self.at += 1;
        }
        there
    }

    /// Runs one level down; `None` where a symbol nests too deep to be real.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// `{<base-62-digit>} "_"`, where `_` alone is 0 and `0_` is 1.
    fn base62(&mut self) -> Option<u64> {
        if self.eat(b'_') {
            return Some(0);
        }
        let mut value: u64 = 0;
        loop {
            let digit = match self.next()? {
                b'_' => return value.checked_add(1),
                digit @ b'0'..=b'9' => digit - b'0',
                digit @ b'a'..=b'z' => digit - b'a' + 10,
                digit @ b'A'..=b'Z' => digit - b'A' + 36,
                _ => return None,
            };
            value = value.checked_mul(62)?.checked_add(u64::from(digit))?;
        }
    }

    /// `["s" <base-62>] ["u"] <decimal> ["_"] <bytes>`; returns the bytes.
    fn identifier(&mut self) -> Option<&'a str> {
        if self.eat(b's') {
            self.base62()?;
        }
        self.plain_identifier()
    }

    fn plain_identifier(&mut self) -> Option<&'a str> {
        self.eat(b'u');
        let mut len = usize::from(self.next().filter(u8::is_ascii_digit)? - b'0');
        if len != 0 {
            while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
                self.at += 1;
                len = len
                    .checked_mul(10)?
                    .checked_add(usize::from(digit - b'0'))?;
            }
        }
        self.eat(b'_');
        let end = self.at.checked_add(len)?;
        let name = self.text.get(self.at..end)?;
        self.at = end;
        Some(name)
    }

    fn path(&mut self) -> Option<()> {
        self.nested(|p| match p.next()? {
            b'C' => {
                let name = p.identifier()?;
                p.first.get_or_insert(name);
                Some(())
            }
            b'M' => {
                p.impl_path()?;
                p.ty()
            }
            b'X' => {
                p.impl_path()?;
                p.ty()?;
                p.path()
            }
            b'Y' => {
                p.ty()?;
                p.path()
            }
            b'N' => {
                p.next().filter(u8::is_ascii_alphabetic)?;
                p.path()?;
                p.identifier().map(drop)
            }
            b'I' => {
                p.path()?;
                p.until_end(Self::generic_arg)
            }
            b'B' => p.base62().map(drop),
            _ => None,
        })
    }

    fn impl_path(&mut self) -> Option<()> {
        if self.eat(b's') {
            self.base62()?;
        }
        self.path()
    }

    fn until_end(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        while !self.eat(b'E') {
            item(self)?;
        }
        Some(())
    }

    fn generic_arg(&mut self) -> Option<()> {
        match self.peek()? {
            b'L' => self.lifetime(),
            b'K' => {
                self.at += 1;
                self.constant()
            }
            _ => self.ty(),
        }
    }

    fn lifetime(&mut self) -> Option<()> {
        self.next().filter(|&byte| byte == b'L')?;
        self.base62().map(drop)
    }

    fn optional_lifetime(&mut self) -> Option<()> {
        if self.peek() == Some(b'L') {
            self.lifetime()?;
        }
        Some(())
    }

    fn binder(&mut self) -> Option<()> {
        if self.eat(b'G') {
            self.base62()?;
        }
        Some(())
    }

    fn ty(&mut self) -> Option<()> {
        self.nested(|p| match p.peek()? {
            // Basic types are single lower-case letters; `p` stands for a placeholder.
            b'a'..=b'z' => {
                p.at += 1;
                Some(())
            }
            b'A' => {
                p.at += 1;
                p.ty()?;
                p.constant()
            }
            b'S' | b'P' | b'O' => {
                p.at += 1;
                p.ty()
            }
            b'T' => {
                p.at += 1;
                p.until_end(Self::ty)
            }
            b'R' | b'Q' => {
                p.at += 1;
                p.optional_lifetime()?;
                p.ty()
            }
            b'W' => {
                p.at += 1;
                p.ty()?;
                p.pattern()
            }
            b'F' => {
                p.at += 1;
                p.binder()?;
                p.eat(b'U');
                if p.eat(b'K') && !p.eat(b'C') {
                    p.plain_identifier()?;
                }
                p.until_end(Self::ty)?;
                p.ty()
            }
            b'D' => {
                p.at += 1;
                p.binder()?;
                p.until_end(Self::dyn_trait)?;
                p.lifetime()
            }
            _ => p.path(),
        })
    }

    /// `"R" <const> <const>` (a range), `"O" {<pattern>} "E"` (alternatives) or `"N"` (not null).
    fn pattern(&mut self) -> Option<()> {
        self.nested(|p| match p.next()? {
            b'R' => {
                p.constant()?;
                p.constant()
            }
            b'O' => p.until_end(Self::pattern),
            b'N' => Some(()),
            _ => None,
        })
    }

    fn dyn_trait(&mut self) -> Option<()> {
        self.path()?;
        while self.eat(b'p') {
            self.plain_identifier()?;
            // A binding to a constant is marked like a generic argument.
            self.generic_arg()?;
        }
        Some(())
    }

    fn constant(&mut self) -> Option<()> {
        self.nested(|p| match p.next()? {
            b'p' => Some(()),
            b'B' => p.base62().map(drop),
            // References, arrays, tuples and values of named types, each built of constants.
            b'R' if p.eat(b'e') => p.hex(),
            b'R' | b'Q' => p.constant(),
            b'A' | b'T' => p.until_end(Self::constant),
            b'V' => p.variant(),
            b'a'..=b'z' => {
                p.eat(b'n');
                p.hex()
            }
            _ => None,
        })
    }

    fn variant(&mut self) -> Option<()> {
        match self.peek()? {
            b'U' => {
                self.at += 1;
                self.path()
            }
            b'T' => {
                self.at += 1;
                self.path()?;
                self.until_end(Self::constant)
            }
            b'S' => {
                self.at += 1;
                self.path()?;
                self.until_end(|p| {
                    p.identifier()?;
                    p.constant()
                })
            }
            _ => None,
        }
    }

    fn hex(&mut self) -> Option<()> {
        while self
            .peek()
            .is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        {
            self.at += 1;
        }
        self.eat(b'_').then_some(())
    }
}
