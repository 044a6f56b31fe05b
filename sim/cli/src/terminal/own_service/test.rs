//! The test that is written.

/// A service of the world.
#[derive(Clone, Copy)]
pub struct Known {
    pub name: &'static str,
    pub title: &'static str,
    /// The crates that speak to it.
    pub clients: &'static [&'static str],
    /// Parts of the names of variables that have its address.
    variables: &'static [&'static str],
    address: &'static str,
}

pub const KNOWN: [Known; 6] = [
    Known {
        name: "redis",
        title: "Redis",
        clients: &["redis", "fred", "rslock", "redlock", "redsync", "deadpool-redis", "bb8-redis"],
        variables: &["REDIS", "VALKEY"],
        address: "redis://redis:6379",
    },
    Known {
        name: "etcd",
        title: "etcd",
        clients: &["etcd-client", "etcd-rs"],
        variables: &["ETCD"],
        address: "http://etcd:2379",
    },
    Known {
        name: "postgres",
        title: "PostgreSQL",
        clients: &["tokio-postgres", "postgres", "sqlx", "deadpool-postgres", "diesel-async"],
        variables: &["POSTGRES", "DATABASE", "PG"],
        address: "postgres://service@postgres:5432/service",
    },
    Known {
        name: "zookeeper",
        title: "ZooKeeper",
        clients: &["zookeeper-client", "zookeeper-async", "zookeeper"],
        variables: &["ZOOKEEPER", "ZK"],
        address: "zookeeper:2181",
    },
    Known {
        name: "consul",
        title: "Consul",
        clients: &["consulrs", "rs-consul", "consul"],
        variables: &["CONSUL"],
        address: "http://consul:8500",
    },
    Known {
        name: "kubernetes",
        title: "Kubernetes' API",
        clients: &["kube", "kube-client", "kubert", "kube-leader-election", "kube-lease-manager", "kube-coordinate"],
        variables: &["KUBE", "APISERVER"],
        address: "http://apiserver:6443",
    },
];

/// How the name of a variable ends that has an address.
const ADDRESSES: [&str; 8] = ["_URL", "_URI", "_URLS", "_ADDR", "_ADDRESS", "_ENDPOINT", "_ENDPOINTS", "_DSN"];

/// What every process finds without being told.
const GIVEN: [&str; 1] = ["HOSTNAME"];

/// The test of the library `krate`, and those of its variables whose values are not known.
pub fn text(krate: &str, services: &[Known], nodes: u16, variables: &[String]) -> (String, Vec<String>) {
    let (mut env, mut open) = (String::new(), Vec::new());
    for variable in variables.iter().filter(|variable| !GIVEN.contains(&variable.as_str())) {
        // A port or a lifetime is no address.
        let is_address = |part: &str| {
            let rest = variable.split_once(part).filter(|(before, _)| before.is_empty() || before.ends_with('_'));
            rest.is_some_and(|(_, rest)| rest.is_empty() || ADDRESSES.contains(&rest))
        };
        let of = |known: &&Known| known.variables.iter().any(|part| is_address(part));
        let address = match services.iter().find(of) {
            Some(known) => Some(known.address),
            None if is_address("STORE") => Some("http://store"),
            None => None,
        };
        match address {
            Some(address) => env += &format!("        .env(\"{variable}\", \"{address}\")\n"),
            None => open.push(variable.clone()),
        }
    }
    let mut imports: Vec<&str> = services.iter().map(|known| known.name).chain(["scenarios", "store"]).collect();
    imports.sort_unstable();
    let imports = imports.join(", ");
    let served: String = services.iter().map(|known| format!("        .service({}())\n", known.name)).collect();
    let text = format!(
        r#"//! Whatever happens to this service, at most one of its processes leads.

use fencepost::{{World, {imports}}};

#[test]
fn at_most_one_leader_takes_effect() {{
    World::new()
{served}        // The resource: `PUT http://store/sequence` with the header `Fencing-Token`. Or a `database(…)`.
        .store(store())
        .fleet({nodes}, {krate}::main)
{env}        .scenarios([scenarios::gc_pause(), scenarios::partition(), scenarios::clean_kill()])
        .seeds(0..10)
        .pause_before_every_send()
        .check();
}}
"#
    );
    (text, open)
}
