//! Decodes messages, version 3 of the protocol. `answers.rs` encodes answers.
//!
//! Reference: postgres/postgres 15, `src/backend/postmaster/postmaster.c: ProcessStartupPacket`,
//! `src/backend/tcop/postgres.c: SocketBackend, exec_parse_message, exec_bind_message`, `src/backend/libpq/pqformat.c`,
//! `src/backend/access/common/printtup.c`.

use super::error::Error;

/// The longest message, in bytes: PostgreSQL's limit for all kinds used here.
const LONGEST: usize = 0x3fff_ffff - 1;
/// The longest first message, in bytes.
const STARTUP_LONGEST: usize = 10_000;

/// A client's first message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Opening {
    /// A request for TLS or GSSAPI.
    Encrypted,
    /// A request to cancel a process's statement.
    Cancel,
    /// The user and other settings.
    Startup(Vec<(String, String)>),
}

/// A later message of a client.
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    Query(String),
    Parse {
        name: String,
        text: String,
        types: Vec<u32>,
    },
    Bind(Bind),
    /// Describes a portal or a statement.
    Describe {
        portal: bool,
        name: String,
    },
    Execute {
        portal: String,
    },
    Close {
        portal: bool,
        name: String,
    },
    Sync,
    Flush,
    Terminate,
}

/// Binds parameters to a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Bind {
    pub portal: String,
    pub statement: String,
    /// Whether parameters are binary: none given, one for all, or one each.
    pub formats: Vec<bool>,
    pub values: Vec<Option<Vec<u8>>>,
    /// Whether results are to be binary, likewise.
    pub results: Vec<bool>,
}

/// Collects bytes and returns messages.
#[derive(Debug, Default)]
pub struct Reader {
    buffer: Vec<u8>,
    at: usize,
}

impl Reader {
    /// Adds received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The first message, if complete.
    ///
    /// # Errors
    /// The bytes are malformed.
    pub fn opening(&mut self) -> Result<Option<Opening>, Error> {
        let Some(length) = self.length(0)? else { return Ok(None) };
        if !(8..=STARTUP_LONGEST).contains(&length) {
            return Err(Error::protocol("invalid length of startup packet"));
        }
        let Some(mut body) = self.take(4, length - 4) else { return Ok(None) };
        match body.int32()? {
            80877103 | 80877104 => Ok(Some(Opening::Encrypted)),
            80877102 => Ok(Some(Opening::Cancel)),
            196608 => {
                let mut settings = Vec::new();
                loop {
                    let name = body.text()?;
                    if name.is_empty() {
                        return Ok(Some(Opening::Startup(settings)));
                    }
                    settings.push((name, body.text()?));
                }
            }
            version => {
                let (major, minor) = (version as u32 >> 16, version as u32 & 0xffff);
                let why = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0");
                Err(Error { fatal: true, ..Error::new("0A000", why) })
            }
        }
    }

    /// The next message, if complete.
    ///
    /// # Errors
    /// The bytes are malformed, or the kind is unknown here.
    pub fn message(&mut self) -> Result<Option<Message>, Error> {
        let Some(kind) = self.buffer.get(self.at).copied() else { return Ok(None) };
        if !b"QPBDECSHX".contains(&kind) {
            return Err(Error::protocol(format!("invalid frontend message type {kind}")));
        }
        let Some(length) = self.length(1)? else { return Ok(None) };
        if !(4..=LONGEST).contains(&length) {
            return Err(Error::protocol("invalid message length"));
        }
        let Some(mut body) = self.take(5, length - 4) else { return Ok(None) };
        let message = match kind {
            b'Q' => Message::Query(body.text()?),
            b'P' => {
                let (name, text) = (body.text()?, body.text()?);
                let types = (0..body.count()?).map(|_| body.int32().map(|oid| oid as u32)).collect::<Result<_, _>>()?;
                Message::Parse { name, text, types }
            }
            b'B' => Message::Bind(body.bind()?),
            b'D' | b'C' => {
                let what = body.byte()?;
                if what != b'S' && what != b'P' {
                    let kind = if kind == b'D' { "DESCRIBE" } else { "CLOSE" };
                    return Err(Error::protocol(format!("invalid {kind} message subtype {what}")));
                }
                let (portal, name) = (what == b'P', body.text()?);
                if kind == b'D' { Message::Describe { portal, name } } else { Message::Close { portal, name } }
            }
            b'E' => {
                let portal = body.text()?;
                if body.int32()? > 0 {
                    return Err(Error::unsupported("a portal that is read in parts"));
                }
                Message::Execute { portal }
            }
            b'S' => Message::Sync,
            b'H' => Message::Flush,
            _ => Message::Terminate,
        };
        body.end()?;
        Ok(Some(message))
    }

    fn length(&self, after: usize) -> Result<Option<usize>, Error> {
        let from = self.at + after;
        let Some(bytes) = self.buffer.get(from..from + 4) else { return Ok(None) };
        let length = i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        usize::try_from(length).map(Some).map_err(|_| Error::protocol("invalid message length"))
    }

    /// The next `length` bytes after a head of `head` bytes, once complete.
    fn take(&mut self, head: usize, length: usize) -> Option<Body> {
        let from = self.at + head;
        let bytes = self.buffer.get(from..from + length)?.to_vec();
        self.at = from + length;
        Some(Body { bytes, at: 0 })
    }
}

struct Body {
    bytes: Vec<u8>,
    at: usize,
}

impl Body {
    fn bytes(&mut self, length: usize) -> Result<&[u8], Error> {
        let from = self.at;
        self.at = from.saturating_add(length);
        self.bytes.get(from..self.at).ok_or_else(|| Error::protocol("insufficient data left in message"))
    }

    fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.bytes(1)?[0])
    }

    fn int16(&mut self) -> Result<i16, Error> {
        let bytes = self.bytes(2)?;
        Ok(i16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn int32(&mut self) -> Result<i32, Error> {
        let bytes = self.bytes(4)?;
        Ok(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn count(&mut self) -> Result<u16, Error> {
        Ok(self.int16()? as u16)
    }

    fn text(&mut self) -> Result<String, Error> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| Error::protocol("invalid string in message"))?;
        let text = std::str::from_utf8(&rest[..end]).map(str::to_owned);
        self.at += end + 1;
        text.map_err(|_| Error::new("22021", "invalid byte sequence for encoding \"UTF8\""))
    }

    fn formats(&mut self) -> Result<Vec<bool>, Error> {
        let format = |code| match code {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::new("22023", format!("unsupported format code: {other}"))),
        };
        (0..self.count()?).map(|_| self.int16().and_then(format)).collect()
    }

    fn bind(&mut self) -> Result<Bind, Error> {
        let (portal, statement) = (self.text()?, self.text()?);
        let formats = self.formats()?;
        let mut values = Vec::new();
        for _ in 0..self.count()? {
            values.push(match usize::try_from(self.int32()?) {
                Ok(length) => Some(self.bytes(length)?.to_vec()),
                Err(_) => None,
            });
        }
        Ok(Bind { portal, statement, formats, values, results: self.formats()? })
    }

    fn end(&self) -> Result<(), Error> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(Error::protocol("invalid message format")) }
    }
}

/// The format at `place`: one for all, one each, or text by default.
pub fn format_of(formats: &[bool], place: usize) -> bool {
    match formats {
        [] => false,
        [all] => *all,
        each => each.get(place).copied().unwrap_or(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &[u8]) -> Reader {
        let mut reader = Reader::default();
        reader.feed(bytes);
        reader
    }

    #[test]
    fn messages_come_out_when_they_are_whole() {
        let bytes = b"Q\0\0\0\x0dSELECT 1\0S\0\0\0\x04";
        let mut reader = Reader::default();
        let mut seen = Vec::new();
        for byte in bytes {
            reader.feed(&[*byte]);
            seen.extend(reader.message().expect("no wrong bytes"));
        }
        assert_eq!(seen, [Message::Query("SELECT 1".to_owned()), Message::Sync]);
    }

    #[test]
    fn bytes_that_are_no_message_end_the_session_in_one_sentence() {
        let wrong: [&[u8]; 7] = [
            b"?\0\0\0\x04",
            b"Q\0\0\0\x03",
            b"Q\xff\xff\xff\xff",
            b"Q\0\0\0\x06ab",
            b"S\0\0\0\x05x",
            b"D\0\0\0\x06Xa\0",
            b"B\0\0\0\x08\0\0\0\x01",
        ];
        for bytes in wrong {
            let mut reader = reader(bytes);
            let error = reader.message().err();
            assert!(error.as_ref().is_some_and(|error| !error.message.is_empty()), "{bytes:?}: {error:?}");
        }
        assert!(reader(&[0, 0, 0, 7, 0, 3, 0, 0]).opening().is_err());
        assert!(reader(&[0, 0, 0, 8, 0, 2, 0, 0]).opening().is_err());
    }
}
