//! A token that one model puts between all others: it is taken out before anything is read.

const BOUNDARY: &str = "]<]minimax[>[";

/// Takes the boundary token out of a text that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundaryFilter {
    /// A possible beginning of the token at the end of what arrived.
    held: String,
}

impl BoundaryFilter {
    /// Takes a piece and appends what remains of it.
    pub(crate) fn push(&mut self, piece: &str, out: &mut String) {
        if self.held.is_empty() && !piece.contains(']') {
            out.push_str(piece);
            return;
        }
        self.held.push_str(piece);
        let text = std::mem::take(&mut self.held);
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once(BOUNDARY) {
            out.push_str(before);
            rest = behind;
        }
        let held =
            (1..BOUNDARY.len()).rev().find(|length| BOUNDARY.get(..*length).is_some_and(|begun| rest.ends_with(begun)));
        let keep = rest.len() - held.unwrap_or(0);
        out.push_str(rest.get(..keep).unwrap_or(rest));
        self.held.push_str(rest.get(keep..).unwrap_or_default());
    }

    /// Appends what was held.
    pub(crate) fn finish(&mut self, out: &mut String) {
        out.push_str(&std::mem::take(&mut self.held));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_vanishes_at_every_cut() {
        let text = "a]<]minimax[>[b] [c]]<]minimax[>[]";
        for (cut, _) in text.char_indices() {
            let (first, second) = text.split_at(cut);
            let (mut filter, mut out) = (BoundaryFilter::default(), String::new());
            filter.push(first, &mut out);
            filter.push(second, &mut out);
            filter.finish(&mut out);
            assert_eq!(out, "ab] [c]]", "{cut}");
        }
    }
}
