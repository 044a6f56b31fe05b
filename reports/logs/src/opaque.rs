//! Tokens that can only be compared for equality, such as UUIDs.

use std::collections::BTreeMap;

/// Numbers tokens without an order by their first accepted writes.
#[derive(Debug, Default)]
pub struct Opaque {
    accepted: BTreeMap<String, u64>,
    /// Tokens only refused so far: a refusal does not reveal their order.
    refused: BTreeMap<String, u64>,
    /// The highest accepted token, while all of them look numbered.
    highest: Option<Numbered>,
    /// Some token does not look like a number.
    in_no_order: bool,
    /// Some token is not a plain number. A user who calls plain numbers opaque knows that they have no order.
    unlike_ours: bool,
    /// The first token accepted after a higher one, if both look numbered, and that higher one.
    back: Option<(String, String)>,
}

/// A token such as `lease-00012`, `1,024`, or a number that is too large.
#[derive(Debug)]
struct Numbered {
    prefix: String,
    number: u128,
    token: String,
}

impl Numbered {
    fn of(token: &str) -> Option<Numbered> {
        let digits = token.trim_start_matches(|c: char| !c.is_ascii_digit());
        let prefix = &token[..token.len() - digits.len()];
        let digits: String = digits.chars().filter(|c| ![',', '_'].contains(c)).collect();
        let number = digits.parse().ok()?;
        Some(Numbered { prefix: prefix.to_owned(), number, token: token.to_owned() })
    }
}

/// Accepted tokens are numbered from above this, the others from below.
const ACCEPTED: u64 = 1_000_000;

impl Opaque {
    /// Numbers a token.
    pub fn number(&mut self, token: &str, accepted: bool) -> u64 {
        if let Some(number) = self.accepted.get(token) {
            return *number;
        }
        if accepted {
            self.look(token);
        }
        let (known, from) = if accepted { (&mut self.accepted, ACCEPTED) } else { (&mut self.refused, 0) };
        let next = from + known.len() as u64 + 1;
        *known.entry(token.to_owned()).or_insert(next)
    }

    fn look(&mut self, token: &str) {
        self.unlike_ours |= token.parse::<u64>().is_err();
        match (Numbered::of(token), &self.highest) {
            _ if self.in_no_order => {}
            (Some(numbered), None) if self.accepted.is_empty() => self.highest = Some(numbered),
            (Some(numbered), Some(highest)) if numbered.prefix == highest.prefix => {
                if numbered.number < highest.number {
                    self.back.get_or_insert((numbered.token, highest.token.clone()));
                } else {
                    self.highest = Some(numbered);
                }
            }
            _ => self.in_no_order = true,
        }
    }

    /// A token first accepted after a higher one, and that one, if both are the numbers they look like.
    pub fn back(&self) -> Option<&(String, String)> {
        self.back.as_ref().filter(|_| self.unlike_ours && !self.in_no_order)
    }

    /// The first accepted tokens with their numbers.
    pub fn first(&self) -> Vec<(u64, &str)> {
        let mut all: Vec<(u64, &str)> = self.accepted.iter().map(|(token, number)| (*number, token.as_str())).collect();
        all.sort_unstable();
        all.truncate(8);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(tokens: &[&str]) -> bool {
        let mut opaque = Opaque::default();
        for token in tokens {
            opaque.number(token, true);
        }
        opaque.back().is_some()
    }

    #[test]
    fn what_looks_numbered_is_noticed_when_it_falls() {
        assert!(back(&["L-00009", "L-00011", "L-00010"]));
        assert!(back(&["1,024", "1,025", "1,023"]) && back(&["18446744073709551620", "18446744073709551615"]));
        assert!(!back(&["L-00009", "L-00010", "L-00011", "L-00009"]));
        // Two prefixes, no numbers, and plain numbers that the user called opaque.
        assert!(!back(&["a-2", "b-1"]) && !back(&["5f0c2a", "12ab9"]) && !back(&["7", "6", "5"]));
    }
}
