//! Gateways on one database that have different settings.

use futures_util::TryStreamExt;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::Value;

use super::{Running, SECRET, database, docgate, done, on, uri};
use crate::support::{fresh_name, http, until};

const OTHER_SECRET: &str = "tests: another secret of thirty-two bytes or more";

/// A gateway that compares its settings several times in a second.
struct Compared {
    running: Running,
    name: String,
    address: String,
}

impl Compared {
    fn start(database: &str, settings: &[(&str, &str)]) -> Self {
        let mut command = on(database, &["serve"]);
        command.env("DOCGATE_ROOMS", "queue").env("DOCGATE_BACKGROUND", "false");
        command.env("DOCGATE_SWEEP_MILLIS", "20").env("DOCGATE_LOG_FORMAT", "json");
        command.envs(settings.iter().copied());
        let running = Running::start(command);
        let line: Value = serde_json::from_str(&running.says("gateway_listening")).expect("JSON");
        let text = |field: &str| line[field].as_str().expect("text").to_owned();
        let address = text("message").replace("serving on http://", "");
        Self { running, name: text("gateway"), address }
    }

    /// The next difference in its log: the other gateway's name, and the keys.
    fn differs(&self) -> (String, String) {
        let line = self.running.says("settings_differ");
        assert!(!line.contains(SECRET) && !line.contains(OTHER_SECRET), "{line}");
        let line: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(line["level"], "WARN");
        let text = |field: &str| line[field].as_str().expect("text").to_owned();
        (text("gateway"), text("keys"))
    }

    /// Waits until its metrics have this number of gateways that differ.
    async fn counts(&self, others: u32) {
        let sample = format!("\ndocgate_settings_differ {others}\n");
        until("the gateways that differ are counted", async || {
            let metrics = http().get(format!("http://{}/metrics", self.address)).send().await;
            metrics.expect("an answer").text().await.expect("text").contains(&sample)
        })
        .await;
    }
}

/// What gateways state in the database.
async fn stated(name: &str) -> Vec<Document> {
    let leases = database(name).await.collection::<Document>("leases");
    let found = leases.find(doc! { "_id": { "$gte": "settings/", "$lt": "settings0" } }).await;
    found.expect("a cursor").try_collect().await.expect("documents")
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_with_different_settings_tell_so() {
    let name = fresh_name();
    let apply = {
        let mut command = on(&name, &["indexes", "apply"]);
        command.env("DOCGATE_ROOMS", "queue");
        command
    };
    assert_eq!(done(apply).0, 0);
    let check = || {
        let mut command = on(&name, &["check"]);
        command.env("DOCGATE_ROOMS", "queue");
        done(command)
    };
    // Each may have limits of its own, and say the same in other words.
    let first = Compared::start(&name, &[("DOCGATE_MAX_COST", "500")]);
    let second = Compared::start(&name, &[("DOCGATE_LOG_DATABASE", name.as_str())]);
    until("both have stated their settings", async || stated(&name).await.len() == 2).await;
    let (code, out, said) = check();
    assert_eq!((code, said.as_str()), (0, ""), "{out}");

    let other = [("DOCGATE_SECRET", OTHER_SECRET), ("DOCGATE_CART_IDLE_SECONDS", "60")];
    let third = Compared::start(&name, &other);
    let keys = "cart_idle_seconds, secret".to_owned();
    assert_eq!(first.differs(), (third.name.clone(), keys.clone()));
    assert_eq!(second.differs(), (third.name.clone(), keys.clone()));
    let found = [third.differs(), third.differs()];
    assert!([&first, &second].iter().all(|one| found.contains(&(one.name.clone(), keys.clone()))));
    // The first two don't differ from each other.
    first.counts(1).await;
    second.counts(1).await;
    third.counts(2).await;

    let (code, out, said) = check();
    let told = "warning: gateways on the database differ in settings that must be the same: \
                cart_idle_seconds, secret\n";
    assert_eq!((code, said.as_str()), (0, told), "{out}");
    for one in stated(&name).await {
        assert!(!one.to_string().contains("tests: "), "a secret is stored: {one}");
    }

    // What a gateway has stated runs out after it was killed.
    let id = format!("settings/{}", third.name);
    drop(third);
    let leases = database(&name).await.collection::<Document>("leases");
    let over = doc! { "$set": { "until": DateTime::from_millis(0) } };
    until("its statement is removed", async || {
        // Its last command may still be under way.
        leases.update_one(doc! { "_id": &id }, over.clone()).await.expect("updated");
        stated(&name).await.len() == 2
    })
    .await;
    first.counts(0).await;
    second.counts(0).await;
    assert_eq!(check().2, "");

    // One that is stopped withdraws it.
    second.running.signal("TERM");
    assert_eq!(second.running.ends(), 0);
    assert_eq!(stated(&name).await.len(), 1);

    // A change is told again, and only then.
    let fourth = Compared::start(&name, &[("DOCGATE_FLOW_SKEW_MILLIS", "2000")]);
    assert_eq!(first.differs(), (fourth.name.clone(), "flow_skew_millis".to_owned()));
}

/// Its sweeps do what those of the gateways do, and derive ids from its secret.
#[tokio::test(flavor = "multi_thread")]
async fn a_repair_with_other_settings_than_the_gateways_tells_so() {
    let name = fresh_name();
    let gateway = Compared::start(&name, &[]);
    until("it has stated its settings", async || stated(&name).await.len() == 1).await;
    let mut command = docgate(&["check", "--repair", "--mongodb-uri", &uri(&name)]);
    command.env("DOCGATE_DATABASE", &name).env("DOCGATE_ROOMS", "queue");
    command.env("DOCGATE_SECRET", OTHER_SECRET);
    let repair = Running::start(command);
    let line = repair.says("warning: this command and the gateways");
    assert!(line.ends_with("that must be the same: secret"), "{line}");
    gateway.counts(0).await;
}
