//! State of ns-3's recovery between acknowledgements.

/// State of ns-3's recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ns3State {
    /// Duplicates since the last advance that reported nothing (`m_dupAckCount`).
    pub(super) duplicates: u32,
    /// Whether `high_seq` guards against another recovery by counting (`m_recoverActive`).
    pub(super) guarded: bool,
    /// Whether no advance has come in this recovery (`m_isFirstPartialAck`).
    pub(super) first_advance: bool,
    /// `nxt` at the last timeout: round trips are measured again when more is acknowledged (`m_history`, which a timeout
    /// empties and retransmissions do not enter).
    pub(super) unmeasured_end: u64,
}

impl Ns3State {
    /// `ReTxTimeout`.
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
