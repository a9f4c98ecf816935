//! Invariants of topics, for `docgate check`.

use std::collections::{HashMap, HashSet};

use super::store;
use crate::{app::App, error::Result, invariants::Report};

/// Checks that topics and capped collections belong together, and that names are unique.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let found: HashMap<String, bool> = store::rings(app).await?.into_iter().collect();
    let topics = store::list(app).await?;
    report.rule("topics: each topic has its capped collection");
    for topic in topics.iter().filter(|topic| topic.is_ready) {
        match found.get(&topic.ring) {
            Some(true) => {}
            Some(false) => report.broken(format!("{:?}: {} isn't capped", topic.name, topic.ring)),
            None => report.broken(format!("{:?}: there is no {}", topic.name, topic.ring)),
        }
    }
    report.rule("topics: each capped collection has its topic");
    let listed: HashSet<&String> = topics.iter().map(|topic| &topic.ring).collect();
    for name in found.keys().filter(|name| !listed.contains(name)) {
        report.broken(format!("{name} belongs to no topic"));
    }
    report.rule("topics: no two topics have the same name");
    let mut names = HashSet::new();
    for topic in topics.iter().filter(|topic| !names.insert(&topic.name)) {
        report.broken(format!("{:?} is there twice", topic.name));
    }
    Ok(())
}
