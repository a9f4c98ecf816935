//! Lists and counts of events.

use serde_json::{Value, json};

use super::{LIST, analyst, day, event, logged};
use crate::support::{Gateway, commands};

const COUNT: &str = "query($from: Date!, $to: Date!, $site: String, $pages: Int) {
    requestsByDayAndPage(from: $from, to: $to, site: $site, pagesPerDay: $pages) {
        day requests pages { site path requests } } }";

fn with(mut event: Value, key: &str, value: &str) -> Value {
    event[key] = json!(value);
    event
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_found_by_path_host_and_day() {
    let gateway = Gateway::start().await;
    let (today, other) = (day(&gateway, 3), day(&gateway, 4));
    let at = |day: &str, time: &str| format!("{day}T{time}Z");
    logged(
        &gateway,
        &[
            event("/a", &at(&today, "00:00:00.000")),
            event("/a/b", &at(&today, "12:00:00.000")),
            with(event("/a", &at(&today, "23:59:59.999")), "host", "2001:db8::1"),
            with(event("/a", &at(&other, "23:59:59.999")), "site", "b.example"),
        ],
    )
    .await;
    let paths = async |by: Value, from: Option<String>, to: Option<String>| {
        let variables = json!({ "by": by, "from": from, "to": to });
        let response = analyst(&gateway).explained(LIST, variables).await;
        // The events of all months that may have some.
        let sent = commands(&response);
        assert!(sent.iter().all(|sent| sent.ends_with("events")), "{sent:?}");
        let nodes = response["data"]["events"]["nodes"].as_array().expect("nodes").clone();
        nodes
            .iter()
            .map(|node| node["at"].as_str().expect("a time")[8..].to_owned())
            .collect::<Vec<_>>()
    };
    let [t, o] = [&today[8..], &other[8..]];
    let all =
        [format!("{t}T23:59:59.999Z"), format!("{t}T00:00:00.000Z"), format!("{o}T23:59:59.999Z")];
    assert_eq!(paths(json!({ "path": "/a" }), None, None).await, all);
    assert_eq!(paths(json!({ "host": "2001:db8::1" }), None, None).await, all[..1]);
    let noon = format!("{t}T12:00:00.000Z");
    let of_day = [all[0].clone(), noon.clone(), all[1].clone()];
    assert_eq!(paths(json!({ "day": today }), None, None).await, of_day);
    assert_eq!(paths(json!({ "day": other }), None, None).await, all[2..]);
    let from = Some(at(&today, "00:00:00.001"));
    assert_eq!(
        paths(json!({ "day": today }), from.clone(), None).await,
        [all[0].clone(), noon.clone()]
    );
    let to = Some(at(&today, "23:59:59.999"));
    assert_eq!(paths(json!({ "day": today }), from, to).await, [noon]);
    assert!(paths(json!({ "day": other }), Some(at(&today, "00:00:00")), None).await.is_empty());
    assert!(paths(json!({ "path": "/" }), None, None).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_reads_as_much_as_it_shows() {
    let gateway = Gateway::start().await;
    let at = |n: usize| format!("{}T10:{:02}:{:02}Z", day(&gateway, 2), n / 60, n % 60);
    let events: Vec<_> = (0..300)
        .map(|n| with(event(["/a", "/b"][n % 2], &at(n)), "host", ["h", "i"][n % 2]))
        .collect();
    logged(&gateway, &events).await;
    for by in [json!({ "path": "/a" }), json!({ "host": "h" }), json!({ "day": day(&gateway, 2) })]
    {
        let mut variables = json!({ "by": by, "first": 10, "from": at(100) });
        for _ in 0..2 {
            let response = analyst(&gateway).explained(LIST, variables.clone()).await;
            let sent =
                response["extensions"]["docgate"]["commands"].as_array().expect("commands").clone();
            let keys: i64 = sent.iter().filter_map(|sent| sent["keysExamined"].as_i64()).sum();
            assert!((11..=13).contains(&keys), "{by}: {response:#}");
            let page = &response["data"]["events"];
            assert_eq!(page["nodes"].as_array().expect("nodes").len(), 10);
            variables["after"] = page["pageInfo"]["endCursor"].clone();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_of_lists_are_checked() {
    let gateway = Gateway::start().await;
    let client = analyst(&gateway);
    for (variables, field) in [
        (json!({ "by": { "path": "" } }), "by.path"),
        (json!({ "by": { "path": "x".repeat(8_193) } }), "by.path"),
        (json!({ "by": { "host": "a\u{0}" } }), "by.host"),
        (json!({ "by": { "path": "/a" }, "first": 101 }), "first"),
        (json!({ "by": { "path": "/a" }, "after": "nonsense" }), "after"),
        // An empty list would hide that the two were confused.
        (
            json!({ "by": { "path": "/a" }, "from": "2024-01-02T00:00:00Z", "to": "2024-01-01T00:00:00Z" }),
            "to",
        ),
        (
            json!({ "by": { "day": "2024-01-01" }, "from": "2024-01-01T00:00:00Z", "to": "2024-01-01T00:00:00Z" }),
            "to",
        ),
    ] {
        let response = client.run(LIST, variables).await;
        let extensions = &response["errors"][0]["extensions"];
        assert_eq!(
            (&extensions["code"], &extensions["field"]),
            (&json!("BAD_USER_INPUT"), &json!(field))
        );
    }
    // A cursor belongs to its list.
    let at = format!("{}T10:00:00Z", day(&gateway, 1));
    logged(&gateway, &[event("/a", &at), event("/a", &at)]).await;
    let page = client.field(LIST, json!({ "by": { "path": "/a" }, "first": 1 })).await;
    let after = &page["pageInfo"]["endCursor"];
    for variables in [
        json!({ "by": { "path": "/b" }, "after": after }),
        json!({ "by": { "path": "/a" }, "after": after, "from": "2020-01-01T00:00:00Z" }),
    ] {
        assert_eq!(client.error_code(LIST, variables).await, "BAD_USER_INPUT");
    }
    for (from, to, pages, site, field) in [
        ("2024-01-02", "2024-01-01", None, None, "to"),
        ("2024-01-01", "2024-02-01", None, None, "to"),
        ("2024-01-01", "2024-01-01", Some(0), None, "pagesPerDay"),
        ("2024-01-01", "2024-01-01", Some(101), None, "pagesPerDay"),
        ("2024-01-01", "2024-01-01", None, Some("a\nb"), "site"),
    ] {
        let variables = json!({ "from": from, "to": to, "pages": pages, "site": site });
        let response = client.run(COUNT, variables).await;
        assert_eq!(response["errors"][0]["extensions"]["field"], field, "{response:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_by_day_and_page() {
    let gateway = Gateway::start().await;
    // More than a month ago, so that the days cross a border of months.
    let days: Vec<String> = (0..31).map(|n| day(&gateway, 62 - n)).collect();
    let mut events = Vec::new();
    for (number, day) in days.iter().enumerate().filter(|(number, _)| number % 10 != 5) {
        for n in 0..=number {
            let path = ["/$a.b", "/c"][n % 2];
            let site = if n % 3 == 0 { "b.example" } else { "a.example" };
            events.push(with(event(path, &format!("{day}T23:59:59.999Z")), "site", site));
        }
    }
    for some in events.chunks(1_000) {
        logged(&gateway, some).await;
    }
    let count = async |from: &str, to: &str, site: Option<&str>, pages: Option<i32>| {
        let variables = json!({ "from": from, "to": to, "site": site, "pages": pages });
        analyst(&gateway).field(COUNT, variables).await.as_array().expect("days").clone()
    };
    let all = count(&days[0], &days[30], None, None).await;
    assert_eq!(all.len(), 28, "{all:#?}");
    for found in &all {
        let number = days.iter().position(|day| found["day"] == **day).expect("a day of these");
        assert_eq!(found["requests"], number + 1);
        let pages = found["pages"].as_array().expect("pages");
        let sum: i64 = pages.iter().filter_map(|page| page["requests"].as_i64()).sum();
        assert_eq!(found["requests"], sum);
        assert!(
            pages.is_sorted_by_key(|page| -page["requests"].as_i64().unwrap_or(0)),
            "{found:#}"
        );
    }
    let last = count(&days[30], &days[30], Some("a.example"), Some(1)).await;
    let expected = json!([{ "day": days[30], "requests": 20,
        "pages": [{ "site": "a.example", "path": "/$a.b", "requests": 10 }] }]);
    assert_eq!(json!(last), expected);
    assert!(count(&days[5], &days[5], None, None).await.is_empty());

    // The last two days have 30 and 31 events.
    let few = gateway.sibling_with(|config| config.events_counted = 31).await;
    let one = json!({ "from": days[30], "to": days[30] });
    assert_eq!(analyst(&few).field(COUNT, one).await[0]["requests"], 31);
    let both = json!({ "from": days[29], "to": days[30] });
    let refused = analyst(&few).run(COUNT, both).await;
    assert_eq!(refused["errors"][0]["extensions"]["field"], "to", "{refused:#}");
}
