//! Usage and help of `mm-link`, `mm-delay` and `mm-loss`.

use super::Name;

impl Name {
    /// The program's name.
    pub(super) fn program(self) -> &'static str {
        self.usage().split(' ').next().unwrap_or_default()
    }

    /// The arguments in one line.
    pub(super) fn usage(self) -> &'static str {
        match self {
            Name::Link => "mm-link UPLINK DOWNLINK [OPTION...] [COMMAND...]",
            Name::Delay => "mm-delay MILLISECONDS|FILE [COMMAND...]",
            Name::Loss => "mm-loss uplink|downlink RATE [COMMAND...]",
        }
    }

    /// Text of `--help`.
    pub(super) fn help(self) -> String {
        let what = match self {
            Name::Link => {
                "Run COMMAND, or a shell, behind links with mahimahi's traces, the uplink first.\n\nOptions:\n  \
                 --once                      end traces after their last opportunity\n  \
                 --uplink-log=FILE, --downlink-log=FILE\n                              mahimahi's logs\n  \
                 --uplink-queue=NAME, --downlink-queue=NAME\n                              \
                 infinite (the default), droptail, drophead, codel or pie\n  \
                 --uplink-queue-args=ARGS, --downlink-queue-args=ARGS\n                              \
                 such as \"packets=100, bytes=150000\"\n  \
                 --meter-all and so on       accepted, and not drawn\n"
            }
            Name::Delay => {
                "Run COMMAND, or a shell, behind a delay in each direction: whole milliseconds, or a\nfile with a delay in \
                 milliseconds for each 10 ms.\n\nOptions, in front of the delay:\n"
            }
            Name::Loss => {
                "Run COMMAND, or a shell, behind a link that loses packets of one direction with a\nprobability, 0 to \
                 1.\n\nOptions, in front of the direction:\n"
            }
        };
        format!(
            "Usage: {}\n\n{what}  --nat                       reach hosts beyond this machine (root)\n  \
             --serve=CMD                 start a server at the other end, MAHIMAHI_BASE\n\n\
             The shells nest. These are names of 'qdelay link', which has more options.\n",
            self.usage()
        )
    }
}
