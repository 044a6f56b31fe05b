//! What a member tells the process that has started it: a line each, on its standard output.

use fencepost_seat::Ended;
use std::io::Write;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    Leads {
        token: u64,
    },
    /// The database has acknowledged this request's write.
    Wrote {
        token: u64,
        request: i64,
    },
    /// Why, unless the work has ended by itself.
    LeadsNoMore {
        why: Option<Ended>,
    },
    /// Why the service fails, by `Status::failing`; empty once it does not.
    Failing(String),
}

impl Told {
    pub fn read(line: &str) -> Option<Told> {
        match line.splitn(4, ' ').collect::<Vec<_>>()[..] {
            ["failing", ..] => Some(Told::Failing(line.split_once(' ')?.1.to_owned())),
            ["leads", token] => Some(Told::Leads { token: token.parse().ok()? }),
            ["wrote", request, "with", token] => {
                Some(Told::Wrote { request: request.parse().ok()?, token: token.parse().ok()? })
            }
            ["over", ..] => Some(Told::LeadsNoMore { why: None }),
            _ => None,
        }
    }

    /// Says it. The line is written at once, so a member that is killed does not say half of it.
    pub fn say(self) {
        let line = match self {
            Told::Leads { token } => format!("leads {token}\n"),
            Told::Wrote { token, request } => format!("wrote {request} with {token}\n"),
            Told::LeadsNoMore { why } => format!("over {why:?}\n"),
            Told::Failing(why) => format!("failing {}\n", why.replace('\n', " ")),
        };
        // Nobody may be listening any more; then this process ends, too.
        let _ = std::io::stdout().lock().write_all(line.as_bytes());
    }
}
