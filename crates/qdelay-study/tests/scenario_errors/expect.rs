//! Errors of `[[expect]]`.

pub const BAD: &[(&str, &str)] = &[
    // [[expect]].
    (
        "{BASE}[[expect]]\nmeasure = \"jain\"\nlow = 1",
        "my.toml: line 6: expect.claim: is missing; expected the claim in words",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nlow = 1",
        "my.toml: line 6: expect.measure: is missing; expected a figure such as \"queue_delay_ms.p99\"",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"",
        "my.toml: line 6: expect.low: neither low nor high is given; expected at least one",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jian\"\nlow = 1",
        "my.toml: line 8: expect.measure: 'jian': unknown measure 'jian'; expected one of {MEASURES}; did you mean 'jain'?",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"groups.vidoe.jitter_ms\"\nlow = 1",
        "my.toml: line 8: expect.measure: 'groups.vidoe.jitter_ms': unknown group 'vidoe'; expected one of file",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"queue_delay_ms\"\nlow = 1",
        "my.toml: line 8: expect.measure: 'queue_delay_ms': a distribution; expected one of its figures: queue_delay_ms.count, queue_delay_ms.mean, queue_delay_ms.p50, queue_delay_ms.p95, queue_delay_ms.p99, queue_delay_ms.p999, queue_delay_ms.max",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 2\nhigh = 1",
        "my.toml: line 9: expect.low: is above high; expected a range from low to high",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = \"much\"",
        "my.toml: line 9: expect.low: 'much': expected a number",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\naggregate = \"average\"",
        "my.toml: line 10: expect.aggregate: 'average': expected one of mean, geomean, median, min, max, sum, ci95_low, ci95_high",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nbest = \"max\"",
        "my.toml: line 10: expect.best: there are no alternatives; expected this key only with alternatives",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nwhere = { \"path.rtt\" = \"1s\" }",
        "my.toml: line 10: expect.where.'path.rtt': unknown axis; expected one of seed",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nwhere.seed = 2",
        "my.toml: line 10: expect.where.'seed': unknown label '2'; expected one of 1",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [\"pie\"]\n[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nwhere.path.qdisc = [\"pie\", \"pi\"]",
        "my.toml: line 12: expect.where.'path.qdisc': unknown label 'pi'; expected one of pie; did you mean 'pie'?",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [\"pie\", \"codel\"]\n[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nnormalise = { \"path.qdisc\" = [\"pie\", \"codel\"] }",
        "my.toml: line 12: expect.normalise.'path.qdisc': several labels; expected one",
    ),
    (
        "expect = 5\n{BASE}",
        "my.toml: line 1: expect: found the integer 5; expected tables, each under [[expect]]",
    ),
];
