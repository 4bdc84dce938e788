"""The configuration in words; the models' defaults and `validation.point` have it in numbers."""

CONFIGURATION = """\
Chapters 3 and 4 are equations, with these readings of what they leave open:
* Frames of 802.11a at 54 Mb/s without a preamble, control frames at 54 Mb/s, no FCS, 24 bytes
  of MAC and 8 of LLC, eight attempts: of 72 readings the only one that gives 27 and 69 %.
* A timeout of 3 s (it is not given), an initial window of a packet, 10^7 bytes. The round in
  which a loss is found is counted once; as printed it counts twice, which leaves a negative
  time for listening.
* One packet comes down for each burst up; the largest m with a delay below its bound, and no
  saving below zero (figure 4.8). A kB has 1000 bytes.
* Axes that are not given: p 0.0001 to 0.1, RTT 50 to 300 ms, m 1 to 10.
Table 3.1 and figure 3.6 also have runs: one client, 802.11a as the standard times it, each
attempt lost with 0.3, RTS from the client, control frames at 54 Mb/s; a wire of 30 Mb/s and
100 ms there and back with 75 packets of queue, which packets of 1000 bytes at a constant rate
share; they weigh 1028 bytes with their headers. Reno, the TCP of chapter 2, with the timers
of ns-2 (0.2 s at least, 3 s at first), without delayed acknowledgements. 100 s, of which the
first 10 are left out.
Figures 4.5 to 4.8 also have runs: TCP flows of the same number and rate through the simulated
tunnel, evenly spaced, to a server without delay, 20 s; frames as the standard times them, with
control frames at 24 Mb/s; power asleep is the least for the frames of a run. The tunnel's
packets are datagrams of its own, and once for each point SCTP's, to 450 kB/s in figures 4.5
to 4.7.
"""
