use super::*;
use std::net::TcpStream;
use std::time::Duration;

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn resolver_files_are_read_as_the_c_library_reads_them() {
    let text = "# made by something\nnameserver 192.0.2.1\nsearch example.org\nnameserver 2001:db8::1\n\
                nameserver not-an-address\nnameserver\noptions edns0 trust-ad\nnameserver fe80::1%1\nnameserver 9.9.9.9\n";
    let read = Configuration::parse(text);
    let expected: [SocketAddr; 3] = [
        "192.0.2.1:53".parse().unwrap(),
        "[2001:db8::1]:53".parse().unwrap(),
        SocketAddrV6::new("fe80::1".parse().unwrap(), 53, 0, 1).into(),
    ];
    assert_eq!(read.servers, expected);
    assert_eq!(
        read.pointing_at(Ipv4Addr::new(100, 64, 0, 1)),
        "nameserver 100.64.0.1\n# made by something\nsearch example.org\noptions edns0 trust-ad\n"
    );
    assert_eq!(Configuration::parse("").servers, ["127.0.0.1:53".parse().unwrap()]);
    assert_eq!(Configuration::parse("nameserver fe80::1%no-such-device").servers, [(LOCAL, 53).into()]);
}

fn question(number: u16) -> Vec<u8> {
    let mut message = number.to_be_bytes().to_vec();
    message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, b'a', 0, 0, 1, 0, 1]);
    message
}

/// A resolver that answers every query, on both UDP and TCP, until the test ends.
fn resolver() -> SocketAddr {
    let socket = UdpSocket::bind((LOCAL, 0)).expect("a port");
    let address = socket.local_addr().expect("an address");
    let listener = TcpListener::bind(address).expect("the same port");
    std::thread::spawn(move || {
        let mut buffer = [0; 70_000];
        while let Ok((length, client)) = socket.recv_from(&mut buffer) {
            // A response with a wrong ID comes first: the relay must not forward it.
            let mut wrong = buffer[..length].to_vec();
            wrong[0] ^= 0xff;
            wrong[2] |= 0x80;
            socket.send_to(&wrong, client).expect("sent");
            buffer[2] |= 0x80;
            buffer[3] = 0x80;
            socket.send_to(&buffer[..length], client).expect("sent");
        }
    });
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut length = [0; 2];
            while stream.read_exact(&mut length).is_ok() {
                let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
                stream.read_exact(&mut message).expect("a message");
                message[2] |= 0x80;
                message[3] = 0x80;
                stream.write_all(&length).expect("sent");
                stream.write_all(&message).expect("sent");
            }
        }
    });
    address
}

/// An address without a listener.
fn nobody() -> SocketAddr {
    UdpSocket::bind((LOCAL, 0)).and_then(|socket| socket.local_addr()).expect("a port")
}

/// Starts a relay on a port of its own.
fn relay(servers: &[SocketAddr]) -> (Relay, SocketAddr) {
    // Another process may take the port in the meantime, so a few ports are tried.
    for _ in 0..20 {
        let address = nobody();
        let clients = vec![Network::new(LOCAL, 8)];
        if let Ok(relay) = Relay::start_at(&[LOCAL], address.port(), clients, servers) {
            return (relay, address);
        }
    }
    panic!("no free port");
}

fn client(relay: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((LOCAL, 0)).expect("a port");
    socket.connect(relay).expect("connected");
    // The timeout is long, for slow machines; only a failing test waits for it.
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
    socket
}

fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = [0; 70_000];
    let length = socket.recv(&mut buffer).expect("an answer");
    buffer[..length].to_vec()
}

#[test]
fn udp_queries_are_answered_by_the_first_working_resolver() {
    let (_relay, address) = relay(&[nobody(), resolver()]);
    let client = client(address);
    for number in 1..=20 {
        client.send(&question(number)).expect("sent");
        let answer = receive(&client);
        assert_eq!(answer[..2], number.to_be_bytes());
        assert_eq!(answer[2..4], [0x81, 0x80]);
    }
}

#[test]
fn concurrent_queries_get_their_own_answers() {
    let (_relay, address) = relay(&[resolver()]);
    let clients: Vec<UdpSocket> = (0..40).map(|_| client(address)).collect();
    for (number, client) in (100..).zip(&clients) {
        client.send(&question(number)).expect("sent");
    }
    for (number, client) in (100u16..).zip(&clients) {
        assert_eq!(receive(client)[..2], number.to_be_bytes());
    }
}

#[test]
fn client_gets_a_failure_if_no_resolver_answers() {
    let (_relay, address) = relay(&[nobody(), nobody()]);
    let client = client(address);
    client.send(&question(7)).expect("sent");
    let answer = receive(&client);
    assert_eq!((&answer[..2], answer[2] & 0x80, answer[3] & 15), (&[0, 7][..], 0x80, 2));
}

#[test]
fn messages_that_are_not_queries_are_ignored() {
    let (_relay, address) = relay(&[resolver()]);
    let client = client(address);
    let mut is_an_answer = question(1);
    is_an_answer[2] |= 0x80;
    for bad in [&[][..], &[0], &[0; 11], &is_an_answer, &[1; 5000]] {
        client.send(bad).expect("sent");
    }
    client.send(&question(2)).expect("sent");
    assert_eq!(receive(&client)[..2], [0, 2]);
}

#[test]
fn clients_outside_the_link_are_ignored() {
    let stranger = vec![Network::new("192.0.2.0".parse().unwrap(), 24)];
    let shared = Shared { servers: vec![nobody()], preferred: AtomicUsize::new(0), clients: stranger };
    assert!(shared.serves("192.0.2.77:1".parse().unwrap()));
    assert!(!shared.serves("192.0.3.1:1".parse().unwrap()));
    assert!(!shared.serves("[::1]:1".parse().unwrap()));
}

#[test]
fn tcp_queries_are_answered_one_after_another() {
    use std::io::{Read, Write};
    let (_relay, address) = relay(&[nobody(), resolver()]);
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("set");
    for number in [1u16, 2, 3] {
        let message = question(number);
        stream.write_all(&(message.len() as u16).to_be_bytes()).expect("sent");
        stream.write_all(&message).expect("sent");
        let mut answer = vec![0; 2 + message.len()];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(answer[2..4], number.to_be_bytes());
        assert_eq!(answer[4] & 0x80, 0x80);
    }
    // An invalid message ends its connection, and nothing else.
    stream.write_all(&[0, 3, 1, 2, 3]).expect("sent");
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.is_empty());
    assert!(TcpStream::connect(address).is_ok());
}

#[test]
fn arbitrary_bytes_do_no_harm() {
    arbtest::arbtest(|u| {
        let message: Vec<u8> = u.arbitrary()?;
        let other: Vec<u8> = u.arbitrary()?;
        is_question(&message);
        answers(&message, &other);
        to_failure(&mut message.clone());
        Configuration::parse(&String::from_utf8_lossy(&message));
        Ok(())
    })
    .budget_ms(300);
}
