//! Models of TFRC by RFC 5348, with the whole history and every formula evaluated from scratch. Times in ns, rates in bytes/s.

pub mod path;
pub mod receiver;
pub mod sender;

/// Throughput equation of section 3.1; `least_timeout`: minimum retransmission timeout, s.
pub fn throughput(s: f64, r: f64, p: f64, b: f64, least_timeout: f64) -> f64 {
    if p == 0.0 {
        return f64::INFINITY;
    }
    let t_rto = if 4.0 * r > least_timeout { 4.0 * r } else { least_timeout };
    s / (r * (2.0 * b * p / 3.0).sqrt()
        + t_rto * (3.0 * (3.0 * b * p / 8.0).sqrt()) * p * (1.0 + 32.0 * p.powi(2)))
}

/// Loss event rate of a rate, by steps of smaller and smaller factors.
pub fn inverse(s: f64, r: f64, rate: f64, b: f64, least_timeout: f64) -> f64 {
    let (mut p, mut factor) = (1.0_f64, 0.5_f64);
    while 1.0 - factor > 1e-13 {
        while p * factor > 1e-12 && throughput(s, r, p, b, least_timeout) < rate {
            p *= factor;
        }
        if throughput(s, r, p, b, least_timeout) >= rate && p < 1.0 {
            p /= factor;
        }
        factor = factor.sqrt();
    }
    p
}
