//! `qdelay-testing steady`: tests that depend on real time, repeated beside busy processors. A test that fails once is a
//! defect.

use super::{owned, refuse, workspace};
use crate::suite;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs `--runs N` times (50) beside `--load N` busy threads (10), `--at-once N` tests at a time (8: they mostly wait); arguments after
/// `--` are
/// options of test programs.
pub(super) fn run(arguments: &[&str]) -> ExitCode {
    let (mut runs, mut load, mut at_once) = (50_u32, 10_u32, 8_u32);
    let mut words = arguments.iter();
    let mut options = Vec::new();
    while let Some(word) = words.next() {
        let number = |value: Option<&&str>| value.and_then(|value| value.parse::<u32>().ok());
        let target = match *word {
            "--runs" => &mut runs,
            "--load" => &mut load,
            "--at-once" => &mut at_once,
            "--" => {
                options = words.copied().collect();
                break;
            }
            other => {
                return refuse(format_args!(
                    "steady: '{other}': expected --runs N, --load N, --at-once N or --"
                ));
            }
        };
        match number(words.next()) {
            Some(value) => *target = value,
            None => return refuse(format_args!("steady: {word}: expected a whole number")),
        }
    }
    let mut selection = workspace(&[], super::all_parts());
    selection.options = owned(&options);
    selection.documentation = None;
    selection.only_waiting = true;
    selection.at_once = Some(at_once.max(1) as usize);
    let is_over = AtomicBool::new(false);
    let mut failures: BTreeMap<String, u32> = BTreeMap::new();
    let mut done = 0;
    let outcome = std::thread::scope(|scope| {
        for _ in 0..load {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let outcome = (1..=runs).try_for_each(|number| {
            println!("steady: run {number} of {runs}, beside {load} busy threads");
            let results = suite::counts(&super::folder(), &selection)?;
            if results.is_interrupted {
                return Err(ExitCode::FAILURE);
            }
            done = number;
            results.failed.into_iter().for_each(|test| *failures.entry(test).or_default() += 1);
            Ok(())
        });
        is_over.store(true, Ordering::Relaxed);
        outcome
    });
    println!("steady: {done} of {runs} runs beside {load} busy threads; {} tests failed", failures.len());
    for (test, count) in &failures {
        println!("  {count} times: {test}");
    }
    match outcome {
        Err(status) => status,
        Ok(()) => ExitCode::from(u8::from(!failures.is_empty())),
    }
}
