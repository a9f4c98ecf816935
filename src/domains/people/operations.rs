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
    graphql::{
        input,
        node_id::NodeKind,
        page::{Order, Page},
        refusals::{Conflict, InvalidInput, NotFound, Stop},
    },
    mongo::{Run, Version},
};

/// Works that one person has at the most: they are embedded. Those who credit look before they do,
/// so a few more may come together; the document has room for many times as many.
pub const WORKS: i64 = 2_000;

/// The person.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn person(app: &App, id: &str) -> Result<Option<PersonDocument>, Error> {
    let Ok(id) = input::id(NodeKind::Person, id) else { return Ok(None) };
    store::find(app, &id).await
}

/// People whose name begins with `prefix`, by name.
///
/// # Errors
/// `BadInput` naming the argument, or trouble.
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

/// Values of a person in the order of [`people`].
pub fn position(person: &PersonDocument) -> Vec<Bson> {
    vec![person.name_key.clone().into(), person.id.clone().into()]
}

/// A new person. Once per op id.
///
/// # Errors
/// A refusal, or trouble.
pub async fn create(
    app: &App,
    subject: &str,
    new: &CreatePersonInput,
) -> Result<PersonDocument, Stop<CreatePersonResult>> {
    let name = input::text("name", &new.name, 1..=NAME)?;
    let address = new.address.as_ref().map(checked_address).transpose()?;
    let scope = [subject, "createPerson"];
    let op = input::op(app, &scope, new.op_id.as_ref(), &(&name, &address))?;
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

/// Someone who has made nothing yet.
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

/// Another name, in every product as well.
///
/// # Errors
/// A refusal, or trouble.
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

/// Gives the person with that `_id` this name; none where there is nobody.
///
/// # Errors
/// `Unavailable` or `Internal`: repeat it.
pub(super) async fn give_name(
    app: &App,
    id: &str,
    name: &str,
) -> Result<Option<PersonDocument>, Error> {
    let run = app.begin().await?;
    let key = input::folded(name);
    if let Some(renamed) = store::rename(app, id, name, &key, &run).await.decided()? {
        return spread(app, renamed).await.map(Some);
    }
    match store::find(app, id).await? {
        None => Ok(None),
        // That is the name already: a repeat goes forward with what the first call left.
        Some(person) if person.name == name => spread(app, person).await.map(Some),
        Some(_) => Err(run.overdue()),
    }
}

/// Carries the name into the products, and notes that it is there.
///
/// # Errors
/// Trouble; the outbox entry is still there, the sweep or a repeat goes on.
pub(super) async fn spread(app: &App, person: PersonDocument) -> Result<PersonDocument, Error> {
    if person.outbox.is_empty() {
        return Ok(person);
    }
    store::spread_name(app, &person).await?;
    let versions: Vec<i64> = person.outbox.iter().map(|due| due.version).collect();
    Ok(store::settle(app, &person.id, &versions).await.decided()?.unwrap_or(person))
}

/// Another address, or none. It isn't copied anywhere.
///
/// # Errors
/// A refusal, or trouble.
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

/// Names of these people, as a majority holds them; who isn't there is absent.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn names(app: &App, ids: &[String]) -> Result<Vec<PersonName>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    store::list_names(app, ids).await
}

/// Writes what a product says of the person, unless something as new is there.
///
/// # Errors
/// The outcome is unknown, or the run is over: the give is still due.
pub async fn give_work(app: &App, id: &str, work: &Work, run: &Run) -> Result<(), Error> {
    if store::put_work(app, id, work, run).await.decided()?.is_some() {
        return Ok(());
    }
    let as_new = |there: &Work| there.sku == work.sku && there.version >= work.version;
    match store::find(app, id).await? {
        None => Ok(()),
        Some(person) if person.works.iter().any(as_new) => Ok(()),
        Some(_) => Err(run.overdue()),
    }
}

/// As [`give_work`], of many people at once, each with one work a product. Says whether all was
/// written: only works of products that are new to the people can be, and only of parts that they
/// have. Else some of it may have been written, and the works are given one by one.
///
/// # Errors
/// The outcome is unknown: the gives are still due.
pub async fn give_first_works(
    app: &App,
    works: &[(&str, Vec<Work>)],
    run: &Run,
) -> Result<bool, Error> {
    // Stones have a time that the server gives.
    if works.iter().flat_map(|(_, works)| works).any(|work| work.roles.is_empty()) {
        return Ok(false);
    }
    store::put_first_works(app, works, run).await
}

/// Longest name.
pub(super) const NAME: usize = 200;

pub(super) fn checked_address(address: &PersonAddressInput) -> Result<PersonAddress, InvalidInput> {
    let PersonAddressInput { street, city, country } = address;
    Ok(PersonAddress {
        street: input::text("address.street", street, 1..=300)?,
        city: input::text("address.city", city, 1..=200)?,
        country: input::country("address.country", country)?,
    })
}
