//! Colours: red, green and blue in print, and the variable of `assets/report.css` on a page, which is light or dark.

/// Red, green and blue.
pub(crate) type Rgb = [u8; 3];

/// A colour, or a share of it over the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ink {
    /// The variable of the style sheet, without its hyphens.
    name: &'static str,
    /// The colour in print.
    pub(super) print: Rgb,
    /// Percent of the colour; the rest is the surface.
    percent: u8,
}

const fn ink(name: &'static str, print: Rgb) -> Ink {
    Ink { name, print, percent: 100 }
}

/// Text and axes.
pub const WORDS: Ink = ink("text", [0x1b, 0x1d, 0x20]);
/// The sheet.
pub const SURFACE: Ink = ink("surface", [0xff; 3]);
/// Keys that stand for no colour of the palette; in print darker than on a page.
pub const NEUTRAL: Ink = ink("soft", [0x44; 3]);
/// The grid; in print darker than on a page.
pub const GRID: Ink = ink("grid", [0xdc; 3]);
/// The rate that a link offered.
pub const AREA: Ink = ink("area", [0xdd; 3]);
/// Spans of time in which a viewer waits.
pub const FROZEN: Ink = ink("frozen", [0xc0, 0x14, 0x3c]);
/// A figure within its bounds.
pub const GOOD: Ink = ink("good", [0x0b, 0x6b, 0x4b]);
/// The area between bounds.
pub const ACCEPTED: Ink = ink("good-tint", [0xdf, 0xf3, 0xea]);
/// A figure outside its bounds.
pub const BAD: Ink = ink("bad", [0xa6, 0x3d, 0x00]);

const PALETTE: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

/// The colour at this index of the palette.
pub fn palette(place: usize) -> Ink {
    let name = PALETTE[place % PALETTE.len()];
    ink(name, rgb(light(name)))
}

/// The light colour at this index of the palette, as `#rrggbb`.
pub fn print_colour(place: usize) -> &'static str {
    light(PALETTE[place % PALETTE.len()])
}

impl Ink {
    /// A share of this colour, 0 to 1, over the surface.
    #[must_use]
    pub fn tint(self, share: f64) -> Ink {
        let print = self.print.map(|part| (255.0 - (255.0 - f64::from(part)) * share).round() as u8);
        Ink { print, percent: (share * 100.0).round() as u8, ..self }
    }

    /// Whether letters of this colour are fainter than the text's.
    pub(super) fn is_of_palette(self) -> bool {
        PALETTE.contains(&self.name)
    }

    /// `#rrggbb`.
    pub(super) fn hex(self) -> String {
        let [red, green, blue] = self.print;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// The value of an attribute on a page.
    pub(super) fn variable(self) -> String {
        let Ink { name, percent, .. } = self;
        if percent == 100 {
            return format!("var(--{name})");
        }
        format!("color-mix(in srgb, var(--{name}) {percent}%, var(--surface))")
    }
}

/// The light colour of this name; it comes before the dark one.
fn light(name: &str) -> &'static str {
    let value = crate::STYLES.split_once(&format!("--{name}: ")).and_then(|(_, after)| after.split_once(';'));
    value.map_or("", |(value, _)| value)
}

/// A colour from `#rrggbb`.
fn rgb(text: &str) -> Rgb {
    let part = |at: usize| text.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    [part(1), part(3), part(5)].map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_print_are_those_of_a_light_page() {
        for ink in [WORDS, SURFACE, FROZEN, GOOD, ACCEPTED, BAD, palette(0), palette(15)] {
            assert_eq!(ink.hex(), light(ink.name), "{}", ink.name);
        }
        assert_eq!((print_colour(0), print_colour(7)), ("#0072b2", "#7a7a7a"));
        // Darker in print, but declared by the page.
        assert!([NEUTRAL, GRID, AREA].iter().all(|ink| light(ink.name).len() == 7));
    }

    #[test]
    fn a_tint_is_a_share_of_its_colour() {
        let half = palette(0).tint(0.5);
        assert_eq!(half.hex(), "#80b9d9");
        assert_eq!(half.variable(), "color-mix(in srgb, var(--c0) 50%, var(--surface))");
    }
}
