//! Credits: adding and removing contributors of a product.

use super::{
    super::{
        documents::{Contributor, ProductDocument},
        store,
        types::{CreditPersonInput, CreditPersonResult, UncreditPersonInput, UncreditPersonResult},
    },
    edits::{explained, uncrowded},
    follow::finish,
};
use crate::{
    app::App,
    domains::people::operations::{WORKS, names},
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{InvalidInput, NotFound, Stop},
    },
};

/// Credits a person with a role in the product. An existing credit stays as it is.
pub async fn credit(
    app: &App,
    credit: &CreditPersonInput,
) -> Result<ProductDocument, Stop<CreditPersonResult>> {
    let sku = input::sku(&credit.sku)?;
    let id = input::id(NodeKind::Person, &credit.person_id)?;
    let attempt = app.begin().await?;
    let person = names(app, std::slice::from_ref(&id)).await?.pop();
    let person = person.ok_or_else(|| NotFound::of(NodeKind::Person, &id))?;
    let role = credit.role.as_str();
    let contributor = Contributor {
        person_id: person.id,
        name: person.name,
        nv: person.version,
        role: role.to_owned(),
    };
    if person.works >= WORKS {
        let product = explained(app, &sku).await?;
        if is_credited(&product, &contributor.person_id, role) {
            return Ok(finish(app, &attempt, product).await?);
        }
        let reason = format!("has {WORKS} works already");
        return Err(InvalidInput::new("personId", reason).into());
    }
    let token = app.ids().random();
    loop {
        let credited = store::credit(app, &sku, &contributor, &token, &attempt).await;
        if let Some(product) = credited.decided()? {
            return Ok(finish(app, &attempt, product).await?);
        }
        let product = explained(app, &sku).await?;
        if is_credited(&product, &contributor.person_id, role) {
            return Ok(finish(app, &attempt, product).await?);
        }
        if product.contributors.len() >= store::CONTRIBUTORS {
            let reason = format!("the product has {} contributors already", store::CONTRIBUTORS);
            return Err(InvalidInput::new("role", reason).into());
        }
        // The contributors have changed since the refusal: try again.
        uncrowded(&product, &attempt)?;
    }
}

/// Removes a credit. If there is none, nothing changes.
pub async fn uncredit(
    app: &App,
    credit: &UncreditPersonInput,
) -> Result<ProductDocument, Stop<UncreditPersonResult>> {
    let sku = input::sku(&credit.sku)?;
    let id = input::id(NodeKind::Person, &credit.person_id)?;
    let role = credit.role.as_str();
    let attempt = app.begin().await?;
    loop {
        let uncredited = store::uncredit(app, &sku, &id, role, &attempt).await;
        if let Some(product) = uncredited.decided()? {
            return Ok(finish(app, &attempt, product).await?);
        }
        let product = explained(app, &sku).await?;
        if !is_credited(&product, &id, role) {
            return Ok(finish(app, &attempt, product).await?);
        }
        // The contributors have changed since the refusal: try again.
        uncrowded(&product, &attempt)?;
    }
}

fn is_credited(product: &ProductDocument, person_id: &str, role: &str) -> bool {
    let mut parts = product.contributors.iter();
    parts.any(|part| part.person_id == person_id && part.role == role)
}
