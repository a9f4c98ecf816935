//! Carries what a branch shows to everything below it and to copies elsewhere.

use std::{collections::HashMap, time::Instant};

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Branch, Child, FanOut, Grown};
use crate::error::Error;

/// Branches whose children are looked for in one command.
const CHUNK: usize = 100;
/// Children per command.
const CHILDREN: usize = 1_000;
/// Writes of one pass that are under way at the same time.
const AT_ONCE: usize = 8;

/// One pass over everything below a branch, for every entry that its outbox held at the beginning.
#[derive(Debug)]
pub struct Pass {
    root: String,
    entries: Vec<String>,
    /// Branches that show what they should, and whose copies and children don't yet.
    waiting: Vec<String>,
}

impl Pass {
    /// Lets the branch itself follow its parent, which whoever moved it may have read too early. None
    /// where it is gone.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn begin<G: Grown>(grown: &G, id: &str) -> Result<Option<(Self, G::Branch)>, Error> {
        let tree = grown.tree();
        let Some(mut root) = tree.find(id).await? else { return Ok(None) };
        if let Some(parent) = root.parent_id()
            && let Some(parent) = tree.find(parent).await?
            && parent.cv() > root.parent_cv()
        {
            tree.update_children(&parent, Some(id)).await?;
            let Some(again) = tree.find(id).await? else { return Ok(None) };
            root = again;
        }
        let entries = root.outbox().iter().map(|FanOut { id, .. }| id.clone()).collect();
        let id = root.id().to_owned();
        Ok(Some((Self { root: id.clone(), entries, waiting: vec![id] }, root)))
    }

    /// Goes on until it is done or the time is over; says whether it is done.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: the sweep begins it again.
    pub async fn go_on<G: Grown>(
        &mut self,
        grown: &G,
        until: Option<Instant>,
    ) -> Result<bool, Error> {
        while !self.waiting.is_empty() {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(false);
            }
            let chunk = self.waiting.split_off(self.waiting.len().saturating_sub(CHUNK));
            self.visit(grown, &chunk).await?;
        }
        grown.tree().remove_fan_outs(&self.root, &self.entries).await.decided()?;
        Ok(true)
    }

    async fn visit<G: Grown>(&mut self, grown: &G, chunk: &[String]) -> Result<(), Error> {
        let tree = grown.tree();
        let branches = tree.list(chunk).await?;
        grown.arrived(&branches).await?;
        // The lowest version of each parent that a child shows, and the children themselves.
        let mut behind = HashMap::<String, i64>::new();
        let mut last = String::new();
        loop {
            let children = tree.list_children(chunk, &last, CHILDREN).await?;
            let full = children.len() == CHILDREN;
            for child in children {
                let parent = child.parent_id().unwrap_or_default().to_owned();
                let lowest = behind.entry(parent).or_insert(child.parent_cv());
                *lowest = child.parent_cv().min(*lowest);
                child.id().clone_into(&mut last);
                self.waiting.push(last.clone());
            }
            if !full {
                break;
            }
        }
        stream::iter(branches)
            .map(|branch| {
                let follow = behind.get(branch.id()).is_some_and(|lowest| *lowest < branch.cv());
                hand_on(grown, branch, follow)
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }
}

async fn hand_on<G: Grown>(grown: &G, branch: G::Branch, follow: bool) -> Result<(), Error> {
    if follow {
        grown.tree().update_children(&branch, None).await?;
    }
    grown.hand_on(&branch).await
}
