//! Checks of lines that aren't imported, for `--dry-run`.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
};

use super::{
    super::{
        documents::{Pricing, SlugDocument},
        operations::{check_variants, full_slugs, taken_slug},
        store::{self, Present, SLUGS},
    },
    BATCH, Found, ImportProduct, Refused, checked, is_being_removed, misfit, named, variants,
};
use crate::graphql::{prelude::*, refusals::AnyRefusal};

/// What earlier lines of a file would have claimed. It has digests only, since a file may have millions of lines. That two of
/// these have one digest is unlikely.
#[derive(Debug, Default)]
pub struct Earlier {
    /// Digests of SKUs by those of the slugs of their products.
    slugs: HashMap<u64, u64>,
    digests: RandomState,
}

impl Earlier {
    /// Notes that the product has the slug, unless that of an earlier line has it.
    fn claim(&mut self, slug: &str, sku: &str) -> Result<(), AnyRefusal> {
        let own = self.digests.hash_one(sku);
        let first = *self.slugs.entry(self.digests.hash_one(slug)).or_insert(own);
        if first == own { Ok(()) } else { Err(taken_slug(slug).into()) }
    }
}

/// Checks `lines` as the import would, and changes nothing. Each line is checked by itself, but a slug that an earlier one
/// would have given to another product is refused. Returns for each of them why it would be refused.
///
/// # Errors
/// `Unavailable` or `Internal`. The call may be repeated.
pub async fn check(
    app: &App,
    lines: &[ImportProduct],
    earlier: &mut Earlier,
) -> Result<Vec<Result<(), Refused>>> {
    let mut answers = Vec::with_capacity(lines.len());
    for batch in lines.chunks(BATCH) {
        let (paths, people) = named(batch);
        let (found, existing) =
            tokio::try_join!(Found::read(app, &paths, &people), Existing::read(app, batch))?;
        answers.extend(batch.iter().map(|line| {
            let imported = checked(app, line, &found)?;
            existing.check(line, &imported.pricing, earlier)
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

    /// Whether the product of the line takes it, with these prices.
    fn check(
        &self,
        line: &ImportProduct,
        pricing: &Pricing,
        earlier: &mut Earlier,
    ) -> Result<(), Refused> {
        let own = self.products.iter().find(|own| own.sku == line.sku);
        if own.is_some_and(|own| own.deleted_at.is_some()) {
            return Err(is_being_removed().into());
        }
        let misfit = own.and_then(|own| misfit(own.pricing.currency, &own.variants, pricing));
        if let Some(misfit) = misfit {
            return Err(misfit.into());
        }
        if let Some(slug) = &line.slug {
            self.check_slug(own, &line.sku, slug.as_str())
                .and_then(|()| earlier.claim(slug.as_str(), &line.sku))
                .map_err(|refusal| InvalidInput::new("slug", refusal.message))
                .map_err(Refused::in_part)?;
        }
        check_variants(own, pricing.retail, &variants(line)?).map_err(Refused::in_part)
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
