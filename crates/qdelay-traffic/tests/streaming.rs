//! Rules of adaptation against published simulators: equal choices for equal chunks, downloads and buffers.
//!
//! `tests/reference/abr-*.tsv` describe how the choices were recorded.

use qdelay_core::component::Arguments;
use qdelay_core::{Rate, Span, Time};
use qdelay_traffic::streaming::Video;
use qdelay_traffic::streaming::abr::{AnyRule, COMPONENTS, Download, Moment, Rule};

/// Smallest share of chunks with the same choice; fixed before the first comparison.
const SAME: f64 = 0.98;

const LADDER_KBPS: [u64; 6] = [300, 750, 1200, 1850, 2850, 4300];

fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| line.split('\t').collect()).collect()
}

fn video() -> Video {
    let sizes: Vec<Vec<u64>> = rows(include_str!("reference/abr-video.tsv"))
        .into_iter()
        .map(|row| row[1..].iter().map(|bytes| bytes.parse().unwrap()).collect())
        .collect();
    let ladder = LADDER_KBPS.map(|kbps| Rate::from_bps(kbps * 1000));
    Video::of_sizes(&ladder, Span::from_secs(4), &sizes).unwrap()
}

/// A choice of the reference: sequence, chunk, buffer, rung, and the download that followed.
struct Choice {
    sequence: String,
    chunk: usize,
    buffer: Span,
    rung: usize,
    download: Download,
}

fn micros(text: &str) -> Span {
    Span::from_micros(text.parse().unwrap())
}

/// Number of chunks without the first of each sequence, and number of different choices among them.
fn differences(rule: &str, buffer_max: u64, choices: &[Choice]) -> (usize, usize) {
    let video = video();
    let build = || AnyRule::build(&Arguments::parse(COMPONENTS, rule).unwrap()).unwrap();
    let (mut all, mut other) = (0, 0);
    let mut running = build();
    let mut last = None;
    for choice in choices {
        if choice.chunk == 0 {
            (running, last) = (build(), None);
        }
        let moment = Moment {
            video: &video,
            now: Time::ZERO,
            buffer: choice.buffer,
            buffer_max: Span::from_secs(buffer_max),
            next: choice.chunk,
            last,
        };
        let chosen = running.choose(&moment);
        if choice.chunk > 0 {
            all += 1;
            if chosen != choice.rung {
                other += 1;
                println!(
                    "{rule} {} chunk {}: {} chosen, {chosen} here",
                    choice.sequence, choice.chunk, choice.rung
                );
            }
        }
        assert_eq!(choice.download.bytes, video.bytes(choice.chunk, choice.rung));
        running.downloaded(&video, &choice.download);
        last = Some(choice.rung);
    }
    (all, other)
}

fn judged(rule: &str, buffer_max: u64, choices: &[Choice]) {
    let (all, other) = differences(rule, buffer_max, choices);
    println!("{rule} {buffer_max} s: {other} of {all} differ");
    assert_eq!(all, 470, "{rule}");
    assert!((all - other) as f64 >= SAME * all as f64, "{rule}: {other} of {all} differ");
}

#[test]
fn bola_chooses_like_sabre() {
    for buffer_max in [25, 60] {
        let choices: Vec<Choice> = rows(include_str!("reference/abr-bola.tsv"))
            .into_iter()
            .filter(|row| row[1] == buffer_max.to_string())
            .map(|row| {
                let rung = row[4].parse().unwrap();
                let (wait, transfer) = (micros(row[6]), micros(row[7]));
                Choice {
                    sequence: row[0].to_string(),
                    chunk: row[2].parse().unwrap(),
                    buffer: micros(row[3]),
                    rung,
                    download: Download { rung, bytes: row[5].parse().unwrap(), wait, transfer },
                }
            })
            .collect();
        judged("bola", buffer_max, &choices);
    }
}

/// Choices of Pensieve's programs.
fn pensieve(text: &'static str, table: &str) -> Vec<Choice> {
    let rows = rows(text).into_iter().filter(|row| row[0] == table);
    rows.map(|row| {
        let rung = row[4].parse().unwrap();
        let bytes = row[5].parse().unwrap();
        Choice {
            sequence: row[1].to_string(),
            chunk: row[2].parse().unwrap(),
            buffer: micros(row[3]),
            rung,
            download: Download { rung, bytes, wait: Span::ZERO, transfer: micros(row[6]) },
        }
    })
    .collect()
}

#[test]
fn robustmpc_chooses_like_pensieves_program() {
    let text = include_str!("reference/abr-robustmpc.tsv");
    judged("robustmpc", 60, &pensieve(text, "next"));
    // Without a bound: the program plans with the sizes of other chunks.
    let (all, other) = differences("robustmpc", 60, &pensieve(text, "after-next"));
    println!("with the table as it stands: {other} of {all} differ");
}

#[test]
fn bb_chooses_like_pensieves_program() {
    judged("bb:map=rung", 60, &pensieve(include_str!("reference/abr-bb.tsv"), "-"));
}
