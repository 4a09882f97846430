//! PGF: to be read by LaTeX with `\input`, in the font of the document. Lengths are those of the other formats; text is as wide as
//! that font has it.

use super::Ink;
use super::sheet::{Anchor, Item, Part, Sheet, short};
use std::fmt::Write;

pub(crate) fn pgf(sheet: &Sheet) -> Vec<u8> {
    let (width, height) = (short(sheet.width), short(sheet.height));
    // bp is 1/72 inch, and pt is not.
    let mut text = format!(
        "% {}\n% \\usepackage{{pgf}} in the preamble, and \\input{{THIS FILE}} in a figure.\n\\begingroup%\n\\begin{{pgfpicture}}%\n\
         \\pgfpathrectangle{{\\pgfpointorigin}}{{\\pgfqpoint{{{width}bp}}{{{height}bp}}}}%\n\\pgfusepath{{use as bounding box}}%\n\
         \\pgfsetroundjoin%\n",
        escape(&sheet.label)
    );
    let mut last = None;
    for item in &sheet.items {
        match item {
            Item::Path { parts, fill, stroke, .. } => {
                text.push_str("\\begin{pgfscope}%\n");
                if let Some((ink, cover)) = fill {
                    let _ = writeln!(text, "{}\\pgfsetfillcolor{{qdelay}}%", colour(*ink));
                    if *cover < 1.0 {
                        let _ = writeln!(text, "\\pgfsetfillopacity{{{}}}%", short(*cover));
                    }
                }
                if let Some(stroke) = stroke {
                    let _ = writeln!(
                        text,
                        "{}\\pgfsetstrokecolor{{qdelay}}%\n\\pgfsetlinewidth{{{}bp}}%",
                        colour(stroke.ink),
                        short(stroke.width)
                    );
                    if !stroke.dash.is_empty() {
                        let dash: String =
                            stroke.dash.iter().map(|part| format!("{{{}bp}}", short(*part))).collect();
                        let _ = writeln!(text, "\\pgfsetdash{{{dash}}}{{0bp}}%");
                    }
                }
                for part in parts {
                    let point = |x: f64, y: f64| {
                        format!("\\pgfqpoint{{{}bp}}{{{}bp}}", short(x), short(sheet.height - y))
                    };
                    let _ = match *part {
                        Part::Move(x, y) => writeln!(text, "\\pgfpathmoveto{{{}}}%", point(x, y)),
                        Part::Line(x, y) => writeln!(text, "\\pgfpathlineto{{{}}}%", point(x, y)),
                        Part::Curve([x1, y1, x2, y2, x, y]) => writeln!(
                            text,
                            "\\pgfpathcurveto{{{}}}{{{}}}{{{}}}%",
                            point(x1, y1),
                            point(x2, y2),
                            point(x, y)
                        ),
                        Part::Close => writeln!(text, "\\pgfpathclose%"),
                    };
                }
                let used: Vec<&str> =
                    [fill.is_some().then_some("fill"), stroke.is_some().then_some("stroke")]
                        .into_iter()
                        .flatten()
                        .collect();
                let _ = writeln!(text, "\\pgfusepath{{{}}}%\n\\end{{pgfscope}}%", used.join(","));
            }
            Item::Text { at, anchor, is_upright, size, ink, text: words } => {
                if last != Some(*ink) {
                    let _ = writeln!(text, "{}\\pgfsetcolor{{qdelay}}%", colour(*ink));
                    last = Some(*ink);
                }
                let side = match anchor {
                    Anchor::Start => "left,",
                    Anchor::Middle => "",
                    Anchor::End => "right,",
                };
                let turn = if *is_upright { ",rotate=90" } else { "" };
                let _ = writeln!(
                    text,
                    "\\pgftext[{side}base,x={}bp,y={}bp{turn}]{{\\fontsize{{{}}}{{{}}}\\selectfont {}}}%",
                    short(at.0),
                    short(sheet.height - at.1),
                    short(*size),
                    short(*size * 1.2),
                    escape(words)
                );
            }
        }
    }
    text.push_str("\\end{pgfpicture}%\n\\endgroup%\n");
    text.into_bytes()
}

/// The colour of what follows.
fn colour(ink: Ink) -> String {
    let [red, green, blue] = ink.print;
    format!("\\definecolor{{qdelay}}{{RGB}}{{{red},{green},{blue}}}%\n")
}

/// Text that LaTeX prints as it is.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            '|' => escaped.push_str("\\textbar{}"),
            '\u{202f}' => escaped.push_str("\\,"),
            '\u{b7}' => escaped.push_str("\\textperiodcentered{}"),
            '\u{2026}' => escaped.push_str("\\dots{}"),
            '\u{2013}' => escaped.push_str("--"),
            '#' | '$' | '%' | '&' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}
