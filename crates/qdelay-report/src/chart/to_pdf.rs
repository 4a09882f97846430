//! PDF of one page, as large as the figure, with the used part of the font in it. Text is text: it can be searched and copied.

use super::Ink;
use super::font::Font;
use super::sheet::{Anchor, Item, Part, Sheet, Stroke};
use pdf_writer::types::{CidFontType, FontFlags, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use qdelay_study::InputError;
use std::collections::BTreeMap;
use subsetter::GlyphRemapper;

const FONT: Name<'static> = Name(b"F");
/// Six letters tell subsets of one font apart; there is one here.
const FONT_NAME: Name<'static> = Name(b"QDELAY+NotoSans-Regular");
const SYSTEM: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
const CMAP_SYSTEM: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"UCS"), supplement: 0 };

pub(crate) fn pdf(sheet: &Sheet) -> Result<Vec<u8>, InputError> {
    let mut glyphs = Glyphs { remapper: GlyphRemapper::new(), letters: BTreeMap::new() };
    let mut covers: Vec<u8> = Vec::new();
    let content = content(sheet, &mut glyphs, &mut covers);
    let [catalog, pages, page, stream, font, cid, descriptor, cmap, file, info] =
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(Ref::new);
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    pdf.document_info(info).title(TextStr(&sheet.label)).creator(TextStr("qdelay"));
    let mut leaf = pdf.page(page);
    leaf.parent(pages).contents(stream).media_box(Rect::new(
        0.0,
        0.0,
        sheet.width as f32,
        sheet.height as f32,
    ));
    let mut resources = leaf.resources();
    resources.fonts().pair(FONT, font);
    let mut states = resources.ext_g_states();
    for (at, cover) in covers.iter().enumerate() {
        states
            .insert(Name(state(at).as_bytes()))
            .start::<pdf_writer::writers::ExtGraphicsState>()
            .non_stroking_alpha(f32::from(*cover) / 255.0);
    }
    states.finish();
    resources.finish();
    leaf.finish();
    pdf.stream(stream, &content);
    glyphs.write(&mut pdf, &sheet.font, [font, cid, descriptor, cmap, file])?;
    Ok(pdf.finish())
}

/// The name of a state of drawing with this cover.
fn state(at: usize) -> String {
    format!("G{at}")
}

fn content(sheet: &Sheet, glyphs: &mut Glyphs, covers: &mut Vec<u8>) -> Vec<u8> {
    let mut page = Content::new();
    page.set_line_join(LineJoinStyle::RoundJoin);
    // The y axis of a PDF points upwards.
    let up = |y: f64| (sheet.height - y) as f32;
    for item in &sheet.items {
        match item {
            Item::Path { parts, fill, stroke, .. } => {
                page.save_state();
                if let Some((ink, cover)) = fill {
                    let [red, green, blue] = shares(*ink);
                    page.set_fill_rgb(red, green, blue);
                    if *cover < 1.0 {
                        let cover = (cover * 255.0).round() as u8;
                        let at = covers.iter().position(|known| *known == cover).unwrap_or_else(|| {
                            covers.push(cover);
                            covers.len() - 1
                        });
                        page.set_parameters(Name(state(at).as_bytes()));
                    }
                }
                if let Some(Stroke { ink, width, dash }) = stroke {
                    let [red, green, blue] = shares(*ink);
                    page.set_stroke_rgb(red, green, blue).set_line_width(*width as f32);
                    if !dash.is_empty() {
                        page.set_dash_pattern(dash.iter().map(|part| *part as f32), 0.0);
                    }
                }
                for part in parts {
                    match *part {
                        Part::Move(x, y) => page.move_to(x as f32, up(y)),
                        Part::Line(x, y) => page.line_to(x as f32, up(y)),
                        Part::Curve([x1, y1, x2, y2, x, y]) => {
                            page.cubic_to(x1 as f32, up(y1), x2 as f32, up(y2), x as f32, up(y))
                        }
                        Part::Close => page.close_path(),
                    };
                }
                match (fill, stroke) {
                    (Some(_), Some(_)) => page.fill_nonzero_and_stroke(),
                    (Some(_), None) => page.fill_nonzero(),
                    (None, Some(_)) => page.stroke(),
                    (None, None) => page.end_path(),
                };
                page.restore_state();
            }
            Item::Text { at, anchor, is_upright, size, ink, text } => {
                let [red, green, blue] = shares(*ink);
                let offset = sheet.offset(*anchor, text, *size) as f32;
                let (x, y) = (at.0 as f32, up(at.1));
                let matrix = match (is_upright, anchor) {
                    (true, _) => [0.0, 1.0, -1.0, 0.0, x, y - offset],
                    (false, Anchor::Start) => [1.0, 0.0, 0.0, 1.0, x, y],
                    (false, _) => [1.0, 0.0, 0.0, 1.0, x - offset, y],
                };
                page.set_fill_rgb(red, green, blue);
                page.begin_text().set_font(FONT, *size as f32).set_text_matrix(matrix);
                page.show(Str(&glyphs.encode(&sheet.font, text))).end_text();
            }
        }
    }
    page.finish().to_vec()
}

fn shares(ink: Ink) -> [f32; 3] {
    ink.print.map(|part| f32::from(part) / 255.0)
}

/// The glyphs that are used, with new numbers.
struct Glyphs {
    remapper: GlyphRemapper,
    /// The letter and the advance of each new number.
    letters: BTreeMap<u16, (char, f64)>,
}

impl Glyphs {
    /// A text as the numbers of its glyphs, two bytes for each.
    fn encode(&mut self, font: &Font, text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for letter in text.chars() {
            let glyph = font.glyph(letter);
            let number = self.remapper.remap(glyph);
            self.letters.entry(number).or_insert((letter, font.advance(glyph)));
            bytes.extend(number.to_be_bytes());
        }
        bytes
    }

    fn write(
        &self,
        pdf: &mut Pdf,
        font: &Font,
        [id, cid, descriptor, cmap, file]: [Ref; 5],
    ) -> Result<(), InputError> {
        let subset = subsetter::subset(Font::file(), 0, &self.remapper).map_err(|error| {
            InputError::new(
                "--format pdf",
                format!("the font cannot be embedded: {error}; expected another --format"),
            )
        })?;
        let face = font.face();
        let em = f32::from(face.units_per_em()) / 1000.0;
        pdf.type0_font(id)
            .base_font(FONT_NAME)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(cid)
            .to_unicode(cmap);
        let mut of_glyphs = pdf.cid_font(cid);
        of_glyphs
            .subtype(CidFontType::Type2)
            .base_font(FONT_NAME)
            .system_info(SYSTEM)
            .font_descriptor(descriptor);
        of_glyphs.default_width(0.0).cid_to_gid_map_predefined(Name(b"Identity"));
        let mut widths = of_glyphs.widths();
        for (number, (_, advance)) in &self.letters {
            widths.consecutive(*number, [(advance * 1000.0) as f32]);
        }
        widths.finish();
        of_glyphs.finish();
        let bounds = face.global_bounding_box();
        let [left, low, right, high] =
            [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(|at| f32::from(at) / em);
        pdf.font_descriptor(descriptor)
            .name(FONT_NAME)
            .flags(FontFlags::NON_SYMBOLIC)
            .bbox(Rect::new(left, low, right, high))
            .italic_angle(0.0)
            .ascent(f32::from(face.ascender()) / em)
            .descent(f32::from(face.descender()) / em)
            .cap_height(face.capital_height().map_or(714.0, |height| f32::from(height) / em))
            .stem_v(80.0)
            .font_file2(file);
        let mut unicode = UnicodeCmap::new(Name(b"Custom"), CMAP_SYSTEM);
        for (number, (letter, _)) in &self.letters {
            unicode.pair(*number, *letter);
        }
        pdf.cmap(cmap, &unicode.finish());
        pdf.stream(file, &subset).pair(Name(b"Length1"), subset.len() as i32);
        Ok(())
    }
}
