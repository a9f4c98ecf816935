//! Writes that create and change products.

use super::{
    super::{
        documents::{Content, Contributor, Pricing, ProductDocument, Variant},
        types::SetProductPriceInput,
    },
    NotChanged, copying, differs, everyone, existing, exists, next_version, outbox_has_room,
    plane_stage, products, unconfirmed_of, works_due,
};
use crate::{
    domains::{categories::CategoryCopy, counted, images::ImageRef},
    graphql::prelude::*,
    mongo::{Walk, prelude::*},
};

/// Replaces the content of a product whose content is of this version. With a new title, the works of all
/// contributors become due.
pub(in super::super) fn update(
    sku: &str,
    version: &str,
    next_version: &str,
    content: &Content,
) -> Change<NotChanged> {
    let is_read = (is("nonce", version), NotChanged::OtherVersion);
    let mut set = content_fields(content, None);
    let facets = counted::changed(false, has_other_facets(content));
    set.extend(doc! { "nonce": literal(next_version), "facets": facets });
    Change::ruled(sku, [exists(), is_read, outbox_has_room()], set).then([plane_stage()])
}

/// Sets prices and derived fields. The rules: the resulting retail price isn't higher than the resulting list
/// price, and a price that stays keeps its currency.
pub(in super::super) fn set_price(new: &SetProductPriceInput) -> Change<NotChanged> {
    let amount = |given: Option<Long>, field: &str| {
        given.map_or(Number::from(field), |Long(amount)| amount.into())
    };
    let list = amount(new.list, "pricing.list");
    let retail = amount(new.retail, "pricing.retail");
    // The list price isn't counted.
    let mut others = vec![doc! { "$ne": ["$pricing.retail", retail.expression()] }];
    let mut pricing = doc! {
        "pricing.list": list.expression(),
        "pricing.retail": retail.expression(),
    };
    let mut rules = vec![exists()];
    if let Some(currency) = new.currency {
        others.push(doc! { "$ne": ["$pricing.currency", literal(currency.code())] });
        if new.list.is_none() || new.retail.is_none() {
            rules.push((is("pricing.currency", currency.code()), NotChanged::OtherCurrency));
        }
        let is_same = is("pricing.currency", currency.code());
        rules.push((Condition::Any(vec![is_same, differs().negated()]), NotChanged::Differences));
        pricing.insert("pricing.currency", literal(currency.code()));
    }
    pricing.insert("facets", counted::changed(false, doc! { "$or": others }));
    if let Some(Long(retail)) = new.retail {
        let is_dearer = at_least("difference", -retail);
        let is_negative = has_element("variants", [is_dearer.negated()]);
        rules.push((is_negative.negated(), NotChanged::Underpriced));
    }
    rules.push((at_least(list, retail), NotChanged::Unordered));
    Change::ruled(&new.sku.0, rules, pricing).then([savings_stage(), plane_stage()]).numbered()
}

/// Expression: facets count the product in another way with this content. It is evaluated before the change.
fn has_other_facets(content: &Content) -> Document {
    doc! { "$or": [
        { "$ne": ["$type", literal(&content.kind)] },
        { "$ne": [array("properties"), literal(stored(&content.properties))] },
    ] }
}

/// Expression: the product is in other categories than these, or they have other paths there.
fn has_other_categories(categories: &[CategoryCopy]) -> Document {
    let paths = categories.iter().map(|copy| copy.path.as_str()).collect();
    counted::has_others("categories", "path", paths)
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
pub(in super::super) fn categorize(
    sku: &str,
    categories: &[CategoryCopy],
    token: &str,
) -> Change<NotChanged> {
    let mut set = doc! {
        "categories": literal(stored(&categories)),
        "facets": counted::changed(!categories.is_empty(), has_other_categories(categories)),
    };
    if !categories.is_empty() {
        set.insert("copying", copying(token, unconfirmed_of(categories)));
    }
    Change::ruled(sku, [exists()], set).numbered()
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
}

/// Inserts products, or replaces content, price and categories of existing ones, and their contributors if
/// given. Returns the positions of products that are being removed, and of those whose variants the price doesn't fit, as in
/// [`set_price`].
pub(crate) async fn import(app: &App, imported: &[Imported], token: &str) -> Result<Vec<usize>> {
    let update = |product: &Imported| {
        let contributors = product.contributors.as_deref();
        let mut set = content_fields(&product.content, contributors);
        let Pricing { retail, currency, .. } = product.pricing;
        let mut others = vec![
            has_other_facets(&product.content),
            has_other_categories(&product.categories),
            doc! { "$ne": ["$pricing.retail", retail] },
            doc! { "$ne": ["$pricing.currency", literal(currency.code())] },
        ];
        if let Some(all) = contributors {
            others.push(doc! { "$ne": [array("contributors"), literal(stored(&all))] });
        }
        let is_other = doc! { "$or": others };
        set.extend(doc! {
            "pricing": literal(stored(&product.pricing)),
            "categories": literal(stored(&product.categories)),
            "contributors": match contributors {
                Some(contributors) => literal(stored(&contributors)),
                None => array("contributors"),
            },
            "incarnation": { "$ifNull": ["$incarnation", literal(app.ids().random())] },
            "nonce": literal(app.ids().random()),
            "origin": literal(&product.origin),
            "facets": counted::changed(!product.categories.is_empty(), is_other),
            "v": 1,
        });
        if !product.categories.is_empty() || contributors.is_some_and(|all| !all.is_empty()) {
            set.insert("copying", copying(token, unconfirmed_of(&product.categories)));
        }
        let fitting = both(existing(&product.sku), fits_variants(&product.pricing));
        (fitting, vec![doc! { "$set": set }, plane_stage()])
    };
    products(app).upsert_each_numbered(imported.iter().map(update).collect()).await
}

document! {
    /// What the check of an import needs of a product.
    pub(crate) struct Present {
        pub(crate) sku as "_id": String,
        pub(crate) generation as "incarnation": String,
        pub(crate) slug?: String,
        #[serde(default)]
        pub(crate) slugs: Vec<String>,
        pub(crate) pricing: Pricing,
        #[serde(default)]
        pub(crate) variants: Vec<Variant>,
        #[serde(default)]
        pub(crate) images: Vec<ImageRef>,
        /// Set while it is being removed.
        pub(crate) deleted_at?: DateTime,
    } in ProductDocument: [
        "incarnation", "slug", "slugs", "pricing", "variants", "images", "deletedAt"
    ];

    /// The contributors of a product.
    pub(crate) struct Credits {
        pub(crate) sku as "_id": String,
        #[serde(default)]
        pub(crate) contributors: Vec<Contributor>,
    } in ProductDocument: ["contributors"];
}

/// Those of these products that are there, or are being removed.
pub(crate) async fn list_present(app: &App, skus: &[&str]) -> Result<Vec<Present>> {
    if skus.is_empty() {
        return Ok(Vec::new());
    }
    let list = List { hint: Some("_id_"), ..List::of_ids(skus) };
    app.collection().list(list).await
}

/// The contributors of those of these products that are there, or are being removed.
pub(crate) async fn list_credits(app: &App, skus: &[&str]) -> Result<Vec<Credits>> {
    if skus.is_empty() {
        return Ok(Vec::new());
    }
    let list = List { hint: Some("_id_"), ..List::of_ids(skus) };
    app.collection().list(list).await
}

/// Removes the mark of one bulk import after its copies were checked: the categories, and the names in the
/// products of `renamed`. Other products with copies of names may have been marked for these before, so they
/// are checked one by one.
pub(crate) async fn unmark_all(
    app: &App,
    skus: &[String],
    renamed: &[String],
    token: &str,
) -> Result<()> {
    let is_checked = doc! { "$or": [{ "contributors": [] }, { "_id": { "$in": renamed } }] };
    let filter = both(doc! { "_id": { "$in": skus }, "copying.token": token }, is_checked);
    let update = doc! { "$unset": { "copying": 1 } };
    products(app).update_many(filter, update).await?;
    Ok(())
}

/// Guard: with this price no variant would cost less than nothing, and price differences keep their currency.
fn fits_variants(pricing: &Pricing) -> Document {
    let differs = doc! { "$elemMatch": { "difference": { "$ne": 0_i64 } } };
    doc! {
        "variants.difference": { "$not": { "$lt": -pricing.retail } },
        "$or": [
            { "pricing.currency": pricing.currency.code() },
            { "variants": { "$not": differs } },
        ],
    }
}

/// Sets the stemming of products without a language that have another one, in the next products of the walk. Returns the
/// number of changed products, and the rest of the walk.
pub(crate) async fn set_stemming(
    app: &App,
    walk: Walk,
    stemming: &str,
) -> Result<(u64, Option<Walk>)> {
    let others = doc! { "language": { "$exists": false }, "stemming": { "$ne": stemming } };
    let update = doc! { "$set": { "stemming": stemming } };
    products(app).update_next(walk, 1_000, others, update).await
}

/// The fields to set for a content. `version` and `outbox` change if the title or the contributors change.
fn content_fields(content: &Content, contributors: Option<&[Contributor]>) -> Document {
    let is_retitled = doc! { "$ne": ["$title", literal(&content.title)] };
    let (works_change, people) = match contributors {
        None => (is_retitled, everyone()),
        Some(all) => {
            let are_others = doc! { "$ne": [array("contributors"), literal(stored(&all))] };
            let people: Vec<Bson> = all.iter().map(|one| Bson::from(&one.person_id)).collect();
            let people = doc! { "$setUnion": [everyone(), literal(people)] };
            (doc! { "$or": [is_retitled, are_others] }, Bson::Document(people))
        }
    };
    let literals = stored_fields(content).into_iter().map(|(field, value)| (field, literal(value)));
    let mut fields: Document = literals.collect();
    for optional in ["language", "translations", "asin", "shipping", "numbers"] {
        fields.entry(optional.to_owned()).or_insert_with(|| "$$REMOVE".into());
    }
    let nobody = Bson::Array(vec![]);
    fields.extend(doc! {
        "version": choose(works_change.clone(), next_version(), "$version"),
        "outbox": works_due(choose(works_change, people, nobody)),
    });
    fields
}
