//! Checks lines as an import would, without importing them, for `--dry-run`.

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
    BATCH, Found, ImportProduct, Refused, checked, images, is_being_removed, misfit, named,
    variants,
};
use crate::{
    domains::images::ImageRef,
    graphql::{prelude::*, refusals::AnyRefusal},
    join::try_join_all,
};

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
/// would have given to another product is refused, and a person's works are counted with those of the other lines of a batch.
/// Returns for each of them why it would be refused.
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
        let (mut found, existing) =
            tokio::try_join!(Found::read(app, batch, &paths, &people), Existing::read(app, batch))?;
        let images = batch.iter().map(|line| existing.check_images(app, line));
        let images = try_join_all(images).await?;
        answers.extend(batch.iter().zip(images).map(|(line, images)| {
            let imported = checked(app, line, &mut found)?;
            existing.check(line, &imported.pricing, images, earlier)
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

    /// The product of a line, if it is there.
    fn product(&self, line: &ImportProduct) -> Option<&Present> {
        self.products.iter().find(|own| own.sku == line.sku)
    }

    /// The images that the product of a line would have, or the refusal of those of the line.
    async fn check_images(
        &self,
        app: &App,
        line: &ImportProduct,
    ) -> Result<Result<Vec<ImageRef>, InvalidInput>> {
        let own = self.product(line).map_or(&[][..], |own| &own.images);
        match images::stored(line) {
            Ok(Some(images)) => {
                let checked = images::check(app, own, &images).await?;
                Ok(checked.map(|()| images))
            }
            Ok(None) => Ok(Ok(own.to_vec())),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Whether the product of the line takes it, with these prices and images.
    fn check(
        &self,
        line: &ImportProduct,
        pricing: &Pricing,
        images: Result<Vec<ImageRef>, InvalidInput>,
        earlier: &mut Earlier,
    ) -> Result<(), Refused> {
        let own = self.product(line);
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
        let images = images.map_err(Refused::in_part)?;
        let stored = own.map_or(&[][..], |own| &own.variants);
        check_variants(stored, &images, pricing.retail, &variants(line)?).map_err(Refused::in_part)
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
