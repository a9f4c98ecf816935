//! What every change of a product is followed by: a second look at what it copies, and its works
//! to the people.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::super::{
    documents::{Copying, ProductDocument},
    store::{self, Corrections},
};
use crate::{
    app::App,
    domains::{
        categories,
        people::{self, Work},
    },
    error::Error,
    mongo::Run,
};

/// Pause between two looks at a category whose deletion isn't decided.
const LOOK: Duration = Duration::from_millis(20);

/// Finishes what is still to be done about the product; the same for the first caller, a repeat
/// and a sweep.
///
/// # Errors
/// Trouble; what is left stands in the product, and a repeat or the sweep goes on.
pub(in super::super) async fn finish(
    app: &App,
    run: &Run,
    product: ProductDocument,
) -> Result<ProductDocument, Error> {
    let product = match product.copying.clone() {
        Some(mark) => look_again(app, run, &mark, product).await?,
        None => product,
    };
    if product.outbox.is_empty() {
        return Ok(product);
    }
    give_works(app, run, &product).await?;
    let versions: Vec<i64> = product.outbox.iter().map(|due| due.version).collect();
    Ok(store::settle(app, &product.sku, &versions).await.decided()?.unwrap_or(product))
}

/// Reads the records of the product's copies again, corrects what is older and takes the mark away.
async fn look_again(
    app: &App,
    run: &Run,
    mark: &Copying,
    product: ProductDocument,
) -> Result<ProductDocument, Error> {
    let ids: Vec<String> = product.categories.iter().map(|copy| copy.id.clone()).collect();
    let people = everyone(&product);
    let categories = async {
        loop {
            match categories::operations::decided_copies(app, &ids, &mark.begun).await? {
                Some(copies) => return Ok(copies),
                None if run.is_over() => return Err(run.overdue()),
                None => tokio::time::sleep(LOOK).await,
            }
        }
    };
    let (categories, people) =
        tokio::try_join!(categories, people::operations::names(app, &people))?;
    let there = |id: &String| categories.iter().any(|copy| copy.id == *id);
    // One that the product was in before is only being deleted, which will be refused.
    let gone: Vec<String> = mark.begun.iter().filter(|id| !there(id)).cloned().collect();
    let found = Corrections { categories: &categories, gone: &gone, people: &people };
    let corrected = store::correct(app, &product.sku, mark, &found).await?;
    // Refused: a later write put its own mark there, and whoever wrote it looks again.
    Ok(corrected.decided()?.unwrap_or(product))
}

/// Writes the works that are due, as the product is now.
async fn give_works(app: &App, run: &Run, product: &ProductDocument) -> Result<(), Error> {
    for (person, work) in due_works(product) {
        people::operations::give_work(app, person, &work, run).await?;
    }
    Ok(())
}

/// The works that are due, each with its person.
fn due_works(product: &ProductDocument) -> impl Iterator<Item = (&str, Work)> {
    let people: BTreeSet<&String> = product.outbox.iter().flat_map(|due| &due.people).collect();
    people.into_iter().map(|person| {
        let roles = product.contributors.iter().filter(|part| part.person_id == *person);
        let work = Work {
            sku: product.sku.clone(),
            title: product.title.clone(),
            roles: roles.map(|part| part.role.clone()).collect(),
            version: product.version,
            stone_at: None,
        };
        (person.as_str(), work)
    })
}

/// As [`finish`], of many products: those whose works are all new to their people together, the
/// rest one by one.
///
/// # Errors
/// As [`finish`].
pub(in super::super) async fn finish_all(app: &App, skus: &[String]) -> Result<(), Error> {
    let run = app.begin().await?;
    let (looked_at, mut rest): (Vec<_>, Vec<_>) =
        store::list_unfinished(app, skus).await?.into_iter().partition(|one| one.copying.is_none());
    let mut works: BTreeMap<&str, Vec<Work>> = BTreeMap::new();
    for (person, work) in looked_at.iter().flat_map(due_works) {
        works.entry(person).or_default().push(work);
    }
    let works: Vec<_> = works.into_iter().collect();
    let together = people::operations::give_first_works(app, &works, &run).await?
        && store::settle_all(app, &looked_at, &run).await?;
    if !together {
        rest.extend(looked_at);
    }
    for product in rest {
        let run = app.begin().await?;
        finish(app, &run, product).await?;
    }
    Ok(())
}

fn everyone(product: &ProductDocument) -> Vec<String> {
    let mut people: Vec<String> =
        product.contributors.iter().map(|part| part.person_id.clone()).collect();
    people.sort_unstable();
    people.dedup();
    people
}
