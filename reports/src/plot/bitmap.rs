//! A bitmap backend that sets text with the font's metrics. The drawing library omits the space on the left of each
//! letter, so that letters and words run into each other.

use ab_glyph::{Font, FontRef, GlyphId, PxScale, ScaleFont, point};
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind};

/// The font of bitmaps.
pub(super) const FONT_DATA: &[u8] = epaint_default_fonts::UBUNTU_LIGHT;

/// Draws on another backend, but sets text itself.
pub(super) struct Typeset<B> {
    inner: B,
    font: FontRef<'static>,
}

impl<B> Typeset<B> {
    /// Draws on `inner`. `None` if the built-in font cannot be read.
    pub(super) fn new(inner: B) -> Option<Self> {
        Some(Typeset { inner, font: FontRef::try_from_slice(FONT_DATA).ok()? })
    }
}

/// Calls `pixel` for each pixel of the text, with its place and its darkness from 0 to 1.
fn letters(font: &FontRef, text: &str, size: f32, mut pixel: impl FnMut(i32, i32, f32)) {
    let scale = PxScale::from(size);
    let (mut x, mut before): (f32, Option<GlyphId>) = (0.0, None);
    let scaled = font.as_scaled(scale);
    for letter in text.chars() {
        let glyph = font.glyph_id(letter);
        x += before.map_or(0.0, |before| scaled.kern(before, glyph));
        if let Some(outline) = font.outline_glyph(glyph.with_scale_and_position(scale, point(x, size / 2.0))) {
            let corner = outline.px_bounds().min;
            outline
                .draw(|column, row, dark| pixel(corner.x as i32 + column as i32, corner.y as i32 + row as i32, dark));
        }
        x += scaled.h_advance(glyph);
        before = Some(glyph);
    }
}

impl<B: DrawingBackend> DrawingBackend for Typeset<B> {
    type ErrorType = B::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.inner.get_size()
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.inner.ensure_prepared()
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.inner.present()
    }

    fn draw_pixel(&mut self, at: BackendCoord, colour: BackendColor) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.inner.draw_pixel(at, colour)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.inner.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        self.inner.draw_rect(from, to, style, fill)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> Result<(), DrawingErrorKind<Self::ErrorType>> {
        let colour = style.color();
        let layout = style.layout_box(text).map_err(|e| DrawingErrorKind::FontError(Box::new(e)))?;
        let ((left, top), (right, bottom)) = layout;
        let (width, height) = (right - left, bottom - top);
        let (anchor, turn) = (style.anchor(), style.transform());
        let across = match anchor.h_pos {
            HPos::Left => 0,
            HPos::Center => -width / 2,
            HPos::Right => -width,
        };
        let down = match anchor.v_pos {
            VPos::Top => 0,
            VPos::Center => -height / 2,
            VPos::Bottom => -height,
        };
        let size = self.inner.get_size();
        let (inner, mut drawn) = (&mut self.inner, Ok(()));
        letters(&self.font, text, style.size() as f32, |x, y, dark| {
            let (x, y) = turn.transform(x + across - left, y + down - top);
            let (x, y) = (at.0 + x, at.1 + y);
            let inside = (0..size.0 as i32).contains(&x) && (0..size.1 as i32).contains(&y);
            if inside && drawn.is_ok() && dark > 0.0 {
                drawn = inner.draw_pixel((x, y), colour.mix(f64::from(dark)));
            }
        });
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns of a text that have ink.
    fn inked(text: &str) -> Vec<i32> {
        let font = FontRef::try_from_slice(FONT_DATA).unwrap();
        let mut columns = std::collections::BTreeSet::new();
        letters(&font, text, 20.0, |x, _, dark| {
            if dark > 0.3 {
                columns.insert(x);
            }
        });
        columns.into_iter().collect()
    }

    #[test]
    fn words_stay_apart_and_letters_do_not_touch() {
        let widest_gap = |text: &str| inked(text).windows(2).map(|pair| pair[1] - pair[0] - 1).max().unwrap();
        assert!(widest_gap("How long") >= 5, "{:?}", inked("How long"));
        // Between two upright strokes is the right space of one and the left space of the other.
        assert!(inked("ll").windows(2).any(|pair| pair[1] - pair[0] >= 3), "{:?}", inked("ll"));
        assert!(inked("l")[0] >= 1, "a letter begins where the room on its left ends: {:?}", inked("l"));
    }
}
