//! Checks of lines that aren't imported, for `--dry-run`.

use super::{
    super::{
        documents::SlugDocument,
        operations::{check_variants, full_slugs, taken_slug},
        store::{self, Present, SLUGS},
    },
    BATCH, Found, ImportProduct, checked, named, variants,
};
use crate::graphql::{prelude::*, refusals::AnyRefusal};

/// Checks `lines` as the import would, each by itself, and changes nothing. Returns for each of them why it would be
/// refused.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn check(app: &App, lines: &[ImportProduct]) -> Result<Vec<Result<(), InvalidInput>>> {
    let mut answers = Vec::with_capacity(lines.len());
    for batch in lines.chunks(BATCH) {
        let (paths, people) = named(batch);
        let (found, existing) =
            tokio::try_join!(Found::read(app, &paths, &people), Existing::read(app, batch))?;
        answers.extend(batch.iter().map(|line| {
            let imported = checked(app, line, &found)?;
            existing.check(line, imported.pricing.retail)
        }));
    }
    Ok(answers)
}

/// The products of a batch that are there, and the claims of its slugs.
struct Existing {
    products: Vec<Present>,
    claims: Vec<SlugDocument>,
}

impl Existing {
    async fn read(app: &App, lines: &[ImportProduct]) -> Result<Self> {
        let skus: Vec<&str> = lines.iter().map(|line| line.sku.as_str()).collect();
        let slugs: Vec<&str> =
            lines.iter().filter_map(|line| Some(line.slug.as_ref()?.as_str())).collect();
        let (products, claims) =
            tokio::try_join!(store::list_present(app, &skus), store::list_claims(app, &slugs))?;
        Ok(Self { products, claims })
    }

    /// Whether the product of the line takes it, at this retail price.
    fn check(&self, line: &ImportProduct, retail: i64) -> Result<(), InvalidInput> {
        let own = self.products.iter().find(|own| own.sku == line.sku);
        if own.is_some_and(|own| own.deleted_at.is_some()) {
            let reason = "is that of a product which is being removed; import it again in a minute";
            return Err(InvalidInput::new("sku", reason));
        }
        if let Some(slug) = &line.slug {
            self.check_slug(own, &line.sku, slug.as_str())
                .map_err(|refusal| InvalidInput::new("slug", refusal.message))?;
        }
        let own = own.map_or(&[][..], |own| &own.variants);
        check_variants(own, retail, &variants(line)?)
            .map_err(|refusal| InvalidInput::new("variants", refusal.message))
    }

    fn check_slug(&self, own: Option<&Present>, sku: &str, slug: &str) -> Result<(), AnyRefusal> {
        if own.is_some_and(|own| own.slug.as_deref() == Some(slug)) {
            return Ok(());
        }
        let is_full = |own: &Present| {
            own.slugs.len() >= SLUGS && !own.slugs.iter().any(|former| former == slug)
        };
        if own.is_some_and(is_full) {
            return Err(full_slugs().into());
        }
        let is_own = |claim: &SlugDocument| {
            claim.sku == sku && own.is_some_and(|own| own.generation == claim.generation)
        };
        match self.claims.iter().find(|claim| claim.slug == slug) {
            Some(claim) if !is_own(claim) => Err(taken_slug(slug).into()),
            _ => Ok(()),
        }
    }
}
