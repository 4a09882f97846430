//! Table of the figures of both directions of a link.

use crate::text_table::{self, Column, milliseconds};
use qdelay_emu::figures::DirectionFigures;

/// The table of `directions` (down, up): rates, delays of the queue, packets.
pub fn table(directions: &[DirectionFigures; 2]) -> String {
    let columns = [
        Column::left("link"),
        Column::right("rate\nMbit/s"),
        Column::right("used\n%"),
        Column::right("mean\nms"),
        Column::right("p50\nms"),
        Column::right("p95\nms"),
        Column::right("p99\nms"),
        Column::right("max\nms"),
        Column::right("packets"),
        Column::right("drops"),
        Column::right("marks"),
    ];
    let row = |(name, figures): (&str, &DirectionFigures)| {
        let delay = &figures.queue_delay_ms;
        let mut row = vec![name.to_string(), format!("{:.2}", figures.throughput_mbps)];
        row.push(figures.utilization.map_or("-".to_string(), |used| format!("{:.1}", used * 100.0)));
        row.extend([delay.mean, delay.p50, delay.p95, delay.p99, delay.max].map(milliseconds));
        row.extend([figures.packets_delivered, figures.drops, figures.marks].map(|count| count.to_string()));
        row
    };
    let rows = ["down", "up"].into_iter().zip(directions).map(row).collect();
    text_table::table(&columns, rows)
}
