use qdelay_core::component::Arguments;
use qdelay_core::{Rate, Span};
use qdelay_path::TraceLink;
use qdelay_sim::*;
use qdelay_traffic::transport;
const T: &[(&str, &str, [&str; 2])] = &[
 ("taildrop", "mahimahi/ATT-LTE-driving.down", ["5.23/1683/11856", "4.95/76/262"]),
 ("headdrop", "mahimahi/ATT-LTE-driving.down", ["5.24/1560/11697", "4.97/74/238"]),
 ("codel", "mahimahi/ATT-LTE-driving.down", ["4.33/13/43", "4.59/26/113"]),
 ("pie", "mahimahi/ATT-LTE-driving.down", ["4.27/27/77", "4.85/38/119"]),
 ("bode", "mahimahi/ATT-LTE-driving.down", ["3.46/9/20", "4.07/12/20"]),
 ("taildrop", "nyc-2019/trace-3205967-timessquare", ["11.43/779/5748", "10.99/51/300"]),
 ("headdrop", "nyc-2019/trace-3205967-timessquare", ["11.43/755/5674", "11.13/48/177"]),
 ("codel", "nyc-2019/trace-3205967-timessquare", ["9.88/13/57", "10.88/30/106"]),
 ("pie", "nyc-2019/trace-3205967-timessquare", ["9.68/12/60", "10.80/29/114"]),
 ("bode", "nyc-2019/trace-3205967-timessquare", ["8.36/6/20", "9.68/10/20"]),
];
fn main() {
    let mut bad = 0;
    for (q, trace, cells) in T {
        for (i, tr) in ["cubic", "bbr"].iter().enumerate() {
            let bytes = std::fs::read(format!("/work/shared/traces/{trace}")).unwrap();
            let schedule = qdelay_trace::mahimahi::parse(&bytes).unwrap();
            let v = std::env::var("V").unwrap_or(":variant=mahimahi".into());
            let qs = match *q { "codel" => format!("codel:target=10ms:interval=50ms{v}"), "pie" => format!("pie:target=20ms:max_burst=3ms{v}"), q => q.to_string() };
            let t = Arguments::parse(transport::COMPONENTS, tr).unwrap();
            let mut acc = vec![];
            for seed in 1..=3 {
            let s = Scenario {
                qdisc: Arguments::parse(qdelay_core::qdisc::COMPONENTS, &qs).unwrap(),
                link: LinkSpec(TraceLink::new(&schedule, 4, true).into()),
                uplink: Some(Uplink { rate: Rate::from_mbps(48.0), limit: 1000 }), base_rtt: Span::from_micros(std::env::var("RTT").map_or(10000, |s| s.parse().unwrap())),
                flows: vec![FlowSpec { name: tr.to_string(), transport: transport::TransportConfig::build(&t).unwrap(), start: Span::from_micros(std::env::var("START").map_or(0, |s| s.parse().unwrap()) + 317 * seed), access: None, extra_rtt: Span::ZERO }],
                probe: None, duration: Span::from_secs(60), warmup: Span::ZERO, seed, min_packet_bytes: 200,
            };
            acc.push(run(&s).unwrap());
            }
            let c: Vec<f64> = cells[i].split('/').map(|x| x.parse().unwrap()).collect();
            let o = &acc[0];
            let m = |f: &dyn Fn(&Outcome) -> f64| acc.iter().map(|o| f(o)).sum::<f64>() / acc.len() as f64;
            let (tp, mean, p99) = (m(&|o| o.throughput_mbps) * 1504.0 / 1500.0, m(&|o| o.queue_delay_ms.mean), m(&|o| o.queue_delay_ms.p99));
            let near = |a: f64, b: f64, r: f64, abs: f64| (a - b).abs() <= abs || (a / b - 1.0).abs() <= r;
            let ok = near(tp, c[0], 0.1, 0.0) && near(mean, c[1], 0.3, 5.0) && near(p99, c[2], 0.3, 5.0);
            if !ok { bad += 1; }
            let sent = o.flows[0].packets_sent as f64;
            println!("{:<9} {:<6} {:<12} tp {:6.2} {:6.2} mean {:8.1} {:8.1} p99 {:8.1} {:8.1} p95 {:8.1} drops={} ({:.1}%) to={} undo={} retx={} {}", q, tr, &trace[trace.len()-10..], tp, c[0], mean, c[1], p99, c[2], o.queue_delay_ms.p95, o.drops_total(), o.drops_total() as f64 / sent * 100.0, o.flows[0].timeouts, o.flows[0].undone, o.flows[0].retransmits, if ok { "" } else { "MISS" });
        }
    }
    println!("{bad} miss");
}
