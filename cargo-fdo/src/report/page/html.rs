//! HTML that can't be malformed: every element is closed, every text escaped.
//!
//! Names of elements and attributes are written in our source; what comes from outside (names of
//! functions with `<` in them, paths with quotes) goes through [`escape`] and nowhere else.

use std::fmt::{Display, Write as _};

/// A piece of a page, as it is being written. SVG is written by the same means.
#[derive(Debug, Default)]
pub(super) struct Html(String);

/// An attribute and its value.
pub(super) type Attr<'a> = (&'static str, &'a dyn Display);

/// Elements that have neither content nor an end.
const VOID: [&str; 3] = ["meta", "link", "br"];

impl Html {
    /// An element with what `inner` writes into it.
    pub(super) fn element(
        &mut self,
        name: &'static str,
        attrs: &[Attr<'_>],
        inner: impl FnOnce(&mut Html),
    ) {
        self.open(name, attrs);
        self.0.push('>');
        inner(self);
        let _ = write!(self.0, "</{name}>");
    }

    /// An element that holds a text.
    pub(super) fn leaf(&mut self, name: &'static str, attrs: &[Attr<'_>], text: impl Display) {
        self.element(name, attrs, |html| html.text(text));
    }

    /// An element without content.
    pub(super) fn empty(&mut self, name: &'static str, attrs: &[Attr<'_>]) {
        self.open(name, attrs);
        if VOID.contains(&name) {
            self.0.push('>');
        } else {
            let _ = write!(self.0, "></{name}>");
        }
    }

    /// Text.
    pub(super) fn text(&mut self, text: impl Display) {
        escape(&mut self.0, &text.to_string());
    }

    /// Text in which `` `words` `` are code, as in all that we say on a terminal.
    pub(super) fn prose(&mut self, text: impl Display) {
        let text = text.to_string();
        let parts: Vec<&str> = text.split('`').collect();
        // A single mark is a mark.
        if parts.len().is_multiple_of(2) {
            return self.text(text);
        }
        for (at, part) in parts.into_iter().enumerate() {
            match at % 2 {
                0 => self.text(part),
                _ => self.leaf("code", &[], part),
            }
        }
    }

    /// A list of such texts; nothing where there is none.
    pub(super) fn list(&mut self, class: &str, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        self.element("ul", &[("class", &class)], |html| {
            for line in lines {
                html.element("li", &[], |html| html.prose(line));
            }
        });
    }

    /// The content of a `<style>`, which is not escaped: a text of our own source.
    pub(super) fn style(&mut self, css: &'static str) {
        debug_assert!(!css.contains("</"));
        self.0.push_str("<style>");
        self.0.push_str(css);
        self.0.push_str("</style>");
    }

    /// The whole document.
    pub(super) fn into_document(self) -> String {
        format!("<!DOCTYPE html>\n{}\n", self.0)
    }

    fn open(&mut self, name: &'static str, attrs: &[Attr<'_>]) {
        let _ = write!(self.0, "<{name}");
        for (attr, value) in attrs {
            let _ = write!(self.0, " {attr}=\"");
            escape(&mut self.0, &value.to_string());
            self.0.push('"');
        }
    }
}

/// Writes a text so that it is text, in an element as in a quoted attribute.
///
/// Characters that no HTML may hold (controls, but for white space) become U+FFFD.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        escape(&mut out, text);
        out
    }

    #[test]
    fn nothing_from_outside_is_markup() {
        assert_eq!(
            escaped(r#"a<b>&"c'&lt;"#),
            "a&lt;b&gt;&amp;&quot;c&#39;&amp;lt;"
        );
        assert_eq!(escaped("</style><script>"), "&lt;/style&gt;&lt;script&gt;");
        assert_eq!(
            escaped("\0\u{1b}[31m\r\u{85}é\n"),
            "\u{fffd}\u{fffd}[31m\u{fffd}\u{fffd}é\n"
        );
    }

    #[test]
    fn elements_are_closed_and_attributes_quoted() {
        let mut html = Html::default();
        html.element("p", &[("title", &"\"><i>"), ("tabindex", &0)], |html| {
            html.text("<T as Fn(&str)>");
            html.empty("br", &[]);
            html.empty("circle", &[("r", &2.5)]);
        });
        assert_eq!(
            html.0,
            "<p title=\"&quot;&gt;&lt;i&gt;\" tabindex=\"0\">&lt;T as Fn(&amp;str)&gt;<br>\
             <circle r=\"2.5\"></circle></p>"
        );
    }

    #[test]
    fn marked_words_are_code() {
        let prose = |text: &str| {
            let mut html = Html::default();
            html.prose(text);
            html.0
        };
        assert_eq!(
            prose("`a<b` to `c`: ok"),
            "<code>a&lt;b</code> to <code>c</code>: ok"
        );
        assert_eq!(prose("a ` b"), "a ` b");
        assert_eq!(prose(""), "");
    }

    #[test]
    fn no_lines_no_list() {
        let mut html = Html::default();
        html.list("x", &[]);
        assert_eq!(html.0, "");
    }
}
