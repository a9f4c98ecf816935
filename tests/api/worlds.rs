//! The game and the theaters under load, while the primary or a gateway is killed: gold, things and seats are where they
//! were acknowledged to be.

use std::{
    net::TcpListener,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::json;

use crate::{
    elections::acknowledged,
    game::{World, arrows, born, carried, descriptions, endow, mint, mutation, seen},
    storm::{check, serve},
    support::{Gateway, members::Members, until},
    theater::{assert_map, hall, holding, open},
};

const CALLERS: usize = 8;
/// Rounds of each caller: it gives gold, picks something up, and holds a seat.
const ROUNDS: usize = 8;
const GOLD: i64 = 1_000;
const PILE: usize = 500;
/// The rows of the screening: each caller holds the first seats of its own.
const ROW: &str = "AAAAAAAAAA";

/// Characters at one place with a pile of arrows, and visitors with bookings.
struct Scene {
    place: String,
    pile: String,
    characters: Vec<String>,
    screening: String,
    bookings: Vec<String>,
}

fn player(number: usize) -> String {
    format!("player-{number}")
}

fn amount(round: usize) -> i64 {
    1 + i64::try_from(round).expect("small")
}

impl Scene {
    async fn new(gateway: &Gateway) -> Self {
        let World { hall: place, .. } = World::new(gateway).await;
        let (mut characters, mut bookings) = (Vec::new(), Vec::new());
        for number in 0..CALLERS {
            let character = born(gateway, &player(number), &place).await;
            endow(gateway, &character, GOLD).await;
            characters.push(character);
            bookings.push(open(&gateway.shopper(&player(number))).await);
        }
        let arrows = arrows(gateway).await;
        let pile = mint(gateway, &arrows, json!({ "placeId": place, "quantity": PILE })).await;
        let screening = hall(gateway, &[ROW; CALLERS]).await;
        Self { place, pile, characters, screening, bookings }
    }

    /// All rounds of one caller, at the gateway with this address, each call repeated until it is acknowledged.
    async fn play(&self, gateway: &Gateway, number: usize, url: &str, done: &AtomicUsize) {
        let mut client = gateway.user(&player(number), &["player", "shopper"]);
        url.clone_into(&mut client.url);
        let own = &self.characters[number];
        let row = char::from(b'A' + u8::try_from(number).expect("small")).to_string();
        for round in 0..ROUNDS {
            let gift = json!({ "characterId": own, "amount": amount(round),
                "toCharacterId": self.characters[(number + 1 + round % 2) % CALLERS],
                "idempotencyKey": format!("gives {round}") });
            let pick = json!({ "characterId": own, "thingId": self.pile, "quantity": 1,
                "idempotencyKey": format!("takes {round}") });
            for (name, input) in [("giveGold", gift), ("pickUp", pick)] {
                let call = (&*mutation(name), json!({ "input": input }));
                let said = acknowledged(&client, call).await;
                assert_eq!(said["__typename"], "Character", "{name}: {said:#}");
                done.fetch_add(1, Relaxed);
            }
            let seat = [(&*row, i32::try_from(round + 1).expect("small"))];
            let key = format!("holds {round}");
            let (query, variables) =
                holding(&self.bookings[number], &self.screening, &seat, Some(&key));
            let said = acknowledged(&client, (&query, variables)).await;
            assert_eq!(said["__typename"], "Booking", "{said:#}");
            done.fetch_add(1, Relaxed);
        }
    }

    /// Plays all callers, and kills something when a part of the calls is done.
    async fn play_all(&self, gateway: &Gateway, url: &str, kill: impl AsyncFnOnce()) {
        let done = &AtomicUsize::new(0);
        let callers = (0..CALLERS).map(|number| self.play(gateway, number, url, done));
        let all = CALLERS * ROUNDS * 3;
        let kill = async {
            while done.load(Relaxed) < all / 4 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            kill().await;
            let before = done.load(Relaxed);
            // What the cut calls have taken is given back by the sweeps: their repeats wait for it.
            while done.load(Relaxed) < all {
                gateway.sweep().await;
            }
            before
        };
        let (_, before) = tokio::join!(join_all(callers), kill);
        assert!(before < all, "the load was over before anything was killed");
    }

    async fn assert_acknowledged(&self, gateway: &Gateway) {
        for (number, character) in self.characters.iter().enumerate() {
            // It received from the one before it in even rounds, and from the one before that in odd ones: as much as it gave.
            let shown = gateway.player(&player(number)).character(character).await;
            assert_eq!(shown["gold"], GOLD, "{shown:#}");
            let carried = carried(gateway, &player(number), character).await;
            assert_eq!(carried, [format!("{ROUNDS} arrows")]);
        }
        let there = seen(gateway, &self.place).await;
        let left = format!("{} arrows", PILE - CALLERS * ROUNDS);
        assert_eq!(descriptions(&there["things"]), [left]);
        let row = format!("{}{}", "h".repeat(ROUNDS), &ROW[ROUNDS..]);
        assert_map(gateway, &self.screening, &[&*row; CALLERS]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_primary_moves_no_gold_and_holds_no_seat_twice() {
    let members = Members::start().await;
    let bounds = |config: &mut docgate::config::Config| {
        (config.flow_run_millis, config.flow_command_millis) = (3_000, 1_500);
    };
    let gateway = Gateway::over_members(&members, bounds).await;
    let scene = Scene::new(&gateway).await;
    let url = gateway.anonymous().url;
    let kill = async || {
        members.kill_primary().await;
    };
    scene.play_all(&gateway, &url, kill).await;
    crate::support::cuts::settled(&gateway).await;
    gateway.sweep().await;
    scene.assert_acknowledged(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_gateway_moves_no_gold_and_holds_no_seat_twice() {
    let gateway = Gateway::start().await;
    let scene = Scene::new(&gateway).await;
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
    let mut process = serve(&gateway, port).await;
    let url = format!("http://127.0.0.1:{port}/graphql");
    let kill = async || {
        process.kill();
        process = serve(&gateway, port).await;
    };
    scene.play_all(&gateway, &url, kill).await;
    until("the sweeps have mended it", async || check(&gateway, port)).await;
    drop(process);
    gateway.sweep().await;
    scene.assert_acknowledged(&gateway).await;
    gateway.assert_sound().await;
}
