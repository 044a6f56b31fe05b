//! Encodes answers, version 3 of the protocol (postgres/postgres 15, `src/backend/libpq/pqformat.c`,
//! `src/backend/access/common/printtup.c`, `src/backend/utils/error/elog.c: send_message_to_frontend`).

use super::{
    error::{Error, Notice},
    value::{Type, Value},
};

/// Encoded answers to send.
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

    /// A message without content: `1` parsed, `2` bound, `3` closed, `n` no rows, `I` empty query.
    pub fn bare(&mut self, kind: u8) {
        self.message(kind, |_| {});
    }

    /// Authentication succeeds without a password.
    pub fn authenticated(&mut self) {
        self.message(b'R', |out| out.extend_from_slice(&[0; 4]));
    }

    /// Reports a setting to the client.
    pub fn parameter(&mut self, name: &str, value: &str) {
        self.message(b'S', |out| {
            string(out, name);
            string(out, value);
        });
    }

    /// The key for cancel requests, which nobody sends here.
    pub fn key(&mut self, pid: i32) {
        self.message(b'K', |out| {
            out.extend_from_slice(&pid.to_be_bytes());
            out.extend_from_slice(&[0; 4]);
        });
    }

    pub fn ready(&mut self, status: u8) {
        self.message(b'Z', |out| out.push(status));
    }

    /// The types of a statement's parameters.
    pub fn parameters(&mut self, types: &[Type]) {
        self.message(b't', |out| {
            count(out, types.len());
            types.iter().for_each(|of| out.extend_from_slice(&of.oid().0.to_be_bytes()));
        });
    }

    /// The description of rows.
    pub fn columns(&mut self, columns: &[(String, Type)], binary: impl Fn(usize) -> bool) {
        self.message(b'T', |out| {
            count(out, columns.len());
            for (place, (name, of)) in columns.iter().enumerate() {
                string(out, name);
                let (oid, size) = of.oid();
                // The column belongs to no table in particular.
                out.extend_from_slice(&[0; 6]);
                out.extend_from_slice(&oid.to_be_bytes());
                out.extend_from_slice(&size.to_be_bytes());
                out.extend_from_slice(&(-1_i32).to_be_bytes());
                out.extend_from_slice(&u16::from(binary(place)).to_be_bytes());
            }
        });
    }

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

    pub fn complete(&mut self, tag: &str) {
        self.message(b'C', |out| string(out, tag));
    }

    pub fn error(&mut self, error: &Error) {
        let severity = if error.fatal { "FATAL" } else { "ERROR" };
        if error.is_unsupported() {
            crate::service::grants::tell_refused("PostgreSQL", &error.message);
        }
        self.told(b'E', severity, error.code, &error.message);
    }

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
