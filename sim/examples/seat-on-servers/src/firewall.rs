//! Connections whose packets the kernel drops. A relay that withholds what is sent keeps its connections alive, and a
//! server that ends the sessions of silent clients by their kernel's silence would not see any.

use crate::Error;
use servers::{find, say};
use std::{
    process::{self, Command},
    sync::Arc,
};

/// A table of nftables, which is deleted when this is dropped.
pub struct Firewall {
    table: String,
}

/// Local ports of connections over loopback that are silent until this is dropped.
pub struct Silence {
    firewall: Arc<Firewall>,
    ports: Vec<u16>,
}

impl Firewall {
    /// `None`, with a message, if that cannot be had here.
    pub fn raise() -> Option<Arc<Firewall>> {
        find("nft", "nftables", "connections that fall silent")?;
        let firewall = Firewall { table: format!("ip fencepost_{}", process::id()) };
        let table = &firewall.table;
        // Should this process be killed, nobody's connections are dropped for long.
        let rules = format!(
            "add table {table}; add set {table} silent {{ type inet_service; timeout 5m; }}; \
             add chain {table} sent {{ type filter hook output priority 0; }}; \
             add rule {table} sent oifname lo tcp sport @silent drop; add rule {table} sent oifname lo tcp dport @silent drop"
        );
        match nft(&rules) {
            Ok(()) => Some(Arc::new(firewall)),
            Err(why) => {
                say(&format!("SKIPPED: connections that fall silent, because nft says: {why}"));
                None
            }
        }
    }

    pub fn silence(self: &Arc<Self>, ports: Vec<u16>) -> Result<Silence, Error> {
        let silence = Silence { firewall: self.clone(), ports };
        silence.elements("add")?;
        Ok(silence)
    }
}

impl Silence {
    fn elements(&self, verb: &str) -> Result<(), Error> {
        if self.ports.is_empty() {
            return Ok(());
        }
        let ports = self.ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        nft(&format!("{verb} element {} silent {{ {ports} }}", self.firewall.table))
    }
}

fn nft(rules: &str) -> Result<(), Error> {
    let said = Command::new("nft").arg(rules).output()?;
    if said.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said.stderr).trim().into()) }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // It ends by itself.
        let _ = self.elements("delete");
    }
}

impl Drop for Firewall {
    fn drop(&mut self) {
        // At worst, an empty table is left behind.
        let _ = nft(&format!("delete table {}", self.table));
    }
}
