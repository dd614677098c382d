//! From SVG to PNG.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

use crate::{FONT, PlotError};

/// An SVG of this crate as a PNG, `zoom` pixels for each of the figure's pixels.
pub fn png(svg: &str, zoom: f32) -> Result<Vec<u8>, PlotError> {
    let options = Options { fontdb: fonts(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(PlotError::from_any)?;
    let size = tree.size().to_int_size().scale_by(zoom);
    let size = size.ok_or_else(|| PlotError("it has no size".into()))?;
    let mut pixels = Pixmap::new(size.width(), size.height())
        .ok_or_else(|| PlotError("it is too large".into()))?;
    resvg::render(&tree, Transform::from_scale(zoom, zoom), &mut pixels.as_mut());
    pixels.encode_png().map_err(PlotError::from_any)
}

/// Our own font under the name that figures use.
fn fonts() -> Arc<Database> {
    static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
    FONTS
        .get_or_init(|| {
            let mut fonts = Database::new();
            fonts.load_font_data(FONT.to_vec());
            fonts.set_sans_serif_family("Open Sans");
            Arc::new(fonts)
        })
        .clone()
}
