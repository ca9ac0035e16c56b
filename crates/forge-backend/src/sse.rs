//! Server-sent events, decoded without I/O: bytes go in, events come out.

use std::collections::VecDeque;

/// The longest line and the largest event that is accepted, in bytes. A line holds one token as a rule; a whole
/// answer in one event is the largest honest case.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// The event's type; empty where the stream gave none.
    pub name: String,
    /// The data lines, joined with line feeds.
    pub data: String,
}

/// The stream can't be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {limit} bytes")]
pub struct SseError {
    /// The limit that was passed, in bytes.
    pub limit: usize,
}

/// Reads the event-stream format of the HTML standard: lines end with CR, LF or CRLF, a byte order mark may come
/// first, lines that start with a colon are comments, and an empty line ends an event. Bytes that are no UTF-8 become
/// replacement characters, also where a character was split over two pushes.
///
/// One thing goes beyond the standard, because llama.cpp has sent it: a field `error` is the data of an event named
/// `error`.
#[derive(Debug)]
pub struct SseDecoder {
    line: Vec<u8>,
    data: String,
    name: String,
    has_data: bool,
    at_start: bool,
    after_cr: bool,
    limit: usize,
    ready: VecDeque<SseEvent>,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl SseDecoder {
    /// A decoder that refuses lines and events above `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: String::new(),
            name: String::new(),
            has_data: false,
            at_start: true,
            after_cr: false,
            limit,
            ready: VecDeque::new(),
        }
    }

    /// Takes the next bytes of the stream, cut anywhere. The events they complete are then ready.
    ///
    /// # Errors
    /// When a line or an event is longer than the limit; the decoder is of no use afterwards.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let (line, tail) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            self.extend_line(line)?;
            self.end_line()?;
            rest = match tail {
                [b'\r', b'\n', tail @ ..] | [b'\n', tail @ ..] => tail,
                [b'\r'] => {
                    // The line feed that belongs to it may come with the next push.
                    self.after_cr = true;
                    &[]
                }
                [_, tail @ ..] => tail,
                [] => &[],
            };
        }
        self.extend_line(rest)
    }

    /// The next complete event.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }

    /// Takes the end of the stream: a last event without the empty line after it counts, because servers that end
    /// the stream after their last data line exist.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(&mut self) -> Result<(), SseError> {
        self.end_line()?;
        self.end_line()
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.line.len().saturating_add(bytes.len()) > self.limit {
            return Err(SseError { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), SseError> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = bytes.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            self.end_event();
        } else {
            let text = String::from_utf8_lossy(line);
            let (field, value) = text.split_once(':').unwrap_or((&text, ""));
            self.take_field(field, value.strip_prefix(' ').unwrap_or(value))?;
        }
        // Keep the allocation for the next line.
        self.line = bytes;
        self.line.clear();
        Ok(())
    }

    fn take_field(&mut self, field: &str, value: &str) -> Result<(), SseError> {
        match field {
            "data" => self.take_data(value),
            "error" => {
                "error".clone_into(&mut self.name);
                self.take_data(value)
            }
            "event" => {
                value.clone_into(&mut self.name);
                Ok(())
            }
            // A comment (the field name is empty), `id`, `retry`, and whatever else: nothing that matters here.
            _ => Ok(()),
        }
    }

    fn take_data(&mut self, value: &str) -> Result<(), SseError> {
        if self.data.len().saturating_add(value.len()).saturating_add(1) > self.limit {
            return Err(SseError { limit: self.limit });
        }
        if self.has_data {
            self.data.push('\n');
        }
        self.has_data = true;
        self.data.push_str(value);
        Ok(())
    }

    fn end_event(&mut self) {
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if std::mem::take(&mut self.has_data) {
            self.ready.push_back(SseEvent { name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert_eq, proptest};

    use super::*;

    /// The events of a stream pushed in pieces, as `name|data`.
    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            decoder.push(piece).unwrap();
            events.extend(std::iter::from_fn(|| decoder.next_event()));
        }
        decoder.finish().unwrap();
        events.extend(std::iter::from_fn(|| decoder.next_event()));
        events.into_iter().map(|event| format!("{}|{}", event.name, event.data)).collect()
    }

    #[test]
    fn the_format_is_read() {
        for (stream, events) in [
            ("data: a\n\ndata: b\n\n", &["|a", "|b"][..]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["|a", "|b"]),
            ("data: a\r\rdata: b\r\r", &["|a", "|b"]),
            ("data: a\n\rdata: b\r\n\n", &["|a", "|b"]),
            ("data: a\ndata: b\ndata\ndata:\n\n", &["|a\nb\n\n"]),
            ("data:a\ndata:  b\n\n", &["|a\n b"]),
            (": comment\n:\n\ndata: a\n\n", &["|a"]),
            ("event: x\nid: 1\nretry: 9\ndata: a\n\ndata: b\n\n", &["x|a", "|b"]),
            ("event: x\n\ndata: a\n\n", &["|a"]),
            ("error: {\"code\":500}\n\n", &["error|{\"code\":500}"]),
            ("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["|a"]),
            ("data: a", &["|a"]),
            ("data: a\n", &["|a"]),
            ("data: a: b\n\n", &["|a: b"]),
            ("\n\n\n", &[]),
            ("", &[]),
        ] {
            assert_eq!(decode([stream.as_bytes()]), events, "{stream:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(decode([&b"data: \xff\xe5\x91\n\n"[..]]), ["|\u{fffd}\u{fffd}"]);
    }

    #[test]
    fn a_line_past_the_limit_is_refused() {
        let mut decoder = SseDecoder::with_limit(16);
        let pushed = (0..9).try_for_each(|_| decoder.push(b"xx"));
        assert_eq!(pushed.unwrap_err().to_string(), "an event of the stream is longer than 16 bytes");
    }

    #[test]
    fn an_event_past_the_limit_is_refused() {
        let mut decoder = SseDecoder::with_limit(16);
        assert_eq!((0..9).try_for_each(|_| decoder.push(b"data: xx\n")), Err(SseError { limit: 16 }));
    }

    proptest! {
        #[test]
        fn every_way_to_cut_a_stream_gives_the_same_events(
            lines in prop::collection::vec("(data|event|error|:|id|\u{feff}data)?(:)? ?[a:{é味🦀 ]{0,6}", 0..12),
            ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "\r\r"]), 12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let stream: String = lines.iter().zip(&ends).map(|(line, end)| format!("{line}{end}")).collect();
            let bytes = stream.as_bytes();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]);
            prop_assert_eq!(decode(pieces), decode([bytes]));
        }

        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let one_by_one = decode(bytes.chunks(1));
            prop_assert_eq!(one_by_one, decode([bytes.as_slice()]));
        }
    }
}
