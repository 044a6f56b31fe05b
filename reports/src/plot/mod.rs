//! The plots, one file each, as SVG and PNG. The font comes with the binary: nothing is asked of the machine.

pub mod ttl_sweep;

use plotters::style::{FontStyle, RGBColor, register_font};
use std::sync::OnceLock;

/// The family that text is set in. An SVG names it, so that a browser takes its own sans-serif.
const FONT: &str = "sans-serif";

/// Colours that people who see colours differently can tell apart: Okabe and Ito, "Color universal design", 2008.
const PALETTE: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// The colour of the nth thing that is told apart by colour.
fn colour(place: usize) -> RGBColor {
    PALETTE[place % PALETTE.len()]
}

/// Makes [`FONT`] known to the drawing library, once.
fn with_font() -> Result<(), String> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let done = DONE.get_or_init(|| register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT).is_ok());
    if *done { Ok(()) } else { Err("the built-in font cannot be read".to_owned()) }
}

/// The value below which a share `q` of the sorted `values` lies, interpolated; `None` when there are none.
fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let place = q * values.len().checked_sub(1)? as f64;
    let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

/// The numbers 1, 2, 5, 10, 20 … within a range, for the ticks of a logarithmic axis.
fn decades(from: f64, to: f64) -> Vec<f64> {
    let first = from.log10().floor() as i32;
    let last = to.log10().ceil() as i32;
    let all = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(power)));
    all.filter(|tick| (from..=to).contains(tick)).collect()
}

/// A number without needless digits: `0.5`, `30`.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(decades(0.4, 30.0).into_iter().map(number).collect::<Vec<_>>(), ["0.5", "1", "2", "5", "10", "20"]);
    }
}
