//! The wire, version 3 of the protocol: answers to bytes (postgres/postgres 15, `src/backend/libpq/pqformat.c`,
//! `src/backend/access/common/printtup.c`, `src/backend/utils/error/elog.c: send_message_to_frontend`).

use super::{
    error::{Error, Notice},
    value::{Type, Value},
};

/// Answers, as they are to be sent.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.0.push(kind);
        let from = self.0.len();
        self.0.extend_from_slice(&[0; 4]);
        body(&mut self.0);
        let length = (self.0.len() - from) as u32;
        self.0[from..from + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// A message without content: `1` parsed, `2` bound, `3` closed, `n` no rows to come, `I` nothing was asked.
    pub fn bare(&mut self, kind: u8) {
        self.message(kind, |_| {});
    }

    /// Nobody has to say who he is.
    pub fn authenticated(&mut self) {
        self.message(b'R', |out| out.extend_from_slice(&[0; 4]));
    }

    /// A setting that clients are told.
    pub fn parameter(&mut self, name: &str, value: &str) {
        self.message(b'S', |out| {
            string(out, name);
            string(out, value);
        });
    }

    /// What it takes to cancel; which nobody does here.
    pub fn key(&mut self, pid: i32) {
        self.message(b'K', |out| {
            out.extend_from_slice(&pid.to_be_bytes());
            out.extend_from_slice(&[0; 4]);
        });
    }

    /// Ready for the next.
    pub fn ready(&mut self, status: u8) {
        self.message(b'Z', |out| out.push(status));
    }

    /// Of which types the parameters are.
    pub fn parameters(&mut self, types: &[Type]) {
        self.message(b't', |out| {
            count(out, types.len());
            types.iter().for_each(|of| out.extend_from_slice(&of.oid().0.to_be_bytes()));
        });
    }

    /// What rows will have.
    pub fn columns(&mut self, columns: &[(String, Type)], binary: impl Fn(usize) -> bool) {
        self.message(b'T', |out| {
            count(out, columns.len());
            for (place, (name, of)) in columns.iter().enumerate() {
                string(out, name);
                let (oid, size) = of.oid();
                // No table's column in particular.
                out.extend_from_slice(&[0; 6]);
                out.extend_from_slice(&oid.to_be_bytes());
                out.extend_from_slice(&size.to_be_bytes());
                out.extend_from_slice(&(-1_i32).to_be_bytes());
                out.extend_from_slice(&u16::from(binary(place)).to_be_bytes());
            }
        });
    }

    /// A row.
    pub fn row(&mut self, row: &[Value], binary: impl Fn(usize) -> bool) {
        self.message(b'D', |out| {
            count(out, row.len());
            for (place, value) in row.iter().enumerate() {
                if *value == Value::Null {
                    out.extend_from_slice(&(-1_i32).to_be_bytes());
                    continue;
                }
                let bytes = if binary(place) { value.binary() } else { value.text().into_bytes() };
                out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
                out.extend_from_slice(&bytes);
            }
        });
    }

    /// A statement is done.
    pub fn complete(&mut self, tag: &str) {
        self.message(b'C', |out| string(out, tag));
    }

    /// An error.
    pub fn error(&mut self, error: &Error) {
        let severity = if error.fatal { "FATAL" } else { "ERROR" };
        self.told(b'E', severity, error.code, &error.message);
    }

    /// A remark.
    pub fn notice(&mut self, (severity, code, message): &Notice) {
        self.told(b'N', severity, code, message);
    }

    fn told(&mut self, kind: u8, severity: &str, code: &str, message: &str) {
        self.message(kind, |out| {
            for (field, text) in [(b'S', severity), (b'V', severity), (b'C', code), (b'M', message)] {
                out.push(field);
                string(out, text);
            }
            out.push(0);
        });
    }
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

fn count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes());
}
