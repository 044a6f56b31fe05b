//! Lines of `key=value` pairs.

use serde_json::{Map, Value};

/// The pairs of a line; `None` if it has none, or one key with two different values. Values with spaces are in double
/// quotes.
pub fn fields(line: &str) -> Option<Map<String, Value>> {
    let (mut fields, mut rest) = (Map::new(), line.trim_start());
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix('=').filter(|_| is_key(key)) else {
            // A bare word carries no value.
            rest = after.trim_start();
            if key.is_empty() {
                rest = rest.strip_prefix('=').unwrap_or(rest);
            }
            continue;
        };
        let (value, after) = value(after)?;
        let value = Value::String(value);
        if fields.insert(key.to_owned(), value.clone()).is_some_and(|before| before != value) {
            return None;
        }
        rest = after.trim_start();
    }
    (!fields.is_empty()).then_some(fields)
}

/// Strips the prefix that a container runtime adds: `2026-05-01T10:00:00.000Z stdout F `.
pub fn bare(line: &str) -> &str {
    let mut parts = line.splitn(4, ' ');
    let [_, Some("stdout" | "stderr"), Some("F" | "P"), Some(rest)] = std::array::from_fn(|_| parts.next()) else {
        return line;
    };
    rest
}

/// Does a line look like logfmt? It must begin with a pair, and have another.
pub fn looks_like(line: &str) -> bool {
    let line = bare(line);
    let begins = line.split(' ').next().is_some_and(|word| word.split_once('=').is_some_and(|(key, _)| is_key(key)));
    begins && fields(line).is_some_and(|fields| fields.len() > 1)
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-.@/".contains(c))
}

/// The value at the start of `text`, and the rest; `None` if its quotes do not close.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(' ').unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut escaped = false;
    let end = quoted.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    let value = serde_json::from_str(&text[..end + 2]).unwrap_or_else(|_| quoted[..end].to_owned());
    Some((value, &quoted[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_with_and_without_quotes() {
        let fields =
            fields(r#"time=2026-11-24T10:00:00Z level=info msg="a \"write\" = ok" token=7 done"#).expect("pairs");
        assert_eq!(fields["msg"], r#"a "write" = ok"#);
        assert_eq!((fields["token"].as_str(), fields.len()), (Some("7"), 4));
        assert!(
            looks_like("ts=1 token=2") && !looks_like("ts,token") && !looks_like("a=b") && !looks_like("see a=b c=d")
        );
        assert_eq!(super::fields("no pair here"), None);
        assert_eq!(super::fields("token=1 node=a token=2"), None);
        assert_eq!(super::fields("a=\"never ends"), None);
    }
}
