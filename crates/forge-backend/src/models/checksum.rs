//! SHA-256 checksums.

use std::fmt;
use std::fmt::Write as _;

use serde::Deserialize;
use sha2::Digest as _;

/// A SHA-256 checksum, shown as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Sha256([u8; 32]);

/// A text is not a SHA-256 checksum.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a SHA-256 checksum: 64 hexadecimal digits are needed")]
pub struct InvalidSha256(pub String);

impl Sha256 {
    /// The checksum written as 64 hexadecimal digits in either case.
    ///
    /// # Errors
    /// The text has another length or other characters.
    pub fn parse(text: &str) -> Result<Self, InvalidSha256> {
        let digits = text.chars().map(|digit| digit.to_digit(16)).collect::<Option<Vec<u32>>>().unwrap_or_default();
        let (pairs, _odd) = digits.as_chunks::<2>();
        let bytes = pairs.iter().filter_map(|[high, low]| u8::try_from(high * 16 + low).ok()).collect::<Vec<u8>>();
        match <[u8; 32]>::try_from(bytes) {
            Ok(bytes) if digits.len() == 64 => Ok(Self(bytes)),
            Ok(_) | Err(_) => Err(InvalidSha256(text.to_owned())),
        }
    }

    /// The checksum of everything a hasher has seen.
    pub(crate) fn of(hasher: sha2::Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

impl TryFrom<String> for Sha256 {
    type Error = InvalidSha256;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .write_char('"')
            .and_then(|()| fmt::Display::fmt(self, formatter))
            .and_then(|()| formatter.write_char('"'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_checksum_is_shown_as_it_was_written() {
        assert_eq!(Sha256::parse(OF_NOTHING).unwrap().to_string(), OF_NOTHING);
    }

    #[test]
    fn upper_case_digits_are_the_same_checksum() {
        assert_eq!(Sha256::parse(&OF_NOTHING.to_uppercase()).unwrap(), Sha256::parse(OF_NOTHING).unwrap());
    }

    #[test]
    fn a_hasher_gives_the_checksum_of_what_it_saw() {
        assert_eq!(Sha256::of(sha2::Sha256::new()), Sha256::parse(OF_NOTHING).unwrap());
    }

    #[test]
    fn other_texts_are_refused() {
        for text in
            ["", "e3b0", OF_NOTHING.trim_start_matches('e'), &format!("{OF_NOTHING}0"), &OF_NOTHING.replace('e', "x")]
        {
            assert!(Sha256::parse(text).is_err(), "{text}");
        }
    }
}
