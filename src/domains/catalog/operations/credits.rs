//! Credits: adding and removing contributors of a product.

use super::{
    super::{
        documents::{Contributor, ProductDocument},
        store::{self, NotChanged},
        types::{CreditPersonInput, CreditPersonResult, UncreditPersonInput, UncreditPersonResult},
    },
    follow::{finish, write},
};
use crate::{
    domains::people::operations::{WORKS, names},
    graphql::{
        cx::Cx,
        declared::Input,
        node_id::NodeKind,
        refusals::{InvalidInput, NotFound, Stop},
    },
};

/// Credits a person with a role in the product. An existing credit stays as it is.
pub async fn credit_person(
    cx: Cx<'_>,
    input: CreditPersonInput,
) -> Result<ProductDocument, Stop<CreditPersonResult>> {
    let CreditPersonInput { sku, person_id, role } = &*input.checked()?;
    let attempt = cx.begin().await?;
    let person = names(&cx, std::slice::from_ref(&person_id.0)).await?.pop();
    let person = person.ok_or_else(|| NotFound::of(NodeKind::PERSON, person_id))?;
    let contributor = Contributor::of(&person, role);
    let credit = store::credit(sku, &contributor, person.works, &cx.ids().random());
    let (reason, product) = match write(&cx, &attempt, sku, credit).await? {
        Ok(product) => return Ok(product),
        Err(refused) => refused,
    };
    Err(match reason {
        NotChanged::FullPerson => {
            InvalidInput::new("personId", format!("has {WORKS} works already")).into()
        }
        NotChanged::FullProduct => {
            let reason = format!("the product has {} contributors already", store::CONTRIBUTORS);
            InvalidInput::new("role", reason).into()
        }
        // A repeat finishes what the first call left.
        _ => return Ok(finish(&cx, &attempt, product).await?),
    })
}

/// Removes a credit. If there is none, nothing changes.
pub async fn uncredit_person(
    cx: Cx<'_>,
    input: UncreditPersonInput,
) -> Result<ProductDocument, Stop<UncreditPersonResult>> {
    let UncreditPersonInput { sku, person_id, role } = &*input.checked()?;
    let attempt = cx.begin().await?;
    match write(&cx, &attempt, sku, store::uncredit(sku, person_id, role.as_str())).await? {
        Ok(product) => Ok(product),
        Err((_, uncredited)) => Ok(finish(&cx, &attempt, uncredited).await?),
    }
}
