//! Short readable pieces of what a model wrote.

/// At most `limit` characters; a longer text is cut and ends in `…`.
pub(crate) fn brief(text: &str, limit: usize) -> String {
    let mut characters = text.chars();
    let mut brief: String = characters.by_ref().take(limit).collect();
    if characters.next().is_some() {
        brief.pop();
        brief.push('…');
    }
    brief
}

/// About `limit` characters before and after a byte offset, on one line.
pub(crate) fn around(text: &str, offset: usize, limit: usize) -> String {
    let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
    let before: Vec<char> = before.chars().rev().take(limit).collect();
    let around: String = before.into_iter().rev().chain(after.chars().take(limit)).collect();
    around.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_limit_is_whole() {
        assert_eq!(brief("äöü", 3), "äöü");
    }

    #[test]
    fn a_longer_text_is_cut_to_the_limit() {
        assert_eq!(brief("äöüß", 3), "äö…");
    }

    #[test]
    fn around_an_offset_inside_a_character_is_the_end() {
        assert_eq!(around("abcä", 4, 2), "cä");
    }

    #[test]
    fn around_an_offset() {
        assert_eq!(around("{\"a\": 1,\n ,}", 9, 3), "1, ,}");
    }
}
