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
/// `{port:NAME}`  | a free TCP port, the same for this name throughout a run; those beside it
///                | are given to no other name
/// `{dir:NAME}`   | the directory `{tmp}/NAME`, made before `prepare`
/// `{PARAMETER}`  | the value of a parameter of the workload or its scenario
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
    /// Known when the configuration is read; apart from literals, because a shell needs it quoted,
    /// and a sweep replaces it.
    Parameter {
        name: String,
        value: String,
    },
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
    /// A directory below [`Tmp`](Placeholder::Tmp), made before `prepare`.
    Dir(String),
}

impl Template {
    /// Parses text that can't have parameters.
    ///
    /// # Errors
    ///
    /// What is wrong with the first wrong placeholder, as the object of a sentence: "an unknown
    /// placeholder …".
    pub fn parse(text: &str) -> Result<Template, String> {
        Template::parse_with(text, &[])
    }

    /// Parses text in which these parameters may stand; they are empty until
    /// [`bind`](Template::bind).
    ///
    /// # Errors
    ///
    /// As [`parse`](Template::parse).
    pub fn parse_with(text: &str, parameters: &[String]) -> Result<Template, String> {
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
                let is_parameter =
                    !Placeholder::reserves(body) && parameters.iter().any(|known| known == body);
                parts.push(if is_parameter {
                    Part::Parameter {
                        name: body.to_owned(),
                        value: String::new(),
                    }
                } else {
                    Part::Placeholder(Placeholder::parse(body, parameters)?)
                });
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
        self.0.iter().all(|part| matches!(part, Part::Literal(_)))
    }

    /// Its placeholders, in order, without parameters.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|part| match part {
            Part::Literal(_) | Part::Parameter { .. } => None,
            Part::Placeholder(placeholder) => Some(placeholder),
        })
    }

    /// The names of its parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Parameter { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// Gives a parameter its value, wherever it stands.
    pub fn bind(&mut self, parameter: &str, to: &str) {
        for part in &mut self.0 {
            if let Part::Parameter { name, value } = part
                && name == parameter
            {
                to.clone_into(value);
            }
        }
    }

    /// The programs it needs, in order.
    pub fn bins(&self) -> impl Iterator<Item = &str> {
        self.placeholders()
            .filter_map(|placeholder| match placeholder {
                Placeholder::Bin(name) => Some(name.as_str()),
                _ => None,
            })
    }

    /// The directories of `{dir:NAME}` that it needs, in order.
    pub fn dirs(&self) -> impl Iterator<Item = &str> {
        self.placeholders()
            .filter_map(|placeholder| match placeholder {
                Placeholder::Dir(name) => Some(name.as_str()),
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
                Part::Parameter { value, .. } => text.push(value),
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
                Part::Parameter { value, .. } => {
                    text.push(place.quote(value.as_ref()));
                    place.skip_value();
                }
            }
        }
        Ok(text)
    }
}

/// For people, with the placeholders as they are written, and the values of parameters. Not for parsing: doubled braces are
/// gone.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                Part::Placeholder(placeholder) => placeholder.fmt(f)?,
                Part::Literal(literal) => f.write_str(literal)?,
                Part::Parameter { value, .. } => f.write_str(value)?,
            }
        }
        Ok(())
    }
}

impl Placeholder {
    const NAMES: [&str; 6] = ["bin", "tmp", "cpus", "workspace", "dir", "port"];

    /// Whether no parameter can have this name.
    pub(super) fn reserves(name: &str) -> bool {
        Self::NAMES.contains(&name)
    }

    /// Parses what is inside the braces, and none of the `parameters`.
    fn parse(body: &str, parameters: &[String]) -> Result<Placeholder, String> {
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
            ("dir", Some(dir)) if is_plain(dir) => Ok(Placeholder::Dir(dir.to_owned())),
            ("dir", _) => Err(format!(
                "`{{{body}}}`, which needs a plain name: `{{dir:NAME}}` is `{{tmp}}/NAME`"
            )),
            (name, Some(_)) if Self::NAMES.contains(&name) => Err(format!(
                "`{{{body}}}`, which takes no argument: `{{{name}}}`"
            )),
            _ => Err(format!(
                "an unknown placeholder `{{{body}}}`{}",
                match did_you_mean(name, Self::names(parameters)) {
                    none if none.is_empty() => format!(
                        "{}; `{{{{{body}}}}}` stands for these characters themselves",
                        there_are(parameters)
                    ),
                    near => near,
                }
            )),
        }
    }
}

impl Placeholder {
    fn names(parameters: &[String]) -> impl Iterator<Item = &str> {
        let parameters = parameters.iter().map(String::as_str);
        Self::NAMES.into_iter().chain(parameters)
    }
}

/// "; the parameters are `a`, `b`", if there are any.
fn there_are(parameters: &[String]) -> String {
    match parameters {
        [] => String::new(),
        [one] => format!("; the only parameter is `{one}`"),
        several => format!("; the parameters are `{}`", several.join("`, `")),
    }
}

/// Whether it is a name of one directory, inside of the one that it is in.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placeholder::Bin(name) => write!(f, "{{bin:{name}}}"),
            Placeholder::Tmp => f.write_str("{tmp}"),
            Placeholder::Cpus => f.write_str("{cpus}"),
            Placeholder::Workspace => f.write_str("{workspace}"),
            Placeholder::Port(name) => write!(f, "{{port:{name}}}"),
            Placeholder::Dir(name) => write!(f, "{{dir:{name}}}"),
        }
    }
}

/// Whether `{name}` is a placeholder, by its form.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
}

/// The inside of a `{name}` or `{name:argument}` that `text` starts with, and what follows it.
fn body(text: &str) -> Option<(&str, &str)> {
    let (body, after) = text.strip_prefix('{')?.split_once('}')?;
    let (name, argument) = body.split_once(':').unwrap_or((body, ""));
    let odd = |c: char| c.is_whitespace() || matches!(c, '{' | '"' | '\'' | '`' | ',' | ';');
    (is_name(name) && !argument.contains(odd)).then_some((body, after))
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
                Placeholder::Dir(name) => format!("/t/{name}").into(),
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
    fn parameters_have_the_value_that_they_are_bound_to() {
        let known = ["users".to_owned(), "size".to_owned()];
        let mut template = Template::parse_with("-u {users} {size}{users}", &known).unwrap();
        assert_eq!(
            template.parameters().collect::<Vec<_>>(),
            ["users", "size", "users"]
        );
        assert!(!template.is_literal() && template.placeholders().next().is_none());
        template.bind("users", "10");
        template.bind("size", "4 k");
        let mut none = |_: &Placeholder| Ok::<OsString, Infallible>(OsString::new());
        let Ok(text) = template.expand(&mut none);
        assert_eq!(text, "-u 10 4 k10");
        let Ok(text) = template.expand_for_shell(&mut none);
        assert_eq!(text, "-u 10 '4 k'10");
        template.bind("users", "1");
        assert_eq!(template.to_string(), "-u 1 4 k1");
        assert_eq!(
            Template::parse_with("{user}", &known).unwrap_err(),
            "an unknown placeholder `{user}`; did you mean `users`?"
        );
        assert_eq!(
            Template::parse_with("{requests}", &known).unwrap_err(),
            "an unknown placeholder `{requests}`; the parameters are `users`, `size`; \
             `{{requests}}` stands for these characters themselves"
        );
    }

    #[test]
    fn directories_have_plain_names() {
        assert_eq!(
            expanded("{dir:meta}/log {dir:a.b-1}"),
            "/t/meta/log /t/a.b-1"
        );
        for text in ["{dir}", "{dir:}", "{dir:a/b}", "{dir:..}", "{dir:.x}"] {
            let message = Template::parse(text).unwrap_err();
            assert!(message.contains("needs a plain name"), "{message}");
        }
        let template = Template::parse("{dir:b} {tmp} {dir:a}").unwrap();
        assert_eq!(template.dirs().collect::<Vec<_>>(), ["b", "a"]);
    }

    #[test]
    fn bins_are_listed_in_order() {
        let template = Template::parse("{bin:b} {tmp} {bin:a}").unwrap();
        assert_eq!(template.bins().collect::<Vec<_>>(), ["b", "a"]);
    }
}
