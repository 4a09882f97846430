//! Features of the machine that a test may need, and required features.

/// A feature that some machines lack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Need {
    /// Network namespaces, TUN and virtual devices, packet sockets, mounts: on most machines, root.
    Net,
    /// A browser that can be controlled: Chromium.
    Browser,
    /// Programs that play a stream: Node.js with npm and its packages, ffmpeg.
    Stream,
    /// Recorded traces, in the folder that `QDELAY_TRACES` names.
    Traces,
    /// A program that the project does not need otherwise, such as `ip`, `iperf3` or `tshark`.
    Tools,
    /// The laboratory: QEMU, and Debian packages for its image.
    Lab,
    /// Python with environments (`venv`), and packages of its index.
    Python,
    /// Ray, for sweeps of the Python package.
    Ray,
    /// Processors that are free enough for delays right to a millisecond.
    Quiet,
}

impl Need {
    /// All needs.
    pub const ALL: [Self; 9] = [
        Self::Net,
        Self::Browser,
        Self::Stream,
        Self::Traces,
        Self::Tools,
        Self::Lab,
        Self::Python,
        Self::Ray,
        Self::Quiet,
    ];

    /// Name in `QDELAY_REQUIRE` and in lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Net => "net",
            Self::Browser => "browser",
            Self::Stream => "stream",
            Self::Traces => "traces",
            Self::Tools => "tools",
            Self::Lab => "lab",
            Self::Python => "python",
            Self::Ray => "ray",
            Self::Quiet => "quiet",
        }
    }
}

/// Variable with the required needs.
const VARIABLE: &str = "QDELAY_REQUIRE";

/// Needs whose absence is a failure.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Required(Vec<Need>);

impl Required {
    /// Parses names separated by commas; empty text requires nothing.
    ///
    /// # Errors
    ///
    /// A line with the unknown word.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let need = |word: &str| {
            Need::ALL.into_iter().find(|need| need.name() == word).ok_or_else(|| {
                let names = Need::ALL.map(Need::name).join(", ");
                format!(
                    "{VARIABLE}: there is no '{word}'; expected some of {names}, with commas between them"
                )
            })
        };
        words.map(need).collect::<Result<_, _>>().map(Self)
    }

    /// Parses the variable `QDELAY_REQUIRE`.
    ///
    /// # Errors
    ///
    /// Errors of [`Required::parse`].
    pub fn of_environment() -> Result<Self, String> {
        Self::parse(&std::env::var(VARIABLE).unwrap_or_default())
    }

    /// True if this need is required.
    pub fn has(&self, need: Need) -> bool {
        self.0.contains(&need)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas() {
        let some = Required::parse("net, traces,").unwrap();
        assert!(some.has(Need::Net) && some.has(Need::Traces) && !some.has(Need::Browser));
        assert_eq!(Required::parse(""), Ok(Required::default()));
        let complaint = Required::parse("net,root").unwrap_err();
        assert!(
            complaint.contains("there is no 'root'") && complaint.contains("net, browser, stream, traces")
        );
    }
}
