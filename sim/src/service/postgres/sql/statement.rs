//! The syntax tree.

use super::super::value::{Type, Value};

#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// Blanks only.
    Empty,
    /// `BEGIN`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK`.
    Rollback,
    /// `SET name = value`; `None` for the default.
    Set { name: String, value: Option<String>, local: bool },
    /// `SHOW name`.
    Show(String),
    /// `SELECT`.
    Select(Select),
    /// `INSERT`.
    Insert(Insert),
    /// `UPDATE`.
    Update(Update),
    /// `DELETE`.
    Delete(Delete),
    /// `CREATE TABLE`.
    Create(Create),
}

/// `SELECT` from at most one table.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    pub outputs: Vec<Output>,
    pub table: Option<String>,
    pub condition: Option<Expression>,
    /// The keys of `ORDER BY`; `true` for the greatest first.
    pub order: Vec<(Expression, bool)>,
    pub limit: Option<Expression>,
    pub locking: Option<Locking>,
}

/// `FOR UPDATE`, and what to do with locked rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locking {
    Wait,
    NoWait,
    Skip,
}

/// A result column.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// `*`.
    All,
    /// An expression, and its alias, if any.
    One(Expression, Option<String>),
}

impl Output {
    pub fn expression(&self) -> Option<&Expression> {
        match self {
            Output::All => None,
            Output::One(expression, _) => Some(expression),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    pub table: String,
    /// Empty in text that does not name them.
    pub columns: Vec<String>,
    pub rows: Rows,
    pub on_conflict: Option<Conflict>,
    pub returning: Vec<Output>,
}

/// The rows of an `INSERT`.
#[derive(Clone, PartialEq, Debug)]
pub enum Rows {
    Values(Vec<Vec<Expression>>),
    Select(Box<Select>),
}

/// `ON CONFLICT`.
#[derive(Clone, PartialEq, Debug)]
pub enum Conflict {
    Nothing { key: Option<String> },
    Update { key: String, set: Vec<(String, Expression)>, condition: Option<Expression> },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    pub table: String,
    pub set: Vec<(String, Expression)>,
    pub condition: Option<Expression>,
    pub returning: Vec<Output>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    pub table: String,
    pub condition: Option<Expression>,
    pub returning: Vec<Output>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Create {
    pub table: String,
    pub if_not_exists: bool,
    pub columns: Vec<Column>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    pub name: String,
    pub of: Type,
    pub not_null: bool,
    pub primary: bool,
    pub default: Option<Default>,
}

/// The value of a column that an `INSERT` does not name.
#[derive(Clone, PartialEq, Debug)]
pub enum Default {
    Value(Expression),
    /// The next number; `always` if a row cannot have another.
    Next {
        always: bool,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A constant; a quoted one takes the type that its context requires.
    Constant(Value),
    /// `'…'`.
    Quoted(String),
    /// `$n`, counted from 0.
    Parameter(usize),
    /// A column, of the row or of `excluded`.
    Column { excluded: bool, table: Option<String>, name: String },
    /// A resolved column: its index.
    Field { excluded: bool, place: usize },
    /// `x::type`.
    Cast(Box<Expression>, Type),
    /// `f(…)`.
    Call(String, Vec<Expression>),
    /// `COALESCE(…)`, `GREATEST(…)` or `LEAST(…)`.
    Of(Choice, Vec<Expression>),
    /// `count(*)`, or another aggregate of an expression.
    Aggregate(Aggregate, Option<Box<Expression>>),
    /// `x op y`.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// `NOT x`.
    Not(Box<Expression>),
    /// `x IS NULL`; `true` for `IS NOT NULL`.
    IsNull(Box<Expression>, bool),
}

/// Which of several values it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    Coalesce,
    Greatest,
    Least,
}

impl Choice {
    pub fn named(name: &str) -> Option<Choice> {
        [Choice::Coalesce, Choice::Greatest, Choice::Least].into_iter().find(|choice| choice.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Choice::Coalesce => "coalesce",
            Choice::Greatest => "greatest",
            Choice::Least => "least",
        }
    }
}

/// What is computed of all rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    Count,
    Max,
    Min,
    Sum,
}

impl Aggregate {
    pub fn named(name: &str) -> Option<Aggregate> {
        let all = [Aggregate::Count, Aggregate::Max, Aggregate::Min, Aggregate::Sum];
        all.into_iter().find(|aggregate| aggregate.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Aggregate::Count => "count",
            Aggregate::Max => "max",
            Aggregate::Min => "min",
            Aggregate::Sum => "sum",
        }
    }
}

impl Expression {
    /// Its parts.
    pub fn parts(&self) -> Vec<&Expression> {
        match self {
            Expression::Constant(_)
            | Expression::Quoted(_)
            | Expression::Parameter(_)
            | Expression::Column { .. }
            | Expression::Field { .. }
            | Expression::Aggregate(_, None) => Vec::new(),
            Expression::Cast(inner, _)
            | Expression::Not(inner)
            | Expression::IsNull(inner, _)
            | Expression::Aggregate(_, Some(inner)) => vec![inner],
            Expression::Call(_, parts) | Expression::Of(_, parts) => parts.iter().collect(),
            Expression::Binary(_, left, right) => vec![left, right],
        }
    }

    /// Whether it has an aggregate in it.
    pub fn aggregates(&self) -> bool {
        matches!(self, Expression::Aggregate(..)) || self.parts().into_iter().any(Expression::aggregates)
    }

    /// A column in it that is no aggregate's.
    pub fn bare_column(&self) -> Option<usize> {
        match self {
            Expression::Field { place, .. } => Some(*place),
            Expression::Aggregate(..) => None,
            other => other.parts().into_iter().find_map(Expression::bare_column),
        }
    }
}

/// A binary operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Times,
}

impl Operator {
    /// As written in SQL.
    pub const fn text(self) -> &'static str {
        match self {
            Operator::Or => "OR",
            Operator::And => "AND",
            Operator::Equal => "=",
            Operator::Unequal => "<>",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::Plus => "+",
            Operator::Minus => "-",
            Operator::Times => "*",
        }
    }
}
