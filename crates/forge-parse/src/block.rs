//! Calls without a marker: JSON, Python or announced calls that are the whole message or its last block.

use std::sync::Arc;

use crate::call_object::{CallObject, NamedCall, OTHER_KEYS, read_object};
use crate::engine::{Attempt, Item, Place, announced, braced, json, pythonic, resolved, tool_tag};
use crate::extent::{Extent, object_extent};
use crate::marker::{Lookup, Marker, lookup};
use crate::parser::parse_part;
use crate::{Dialect, End, Fault, FinishReason, Toolset};

/// What stands at the start of a line.
#[derive(Debug)]
pub(crate) enum Block {
    /// More text may change the answer.
    More,
    /// No block of calls.
    Nothing,
    /// So many bytes that look like a block and are text.
    Text(usize),
    /// Calls that take so many bytes.
    Calls(usize, Vec<Attempt>),
}

/// One object, list, call or fence of a block.
enum Piece {
    More,
    Nothing,
    /// So many bytes that aren't calls.
    Text(usize),
    Calls(usize, Vec<Attempt>),
}

/// Whether a line that begins so may be a block, at a glance.
pub(crate) fn may_begin(line: &str, place: &Place<'_>, whole_message: bool) -> bool {
    match line.chars().next() {
        Some('{' | '[' | '`' | '~') => true,
        Some('#') => whole_message,
        Some('<') => tool_tag::may_begin(line, place),
        Some(c) if c.is_alphabetic() || c == '_' => {
            whole_message
                || [braced::PREFIX, FUNCTOOLS].iter().any(|word| line.starts_with(word) || word.starts_with(line))
        }
        Some(_) | None => false,
    }
}

const FUNCTOOLS: &str = "functools";

/// Reads a group of objects, lists, calls and fences that begins the text. They are calls only if nothing but markup
/// follows, so this waits for the end.
pub(crate) fn read(text: &str, place: &Place<'_>, toolset: &Arc<Toolset>, whole_message: bool) -> Block {
    let reader = Reader { place: *place, toolset, whole_message };
    reader.group(text)
}

#[derive(Clone, Copy)]
struct Reader<'t> {
    place: Place<'t>,
    toolset: &'t Arc<Toolset>,
    /// Whether no text stands before: then a call needs less to be recognised.
    whole_message: bool,
}

/// A line that some models write over their calls.
const HEADINGS: &[&str] = &["# tool code", "# tool_code"];

impl Reader<'_> {
    fn more(&self) -> bool {
        self.place.more()
    }

    fn group(&self, text: &str) -> Block {
        let mut at = match self.heading(text) {
            Some(None) => return Block::More,
            Some(Some(len)) => len,
            None => 0,
        };
        let mut calls = Vec::new();
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let between = |c: char| c.is_whitespace() || (!calls.is_empty() && matches!(c, ',' | ';'));
            let trimmed = rest.trim_start_matches(between);
            let blank = rest.len() - trimmed.len();
            if trimmed.is_empty() {
                return match (self.more(), calls.is_empty()) {
                    (true, _) => Block::More,
                    (false, true) => Block::Nothing,
                    (false, false) => Block::Calls(at, calls),
                };
            }
            match self.piece(trimmed) {
                Piece::More => return Block::More,
                Piece::Calls(len, found) => {
                    at += blank + len;
                    calls.extend(found);
                }
                Piece::Text(len) => return Block::Text(at + blank + len),
                Piece::Nothing if calls.is_empty() => return Block::Nothing,
                Piece::Nothing => return self.behind(trimmed, at, text.len(), calls),
            }
        }
    }

    /// What follows the calls of a group decides about them: markup or the end.
    fn behind(&self, rest: &str, at: usize, whole: usize, calls: Vec<Attempt>) -> Block {
        let brackets_only = rest.bytes().all(|byte| matches!(byte, b']' | b'}' | b')' | b'\n' | b' '));
        match lookup(rest, self.more()) {
            Lookup::Prefix => Block::More,
            Lookup::Found(Marker::Close | Marker::Noise, _) => Block::Calls(at, calls),
            Lookup::Found(..) | Lookup::Nothing if brackets_only && self.more() => Block::More,
            Lookup::Found(..) | Lookup::Nothing if brackets_only => Block::Calls(whole, calls),
            Lookup::Found(..) | Lookup::Nothing => Block::Text(at),
        }
    }

    fn heading(&self, text: &str) -> Option<Option<usize>> {
        if !self.whole_message || !text.starts_with('#') {
            return None;
        }
        let (line, end) = text.split_once('\n').map_or((text, None), |(line, _)| (line, Some(line.len() + 1)));
        let line = line.trim_end().to_ascii_lowercase();
        match end {
            Some(end) if HEADINGS.contains(&line.as_str()) => Some(Some(end)),
            None if self.more() && HEADINGS.iter().any(|heading| heading.starts_with(&line)) => Some(None),
            Some(_) | None => None,
        }
    }

    fn piece(&self, text: &str) -> Piece {
        match text.chars().next() {
            Some('{') => self.object(text),
            Some('[') => self.bracketed(text),
            Some('`' | '~') => self.fence(text),
            Some('<') => self.item(tool_tag::read(text, &self.place)),
            Some(c) if c.is_alphabetic() || c == '_' => self.words(text),
            Some(_) | None => Piece::Nothing,
        }
    }

    fn item(&self, item: Item) -> Piece {
        match item {
            Item::More => Piece::More,
            Item::Nothing => Piece::Nothing,
            Item::Read(len, attempts) => Piece::Calls(len, attempts),
        }
    }

    fn object(&self, text: &str) -> Piece {
        match promising(text, self.more()) {
            Some(true) => {}
            Some(false) => return Piece::Nothing,
            None => return Piece::More,
        }
        let (len, end) = match object_extent(text, self.more()) {
            Extent::More => return Piece::More,
            Extent::Strict(len) | Extent::Sloppy(len) => (len, End::Complete),
            Extent::Unfinished { len, closed } => (len, if closed { End::Complete } else { self.place.end() }),
        };
        match self.meant(text.get(..len).unwrap_or(text), end) {
            Some(attempts) => Piece::Calls(len, attempts),
            None => Piece::Text(len),
        }
    }

    /// The attempts in an object that is meant as a call; none if it is data.
    fn meant(&self, object: &str, end: End) -> Option<Vec<Attempt>> {
        let dialect = Dialect::named("bare-json");
        match read_object(object, self.toolset) {
            Ok((CallObject::Call(call), unclosed)) => {
                if !self.is_call(&call) {
                    return None;
                }
                if unclosed && end == End::Cut {
                    return Some(json::attempts(object, end, &self.place));
                }
                Some(json::calls_of(CallObject::Call(call), object, &dialect, &self.place))
            }
            Ok((CallObject::Envelope(items), _)) if self.whole_message => {
                Some(json::calls_of(CallObject::Envelope(items), object, &dialect, &self.place))
            }
            Ok((CallObject::Envelope(_) | CallObject::Other, _)) => None,
            Err(_) => {
                let attempts = json::attempts(object, end, &self.place);
                let known = attempts.iter().any(|attempt| matches!(attempt, Err(fault) if fault.tool().is_some()));
                (known && names_arguments(object)).then_some(attempts)
            }
        }
    }

    fn is_call(&self, call: &NamedCall) -> bool {
        let Some(arguments) = &call.arguments else { return false };
        let shaped =
            arguments.starts_with(['{', '"']) && call.others.iter().all(|key| OTHER_KEYS.contains(&key.as_str()));
        if !shaped || is_schema(arguments) {
            return false;
        }
        self.whole_message || resolved(self.toolset, &call.name).is_some()
    }

    /// A list of objects or of Python calls, or an announcement.
    fn bracketed(&self, text: &str) -> Piece {
        match announced::read(text, &self.place) {
            Item::Nothing => {}
            item => return self.item(item),
        }
        let inner = text.get(1..).unwrap_or_default().trim_start();
        match inner.chars().next() {
            None if self.more() => Piece::More,
            Some('{') => self.list(text, Self::object),
            Some(c) if c.is_alphabetic() || c == '_' => self.list(text, |reader, text| reader.python(text, true)),
            Some(_) | None => Piece::Nothing,
        }
    }

    fn list(&self, text: &str, element: impl Fn(&Self, &str) -> Piece) -> Piece {
        let mut at = 1;
        let mut calls = Vec::new();
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || (!calls.is_empty() && c == ','));
            let blank = rest.len() - trimmed.len();
            if trimmed.is_empty() && self.more() {
                return Piece::More;
            }
            if !calls.is_empty() && (trimmed.is_empty() || trimmed.starts_with(']')) {
                return Piece::Calls(at + blank + usize::from(!trimmed.is_empty()), calls);
            }
            match element(self, trimmed) {
                Piece::More => return Piece::More,
                Piece::Calls(len, found) => {
                    at += blank + len;
                    calls.extend(found);
                }
                // A marker ends a list whose bracket is missing.
                Piece::Nothing if !calls.is_empty() && trimmed.starts_with('<') => return Piece::Calls(at, calls),
                Piece::Nothing => return Piece::Nothing,
                Piece::Text(len) => return Piece::Text(at + blank + len),
            }
        }
    }

    /// A line that begins with a word: a Python call or a braced one.
    fn words(&self, text: &str) -> Piece {
        match braced::read(text, &self.place) {
            Item::Nothing => {}
            Item::Read(len, attempts) if self.offered(&attempts) => return Piece::Calls(len, attempts),
            Item::Read(..) => return Piece::Nothing,
            Item::More => return Piece::More,
        }
        if let Some(behind) = text.strip_prefix(FUNCTOOLS) {
            let list = behind.trim_start();
            return match list.chars().next() {
                None if self.more() => Piece::More,
                Some('[') => match self.bracketed(list) {
                    Piece::Calls(len, calls) => Piece::Calls(text.len() - list.len() + len, calls),
                    Piece::Text(len) => Piece::Text(text.len() - list.len() + len),
                    undecided @ (Piece::More | Piece::Nothing) => undecided,
                },
                Some(_) | None => Piece::Nothing,
            };
        }
        if self.more() && FUNCTOOLS.starts_with(text) {
            return Piece::More;
        }
        if self.whole_message { self.python(text, false) } else { Piece::Nothing }
    }

    fn offered(&self, attempts: &[Attempt]) -> bool {
        attempts
            .iter()
            .all(|attempt| !matches!(attempt, Err(Fault::UnknownTool { .. } | Fault::Truncated { tool: None, .. })))
    }

    /// A Python call of an offered tool; in a list that is the whole message, of any.
    fn python(&self, text: &str, in_list: bool) -> Piece {
        if !self.may_be_python(text, in_list && self.whole_message) {
            return Piece::Nothing;
        }
        match pythonic::call(text, &Dialect::named("pythonic"), &self.place) {
            pythonic::Call::More => Piece::More,
            pythonic::Call::Read(len, attempt) => {
                let offered = self.offered(std::slice::from_ref(&attempt));
                let keywords = text.get(..len).is_some_and(|call| call.contains('='));
                if offered || (in_list && self.whole_message && keywords) {
                    Piece::Calls(len, vec![attempt])
                } else {
                    Piece::Nothing
                }
            }
            pythonic::Call::Cut(name) if resolved(self.toolset, &name).is_some() => {
                let fault = Fault::Truncated { tool: resolved(self.toolset, &name), raw: text.to_owned() };
                Piece::Calls(text.len(), vec![Err(fault)])
            }
            pythonic::Call::Cut(_) | pythonic::Call::Nothing | pythonic::Call::NotLiteral(_) => Piece::Nothing,
        }
    }

    /// Whether a word may become the name of a Python call: no sentence is held back for it.
    fn may_be_python(&self, text: &str, any: bool) -> bool {
        let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')));
        let Some(end) = end else {
            let known = ["print", "default_api.", "functions."];
            return any
                || known.iter().any(|word| word.starts_with(text) || text.starts_with(word))
                || self.toolset.names().any(|name| name.starts_with(text));
        };
        text.get(end..)
            .is_some_and(|behind| behind.trim_start_matches(' ').starts_with('(') || behind.trim().is_empty())
    }

    fn fence(&self, text: &str) -> Piece {
        let mark = text.chars().next().unwrap_or('`');
        let run = text.chars().take_while(|c| *c == mark).count();
        if run < 3 {
            return if self.more() && run == text.len() { Piece::More } else { Piece::Nothing };
        }
        let Some((info, body)) = text.get(run..).unwrap_or_default().split_once('\n') else {
            return if self.more() { Piece::More } else { Piece::Nothing };
        };
        let info = info.trim().to_ascii_lowercase();
        let start = text.len() - body.len();
        let Some(kind) = self.fence_kind(&info, body) else { return Piece::Nothing };
        let FenceKind::Calls(kind) = kind else { return Piece::More };
        let Some((inner, after)) = closing_fence(body, mark, run) else {
            if self.more() {
                return Piece::More;
            }
            return self.fenced(body, kind).map_or(Piece::Nothing, |calls| Piece::Calls(text.len(), calls));
        };
        // The line that closes may go on, and then it closes nothing: blanks behind the marks tell nothing yet.
        if self.more() && !body.get(after..).is_some_and(|behind| behind.contains('\n')) {
            return Piece::More;
        }
        let ended = Reader { place: Place { finish: Some(FinishReason::Stop), ..self.place }, ..*self };
        match ended.fenced(body.get(..inner).unwrap_or(body), kind) {
            Some(calls) => Piece::Calls(start + after, calls),
            None => Piece::Text(start + after),
        }
    }

    /// What a fence may hold, by its language and the first character in it. None if no calls.
    fn fence_kind(&self, info: &str, body: &str) -> Option<FenceKind> {
        let content = body.trim_start();
        let first = content.chars().next();
        let any = info.is_empty();
        if (any || JSON_FENCES.contains(&info)) && matches!(first, Some('{' | '[')) {
            return Some(FenceKind::Calls(Fenced::Block));
        }
        let python = info == "tool_code" || (self.whole_message && (any || PYTHON_FENCES.contains(&info)));
        if python && first.is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '[')) {
            let kind = if info == "tool_code" { Fenced::ToolCode } else { Fenced::Block };
            let calls = first == Some('[') || self.may_be_python(content, false);
            return calls.then_some(FenceKind::Calls(kind));
        }
        // A fence in a fence is shown, so that no text makes the reading deeper and deeper.
        if self.whole_message && !self.place.nested && first == Some('<') && (any || MARKUP_FENCES.contains(&info)) {
            return match lookup(content, self.more()) {
                Lookup::Prefix => Some(FenceKind::Undecided),
                Lookup::Found(Marker::Open(_) | Marker::Tag, _) => Some(FenceKind::Calls(Fenced::Marked)),
                Lookup::Found(..) | Lookup::Nothing => None,
            };
        }
        let known =
            any || JSON_FENCES.contains(&info) || PYTHON_FENCES.contains(&info) || MARKUP_FENCES.contains(&info);
        (first.is_none() && known && self.more()).then_some(FenceKind::Undecided)
    }

    fn only_calls(&self, content: &str) -> Option<Vec<Attempt>> {
        match self.group(content) {
            Block::Calls(_, calls) => Some(calls),
            Block::More | Block::Nothing | Block::Text(_) => None,
        }
    }

    fn fenced(&self, content: &str, kind: Fenced) -> Option<Vec<Attempt>> {
        match kind {
            Fenced::Block => self.only_calls(content),
            Fenced::ToolCode => Reader { whole_message: true, ..*self }.only_calls(content),
            Fenced::Marked => {
                let part = parse_part(self.toolset, content, self.place.finish.unwrap_or_default());
                let only_calls = !part.attempts.is_empty() && part.text.trim().is_empty();
                only_calls.then(|| part.attempts.into_iter().map(|attempt| attempt.result).collect())
            }
        }
    }
}

enum FenceKind {
    Undecided,
    Calls(Fenced),
}

#[derive(Clone, Copy)]
enum Fenced {
    /// Calls without markers.
    Block,
    /// Python calls in a fence that says so, wherever it stands.
    ToolCode,
    /// Calls in a marker dialect.
    Marked,
}

const JSON_FENCES: &[&str] =
    &["json", "jsonc", "json5", "tool_call", "tool_calls", "tool", "tool_code", "function_call"];
const PYTHON_FENCES: &[&str] = &["python", "py", "tool_code", "tool_call"];
const MARKUP_FENCES: &[&str] = &["xml", "html", "text", "plaintext", "tool_call", "tool_code"];

/// Whether an object may be a call by its first key: none where more text is needed to tell.
fn promising(text: &str, more: bool) -> Option<bool> {
    let inner = text.trim_start_matches(|c: char| c == '{' || c.is_whitespace());
    if text.bytes().take_while(|b| *b == b'{').count() > 2 {
        return Some(false);
    }
    if inner.is_empty() && more {
        return None;
    }
    Some(inner.starts_with(['"', '\'', '\u{201c}']) || inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

fn names_arguments(object: &str) -> bool {
    ["arguments", "parameters", "args", "input"].iter().any(|key| object.contains(key))
}

/// Whether these arguments are the schema of a tool's arguments.
fn is_schema(arguments: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(arguments)
        .is_ok_and(|value| value.get("type").is_some_and(|kind| kind == "object") && value.get("properties").is_some())
}

/// Where the content of a fence ends and where the fence does. A fence may close on the last line of its content.
fn closing_fence(body: &str, mark: char, run: usize) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let bare = line.trim();
        let end = at + line.trim_end().len();
        if bare.len() >= run && bare.chars().all(|c| c == mark) {
            return Some((at, end));
        }
        if let Some(code) = bare.strip_suffix("```").filter(|code| run == 3 && code.ends_with(['}', ']', ')'])) {
            return Some((end - 3, end)).filter(|_| !code.is_empty());
        }
        at += line.len();
    }
    None
}
