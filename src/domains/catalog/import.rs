//! Bulk import of products: `docgate import products`, and seeding.
//!
//! Each line is one JSON object in the form of `createProduct`'s input, with categories by path:
//!
//! ```json
//! {"sku": "kob-1", "categories": ["/music/jazz"],
//!  "pricing": {"list": 1999, "retail": 1499, "currency": "EUR"},
//!  "content": {"title": "Kind of Blue", "language": "en", "issueDate": "1959-08-17",
//!              "shipping": {"weight": 110},
//!              "details": {"album": {"genres": ["Jazz"], "tracks": [{"title": "So What"}]}}}}
//! ```
//!
//! If the SKU exists, a line replaces content, price and categories, and also the contributors if the line
//! has them. A line may be imported repeatedly.

use std::collections::BTreeSet;

use async_graphql::ID;
use serde::{Deserialize, Serialize};

use super::{
    documents::{Content, Contributor, Pricing},
    operations::finish_all,
    store::{self, Imported},
    types::{self, CATEGORIES, PricingInput, ProductContentInput},
};
use crate::{
    app::App,
    domains::{
        categories::{self, CategoryCopy},
        people::{self, PersonName, operations::WORKS},
    },
    error::Error,
    graphql::{declared::valid, input, node_id::NodeKind, refusals::InvalidInput, scalars::Slug},
};

/// One line of the import.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportProduct {
    /// The SKU.
    pub sku: String,
    /// Content.
    pub content: ProductContentInput,
    /// Prices.
    pub pricing: PricingInput,
    /// Paths of its categories, at most 20.
    #[serde(default)]
    pub categories: Vec<String>,
    /// Contributors, at most 100. If absent, those of the product stay.
    #[serde(default)]
    pub contributors: Option<Vec<ImportContributor>>,
}

/// A contributor, named by either id or key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportContributor {
    /// Global id of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_id: Option<ID>,
    /// Key under which the person was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_key: Option<String>,
    /// Role, such as `author`.
    pub role: Slug,
}

impl ImportContributor {
    /// The field that names the person, and the person's `_id`.
    fn person(&self) -> Result<(&'static str, String), InvalidInput> {
        const ID_FIELD: &str = "personId";
        const KEY_FIELD: &str = "personKey";
        match (&self.person_id, &self.person_key) {
            // An id of another kind is treated like one that doesn't exist.
            (Some(id), None) => Ok((ID_FIELD, input::id(NodeKind::Person, id).unwrap_or_default())),
            (None, Some(key)) => Ok((KEY_FIELD, people::import::id_of(KEY_FIELD, key)?)),
            _ => Err(InvalidInput::new(ID_FIELD, "or `personKey` is needed, one of the two")),
        }
    }
}

/// Number of products per command.
const BATCH: usize = 250;

/// Imports `lines`. Returns for each of them, in their order, why it was refused.
///
/// # Errors
/// Some of the lines may have been imported. Import them again.
pub async fn import(
    app: &App,
    lines: &[ImportProduct],
) -> Result<Vec<Result<(), InvalidInput>>, Error> {
    let mut answers = Vec::with_capacity(lines.len());
    for batch in lines.chunks(BATCH) {
        answers.extend(import_batch(app, batch).await?);
    }
    Ok(answers)
}

async fn import_batch(
    app: &App,
    lines: &[ImportProduct],
) -> Result<Vec<Result<(), InvalidInput>>, Error> {
    let mut paths: Vec<String> = lines.iter().flat_map(|line| line.categories.clone()).collect();
    paths.sort_unstable();
    paths.dedup();
    let parts = lines.iter().flat_map(|line| line.contributors.iter().flatten());
    let people: BTreeSet<String> =
        parts.filter_map(|part| part.person().ok().map(|(_, id)| id)).collect();
    let people: Vec<String> = people.into_iter().collect();
    let found = Found::read(app, &paths, &people).await?;
    let mut answers: Vec<Result<(), InvalidInput>> = Vec::with_capacity(lines.len());
    let (mut sound, mut positions) = (Vec::new(), Vec::new());
    for (position, line) in lines.iter().enumerate() {
        answers.push(checked(app, line, &found).map(|product| {
            sound.push(product);
            positions.push(position);
        }));
    }
    let token = app.ids().random();
    for refused in store::import(app, &sound, &token).await? {
        let reason = "is that of a product which is being removed; import it again in a minute";
        answers[positions[refused]] = Err(InvalidInput::new("sku", reason));
    }
    let renamed = sound.iter().filter(|product| product.contributors.is_some());
    let renamed: Vec<String> = renamed.map(|product| product.sku.clone()).collect();
    let skus: Vec<String> = sound.into_iter().map(|product| product.sku).collect();
    if Found::read(app, &paths, &people).await?.is_same_as(&found) {
        store::unmark_all(app, &skus, &renamed, &token).await?;
    }
    // Corrects copies that became stale meanwhile, and writes the works that are due.
    finish_all(app, &skus).await?;
    Ok(answers)
}

/// The records that the products of a batch copy.
struct Found {
    categories: Vec<CategoryCopy>,
    people: Vec<PersonName>,
}

impl Found {
    async fn read(app: &App, paths: &[String], people: &[String]) -> Result<Self, Error> {
        let categories = async {
            if paths.is_empty() {
                return Ok(Vec::new());
            }
            categories::operations::copies_at(app, paths).await
        };
        let (categories, people) =
            tokio::try_join!(categories, people::operations::names(app, people))?;
        Ok(Self { categories, people })
    }

    /// Whether no copied record has changed.
    fn is_same_as(&self, other: &Self) -> bool {
        let names = |found: &Self| -> BTreeSet<(String, i64)> {
            found.people.iter().map(|person| (person.id.clone(), person.version)).collect()
        };
        self.categories == other.categories && names(self) == names(other)
    }

    /// The contributors as the product stores them, each once.
    fn contributors(&self, parts: &[ImportContributor]) -> Result<Vec<Contributor>, InvalidInput> {
        input::at_most("contributors", parts, store::CONTRIBUTORS)?;
        let mut contributors: Vec<Contributor> = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            let above = format!("contributors.{place}");
            let (field, id) = part.person().map_err(|invalid| invalid.below(&above))?;
            let invalid = |reason: String| InvalidInput::new(&format!("{above}.{field}"), reason);
            let person = self.people.iter().find(|person| person.id == id);
            let person = person.ok_or_else(|| invalid("there is no such person".to_owned()))?;
            if person.works >= WORKS {
                return Err(invalid(format!("has {WORKS} works already")));
            }
            let contributor = Contributor {
                person_id: id,
                name: person.name.clone(),
                nv: person.version,
                role: part.role.as_str().to_owned(),
            };
            if !contributors.contains(&contributor) {
                contributors.push(contributor);
            }
        }
        Ok(contributors)
    }
}

fn checked(app: &App, line: &ImportProduct, found: &Found) -> Result<Imported, InvalidInput> {
    let sku = input::key("sku", &line.sku)?;
    let (mut content, mut pricing) = (line.content.clone(), line.pricing.clone());
    valid("content", &mut content)?;
    types::pricing("pricing", &mut pricing)?;
    let (content, pricing) = (Content::of(app, content), Pricing::from(pricing));
    input::at_most("categories", &line.categories, CATEGORIES)?;
    let mut categories: Vec<CategoryCopy> = Vec::new();
    for (place, path) in line.categories.iter().enumerate() {
        let copy = found.categories.iter().find(|copy| copy.path == *path);
        let copy = copy.ok_or_else(|| {
            let field = format!("categories.{place}");
            InvalidInput::new(&field, format!("there is no category {path:?}"))
        })?;
        if !categories.iter().any(|other| other.id == copy.id) {
            categories.push(copy.clone());
        }
    }
    let parts = line.contributors.as_deref();
    let contributors = parts.map(|parts| found.contributors(parts)).transpose()?;
    let ids = app.ids();
    let origin = ids.op(&["importProduct"], None, line).input;
    let (generation, nonce) = (ids.random(), ids.random());
    Ok(Imported { sku, content, pricing, categories, contributors, origin, generation, nonce })
}
