//! Carries what a category shows to its descendants and to products.

use std::{collections::HashMap, time::Instant};

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{
    app::App,
    domains::categories::{documents::CategoryDocument, store},
    error::Error,
};

/// Categories whose children are looked for in one command.
const CHUNK: usize = 100;
/// Children per command.
const CHILDREN: usize = 1_000;
/// Writes of one pass that are under way at the same time.
const AT_ONCE: usize = 8;

/// One pass over a category's descendants, for every entry that its outbox held at the beginning.
pub(in crate::domains::categories) struct Pass {
    root: String,
    entries: Vec<String>,
    /// Categories that show what they should, and whose products and children don't yet.
    waiting: Vec<String>,
}

impl Pass {
    /// Lets the category itself follow its parent, which whoever moved it may have read too early.
    /// None where it is gone.
    pub(in crate::domains::categories) async fn begin(
        app: &App,
        id: &str,
    ) -> Result<Option<(Self, CategoryDocument)>, Error> {
        let Some(mut root) = store::find(app, id).await? else { return Ok(None) };
        if let Some(parent) = &root.parent_id
            && let Some(parent) = store::find(app, parent).await?
            && parent.cv > root.parent_cv
        {
            store::update_children(app, &parent, Some(id)).await?;
            let Some(again) = store::find(app, id).await? else { return Ok(None) };
            root = again;
        }
        let entries = root.outbox.iter().map(|entry| entry.id.clone()).collect();
        let pass = Self { root: root.id.clone(), entries, waiting: vec![root.id.clone()] };
        Ok(Some((pass, root)))
    }

    /// Goes on until it is done or the time is over; says whether it is done.
    pub(in crate::domains::categories) async fn go_on(
        &mut self,
        app: &App,
        until: Option<Instant>,
    ) -> Result<bool, Error> {
        while !self.waiting.is_empty() {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(false);
            }
            let chunk = self.waiting.split_off(self.waiting.len().saturating_sub(CHUNK));
            self.visit(app, &chunk).await?;
        }
        store::remove_fan_outs(app, &self.root, &self.entries).await.decided()?;
        Ok(true)
    }

    async fn visit(&mut self, app: &App, chunk: &[String]) -> Result<(), Error> {
        let categories = store::list_by_ids(app, chunk).await?;
        // The lowest version of each parent that a child shows, and the children themselves.
        let mut behind = HashMap::<String, i64>::new();
        let mut last = String::new();
        loop {
            let children = store::list_children(app, chunk, &last, CHILDREN).await?;
            let full = children.len() == CHILDREN;
            for child in children {
                let lowest = behind.entry(child.parent_id).or_insert(child.parent_cv);
                *lowest = child.parent_cv.min(*lowest);
                last.clone_from(&child.id);
                self.waiting.push(child.id);
            }
            if !full {
                break;
            }
        }
        stream::iter(categories)
            .map(|category| {
                let follow = behind.get(&category.id).is_some_and(|lowest| *lowest < category.cv);
                hand_on(app, category, follow)
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }
}

async fn hand_on(app: &App, category: CategoryDocument, follow: bool) -> Result<(), Error> {
    if follow {
        store::update_children(app, &category, None).await?;
    }
    store::update_products(app, &category).await
}

/// Carries a change that was just decided. A caller waits for it for the time of one run; what is
/// left then goes on behind the answer.
pub(in crate::domains::categories) async fn carry(
    app: &App,
    changed: CategoryDocument,
) -> Result<CategoryDocument, Error> {
    let until = Instant::now() + app.bounds().run;
    // Gone: deleted right after the change, with nothing left that could show it.
    let Some((mut pass, category)) = Pass::begin(app, &changed.id).await? else {
        return Ok(changed);
    };
    if !pass.go_on(app, Some(until)).await? {
        let behind = app.clone();
        app.behind("a category's fan-out", async move {
            pass.go_on(&behind, None).await?;
            Ok(())
        });
    }
    Ok(category)
}
