use serde_json::Value;

use crate::ToolSpec;

/// Multipliers of the two lanes: odd, with about half of their bits set, without a pattern.
const LANES: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];

/// A 128-bit hash of the tools: two folded-multiply lanes over the same words. Fast, stable between processes, and
/// no defence against somebody who looks for collisions, so whoever shares by it compares as well.
pub(super) fn content_hash(specs: &[ToolSpec]) -> u128 {
    let mut hasher = Hasher { lanes: [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344] };
    hasher.word(specs.len() as u64);
    for spec in specs {
        hasher.text(&spec.name);
        hasher.text(&spec.description);
        hasher.value(&spec.parameters);
    }
    hasher.finish()
}

/// Whether two tool lists are the same, down to the order of keys. Unlike `==` on maps it needs no look-ups.
pub(super) fn same_specs(a: &[ToolSpec], b: &[ToolSpec]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.name == b.name && a.description == b.description && same_value(&a.parameters, &b.parameters)
        })
}

fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((ka, va), (kb, vb))| ka == kb && same_value(va, vb))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b)),
        (a, b) => a == b,
    }
}

struct Hasher {
    lanes: [u64; 2],
}

impl Hasher {
    fn word(&mut self, word: u64) {
        let [first, second] = self.lanes;
        let [a, b] = LANES;
        self.lanes = [fold(first ^ word, a), fold(second ^ word.rotate_left(32), b)];
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        let (chunks, rest) = text.as_bytes().as_chunks::<8>();
        for chunk in chunks {
            self.word(u64::from_le_bytes(*chunk));
        }
        if !rest.is_empty() {
            self.word(rest.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte)));
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.word(1),
            Value::Bool(bit) => self.word(2 + u64::from(*bit)),
            Value::Number(number) => {
                self.word(4);
                match (number.as_u64(), number.as_i64(), number.as_f64()) {
                    (Some(word), _, _) => self.word(word),
                    (None, Some(word), _) => self.word(word.cast_unsigned()),
                    (None, None, float) => self.word(float.unwrap_or_default().to_bits()),
                }
            }
            Value::String(text) => {
                self.word(5);
                self.text(text);
            }
            Value::Array(items) => {
                self.word(6);
                self.word(items.len() as u64);
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(object) => {
                self.word(7);
                self.word(object.len() as u64);
                for (key, inner) in object {
                    self.text(key);
                    self.value(inner);
                }
            }
        }
    }

    fn finish(mut self) -> u128 {
        self.word(0);
        self.word(0);
        let [first, second] = self.lanes;
        (u128::from(first) << 64) | u128::from(second)
    }
}

/// Both halves of a 128-bit product, so that every bit of the input reaches every bit of the output.
fn fold(word: u64, multiplier: u64) -> u64 {
    let product = u128::from(word ^ multiplier.rotate_left(17)) * u128::from(multiplier);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are taken on purpose")]
    let halves = (product as u64, (product >> 64) as u64);
    halves.0 ^ halves.1
}
