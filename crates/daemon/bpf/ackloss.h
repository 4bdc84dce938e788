/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The detector of lost acknowledgements in C: the arithmetic of crates/proto/src/cc/ackloss.rs, where its rules are explained,
 * and of ackloss/stretch.rs. One form for the kernel (ackloss.bpf.c) and for the host, where tests hold it to the Rust form
 * event by event.
 *
 * It differs from the Rust form in what a kernel has no room for: positions are 32 bit wide and wrap, as sequence numbers do,
 * and so do the counters. State is 44 bytes, behind what CUBIC keeps in the 104 bytes that a congestion control has.
 *
 * The includer defines __u8, __u16, __u32, __u64 and __s32.
 */
#ifndef AIRWATT_ACKLOSS_H
#define AIRWATT_ACKLOSS_H

/* Fractions of a segment in the average: 2^16. */
#define ACKLOSS_SCALE_BITS 16
/* The extension: below this average each segment is acknowledged by itself; one and a quarter. */
#define ACKLOSS_SMOOTHED_ONE (5u << (ACKLOSS_SCALE_BITS - 2))
/* No acknowledgement counts for more segments, so that the average fits 32 bits. */
#define ACKLOSS_JUMP_MAX (1u << 15)
/* The count goes no further. */
#define ACKLOSS_COUNT_MAX 0xffffu
/* One, as a share. */
#define ACKLOSS_WHOLE (1u << 15)
/* What the share of proven losses begins with: more are asked for where only it decides. */
#define ACKLOSS_PROVEN_FIRST (ACKLOSS_WHOLE / 2)
/* Weight of a gap in the shares of gaps: 2^-3. */
#define ACKLOSS_GAP_SHIFT 3

/* Which form of the state this is: sockets of an older program live on beside a newer one. 1 to 7. */
#define ACKLOSS_LAYOUT 1

/* Settings, AckLossConfig in Rust. What is allowed is checked there. */
struct ackloss_config {
	__u32 threshold;
	/* 0: b is estimated. Else b. */
	__u32 fixed_b;
	__u8 beta_shift;
	/* An acknowledgement for less than b segments takes one off the count. */
	__u8 listing;
	/* The extension for receivers that stretch their acknowledgements. */
	__u8 stretch;
	__u8 regular_sixteenths;
	__u8 single_sixteenths;
	__u8 spare[3];
	/* What the object was built from, by a hash: tells versions apart that have the same settings. */
	__u64 build;
};

/* What a timestamp tells of the acknowledgement before (Told in Rust). */
enum ackloss_told {
	ACKLOSS_NOTHING = 0,
	ACKLOSS_LOST = 1,
	ACKLOSS_STRETCHED = 2,
	ACKLOSS_UNDECIDED = 3,
};

enum ackloss_flags {
	ACKLOSS_DATA_LOSS = 1,
	/* A round trip of grace. */
	ACKLOSS_WAITING = 2,
	/* `recover` has not been acknowledged yet. Positions wrap, so that an old one must not be compared. */
	ACKLOSS_RECOVERING = 4,
	/* `first` is known. */
	ACKLOSS_FIRST = 8,
	/* The last acknowledgement had a gap that counts if the next one has none. */
	ACKLOSS_PENDING = 16,
	/* The layout stands above. */
	ACKLOSS_LAYOUT_SHIFT = 5,
};

struct ackloss_state {
	/* The first position that is not acknowledged, and what ended the round trip and the recovery that were last. */
	__u32 una;
	__u32 round_end;
	__u32 recover;
	/* Average of what an acknowledgement acknowledges, in 2^-16 segments. */
	__u32 smoothed;
	/* Tick of the timestamps' clock at which the segment at `una` was sent. */
	__u32 first;
	__u32 losses;
	__u32 gaps;
	__u32 halvings;
	__u16 count;
	/* Acknowledgements that were looked at, of those that arrived. */
	__u16 seen;
	/* Shares in 2^-15: of regular acknowledgements, of single gaps among those untold, of losses among those told. */
	__u16 regular;
	__u16 single;
	__u16 proven;
	/* Segments that the receiver has reported as early, at most 255. */
	__u8 early;
	__u8 flags;
};

#define ACKLOSS_INLINE static inline __attribute__((always_inline))

/* Whether position or tick `a` comes before `b`. */
ACKLOSS_INLINE int ackloss_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

/* A connection begins, with everything before `una` acknowledged. */
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

ACKLOSS_INLINE __u32 ackloss_b(const struct ackloss_state *s, const struct ackloss_config *c)
{
	__u32 b = (s->smoothed + (1u << (ACKLOSS_SCALE_BITS - 1))) >> ACKLOSS_SCALE_BITS;

	if (c->fixed_b)
		return c->fixed_b;
	if (c->stretch)
		return s->smoothed < ACKLOSS_SMOOTHED_ONE ? 1 : 2;
	return b ? b : 1;
}

/* Told::from_ticks. */
ACKLOSS_INLINE enum ackloss_told ackloss_told(__u32 first, __u32 last, __u32 echo)
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
	/* Without a division where it is known. */
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

/* Acknowledgements missing before one for `jump` bytes; most often none, and that without a division. */
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

/* The extension's count, count_gap. */
ACKLOSS_INLINE __u32 ackloss_count_gap(struct ackloss_state *s, const struct ackloss_config *c, __u32 jump, __u32 mss,
				       __u32 duplicates, enum ackloss_told told)
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
	if ((s->flags & ACKLOSS_PENDING) && usual && told != ACKLOSS_LOST)
		count++;
	s->flags &= ~ACKLOSS_PENDING;
	if (told == ACKLOSS_LOST) {
		s->gaps++;
		s->proven = ackloss_average(s->proven, 1, ACKLOSS_GAP_SHIFT);
		count++;
	} else if (gap && told == ACKLOSS_STRETCHED) {
		s->gaps++;
		s->proven = ackloss_average(s->proven, 0, ACKLOSS_GAP_SHIFT);
	} else if (gap) {
		s->gaps++;
		s->single = ackloss_average(s->single, gap == 1, ACKLOSS_GAP_SHIFT);
		if (gap == 1 && (told == ACKLOSS_NOTHING || s->proven > ACKLOSS_PROVEN_FIRST) && ackloss_credible(s, c))
			s->flags |= ACKLOSS_PENDING;
	}
	return ackloss_less(count, ackloss_less(duplicates, missing));
}

/* Algorithm 1's count, count_losses. */
ACKLOSS_INLINE void ackloss_count(struct ackloss_state *s, const struct ackloss_config *c, __u32 jump, __u32 mss,
				  __u32 duplicates, enum ackloss_told told)
{
	__u32 before = s->count, count = before;
	__u32 acks;

	if (jump >= (__u64)ACKLOSS_JUMP_MAX * mss)
		jump = ACKLOSS_JUMP_MAX * mss;
	if (c->stretch) {
		count = ackloss_count_gap(s, c, jump, mss, duplicates, told);
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

/* Algorithm 1's "once per RTT". */
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
 * Data up to position `to` is acknowledged, where up to `sent` was sent in segments of `mss` bytes, after `duplicates`
 * reports of early segments and acknowledgements that came late. Nonzero if the window is to be halved now.
 */
ACKLOSS_INLINE int ackloss_on_ack(struct ackloss_state *s, const struct ackloss_config *c, __u32 to, __u32 sent, __u32 mss,
				  __u32 duplicates, enum ackloss_told told)
{
	__u32 from = s->una;

	s->una = to;
	if (!(s->flags & ACKLOSS_RECOVERING) || !ackloss_before(from, s->recover)) {
		s->flags &= ~ACKLOSS_RECOVERING;
		ackloss_count(s, c, to - from, mss, duplicates, told);
	}
	if (ackloss_before(to, s->round_end))
		return 0;
	s->round_end = sent;
	return ackloss_end_round(s, c);
}

/* Duplicate acknowledgements told of a data loss, with everything below `sent` sent. */
ACKLOSS_INLINE void ackloss_on_data_loss(struct ackloss_state *s, __u32 sent)
{
	s->flags |= ACKLOSS_DATA_LOSS | ACKLOSS_RECOVERING;
	s->recover = sent;
}

/* The retransmission timer expired, with everything below `sent` sent. */
ACKLOSS_INLINE void ackloss_on_timeout(struct ackloss_state *s, __u32 sent)
{
	ackloss_on_data_loss(s, sent);
	s->round_end = sent;
}

#endif
