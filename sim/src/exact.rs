//! Fractions as text in JSON, so that reading restores every bit (`serde_json` may be off by one bit).

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Separated by spaces.
fn written(values: &[f64]) -> String {
    values.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
}

fn read(text: &str) -> Result<Vec<f64>, String> {
    text.split_whitespace().map(|word| word.parse().map_err(|_| format!("`{word}` is no number"))).collect()
}

/// For a list, with `#[serde(with = …)]`.
pub mod list {
    use super::{Deserialize, Deserializer, Error, Serializer, read, written};

    pub fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&written(values))
    }

    /// # Errors
    /// The text is not such a list.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        read(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// For lists by name.
pub mod lists {
    use super::{Deserialize, Deserializer, Error, Serializer, read, written};
    use std::collections::BTreeMap;

    pub fn serialize<S: Serializer>(lists: &BTreeMap<String, Vec<f64>>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(lists.iter().map(|(name, values)| (name, written(values))))
    }

    /// # Errors
    /// The text holds no such lists.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<f64>>, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(from)?;
        let lists = texts.into_iter().map(|(name, text)| read(&text).map(|values| (name, values)));
        lists.collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::{read, written};

    #[test]
    fn every_bit_comes_back() {
        let values = [0.1 + 0.2, 1.0 / 3.0, 5e-324, -0.0, 1e300, 4_520.591];
        let back = read(&written(&values)).expect("numbers");
        assert_eq!(back.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), values.map(f64::to_bits));
        assert_eq!(read("1 x").unwrap_err(), "`x` is no number");
    }
}
