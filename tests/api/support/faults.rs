//! Faults that are planted in the database, for the invariants that have to find them.

use mongodb::bson::{Document, doc};

use super::Gateway;

/// What is wrong with a document.
pub enum Fault {
    /// It was changed by this update.
    Changed(Document),
    /// It was removed.
    Removed,
    /// It was added.
    Added(Document),
}

impl Gateway {
    /// The rules that the check finds broken while this document is wrong. Afterwards it is as it was.
    pub async fn broken_by(&self, collection: &str, id: &str, fault: Fault) -> Vec<String> {
        let (raw, one) = (self.raw(collection), doc! { "_id": id });
        let before = raw.find_one(one.clone()).await.expect("read");
        let is_planted = match fault {
            Fault::Changed(update) => {
                let changed = raw.update_one(one.clone(), update).await.expect("changed");
                changed.modified_count == 1
            }
            Fault::Removed => {
                raw.delete_one(one.clone()).await.expect("removed").deleted_count == 1
            }
            Fault::Added(document) => {
                raw.insert_one(document).await.expect("added");
                before.is_none()
            }
        };
        assert!(is_planted, "{collection} {id}");
        let report = self.check().await;
        raw.delete_one(one).await.expect("removed");
        if let Some(before) = before {
            raw.insert_one(before).await.expect("mended");
        }
        self.assert_sound().await;
        let broken = report.rules.into_iter().filter(|(_, broken)| !broken.is_empty());
        broken.map(|(rule, _)| rule).collect()
    }
}
