//! State of the loss recovery of ns-3 between acknowledgements.

/// State of the loss recovery of ns-3.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ns3State {
    /// Duplicate acknowledgements since the last advance without new blocks (`m_dupAckCount`).
    pub(super) duplicates: u32,
    /// Whether duplicates up to `high_seq` start no further recovery (`m_recoverActive`).
    pub(super) guarded: bool,
    /// Whether no acknowledgement has advanced in this recovery (`m_isFirstPartialAck`).
    pub(super) first_advance: bool,
    /// `nxt` at the last timeout: round trips are sampled only above it (`m_history`, which a timeout
    /// empties and which does not contain retransmissions).
    pub(super) unmeasured_end: u64,
}

impl Ns3State {
    /// Resets the state at a timeout (`ReTxTimeout`); `nxt`: next sequence number to send.
    pub(super) fn on_timeout(&mut self, nxt: u64) {
        self.unmeasured_end = nxt;
        self.duplicates = 0;
        self.guarded = true;
    }
}

impl Default for Ns3State {
    fn default() -> Ns3State {
        Ns3State { duplicates: 0, guarded: false, first_advance: true, unmeasured_end: 0 }
    }
}
