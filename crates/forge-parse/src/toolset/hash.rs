use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use crate::ToolSpec;

/// Hashes tools: one wide multiplication for up to 16 bytes. The same content has the same hash under the same key.
///
/// Under a random key nobody can look for two lists of tools with the same hash; under the fixed one the hash is the
/// same in every process.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContentHasher {
    key: [u64; 2],
}

impl ContentHasher {
    /// The key that is the same in every process: digits of pi.
    pub(super) const FIXED: Self = Self { key: [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344] };

    pub(super) fn with_random_key() -> Self {
        Self { key: [RandomState::new().hash_one(1_u8), RandomState::new().hash_one(2_u8)] }
    }

    /// The hash of the names, descriptions and schemas, in their order.
    pub(super) fn hash(self, specs: &[ToolSpec]) -> u128 {
        let mut state = State { lanes: self.key };
        state.tagged(Tag::Tools, 0, specs.len());
        for spec in specs {
            state.text(Tag::String, &spec.name);
            state.text(Tag::String, &spec.description);
            state.value(&spec.parameters);
        }
        let [first, second] = self.key;
        state.mix(second, first);
        let [low, high] = state.lanes;
        (u128::from(high) << 64) | u128::from(low)
    }
}

struct State {
    lanes: [u64; 2],
}

impl State {
    /// Both halves of the product depend on all bits of both words, and the state before keeps its part.
    fn mix(&mut self, first: u64, second: u64) {
        let [low, high] = self.lanes;
        let product = u128::from(first ^ low) * u128::from(second ^ high);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves are taken on purpose")]
        let halves = [product as u64, (product >> 64) as u64];
        let [product_low, product_high] = halves;
        self.lanes = [product_low ^ high.rotate_left(23), product_high.wrapping_add(low | 1)];
    }

    /// What follows is determined by the tag and the number, so that no two contents give the same words.
    fn tagged(&mut self, tag: Tag, word: u64, number: usize) {
        self.mix(word, ((tag as u64) << 56) | number as u64);
    }

    fn text(&mut self, tag: Tag, text: &str) {
        let (head, rest) = text.as_bytes().split_at_checked(8).unwrap_or((text.as_bytes(), &[]));
        self.tagged(tag, word(head), text.len());
        for block in rest.chunks(16) {
            let (first, second) = block.split_at_checked(8).unwrap_or((block, &[]));
            self.mix(word(first), word(second));
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.tagged(Tag::Null, 0, 0),
            Value::Bool(bit) => self.tagged(Tag::Bool, u64::from(*bit), 0),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(word), _, _) => self.tagged(Tag::Unsigned, word, 0),
                (None, Some(word), _) => self.tagged(Tag::Negative, word.cast_unsigned(), 0),
                (None, None, float) => self.tagged(Tag::Float, float.unwrap_or_default().to_bits(), 0),
            },
            Value::String(text) => self.text(Tag::String, text),
            Value::Array(items) => {
                self.tagged(Tag::List, 0, items.len());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(object) => {
                self.tagged(Tag::Object, 0, object.len());
                for (key, inner) in object {
                    self.text(Tag::Key, key);
                    self.value(inner);
                }
            }
        }
    }
}

/// What a part of the content is.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Tag {
    Tools,
    Key,
    Null,
    Bool,
    Unsigned,
    Negative,
    Float,
    String,
    List,
    Object,
}

/// Up to eight bytes as one word; different bytes of one length give different words.
fn word(bytes: &[u8]) -> u64 {
    if let Some(whole) = bytes.first_chunk::<8>() {
        return u64::from_le_bytes(*whole);
    }
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            (u64::from(u32::from_le_bytes(*first)) << 32) | u64::from(u32::from_le_bytes(*last))
        }
        _ => bytes.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte)),
    }
}
