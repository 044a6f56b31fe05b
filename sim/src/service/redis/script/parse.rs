//! A script as statements and expressions.

use super::value::{Placed, Word, refused, words};

pub(in crate::service::redis) type Block = Vec<Statement>;

#[derive(Debug)]
pub(in crate::service::redis) enum Statement {
    /// `local name = value`.
    Local(String, Expr),
    /// `name = value`, of a local name.
    Set(String, Expr),
    /// A call whose value nobody uses.
    Do(Expr),
    /// Conditions with their blocks, and what is done otherwise.
    If(Vec<(Expr, Block)>, Block),
    Return(Option<Expr>),
}

#[derive(Debug)]
pub(in crate::service::redis) enum Expr {
    Nil,
    Bool(bool),
    Number(f64),
    Text(Vec<u8>),
    Name(String),
    /// An element of a list: the name of the list, and the index.
    Index(Box<Expr>, Box<Expr>),
    List(Vec<Expr>),
    Call {
        function: Function,
        args: Vec<Expr>,
        line: u32,
    },
    /// `not`, `-` and `#`.
    One(&'static str, Box<Expr>, u32),
    Two(Box<Expr>, &'static str, Box<Expr>, u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::service::redis) enum Function {
    RedisCall,
    ToNumber,
    ToText,
    Format,
}

/// Operators that take two values, the weakest first.
const LEVELS: [&[&str]; 6] =
    [&["or"], &["and"], &["==", "~=", "<=", ">=", "<", ">"], &[".."], &["+", "-"], &["*", "/", "%"]];

const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or",
    "repeat", "return", "then", "true", "until", "while",
];

/// # Errors
/// Something in it is not understood.
pub(in crate::service::redis) fn script(text: &[u8]) -> Result<Block, String> {
    let words = words(text)?;
    let mut parser = Parser { words: &words, at: 0, deep: 0 };
    let block = parser.block()?;
    if parser.at < words.len() { Err(parser.lost()) } else { Ok(block) }
}

/// How deep expressions and blocks may be nested.
const DEEP_MAX: u32 = 100;

struct Parser<'a> {
    words: &'a [Placed],
    at: usize,
    deep: u32,
}

impl Parser<'_> {
    fn lost(&self) -> String {
        let last = self.words.last().map_or(1, |(_, line)| *line);
        match self.words.get(self.at) {
            Some((Word::Name(name), line)) => refused(*line, name),
            Some((Word::Number(number), line)) => refused(*line, &number.to_string()),
            Some((Word::Text(text), line)) => refused(*line, &String::from_utf8_lossy(text)),
            Some((Word::Sign(sign), line)) => refused(*line, sign),
            None => refused(last, "<eof>"),
        }
    }

    fn line(&self) -> u32 {
        self.words.get(self.at).map_or(0, |(_, line)| *line)
    }

    fn is(&self, text: &str) -> bool {
        match self.words.get(self.at) {
            Some((Word::Name(name), _)) => name == text,
            Some((Word::Sign(sign), _)) => *sign == text,
            _ => false,
        }
    }

    fn took(&mut self, text: &str) -> bool {
        let is = self.is(text);
        self.at += usize::from(is);
        is
    }

    fn take(&mut self, text: &str) -> Result<(), String> {
        if self.took(text) { Ok(()) } else { Err(self.lost()) }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.words.get(self.at) {
            Some((Word::Name(name), _)) if !KEYWORDS.contains(&name.as_str()) => {
                self.at += 1;
                Ok(name.clone())
            }
            _ => Err(self.lost()),
        }
    }

    fn deeper<T>(&mut self, what: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.deep += 1;
        let done = if self.deep > DEEP_MAX { Err(self.lost()) } else { what(self) };
        self.deep -= 1;
        done
    }

    fn block(&mut self) -> Result<Block, String> {
        let mut block = Vec::new();
        while self.at < self.words.len() && !["end", "else", "elseif"].iter().any(|word| self.is(word)) {
            let ends = self.is("return");
            block.push(self.deeper(Parser::statement)?);
            self.took(";");
            if ends {
                break;
            }
        }
        Ok(block)
    }

    fn statement(&mut self) -> Result<Statement, String> {
        if self.took("return") {
            let nothing =
                self.at == self.words.len() || ["end", "else", "elseif", ";"].iter().any(|word| self.is(word));
            return Ok(Statement::Return(if nothing { None } else { Some(self.expr(0)?) }));
        }
        if self.took("if") {
            return self.conditions();
        }
        let is_local = self.took("local");
        if !is_local && self.is("redis") {
            return Ok(Statement::Do(self.primary()?));
        }
        let name = self.name()?;
        match is_local {
            true if !self.is("=") => Ok(Statement::Local(name, Expr::Nil)),
            true => {
                self.take("=")?;
                Ok(Statement::Local(name, self.expr(0)?))
            }
            false => {
                self.take("=")?;
                Ok(Statement::Set(name, self.expr(0)?))
            }
        }
    }

    fn conditions(&mut self) -> Result<Statement, String> {
        let (mut branches, mut otherwise) = (Vec::new(), Vec::new());
        loop {
            let condition = self.expr(0)?;
            self.take("then")?;
            branches.push((condition, self.block()?));
            if self.took("elseif") {
                continue;
            }
            if self.took("else") {
                otherwise = self.block()?;
            }
            self.take("end")?;
            return Ok(Statement::If(branches, otherwise));
        }
    }

    fn expr(&mut self, level: usize) -> Result<Expr, String> {
        self.deeper(|parser| {
            let Some(operators) = LEVELS.get(level) else { return parser.one() };
            let mut left = parser.expr(level + 1)?;
            while let Some(operator) = operators.iter().find(|operator| parser.is(operator)) {
                let line = parser.line();
                parser.at += 1;
                // `..` groups to the right, which changes no value.
                left = Expr::Two(Box::new(left), operator, Box::new(parser.expr(level + 1)?), line);
            }
            Ok(left)
        })
    }

    fn one(&mut self) -> Result<Expr, String> {
        let line = self.line();
        match ["not", "-", "#"].into_iter().find(|operator| self.took(operator)) {
            Some(operator) => Ok(Expr::One(operator, Box::new(self.deeper(Parser::one)?), line)),
            None => self.primary(),
        }
    }

    fn primary(&mut self) -> Result<Expr, String> {
        let Some((word, line)) = self.words.get(self.at) else { return Err(self.lost()) };
        match word {
            Word::Number(number) => {
                self.at += 1;
                Ok(Expr::Number(*number))
            }
            Word::Text(text) => {
                self.at += 1;
                Ok(Expr::Text(text.clone()))
            }
            Word::Sign("(") => {
                self.at += 1;
                let inner = self.expr(0)?;
                self.take(")")?;
                Ok(inner)
            }
            Word::Sign("{") => {
                self.at += 1;
                Ok(Expr::List(self.list("}")?))
            }
            Word::Sign(_) => Err(self.lost()),
            Word::Name(name) => self.named(name, *line),
        }
    }

    fn named(&mut self, name: &str, line: u32) -> Result<Expr, String> {
        for (word, value) in [("nil", Expr::Nil), ("true", Expr::Bool(true)), ("false", Expr::Bool(false))] {
            if name == word {
                self.at += 1;
                return Ok(value);
            }
        }
        let function = match name {
            "redis" => Some((&["redis", ".", "call"][..], Function::RedisCall)),
            "string" => Some((&["string", ".", "format"][..], Function::Format)),
            "tonumber" => Some((&["tonumber"][..], Function::ToNumber)),
            "tostring" => Some((&["tostring"][..], Function::ToText)),
            _ => None,
        };
        if let Some((words, function)) = function {
            words.iter().try_for_each(|word| self.take(word))?;
            self.take("(")?;
            return Ok(Expr::Call { function, args: self.list(")")?, line });
        }
        let mut value = Expr::Name(self.name()?);
        while self.took("[") {
            let index = self.expr(0)?;
            self.take("]")?;
            value = Expr::Index(Box::new(value), Box::new(index));
        }
        Ok(value)
    }

    /// Values between commas, and what ends them.
    fn list(&mut self, end: &str) -> Result<Vec<Expr>, String> {
        let mut items = Vec::new();
        while !self.took(end) {
            items.push(self.expr(0)?);
            if !self.took(",") {
                self.take(end)?;
                break;
            }
        }
        Ok(items)
    }
}
