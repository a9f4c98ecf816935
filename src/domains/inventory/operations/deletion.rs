//! The deletion of products and variants. The stock is the decider: the mark is guarded by nothing being reserved. The
//! deletion is then applied to the catalog; see the room's `mod.rs`.

use super::super::{
    documents::StockDocument,
    store::{self, stocks},
    types::{
        DeleteProductInput, DeleteProductResult, DeleteVariantInput, DeleteVariantResult,
        DeletedProduct, DeletedVariant,
    },
};
use crate::{
    domains::catalog::{self, Variant},
    graphql::prelude::*,
};

/// Deletes a product without variants.
pub async fn delete_product(cx: Cx<'_>, input: DeleteProductInput) -> Answer<DeleteProductResult> {
    let sku = &*input.checked()?.into_inner().sku.0;
    let read = || async {
        let attempt = cx.begin().await?;
        // A product that is deleted and not removed yet takes the same path, since the first call may have
        // been interrupted.
        let product = catalog::operations::deletable(&cx, sku).await?;
        Ok((attempt, product.ok_or_else(|| NotFound::new("product", sku))?))
    };
    decide(read, |attempt: Attempt, product: catalog::operations::Deletable| async move {
        if product.has_variants {
            let why = "the product can't be deleted: it has variants; delete them first";
            return Err(InUse::because(why).into());
        }
        match close(&cx, sku, &product.generation, &attempt).await? {
            Closed::Yes => {}
            Closed::Reserved => {
                let why = "the product can't be deleted: some of its stock is reserved for carts or orders";
                return Err(InUse::because(why).into());
            }
            Closed::Again => return Ok(Step::Again),
        }
        // A deletion that isn't settled yet is committed too.
        let _is_settled = follow_deletion(&cx, sku, &product.generation, &attempt).await?;
        Ok(Step::Done(DeletedProduct { sku: sku.into() }))
    })
    .await
}

/// Deletes a variant. The closed stock remembers it, so a repeat finds that it was deleted.
pub async fn delete_variant(cx: Cx<'_>, input: DeleteVariantInput) -> Answer<DeleteVariantResult> {
    let sku = &*input.checked()?.into_inner().sku.0;
    let read = || async {
        let attempt = cx.begin().await?;
        Ok((attempt, catalog::operations::generation_on_sale(&cx, sku).await?))
    };
    decide(read, |attempt: Attempt, generation: Option<String>| async move {
        let deleted = || Step::Done(DeletedVariant { sku: sku.into() });
        let Some(generation) = generation else {
            let stock = stocks(&cx).get_settled(sku).await?;
            // The first call may have been interrupted. The sweep follows it, if it has to.
            return match stock.filter(|stock| stock.deleting) {
                Some(_deleted) => Ok(deleted()),
                None => Err(NotFound::new("variant", sku).into()),
            };
        };
        match close(&cx, sku, &generation, &attempt).await? {
            Closed::Yes => {}
            Closed::Reserved => {
                let why = "the variant can't be deleted: some of its stock is reserved for carts or orders";
                return Err(InUse::because(why).into());
            }
            Closed::Again => return Ok(Step::Again),
        }
        let _is_settled = follow_deletion(&cx, sku, &generation, &attempt).await?;
        Ok(deleted())
    })
    .await
}

/// What became of a stock that was to be closed.
enum Closed {
    /// It is closed.
    Yes,
    /// Some of it is reserved, so it stays open.
    Reserved,
    /// A first receipt arrived meanwhile.
    Again,
}

/// Closes the stock of a SKU for this generation of its product or variant, unless some of it is reserved.
async fn close(app: &App, sku: &str, generation: &str, attempt: &Attempt) -> Result<Closed, Error> {
    let closed = StockDocument {
        deleting: true,
        deleted: Some(generation.to_owned()),
        deletion_due: Some(attempt.now()),
        ..StockDocument::empty(sku)
    };
    Ok(match stocks(app).write(&store::deleting(sku, generation), attempt).await? {
        Verdict::Applied(_) => Closed::Yes,
        Verdict::Refused((), _) => Closed::Reserved,
        // It never had stock. A closed stock document refuses a first receipt in flight.
        Verdict::Missing if stocks(app).insert(&closed).await.decided()?.is_some() => Closed::Yes,
        Verdict::Missing => Closed::Again,
    })
}

/// Applies a committed deletion to the catalog and settles it. Returns whether it is settled. The deletion of a product isn't
/// while some stock of a variant that was added meanwhile is reserved. Then the sweep repeats it.
pub(in super::super) async fn follow_deletion(
    app: &App,
    sku: &str,
    generation: &str,
    attempt: &Attempt,
) -> Result<bool, Error> {
    if catalog::is_variant(sku) {
        catalog::operations::remove_variant(app, sku, generation, attempt).await?;
    } else {
        let mut are_removed = true;
        for variant in catalog::operations::delete(app, sku, generation, attempt).await? {
            are_removed &= remove_added(app, &variant, attempt).await?;
        }
        if !are_removed {
            return Ok(false);
        }
    }
    store::settle_deletion(app, sku, generation).held().await.map(|_was_due| true)
}

/// Closes the stock of a variant that was added while its product was deleted, and then removes it from the product. Returns
/// whether it is removed: it stays while some of its stock is reserved.
async fn remove_added(app: &App, variant: &Variant, attempt: &Attempt) -> Result<bool, Error> {
    let Variant { sku, generation, .. } = variant;
    loop {
        match close(app, sku, generation, attempt).await? {
            Closed::Yes => break,
            // A cart that reserved some may still buy it, as with the product itself before its deletion.
            Closed::Reserved => return Ok(false),
            Closed::Again if attempt.is_over() => return Err(attempt.overdue()),
            Closed::Again => {}
        }
    }
    catalog::operations::remove_variant(app, sku, generation, attempt).await?;
    store::settle_deletion(app, sku, generation).held().await.map(|_was_due| true)
}
