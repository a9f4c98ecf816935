//! The sweep of the game resolves the marks of moves that were cut, gives what committed moves promised, and brings
//! copies of places up to date. It leaves a mark alone as long as the attempt that made it may still write.

use super::{
    documents::{CharacterDocument, Holder, HolderKind, PlaceDocument},
    operations::{self, Moves},
    store,
};
use crate::{
    app::App,
    flow::{Sweep, decision},
};

/// Finishes or undoes moves that were cut.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let (moves, before) = (Moves(app), sweep.unchanged_before());
    decision::sweep(moves, sweep).await;

    let marked = |from, limit| store::list_marked::<CharacterDocument>(app, from, before, limit);
    let at = |found: &CharacterDocument, _| found.marked_at;
    let id = |found: &CharacterDocument| found.id.clone();
    let resolve = |found: CharacterDocument| async move {
        let holder = Holder { kind: HolderKind::Character, id: found.id };
        decision::resolve_each(moves, &holder, &found.marks, before).await
    };
    sweep.each_page("characters with marks", store::SWEPT, marked, at, id, resolve).await;

    let marked = |from, limit| store::list_marked::<PlaceDocument>(app, from, before, limit);
    let at = |found: &PlaceDocument, _| found.marked_at;
    let id = |found: &PlaceDocument| found.id.clone();
    let resolve = |found: PlaceDocument| async move {
        let holder = Holder { kind: HolderKind::Place, id: found.id };
        let is_resolved = decision::resolve_each(moves, &holder, &found.marks, before).await?;
        operations::spread(app, &holder.id).await?;
        Ok(is_resolved)
    };
    sweep.each_page("places with marks", store::SWEPT, marked, at, id, resolve).await;

    // A place that changes all the time stays at the front.
    let pending = |from, limit| store::list_pending(app, from, before, limit);
    let at = |found: &PlaceDocument, _| found.pending_at;
    let spread = |found: PlaceDocument| async move {
        operations::spread(app, &found.id).await.map(|is_ended| is_ended.is_some())
    };
    sweep.each_page("copies of places", store::SWEPT, pending, at, id, spread).await;
}
