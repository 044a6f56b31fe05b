//! Names in braces, for which a drill puts addresses and names: `--etcd {etcd}`.

use scenarios::units::Unread;
use std::collections::BTreeMap;

/// A program and its arguments, with names in braces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    program: String,
    arguments: Vec<String>,
}

impl Command {
    /// `None` without a word.
    pub fn new(words: Vec<String>) -> Option<Command> {
        let mut words = words.into_iter();
        Some(Command { program: words.next()?, arguments: words.collect() })
    }

    pub fn words(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.program).chain(&self.arguments)
    }

    /// The words with these values.
    pub fn filled(&self, values: &Values) -> Vec<String> {
        self.words().map(|word| values.fill(word)).collect()
    }
}

/// What the names stand for.
#[derive(Clone, Debug, Default)]
pub struct Values(BTreeMap<String, String>);

impl Values {
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    /// The text with the values; names that it does not know stay as they are.
    pub fn fill(&self, text: &str) -> String {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, name, after)) = next(rest) {
            filled.push_str(before);
            match self.0.get(name) {
                Some(value) => filled.push_str(value),
                None => filled.push_str(&format!("{{{name}}}")),
            }
            rest = after;
        }
        filled + rest
    }
}

/// The text before the next name in braces, the name, and the text after it. Braces around anything but a word, as in JSON,
/// are text.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = from + text[from..].find('{')?;
        let end = text[start..].find('}').map(|end| start + end)?;
        let name = &text[start + 1..end];
        let is_word = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'.';
        // `{3}` is a repetition in somebody's pattern.
        if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(is_word) {
            return Some((&text[..start], name, &text[end + 1..]));
        }
        from = start + 1;
    }
}

/// Whether the text uses only names that are known.
///
/// # Errors
/// A sentence about the first one that is not.
pub fn check(text: &str, known: &[impl AsRef<str>]) -> Result<(), Unread> {
    let mut rest = text;
    while let Some((_, name, after)) = next(rest) {
        let base = name.strip_suffix(".host").or(name.strip_suffix(".port")).unwrap_or(name);
        if !known.iter().any(|name| name.as_ref() == base) {
            let known: Vec<String> = known.iter().map(|name| format!("{{{}}}", name.as_ref())).collect();
            return Err(Unread::of(
                text,
                format!("names {{{name}}}, which is not known here; there are {}", known.join(", ")),
            ));
        }
        rest = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_filled_and_json_is_left_alone() {
        let mut values = Values::default();
        values.set("node", "n1");
        values.set("etcd", "127.0.0.1:2379");
        values.set("etcd.2", "127.0.0.1:2381");
        assert_eq!(values.fill("{etcd.2} [a-z]{3}"), "127.0.0.1:2381 [a-z]{3}");
        assert_eq!(values.fill("--id={node} {etcd}/x {{node}}"), "--id=n1 127.0.0.1:2379/x {n1}");
        assert_eq!(values.fill("{\"node\": \"{node}\"} ${HOME} {other} {"), "{\"node\": \"n1\"} ${HOME} {other} {");
    }

    #[test]
    fn unknown_names_are_refused() {
        assert_eq!(check("{node} {etcd.port} {\"a\":1}", &["node", "etcd"]), Ok(()));
        let why = check("{redis}", &["node", "etcd"]).expect_err("there is none");
        assert_eq!(why.to_string(), "`{redis}` names {redis}, which is not known here; there are {node}, {etcd}");
    }
}
