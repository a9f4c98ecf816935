//! Writes that create and change products.

use mongodb::bson::{Bson, Document, doc, serialize_to_bson};

use super::{
    super::{
        documents::{Contributor, Pricing, ProductDocument},
        operations::Content,
        types::SetProductPriceInput,
    },
    begun_of, copying, everyone, next_version, outbox_has_room, plane_stage, there, works_due,
};
use crate::{
    app::App,
    domains::categories::CategoryCopy,
    error::Error,
    flow::Attempt,
    graphql::scalars::Long,
    mongo::{
        Outcome,
        expression::{array, both, choose, literal},
    },
};

pub(in super::super) async fn insert(app: &App, product: ProductDocument) -> Outcome<()> {
    app.collection().insert(product).await
}

/// Replaces the content of a product whose nonce is still `nonce`. With a new title, the works of all
/// contributors become due.
pub(in super::super) async fn update(
    app: &App,
    sku: &str,
    nonce: &str,
    next_nonce: &str,
    content: &Content,
    attempt: &Attempt,
) -> Result<Outcome<ProductDocument>, Error> {
    let mut guard = both(there(sku), doc! { "nonce": nonce });
    guard = both(guard, outbox_has_room());
    let mut set = content_fields(content, None)?;
    set.insert("nonce", literal(next_nonce));
    let update = vec![doc! { "$set": set }, plane_stage()];
    Ok(app.collection::<ProductDocument>().guarded(guard, update).within(attempt).apply().await)
}

/// Sets prices and derived fields. The guard: the resulting retail price isn't higher than the resulting list
/// price, and a price that stays keeps its currency.
pub(in super::super) async fn set_price(
    app: &App,
    new: &SetProductPriceInput,
    attempt: &Attempt,
) -> Outcome<ProductDocument> {
    let amount = |given: Option<Long>, field: &str| {
        given.map_or(Bson::from(field), |Long(amount)| literal(amount))
    };
    let list = amount(new.list, "$pricing.list");
    let retail = amount(new.retail, "$pricing.retail");
    let is_ordered = doc! { "$expr": { "$lte": [retail.clone(), list.clone()] } };
    let mut guard = both(there(&new.sku), is_ordered);
    let mut pricing = doc! { "pricing.list": list, "pricing.retail": retail };
    if let Some(currency) = new.currency {
        if new.list.is_none() || new.retail.is_none() {
            guard.insert("pricing.currency", currency.code());
        }
        pricing.insert("pricing.currency", literal(currency.code()));
    }
    let update = vec![doc! { "$set": pricing }, savings_stage(), plane_stage()];
    app.collection::<ProductDocument>().guarded(guard, update).within(attempt).apply().await
}

/// Pipeline stage that computes savings and percentage from the two prices.
fn savings_stage() -> Document {
    let savings = doc! { "$subtract": ["$pricing.list", "$pricing.retail"] };
    let hundredfold = doc! { "$multiply": [savings.clone(), 100_i64] };
    let percent = doc! { "$floor": { "$divide": [hundredfold, "$pricing.list"] } };
    let free = doc! { "$eq": ["$pricing.list", 0_i64] };
    doc! { "$set": {
        "pricing.savings": savings,
        "pricing.pctSavings": choose(free, 0, doc! { "$toInt": percent }),
    } }
}

/// Replaces the categories, and marks the product as copying them.
pub(in super::super) async fn categorize(
    app: &App,
    sku: &str,
    categories: &[CategoryCopy],
    token: &str,
    attempt: &Attempt,
) -> Result<Outcome<ProductDocument>, Error> {
    let mut set = doc! { "categories": literal(bson(&categories)?) };
    if !categories.is_empty() {
        set.insert("copying", copying(token, begun_of(categories)));
    }
    let update = vec![doc! { "$set": set }];
    Ok(app
        .collection::<ProductDocument>()
        .guarded(there(sku), update)
        .within(attempt)
        .apply()
        .await)
}

/// One product of a bulk import.
#[derive(Debug, Clone)]
pub(in super::super) struct Imported {
    /// The SKU.
    pub(in super::super) sku: String,
    /// Content.
    pub(in super::super) content: Content,
    /// Prices.
    pub(in super::super) pricing: Pricing,
    /// Copies of its categories.
    pub(in super::super) categories: Vec<CategoryCopy>,
    /// Contributors. With `None` those of the product stay.
    pub(in super::super) contributors: Option<Vec<Contributor>>,
    /// Digest of the line.
    pub(in super::super) origin: String,
    /// Generation, if the product doesn't exist yet.
    pub(in super::super) incarnation: String,
    /// The new nonce.
    pub(in super::super) nonce: String,
}

/// Inserts products, or replaces content, price and categories of existing ones, and their contributors if
/// given. Returns the positions of products that are being removed.
pub(in super::super) async fn import(
    app: &App,
    products: &[Imported],
    token: &str,
) -> Result<Vec<usize>, Error> {
    let updates = products
        .iter()
        .map(|product| {
            let made_by = product.contributors.as_deref();
            let mut set = content_fields(&product.content, made_by)?;
            set.extend(doc! {
                "pricing": literal(bson(&product.pricing)?),
                "categories": literal(bson(&product.categories)?),
                "contributors": match made_by {
                    Some(contributors) => literal(bson(&contributors)?),
                    None => array("contributors"),
                },
                "incarnation": { "$ifNull": ["$incarnation", literal(&product.incarnation)] },
                "nonce": literal(&product.nonce),
                "origin": literal(&product.origin),
                "v": 1,
            });
            if !product.categories.is_empty() || made_by.is_some_and(|all| !all.is_empty()) {
                let begun = begun_of(&product.categories);
                set.insert("copying", copying(token, begun));
            }
            Ok((there(&product.sku), vec![doc! { "$set": set }, plane_stage()]))
        })
        .collect::<Result<_, Error>>()?;
    app.collection::<ProductDocument>().upsert_each(updates).await
}

/// Removes the mark of one bulk import after its copies were checked: the categories, and the names in the
/// products of `renamed`. Other products with copies of names may have been marked for these before, so they
/// are checked one by one.
pub(in super::super) async fn unmark_all(
    app: &App,
    skus: &[String],
    renamed: &[String],
    token: &str,
) -> Result<(), Error> {
    let looked_at = doc! { "$or": [{ "contributors": [] }, { "_id": { "$in": renamed } }] };
    let filter = both(doc! { "_id": { "$in": skus }, "copying.token": token }, looked_at);
    let update = doc! { "$unset": { "copying": 1 } };
    app.collection::<ProductDocument>().update_many(filter, update, vec![]).await?;
    Ok(())
}

/// The fields to set for a content. `version` and `outbox` change if the title or the contributors change.
fn content_fields(content: &Content, made_by: Option<&[Contributor]>) -> Result<Document, Error> {
    let retitled = doc! { "$ne": ["$title", literal(&content.title)] };
    let (works_change, concerned) = match made_by {
        None => (retitled, everyone()),
        Some(all) => {
            let others = doc! { "$ne": [array("contributors"), literal(bson(&all)?)] };
            let people: Vec<Bson> = all.iter().map(|one| Bson::from(&one.person_id)).collect();
            let all = doc! { "$setUnion": [everyone(), literal(people)] };
            (doc! { "$or": [retitled, others] }, Bson::Document(all))
        }
    };
    let optional = |value: Bson| match value {
        Bson::Null => Bson::from("$$REMOVE"),
        value => literal(value),
    };
    let nobody = Bson::Array(vec![]);
    Ok(doc! {
        "type": literal(&content.kind),
        "title": literal(&content.title),
        "titleKey": literal(&content.title_key),
        "description": literal(&content.description),
        "language": optional(bson(&content.language)?),
        "stemming": content.stemming,
        "asin": optional(bson(&content.asin)?),
        "issued": literal(&content.issued),
        "shipping": optional(bson(&content.shipping)?),
        "details": literal(bson(&content.details)?),
        "properties": literal(bson(&content.properties)?),
        "version": choose(works_change.clone(), next_version(), "$version"),
        "outbox": works_due(choose(works_change, concerned, nobody)),
    })
}

fn bson(value: &impl serde::Serialize) -> Result<Bson, Error> {
    serialize_to_bson(value).map_err(Error::internal)
}
