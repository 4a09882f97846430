//! Settings of a link as the live view shows them, of the keys and of what was built from them.

use qdelay_config::Setting;
use qdelay_emu::snapshot::{DirectionSettings, LinkSettings};
use qdelay_path::stack::{Adjustment, Direction, DirectionAdjustment, Plan};
use qdelay_path::{Jitter, LossModel};
use qdelay_study::link_keys::{DirectionKeys, LinkKeys};
use qdelay_study::traces::loss::LinkLoss;

/// The settings of `plan`, which was built from `keys`.
pub fn of_plan(keys: &LinkKeys, plan: &Plan) -> LinkSettings {
    LinkSettings {
        down: of_direction(keys.down.keys(), &plan.down),
        up: of_direction(keys.up.keys(), &plan.up),
        preset: keys.preset.map(str::to_string),
    }
}

/// The settings of `direction`, which was built from `keys`.
pub fn of_direction(keys: DirectionKeys<'_>, direction: &Direction) -> DirectionSettings {
    let mut settings = DirectionSettings::default();
    change_direction(&mut settings, keys, &DirectionAdjustment::from(direction));
    settings
}

/// Changes `settings` by the parts of `adjustment`, which was built from `keys`.
pub fn change(settings: &mut LinkSettings, keys: &LinkKeys, adjustment: &Adjustment) {
    change_direction(&mut settings.down, keys.down.keys(), &adjustment.down);
    change_direction(&mut settings.up, keys.up.keys(), &adjustment.up);
    if let Some(preset) = keys.preset {
        settings.preset = Some(preset.to_string());
    }
}

fn change_direction(
    settings: &mut DirectionSettings,
    keys: DirectionKeys<'_>,
    changed: &DirectionAdjustment,
) {
    if changed.link.is_some() {
        settings.link = keys.link.text().to_string();
    }
    if changed.qdisc.is_some() {
        settings.qdisc = keys.qdisc.text().to_string();
    }
    if let Some((span, curve)) = &changed.delay {
        let least = curve.as_ref().map_or(*span, |curve| *span + curve.steps().least());
        settings.delay_ms = least.as_millis_f64();
        settings.delay_over_time = curve.as_ref().map(|_| keys.delay.text().to_string());
    }
    if let Some(jitter) = &changed.jitter {
        settings.jitter_ms = jitter.size.as_millis_f64();
        settings.jitter_model = jitter_model(jitter, keys.jitter.text());
    }
    if let Some(loss) = &changed.loss {
        settings.loss = loss.least();
        settings.loss_model = keys.loss.value().model();
    }
    let model = |shown: &mut Option<String>, built: &Option<LossModel>, key: &Setting<LinkLoss>| {
        if let Some(built) = built {
            *shown = built.is_lossy().then(|| key.text().to_string());
        }
    };
    model(&mut settings.reorder, &changed.reorder, keys.reorder);
    model(&mut settings.duplicate, &changed.duplicate, keys.duplicate);
    model(&mut settings.corrupt, &changed.corrupt, keys.corrupt);
    let cut = |settings: &mut DirectionSettings, is_so: Option<bool>, word: &str| match is_so {
        Some(true) => settings.cut = Some(word.to_string()),
        Some(false) if settings.cut.as_deref() == Some(word) => settings.cut = None,
        Some(false) | None => {}
    };
    cut(settings, changed.is_held, "hold");
    cut(settings, changed.is_cut, "drop");
}

/// The text of a jitter that is more than a time.
pub fn jitter_model(jitter: &Jitter, text: &str) -> Option<String> {
    (!jitter.is_plain()).then(|| text.to_string())
}
