//! PNG, with 300 pixels to the inch, which the file says.

use super::Ink;
use super::font::Outline;
use super::sheet::{Item, Part, Sheet, Stroke};
use qdelay_study::InputError;
use tiny_skia::{
    Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke as Line, StrokeDash, Transform,
};

const PER_INCH: f64 = 300.0;

pub(crate) fn png(sheet: &Sheet) -> Result<Vec<u8>, InputError> {
    let scale = PER_INCH / 72.0;
    let pixels = |points: f64| (points * scale).round() as u32;
    let (width, height) = (pixels(sheet.width), pixels(sheet.height));
    let failed = |why: &str| InputError::new("--format png", format!("{why}; expected a smaller --size"));
    let mut pixmap = Pixmap::new(width, height).ok_or_else(|| failed("no room for so many pixels"))?;
    pixmap.fill(Color::WHITE);
    let whole = Transform::from_scale(scale as f32, scale as f32);
    for item in &sheet.items {
        match item {
            Item::Path { parts, fill, stroke, .. } => {
                let Some(path) = path(parts) else { continue };
                if let Some((ink, cover)) = fill {
                    pixmap.fill_path(&path, &paint(*ink, *cover), FillRule::Winding, whole, None);
                }
                if let Some(stroke) = stroke {
                    pixmap.stroke_path(&path, &paint(stroke.ink, 1.0), &line(stroke), whole, None);
                }
            }
            Item::Text { at, anchor, is_upright, size, ink, text } => {
                let mut outline = Builder(PathBuilder::new());
                let left = -sheet.offset(*anchor, text, *size);
                sheet.font.outline(text, *size, (left, 0.0), &mut outline);
                let turn = if *is_upright { Transform::from_rotate(-90.0) } else { Transform::identity() };
                let place = whole.pre_translate(at.0 as f32, at.1 as f32).pre_concat(turn);
                if let Some(path) = outline.0.finish() {
                    pixmap.fill_path(&path, &paint(*ink, 1.0), FillRule::Winding, place, None);
                }
            }
        }
    }
    encode(&pixmap).map_err(|error| failed(&error.to_string()))
}

/// The picture is opaque, so that the colours are not premultiplied by anything.
fn encode(pixmap: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixmap.width(), pixmap.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let per_meter = (PER_INCH / 0.0254).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: per_meter,
        yppu: per_meter,
        unit: png::Unit::Meter,
    }));
    let mut writer = encoder.write_header()?;
    let colours: Vec<u8> =
        pixmap.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    writer.write_image_data(&colours)?;
    writer.finish()?;
    Ok(bytes)
}

fn paint(ink: Ink, cover: f64) -> Paint<'static> {
    let [red, green, blue] = ink.print;
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (cover * 255.0).round() as u8);
    paint
}

fn line(stroke: &Stroke) -> Line {
    let mut dash: Vec<f32> = stroke.dash.iter().map(|part| *part as f32).collect();
    if dash.len() % 2 == 1 {
        dash.extend_from_within(..);
    }
    let dash = StrokeDash::new(dash, 0.0);
    Line { width: stroke.width as f32, line_join: LineJoin::Round, dash, ..Line::default() }
}

fn path(parts: &[Part]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for part in parts {
        match *part {
            Part::Move(x, y) => path.move_to(x as f32, y as f32),
            Part::Line(x, y) => path.line_to(x as f32, y as f32),
            Part::Curve(at) => {
                let [x1, y1, x2, y2, x, y] = at.map(|at| at as f32);
                path.cubic_to(x1, y1, x2, y2, x, y);
            }
            Part::Close => path.close(),
        }
    }
    path.finish()
}

struct Builder(PathBuilder);

impl Outline for Builder {
    fn move_to(&mut self, x: f64, y: f64) {
        self.0.move_to(x as f32, y as f32);
    }

    fn line_to(&mut self, x: f64, y: f64) {
        self.0.line_to(x as f32, y as f32);
    }

    fn quad_to(&mut self, x1: f64, y1: f64, x: f64, y: f64) {
        self.0.quad_to(x1 as f32, y1 as f32, x as f32, y as f32);
    }

    fn close(&mut self) {
        self.0.close();
    }
}
