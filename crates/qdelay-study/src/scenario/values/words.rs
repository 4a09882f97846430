//! Values that are one of several words.

use qdelay_config::words;

words! {
    /// Radio technology of a cell, which determines its tables and slots.
    pub enum Technology {
        /// LTE.
        Lte = "lte",
        /// NR.
        Nr = "nr",
    }
}
words! {
    /// Bandwidth of an LTE carrier.
    pub enum Bandwidth {
        /// 6 resource blocks.
        Mhz1_4 = "1.4mhz",
        /// 15 resource blocks.
        Mhz3 = "3mhz",
        /// 25 resource blocks.
        Mhz5 = "5mhz",
        /// 50 resource blocks.
        Mhz10 = "10mhz",
        /// 75 resource blocks.
        Mhz15 = "15mhz",
        /// 100 resource blocks.
        Mhz20 = "20mhz",
    }
}
words! {
    /// Highest modulation of NR.
    pub enum McsTable {
        /// Up to 64QAM.
        Qam64 = "qam64",
        /// Up to 256QAM.
        Qam256 = "qam256",
    }
}
words! {
    /// Number of layers of a block.
    pub enum Rank {
        /// Always the number of layers of the cell.
        Fixed = "fixed",
        /// By the SNR of the UE, up to the number of layers of the cell.
        Adapted = "adapted",
    }
}
words! {
    /// Unit in which a cell counts data.
    pub enum QuantityUnit {
        /// Bytes.
        Bytes = "bytes",
        /// Whole packets.
        Packets = "packets",
    }
}
words! {
    /// Choice of the places where runs begin on traces, and of the start times of flows.
    pub enum Starts {
        /// Random with several seeds, fixed with one.
        Auto = "auto",
        /// Random places and times, drawn by the seed.
        Random = "random",
        /// The beginning of each trace, and the start times of the scenario.
        Fixed = "fixed",
    }
}
impl Starts {
    /// True if each of `seeds` seeds has its own places and times.
    pub fn are_random(self, seeds: usize) -> bool {
        match self {
            Starts::Auto => seeds > 1,
            Starts::Random => true,
            Starts::Fixed => false,
        }
    }
}

words! {
    /// Sharing of a UE's resource blocks among its bearers.
    pub enum Sharing {
        /// Strict order of priority.
        Priority = "priority",
        /// Equal parts.
        Equal = "equal",
    }
}
words! {
    /// TTIs with less capacity because of control channels.
    pub enum ControlTtis {
        /// None.
        None = "none",
        /// The values of the testbed in the 5G QoS thesis.
        Testbed = "testbed",
    }
}
words! {
    /// Order in which a bearer serves its QoS flows.
    pub enum SdapOrder {
        /// Strict priority.
        Priority = "priority",
        /// One packet of each flow in turn.
        RoundRobin = "round_robin",
        /// Deficit round robin: equal bytes of each flow.
        Drr = "drr",
    }
}
words! {
    /// Direction of a flow's data.
    pub enum Direction {
        /// Downlink, through the bottleneck.
        Down = "down",
        /// Uplink.
        Up = "up",
    }
}
words! {
    /// Transport protocol of packets.
    pub enum Protocol {
        /// Datagrams.
        Udp = "udp",
        /// TCP.
        Tcp = "tcp",
    }
}
