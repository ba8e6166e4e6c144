//! Figures as pictures: throughput and latency over the number of blocks, as HI-SM3's Figure 10
//! has them, throughput by threads per block, as its Figure 9, and all methods side by side; and the
//! graphs of the slides on SHA-3.

use std::collections::BTreeMap;

use plotters::{coord::Shift, prelude::*, style::text_anchor};

use self::canvas::Canvas;
use super::{
    data::bytes_label,
    model::{Measured, Metric, Summary},
    sm3_gpu::Launch,
};

mod canvas;
mod slides;

const WIDTH: u32 = 1400;

/// Colours that differ in brightness too.
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 60, 136),
    RGBColor(200, 80, 0),
    RGBColor(0, 140, 90),
    RGBColor(150, 60, 150),
    RGBColor(110, 110, 110),
    RGBColor(190, 150, 0),
    RGBColor(90, 190, 230),
    RGBColor(120, 40, 20),
];

type Area<'a> = DrawingArea<Canvas<'a>, Shift>;

/// What drawing into memory can fail of: a chart without any room.
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The pictures of a run, as names and PNG files; none where no suite has some.
pub(super) fn plots(summary: &Summary) -> Vec<(String, Vec<u8>)> {
    let mut plots = slides::plots(summary);
    for gpu in &summary.setup.gpus {
        let of_gpu = format!("sm3-gpu/{}/", gpu.id);
        let results: Vec<&Measured> =
            summary.results.iter().filter(|result| result.group.starts_with(&of_gpu)).collect();
        let file = |what: &str| format!("{what}-{}.png", gpu.id.replace(':', ""));
        let sweeps = sweeps(&results);
        if !sweeps.is_empty() {
            let height = 300 * sweeps.len() as u32;
            let title = format!("{}: {}", gpu.id, gpu.name);
            plots.extend(
                picture(height, |area| over_blocks(area, &title, &sweeps))
                    .map(|png| (file("blocks"), png)),
            );
            let height = bars(sweeps.iter().map(|sweep| sweep.methods().len()).sum());
            plots.extend(
                picture(height, |area| by_threads(area, &title, &sweeps))
                    .map(|png| (file("threads"), png)),
            );
        }
        let kernels: Vec<&Measured> = results
            .into_iter()
            .filter(|result| result.group.starts_with(&format!("{of_gpu}kernel-")))
            .collect();
        if !kernels.is_empty() {
            let height = bars(kernels.len());
            let title = format!("{}: {}, kernel alone, GB/s", gpu.id, gpu.name);
            plots.extend(
                picture(height, |area| methods(area, &title, &kernels))
                    .map(|png| (file("methods"), png)),
            );
        }
    }
    plots
}

/// Height of a picture of so many bars, each with room for its name.
fn bars(count: usize) -> u32 {
    80 + 26 * count as u32
}

/// Draws a picture, as a PNG file. `None` if there was nothing to draw it of.
fn picture(height: u32, draw: impl FnOnce(&Area) -> Drawn) -> Option<Vec<u8>> {
    let mut pixels = vec![255; (WIDTH * height * 3) as usize];
    {
        let area = Canvas(BitMapBackend::with_buffer(&mut pixels, (WIDTH, height)));
        let area = area.into_drawing_area();
        draw(&area).ok()?;
        area.present().ok()?;
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, WIDTH, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(&pixels).ok()?;
    writer.finish().ok()?;
    Some(file)
}

/// Throughput in GB/s and latency in microseconds of one launch.
#[derive(Clone, Copy)]
struct Speed {
    gb_per_s: f64,
    us: f64,
}

/// Launches of one message length.
struct Sweep {
    len: u64,
    launches: BTreeMap<Launch, Speed>,
}

impl Sweep {
    /// Methods and threads per block, each a line or a bar.
    fn methods(&self) -> Vec<(bool, u32)> {
        let of = |launch: &Launch| (launch.peer, launch.threads);
        let mut methods: Vec<(bool, u32)> = self.launches.keys().map(of).collect();
        methods.dedup();
        methods
    }

    fn speed(&self, (peer, threads): (bool, u32), blocks: u32) -> Option<Speed> {
        self.launches.get(&Launch { peer, threads, blocks }).copied()
    }

    fn blocks(&self) -> Vec<u32> {
        let mut blocks: Vec<u32> = self.launches.keys().map(|launch| launch.blocks).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }
}

fn sweeps(results: &[&Measured]) -> Vec<Sweep> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    for result in results {
        let median = |metric| result.metrics.get(&metric).map(|figure| figure.median);
        let Some(launch) = Launch::of(&result.contender) else { continue };
        let Some((gb_per_s, us)) = median(Metric::GbPerS).zip(median(Metric::UsPerCall)) else {
            continue;
        };
        let len = result.bytes_per_call / result.units_per_call.max(1);
        if sweeps.last().is_none_or(|sweep| sweep.len != len) {
            sweeps.push(Sweep { len, launches: BTreeMap::new() });
        }
        let sweep = sweeps.last_mut().expect("one was pushed");
        sweep.launches.insert(launch, Speed { gb_per_s, us });
    }
    sweeps
}

/// A row for each length: throughput to the left, latency to the right.
fn over_blocks(area: &Area, title: &str, sweeps: &[Sweep]) -> Drawn {
    let panels = area.split_evenly((sweeps.len(), 2));
    for (sweep, panels) in sweeps.iter().zip(panels.chunks(2)) {
        let len = bytes_label(sweep.len);
        let of = [
            (
                format!("{title}, {len}"),
                "GB/s",
                (|speed: Speed| speed.gb_per_s) as fn(Speed) -> f64,
            ),
            (format!("latency of a launch, {len}"), "us", |speed: Speed| speed.us),
        ];
        for (panel, (title, unit, value)) in panels.iter().zip(of) {
            lines(panel, &title, unit, sweep, value)?;
        }
    }
    Ok(())
}

/// Lines for each number of threads per block, over the number of blocks.
fn lines(area: &Area, title: &str, unit: &str, sweep: &Sweep, value: fn(Speed) -> f64) -> Drawn {
    let blocks = sweep.blocks();
    let most = sweep.launches.values().map(|speed| value(*speed)).fold(0.0, f64::max);
    // Room at the right for the legend.
    let right = (blocks.len() as f64 - 1.0).max(1.0) * 1.4;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("mono", 20))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(84)
        .build_cartesian_2d(-0.2..right, 0.0..most * 1.08)?;
    let label = |x: &f64| {
        let at = x.round();
        let exact = (x - at).abs() < 1e-6 && at >= 0.0;
        let block = blocks.get(at as usize).filter(|_| exact);
        block.map_or_else(String::new, u32::to_string)
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(RGBColor(235, 235, 235))
        .x_labels(2 * blocks.len() + 1)
        .x_label_formatter(&label)
        .y_label_formatter(&|y| super::report::number(*y))
        .x_desc("blocks")
        .y_desc(unit)
        .label_style(("mono", 14))
        .draw()?;
    for (i, method) in sweep.methods().into_iter().enumerate() {
        let color = COLORS[i % COLORS.len()];
        let points: Vec<(f64, f64)> = blocks
            .iter()
            .enumerate()
            .filter_map(|(x, &blocks)| Some((x as f64, value(sweep.speed(method, blocks)?))))
            .collect();
        let dots = points.iter().map(|&point| Circle::new(point, 4, color.filled()));
        chart.draw_series(dots)?;
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)))?
            .label(named(method))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        // The room for these is worked out by the size alone, for letters narrower than ours.
        .label_font(("mono", 17))
        .background_style(WHITE)
        .draw()?;
    Ok(())
}

fn named((peer, threads): (bool, u32)) -> String {
    if peer { format!("HI-SM3, {threads}") } else { format!("{threads} threads") }
}

/// Bars by threads per block, as many blocks as multiprocessors.
fn by_threads(area: &Area, title: &str, sweeps: &[Sweep]) -> Drawn {
    let bars: Vec<(String, f64, RGBColor)> = sweeps
        .iter()
        .flat_map(|sweep| {
            let least = sweep.blocks().first().copied().unwrap_or(0);
            sweep.methods().into_iter().enumerate().filter_map(move |(i, method)| {
                let speed = sweep.speed(method, least)?;
                let name = format!("{}, {}", bytes_label(sweep.len), named(method));
                Some((name, speed.gb_per_s, COLORS[i % COLORS.len()]))
            })
        })
        .collect();
    let title = format!("{title}, as many blocks as multiprocessors, GB/s");
    horizontal(area, &title, &bars)
}

/// Bars of every contender of the kernels' groups: ours dark.
fn methods(area: &Area, title: &str, kernels: &[&Measured]) -> Drawn {
    let bar = |result: &&Measured| {
        let gb_per_s = result.metrics.get(&Metric::GbPerS)?.median;
        let name = result.group.rsplit('/').next().unwrap_or_default();
        let name = format!("{}: {}", name.trim_start_matches("kernel-"), result.contender);
        Some((name, gb_per_s, if result.peer { COLORS[4] } else { COLORS[0] }))
    };
    horizontal(area, title, &kernels.iter().filter_map(bar).collect::<Vec<_>>())
}

fn horizontal(area: &Area, title: &str, bars: &[(String, f64, RGBColor)]) -> Drawn {
    let most = bars.iter().map(|bar| bar.1).fold(0.0, f64::max);
    let longest = bars.iter().map(|bar| bar.0.chars().count()).max().unwrap_or(0);
    let area = area.titled(title, ("mono", 20))?;
    // Nine pixels a character.
    let left = 9 * longest as i32 + 20;
    let (width, height) = (area.dim_in_pixel().0 as i32, area.dim_in_pixel().1 as i32);
    let row = (height - 16) / (bars.len() as i32).max(1);
    let room = f64::from(width - left - 90);
    for (i, (name, value, color)) in bars.iter().enumerate() {
        let top = 8 + row * i as i32;
        let middle = top + row / 2;
        let end = left + (value / most * room) as i32;
        let style = TextStyle::from(("mono", 14))
            .pos(text_anchor::Pos::new(text_anchor::HPos::Right, text_anchor::VPos::Center));
        area.draw_text(name, &style, (left - 8, middle))?;
        let bar = [(left, top + 2), (end, top + row.max(6) - 3)];
        area.draw(&Rectangle::new(bar, color.filled()))?;
        let style =
            style.pos(text_anchor::Pos::new(text_anchor::HPos::Left, text_anchor::VPos::Center));
        area.draw_text(&super::report::number(*value), &style, (end + 8, middle))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{example, model::Figure};

    /// A run that swept two lengths.
    fn summary() -> Summary {
        let mut summary = example::summary();
        let like = summary.results[0].clone();
        for (len, name) in [(64, "64"), (8192, "8192")] {
            for (i, contender) in
                ["256 × 132 blocks", "256 × 264 blocks", "HI-SM3: 512 × 132 blocks"]
                    .into_iter()
                    .enumerate()
            {
                let figure = |median| Figure { median, low: None, high: None };
                let mut result = like.clone();
                result.group = format!("sm3-gpu/cuda:0/blocks-{name}");
                result.contender = contender.into();
                (result.bytes_per_call, result.units_per_call) = (len * 1000, 1000);
                result.metrics = BTreeMap::from([
                    (Metric::GbPerS, figure(100.0 + 50.0 * i as f64)),
                    (Metric::UsPerCall, figure(10.0 * i as f64 + 1.0)),
                ]);
                summary.results.push(result.clone());
                result.group = format!("sm3-gpu/cuda:0/kernel-{name}");
                summary.results.push(result);
            }
        }
        summary
    }

    #[test]
    fn pictures_can_be_decoded_and_are_not_empty() {
        let plots = plots(&summary());
        let names: Vec<&str> = plots.iter().map(|plot| &plot.0[..]).collect();
        assert_eq!(names, ["blocks-cuda0.png", "threads-cuda0.png", "methods-cuda0.png"]);
        for (name, file) in plots {
            let decoder = png::Decoder::new(std::io::Cursor::new(file));
            let mut reader = decoder.read_info().unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut pixels).unwrap();
            assert_eq!((info.width, info.color_type), (WIDTH, png::ColorType::Rgb), "{name}");
            let has =
                |color: RGBColor| pixels.as_chunks::<3>().0.contains(&[color.0, color.1, color.2]);
            assert!(has(BLACK) && has(WHITE) && has(COLORS[0]), "{name}");
        }
    }

    #[test]
    fn a_run_without_gpus_has_no_pictures() {
        let mut summary = summary();
        summary.setup.gpus.clear();
        assert!(plots(&summary).is_empty());
        assert!(plots(&example::summary()).is_empty(), "no result of its GPU");
    }
}
