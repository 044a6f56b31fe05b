//! Hashes of names in a log, and of whole lines.

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The hash of a name.
pub type Key = u64;

/// The hash of a leadership: a node with this token, if any, in this generation.
pub fn leadership(node: &str, token: Option<&Value>, generation: u64) -> Key {
    let token = match token {
        None => 0,
        Some(Value::String(text)) => xxh3_64_with_seed(text.as_bytes(), 1),
        Some(number) => number.as_u64().map_or(2, |token| xxh3_64_with_seed(&token.to_le_bytes(), 3)),
    };
    xxh3_64_with_seed(node.as_bytes(), xxh3_64_with_seed(&generation.to_le_bytes(), token))
}

/// Appends an encoding of the value that is unambiguous next to any other.
pub fn spell(value: &Value, into: &mut Vec<u8>) {
    match value {
        Value::String(text) => {
            into.extend([0xff, b's']);
            into.extend(text.as_bytes());
        }
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => {
                into.extend([0xff, b'u']);
                into.extend(number.to_le_bytes());
            }
            (None, Some(number)) => {
                into.extend([0xff, b'i']);
                into.extend(number.to_le_bytes());
            }
            (None, None) => {
                into.extend([0xff, b'f']);
                into.extend(number.to_string().as_bytes());
            }
        },
        // Null, booleans, arrays and objects.
        other => {
            into.extend([0xff, b'j']);
            into.extend(other.to_string().as_bytes());
        }
    }
    into.push(0xff);
}
