//! A history as JSON lines: one event a line, processes by name, `t_us` in true time.
//!
//! ```text
//! {"event":"header","schema":2,"scenario":"gc-pause", …}
//! {"t_us":12,"event":"elected","node":"n1","token":5,"generation":1}
//! {"t_us":90,"event":"apply","resource":"sequence","node":"n1","token":5,"generation":1,"seq":1,"read":0,"version":1,"request":"c1:1","verdict":"ok"}
//! ```
//!
//! Fencepost writes the header first. A store's own log may do without it, and may hold nothing but `apply` lines: names are
//! then taken in the order in which they appear, those of resources too. `generation`, `read`, `version` and `request` may be
//! missing. A write without `token` and `generation` is one of the leadership that its node was elected to last, if the log
//! says; a `deposed` line without them ends that one. The token 0 is one, unless the line has a `generation`, as ours have. `epoch` is read as `token`, and `term` as
//! `generation`; [`Fields`] maps other names, and says which fields do not matter. All others are refused. A line of another
//! group than the first has a
//! `group`.
//!
//! A write that does more than to record something says so, and a deletion is followed by what it has removed:
//!
//! ```text
//! {"t_us":95,"event":"apply","resource":"plans","node":"n1","token":5,"seq":8,"operation":"delete","payload":{"number":7,"at_us":94},"verdict":"ok"}
//! {"t_us":95,"event":"deleted","resource":"plans","node":"n1","token":5,"generation":1,"seq":8,"plans":[1,2,3]}
//! ```
//!
//! `operation` is `make`, `enact` or `delete`; `payload` has the number of the plan that is made or made live, or after which
//! nothing else is kept. Or it is `perform`, `effect` (which cannot be undone) or `complete`, of the item of that number; or
//! `refresh`, which brings a cache that version.

mod fields;
mod line;
mod nodes;
mod reader;
mod told;
mod writer;

pub use fields::{FieldError, Fields, Type};
pub use line::{EVENTS, SCHEMA};
pub use reader::{LINE_MAX, Lines, NoEvent, ReadError, Reader, Telling, Text};
pub use writer::{Listed, Naming, Writer, append_line};

#[cfg(test)]
mod tests;
