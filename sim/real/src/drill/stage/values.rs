//! What a member's command line and environment are filled with.

use crate::drill::{
    audit,
    file::{File, Server, Store},
    fill::Values,
};
use std::net::SocketAddr;

/// What the names in braces stand for.
pub fn values(file: &File, (service, store): (&[SocketAddr], Option<SocketAddr>)) -> Values {
    let mut values = Values::default();
    values.set("dir", file.folder.display());
    let mut server = |name: &str, server: Option<Server>, address: SocketAddr| {
        values.set(&format!("{name}.host"), address.ip());
        values.set(&format!("{name}.port"), address.port());
        match server {
            Some(Server::Postgres) => {
                values.set(name, format!("postgresql://{}@{address}/postgres", audit::postgres::USER));
            }
            _ => values.set(name, address),
        }
    };
    let names = file.service.map(|given| ["service", given.server.name()].map(|name| (name, given.server)));
    for (name, kind) in names.into_iter().flatten() {
        match service {
            [only] => server(name, Some(kind), *only),
            several => {
                (1..).zip(several).for_each(|(nth, address)| server(&format!("{name}.{nth}"), Some(kind), *address))
            }
        }
    }
    let kind = file.store.server();
    if let Some(store) = store {
        server("store", kind, store);
        let is_named = !matches!(file.store, Store::Own { .. });
        if is_named && file.service.is_none_or(|given| Some(given.server) != kind) {
            server(file.store.name(), kind, store);
        }
    }
    if service.len() > 1 {
        let all = service.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(",");
        names.iter().flatten().for_each(|(name, _)| values.set(name, &all));
    }
    values
}
