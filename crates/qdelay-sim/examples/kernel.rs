use qdelay_core::component::Arguments;
use qdelay_core::{Rate, Span, Random};
use qdelay_path::Shaper;
use qdelay_sim::*;
use qdelay_traffic::transport;
fn main() {
    let path = "/work/shared/kernel-truth.tsv";
    let only = std::env::args().nth(1).unwrap_or_default();
    let text = std::fs::read_to_string(path).unwrap();
    let mut bad = 0; let mut n = 0;
    println!("{:<34} {:>15} {:>17} {:>17} {:>15} {:>13}", "cell", "goodput", "probe mean", "p95", "drops", "retx");
    for line in text.lines().skip(1) {
        let f: Vec<&str> = line.split('\t').collect();
        if f[4] == "fq_codel" { continue; }
        let key = format!("{}/{}/{}/{}/{}/s{}", f[1], f[2], f[3], f[4], f[5].replace(' ', ""), f[18]);
        if !key.contains(&only) { continue; }
        let variant = std::env::var("VARIANT").unwrap_or_default();
        let q = match (f[4], f[5]) {
            ("pfifo", _) => "taildrop:limit=1000".to_string(),
            ("codel", "default") => format!("codel:limit=1000{variant}"),
            ("codel", _) => format!("codel:limit=1000:target=10ms:interval=50ms{variant}"),
            (_, _) => format!("pie:limit=1000{variant}"),
        };
        let flows: usize = f[2].parse().unwrap();
        let seed: u64 = f[18].parse().unwrap();
        let t = Arguments::parse(transport::COMPONENTS, &format!("{}{}", f[3], std::env::var("TX").unwrap_or_default())).unwrap();
        let specs = (0..flows).map(|i| FlowSpec {
            name: f[3].into(), transport: transport::TransportConfig::build(&t).unwrap(),
            start: if i == 0 { Span::ZERO } else { Span::from_nanos(Random::derive(seed, &format!("flow-{i}"), "start").below(4_000_000)) },
            access: None, extra_rtt: Span::ZERO }).collect();
        let s = Scenario {
            qdisc: Arguments::parse(qdelay_core::qdisc::COMPONENTS, &q).unwrap(),
            link: LinkSpec(Shaper::new(Rate::from_mbps(f[0].parse().unwrap()), 14, 1540).into()),
            uplink: None, base_rtt: Span::from_millis(f[1].parse().unwrap()), flows: specs,
            probe: Some(ProbeSpec { bytes: 50, ..ProbeSpec::default() }),
            duration: Span::from_secs(40), warmup: Span::from_secs(10), seed, min_packet_bytes: 0,
        };
        let o = run(&s).unwrap();
        let good: f64 = o.flows.iter().map(|f| f.goodput_mbps).sum();
        let p = o.probe_ms.unwrap();
        let truth = |i: usize| f[i].parse::<f64>().unwrap();
        let retx: u64 = o.flows.iter().map(|f| f.retransmits).sum();
        let ok = (good / truth(6) - 1.0).abs() < 0.03
            && ((p.mean - truth(8)).abs() < 1.0 || (p.mean / truth(8) - 1.0).abs() < 0.2)
            && ((p.p95 - truth(10)).abs() < 1.0 || (p.p95 / truth(10) - 1.0).abs() < 0.2)
            && ((o.drops_total() as f64 - truth(15)).abs() < 20.0 || (o.drops_total() as f64 / truth(15) - 1.0).abs() < 0.3);
        n += 1; if !ok { bad += 1; }
        println!("{:<34} {:7.3} {:7.3} {:8.2} {:8.2} {:8.2} {:8.2} {:7} {:7} {:6} {:6} {} to={} undo={} jain={:.3}", key, good, truth(6), p.mean, truth(8), p.p95, truth(10), o.drops_total(), f[15], retx, f[17], if ok { "" } else { "MISS" },
            o.flows.iter().map(|f| f.timeouts).sum::<u64>(), o.flows.iter().map(|f| f.undone).sum::<u64>(), o.jain);
    }
    println!("{bad} of {n} miss");
}
