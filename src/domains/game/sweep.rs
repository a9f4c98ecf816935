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
    let (moves, before, by) = (Moves(app), sweep.unchanged_before(), ("markedAt", "marked_at"));
    decision::sweep(moves, sweep).await;

    let marked = |from, limit| store::characters(app).list_between(by, from, before, limit);
    let resolve = |found: CharacterDocument| async move {
        let holder = Holder { kind: HolderKind::Character, id: found.id };
        decision::resolve_each(moves, &holder, &found.marks, before).await
    };
    sweep.each_page("characters with marks", store::SWEPT, marked, resolve).await;

    let marked = |from, limit| store::places(app).list_between(by, from, before, limit);
    let resolve = |found: PlaceDocument| async move {
        let holder = Holder { kind: HolderKind::Place, id: found.id };
        let is_resolved = decision::resolve_each(moves, &holder, &found.marks, before).await?;
        operations::spread(app, &holder.id).await?;
        Ok(is_resolved)
    };
    sweep.each_page("places with marks", store::SWEPT, marked, resolve).await;

    // A place that changes all the time stays at the front.
    let by = ("pendingAt", "pending_at");
    let pending = |from, limit| store::places(app).list_between(by, from, before, limit);
    let spread = |found: PlaceDocument| async move {
        operations::spread(app, &found.id).await.map(|is_ended| is_ended.is_some())
    };
    sweep.each_page("copies of places", store::SWEPT, pending, spread).await;
}
