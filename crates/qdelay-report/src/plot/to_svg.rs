//! SVG, with text as outlines: it looks the same in every program, with or without the font.

use super::font::Outline;
use super::sheet::{Item, Part, Rgb, Sheet, Stroke, short};
use crate::chart::escape;
use qdelay_study::InputError;
use std::fmt::Write;

pub(super) fn write(sheet: &Sheet) -> Result<Vec<u8>, InputError> {
    let (width, height) = (short(sheet.width), short(sheet.height));
    let label = escape(&sheet.label);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>{label}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for item in &sheet.items {
        match item {
            Item::Path { parts, fill, stroke } => {
                let fill = fill.map_or("fill=\"none\"".to_string(), |(colour, cover)| {
                    let cover = if cover < 1.0 {
                        format!(" fill-opacity=\"{}\"", short(cover))
                    } else {
                        String::new()
                    };
                    format!("fill=\"{}\"{cover}", hex(colour))
                });
                let stroke = stroke.as_ref().map(stroke_of).unwrap_or_default();
                let _ = writeln!(text, "<path {fill}{stroke} d=\"{}\"/>", path(parts));
            }
            Item::Text { at, anchor, is_upright, size, colour, text: words } => {
                sheet.font.check(words)?;
                let mut outline = Path(String::new());
                let left = -sheet.before(*anchor, words, *size);
                sheet.font.outline(words, *size, (left, 0.0), &mut outline);
                let turn = if *is_upright { " rotate(-90)" } else { "" };
                let (x, y) = (short(at.0), short(at.1));
                let _ = writeln!(
                    text,
                    "<g aria-label=\"{}\" fill=\"{}\" transform=\"translate({x} {y}){turn}\"><path d=\"{}\"/></g>",
                    escape(words),
                    hex(*colour),
                    outline.0
                );
            }
        }
    }
    text.push_str("</svg>\n");
    Ok(text.into_bytes())
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn stroke_of(stroke: &Stroke) -> String {
    let dash = if stroke.dash.is_empty() {
        String::new()
    } else {
        format!(
            " stroke-dasharray=\"{}\"",
            stroke.dash.iter().map(|part| short(*part)).collect::<Vec<_>>().join(" ")
        )
    };
    format!(
        " stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}",
        hex(stroke.colour),
        short(stroke.width)
    )
}

fn path(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        let _ = match part {
            Part::Move(x, y) => write!(text, "M{} {}", short(*x), short(*y)),
            Part::Line(x, y) => write!(text, "L{} {}", short(*x), short(*y)),
            Part::Curve(at) => write!(text, "C{}", at.map(short).join(" ")),
            Part::Close => write!(text, "Z"),
        };
    }
    text
}

struct Path(String);

impl Outline for Path {
    fn move_to(&mut self, x: f64, y: f64) {
        let _ = write!(self.0, "M{} {}", short(x), short(y));
    }

    fn line_to(&mut self, x: f64, y: f64) {
        let _ = write!(self.0, "L{} {}", short(x), short(y));
    }

    fn quad_to(&mut self, x1: f64, y1: f64, x: f64, y: f64) {
        let _ = write!(self.0, "Q{} {} {} {}", short(x1), short(y1), short(x), short(y));
    }

    fn close(&mut self) {
        self.0.push('Z');
    }
}
