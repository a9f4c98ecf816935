//! Who made what.

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

/// Credits someone with a part in the product. Who has it already keeps it.
///
/// # Errors
/// A refusal, or trouble.
pub async fn credit(
    app: &App,
    credit: &CreditPersonInput,
) -> Result<ProductDocument, Stop<CreditPersonResult>> {
    let sku = input::sku(&credit.sku)?;
    let id = input::id(NodeKind::Person, &credit.person_id)?;
    let run = app.begin().await?;
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
            return Ok(finish(app, &run, product).await?);
        }
        let reason = format!("has {WORKS} works already");
        return Err(InvalidInput::new("personId", reason).into());
    }
    let token = app.ids().random();
    loop {
        let credited = store::credit(app, &sku, &contributor, &token, &run).await;
        if let Some(product) = credited.decided()? {
            return Ok(finish(app, &run, product).await?);
        }
        let product = explained(app, &sku).await?;
        if is_credited(&product, &contributor.person_id, role) {
            return Ok(finish(app, &run, product).await?);
        }
        if product.contributors.len() >= store::CONTRIBUTORS {
            let reason = format!("the product has {} contributors already", store::CONTRIBUTORS);
            return Err(InvalidInput::new("role", reason).into());
        }
        // Else it was credited for a moment: once more.
        uncrowded(&product, &run)?;
    }
}

/// Takes a credit back. Who doesn't have it goes without it as before.
///
/// # Errors
/// A refusal, or trouble.
pub async fn uncredit(
    app: &App,
    credit: &UncreditPersonInput,
) -> Result<ProductDocument, Stop<UncreditPersonResult>> {
    let sku = input::sku(&credit.sku)?;
    let id = input::id(NodeKind::Person, &credit.person_id)?;
    let role = credit.role.as_str();
    let run = app.begin().await?;
    loop {
        let uncredited = store::uncredit(app, &sku, &id, role, &run).await;
        if let Some(product) = uncredited.decided()? {
            return Ok(finish(app, &run, product).await?);
        }
        let product = explained(app, &sku).await?;
        if !is_credited(&product, &id, role) {
            return Ok(finish(app, &run, product).await?);
        }
        // It wasn't credited for a moment: once more.
        uncrowded(&product, &run)?;
    }
}

fn is_credited(product: &ProductDocument, person_id: &str, role: &str) -> bool {
    let mut parts = product.contributors.iter();
    parts.any(|part| part.person_id == person_id && part.role == role)
}
