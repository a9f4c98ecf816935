//! A gateway that stops answers what was sent, and says which answer is a connection's last.

use std::time::{Duration, Instant};

use crate::support::{
    Gateway,
    raw::{Raw, RawAnswer},
};

/// How long a gateway that stops answers one request more of each connection.
const LINGER: Duration = Duration::from_secs(1);

/// What became of a client that asks one question after the other over one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// It was told that an answer is the last one.
    Told,
    /// What it sent was never answered.
    Lost,
    /// The same, but the machine was so busy that it had asked nothing for too long.
    Late,
}

async fn ask_on(mut connection: Raw, pause: Duration) -> Left {
    let ask = "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut asked = Instant::now();
    loop {
        let before = asked;
        asked = Instant::now();
        let left = || if before.elapsed() < LINGER { Left::Lost } else { Left::Late };
        if tokio::io::AsyncWriteExt::write_all(&mut connection.0, ask.as_bytes()).await.is_err() {
            return left();
        }
        let left = left();
        match connection.answer().await {
            None => return left,
            Some(answer) => {
                assert_eq!(answer.status, 200);
                if answer.is_last() {
                    assert!(connection.answer().await.is_none(), "it was the last one");
                    return Left::Told;
                }
            }
        }
        tokio::time::sleep(pause).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_on_a_kept_connection_is_lost_when_the_gateway_stops() {
    for _ in 0..10 {
        let all = left_by_one_that_stops().await;
        assert!(!all.contains(&Left::Lost), "{all:?}");
        if all.iter().all(|left| *left == Left::Told) {
            return;
        }
    }
    panic!("the machine is too busy");
}

/// Stops a gateway while a hundred clients ask.
async fn left_by_one_that_stops() -> Vec<Left> {
    // It would wait far longer for flows.
    let gateway = Gateway::with(|config| config.flow_run_millis = 120_000).await;
    let mut clients = Vec::new();
    for n in 0..100 {
        let connection = Raw::from(&gateway, 1).await;
        let pause = Duration::from_millis(if n < 50 { 1 } else { n });
        clients.push(tokio::spawn(ask_on(connection, pause)));
    }
    // Somebody who doesn't ask any more.
    let mut idle = Raw::from(&gateway, 1).await;
    assert!(!idle.get("/health/live").await.is_last());
    tokio::time::sleep(Duration::from_millis(500)).await;
    let address = gateway.address;
    let took = gateway.stop().await;
    assert!(took < Duration::from_secs(60), "{took:?}");
    let mut all = Vec::new();
    for client in clients {
        all.push(client.await.expect("no panic"));
    }
    assert!(idle.answer().await.is_none());
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
    all
}

/// Asks whether the gateway lives.
async fn ask(connection: &mut Raw) -> Option<RawAnswer> {
    let ask = b"GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut connection.0, ask).await.ok()?;
    connection.answer().await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_connects_while_the_gateway_stops_is_answered_once() {
    for _ in 0..20 {
        if answers_once().await {
            return;
        }
    }
    panic!("the machine is too busy");
}

/// Asks a gateway that stops. Returns whether it was asked in time.
async fn answers_once() -> bool {
    let gateway = Gateway::start().await;
    let (mut first, mut kept) = (Raw::from(&gateway, 1).await, Raw::from(&gateway, 1).await);
    assert_eq!(kept.get("/health/live").await.status, 200);
    let mut late = Raw::from(&gateway, 1).await;
    let since = Instant::now();
    let stopped = tokio::spawn(gateway.stop());
    // It has begun to stop once an answer is the last one.
    while !ask(&mut first).await.is_none_or(|answer| answer.is_last()) {}
    let (late, kept) = (ask(&mut late).await, ask(&mut kept).await);
    let is_in_time = since.elapsed() < LINGER;
    stopped.await.expect("it stops");
    if is_in_time {
        let is_last = |answer: &RawAnswer| answer.status == 200 && answer.is_last();
        assert!(late.as_ref().is_some_and(is_last), "{late:?}");
        assert!(kept.as_ref().is_some_and(is_last), "{kept:?}");
    }
    is_in_time
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_nobody_is_connected_to_stops_at_once() {
    // A busy machine may take long for once.
    let mut all = Vec::new();
    for _ in 0..20 {
        let gateway = Gateway::start().await;
        assert_eq!(Raw::from(&gateway, 1).await.get("/health/live").await.status, 200);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let took = gateway.stop().await;
        if took < Duration::from_millis(800) {
            return;
        }
        all.push(took);
    }
    panic!("{all:?}");
}
