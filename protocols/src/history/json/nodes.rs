//! The names in a history: processes, resources, groups.

use super::super::Header;
use crate::{
    group::{self, GROUPS_MAX},
    types::{NodeId, RequestId, Resource, USUAL_RESOURCES},
};
use std::collections::BTreeMap;

/// Processes by name.
#[derive(Default)]
pub(super) struct Nodes {
    pub(super) names: Vec<String>,
    ids: BTreeMap<String, NodeId>,
    /// Whether a header has listed all names.
    closed: bool,
    /// The resources' names, from a header or in order of appearance; `None` for the default ones.
    resources: Option<Vec<String>>,
    /// Their indices, since a log may name thousands.
    places: BTreeMap<String, u16>,
    /// The number of groups, if a header gives it.
    groups: Option<u16>,
    /// Without a header: whether one of the default resources was named.
    met_usual: bool,
    /// Without a header: the leadership's name in the first election that gave one.
    led: Option<String>,
}

impl Nodes {
    /// The names and resources listed by a header.
    pub(super) fn closed(header: &Header) -> Result<Nodes, String> {
        let Header { nodes: names, resources, groups, .. } = header;
        let twice = (1..resources.len()).find(|at| resources[..*at].contains(&resources[*at]));
        if let Some(at) = twice {
            return Err(format!("lists the resource {:?} twice", resources[at]));
        }
        if resources.len() > Resource::MOST {
            return Err(format!("lists {} resources; at most {}", resources.len(), Resource::MOST));
        }
        listed_by_group(resources, *groups)?;
        let mut nodes = Nodes { resources: Some(resources.to_owned()), groups: Some(*groups), ..Nodes::default() };
        for name in names {
            if nodes.ids.contains_key(name) {
                return Err(format!("lists the node {name:?} twice"));
            }
            nodes.id(name)?;
        }
        nodes.closed = true;
        Ok(nodes)
    }

    /// Whether a header has listed all names.
    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn id(&mut self, name: &str) -> Result<NodeId, String> {
        if let Some(id) = self.ids.get(name) {
            return Ok(*id);
        }
        if self.closed {
            return Err(format!("the header does not list a node {name:?}"));
        }
        // Names are printed on terminals.
        if name.contains(char::is_control) {
            return Err(format!("the name {name:?} has control characters in it"));
        }
        // UNKNOWN_REQUEST uses the last id.
        let id = u16::try_from(self.names.len()).ok().filter(|id| *id != u16::MAX);
        let id = NodeId(id.ok_or("there are more than 65535 different nodes and clients")?);
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Checks an election's or grant's name of the leadership: leaders of two different things are not two leaders of
    /// one.
    pub(super) fn led(&mut self, name: &str) -> Result<(), String> {
        let first = self.led.get_or_insert_with(|| name.to_owned());
        match first == name {
            true => Ok(()),
            false => Err(format!(
                "elects a leader of {name:?}, and lines before one of {first:?}; judge one at a time, with --only FIELD={name}"
            )),
        }
    }

    /// The resources' names; `None` for the default ones.
    pub(super) fn resources(&self) -> Option<&[String]> {
        self.resources.as_deref()
    }

    /// Checks a group's number.
    pub(super) fn group(&self, group: u16) -> Result<u16, String> {
        let most = self.groups.unwrap_or(GROUPS_MAX);
        if group < most {
            return Ok(group);
        }
        Err(match self.groups {
            None => format!("group {group} is too high; {} is the highest", GROUPS_MAX - 1),
            Some(1) => format!("belongs to group {group}, and the header says nothing of groups"),
            Some(most) => format!("belongs to group {group}, and the header has groups 0 to {}", most - 1),
        })
    }

    /// The resource called `name`, and its group; a line with a group may use the plain name.
    pub(super) fn resource(&mut self, name: &str, of: Option<u16>) -> Result<(Resource, u16), String> {
        self.learn_resource(name, of)?;
        if let Some(place) = self.places.get(name) {
            return Ok((Resource(*place), 0));
        }
        let (plain, named) = match (group::split(name), of) {
            ((_, 0), Some(of)) => (name, self.group(of)?),
            ((plain, named), _) => (plain, self.group(named)?),
        };
        if of.is_some_and(|of| of != named) {
            return Err(format!("resource {name:?} is of group {named}, and the line of another"));
        }
        let groups = usize::from(self.groups.unwrap_or(1));
        let (each, place) = match &self.resources {
            Some(names) => (names.len() / groups, names.iter().take(names.len() / groups).position(|n| n == plain)),
            None => (USUAL_RESOURCES.len(), USUAL_RESOURCES.iter().position(|known| *known == plain)),
        };
        let place = place.and_then(|place| u16::try_from(usize::from(named) * each + place).ok());
        place.map(|place| (Resource(place), named)).ok_or_else(|| match &self.resources {
            None => format!("there is no resource {name:?}"),
            Some(names) => format!("the header does not list a resource {name:?}; it has {}", names.join(", ")),
        })
    }

    /// Without a header, resources may have any name. The first one is the source of clients' numbers, as in every
    /// table.
    fn learn_resource(&mut self, name: &str, of: Option<u16>) -> Result<(), String> {
        let (listed, usual) = (self.groups.is_some(), USUAL_RESOURCES.contains(&group::split(name).0));
        if listed || (self.resources.is_none() && usual) {
            self.met_usual |= usual;
            return Ok(());
        }
        if of.unwrap_or(0) != 0 || group::split(name).1 != 0 {
            return Err(format!(
                "resource {name:?} is of a group; without a header, groups have only the usual resources"
            ));
        }
        let usual = || USUAL_RESOURCES.iter().map(|name| (*name).to_owned());
        let known = self.resources.get_or_insert_with(|| if self.met_usual { usual().collect() } else { Vec::new() });
        if self.places.is_empty() {
            self.places = (0..).zip(known.iter()).map(|(place, name)| (name.clone(), place)).collect();
        }
        if self.places.contains_key(name) {
            return Ok(());
        }
        let place = u16::try_from(known.len()).ok().filter(|_| known.len() < Resource::MOST_IN_A_LOG);
        let most = Resource::MOST_IN_A_LOG;
        let place =
            place.ok_or_else(|| format!("there are more than {most} different resources; judge a part of them"))?;
        known.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        Ok(())
    }

    pub(super) fn request(&mut self, text: &str) -> Result<RequestId, String> {
        let parsed = text.rsplit_once(':').and_then(|(client, number)| Some((client, number.parse().ok()?)));
        let (client, number) =
            parsed.ok_or_else(|| format!("request {text:?} is not of the form client:number, such as \"c1:17\""))?;
        Ok(RequestId { client: self.id(client)?, number })
    }
}

/// Checks that every group has the first group's resources, under their names there.
fn listed_by_group(resources: &[String], groups: u16) -> Result<(), String> {
    if !(1..=GROUPS_MAX).contains(&groups) {
        return Err(format!("has {groups} groups; it must be 1 to {GROUPS_MAX}"));
    }
    let each = resources.len() / usize::from(groups);
    if each * usize::from(groups) != resources.len() {
        return Err(format!("lists {} resources, which {groups} groups cannot share", resources.len()));
    }
    if groups == 1 {
        return Ok(());
    }
    for (place, name) in resources.iter().enumerate() {
        let must = group::named(&resources[place % each], (place / each) as u16);
        if *name != must {
            return Err(format!("lists the resource {name:?} where {must:?} belongs"));
        }
    }
    Ok(())
}
