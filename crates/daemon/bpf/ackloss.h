/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The detector of lost acknowledgements in C: the arithmetic of crates/proto/src/cc/ackloss.rs, where its rules are explained,
 * and of ackloss/stretch.rs. The kernel (ackloss.bpf.c) and the host compile the same text; tests on the host compare it with
 * the Rust form event by event.
 *
 * It differs from the Rust form where the kernel has little room: positions have 32 bits and wrap, as sequence numbers do, and
 * so do the counters. The state takes 44 bytes after those of CUBIC, of the 104 bytes that a congestion control has.
 *
 * The including file defines __u8, __u16, __u32, __u64 and __s32.
 */
#ifndef AIRWATT_ACKLOSS_H
#define AIRWATT_ACKLOSS_H

/* A segment in the fixed-point average is 2^16. */
#define ACKLOSS_SCALE_BITS 16
/* The extension assumes below this average, 1.25 segments, that the receiver acknowledges each segment. */
#define ACKLOSS_SMOOTHED_ONE (5u << (ACKLOSS_SCALE_BITS - 2))
/* Largest number of segments that one acknowledgement counts for, so that the average fits 32 bits. */
#define ACKLOSS_JUMP_MAX (1u << 15)
/* Largest value of the count. */
#define ACKLOSS_COUNT_MAX 0xffffu
/* A share of one. */
#define ACKLOSS_WHOLE (1u << 15)
/* Initial share of proven losses. A rule that depends on it alone demands a larger share. */
#define ACKLOSS_PROVEN_FIRST (ACKLOSS_WHOLE / 2)
/* A gap has weight 2^-3 in the shares of gaps. */
#define ACKLOSS_GAP_SHIFT 3

/* Number of the state's layout, 1 to 7. Sockets of an older program continue beside a newer one. */
#define ACKLOSS_LAYOUT 1

/* The settings; AckLossConfig in Rust, which checks their ranges. */
struct ackloss_config {
	__u32 threshold;
	/* b, or 0 if b is estimated. */
	__u32 fixed_b;
	__u8 beta_shift;
	/* Whether an acknowledgement of less than b segments reduces the count by one. */
	__u8 listing;
	/* Whether the extension for receivers that stretch their acknowledgements is in use. */
	__u8 stretch;
	__u8 regular_sixteenths;
	__u8 single_sixteenths;
	__u8 spare[3];
	/* A hash of the source, which distinguishes versions that have the same settings. */
	__u64 build;
};

/* The evidence of a timestamp about the previous acknowledgement; TimestampEvidence in Rust. */
enum ackloss_evidence {
	ACKLOSS_ABSENT = 0,
	ACKLOSS_LOST = 1,
	ACKLOSS_STRETCHED = 2,
	ACKLOSS_UNDECIDED = 3,
};

enum ackloss_flags {
	ACKLOSS_DATA_LOSS = 1,
	/* The round trip after a detection is not over, in which nothing is halved. */
	ACKLOSS_WAITING = 2,
	/* `recover` has not been acknowledged yet. An old position must not be compared, because positions wrap. */
	ACKLOSS_RECOVERING = 4,
	/* `first` is known. */
	ACKLOSS_FIRST = 8,
	/* The last acknowledgement had a gap that counts if the next one has none. */
	ACKLOSS_PENDING = 16,
	/* The bits above this one hold the layout. */
	ACKLOSS_LAYOUT_SHIFT = 5,
};

struct ackloss_state {
	/* The first position that is not acknowledged, the end of the present round trip, and that of the last recovery. */
	__u32 una;
	__u32 round_end;
	__u32 recover;
	/* Average number of segments for each acknowledgement, in 2^-16 segments. */
	__u32 smoothed;
	/* Tick of the timestamp clock at which the segment at `una` was sent. */
	__u32 first;
	__u32 losses;
	__u32 gaps;
	__u32 halvings;
	__u16 count;
	/* Number of acknowledgements that the detector has processed. */
	__u16 seen;
	/* Shares in 2^-15: of regular acknowledgements, of single gaps among those without evidence, of losses among those with. */
	__u16 regular;
	__u16 single;
	__u16 proven;
	/* Number of out-of-order segments that the receiver reports (sacked_out), at most 255. */
	__u8 early;
	__u8 flags;
};

#define ACKLOSS_INLINE static inline __attribute__((always_inline))

/* Whether position or tick `a` comes before `b`. */
ACKLOSS_INLINE int ackloss_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

/* Initializes the state of a connection in which everything before `una` is acknowledged. */
ACKLOSS_INLINE void ackloss_init(struct ackloss_state *s, __u32 una)
{
	s->una = una;
	s->round_end = una;
	s->recover = una;
	s->smoothed = 2u << ACKLOSS_SCALE_BITS;
	s->count = 0;
	s->seen = 0;
	s->first = 0;
	s->losses = 0;
	s->gaps = 0;
	s->halvings = 0;
	s->regular = ACKLOSS_WHOLE;
	s->single = ACKLOSS_WHOLE / 4;
	s->proven = ACKLOSS_PROVEN_FIRST;
	s->early = 0;
	s->flags = ACKLOSS_LAYOUT << ACKLOSS_LAYOUT_SHIFT;
}

/* b, the number of segments that one acknowledgement usually acknowledges. */
ACKLOSS_INLINE __u32 ackloss_b(const struct ackloss_state *s, const struct ackloss_config *c)
{
	__u32 b = (s->smoothed + (1u << (ACKLOSS_SCALE_BITS - 1))) >> ACKLOSS_SCALE_BITS;

	if (c->fixed_b)
		return c->fixed_b;
	if (c->stretch)
		return s->smoothed < ACKLOSS_SMOOTHED_ONE ? 1 : 2;
	return b ? b : 1;
}

/* TimestampEvidence::from_ticks. */
ACKLOSS_INLINE enum ackloss_evidence ackloss_evidence_of(__u32 first, __u32 last, __u32 echo)
{
	if (ackloss_before(first, echo))
		return ACKLOSS_LOST;
	if (echo == first && ackloss_before(first, last))
		return ACKLOSS_STRETCHED;
	return ACKLOSS_UNDECIDED;
}

ACKLOSS_INLINE __u16 ackloss_average(__u16 share, int yes, __u8 shift)
{
	return share - (share >> shift) + ((yes ? ACKLOSS_WHOLE : 0) >> shift);
}

ACKLOSS_INLINE void ackloss_smooth(struct ackloss_state *s, const struct ackloss_config *c, __u32 jump, __u32 mss)
{
	__u64 sample;

	if (c->fixed_b)
		return;
	/* The two usual cases need no division. */
	if (jump == 2 * mss)
		sample = 2u << ACKLOSS_SCALE_BITS;
	else if (jump == mss)
		sample = 1u << ACKLOSS_SCALE_BITS;
	else
		sample = ((__u64)jump << ACKLOSS_SCALE_BITS) / mss;
	s->smoothed = s->smoothed - (s->smoothed >> c->beta_shift) + (__u32)(sample >> c->beta_shift);
}

ACKLOSS_INLINE __u32 ackloss_less(__u32 from, __u32 take)
{
	return from > take ? from - take : 0;
}

/* Number of acknowledgements missing before one of `jump` bytes. The usual result, none, needs no division. */
ACKLOSS_INLINE __u32 ackloss_missing(const struct ackloss_state *s, const struct ackloss_config *c, __u32 jump, __u32 mss)
{
	__u64 usual = (__u64)ackloss_b(s, c) * mss;

	return jump < 2 * usual ? 0 : (__u32)(jump / usual) - 1;
}

ACKLOSS_INLINE int ackloss_credible(const struct ackloss_state *s, const struct ackloss_config *c)
{
	return s->regular >= c->regular_sixteenths * (ACKLOSS_WHOLE / 16) &&
	       s->single >= c->single_sixteenths * (ACKLOSS_WHOLE / 16);
}

/* The count of the extension; count_gap in Rust. */
ACKLOSS_INLINE __u32 ackloss_count_gap(struct ackloss_state *s, const struct ackloss_config *c, __u32 jump, __u32 mss,
				       __u32 duplicates, enum ackloss_evidence evidence)
{
	int regular = jump <= 2 * mss;
	int usual = jump <= (__u64)ackloss_b(s, c) * mss;
	__u32 count = s->count;
	__u32 missing, gap;

	s->regular = ackloss_average(s->regular, regular, c->beta_shift);
	if (regular)
		ackloss_smooth(s, c, jump, mss);
	missing = ackloss_missing(s, c, jump, mss);
	gap = ackloss_less(missing, duplicates);
	if ((s->flags & ACKLOSS_PENDING) && usual && evidence != ACKLOSS_LOST)
		count++;
	s->flags &= ~ACKLOSS_PENDING;
	if (evidence == ACKLOSS_LOST) {
		s->gaps++;
		s->proven = ackloss_average(s->proven, 1, ACKLOSS_GAP_SHIFT);
		count++;
	} else if (gap && evidence == ACKLOSS_STRETCHED) {
		s->gaps++;
		s->proven = ackloss_average(s->proven, 0, ACKLOSS_GAP_SHIFT);
	} else if (gap) {
		s->gaps++;
		s->single = ackloss_average(s->single, gap == 1, ACKLOSS_GAP_SHIFT);
		if (gap == 1 && (evidence == ACKLOSS_ABSENT || s->proven > ACKLOSS_PROVEN_FIRST) && ackloss_credible(s, c))
			s->flags |= ACKLOSS_PENDING;
	}
	return ackloss_less(count, ackloss_less(duplicates, missing));
}

/* The count of algorithm 1; count_losses in Rust. */
ACKLOSS_INLINE void ackloss_count(struct ackloss_state *s, const struct ackloss_config *c, __u32 jump, __u32 mss,
				  __u32 duplicates, enum ackloss_evidence evidence)
{
	__u32 before = s->count, count = before;
	__u32 acks;

	if (jump >= (__u64)ACKLOSS_JUMP_MAX * mss)
		jump = ACKLOSS_JUMP_MAX * mss;
	if (c->stretch) {
		count = ackloss_count_gap(s, c, jump, mss, duplicates, evidence);
	} else {
		ackloss_smooth(s, c, jump, mss);
		acks = (__u32)(jump / ((__u64)ackloss_b(s, c) * mss));
		s->gaps += ackloss_less(acks, 1) > duplicates;
		count = c->listing ? ackloss_less(count + acks, 1) : count + ackloss_less(acks, 1);
		count = ackloss_less(count, duplicates);
	}
	s->count = count < ACKLOSS_COUNT_MAX ? count : ACKLOSS_COUNT_MAX;
	s->losses += s->count - before;
}

/* The decision of algorithm 1, once per round trip: nonzero if the window is to be halved. */
ACKLOSS_INLINE int ackloss_end_round(struct ackloss_state *s, const struct ackloss_config *c)
{
	int seen = s->count >= c->threshold;
	int halve;

	if (!(s->flags & ACKLOSS_WAITING)) {
		if (seen || (s->flags & ACKLOSS_DATA_LOSS))
			s->flags |= ACKLOSS_WAITING;
		return 0;
	}
	halve = seen && !(s->flags & ACKLOSS_DATA_LOSS);
	s->halvings += halve;
	s->flags &= ~(ACKLOSS_DATA_LOSS | ACKLOSS_WAITING);
	s->count = 0;
	return halve;
}

/*
 * Processes an acknowledgement of everything below `to`, when everything below `sent` has been sent in segments of `mss` bytes.
 * `duplicates` is the number of out-of-order segments and late acknowledgements since the last one. Returns nonzero if the
 * window is to be halved now.
 */
ACKLOSS_INLINE int ackloss_on_ack(struct ackloss_state *s, const struct ackloss_config *c, __u32 to, __u32 sent, __u32 mss,
				  __u32 duplicates, enum ackloss_evidence evidence)
{
	__u32 from = s->una;

	s->una = to;
	if (!(s->flags & ACKLOSS_RECOVERING) || !ackloss_before(from, s->recover)) {
		s->flags &= ~ACKLOSS_RECOVERING;
		ackloss_count(s, c, to - from, mss, duplicates, evidence);
	}
	if (ackloss_before(to, s->round_end))
		return 0;
	s->round_end = sent;
	return ackloss_end_round(s, c);
}

/* Processes a data loss that duplicate acknowledgements report, when everything below `sent` has been sent. */
ACKLOSS_INLINE void ackloss_on_data_loss(struct ackloss_state *s, __u32 sent)
{
	s->flags |= ACKLOSS_DATA_LOSS | ACKLOSS_RECOVERING;
	s->recover = sent;
}

/* Processes a retransmission timeout, when everything below `sent` has been sent. */
ACKLOSS_INLINE void ackloss_on_timeout(struct ackloss_state *s, __u32 sent)
{
	ackloss_on_data_loss(s, sent);
	s->round_end = sent;
}

#endif
