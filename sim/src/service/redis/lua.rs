//! A script in execution.

use super::{
    call::Call,
    resp::Resp,
    script::{
        Script,
        parse::{Block, Expr, Function, Statement},
        value::Value,
    },
};
use std::cmp::Ordering;

/// # Errors
/// An error reply: a command's own, or that of a value that is of no use where it stands.
pub(super) fn run(script: &Script, call: &mut Call, keys: &[Vec<u8>], argv: &[Vec<u8>]) -> Result<Resp, String> {
    let list = |words: &[Vec<u8>]| Value::List(words.iter().cloned().map(Value::Text).collect());
    let names = vec![("KEYS".to_owned(), list(keys)), ("ARGV".to_owned(), list(argv))];
    let returned = Running { digest: script.digest(), call, names }.block(&script.block)?;
    Ok(returned.unwrap_or(Value::Nil).reply())
}

struct Running<'a, 'b> {
    digest: &'a str,
    call: &'a mut Call<'b>,
    /// The names that are known here, the innermost last.
    names: Vec<(String, Value)>,
}

impl Running<'_, '_> {
    /// What the block returned, if it did.
    fn block(&mut self, block: &Block) -> Result<Option<Value>, String> {
        let outer = self.names.len();
        for statement in block {
            match statement {
                Statement::Local(name, value) => {
                    let value = self.value(value)?;
                    self.names.push((name.clone(), value));
                }
                Statement::Set(name, value) => {
                    let value = self.value(value)?;
                    let place = self.names.iter().rposition(|(known, _)| known == name);
                    let place = place.ok_or_else(|| self.global(name))?;
                    self.names[place].1 = value;
                }
                Statement::Do(value) => drop(self.value(value)?),
                Statement::If(branches, otherwise) => {
                    let mut chosen = otherwise;
                    for (condition, block) in branches {
                        if self.value(condition)?.is_true() {
                            chosen = block;
                            break;
                        }
                    }
                    if let Some(returned) = self.block(chosen)? {
                        return Ok(Some(returned));
                    }
                }
                Statement::Return(None) => return Ok(Some(Value::Nil)),
                Statement::Return(Some(value)) => return self.value(value).map(Some),
            }
        }
        self.names.truncate(outer);
        Ok(None)
    }

    fn value(&mut self, expr: &Expr) -> Result<Value, String> {
        Ok(match expr {
            Expr::Nil => Value::Nil,
            Expr::Bool(value) => Value::Bool(*value),
            Expr::Number(value) => Value::Number(*value),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Name(name) => {
                let known = self.names.iter().rev().find(|(known, _)| known == name);
                known.map(|(_, value)| value.clone()).ok_or_else(|| self.global(name))?
            }
            Expr::Index(list, index) => match (self.value(list)?, self.value(index)?) {
                (Value::List(items), Value::Number(at)) if at >= 1.0 && at.fract() == 0.0 => {
                    items.into_iter().nth(at as usize - 1).unwrap_or(Value::Nil)
                }
                (list, _) => return Err(self.useless("index", &list, None)),
            },
            Expr::List(items) => Value::List(items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?),
            Expr::Call { function, args, line } => {
                let args = args.iter().map(|arg| self.value(arg)).collect::<Result<Vec<_>, _>>()?;
                self.function(*function, &args, *line)?
            }
            Expr::One(operator, value, line) => {
                let value = self.value(value)?;
                match (*operator, &value) {
                    ("not", _) => Value::Bool(!value.is_true()),
                    ("#", Value::Text(text)) => Value::Number(text.len() as f64),
                    ("#", Value::List(items)) => Value::Number(items.len() as f64),
                    ("-", _) if value.number().is_some() => Value::Number(-value.number().unwrap_or(0.0)),
                    _ => return Err(self.useless(operator, &value, Some(*line))),
                }
            }
            Expr::Two(left, operator @ ("and" | "or"), right, _) => {
                let left = self.value(left)?;
                if left.is_true() == (*operator == "and") { self.value(right)? } else { left }
            }
            Expr::Two(left, operator, right, line) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.two(&left, operator, &right, *line)?
            }
        })
    }

    fn two(&self, left: &Value, operator: &str, right: &Value, line: u32) -> Result<Value, String> {
        let order = match (left, right) {
            (Value::Number(left), Value::Number(right)) => left.partial_cmp(right),
            (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
            _ => None,
        };
        let numbers = left.number().zip(right.number());
        let ordered = |is: fn(Ordering) -> bool| order.map(|order| Value::Bool(is(order)));
        let counted = |of: fn(f64, f64) -> f64| numbers.map(|(left, right)| Value::Number(of(left, right)));
        let value = match operator {
            "==" => Some(Value::Bool(left.is(right))),
            "~=" => Some(Value::Bool(!left.is(right))),
            "<" => ordered(Ordering::is_lt),
            "<=" => ordered(Ordering::is_le),
            ">" => ordered(Ordering::is_gt),
            ">=" => ordered(Ordering::is_ge),
            "+" => counted(|left, right| left + right),
            "-" => counted(|left, right| left - right),
            "*" => counted(|left, right| left * right),
            "/" => counted(|left, right| left / right),
            "%" => counted(|left, right| left - (left / right).floor() * right),
            _ => left.text().zip(right.text()).map(|(left, right)| Value::Text([left, right].concat())),
        };
        let wrong = if left.text().is_some() { right } else { left };
        value.ok_or_else(|| self.useless(operator, wrong, Some(line)))
    }

    fn function(&mut self, function: Function, args: &[Value], line: u32) -> Result<Value, String> {
        match (function, args) {
            (Function::RedisCall, args) => self.redis(args, line),
            (Function::ToNumber, [value]) => Ok(value.number().map_or(Value::Nil, Value::Number)),
            (Function::ToText, [value @ (Value::Text(_) | Value::Number(_))]) => {
                Ok(Value::Text(value.text().unwrap_or_default()))
            }
            (Function::Format, [Value::Text(form), value]) if form == b"%.0f" || form == b"%d" => {
                let number = value.number().ok_or_else(|| self.useless("string.format", value, Some(line)))?;
                Ok(Value::Text(format!("{number:.0}").into_bytes()))
            }
            (_, args) => Err(self.useless("a function", args.last().unwrap_or(&Value::Nil), Some(line))),
        }
    }

    fn redis(&mut self, args: &[Value], line: u32) -> Result<Value, String> {
        let words: Option<Vec<Vec<u8>>> = args.iter().map(Value::word).collect();
        let reply = match words {
            None => Resp::Error("ERR Lua redis lib command arguments must be strings or integers".into()),
            Some(words) if words.is_empty() => {
                Resp::Error("ERR Please specify at least one argument for this redis lib call".into())
            }
            Some(words) => (self.call.execute)(self.call.model, self.call.session, self.call.now_ms, &words),
        };
        match reply {
            Resp::Error(error) => Err(format!("{} script: {}, on @user_script:{line}.", worded(error), self.digest)),
            reply => Ok(Value::of(reply)),
        }
    }

    fn global(&self, name: &str) -> String {
        format!("ERR this simulated Redis knows no '{name}' in script {}", self.digest)
    }

    /// A value that does not fit; real servers have other words.
    fn useless(&self, what: &str, value: &Value, line: Option<u32>) -> String {
        let line = line.map(|line| format!(" on line {line}")).unwrap_or_default();
        format!(
            "ERR this simulated Redis cannot apply '{what}' to a {} value{line}, script: {}",
            value.kind(),
            self.digest
        )
    }
}

/// Some errors have other words within a script (`src/script.c: scriptCall`).
fn worded(error: String) -> String {
    match error {
        error if error.starts_with("ERR wrong number of arguments for ") => {
            "ERR Wrong number of args calling Redis command from script".into()
        }
        error if error.starts_with("ERR unknown command ") => "ERR Unknown Redis command called from script".into(),
        error => error,
    }
}
