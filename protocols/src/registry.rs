//! What there is by name: our protocols, and whatever somebody adds.

use crate::{
    election::{self, Protocol},
    service::Service,
};
use std::borrow::Cow;

/// Protocols by name.
#[derive(Clone, Debug)]
pub struct Registry {
    protocols: Cow<'static, [&'static Protocol]>,
}

/// Our own, and nothing else.
pub static OURS: Registry = Registry { protocols: Cow::Borrowed(&election::ALL) };

impl Registry {
    /// With another protocol, which reports show last.
    ///
    /// # Errors
    /// There is one of that name.
    pub fn with(mut self, protocol: &'static Protocol) -> Result<Self, String> {
        if self.find(protocol.name).is_some() {
            return Err(format!("there are two protocols `{}`", protocol.name));
        }
        self.protocols.to_mut().push(protocol);
        Ok(self)
    }

    /// Every protocol, in the order in which reports show them.
    pub fn protocols(&self) -> &[&'static Protocol] {
        &self.protocols
    }

    /// The protocol of that name.
    pub fn find(&self, name: &str) -> Option<&'static Protocol> {
        self.protocols.iter().find(|protocol| protocol.name == name).copied()
    }

    /// The service that is a process of that name.
    pub fn process(&self, name: &str) -> Option<&'static Service> {
        self.protocols.iter().map(|protocol| protocol.service).find(|service| service.process() == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::bully;

    #[test]
    fn one_that_is_added_is_found_beside_ours_and_no_name_comes_twice() {
        static OWN: Protocol = Protocol { name: "own", ..bully::PROTOCOL };
        let both = OURS.clone().with(&OWN).expect("a new name");
        assert_eq!(both.protocols().len(), election::ALL.len() + 1);
        assert_eq!(
            (both.find("own").map(|p| p.name), both.find("bully").map(|p| p.name)),
            (Some("own"), Some("bully"))
        );
        assert!(OURS.find("own").is_none());
        assert_eq!(both.with(&OWN).expect_err("twice"), "there are two protocols `own`");
        assert_eq!(OURS.process("etcd").map(|service| service.port), Some(2379));
        assert!(OURS.process("raft").is_none(), "it is no process of its own");
    }
}
