//! The sweep of the game resolves the marks of moves that were cut, gives what committed moves promised, and brings copies
//! of places up to date. A mark is old enough if no attempt that could have made it can still write.

use super::{
    documents::{CharacterDocument, Holder, HolderKind, Mark, PlaceDocument},
    operations, store,
};
use crate::{app::App, error::Result, flow::Sweep};

/// Finishes or undoes moves that were cut.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.unchanged_before();
    let open = store::list_open(app, before).await;
    let finish = |decided| async move { operations::finish(app, &decided).await.map(|()| true) };
    sweep.each(open, |decided| decided.id.clone(), finish).await;

    let found = store::list_marked::<CharacterDocument>(app, before).await;
    let resolve = |found: CharacterDocument| async move {
        let holder = Holder { kind: HolderKind::Character, id: found.id };
        resolve(app, holder, found.marks, before).await
    };
    sweep.each(found, |found| found.id.clone(), resolve).await;

    let found = store::list_marked::<PlaceDocument>(app, before).await;
    let resolve = |found: PlaceDocument| async move {
        let holder = Holder { kind: HolderKind::Place, id: found.id };
        resolve_place(app, holder, found.marks, before).await
    };
    sweep.each(found, |found| found.id.clone(), resolve).await;

    let pending = store::list_pending(app, before).await;
    let spread = |found: PlaceDocument| async move {
        operations::spread(app, &found.id).await.map(|is_ended| is_ended.is_some())
    };
    sweep.each(pending, |found| found.id.clone(), spread).await;
}

/// Resolves the marks of a place, and brings its copies up to date.
async fn resolve_place(
    app: &App,
    holder: Holder,
    marks: Vec<Mark>,
    before: mongodb::bson::DateTime,
) -> Result<bool> {
    let id = holder.id.clone();
    let is_resolved = resolve(app, holder, marks, before).await?;
    operations::spread(app, &id).await?;
    Ok(is_resolved)
}

/// Resolves the marks of a document from before `before`. Returns whether there was one.
async fn resolve(
    app: &App,
    holder: Holder,
    marks: Vec<Mark>,
    before: mongodb::bson::DateTime,
) -> Result<bool> {
    let attempt = app.begin().await?;
    let mut is_resolved = false;
    for mark in marks.iter().filter(|mark| mark.at.is_none_or(|at| at < before)) {
        is_resolved |= operations::resolve(app, &holder, mark, &attempt).await?;
    }
    Ok(is_resolved)
}
