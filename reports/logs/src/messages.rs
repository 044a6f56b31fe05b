//! What single lines say of their program, for whoever reads a log while it is written.

use super::{
    LogError,
    pattern::Heads,
    preset::{Message, Preset, Says},
    reading::Reading,
};

/// Patterns of messages by which a program says that it leads, or that it has stopped.
pub struct Messages {
    reading: Reading,
    heads: Heads,
}

impl Messages {
    /// Reads patterns as [`super::Options::elected`] and [`super::Options::deposed`] do.
    ///
    /// # Errors
    /// One of them is no pattern.
    pub fn new(preset: Option<&'static Preset>, elected: &[String], deposed: &[String]) -> Result<Messages, LogError> {
        let mut reading = Reading::default();
        for pattern in elected {
            reading.hears(Says::Elected, pattern)?;
        }
        for pattern in deposed {
            reading.hears(Says::Deposed, pattern)?;
        }
        if let Some(preset) = preset {
            reading.knows(preset)?;
        }
        Ok(Messages { reading, heads: Heads::new() })
    }

    /// What the line says; `None` if that is nothing that was asked for. Of two patterns that fit, the one with more text
    /// counts.
    pub fn of(&self, line: &str) -> Option<Message> {
        self.reading.message_of(line, &self.heads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_its_message_says() {
        let own = |elected: &str, deposed: &str| {
            Messages::new(None, &[elected.to_owned()], &[deposed.to_owned()]).expect("patterns")
        };
        let messages = own("elected leader of term {token}", "no longer leader");
        let says = |line: &str| messages.of(line).map(|message| message.says);
        assert_eq!(says("2026-05-01 10:00:00 INFO elected leader of term 7"), Some(Says::Elected));
        assert_eq!(says("{\"time\":\"2026-05-01T10:00:00Z\",\"msg\":\"no longer leader\"}"), Some(Says::Deposed));
        assert_eq!(says("elected leader of term 7"), Some(Says::Elected), "a time is not needed");
        assert_eq!(says("time=2026-05-01T10:00:00Z msg=\"no longer leader\" node=n1"), Some(Says::Deposed));
        assert_eq!(says("started"), None);
        let fields = messages.of("elected leader of term 7").map(|message| message.fields);
        assert_eq!(fields, Some(vec![("token".to_owned(), "7".to_owned())]));
        let preset = crate::PRESETS.iter().find(|preset| preset.name == "client-go").expect("it is there");
        let known = Messages::new(Some(preset), &[], &[]).expect("its patterns");
        let line = "I0501 10:00:00.123456       1 leaderelection.go:260] successfully acquired lease default/invoices";
        assert_eq!(known.of(line).map(|message| message.says), Some(Says::Elected));
    }
}
