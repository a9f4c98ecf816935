//! The commands that trees send to MongoDB.

use std::marker::PhantomData;

use mongodb::bson::{DateTime, Document, doc};
use serde::{Deserialize, Serialize};

use super::{Branch, below};
use crate::{
    error::Error,
    flow::Attempt,
    mongo::{
        Collection, Outcome, Sends, Stored,
        collection::{List, Series},
        expression::{append, array, both, count, literal, whole, without_any},
        migrations::Upgrade,
        swept::SweptPage,
    },
};

/// The documents of one tree, with its commands.
#[derive(Debug, Clone)]
pub struct Tree<T: Branch> {
    branches: Collection<T>,
    children: Collection<ChildOf<T>>,
    /// The handles that are needed to update copies in other collections.
    pub handles: T::Handles,
}

/// The part of a child that a pass needs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "")]
pub struct ChildOf<T> {
    /// Its `_id`.
    #[serde(rename = "_id")]
    pub(super) id: String,
    /// Version of the parent that it shows.
    pub(super) parent_cv: i64,
    /// The field [`Branch::PARENT`].
    #[serde(flatten)]
    parent: Document,
    #[serde(skip)]
    of: PhantomData<fn() -> T>,
}

impl<T: Branch> ChildOf<T> {
    /// `_id` of its parent.
    pub(super) fn parent_id(&self) -> Option<&str> {
        let mut steps = T::PARENT.split('.');
        let first = self.parent.get(steps.next()?)?;
        steps.try_fold(first, |value, step| value.as_document()?.get(step))?.as_str()
    }
}

impl<T: Branch> Stored for ChildOf<T> {
    const COLLECTION: &'static str = T::COLLECTION;
    const UPGRADES: &'static [Upgrade] = T::UPGRADES;
}

/// Pipeline stage of a change: raises the version, and adds an entry for the copies to the outbox. `id`
/// identifies the change.
pub fn changed(id: &str) -> Document {
    let entry = whole(doc! { "id": literal(id), "at": "$$NOW" });
    doc! { "$set": {
        "cv": { "$add": ["$cv", 1_i64] }, "outbox": append(array("outbox"), vec![entry]),
    } }
}

/// Guard of the change with that id: it isn't in the outbox.
fn unchanged(id: &str) -> Document {
    doc! { "outbox.id": { "$ne": id } }
}

/// Filter: the branch, with the change with that id in its outbox.
fn with_change(branch: &str, id: &str) -> Document {
    doc! { "_id": branch, "outbox.id": id }
}

impl<T: Branch> Tree<T> {
    /// The children of a branch.
    const CHILDREN: &'static Series =
        &Series { field: T::PARENT, order: &["_id"], index: "parent" };

    /// Creates the tree of these documents. `children` is the same collection.
    pub fn of(
        branches: Collection<T>,
        children: Collection<ChildOf<T>>,
        handles: T::Handles,
    ) -> Self {
        Self { branches, children, handles }
    }

    /// Returns the branch with this `_id`, with read concern `majority`.
    pub async fn find(&self, id: &str) -> Result<Option<T>, Error> {
        self.branches.get_settled(id).await
    }

    pub(super) async fn list(&self, ids: &[String]) -> Result<Vec<T>, Error> {
        let filter = doc! { "_id": { "$in": ids } };
        self.branches.list(List { filter, limit: count(ids.len().max(1)), ..List::default() }).await
    }

    /// Inserts a branch; refused if another one has its `_id` or its slug. A deletion may leave no tombstone, so the command
    /// is numbered.
    pub async fn insert(&self, branch: &T) -> Outcome<()> {
        self.branches.insert_numbered(branch).await
    }

    /// Returns the branch with this slug below a parent, or among the roots.
    pub async fn find_below(&self, parent: Option<&str>, slug: &str) -> Result<Option<T>, Error> {
        let filter = doc! { T::SLUG: slug, T::PARENT: parent };
        self.branches.first(List { filter, hint: Some("slug"), ..List::default() }).await
    }

    /// The depth of the deepest descendant of `branch` after a move below `parent`. `None` if the branch would
    /// become its own descendant. The ancestors are found by [`T::PARENT`](Branch::PARENT), which only changes
    /// under the tree's lock. Copies of the path may be outdated.
    ///
    /// # Errors
    /// `Internal` if an ancestor is its own ancestor; the error of a read.
    pub async fn depth_below(&self, branch: &T, parent: &T) -> Result<Option<usize>, Error> {
        let (mut line, mut next) = (Vec::new(), Some(parent.clone()));
        while let Some(ancestor) = next {
            if ancestor.id() == branch.id() {
                return Ok(None);
            }
            let id = ancestor.id().to_owned();
            if line.contains(&id) {
                return Err(Error::internal(format!("{id:?} is its own ancestor")));
            }
            line.push(id);
            next = match ancestor.parent_id() {
                Some(parent) => self.find(parent).await?,
                None => None,
            };
        }
        // The part of a path before its first slash is empty.
        let steps = doc! { "$size": { "$split": [format!("${}", T::PATH), "/"] } };
        let stages = vec![
            doc! { "$match": below(T::PATH, branch.path()) },
            doc! { "$group": { "_id": null, "deepest": { "$max": steps } } },
        ];
        let found = self.branches.aggregate(stages).await?;
        let deepest = found.first().and_then(|found| found.get_i32("deepest").ok()).unwrap_or(0);
        let deepest = usize::try_from(deepest).unwrap_or(0);
        Ok(Some(1 + line.len() + deepest.saturating_sub(branch.depth() + 1)))
    }

    /// Lists children of any of these parents, in `_id` order, after the `_id` `after`.
    pub(super) async fn list_children(
        &self,
        parents: &[String],
        after: &str,
        limit: usize,
    ) -> Result<Vec<ChildOf<T>>, Error> {
        let list = List {
            filter: doc! { T::PARENT: { "$in": parents }, "_id": { "$gt": after } },
            sort: doc! { "_id": 1 },
            limit: count(limit),
            projection: Some(doc! { T::PARENT: 1, "parentCv": 1 }),
            hint: Some("parent"),
            ..List::default()
        };
        self.children.list(list).await
    }

    /// Whether the branch has a child, also one that a majority doesn't hold yet. Callers at the same time share a command; so
    /// this is for branches that rarely have one.
    pub(super) async fn has_child(&self, id: &str) -> Result<bool, Error> {
        let (found, _is_whole) = self.children.newest(Self::CHILDREN, id).await?;
        Ok(!found.is_empty())
    }

    /// Whether the branch has children.
    pub(super) async fn has_children(&self, id: &str) -> Result<bool, Error> {
        Ok(self.children.count(doc! { T::PARENT: id }, 1).await? > 0)
    }

    /// Updates the children that show a lower version of `parent`, or only the child `only`.
    pub(super) async fn update_children(
        &self,
        parent: &T,
        only: Option<&str>,
    ) -> Result<(), Error> {
        let mut filter = doc! { T::PARENT: parent.id(), "parentCv": { "$lt": parent.tree().cv } };
        if let Some(only) = only {
            filter.insert("_id", only);
        }
        let mut stages = copied(Some(parent));
        stages.push(doc! { "$set": { "cv": { "$add": ["$cv", 1_i64] } } });
        self.branches.update_many(filter, stages).await?;
        Ok(())
    }

    /// Moves a branch below `parent` as it was read, or to the roots, under this slug. Also refused if the slug is
    /// taken there. `change` identifies the change. Also returns how often the command was sent: its guard can hold again
    /// when the change is no longer in the outbox.
    pub async fn move_below(
        &self,
        id: &str,
        parent: Option<&T>,
        slug: &str,
        change: String,
        attempt: &Attempt,
    ) -> Result<Option<(T, Sends)>, Error> {
        let parent_id = literal(parent.map(|parent| parent.id().to_owned()));
        let mut stages = vec![doc! { "$set": { T::PARENT: parent_id, T::SLUG: literal(slug) } }];
        stages.extend(copied(parent));
        stages.push(changed(&change));
        let write = self.branches.guarded(both(T::changeable(id), unchanged(&change)), stages);
        write.within(attempt).applied_if(with_change(id, &change)).sends_then_read().await
    }

    /// Removes these entries from the outbox: their changes have reached every copy.
    pub(super) async fn remove_fan_outs(
        &self,
        id: &str,
        entries: &[String],
    ) -> Result<bool, Error> {
        let left = without_any(array("outbox"), "id", entries.to_vec());
        self.branches.set(doc! { "_id": id }, doc! { "outbox": left }).held().await
    }

    /// Completes a creation, after the parent was found to exist still.
    pub(super) async fn confirm(&self, branch: &T) -> Result<Option<T>, Error> {
        let settled = doc! { "copying": "$$REMOVE" };
        self.branches.set(still_copying(branch), settled).then_read().await
    }

    /// Removes a branch whose creation isn't complete. No other document can depend on it yet.
    pub(super) async fn remove_unconfirmed(&self, branch: &T) -> Outcome<()> {
        self.branches.remove(still_copying(branch)).await
    }

    /// Marks a branch as being deleted, if its [`T::deletable`](Branch::deletable) holds. The mark replaces an
    /// older one of an interrupted deletion. Returns how often the command was sent, or `None` if it was refused: its
    /// guard holds again after [`Self::unmark_deleting`].
    pub(super) async fn mark_deleting(
        &self,
        id: &str,
        by: &str,
        attempt: &Attempt,
    ) -> Result<Option<Sends>, Error> {
        let mark = whole(doc! { "by": literal(by), "at": "$$NOW" });
        let write = self.branches.set(T::deletable(id), doc! { "deleting": mark });
        write.within(attempt).sends().await
    }

    /// Removes the mark of a deletion.
    pub(super) async fn unmark_deleting(&self, id: &str, by: &str) -> Result<Option<T>, Error> {
        let marked = doc! { "_id": id, "deleting.by": by };
        self.branches.set(marked, doc! { "deleting": "$$REMOVE" }).then_read().await
    }

    /// Removes a branch with this mark, or replaces it by its tombstone. Returns whether it did.
    pub(super) async fn remove_marked(
        &self,
        id: &str,
        by: &str,
        attempt: &Attempt,
    ) -> Result<bool, Error> {
        let marked = doc! { "_id": id, "deleting.by": by };
        let Some(stages) = T::tombstone() else {
            let removed = self.branches.remove(both(marked, attempt.alive())).await;
            return Ok(removed.decided()?.is_some());
        };
        self.branches.guarded(marked, stages).within(attempt).held().await
    }

    /// A page of the branches whose `field`, such as `copying`, holds a time from `from` on and before `before`, oldest first,
    /// for the sweep.
    pub fn list_between(
        &self,
        field: &'static str,
        from: DateTime,
        before: DateTime,
        limit: i64,
    ) -> impl Future<Output = Result<SweptPage<T>, Error>> + use<T> {
        let filter = doc! { field: { "$gte": from, "$lt": before } };
        let list = List { filter, sort: doc! { field: 1 }, limit, ..List::default() };
        self.branches.list_swept((field, from), list)
    }

    /// The same of a field with the times of an array's elements, by the index with this name.
    pub fn list_elements_between(
        &self,
        by: (&'static str, &'static str),
        from: DateTime,
        before: DateTime,
        limit: i64,
    ) -> impl Future<Output = Result<SweptPage<T>, Error>> + use<T> {
        self.branches.list_elements_between(by, from, before, limit)
    }
}

/// Pipeline stages that copy values from the parent to a child, with the parent's version.
fn copied<T: Branch>(parent: Option<&T>) -> Vec<Document> {
    let mut stages = T::copied_stages(parent);
    stages.push(doc! { "$set": { "parentCv": parent.map_or(0, |parent| parent.tree().cv) } });
    stages
}

fn still_copying<T: Branch>(branch: &T) -> Document {
    doc! { "_id": branch.id(), T::PARENT: branch.parent_id(), "copying": { "$exists": true } }
}
