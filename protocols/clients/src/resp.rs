//! RESP on the client's side: encodes commands, and decodes replies as bytes arrive. For connections that the `redis`
//! crate does not offer: to sentinels, between servers, and of subscribers.
//!
//! Reference: the protocol's specification in redis/redis-doc, `docs/reference/protocol-spec.md`; RESP2.

/// A reply, or a pushed message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// A simple string, such as `+OK`.
    Status(String),
    /// An error: its code, a space, and a message.
    Error(String),
    Integer(i64),
    /// A bulk string.
    Bulk(Vec<u8>),
    /// A null reply.
    Nil,
    Array(Vec<Reply>),
}

impl Reply {
    /// The text of a bulk string or a status.
    pub fn text(&self) -> Option<&str> {
        match self {
            Reply::Status(text) => Some(text),
            Reply::Bulk(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The texts of an array of `N` strings.
    pub fn texts<const N: usize>(&self) -> Option<[&str; N]> {
        let Reply::Array(items) = self else { return None };
        let texts: Option<Vec<&str>> = items.iter().map(Reply::text).collect();
        texts?.try_into().ok()
    }
}

/// Encodes a command.
pub fn command<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// Bytes that are not RESP. The rest of the stream cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoReply {
    #[error("an empty line is not a reply")]
    Empty,
    #[error("`{0}` is not a reply")]
    Unknown(String),
    #[error("`{0}` has no number")]
    NoNumber(String),
    #[error("`{0}` is longer than a string can be")]
    TooLong(String),
    #[error("arrays are nested deeper than in any reply")]
    TooDeep,
}

/// The deepest nesting of arrays; no reply of Redis is deeper.
const DEEPEST: usize = 8;
/// The longest bulk string, bytes: 512 MiB, as in Redis.
const LONGEST: usize = 512 << 20;

/// Collects bytes and decodes replies.
#[derive(Debug, Default)]
pub struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next reply; `None` if it is incomplete.
    ///
    /// # Errors
    /// The bytes are not RESP, as one sentence; the reader cannot recover.
    pub fn take(&mut self) -> Result<Option<Reply>, NoReply> {
        let mut rest = self.buffer.as_slice();
        let Some(reply) = reply(&mut rest, 0)? else { return Ok(None) };
        let used = self.buffer.len() - rest.len();
        self.buffer.drain(..used);
        Ok(Some(reply))
    }

    /// Removes the next line, without its end; `None` if it is incomplete.
    pub fn line(&mut self) -> Option<String> {
        let end = self.buffer.windows(2).position(|two| two == b"\r\n")?;
        let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 2);
        Some(line)
    }

    /// Removes everything up to and including `end`, and returns what precedes it; `None` if `end` has not arrived.
    pub fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        let at = self.buffer.windows(end.len()).position(|bytes| bytes == end)?;
        let taken = self.buffer[..at].to_vec();
        self.buffer.drain(..at + end.len());
        Some(taken)
    }

    /// Removes `count` bytes; `None` if fewer have arrived.
    pub fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        (self.buffer.len() >= count).then(|| self.buffer.drain(..count).collect())
    }

    pub fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }
}

fn reply(rest: &mut &[u8], depth: usize) -> Result<Option<Reply>, NoReply> {
    let Some(end) = rest.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
    let line = String::from_utf8_lossy(&rest[..end]).into_owned();
    let after = &rest[end + 2..];
    let Some(kind) = line.chars().next() else { return Err(NoReply::Empty) };
    let text = &line[kind.len_utf8()..];
    let number = || text.parse::<i64>().map_err(|_| NoReply::NoNumber(line.clone()));
    *rest = match kind {
        '+' | '-' | ':' => after,
        '$' | '*' => after,
        _ => return Err(NoReply::Unknown(line)),
    };
    match kind {
        '+' => Ok(Some(Reply::Status(text.to_owned()))),
        '-' => Ok(Some(Reply::Error(text.to_owned()))),
        ':' => Ok(Some(Reply::Integer(number()?))),
        _ if number()? < 0 => Ok(Some(Reply::Nil)),
        '$' => {
            let length = usize::try_from(number()?).ok().filter(|length| *length <= LONGEST);
            let length = length.ok_or_else(|| NoReply::TooLong(line.clone()))?;
            let Some(bytes) = rest.get(..length + 2) else { return Ok(None) };
            let bytes = bytes[..length].to_vec();
            *rest = &rest[length + 2..];
            Ok(Some(Reply::Bulk(bytes)))
        }
        _ if depth >= DEEPEST => Err(NoReply::TooDeep),
        _ => {
            let mut items = Vec::new();
            for _ in 0..number()? {
                match reply(rest, depth + 1)? {
                    Some(item) => items.push(item),
                    None => return Ok(None),
                }
            }
            Ok(Some(Reply::Array(items)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_come_whole_however_their_bytes_come() {
        let bytes = b"+OK\r\n-ERR no\r\n:-3\r\n$3\r\na\r\n\r\n$-1\r\n*2\r\n$1\r\nx\r\n*1\r\n:7\r\n";
        let array = Reply::Array(vec![Reply::Bulk(b"x".to_vec()), Reply::Array(vec![Reply::Integer(7)])]);
        let expected = [
            Reply::Status("OK".to_owned()),
            Reply::Error("ERR no".to_owned()),
            Reply::Integer(-3),
            Reply::Bulk(b"a\r\n".to_vec()),
            Reply::Nil,
            array,
        ];
        for step in 1..bytes.len() {
            let (mut reader, mut replies) = (Reader::default(), Vec::new());
            for part in bytes.chunks(step) {
                reader.feed(part);
                while let Some(reply) = reader.take().expect("it is RESP") {
                    replies.push(reply);
                }
            }
            assert_eq!(replies, expected, "{step} bytes at a time");
        }
    }

    #[test]
    fn what_is_no_resp_is_refused() {
        for bytes in ["hello\r\n", "\r\n", ":x\r\n", "$99999999999\r\n", &"*1\r\n".repeat(20)] {
            let mut reader = Reader::default();
            reader.feed(bytes.as_bytes());
            assert!(reader.take().is_err(), "{bytes:?}");
        }
    }
}
