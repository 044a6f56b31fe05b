//! `zab-fle`: the rules of the election and the handshake one by one, and whole fleets under arbitrary schedules.

mod fleet;
mod handshake;
mod rounds;
mod schedules;
