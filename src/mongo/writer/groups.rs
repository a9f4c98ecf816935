//! Which writes of a batch are one statement.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use mongodb::bson::RawDocumentBuf;

use super::{QueuedWrite, Writer};
use crate::mongo::{
    batcher::Item,
    guarded::Alike,
    statement::{derived, element, element_of_alike, element_of_each},
};

/// Maximum number of writes that are combined into one statement.
const MAX_COMBINED: usize = 32;

/// Writes that are one statement of a batch.
pub(super) type Group = Vec<Item<Writer>>;

/// What writes that are combined into one statement have in common.
#[derive(PartialEq, Eq, Hash)]
enum Common {
    /// The `_id` of their document.
    Document(String),
    /// The update, which is at this address.
    Update(usize),
    /// The name of what they are alike in.
    Alike(&'static str),
}

/// Groups the writes that are combined into one statement.
pub(super) fn combined(batch: Vec<Item<Writer>>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::with_capacity(batch.len());
    let mut open: HashMap<Common, usize> = HashMap::new();
    let is_numbered = batch.iter().any(|item| item.value.write.is_numbered);
    // Beside a statement that isn't certain, the reply doesn't tell whether all documents of the others were there.
    let is_certain = |item: &Item<Writer>| {
        item.value.write.alike.as_ref().is_none_or(|(alike, _)| alike.is_certain)
    };
    let are_certain = batch.iter().all(is_certain);
    let in_demand = in_demand(&batch);
    for mut item in batch {
        let QueuedWrite { write, selected, .. } = &mut item.value;
        write.alike = write
            .alike
            .take()
            .filter(|(alike, _)| !is_numbered && (are_certain || !alike.is_certain));
        let is_of_each = write.id.is_some() && !is_numbered && are_certain;
        let common = match &write.alike {
            Some((alike, _)) => Some(Common::Alike(alike.name)),
            None if is_of_each && !in_demand.contains(&selected.id) => {
                Some(Common::Update(Arc::as_ptr(&write.update).addr()))
            }
            None => selected.is_combinable.then(|| Common::Document(selected.id.clone())),
        };
        let last = common.as_ref().and_then(|common| open.get(common)).copied();
        match last.and_then(|position| groups.get_mut(position)) {
            Some(group) if group.len() < MAX_COMBINED => group.push(item),
            _ => {
                if let Some(common) = common {
                    open.insert(common, groups.len());
                }
                groups.push(vec![item]);
            }
        }
    }
    groups
}

/// The documents that several writes of the batch concern, if one of the writes is made of each of several documents.
fn in_demand(batch: &[Item<Writer>]) -> HashSet<String> {
    let (mut seen, mut several) = (HashSet::new(), HashSet::new());
    if batch.iter().any(|item| item.value.write.id.is_some()) {
        for item in batch {
            let id = item.value.selected.id.as_str();
            if !seen.insert(id) {
                several.insert(id.to_owned());
            }
        }
    }
    several
}

/// What the writes of a group are alike in, if there are several.
fn alike(group: &[Item<Writer>]) -> Option<&'static Alike> {
    match group {
        [first, _, ..] => first.value.write.alike.as_ref().map(|(alike, _)| *alike),
        _ => None,
    }
}

/// Number of documents that the statement of a group changes; `None` if it may be any number.
pub(super) fn documents(group: &[Item<Writer>]) -> Option<usize> {
    if group.len() == 1 {
        return Some(1);
    }
    if alike(group).is_some_and(|alike| !alike.is_certain) {
        return None;
    }
    let ids: HashSet<&str> = group.iter().map(|item| item.value.selected.id.as_str()).collect();
    Some(ids.len())
}

/// Whether the statement of a group leaves out documents that aren't there. Other statements fail then.
pub(super) fn leaves_out(group: &[Item<Writer>]) -> bool {
    alike(group).is_some() || documents(group).is_none_or(|count| count > 1)
}

/// The statement of a group, or `None` if it can't be part of a command with others.
pub(super) fn statement(group: &[Item<Writer>]) -> Option<RawDocumentBuf> {
    let first = &group.first()?.value.write;
    let ids = group.iter().map(|item| item.value.selected.id.as_str());
    if let Some(alike) = alike(group) {
        let keys = group.iter().filter_map(|item| item.value.write.alike.as_ref());
        let writes = ids.zip(keys.map(|(_, key)| key.as_str()));
        return element_of_alike(alike, first.newest, derived(first), writes);
    }
    if leaves_out(group) {
        return element_of_each(first, ids);
    }
    element(group.iter().map(|item| &item.value.write))
}
