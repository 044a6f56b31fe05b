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

pub const KNOWN: [Known; 7] = [
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
    Known {
        name: "quorum",
        title: "no service: the members elect one of them",
        clients: &[],
        variables: &[],
        address: "",
    },
];

impl Known {
    /// Whether a seat with these features stands on it. A seat's fence may be in PostgreSQL, whatever that stands on.
    pub fn has_a_seat(&self, features: &[String]) -> bool {
        let has = |feature: &str| features.iter().any(|has| has == feature);
        let another = KNOWN.iter().any(|known| known.name != "postgres" && has(known.feature()));
        has(self.feature()) && !(self.name == "postgres" && another)
    }

    fn feature(&self) -> &'static str {
        if self.name == "quorum" { "raft" } else { self.name }
    }
}

/// What leaders write to.
pub enum Store {
    /// Anything: the store of the world stands for it.
    Http,
    /// PostgreSQL, by a seat's fence.
    Database {
        /// The module of the fence.
        fence: String,
        table: Option<String>,
        schema: Vec<String>,
    },
}

impl Store {
    /// What is left to the user.
    pub fn advice(&self) -> &'static str {
        match self {
            Store::Http => "",
            Store::Database { table: Some(_), schema, .. } if !schema.is_empty() => {
                "Check there that it names the table that leaders write, and the column of it that has their tokens.\n"
            }
            Store::Database { .. } => {
                "Name there the table that leaders write, the column of it that has their tokens, and the statements that make it.\n"
            }
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Store::Http => "store",
            Store::Database { .. } => "database",
        }
    }

    /// The lines of the test.
    fn lines(&self) -> String {
        let Store::Database { fence, table, schema } = self else {
            return "        // The resource: `PUT http://store/sequence` with the header `Fencing-Token`. Or a `database(…)`.\n        \
                    .store(store())\n"
                .to_owned();
        };
        let table = table.as_deref().unwrap_or("TABLE");
        let own = match schema.is_empty() {
            true => vec!["\"CREATE TABLE …\"".to_owned()],
            false => schema.iter().map(|file| format!("include_str!(\"../{file}\")")).collect(),
        };
        let made = [format!("{fence}::MIGRATION")].into_iter().chain(own);
        let made: String = made.map(|made| format!("                .schema({made})\n")).collect();
        let made = made.trim_end();
        format!(
            "        // Its rows have a column `token`, into which the work writes `lead.token() as i64`.\n        \
             .store(\n            database(\"{table}\")\n                .token(\"token\")\n{made},\n        )\n"
        )
    }

    /// Its address, if variables of one of these names have one: those that are its own, or those that a service may have.
    fn address(&self, is_address: impl Fn(&str) -> bool, own: bool) -> Option<&'static str> {
        let (names, address): (&[&str], _) = match (self, own) {
            (Store::Http, true) => (&["STORE"], "http://store"),
            (Store::Http, false) => return None,
            (Store::Database { .. }, true) => (&["STORE", "DATABASE"], "postgres://service@store:5432/service"),
            (Store::Database { .. }, false) => (&["POSTGRES", "PG"], "postgres://service@store:5432/service"),
        };
        names.iter().any(|name| is_address(name)).then_some(address)
    }
}

/// How the name of a variable ends that has an address.
const ADDRESSES: [&str; 8] = ["_URL", "_URI", "_URLS", "_ADDR", "_ADDRESS", "_ENDPOINT", "_ENDPOINTS", "_DSN"];

/// What every process finds without being told.
const GIVEN: [&str; 1] = ["HOSTNAME"];

/// The test of the library `krate`, and those of its variables whose values are not known.
pub fn text(krate: &str, services: &[Known], nodes: u16, variables: &[String], store: &Store) -> (String, Vec<String>) {
    let (mut env, mut open) = (String::new(), Vec::new());
    for variable in variables.iter().filter(|variable| !GIVEN.contains(&variable.as_str())) {
        // A port or a lifetime is no address.
        let is_address = |part: &str| {
            let rest = variable.split_once(part).filter(|(before, _)| before.is_empty() || before.ends_with('_'));
            rest.is_some_and(|(_, rest)| rest.is_empty() || ADDRESSES.contains(&rest))
        };
        let of = |known: &&Known| known.variables.iter().any(|part| is_address(part));
        let served = || services.iter().find(of).map(|known| known.address);
        let address = store.address(is_address, true).or_else(served).or_else(|| store.address(is_address, false));
        match address {
            Some(address) => env += &format!("        .env(\"{variable}\", \"{address}\")\n"),
            None => open.push(variable.clone()),
        }
    }
    let mut imports: Vec<&str> = services.iter().map(|known| known.name).chain(["scenarios", store.name()]).collect();
    imports.sort_unstable();
    let imports = imports.join(", ");
    let served: String = services.iter().map(|known| format!("        .service({}())\n", known.name)).collect();
    let resource = store.lines();
    let text = format!(
        r#"//! Whatever happens to this service, at most one of its processes leads.

use fencepost::{{World, {imports}}};

#[test]
fn at_most_one_leader_takes_effect() {{
    World::new()
{served}{resource}        .fleet({nodes}, {krate}::main)
{env}        .scenarios([scenarios::gc_pause(), scenarios::partition(), scenarios::clean_kill()])
        .seeds(0..10)
        .pause_before_every_send()
        .check();
}}
"#
    );
    (text, open)
}
