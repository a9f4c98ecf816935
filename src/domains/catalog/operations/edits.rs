//! Creation and changes of products.

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
    flow::Attempt,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{AlreadyExists, Conflict, InUse, InvalidInput, NotFound, Refusal, Stop},
    },
    mongo::Version,
};

/// Maximum number of categories of a product.
pub(in super::super) const CATEGORIES: usize = 20;

/// Creates a product. The SKU is its key: a repeat of the call returns the product.
pub async fn create(
    app: &App,
    new: &CreateProductInput,
) -> Result<ProductDocument, Stop<CreateProductResult>> {
    let sku = input::key("sku", &new.sku)?;
    let content = checked_content(app, &new.content)?;
    let pricing = checked_pricing(&new.pricing)?;
    let ids = category_ids(&new.categories)?;
    let origin = app.ids().op(&["createProduct"], None, &(&content, &pricing, &ids)).input;
    let attempt = app.begin().await?;
    let categories = wanted_categories(app, &ids).await?;
    let product = assembled(app, &attempt, &sku, content, pricing, categories, origin.clone());
    if store::insert(app, product.clone()).await.decided()?.is_some() {
        return Ok(finish(app, &attempt, product).await?);
    }
    match store::find(app, &sku).await? {
        Some(product) if product.deleted_at.is_some() => {
            let message = "a product of this SKU is being removed; try again in a minute";
            Err(InUse::because(message).into())
        }
        // A repeat finishes what the first call left.
        Some(product) if product.origin == origin => Ok(finish(app, &attempt, product).await?),
        Some(_) => Err(AlreadyExists::new("product", sku).into()),
        None => Err(Error::unavailable("the SKU was free again a moment later").into()),
    }
}

fn assembled(
    app: &App,
    attempt: &Attempt,
    sku: &str,
    content: Content,
    pricing: Pricing,
    categories: Vec<CategoryCopy>,
    origin: String,
) -> ProductDocument {
    let begun: Vec<String> = categories.iter().map(|copy| copy.id.clone()).collect();
    let copying = (!begun.is_empty()).then(|| Copying {
        token: app.ids().random(),
        at: attempt.now(),
        begun,
    });
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
        version: attempt.now().timestamp_millis(),
        origin,
        outbox: Vec::new(),
        copying,
        discussion: None,
        deleted_at: None,
        v: Version,
    }
}

/// Replaces the content, guarded by the nonce that the client read.
pub async fn update(
    app: &App,
    change: &UpdateProductInput,
) -> Result<ProductDocument, Stop<UpdateProductResult>> {
    let sku = input::sku(&change.sku)?;
    let nonce = input::verbatim("version", &change.version, 1..=128)?;
    let content = checked_content(app, &change.content)?;
    // The next nonce is derived from this one and the content, so it identifies a repeat.
    let digest = app.ids().op(&["updateProduct"], None, &content).input;
    let next = app.ids().derived(&["nonce", &sku, &nonce, &digest]);
    let attempt = app.begin().await?;
    let updated = store::update(app, &sku, &nonce, &next, &content, &attempt).await?;
    if let Some(product) = updated.decided()? {
        return Ok(finish(app, &attempt, product).await?);
    }
    let product = explained(app, &sku).await?;
    if product.nonce == next {
        return Ok(finish(app, &attempt, product).await?);
    }
    if product.nonce != nonce {
        return Err(Conflict::stale_nonce(product.nonce).into());
    }
    uncrowded(&product, &attempt)?;
    Err(attempt.overdue().into())
}

/// Changes prices. An absent price stays.
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
    let attempt = app.begin().await?;
    loop {
        if let Some(product) = store::set_price(app, &sku, price, &attempt).await.decided()? {
            return Ok(product);
        }
        let product = explained(app, &sku).await?;
        fits_stored(price, product.pricing)?;
        // The stored prices have changed since the refusal: try again.
        uncrowded(&product, &attempt)?;
    }
}

/// Checks that the new price and the rest of the stored one are consistent.
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

/// Replaces all categories of the product.
pub async fn categorize(
    app: &App,
    change: &CategorizeProductInput,
) -> Result<ProductDocument, Stop<CategorizeProductResult>> {
    let sku = input::sku(&change.sku)?;
    let ids = category_ids(&change.categories)?;
    let attempt = app.begin().await?;
    let wanted = wanted_categories(app, &ids).await?;
    let token = app.ids().random();
    let categorized = store::categorize(app, &sku, &wanted, &token, &attempt).await?;
    if let Some(product) = categorized.decided()? {
        return Ok(finish(app, &attempt, product).await?);
    }
    explained(app, &sku).await?;
    Err(attempt.overdue().into())
}

/// The product after a refusal, to explain it.
pub(super) async fn explained<U>(app: &App, sku: &str) -> Result<ProductDocument, Stop<U>>
where
    U: From<NotFound>,
{
    let product = store::find(app, sku).await?.filter(|product| product.deleted_at.is_none());
    product.ok_or_else(|| NotFound::new("product", sku).into())
}

/// Checks after an unexplained refusal whether there is room and time for another try.
pub(super) fn uncrowded(product: &ProductDocument, attempt: &Attempt) -> Result<(), Error> {
    if product.outbox.len() >= store::DUE {
        return Err(Error::RateLimited("too many changes of this product are still under way"));
    }
    if attempt.is_over() { Err(attempt.overdue()) } else { Ok(()) }
}

/// The `_id`s of the categories' global ids, each once.
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

/// Current copies of all of these categories.
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
