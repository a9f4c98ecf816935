//! Bulk import of people: `docgate import people`.
//!
//! ```json
//! {"key": "miles-davis", "name": "Miles Davis"}
//! {"key": "bill-evans", "name": "Bill Evans",
//!  "address": {"street": "1 Main Street", "city": "Plainfield, NJ 07060", "country": "US"}}
//! ```
//!
//! The key is the shop's own. The person's `_id` is derived only from it. So a line that is imported again is
//! recognised, and products refer to a person by the key without a lookup.

use std::collections::HashSet;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    documents::{PersonAddress, PersonDocument},
    operations::{NAME, fresh, set_name},
    store,
    types::PersonAddressInput,
};
use crate::graphql::{
    declared::{optional, valid},
    prelude::*,
};

/// One line of the import.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportPerson {
    /// The shop's own key of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Global id of the person instead, as an export has it. A person who doesn't exist gets this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ID>,
    pub name: String,
    /// Postal address; if it is absent, a stored address stays unchanged.
    #[serde(default)]
    pub address: Option<PersonAddressInput>,
}

/// Number of concurrent reads.
const AT_ONCE: usize = 64;

/// The `_id` of the person that was imported under this key.
pub fn id_of(field: &str, key: &str) -> Result<String, InvalidInput> {
    let key = input::key(field, key)?;
    let digest = Sha256::new().chain_update("imported person\0").chain_update(key).finalize();
    Ok(BASE64.encode(&digest[..16]))
}

/// Imports `lines`. Returns for each line, in the same order, why it was refused, if it was. An existing
/// person gets the line's name, and its address if the line has one.
///
/// # Errors
/// Some of the lines may have been imported; the import can be repeated.
pub async fn import(app: &App, lines: &[ImportPerson]) -> Result<Vec<Result<(), InvalidInput>>> {
    let mut people = Vec::new();
    let each = |line| checked(line).map(|person| people.push(person));
    let answers = lines.iter().map(each).collect();
    let existing = store::people(app).insert_many(people.clone()).await?;
    let existing = existing.into_iter().map(|position| &people[position]);
    let found: Vec<(&PersonDocument, Option<PersonDocument>)> = stream::iter(existing)
        .map(async |line| Ok::<_, Error>((line, store::people(app).get_settled(&line.id).await?)))
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    // If several lines have the same key, the last one is kept.
    let mut changed = HashSet::new();
    for (line, found) in found {
        let is_same = found.is_some_and(|found| is_as(&found, line));
        if !is_same || changed.contains(&line.id) {
            change(app, line).await?;
            changed.insert(&line.id);
        }
    }
    Ok(answers)
}

/// Checks `lines` as the import would, and changes nothing. Returns for each of them why it would be refused.
pub fn check(lines: &[ImportPerson]) -> Vec<Result<(), InvalidInput>> {
    lines.iter().map(|line| checked(line).map(|_| ())).collect()
}

/// Calls `each` for every person with the line that imports it, in the order of their ids.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn for_each_line(app: &App, mut each: impl FnMut(serde_json::Value)) -> Result<()> {
    let line = |person: PersonDocument| {
        each(serde_json::json!({
            "id": NodeKind::PERSON.id(&person.id).0,
            "name": person.name,
            "address": person.address,
        }));
    };
    store::people(app).for_each(line).await
}

/// The `_id` of the person of a line.
fn person_of(line: &ImportPerson) -> Result<String, InvalidInput> {
    match (&line.key, &line.id) {
        (Some(key), None) => id_of("key", key),
        (None, Some(id)) => {
            let invalid = |_| InvalidInput::new("id", "is no global id of a person");
            let id = input::id(NodeKind::PERSON, id).map_err(invalid)?;
            input::key("id", &id)
        }
        _ => Err(InvalidInput::new("key", "exactly one of `key` and `id` is required")),
    }
}

fn checked(line: &ImportPerson) -> Result<PersonDocument, InvalidInput> {
    let id = person_of(line)?;
    let name = input::text("name", &line.name, NAME)?;
    let mut address = line.address.clone();
    optional(valid)("address", &mut address)?;
    let origin = Op::digest(line);
    Ok(fresh(id, name, address.map(PersonAddress::from), origin))
}

/// Whether the person has the values of the line and an empty outbox.
fn is_as(found: &PersonDocument, line: &PersonDocument) -> bool {
    found.name == line.name
        && found.outbox.is_empty()
        && (line.address.is_none() || found.address == line.address)
}

async fn change(app: &App, line: &PersonDocument) -> Result<()> {
    let gone = || Error::internal("an imported person is gone");
    set_name(app, &line.id, &line.name).await?.ok_or_else(gone)?;
    if line.address.is_some() {
        let set = store::set_address(app, &line.id, line.address.as_ref());
        set.then_read().await?.ok_or_else(gone)?;
    }
    Ok(())
}
