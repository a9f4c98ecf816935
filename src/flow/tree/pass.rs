//! The fan-out of a branch: copies its values to all descendants and to other collections.

use std::{collections::HashMap, time::Instant};

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Branch, FanOut, Tree};
use crate::error::Error;

/// Branches whose children are read by one command.
const CHUNK: usize = 100;
/// Children per command.
const CHILDREN: usize = 1_000;
/// Concurrent writes of one pass.
const AT_ONCE: usize = 8;

/// One pass over all descendants of a branch, for every entry that its outbox held at the beginning.
#[derive(Debug)]
pub struct Pass {
    root: String,
    entries: Vec<String>,
    /// Branches that are up to date themselves, but not their copies and children.
    waiting: Vec<String>,
}

impl Pass {
    /// Begins a pass. First updates the branch from its parent, because a move may have read the new parent
    /// too early. Returns `None` if the branch doesn't exist.
    pub async fn begin<T: Branch>(tree: &Tree<T>, id: &str) -> Result<Option<(Self, T)>, Error> {
        let Some(mut root) = tree.find(id).await? else { return Ok(None) };
        if let Some(parent) = root.parent_id()
            && let Some(parent) = tree.find(parent).await?
            && parent.tree().cv > root.tree().parent_cv
        {
            tree.update_children(&parent, Some(id)).await?;
            let Some(again) = tree.find(id).await? else { return Ok(None) };
            root = again;
        }
        let entries = root.tree().outbox.iter().map(|FanOut { id, .. }| id.clone()).collect();
        let id = root.id().to_owned();
        Ok(Some((Self { root: id.clone(), entries, waiting: vec![id] }, root)))
    }

    /// Continues until the pass is done or `until` is reached. Returns whether the pass is done. After an error,
    /// the sweep repeats the pass.
    pub async fn run<T: Branch>(
        &mut self,
        tree: &Tree<T>,
        until: Option<Instant>,
    ) -> Result<bool, Error> {
        while !self.waiting.is_empty() {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(false);
            }
            let chunk = self.waiting.split_off(self.waiting.len().saturating_sub(CHUNK));
            self.visit(tree, &chunk).await?;
        }
        tree.remove_fan_outs(&self.root, &self.entries).await?;
        Ok(true)
    }

    async fn visit<T: Branch>(&mut self, tree: &Tree<T>, chunk: &[String]) -> Result<(), Error> {
        let branches = tree.list(chunk).await?;
        T::on_updated(&tree.handles, &branches).await?;
        // The lowest version of each parent that any of its children shows. The children are queued.
        let mut lowest_shown = HashMap::<String, i64>::new();
        let mut last = String::new();
        loop {
            let children = tree.list_children(chunk, &last, CHILDREN).await?;
            let full = children.len() == CHILDREN;
            for child in children {
                let parent = child.parent_id().unwrap_or_default().to_owned();
                let lowest = lowest_shown.entry(parent).or_insert(child.parent_cv);
                *lowest = child.parent_cv.min(*lowest);
                child.id.clone_into(&mut last);
                self.waiting.push(last.clone());
            }
            if !full {
                break;
            }
        }
        stream::iter(branches)
            .map(|branch| {
                let is_outdated =
                    lowest_shown.get(branch.id()).is_some_and(|lowest| *lowest < branch.tree().cv);
                update_below(tree, branch, is_outdated)
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }
}

/// Updates the copies of a branch, and its children if they are outdated.
async fn update_below<T: Branch>(
    tree: &Tree<T>,
    branch: T,
    is_outdated: bool,
) -> Result<(), Error> {
    if is_outdated {
        tree.update_children(&branch, None).await?;
    }
    branch.update_copies(&tree.handles).await
}
