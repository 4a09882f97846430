//! Options of the two directions of a link in real time: `qdelay link` and `qdelay proxy`.

use clap::Args;
use qdelay_config::InputError;
use qdelay_core::component::Registry;
use qdelay_study::link_keys::{LinkKeys, PRESET, SEED};

/// The path of both directions. An option of one direction counts before that of both.
#[derive(Args, Clone, Debug)]
#[allow(missing_docs, reason = "the comment of an option is its help; options of one direction share one")]
pub struct PathOptions {
    /// Kind of network: 3g, lte, lte-edge, 5g, starlink, dsl, wifi-busy, train or subway ('qdelay list preset' has links, delays, queues
    /// and sources); options of the path replace its values
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Link towards the inside (the command, the clients of a proxy): a rate, any link that 'compare --link' takes, or a trace
    /// [default: infinite]
    #[arg(long, value_name = "LINK", allow_hyphen_values = true)]
    pub down: Option<String>,
    /// Link from the inside [default: infinite]
    #[arg(long, value_name = "LINK", allow_hyphen_values = true)]
    pub up: Option<String>,
    /// Queue discipline in front of the link towards the inside [default: taildrop]
    #[arg(long, value_name = "QDISC")]
    pub qdisc: Option<String>,
    /// Queue discipline in front of the link from the inside [default: taildrop]
    #[arg(long, value_name = "QDISC")]
    pub up_qdisc: Option<String>,
    /// Delay of each direction behind its link: 20ms, or over time: steps:0s@20ms+5s@60ms, trace:FILE (docs/scenarios.md)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub delay: Option<String>,
    /// Random delay of each direction: 5ms (uniform from 0), normal:5ms, pareto:5ms, table:FILE:deviation=5ms; with
    /// :correlation=25%, and :reorder=on, without which packets keep their order (docs/link.md)
    #[arg(long, value_name = "JITTER", allow_hyphen_values = true)]
    pub jitter: Option<String>,
    /// Packets lost behind each link: 5%, 0.05, 5%:correlation=25%, gilbert-elliott:p=1%:r=25%, steps:0s@0%+5s@2%, trace:FILE
    #[arg(long, value_name = "LOSS", allow_hyphen_values = true)]
    pub loss: Option<String>,
    /// Packets held back by --reorder-delay, so that later ones overtake them; in the forms of --loss
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub reorder: Option<String>,
    /// Time for which reordered packets are held [default: 2ms]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub reorder_delay: Option<String>,
    /// Packets followed by a copy; in the forms of --loss
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub duplicate: Option<String>,
    /// Packets of which a bit is changed, so that their checksum fails; in the forms of --loss
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub corrupt: Option<String>,
    /// --delay of one direction; likewise --down-jitter, --down-loss, --down-reorder, --down-reorder-delay, --down-duplicate,
    /// --down-corrupt, and --up-... of each
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub down_delay: Option<String>,
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, hide = true)]
    pub up_delay: Option<String>,
    #[arg(long, value_name = "JITTER", allow_hyphen_values = true, hide = true)]
    pub down_jitter: Option<String>,
    #[arg(long, value_name = "JITTER", allow_hyphen_values = true, hide = true)]
    pub up_jitter: Option<String>,
    #[arg(long, value_name = "LOSS", allow_hyphen_values = true, hide = true)]
    pub down_loss: Option<String>,
    #[arg(long, value_name = "LOSS", allow_hyphen_values = true, hide = true)]
    pub up_loss: Option<String>,
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, hide = true)]
    pub down_reorder: Option<String>,
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, hide = true)]
    pub up_reorder: Option<String>,
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, hide = true)]
    pub down_reorder_delay: Option<String>,
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, hide = true)]
    pub up_reorder_delay: Option<String>,
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, hide = true)]
    pub down_duplicate: Option<String>,
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, hide = true)]
    pub up_duplicate: Option<String>,
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, hide = true)]
    pub down_corrupt: Option<String>,
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, hide = true)]
    pub up_corrupt: Option<String>,
    /// End traces after their last opportunity, instead of starting over
    #[arg(long)]
    pub no_repeat: bool,
    /// Seed of the random streams
    #[arg(long, value_name = "N", default_value = SEED)]
    pub seed: u64,
}

impl PathOptions {
    /// The keys that the options set.
    ///
    /// # Errors
    /// A value that is not of its type or range.
    pub fn keys(&self, registry: &Registry) -> Result<LinkKeys, InputError> {
        let mut keys = LinkKeys::default();
        let mut set = |option: &str, value: &Option<String>| match value {
            Some(value) => keys.set(&format!("--{option}"), option, value, registry),
            None => Ok(()),
        };
        set(PRESET, &self.preset)?;
        set("down", &self.down)?;
        set("up", &self.up)?;
        set("qdisc", &self.qdisc)?;
        set("up-qdisc", &self.up_qdisc)?;
        set("repeat", &self.no_repeat.then(|| "off".to_string()))?;
        // Those of both directions first.
        let each = [
            ("delay", [&self.delay, &self.down_delay, &self.up_delay]),
            ("jitter", [&self.jitter, &self.down_jitter, &self.up_jitter]),
            ("loss", [&self.loss, &self.down_loss, &self.up_loss]),
            ("reorder", [&self.reorder, &self.down_reorder, &self.up_reorder]),
            ("reorder-delay", [&self.reorder_delay, &self.down_reorder_delay, &self.up_reorder_delay]),
            ("duplicate", [&self.duplicate, &self.down_duplicate, &self.up_duplicate]),
            ("corrupt", [&self.corrupt, &self.down_corrupt, &self.up_corrupt]),
        ];
        for (name, [both, down, up]) in each {
            set(name, both)?;
            set(&format!("down-{name}"), down)?;
            set(&format!("up-{name}"), up)?;
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_config::Settings;
    use qdelay_study::link_keys::{Down, Up};
    use qdelay_study::presets::PRESETS;

    #[test]
    fn help_has_the_defaults_and_the_presets() {
        let command = PathOptions::augment_args(clap::Command::new("qdelay"));
        let help = |option: &str| {
            let argument = command.get_arguments().find(|argument| argument.get_id() == option).unwrap();
            argument.get_help().unwrap().to_string()
        };
        let (down, up) = (Down::defaults(), Up::defaults());
        for (option, default) in [
            ("down", down.link.default_text()),
            ("up", up.link.default_text()),
            ("qdisc", down.qdisc.default_text()),
            ("up_qdisc", up.qdisc.default_text()),
            ("reorder_delay", down.reorder_delay.default_text()),
        ] {
            assert!(help(option).ends_with(&format!("[default: {default}]")), "{option}: {}", help(option));
        }
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let (last, others) = names.split_last().unwrap();
        assert!(help("preset").contains(&format!("{} or {last}", others.join(", "))), "{}", help("preset"));
    }
}
