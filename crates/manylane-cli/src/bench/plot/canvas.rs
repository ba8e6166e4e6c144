//! A picture in memory, with text from a font of the program's own: a machine that measures need
//! have none.

use embedded_graphics::{
    Drawable as _, Pixel,
    draw_target::DrawTarget,
    geometry::{Dimensions, Point},
    mono_font::{
        MonoFont, MonoTextStyle,
        iso_8859_1::{FONT_9X15, FONT_10X20},
    },
    pixelcolor::BinaryColor,
    primitives::Rectangle,
    text::{Baseline, Text},
};
use plotters::prelude::{BitMapBackend, DrawingBackend};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingErrorKind, FontTransform,
    text_anchor::{HPos, VPos},
};

/// Font size from which the larger font is taken.
const LARGE: f64 = 18.0;

/// A backend of `plotters` on pixels in memory that writes text by itself.
pub(super) struct Canvas<'a>(pub(super) BitMapBackend<'a>);

type Drawn<T> = Result<T, DrawingErrorKind<<BitMapBackend<'static> as DrawingBackend>::ErrorType>>;

impl DrawingBackend for Canvas<'_> {
    type ErrorType = <BitMapBackend<'static> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn<()> {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Drawn<()> {
        self.0.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn<()> {
        self.0.draw_pixel(point, color)
    }

    fn estimate_text_size<S: BackendTextStyle>(&self, text: &str, style: &S) -> Drawn<(u32, u32)> {
        let (width, height) = size(text, style);
        Ok(match style.transform() {
            FontTransform::Rotate90 | FontTransform::Rotate270 => (height as u32, width as u32),
            _ => (width as u32, height as u32),
        })
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Drawn<()> {
        let (width, height) = size(text, style);
        // The point of the text that is to be at the position.
        let left = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Center => width / 2,
            HPos::Right => width,
        };
        let top = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => height / 2,
            VPos::Bottom => height,
        };
        let mut dots = Dots(Vec::new());
        let font = MonoTextStyle::new(font(style), BinaryColor::On);
        // Neither drawing into memory nor the type of its error can fail.
        let Ok(_) = Text::with_baseline(text, Point::zero(), font, Baseline::Top).draw(&mut dots);
        for Point { x: right, y: down } in dots.0 {
            let (right, down) = (right - left, down - top);
            let (right, down) = match style.transform() {
                FontTransform::None => (right, down),
                FontTransform::Rotate90 => (-down, right),
                FontTransform::Rotate180 => (-right, -down),
                FontTransform::Rotate270 => (down, -right),
            };
            self.draw_pixel((x + right, y + down), style.color())?;
        }
        Ok(())
    }
}

fn font<S: BackendTextStyle>(style: &S) -> &'static MonoFont<'static> {
    if style.size() < LARGE { &FONT_9X15 } else { &FONT_10X20 }
}

fn size<S: BackendTextStyle>(text: &str, style: &S) -> (i32, i32) {
    let character = font(style).character_size;
    ((text.chars().count() as u32 * character.width) as i32, character.height as i32)
}

/// The pixels of a text.
struct Dots(Vec<Point>);

impl DrawTarget for Dots {
    type Color = BinaryColor;
    type Error = std::convert::Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<BinaryColor>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Self::Error> {
        let on = |Pixel(point, color)| (color == BinaryColor::On).then_some(point);
        self.0.extend(pixels.into_iter().filter_map(on));
        Ok(())
    }
}

impl Dimensions for Dots {
    /// Text is cut off by the picture, not before.
    fn bounding_box(&self) -> Rectangle {
        let size = embedded_graphics::geometry::Size::new(1 << 16, 1 << 8);
        Rectangle::new(Point::zero(), size)
    }
}
