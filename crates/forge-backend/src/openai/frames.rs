//! A body cut into the events of its stream, as bytes.

use bytes::{Buf, Bytes, BytesMut};

/// Cuts a stream of server-sent events behind each empty line, without reading the events. Line ends are LF or CRLF; a stream
/// with lone carriage returns comes out in one piece at its end.
#[derive(Debug, Default)]
pub(super) struct FrameSplitter {
    buffer: BytesMut,
    /// What of the buffer has no end of an event.
    searched: usize,
}

impl FrameSplitter {
    /// Takes the next bytes, cut anywhere.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event with the empty line that ends it.
    pub(super) fn next_frame(&mut self) -> Option<Bytes> {
        loop {
            let rest = self.buffer.get(self.searched..)?;
            let newline = self.searched + rest.iter().position(|byte| *byte == b'\n')?;
            self.searched = newline + 1;
            if let Some(length) = self.blank_line_after(newline)? {
                self.searched = 0;
                return Some(self.buffer.split_to(newline + 1 + length).freeze());
            }
        }
    }

    /// The length of the empty line behind a line end; none while it may still come.
    fn blank_line_after(&mut self, newline: usize) -> Option<Option<usize>> {
        match self.buffer.get(newline + 1..).unwrap_or_default() {
            [b'\n', ..] => Some(Some(1)),
            [b'\r', b'\n', ..] => Some(Some(2)),
            [] | [b'\r'] => {
                // Looked at again when more has come.
                self.searched = newline;
                None
            }
            _ => Some(None),
        }
    }

    /// What is left at the end.
    pub(super) fn rest(&mut self) -> Bytes {
        self.searched = 0;
        let length = self.buffer.remaining();
        self.buffer.copy_to_bytes(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(pieces: &[&str]) -> Vec<String> {
        let mut splitter = FrameSplitter::default();
        let mut frames = Vec::new();
        for piece in pieces {
            splitter.push(piece.as_bytes());
            while let Some(frame) = splitter.next_frame() {
                frames.push(String::from_utf8(frame.to_vec()).unwrap());
            }
        }
        frames.push(String::from_utf8(splitter.rest().to_vec()).unwrap());
        frames
    }

    #[test]
    fn each_event_is_a_frame_whatever_the_pieces() {
        let text = "data: a\n\n: comment\n\ndata: b\r\n\r\ndata: c\ndata: d\n\ndata: rest";
        let whole = frames(&[text]);
        assert_eq!(whole, ["data: a\n\n", ": comment\n\n", "data: b\r\n\r\n", "data: c\ndata: d\n\n", "data: rest"]);
        for cut in 1..text.len() {
            let (before, after) = text.split_at(cut);
            assert_eq!(frames(&[before, after]), whole, "cut at {cut}");
        }
        let single: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(frames(&single.iter().map(String::as_str).collect::<Vec<_>>()), whole);
    }
}
