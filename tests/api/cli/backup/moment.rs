//! An export while a gateway is in use, and a gateway on what was restored.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use docgate::{
    config::{Config, SeriesEngine},
    domains::ROOMS,
    graphql::node_id::decode,
};
use mongodb::bson::{Document, doc};
use serde_json::json;
use tokio::task::JoinHandle;

use super::{
    Drill, Running, database,
    filled::{filled, nodes, noise, readings},
    finished, on,
};
use crate::{
    cli::versions::assert_versions,
    shop,
    support::{Gateway, fresh_name, http, key, settled, until},
    transfers,
};

/// Does something again and again until it is told to stop, and counts how often it did.
struct Busy {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    tasks: Vec<JoinHandle<()>>,
}

impl Busy {
    fn with<F: Future<Output = ()> + Send + 'static>(
        tasks: usize,
        work: impl Fn(usize, u64) -> F + Clone + Send + Sync + 'static,
    ) -> Self {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let task = |number| {
            let (stop, done, work) = (Arc::clone(&stop), Arc::clone(&done), work.clone());
            tokio::spawn(async move {
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    work(number, round).await;
                    round += 1;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let tasks = (0..tasks).map(task).collect();
        Self { stop, done, tasks }
    }

    /// Waits until it has begun.
    async fn begun(&self) {
        until("it writes", async || self.done.load(Ordering::Relaxed) >= 5).await;
    }

    async fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.expect("no panic");
        }
        self.done.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_database_answers_as_the_exported_one() {
    let native = |config: &mut Config| config.series_engine = SeriesEngine::Native;
    let gateway = Gateway::with(native).await;
    let filled = filled(&gateway).await;
    let (readings, nodes) = (readings(&gateway, &filled), nodes(&filled));
    let kinds = ROOMS.iter().flat_map(|room| room.nodes).map(|node| node.kind.name().to_owned());
    let kinds: BTreeSet<String> = kinds.collect();
    let shown = nodes.iter().map(|(id, _)| decode(id).expect("a global id").0);
    assert_eq!(shown.collect::<BTreeSet<_>>(), kinds, "there is one of each kind");
    shop::stocked(&gateway, "other", 100, 10_000).await;
    settled(&gateway).await;
    assert_versions(&gateway.database).await;
    let own = gateway.address.to_string();
    let mut before = Vec::new();
    for reading in &readings {
        before.push(reading.of(&own).await);
    }

    // Others write meanwhile.
    let (client, shopper) = (gateway.service(), gateway.shopper("bob"));
    let busy = Busy::with(2, move |number, _| {
        let (client, shopper) = (client.clone(), shopper.clone());
        async move {
            if number == 0 {
                let hit = "mutation { recordHits(input: { hits: [
                    { site: \"a.example\", page: \"/other\" }] }) { __typename } }";
                client.data(hit, json!({})).await;
            } else {
                let cart = shopper.open_cart("RESERVE").await;
                shopper.add(&cart, "other", 1).await;
                shopper.cancel(&cart).await;
            }
        }
    });
    busy.begun().await;
    let (drill, name) = (Drill::new(), fresh_name());
    let (code, out, said) = drill.export(gateway.database.name(), "busy", "zstd").await;
    busy.end().await;
    assert_eq!(code, 0, "{out}{said}");
    let (code, out, said) = drill.restore("busy", &name).await;
    assert_eq!(code, 0, "{out}{said}");
    let (code, plan, _) = finished(on(&name, &["indexes", "plan"])).await;
    assert_eq!(code, 0, "{plan}");

    repaired(&name).await;
    let mut serve = on(&name, &["serve"]);
    serve.env("DOCGATE_SERIES_ENGINE", "native");
    let running = Running::start(serve);
    let address = running.address("serving on http://");
    for (reading, before) in readings.iter().zip(before) {
        assert_eq!(reading.of(&address).await, before, "{}", reading.query);
    }
    for (id, reading) in &nodes {
        let node = reading.of(&address).await["node"].clone();
        assert_eq!(node["id"], json!(id), "{node:#}");
        assert_eq!(reading.of(&own).await["node"], node);
    }
    let file = http().get(format!("http://{address}/assets/it")).send().await;
    let file = file.expect("an answer").bytes().await.expect("the file");
    assert!(file == noise(), "the file is the same");
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
    database(&name).await.drop().await.expect("dropped");
}

/// Finishes the flows that were running at the moment of the export, and proves that the database is sound then.
async fn repaired(name: &str) {
    let mut command = on(name, &["check", "--repair"]);
    // No gateway has these flows any more, so nothing is gained by waiting for one.
    // A command may take a while on a busy machine.
    command.env("DOCGATE_FLOW_RUN_MILLIS", "4000").env("DOCGATE_FLOW_COMMAND_MILLIS", "2000");
    command.env("DOCGATE_FLOW_SKEW_MILLIS", "100");
    let (code, out, said) = finished(command).await;
    assert_eq!(code, 0, "{out}{said}");
    let (code, out, _) = finished(on(name, &["check"])).await;
    assert_eq!(code, 0, "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_moves_during_an_export_is_neither_lost_nor_doubled() {
    const ACCOUNTS: usize = 4;
    let gateway = Gateway::start().await;
    let owner = gateway.shopper("ann");
    let mut accounts = Vec::new();
    for _ in 0..ACCOUNTS {
        let account = transfers::open(&owner, "EUR").await;
        transfers::fund(&gateway, &account, 10_000).await;
        accounts.push(account);
    }
    let (all, client) = (accounts.clone(), owner.clone());
    let busy = Busy::with(ACCOUNTS, move |number, round| {
        let (client, all) = (client.clone(), all.clone());
        async move {
            let other =
                (number + 1 + usize::try_from(round).expect("few") % (ACCOUNTS - 1)) % ACCOUNTS;
            let order = transfers::order(&all[number], &all[other], 7, None);
            // A refusal is fine too: what counts is the sum.
            client.run(transfers::TRANSFER, order).await;
        }
    });
    busy.begun().await;
    let drill = Drill::new();
    for round in 0..2 {
        let (folder, name) = (format!("export-{round}"), fresh_name());
        let (code, out, said) = drill.export(gateway.database.name(), &folder, "zstd").await;
        assert_eq!(code, 0, "{out}{said}");
        let (code, out, said) = drill.restore(&folder, &name).await;
        assert_eq!(code, 0, "{out}{said}");
        repaired(&name).await;
        let restored = database(&name).await;
        let stored = restored.collection::<Document>("accounts");
        let mut sum = 0;
        for account in &accounts {
            let found = stored.find_one(doc! { "_id": key(account) }).await.expect("read");
            sum += found.expect("the account").get_i64("balance").expect("a balance");
        }
        assert_eq!(sum, 40_000);
        restored.drop().await.expect("dropped");
    }
    assert!(busy.end().await > 20, "transfers went on all the time");
}
