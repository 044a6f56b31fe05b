//! What a program's lines say: about its leadership, and, if it is itself the resource, about what it has accepted.

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

// What a resource that is a program itself says that it has accepted.

/// A part of a line that says whose write was accepted: `{node}` is the writer's name, `{token}` its token and `{seq}` the
/// number of the write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accepts {
    before: String,
    /// Each with the text that follows it.
    fields: Vec<(Field, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Node,
    Token,
    Seq,
}

const FIELDS: [(Field, &str); 3] = [(Field::Node, "{node}"), (Field::Token, "{token}"), (Field::Seq, "{seq}")];

/// A pattern that does not say what was accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` does not say what was accepted: it needs {{node}}, {{token}} and {{seq}} once each, with text before each of them"
)]
pub struct NotAccepts(String);

/// A write that the resource has accepted, as it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accepted {
    /// The writer's name.
    pub node: String,
    pub token: u64,
    pub seq: u64,
}

impl Accepts {
    /// # Errors
    /// A field is missing or there twice, or has no text before it.
    pub fn new(text: &str) -> Result<Accepts, NotAccepts> {
        let wrong = || NotAccepts(text.to_owned());
        let next = |rest: &str| {
            FIELDS.into_iter().filter_map(|(f, name)| Some((rest.find(name)?, f, name))).min_by_key(|n| n.0)
        };
        let (mut rest, mut texts, mut fields) = (text, Vec::new(), Vec::new());
        while let Some((at, field, name)) = next(rest) {
            if at == 0 || fields.contains(&field) {
                return Err(wrong());
            }
            texts.push(rest[..at].to_owned());
            fields.push(field);
            rest = &rest[at + name.len()..];
        }
        if fields.len() != FIELDS.len() {
            return Err(wrong());
        }
        texts.push(rest.to_owned());
        let before = texts.remove(0);
        Ok(Accepts { before, fields: fields.into_iter().zip(texts).collect() })
    }

    /// The write of a line that has this part.
    pub fn find(&self, line: &str) -> Option<Accepted> {
        line.match_indices(&self.before).find_map(|(at, _)| self.read(&line[at + self.before.len()..]))
    }

    fn read(&self, mut rest: &str) -> Option<Accepted> {
        let mut accepted = Accepted { node: String::new(), token: 0, seq: 0 };
        for (field, after) in &self.fields {
            let of_name = |b: &u8| b.is_ascii_alphanumeric() || b"-_".contains(b);
            let length = match field {
                Field::Node => rest.bytes().take_while(of_name).count(),
                Field::Token | Field::Seq => rest.bytes().take_while(u8::is_ascii_digit).count(),
            };
            let (value, follows) = rest.split_at(length);
            match field {
                Field::Node if value.is_empty() => return None,
                Field::Node => accepted.node = value.to_owned(),
                Field::Token => accepted.token = value.parse().ok()?,
                Field::Seq => accepted.seq = value.parse().ok()?,
            }
            rest = follows.strip_prefix(after.as_str())?;
        }
        Some(accepted)
    }
}

#[cfg(test)]
mod tests {
    use super::{Accepted, Accepts, Pattern};

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

    #[test]
    fn a_line_says_who_wrote_what_under_which_token() {
        let pattern = Accepts::new("accepted {seq} of {node} under {token}.").unwrap();
        let accepted = Accepted { node: "n1".to_owned(), token: 17, seq: 3 };
        assert_eq!(pattern.find("accepted x; accepted 3 of n1 under 17."), Some(accepted));
        for other in
            ["accepted 3 of n1 under 17", "accepted 3 of  under 17.", "accepted 99999999999999999999 of n1 under 1."]
        {
            assert_eq!(pattern.find(other), None, "{other}");
        }
        for wrong in ["", "accepted {seq} of {node}", "{seq} of {node} under {token}", "a {seq} b {seq} {node} {token}"]
        {
            assert!(Accepts::new(wrong).is_err(), "{wrong}");
        }
        assert!(Accepts::new("a {seq}{node} {token}").is_err());
    }
}
