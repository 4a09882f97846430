//! Outputs of programs: what is read against values by hand, errors, and any bytes.

use super::*;
use crate::traces::{Format, Library, delay};
use arbtest::arbitrary::Unstructured;
use qdelay_core::Time;
use qdelay_path::LinkModel;
use qdelay_trace::format::Trace;

/// Steps as (ms, bit/s), the period in ms, and the notes.
#[allow(clippy::type_complexity, reason = "figures of one test")]
fn rates(format: &str, text: &str) -> Result<(Vec<(u64, u64)>, u64, Vec<String>), String> {
    let format = Format::named(format).map_err(|error| error.to_string())?;
    let read = crate::traces::read(&mut text.as_bytes(), &format).map_err(|error| error.message());
    let (Trace::Rates(rates), notes) = read? else { panic!("rates") };
    let ms = |time: Time| time.as_nanos() / 1_000_000;
    let steps = rates.steps().iter().map(|step| (ms(step.start), step.rate.as_bps())).collect();
    Ok((steps, rates.period().as_millis(), notes))
}

/// Steps as (ms, us), the period in ms, the extent, and the notes.
#[allow(clippy::type_complexity, reason = "figures of one test")]
fn delays(format: &str, text: &str) -> Result<(Vec<(u64, u64)>, u64, Option<Extent>, Vec<String>), String> {
    let format = Format::named(format).map_err(|error| error.to_string())?;
    let FileDelays { steps, extent, notes } = format.delays(&mut text.as_bytes())?;
    let ms = |time: Time| time.as_nanos() / 1_000_000;
    let all = steps.steps().iter().map(|step| (ms(step.start), step.value.as_micros())).collect();
    Ok((all, steps.period().as_millis(), extent, notes))
}

fn sum(start: f64, end: f64, bps: f64, more: &str) -> String {
    format!("{{\"start\":{start},\"end\":{end},\"seconds\":0.5,\"bytes\":1,\"bits_per_second\":{bps}{more}}}")
}

/// A file of iperf3: a client that sends, with the server's intervals; the first interval is of `-O`.
fn iperf3() -> String {
    let client = [(0.0, 0.5, 9e6, true), (0.0, 0.5, 8e6, false), (0.5, 1.25, 4e6, false)]
        .map(|(start, end, bps, omitted)| {
            let more = |sender| format!(",\"omitted\":{omitted},\"sender\":{sender}");
            let (sum, back) = (sum(start, end, bps, &more(true)), sum(start, end, bps / 4.0, &more(false)));
            format!("{{\"streams\":[],\"sum\":{sum},\"sum_bidir_reverse\":{back}}}")
        })
        .join(",");
    let server = [(0.0, 1.0, 7e6), (1.0, 1.2, 5e6)]
        .map(|(start, end, bps)| {
            format!("{{\"sum\":{}}}", sum(start, end, bps, ",\"omitted\":false,\"sender\":false"))
        })
        .join(",");
    format!(
        "{{\"start\":{{\"test_start\":{{\"reverse\":0}}}},\"intervals\":[{client}],\"end\":{{}},\"server_output_json\":{{\"intervals\":[{server}]}}}}"
    )
}

#[test]
fn iperf3_intervals_of_the_receiver_are_preferred() {
    let text = iperf3();
    let (steps, period, notes) = rates("iperf3", &text).unwrap();
    assert_eq!((steps, period), (vec![(0, 7_000_000), (1000, 5_000_000)], 1200));
    assert_eq!(notes, ["read as iperf3, 2 intervals of the server, the receiver"]);
    let (steps, period, notes) = rates("iperf3:side=client", &text).unwrap();
    assert_eq!((steps, period), (vec![(0, 8_000_000), (500, 4_000_000)], 1250));
    assert!(notes[0].ends_with("of the client, the sender: what it handed to its socket"), "{notes:?}");
    assert_eq!(notes[1], "1 intervals of -O left out");
    let (steps, _, notes) = rates("iperf3:flow=reverse", &text).unwrap();
    assert_eq!(steps, [(0, 2_000_000), (500, 1_000_000)]);
    assert!(notes[0].ends_with("of the client, the receiver"), "{notes:?}");
    assert!(rates("iperf3:side=server:flow=reverse", &text).unwrap_err().contains("--bidir"));
    // A version without `sender`, and -R.
    let old = "{\"start\":{\"test_start\":{\"reverse\":1}},\"intervals\":[{\"sum\":{\"start\":0,\"end\":2,\"bits_per_second\":1.5}}]}";
    let (steps, period, notes) = rates("iperf3", old).unwrap();
    assert_eq!((steps, period), (vec![(0, 2)], 2000));
    assert!(notes[0].ends_with("the receiver"), "{notes:?}");
    let error = rates("iperf3", "{\"start\":{},\"error\":\"unable to connect\"}").unwrap_err();
    assert!(
        error.contains("unable to connect") && error.contains("expected a run with intervals"),
        "{error}"
    );
    assert!(rates("iperf3:side=server", old).unwrap_err().contains("--get-server-output"));
}

/// A packet of irtt: times in ms, delays in us.
fn trip(sent_ms: u64, rtt: Option<i64>, send: Option<i64>) -> String {
    let field = |name: &str, value: Option<i64>| value.map(|us| format!("\"{name}\":{}", us * 1000));
    let delays: Vec<String> = [field("rtt", rtt), field("send", send)].into_iter().flatten().collect();
    let lost = rtt.is_none();
    format!(
        "{{\"seqno\":0,\"lost\":{lost},\"timestamps\":{{\"client\":{{\"receive\":{{}},\"send\":{{\"wall\":1,\"monotonic\":{}}}}},\"server\":{{}}}},\
         \"delay\":{{{}}},\"ipdv\":{{}}}}",
        sent_ms * 1_000_000 + 77,
        delays.join(",")
    )
}

fn irtt(trips: &[String]) -> String {
    format!(
        "{{\"version\":{{\"irtt\":\"0.9.0\",\"json_format\":1}},\"stats\":{{}},\"round_trips\":[{}]}}",
        trips.join(",")
    )
}

#[test]
fn irtt_delays_hold_from_the_sending_of_their_packet() {
    let text = irtt(&[
        trip(40, None, None),
        trip(60, Some(20_000), Some(9_000)),
        trip(80, Some(35_000), Some(24_000)),
        trip(100, None, None),
        trip(125, Some(21_500), Some(10_000)),
    ]);
    let (steps, period, extent, notes) = delays("irtt", &text).unwrap();
    assert_eq!((steps, period), (vec![(0, 20_000), (20, 35_000), (65, 21_500)], 90));
    assert_eq!(extent, Some(Extent::RoundTrip));
    assert_eq!(notes[0], "read as irtt, rtt of 5 packets, 2 without one");
    assert_eq!(notes[1], "1 sample without a value held, 1 sample at the beginning and the end left out");
    let (steps, _, extent, _) = delays("irtt:delay=send", &text).unwrap();
    assert_eq!((steps[1], extent), ((20, 24_000), Some(Extent::OneWay)));
    assert!(delays("irtt:missing=refuse", &text).unwrap_err().contains("2 of 5 samples have no value"));
    assert!(delays("irtt:delay=receive", &text).unwrap_err().contains("--tstamp=both"));
    let ahead = irtt(&[trip(0, Some(20_000), Some(9_000)), trip(20, Some(20_000), Some(-3_000))]);
    let error = delays("irtt:delay=send", &ahead).unwrap_err();
    assert!(error.contains("round trip 2: a delay of -3 ms") && error.contains("or delay=rtt"), "{error}");
    assert!(delays("irtt", &ahead).is_ok());
    assert!(rates("irtt", &text).unwrap_err().contains("trace:FILE:format=irtt"));
}

/// A round trip stays one, and one direction counts twice, without `of`.
#[test]
fn delays_of_programs_are_used_where_a_delay_is_taken() {
    let text = irtt(&[trip(0, Some(30_000), Some(12_000)), trip(20, Some(40_000), Some(14_000))]);
    let library = Library::new().with_contents("a.json", text.clone().into_bytes());
    let least = |text: &str, of: Extent| {
        library.delay(&delay::Delay::parse(text).unwrap(), of).map(|delay| delay.least.as_micros())
    };
    assert_eq!(least("trace:a.json:format=irtt", Extent::RoundTrip), Ok(30_000));
    assert_eq!(least("trace:a.json:format=irtt", Extent::OneWay), Ok(15_000));
    assert_eq!(least("trace:a.json:format=[irtt:delay=send]", Extent::RoundTrip), Ok(24_000));
    assert_eq!(least("trace:a.json:format=[irtt:delay=send]:of=round_trip", Extent::RoundTrip), Ok(12_000));
    assert!(
        least("trace:a.json:format=mbps", Extent::OneWay).unwrap_err().contains("format mbps has no delays")
    );
    assert!(delay::Delay::parse("trace:a.json:format=nothing").is_err());
}

const FLENT: &str = r#"{"metadata":{"FLENT_VERSION":"2.1","SERIES_META":{"TCP upload":{"UNITS":"Mbits/s"},"VoIP":{"UNITS":"Kbps"}}},
    "raw_values":{"TCP upload":[{"t":1.5,"val":2}]},
    "results":{"Ping (ms) ICMP":[10.5,11,null,12.25,13],"TCP upload":[null,20,null,1.5,null],"VoIP":[64,64,64,64,64],"load":[0,0,0,0,0]},
    "version":4,"x_values":[0.0,0.2,0.4,0.6000000000000001,0.8]}"#;

#[test]
fn a_series_of_flent_is_a_rate_or_a_delay() {
    let (steps, period, notes) = rates("flent:series=[TCP upload]", FLENT).unwrap();
    assert_eq!((steps, period), (vec![(0, 20_000_000), (400, 1_500_000)], 600));
    assert_eq!(notes[0], "read as flent, series 'TCP upload' in mbit/s, 5 samples");
    assert_eq!(notes[1], "1 sample without a value held, 2 samples at the beginning and the end left out");
    assert_eq!(rates("flent:VoIP", FLENT).unwrap().0[0], (0, 64_000));
    let (steps, period, extent, _) = delays("flent:series=[Ping (ms) ICMP]", FLENT).unwrap();
    assert_eq!((steps, period), (vec![(0, 10_500), (200, 11_000), (600, 12_250), (800, 13_000)], 1000));
    assert_eq!(extent, Some(Extent::RoundTrip));
    assert!(
        rates("flent", FLENT).unwrap_err().contains("one of [Ping (ms) ICMP], [TCP upload], [VoIP], [load]")
    );
    assert!(rates("flent:load", FLENT).unwrap_err().contains("has no unit; expected unit=mbit"));
    assert!(rates("flent:load:unit=mbit", FLENT).is_ok());
    assert!(rates("flent:series=[Ping (ms) ICMP]", FLENT).unwrap_err().contains("is a delay in ms"));
    assert!(delays("flent:VoIP", FLENT).unwrap_err().contains("is a rate in kbit/s"));
    assert!(rates("flent:series=[TCP upload]:missing=refuse", FLENT).unwrap_err().contains("3 of 5 samples"));
}

const ALPHARTC: &str = r#"{"type":"video","downlink":{},"uplink":{"trace_pattern":[
    {"duration":2896,"capacity":179,"loss":0,"rtt":89,"jitter":0},{"duration":613,"capacity":177.5,"loss":0.1,"rtt":103}]}}"#;

#[test]
fn alphartc_intervals_follow_each_other() {
    let (steps, period, notes) = rates("alphartc", ALPHARTC).unwrap();
    assert_eq!((steps, period), (vec![(0, 179_000), (2896, 177_500)], 3509));
    assert_eq!(notes, ["read as alphartc, uplink of 2 intervals; loss and jitter are not read"]);
    let (steps, period, ..) = delays("alphartc", ALPHARTC).unwrap();
    assert_eq!((steps, period), (vec![(0, 89_000), (2896, 103_000)], 3509));
    assert!(rates("alphartc:direction=downlink", ALPHARTC).unwrap_err().contains("direction=uplink"));
    let without = ALPHARTC.replace("\"rtt\":89,", "");
    assert!(delays("alphartc", &without).unwrap_err().contains("1 of 2 samples have no value"));
}

const WIRESHARK: &str = "\"No.\",\"Time\",\"Source\",\"Destination\",\"Protocol\",\"Length\",\"Info\"\n\
    \"1\",\"0.000000\",\"10.0.0.1\",\"fe80::2\",\"TCP\",\"1514\",\"5 > 6 [ACK] Seq=1 \"\"x\"\", y\"\n\
    \"2\",\"0.010000\",\"fe80::2\",\"10.0.0.1\",\"TCP\",\"66\",\"6 > 5\"\n\
    \"3\",\"0.099000\",\"10.0.0.1\",\"fe80::2\",\"TCP\",\"500\",\"\"\n\
    \"4\",\"0.250000\",\"10.0.0.1\",\"fe80::2\",\"TCP\",\"100\",\"\"\n";

#[test]
fn packets_of_wireshark_are_summed_by_direction() {
    let (steps, period, _) = rates("wireshark:where=Destination=[fe80::2]", WIRESHARK).unwrap();
    assert_eq!((steps, period), (vec![(0, 2014 * 80), (100, 0), (200, 100 * 80)], 300));
    let all = rates("wireshark:where=all:bin=1s", WIRESHARK).unwrap();
    assert_eq!((all.0, all.1), (vec![(0, 2180 * 8)], 1000));
    let error = rates("wireshark", WIRESHARK).unwrap_err();
    assert!(error.contains("no where") && error.contains("where=all"), "{error}");
}

#[test]
fn text_of_other_programs_has_names() {
    assert_eq!(rates("pensieve", "0 9\n1 2\n2 3\n").unwrap().0, [(0, 2_000_000), (1000, 3_000_000)]);
    let puffer = "time (ns GMT),session_id,index,expt_id,channel,video_ts,format,size,ssim_index,cwnd,in_flight,min_rtt,rtt,delivery_rate,buffer,cum_rebuf\n\
        1600000000000000000,a=b:/+,0,1,x,1,f,1,1,1,1,1,1,1000,1,0\n1600000000500000000,other,0,1,x,1,f,1,1,1,1,1,1,7,1,0\n\
        1600000002000000000,a=b:/+,0,1,x,1,f,1,1,1,1,1,1,250000,1,0\n1600000003000000000,a=b:/+,1,1,x,1,f,1,1,1,1,1,1,500000,1,0\n";
    let (steps, period, _) = rates("puffer:session=[a=b:/+]", puffer).unwrap();
    assert_eq!((steps, period), (vec![(0, 2_000_000), (2000, 4_000_000)], 3000));
    assert_eq!(rates("puffer:session=[a=b:/+]:index=0", puffer).unwrap().1, 2000);
    assert!(rates("puffer", puffer).unwrap_err().contains("no session"));
}

/// Each output is recognised, and read by its guess.
#[test]
fn outputs_are_recognised_and_guessed() {
    let irtt = irtt(&[trip(0, Some(30_000), None), trip(20, Some(40_000), None)]);
    for (name, text) in [
        ("iperf3", iperf3().as_str()),
        ("irtt", &irtt),
        ("flent", FLENT),
        ("alphartc", ALPHARTC),
        ("wireshark", WIRESHARK),
        ("puffer", "time (ns GMT),session_id,index,delivery_rate\n1,a/b=,0,5\n2,a/b=,0,6\n"),
    ] {
        let program = recognised(text.as_bytes()).unwrap();
        assert_eq!(program.component.name, name);
        let guess = program.guess(text.as_bytes());
        assert!(!guess.assumed.is_empty());
        let is_read = rates(&guess.format, text).is_ok() || delays(&guess.format, text).is_ok();
        assert!(is_read, "{}: {:?}", guess.format, rates(&guess.format, text));
        let library = Library::new().with_contents("f", text.as_bytes().to_vec());
        let error = library.trace("f", None, true, None).unwrap_err();
        let expected = match program.has_rates() {
            true => format!("looks like an output of {name}; give the format"),
            false => format!("has delays, not rates; expected it as a delay, trace:FILE:format={name}"),
        };
        assert!(error.contains(&expected), "{error}");
        if rates(&guess.format, text).is_ok() {
            let found = library.trace(&format!("f:format=[{}]", guess.format), None, true, None);
            assert!(found.unwrap().link.length().is_some());
        }
    }
    for text in ["0\n1\n", "0 1\n1 2\n", "t,r\n0,1\n", "{\"a\":1}", "", "# {"] {
        assert!(recognised(text.as_bytes()).is_none(), "{text}");
    }
}

#[test]
fn usages_name_every_program() {
    for program in PROGRAMS {
        assert!(usages().contains(program.component.name));
        let usage = program.usage.replace("ADDRESS", "a").replace("NAME", "n").replace("ID", "1");
        assert!(Format::named(&usage).is_ok(), "{usage}");
        assert!(program.has_rates() || program.has_delays());
    }
    assert!(Format::named("irtt:delay=up").is_err() && Format::named("iperf3:side=both").is_err());
}

#[test]
fn bad_json_has_a_line() {
    let error = rates("iperf3", "{\n\"intervals\": [\n{]}").unwrap_err();
    assert!(error.starts_with("line 3: ") && error.ends_with("; expected JSON of iperf3 -J"), "{error}");
    assert!(rates("alphartc", "\u{feff}{}").unwrap_err().contains("uplink has no trace_pattern"));
    assert!(delays("irtt", "{} {}").unwrap_err().contains("trailing"));
    assert!(rates("flent:a", &"[".repeat(100_000)).is_err());
    assert!(delays("irtt", "").unwrap_err().starts_with("line 1: "));
}

/// Mutated outputs are read, or refused on one line.
#[test]
fn any_bytes_are_read_or_refused() {
    let irtt = irtt(&[trip(0, Some(30_000), Some(1)), trip(20, None, None), trip(41, Some(9), Some(2))]);
    let iperf3 = iperf3();
    let files = [iperf3.as_str(), &irtt, FLENT, ALPHARTC, WIRESHARK, "0 9\n1 2\n2 3\n"];
    let pieces: &[&[u8]] = &[
        b"null",
        b"-1",
        b"1e308",
        b"18446744073709551616",
        b"0.0000000001",
        b"[",
        b"{",
        b"\"",
        b",",
        b"true",
        b"\xff",
        b"1e-400",
    ];
    let formats = [
        "iperf3",
        "iperf3:side=client",
        "irtt",
        "irtt:delay=send",
        "flent:series=[TCP upload]",
        "alphartc",
        "wireshark:where=all",
        "pensieve",
    ];
    qdelay_testing::fuzz::fuzz(3.0, |u: &mut Unstructured<'_>| {
        let file = u.choose(&files)?.as_bytes().to_vec();
        let bytes = qdelay_testing::fuzz::mutate(u, file, pieces)?;
        let _ = recognised(&bytes).map(|program| program.guess(&bytes));
        let format = Format::named(u.choose(&formats)?).unwrap();
        let read = crate::traces::read(&mut &bytes[..], &format).map(|_| ()).map_err(|error| error.message());
        for result in [read, format.delays(&mut &bytes[..]).map(|_| ())] {
            if let Err(error) = result {
                assert!(!error.is_empty() && !error.contains('\n'), "{error}");
            }
        }
        Ok(())
    });
}
