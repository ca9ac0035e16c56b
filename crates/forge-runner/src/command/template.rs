use std::fmt;

/// One element of a command line: literal text with placeholders such as `--limit={limit}`.
///
/// `{{` and `}}` stand for literal braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ElementTemplate {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    Placeholder(String),
}

/// Why an element of a command line can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("in the command-line element {element:?}, at character {}: {problem}", element.get(..*offset).unwrap_or_default().chars().count() + 1)]
pub struct TemplateError {
    /// The element as it was written.
    pub element: String,
    /// The byte offset in the element where it goes wrong.
    pub offset: usize,
    /// What is wrong.
    pub problem: TemplateProblem,
}

/// What is wrong with a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateProblem {
    /// A `{` without its `}`.
    Unclosed,
    /// A `}` without its `{`.
    Unopened,
    /// `{}`, or a name with characters no placeholder has.
    BadName(String),
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unclosed => f.write_str("this `{` is not closed; write `{name}` for a placeholder, `{{` for a brace"),
            Self::Unopened => f.write_str("this `}` closes nothing; write `}}` for a literal brace"),
            Self::BadName(name) if name.is_empty() => {
                f.write_str("a placeholder needs a name, as in `{name}`; write `{{}}` for literal braces")
            }
            Self::BadName(name) => {
                write!(
                    f,
                    "{name:?} is no placeholder name (letters, digits, `_`, `-`); write `{{{{` for a literal brace"
                )
            }
        }
    }
}

impl ElementTemplate {
    /// Reads an element.
    pub(crate) fn parse(element: &str) -> Result<Self, TemplateError> {
        let error = |offset, problem| TemplateError { element: element.to_owned(), offset, problem };
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut characters = element.char_indices().peekable();
        while let Some((offset, character)) = characters.next() {
            let doubled = characters.next_if(|(_, next)| *next == character && matches!(character, '{' | '}'));
            match character {
                '{' if doubled.is_none() => {
                    let rest = element.get(offset + 1..).unwrap_or_default();
                    let Some((name, _)) = rest.split_once('}').filter(|(name, _)| !name.contains('{')) else {
                        return Err(error(offset, TemplateProblem::Unclosed));
                    };
                    if !is_placeholder_name(name) {
                        return Err(error(offset, TemplateProblem::BadName(name.to_owned())));
                    }
                    if !literal.is_empty() {
                        pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                    }
                    pieces.push(Piece::Placeholder(name.to_owned()));
                    while characters.next_if(|(at, _)| *at <= offset + 1 + name.len()).is_some() {}
                }
                '}' if doubled.is_none() => return Err(error(offset, TemplateProblem::Unopened)),
                _ => literal.push(character),
            }
        }
        if !literal.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self { pieces })
    }

    /// The pieces in order; an empty element is one empty literal.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The names of the placeholders, in order.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Placeholder(name) => Some(name.as_str()),
            Piece::Literal(_) => None,
        })
    }

    /// The placeholder that is the whole element.
    pub(crate) fn sole_placeholder(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Placeholder(name)] => Some(name),
            _ => None,
        }
    }

    /// The text of an element without placeholders.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The element with some placeholders replaced by literal text.
    pub(crate) fn substitute<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Self {
        let mut pieces: Vec<Piece> = Vec::new();
        for piece in &self.pieces {
            let text = match piece {
                Piece::Literal(text) => text.as_str(),
                Piece::Placeholder(name) => match value(name) {
                    Some(text) => text,
                    None => {
                        pieces.push(piece.clone());
                        continue;
                    }
                },
            };
            match pieces.last_mut() {
                Some(Piece::Literal(before)) => before.push_str(text),
                Some(Piece::Placeholder(_)) | None => pieces.push(Piece::Literal(text.to_owned())),
            }
        }
        Self { pieces }
    }
}

/// Whether a name can stand in a placeholder.
pub(crate) fn is_placeholder_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Piece {
        Piece::Literal(text.to_owned())
    }

    fn placeholder(name: &str) -> Piece {
        Piece::Placeholder(name.to_owned())
    }

    #[test]
    fn reads_placeholders_and_doubled_braces() {
        let cases = [
            ("", vec![literal("")]),
            ("plain", vec![literal("plain")]),
            ("{a}", vec![placeholder("a")]),
            ("--a={a}", vec![literal("--a="), placeholder("a")]),
            ("{a}{b-c}", vec![placeholder("a"), placeholder("b-c")]),
            ("{{a}}", vec![literal("{a}")]),
            ("{{{a}}}", vec![literal("{"), placeholder("a"), literal("}")]),
            ("é{größe}ü", vec![literal("é"), placeholder("größe"), literal("ü")]),
        ];
        for (element, pieces) in cases {
            assert_eq!(ElementTemplate::parse(element).map(|template| template.pieces), Ok(pieces), "{element}");
        }
    }

    #[test]
    fn says_where_a_placeholder_is_wrong() {
        let cases = [
            ("a{b", 1, TemplateProblem::Unclosed),
            ("{a{b}", 0, TemplateProblem::Unclosed),
            ("ab}", 2, TemplateProblem::Unopened),
            ("{}", 0, TemplateProblem::BadName(String::new())),
            ("x{a b}", 1, TemplateProblem::BadName("a b".to_owned())),
        ];
        for (element, offset, problem) in cases {
            let expected = TemplateError { element: element.to_owned(), offset, problem };
            assert_eq!(ElementTemplate::parse(element), Err(expected), "{element}");
        }
    }

    #[test]
    fn substitution_joins_what_became_literal() {
        let template = ElementTemplate::parse("{dir}/x/{name}").unwrap();
        let substituted = template.substitute(|name| (name == "dir").then_some("/tmp"));
        assert_eq!(substituted.pieces, [literal("/tmp/x/"), placeholder("name")]);
    }
}
