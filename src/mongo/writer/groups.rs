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
    statement::{element, element_of_alike, element_of_each},
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
    // Beside writes that are alike, the reply doesn't tell whether all documents were there.
    let has_alike = batch.iter().any(|item| item.value.write.alike.is_some());
    let in_demand = in_demand(&batch);
    for mut item in batch {
        let QueuedWrite { write, selected, .. } = &mut item.value;
        if is_numbered {
            write.alike = None;
        }
        let is_of_each = write.id.is_some() && !is_numbered && !has_alike;
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

/// What the writes of a group are alike in, if they are of several documents.
fn alike(group: &[Item<Writer>]) -> Option<&'static Alike> {
    match group {
        [first, _, ..] => first.value.write.alike.as_ref().map(|(alike, _)| *alike),
        _ => None,
    }
}

/// Number of documents that the statement of a group changes; `None` if it may be any number.
pub(super) fn documents(group: &[Item<Writer>]) -> Option<usize> {
    match group {
        _ if alike(group).is_some() => None,
        [first, second, ..] if first.value.selected.id != second.value.selected.id => {
            Some(group.len())
        }
        _ => Some(1),
    }
}

/// The statement of a group, or `None` if it can't be part of a command with others.
pub(super) fn statement(group: &[Item<Writer>]) -> Option<RawDocumentBuf> {
    let first = &group.first()?.value.write;
    if let Some(alike) = alike(group) {
        let writes = group.iter().filter_map(|item| {
            let (_, key) = item.value.write.alike.as_ref()?;
            Some((&*item.value.selected.id, &**key))
        });
        return element_of_alike(alike, first.newest, writes);
    }
    if documents(group)? > 1 {
        return element_of_each(first, group.iter().map(|item| &*item.value.selected.id));
    }
    element(group.iter().map(|item| &item.value.write))
}
