//! SVG: of print with text as outlines, which look the same in every program; of files and pages with text in the reader's font.

use super::Ink;
use super::font::Outline;
use super::sheet::{Anchor, Item, Medium, Part, Sheet, Stroke, short};
use std::fmt::Write;

/// Attributes of the whole of a picture for the screen, so that its paths need none of them.
const COMMON: &str = " fill=\"none\" stroke-linejoin=\"round\"";

/// The picture; `attributes` are added to its element on a page.
pub fn svg(sheet: &Sheet, attributes: &str) -> String {
    let (width, height, label) = (short(sheet.width), short(sheet.height), escape(&sheet.label));
    let medium = sheet.medium;
    let mut text = match medium {
        Medium::Page => format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\"{COMMON}{attributes}>"
        ),
        Medium::Print | Medium::File => {
            let font = if medium == Medium::File {
                format!(" font-family=\"sans-serif\"{COMMON}")
            } else {
                String::new()
            };
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" viewBox=\"0 0 {width} {height}\"{font} role=\"img\">\n\
                 <title>{label}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
            )
        }
    };
    for item in &sheet.items {
        match item {
            Item::Path { parts, fill, stroke, hint } => {
                let none = if medium == Medium::Print { " fill=\"none\"" } else { "" };
                let fill = fill.map_or(none.to_string(), |(ink, cover)| {
                    let cover = if cover < 1.0 {
                        format!(" fill-opacity=\"{}\"", short(cover))
                    } else {
                        String::new()
                    };
                    format!(" fill=\"{}\"{cover}", colour(ink, medium))
                });
                let stroke = stroke.as_ref().map(|stroke| line(stroke, medium)).unwrap_or_default();
                let path = if medium == Medium::Print { path(parts) } else { short_path(parts) };
                let _ = match hint.as_str() {
                    "" => writeln!(text, "<path{fill}{stroke} d=\"{path}\"/>"),
                    hint => writeln!(
                        text,
                        "<path{fill}{stroke} d=\"{path}\"><title>{}</title></path>",
                        escape(hint)
                    ),
                };
            }
            Item::Text { at, anchor, is_upright, size, ink, text: words } if medium == Medium::Print => {
                let mut outline = Path(String::new());
                let left = -sheet.offset(*anchor, words, *size);
                sheet.font.outline(words, *size, (left, 0.0), &mut outline);
                let turn = if *is_upright { " rotate(-90)" } else { "" };
                let (x, y) = (short(at.0), short(at.1));
                let _ = writeln!(
                    text,
                    "<g aria-label=\"{}\" fill=\"{}\" transform=\"translate({x} {y}){turn}\"><path d=\"{}\"/></g>",
                    escape(words),
                    ink.hex(),
                    outline.0
                );
            }
            Item::Text { at, anchor, is_upright, size, ink, text: words } => {
                let (x, y) = (short(at.0), short(at.1));
                let place = match is_upright {
                    true => format!("transform=\"translate({x} {y}) rotate(-90)\""),
                    false => format!("x=\"{x}\" y=\"{y}\""),
                };
                let anchor = match anchor {
                    Anchor::Start => "",
                    Anchor::Middle => " text-anchor=\"middle\"",
                    Anchor::End => " text-anchor=\"end\"",
                };
                // Coloured letters are faint.
                let weight = if ink.is_of_palette() { " font-weight=\"600\"" } else { "" };
                let _ = writeln!(
                    text,
                    "<text {place}{anchor} font-size=\"{}\" fill=\"{}\"{weight}>{}</text>",
                    short(*size),
                    colour(*ink, medium),
                    escape(words)
                );
            }
        }
    }
    text.push_str("</svg>\n");
    text
}

fn colour(ink: Ink, medium: Medium) -> String {
    if medium == Medium::Page { ink.variable() } else { ink.hex() }
}

fn line(stroke: &Stroke, medium: Medium) -> String {
    let dash = if stroke.dash.is_empty() {
        String::new()
    } else {
        format!(
            " stroke-dasharray=\"{}\"",
            stroke.dash.iter().map(|part| short(*part)).collect::<Vec<_>>().join(" ")
        )
    };
    let join = if medium == Medium::Print { " stroke-linejoin=\"round\"" } else { "" };
    format!(" stroke=\"{}\" stroke-width=\"{}\"{join}{dash}", colour(stroke.ink, medium), short(stroke.width))
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

/// The same with one number for a line along an axis: of steps there are many on a page.
fn short_path(parts: &[Part]) -> String {
    let mut text = String::new();
    let mut last = (f64::NAN, f64::NAN);
    for part in parts {
        match *part {
            Part::Line(x, y) if y == last.1 => {
                let _ = write!(text, "H{}", short(x));
            }
            Part::Line(x, y) if x == last.0 => {
                let _ = write!(text, "V{}", short(y));
            }
            _ => text.push_str(&path(&[*part])),
        }
        last = match *part {
            Part::Move(x, y) | Part::Line(x, y) | Part::Curve([_, _, _, _, x, y]) => (x, y),
            Part::Close => (f64::NAN, f64::NAN),
        };
    }
    text
}

/// Text escaped for markup; invalid XML characters become spaces.
pub fn escape(text: &str) -> String {
    let is_invalid = |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}');
    let clean = text.chars().map(|letter| if is_invalid(letter) { ' ' } else { letter });
    clean
        .collect::<String>()
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_markup() {
        assert_eq!(escape("a<b> & \"c\"\u{1}\n"), "a&lt;b&gt; &amp; &quot;c&quot;  ");
    }

    #[test]
    fn lines_along_an_axis_have_one_number() {
        let steps = [Part::Move(1.0, 2.0), Part::Line(3.0, 2.0), Part::Line(3.0, 4.5), Part::Line(5.0, 6.0)];
        assert_eq!((short_path(&steps).as_str(), path(&steps[..2]).as_str()), ("M1 2H3V4.5L5 6", "M1 2L3 2"));
    }
}
