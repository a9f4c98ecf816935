//! Products in bulk: `docgate import products`, and whoever seeds a database.
//!
//! Each line is one JSON object in the shape of `createProduct`'s input, with categories by path:
//!
//! ```json
//! {"sku": "kob-1", "categories": ["/music/jazz"],
//!  "pricing": {"list": 1999, "retail": 1499, "currency": "EUR"},
//!  "content": {"title": "Kind of Blue", "language": "en", "issueDate": "1959-08-17",
//!              "shipping": {"weight": 110},
//!              "details": {"album": {"genres": ["Jazz"], "tracks": [{"title": "So What"}]}}}}
//! ```
//!
//! A line whose SKU is there replaces content, price and categories; who made it stays. A line may
//! be imported again and again.

use serde::{Deserialize, Serialize};

use super::{
    operations::{checked_content, checked_pricing, finish},
    store::{self, Imported},
    types::{PricingInput, ProductContentInput},
};
use crate::{
    app::App,
    domains::categories::{self, CategoryCopy},
    error::Error,
    graphql::{input, refusals::InvalidInput},
};

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportProduct {
    /// The SKU.
    pub sku: String,
    /// What the product is.
    pub content: ProductContentInput,
    /// What it costs.
    pub pricing: PricingInput,
    /// Paths of its categories, at most 20.
    #[serde(default)]
    pub categories: Vec<String>,
}

/// Products per command.
const BATCH: usize = 250;

/// Imports `lines`; answers for each of them, in their order, why it was refused.
///
/// # Errors
/// `Unavailable` or `Internal`: some of the lines may have been imported, import them again.
pub async fn import(app: &App, lines: &[ImportProduct]) -> Result<Vec<Result<(), String>>, Error> {
    let mut answers = Vec::with_capacity(lines.len());
    for batch in lines.chunks(BATCH) {
        answers.extend(import_batch(app, batch).await?);
    }
    Ok(answers)
}

async fn import_batch(
    app: &App,
    lines: &[ImportProduct],
) -> Result<Vec<Result<(), String>>, Error> {
    let mut paths: Vec<String> = lines.iter().flat_map(|line| line.categories.clone()).collect();
    paths.sort_unstable();
    paths.dedup();
    let found = copies_at(app, &paths).await?;
    let mut answers: Vec<Result<(), String>> = Vec::with_capacity(lines.len());
    let mut sound = Vec::new();
    let mut positions = Vec::new();
    for (position, line) in lines.iter().enumerate() {
        match checked(app, line, &found) {
            Ok(product) => {
                sound.push(product);
                positions.push(position);
                answers.push(Ok(()));
            }
            Err(reason) => answers.push(Err(reason)),
        }
    }
    let token = app.ids().random();
    for refused in store::import(app, &sound, &token).await? {
        answers[positions[refused]] =
            Err("a product of this SKU is being removed; import it again in a minute".to_owned());
    }
    let skus: Vec<String> = sound.into_iter().map(|product| product.sku).collect();
    if copies_at(app, &paths).await? == found {
        store::unmark_all(app, &skus, &token).await?;
    }
    finish_all(app, &skus).await?;
    Ok(answers)
}

/// Copies that were stale a moment later, and works whose title is a new one.
async fn finish_all(app: &App, skus: &[String]) -> Result<(), Error> {
    for product in store::list_unfinished(app, skus).await? {
        let run = app.begin().await?;
        finish(app, &run, product).await?;
    }
    Ok(())
}

async fn copies_at(app: &App, paths: &[String]) -> Result<Vec<CategoryCopy>, Error> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    categories::operations::copies_at(app, paths).await
}

fn checked(app: &App, line: &ImportProduct, found: &[CategoryCopy]) -> Result<Imported, String> {
    let said = |invalid: InvalidInput| {
        let field = invalid.field.strip_prefix("input.").unwrap_or(&invalid.field);
        format!("{field}: {}", invalid.reason)
    };
    let sku = input::key("sku", &line.sku).map_err(said)?;
    let content = checked_content(&line.content).map_err(said)?;
    let pricing = checked_pricing(&line.pricing).map_err(said)?;
    input::at_most("categories", &line.categories, 20).map_err(said)?;
    let mut categories: Vec<CategoryCopy> = Vec::new();
    for path in &line.categories {
        let copy = found.iter().find(|copy| copy.path == *path);
        let copy = copy.ok_or_else(|| format!("categories: there is no category {path:?}"))?;
        if !categories.iter().any(|other| other.id == copy.id) {
            categories.push(copy.clone());
        }
    }
    let ids = app.ids();
    let origin = ids.op(&["importProduct"], None, line).input;
    let (incarnation, nonce) = (ids.random(), ids.random());
    Ok(Imported { sku, content, pricing, categories, origin, incarnation, nonce })
}
