//! Statements as data.

use super::super::value::{Type, Value};

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// Nothing but blanks.
    Empty,
    /// `BEGIN`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK`.
    Rollback,
    /// `SET name = value`; `None` is the default's.
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

/// `SELECT`, from at most one table.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    pub outputs: Vec<Output>,
    pub table: Option<String>,
    pub condition: Option<Expression>,
    pub locking: Option<Locking>,
}

/// `FOR UPDATE`, and what to do when a row is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locking {
    Wait,
    NoWait,
    Skip,
}

/// Something that comes back, and what it is called.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// `*`.
    All,
    /// An expression, and its name if it was given one.
    One(Expression, Option<String>),
}

/// `INSERT` of one row.
#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    pub table: String,
    pub columns: Vec<String>,
    pub values: Vec<Expression>,
    pub on_conflict: Option<Conflict>,
    pub returning: Vec<Output>,
}

/// `ON CONFLICT`.
#[derive(Clone, PartialEq, Debug)]
pub enum Conflict {
    Nothing { key: Option<String> },
    Update { key: String, set: Vec<(String, Expression)>, condition: Option<Expression> },
}

/// `UPDATE`.
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    pub table: String,
    pub set: Vec<(String, Expression)>,
    pub condition: Option<Expression>,
    pub returning: Vec<Output>,
}

/// `DELETE`.
#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    pub table: String,
    pub condition: Option<Expression>,
    pub returning: Vec<Output>,
}

/// `CREATE TABLE`.
#[derive(Clone, PartialEq, Debug)]
pub struct Create {
    pub table: String,
    pub if_not_exists: bool,
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub name: String,
    pub of: Type,
    pub not_null: bool,
    pub primary: bool,
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// A constant; a quoted one is of the type that its place asks for.
    Constant(Value),
    /// `'…'`.
    Quoted(String),
    /// `$n`, from 0.
    Parameter(usize),
    /// A column, of the row or of what was to be inserted.
    Column { excluded: bool, table: Option<String>, name: String },
    /// The same, found: which column of it.
    Field { excluded: bool, place: usize },
    /// `x::type`.
    Cast(Box<Expression>, Type),
    /// `f(…)`.
    Call(String, Vec<Expression>),
    /// `x op y`.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// `NOT x`.
    Not(Box<Expression>),
    /// `x IS NULL`, or `IS NOT NULL`.
    IsNull(Box<Expression>, bool),
}

/// An operator between two.
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
    /// As it is written.
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
