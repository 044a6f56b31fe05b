//! EDN, the notation of Clojure's data, as Jepsen writes histories: maps, one after the other or in one vector. A keyword
//! is read as its name.

use super::{
    rows::{Row, Rows},
    wrapped::flat,
};
use serde_json::{Map, Value};
use std::io::BufRead;

/// The longest map that is read, bytes.
const VALUE_MAX: u64 = 1 << 20;
/// How deep values may be nested.
const DEPTH_MAX: u32 = 64;
/// How much is read at once, bytes.
const BUFFER: usize = 1 << 16;

/// Does a text begin like EDN?
pub fn begins(text: &[u8]) -> bool {
    let mut text = text.trim_ascii_start();
    while text.starts_with(b";") {
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        text = text[end..].trim_ascii_start();
    }
    let within = text.strip_prefix(b"[").or_else(|| text.strip_prefix(b"(")).unwrap_or(text).trim_ascii_start();
    // A record names its type: `#jepsen.history.Op{:index 0}`.
    let record = within.strip_prefix(b"#").and_then(|rest| {
        let end = rest.iter().position(|byte| *byte == b'{')?;
        rest[..end].iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(byte)).then(|| &rest[end..])
    });
    record.unwrap_or(within).starts_with(b"{:")
}

/// The maps of a text, with the line in which each begins.
pub fn rows(input: impl BufRead + 'static) -> Rows {
    let mut reader = Reader { input, buffer: Vec::new(), at: 0, line: 1, taken: 0, within: None };
    let mut over = false;
    Box::new(std::iter::from_fn(move || {
        let row = if over { None } else { reader.next().transpose() };
        over = !matches!(row, Some(Ok(_)));
        row.map(|row| row.map(|(line, fields)| (line, flat(fields))))
    }))
}

struct Reader<R> {
    input: R,
    /// What was read, and how much of it was taken.
    buffer: Vec<u8>,
    at: usize,
    line: u64,
    /// Bytes of the current map so far.
    taken: u64,
    /// The sign that ends the vector around all maps.
    within: Option<u8>,
}

type Wrong = (u64, String);

impl<R: BufRead> Reader<R> {
    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, Wrong> {
        Err((self.line, what.into()))
    }

    fn peek(&mut self) -> Result<Option<u8>, Wrong> {
        if self.at == self.buffer.len() {
            self.buffer.resize(BUFFER, 0);
            self.at = 0;
            match self.input.read(&mut self.buffer) {
                Ok(read) => self.buffer.truncate(read),
                Err(error) => return self.wrong(format!("cannot be read: {error}")),
            }
        }
        Ok(self.buffer.get(self.at).copied())
    }

    /// Takes the byte that was peeked at.
    fn skip(&mut self, byte: u8) -> Result<(), Wrong> {
        self.at += 1;
        self.line += u64::from(byte == b'\n');
        self.taken += 1;
        if self.taken > VALUE_MAX { self.wrong(format!("is of a map of more than {VALUE_MAX} bytes")) } else { Ok(()) }
    }

    /// The next byte that is neither a space nor of a comment.
    fn sign(&mut self) -> Result<Option<u8>, Wrong> {
        let mut comment = false;
        while let Some(byte) = self.peek()? {
            comment = if comment { byte != b'\n' } else { byte == b';' };
            if !comment && !byte.is_ascii_whitespace() && byte != b',' {
                return Ok(Some(byte));
            }
            self.skip(byte)?;
        }
        Ok(None)
    }

    /// The next map, with its line.
    fn next(&mut self) -> Result<Option<Row>, Wrong> {
        loop {
            self.taken = 0;
            let Some(sign) = self.sign()? else {
                return if self.within.is_some() {
                    self.wrong("ends within the vector; is it cut off?")
                } else {
                    Ok(None)
                };
            };
            if Some(sign) == self.within {
                self.skip(sign)?;
                self.within = None;
                continue;
            }
            if self.within.is_none() && (sign == b'[' || sign == b'(') {
                self.skip(sign)?;
                self.within = Some(if sign == b'[' { b']' } else { b')' });
                continue;
            }
            let line = self.line;
            return match self.value(0)? {
                Some(Value::Object(fields)) => Ok(Some((line, fields))),
                Some(other) => Err((line, format!("begins what is no map of EDN: {}", shortened(&other)))),
                None => continue,
            };
        }
    }

    /// A value that must be there.
    fn needed(&mut self, depth: u32) -> Result<Value, Wrong> {
        loop {
            if let Some(value) = self.value(depth)? {
                return Ok(value);
            }
        }
    }

    /// The next value; `None` if it was one to discard.
    fn value(&mut self, depth: u32) -> Result<Option<Value>, Wrong> {
        if depth > DEPTH_MAX {
            return self.wrong(format!("nests values more than {DEPTH_MAX} deep"));
        }
        let Some(sign) = self.sign()? else { return self.wrong("ends within a map; is it cut off?") };
        match sign {
            b'{' => self.map(depth).map(|map| Some(Value::Object(map))),
            b'[' => self.list(b']', depth).map(Some),
            b'(' => self.list(b')', depth).map(Some),
            b'"' => self.text().map(|text| Some(Value::String(text))),
            b'#' => {
                self.skip(sign)?;
                match self.peek()? {
                    Some(b'{') => self.list(b'}', depth).map(Some),
                    Some(b'_') => {
                        self.skip(b'_')?;
                        self.needed(depth + 1).map(|_| None)
                    }
                    Some(b'"') => self.text().map(|text| Some(Value::String(text))),
                    // `##Inf`
                    Some(b'#') => {
                        self.skip(b'#')?;
                        self.word().map(|word| Some(Value::String(word)))
                    }
                    _ => {
                        self.word()?;
                        self.needed(depth + 1).map(Some)
                    }
                }
            }
            // What describes the value behind it.
            b'^' => {
                self.skip(sign)?;
                self.needed(depth + 1)?;
                self.needed(depth + 1).map(Some)
            }
            b'}' | b']' | b')' => self.wrong(format!("closes with {} what is not open", char::from(sign))),
            _ => self.word().map(|word| Some(atom(word))),
        }
    }

    fn map(&mut self, depth: u32) -> Result<Map<String, Value>, Wrong> {
        let mut map = Map::new();
        self.skip(b'{')?;
        loop {
            match self.sign()? {
                Some(b'}') => {
                    self.skip(b'}')?;
                    return Ok(map);
                }
                None => return self.wrong("ends within a map; is it cut off?"),
                Some(_) => {}
            }
            let Some(key) = self.value(depth + 1)? else { continue };
            let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
            if self.sign()? == Some(b'}') {
                return self.wrong(format!("has no value for `{key}`"));
            }
            let value = self.needed(depth + 1)?;
            if map.contains_key(&key) {
                return self.wrong(format!("says the field `{key}` twice"));
            }
            map.insert(key, value);
        }
    }

    fn list(&mut self, end: u8, depth: u32) -> Result<Value, Wrong> {
        let mut all = Vec::new();
        if let Some(begin) = self.peek()? {
            self.skip(begin)?;
        }
        loop {
            match self.sign()? {
                Some(sign) if sign == end => {
                    self.skip(sign)?;
                    return Ok(Value::Array(all));
                }
                None => return self.wrong("ends within a list; is it cut off?"),
                Some(_) => all.extend(self.value(depth + 1)?),
            }
        }
    }

    fn text(&mut self) -> Result<String, Wrong> {
        let (mut bytes, mut escaped) = (Vec::new(), false);
        self.skip(b'"')?;
        loop {
            let Some(byte) = self.peek()? else { return self.wrong("ends within a string; is it cut off?") };
            self.skip(byte)?;
            match (escaped, byte) {
                (false, b'"') => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                (false, b'\\') => {
                    escaped = true;
                    continue;
                }
                (true, b'n') => bytes.push(b'\n'),
                (true, b't') => bytes.push(b'\t'),
                (true, b'r') => bytes.push(b'\r'),
                _ => bytes.push(byte),
            }
            escaped = false;
        }
    }

    /// A symbol, keyword, number or character, as it is written.
    fn word(&mut self) -> Result<String, Wrong> {
        let mut bytes = Vec::new();
        while let Some(byte) = self.peek()? {
            let ends = byte.is_ascii_whitespace() || b",;\"{}[]()".contains(&byte);
            if ends && bytes != b"\\" {
                break;
            }
            bytes.push(byte);
            self.skip(byte)?;
        }
        match bytes.is_empty() {
            true => self.wrong("has a sign that begins no value of EDN"),
            false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }
}

fn atom(word: String) -> Value {
    let number = word.trim_end_matches(['N', 'M']);
    match word.as_str() {
        "nil" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match (word.strip_prefix(':'), number.parse::<i64>(), number.parse::<f64>()) {
            (Some(name), ..) => Value::from(name),
            (None, Ok(whole), _) => Value::from(whole),
            (None, _, Ok(real)) if word.starts_with(|c: char| c.is_ascii_digit() || c == '-') && real.is_finite() => {
                Value::from(real)
            }
            _ => Value::String(word),
        },
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    if text.len() > 60 { format!("{}…", text.chars().take(60).collect::<String>()) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn read(text: &str) -> Vec<Result<(u64, String), Wrong>> {
        let rows = rows(Cursor::new(text.to_owned().into_bytes()));
        rows.map(|row| row.map(|(line, fields)| (line, Value::Object(fields).to_string()))).collect()
    }

    #[test]
    fn maps_are_read_in_a_row_and_in_a_vector() {
        let one = "{:type :ok, :f :acquire, :value [1 nil], :process 3, :time 12, :error \"a \\\"b\\\"\"}";
        let must = r#"{"error":"a \"b\"","f":"acquire","process":3,"time":12,"type":"ok","value":[1,null]}"#;
        let must = |line: u64| Ok((line, must.to_owned()));
        assert_eq!(read(&format!("; a history\n{one}\n{one}\n")), [must(2), must(3)]);
        assert_eq!(read(&format!("[{one}\n #_{{:a 1}} {one}]\n")), [must(1), must(2)]);
        assert_eq!(read(&format!("#jepsen.history.Op{one}")), [must(1)]);
        let odd = "{:a #{1 2} :b #inst \"2026\" \"c\" 1/2 4 ^{:m 1} x :d \\a :e 3N :f 1.5 :g ##Inf :h -2}";
        let is = r##"{"4":"x","a":[1,2],"b":"2026","c":"1/2","d":"\\a","e":3,"f":1.5,"g":"Inf","h":-2}"##;
        assert_eq!(read(odd), [Ok((1, is.to_owned()))]);
        assert!(begins(b"[{:type :ok") && begins(b"; x\n{:a 1}") && begins(b"#jepsen.history.Op{:index 0"));
        assert!(!begins(b"{\"a\": 1}") && !begins(b"[{\"a\": 1}]") && !begins(b"#!/bin/sh\n{:a"));
    }

    #[test]
    fn what_is_cut_off_or_wrong_is_said_in_one_sentence() {
        for (text, why) in [
            ("{:a 1", "ends within a map"),
            ("[{:a 1}\n{:a 2}", "ends within the vector"),
            ("{:a \"x", "ends within a string"),
            ("{:a [1 2", "ends within a list"),
            ("{:a}", "has no value for `a`"),
            ("{:a 1 :a 2}", "says the field `a` twice"),
            ("{:a 1} :b", "no map of EDN"),
            ("{:a ]}", "closes with ]"),
            ("{:a #_}", "closes with }"),
        ] {
            let all = read(text);
            let (_, what) = all.last().expect("a row").clone().expect_err(text);
            assert!(what.contains(why), "{text}: {what}");
        }
        let deep = format!("{{:a {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(read(&deep)[0].as_ref().is_err_and(|(_, what)| what.contains("deep")));
        let long = format!("{{:a \"{}\"}}", "x".repeat(VALUE_MAX as usize));
        assert!(read(&long)[0].as_ref().is_err_and(|(_, what)| what.contains("bytes")));
    }
}
