//! Replies and their encoding, RESP2 and RESP3.
//!
//! Reference: redis/redis 7.0, `src/networking.c: addReply*`; the protocol's specification in redis/redis-doc.

use std::io::Write;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resp {
    /// `+OK` and similar.
    Status(&'static str),
    /// An error: its code, a space, and a message.
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    /// A status with variable text.
    Text(String),
    Nil,
    /// A missing array.
    NilArray,
    Array(Vec<Resp>),
    /// A map; in RESP2, an array of alternating keys and values.
    Map(Vec<(Resp, Resp)>),
}

/// The protocol version of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Protocol {
    /// The initial version of every connection.
    #[default]
    Resp2,
    /// After `HELLO 3`.
    Resp3,
}

impl Resp {
    /// A bulk string.
    pub fn bulk(text: impl AsRef<[u8]>) -> Resp {
        Resp::Bulk(text.as_ref().to_vec())
    }

    /// Appends the reply's encoding.
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

/// Removes line breaks: an error may quote the client, and a line break would end the reply early (`src/networking.c:
/// addReplyErrorFormatInternal`).
fn one_line(text: &str) -> String {
    text.trim_matches(['\r', '\n']).replace(['\r', '\n'], " ")
}

fn line(out: &mut Vec<u8>, kind: char, text: impl std::fmt::Display) {
    // Writing to memory cannot fail.
    let _ = write!(out, "{kind}{text}\r\n");
}
