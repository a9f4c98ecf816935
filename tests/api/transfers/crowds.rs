//! Fifty transfers at once, whose writes share commands, each with another fate.

use futures_util::future::join_all;
use serde_json::Value;

use super::{TRANSFER, balance, close, fund, open, open_capped, order};
use crate::support::{Gateway, cuts, settled, short_bounds};

/// Number of transfers.
const CROWD: usize = 50;
/// Money of who can pay.
const RICH: i64 = 1_000_000;
/// Amount of each transfer.
const AMOUNT: i64 = 30;

/// What becomes of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It arrives in the account in which those of others arrive too.
    Arrives,
    /// So it does, and the same call is made twice at once.
    Twice,
    /// There is too little money.
    Short,
    /// The destination is closed.
    Closed,
    /// The destination is full.
    Full,
}

const FATES: [Fate; 5] = [Fate::Arrives, Fate::Twice, Fate::Short, Fate::Closed, Fate::Full];

impl Fate {
    /// The code of its refusal; `None` if it arrives.
    fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Arrives | Self::Twice => None,
            Self::Short => Some("INSUFFICIENT_FUNDS"),
            Self::Closed => Some("ACCOUNT_CLOSED"),
            Self::Full => Some("ACCOUNT_FULL"),
        }
    }
}

/// Who sends one of the transfers.
struct Member {
    fate: Fate,
    subject: String,
    from: String,
    to: String,
}

impl Member {
    /// The n-th member; `shared` is the account in which several transfers arrive.
    async fn join(gateway: &Gateway, n: usize, shared: &str) -> Self {
        let (fate, subject) = (FATES[n % FATES.len()], format!("member-{n}"));
        let client = gateway.shopper(&subject);
        let from = open(&client, "EUR").await;
        fund(gateway, &from, if fate == Fate::Short { AMOUNT - 1 } else { RICH }).await;
        let to = match fate {
            Fate::Arrives | Fate::Twice => shared.to_owned(),
            Fate::Short => open(&client, "EUR").await,
            Fate::Closed => {
                let to = open(&client, "EUR").await;
                close(&client, &to).await;
                to
            }
            Fate::Full => open_capped(&client, AMOUNT - 1).await,
        };
        Self { fate, subject, from, to }
    }

    /// Sends the transfer of one run of the crowd. Returns the answer, if there is one.
    async fn send(&self, gateway: &Gateway, run: usize) -> Option<Value> {
        let client = gateway.shopper(&self.subject);
        let order = order(&self.from, &self.to, AMOUNT, Some(&format!("run-{run}")));
        let call = || client.send(TRANSFER, order.clone());
        let sent = match self.fate {
            Fate::Twice => tokio::join!(call(), call()).0,
            _ => call().await,
        };
        sent.ok().map(|(_, body)| body["data"]["transfer"].clone())
    }
}

/// All transfers of one run.
async fn send_all(members: &[Member], gateway: &Gateway, run: usize) -> Vec<Option<Value>> {
    join_all(members.iter().map(|member| member.send(gateway, run))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_transfers_that_share_commands_and_are_cut_anywhere_arrive_once() {
    let base = Gateway::with(short_bounds).await;
    let patient = base.patient_sibling().await;
    let shared = open(&patient.shopper("all"), "EUR").await;
    let members = join_all((0..CROWD).map(|n| Member::join(&patient, n, &shared))).await;
    settled(&patient).await;
    let send = async |gateway: &Gateway, run| drop(send_all(&members, gateway, run).await);
    let runs = cuts::crowds(&base, send).await;
    for run in 0..runs {
        let answers = send_all(&members, &patient, run).await;
        for (member, answer) in members.iter().zip(answers) {
            let answer = answer.expect("an answer");
            if let Some(code) = member.fate.refusal() {
                assert_eq!(answer["code"], code, "run {run}: {answer:#}");
            } else {
                let state = &answer["state"];
                assert!(state == "CREDITED" || state == "DONE", "run {run}: {answer:#}");
            }
        }
    }
    settled(&patient).await;
    base.sweep().await;
    base.assert_sound().await;
    let moved = i64::try_from(runs).expect("few") * AMOUNT;
    let mut arrived = 0;
    for member in &members {
        let left = match member.fate {
            Fate::Arrives | Fate::Twice => {
                arrived += moved;
                RICH - moved
            }
            Fate::Short => AMOUNT - 1,
            Fate::Closed | Fate::Full => RICH,
        };
        assert_eq!(balance(&base, &member.from).await, left, "{:?}", member.fate);
    }
    assert_eq!(balance(&base, &shared).await, arrived);
}
