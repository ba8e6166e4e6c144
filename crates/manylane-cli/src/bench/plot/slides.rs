//! The graphs of the slides "AES and SHA-3": throughput, time and scaling over the size of a file, and
//! throughput of a million messages over their length.

use plotters::prelude::*;

use super::{Area, COLORS, Drawn, picture};
use crate::bench::{
    data::bytes_label,
    model::Summary,
    report::number,
    sha3::slides::{Experiment, FILE, VOLUME},
};

/// The pictures of a run's experiments, as names and PNG files.
pub(super) fn plots(summary: &Summary) -> Vec<(String, Vec<u8>)> {
    let files = Experiment::all(summary, FILE).into_iter().map(|of| {
        let name = format!("sha3-files-{}.png", of.place());
        (name, picture(3 * PANEL, |area| files(area, &of)))
    });
    let volumes = Experiment::all(summary, VOLUME).into_iter().map(|of| {
        let name = format!("sha3-volume-{}.png", of.place());
        (name, picture(2 * PANEL, |area| volume(area, &of)))
    });
    files.chain(volumes).filter_map(|(name, png)| Some((name, png?))).collect()
}

/// Height of a panel.
const PANEL: u32 = 420;

/// A line: its name, and a value for each length that it has one of.
type Line = (String, Vec<Option<f64>>);

/// What the lines of a panel are.
struct Axis<'a> {
    title: &'a str,
    unit: &'a str,
    /// Powers of ten apart, instead of evenly from zero on.
    powers: bool,
}

fn lines_of(of: &Experiment, value: impl Fn(f64, usize) -> f64) -> Vec<Line> {
    let line = |name: &str| {
        let rates = of.rates(name).into_iter().zip(&of.lengths);
        (name.to_owned(), rates.map(|(rate, len)| rate.map(|rate| value(rate, *len))).collect())
    };
    of.contenders().into_iter().map(line).collect()
}

fn files(area: &Area, of: &Experiment) -> Drawn {
    let panels = area.split_evenly((3, 1));
    let (rates, times) = ("SHA3-256 and KT128 of one file", "Time of one file");
    let axis = Axis { title: rates, unit: "MB/s", powers: true };
    panel(&panels[0], &axis, &of.lengths, &lines_of(of, |rate, _| rate / 1e6))?;
    let axis = Axis { title: times, unit: "ms", powers: true };
    panel(&panels[1], &axis, &of.lengths, &lines_of(of, |rate, len| len as f64 / rate * 1e3))?;
    let title = "Scaling: throughput in % of each one's highest";
    let axis = Axis { title, unit: "%", powers: false };
    panel(&panels[2], &axis, &of.lengths, &shares(lines_of(of, |rate, _| rate)))
}

/// In percent of the highest.
fn shares(lines: Vec<Line>) -> Vec<Line> {
    let share = |(name, values): Line| {
        let most = values.iter().flatten().fold(0.0, |most: f64, value| most.max(*value));
        (name, values.into_iter().map(|value| value.map(|value| 100.0 * value / most)).collect())
    };
    lines.into_iter().map(share).collect()
}

fn volume(area: &Area, of: &Experiment) -> Drawn {
    let panels = area.split_evenly((2, 1));
    let title = "SHA3-256 of a million messages";
    let axis = Axis { title, unit: "MB/s", powers: true };
    panel(&panels[0], &axis, &of.lengths, &lines_of(of, |rate, _| rate / 1e6))?;
    let axis = Axis { title, unit: "M/s", powers: true };
    panel(&panels[1], &axis, &of.lengths, &lines_of(of, |rate, len| rate / len as f64 / 1e6))
}

/// Lines over lengths, which stand evenly apart.
fn panel(area: &Area, axis: &Axis, lengths: &[usize], lines: &[Line]) -> Drawn {
    let place = |value: f64| if axis.powers { value.log10() } else { value };
    let all = || lines.iter().flat_map(|line| line.1.iter().flatten()).map(|value| place(*value));
    let most = all().fold(f64::NEG_INFINITY, f64::max);
    let least = if axis.powers { all().fold(f64::INFINITY, f64::min) } else { 0.0 };
    let margin = 0.06 * (most - least).max(0.1);
    // Room at the right for the legend.
    let right = (lengths.len() as f64 - 1.0).max(1.0) * 1.8;
    let low = if axis.powers { least - margin } else { 0.0 };
    let mut chart = ChartBuilder::on(area)
        .caption(axis.title, ("mono", 20))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(84)
        .build_cartesian_2d(-0.2..right, low..most + margin)?;
    let label = |x: &f64| {
        let at = x.round();
        let exact = (x - at).abs() < 1e-6 && at >= 0.0;
        let len = lengths.get(at as usize).filter(|_| exact);
        len.map_or_else(String::new, |len| bytes_label(*len as u64))
    };
    let back = |y: &f64| number(if axis.powers { 10f64.powf(*y) } else { *y });
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(RGBColor(235, 235, 235))
        .x_labels(2 * lengths.len() + 1)
        .x_label_formatter(&label)
        .y_label_formatter(&back)
        .y_desc(axis.unit)
        .label_style(("mono", 14))
        .draw()?;
    for (i, (name, values)) in lines.iter().enumerate() {
        let color = COLORS[i % COLORS.len()];
        let point = |(x, value): (usize, &Option<f64>)| Some((x as f64, place((*value)?)));
        let points: Vec<(f64, f64)> = values.iter().enumerate().filter_map(point).collect();
        let dots = points.iter().map(|&point| Circle::new(point, 4, color.filled()));
        chart.draw_series(dots)?;
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .label_font(("mono", 17))
        .background_style(WHITE)
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::{
        example,
        model::{Figure, Metric},
    };

    #[test]
    fn experiments_are_drawn_where_they_were_made() {
        let mut summary = example::summary();
        assert!(plots(&summary).is_empty());
        let like = summary.results[0].clone();
        for (prefix, lengths) in [
            ("sha3/file/", [1024, 10240]),
            ("sha3/volume/", [32, 64]),
            ("sha3-gpu/cuda:0/file-", [1024, 10240]),
        ] {
            for (i, len) in lengths.into_iter().enumerate() {
                for (contender, rate) in [("plain, one core", 0.1), ("OpenSSL, one core", 0.4)] {
                    let mut result = like.clone();
                    result.group = format!("{prefix}{len}");
                    result.contender = contender.into();
                    let median = rate * (i + 1) as f64;
                    let figure = Figure { median, low: None, high: None };
                    result.metrics = BTreeMap::from([(Metric::GbPerS, figure)]);
                    summary.results.push(result);
                }
            }
        }
        let plots = plots(&summary);
        let names: Vec<&str> = plots.iter().map(|plot| &plot.0[..]).collect();
        assert_eq!(names, ["sha3-files-cpu.png", "sha3-files-cuda0.png", "sha3-volume-cpu.png"]);
        let of = &Experiment::all(&summary, FILE)[0];
        let lines = shares(lines_of(of, |rate, _| rate));
        let expected = |name: &str| (name.to_owned(), vec![Some(50.0), Some(100.0)]);
        assert_eq!(lines, ["plain, one core", "OpenSSL, one core"].map(expected));
        for (name, file) in plots {
            let decoder = png::Decoder::new(std::io::Cursor::new(file));
            let mut reader = decoder.read_info().unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            let has =
                |color: RGBColor| pixels.as_chunks::<3>().0.contains(&[color.0, color.1, color.2]);
            assert!(has(BLACK) && has(COLORS[0]) && has(COLORS[1]), "{name}");
        }
    }
}
