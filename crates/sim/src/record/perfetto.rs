//! A run in the format of the Perfetto viewer: radio states and power of each station, frames of each node, windows and
//! queues. Timestamps are nanoseconds since the run began.

use std::io;

use airwatt_proto::powersave::StationId;

use super::{QueueTrace, RunTrace};
use crate::media::cell::frame::{Node, TracedFrame};
use crate::net::WindowSample;
use crate::perfetto::Writer;

impl RunTrace {
    /// Writes the run as a Perfetto trace.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_perfetto(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut writer = Writer::new(out);
        let frames = self.frames_by_start();
        for (id, setting) in self.setting.stations.iter().enumerate() {
            let station = writer.track(&format!("station {id}"), None, None)?;
            let states = writer.track("radio", Some(station), None)?;
            let power = writer.track("power", Some(station), Some("uW"))?;
            for interval in self.radio_intervals(id as u32) {
                let end = interval.start + interval.duration;
                writer.slice(states, interval.state.name(), interval.start, end)?;
                writer.count(power, interval.start, setting.power(interval.state).as_nanowatts() / 1_000)?;
            }
            let sent = writer.track("frames", Some(station), None)?;
            write_frames(&mut writer, sent, &frames, |frame| frame.from == Node::Station(id as u32))?;
            self.write_adaptations(&mut writer, station, id as u32)?;
        }
        let several = self.setting.cells.iter().filter(|cell| cell.access_point.is_some()).count() > 1;
        for (index, cell) in self.setting.cells.iter().enumerate() {
            let Some(name) = &cell.access_point else { continue };
            let name = if several { format!("access point {name}") } else { "access point".to_owned() };
            let access_point = writer.track(&name, None, None)?;
            let sent = writer.track("frames", Some(access_point), None)?;
            write_frames(&mut writer, sent, &frames, |frame| {
                frame.from == Node::AccessPoint && (frame.medium, frame.bss) == (cell.medium, cell.bss)
            })?;
            if index == 0 {
                queue(&mut writer, "transmission queue", access_point, &self.ap_queue)?;
                queue(&mut writer, "power-save buffers", access_point, &self.ap_power_save)?;
            }
        }
        if self.setting.cells.is_empty() {
            let link = writer.track("link", None, None)?;
            queue(&mut writer, "queue towards the station", link, &self.link_down_queue)?;
            queue(&mut writer, "queue away from the station", link, &self.link_up_queue)?;
        }
        for (name, lengths) in &self.further_queues {
            let parent = writer.track(name, None, None)?;
            queue(&mut writer, "queue", parent, lengths)?;
        }
        let wire = writer.track("wire", None, None)?;
        queue(&mut writer, "queue towards the stations", wire, &self.down_queue)?;
        queue(&mut writer, "queue towards the server", wire, &self.up_queue)?;
        self.write_windows(&mut writer)
    }

    /// Writes the tracks of the controller of a station with an adaptive policy.
    fn write_adaptations(&self, writer: &mut Writer, parent: u64, station: StationId) -> io::Result<()> {
        let own =
            || self.adaptations.iter().filter(|row| row.1 == station).map(|(at, _, state)| (*at, state));
        if own().next().is_none() {
            return Ok(());
        }
        let interval = writer.track("trigger interval", Some(parent), Some("us"))?;
        let peak = writer.track("estimated peak rate", Some(parent), Some("b/s"))?;
        let throughput = writer.track("throughput", Some(parent), Some("b/s"))?;
        for (at, state) in own() {
            writer.count(interval, at, state.interval.as_nanos() / 1_000)?;
            writer.count(peak, at, state.peak_bps)?;
            writer.count(throughput, at, state.throughput_bps)?;
        }
        Ok(())
    }

    fn write_windows(&self, writer: &mut Writer) -> io::Result<()> {
        let place = |sample: &WindowSample| (sample.flow, sample.connection);
        let mut connections: Vec<_> = self.windows.iter().map(place).collect();
        connections.sort_unstable();
        connections.dedup();
        for connection in connections {
            let name = match connection {
                (flow, 0) => format!("flow {flow}"),
                (flow, further) => format!("flow {flow}, connection {further}"),
            };
            let parent = writer.track(&name, None, None)?;
            let window = writer.track("congestion window", Some(parent), Some("B"))?;
            let flight = writer.track("in flight", Some(parent), Some("B"))?;
            for sample in self.windows.iter().filter(|sample| place(sample) == connection) {
                writer.count(window, sample.at, u64::from(sample.cwnd))?;
                writer.count(flight, sample.at, u64::from(sample.flight))?;
            }
        }
        Ok(())
    }
}

fn queue(writer: &mut Writer, name: &str, parent: u64, lengths: &QueueTrace) -> io::Result<()> {
    let track = writer.track(name, Some(parent), Some("packets"))?;
    lengths.iter().try_for_each(|&(at, packets)| writer.count(track, at, u64::from(packets)))
}

fn write_frames(
    writer: &mut Writer,
    track: u64,
    frames: &[&TracedFrame],
    is_own: impl Fn(&TracedFrame) -> bool,
) -> io::Result<()> {
    for frame in frames.iter().filter(|frame| is_own(frame)) {
        let mut name = frame.kind.name().to_owned();
        if let Some(content) = frame.content() {
            name = format!("{name} {content}");
        }
        if frame.flags.eosp {
            name.push_str(" eosp");
        }
        if !frame.received {
            name.push_str(" (lost)");
        }
        writer.slice(track, &name, frame.start, frame.start + frame.duration)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
