//! Many subscribers of one topic and its publisher, for `bench/topics.py`. They look for nothing but the numbers and the
//! times in the messages, so that they take little of the processors that the gateway needs.
//!
//! It says `ready` when all have subscribed, waits for a line, publishes, and says what arrived as JSON. It ends when its
//! input does.

use std::{
    env,
    io::{self, BufRead as _, Read as _, Write as _},
    net::{SocketAddr, TcpStream as Blocking},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tokio::{net::TcpStream, runtime, sync::Semaphore};

/// `n=` and 9 digits, ` t=` and 16 digits of microseconds, `;`, and then as much as makes a message of this length.
const HEAD: usize = 31;
const LENGTH: usize = 100;
/// Maximum number of messages that are published together if the gateway is too slow.
const AT_ONCE: u64 = 100;
/// Time for the last messages to arrive.
const PATIENCE: Duration = Duration::from_secs(60);
/// Delays are counted in steps of this many microseconds; longer ones than all steps are counted as the longest.
const STEP: u64 = 100;
const STEPS: usize = 1_200_000;
/// Number of subscribers that connect at once.
const CONNECTING: usize = 64;
const FOLLOW: &str =
    r#"{"query":"subscription { topic(name: \"bench\") { messages { payload } missed } }"}"#;

/// What has arrived so far, and the buffer that all connections read into.
struct Arrived {
    buffer: Vec<u8>,
    delays: Vec<u32>,
    messages: u64,
    reads: u64,
    out_of_order: u64,
    lost: u64,
}

/// One subscriber.
#[derive(Default)]
struct Subscriber {
    next: u64,
    /// The end of what was read, which may be the begin of a message.
    rest: Vec<u8>,
}

type Shared = Arc<Mutex<Arrived>>;

fn lock(shared: &Shared) -> MutexGuard<'_, Arrived> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fault(text: impl Into<String>) -> io::Error {
    io::Error::other(text.into())
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |number: u64, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    })
}

/// The number and the time of a message that begins here.
fn message(text: &[u8]) -> Option<(u64, u64)> {
    if !text.starts_with(b"n=") || text.get(11..14) != Some(b" t=") || text.get(30) != Some(&b';') {
        return None;
    }
    Some((digits(&text[2..11])?, digits(&text[14..30])?))
}

impl Arrived {
    /// Counts the messages of a text, of which `read` bytes follow on the rest before.
    fn take(&mut self, subscriber: &mut Subscriber, length: usize) {
        let (text, at_once) = (&self.buffer[..length], now());
        self.reads += 1;
        let (mut at, mut end) = (0, 0);
        while let Some(found) = text[at..].iter().position(|byte| *byte == b'n') {
            at += found;
            let Some((number, sent)) = message(&text[at..]) else {
                at += 1;
                continue;
            };
            if number < subscriber.next {
                self.out_of_order += 1;
            } else {
                self.lost += number - subscriber.next;
                subscriber.next = number + 1;
            }
            self.messages += 1;
            let step = usize::try_from(at_once.saturating_sub(sent) / STEP).unwrap_or(STEPS);
            self.delays[step.min(STEPS - 1)] += 1;
            end = at + HEAD;
            at = (at + LENGTH).min(length);
        }
        let begin = end.max(length.saturating_sub(HEAD - 1));
        subscriber.rest.clear();
        subscriber.rest.extend_from_slice(&text[begin..]);
    }

    /// The delay that this part of the deliveries doesn't exceed, in milliseconds.
    fn delay(&self, part: f64) -> f64 {
        let wanted = (self.messages as f64 * part).ceil() as u64;
        let mut sum = 0;
        let at = self.delays.iter().position(|count| {
            sum += u64::from(*count);
            sum >= wanted
        });
        at.unwrap_or(0) as f64 * STEP as f64 / 1_000.0
    }
}

/// A frame of a client. Its mask is zero.
fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u8::try_from(text.len()) {
        Ok(length) if length < 126 => frame.push(0x80 | length),
        _ => {
            frame.push(0x80 | 126);
            let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
            frame.extend_from_slice(&length.to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text.as_bytes());
    frame
}

/// What a subscriber sends: a request with server-sent events, or all of a WebSocket at once.
fn subscription(is_socket: bool, token: &str) -> Vec<u8> {
    if !is_socket {
        return request(FOLLOW, token, "text/event-stream");
    }
    let mut sent = format!(
        "GET /graphql HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: graphql-transport-ws\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    .into_bytes();
    sent.extend(frame(r#"{"type":"connection_init"}"#));
    sent.extend(frame(&format!(r#"{{"type":"subscribe","id":"1","payload":{FOLLOW}}}"#)));
    sent
}

fn request(body: &str, token: &str, accept: &str) -> Vec<u8> {
    format!(
        "POST /graphql HTTP/1.1\r\nHost: bench\r\nAccept: {accept}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Reads what is there into the buffer after the subscriber's rest. Returns the length of both.
async fn read(stream: &TcpStream, shared: &Shared, subscriber: &mut Subscriber) -> io::Result<()> {
    loop {
        stream.readable().await?;
        let arrived = &mut *lock(shared);
        let rest = subscriber.rest.len();
        arrived.buffer[..rest].copy_from_slice(&subscriber.rest);
        match stream.try_read(&mut arrived.buffer[rest..]) {
            Ok(0) => return Err(fault("the gateway closed a connection")),
            Ok(read) => {
                arrived.take(subscriber, rest + read);
                return Ok(());
            }
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {}
            Err(fault) => return Err(fault),
        }
    }
}

/// Subscribes, and waits for the first response, which has no messages.
async fn subscribe(address: SocketAddr, sent: &[u8]) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    let mut rest = sent;
    while !rest.is_empty() {
        stream.writable().await?;
        match stream.try_write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {}
            Err(fault) => return Err(fault),
        }
    }
    let (mut heard, mut buffer) = (Vec::new(), vec![0; 4_096]);
    let first = br#""messages":[]"#;
    while !heard.windows(first.len()).any(|part| part == first) {
        stream.readable().await?;
        match stream.try_read(&mut buffer) {
            Ok(0) => {
                let said = String::from_utf8_lossy(&heard);
                return Err(fault(format!("a subscriber was refused: {said}")));
            }
            Ok(read) => heard.extend_from_slice(&buffer[..read]),
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(stream)
}

/// Publishes at this rate. Returns the number of messages, and the longest time of one call.
fn publish(
    address: SocketAddr,
    token: &str,
    rate: f64,
    time: Duration,
) -> io::Result<(u64, Duration)> {
    let mut stream = Blocking::connect(address)?;
    stream.set_nodelay(true)?;
    let (begin, mut number, mut longest) = (Instant::now(), 0, Duration::ZERO);
    let mut answer = vec![0; 1 << 16];
    while begin.elapsed() < time {
        let due = (begin.elapsed().as_secs_f64() * rate) as u64;
        let due = due.saturating_sub(number).min(AT_ONCE);
        if due == 0 {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        let texts = (number..number + due)
            .map(|number| format!("\"{:.<LENGTH$}\"", format!("n={number:09} t={:016};", now())));
        let texts = texts.collect::<Vec<_>>().join(",");
        let body = format!(
            r#"{{"query":"mutation($input: PublishInput!) {{ publish(input: $input) {{ __typename }} }}","variables":{{"input":{{"topic":"bench","messages":[{texts}]}}}}}}"#
        );
        let sent = Instant::now();
        stream.write_all(&request(&body, token, "application/json"))?;
        let mut length = 0;
        // The answer is short, and ends with the body's last brace.
        while !answer[..length].ends_with(b"}") {
            match stream.read(&mut answer[length..])? {
                0 => return Err(fault("the gateway closed the publisher's connection")),
                read => length += read,
            }
        }
        longest = longest.max(sent.elapsed());
        let said = String::from_utf8_lossy(&answer[..length]);
        if !said.contains("PublishedMessages") {
            return Err(fault(format!("it isn't published: {said}")));
        }
        number += due;
    }
    Ok((number, longest))
}

fn variable<T: std::str::FromStr>(name: &str) -> io::Result<T> {
    let value = env::var(name).map_err(|missing| fault(format!("{name}: {missing}")))?;
    value.parse().map_err(|_| fault(format!("{name}={value}")))
}

fn main() -> io::Result<()> {
    let address: SocketAddr = variable("ADDRESS")?;
    let token: String = variable("TOKEN")?;
    let subscribers: usize = variable("SUBSCRIBERS")?;
    let (rate, seconds): (f64, f64) = (variable("RATE")?, variable("SECONDS")?);
    let sent: Arc<[u8]> = subscription(variable::<String>("TRANSPORT")? == "ws", &token).into();
    let shared: Shared = Arc::new(Mutex::new(Arrived {
        buffer: vec![0; 1 << 18],
        delays: vec![0; STEPS],
        messages: 0,
        reads: 0,
        out_of_order: 0,
        lost: 0,
    }));
    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    let connecting = Arc::new(Semaphore::new(CONNECTING));
    let streams = (0..subscribers).map(|_| {
        let (connecting, sent) = (Arc::clone(&connecting), Arc::clone(&sent));
        runtime.spawn(async move {
            let _permit = connecting.acquire().await.map_err(io::Error::other)?;
            subscribe(address, &sent).await
        })
    });
    let streams: Vec<_> = streams.collect();
    let streams: Vec<TcpStream> = runtime.block_on(async {
        let mut all = Vec::new();
        for stream in streams {
            all.push(stream.await.map_err(io::Error::other)??);
        }
        Ok::<_, io::Error>(all)
    })?;
    println!("ready");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;

    let failures = Arc::new(AtomicU64::new(0));
    for stream in streams {
        let (shared, failures) = (Arc::clone(&shared), Arc::clone(&failures));
        runtime.spawn(async move {
            let mut subscriber = Subscriber::default();
            while read(&stream, &shared, &mut subscriber).await.is_ok() {}
            failures.fetch_add(1, Relaxed);
        });
    }
    // The subscribers have this thread, and what it waits for below has another.
    let watched = Arc::clone(&shared);
    let count = subscribers as u64;
    let watch = thread::spawn(move || -> io::Result<_> {
        let (published, longest) =
            publish(address, &token, rate, Duration::from_secs_f64(seconds))?;
        let end = Instant::now() + PATIENCE;
        while lock(&watched).messages < published * count && Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
        }
        Ok((published, longest))
    });
    let done = runtime.block_on(async {
        let waited = runtime.spawn_blocking(move || watch.join());
        waited.await.map_err(io::Error::other)
    })?;
    let (published, longest) = done.map_err(|_| fault("the publisher panicked"))??;
    let arrived = lock(&shared);
    let wanted = published * count;
    println!(
        r#"{{"published":{published},"delivered":{},"lost":{},"out_of_order":{},"closed":{},"reads":{},"p50":{:.1},"p99":{:.1},"max":{:.1},"slowest_publish":{:.1}}}"#,
        arrived.messages,
        arrived.lost.max(wanted.saturating_sub(arrived.messages)),
        arrived.out_of_order,
        failures.load(Relaxed),
        arrived.reads,
        arrived.delay(0.5),
        arrived.delay(0.99),
        arrived.delay(1.0),
        longest.as_secs_f64() * 1_000.0,
    );
    // Its use of the processor is read before it ends.
    io::stdin().lock().read_line(&mut line)?;
    Ok(())
}
