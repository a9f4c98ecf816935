//! Creation and changes of products, and the credits of people.

use super::{
    super::{
        documents::{Content, Contributor, Copying, Pricing, ProductDocument, coordinate},
        store::{self, NotChanged, products},
        types::{
            CategorizeProductInput, CategorizeProductResult, CreateProductInput,
            CreateProductResult, CreditPersonInput, CreditPersonResult, SetProductPriceInput,
            SetProductPriceResult, UncreditPersonInput, UncreditPersonResult, UpdateProductInput,
            UpdateProductResult,
        },
    },
    Changed,
    follow::{finish, write},
};
use crate::{
    domains::{
        categories::{self, CategoryCopy},
        counted::FacetMark,
        people::operations::{WORKS, names},
    },
    graphql::prelude::*,
    mongo::Version,
};

/// Creates a product. The SKU is its key: a repeat of the call returns the product.
pub async fn create_product(cx: Cx<'_>, input: CreateProductInput) -> Changed<CreateProductResult> {
    let input = input.checked()?;
    let origin = Op::digest(&*input);
    let attempt = cx.begin().await?;
    let current = current_categories::<CreateProductResult>(&cx, &input.category_ids).await;
    let categories = match current {
        Ok(categories) => categories,
        Err(refused) => {
            // A repeat is answered even if the product has left a category that is gone.
            let is_same =
                |found: &ProductDocument| found.deleted_at.is_none() && found.origin == origin;
            let found = products(&cx).get_settled(&input.sku).await?.filter(is_same);
            return Ok(finish(&cx, &attempt, found.ok_or(refused)?).await?);
        }
    };
    let product = new_product(&cx, &attempt, input.into_inner(), categories, origin);
    if products(&cx).insert(&product).await.decided()?.is_some() {
        return Ok(finish(&cx, &attempt, product).await?);
    }
    match products(&cx).get_settled(&product.sku).await? {
        Some(found) if found.deleted_at.is_some() => {
            let message = "a product of this SKU is being removed; try again in a minute";
            Err(InUse::because(message).into())
        }
        // A repeat finishes what the first call left.
        Some(found) if found.origin == product.origin => Ok(finish(&cx, &attempt, found).await?),
        Some(_) => Err(AlreadyExists::new("product", product.sku).into()),
        None => Err(Error::unavailable("the SKU was free again a moment later").into()),
    }
}

fn new_product(
    app: &App,
    attempt: &Attempt,
    input: CreateProductInput,
    categories: Vec<CategoryCopy>,
    origin: String,
) -> ProductDocument {
    let (content, pricing) = (Content::of(app, input.content), Pricing::from(input.pricing));
    let unconfirmed: Vec<String> = categories.iter().map(|copy| copy.id.clone()).collect();
    let mark = || Copying { token: app.ids().random(), at: attempt.now(), unconfirmed };
    let point = |weight| [coordinate(pricing.retail), coordinate(weight)];
    ProductDocument {
        sku: input.sku.0,
        generation: app.ids().random(),
        plane: content.shipping.map(|shipping| point(shipping.weight)),
        content,
        pricing,
        variants: Vec::new(),
        copying: (!categories.is_empty()).then(mark),
        facets: (!categories.is_empty()).then(|| FacetMark::new(attempt.now())),
        categories,
        contributors: Vec::new(),
        images: None,
        content_version: app.ids().random(),
        version: attempt.now().timestamp_millis(),
        slug: None,
        slugs: Vec::new(),
        origin,
        outbox: Vec::new(),
        discussion: None,
        meta: None,
        deleted_at: None,
        v: Version,
    }
}

/// Replaces the content, guarded by the version that the client read.
pub async fn update_product(cx: Cx<'_>, input: UpdateProductInput) -> Changed<UpdateProductResult> {
    let UpdateProductInput { sku, version, content } = input.checked()?.into_inner();
    // The next version is derived from this one and the content, so it identifies a repeat.
    let digest = Op::digest(&content);
    let next = cx.ids().derived(&["nonce", &sku, &version, &digest]);
    let content = Content::of(&cx, content);
    let attempt = cx.begin().await?;
    let update = store::update(&sku, &version, &next, &content);
    match write(&cx, &attempt, &sku, update).await? {
        Ok(product) => Ok(product),
        Err((_, product)) if product.content_version == next => {
            Ok(finish(&cx, &attempt, product).await?)
        }
        Err((_, product)) => Err(Conflict::stale_version(product.content_version).into()),
    }
}

/// Changes prices. An absent price stays.
pub async fn set_product_price(
    cx: Cx<'_>,
    input: SetProductPriceInput,
) -> Changed<SetProductPriceResult> {
    let input = &input.checked()?;
    if input.list.is_none() && input.retail.is_none() {
        return Err(InvalidInput::new("retail", "is missing: give `retail`, `list` or both").into());
    }
    let attempt = cx.begin().await?;
    match write(&cx, &attempt, &input.sku, store::set_price(input)).await? {
        Ok(product) => Ok(product),
        Err((NotChanged::OtherCurrency, _)) => {
            let reason = "is another than the stored one: give both prices";
            Err(InvalidInput::new("currency", reason).into())
        }
        Err((NotChanged::Differences, _)) => {
            let reason =
                "is another than that of the variants' price differences: set these to 0 first";
            Err(InvalidInput::new("currency", reason).into())
        }
        Err((NotChanged::Underpriced, _)) => {
            let reason = "would be less than what a variant costs less than the product";
            Err(InvalidInput::new("retail", reason).into())
        }
        Err((_, product)) => {
            let list = input.list.map_or(product.pricing.list, i64::from);
            let field = if input.retail.is_some() { "retail" } else { "list" };
            let reason = format!("would put the retail price above the list price of {list}");
            Err(InvalidInput::new(field, reason).into())
        }
    }
}

/// Replaces all categories of the product.
pub async fn categorize_product(
    cx: Cx<'_>,
    input: CategorizeProductInput,
) -> Changed<CategorizeProductResult> {
    let CategorizeProductInput { sku, category_ids } = &*input.checked()?;
    let attempt = cx.begin().await?;
    let categories = current_categories(&cx, category_ids).await?;
    let categorize = store::categorize(sku, &categories, &cx.ids().random());
    // Nothing but a missing product refuses it.
    let written = write(&cx, &attempt, sku, categorize).await?;
    Ok(written.unwrap_or_else(|(_, product)| product))
}

/// Credits a person with a role in the product. An existing credit stays as it is.
pub async fn credit_person(cx: Cx<'_>, input: CreditPersonInput) -> Changed<CreditPersonResult> {
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
) -> Changed<UncreditPersonResult> {
    let UncreditPersonInput { sku, person_id, role } = &*input.checked()?;
    let attempt = cx.begin().await?;
    match write(&cx, &attempt, sku, store::uncredit(sku, person_id, role.as_str())).await? {
        Ok(product) => Ok(product),
        Err((_, uncredited)) => Ok(finish(&cx, &attempt, uncredited).await?),
    }
}

/// Current copies of the categories with these `_id`s.
async fn current_categories<U: From<NotFound>>(
    app: &App,
    ids: &[ID],
) -> Result<Vec<CategoryCopy>, Stop<U>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<String> = ids.iter().map(|id| id.0.clone()).collect();
    let copies = categories::operations::copies(app, &ids).await?;
    match ids.iter().find(|id| !copies.iter().any(|copy| copy.id == **id)) {
        Some(missing) => Err(NotFound::of(NodeKind::CATEGORY, missing).into()),
        // They have the order of their ids.
        None => Ok(copies),
    }
}
