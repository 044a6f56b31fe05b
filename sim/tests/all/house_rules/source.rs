//! A minimal Rust reader that finds what a file names: its `use`s, its `mod`s, and every path in its code. Ignores
//! comments, quoted text, and code compiled only for tests.

/// A word, a punctuation mark, or `::`.
type Token = String;

/// One import: `use a::b as c` is the name `c` for the path `a::b`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// The inline module that contains it, relative to the file's module.
    pub within: Vec<String>,
    /// The name; `*` for everything.
    pub name: String,
    /// The path that it stands for.
    pub path: Vec<String>,
}

/// A path in code, `a::b::c`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// As in [`Import`].
    pub within: Vec<String>,
    pub path: Vec<String>,
}

/// The contents of a file.
#[derive(Default, Debug)]
pub struct Source {
    pub imports: Vec<Import>,
    /// Paths of more than one part.
    pub named: Vec<Named>,
    /// Modules in separate files that only tests have: `#[cfg(test)] mod tests;`.
    pub test_modules: Vec<String>,
}

/// The tokens of a text, without comments, strings and characters.
pub fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        match c {
            '/' if next == '/' => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
            '/' if next == '*' => at = after_comment(&chars, at),
            '"' => at = after_text(&chars, at),
            'r' | 'b' | 'c' if after_raw(&chars, at).is_some() => at = after_raw(&chars, at).unwrap_or(at),
            // A character, or a lifetime's name.
            '\'' if next == '\\' || chars.get(at + 2) == Some(&'\'') => {
                at += if next == '\\' { 3 } else { 2 };
                at += chars[at..].iter().take_while(|c| **c != '\'').count() + 1;
            }
            '\'' => at += 1,
            ':' if next == ':' => {
                tokens.push("::".to_owned());
                at += 2;
            }
            c if is_word(c) => {
                let word: String = chars[at..].iter().take_while(|c| is_word(**c)).collect();
                at += word.chars().count();
                tokens.push(word);
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push(c.to_string());
                }
                at += 1;
            }
        }
    }
    tokens
}

/// The position after a block comment, which may be nested.
fn after_comment(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

/// The position after a string.
fn after_text(chars: &[char], mut at: usize) -> usize {
    at += 1;
    while let Some(c) = chars.get(at) {
        match c {
            '"' => return at + 1,
            '\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// The position after a string with a prefix, `r"…"`, `r#"…"#`, `b"…"`; `None` if there is none.
fn after_raw(chars: &[char], at: usize) -> Option<usize> {
    if at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_') {
        return None;
    }
    let prefix = chars[at..].iter().take_while(|c| ['r', 'b', 'c'].contains(*c)).count();
    let marks = chars[at + prefix..].iter().take_while(|c| **c == '#').count();
    let open = at + prefix + marks;
    if prefix > 2 || chars.get(open) != Some(&'"') {
        return None;
    }
    if !chars[at..at + prefix].contains(&'r') {
        return (marks == 0).then(|| after_text(chars, open));
    }
    let closes = |end: &usize| chars[*end] == '"' && chars[*end + 1..].iter().take(marks).all(|c| *c == '#');
    (open + 1..chars.len()).find(closes).map(|end| end + 1 + marks)
}

pub fn read(text: &str) -> Source {
    let mut reader = Reader { tokens: tokens(text), at: 0, source: Source::default() };
    reader.block(&[]);
    reader.source
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    source: Source,
}

impl Reader {
    fn peek(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", String::as_str)
    }

    /// Reads to the closing brace of the module `within`, or to the end of the file.
    fn block(&mut self, within: &[String]) {
        let (mut depth, mut test) = (0, false);
        while self.at < self.tokens.len() {
            match (self.peek(0), self.peek(1), self.peek(2)) {
                ("#", "[", _) => test |= self.attribute(),
                ("mod", name, ";") => {
                    if test {
                        let name = name.to_owned();
                        self.source.test_modules.push(name);
                    }
                    (self.at, test) = (self.at + 3, false);
                }
                ("mod", name, "{") => {
                    let inner = [within, &[name.to_owned()]].concat();
                    self.at += 3;
                    match std::mem::take(&mut test) {
                        true => self.skip_block(),
                        false => self.block(&inner),
                    }
                }
                // An item for tests only.
                ("fn" | "impl" | "struct" | "enum" | "use" | "const" | "static" | "type" | "trait", ..) if test => {
                    self.skip_item();
                    test = false;
                }
                ("use", next, _) if next != "<" => {
                    self.at += 1;
                    self.tree(within, &[]);
                }
                ("{", ..) => (depth, self.at) = (depth + 1, self.at + 1),
                ("}", ..) if depth == 0 => {
                    self.at += 1;
                    return;
                }
                ("}", ..) => (depth, self.at) = (depth - 1, self.at + 1),
                (word, "::", _) if is_name(word) && (self.at == 0 || self.tokens[self.at - 1] != "::") => {
                    self.path(within);
                }
                _ => self.at += 1,
            }
        }
    }

    /// Reads an attribute; returns whether it restricts the next item to tests.
    fn attribute(&mut self) -> bool {
        let from = self.at;
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "[" => depth += 1,
                "]" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 && self.tokens[self.at - 1] == "]" {
                break;
            }
        }
        self.tokens[from..self.at].concat() == "#[cfg(test)]"
    }

    /// Skips the block that has been opened.
    fn skip_block(&mut self) {
        let mut depth = 1;
        while self.at < self.tokens.len() && depth > 0 {
            match self.peek(0) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_item(&mut self) {
        while self.at < self.tokens.len() && !["{", ";"].contains(&self.peek(0)) {
            self.at += 1;
        }
        self.at += 1;
        if self.tokens.get(self.at - 1).is_some_and(|token| token == "{") {
            self.skip_block();
        }
    }

    /// A path in code; what follows `<` or `(` is read as code.
    fn path(&mut self, within: &[String]) {
        let mut path = vec![self.peek(0).to_owned()];
        self.at += 1;
        while self.peek(0) == "::" && is_name(self.peek(1)) {
            path.push(self.peek(1).to_owned());
            self.at += 2;
        }
        if self.peek(0) == "::" {
            self.at += 1;
        }
        self.source.named.push(Named { within: within.to_owned(), path });
    }

    /// The rest of a `use`, after `before`.
    fn tree(&mut self, within: &[String], before: &[String]) {
        let mut path = before.to_vec();
        loop {
            match self.peek(0) {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while !["}", ""].contains(&self.peek(0)) {
                        self.tree(within, &path);
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "as" => {
                    let name = self.peek(1).to_owned();
                    self.at += 2;
                    self.import(within, name, path);
                    return;
                }
                ";" | "," | "}" | "" => {
                    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
                        path.pop();
                    }
                    if let Some(name) = path.last().cloned().filter(|_| path.len() > before.len() || !before.is_empty())
                    {
                        let glob = name == "*";
                        if glob {
                            path.pop();
                        }
                        self.import(within, name, path);
                    }
                    return;
                }
                word => {
                    path.push(word.to_owned());
                    self.at += 1;
                }
            }
        }
    }

    fn import(&mut self, within: &[String], name: String, path: Vec<String>) {
        self.source.imports.push(Import { within: within.to_owned(), name, path });
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_code_names_nothing() {
        let text = "// crate::a\n/* crate::b /* c */ crate::d */ \"crate::e\" r#\"crate::\"f\"# b'x' '\\'' 'a' &'a str";
        assert_eq!(tokens(text), ["b", "&", "a", "str"]);
        let source = read("#[cfg(test)]\nmod tests { use crate::a; fn f() { crate::b::c() } }\n#[cfg(test)] mod more;");
        assert!(source.imports.is_empty() && source.named.is_empty(), "{source:?}");
        assert_eq!(source.test_modules, ["more"]);
    }

    #[test]
    fn a_use_is_as_many_names_as_it_brings_in() {
        let source = read("use a::{self, b::{C as D, *}, e};\npub use super::f;\nmod g { use crate::h; }");
        let imports: Vec<_> =
            source.imports.iter().map(|i| (&*i.name, i.path.join("::"), i.within.join("::"))).collect();
        let expected = [
            ("a", "a", ""),
            ("D", "a::b::C", ""),
            ("*", "a::b", ""),
            ("e", "a::e", ""),
            ("f", "super::f", ""),
            ("h", "crate::h", "g"),
        ];
        assert_eq!(imports, expected.map(|(name, path, within)| (name, path.to_owned(), within.to_owned())));
    }

    #[test]
    fn paths_in_code_are_read_wherever_they_stand() {
        let source = read("fn f(x: Vec<crate::a::B>) -> super::c::D { e::g::<self::H>(x.i) }");
        let named: Vec<_> = source.named.iter().map(|n| n.path.join("::")).collect();
        assert_eq!(named, ["crate::a::B", "super::c::D", "e::g", "self::H"]);
    }
}
