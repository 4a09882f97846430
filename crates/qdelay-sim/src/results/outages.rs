//! Outages of the bottleneck's link.

use qdelay_record::entity;

entity! {
    /// Outages of the bottleneck's link, and how long it then takes until what it offers is used again.
    #[derive(Copy)]
    pub struct OutageFigures {
        /// Times of at least 500 ms in which nothing was offered, that ended in the measured time.
        pub outages: u64,
        /// Of these, after how many less than half was used in every step of 100 ms until the next outage or the end of the run.
        pub unrecovered: u64,
        /// From the end of an outage until the end of the first step of 100 ms in which at least half was used: mean of the others.
        pub recovery_mean_ms: f64,
        /// The longest.
        pub recovery_max_ms: f64,
    }
}
