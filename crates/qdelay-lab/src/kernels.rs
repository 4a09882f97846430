//! Kernels of the laboratory, by the Debian suite that has them.

/// A Debian suite and its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name of the suite.
    pub suite: &'static str,
    /// Kernel version for display. The exact version is that of the suite on the day of the build.
    pub about: &'static str,
}

/// Suite with the programs of the machine.
pub const PROGRAMS_SUITE: &str = "bookworm";

/// All kernels; the first is the default.
pub const KERNELS: &[Kernel] = &[
    Kernel { suite: "bookworm-backports", about: "Linux 6.12" },
    Kernel { suite: "bookworm", about: "Linux 6.1" },
    Kernel { suite: "trixie-backports", about: "the newest, Linux 7" },
];

/// Debian packages with the machine's programs.
pub const PROGRAMS: &[&str] = &["busybox-static", "iperf3", "iproute2", "iputils-ping", "irtt"];

/// Package that depends on the kernel's package. It is made for virtual machines: few drivers, all queue disciplines.
pub const KERNEL_PACKAGE: &str = "linux-image-cloud-amd64";

/// Kernel modules that are loaded at the start if the kernel has them: devices, queue disciplines, filters.
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

/// Congestion controls whose module `tcp_NAME` is loaded at the start if the kernel has it.
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

/// Finds the kernel of the suite with this name.
pub fn find(suite: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.suite == suite)
}
