//! Values that are one of a few words.

use qdelay_config::words;

words! {
    /// Which tables and slots a cell has.
    pub enum Technology {
        /// LTE.
        Lte = "lte",
        /// NR.
        Nr = "nr",
    }
}
words! {
    /// Bandwidths of LTE carriers.
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
    /// The modulations of NR.
    pub enum McsTable {
        /// Up to 64QAM.
        Qam64 = "qam64",
        /// Up to 256QAM.
        Qam256 = "qam256",
    }
}
words! {
    /// The unit in which a cell counts.
    pub enum QuantityUnit {
        /// Bytes.
        Bytes = "bytes",
        /// Whole packets.
        Packets = "packets",
    }
}
words! {
    /// Where runs begin on their traces, and when their flows start.
    pub enum Starts {
        /// As [`Starts::Random`] with several seeds, otherwise as [`Starts::Fixed`].
        Auto = "auto",
        /// At random places and times, drawn from the seed.
        Random = "random",
        /// At the beginning, and when the scenario says.
        Fixed = "fixed",
    }
}
impl Starts {
    /// Whether each of so many seeds begins at places and times of its own.
    pub fn are_random(self, seeds: usize) -> bool {
        match self {
            Starts::Auto => seeds > 1,
            Starts::Random => true,
            Starts::Fixed => false,
        }
    }
}

words! {
    /// How the bearers of a UE share its resource blocks.
    pub enum Sharing {
        /// In the order of their priority.
        Priority = "priority",
        /// In equal parts.
        Equal = "equal",
    }
}
words! {
    /// Which TTIs carry less because of control.
    pub enum ControlTtis {
        /// None.
        None = "none",
        /// The values of the thesis's testbed.
        Testbed = "testbed",
    }
}
words! {
    /// How a bearer takes from its QoS flows.
    pub enum SdapOrder {
        /// Always from the most important.
        Priority = "priority",
        /// A packet of each in turn.
        RoundRobin = "round_robin",
        /// As many bytes of each.
        Drr = "drr",
    }
}
words! {
    /// Which way the data of a flow goes.
    pub enum Direction {
        /// Through the bottleneck.
        Down = "down",
        /// Through the uplink.
        Up = "up",
    }
}
words! {
    /// The protocol of packets.
    pub enum Protocol {
        /// Datagrams.
        Udp = "udp",
        /// TCP.
        Tcp = "tcp",
    }
}
