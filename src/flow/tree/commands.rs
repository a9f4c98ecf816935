//! The commands that trees send to MongoDB.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::Branch;
use crate::{
    error::Error,
    flow::Attempt,
    mongo::{
        Collection, Outcome,
        collection::List,
        expression::{append, array, both, literal, whole},
    },
};

/// The commands of one tree.
#[derive(Debug)]
pub struct Tree<T: Branch> {
    branches: Collection<T>,
    children: Collection<T::Child>,
}

/// Pipeline stage of a change: raises the version, and adds an entry for the copies to the outbox. `id`
/// identifies the change.
pub fn changed(id: String) -> Document {
    let entry = whole(doc! { "id": literal(id), "at": "$$NOW" });
    doc! { "$set": {
        "cv": { "$add": ["$cv", 1_i64] }, "outbox": append(array("outbox"), vec![entry]),
    } }
}

impl<T: Branch> Tree<T> {
    /// Creates the tree of these documents. `children` is the same collection.
    pub fn of(branches: Collection<T>, children: Collection<T::Child>) -> Self {
        Self { branches, children }
    }

    /// Returns the branch with this `_id`, with read concern `majority`.
    pub async fn find(&self, id: &str) -> Result<Option<T>, Error> {
        self.branches.get_settled(id).await
    }

    pub(super) async fn list(&self, ids: &[String]) -> Result<Vec<T>, Error> {
        let filter = doc! { "_id": { "$in": ids } };
        self.branches.list(List { filter, limit: count(ids.len().max(1)), ..List::default() }).await
    }

    /// Number of branches on the path from `parent` up to its root, including `parent`. `None` if the branch
    /// with this `_id` is on that path, and would thus become its own descendant. The path follows
    /// [`T::PARENT`](Branch::PARENT), which only changes under the tree's lock; copies of the path may lag
    /// behind.
    pub async fn height_without(&self, id: &str, parent: &T) -> Result<Option<usize>, Error> {
        let mut height = 1;
        let mut step = parent.clone();
        loop {
            if step.id() == id {
                return Ok(None);
            }
            let Some(above) = step.parent_id() else { return Ok(Some(height)) };
            let Some(above) = self.find(above).await? else { return Ok(Some(height)) };
            step = above;
            height += 1;
        }
    }

    /// Lists children of any of these parents, in `_id` order, after the `_id` `after`.
    pub(super) async fn list_children(
        &self,
        parents: &[String],
        after: &str,
        limit: usize,
    ) -> Result<Vec<T::Child>, Error> {
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

    /// Whether the branch has children.
    pub async fn has_children(&self, id: &str) -> Result<bool, Error> {
        Ok(self.children.count(doc! { T::PARENT: id }, 1).await? > 0)
    }

    /// Updates the children that show a lower version of `parent`, or only the child `only`.
    pub(super) async fn update_children(
        &self,
        parent: &T,
        only: Option<&str>,
    ) -> Result<(), Error> {
        let mut filter = doc! { T::PARENT: parent.id(), "parentCv": { "$lt": parent.cv() } };
        if let Some(only) = only {
            filter.insert("_id", only);
        }
        let mut stages = below(Some(parent));
        stages.push(doc! { "$set": { "cv": { "$add": ["$cv", 1_i64] } } });
        self.branches.update_many(filter, stages, Vec::new()).await?;
        Ok(())
    }

    /// Moves a branch below `parent` as it was read, or to the roots, if `guard` holds. The stages in
    /// `before` run first. `id` identifies the change.
    pub async fn put_below(
        &self,
        guard: Document,
        parent: Option<&T>,
        before: Vec<Document>,
        id: String,
        attempt: &Attempt,
    ) -> Outcome<T> {
        let place = literal(parent.map(|parent| parent.id().to_owned()));
        let mut stages = before;
        stages.push(doc! { "$set": { T::PARENT: place } });
        stages.extend(below(parent));
        stages.push(changed(id));
        self.branches.guarded(guard, stages).within(attempt).apply().await
    }

    /// Removes these entries from the outbox: their changes have reached every copy.
    pub(super) async fn remove_fan_outs(&self, id: &str, entries: &[String]) -> Outcome<T> {
        let pull = doc! { "$pull": { "outbox": { "id": { "$in": entries } } } };
        self.branches.guarded(doc! { "_id": id }, pull).apply().await
    }

    /// Completes a creation: the parent still existed after the child was inserted.
    pub(super) async fn confirm(&self, branch: &T) -> Outcome<T> {
        let unset = doc! { "$unset": { "copying": "" } };
        self.branches.guarded(still_copying(branch), unset).apply().await
    }

    /// Removes a branch whose creation isn't complete. Nothing can depend on it yet.
    pub(super) async fn withdraw(&self, branch: &T) -> Outcome<()> {
        self.branches.remove(still_copying(branch)).await
    }

    /// Marks a branch as being deleted, if `guard` holds. The mark replaces an older one of an interrupted
    /// deletion.
    pub async fn mark_deleting(&self, guard: Document, by: &str, attempt: &Attempt) -> Outcome<T> {
        let mark = whole(doc! { "by": literal(by), "at": "$$NOW" });
        let stages = vec![doc! { "$set": { "deleting": mark } }];
        self.branches.guarded(guard, stages).within(attempt).apply().await
    }

    /// Removes the mark of a deletion.
    pub async fn unmark_deleting(&self, id: &str, by: &str) -> Outcome<T> {
        let unset = doc! { "$unset": { "deleting": "" } };
        self.branches.guarded(doc! { "_id": id, "deleting.by": by }, unset).apply().await
    }

    /// Removes a branch that carries this mark.
    pub async fn remove(&self, id: &str, by: &str, attempt: &Attempt) -> Outcome<()> {
        let marked = doc! { "_id": id, "deleting.by": by };
        self.branches.remove(both(marked, attempt.alive())).await
    }

    /// Lists branches whose `field` (`copying`, `deleting.at` or `outbox.at`) is older than `before`.
    pub(super) async fn list_left_behind(
        &self,
        field: &'static str,
        before: DateTime,
        limit: i64,
    ) -> Result<Vec<T>, Error> {
        let filter = doc! { field: { "$lt": Bson::DateTime(before) } };
        let sort = doc! { field: 1 };
        self.branches.list(List { filter, sort, limit, ..List::default() }).await
    }
}

/// Pipeline stages that copy values from the parent to a child, with the parent's version.
fn below<T: Branch>(parent: Option<&T>) -> Vec<Document> {
    let mut stages = T::taken_over(parent);
    stages.push(doc! { "$set": { "parentCv": parent.map_or(0, T::cv) } });
    stages
}

fn still_copying<T: Branch>(branch: &T) -> Document {
    doc! { "_id": branch.id(), T::PARENT: branch.parent_id(), "copying": { "$exists": true } }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
