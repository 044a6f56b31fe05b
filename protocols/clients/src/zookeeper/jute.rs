//! Jute, ZooKeeper's serialization, and its frames.
//!
//! Reference: apache/zookeeper 3.8, `zookeeper-jute/src/main/java/org/apache/jute/{BinaryInputArchive,
//! BinaryOutputArchive}.java`: big-endian integers; strings, buffers and vectors with a length prefix of four bytes,
//! where −1 is null. A packet has a length prefix of four bytes, too.

/// The longest packet either side takes, bytes (`jute.maxbuffer`).
pub const PACKET_MAX: usize = 0xf_ffff;
/// How much longer than that a record may be, bytes (`zookeeper.jute.maxbuffer.extrasize`).
const EXTRA: usize = 1024;

/// The bytes are not a valid packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a packet that makes no sense")
    }
}

impl From<Malformed> for std::io::Error {
    fn from(malformed: Malformed) -> Self {
        std::io::Error::new(std::io::ErrorKind::InvalidData, malformed.to_string())
    }
}

/// Decodes a packet.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader(bytes)
    }

    /// The bytes not yet read.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    /// A boolean: anything but 0 is true.
    ///
    /// # Errors
    /// Too few bytes are left.
    pub fn bool(&mut self) -> Result<bool, Malformed> {
        Ok(self.array::<1>()? != [0])
    }

    /// A big-endian number of four bytes.
    ///
    /// # Errors
    /// Too few bytes are left.
    pub fn int(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    /// A big-endian number of eight bytes.
    ///
    /// # Errors
    /// Too few bytes are left.
    pub fn long(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_be_bytes)
    }

    /// Bytes, or null.
    ///
    /// # Errors
    /// Too few bytes are left, or the length is negative or more than a packet's.
    pub fn buffer(&mut self) -> Result<Option<Vec<u8>>, Malformed> {
        match self.int()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).ok().filter(|length| *length < PACKET_MAX + EXTRA);
                Ok(Some(self.take(length.ok_or(Malformed)?)?.to_vec()))
            }
        }
    }

    /// A string; null becomes an empty one. Invalid UTF-8 is replaced, as in Java.
    ///
    /// # Errors
    /// As for [`Reader::buffer`].
    pub fn string(&mut self) -> Result<String, Malformed> {
        Ok(String::from_utf8_lossy(&self.buffer()?.unwrap_or_default()).into_owned())
    }

    /// A vector; null becomes an empty one.
    ///
    /// # Errors
    /// An element cannot be read.
    pub fn vector<T>(
        &mut self,
        mut each: impl FnMut(&mut Reader<'a>) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = self.int()?;
        // A huge count does no harm: every element takes at least a byte, so the bytes run out.
        (0..count.max(0)).map(|_| each(self)).collect()
    }
}

/// Encodes a packet.
#[derive(Clone, Debug)]
pub struct Writer(Vec<u8>);

impl Default for Writer {
    /// An empty packet, with room for its length.
    fn default() -> Self {
        Writer(vec![0; 4])
    }
}

impl Writer {
    pub fn bool(&mut self, value: bool) {
        self.0.push(value.into());
    }

    /// A number of four bytes.
    pub fn int(&mut self, value: i32) {
        self.0.extend(value.to_be_bytes());
    }

    /// A number of eight bytes.
    pub fn long(&mut self, value: i64) {
        self.0.extend(value.to_be_bytes());
    }

    fn length(&mut self, length: usize) {
        self.int(i32::try_from(length).unwrap_or(i32::MAX));
    }

    /// Bytes, or null.
    pub fn buffer(&mut self, value: Option<&[u8]>) {
        match value {
            None => self.int(-1),
            Some(bytes) => {
                self.length(bytes.len());
                self.0.extend(bytes);
            }
        }
    }

    pub fn string(&mut self, value: &str) {
        self.buffer(Some(value.as_bytes()));
    }

    /// A vector.
    pub fn vector<T>(&mut self, values: &[T], mut each: impl FnMut(&mut Writer, &T)) {
        self.length(values.len());
        values.iter().for_each(|value| each(self, value));
    }

    /// The finished packet, including its length.
    pub fn packet(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - 4).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_be_bytes());
        self.0
    }
}

/// Collects bytes and yields packets.
#[derive(Debug, Default)]
pub struct Packets {
    buffer: Vec<u8>,
    /// Everything before has been yielded.
    at: usize,
}

impl Packets {
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next packet without its length; `None` if it is incomplete.
    ///
    /// # Errors
    /// The length is negative, or more than [`PACKET_MAX`]; the stream cannot recover.
    pub fn next_packet(&mut self) -> Result<Option<&[u8]>, Malformed> {
        let rest = &self.buffer[self.at..];
        let Some((length, body)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| Malformed)?;
        if length > PACKET_MAX {
            return Err(Malformed);
        }
        let Some(packet) = body.get(..length) else { return Ok(None) };
        self.at += 4 + length;
        Ok(Some(packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut writer = Writer::default();
        writer.int(-7);
        writer.long(i64::MIN);
        writer.bool(true);
        writer.string("ä");
        writer.buffer(None);
        writer.vector(&["a", "b"], |writer, name| writer.string(name));
        let packet = writer.packet();
        let mut packets = Packets::default();
        packets.feed(&packet[..9]);
        assert_eq!(packets.next_packet(), Ok(None));
        packets.feed(&packet[9..]);
        let body = packets.next_packet().expect("a packet").expect("all of it").to_vec();
        let mut reader = Reader::new(&body);
        assert_eq!((reader.int(), reader.long(), reader.bool()), (Ok(-7), Ok(i64::MIN), Ok(true)));
        assert_eq!((reader.string().as_deref(), reader.buffer()), (Ok("ä"), Ok(None)));
        assert_eq!(reader.vector(Reader::string), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((reader.rest(), reader.int()), (&[][..], Err(Malformed)));
    }

    #[test]
    fn lengths_that_make_no_sense_are_refused() {
        for length in [-1, PACKET_MAX as i32 + 1, i32::MAX] {
            let mut packets = Packets::default();
            packets.feed(&length.to_be_bytes());
            assert_eq!(packets.next_packet(), Err(Malformed), "{length}");
        }
        let huge = i32::MAX.to_be_bytes();
        assert_eq!(Reader::new(&huge).buffer(), Err(Malformed));
        assert_eq!(Reader::new(&(-2_i32).to_be_bytes()).buffer(), Err(Malformed));
        assert_eq!(Reader::new(&huge).vector(Reader::bool), Err(Malformed));
    }
}
