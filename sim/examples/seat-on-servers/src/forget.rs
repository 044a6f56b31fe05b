//! Deletes a leader's lease from the service, as an operator may by mistake: another member leads then, while the
//! leader does not know yet. Nothing but the fence keeps its writes out.

use crate::{Error, Service};
use servers::look;
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Command, Output},
};

/// False if nobody leads just then.
pub fn forget_leader(service: Service, at: SocketAddr, seat: &str) -> Result<bool, Error> {
    match service {
        Service::Etcd => {
            let etcdctl = |arguments: &[&str]| {
                let mut command = Command::new("etcdctl");
                command.env("ETCDCTL_API", "3").args(["--endpoints", &at.to_string()]).args(arguments);
                said(command.output()?)
            };
            // The leader's key is the oldest.
            let queue = ["get", "--prefix", &format!("fencepost/{seat}/"), "--sort-by=CREATE", "--order=ASCEND"];
            let key = etcdctl(&[&queue[..], &["--limit=1", "--keys-only"]].concat())?;
            Ok(!key.trim().is_empty() && etcdctl(&["del", key.trim()])?.trim() == "1")
        }
        Service::Redis => {
            let mut stream = TcpStream::connect(at)?;
            stream.write_all(format!("DEL fencepost:{{{seat}}}\r\n").as_bytes())?;
            let mut deleted = [0; 4];
            stream.read_exact(&mut deleted)?;
            Ok(deleted == *b":1\r\n")
        }
        Service::Postgres => {
            let psql = look("psql").ok_or("psql is not installed")?;
            let holds = format!("WHERE name = '{seat}' AND lock_until > now()");
            let end = format!("UPDATE fencepost_lock SET lock_until = now() {holds} RETURNING name");
            let url = format!("postgresql://store@{at}/postgres");
            said(Command::new(psql).args(["-X", "-q", "-A", "-t", "-d", &url, "-c", &end]).output()?)
                .map(|name| !name.is_empty())
        }
    }
}

fn said(output: Output) -> Result<String, Error> {
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
