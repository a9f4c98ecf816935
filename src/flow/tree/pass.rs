//! The fan-out of a branch: copies its values to all descendants and to other collections.

use std::{collections::HashMap, slice, time::Instant};

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Branch, Tree};
use crate::error::Error;

/// Branches whose children are read by one command.
const CHUNK: usize = 100;
/// Children per command.
const CHILDREN: usize = 1_000;
/// Concurrent writes of one pass.
const AT_ONCE: usize = 8;

/// One pass over a branch and all of its descendants.
#[derive(Debug)]
pub struct Pass<T> {
    /// The branch as it was read.
    root: T,
    /// The entries of its outbox that are removed at the end.
    entries: Vec<String>,
    /// Whether the branch probably has no children.
    expects_leaf: bool,
    /// Whether the branch was visited.
    has_visited_root: bool,
    /// Branches that are up to date themselves, but not their copies and children.
    waiting: Vec<String>,
}

impl<T: Branch> Pass<T> {
    /// Begins a pass with a branch as it was read, for every entry of its outbox. First updates the branch from its parent,
    /// because a move may have read the new parent too early.
    pub async fn begin(tree: &Tree<T>, mut root: T) -> Result<Self, Error> {
        if let Some(parent) = root.parent_id()
            && let Some(parent) = tree.find(parent).await?
            && parent.tree().cv > root.tree().parent_cv
        {
            tree.update_children(&parent, Some(root.id())).await?;
            let Some(again) = tree.find(root.id()).await? else {
                // It was deleted, and no copies are left.
                return Ok(Self { has_visited_root: true, ..Self::of(root, Vec::new()) });
            };
            root = again;
        }
        let entries = root.tree().outbox.iter().map(|entry| entry.id.clone()).collect();
        Ok(Self::of(root, entries))
    }

    /// A pass for one change, with the branch as it was read after the change. The change has left the branch below its parent,
    /// so the branch needs nothing from there. Most branches are leaves; whether this one is one is read first.
    pub fn of_change(root: T, change: &str) -> Self {
        Self { expects_leaf: true, ..Self::of(root, vec![change.to_owned()]) }
    }

    fn of(root: T, entries: Vec<String>) -> Self {
        let (expects_leaf, has_visited_root, waiting) = (false, false, Vec::new());
        Self { root, entries, expects_leaf, has_visited_root, waiting }
    }

    /// The branch as it was read.
    pub fn root(&self) -> &T {
        &self.root
    }

    /// The branch as it was read.
    pub fn into_root(self) -> T {
        self.root
    }

    /// Continues until the pass is done or `until` is reached. Returns whether the pass is done. After an error,
    /// the sweep repeats the pass.
    pub async fn run(&mut self, tree: &Tree<T>, until: Option<Instant>) -> Result<bool, Error> {
        if !self.has_visited_root {
            let is_leaf = self.expects_leaf && !tree.has_child(self.root.id()).await?;
            self.waiting = visit(tree, slice::from_ref(&self.root), is_leaf).await?;
            self.has_visited_root = true;
        }
        while !self.waiting.is_empty() {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(false);
            }
            let chunk = self.waiting.split_off(self.waiting.len().saturating_sub(CHUNK));
            let branches = tree.list(&chunk).await?;
            self.waiting.extend(visit(tree, &branches, false).await?);
        }
        if !self.entries.is_empty() {
            tree.remove_fan_outs(self.root.id(), &self.entries).await?;
        }
        Ok(true)
    }
}

/// Updates the copies of these branches, and their children, unless they are leaves. Returns the children.
async fn visit<T: Branch>(
    tree: &Tree<T>,
    branches: &[T],
    are_leaves: bool,
) -> Result<Vec<String>, Error> {
    if branches.is_empty() {
        return Ok(Vec::new());
    }
    T::on_updated(&tree.handles, branches).await?;
    let parents: Vec<_> = branches.iter().map(|branch| branch.id().to_owned()).collect();
    // The lowest version of each parent that any of its children shows.
    let mut lowest_shown = HashMap::<String, i64>::new();
    let (mut below, mut last) = (Vec::new(), String::new());
    let mut has_more = !are_leaves;
    while has_more {
        let children = tree.list_children(&parents, &last, CHILDREN).await?;
        has_more = children.len() == CHILDREN;
        for child in children {
            let parent = child.parent_id().unwrap_or_default().to_owned();
            let lowest = lowest_shown.entry(parent).or_insert(child.parent_cv);
            *lowest = child.parent_cv.min(*lowest);
            child.id.clone_into(&mut last);
            below.push(child.id);
        }
    }
    let updates = branches.iter().map(|branch| {
        let is_outdated =
            lowest_shown.get(branch.id()).is_some_and(|lowest| *lowest < branch.tree().cv);
        update_below(tree, branch, is_outdated)
    });
    let updates: Vec<_> = updates.collect();
    stream::iter(updates).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    Ok(below)
}

/// Updates the copies of a branch, and its children if they are outdated.
async fn update_below<T: Branch>(
    tree: &Tree<T>,
    branch: &T,
    is_outdated: bool,
) -> Result<(), Error> {
    if is_outdated {
        tree.update_children(branch, None).await?;
    }
    branch.update_copies(&tree.handles).await
}
