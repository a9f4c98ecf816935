//! Callers that log events, for `bench/events.py`: through a gateway, or with MongoDB's driver alone into a collection with
//! the same indexes.
//!
//! It says what it did as JSON: the number of events, the time, and how long calls took.

use std::{
    io,
    time::{Duration, Instant},
};

use docgate_bench::{database, variable};
use mongodb::{
    Collection, IndexModel,
    bson::{DateTime, Document, RawDocumentBuf, doc},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const LOG: &str = "mutation($events: [EventInput!]!) { logEvents(input: { events: $events }) { \
                   __typename ... on EventsLogged { count } } }";

fn number(name: &str) -> io::Result<usize> {
    variable(name)?.parse().map_err(io::Error::other)
}

/// An event like those of a busy site.
fn path(number: usize) -> String {
    format!("/music/jazz/album-{}", number % 500)
}

const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)";

fn document(number: usize) -> Document {
    let now = DateTime::now();
    doc! {
        "at": now, "host": format!("203.0.113.{}", number % 250), "site": "shop.example",
        "path": path(number), "method": "GET", "referrer": "https://search.example/",
        "userAgent": AGENT, "status": 200, "bytes": 5_120_i64, "arrivedAt": now, "v": 1,
    }
}

/// The document with this time of the request and of its arrival. It isn't built again: what a caller does beside the driver's
/// work should cost as little as sending the gateway a request that is ready.
fn of_now(document: RawDocumentBuf, now: DateTime) -> io::Result<RawDocumentBuf> {
    /// What follows a time: the field `v`, and the end of the document.
    const AFTER_ARRIVAL: usize = 8;
    let (time, mut bytes) = (now.timestamp_millis().to_le_bytes(), document.into_bytes());
    let arrived = bytes.len() - AFTER_ARRIVAL - time.len();
    // The field `at` is the first one: the length of the document, a type and a name precede it.
    for begin in [8, arrived] {
        bytes[begin..begin + time.len()].copy_from_slice(&time);
    }
    RawDocumentBuf::from_bytes(bytes).map_err(io::Error::other)
}

/// The same as the input of a call.
fn input(number: usize) -> String {
    format!(
        r#"{{"host":"203.0.113.{}","site":"shop.example","path":"{}","method":"GET","referrer":"https://search.example/","userAgent":"{AGENT}","status":200,"bytes":5120}}"#,
        number % 250,
        path(number),
    )
}

/// A caller of the gateway on a connection of its own.
struct Caller {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Caller {
    async fn new(address: &str, token: &str, batch: usize) -> io::Result<Self> {
        let events: Vec<String> = (0..batch).map(input).collect();
        let body =
            format!(r#"{{"query":"{LOG}","variables":{{"events":[{}]}}}}"#, events.join(","));
        let request = format!(
            "POST /graphql HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len(),
        );
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, request: request.into_bytes(), answer: Vec::new() })
    }

    async fn call(&mut self, batch: usize) -> io::Result<()> {
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        while !self.is_complete() {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let text = String::from_utf8_lossy(&self.answer);
        if text.contains(&format!("\"count\":{batch}")) {
            return Ok(());
        }
        Err(io::Error::other(text.into_owned()))
    }

    fn is_complete(&self) -> bool {
        let text = String::from_utf8_lossy(&self.answer).to_ascii_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        length
            .and_then(|length| length.trim().parse().ok())
            .is_some_and(|length| body.len() >= length)
    }
}

/// Inserts with the driver alone.
async fn insert(
    events: &Collection<RawDocumentBuf>,
    documents: &[RawDocumentBuf],
) -> io::Result<()> {
    match documents {
        [one] => events.insert_one(one).await.map(drop).map_err(io::Error::other),
        all => events.insert_many(all).ordered(false).await.map(drop).map_err(io::Error::other),
    }
}

/// The collection with the indexes of the gateway's. It keeps the events of the rounds before, as the gateway's does.
async fn collection() -> io::Result<Collection<RawDocumentBuf>> {
    let events = database().await?.collection::<RawDocumentBuf>("bench_events");
    let keys = [
        doc! { "path": 1, "at": 1, "_id": 1 },
        doc! { "host": 1, "at": 1, "_id": 1 },
        doc! { "at": 1, "_id": 1, "site": 1, "path": 1 },
    ];
    let models = keys.map(|keys| IndexModel::builder().keys(keys).build());
    events.create_indexes(models).await.map_err(io::Error::other)?;
    Ok(events)
}

/// How long each of the calls took that one caller made until the end.
async fn through_gateway(
    mut caller: Caller,
    batch: usize,
    until: Instant,
) -> io::Result<Vec<Duration>> {
    let mut took = Vec::new();
    while Instant::now() < until {
        let since = Instant::now();
        caller.call(batch).await?;
        took.push(since.elapsed());
    }
    Ok(took)
}

/// The same with the driver. As in the gateway, the events of a call have its time.
async fn by_driver(
    events: Collection<RawDocumentBuf>,
    mut documents: Vec<RawDocumentBuf>,
    until: Instant,
) -> io::Result<Vec<Duration>> {
    let mut took = Vec::new();
    while Instant::now() < until {
        let (since, now) = (Instant::now(), DateTime::now());
        documents = documents.into_iter().map(|one| of_now(one, now)).collect::<Result<_, _>>()?;
        insert(&events, &documents).await?;
        took.push(since.elapsed());
    }
    Ok(took)
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let (callers, batch) = (number("CALLERS")?, number("BATCH")?);
    let length = Duration::from_secs(number("SECONDS")? as u64);
    let gateway = variable("ADDRESS").ok();
    let events = if gateway.is_none() { Some(collection().await?) } else { None };
    let documents: Result<Vec<_>, _> =
        (0..batch).map(|number| RawDocumentBuf::try_from(&document(number))).collect();
    let documents = documents.map_err(io::Error::other)?;
    let token = variable("TOKEN").unwrap_or_default();
    let (since, mut working) = (Instant::now(), Vec::new());
    let until = since + length;
    for _ in 0..callers {
        let task = match (&gateway, &events) {
            (Some(address), _) => {
                let caller = Caller::new(address, &token, batch).await?;
                tokio::spawn(through_gateway(caller, batch, until))
            }
            (None, Some(events)) => {
                tokio::spawn(by_driver(events.clone(), documents.clone(), until))
            }
            (None, None) => continue,
        };
        working.push(task);
    }
    let mut took = Vec::new();
    for task in working {
        took.extend(task.await.map_err(io::Error::other)??);
    }
    let seconds = since.elapsed().as_secs_f64();
    took.sort();
    let part = |part: usize| {
        took.get(took.len() * part / 100).map_or(0.0, |took| took.as_secs_f64() * 1e3)
    };
    println!(
        r#"{{"events": {}, "seconds": {seconds:.3}, "p50": {:.2}, "p99": {:.2}}}"#,
        took.len() * batch,
        part(50),
        part(99),
    );
    Ok(())
}
