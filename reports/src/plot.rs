//! The plots, one file each, as SVG and PNG. The font is built in, so nothing depends on the machine.

pub mod against;
mod axis;
mod bitmap;
pub mod election_cdf;
pub mod frontier;
pub mod leaders_acting;
pub mod message_counts;
pub mod ranges;
pub mod ttl_sweep;

use axis::{Axis, decades, number};
use bitmap::{FONT_DATA, Typeset};
use plotters::{
    coord::Shift,
    prelude::*,
    style::{FontStyle, register_font},
};
use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The family of text. An SVG names it, so that a browser uses its own sans-serif font.
const FONT: &str = "sans-serif";

/// Colours that colour-blind people can distinguish: Okabe and Ito, "Color universal design", 2008.
const PALETTE: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

const INK: RGBColor = RGBColor(40, 40, 40);
const GRID: RGBColor = RGBColor(225, 225, 225);

type Area<DB> = DrawingArea<DB, Shift>;
type Failed<DB> = DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>;

/// Why figures cannot be drawn, in one sentence.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Undrawable(pub String);

/// Why a picture could not be drawn or written to its file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DrawError {
    #[error(transparent)]
    Undrawable(#[from] Undrawable),
    #[error("the built-in font cannot be read")]
    Font,
    #[error("{path} cannot be drawn: {why}", path = path.display())]
    File { path: PathBuf, why: String },
}

impl DrawError {
    fn file(path: &Path, why: impl ToString) -> DrawError {
        DrawError::File { path: path.to_owned(), why: why.to_string() }
    }
}

/// Figures that can be drawn.
pub trait Picture {
    /// Rejects what cannot be drawn.
    ///
    /// # Errors
    /// It cannot be drawn: one sentence.
    fn check(&self) -> Result<(), Undrawable>;

    /// Width and height, pixels.
    fn size(&self) -> (u32, u32);

    /// Draws it, after [`Picture::check`] has passed.
    ///
    /// # Errors
    /// The file cannot be written.
    fn draw<DB: DrawingBackend>(&self, root: &Area<DB>) -> Result<(), Failed<DB>>;
}

/// Draws a picture as SVG.
///
/// # Errors
/// There is nothing to draw, or the file cannot be written: one sentence.
pub fn draw_svg(picture: &impl Picture, path: &Path) -> Result<(), DrawError> {
    picture.check()?;
    draw(picture, &SVGBackend::new(path, picture.size()).into_drawing_area(), path)
}

/// Draws a picture as PNG.
///
/// # Errors
/// There is nothing to draw, or the file cannot be written: one sentence.
pub fn draw_png(picture: &impl Picture, path: &Path) -> Result<(), DrawError> {
    picture.check()?;
    let (width, height) = picture.size();
    let mut pixels = vec![0; width as usize * height as usize * 3];
    let bitmap = BitMapBackend::with_buffer(&mut pixels, (width, height));
    draw(picture, &Typeset::new(bitmap).ok_or(DrawError::Font)?.into_drawing_area(), path)?;
    encode(&pixels, (width, height), path).map_err(|e| DrawError::file(path, e))
}

/// Writes RGB pixels as PNG.
fn encode(pixels: &[u8], (width, height): (u32, u32), path: &Path) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()
}

fn draw<DB: DrawingBackend>(picture: &impl Picture, root: &Area<DB>, path: &Path) -> Result<(), DrawError> {
    with_font()?;
    let drawn = root.fill(&WHITE).and_then(|()| picture.draw(root)).and_then(|()| root.present());
    drawn.map_err(|e| DrawError::file(path, e))
}

/// Text of this size.
fn style(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

/// A chart with its caption and room for its axes.
fn panel<'a, 'b, DB: DrawingBackend>(area: &'a Area<DB>, title: &str) -> ChartBuilder<'a, 'b, DB> {
    let mut chart = ChartBuilder::on(area);
    chart.caption(title, style(21)).margin_left(10).margin_right(30).x_label_area_size(60).y_label_area_size(80);
    chart
}

/// Converts a point of a chart to coordinates of its area.
fn within<DB: DrawingBackend>(area: &Area<DB>, (x, y): (i32, i32)) -> (i32, i32) {
    // Charts count from the picture's corner, areas from their own.
    let (columns, rows) = area.get_pixel_range();
    (x - columns.start, y - rows.start)
}

/// The colour of the nth item.
fn colour(place: usize) -> RGBColor {
    let RGBColor(red, green, blue) = PALETTE[place % PALETTE.len()];
    // Beyond the palette, colours repeat in a lighter shade.
    let lighter = |part: u8| if place / PALETTE.len() % 2 == 1 { part / 2 + 127 } else { part };
    RGBColor(lighter(red), lighter(green), lighter(blue))
}

/// The same, darker, for text, which is thin.
fn text_colour(place: usize) -> RGBColor {
    let RGBColor(red, green, blue) = PALETTE[place % PALETTE.len()];
    let darker = |part: u8| (u16::from(part) * 3 / 4) as u8;
    RGBColor(darker(red), darker(green), darker(blue))
}

/// Registers [`FONT`] with the drawing library, once.
fn with_font() -> Result<(), DrawError> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let done = DONE.get_or_init(|| register_font(FONT, FontStyle::Normal, FONT_DATA).is_ok());
    if *done { Ok(()) } else { Err(DrawError::Font) }
}

/// The q-quantile of the sorted `values`, interpolated; `None` if there are none.
fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let place = q * values.len().checked_sub(1)? as f64;
    let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!([0.0, 0.5, 1.0].map(|q| quantile(&values, q)), [Some(1.0), Some(2.5), Some(4.0)]);
        assert_eq!((quantile(&[7.0], 0.95), quantile(&[], 0.5)), (Some(7.0), None));
    }

    /// Draws a picture in both formats; returns the text of the SVG and the bytes of the PNG.
    pub(super) fn drawn(picture: &impl Picture, name: &str) -> (String, Vec<u8>) {
        let folder = std::env::temp_dir().join(format!("fencepost-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (svg, png) = (folder.join(format!("{name}.svg")), folder.join(format!("{name}.png")));
        draw_svg(picture, &svg).unwrap();
        draw_png(picture, &png).unwrap();
        let (text, image) = (std::fs::read_to_string(&svg).unwrap(), std::fs::read(&png).unwrap());
        assert!(image.starts_with(b"\x89PNG") && image.len() > 20_000, "{} bytes", image.len());
        if std::env::var_os("FENCEPOST_KEEP").is_none() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        (text, image)
    }
}
