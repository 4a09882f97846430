//! The kernels of the laboratory, by the Debian suite that has them.

/// A suite of Debian and the kernel that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The suite.
    pub suite: &'static str,
    /// What it has, for people: the exact version is whatever the suite has on the day of the build.
    pub about: &'static str,
}

/// The suite from which the programs of the machine are.
pub const PROGRAMS_SUITE: &str = "bookworm";

/// The kernels; the first is the default.
pub const KERNELS: &[Kernel] = &[
    Kernel { suite: "bookworm-backports", about: "Linux 6.12" },
    Kernel { suite: "bookworm", about: "Linux 6.1" },
    Kernel { suite: "trixie-backports", about: "the newest, Linux 7" },
];

/// The Debian packages whose programs the machine has.
pub const PROGRAMS: &[&str] = &["busybox-static", "iperf3", "iproute2", "iputils-ping", "irtt"];

/// The package that depends on the kernel's. It is made for virtual machines: few drivers, all queue disciplines.
pub const KERNEL_PACKAGE: &str = "linux-image-cloud-amd64";

/// Kernel modules that are loaded at the start, where the kernel has them: devices, queue disciplines, filters.
pub const MODULES: &[&str] = &[
    "tun",
    "veth",
    "ifb",
    "sch_netem",
    "sch_tbf",
    "sch_htb",
    "sch_codel",
    "sch_fq_codel",
    "sch_pie",
    "sch_fq_pie",
    "sch_cake",
    "sch_fq",
    "sch_red",
    "sch_sfq",
    "sch_drr",
    "sch_prio",
    "sch_dualpi2",
    "sch_ingress",
    "cls_flow",
    "cls_u32",
    "cls_matchall",
];

/// The same, for congestion controls: the module `tcp_NAME` for each.
pub const CONTROLS: &[&str] = &[
    "bbr",
    "bic",
    "cdg",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Congestion controls that are built into every kernel.
pub const CONTROLS_BUILT_IN: &[&str] = &["reno", "cubic"];

/// The suite of this name.
pub fn find(suite: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.suite == suite)
}
