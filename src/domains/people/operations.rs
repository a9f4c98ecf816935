//! The rules of people.

use async_graphql::ID;
use mongodb::bson::Bson;

use super::{
    documents::{PersonAddress, PersonDocument, PersonName, Work},
    store,
    types::{
        CreatePersonInput, CreatePersonResult, PersonAddressInput, RenamePersonResult,
        SetPersonAddressResult,
    },
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{
        input,
        node_id::NodeKind,
        page::{Order, Page},
        refusals::{Conflict, InvalidInput, NotFound, Stop},
    },
    mongo::Version,
};

/// Maximum number of works of one person: they are embedded. It is checked before a work is added, so
/// concurrent flows may exceed it by a few; the document has room for many times as many.
pub const WORKS: i64 = 2_000;

/// One person.
pub async fn person(app: &App, id: &str) -> Result<Option<PersonDocument>, Error> {
    let Ok(id) = input::id(NodeKind::Person, id) else { return Ok(None) };
    store::find(app, &id).await
}

/// People whose name begins with `prefix`, by name.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn people(
    app: &App,
    prefix: &str,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<(Page, Vec<PersonDocument>), Error> {
    let prefix = input::folded(&input::verbatim("nameStartsWith", prefix, 0..=NAME)?);
    let list = format!("people {prefix:?}");
    let order = Order { list, keys: vec![("nameKey", 1), ("_id", 1)] };
    let page = Page::new(app, order, first, after)?;
    let found = store::list_by_name(app, &prefix, &page).await?;
    Ok((page, found))
}

/// A person's values of the sort keys of [`people`].
pub fn position(person: &PersonDocument) -> Vec<Bson> {
    vec![person.name_key.clone().into(), person.id.clone().into()]
}

/// Creates a person, once per idempotency key.
pub async fn create(
    app: &App,
    subject: &str,
    new: &CreatePersonInput,
) -> Result<PersonDocument, Stop<CreatePersonResult>> {
    let name = input::text("name", &new.name, 1..=NAME)?;
    let address = new.address.as_ref().map(checked_address).transpose()?;
    let scope = [subject, "createPerson"];
    let op = input::op(app, &scope, new.idempotency_key.as_ref(), &(&name, &address))?;
    let person = fresh(op.id.clone(), name, address, op.input.clone());
    if store::insert(app, person.clone()).await.decided()?.is_some() {
        return Ok(person);
    }
    match store::find(app, &op.id).await? {
        Some(person) if person.origin == op.input => Ok(person),
        Some(_) => Err(Conflict::other_input().into()),
        None => Err(Error::internal("a person's id was taken and isn't there").into()),
    }
}

/// The document of a new person without works.
pub(super) fn fresh(
    id: String,
    name: String,
    address: Option<PersonAddress>,
    origin: String,
) -> PersonDocument {
    PersonDocument {
        id,
        name_key: input::folded(&name),
        name,
        address,
        works: Vec::new(),
        version: 1,
        outbox: Vec::new(),
        origin,
        v: Version,
    }
}

/// Changes the name, also in every product.
pub async fn rename(
    app: &App,
    id: &ID,
    name: &str,
) -> Result<PersonDocument, Stop<RenamePersonResult>> {
    let name = input::text("name", name, 1..=NAME)?;
    let person = input::id(NodeKind::Person, id)?;
    let renamed = give_name(app, &person, &name).await?;
    renamed.ok_or_else(|| NotFound::of(NodeKind::Person, &person).into())
}

/// Sets the name of the person with that `_id`; `None` if there is no such person.
///
/// # Errors
/// `Unavailable` or `Internal`: it can be repeated.
pub(super) async fn give_name(
    app: &App,
    id: &str,
    name: &str,
) -> Result<Option<PersonDocument>, Error> {
    let attempt = app.begin().await?;
    let key = input::folded(name);
    if let Some(renamed) = store::rename(app, id, name, &key, &attempt).await.decided()? {
        return spread(app, renamed).await.map(Some);
    }
    match store::find(app, id).await? {
        None => Ok(None),
        // The person has that name: a repeat applies the outbox that the first call left.
        Some(person) if person.name == name => spread(app, person).await.map(Some),
        Some(_) => Err(attempt.overdue()),
    }
}

/// Applies the outbox: writes the name into the products, then removes the entry.
///
/// # Errors
/// The outbox entry stays; the sweep or a repeat applies it.
pub(super) async fn spread(app: &App, person: PersonDocument) -> Result<PersonDocument, Error> {
    if person.outbox.is_empty() {
        return Ok(person);
    }
    store::spread_name(app, &person).await?;
    let versions: Vec<i64> = person.outbox.iter().map(|due| due.version).collect();
    Ok(store::settle(app, &person.id, &versions).await.decided()?.unwrap_or(person))
}

/// Sets or removes the address. No document has a copy of it.
pub async fn set_address(
    app: &App,
    id: &ID,
    address: Option<&PersonAddressInput>,
) -> Result<PersonDocument, Stop<SetPersonAddressResult>> {
    let address = address.map(checked_address).transpose()?;
    let person = input::id(NodeKind::Person, id)?;
    match store::set_address(app, &person, address.as_ref()).await.decided()? {
        Some(person) => Ok(person),
        None => Err(NotFound::of(NodeKind::Person, &person).into()),
    }
}

/// Names of these people, read with majority concern. People that don't exist are absent.
pub async fn names(app: &App, ids: &[String]) -> Result<Vec<PersonName>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    store::list_names(app, ids).await
}

/// Writes the copy of a product's credits to the person, unless an entry of the same or a later version
/// exists.
///
/// # Errors
/// The outcome is unknown, or the attempt is over: the entry has to be applied again.
pub async fn give_work(app: &App, id: &str, work: &Work, attempt: &Attempt) -> Result<(), Error> {
    if store::put_work(app, id, work, attempt).await.decided()?.is_some() {
        return Ok(());
    }
    let as_new = |there: &Work| there.sku == work.sku && there.version >= work.version;
    match store::find(app, id).await? {
        None => Ok(()),
        Some(person) if person.works.iter().any(as_new) => Ok(()),
        Some(_) => Err(attempt.overdue()),
    }
}

/// Like [`give_work`] for many people, each with one work per product. Returns whether all works were
/// written. That is only possible if the people have no entries of these products yet, and if every work has
/// roles. Otherwise some may have been written, and the works have to be applied one by one.
///
/// # Errors
/// The outcome is unknown: the entries have to be applied again.
pub async fn give_first_works(
    app: &App,
    works: &[(&str, Vec<Work>)],
    attempt: &Attempt,
) -> Result<bool, Error> {
    // The time of a tombstone is set by the server.
    if works.iter().flat_map(|(_, works)| works).any(|work| work.roles.is_empty()) {
        return Ok(false);
    }
    store::put_first_works(app, works, attempt).await
}

/// Maximum length of a name.
pub(super) const NAME: usize = 200;

pub(super) fn checked_address(address: &PersonAddressInput) -> Result<PersonAddress, InvalidInput> {
    let PersonAddressInput { street, city, country } = address;
    Ok(PersonAddress {
        street: input::text("address.street", street, 1..=300)?,
        city: input::text("address.city", city, 1..=200)?,
        country: input::country("address.country", country)?,
    })
}
