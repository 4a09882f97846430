//! A run that is advanced in steps, observed and changed: every half second BoDe's bound is changed so that the link stays busy with little
//! delay. A learning algorithm could make this decision.

use qdelay_core::component::Arguments;
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::{Span, Time};
use qdelay_path::{AnyLink, TraceLink};
use qdelay_sim::{Bottleneck, FlowSpec, Scenario, Simulation};
use qdelay_trace::{mahimahi, shipped};
use qdelay_traffic::transport::{self, TransportConfig};
use std::error::Error;

const STEP: Span = Span::from_millis(500);

fn main() -> Result<(), Box<dyn Error>> {
    let trace = mahimahi::parse(shipped::find("synth-lte-driving.down").ok_or("the trace is not there")?)?;
    let link = AnyLink::from(TraceLink::new(&trace, 0, true));
    let bode = |target: u64| Arguments::parse(qdisc::COMPONENTS, &format!("bode:target={target}ms"));
    let mut target = 20;
    let mut scenario =
        Scenario::new(Bottleneck::link(bode(target)?, link), Span::from_millis(40), Span::from_secs(30));
    let cubic = TransportConfig::build(&Arguments::parse(transport::COMPONENTS, "cubic")?)?;
    scenario.flows.push(FlowSpec::new("cubic", cubic));

    let mut simulation = Simulation::new(&scenario)?;
    println!("   time  bound  backlog   Mbit/s");
    let mut before = 0;
    while !simulation.is_over() {
        let next = simulation.now() + STEP;
        simulation.advance_to(next)?;
        let delivered: u64 = simulation.flows().map(|flow| flow.delivered_bytes).sum();
        let (backlog, mbps) =
            (simulation.backlog(), (delivered - before) as f64 * 8.0 / STEP.as_secs_f64() / 1e6);
        let seconds = simulation.now().since(Time::ZERO).as_secs_f64();
        println!("{seconds:6.1}s {target:4}ms  {:7}  {mbps:7.2}", backlog.packets);
        before = delivered;
        // An empty queue has cost throughput; a queue that stands costs delay.
        target = if backlog.packets == 0 { (target * 5 / 4).min(200) } else { (target * 19 / 20).max(5) };
        simulation.replace_qdisc(AnyQdisc::build(&bode(target)?)?)?;
    }
    let outcome = simulation.finish()?;
    let measures = &outcome.measures;
    println!("mean delay {:.1} ms, p95 {:.1} ms", measures.queue_delay_ms.mean, measures.queue_delay_ms.p95);
    Ok(())
}
