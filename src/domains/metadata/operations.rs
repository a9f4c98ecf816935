//! The rules of metadata.

use super::{
    documents::{BYTES, EVERYONE, Owner, OwnerDocument, StoredPair},
    store,
    types::{Metadata, MetadataChange, MetadataPairInput, SetMetadataInput, SetMetadataResult},
};
use crate::graphql::prelude::*;

pub use super::store::{having, having_for_editors};

/// Sets and removes pairs of an owner, in one update. With a version, a repeat of the call returns the metadata.
pub async fn set_metadata(cx: Cx<'_>, input: SetMetadataInput) -> Answer<SetMetadataResult> {
    let input = input.checked()?;
    let owner = Owner::of(cx.config(), &input.owner_id)?;
    let role = owner.kind.edited_by;
    if !cx.requester.has(role) {
        return Err(Error::Forbidden(role.name()).into());
    }
    // The next version is derived from this one and the input, so it identifies a repeat.
    let digest = Op::digest(&*input);
    let id = owner.id();
    let version = input.version.as_ref().map(|version| version.as_str());
    let next = match version {
        Some(version) => cx.ids().derived(&["metadata", &id, version, &digest]),
        None => cx.ids().random(),
    };
    let set: Vec<_> = input.set.iter().map(|pair| stored_pair(pair, role)).collect();
    let write = store::set(&cx, &owner, &set, &input.remove, (version, &next));
    if let Some(written) = write.then_read().await? {
        return Ok(shown(cx, id, &written));
    }
    let found = store::find(&cx, &owner).await?.filter(|found| found.is_there(&owner));
    let found = found.ok_or_else(|| NotFound::of(owner.kind.kind, &owner.key))?;
    let current = found.meta.as_ref().map_or(store::NONE, |meta| &meta.version);
    if current == next {
        return Ok(shown(cx, id, &found));
    }
    if version.is_some_and(|version| version != current) {
        return Err(Conflict::stale_version(current).into());
    }
    let most = cx.config().metadata_pairs;
    let reason =
        format!("would be too much: an object has at most {most} pairs of {BYTES} bytes in all");
    Err(InvalidInput::new("set", reason).into())
}

/// The pair as it is stored. The role that edits its owner is one of its readers.
fn stored_pair(pair: &MetadataPairInput, edited_by: Role) -> StoredPair {
    let MetadataPairInput { key, value, roles } = pair;
    let mut readers = roles.clone();
    let further = if roles.is_empty() { EVERYONE } else { edited_by.name() };
    readers.push(further.to_owned());
    readers.sort();
    readers.dedup();
    StoredPair { key: key.clone(), value: value.clone().into(), readers }
}

fn shown(cx: Cx<'_>, owner_id: ID, document: &OwnerDocument) -> MetadataChange {
    MetadataChange { owner_id, metadata: Metadata::of(cx, document.meta.as_ref()) }
}
