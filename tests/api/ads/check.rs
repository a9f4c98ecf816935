//! Each invariant finds a fault that is planted.

use mongodb::bson::{Bson, DateTime, doc};
use serde_json::json;

use super::{CLICK, PAUSE, change, launch, plan, record, token, with, zone};
use crate::support::{
    Gateway,
    faults::Fault::{Added, Changed, Removed},
    key,
};

const BUDGET: &str = "ads: no campaign has spent more than its budget";
const PAID: &str = "ads: what a campaign has spent is what its impressions or clicks cost";
const DAYS: &str = "ads: the days of a campaign add up to its counts";
const ZONES: &str = "ads: running campaigns are in the zones that they name, and no others";
const SORTED: &str = "ads: the ads of a zone are sorted, and its key is made of its name";
const CLICKS: &str = "ads: each click belongs to one impression of a campaign, which counts it";

#[tokio::test(flavor = "multi_thread")]
async fn each_invariant_finds_its_fault() {
    let gateway = Gateway::start().await;
    zone(&gateway, "top").await;
    zone(&gateway, "side").await;
    let fields = json!({ "dailyBudget": 50 });
    let id = launch(&gateway, with(plan(&gateway, &["top", "side"]), fields)).await;
    let paid = json!({ "pricing": "CPC", "bid": 10 });
    let clicked = launch(&gateway, with(plan(&gateway, &["side"]), paid)).await;
    let idle = launch(&gateway, plan(&gateway, &["side"])).await;
    change(&gateway, PAUSE, &idle).await;
    let token = token(&gateway, "top").await;
    record(&gateway, CLICK, &token).await;
    gateway.assert_sound().await;
    let set = |field: &str, value: Bson| Changed(doc! { "$set": { field: value } });

    let (id, clicked, idle) = (key(&id), key(&clicked), key(&idle));
    let broken = async |id: &str, fault| gateway.broken_by("campaigns", id, fault).await;
    assert_eq!(broken(&id, set("budget.total", 999_i64.into())).await, [BUDGET]);
    assert_eq!(broken(&id, set("budget.perDay", 999_i64.into())).await, [BUDGET]);
    assert_eq!(broken(&id, set("total.spent", 0_i64.into())).await, [PAID, DAYS]);
    assert_eq!(broken(&id, set("total.paidClicks", 1_i64.into())).await, [PAID, DAYS]);
    assert_eq!(broken(&id, set("cost", 999_i64.into())).await, [PAID]);
    assert_eq!(broken(&id, set("today.counts.views", 1_i64.into())).await, [DAYS]);
    assert_eq!(broken(&id, set("total.clicks", 0_i64.into())).await, [DAYS, CLICKS]);
    assert_eq!(broken(&id, set("total.views", 2_i64.into())).await, [DAYS, CLICKS]);
    assert_eq!(broken(&id, set("state", "PAUSED".into())).await, [ZONES]);
    assert_eq!(broken(&clicked, set("ecpm", 1_i64.into())).await, [ZONES]);
    assert_eq!(broken(&idle, set("state", "RUNNING".into())).await, [ZONES]);
    assert_eq!(broken(&id, Removed).await, [ZONES, CLICKS]);
    // What is due isn't judged.
    let due = doc! { "$set": { "state": "RUNNING", "due": DateTime::from_millis(0) } };
    assert!(broken(&idle, Changed(due)).await.is_empty());

    let broken = async |zone: &str, fault| {
        gateway.broken_by("adZones", &format!("site~example:{zone}"), fault).await
    };
    assert_eq!(broken("top", set("ads", Bson::Array(vec![]))).await, [ZONES]);
    assert_eq!(broken("side", set("ads.0.ecpm", 1_i64.into())).await, [ZONES, SORTED]);
    assert_eq!(broken("side", set("ads.0.unit", 2_i32.into())).await.len(), 0, "one ad is there");
    assert_eq!(broken("top", set("zoneId", "other".into())).await, [SORTED]);
    assert_eq!(broken("top", Removed).await, [ZONES]);

    let click = gateway.stored("adClicks").await.remove(0);
    let own = click.get_str("_id").expect("an id").to_owned();
    for (field, value) in [
        ("campaign", Bson::from("nowhere")),
        ("unit", 2_i32.into()),
        ("impression", "another".into()),
        ("kind", "VIEW".into()),
    ] {
        let found = gateway.broken_by("adClicks", &own, set(field, value)).await;
        assert_eq!(found, [CLICKS], "{field}");
    }
    let mut second = click.clone();
    second.insert("_id", "another");
    second.insert("impression", "another");
    assert_eq!(gateway.broken_by("adClicks", "another", Added(second)).await, [CLICKS]);
}
