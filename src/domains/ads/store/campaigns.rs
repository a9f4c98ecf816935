//! MongoDB access of campaigns: the changes of their states, and the charges to their budgets.

use super::super::documents::{
    CampaignDocument, CampaignState, ChargedCampaign, Counts, EventDocument, EventKind, MARKS,
    Pricing,
};
use crate::{graphql::prelude::*, mongo::prelude::*};

pub(in super::super) fn campaigns(app: &App) -> Collection<CampaignDocument> {
    app.collection()
}

/// Why an impression isn't charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum NotCharged {
    /// The campaign isn't running.
    NotRunning,
    /// It hasn't begun.
    NotBegun,
    /// It is over.
    Over,
    /// The budget doesn't pay for it.
    Spent,
    /// The budget of the day doesn't pay for it.
    DaySpent,
}

/// The rules of a charge. `needed` is what the budget must have left.
fn charge_rules(needed: i64) -> [(Condition, NotCharged); 5] {
    [
        (is("state", stored(&CampaignState::Running)), NotCharged::NotRunning),
        (is_past("startsAt"), NotCharged::NotBegun),
        (is_past("endsAt").negated(), NotCharged::Over),
        (fits_total(needed), NotCharged::Spent),
        (fits_day(needed), NotCharged::DaySpent),
    ]
}

/// Reads what decides whether a campaign can be charged, as the fields that [`not_charged`] takes.
pub(in super::super) async fn find_charged(app: &App, id: &str) -> Result<Option<Document>> {
    let parts: Collection<ChargedCampaign> = app.collection();
    Ok(parts.get(id).await?.as_ref().map(stored_fields))
}

/// Why an impression would not be charged, by the fields of the campaign when the server's clock showed `now`.
pub(in super::super) fn not_charged(
    campaign: &Document,
    needed: i64,
    now: DateTime,
) -> Option<NotCharged> {
    let broken = |(condition, _): &(Condition, _)| !condition.holds(campaign, now);
    charge_rules(needed).into_iter().find(broken).map(|(_, reason)| reason)
}

/// Charges an impression, and counts it. `needed` is what the budget must have left, and `cost` what is spent.
pub(in super::super) fn charge(campaign: &str, cost: i64, needed: i64) -> Change<NotCharged> {
    let mut added = adding(&[("impressions", 1_i64.into()), ("spent", cost.into())]);
    added.insert("liveUntil", live_until(vec![cost.into(), needed.into()]));
    Change::ruled(campaign, charge_rules(needed), on_this_day()).then([doc! { "$set": added }])
}

/// The budget has so much left.
fn fits_total(amount: i64) -> Condition {
    at_least("budget.total", Number::Sum("total.spent".into(), amount))
}

/// The budget of this day has so much left.
fn fits_day(amount: i64) -> Condition {
    let most = Number::FieldOr("budget.perDay".into(), i64::MAX);
    let fits = at_least(most, Number::Sum("today.counts.spent".into(), amount));
    Condition::Any(vec![is_past("today.until"), fits])
}

/// The fields that begin a new day if the last one is over.
fn on_this_day() -> Document {
    let is_over = doc! { "$lte": ["$today.until", "$$NOW"] };
    let midnight = doc! { "$dateTrunc": { "date": "$$NOW", "unit": "day" } };
    let until = doc! { "$dateAdd": { "startDate": midnight, "unit": "day", "amount": 1 } };
    let none = literal(stored(&Counts::default()));
    let today = whole(doc! { "until": until, "counts": none });
    doc! {
        "past": choose(is_over.clone(), append("$past", vec!["$today".into()]), "$past"),
        "today": choose(is_over, today, "$today"),
    }
}

/// The fields with these amounts added to the counts of the day and of all days.
fn adding(amounts: &[(&str, Bson)]) -> Document {
    let mut set = Document::new();
    for (name, amount) in amounts {
        for counts in ["total", "today.counts"] {
            let field = format!("{counts}.{name}");
            set.insert(&field, doc! { "$add": [format!("${field}"), amount.clone()] });
        }
    }
    set
}

/// Expression of `liveUntil`: now, if the budget doesn't pay for all of `amounts` any more.
fn live_until(amounts: Vec<Bson>) -> Bson {
    let all: Vec<Bson> = std::iter::once("$total.spent".into()).chain(amounts).collect();
    let is_spent = doc! { "$gt": [{ "$add": all }, "$budget.total"] };
    let is_live = exists("liveUntil").expression();
    choose(doc! { "$and": [is_live, is_spent] }, "$$NOW", "$liveUntil")
}

/// Why an event isn't counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum NotCounted {
    /// It was counted before.
    Already,
    /// The campaign has too many marks.
    Busy,
}

/// Counts a click or a conversion, once. A click is charged if the campaign pays for clicks, has the budget, and hasn't
/// ended.
pub(in super::super) fn count_event(
    campaign: &CampaignDocument,
    event: &EventDocument,
) -> Change<NotCounted> {
    let rules = [
        (contains("marks.id", event.id.as_str()).negated(), NotCounted::Already),
        (has_room("marks", MARKS), NotCounted::Busy),
    ];
    let (is_click, bid) = (event.kind == EventKind::Click, campaign.cost);
    let cost: Bson = if is_click && campaign.pricing == Pricing::Cpc {
        let in_state = |state: CampaignState| is("state", stored(&state));
        let may_pay = Condition::All(vec![
            Condition::Any(vec![in_state(CampaignState::Running), in_state(CampaignState::Paused)]),
            is_past("endsAt").negated(),
            fits_total(bid),
            fits_day(bid),
        ]);
        choose(may_pay.expression(), bid, 0_i64)
    } else {
        0_i64.into()
    };
    let mark = whole(doc! { "id": literal(event.id.as_str()), "cost": cost, "at": "$$NOW" });
    let marked = doc! { "marks": append("$marks", vec![mark]) };
    let paid: Bson = doc! { "$last": "$marks.cost" }.into();
    let mut added = if is_click {
        let is_paid = choose(doc! { "$gt": [paid.clone(), 0_i64] }, 1_i64, 0_i64);
        adding(&[("clicks", 1_i64.into()), ("paidClicks", is_paid), ("spent", paid.clone())])
    } else {
        adding(&[("conversions", 1_i64.into())])
    };
    added.insert("liveUntil", live_until(vec![paid, bid.into()]));
    added.insert("marksAt", marks_at());
    let stages = [doc! { "$set": marked }, doc! { "$set": added }];
    Change::ruled(&campaign.id, rules, on_this_day()).then(stages)
}

/// Expression of `marksAt`.
fn marks_at() -> Bson {
    doc! { "$ifNull": [{ "$min": "$marks.at" }, "$$REMOVE"] }.into()
}

/// Counts a view. Nothing in the campaign tells which views it has counted, so the write is numbered.
pub(in super::super) fn count_view(app: &App, campaign: &str) -> Guarded<CampaignDocument> {
    let change = Change::<()>::ruled(campaign, [], on_this_day());
    let added = doc! { "$set": adding(&[("views", 1_i64.into())]) };
    campaigns(app).change(change.then([added])).numbered()
}

/// Removes the marks of these events.
pub(in super::super) fn retire(
    app: &App,
    campaign: &str,
    events: Vec<String>,
) -> Guarded<CampaignDocument> {
    let set = doc! { "marks": without_any("$marks", "id", events) };
    let change = Change::<()>::ruled(campaign, [], set);
    campaigns(app).change(change.then([doc! { "$set": { "marksAt": marks_at() } }]))
}

/// Changes the state of a campaign as it was read. Its zones are due from then on. `fields` are set besides.
pub(in super::super) fn turn(
    app: &App,
    read: &CampaignDocument,
    to: CampaignState,
    fields: Document,
) -> Guarded<CampaignDocument> {
    let mut set =
        doc! { "state": literal(stored(&to)), "version": read.version + 1, "due": "$$NOW" };
    set.extend(fields);
    campaigns(app).set(as_read(read), set)
}

/// The fields of a campaign that ends for this reason.
pub(in super::super) fn ended(ending: impl Serialize) -> Document {
    doc! {
        "ending": literal(stored(&ending)), "endedAt": "$$NOW",
        "liveUntil": "$$REMOVE", "ratedAt": "$$REMOVE",
    }
}

/// The fields of a campaign that is launched again after its zones had no room.
pub(in super::super) fn begun_again(read: &CampaignDocument) -> Document {
    doc! { "ending": "$$REMOVE", "endedAt": "$$REMOVE", "liveUntil": read.ends_at }
}

/// The fields of a campaign that is paused.
pub(in super::super) fn unrated() -> Document {
    doc! { "ratedAt": "$$REMOVE" }
}

/// The fields of a campaign with another expected income.
pub(in super::super) fn rated(ecpm: i64) -> Document {
    doc! { "ecpm": ecpm, "ratedAt": "$$NOW" }
}

/// Commits the start of a campaign that is in all of its zones.
pub(in super::super) fn run(app: &App, read: &CampaignDocument) -> Guarded<CampaignDocument> {
    let mut set = doc! {
        "state": literal(stored(&CampaignState::Running)),
        "due": "$$REMOVE",
        "ranAt": { "$ifNull": ["$ranAt", "$$NOW"] },
    };
    if read.pricing == Pricing::Cpc {
        set.insert("ratedAt", "$$NOW");
    }
    campaigns(app).set(as_read(read), set)
}

/// Notes that the zones show this version of the campaign.
pub(in super::super) fn settle(app: &App, read: &CampaignDocument) -> Guarded<CampaignDocument> {
    let guard = doc! { "_id": &read.id, "version": read.version, "due": { "$exists": true } };
    campaigns(app).set(guard, doc! { "due": "$$REMOVE" })
}

/// Notes that the expected income was computed, and is as before.
pub(in super::super) fn note_rated(
    app: &App,
    read: &CampaignDocument,
) -> Guarded<CampaignDocument> {
    campaigns(app).set(as_read(read), doc! { "ratedAt": "$$NOW" })
}

/// Guard: state and version are as they were read.
fn as_read(read: &CampaignDocument) -> Document {
    doc! { "_id": &read.id, "state": stored(&read.state), "version": read.version }
}
