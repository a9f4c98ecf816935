//! The two steps that follow every change of a product. The first one checks its copies again, the second one writes
//! its works to the people.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::super::{
    documents::{Copying, ProductDocument},
    store::{self, NotChanged},
};
use crate::{
    domains::{
        categories,
        people::{self, Work},
    },
    graphql::prelude::*,
};

/// Polling interval while the deletion of a category isn't committed or refused yet.
const LOOK: Duration = Duration::from_millis(20);

/// A product, or why it wasn't changed and the product as it is.
pub(super) type Written = Result<ProductDocument, (NotChanged, ProductDocument)>;

/// Applies a change of the product within the attempt, and finishes the work that it makes pending.
///
/// # Errors
/// There is no such product, its outbox is full, the outcome is unknown, or that of [`finish`].
pub(super) async fn write<U: From<NotFound>>(
    app: &App,
    attempt: &Attempt,
    sku: &str,
    change: Change<NotChanged>,
) -> Result<Written, Stop<U>> {
    match store::products(app).write_and_read(&change, attempt).await? {
        Verdict::Applied(product) => Ok(Ok(finish(app, attempt, product).await?)),
        Verdict::Missing | Verdict::Refused(NotChanged::Gone, _) => {
            Err(NotFound::new("product", sku).into())
        }
        Verdict::Refused(NotChanged::Busy, _) => Err(Error::rate_limited(
            "too many changes of this product are in progress; try again in a moment",
        )
        .into()),
        Verdict::Refused(reason, product) => Ok(Err((reason, product))),
    }
}

/// Finishes the pending work of a product. The first caller, a repeat and a sweep do the same.
///
/// # Errors
/// Unfinished work is recorded in the product. A repeat or the sweep continues.
pub(crate) async fn finish(
    app: &App,
    attempt: &Attempt,
    product: ProductDocument,
) -> Result<ProductDocument> {
    let product = match product.copying.clone() {
        Some(mark) => check_again(app, attempt, &mark, product).await?,
        None => product,
    };
    if product.outbox.is_empty() {
        return Ok(product);
    }
    for (person, work) in due_works(&product) {
        people::operations::apply_work(app, person, &work, attempt).await?;
    }
    Ok(store::settle(app, &product).then_read().await?.unwrap_or(product))
}

/// Reads the records of the product's copies again, corrects older copies and removes the mark.
async fn check_again(
    app: &App,
    attempt: &Attempt,
    mark: &Copying,
    product: ProductDocument,
) -> Result<ProductDocument> {
    let ids: Vec<String> = product.categories.iter().map(|copy| copy.id.clone()).collect();
    let people = product.contributors.iter().map(|contributor| contributor.person_id.clone());
    let people = Vec::from_iter(people.collect::<BTreeSet<_>>());
    let categories = async {
        loop {
            match categories::operations::decided_copies(app, &ids, &mark.unconfirmed).await? {
                Some(copies) => return Ok(copies),
                None if attempt.is_over() => return Err(attempt.overdue()),
                None => tokio::time::sleep(LOOK).await,
            }
        }
    };
    let (categories, people) =
        tokio::try_join!(categories, people::operations::names(app, &people))?;
    let correct = store::correct(app, &product.sku, mark, &categories, &people);
    // A refusal means that a later write put its own mark there. Its caller checks the copies.
    Ok(correct.then_read().await?.unwrap_or(product))
}

/// The works that are due, computed from the product as read, each with its person.
fn due_works(product: &ProductDocument) -> impl Iterator<Item = (&str, Work)> {
    let people: BTreeSet<&String> = product.outbox.iter().flat_map(|due| &due.people).collect();
    people.into_iter().map(|person| {
        let roles = product.contributors.iter().filter(|one| one.person_id == *person);
        let work = Work {
            sku: product.sku.as_str().into(),
            title: product.content.title.clone(),
            roles: roles.map(|one| one.role.clone()).collect(),
            version: product.version,
            removed_at: None,
        };
        (person.as_str(), work)
    })
}

/// Like [`finish`], for many products. Works that are all new to their people are written together, the rest
/// one by one.
pub(crate) async fn finish_all(app: &App, skus: &[String]) -> Result<()> {
    let attempt = app.begin().await?;
    let (checked, mut rest): (Vec<_>, Vec<_>) =
        store::list_unfinished(app, skus).await?.into_iter().partition(|one| one.copying.is_none());
    let mut works: BTreeMap<&str, Vec<Work>> = BTreeMap::new();
    for (person, work) in checked.iter().flat_map(due_works) {
        works.entry(person).or_default().push(work);
    }
    let works: Vec<_> = works.into_iter().collect();
    let together = people::operations::apply_first_works(app, &works, &attempt).await?
        && store::settle_all(app, &checked, &attempt).await?;
    if !together {
        rest.extend(checked);
    }
    for product in rest {
        let attempt = app.begin().await?;
        finish(app, &attempt, product).await?;
    }
    Ok(())
}
