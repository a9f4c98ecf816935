//! Queries of the catalog's invariants.

use super::products;
use crate::{app::App, domains::people::PersonDocument, error::Result, mongo::prelude::*};

/// Contributions that are missing in the person's works or differ from them.
pub(crate) async fn list_unwritten_works(app: &App) -> Result<Vec<Document>> {
    let works = doc! { "$filter": {
        "input": { "$ifNull": ["$works", []] }, "as": "work", "cond": { "$eq": ["$$work.sku", "$$sku"] },
    } };
    let same = doc! { "$and": [
        { "$eq": ["$title", { "$first": "$work.title" }] },
        { "$setEquals": ["$roles", { "$ifNull": [{ "$first": "$work.roles" }, []] }] },
        { "$eq": [{ "$size": "$work" }, 1] },
    ] };
    products(app)
        .aggregate(vec![
            doc! { "$project": { "title": 1, "contributors": 1 } },
            doc! { "$unwind": "$contributors" },
            doc! { "$group": {
                "_id": { "sku": "$_id", "person": "$contributors.personId" },
                "title": { "$first": "$title" },
                "roles": { "$push": "$contributors.role" },
            } },
            doc! { "$lookup": {
                "from": "people",
                "localField": "_id.person",
                "foreignField": "_id",
                "let": { "sku": "$_id.sku" },
                "pipeline": [{ "$project": { "work": works } }],
                "as": "person",
            } },
            doc! { "$set": { "work": { "$ifNull": [{ "$first": "$person.work" }, []] } } },
            doc! { "$match": { "$expr": { "$not": [same] } } },
            doc! { "$project": { "title": 1, "roles": 1, "work": 1 } },
            doc! { "$limit": 100 },
        ])
        .await
}

/// Works of people whose product is gone or doesn't credit them.
pub(crate) async fn list_works_without_product(app: &App) -> Result<Vec<Document>> {
    let knows = doc! { "$in": ["$_id", { "$ifNull": [{ "$first": "$product.people" }, []] }] };
    app.collection::<PersonDocument>()
        .aggregate(vec![
            doc! { "$project": { "works.sku": 1, "works.roles": 1 } },
            doc! { "$unwind": "$works" },
            doc! { "$match": { "works.roles": { "$ne": [] } } },
            doc! { "$lookup": {
                "from": "products",
                "localField": "works.sku",
                "foreignField": "_id",
                "pipeline": [{ "$project": { "people": "$contributors.personId" } }],
                "as": "product",
            } },
            doc! { "$match": { "$expr": { "$not": [knows] } } },
            doc! { "$project": { "works": 1 } },
            doc! { "$limit": 100 },
        ])
        .await
}
