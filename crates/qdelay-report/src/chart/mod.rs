//! Pictures as SVG text: of a paper's page, whose colours are the page's, and files for print, which are light.
//!
//! | module | what |
//! | --- | --- |
//! | `scale` | from figures to pixels, ticks, numbers as text |
//! | `sign` | marks, dashes, and what a key shows of them |
//! | `spans` | spans of time of what bins have of them |
//! | `picture` | lines, marks, text, axes and keys of one picture |
//! | `together` | what lies at one place, and where names have room |
//!
//! A picture has the same bytes on every machine: no font metrics are used, and logarithms are those of `libm`. The style of its
//! parts is given by the classes in `assets/chart.css`.

mod picture;
mod scale;
mod sign;
mod spans;
mod together;

pub use picture::{Curve, Frame, Picture};
pub use scale::{Scale, number_text, tick_text};
pub use sign::{Key, Mark, Sign, key};
pub use spans::spans;
pub use together::{Rectangle, SAME_PLACE, beside, name, piles, ring};

/// The style sheet of pictures, for pages with pictures; the colours are those of [`STYLES`](crate::STYLES).
pub const STYLES: &str = include_str!("../../assets/chart.css");

/// The class with the colour at this index of the palette.
pub fn colour(place: usize) -> String {
    format!("s{}", place % 8)
}

/// Text escaped for markup; invalid XML characters become spaces.
pub fn escape(text: &str) -> String {
    let is_none = |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}');
    let clean = text.chars().map(|letter| if is_none(letter) { ' ' } else { letter });
    clean
        .collect::<String>()
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// How wide text is about, in pixels: there is no font at hand, so a wide one is assumed.
pub fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.64
}

/// As much of a text as has so much room.
pub fn cut(text: &str, size: f64, room: f64) -> String {
    if text_width(text, size) <= room {
        return text.to_string();
    }
    let fits = (room / text_width("m", size)) as usize;
    text.chars().take(fits.saturating_sub(1)).chain(['\u{2026}']).collect()
}

/// [`STYLES`] for print: the light colours of pages in place of variables.
fn print_styles() -> String {
    let mut parts = STYLES.split("var(--");
    let mut styles = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (name, rest) = part.split_once(')').unwrap_or((part, ""));
        styles.push_str(light(name));
        styles.push_str(rest);
    }
    styles
}

/// The light colour at this index of the palette, as `#rrggbb`.
pub fn print_colour(place: usize) -> &'static str {
    light(&format!("c{}", place % 8))
}

/// The light colour of this name; it comes before the dark one.
fn light(name: &str) -> &'static str {
    let value = crate::STYLES.split_once(&format!("--{name}: ")).and_then(|(_, after)| after.split_once(';'));
    value.map_or("", |(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_print_are_those_of_a_light_page() {
        assert_eq!((light("surface"), light("c0"), light("c7")), ("#ffffff", "#0072b2", "#7a7a7a"));
        let styles = print_styles();
        assert!(!styles.contains("var(") && !styles.contains(['<', '&']), "{styles}");
        assert_eq!(styles.matches('#').count(), STYLES.matches("var(").count());
    }

    #[test]
    fn text_is_cut_to_its_room() {
        let room = text_width("abcde", 12.0);
        assert_eq!(["abcde", "abcdef"].map(|text| cut(text, 12.0, room)), ["abcde", "abcd\u{2026}"]);
    }

    #[test]
    fn text_is_no_markup() {
        assert_eq!(escape("a<b> & \"c\"\u{1}\n"), "a&lt;b&gt; &amp; &quot;c&quot;  ");
    }
}
