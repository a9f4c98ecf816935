//! Credits: adding and removing contributors of a product.

use super::{
    super::{
        documents::{Contributor, ProductDocument},
        store,
        types::{CreditPersonInput, CreditPersonResult, UncreditPersonInput, UncreditPersonResult},
    },
    edits::{demand_room, explained},
    follow::{finish, write},
};
use crate::{
    domains::people::{
        PersonName,
        operations::{WORKS, names},
    },
    flow::{Attempt, Step, decide},
    graphql::{
        cx::Cx,
        declared::Input,
        node_id::NodeKind,
        refusals::{InvalidInput, NotFound, Stop},
        scalars::Slug,
    },
};

/// Credits a person with a role in the product. An existing credit stays as it is.
pub async fn credit_person(
    cx: Cx<'_>,
    input: CreditPersonInput,
) -> Result<ProductDocument, Stop<CreditPersonResult>> {
    let CreditPersonInput { sku, person_id, role } = &*input.checked()?;
    let token = &cx.ids().random();
    let read = || async {
        let attempt = cx.begin().await?;
        let person = names(&cx, std::slice::from_ref(&person_id.0)).await?.pop();
        Ok((attempt, person.ok_or_else(|| NotFound::of(NodeKind::PERSON, person_id))?))
    };
    decide(read, |attempt: Attempt, person: PersonName| async move {
        let is_full = person.works >= WORKS;
        if !is_full {
            let credit = store::credit(&cx, sku, &Contributor::of(&person, role), token);
            if let Some(product) = write(&cx, &attempt, credit).await? {
                return Ok(Step::Done(product));
            }
        }
        let product = explained(&cx, sku).await?;
        if is_credited(&product, person_id, role) {
            return Ok(Step::Done(finish(&cx, &attempt, product).await?));
        }
        if is_full {
            let reason = format!("has {WORKS} works already");
            return Err(InvalidInput::new("personId", reason).into());
        }
        if product.contributors.len() >= store::CONTRIBUTORS {
            let reason = format!("the product has {} contributors already", store::CONTRIBUTORS);
            return Err(InvalidInput::new("role", reason).into());
        }
        demand_room(&product)?;
        // The contributors have changed since the refusal.
        Ok(Step::Again)
    })
    .await
}

/// Removes a credit. If there is none, nothing changes.
pub async fn uncredit_person(
    cx: Cx<'_>,
    input: UncreditPersonInput,
) -> Result<ProductDocument, Stop<UncreditPersonResult>> {
    let UncreditPersonInput { sku, person_id, role } = &*input.checked()?;
    let read = || async { Ok((cx.begin().await?, ())) };
    decide(read, |attempt: Attempt, ()| async move {
        let uncredit = store::uncredit(&cx, sku, person_id, role.as_str());
        if let Some(product) = write(&cx, &attempt, uncredit).await? {
            return Ok(Step::Done(product));
        }
        let product = explained(&cx, sku).await?;
        if !is_credited(&product, person_id, role) {
            return Ok(Step::Done(finish(&cx, &attempt, product).await?));
        }
        demand_room(&product)?;
        // The contributors have changed since the refusal.
        Ok(Step::Again)
    })
    .await
}

fn is_credited(product: &ProductDocument, person_id: &str, role: &Slug) -> bool {
    let mut contributors = product.contributors.iter();
    contributors.any(|one| one.person_id == person_id && one.role == role.as_str())
}
