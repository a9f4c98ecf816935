//! The rules of people.

use std::ops::RangeInclusive;

pub use super::store::{apply_first_works, correct_terms, list_names as names};

use super::{
    documents::{PersonAddress, PersonDocument, Work},
    store,
    types::{
        CreatePersonInput, CreatePersonResult, Person, PersonSuggestion, RenamePersonInput,
        RenamePersonResult, SetPersonAddressInput, SetPersonAddressResult,
    },
};
use crate::{
    graphql::prelude::*,
    mongo::{Version, terms::Typed},
};

/// Length of a name.
pub(super) const NAME: RangeInclusive<usize> = 1..=200;
/// Maximum number of works of one person: they are embedded. It is checked before a work is added, so
/// concurrent flows may exceed it by a few; the document has room for many times as many.
pub const WORKS: i64 = 2_000;

/// One person.
pub async fn person(app: &App, id: &str) -> Result<Option<PersonDocument>> {
    let Ok(id) = input::id(NodeKind::PERSON, id) else { return Ok(None) };
    store::people(app).get_settled(&id).await
}

/// People whose name begins with `prefix`, by name.
pub async fn people(app: &App, prefix: &str, paging: Paging) -> Result<Connection<Person>> {
    let prefix = input::folded(&input::verbatim("nameStartsWith", prefix, 0..=*NAME.end())?);
    let list = format!("people {prefix:?}");
    let order = Order { list, keys: vec![("nameKey", 1), ("_id", 1)] };
    let page = Page::new(app, order, paging)?;
    let found = store::list_by_name(app, &prefix, &page).await?;
    let position =
        |person: &PersonDocument| vec![person.name_key.as_str().into(), person.id.as_str().into()];
    Ok(page.connection(found, position, Person::from))
}

/// People for the words of a text that is being typed, at most `first`.
pub async fn suggested(app: &App, typed: &Typed, first: i64) -> Result<Vec<PersonSuggestion>> {
    let found = store::suggest(app, typed, first).await?;
    Ok(found.into_iter().map(PersonSuggestion).collect())
}

/// Creates a person, once per idempotency key.
pub async fn create_person(cx: Cx<'_>, input: CreatePersonInput) -> Answer<CreatePersonResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "createPerson"], &input);
    let CreatePersonInput { name, address, .. } = input.into_inner();
    let address = address.map(PersonAddress::from);
    let person = fresh(op.id.clone(), name, address, op.input.clone());
    let person = store::people(&cx).insert_once(person).await?;
    op.demand_same(&person.origin)?;
    Ok(person)
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
        search: Some(PersonDocument::terms(&name)),
        name,
        address,
        works: Vec::new(),
        images: None,
        version: 1,
        outbox: Vec::new(),
        origin,
        v: Version,
    }
}

/// Changes the name, also in every product.
pub async fn rename_person(cx: Cx<'_>, input: RenamePersonInput) -> Answer<RenamePersonResult> {
    let RenamePersonInput { person_id: id, name } = &*input.checked()?;
    let renamed = set_name(&cx, id, name).await?;
    Ok(renamed.ok_or_else(|| NotFound::of(NodeKind::PERSON, id))?)
}

/// Sets the name of the person with that `_id`; `None` if there is no such person.
pub(super) async fn set_name(app: &App, id: &str, name: &str) -> Result<Option<PersonDocument>> {
    let attempt = app.begin().await?;
    if let Some(renamed) = store::rename(app, id, name).within(&attempt).then_read().await? {
        return spread(app, renamed).await.map(Some);
    }
    match store::people(app).get_settled(id).await? {
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
pub(super) async fn spread(app: &App, person: PersonDocument) -> Result<PersonDocument> {
    if person.outbox.is_empty() {
        return Ok(person);
    }
    store::spread_name(app, &person).await?;
    Ok(store::settle(app, &person).then_read().await?.unwrap_or(person))
}

/// Sets or removes the address. No document has a copy of it.
pub async fn set_person_address(
    cx: Cx<'_>,
    input: SetPersonAddressInput,
) -> Answer<SetPersonAddressResult> {
    let SetPersonAddressInput { person_id: id, address } = input.checked()?.into_inner();
    let address = address.map(PersonAddress::from);
    let person = store::set_address(&cx, &id, address.as_ref()).then_read().await?;
    Ok(person.ok_or_else(|| NotFound::of(NodeKind::PERSON, &id))?)
}

/// Writes the copy of a product's credits to the person, unless an entry of the same or a later version
/// exists.
///
/// # Errors
/// The outcome is unknown, or the attempt is over: the entry has to be applied again.
pub async fn apply_work(app: &App, id: &str, work: &Work, attempt: &Attempt) -> Result<()> {
    if store::write_work(app, id, work).within(attempt).held().await? {
        return Ok(());
    }
    let as_new = |there: &Work| there.sku == work.sku && there.version >= work.version;
    match store::people(app).get_settled(id).await? {
        None => Ok(()),
        Some(person) if person.works.iter().any(as_new) => Ok(()),
        Some(_) => Err(attempt.overdue()),
    }
}
