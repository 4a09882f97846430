//! Sets of options for `qdelay compare`: every discipline, transport and kind of link, with further options.

use qdelay_core::component::Component;
use qdelay_path::LINKS;
use qdelay_path::link::EXAMPLES;

/// Sets of options, one a line; words have spaces between them.
const SETS: &str = "\
--trace synth-lte-driving --duration 20s
--trace synth-subway --qdisc bode:target=20ms,bode:target=60ms:min_keep=3,codel:variant=rfc,pie:variant=rfc --transport cubic,reno --probe --duration 20s --warmup 3s
--trace synth-lte-stationary --qdisc headdrop,taildrop:limit_bytes=60kb,sfq --transport bbr --flows 4 --seed 1..3 --no-repeat --duration 15s
--trace synth-lte-driving --trace synth-subway --qdisc codel:ecn=on,pie:ecn=on,fq_codel:ecn=on:ce_threshold=5ms,red:min=5:max=15:ecn=on --transport cubic:ecn=on,reno:ecn=on --flows 2 --duration 10s
--link 10mbit:overhead=14 --qdisc fq_codel,drr,sfq:headdrop=on,red:min=5:max=15 --transport cubic,reno --flows 3 --duration 10s
--link htb:5mbit:burst=6kb --qdisc taildrop:limit=50,headdrop:limit=50,bode --transport cubic,bbr --rtt 80ms --jitter 5ms --duration 10s
--link line:20mbit --qdisc priority,drr:by=dscp,drr:by=class,codel --transport cubic --flows 5 --probe --duration 5s
--link steps:0s@6mbit+3s@600kbit+6s@0+6500ms@9mbit:repeat=8s --qdisc taildrop,codel,pie,bode,fq_codel --transport cubic,bbr --probe --duration 20s
--link uplink:sr=20ms:bytes=800 --qdisc codel,pie,bode --transport reno --duration 10s
--link synth:subway:seed=3 --link synth:lte-driving:seed=9 --qdisc bode,codel:target=20ms:interval=200ms --transport cubic --duration 15s --uplink synth-lte-driving.up
--link line:5mbit --qdisc dsd:rate=5mbit:bound=40ms:limit=60,dsd:rate=5mbit:bound=40ms:limit=60:control=loss:base_rtt=100ms,fcfs_green:rate=5mbit:bound=40ms --transport cubic,tfrc --flows 3 --duration 20s
--link 2mbit --qdisc taildrop,codel,pie --transport udp:3mbit,voip,gaming,tfrc,audio --duration 20s --seed 1,2
--link 300kbit --qdisc taildrop:limit=20,bode:target=40ms --transport audio,tfrc,voip --flows 6 --duration 20s
--link 10mbit --qdisc taildrop,red:min=20:max=60:gentle=off:mode=packets --transport cubic:profile=ns3,reno:profile=ns3,reno:profile=ns3:tlp=on --flows 2 --duration 10s
--link 10mbit --transport cubic:hystart=off:iw=1,bbr:mss=1000b,reno:loss=dupack:delayed_ack=0s,cubic:pacing=always:rcvbuf=64kb --qdisc codel,taildrop --duration 10s
--link 30mbit --uplink none --qdisc codel,bode --transport cubic:bytes=2mb,bbr:bytes=2mb --flows 3 --duration 10s
--link 30mbit --uplink steps:0s@1mbit+2s@200kbit:repeat=4s --uplink-limit 10 --qdisc pie,headdrop --transport cubic,bbr --duration 10s
--link 30mbit --uplink uplink --qdisc codel --transport cubic,bbr,reno --jitter 20ms --rtt 40ms --seed 1..3 --duration 8s
--trace synth-lte-driving --limit 40 --min-packet-bytes 200 --probe --jitter 2ms --rtt 30ms --duration 15s --warmup 2s
--link infinite --link line:100mbit --qdisc taildrop,fq_codel:flows=1,pie:estimator=rate --transport cubic,udp:20mbit --rtt 1ms --duration 500ms
";

/// Numbered sets, and a named set for each discipline, transport and link that is in no other set.
pub fn sets() -> Vec<(String, String)> {
    let begins = |word: &str, name: &str| {
        word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    // A link without a name is a rate.
    let is_missing = |component: &&Component| {
        component.name != "rate" && !SETS.split([' ', ',', '\n']).any(|word| begins(word, component.name))
    };
    let numbered = SETS.lines().enumerate();
    let mut sets: Vec<_> =
        numbered.map(|(index, set)| (format!("{:02}", index + 1), set.to_string())).collect();
    for (option, components) in
        [("--qdisc", qdelay_core::qdisc::COMPONENTS), ("--transport", qdelay_traffic::transport::COMPONENTS)]
    {
        for name in components.iter().copied().filter(is_missing).map(|component| component.name) {
            sets.push((name.to_string(), format!("--link 5mbit {option} {name} --duration 5s")));
        }
    }
    for (link, example) in LINKS.iter().zip(EXAMPLES).filter(|(link, _)| is_missing(link)) {
        sets.push((link.name.to_string(), format!("--link {example} --duration 5s")));
    }
    sets
}
