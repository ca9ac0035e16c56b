use std::collections::VecDeque;

/// The head and the tail of an output of any length, in bounded memory.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
}

impl Capture {
    /// Keeps at most `limit` bytes: the first half and the last half.
    pub(crate) fn new(limit: usize) -> Self {
        let tail_limit = limit / 2;
        Self { head: Vec::new(), tail: VecDeque::new(), head_limit: limit - tail_limit, tail_limit, total: 0 }
    }

    /// Takes the next piece of the output.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.total = self.total.saturating_add(piece.len() as u64);
        let room = self.head_limit - self.head.len();
        let (to_head, rest) = piece.split_at_checked(room).unwrap_or((piece, &[]));
        self.head.extend_from_slice(to_head);
        let kept = rest.get(rest.len().saturating_sub(self.tail_limit)..).unwrap_or_default();
        let excess = (self.tail.len() + kept.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..excess);
        self.tail.extend(kept);
    }

    /// The output as text. What is not UTF-8 is replaced by U+FFFD; what was cut is said where it was.
    pub(crate) fn into_text(self) -> String {
        let Self { mut head, tail, total, .. } = self;
        let mut tail = Vec::from(tail);
        let held = (head.len() + tail.len()) as u64;
        if total == held {
            head.append(&mut tail);
            return readable(&head);
        }
        let head = without_partial_end(&head);
        let tail = without_partial_start(&tail);
        let cut = total.saturating_sub((head.len() + tail.len()) as u64);
        format!("{}\n[… {cut} of {total} bytes were cut here …]\n{}", readable(head), readable(tail))
    }
}

/// Bytes as text, with a visible mark in the place of what isn't UTF-8.
fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Drops a character that the cut split at the end, so that the cut itself doesn't look like invalid text.
fn without_partial_end(bytes: &[u8]) -> &[u8] {
    for (index, byte) in bytes.iter().enumerate().rev().take(3) {
        let length = match byte {
            0b1000_0000..=0b1011_1111 => continue,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => 1,
        };
        let whole = index + length <= bytes.len();
        return if whole { bytes } else { bytes.get(..index).unwrap_or(bytes) };
    }
    bytes
}

/// Drops the rest of a character that the cut split at the start.
fn without_partial_start(bytes: &[u8]) -> &[u8] {
    let continuation = bytes.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
    bytes.get(continuation..).unwrap_or(bytes)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(limit: usize, pieces: &[&[u8]]) -> String {
        let mut capture = Capture::new(limit);
        for piece in pieces {
            capture.push(piece);
        }
        capture.into_text()
    }

    #[test]
    fn keeps_all_of_what_fits() {
        assert_eq!(captured(10, &[b"01234", b"56789"]), "0123456789");
    }

    #[test]
    fn keeps_head_and_tail_and_says_what_was_cut() {
        let expected = "0123\n[… 2 of 10 bytes were cut here …]\n6789";
        assert_eq!(captured(8, &[b"0123456789"]), expected);
        assert_eq!(captured(8, &[b"0", b"12", b"345", b"6", b"789"]), expected);
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        for limit in 8..24 {
            let text = captured(limit, &["aé€🦀".repeat(20).as_bytes()]);
            assert!(!text.contains('\u{fffd}'), "limit {limit}: {text}");
        }
    }

    #[test]
    fn invalid_utf8_is_replaced_visibly() {
        assert_eq!(captured(100, &[b"a\xff\xfeb"]), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn memory_stays_bounded() {
        let mut capture = Capture::new(1000);
        let piece = [b'x'; 8192];
        for _ in 0..1000 {
            capture.push(&piece);
        }
        assert!(capture.head.capacity() <= 1024 && capture.tail.capacity() <= 2048);
    }
}
