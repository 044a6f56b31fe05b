//! By what a member is known to have started, as the file says.

use super::service::Wrong;
use toml::Value;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ready {
    /// A line of its log has one of these texts.
    Says(Vec<String>),
    /// Its port accepts connections.
    Listens,
    /// A request for this path at its port is answered with 2xx.
    Answers(String),
}

impl Ready {
    /// Whether it is found by asking at the member's port.
    pub const fn asks(&self) -> bool {
        matches!(self, Ready::Listens | Ready::Answers(_))
    }

    /// What a member says; empty if it need not say anything.
    pub fn texts(&self) -> &[String] {
        match self {
            Ready::Says(texts) => texts,
            Ready::Listens | Ready::Answers(_) => &[],
        }
    }
}

/// Reads it.
pub fn read(value: Value) -> Result<Ready, Wrong> {
    let found = match &value {
        Value::String(text) => Some(Ready::Says(vec![text.clone()])),
        Value::Array(texts) => {
            let texts = texts.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>().filter(|texts| !texts.is_empty()).map(Ready::Says)
        }
        Value::Table(one) if one.len() == 1 => match (one.get("port"), one.get("http")) {
            (Some(Value::Boolean(true)), _) => Some(Ready::Listens),
            (_, Some(Value::String(path))) if is_path(path) => Some(Ready::Answers(path.clone())),
            _ => None,
        },
        _ => None,
    };
    found.ok_or_else(|| {
        Wrong("`[fleet] ready` is neither text of the log, nor { port = true }, nor { http = \"/PATH\" }".to_owned())
    })
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic())
}
