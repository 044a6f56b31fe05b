//! A history as JSON lines: one event per line, processes by name, `t_us` in true time.
//!
//! ```text
//! {"event":"header","schema":2,"scenario":"gc-pause", …}
//! {"t_us":12,"event":"elected","node":"n1","token":5,"generation":1}
//! {"t_us":90,"event":"apply","resource":"sequence","node":"n1","token":5,"generation":1,"seq":1,"read":0,"version":1,"request":"c1:1","verdict":"ok"}
//! ```
//!
//! Fencepost writes the header first. A store's own log may omit it, and may consist of `apply` lines only: names, also
//! of resources, are then taken in order of appearance. `generation`, `read`, `version` and `request` may be missing. A
//! write without `token` and `generation` belongs to the leadership that its node was last elected to, if the log says
//! so; a `deposed` line without them ends that leadership. The token 0 counts as a token, unless the line has a
//! `generation`, as in our histories. `epoch` is read as `token`, and `term` as `generation`; [`Fields`] maps other
//! names, and lists fields to ignore. All other fields are refused. A line of a group other than the first has a
//! `group`.
//!
//! A write that does more than record something has an `operation`, and a deletion is followed by what it has removed:
//!
//! ```text
//! {"t_us":95,"event":"apply","resource":"plans","node":"n1","token":5,"seq":8,"operation":"delete","payload":{"number":7,"at_us":94},"verdict":"ok"}
//! {"t_us":95,"event":"deleted","resource":"plans","node":"n1","token":5,"generation":1,"seq":8,"plans":[1,2,3]}
//! ```
//!
//! `operation` is `make`, `enact` or `delete`; `payload` has the number of the plan to make or enact; a deletion keeps
//! only that plan and the few before it. Or it is `perform`, `effect` (which cannot be undone) or `complete`, for the
//! item with that number; or `refresh`, which brings a cache to that version.

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
