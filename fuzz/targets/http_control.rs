//! The control by HTTP: a request as its bytes come, and its effect on a path. Without token and host nothing changes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_core::component::Registry;
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Span, Time};
use qdelay_emu::control::{Controlled, LoopAction, Wake, control};
use qdelay_emu::replace::{Replaceable, Replaced, replace_parts};
use qdelay_emu::snapshot::{LinkSettings, Sample};
use qdelay_fuzz::cuts;
use qdelay_path::stack::{Adjustment, Direction, PathNodes, Plan};
use qdelay_path::{Line, Path};
use qdelay_terminal::live::adjust::{Adjuster, Files};
use qdelay_terminal::live::http::{self, BODY_BYTES, Parsed};
use qdelay_terminal::live::http_control::{HttpControl, Service};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

/// The token of the server, which `fuzz/seeds` has in its requests.
const TOKEN: &str = "00112233445566778899aabbccddeeff";
const HOSTS: [&str; 2] = ["127.0.0.1:8474", "localhost:8474"];

/// Wakes the data thread.
#[derive(Debug)]
struct Bell(Mutex<Sender<()>>);

impl Wake for Bell {
    fn wake(&self) {
        let _ = self.0.lock().unwrap().send(());
    }
}

/// A path whose time passes with each request.
struct Changed {
    path: Path,
    nodes: PathNodes,
    plan: Plan,
    now: Time,
}

impl Controlled for Changed {
    fn sample(&mut self, settings: Arc<LinkSettings>, reloads: u64) -> Sample {
        Sample { time: self.now, settings, reloads, ..Sample::default() }
    }
    fn replace(&mut self, plan: Plan) -> Result<Replaced, String> {
        self.replace_plan(plan, Replaced::default())
    }
    fn adjust(&mut self, adjustment: &Adjustment) -> Result<Time, String> {
        let mut plan = self.plan.clone();
        adjustment.apply(&mut plan);
        self.replace_plan(plan, Replaced::anew(adjustment)).map(|_| self.now)
    }
    fn reset(&mut self, _: Option<u16>) -> (Time, usize) {
        (self.now, 0)
    }
}

impl Changed {
    fn replace_plan(&mut self, plan: Plan, anew: Replaced) -> Result<Replaced, String> {
        self.now += Span::from_millis(1);
        let nodes = Replaceable::from(&self.nodes);
        let (replaced, done) =
            replace_parts(&mut self.path, nodes, self.now, &mut self.plan, plan, anew, &mut ())
                .map_err(|error| error.to_string())?;
        done.expect("the path takes a change that was checked");
        self.path.audit().expect("every packet is accounted for");
        Ok(replaced)
    }
}

fuzz_target!(|data: &[u8]| {
    let parsed = http::parse(data);
    // However the bytes come, they are read alike.
    for cut in cuts(data) {
        if let early @ Some(_) = http::parse(&data[..cut]) {
            assert_eq!(early, parsed, "the first {cut} bytes");
        }
    }
    let request = match parsed {
        None => return,
        Some(Parsed::Refused(answer)) => {
            assert!(matches!(&answer.status[..3], "400" | "411" | "413" | "431"), "{answer:?}");
            return;
        }
        Some(Parsed::Request(request)) => request,
    };
    assert!(request.body.len() <= BODY_BYTES.min(data.len()));

    let direction =
        Direction::new(AnyQdisc::parse("taildrop").unwrap(), Line::new(qdelay_core::Rate::INFINITE, 0));
    let plan = Plan { down: direction.clone(), up: direction, seed: 1 };
    let (path, nodes) = plan.clone().build().unwrap();
    let mut changed = Changed { path, nodes, plan, now: Time::ZERO };
    let (ring, rung) = channel();
    let (line, mut inbox) = control(LinkSettings::default(), Bell(Mutex::new(ring)));
    let server = HttpControl { address: HOSTS[0].parse().unwrap(), token: TOKEN.to_string() };
    let (answer, changes) = std::thread::scope(|scope| {
        scope.spawn(move || {
            while rung.recv().is_ok() {
                if inbox.serve(&mut changed) == LoopAction::Stop {
                    return;
                }
            }
        });
        let adjuster = Adjuster::new(line.clone(), Registry::new(), Files::Shipped);
        let answer = Service::new(server, line.clone(), adjuster).answer(&request);
        let changes = line.changes().unwrap();
        line.stop().unwrap();
        (answer, changes)
    });
    let has = |text: &str| data.windows(text.len()).any(|part| part == text.as_bytes());
    if !changes.is_empty() {
        assert!(has(TOKEN) && HOSTS.iter().any(|host| has(host)) && data.starts_with(b"POST"), "{answer:?}");
        assert!(answer.status == "200 OK" && changes.len() == 1, "{answer:?} {changes:?}");
    }
    let body: Option<serde_json::Value> = serde_json::from_str(&answer.body).ok();
    match &answer.status[..3] {
        "200" => assert!(body.is_some_and(|body| body.get("error").is_none()), "{answer:?}"),
        "400" | "404" => assert!(body.is_some_and(|body| body["error"].is_string()), "{answer:?}"),
        "405" => assert!(answer.body.contains("expected") && answer.status.contains("Allow: "), "{answer:?}"),
        "401" | "421" => assert!(answer.body.starts_with("expected "), "{answer:?}"),
        _ => panic!("{answer:?}"),
    }
    assert!(answer.body.ends_with('\n') && answer.body.lines().count() == 1, "{answer:?}");
});
