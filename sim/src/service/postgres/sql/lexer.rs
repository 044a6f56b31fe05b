//! Splits text into tokens.

use super::super::error::Error;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    /// A name or keyword, in lower case unless quoted, with its original spelling.
    Word { text: String, quoted: bool, raw: String },
    /// An integer.
    Number(String),
    /// `'…'`.
    Text(String),
    /// `$n`.
    Parameter(usize),
    /// Punctuation and operators.
    Sign(&'static str),
}

const SIGNS: [&str; 17] = ["::", "<=", ">=", "<>", "!=", "(", ")", ",", ";", ".", "=", "<", ">", "+", "-", "*", "/"];

impl Token {
    /// As quoted in an error.
    pub fn text(&self) -> String {
        match self {
            Token::Word { raw: text, .. } | Token::Number(text) => text.clone(),
            Token::Text(text) => format!("'{text}'"),
            Token::Parameter(place) => format!("${}", place + 1),
            Token::Sign(sign) => (*sign).to_owned(),
        }
    }
}

pub fn tokens(text: &str) -> Result<Vec<Token>, Error> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
            continue;
        }
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let (token, after) = match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                let (word, after) = span(rest, |c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
                (Token::Word { text: word.to_ascii_lowercase(), quoted: false, raw: word.to_owned() }, after)
            }
            '0'..='9' => {
                let (number, after) = span(rest, |c| c.is_ascii_digit());
                if after.starts_with(['.', 'e', 'E']) {
                    return Err(Error::unsupported("numbers that are not whole"));
                }
                (Token::Number(number.to_owned()), after)
            }
            '\'' => {
                let (text, after) = quoted(rest, '\'')
                    .ok_or_else(|| Error::new("42601", format!("unterminated quoted string at or near \"{rest}\"")))?;
                (Token::Text(text), after)
            }
            '"' => {
                let (text, after) = quoted(rest, '"').ok_or_else(|| {
                    Error::new("42601", format!("unterminated quoted identifier at or near \"{rest}\""))
                })?;
                (Token::Word { raw: format!("\"{text}\""), text, quoted: true }, after)
            }
            '$' => {
                let (number, after) = span(&rest[1..], |c| c.is_ascii_digit());
                let place = number.parse::<u16>().ok().filter(|place| *place > 0);
                let place = place.ok_or_else(|| Error::syntax(Some("$")))?;
                (Token::Parameter(usize::from(place) - 1), after)
            }
            other => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
                let sign = sign.ok_or_else(|| Error::syntax(Some(&other.to_string())))?;
                (Token::Sign(sign), &rest[sign.len()..])
            }
        };
        tokens.push(token);
        rest = after;
    }
}

fn span(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

/// The content of a quoted text, where two quotes stand for one, and the rest.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut inside = String::new();
    let mut rest = &text[1..];
    loop {
        let end = rest.find(quote)?;
        inside.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(quote) {
            Some(after) => {
                inside.push(quote);
                rest = after;
            }
            None => return Some((inside, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lowered_and_quotes_doubled() {
        let word = |raw: &str, text: &str, quoted| Token::Word { text: text.to_owned(), quoted, raw: raw.to_owned() };
        let read = tokens("SELECT \"Name\" <= 'it''s' -- no\n, $2::BIGINT").expect("words");
        let expected = [
            word("SELECT", "select", false),
            word("\"Name\"", "Name", true),
            Token::Sign("<="),
            Token::Text("it's".to_owned()),
            Token::Sign(","),
            Token::Parameter(1),
            Token::Sign("::"),
            word("BIGINT", "bigint", false),
        ];
        assert_eq!(read, expected);
        for wrong in ["'open", "\"open", "1.5", "$0", "$x", "\\"] {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
    }
}
