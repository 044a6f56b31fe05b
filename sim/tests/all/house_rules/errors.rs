//! Public signatures must use error types, not text that callers can only print.

use super::{source::tokens, sources};

/// The folders whose public signatures are checked.
const LIBRARIES: [&str; 12] = [
    "protocols/src",
    "protocols/clients/src",
    "protocols/real/src",
    "scenarios/src",
    "reports/src",
    "reports/logs/src",
    "sim/src",
    "sim/cli/src",
    "sim/process/src",
    "sim/process/libc/src",
    "sim/real/src",
    "tools/servers/src",
];

/// Is there a `Result<_, String>` among these words?
fn fails_with_text(signature: &[String]) -> bool {
    let is_one = |from: usize| {
        let (mut depth, mut last) = (0, None);
        for at in from + 1..signature.len() {
            match &*signature[at] {
                // The arrow in front of a return type.
                ">" if signature[at - 1] == "-" => {}
                "<" | "(" | "[" => depth += 1,
                ">" if depth == 1 => {
                    let error = last.map_or(&[][..], |comma| &signature[comma + 1..at]);
                    return error.last().is_some_and(|word| word == "String") && error.iter().all(|word| word != "<");
                }
                ">" | ")" | "]" => depth -= 1,
                "," if depth == 1 => last = Some(at),
                _ => {}
            }
        }
        false
    };
    signature.windows(2).enumerate().any(|(at, two)| two == ["Result", "<"] && is_one(at))
}

/// The public signatures in a file whose error is a `String`: functions, methods of public traits, fields and types.
fn wrong(text: &str) -> Vec<String> {
    let (words, mut wrong, mut at) = (tokens(text), Vec::new(), 0);
    // The number of open braces, if within a public trait.
    let mut of_trait = None;
    while let Some(word) = words.get(at) {
        let public = word == "pub" && words.get(at + 1).is_some_and(|next| next != "(");
        if public || (word == "fn" && of_trait.is_some()) {
            let field = words.get(at + 2).is_some_and(|word| word == ":");
            // A field ends at a comma only if another field follows.
            let follows =
                |at: usize| ["pub", "#"].contains(&&*words[at]) || words.get(at + 1).is_some_and(|w| w == ":");
            let ends = |at: &usize| match &*words[*at] {
                "{" | "}" | ";" => true,
                "," => field && *at + 1 < words.len() && follows(*at + 1),
                _ => false,
            };
            let end = (at..words.len()).find(ends).unwrap_or(words.len());
            let signature = &words[at..end];
            if signature.contains(&"trait".to_owned()) {
                of_trait = Some(0);
            }
            if fails_with_text(signature) {
                wrong.push(signature.join(" "));
            }
            at = end.max(at + 1);
            continue;
        }
        of_trait = match (of_trait, &**word) {
            (Some(depth), "{") => Some(depth + 1),
            (Some(1), "}") => None,
            (Some(depth), "}") => Some(depth - 1),
            _ => of_trait,
        };
        at += 1;
    }
    wrong
}

#[test]
fn no_public_signature_fails_with_a_text() {
    let found = sources(&LIBRARIES)
        .into_iter()
        .flat_map(|(name, text)| wrong(&text).into_iter().map(move |what| format!("{name}: {what}")));
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "give the error a type, and say it in its `Display`:\n{}", found.join("\n"));
}

#[test]
fn texts_are_found_wherever_a_signature_may_have_them() {
    for text in [
        "impl A { pub fn a(\n    &self,\n    b: u8,\n) -> Result<Vec<(u8, B)>, String> { c() } }",
        "pub async fn a(b: impl Fn(&str) -> Result<u8, String>) -> Result<u8, B>;",
        "pub trait A: B { fn a(&self) { if b { c() } } fn d() -> io::Result<u8>; fn e(&self) -> Result<(), std::string::String>; }",
        "pub struct A { a: u8, pub b: fn(u64, bool) -> Result<B, String>, c: u8 }",
        "pub type A = Result<String, String>;",
    ] {
        assert_eq!(wrong(text).len(), 1, "{text}");
    }
    for text in [
        "fn a() -> Result<u8, String> {} pub(super) fn b() -> Result<u8, String> {}",
        "pub fn a() -> Result<String, B<String>> { let b: Result<u8, String> = c(); }",
        "trait A { fn a() -> Result<u8, String>; } pub fn b(c: BTreeMap<u8, String>) -> io::Result<String> {}",
        "// pub fn a() -> Result<u8, String>\npub struct A { pub b: Result<u8, C>, d: Result<u8, String> }",
    ] {
        assert_eq!(wrong(text), Vec::<String>::new(), "{text}");
    }
}
