//! A gateway that stops answers what was sent, and says which answer is a connection's last.

use std::time::Duration;

use crate::support::{Gateway, raw::Raw};

/// What became of a client that asks one question after the other over one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// It was told that an answer is the last one.
    Told,
    /// What it sent was never answered.
    Lost,
}

async fn ask_on(mut connection: Raw, pause: Duration) -> Left {
    let ask = "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nhost: x\r\n\r\n";
    loop {
        if tokio::io::AsyncWriteExt::write_all(&mut connection.0, ask.as_bytes()).await.is_err() {
            return Left::Lost;
        }
        match connection.answer().await {
            None => return Left::Lost,
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
    let gateway = Gateway::start().await;
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
    assert!(took < Duration::from_secs(5), "{took:?}");
    for client in clients {
        assert_eq!(client.await.expect("no panic"), Left::Told);
    }
    assert!(idle.answer().await.is_none());
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_connects_while_the_gateway_stops_is_answered_once() {
    let gateway = Gateway::start().await;
    let mut kept = Raw::from(&gateway, 1).await;
    assert_eq!(kept.get("/health/live").await.status, 200);
    let mut late = Raw::from(&gateway, 1).await;
    let stopped = tokio::spawn(gateway.stop());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let answer = late.get("/health/live").await;
    assert!(answer.status == 200 && answer.is_last(), "{answer:?}");
    assert!(kept.get("/health/live").await.is_last());
    stopped.await.expect("it stops");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_nobody_is_connected_to_stops_at_once() {
    let gateway = Gateway::start().await;
    assert_eq!(Raw::from(&gateway, 1).await.get("/health/live").await.status, 200);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let took = gateway.stop().await;
    assert!(took < Duration::from_millis(800), "{took:?}");
}
