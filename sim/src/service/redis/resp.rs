//! Replies and their bytes, RESP2 and RESP3.
//!
//! Reference: redis/redis 7.0, `src/networking.c: addReply*`; the protocol's specification in redis/redis-doc.

use std::io::Write;

/// A reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resp {
    /// `+OK` and its like.
    Status(&'static str),
    /// An error: its code, a space, and words.
    Error(String),
    /// An integer.
    Integer(i64),
    /// A string of bytes.
    Bulk(Vec<u8>),
    /// A status that is not always the same.
    Text(String),
    /// Nothing there.
    Nil,
    /// No array there.
    NilArray,
    /// An array.
    Array(Vec<Resp>),
    /// A map; in RESP2 an array of keys and values in turn.
    Map(Vec<(Resp, Resp)>),
}

/// The version of the protocol that a connection speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Protocol {
    /// What every connection starts with.
    #[default]
    Resp2,
    /// After `HELLO 3`.
    Resp3,
}

impl Resp {
    /// A string of bytes.
    pub fn bulk(text: impl AsRef<[u8]>) -> Resp {
        Resp::Bulk(text.as_ref().to_vec())
    }

    /// Appends the bytes of the reply.
    pub fn encode(&self, protocol: Protocol, out: &mut Vec<u8>) {
        match self {
            Resp::Status(text) => line(out, '+', text),
            Resp::Text(text) => line(out, '+', one_line(text)),
            Resp::NilArray => out.extend_from_slice(match protocol {
                Protocol::Resp2 => b"*-1\r\n",
                Protocol::Resp3 => b"_\r\n",
            }),
            Resp::Error(text) => line(out, '-', one_line(text)),
            Resp::Integer(value) => line(out, ':', value),
            Resp::Bulk(bytes) => {
                line(out, '$', bytes.len());
                out.extend_from_slice(bytes);
                out.extend_from_slice(b"\r\n");
            }
            Resp::Nil => out.extend_from_slice(match protocol {
                Protocol::Resp2 => b"$-1\r\n",
                Protocol::Resp3 => b"_\r\n",
            }),
            Resp::Array(items) => {
                line(out, '*', items.len());
                items.iter().for_each(|item| item.encode(protocol, out));
            }
            Resp::Map(pairs) => {
                match protocol {
                    Protocol::Resp2 => line(out, '*', pairs.len() * 2),
                    Protocol::Resp3 => line(out, '%', pairs.len()),
                }
                for (key, value) in pairs {
                    key.encode(protocol, out);
                    value.encode(protocol, out);
                }
            }
        }
    }
}

/// The words of an error may quote the client; a line break in them would end the reply early
/// (`src/networking.c: addReplyErrorFormatInternal`).
fn one_line(text: &str) -> String {
    text.trim_matches(['\r', '\n']).replace(['\r', '\n'], " ")
}

fn line(out: &mut Vec<u8>, kind: char, text: impl std::fmt::Display) {
    // Writing to memory cannot fail.
    let _ = write!(out, "{kind}{text}\r\n");
}
