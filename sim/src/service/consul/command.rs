//! Commands that change the store, and their encoding.

use super::model::{Behavior, Model, Refusal, Session};
use crate::service::cluster::message::{Reader, Writer};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Command {
    /// Creates a session with this id.
    Create(String, Box<Session>),
    /// Ends a session.
    Destroy(String),
    /// Writes a key: value, flags, the index that it must have.
    Set(Vec<u8>, Vec<u8>, u64, Option<u64>),
    /// Deletes a key if it has this index.
    Delete(Vec<u8>, Option<u64>),
    /// Acquires a key for a session, with this value and these flags.
    Acquire(Vec<u8>, Vec<u8>, u64, String),
    /// Releases it.
    Release(Vec<u8>, Vec<u8>, u64, String),
}

impl Command {
    /// Executes the command at time `now`; returns whether it was done.
    ///
    /// # Errors
    /// The command is refused.
    pub(super) fn apply(self, model: &mut Model, now: u64) -> Result<bool, Refusal> {
        match self {
            Command::Create(id, session) => model.create_session(now, &id, *session).map(|()| true),
            Command::Destroy(id) => model.destroy_session(&id).map(|()| true),
            Command::Set(key, value, flags, cas) => Ok(model.set(&key, value, flags, cas)),
            Command::Delete(key, cas) => Ok(model.delete(&key, cas)),
            Command::Acquire(key, value, flags, session) => model.acquire(now, &key, value, flags, &session),
            Command::Release(key, value, flags, session) => model.release(&key, value, flags, &session),
        }
    }

    pub(super) fn encode(&self, to: &mut Writer) {
        let cas = |to: &mut Writer, cas: &Option<u64>| {
            to.byte(u8::from(cas.is_some())).number(cas.unwrap_or_default());
        };
        match self {
            Command::Create(id, session) => {
                to.byte(0).bytes(id.as_bytes()).bytes(session.name.as_bytes()).bytes(session.node.as_bytes());
                to.number(session.lock_delay).byte(u8::from(session.behavior == Behavior::Delete));
                to.bytes(session.ttl.as_bytes()).number(session.checks.len() as u64);
                for check in &session.checks {
                    to.bytes(check.as_bytes());
                }
            }
            Command::Destroy(id) => {
                to.byte(1).bytes(id.as_bytes());
            }
            Command::Set(key, value, flags, index) => {
                to.byte(2).bytes(key).bytes(value).number(*flags);
                cas(to, index);
            }
            Command::Delete(key, index) => {
                to.byte(3).bytes(key);
                cas(to, index);
            }
            Command::Acquire(key, value, flags, session) => {
                to.byte(4).bytes(key).bytes(value).number(*flags).bytes(session.as_bytes());
            }
            Command::Release(key, value, flags, session) => {
                to.byte(5).bytes(key).bytes(value).number(*flags).bytes(session.as_bytes());
            }
        }
    }

    pub(super) fn decode(from: &mut Reader) -> Option<Command> {
        let text = |from: &mut Reader| String::from_utf8(from.bytes()?.to_vec()).ok();
        let bytes = |from: &mut Reader| Some(from.bytes()?.to_vec());
        let cas =
            |from: &mut Reader| Some((from.byte()?, from.number()?)).map(|(some, cas)| (some == 1).then_some(cas));
        Some(match from.byte()? {
            0 => {
                let (id, name, node, lock_delay) = (text(from)?, text(from)?, text(from)?, from.number()?);
                let behavior = if from.byte()? == 1 { Behavior::Delete } else { Behavior::Release };
                let (ttl, count) = (text(from)?, from.number()?);
                let checks = (0..count).map(|_| text(from)).collect::<Option<Vec<_>>>()?;
                let session = Session { name, node, lock_delay, behavior, ttl, checks, create_index: 0, ends_at: None };
                Command::Create(id, Box::new(session))
            }
            1 => Command::Destroy(text(from)?),
            2 => Command::Set(bytes(from)?, bytes(from)?, from.number()?, cas(from)?),
            3 => Command::Delete(bytes(from)?, cas(from)?),
            4 => Command::Acquire(bytes(from)?, bytes(from)?, from.number()?, text(from)?),
            5 => Command::Release(bytes(from)?, bytes(from)?, from.number()?, text(from)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_come_out_as_they_went_in() {
        let session = Session {
            name: "n1".to_owned(),
            node: "consul".to_owned(),
            lock_delay: 15,
            behavior: Behavior::Delete,
            ttl: "10s".to_owned(),
            checks: vec!["serfHealth".to_owned()],
            create_index: 0,
            ends_at: None,
        };
        for command in [
            Command::Create("id".to_owned(), Box::new(session)),
            Command::Destroy("id".to_owned()),
            Command::Set(b"k".to_vec(), b"v".to_vec(), 7, None),
            Command::Delete(b"k".to_vec(), Some(9)),
            Command::Acquire(b"k".to_vec(), b"v".to_vec(), 7, "id".to_owned()),
            Command::Release(b"k".to_vec(), b"v".to_vec(), 7, "id".to_owned()),
        ] {
            let mut bytes = Writer::default();
            command.encode(&mut bytes);
            assert_eq!(Command::decode(&mut Reader(&bytes.0)), Some(command));
        }
    }
}
