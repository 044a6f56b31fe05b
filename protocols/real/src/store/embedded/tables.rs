//! The tables of the store's file, and a batch's reads and writes.

use super::super::{
    audit::{Retention, time_us},
    loaded::{LoadedLedgers, Remembered, Row, requests_of},
    plans::{Changed, StoredPlan, StoredPlans, concerned},
    wire::{self, Request},
};
use protocols::types::{Payload, Resource};
use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};

/// How many requests a batch forgets beyond the number it adds.
pub(super) const FORGET_MORE: usize = 64;

/// By resource: highest token, its owner's node ("" for none) and generation, version, last sequence number.
const RESOURCES: TableDefinition<&str, (u64, &str, u32, u64, u64)> = TableDefinition::new("fenced_resource");
/// By resource: the last record's number and time.
const RECORDS: TableDefinition<&str, (u64, u64)> = TableDefinition::new("fenced_record");
/// By resource, client and request number: the sequence number of an applied request.
const REQUESTS: TableDefinition<(&str, &str, u64), u64> = TableDefinition::new("fenced_request");
/// The same by sequence number, to find the oldest.
const BY_SEQ: TableDefinition<(&str, u64), (&str, u64)> = TableDefinition::new("fenced_request_seq");
/// By resource and client: the highest number of a forgotten request.
const FORGOTTEN: TableDefinition<(&str, &str), u64> = TableDefinition::new("fenced_client");
/// By resource and number: a plan's place, and its author's node, generation and token.
const PLANS: TableDefinition<(&str, u64), (u64, &str, u32, u64)> = TableDefinition::new("fenced_plan");
/// By resource: the live plan's number.
const LIVE: TableDefinition<&str, u64> = TableDefinition::new("fenced_live_plan");
pub(super) const AUDIT: TableDefinition<u64, &str> = TableDefinition::new("fenced_audit");
/// The state of the audit: [`BYTES`], and once something was dropped [`LINES`] and [`UNTIL`].
pub(super) const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("fenced_audit_about");
/// The total length of the lines that are kept.
pub(super) const BYTES: &str = "bytes";
/// The number of dropped lines, and the time of the last.
pub(super) const LINES: &str = "dropped_lines";
pub(super) const UNTIL: &str = "dropped_until_us";
/// What a store writes when it opens, and deletes again.
pub(super) const TRIAL: TableDefinition<(), &[u8]> = TableDefinition::new("fenced_trial");

/// All tables, in one transaction.
pub(super) struct Tables<'t> {
    resources: Table<'t, &'static str, (u64, &'static str, u32, u64, u64)>,
    records: Table<'t, &'static str, (u64, u64)>,
    requests: Table<'t, (&'static str, &'static str, u64), u64>,
    by_seq: Table<'t, (&'static str, u64), (&'static str, u64)>,
    forgotten: Table<'t, (&'static str, &'static str), u64>,
    plans: Table<'t, (&'static str, u64), (u64, &'static str, u32, u64)>,
    live: Table<'t, &'static str, u64>,
    audit: Table<'t, u64, &'static str>,
    about: Table<'t, &'static str, u64>,
}

impl<'t> Tables<'t> {
    pub(super) fn open(transaction: &'t WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Tables {
            resources: transaction.open_table(RESOURCES)?,
            records: transaction.open_table(RECORDS)?,
            requests: transaction.open_table(REQUESTS)?,
            by_seq: transaction.open_table(BY_SEQ)?,
            forgotten: transaction.open_table(FORGOTTEN)?,
            plans: transaction.open_table(PLANS)?,
            live: transaction.open_table(LIVE)?,
            audit: transaction.open_table(AUDIT)?,
            about: transaction.open_table(ABOUT)?,
        })
    }

    /// The resource, and what is remembered of the batch's requests.
    pub(super) fn read(&self, resource: Resource, batch: &[Request]) -> Result<(Row, Remembered), redb::Error> {
        let name = wire::name(resource);
        let record = self.records.get(name)?.map(|record| record.value());
        let payload = record.and_then(|(number, at_us)| Some(Payload { number: number.try_into().ok()?, at_us }));
        let row = match self.resources.get(name)? {
            None => Row { payload, ..Row::default() },
            Some(value) => {
                let (max_token, node, generation, version, last_seq) = value.value();
                let owner = (!node.is_empty()).then(|| (node.to_owned(), generation));
                Row { max_token, owner, version, last_seq, payload }
            }
        };
        let mut remembered = Remembered::default();
        for (client, number) in requests_of(batch, resource) {
            if let Some(seq) = self.requests.get((name, client, number))? {
                remembered.applied.push((client.to_owned(), number, seq.value()));
            }
            if let Some(highest) = self.forgotten.get((name, client))? {
                remembered.forgotten.push((client.to_owned(), highest.value()));
            }
        }
        if concerned(batch, resource) {
            remembered.plans = self.read_plans(name)?;
        }
        Ok((row, remembered))
    }

    fn read_plans(&self, resource: &str) -> Result<StoredPlans, redb::Error> {
        let live = self.live.get(resource)?.map(|live| live.value());
        let mut made = Vec::new();
        for entry in self.plans.range((resource, 0)..=(resource, u64::MAX))? {
            let (key, value) = entry?;
            let ((_, number), (place, node, generation, token)) = (key.value(), value.value());
            made.push(StoredPlan { number, place, node: node.to_owned(), generation, token });
        }
        made.sort_by_key(|plan| plan.place);
        Ok(StoredPlans { made, live })
    }

    fn write_plans(&mut self, resource: &str, changed: Changed) -> Result<(), redb::Error> {
        for number in changed.gone {
            self.plans.remove((resource, number))?;
        }
        for StoredPlan { number, place, node, generation, token } in changed.made {
            self.plans.insert((resource, number), (place, node.as_str(), generation, token))?;
        }
        if let Some(live) = changed.live {
            self.live.insert(resource, live)?;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, loaded: &LoadedLedgers, remembered: u64) -> Result<(), redb::Error> {
        for resource in wire::resources() {
            let Row { max_token, owner, version, last_seq, payload } = loaded.row(resource);
            let (node, generation) = owner.unwrap_or_default();
            self.resources.insert(wire::name(resource), (max_token, node.as_str(), generation, version, last_seq))?;
            if let Some(Payload { number, at_us }) = payload {
                self.records.insert(wire::name(resource), (number.get(), at_us))?;
            }
            self.write_plans(wire::name(resource), loaded.plans(resource))?;
        }
        let mut added = 0;
        for applied in loaded.applied() {
            let resource = wire::name(applied.resource);
            self.requests.insert((resource, applied.client, applied.number), applied.seq)?;
            self.by_seq.insert((resource, applied.seq), (applied.client, applied.number))?;
            added += 1;
        }
        for resource in wire::resources() {
            let Some(oldest) = loaded.row(resource).last_seq.checked_sub(remembered) else { continue };
            self.forget(wire::name(resource), oldest, added + FORGET_MORE)?;
        }
        let mut id = self.audit.last()?.map_or(0, |(id, _)| id.value());
        let mut bytes = self.about(BYTES)?;
        for line in loaded.lines() {
            id += 1;
            bytes += line.len() as u64;
            self.audit.insert(id, line.as_str())?;
        }
        self.about.insert(BYTES, bytes)?;
        Ok(())
    }

    fn about(&self, what: &str) -> Result<u64, redb::Error> {
        Ok(self.about.get(what)?.map_or(0, |value| value.value()))
    }

    /// Drops the audit's oldest lines that need not be kept, at most `most`, records that in the database and returns
    /// their number. The last line stays, since ids and times continue from it.
    pub(super) fn drop_lines(&mut self, keep: Retention, now_us: u64, most: usize) -> Result<usize, redb::Error> {
        if keep == Retention::ALL {
            return Ok(0);
        }
        let last = self.audit.last()?.map_or(0, |(id, _)| id.value());
        let (mut bytes, mut until, mut gone) = (self.about(BYTES)?, self.about(UNTIL)?, Vec::new());
        for entry in self.audit.range(..last)?.take(most) {
            let (id, line) = entry?;
            let t_us = time_us(line.value()).unwrap_or(0);
            if !keep.drops(t_us, now_us, bytes) {
                break;
            }
            bytes = bytes.saturating_sub(line.value().len() as u64);
            until = until.max(t_us);
            gone.push(id.value());
        }
        if gone.is_empty() {
            return Ok(0);
        }
        for id in &gone {
            self.audit.remove(id)?;
        }
        let lines = self.about(LINES)? + gone.len() as u64;
        for (what, value) in [(BYTES, bytes), (LINES, lines), (UNTIL, until)] {
            self.about.insert(what, value)?;
        }
        Ok(gone.len())
    }

    /// Forgets requests up to the sequence number `oldest`, at most `most`.
    fn forget(&mut self, resource: &str, oldest: u64, most: usize) -> Result<(), redb::Error> {
        let mut gone = Vec::new();
        for entry in self.by_seq.range((resource, 0)..=(resource, oldest))?.take(most) {
            let (key, value) = entry?;
            let (client, number) = value.value();
            gone.push((key.value().1, client.to_owned(), number));
        }
        for (seq, client, number) in gone {
            self.by_seq.remove((resource, seq))?;
            self.requests.remove((resource, client.as_str(), number))?;
            let highest = self.forgotten.get((resource, client.as_str()))?.map_or(0, |h| h.value());
            self.forgotten.insert((resource, client.as_str()), highest.max(number))?;
        }
        Ok(())
    }
}
