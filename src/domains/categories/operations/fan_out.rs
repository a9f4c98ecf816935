//! Carries what a category shows to its descendants and to products.

use std::time::Instant;

use crate::{
    app::App,
    domains::categories::{documents::CategoryDocument, store::Categories},
    error::Error,
    mongo::tree::Pass,
};

/// Carries a change that was just decided. A caller waits for it for the time of one run; what is
/// left then goes on behind the answer.
pub(in crate::domains::categories) async fn carry(
    app: &App,
    changed: CategoryDocument,
) -> Result<CategoryDocument, Error> {
    let until = Instant::now() + app.bounds().run;
    // Gone: deleted right after the change, with nothing left that could show it.
    let Some((mut pass, category)) = Pass::begin(&Categories(app), &changed.id).await? else {
        return Ok(changed);
    };
    if !pass.go_on(&Categories(app), Some(until)).await? {
        let behind = app.clone();
        app.behind("a category's fan-out", async move {
            pass.go_on(&Categories(&behind), None).await?;
            Ok(())
        });
    }
    Ok(category)
}
