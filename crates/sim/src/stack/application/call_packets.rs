//! The packets that one end of a call sends: audio, video, and reports on what it receives, in RTP and RTCP over one pair of ports
//! (RFC 8843).
//!
//! * **Audio**: a frame of Opus each 20 ms (RFC 6716 2.1.4, RFC 7587). With discontinuous transmission (DTX) a speaker who is silent
//!   sends a frame each 400 ms (RFC 6716 2.1.9). Who speaks when is the Markov chain of the VoIP model for IEEE 802.11ax
//!   (802.11-14/0571): at each frame a silent end begins to speak, or one that speaks falls silent, with a probability of 0.016, so
//!   that each speaks half of the time and for 1.25 s on the average. 7 bytes of a silent frame are of that model, too.
//! * **Video**: frames at equal distances whose sizes have the Weibull distribution of the video model of the same document, shape
//!   0.8099, with the mean that follows from the rate. A frame leaves in packets of at most 1,200 bytes, paced at 2.5 times the rate,
//!   as in libwebrtc (`kDefaultPaceMultiplier`).
//! * **Reports**: RTCP packets at equal distances. 100 ms and 60 bytes are assumed.
//!
//! Left out: the adaptation of the rate to the path, retransmissions (NACK), forward error correction, key frames on request, and the
//! dependence of the speakers on each other.

use airwatt_base::{Instant, RandomStream, Rate, Span};

use super::random::weibull;

/// Time of an audio frame.
const AUDIO_FRAME: Span = Span::from_millis(20);
/// Time from one frame to the next in silence, and the bytes of such a frame.
const SILENT_FRAME: (Span, u32) = (Span::from_millis(400), 7);
/// Probability that an end begins or ends to speak with a frame.
const TURN: f64 = 0.016;
/// Shape of the distribution of a video frame's size, and its mean in units of its scale: the gamma function of 1 + 1 / shape.
const VIDEO_SIZE: (f64, f64) = (0.809_9, 1.123_207_7);
/// Most payload of a packet of video in bytes.
const VIDEO_PACKET: u32 = 1_200;
/// The pacing of a video frame, in tenths of the rate.
const PACE: u64 = 25;
/// What RTP and its encryption add to a frame, in bytes: a header of 12 (RFC 3550 5.1) and a tag of 10 (RFC 3711 4.2).
const RTP: u32 = 22;
/// Bytes of a report.
const REPORT: u32 = 60;
/// Most bytes of a datagram.
pub(super) const MAX_PACKET: u32 = VIDEO_PACKET + RTP;

/// What one end of a call sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTraffic {
    /// Rate of the audio; zero for none.
    pub audio: Rate,
    /// Whether a silent speaker sends less.
    pub dtx: bool,
    /// Rate of the video; zero for none.
    pub video: Rate,
    /// Frames of video a second.
    pub frame_rate: u32,
    /// Time between two reports; zero for none.
    pub reports: Span,
}

/// The packets in the order of their times.
#[derive(Clone, Debug)]
pub(super) struct CallPackets {
    traffic: CallTraffic,
    random: RandomStream,
    began: Instant,
    /// When the next packet of each kind leaves.
    audio: Instant,
    video: Instant,
    report: Instant,
    speaking: bool,
    /// Number of video frames that have begun, and bytes of the last one that have not left.
    frames: u64,
    frame_left: u32,
}

impl CallPackets {
    pub(super) const fn new(traffic: CallTraffic, random: RandomStream) -> Self {
        let never = Instant::FOREVER;
        let (began, audio, video, report) = (Instant::ZERO, never, never, never);
        Self { traffic, random, began, audio, video, report, speaking: false, frames: 0, frame_left: 0 }
    }

    pub(super) fn begin(&mut self, now: Instant) {
        let CallTraffic { audio, dtx, video, reports, .. } = self.traffic;
        self.began = now;
        self.speaking = !dtx || self.random.chance(0.5);
        if audio.as_bps() > 0 {
            self.audio = now;
        }
        if video.as_bps() > 0 {
            self.video = now;
        }
        if !reports.is_zero() {
            self.report = now + reports;
        }
    }

    pub(super) fn due(&self) -> Instant {
        self.audio.min(self.video).min(self.report)
    }

    /// The bytes of the packet that is due.
    pub(super) fn take(&mut self) -> u32 {
        let due = self.due();
        if due == self.audio {
            self.take_audio()
        } else if due == self.video {
            self.take_video()
        } else {
            self.report += self.traffic.reports;
            REPORT
        }
    }

    fn take_audio(&mut self) -> u32 {
        let frame = if self.speaking {
            self.audio += AUDIO_FRAME;
            self.speaking = !(self.traffic.dtx && self.random.chance(TURN));
            bytes_of(self.traffic.audio, AUDIO_FRAME) as u32
        } else {
            self.audio = self.end_of_silence();
            SILENT_FRAME.1
        };
        frame + RTP
    }

    /// The time of the next frame of a silent speaker: the one at which it speaks again, or the next one of silence.
    fn end_of_silence(&mut self) -> Instant {
        for number in 1..SILENT_FRAME.0.whole(AUDIO_FRAME) {
            if self.random.chance(TURN) {
                self.speaking = true;
                return self.audio + AUDIO_FRAME * number;
            }
        }
        self.speaking = self.random.chance(TURN);
        self.audio + SILENT_FRAME.0
    }

    fn take_video(&mut self) -> u32 {
        let CallTraffic { video, frame_rate, .. } = self.traffic;
        if self.frame_left == 0 {
            let (shape, mean) = VIDEO_SIZE;
            let frame = video.as_bps() as f64 / 8.0 / f64::from(frame_rate);
            self.frame_left = ((frame / mean * weibull(&mut self.random, shape)).round() as u32).max(1);
            self.frames += 1;
        }
        let bytes = self.frame_left.min(VIDEO_PACKET);
        self.frame_left -= bytes;
        let paced = self.video
            + Span::from_nanos(u64::from(bytes) * 8 * 1_000_000_000 * 10 / (video.as_bps() * PACE));
        let next_frame = self.began + Span::from_nanos(self.frames * 1_000_000_000 / u64::from(frame_rate));
        self.video = if self.frame_left > 0 { paced } else { next_frame.max(paced) };
        bytes + RTP
    }
}

fn bytes_of(rate: Rate, time: Span) -> u64 {
    rate.as_bps() * time.as_nanos() / 8_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Instant = Instant::from_secs(3_600);
    const NONE: CallTraffic = CallTraffic {
        audio: Rate::from_bps(0),
        dtx: false,
        video: Rate::from_bps(0),
        frame_rate: 30,
        reports: Span::ZERO,
    };

    /// Times in seconds and bytes of an hour's packets.
    fn packets(traffic: CallTraffic) -> Vec<(f64, u32)> {
        let mut packets = CallPackets::new(traffic, RandomStream::new(1, "test"));
        packets.begin(Instant::ZERO);
        let mut sent = Vec::new();
        while packets.due() < HOUR {
            sent.push((packets.due().as_secs_f64(), packets.take()));
        }
        sent
    }

    /// 32 kbit/s are 80 bytes each 20 ms.
    #[test]
    fn audio_is_a_packet_each_20_ms() {
        let sent = packets(CallTraffic { audio: Rate::from_bps(32_000), ..NONE });
        assert_eq!(sent.len(), 3_600 * 50);
        assert!(sent.iter().all(|(_, bytes)| *bytes == 80 + 22));
        assert!(sent.windows(2).all(|pair| (pair[1].0 - pair[0].0 - 0.02).abs() < 1e-6));
    }

    /// The chain speaks half of the time, in spurts of 62.5 frames; frames of silence are 400 ms apart, and a spurt may cut the last short.
    /// Of 3,600 s, 1,440 spurts with as many silences: the share's standard error is 1.3 %.
    #[test]
    fn with_dtx_a_speaker_is_silent_half_of_the_time() {
        let sent = packets(CallTraffic { audio: Rate::from_bps(32_000), dtx: true, ..NONE });
        let spoken = sent.iter().filter(|(_, bytes)| *bytes == 102).count();
        let share = spoken as f64 / (3_600.0 * 50.0);
        assert!((share - 0.5).abs() < 0.04, "{share}");
        let mut spurts: Vec<usize> = vec![0];
        for (_, bytes) in &sent {
            match (*bytes, spurts.last_mut()) {
                (102, Some(spurt)) => *spurt += 1,
                (_, Some(0)) => {}
                _ => spurts.push(0),
            }
        }
        let mean = spoken as f64 / spurts.len() as f64;
        assert!((mean / 62.5 - 1.0).abs() < 0.08, "{mean}");
        let silent: Vec<f64> = sent
            .windows(2)
            .filter(|pair| pair[0].1 == 29 && pair[1].1 == 29)
            .map(|pair| pair[1].0 - pair[0].0)
            .collect();
        let other = silent.iter().find(|gap| (*gap - 0.4).abs() > 1e-6);
        assert!(silent.len() > 2_000 && other.is_none(), "{} {other:?}", silent.len());
    }

    /// The rate is kept on the average, with frames whose median is 0.566 of their mean, as of a Weibull distribution of shape 0.8099:
    /// (ln 2)^(1 / shape) over the gamma function of 1 + 1 / shape.
    #[test]
    fn video_keeps_its_rate_in_frames_of_many_sizes() {
        let sent = packets(CallTraffic { video: Rate::from_bps(1_000_000), ..NONE });
        assert!(sent.iter().all(|(_, bytes)| *bytes <= MAX_PACKET));
        let bits: u64 = sent.iter().map(|(_, bytes)| 8 * u64::from(bytes - RTP)).sum();
        // 108,000 frames: the deviation is 1.24 means, so that the standard error is 0.4 %.
        assert!((bits as f64 / 3.6e9 - 1.0).abs() < 0.015, "{bits}");
        // A packet that is not full ends a frame; one frame in 1,200 has full packets only.
        let mut frames = vec![0_u32];
        for (_, bytes) in &sent {
            *frames.last_mut().unwrap() += bytes - RTP;
            if *bytes < MAX_PACKET {
                frames.push(0);
            }
        }
        assert!((108_000 - 200..=108_001).contains(&frames.len()), "{}", frames.len());
        frames.sort_unstable();
        let median = f64::from(frames[frames.len() / 2]);
        assert!((median / (1e6 / 8.0 / 30.0) / 0.566 - 1.0).abs() < 0.02, "{median}");
    }

    /// A frame of several packets leaves at 2.5 times the rate: 1,200 bytes at 2.5 Mbit/s last 3.84 ms.
    #[test]
    fn a_frame_is_paced() {
        let sent = packets(CallTraffic { video: Rate::from_bps(1_000_000), ..NONE });
        let follows = |pair: &&[(f64, u32)]| pair[0].1 == MAX_PACKET && pair[1].0 - pair[0].0 < 0.01;
        let gaps: Vec<f64> = sent.windows(2).filter(follows).map(|pair| pair[1].0 - pair[0].0).collect();
        let paced = gaps.iter().filter(|gap| (*gap - 0.003_84).abs() < 1e-6).count();
        assert!(paced > 100_000 && paced as f64 > 0.95 * gaps.len() as f64, "{paced} of {}", gaps.len());
    }

    #[test]
    fn reports_are_apart() {
        let sent = packets(CallTraffic { reports: Span::from_millis(100), ..NONE });
        assert_eq!((sent.len(), sent[0]), (35_999, (0.1, 60)));
    }
}
