//! Assignment of packets to flows by their ports, which are chosen here, in private namespaces.
//!
//! The inside end of flow `i` has port `20000 + i`, in TCP and UDP; the outside end has `30000 + i` if it sends data. A TCP
//! connection to an inside port from any other port is iperf3's control connection; irtt's control datagrams open or close a
//! session.

/// The first port inside.
const RECEIVERS: u16 = 20_000;
/// The first port outside.
const SENDERS: u16 = 30_000;
/// Number of ports reserved on each side.
const PORTS: u16 = 1_000;

const IPV4_HEADER: usize = 20;
const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;

/// First bytes of irtt's datagrams.
const IRTT: [u8; 3] = [0x14, 0xa7, 0x5b];
/// Flags in the byte after [`IRTT`]: the datagram opens or closes a session.
const IRTT_CONTROL: u8 = 0x01 | 0x04;

/// Port of a flow's receiver.
pub const fn receiver(flow: usize) -> u16 {
    RECEIVERS + flow as u16 % PORTS
}
/// Port of a flow's sender.
pub const fn sender(flow: usize) -> u16 {
    SENDERS + flow as u16 % PORTS
}

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowDirection {
    /// Packets from the senders outside to the receivers inside.
    Down,
    /// Packets back to the senders.
    Up,
}

/// The fields of a packet's headers that identify its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The flow; `None` for packets of no flow.
    pub flow: Option<u32>,
    /// Fields of the TCP header, for TCP only.
    pub tcp: Option<Tcp>,
}

/// The fields of a TCP header that determine a segment's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// Number of application bytes.
    pub bytes: u32,
    /// True if the segment opens the connection.
    pub is_syn: bool,
}

/// Reads the headers of an IPv4 packet, which may be truncated after its headers; other packets, fragments, and protocols other than
/// TCP and UDP belong to no flow.
pub fn read(packet: &[u8], way: FlowDirection) -> Header {
    parse(packet, way).unwrap_or(Header { flow: None, tcp: None })
}

/// The number at the beginning of a datagram of this program; `None` if the packet is not UDP, too short, or
/// irtt's.
pub fn number(packet: &[u8]) -> Option<u32> {
    let header = packet.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
    let is_udp = packet.get(9) == Some(&UDP);
    let contents =
        packet.get(header + UDP_HEADER..).filter(|contents| is_udp && !contents.starts_with(&IRTT))?;
    contents.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// True if the packet belongs to a control connection of iperf3 or irtt.
pub fn is_control(packet: &[u8], way: FlowDirection) -> bool {
    let header = read(packet, way);
    match header.tcp {
        Some(_) => header.flow.is_none(),
        None => header.flow.is_some() && is_irtt_control(packet),
    }
}

/// True if the packet, which has to be UDP, is a control datagram of irtt.
fn is_irtt_control(packet: &[u8]) -> bool {
    let header = packet.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
    let contents = packet.get(header + UDP_HEADER..).unwrap_or(&[]);
    contents.starts_with(&IRTT) && contents.get(IRTT.len()).is_some_and(|flags| flags & IRTT_CONTROL != 0)
}

fn parse(packet: &[u8], way: FlowDirection) -> Option<Header> {
    let ip: &[u8; IPV4_HEADER] = packet.first_chunk()?;
    let is_fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff != 0;
    if ip[0] >> 4 != 4 || is_fragment {
        return None;
    }
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let header = usize::from(ip[0] & 0x0f) * 4;
    let transport = packet.get(header..total.min(packet.len()))?;
    let ports: &[u8; 4] = transport.first_chunk()?;
    let (source, destination) =
        (u16::from_be_bytes([ports[0], ports[1]]), u16::from_be_bytes([ports[2], ports[3]]));
    let (from, to) = match way {
        FlowDirection::Down => (source, destination),
        FlowDirection::Up => (destination, source),
    };
    // The port inside identifies the flow; a control connection has another port outside.
    let number = to.checked_sub(RECEIVERS).filter(|number| *number < PORTS)?;
    let flow = (from == SENDERS + number).then_some(u32::from(number));
    let tcp = match ip[9] {
        UDP => None,
        TCP => Some(tcp(transport, total - header)?),
        _ => return None,
    };
    Some(Header { flow, tcp })
}

/// Reads a TCP header; `bytes` is the length of the segment with the header.
fn tcp(transport: &[u8], bytes: usize) -> Option<Tcp> {
    let header: &[u8; 20] = transport.first_chunk()?;
    let payload = bytes.checked_sub(usize::from(header[12] >> 4) * 4)?;
    Some(Tcp {
        sequence: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        bytes: payload as u32,
        is_syn: header[13] & 0x02 != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(protocol: u8, source: u16, destination: u16, transport: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        packet[9] = protocol;
        packet.extend(source.to_be_bytes());
        packet.extend(destination.to_be_bytes());
        packet.extend(transport);
        let total = packet.len() as u16;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet
    }

    #[test]
    fn packets_are_assigned_to_flows_and_control_connections() {
        // Sequence number 7, no acknowledgement, a header of 5 words, SYN; then three bytes.
        let segment = [0, 0, 0, 7, 0, 0, 0, 0, 0x50, 0x02, 0, 0, 0, 0, 0, 0, 1, 2, 3];
        let data = packet(TCP, sender(3), receiver(3), &segment);
        let expected = Tcp { sequence: 7, bytes: 3, is_syn: true };
        assert_eq!(read(&data, FlowDirection::Down), Header { flow: Some(3), tcp: Some(expected) });
        assert_eq!(
            read(&data, FlowDirection::Up),
            Header { flow: None, tcp: None },
            "not to a port of a flow"
        );
        assert_eq!(read(&data[..40], FlowDirection::Down).tcp, Some(expected), "truncated after its headers");
        let back = packet(TCP, receiver(3), sender(3), &segment);
        assert_eq!(read(&back, FlowDirection::Up).flow, Some(3));
        assert!(is_control(&packet(TCP, 45_000, receiver(3), &segment), FlowDirection::Down));
        assert!(!is_control(&data, FlowDirection::Down));
        let datagram = packet(UDP, sender(0), receiver(0), &[0; 4]);
        assert_eq!(read(&datagram, FlowDirection::Down), Header { flow: Some(0), tcp: None });
        assert!(!is_control(&packet(UDP, 1, receiver(0), &[0; 4]), FlowDirection::Down));
        for (flags, is_talk) in [(0, false), (1, true), (2, false), (3, true), (4, true)] {
            let contents = [0, 0, 0, 0, 0x14, 0xa7, 0x5b, flags, 9, 9];
            let datagram = packet(UDP, sender(0), receiver(0), &contents);
            assert_eq!(is_control(&datagram, FlowDirection::Down), is_talk, "{flags}");
            assert_eq!(
                is_control(&packet(UDP, receiver(0), sender(0), &contents), FlowDirection::Up),
                is_talk
            );
        }
    }

    #[test]
    fn random_bytes_are_read_without_panic() {
        let whole = packet(TCP, sender(1), receiver(1), &[0; 16]);
        assert_eq!(whole.len(), 40);
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length], FlowDirection::Down).flow, None, "{length}");
        }
        let mut wrong = whole;
        wrong[0] = 0x4f;
        assert_eq!(read(&wrong, FlowDirection::Down).flow, None);
    }
}
