//! A server's replication, as a replica and as a primary; the other half of [`super::server`].

use super::{
    replica::{Address, Primary, Replica, Stream, encoded, file},
    server::{Client, ClientId, FILE_END, PING_MS, SYNC_DELAY_MS, Server},
};
use crate::service::redis::resp::Resp;

impl Server {
    pub(super) fn replica_of(&mut self, host: &str, port: &str) -> Resp {
        if host.eq_ignore_ascii_case("no") && port.eq_ignore_ascii_case("one") {
            if self.primary.take().is_some() {
                let id = (self.ids)(&mut self.id_state);
                self.stream.shift(id);
                self.follows += 1;
                self.disconnect_replicas();
            }
            return Resp::Status("OK");
        }
        let Ok(port) = port.parse::<u16>() else { return Resp::Error("ERR Invalid master port".to_owned()) };
        let address = Address { host: host.to_owned(), port };
        if self.primary.as_ref().is_some_and(|primary| primary.address == address) {
            return Resp::Status("OK Already connected to specified master");
        }
        self.primary = Some(Primary::new(address));
        self.follows += 1;
        Resp::Status("OK")
    }

    /// Replicas will reconnect and report their offsets.
    pub(super) fn disconnect_replicas(&mut self) {
        self.clients.values_mut().filter(|client| client.replica.is_some()).for_each(|client| client.closing = true);
    }

    /// Handles commands from a server that is, or wants to be, a replica.
    pub(super) fn replica_says(&mut self, id: ClientId, now_ms: i64, args: &[Vec<u8>]) -> Option<Resp> {
        let client = self.clients.get_mut(&id)?;
        if !args.len().is_multiple_of(2) {
            return Some(Resp::Error("ERR syntax error".to_owned()));
        }
        for pair in args.chunks(2) {
            let value = String::from_utf8_lossy(&pair[1]);
            match pair[0].to_ascii_lowercase().as_slice() {
                b"listening-port" | b"ip-address" => {
                    let address = Address { host: String::new(), port: 0 };
                    let fresh = || Replica {
                        address,
                        syncs_at_ms: None,
                        online: false,
                        acknowledged: 0,
                        acknowledged_at_ms: now_ms,
                    };
                    let replica = client.replica.get_or_insert_with(fresh);
                    match value.parse() {
                        Ok(port) => replica.address.port = port,
                        Err(_) => replica.address.host = value.into_owned(),
                    }
                }
                b"ack" => {
                    let replica = client.replica.as_mut()?;
                    replica.acknowledged = value.parse().unwrap_or(replica.acknowledged);
                    replica.acknowledged_at_ms = now_ms;
                    // It gets no answer.
                    return None;
                }
                b"capa" => {}
                _ => {
                    let option = String::from_utf8_lossy(&pair[0]);
                    return Some(Resp::Error(format!("ERR Unrecognized REPLCONF option: {option}")));
                }
            }
        }
        Some(Resp::Status("OK"))
    }

    pub(super) fn sync(&mut self, id: ClientId, now_ms: i64, history: &str, offset: &str) -> Option<Resp> {
        let from = offset.parse().ok().and_then(|offset| self.stream.from(history, offset));
        let client = self.clients.get_mut(&id)?;
        let replica = client.replica.as_mut()?;
        replica.acknowledged_at_ms = now_ms;
        match from {
            Some(bytes) => {
                protocols::mark!("redis server: a replica goes on where it was");
                replica.online = true;
                client.out.extend(format!("+CONTINUE {}\r\n", self.stream.id).into_bytes());
                client.out.extend(bytes);
            }
            None => replica.syncs_at_ms = Some(now_ms + SYNC_DELAY_MS),
        }
        None
    }

    /// Runs every 100 ms: sends full copies to replicas that are due, and keepalives to the others.
    pub fn tick(&mut self, now_ms: i64) {
        let due = |client: &&mut Client| {
            client.replica.as_ref().is_some_and(|r| r.syncs_at_ms.is_some_and(|at| at <= now_ms))
        };
        if self.clients.values_mut().any(|client| due(&client)) {
            let file = file::of(&self.model);
            let Stream { id, offset, .. } = &self.stream;
            for client in self.clients.values_mut().filter(due) {
                protocols::mark!("redis server: a replica is sent everything");
                client.out.extend(format!("+FULLRESYNC {id} {offset}\r\n$EOF:{FILE_END}\r\n").into_bytes());
                client.out.extend_from_slice(&file);
                client.out.extend_from_slice(FILE_END.as_bytes());
                if let Some(replica) = &mut client.replica {
                    (replica.syncs_at_ms, replica.online) = (None, true);
                }
            }
            // The new replica does not know the stream's current database.
            self.stream.database = None;
        }
        let has_replicas = self.clients.values().any(|client| client.replica.is_some());
        if self.is_primary() && has_replicas && now_ms - self.pinged_at_ms >= PING_MS {
            self.pinged_at_ms = now_ms;
            self.feed(now_ms, &encoded(&[b"PING".to_vec()]));
        }
        for client in self.clients.values_mut() {
            // They are in order of their times.
            let due = client.held.partition_point(|(due_ms, _)| *due_ms <= now_ms);
            client.out.extend(client.held.drain(..due).flat_map(|(_, bytes)| bytes));
        }
    }

    /// Appends to the stream and sends it to replicas; to those that lag, with the first tick after their delay.
    pub(super) fn feed(&mut self, now_ms: i64, bytes: &[u8]) {
        self.stream.append(bytes);
        let replicas = self.clients.values_mut().filter(|client| client.replica.as_ref().is_some_and(|r| r.online));
        for client in replicas {
            match self.lag_ms {
                0 => client.out.extend_from_slice(bytes),
                lag_ms => client.held.push_back((now_ms + lag_ms, bytes.to_vec())),
            }
        }
    }

    pub(super) fn replicas(&self) -> impl Iterator<Item = &Replica> {
        self.clients.values().filter_map(|client| client.replica.as_ref())
    }

    /// Applies a command of the primary's stream.
    pub(super) fn apply_from_primary(&mut self, now_ms: i64, args: &[Vec<u8>]) {
        let name = args.first().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
        if !matches!(name.as_slice(), b"ping" | b"multi" | b"exec" | b"replconf") {
            self.model.apply(&mut self.applying, u64::try_from(now_ms).unwrap_or(0), args);
            self.model.take_written();
        }
        self.feed(now_ms, &encoded(args));
    }

    /// The part of `INFO` that is used here: the server's identity and replication state.
    pub(super) fn info(&self, now_ms: i64, section: Option<&str>) -> String {
        let wants = |name: &str| {
            section.is_none_or(|section| {
                [name, "all", "default", "everything"].iter().any(|known| known.eq_ignore_ascii_case(section))
            })
        };
        let mut text = String::new();
        if wants("server") {
            let (id, port) = (&self.run_id, self.address.port);
            text += &format!(
                "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:{id}\r\ntcp_port:{port}\r\n"
            );
        }
        if wants("replication") {
            if !text.is_empty() {
                text += "\r\n";
            }
            text += &self.replication(now_ms);
        }
        text
    }

    fn replication(&self, now_ms: i64) -> String {
        let role = if self.is_primary() { "master" } else { "slave" };
        let mut lines = vec!["# Replication".to_owned(), format!("role:{role}")];
        if let Some(primary) = &self.primary {
            let heard_s = if primary.up { (now_ms - primary.heard_at_ms) / 1_000 } else { -1 };
            lines.push(format!("master_host:{}", primary.address.host));
            lines.push(format!("master_port:{}", primary.address.port));
            lines.push(format!("master_link_status:{}", if primary.up { "up" } else { "down" }));
            lines.push(format!("master_last_io_seconds_ago:{heard_s}"));
            lines.push("master_sync_in_progress:0".to_owned());
            lines.push(format!("slave_read_repl_offset:{}", self.stream.offset));
            lines.push(format!("slave_repl_offset:{}", self.stream.offset));
            if !primary.up {
                let down_s = primary.down_since_ms.map_or(-1, |since| (now_ms - since) / 1_000);
                lines.push(format!("master_link_down_since_seconds:{down_s}"));
            }
            lines.extend(["slave_priority:100", "slave_read_only:1", "replica_announced:1"].map(str::to_owned));
        }
        lines.push(format!("connected_slaves:{}", self.replicas().count()));
        for (number, replica) in self.replicas().enumerate() {
            let state = if replica.online { "online" } else { "wait_bgsave" };
            let Replica { address: Address { host, port }, acknowledged, acknowledged_at_ms, .. } = replica;
            let lag_s = if replica.online { (now_ms - acknowledged_at_ms) / 1_000 } else { 0 };
            lines.push(format!("slave{number}:ip={host},port={port},state={state},offset={acknowledged},lag={lag_s}"));
        }
        let (before, end) = self.stream.before.clone().unwrap_or_else(|| ("0".repeat(40), -1));
        lines.push("master_failover_state:no-failover".to_owned());
        lines.push(format!("master_replid:{}", self.stream.id));
        lines.push(format!("master_replid2:{before}"));
        lines.push(format!("master_repl_offset:{}", self.stream.offset));
        lines.push(format!("second_repl_offset:{end}"));
        lines.join("\r\n") + "\r\n"
    }

    pub(super) fn role(&self) -> Resp {
        let offset = Resp::Integer(self.stream.offset);
        if let Some(Primary { address, up, .. }) = &self.primary {
            let state = if *up { "connected" } else { "connect" };
            let port = Resp::Integer(address.port.into());
            return Resp::Array(vec![Resp::bulk("slave"), Resp::bulk(&address.host), port, Resp::bulk(state), offset]);
        }
        let of = |replica: &Replica| {
            let Replica { address: Address { host, port }, acknowledged, .. } = replica;
            Resp::Array(vec![Resp::bulk(host), Resp::bulk(port.to_string()), Resp::bulk(acknowledged.to_string())])
        };
        let replicas = self.replicas().filter(|replica| replica.online).map(of).collect();
        Resp::Array(vec![Resp::bulk("master"), offset, Resp::Array(replicas)])
    }
}
