//! Creating and changing products.

use async_graphql::ID;

use super::{
    super::{
        documents::{Copying, Pricing, ProductDocument, coordinate},
        store::{self, Price},
        types::{
            CategorizeProductInput, CategorizeProductResult, CreateProductInput,
            CreateProductResult, SetProductPriceInput, SetProductPriceResult, UpdateProductInput,
            UpdateProductResult,
        },
    },
    checks::{Content, checked_content, checked_price, checked_pricing},
    follow::finish,
};
use crate::{
    app::App,
    domains::categories::{self, CategoryCopy},
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{AlreadyExists, Conflict, InUse, InvalidInput, NotFound, Refusal, Stop},
    },
    mongo::{Run, Version},
};

/// Categories that a product is in at the most.
pub(in super::super) const CATEGORIES: usize = 20;

/// A new product. The SKU is its key: the same call sent again is answered with the product.
///
/// # Errors
/// A refusal, or trouble.
pub async fn create(
    app: &App,
    new: &CreateProductInput,
) -> Result<ProductDocument, Stop<CreateProductResult>> {
    let sku = input::key("sku", &new.sku)?;
    let content = checked_content(app, &new.content)?;
    let pricing = checked_pricing(&new.pricing)?;
    let ids = category_ids(&new.categories)?;
    let origin = app.ids().op(&["createProduct"], None, &(&content, &pricing, &ids)).input;
    let run = app.begin().await?;
    let categories = wanted_categories(app, &ids).await?;
    let product = assembled(app, &run, &sku, content, pricing, categories, origin.clone());
    if store::insert(app, product.clone()).await.decided()?.is_some() {
        return Ok(finish(app, &run, product).await?);
    }
    match store::find(app, &sku).await? {
        Some(product) if product.deleted_at.is_some() => {
            let message = "a product of this SKU is being removed; try again in a minute";
            Err(InUse::because(message).into())
        }
        // A repeat goes forward with what the first call left.
        Some(product) if product.origin == origin => Ok(finish(app, &run, product).await?),
        Some(_) => Err(AlreadyExists::new("product", sku).into()),
        None => Err(Error::unavailable("the SKU was free again a moment later").into()),
    }
}

fn assembled(
    app: &App,
    run: &Run,
    sku: &str,
    content: Content,
    pricing: Pricing,
    categories: Vec<CategoryCopy>,
    origin: String,
) -> ProductDocument {
    let begun: Vec<String> = categories.iter().map(|copy| copy.id.clone()).collect();
    let copying =
        (!begun.is_empty()).then(|| Copying { token: app.ids().random(), at: run.now(), begun });
    let plane =
        content.shipping.map(|shipping| [coordinate(pricing.retail), coordinate(shipping.weight)]);
    ProductDocument {
        sku: sku.to_owned(),
        incarnation: app.ids().random(),
        kind: content.kind,
        title: content.title,
        title_key: content.title_key,
        description: content.description,
        language: content.language,
        stemming: content.stemming.to_owned(),
        asin: content.asin,
        issued: content.issued,
        shipping: content.shipping,
        pricing,
        plane,
        details: content.details,
        properties: content.properties,
        categories,
        contributors: Vec::new(),
        nonce: app.ids().random(),
        version: run.now().timestamp_millis(),
        origin,
        outbox: Vec::new(),
        copying,
        discussion: None,
        deleted_at: None,
        v: Version,
    }
}

/// Another content, unless the product changed since its nonce was read.
///
/// # Errors
/// A refusal, or trouble.
pub async fn update(
    app: &App,
    change: &UpdateProductInput,
) -> Result<ProductDocument, Stop<UpdateProductResult>> {
    let sku = input::sku(&change.sku)?;
    let nonce = input::verbatim("nonce", &change.nonce, 1..=128)?;
    let content = checked_content(app, &change.content)?;
    // The next nonce comes from this one and the content, so that a repeat is known by it.
    let digest = app.ids().op(&["updateProduct"], None, &content).input;
    let next = app.ids().derived(&["nonce", &sku, &nonce, &digest]);
    let run = app.begin().await?;
    let updated = store::update(app, &sku, &nonce, &next, &content, &run).await?;
    if let Some(product) = updated.decided()? {
        return Ok(finish(app, &run, product).await?);
    }
    let product = explained(app, &sku).await?;
    if product.nonce == next {
        return Ok(finish(app, &run, product).await?);
    }
    if product.nonce != nonce {
        return Err(Conflict::stale_nonce(product.nonce).into());
    }
    uncrowded(&product, &run)?;
    Err(run.overdue().into())
}

/// Another price. What isn't given stays.
///
/// # Errors
/// A refusal, or trouble.
pub async fn set_price(
    app: &App,
    change: &SetProductPriceInput,
) -> Result<ProductDocument, Stop<SetProductPriceResult>> {
    let sku = input::sku(&change.sku)?;
    let list = change.list.map(|list| checked_price("list", list.0)).transpose()?;
    let retail = change.retail.map(|retail| checked_price("retail", retail.0)).transpose()?;
    if list.is_none() && retail.is_none() {
        return Err(InvalidInput::new("retail", "is missing, and so is `list`").into());
    }
    let price = Price { list, retail, currency: change.currency };
    let run = app.begin().await?;
    loop {
        if let Some(product) = store::set_price(app, &sku, price, &run).await.decided()? {
            return Ok(product);
        }
        let product = explained(app, &sku).await?;
        fits_stored(price, product.pricing)?;
        // The stored prices didn't fit for a moment: once more.
        uncrowded(&product, &run)?;
    }
}

/// Whether a price goes together with what stays of the stored one.
fn fits_stored(price: Price, stored: Pricing) -> Result<(), InvalidInput> {
    let whole = price.list.is_some() && price.retail.is_some();
    if !whole && price.currency.is_some_and(|currency| currency != stored.currency) {
        let reason = "is another than the stored one: give both prices";
        return Err(InvalidInput::new("currency", reason));
    }
    let list = price.list.unwrap_or(stored.list);
    if price.retail.unwrap_or(stored.retail) > list {
        let field = if price.retail.is_some() { "retail" } else { "list" };
        let reason = format!("would put the retail price above the list price of {list}");
        return Err(InvalidInput::new(field, reason));
    }
    Ok(())
}

/// Other categories, instead of all that the product has.
///
/// # Errors
/// A refusal, or trouble.
pub async fn categorize(
    app: &App,
    change: &CategorizeProductInput,
) -> Result<ProductDocument, Stop<CategorizeProductResult>> {
    let sku = input::sku(&change.sku)?;
    let ids = category_ids(&change.categories)?;
    let run = app.begin().await?;
    let wanted = wanted_categories(app, &ids).await?;
    let token = app.ids().random();
    let categorized = store::categorize(app, &sku, &wanted, &token, &run).await?;
    if let Some(product) = categorized.decided()? {
        return Ok(finish(app, &run, product).await?);
    }
    explained(app, &sku).await?;
    Err(run.overdue().into())
}

/// The product after a refusal, to tell why.
pub(super) async fn explained<U>(app: &App, sku: &str) -> Result<ProductDocument, Stop<U>>
where
    U: From<NotFound>,
{
    let product = store::find(app, sku).await?.filter(|product| product.deleted_at.is_none());
    product.ok_or_else(|| NotFound::new("product", sku).into())
}

/// After a refusal that no other guard explains: whether there is room and time to try again.
pub(super) fn uncrowded(product: &ProductDocument, run: &Run) -> Result<(), Error> {
    if product.outbox.len() >= store::DUE {
        return Err(Error::RateLimited("too many changes of this product are still under way"));
    }
    if run.is_over() { Err(run.overdue()) } else { Ok(()) }
}

/// The `_id`s behind global ids of categories, each once.
fn category_ids<U>(ids: &[ID]) -> Result<Vec<String>, Stop<U>>
where
    U: From<InvalidInput> + From<NotFound>,
{
    input::at_most("categories", ids, CATEGORIES)?;
    let mut keys = Vec::new();
    for id in ids {
        let key = input::id(NodeKind::Category, id)?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// The categories as they are now, all of them.
async fn wanted_categories<U>(app: &App, wanted: &[String]) -> Result<Vec<CategoryCopy>, Stop<U>>
where
    U: From<NotFound>,
    NotFound: Refusal,
{
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let copies = categories::operations::copies(app, wanted).await?;
    let copy = |key: &String| copies.iter().find(|copy| copy.id == *key).cloned();
    let found = wanted
        .iter()
        .map(|key| copy(key).ok_or_else(|| NotFound::of(NodeKind::Category, key).into()));
    found.collect()
}
