//! Messages as bytes: numbers of seven bits a byte, texts and lists with their length, enums with the number of their
//! variant. A message travels behind its length.

use std::{
    fmt,
    io::{self, Read, Write},
    net::Ipv4Addr,
};

/// Bytes that are no message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Garbled {
    /// It ends within this.
    Short { within: &'static str },
    /// More follows after its end.
    Long { bytes: usize },
    /// No variant has this number.
    Variant { of: &'static str, number: u8 },
    /// A number too large for its field.
    Number { field: &'static str, number: u64 },
    /// A text that is not UTF-8.
    Text,
}

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Garbled::Short { within } => write!(f, "a message ends within a {within}"),
            Garbled::Long { bytes } => write!(f, "{bytes} bytes follow after a message's end"),
            Garbled::Variant { of, number } => write!(f, "a message has an unknown {of}, number {number}"),
            Garbled::Number { field, number } => write!(f, "a message has a {field} of {number}"),
            Garbled::Text => write!(f, "a message has a text that is not UTF-8"),
        }
    }
}

impl std::error::Error for Garbled {}

/// The bytes of a message that have not been read yet.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    fn bytes(&mut self, count: usize, within: &'static str) -> Result<&[u8], Garbled> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Garbled::Short { within })?;
        self.0 = rest;
        Ok(taken)
    }
}

/// What can be sent.
pub trait Plain: Sized {
    fn put(&self, to: &mut Vec<u8>);
    /// # Errors
    /// The bytes are none of these.
    fn take(from: &mut Reader<'_>) -> Result<Self, Garbled>;

    fn put_all(items: &[Self], to: &mut Vec<u8>) {
        items.iter().for_each(|item| item.put(to));
    }

    /// # Errors
    /// The bytes are not `count` of these.
    fn take_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<Self>, Garbled> {
        (0..count).map(|_| Self::take(from)).collect()
    }

    /// # Errors
    /// The bytes are not exactly one of these.
    fn of(bytes: &[u8]) -> Result<Self, Garbled> {
        let mut reader = Reader(bytes);
        let whole = Self::take(&mut reader)?;
        if reader.0.is_empty() { Ok(whole) } else { Err(Garbled::Long { bytes: reader.0.len() }) }
    }
}

impl Plain for u64 {
    fn put(&self, to: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            to.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        to.push(rest as u8);
    }

    fn take(from: &mut Reader<'_>) -> Result<u64, Garbled> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = u8::take(from)?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Garbled::Number { field: "number", number })
    }
}

impl Plain for u8 {
    fn put(&self, to: &mut Vec<u8>) {
        to.push(*self);
    }

    fn take(from: &mut Reader<'_>) -> Result<u8, Garbled> {
        Ok(from.bytes(1, "number")?[0])
    }

    fn put_all(items: &[u8], to: &mut Vec<u8>) {
        to.extend_from_slice(items);
    }

    fn take_all(count: usize, from: &mut Reader<'_>) -> Result<Vec<u8>, Garbled> {
        Ok(from.bytes(count, "list of bytes")?.to_vec())
    }
}

macro_rules! smaller {
    ($($number:ty, $field:literal;)*) => {$(
        impl Plain for $number {
            fn put(&self, to: &mut Vec<u8>) {
                u64::from(*self).put(to);
            }

            fn take(from: &mut Reader<'_>) -> Result<Self, Garbled> {
                let number = u64::take(from)?;
                number.try_into().map_err(|_| Garbled::Number { field: $field, number })
            }
        }
    )*};
}
smaller! { u16, "number of 16 bits"; u32, "number of 32 bits"; }

impl Plain for i32 {
    fn put(&self, to: &mut Vec<u8>) {
        (*self as u32).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<i32, Garbled> {
        Ok(u32::take(from)? as i32)
    }
}

impl Plain for bool {
    fn put(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn take(from: &mut Reader<'_>) -> Result<bool, Garbled> {
        match u8::take(from)? {
            0 => Ok(false),
            1 => Ok(true),
            number => Err(Garbled::Variant { of: "yes or no", number }),
        }
    }
}

impl Plain for Ipv4Addr {
    fn put(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.octets());
    }

    fn take(from: &mut Reader<'_>) -> Result<Ipv4Addr, Garbled> {
        let octets = from.bytes(4, "address")?;
        Ok(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]))
    }
}

impl<T: Plain> Plain for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u64).put(to);
        T::put_all(self, to);
    }

    fn take(from: &mut Reader<'_>) -> Result<Vec<T>, Garbled> {
        let count = u64::take(from)?;
        T::take_all(count as usize, from)
    }
}

impl Plain for String {
    fn put(&self, to: &mut Vec<u8>) {
        (self.len() as u64).put(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut Reader<'_>) -> Result<String, Garbled> {
        String::from_utf8(Vec::take(from)?).map_err(|_| Garbled::Text)
    }
}

impl<A: Plain, B: Plain> Plain for (A, B) {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Result<(A, B), Garbled> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

impl<T: Plain> Plain for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        if let Some(inner) = self {
            inner.put(to);
        }
    }

    fn take(from: &mut Reader<'_>) -> Result<Option<T>, Garbled> {
        bool::take(from)?.then(|| T::take(from)).transpose()
    }
}

/// An enum or a struct, and how it travels.
macro_rules! plain {
    ($(#[$of:meta])* enum $name:ident { $($(#[$on:meta])* $number:literal $variant:ident $({ $($(#[$at:meta])* $field:ident: $type:ty),* $(,)? })?,)* }) => {
        $(#[$of])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$on])* $variant $({ $($(#[$at])* $field: $type),* })?,)* }
        impl $crate::wire::Plain for $name {
            fn put(&self, to: &mut Vec<u8>) {
                match self { $($name::$variant $({ $($field),* })? => { to.push($number); $($($field.put(to);)*)? })* }
            }
            fn take(from: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::Garbled> {
                match u8::take(from)? {
                    $($number => Ok($name::$variant $({ $($field: $crate::wire::Plain::take(from)?),* })?),)*
                    number => Err($crate::wire::Garbled::Variant { of: stringify!($name), number }),
                }
            }
        }
    };
    ($(#[$of:meta])* struct $name:ident { $($(#[$at:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$of])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $name { $($(#[$at])* pub $field: $type),* }
        impl $crate::wire::Plain for $name {
            fn put(&self, to: &mut Vec<u8>) {
                $(self.$field.put(to);)*
            }
            fn take(from: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::Garbled> {
                Ok($name { $($field: $crate::wire::Plain::take(from)?),* })
            }
        }
    };
}
pub(crate) use plain;

/// Sends a message in one piece.
///
/// # Errors
/// The other end is gone.
pub fn send(message: &impl Plain, to: &mut impl Write, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    buffer.extend_from_slice(&[0; 4]);
    message.put(buffer);
    let length = (buffer.len() - 4) as u32;
    buffer[..4].copy_from_slice(&length.to_le_bytes());
    to.write_all(buffer)
}

/// How many bytes one read takes at first.
const READ: usize = 4096;

/// Receives a message's bytes, without their length, into a buffer that nothing else uses; usually with one call of `read`, as neither end sends a second
/// message before it has an answer.
///
/// # Errors
/// The other end is gone ([`io::ErrorKind::UnexpectedEof`]), or nothing came within the descriptor's timeout.
pub fn receive<'a>(from: &mut impl Read, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
    let (mut have, mut whole) = (0, 4);
    // Filled with zeros once, and not for each message: in a debug build that takes longer than all the rest.
    if buffer.is_empty() {
        *buffer = vec![0; READ];
    }
    loop {
        match from.read(&mut buffer[have..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => have += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        }
        if have >= 4 {
            whole = 4 + u32::from_le_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]) as usize;
        }
        if have >= whole {
            return Ok(&buffer[4..whole]);
        }
        if buffer.len() < whole {
            // A garbled length may be anything: room is made for what comes.
            let room = whole.min(have * 2);
            let mut larger = vec![0; room.max(buffer.len())];
            larger[..have].copy_from_slice(&buffer[..have]);
            *buffer = larger;
        }
    }
}
