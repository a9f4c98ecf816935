//! Fifty lines that are added at once, whose writes share commands, each with another fate.

use futures_util::future::join_all;
use serde_json::Value;

use super::RESERVE;
use crate::{
    shop,
    support::{Client, Gateway, cuts, settled, shop::line, short_bounds},
};

/// Number of carts.
const CROWD: usize = 50;
/// Stock of the SKU that most of them want.
const MUCH: i64 = 1_000_000;

/// What becomes of an added line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is added, with the stock of the SKU that others add too.
    Added,
    /// So it is, and the same call is made twice at once.
    Twice,
    /// There is no stock.
    Short,
    /// There is no such product.
    Missing,
}

const FATES: [Fate; 5] = [Fate::Added, Fate::Added, Fate::Twice, Fate::Short, Fate::Missing];

impl Fate {
    fn sku(self) -> &'static str {
        match self {
            Self::Added | Self::Twice => "wanted",
            Self::Short => "sold-out",
            Self::Missing => "missing",
        }
    }

    /// The type of the answer.
    fn answer(self) -> &'static str {
        match self {
            Self::Added | Self::Twice => "Cart",
            Self::Short => "InsufficientStock",
            Self::Missing => "NotFound",
        }
    }
}

/// Who adds one of the lines.
struct Member {
    fate: Fate,
    subject: String,
    cart: String,
}

impl Member {
    async fn join(gateway: &Gateway, n: usize) -> Self {
        let subject = format!("member-{n}");
        let cart = shop::cart(&gateway.shopper(&subject), RESERVE, &[]).await;
        Self { fate: FATES[n % FATES.len()], subject, cart }
    }

    /// Adds one piece in one run of the crowd. Returns the answer, if there is one.
    async fn add(&self, gateway: &Gateway, run: usize) -> Option<Value> {
        let client = gateway.shopper(&self.subject);
        let key = format!("run-{run}");
        let (query, variables) = Client::adding(&self.cart, self.fate.sku(), 1, Some(&key));
        let call = || client.send(&query, variables.clone());
        let sent = match self.fate {
            Fate::Twice => tokio::join!(call(), call()).0,
            _ => call().await,
        };
        sent.ok().map(|(_, body)| body["data"]["addCartLine"].clone())
    }
}

/// All lines of one run.
async fn add_all(members: &[Member], gateway: &Gateway, run: usize) -> Vec<Option<Value>> {
    join_all(members.iter().map(|member| member.add(gateway, run))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_lines_that_share_commands_and_are_cut_anywhere_are_added_once() {
    let base = Gateway::with(short_bounds).await;
    let patient = base.patient_sibling().await;
    shop::stocked(&patient, "wanted", 100, MUCH).await;
    patient.product("sold-out", 100, "EUR").await;
    let members = join_all((0..CROWD).map(|n| Member::join(&patient, n))).await;
    let add = async |gateway: &Gateway, run| drop(add_all(&members, gateway, run).await);
    let runs = cuts::crowds(&base, add).await;
    let mut held = 0;
    for run in 0..runs {
        let answers = add_all(&members, &patient, run).await;
        for (member, answer) in members.iter().zip(answers) {
            let answer = answer.expect("an answer");
            assert_eq!(answer["__typename"], member.fate.answer(), "run {run}: {answer:#}");
            if run + 1 == runs && member.fate.answer() == "Cart" {
                let all = i64::try_from(runs).expect("few");
                assert_eq!(line(&answer, "wanted"), (all, all));
                held += all;
            }
        }
    }
    settled(&patient).await;
    base.sweep().await;
    base.assert_sound().await;
    assert_eq!(shop::stock(&base, "wanted").await, (MUCH - held, held, 0));
}
