//! Parses tokens into statements.

use super::{
    super::{error::Error, value::Type},
    lexer::{Token, tokens},
    statement::{Expression, Locking, Output, Select, Statement},
};

/// The statements of a text, separated by semicolons.
///
/// # Errors
/// The text cannot be parsed, or is not supported.
pub fn parse(text: &str) -> Result<Vec<Statement>, Error> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let mut statements = Vec::new();
    loop {
        while parser.eat(";") {}
        if parser.peek().is_none() {
            return Ok(statements);
        }
        statements.push(parser.statement()?);
        match parser.peek() {
            None | Some(Token::Sign(";")) => {}
            Some(other) => return Err(Error::syntax(Some(&other.text()))),
        }
    }
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    pub(super) at: usize,
    pub(super) depth: usize,
}

impl Parser {
    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(found);
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word { text, quoted: false, .. }) if text == word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn eat_words(&mut self, words: &[&str]) -> bool {
        let from = self.at;
        let found = words.iter().all(|word| self.eat_word(word));
        if !found {
            self.at = from;
        }
        found
    }

    pub(super) fn wrong(&self) -> Error {
        Error::syntax(self.peek().map(Token::text).as_deref())
    }

    pub(super) fn sign(&mut self, sign: &str) -> Result<(), Error> {
        if self.eat(sign) { Ok(()) } else { Err(self.wrong()) }
    }

    pub(super) fn word(&mut self, word: &str) -> Result<(), Error> {
        if self.eat_word(word) { Ok(()) } else { Err(self.wrong()) }
    }

    pub(super) fn name(&mut self) -> Result<String, Error> {
        match self.peek() {
            Some(Token::Word { text, .. }) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.wrong()),
        }
    }

    pub(super) fn names(&mut self) -> Result<Vec<String>, Error> {
        self.sign("(")?;
        let mut names = vec![self.name()?];
        while self.eat(",") {
            names.push(self.name()?);
        }
        self.sign(")")?;
        Ok(names)
    }

    pub(super) fn of_type(&mut self) -> Result<Type, Error> {
        let name = self.name()?;
        let name = if name == "timestamp" && self.eat_words(&["with", "time", "zone"]) { "timestamptz" } else { &name };
        Type::named(name).ok_or_else(|| Error::unsupported(format!("the type `{name}`")))
    }

    fn statement(&mut self) -> Result<Statement, Error> {
        let Some(Token::Word { text, quoted: false, raw }) = self.next() else {
            self.at -= 1;
            return Err(self.wrong());
        };
        match text.as_str() {
            "begin" => self.begin(),
            "start" => {
                self.word("transaction")?;
                self.begin()
            }
            "commit" | "end" => self.transaction_word(Statement::Commit),
            "rollback" | "abort" => self.transaction_word(Statement::Rollback),
            "set" => self.set(),
            "show" => Ok(Statement::Show(self.name()?)),
            "select" => Ok(Statement::Select(self.select()?)),
            "insert" => self.insert(),
            "update" => self.update(),
            "delete" => self.delete(),
            "create" => self.create(),
            // Tells statements that PostgreSQL knows but this model does not from syntax errors.
            known if OTHERS.contains(&known) => Err(Error::unsupported(format!("`{}`", known.to_uppercase()))),
            _ => Err(Error::syntax(Some(&raw))),
        }
    }

    fn transaction_word(&mut self, statement: Statement) -> Result<Statement, Error> {
        let _ = self.eat_word("transaction") || self.eat_word("work");
        if self.eat_word("to") || self.eat_word("and") {
            return Err(Error::unsupported("savepoints and chained transactions"));
        }
        Ok(statement)
    }

    fn begin(&mut self) -> Result<Statement, Error> {
        let _ = self.eat_word("transaction") || self.eat_word("work");
        loop {
            if self.eat_words(&["isolation", "level"]) && !self.eat_words(&["read", "committed"]) {
                return Err(Error::unsupported("isolation levels other than read committed"));
            }
            if self.eat_words(&["read", "only"]) {
                return Err(Error::unsupported("transactions that are read only"));
            }
            let _ = self.eat_words(&["read", "write"]);
            if !self.eat(",") && !matches!(self.peek(), Some(Token::Word { .. })) {
                return Ok(Statement::Begin);
            }
            if !matches!(self.peek(), Some(Token::Word { text, .. }) if text == "isolation" || text == "read") {
                return Err(self.wrong());
            }
        }
    }

    fn set(&mut self) -> Result<Statement, Error> {
        let local = self.eat_word("local");
        let _ = !local && self.eat_word("session");
        let name = self.name()?;
        if !self.eat("=") {
            self.word("to")?;
        }
        let minus = if self.eat("-") { "-" } else { "" };
        let value = match self.next() {
            Some(Token::Number(digits)) => Some(format!("{minus}{digits}")),
            _ if !minus.is_empty() => {
                self.at -= 1;
                return Err(self.wrong());
            }
            Some(Token::Word { text, quoted: false, .. }) if text == "default" => None,
            Some(Token::Word { text, .. } | Token::Text(text)) => Some(text),
            _ => {
                self.at -= 1;
                return Err(self.wrong());
            }
        };
        Ok(Statement::Set { name, value, local })
    }

    fn outputs(&mut self) -> Result<Vec<Output>, Error> {
        let mut outputs = Vec::new();
        loop {
            if self.eat("*") {
                outputs.push(Output::All);
            } else {
                let expression = self.expression()?;
                let name = if self.eat_word("as") { Some(self.name()?) } else { None };
                outputs.push(Output::One(expression, name));
            }
            if !self.eat(",") {
                return Ok(outputs);
            }
        }
    }

    pub(super) fn condition(&mut self) -> Result<Option<Expression>, Error> {
        if self.eat_word("where") { self.expression().map(Some) } else { Ok(None) }
    }

    pub(super) fn returning(&mut self) -> Result<Vec<Output>, Error> {
        if self.eat_word("returning") { self.outputs() } else { Ok(Vec::new()) }
    }

    /// A `SELECT`, after that word.
    pub(super) fn select(&mut self) -> Result<Select, Error> {
        // PostgreSQL allows an empty select list, which gives rows without columns.
        let is_over = match self.peek() {
            None | Some(Token::Sign(";")) => true,
            Some(Token::Word { text, quoted: false, .. }) => {
                ["from", "where", "for", "order", "limit"].contains(&text.as_str())
            }
            _ => false,
        };
        let outputs = if is_over { Vec::new() } else { self.outputs()? };
        let table = if self.eat_word("from") { Some(self.name()?) } else { None };
        let condition = self.condition()?;
        let order = if self.eat_words(&["order", "by"]) { self.order()? } else { Vec::new() };
        let limit = if self.eat_word("limit") && !self.eat_word("all") { Some(self.expression()?) } else { None };
        let mut locking = None;
        if self.eat_word("for") {
            if !self.eat_word("update") {
                return Err(Error::unsupported("row locks other than FOR UPDATE"));
            }
            locking = Some(match () {
                () if self.eat_word("nowait") => Locking::NoWait,
                () if self.eat_words(&["skip", "locked"]) => Locking::Skip,
                () => Locking::Wait,
            });
        }
        for word in ["order", "group", "limit", "join", "union", "having", "offset", "inner", "left", "for"] {
            if self.eat_word(word) {
                return Err(Error::unsupported(format!("`{}` in a SELECT", word.to_uppercase())));
            }
        }
        Ok(Select { outputs, table, condition, order, limit, locking })
    }

    fn order(&mut self) -> Result<Vec<(Expression, bool)>, Error> {
        let mut order = Vec::new();
        loop {
            let key = self.expression()?;
            let down = !self.eat_word("asc") && self.eat_word("desc");
            if self.eat_word("nulls") {
                return Err(Error::unsupported("NULLS FIRST and NULLS LAST"));
            }
            order.push((key, down));
            if !self.eat(",") {
                return Ok(order);
            }
        }
    }
}

/// First words of statements that PostgreSQL knows and this model does not.
const OTHERS: [&str; 31] = [
    "alter",
    "analyze",
    "call",
    "checkpoint",
    "close",
    "cluster",
    "comment",
    "copy",
    "deallocate",
    "declare",
    "discard",
    "do",
    "drop",
    "execute",
    "explain",
    "fetch",
    "grant",
    "listen",
    "lock",
    "merge",
    "notify",
    "prepare",
    "reindex",
    "release",
    "reset",
    "revoke",
    "savepoint",
    "truncate",
    "unlisten",
    "vacuum",
    "with",
];

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::service::postgres::{
        EXTEND, LOCK_CHECK_IN, LOOK, PING, PUT_CHECK_IN, RELEASE, SCHEMA, TAKE, TRY_LOCK, UNLOCK,
    };

    #[test]
    fn what_elections_say_is_understood() {
        let asked = [TAKE, EXTEND, RELEASE, LOOK, LOCK_CHECK_IN, PUT_CHECK_IN, TRY_LOCK, UNLOCK, PING];
        for text in asked.into_iter().chain(SCHEMA).chain(["BEGIN", "START TRANSACTION ISOLATION LEVEL READ COMMITTED"])
        {
            assert_eq!(parse(text).map(|statements| statements.len()), Ok(1), "{text}");
        }
    }

    #[test]
    fn what_is_not_supported_is_refused_and_what_is_wrong_is_an_error() {
        let code = |text: &str| parse(text).err().map(|error| error.code);
        for text in [
            "LISTEN x",
            "INSERT INTO t DEFAULT VALUES",
            "SELECT 1 LIMIT 1 OFFSET 1",
            "SELECT 1 FOR SHARE",
            "BEGIN READ ONLY",
            "SELECT 1.5",
        ] {
            assert_eq!(code(text), Some("0A000"), "{text}");
        }
        for text in [
            "SELEC 1",
            "SELECT 1 1",
            "SELECT 1,",
            "UPDATE t",
            "INSERT INTO t (x) VALUES",
            "(",
            "SELECT (1",
            "BEGIN now",
        ] {
            assert_eq!(code(text), Some("42601"), "{text}");
        }
        assert_eq!(code(&format!("SELECT {}1", "(".repeat(1_000))), Some("54001"));
        assert_eq!(parse(" ; ; ").map(|none| none.len()), Ok(0));
        assert_eq!(parse("SELECT; SELECT FROM t WHERE true").map(|both| both.len()), Ok(2));
    }
}
