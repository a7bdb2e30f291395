//! Text with placeholders: parsed once, expanded for each run.

use super::nearest::did_you_mean;
use super::shell;
use std::ffi::OsString;
use std::fmt;

/// Text with placeholders.
///
/// Written        | Stands for
/// ---------------|--------------------------------------------------------------
/// `{bin:NAME}`   | the path of the program `NAME` as built for this phase
/// `{tmp}`        | a directory of this workload's own, empty before `prepare`
/// `{cpus}`       | the number of processors that this process may use
/// `{workspace}`  | the workspace root
/// `{port:NAME}`  | a free TCP port, the same for this name throughout a run
///
/// Only `{name}` and `{name:argument}` are placeholders: a name in lower case directly inside
/// the braces, an argument without blanks, quotes or braces. One that is not in the table is an
/// error. All other braces stand for themselves, so `{"a":{"b":1}}`, `{}`, `{a,b}`, `{ cd x; }`
/// and, because of the dollar sign, `${HOME}` need no care. To write the characters `{tmp}`
/// themselves, double the braces: `{{tmp}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Placeholder(Placeholder),
}

/// What is only known when a workload runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placeholder {
    /// The path of a program of the workspace.
    Bin(String),
    /// A directory of this workload's own, empty before `prepare`.
    Tmp,
    /// The number of processors.
    Cpus,
    /// The workspace root.
    Workspace,
    /// A free TCP port, the same for one name throughout a run.
    Port(String),
}

impl Template {
    /// Parses text.
    ///
    /// # Errors
    ///
    /// What is wrong with the first wrong placeholder, as the object of a sentence: "an unknown
    /// placeholder …".
    pub fn parse(text: &str) -> Result<Template, String> {
        if text.contains('\0') {
            return Err("a NUL character, which no argument or variable can hold".into());
        }
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(brace) = rest.find('{') {
            let (before, from) = rest.split_at(brace);
            literal.push_str(before);
            if literal.ends_with('$') {
                literal.push('{');
                rest = &from[1..];
            } else if let Some((escaped, after)) = escape(from) {
                literal.push_str(escaped);
                rest = after;
            } else if let Some((body, after)) = body(from) {
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(Part::Placeholder(Placeholder::parse(body)?));
                rest = after;
            } else {
                literal.push('{');
                rest = &from[1..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Template(parts))
    }

    /// Text without placeholders, whatever braces it has.
    pub fn literal(text: impl Into<String>) -> Template {
        Template(vec![Part::Literal(text.into())])
    }

    /// Whether it holds no placeholder.
    pub fn is_literal(&self) -> bool {
        self.placeholders().next().is_none()
    }

    /// Its placeholders, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Placeholder(placeholder) => Some(placeholder),
        })
    }

    /// The programs it needs, in order.
    pub fn bins(&self) -> impl Iterator<Item = &str> {
        self.placeholders()
            .filter_map(|placeholder| match placeholder {
                Placeholder::Bin(name) => Some(name.as_str()),
                _ => None,
            })
    }

    /// The text with each placeholder replaced by its `value`, verbatim.
    ///
    /// # Errors
    ///
    /// Those of `value`.
    pub fn expand<E>(
        &self,
        value: &mut dyn FnMut(&Placeholder) -> Result<OsString, E>,
    ) -> Result<OsString, E> {
        let mut text = OsString::new();
        for part in &self.0 {
            match part {
                Part::Literal(literal) => text.push(literal),
                Part::Placeholder(placeholder) => text.push(value(placeholder)?),
            }
        }
        Ok(text)
    }

    /// The text of a shell command, in which each value is quoted for where it stands: what is
    /// one word, or a part of one, stays that, whatever characters the value has.
    ///
    /// # Errors
    ///
    /// Those of `value`.
    pub fn expand_for_shell<E>(
        &self,
        value: &mut dyn FnMut(&Placeholder) -> Result<OsString, E>,
    ) -> Result<OsString, E> {
        let mut text = OsString::new();
        let mut place = shell::Scanner::default();
        for part in &self.0 {
            match part {
                Part::Literal(literal) => {
                    place.read(literal);
                    text.push(literal);
                }
                Part::Placeholder(placeholder) => {
                    text.push(place.quote(&value(placeholder)?));
                    place.skip_value();
                }
            }
        }
        Ok(text)
    }
}

/// For people, with the placeholders as they are written. Not for parsing: doubled braces are
/// gone.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                Part::Placeholder(placeholder) => placeholder.fmt(f)?,
                Part::Literal(literal) => f.write_str(literal)?,
            }
        }
        Ok(())
    }
}

impl Placeholder {
    const NAMES: [&str; 4] = ["bin", "tmp", "cpus", "workspace"];

    /// Parses what is inside the braces.
    fn parse(body: &str) -> Result<Placeholder, String> {
        let (name, argument) = match body.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (body, None),
        };
        match (name, argument) {
            ("bin", Some(bin)) if !bin.is_empty() => Ok(Placeholder::Bin(bin.to_owned())),
            ("bin", _) => Err(format!("`{{{body}}}`, which lacks a name: `{{bin:NAME}}`")),
            ("port", Some(name)) if !name.is_empty() => Ok(Placeholder::Port(name.to_owned())),
            ("port", _) => Err(format!("`{{{body}}}`, which lacks a name: `{{port:NAME}}`")),
            ("tmp", None) => Ok(Placeholder::Tmp),
            ("cpus", None) => Ok(Placeholder::Cpus),
            ("workspace", None) => Ok(Placeholder::Workspace),
            (name, Some(_)) if Self::NAMES.contains(&name) => Err(format!(
                "`{{{body}}}`, which takes no argument: `{{{name}}}`"
            )),
            _ => Err(format!(
                "an unknown placeholder `{{{body}}}`{}",
                match did_you_mean(name, Self::NAMES) {
                    none if none.is_empty() =>
                        format!("; `{{{{{body}}}}}` stands for these characters themselves"),
                    near => near,
                }
            )),
        }
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placeholder::Bin(name) => write!(f, "{{bin:{name}}}"),
            Placeholder::Tmp => f.write_str("{tmp}"),
            Placeholder::Cpus => f.write_str("{cpus}"),
            Placeholder::Workspace => f.write_str("{workspace}"),
            Placeholder::Port(name) => write!(f, "{{port:{name}}}"),
        }
    }
}

/// The inside of a `{name}` or `{name:argument}` that `text` starts with, and what follows it.
fn body(text: &str) -> Option<(&str, &str)> {
    let (body, after) = text.strip_prefix('{')?.split_once('}')?;
    let (name, argument) = body.split_once(':').unwrap_or((body, ""));
    let named = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'));
    let odd = |c: char| c.is_whitespace() || matches!(c, '{' | '"' | '\'' | '`' | ',' | ';');
    (named && !argument.contains(odd)).then_some((body, after))
}

/// The `{name}` of a `{{name}}` that `text` starts with, and what follows the whole.
fn escape(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('{')?;
    let (body, after) = body(inner)?;
    let after = after.strip_prefix('}')?;
    Some((&inner[..body.len() + 2], after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn expanded(text: &str) -> String {
        let mut value = |placeholder: &Placeholder| -> Result<OsString, Infallible> {
            Ok(match placeholder {
                Placeholder::Bin(name) => format!("/out dir/{name}").into(),
                Placeholder::Tmp => "/t".into(),
                Placeholder::Cpus => "8".into(),
                Placeholder::Workspace => "/w".into(),
                Placeholder::Port(name) => format!("1{}", name.len()).into(),
            })
        };
        let template = Template::parse(text).unwrap();
        let Ok(text) = template.expand(&mut value);
        text.into_string().unwrap()
    }

    #[test]
    fn placeholders_expand_wherever_they_stand() {
        assert_eq!(expanded("{bin:app}"), "/out dir/app");
        assert_eq!(expanded("--db={tmp}/db,{cpus}"), "--db=/t/db,8");
        assert_eq!(expanded("{workspace}{tmp}"), "/w/t");
        assert_eq!(expanded(""), "");
    }

    #[test]
    fn other_braces_stay_as_they_are() {
        for text in [
            r#"{"a":{"b":1}}"#,
            "{'a': 1}",
            "${HOME}/x",
            "${tmp}",
            "${bin:-none}",
            "{}",
            "{a,b}",
            "{1..9}",
            "{ cd x; }",
            "{{.Name}}",
            "{{json .}}",
            "{tmp",
            "tmp}",
            "{",
            "}}{{",
            "{Tmp}",
        ] {
            assert_eq!(expanded(text), text);
        }
    }

    #[test]
    fn doubled_braces_give_the_characters_themselves() {
        assert_eq!(expanded("{{tmp}}"), "{tmp}");
        assert_eq!(expanded("{{foo:x}} {tmp}"), "{foo:x} /t");
        // What a Go template needs.
        assert_eq!(expanded("{{{end}}}"), "{{end}}");
        assert_eq!(expanded("{{tmp}"), "{/t");
    }

    #[test]
    fn wrong_placeholders_are_named() {
        for (text, message) in [
            (
                "x {bni:app}",
                "an unknown placeholder `{bni:app}`; did you mean `bin`?",
            ),
            (
                "{print}",
                "an unknown placeholder `{print}`; `{{print}}` stands for these characters themselves",
            ),
            ("{bin}", "`{bin}`, which lacks a name: `{bin:NAME}`"),
            ("{bin:}", "`{bin:}`, which lacks a name: `{bin:NAME}`"),
            ("{tmp:x}", "`{tmp:x}`, which takes no argument: `{tmp}`"),
            (
                "a\0",
                "a NUL character, which no argument or variable can hold",
            ),
        ] {
            assert_eq!(Template::parse(text).unwrap_err(), message);
        }
    }

    #[test]
    fn bins_are_listed_in_order() {
        let template = Template::parse("{bin:b} {tmp} {bin:a}").unwrap();
        assert_eq!(template.bins().collect::<Vec<_>>(), ["b", "a"]);
    }
}
