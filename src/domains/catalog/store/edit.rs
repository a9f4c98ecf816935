//! Writes that create and change products.

use mongodb::bson::{Bson, Document, doc};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        documents::{Content, Contributor, Pricing, ProductDocument},
        types::SetProductPriceInput,
    },
    begun_of, change, copying, everyone, next_version, outbox_has_room, plane_stage, there,
    works_due,
};
use crate::{
    app::App,
    domains::categories::CategoryCopy,
    error::Error,
    flow::Attempt,
    graphql::scalars::Long,
    mongo::{
        Outcome, Stored,
        collection::List,
        expression::{array, both, choose, literal, stored, stored_fields},
    },
};

pub(crate) async fn insert(app: &App, product: ProductDocument) -> Outcome<()> {
    app.collection().insert(product).await
}

/// Replaces the content of a product whose nonce is still `nonce`. With a new title, the works of all
/// contributors become due.
pub(crate) async fn update(
    app: &App,
    sku: &str,
    nonce: &str,
    next_nonce: &str,
    content: &Content,
    attempt: &Attempt,
) -> Outcome<ProductDocument> {
    let guard = both(both(there(sku), doc! { "nonce": nonce }), outbox_has_room());
    let mut set = content_fields(content, None);
    set.insert("nonce", literal(next_nonce));
    change(app, guard, vec![doc! { "$set": set }, plane_stage()], attempt).await
}

/// Sets prices and derived fields. The guard: the resulting retail price isn't higher than the resulting list
/// price, and a price that stays keeps its currency.
pub(crate) async fn set_price(
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
    change(app, guard, update, attempt).await
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
pub(crate) async fn categorize(
    app: &App,
    sku: &str,
    categories: &[CategoryCopy],
    token: &str,
    attempt: &Attempt,
) -> Outcome<ProductDocument> {
    let mut set = doc! { "categories": literal(stored(&categories)) };
    if !categories.is_empty() {
        set.insert("copying", copying(token, begun_of(categories)));
    }
    change(app, there(sku), vec![doc! { "$set": set }], attempt).await
}

/// One product of a bulk import.
#[derive(Debug, Clone)]
pub(crate) struct Imported {
    pub(crate) sku: String,
    pub(crate) content: Content,
    pub(crate) pricing: Pricing,
    pub(crate) categories: Vec<CategoryCopy>,
    /// Contributors. With `None` those of the product stay.
    pub(crate) contributors: Option<Vec<Contributor>>,
    /// Digest of the line.
    pub(crate) origin: String,
    /// Generation, if the product doesn't exist yet.
    pub(crate) generation: String,
    pub(crate) nonce: String,
}

/// Inserts products, or replaces content, price and categories of existing ones, and their contributors if
/// given. Returns the positions of products that are being removed.
pub(crate) async fn import(
    app: &App,
    products: &[Imported],
    token: &str,
) -> Result<Vec<usize>, Error> {
    let updates = products
        .iter()
        .map(|product| {
            let made_by = product.contributors.as_deref();
            let mut set = content_fields(&product.content, made_by);
            set.extend(doc! {
                "pricing": literal(stored(&product.pricing)),
                "categories": literal(stored(&product.categories)),
                "contributors": match made_by {
                    Some(contributors) => literal(stored(&contributors)),
                    None => array("contributors"),
                },
                "incarnation": { "$ifNull": ["$incarnation", literal(&product.generation)] },
                "nonce": literal(&product.nonce),
                "origin": literal(&product.origin),
                "v": 1,
            });
            if !product.categories.is_empty() || made_by.is_some_and(|all| !all.is_empty()) {
                let begun = begun_of(&product.categories);
                set.insert("copying", copying(token, begun));
            }
            (there(&product.sku), vec![doc! { "$set": set }, plane_stage()])
        })
        .collect();
    app.collection::<ProductDocument>().upsert_each(updates).await
}

/// Removes the mark of one bulk import after its copies were checked: the categories, and the names in the
/// products of `renamed`. Other products with copies of names may have been marked for these before, so they
/// are checked one by one.
pub(crate) async fn unmark_all(
    app: &App,
    skus: &[String],
    renamed: &[String],
    token: &str,
) -> Result<(), Error> {
    let is_checked = doc! { "$or": [{ "contributors": [] }, { "_id": { "$in": renamed } }] };
    let filter = both(doc! { "_id": { "$in": skus }, "copying.token": token }, is_checked);
    let update = doc! { "$unset": { "copying": 1 } };
    app.collection::<ProductDocument>().update_many(filter, update, vec![]).await?;
    Ok(())
}

/// Sets the stemming of products without a language that have another one, in the batch of products after
/// `after`. Returns the last SKU of the batch, and the number of changed products; `None` at the end.
pub(crate) async fn set_stemming(
    app: &App,
    after: &str,
    stemming: &str,
) -> Result<Option<(String, u64)>, Error> {
    /// A product's key alone.
    #[derive(Serialize, Deserialize)]
    struct Key {
        #[serde(rename = "_id")]
        sku: String,
    }
    impl Stored for Key {
        const COLLECTION: &'static str = ProductDocument::COLLECTION;
    }
    let list = List {
        filter: doc! { "_id": { "$gt": after } },
        sort: doc! { "_id": 1 },
        limit: 1_000,
        projection: Some(doc! { "_id": 1 }),
        hint: Some("_id_"),
        ..List::default()
    };
    let Some(Key { sku: upto }) = app.collection::<Key>().list(list).await?.pop() else {
        return Ok(None);
    };
    let filter = doc! {
        "_id": { "$gt": after, "$lte": &upto },
        "language": { "$exists": false },
        "stemming": { "$ne": stemming },
    };
    let update = doc! { "$set": { "stemming": stemming } };
    let changed = app.collection::<ProductDocument>().update_many(filter, update, vec![]).await?;
    Ok(Some((upto, changed)))
}

/// The fields to set for a content. `version` and `outbox` change if the title or the contributors change.
fn content_fields(content: &Content, made_by: Option<&[Contributor]>) -> Document {
    let retitled = doc! { "$ne": ["$title", literal(&content.title)] };
    let (works_change, concerned) = match made_by {
        None => (retitled, everyone()),
        Some(all) => {
            let others = doc! { "$ne": [array("contributors"), literal(stored(&all))] };
            let people: Vec<Bson> = all.iter().map(|one| Bson::from(&one.person_id)).collect();
            let all = doc! { "$setUnion": [everyone(), literal(people)] };
            (doc! { "$or": [retitled, others] }, Bson::Document(all))
        }
    };
    let literals = stored_fields(content).into_iter().map(|(field, value)| (field, literal(value)));
    let mut fields: Document = literals.collect();
    for optional in ["language", "asin", "shipping"] {
        fields.entry(optional.to_owned()).or_insert_with(|| "$$REMOVE".into());
    }
    let nobody = Bson::Array(vec![]);
    fields.extend(doc! {
        "version": choose(works_change.clone(), next_version(), "$version"),
        "outbox": works_due(choose(works_change, concerned, nobody)),
    });
    fields
}
