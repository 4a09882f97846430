//! State of a loss recovery that counts duplicate acknowledgements: that of ns-3, and that without SACK.

/// State between acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicates {
    /// Duplicate acknowledgements since the last advance; with SACK, since the last one without new blocks (ns-3 `m_dupAckCount`).
    pub(super) count: u32,
    /// New segments sent on duplicates beyond the window since the last advance (RFC 3042; only without SACK).
    pub(super) limited: u32,
    /// Whether duplicates up to `high_seq` start no further recovery (`m_recoverActive`; RFC 6582 section 3.2 step 2).
    pub(super) guarded: bool,
    /// Whether no acknowledgement has advanced in this recovery (`m_isFirstPartialAck`).
    pub(super) first_advance: bool,
    /// `nxt` at the last timeout: round trips are sampled only above it (`m_history`, which a timeout
    /// empties and which does not contain retransmissions).
    pub(super) unmeasured_end: u64,
}

impl Duplicates {
    /// Resets the state at a timeout (`ReTxTimeout`); `nxt`: next sequence number to send.
    pub(super) fn on_timeout(&mut self, nxt: u64) {
        self.unmeasured_end = nxt;
        self.count = 0;
        self.limited = 0;
        self.guarded = true;
    }
}

impl Default for Duplicates {
    fn default() -> Duplicates {
        Duplicates { count: 0, limited: 0, guarded: false, first_advance: true, unmeasured_end: 0 }
    }
}
