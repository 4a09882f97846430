//! The font of figures: Noto Sans, from the crate `notosans` (SIL Open Font License 1.1).

use qdelay_study::InputError;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// The font with its measures.
pub(super) struct Font {
    face: Face<'static>,
}

impl Font {
    pub(super) fn new() -> Font {
        let face = Face::parse(notosans::REGULAR_TTF, 0).expect("the font is a constant of the program");
        Font { face }
    }

    /// The whole file.
    pub(super) fn file() -> &'static [u8] {
        notosans::REGULAR_TTF
    }

    pub(super) fn face(&self) -> &Face<'static> {
        &self.face
    }

    /// The glyph of a letter; the box for missing ones where it has none.
    pub(super) fn glyph(&self, letter: char) -> u16 {
        self.face.glyph_index(letter).map_or(0, |glyph| glyph.0)
    }

    /// Advance of a glyph, as a share of the size.
    pub(super) fn advance(&self, glyph: u16) -> f64 {
        let units = self.face.glyph_hor_advance(GlyphId(glyph)).unwrap_or_default();
        f64::from(units) / f64::from(self.face.units_per_em())
    }

    /// Width of a text in points, for a size in points.
    pub(super) fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|letter| self.advance(self.glyph(letter))).sum::<f64>() * size
    }

    /// An error for a letter without a glyph.
    pub(super) fn check(&self, text: &str) -> Result<(), InputError> {
        match text.chars().find(|letter| self.face.glyph_index(*letter).is_none()) {
            None => Ok(()),
            Some(letter) => Err(InputError::new(
                text,
                format!(
                    "the font of figures has no '{letter}'; expected Latin, Greek or Cyrillic letters, or --format pgf, which has the document's font"
                ),
            )),
        }
    }

    /// The outline of a text that begins at (x, y), on its base line.
    pub(super) fn outline(&self, text: &str, size: f64, (x, y): (f64, f64), to: &mut dyn Outline) {
        let scale = size / f64::from(self.face.units_per_em());
        let mut left = x;
        for letter in text.chars() {
            let glyph = self.glyph(letter);
            let mut placed = Placed { scale, x: left, y, last: (0.0, 0.0), to };
            self.face.outline_glyph(GlyphId(glyph), &mut placed);
            left += self.advance(glyph) * size;
        }
    }
}

/// The receiver of an outline, in points, y downwards.
pub(super) trait Outline {
    fn move_to(&mut self, x: f64, y: f64);
    fn line_to(&mut self, x: f64, y: f64);
    fn quad_to(&mut self, x1: f64, y1: f64, x: f64, y: f64);
    fn close(&mut self);
}

/// From the font's units, whose y is upwards.
struct Placed<'a> {
    scale: f64,
    x: f64,
    y: f64,
    last: (f64, f64),
    to: &'a mut dyn Outline,
}

impl Placed<'_> {
    fn at(&self, x: f32, y: f32) -> (f64, f64) {
        (self.x + f64::from(x) * self.scale, self.y - f64::from(y) * self.scale)
    }
}

impl OutlineBuilder for Placed<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.last = self.at(x, y);
        self.to.move_to(self.last.0, self.last.1);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.last = self.at(x, y);
        self.to.line_to(self.last.0, self.last.1);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let middle = self.at(x1, y1);
        self.last = self.at(x, y);
        self.to.quad_to(middle.0, middle.1, self.last.0, self.last.1);
    }

    // A font with TrueType outlines has none; a quadratic curve through the middle is near.
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.quad_to((x1 + x2) / 2.0, (y1 + y2) / 2.0, x, y);
    }

    fn close(&mut self) {
        self.to.close();
    }
}
