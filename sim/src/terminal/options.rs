//! Options that several commands share. Their names are a contract.

#![allow(missing_docs, reason = "a doc comment is help text here, and a flattened group has none of its own")]

use super::{output::Show, parse};
use clap::Args as ClapArgs;
use protocols::election::Protocol;
use scenarios::{Params, generate::Choice, params::Profile};

/// What a scenario's plan is made of.
#[derive(ClapArgs, Debug)]
pub struct PlanOptions {
    /// Candidates; 3 when it is left out
    #[arg(long, value_parser = clap::value_parser!(u16), value_name = "N")]
    nodes: Option<u16>,
    /// Length of the run; as long as the scenario needs when it is left out
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    duration: Option<u64>,
    /// Time to live of the lease to ask for; how long others wait for a silent leader. 3 s when it is left out, or the
    /// shortest election timeout of a protocol that has one
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    lease_ttl: Option<u64>,
    /// From one renewal to the next; a third of the lease when it is left out
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    renew_interval: Option<u64>,
    /// How long one request to the coordination service may take; a third of the lease, at most 1 s, when left out
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    request_timeout: Option<u64>,
    /// For protocols that draw election timeouts: from where, as 150..300ms; a single time D is D to 2 D
    #[arg(long, value_parser = parse::duration_range_ms, value_name = "A..B", allow_hyphen_values = true)]
    election_timeout: Option<(u64, u64)>,
    /// Switch one known bug on; there are none yet
    #[arg(long, value_name = "ID", hide = true)]
    bug: Option<String>,
    /// Wall clocks are up to so far off, either way; 200 ms when it is left out
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    clock_skew: Option<u64>,
    /// Clocks run up to so many parts per million fast or slow; 100 when it is left out
    #[arg(long, value_name = "PPM")]
    clock_drift: Option<u64>,
    /// Requests a second to the sequencer; 1000 when it is left out
    #[arg(long, value_name = "N")]
    rate: Option<u64>,
    /// How long the scenario's pause lasts; the scenario's own choice when it is left out
    #[arg(long, value_parser = parse::duration_ms, value_name = "D", allow_hyphen_values = true)]
    pause: Option<u64>,
    /// Does the store check tokens?
    #[arg(long, action = clap::ArgAction::Set, value_parser = parse::on_off, default_value = "on", value_name = "on|off")]
    fencing: bool,
    /// Does the leader answer reads from memory while its lease lasts, or ask the store? Off when it is left out, but in
    /// the scenario that is about it
    #[arg(long, value_parser = parse::on_off, num_args = 0..=1, default_missing_value = "on", value_name = "on|off")]
    read_lease: Option<bool>,
    /// Reads of the last number a second; none when it is left out, or 1000 with --read-lease on
    #[arg(long, value_name = "N")]
    reads: Option<u64>,
    /// The network: lan, ideal, wan or lossy; lan when it is left out
    #[arg(long, value_parser = parse::network, value_name = "PROFILE")]
    net: Option<&'static Profile>,
}

/// How much is printed.
#[derive(ClapArgs, Debug)]
pub struct ShowArgs {
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
    /// Print only the verdict
    #[arg(long)]
    pub quiet: bool,
}

impl PlanOptions {
    /// The clock drift, if it was given.
    pub fn clock_drift(&self) -> Option<u64> {
        self.clock_drift
    }

    /// The parameters that scenarios take.
    ///
    /// # Errors
    /// One sentence about an option that nothing here understands yet.
    pub fn params(&self) -> Result<Params, String> {
        if let Some(id) = &self.bug {
            return Err(format!("there is no bug `{id}` to switch on; `fencepost list bugs` shows those there are"));
        }
        let default = Params::default();
        Ok(Params {
            nodes: self.nodes.unwrap_or(default.nodes),
            duration_ms: self.duration,
            lease_ttl_ms: self.lease_ttl,
            election_timeout_ms: self.election_timeout,
            renew_interval_ms: self.renew_interval,
            request_timeout_ms: self.request_timeout,
            clock_skew_ms: self.clock_skew.unwrap_or(default.clock_skew_ms),
            clock_drift_ppm: self.clock_drift.unwrap_or(default.clock_drift_ppm),
            rate: self.rate.unwrap_or(default.rate),
            pause_ms: self.pause,
            fencing: self.fencing,
            read_lease: self.read_lease,
            reads_per_s: self.reads,
            net: self.net.unwrap_or(default.net),
            ..default
        })
    }

    /// What a swarm of these protocols does not draw.
    ///
    /// # Errors
    /// One sentence about an option that a swarm draws itself.
    pub fn choice(&self, protocols: Vec<&'static Protocol>) -> Result<Choice, String> {
        let drawn = [
            ("--duration", self.duration.is_some()),
            ("--lease-ttl", self.lease_ttl.is_some()),
            ("--renew-interval", self.renew_interval.is_some()),
            ("--request-timeout", self.request_timeout.is_some()),
            ("--election-timeout", self.election_timeout.is_some()),
            ("--bug", self.bug.is_some()),
            ("--clock-skew", self.clock_skew.is_some()),
            ("--clock-drift", self.clock_drift.is_some()),
            ("--rate", self.rate.is_some()),
            ("--pause", self.pause.is_some()),
            ("--read-lease", self.read_lease.is_some()),
            ("--reads", self.reads.is_some()),
        ];
        if let Some((name, _)) = drawn.iter().find(|(_, given)| *given) {
            return Err(format!(
                "{name} means nothing here: `swarm` draws it; it takes --protocol, --net, --nodes and --fencing"
            ));
        }
        if let Some(nodes) = self.nodes.filter(|nodes| !(1..=64).contains(nodes)) {
            return Err(format!("--nodes {nodes}: a fleet has 1 to 64 candidates"));
        }
        Ok(Choice { protocols, net: self.net, nodes: self.nodes, fencing: self.fencing })
    }
}

impl From<&ShowArgs> for Show {
    fn from(args: &ShowArgs) -> Show {
        Show { json: args.json, quiet: args.quiet }
    }
}
