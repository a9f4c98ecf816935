//! How commands take leave of MongoDB: the driver's client is closed before the process ends.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use super::{Running, done, on};
use crate::support::{fresh_name, mongod_port, until};

/// A way to mongod that keeps what its clients say.
struct Tap {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    fn start(database: &str) -> Self {
        let (port, heard) = (mongod_port(database), Arc::new(Mutex::new(Vec::new())));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let kept = Arc::clone(&heard);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", port)).expect("mongod");
                let both = |stream: &TcpStream| stream.try_clone().expect("a stream");
                let (answers, asker) = (both(&server), both(&client));
                thread::spawn(move || io::copy(&mut &answers, &mut &asker));
                let kept = Arc::clone(&kept);
                thread::spawn(move || listen(client, server, &kept));
            }
        });
        Self { address, heard }
    }

    /// A command that reaches MongoDB by this way.
    fn on(&self, database: &str, arguments: &[&str]) -> Command {
        let mut command = on(database, arguments);
        let uri = format!("mongodb://{}/?directConnection=true", self.address);
        command.env("DOCGATE_MONGODB_URI", uri);
        command
    }

    /// Whether a client has ended its sessions.
    fn heard_the_end(&self) -> bool {
        let heard = self.heard.lock().expect("nobody panics");
        heard.windows(11).any(|bytes| bytes == b"endSessions")
    }
}

fn listen(mut client: TcpStream, mut server: TcpStream, heard: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4_096];
    while let Ok(1..) = client.read(&mut bytes).map(|count| {
        heard.lock().expect("nobody panics").extend_from_slice(&bytes[..count]);
        server.write_all(&bytes[..count]).map_or(0, |()| count)
    }) {}
    let _closed = server.shutdown(std::net::Shutdown::Both);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_closes_its_client() {
    let name = fresh_name();
    for arguments in [
        &["indexes", "apply"][..],
        &["indexes", "plan"],
        &["import", "categories", "-"],
        &["check"],
        &["migrate"],
    ] {
        let tap = Tap::start(&name);
        let (code, _, said) = done(tap.on(&name, arguments));
        assert_eq!((code, said.as_str()), (0, ""), "{arguments:?}");
        until(&format!("the end of {arguments:?}"), async || tap.heard_the_end()).await;
    }
    let tap = Tap::start(&name);
    let running = Running::start(tap.on(&name, &["serve"]));
    running.address("serving on http://");
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
    until("the end of serve", async || tap.heard_the_end()).await;
}
