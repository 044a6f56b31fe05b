//! What is said with the fenced store of real mode, and what authenticates it.

pub mod token;
pub mod wire;

/// The longest name of a process or a client, bytes.
pub const NAME_MAX: usize = 64;

/// Whether a process or a client may have that name: 1 to [`NAME_MAX`] letters, digits, `-`, `_` and `.`.
pub fn is_name(name: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || b"-_.".contains(&c);
    !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        assert!(is_name("n1") && is_name("shop-3.eu_west"));
        assert!(!is_name("") && !is_name("a b") && !is_name("\"") && !is_name(&"x".repeat(65)));
    }
}
