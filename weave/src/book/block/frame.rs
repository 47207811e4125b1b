//! The frame of a small scatter plot, and the positions of its labels.

/// The width of the plot, which fits on a phone.
pub(super) const WIDTH: f64 = 480.0;
pub(super) const HEIGHT: f64 = 330.0;
pub(super) const LEFT: f64 = 66.0;
pub(super) const TOP: f64 = 14.0;
pub(super) const RIGHT: f64 = 34.0;
pub(super) const BOTTOM: f64 = 52.0;

/// Returns the number of a step, or the name of a variant.
pub(super) fn short(name: &str) -> &str {
    match name.split_once('/') {
        Some((_, variant)) => variant,
        None => name.split_once('-').map_or(name, |(number, _)| number),
    }
}

/// The area that a line of text or a point occupies in the drawing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    width: f64,
}

impl Area {
    /// The height of a line of text whose font size is 17 pixels, as on a phone.
    const HEIGHT: f64 = 16.0;

    pub(super) fn new(left: f64, top: f64, width: f64) -> Area {
        Area { left, top, width }
    }

    pub(super) fn meets(&self, other: &Area) -> bool {
        self.left < other.left + other.width
            && other.left < self.left + self.width
            && (self.top - other.top).abs() < Area::HEIGHT
    }
}

/// Returns the area for a point's label: the first free area among those to the right, to the left
/// and below.
pub(super) fn place((x, y): (f64, f64), width: f64, taken: &[Area]) -> Area {
    let rows = (0..12).map(|row| y - 6.0 + 17.0 * f64::from(row));
    let mut places = rows.flat_map(|top| [x + 8.0, x - 8.0 - width].map(|left| (left, top)));
    let inside = |left: f64| left >= LEFT && left + width <= WIDTH;
    let free = |&(left, top): &(f64, f64)| {
        let area = Area::new(left, top, width);
        inside(left) && !taken.iter().any(|other| other.meets(&area))
    };
    let (left, top) = places.find(free).unwrap_or((x + 8.0, y - 6.0));
    Area::new(left, top, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_overlap() {
        let points = [(170.0, 60.0), (170.0, 62.0), (170.0, 58.0), (230.0, 30.0), (240.0, 30.0)];
        let mut taken: Vec<Area> =
            points.iter().map(|&(x, y)| Area::new(x - 5.0, y - 5.0, 10.0)).collect();
        for point in points {
            let label = place(point, 66.0, &taken);
            assert!(!taken.iter().any(|other| other.meets(&label)), "{label:?}");
            assert!(label.left >= LEFT && label.left + 66.0 <= WIDTH);
            taken.push(label);
        }
    }

    #[test]
    fn names_are_short() {
        assert_eq!(short("v8-wide-loads/two-words"), "two-words");
        assert_eq!(short("v11-mailbox"), "v11");
    }
}
