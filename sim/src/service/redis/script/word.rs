//! The words of a script.

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Word {
    /// A name or a keyword.
    Name(String),
    Number(f64),
    Text(Vec<u8>),
    Sign(&'static str),
}

/// A word and its line, counted from 1.
pub(super) type Placed = (Word, u32);

/// Why a script is refused.
pub(super) fn refused(line: u32, word: &str) -> String {
    crate::service::refused::tell("Redis", &format!("the script's line {line} has {word:?}"));
    format!("ERR this simulated Redis understands a part of Lua only, and not '{word}' on line {line} of this script")
}

/// Longer ones first.
const SIGNS: [&str; 24] = [
    "==", "~=", "<=", ">=", "..", "=", "<", ">", "(", ")", "[", "]", "{", "}", ",", ";", ".", "+", "-", "*", "/", "%",
    "#", ":",
];

/// # Errors
/// A sign that is not known, a string that does not end, or a number that is none.
pub(super) fn words(text: &[u8]) -> Result<Vec<Placed>, String> {
    let (mut rest, mut line, mut words) = (text, 1, Vec::new());
    while let [first, after @ ..] = rest {
        match first {
            b'\n' => {
                line += 1;
                rest = after;
            }
            b' ' | b'\t' | b'\r' => rest = after,
            b'-' if after.first() == Some(&b'-') => rest = comment(rest, line)?,
            b'"' | b'\'' => {
                let (string, after) = string(*first, after, line)?;
                words.push((Word::Text(string), line));
                rest = after;
            }
            b'0'..=b'9' => {
                let (number, after) = taken(rest, |byte| byte.is_ascii_alphanumeric() || *byte == b'.');
                let value = number.parse().map_err(|_| refused(line, &number))?;
                words.push((Word::Number(value), line));
                rest = after;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let (name, after) = taken(rest, |byte| byte.is_ascii_alphanumeric() || *byte == b'_');
                words.push((Word::Name(name), line));
                rest = after;
            }
            _ => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign.as_bytes()));
                let sign = sign.ok_or_else(|| refused(line, &char::from(*first).to_string()))?;
                words.push((Word::Sign(sign), line));
                rest = &rest[sign.len()..];
            }
        }
    }
    Ok(words)
}

fn taken(rest: &[u8], is: impl Fn(&u8) -> bool) -> (String, &[u8]) {
    let end = rest.iter().position(|byte| !is(byte)).unwrap_or(rest.len());
    (String::from_utf8_lossy(&rest[..end]).into_owned(), &rest[end..])
}

/// What follows a comment of one line.
fn comment(rest: &[u8], line: u32) -> Result<&[u8], String> {
    if rest.starts_with(b"--[[") {
        return Err(refused(line, "--[["));
    }
    Ok(&rest[rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())..])
}

/// A string after its opening quote, and what follows it.
fn string(quote: u8, mut rest: &[u8], line: u32) -> Result<(Vec<u8>, &[u8]), String> {
    let mut string = Vec::new();
    loop {
        rest = match rest {
            [end, after @ ..] if *end == quote => return Ok((string, after)),
            [b'\\', escaped, after @ ..] => {
                string.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'\\' | b'"' | b'\'' => *escaped,
                    _ => return Err(refused(line, "\\")),
                });
                after
            }
            [] | [b'\n', ..] => return Err(refused(line, &char::from(quote).to_string())),
            [byte, after @ ..] => {
                string.push(*byte);
                after
            }
        };
    }
}
