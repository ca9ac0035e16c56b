//! Where in a text the parser stands: line, code, quotation. What decides whether a marker is meant or shown.

use crate::intent::introduces_example;

/// How much of the text behind the current place is remembered, in bytes.
const MEMORY: usize = 2048;

/// A fenced code block that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) mark: char,
    pub(crate) length: usize,
}

/// The place in the visible text.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextContext {
    /// The end of the text so far; only its last [`MEMORY`] bytes count.
    tail: String,
    /// Whether there was anything but white space.
    pub(crate) any_text: bool,
    /// The fence the place is in.
    pub(crate) fence: Option<Fence>,
    /// The length of the backtick run that opened inline code on this line.
    code: Option<usize>,
    /// Whether this line is a quotation or a row of a table.
    quoted_line: bool,
    /// Whether only white space came since the last call or marker.
    after_unit: bool,
    /// Whether something else than white space stands on this line.
    line_begun: bool,
    /// Whether a marker was shown as text: what closes it is text as well.
    marker_shown: bool,
    /// The element of a document that is open: what it holds is shown.
    document: Option<String>,
    /// Whether the text so far leads to an example, once that was judged: while a piece is held it is asked again and
    /// again.
    leads_to_example: Option<bool>,
}

impl TextContext {
    /// Moves behind text that was read.
    pub(crate) fn advance(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.leads_to_example = None;
        let blank = text.bytes().all(|byte| byte.is_ascii_whitespace());
        if !blank {
            self.any_text = true;
            self.after_unit = false;
        }
        match memchr::memrchr(b'\n', text.as_bytes()) {
            Some(newline) => {
                self.code = None;
                self.quoted_line = false;
                let line = text.as_bytes().get(newline..).unwrap_or_default();
                self.line_begun = !line.iter().all(u8::is_ascii_whitespace);
            }
            None => self.line_begun |= !blank,
        }
        if self.tail.len() > 4 * MEMORY {
            let keep = suffix(&self.tail, MEMORY).len();
            self.tail.drain(..self.tail.len() - keep);
        }
        self.tail.push_str(suffix(text, MEMORY));
    }

    /// Notes a backtick run within a line.
    pub(crate) fn backticks(&mut self, run: usize) {
        match self.code {
            None => self.code = Some(run),
            Some(open) if open == run => self.code = None,
            Some(_) => {}
        }
    }

    /// Notes that this line quotes.
    pub(crate) fn quote_line(&mut self) {
        self.quoted_line = true;
    }

    /// Notes that a call or a marker was taken out of the text here.
    pub(crate) fn unit_taken(&mut self) {
        self.after_unit = true;
        self.code = None;
        self.marker_shown = false;
    }

    /// The text just before, as far as it is remembered.
    pub(crate) fn before(&self) -> &str {
        suffix(&self.tail, MEMORY)
    }

    /// Whether the text so far says that what follows is an example or a quotation.
    pub(crate) fn leads_to_example(&mut self) -> bool {
        let judged = self.leads_to_example.unwrap_or_else(|| introduces_example(self.before()));
        self.leads_to_example = Some(judged);
        judged
    }

    /// This line up to here.
    pub(crate) fn line(&self) -> &str {
        let before = self.before();
        before.rsplit_once('\n').map_or(before, |(_, line)| line)
    }

    /// Whether only white space stands before on this line.
    pub(crate) fn at_line_start(&self) -> bool {
        self.after_unit || !self.line_begun
    }

    /// Whether a marker here is shown and not meant: in code, in a quotation, behind an opening quote.
    pub(crate) fn shown(&self) -> bool {
        self.fence.is_some()
            || self.code.is_some()
            || self.quoted_line
            || self.before().ends_with(['"', '\u{201c}', '\u{2018}', '\u{ab}', '\u{201e}', '\''])
            || self.in_dialogue()
    }

    /// Notes that a marker which opens a call is shown as text.
    pub(crate) fn show_marker(&mut self) {
        self.marker_shown |= self.fence.is_none() && self.code.is_none() && !self.quoted_line;
    }

    /// Whether a closing marker here belongs to an opening one that was shown.
    pub(crate) fn closes_shown(&self) -> bool {
        self.marker_shown
    }

    /// Whether the place is within a sentence: words stand before on this line, and none of them ended one.
    pub(crate) fn in_sentence(&self) -> bool {
        if self.at_line_start() {
            return false;
        }
        self.line().trim_end().chars().next_back().is_some_and(|last| !ends_sentence(last))
    }

    /// The character just before.
    pub(crate) fn last_char(&self) -> Option<char> {
        self.tail.chars().next_back()
    }

    /// Whether the line so far is a speaker's label, and the line before was another speaker's: a conversation is shown.
    fn in_dialogue(&self) -> bool {
        if !self.line_begun || !self.line().trim_end().ends_with([':', '*']) {
            return false;
        }
        let mut lines = self.before().rsplit('\n').filter(|line| !line.trim().is_empty());
        let (Some((label, "")), Some(before)) = (lines.next().and_then(speaker), lines.next()) else { return false };
        speaker(before).is_some_and(|(other, said)| other != label && !said.is_empty())
    }

    /// Whether the place is inside a document, so that tags in it are its own.
    pub(crate) fn in_document(&self) -> bool {
        self.document.is_some()
    }

    /// Notes a tag that means nothing here. At the start of a line it opens a document, unless it is empty; the
    /// document ends with its closing tag.
    pub(crate) fn element(&mut self, name: &str, closing: bool, ignored: bool) {
        if closing {
            self.document.take_if(|open| open == name);
        } else if self.document.is_none() && !ignored && !EMPTY_ELEMENTS.contains(&name) {
            self.document = Some(name.to_owned());
        }
    }
}

/// Elements that have no closing tag.
const EMPTY_ELEMENTS: &[&str] = &["br", "hr", "img", "input", "meta", "link", "p", "li"];

fn ends_sentence(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '\u{2026}' | '\u{3002}' | '\u{ff01}' | '\u{ff1f}' | '>' | ']' | '\u{ff0e}')
}

/// The label at the start of a line of a conversation, and what is said: `**bot:** yes`.
fn speaker(line: &str) -> Option<(&str, &str)> {
    let line = line.trim().trim_start_matches(['>', '*', '_', '-', ' ']);
    let (label, said) = line.split_once(':')?;
    let words = label.split_whitespace().count();
    let plain = label.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '*'));
    (plain && (1..=2).contains(&words) && label.len() <= 24).then(|| (label, said.trim_matches(['*', '_', ' '])))
}

/// The last bytes of a text, at most `length`, whole characters.
fn suffix(text: &str, length: usize) -> &str {
    let start = text.len().saturating_sub(length);
    text.get(text.ceil_char_boundary(start)..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(text: &str) -> TextContext {
        let mut context = TextContext::default();
        context.advance(text);
        context
    }

    #[test]
    fn lines_and_sentences() {
        assert!(context("").at_line_start());
        assert!(context("Yes.\n  ").at_line_start());
        assert!(!context("Yes. ").at_line_start());
        assert!(!context("One moment. ").in_sentence());
        assert!(context("The tag ").in_sentence());
        assert!(!context("The tag\n").in_sentence());
    }

    #[test]
    fn inline_code_ends_with_its_run_or_its_line() {
        let mut context = context("Use ");
        context.backticks(1);
        assert!(context.shown());
        context.advance("x");
        context.backticks(1);
        assert!(!context.shown());
        context.backticks(1);
        context.advance("\n");
        assert!(!context.shown());
    }

    #[test]
    fn a_line_of_a_conversation_is_shown() {
        assert!(context("guest: lights, please\nbot: ").shown());
        assert!(context("**guest:** lights\n**bot:** ").shown());
        assert!(!context("I look it up: ").shown());
        assert!(!context("First the tide.\nThen the wind: ").shown());
    }

    #[test]
    fn what_is_remembered_does_not_depend_on_the_pieces() {
        let text = "word \u{e9}".repeat(1000);
        let whole = context(&text);
        let mut pieces = TextContext::default();
        for c in text.chars() {
            pieces.advance(c.encode_utf8(&mut [0; 4]));
        }
        assert_eq!(whole.before(), pieces.before());
    }
}
