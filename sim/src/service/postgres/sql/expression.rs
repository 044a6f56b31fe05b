//! Parses expressions, by PostgreSQL's operator precedence: `OR`, `AND`, `NOT`, `IS`, comparisons, `+ -`, `*`, `::`.

use super::{
    super::{
        error::Error,
        value::{Type, Value},
    },
    lexer::Token,
    parser::Parser,
    statement::{Aggregate, Choice, Expression, Operator},
};

/// The deepest nesting of expressions.
const DEPTH_MAX: usize = 64;

impl Parser {
    pub(super) fn expression(&mut self) -> Result<Expression, Error> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::new("54001", "stack depth limit exceeded"));
        }
        let mut left = self.conjunction()?;
        while self.eat_word("or") {
            left = binary(Operator::Or, left, self.conjunction()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expression, Error> {
        let mut left = self.negation()?;
        while self.eat_word("and") {
            left = binary(Operator::And, left, self.negation()?);
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expression, Error> {
        let mut turns = 0_usize;
        while self.eat_word("not") {
            turns += 1;
        }
        let mut inner = self.comparison()?;
        for _ in 0..turns {
            inner = Expression::Not(Box::new(inner));
        }
        Ok(inner)
    }

    fn comparison(&mut self) -> Result<Expression, Error> {
        let left = self.sum()?;
        let sign = [
            ("=", Operator::Equal),
            ("<>", Operator::Unequal),
            ("!=", Operator::Unequal),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ]
        .into_iter()
        .find(|(sign, _)| self.eat(sign));
        let mut whole = match sign {
            Some((_, operator)) => binary(operator, left, self.sum()?),
            None if self.eat_words(&["not", "in"]) => {
                self.sign("(")?;
                Expression::Not(Box::new(self.one_of(&left)?))
            }
            None if self.eat_word("in") => {
                self.sign("(")?;
                self.one_of(&left)?
            }
            None => left,
        };
        while self.eat_word("is") {
            let not = self.eat_word("not");
            self.word("null")?;
            whole = Expression::IsNull(Box::new(whole), not);
        }
        Ok(whole)
    }

    pub(super) fn sum(&mut self) -> Result<Expression, Error> {
        let mut left = self.product()?;
        loop {
            let operator = match () {
                () if self.eat("+") => Operator::Plus,
                () if self.eat("-") => Operator::Minus,
                () => return Ok(left),
            };
            left = binary(operator, left, self.product()?);
        }
    }

    fn product(&mut self) -> Result<Expression, Error> {
        let mut left = self.cast()?;
        while self.eat("*") {
            left = binary(Operator::Times, left, self.cast()?);
        }
        Ok(left)
    }

    fn cast(&mut self) -> Result<Expression, Error> {
        let negative = self.eat("-");
        let mut inner = self.primary(negative)?;
        while self.eat("::") {
            inner = Expression::Cast(Box::new(inner), self.of_type()?);
        }
        Ok(inner)
    }

    fn primary(&mut self, negative: bool) -> Result<Expression, Error> {
        let token = self.next().ok_or_else(|| Error::syntax(None))?;
        if negative && !matches!(token, Token::Number(_)) {
            return Err(Error::unsupported("a minus before anything but a number"));
        }
        match token {
            Token::Number(digits) => {
                let text = if negative { format!("-{digits}") } else { digits };
                let number = text.parse::<i64>().map_err(|_| Error::unsupported("numbers of more than 64 bits"))?;
                Ok(Expression::Constant(i32::try_from(number).map_or(Value::Int8(number), Value::Int4)))
            }
            Token::Text(text) => Ok(Expression::Quoted(text)),
            Token::Parameter(place) => Ok(Expression::Parameter(place)),
            Token::Sign("(") => {
                let inner = self.expression()?;
                self.sign(")")?;
                Ok(inner)
            }
            Token::Word { text, quoted, .. } => self.word_expression(text, quoted),
            other => Err(Error::syntax(Some(&other.text()))),
        }
    }

    fn word_expression(&mut self, text: String, quoted: bool) -> Result<Expression, Error> {
        match text.as_str() {
            "null" if !quoted => return Ok(Expression::Constant(Value::Null)),
            "true" | "false" if !quoted => return Ok(Expression::Constant(Value::Bool(text == "true"))),
            "current_timestamp" if !quoted => return Ok(Expression::Call(text, Vec::new())),
            "interval" if !quoted => {
                let Some(Token::Text(length)) = self.next() else {
                    return Err(Error::unsupported("`interval` without a quoted length"));
                };
                return Ok(Expression::Cast(Box::new(Expression::Quoted(length)), Type::Interval));
            }
            "select" | "case" | "array" | "row" | "exists" | "cast" | "default" if !quoted => {
                return Err(Error::unsupported(format!("`{text}` in an expression")));
            }
            _ => {}
        }
        if self.eat("(") {
            return self.arguments(text);
        }
        if self.eat(".") {
            let name = self.name()?;
            let excluded = text == "excluded";
            return Ok(Expression::Column { excluded, table: (!excluded).then_some(text), name });
        }
        Ok(Expression::Column { excluded: false, table: None, name: text })
    }

    /// A call, after its opening parenthesis.
    fn arguments(&mut self, name: String) -> Result<Expression, Error> {
        let aggregate = Aggregate::named(&name);
        if aggregate == Some(Aggregate::Count) && self.eat("*") {
            self.sign(")")?;
            return Ok(Expression::Aggregate(Aggregate::Count, None));
        }
        if aggregate.is_some() && self.eat_word("distinct") {
            return Err(Error::unsupported("DISTINCT in an aggregate"));
        }
        let mut arguments = Vec::new();
        if !self.eat(")") {
            arguments = self.list()?;
            self.sign(")")?;
        }
        match (aggregate, Choice::named(&name)) {
            (Some(aggregate), _) if arguments.len() == 1 => {
                Ok(Expression::Aggregate(aggregate, arguments.pop().map(Box::new)))
            }
            (_, Some(_)) if arguments.is_empty() => Err(Error::syntax(Some(")"))),
            (_, Some(choice)) => Ok(Expression::Of(choice, arguments)),
            _ => Ok(Expression::Call(name, arguments)),
        }
    }

    /// Expressions between commas.
    pub(super) fn list(&mut self) -> Result<Vec<Expression>, Error> {
        let mut list = vec![self.expression()?];
        while self.eat(",") {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    /// `x IN (…)`, after the opening parenthesis: equal to one of them.
    fn one_of(&mut self, left: &Expression) -> Result<Expression, Error> {
        let equal = |right| binary(Operator::Equal, left.clone(), right);
        let list = self.list()?;
        self.sign(")")?;
        let any = list.into_iter().map(equal).reduce(|one, other| binary(Operator::Or, one, other));
        any.ok_or_else(|| Error::syntax(Some(")")))
    }
}

fn binary(operator: Operator, left: Expression, right: Expression) -> Expression {
    Expression::Binary(operator, Box::new(left), Box::new(right))
}
