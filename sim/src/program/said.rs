//! What a program's lines say about its leadership.

/// A part of a line, with at most one `{token}`: a whole number at that place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    before: String,
    /// What follows the token, if there is one.
    after: Option<String>,
}

/// A pattern without text to look for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no part of a line: it needs some text before {{token}}, and {{token}} at most once")]
pub struct NoPattern(String);

const TOKEN: &str = "{token}";

impl Pattern {
    /// # Errors
    /// It has no text before its token, or several tokens.
    pub fn new(text: &str) -> Result<Pattern, NoPattern> {
        let (before, after) = match text.split_once(TOKEN) {
            Some((before, after)) => (before, Some(after.to_owned())),
            None => (text, None),
        };
        let wrong = before.is_empty() || after.as_ref().is_some_and(|after| after.contains(TOKEN));
        match wrong {
            true => Err(NoPattern(text.to_owned())),
            false => Ok(Pattern { before: before.to_owned(), after }),
        }
    }

    pub fn has_token(&self) -> bool {
        self.after.is_some()
    }

    /// The token in a line that has this part; 0 if the pattern has none.
    pub fn find(&self, line: &str) -> Option<u64> {
        let Some(after) = &self.after else { return line.contains(&self.before).then_some(0) };
        line.match_indices(&self.before).find_map(|(at, _)| {
            let rest = &line[at + self.before.len()..];
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let token = rest[..digits].parse().ok()?;
            rest[digits..].starts_with(after).then_some(token)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn a_line_has_the_part_and_the_number_at_its_place() {
        let pattern = Pattern::new("token {token}:").unwrap();
        assert_eq!(pattern.find("n1 token x, token 17: leads"), Some(17));
        assert_eq!(pattern.find("n1 token 17 leads"), None);
        assert_eq!(pattern.find("token 99999999999999999999:"), None);
        assert_eq!(Pattern::new("leads").unwrap().find("n1 leads"), Some(0));
        for wrong in ["", "{token}", "a {token} {token}"] {
            assert!(Pattern::new(wrong).is_err(), "{wrong}");
        }
    }
}
