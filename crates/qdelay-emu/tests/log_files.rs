//! Logs whose file is slow or cannot be written: the data path neither waits nor fails, and missing records are counted.

use crate::common::{plan, script, us};
use qdelay_core::{Packet, Time};
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Event, EventKind, Tap};
use qdelay_emu::log::{Layout, LogSummary, MahimahiLog, MahimahiOptions, PcapngLog, PcapngOptions};
use qdelay_testing::{Need, skip};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// A file whose first write blocks until it is released.
struct Slow {
    gate: Option<Receiver<()>>,
    begun: Sender<()>,
    file: Vec<u8>,
    done: Sender<Vec<u8>>,
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(gate) = self.gate.take() {
            self.begun.send(()).unwrap();
            gate.recv().unwrap();
        }
        self.file.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.done.send(std::mem::take(&mut self.file)).unwrap();
        Ok(())
    }
}

fn arrival(layout: &Layout, number: u64, bytes: u32) -> Event {
    let time = us(number);
    let packet = Packet { bytes, arrival: time, ..Packet::default() };
    let (node, kind) = (layout.nodes.queue[Port::Outside.index()], EventKind::Enqueued);
    Event { time, node, kind, packet, entered: time, reached_bottleneck: time }
}

fn layout() -> Layout {
    Layout::from_plan(plan("taildrop", "line:100mbit", 1)).unwrap()
}

#[test]
fn a_slow_file_loses_records_without_delaying_the_path() {
    let layout = layout();
    let ((begun, has_begun), (open, gate), (done, file)) = (channel(), channel(), channel());
    let slow = Slow { gate: Some(gate), begun, file: Vec::new(), done };
    let options = MahimahiOptions { ring_bytes: 4096, ..MahimahiOptions::default() };
    let mut log = MahimahiLog::new(slow, &layout, Port::Outside, options).unwrap();
    // Only this thread can release the blocked write: if any call here waited, the test would hang.
    let mut sent = 0_u64;
    while has_begun.try_recv().is_err() {
        log.event(&arrival(&layout, sent, 1500), &[]);
        sent += 1;
    }
    for _ in 0..50_000 {
        log.event(&arrival(&layout, sent, 1500), &[]);
        sent += 1;
    }
    let lost = log.lost();
    assert!(lost >= 50_000 - 128, "the ring holds 128 of them; {lost} of {sent} were lost");
    assert!(!log.has_stopped());
    open.send(()).unwrap();
    let summary = log.close(us(sent)).unwrap();
    assert_eq!((summary.records, summary.lost), (sent - lost, lost));
    let text = String::from_utf8(file.recv().unwrap()).unwrap();
    assert_eq!(summary.bytes, text.len() as u64);
    assert_eq!(text.lines().filter(|line| line.contains(" + ")).count() as u64, sent - lost);
    assert!(text.ends_with(&format!("# lost: {lost} records\n")));
}

#[test]
fn a_full_disk_stops_only_the_log() {
    let path = Path::new("/dev/full");
    if OpenOptions::new().write(true).open(path).is_err() {
        skip(Need::Tools, "no /dev/full");
    }
    let layout = layout();
    let mut mahimahi = MahimahiLog::create(path, &layout, Port::Outside, MahimahiOptions::default()).unwrap();
    let mut pcapng = PcapngLog::create(path, &layout, &PcapngOptions::default()).unwrap();
    let packets = script(1, "full", 100);
    let mut number = 0;
    // The writer writes an incomplete block after a time without records.
    while !(mahimahi.has_stopped() && pcapng.has_stopped()) {
        let bytes = &packets[number % packets.len()].1;
        let event = arrival(&layout, number as u64, bytes.len() as u32);
        mahimahi.event(&event, bytes);
        pcapng.event(&event, bytes);
        number += 1;
        thread::yield_now();
    }
    let before = (mahimahi.lost(), pcapng.lost());
    let event = arrival(&layout, number as u64, 48);
    mahimahi.event(&event, &[0; 48]);
    pcapng.event(&event, &[0; 48]);
    assert_eq!((mahimahi.lost(), pcapng.lost()), (before.0 + 1, before.1 + 1));
    let number = number as u64 + 1;
    for broken in [mahimahi.close(Time::ZERO).unwrap_err(), pcapng.close(Time::ZERO).unwrap_err()] {
        assert_eq!(broken.error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(broken.summary, LogSummary { records: 0, bytes: 0, lost: number });
    }
}

/// A file with space for a limited number of bytes, which accepts as many as fit.
struct Small(Arc<Mutex<Vec<u8>>>, usize);

impl Write for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.0.lock().unwrap();
        let taken = bytes.len().min(self.1 - file.len());
        file.extend_from_slice(&bytes[..taken]);
        if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Records reported as written before the disk was full are whole in the file, and all others are counted as lost.
#[test]
fn a_disk_that_fills_up_keeps_whole_records() {
    let layout = layout();
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let options = MahimahiOptions { ring_bytes: 64 << 20, ..MahimahiOptions::default() };
    let small = Small(bytes.clone(), 200_000);
    let mut log = MahimahiLog::new(small, &layout, Port::Outside, options).unwrap();
    for number in 0..100_000 {
        log.event(&arrival(&layout, number, 1500), &[]);
    }
    let broken = log.close(us(100_000)).unwrap_err();
    let LogSummary { records, bytes: whole, lost } = broken.summary;
    assert!(records > 1000 && records + lost == 100_000 && whole <= 200_000, "{broken}");
    let file = bytes.lock().unwrap();
    let text = std::str::from_utf8(&file[..whole as usize]).unwrap();
    assert!(text.ends_with('\n'), "a whole line");
    assert_eq!(text.lines().filter(|line| line.contains(" + ")).count() as u64, records);
    assert!(broken.to_string().contains(&format!("{lost} are missing")), "{broken}");
}

#[test]
fn creating_a_file_in_a_missing_folder_fails() {
    let path = Path::new("/nowhere/at/all.pcapng");
    assert!(PcapngLog::create(path, &layout(), &PcapngOptions::default()).is_err());
    assert!(MahimahiLog::create(path, &layout(), Port::Inside, MahimahiOptions::default()).is_err());
}

#[test]
fn a_disk_full_at_the_end_is_reported() {
    let Ok(file) = OpenOptions::new().write(true).open("/dev/full") else {
        skip(Need::Tools, "no /dev/full")
    };
    let log = PcapngLog::new(file, &layout(), &PcapngOptions::default()).unwrap();
    assert_eq!(log.close(Time::ZERO).unwrap_err().error.kind(), io::ErrorKind::StorageFull);
}
