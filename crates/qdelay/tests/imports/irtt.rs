//! Results of irtt, written as irtt writes them by a model with known delays, losses and clocks.

use qdelay::import::clocks::estimate;
use qdelay::import::irtt::{Clock, Losses, read};
use qdelay_core::Random;
use qdelay_testing::for_each_seed;

const BEGIN: i64 = 1_764_000_000_000_000_000;
const MS: i64 = 1_000_000;

/// A packet of the model: delays up and down, or where it was lost.
#[derive(Clone, Copy)]
enum Fate {
    Came(i64, i64),
    Lost(&'static str),
}

/// Settings of irtt that change what is in the file.
#[derive(Clone, Copy)]
pub struct Settings {
    pub clock: &'static str,
    pub stamps: &'static str,
    pub counts: &'static str,
}

pub const ALL: Settings = Settings { clock: "both", stamps: "both", counts: "both" };

/// Time of a host as irtt writes it: only the clocks that it has.
fn time(settings: Settings, is_server: bool, wall: i64, monotonic: i64) -> String {
    let has = |clock: &str| !is_server || settings.clock == "both" || settings.clock == clock;
    let parts = [("wall", wall), ("monotonic", monotonic)].into_iter().filter(|(clock, _)| has(clock));
    let parts: Vec<String> = parts.map(|(clock, time)| format!("\"{clock}\": {time}")).collect();
    format!("{{{}}}", parts.join(", "))
}

/// The file; the server's wall clock is `ahead`, its monotonic one began 3 h before the client's.
fn file(fates: &[Fate], ahead: i64, settings: Settings) -> String {
    let processing = 20_000;
    let trip = |(number, fate): (i64, &Fate)| {
        let sent = number * 20 * MS;
        let of_client = |at: i64| time(settings, false, BEGIN + at, 5_000 + at);
        let of_server = |at: i64| time(settings, true, BEGIN + at + ahead, 3 * 3_600_000 * MS + at);
        let (lost, received, server, delay) = match fate {
            Fate::Lost(lost) => {
                (*lost, "{}".to_string(), ["{}".to_string(), "{}".to_string()], String::new())
            }
            Fate::Came(up, down) => {
                let (arrived, left) = (sent + up, sent + up + processing);
                let [arrived, left] = match settings.stamps {
                    "both" => [Some(arrived), Some(left)],
                    "send" => [None, Some(left)],
                    "receive" => [Some(arrived), None],
                    "midpoint" => [Some(arrived + processing / 2); 2],
                    _ => [None; 2],
                };
                // Without both times of the server its share stays in the round trip.
                let stay = if settings.stamps == "both" { 0 } else { processing };
                let server = [arrived, left].map(|at| at.map_or("{}".to_string(), of_server));
                let delay = format!("\"rtt\": {}", up + down + stay);
                ("false", of_client(sent + up + processing + down), server, delay)
            }
        };
        format!(
            "{{\"seqno\": {number}, \"lost\": \"{lost}\", \"timestamps\": {{\"client\": {{\"receive\": {received}, \"send\": {}}}, \
             \"server\": {{\"receive\": {}, \"send\": {}}}, \"late\": false}}, \"delay\": {{{delay}}}, \"ipdv\": {{}}}}",
            of_client(sent),
            server[0],
            server[1]
        )
    };
    let count = |wanted: fn(&Fate) -> bool| fates.iter().filter(|fate| wanted(fate)).count();
    let came = count(|fate| matches!(fate, Fate::Came(..)));
    let up = count(|fate| matches!(fate, Fate::Lost("true_up")));
    let sent = fates.len();
    let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    let trips: Vec<String> = (0..).zip(fates).map(trip).collect();
    format!(
        "{{\"version\": {{\"irtt\": \"0.9.1\", \"protocol\": 1, \"json_format\": 1}}, \"config\": {{\"params\": {{\"interval\": 20000000, \
         \"received_stats\": \"{}\", \"clock\": \"{}\"}}}}, \"stats\": {{\"rtt\": {{\"mean\": 1.5}}, \"server_packets_received\": {}, \
         \"duplicates\": 0, \"late_packets\": 0, \"packets_sent\": {sent}, \"packets_received\": {came}, \"packet_loss_percent\": {}, \
         \"upstream_loss_percent\": {}, \"downstream_loss_percent\": {}}}, \"round_trips\": [{}]}}",
        settings.counts,
        settings.clock,
        sent - up,
        percent(sent - came, sent),
        percent(up, sent),
        percent(sent - up - came, sent - up),
        trips.join(",\n")
    )
}

/// Twelve packets, of which two are lost; the server's clock is 300 ms ahead.
pub fn sample(settings: Settings) -> String {
    let fates: Vec<Fate> = (0..12)
        .map(|number| match number {
            3 => Fate::Lost("true_up"),
            7 => Fate::Lost("true_down"),
            _ => Fate::Came((20 + number) * MS, 10 * MS),
        })
        .collect();
    file(&fates, 300 * MS, settings)
}

#[test]
fn delays_losses_and_clocks_are_those_of_the_model() {
    for_each_seed(100, |seed| {
        let mut random = Random::derive(seed, "irtt", "packets");
        let ahead = random.below(4_000 * MS as u64) as i64 - 2_000 * MS;
        let words = ["true", "true_up", "true_down"];
        let fates: Vec<Fate> = (0..200)
            .map(|_| match random.below(10) {
                0 => Fate::Lost(words[random.below(3) as usize]),
                _ => {
                    let mut delay = || 10 * MS + random.below(30 * MS as u64) as i64;
                    Fate::Came(delay(), delay())
                }
            })
            .collect();
        let text = file(&fates, ahead, ALL);
        let results = read("x.json", &mut text.as_bytes()).unwrap();
        let came: Vec<(i64, i64, i64)> = (0..)
            .zip(&fates)
            .filter_map(|(number, fate)| match fate {
                Fate::Came(up, down) => Some((BEGIN + number * 20 * MS, *up, *down)),
                Fate::Lost(_) => None,
            })
            .collect();
        let trips: Vec<(i64, i64)> = came.iter().map(|(sent, up, down)| (*sent, up + down)).collect();
        assert_eq!(results.round_trips(), trips);
        let (clock, replies) = results.one_way().unwrap();
        assert_eq!((clock, replies.len(), results.interval()), (Clock::Wall, came.len(), Some(20_000_000)));
        for (reply, (_, up, down)) in replies.iter().zip(&came) {
            assert_eq!(reply.up.1 - reply.up.0, up + ahead);
            assert_eq!(reply.down.0 - reply.down.1, down - ahead);
        }
        let lost = |wanted: &str| {
            fates.iter().filter(|fate| matches!(fate, Fate::Lost(word) if *word == wanted)).count() as u64
        };
        let losses = results.losses();
        assert_eq!(
            (losses.lost_up, losses.lost_down, losses.lost_unknown),
            (lost("true_up"), lost("true_down"), lost("true"))
        );
        assert_eq!((losses.sent, losses.received), (200, came.len() as u64));
        assert!((losses.up_percent.unwrap() - lost("true_up") as f64 / 2.0).abs() < 1e-9);
        // Both clocks of the server give one estimate, but for the origin.
        let by = |clock: &'static str| {
            let text = file(&fates, ahead, Settings { clock, ..ALL });
            let (found, replies) = read("x", &mut text.as_bytes()).unwrap().one_way().unwrap();
            assert_eq!(found, if clock == "monotonic" { Clock::Monotonic } else { Clock::Wall });
            let [up, down] = [0, 1].map(|down| {
                replies.iter().map(|reply| if down == 1 { reply.down } else { reply.up }).collect::<Vec<_>>()
            });
            estimate(&up, &down).unwrap()
        };
        let (wall, monotonic) = (by("wall"), by("monotonic"));
        let bias = (came.iter().map(|(_, up, _)| up).min().unwrap()
            - came.iter().map(|(.., down)| down).min().unwrap()) as f64
            / 2e6;
        assert!((wall.offset_ms - ahead as f64 / 1e6 - bias).abs() < 1e-3, "{wall:?}");
        assert!((wall.within_ms - monotonic.within_ms).abs() < 1e-6);
    });
}

#[test]
fn a_server_with_fewer_times_and_counts() {
    let one_way = |stamps: &'static str, clock: &'static str| {
        let text = sample(Settings { stamps, clock, ..ALL });
        let found = read("x", &mut text.as_bytes()).unwrap().one_way();
        found.map(|(_, replies)| (replies[0].up.1 - replies[0].up.0) / 1_000)
    };
    // The time of sending, or the middle, stands for that of arrival: 20 us and 10 us later.
    assert_eq!(
        ["both", "receive", "midpoint", "send", "none"].map(|stamps| one_way(stamps, "wall")),
        [Some(320_000), Some(320_000), Some(320_010), Some(320_020), None]
    );
    let losses = |counts: &'static str| -> Losses {
        read("x", &mut sample(Settings { counts, ..ALL }).as_bytes()).unwrap().losses()
    };
    let both = losses("both");
    assert!((both.up_percent.unwrap() - 100.0 / 12.0).abs() < 1e-9);
    assert!((both.down_percent.unwrap() - 100.0 / 11.0).abs() < 1e-9);
    assert_eq!((losses("window").up_percent, losses("none").down_percent), (None, None));
}

#[test]
fn what_is_no_result_of_irtt_is_refused() {
    let error = |text: &str| read("x.json", &mut text.as_bytes()).unwrap_err().to_string();
    let whole = sample(ALL);
    for (text, wanted) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("hello", "expected value at line 1 column 1"),
        ("{}", "missing field `stats`"),
        (&whole.replace("\"json_format\": 1", "\"json_format\": 2"), "its 'json_format' is 2, not 1"),
        (&whole.replace("\"true_up\"", "\"true_left\""), "'lost' is none of false, true, true_up, true_down"),
        (
            &whole.replace("\"rtt\": 30000000", "\"rtt\": \"fast\""),
            "invalid type: string \"fast\", expected i64",
        ),
        (&whole[..whole.len() / 2], "EOF while parsing"),
        (&whole[..whole.find("\"round_trips\"").unwrap()], "EOF while parsing"),
    ] {
        let message = error(text);
        assert!(message.starts_with("x.json: ") && message.contains(wanted), "{message}");
        assert!(message.ends_with("; expected the JSON that 'irtt client -o FILE' writes"), "{message}");
    }
    let none = whole[..whole.find("[{\"seqno\"").unwrap()].to_string() + "[]}";
    assert!(error(&none).contains("it has no 'round_trips'"), "{}", error(&none));
}
