// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * Congestion controls for the running kernel: Reno and CUBIC that halve their windows when their acknowledgements are lost.
 *
 * Growth, data losses and undoing are the kernel's own: its functions are called. The detector of ackloss.h is added, and gets
 * its events from two operations:
 * - `pkts_acked` runs for every acceptable acknowledgement while data is in flight, after the acknowledged segments have left the
 *   queue and before the window grows. `snd_una` is the acknowledged position, the head of the queue sorted by time of sending
 *   is the first segment that the next acknowledgement covers, and `sacked_out` is the number of out-of-order segments at the
 *   receiver. No operation runs for an acknowledgement below `snd_una`. Such acknowledgements, overtaken in the queues of this
 *   host, are found by the count of received segments.
 * - `set_state` reports fast recovery, retransmission timeouts, and congestion that was marked or met in a queue of this host.
 *   The congestion control reacts to all of them itself.
 *
 * A TCP timestamp is the time of sending in milliseconds (microseconds if a route asks for it) plus an offset, which the kernel
 * subtracts from an echo before a congestion control reads it.
 *
 * Left out: a halving is not undone. The state of CUBIC takes the first 60 of 104 bytes in every kernel from 4.9 to 6.18; the
 * state of the detector is at the end of these bytes.
 */
#include "kernel.h"
#include "ackloss.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The settings, written before loading; the verifier treats them as constants. */
const volatile struct ackloss_config config = { .threshold = 1, .beta_shift = 5 };

/* Functions of the kernel. Programs wrap them, because an operation must be a program. Those of CUBIC may be missing. */
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void cubictcp_init(struct sock *sk) __ksym __weak;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym __weak;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym __weak;
extern void cubictcp_state(struct sock *sk, __u8 new_state) __ksym __weak;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym __weak;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym __weak;

/* The members of tcp_congestion_ops that are used; libbpf finds them by name. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	__u32 flags;
	char name[16];
};

/* TCP_CONG_NON_RESTRICTED: any user may choose it, because it takes no larger share of the path than Reno. */
#define FREE_TO_ALL 1

#define OP(name) SEC("struct_ops/" #name)

/*
 * Returns the state of the detector. The barrier keeps the compiler from addressing members backwards from another address: on
 * x86 before 6.8 the kernel's compiler of BPF treats a load with a negative offset as one from a bad address, and returns 0.
 */
ACKLOSS_INLINE struct ackloss_state *state_of(struct tcp_sock *tp)
{
	struct ackloss_state *s =
		(void *)tp->inet_conn.icsk_ca_priv + sizeof(tp->inet_conn.icsk_ca_priv) - sizeof(struct ackloss_state);

	barrier_var(s);
	return s;
}

/* Returns the settings. The barrier keeps the compiler from using the initial values above. */
ACKLOSS_INLINE const struct ackloss_config *settings(void)
{
	const struct ackloss_config *c = (const struct ackloss_config *)&config;

	barrier_var(c);
	return c;
}

/* Notes the tick at which the first segment of the next acknowledgement was sent, if there is one. */
ACKLOSS_INLINE void note_first(struct tcp_sock *tp, struct ackloss_state *s, __u32 tick_ns)
{
	struct list_head *next = tp->tsorted_sent_queue.next;
	__u64 sent_ns = 0;

	s->flags &= ~ACKLOSS_FIRST;
	if (next == &tp->tsorted_sent_queue)
		return;
	if (bpf_probe_read_kernel(&sent_ns, sizeof(sent_ns),
				  (void *)next - bpf_core_field_offset(struct sk_buff, tcp_tsorted_anchor) +
					  bpf_core_field_offset(struct sk_buff, skb_mstamp_ns)))
		return;
	s->first = (__u32)(sent_ns / tick_ns);
	s->flags |= ACKLOSS_FIRST;
}

/* Returns the evidence of this acknowledgement's timestamp. Retransmitted segments give none. */
ACKLOSS_INLINE enum ackloss_evidence read_timestamp(struct tcp_sock *tp, struct ackloss_state *s, __s32 rtt_us, __u32 tick_us)
{
	if (!BPF_CORE_READ_BITFIELD(tp, rx_opt.saw_tstamp))
		return ACKLOSS_ABSENT;
	if (!(s->flags & ACKLOSS_FIRST) || rtt_us < 0)
		return ACKLOSS_UNDECIDED;
	return ackloss_evidence_of(s->first, (__u32)((tp->tcp_mstamp - rtt_us) / tick_us), tp->rx_opt.rcv_tsecr);
}

/*
 * Returns the number of acknowledgements that have arrived and were not processed since the last call: those below `snd_una`,
 * and those that this host merged. Segments are counted when they arrive, so the number is only valid if the backlog of the
 * socket is empty. Segments with data are left out.
 */
ACKLOSS_INLINE __u32 late_acks(struct tcp_sock *tp, struct ackloss_state *s)
{
	__u16 arrived = tp->segs_in - tp->data_segs_in;
	__u16 late = arrived - s->seen;

	if (((struct sock *)tp)->sk_backlog.len)
		return 0;
	s->seen = arrived;
	return late < 0x8000 ? late : 0;
}

/* Processes an acknowledgement. Returns nonzero if the window is to be halved. */
ACKLOSS_INLINE int watch(struct tcp_sock *tp, __s32 rtt_us)
{
	struct ackloss_state *s = state_of(tp);
	const struct ackloss_config *c = settings();
	__u32 una = tp->snd_una, mss = tp->mss_cache, sacked = tp->sacked_out;
	enum ackloss_evidence evidence = ACKLOSS_ABSENT;
	__u32 duplicates, tick_us = 1000;
	int halve = 0;

	s->seen++;
	if (una != s->una && mss) {
		duplicates = ackloss_less(s->early, sacked) + late_acks(tp, s);
		if (c->stretch) {
			if (bpf_core_field_exists(tp->tcp_usec_ts) && BPF_CORE_READ_BITFIELD(tp, tcp_usec_ts))
				tick_us = 1;
			evidence = read_timestamp(tp, s, rtt_us, tick_us);
			note_first(tp, s, tick_us * 1000);
		}
		halve = ackloss_on_ack(s, c, una, tp->snd_nxt, mss, duplicates, evidence);
	}
	s->early = sacked < 255 ? sacked : 255;
	return halve;
}

ACKLOSS_INLINE void watch_state(struct tcp_sock *tp, __u8 new_state)
{
	if (new_state == CA_LOSS)
		ackloss_on_timeout(state_of(tp), tp->snd_nxt);
	else if (new_state == CA_RECOVERY || new_state == CA_CWR)
		ackloss_on_data_loss(state_of(tp), tp->snd_nxt);
}

ACKLOSS_INLINE void halve_window(struct tcp_sock *tp)
{
	__u32 cwnd = tp->snd_cwnd / 2;

	tp->snd_cwnd = cwnd ? cwnd : 1;
	tp->snd_ssthresh = tp->snd_cwnd;
}

ACKLOSS_INLINE void begin(struct tcp_sock *tp)
{
	struct ackloss_state *s = state_of(tp);

	ackloss_init(s, tp->snd_una);
	s->seen = tp->segs_in - tp->data_segs_in;
}

OP(ackloss_init)
void BPF_PROG(al_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	begin(tp);
}

OP(ackloss_acked)
void BPF_PROG(al_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (watch(tp, sample->rtt_us))
		halve_window(tp);
}

OP(ackloss_state)
void BPF_PROG(al_state, struct sock *sk, __u8 new_state)
{
	watch_state((struct tcp_sock *)sk, new_state);
}

OP(ackloss_ssthresh)
__u32 BPF_PROG(al_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

OP(ackloss_cong_avoid)
void BPF_PROG(al_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

OP(ackloss_undo_cwnd)
__u32 BPF_PROG(al_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ackloss = {
	.init = (void *)al_init,
	.ssthresh = (void *)al_ssthresh,
	.cong_avoid = (void *)al_cong_avoid,
	.set_state = (void *)al_state,
	.pkts_acked = (void *)al_acked,
	.undo_cwnd = (void *)al_undo_cwnd,
	.flags = FREE_TO_ALL,
	.name = "ackloss",
};

OP(ackloss_cubic_init)
void BPF_PROG(alc_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	cubictcp_init(sk);
	begin(tp);
}

OP(ackloss_cubic_acked)
void BPF_PROG(alc_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	cubictcp_acked(sk, sample);
	if (watch(tp, sample->rtt_us)) {
		/* A new epoch of CUBIC begins, with this window as W_max. */
		cubictcp_recalc_ssthresh(sk);
		halve_window(tp);
	}
}

OP(ackloss_cubic_state)
void BPF_PROG(alc_state, struct sock *sk, __u8 new_state)
{
	cubictcp_state(sk, new_state);
	watch_state((struct tcp_sock *)sk, new_state);
}

OP(ackloss_cubic_ssthresh)
__u32 BPF_PROG(alc_ssthresh, struct sock *sk)
{
	return cubictcp_recalc_ssthresh(sk);
}

OP(ackloss_cubic_cong_avoid)
void BPF_PROG(alc_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	cubictcp_cong_avoid(sk, ack, acked);
}

OP(ackloss_cubic_cwnd_event)
void BPF_PROG(alc_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

OP(ackloss_cubic_undo_cwnd)
__u32 BPF_PROG(alc_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ackloss_cubic = {
	.init = (void *)alc_init,
	.ssthresh = (void *)alc_ssthresh,
	.cong_avoid = (void *)alc_cong_avoid,
	.set_state = (void *)alc_state,
	.cwnd_event = (void *)alc_cwnd_event,
	.pkts_acked = (void *)alc_acked,
	.undo_cwnd = (void *)alc_undo_cwnd,
	.flags = FREE_TO_ALL,
	.name = "ackloss_cubic",
};
