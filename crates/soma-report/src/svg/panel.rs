//! A finished drawing with its text alternative.

use super::escape;

/// A drawing that stands alone or beside others.
#[derive(Debug, Clone)]
pub struct Panel {
    /// What it shows, in a few words.
    pub title: String,
    /// What it says, for whoever cannot see it: the numbers that a reader would take from it.
    pub description: String,
    /// Its width in pixels.
    pub width: f64,
    /// Its height in pixels.
    pub height: f64,
    /// The marks.
    pub body: String,
}

impl Panel {
    /// As an element of a page. `id` is one that nothing else on the page has.
    pub fn inline(&self, id: &str) -> String {
        let Panel { width, height, body, .. } = self;
        let (title, description) = (escape(&self.title), escape(&self.description));
        format!(
            "<svg class=\"soma\" role=\"img\" aria-labelledby=\"{id}-t\" aria-describedby=\"{id}-d\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
             xmlns=\"http://www.w3.org/2000/svg\"><title id=\"{id}-t\">{title}</title>\
             <desc id=\"{id}-d\">{description}</desc>{body}</svg>"
        )
    }
}
