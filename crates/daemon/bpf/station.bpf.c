// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * The packets of a Wi-Fi interface, counted by flow, for `airwattd station`. A flow is what a peer's address and a port of this host
 * exchange, over whatever connections: a peer that opens a new one for each question is one flow.
 *
 * It is the filter of a packet socket, and it accepts no packet: the socket stays empty, and the daemon wakes up only for
 * the events that it asked for. The filter ends with its socket, so that a killed daemon leaves nothing behind, which a filter
 * of tc would. Times are those of CLOCK_MONOTONIC in nanoseconds.
 *
 * Left out: what peers ask by UDP, which has no time stamps, packets in tunnels (the outer flow counts), IPv6 extension headers and fragments
 * (they count as a flow without ports), round trips of a connection beside another one of the same flow that waits for its answer, and a packet socket's own view: it sees what the driver was given, and what it handed up.
 */
#include "kernel.h"
#include <bpf/bpf_endian.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* linux/bpf.h, whose order is fixed: the context of a socket filter up to the last member that is read. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
};

/* linux/if_packet.h */
#define PACKET_HOST 0
#define PACKET_OUTGOING 4
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define PROTO_ICMP 1
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_ICMP6 58
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2

enum { false, true };

#define FLOWS 1024
#define TAILS 3
#define BUCKETS 80
/* Before the daemon acts, while it does, and while it stands aside. */
#define PERIODS 3
/* The silence after which a packet of the peer shows where the beacons are. */
#define SILENCE 500000000ULL
/* The shortest pause of a flow after which a packet of its peer is reported: packets that were sent together are closer. */
#define ARRIVAL_PAUSE 4000000ULL

/* The pause after which a packet of a peer is no answer to this host any more, and somebody may wait for it to be received. */
#define UNASKED_PAUSE 300000000ULL
/* What this host asks for by one packet, and the tail after which the radio counts as asleep when it asks: mac80211's. */
enum { ASKED_DATA, ASKED_UDP, ASKED_ECHO, ASKED_HANDSHAKE };
#define ASKED 3
#define LIKELY_TAIL 1
/* How far a peer's time stamps may be from its packets: farther, it has another clock, or one that does not count milliseconds. */
#define STAMP_ERROR 2000000000LL
/* The time after which a clock that does not count milliseconds would have been noticed. */
#define STAMPS_KNOWN 4000000000ULL
/* The quickest packets of this time, and of as much before it, show how long the way of a peer's packets takes at least. */
#define QUICKEST 60000000000ULL
#define NEVER 0x7fffffffffffffffLL
/* ACKNOWLEDGEMENT of crates/proto: a packet of this length or shorter is one. */
#define ACKNOWLEDGEMENT 84

/* crates/daemon/src/station/observer.rs decodes these, in host byte order unless they say otherwise. */
struct key {
	__u8 local[16];
	__u8 remote[16];
	/* Of an echo request of this host its identifier. */
	__be16 local_port;
	__u8 protocol;
	__u8 version;
};

/* How much longer than its quickest ones a peer's packets take, by its TCP time stamps (RFC 7323), or by those that ping puts into its
 * echo requests. */
struct way {
	/* A packet to which the others are compared, and its stamp; 0 before the first. */
	__u64 at;
	/* The least delays beyond that packet's, of the latest time and of the one before it. */
	__s64 least;
	__s64 before;
	__u64 since;
	/* The delay of a packet after a pause that counts when the peer's next one is there, which may be quicker. */
	__s64 waited;
	__u32 stamp;
	__u32 has_waited;
	/* Whether the wait of the packet to which the others are compared counts as soon as its clock is known. */
	__u32 first_waited;
	/* Whether a clock of this flow was seen to count milliseconds. */
	__u32 is_known;
};

struct flow {
	/* First packet after the last pause, and last packet. */
	__u64 episode;
	__u64 last;
	__u64 sent_packets;
	__u64 sent_bytes;
	__u64 received_packets;
	__u64 received_bytes;
	/* The packet whose answer is waited for: when it was sent (0: none), and what answers it. */
	__u64 asked_at;
	__u32 asked;
	/* The end of what was sent, so that a retransmission is recognised. */
	__u32 edge;
	__u32 dscp;
	/* The peer's port of the connection that is timed. */
	__be16 port;
	/* Whether this host has sent more than acknowledgements since the last packet of the peer that is more. */
	__u16 has_sent;
	struct way way;
	/* Of the packet whose answer is waited for: what it is, and whether the radio was asleep when it was sent. */
	__u16 asked_kind;
	__u16 asked_asleep;
	/* Whether this host has sent the flow's first packet. */
	__u32 is_client;
};

/* Which packets of a flow the daemon asked to be woken for; of a flow without an entry, all. */
enum { WAKE_ALWAYS, WAKE_NEVER };

struct control {
	__u64 pause;
	__u64 tails[TAILS];
	/* Whether the next packet that the daemon asked for wakes it; cleared when it does. */
	__u32 armed;
	/* The period that delays are counted in. */
	__u32 period;
	/* Whether power save is on, so that the time of a packet after a silence says something. */
	__u32 saves;
	__u32 spare;
};

struct totals {
	__u64 packets;
	__u64 bytes;
	__u64 last;
	/* Time within each tail after a packet. */
	__u64 awake[TAILS];
	/* Packets of peers after a pause, by period. */
	__u64 unasked[PERIODS];
};

enum { EVENT_ACTIVITY, EVENT_AFTER_SILENCE, EVENT_ARRIVAL };

struct event {
	__u64 at;
	__u32 kind;
	/* Of an arrival: whether power save is on, times since the last packet of its flow and of any flow, and the flow. */
	__u32 saves;
	__u64 pause;
	__u64 silence;
	struct key key;
	/* Of an arrival, as of its flow. */
	__u32 has_sent;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOWS);
	__type(key, struct key);
	__type(value, struct flow);
} flows SEC(".maps");

/* Written by the daemon only, so that it never overwrites a counter. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOWS);
	__type(key, struct key);
	__type(value, __u32);
} wakes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct totals);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PERIODS * BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} delays SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PERIODS * BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} waits SEC(".maps");

struct histogram {
	__u64 counts[BUCKETS];
};

/* Of what this host asks for by one packet: by period, kind, and whether the radio was asleep. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PERIODS * ASKED * 2);
	__type(key, __u32);
	__type(value, struct histogram);
} asked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} events SEC(".maps");

/* What the headers say. */
struct packet {
	struct key key;
	__be16 remote_port;
	__u32 dscp;
	__u32 transport;
	bool group;
};

static __always_inline bool read_v4(struct __sk_buff *skb, bool sent, struct packet *p)
{
	__u8 h[20];

	if (bpf_skb_load_bytes(skb, 0, h, sizeof(h)))
		return false;
	p->dscp = h[1] >> 2;
	p->key.version = 4;
	p->key.protocol = h[9];
	__builtin_memcpy(p->key.local, sent ? h + 12 : h + 16, 4);
	__builtin_memcpy(p->key.remote, sent ? h + 16 : h + 12, 4);
	p->group = h[16] >= 224;
	/* Of a fragment after the first, what follows is no transport header. */
	p->transport = (h[6] & 0x1f) || h[7] ? 0 : (h[0] & 15) * 4;
	return true;
}

static __always_inline bool read_v6(struct __sk_buff *skb, bool sent, struct packet *p)
{
	__u8 h[40];

	if (bpf_skb_load_bytes(skb, 0, h, sizeof(h)))
		return false;
	p->dscp = (h[0] & 15) << 2 | h[1] >> 6;
	p->key.version = 6;
	p->key.protocol = h[6];
	__builtin_memcpy(p->key.local, sent ? h + 8 : h + 24, 16);
	__builtin_memcpy(p->key.remote, sent ? h + 24 : h + 8, 16);
	p->group = h[24] == 0xff;
	p->transport = 40;
	return true;
}

static __always_inline __u32 big(const __u8 *at)
{
	return (__u32)at[0] << 24 | (__u32)at[1] << 16 | (__u32)at[2] << 8 | at[3];
}

/*
 * Four buckets an octave from 64 microseconds on; what is shorter is in the first. A global function: the verifier looks at it once instead
 * of at each call along each path.
 */
__attribute__((noinline)) __u32 bucket(__u64 nanos)
{
	__u64 us = nanos / 1000;
	__u32 octave = 6, index;

	if (us < 64)
		return 0;
	if (us >> 25)
		return BUCKETS - 1;
	for (int i = 7; i < 25; i++)
		if (us >> i)
			octave = i;
	index = (octave - 6) * 4 + ((us >> (octave - 2)) & 3) + 1;
	return index < BUCKETS ? index : BUCKETS - 1;
}

static __always_inline void add(void *histograms, const struct control *c, __u64 nanos)
{
	__u32 place = bucket(nanos);
	__u32 index = c->period * BUCKETS + (place < BUCKETS ? place : BUCKETS - 1);
	__u64 *count = bpf_map_lookup_elem(histograms, &index);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline void answered(struct flow *flow, const struct control *c, __u64 now)
{
	__u64 delay = now - flow->asked_at;
	__u32 kind = flow->asked_kind, index, place = bucket(delay);
	struct histogram *histogram;

	add(&delays, c, delay);
	flow->asked_at = 0;
	if (kind == ASKED_DATA)
		return;
	index = (c->period * ASKED + kind - 1) * 2 + (flow->asked_asleep ? 1 : 0);
	histogram = bpf_map_lookup_elem(&asked, &index);
	if (histogram && place < BUCKETS)
		__sync_fetch_and_add(&histogram->counts[place], 1);
}

static __always_inline void ask(struct flow *flow, __u32 kind, bool asleep, __u64 now)
{
	flow->asked_at = now;
	flow->asked_kind = kind;
	flow->asked_asleep = asleep;
}

/* Reads the time stamp of a segment, where Linux, macOS and FreeBSD have it. */
static __always_inline bool read_stamp(struct __sk_buff *skb, const struct packet *p, const __u8 *h, __u32 *stamp)
{
	__u8 o[6];
	__u32 at = p->transport + 22;

	if ((h[12] >> 4) < 8)
		return false;
	if (h[13] & 2)
		at += 4;
	if (bpf_skb_load_bytes(skb, at, o, sizeof(o)))
		return false;
	if ((h[13] & 2) && o[0] != 8 && bpf_skb_load_bytes(skb, at + 4, o, sizeof(o)))
		return false;
	if (o[0] != 8 || o[1] != 10)
		return false;
	*stamp = big(o + 2);
	return true;
}

static __always_inline __u32 little(const __u8 *at)
{
	return (__u32)at[3] << 24 | (__u32)at[2] << 16 | (__u32)at[1] << 8 | at[0];
}

/*
 * Reads the time at which a ping says that it was sent: a timeval of 64 or 32 bits in the order of most processors, as of iputils, or one of
 * 32 bits in network order, as of macOS. Whatever else is there is another clock or none, which is noticed later.
 */
static __always_inline bool read_ping_stamp(struct __sk_buff *skb, const struct packet *p, __u32 *stamp)
{
	__u8 b[16];
	__u32 seconds, micros;

	if (bpf_skb_load_bytes(skb, p->transport + 8, b, sizeof(b)))
		return false;
	seconds = little(b);
	micros = little(b + 4);
	if (!micros && !little(b + 12)) {
		micros = little(b + 8);
	} else if (micros >= 1000000) {
		seconds = big(b);
		micros = big(b + 4);
	}
	*stamp = seconds * 1000 + micros / 1000;
	return micros < 1000000;
}

/* Times a packet of a peer by its stamp. `unasked`: it came after a pause, and asks for something. */
static __always_inline void time_way(struct flow *flow, __u32 stamp, bool unasked, const struct control *c, __u64 now)
{
	struct way *way = &flow->way;
	__s64 delay, least;

	delay = (__s64)(now - way->at) - (__s64)(__s32)(stamp - way->stamp) * 1000000;
	if (!way->at || delay > STAMP_ERROR || delay < -STAMP_ERROR) {
		way->at = way->since = now;
		way->stamp = stamp;
		way->least = 0;
		way->before = NEVER;
		way->has_waited = 0;
		way->first_waited = unasked;
		return;
	}
	if (now - way->since >= QUICKEST) {
		way->before = now - way->since < 2 * QUICKEST ? way->least : NEVER;
		way->least = NEVER;
		way->since = now;
	}
	if (delay < way->least)
		way->least = delay;
	least = way->least < way->before ? way->least : way->before;
	if (now - way->at >= STAMPS_KNOWN)
		way->is_known = 1;
	if (way->is_known && way->first_waited)
		add(&waits, c, least < 0 ? -least : 0);
	if (way->is_known && way->has_waited)
		add(&waits, c, way->waited > least ? way->waited - least : 0);
	if (way->is_known)
		way->first_waited = 0;
	way->has_waited = unasked;
	way->waited = delay;
}

/* Round trips of TCP by what is acknowledged. A segment that is sent again is not timed (RFC 6298, Karn's algorithm). */
static __always_inline void time_round_trip(const struct packet *p, const __u8 *h, __s32 payload, struct flow *flow, bool sent,
					    bool asleep, const struct control *c, __u64 now)
{
	__u32 end;

	if (!sent) {
		if (flow->asked_at && flow->port == p->remote_port && (h[13] & 0x10) &&
		    (__s32)(big(h + 8) - flow->asked) >= 0)
			answered(flow, c, now);
		return;
	}
	end = big(h + 4) + payload + (h[13] & 2 ? 1 : 0);
	if (payload <= 0 && !(h[13] & 2))
		return;
	if (flow->port != p->remote_port) {
		/* Another connection has its turn when the answer to this one is there, or does not come. */
		if (flow->asked_at && now - flow->asked_at < c->pause)
			return;
		flow->port = p->remote_port;
		flow->asked_at = 0;
		flow->edge = 0;
	}
	if (flow->edge && (__s32)(end - flow->edge) <= 0) {
		flow->asked_at = 0;
		return;
	}
	flow->edge = end ? end : 1;
	if (!flow->asked_at) {
		flow->asked = end;
		ask(flow, (h[13] & 0x12) == 2 ? ASKED_HANDSHAKE : ASKED_DATA, asleep, now);
	}
}

/* Times a segment. Returns whether it came `unasked` and wants something: it has data, or opens a connection. */
static __always_inline bool time_tcp(struct __sk_buff *skb, const struct packet *p, struct flow *flow, bool sent,
				     bool unasked, bool asleep, const struct control *c, __u64 now)
{
	__u8 h[14];
	__s32 payload;
	__u32 stamp;

	if (bpf_skb_load_bytes(skb, p->transport, h, sizeof(h)))
		return false;
	payload = skb->len - p->transport - (h[12] >> 4) * 4;
	unasked = unasked && (payload > 0 || (h[13] & 0x12) == 2);
	if (!sent && read_stamp(skb, p, h, &stamp))
		time_way(flow, stamp, unasked, c, now);
	time_round_trip(p, h, payload, flow, sent, asleep, c, now);
	return unasked;
}

/*
 * Times a request of this host by UDP: the first datagram after a pause (`begins`) until the first one of its peer, which may answer another
 * one that was sent together with it. A request that is repeated is not timed, since nobody knows which of the two was answered.
 */
static __always_inline void time_datagram(const struct packet *p, struct flow *flow, bool sent, bool begins, bool asleep,
					  const struct control *c, __u64 now)
{
	bool waits = flow->asked_at && now - flow->asked_at < c->pause;

	if (!sent) {
		if (waits && flow->port == p->remote_port)
			answered(flow, c, now);
		return;
	}
	if (waits) {
		if (now - flow->asked_at >= ARRIVAL_PAUSE)
			flow->asked_at = 0;
	} else if (begins && flow->is_client) {
		flow->port = p->remote_port;
		ask(flow, ASKED_UDP, asleep, now);
	}
}

static __always_inline void time_echo(const __u8 *h, struct flow *flow, bool sent, bool v4, bool asleep, const struct control *c,
				      __u64 now)
{
	__u32 number = big(h + 4);

	if (sent && h[0] == (v4 ? 8 : 128)) {
		flow->asked = number;
		ask(flow, ASKED_ECHO, asleep, now);
	} else if (!sent && h[0] == (v4 ? 0 : 129) && flow->asked_at && flow->asked == number) {
		answered(flow, c, now);
	}
}

/* Whether a packet is an echo request of this host, or the reply to one. */
static __always_inline bool is_own_echo(const struct packet *p, const __u8 *h, bool sent)
{
	if (p->key.protocol == PROTO_ICMP)
		return h[0] == (sent ? 8 : 0);
	return p->key.protocol == PROTO_ICMP6 && h[0] == (sent ? 128 : 129);
}

/* Counts packets and time awake. Returns the time since the packet before. */
static __always_inline __u64 count(struct totals *t, const struct control *c, __u32 bytes, __u64 now)
{
	__u64 gap = t->last && now > t->last ? now - t->last : 0;

	for (int i = 0; i < TAILS; i++)
		t->awake[i] += gap < c->tails[i] ? gap : c->tails[i];
	t->last = now;
	t->packets++;
	t->bytes += bytes;
	return gap;
}

static __always_inline bool is_wanted(const struct key *key)
{
	__u32 *wake = bpf_map_lookup_elem(&wakes, key);

	return !wake || *wake == WAKE_ALWAYS;
}

static __always_inline void report(__u32 kind, __u64 now, __u64 flags)
{
	struct event e = { .at = now, .kind = kind };

	bpf_ringbuf_output(&events, &e, sizeof(e), flags);
}

SEC("socket")
int observe(struct __sk_buff *skb)
{
	bool sent = skb->pkt_type == PACKET_OUTGOING, v4 = skb->protocol == bpf_htons(ETH_P_IP);
	bool is_new = false, begins, unasked, asleep;
	struct packet p = {};
	__u8 h[8] = {};
	__u32 zero = 0, stamp;
	__u64 now = bpf_ktime_get_ns(), gap;
	struct control *c = bpf_map_lookup_elem(&control, &zero);
	struct totals *t = bpf_map_lookup_elem(&totals, &zero);
	struct flow *flow;

	if (!c || !t || (!sent && skb->pkt_type != PACKET_HOST))
		return 0;
	if (v4 ? !read_v4(skb, sent, &p) : skb->protocol != bpf_htons(ETH_P_IPV6) || !read_v6(skb, sent, &p))
		return 0;
	gap = count(t, c, skb->len, now);
	if (!sent && gap >= SILENCE && c->saves)
		report(EVENT_AFTER_SILENCE, now, BPF_RB_NO_WAKEUP);
	if (p.group)
		return 0;
	if (p.transport && !bpf_skb_load_bytes(skb, p.transport, h, sizeof(h))) {
		if (p.key.protocol == PROTO_TCP || p.key.protocol == PROTO_UDP) {
			__builtin_memcpy(&p.key.local_port, sent ? h : h + 2, 2);
			__builtin_memcpy(&p.remote_port, sent ? h + 2 : h, 2);
		} else if (is_own_echo(&p, h, sent)) {
			__builtin_memcpy(&p.key.local_port, h + 4, 2);
		}
	}
	flow = bpf_map_lookup_elem(&flows, &p.key);
	if (flow && !sent && now - flow->last >= ARRIVAL_PAUSE) {
		struct event e = { .at = now, .kind = EVENT_ARRIVAL, .saves = c->saves };

		e.pause = now - flow->last;
		e.silence = gap;
		e.key = p.key;
		e.has_sent = flow->has_sent;
		bpf_ringbuf_output(&events, &e, sizeof(e), BPF_RB_NO_WAKEUP);
	}
	if (!flow) {
		struct flow fresh = { .episode = now, .last = now, .is_client = sent };

		is_new = true;
		bpf_map_update_elem(&flows, &p.key, &fresh, 0);
		flow = bpf_map_lookup_elem(&flows, &p.key);
		if (!flow)
			return 0;
	}
	asleep = c->saves && gap >= c->tails[LIKELY_TAIL];
	begins = is_new || now - flow->last >= UNASKED_PAUSE;
	unasked = !sent && begins;
	if (is_new || now - flow->last >= c->pause)
		flow->episode = now;
	flow->last = now;
	flow->dscp = p.dscp;
	if (skb->len > ACKNOWLEDGEMENT)
		flow->has_sent = sent;
	__sync_fetch_and_add(sent ? &flow->sent_packets : &flow->received_packets, 1);
	__sync_fetch_and_add(sent ? &flow->sent_bytes : &flow->received_bytes, skb->len);
	if (p.key.protocol == PROTO_TCP && p.transport) {
		unasked = time_tcp(skb, &p, flow, sent, unasked, asleep, c, now);
	} else if (p.key.protocol == PROTO_UDP && p.transport) {
		time_datagram(&p, flow, sent, begins, asleep, c, now);
	} else if (p.key.protocol == (v4 ? PROTO_ICMP : PROTO_ICMP6)) {
		bool is_request = h[0] == (v4 ? 8 : 128);

		time_echo(h, flow, sent, v4, asleep, c, now);
		unasked = unasked && is_request;
		if (!sent && is_request && read_ping_stamp(skb, &p, &stamp))
			time_way(flow, stamp, unasked, c, now);
	}
	if (unasked)
		t->unasked[c->period < PERIODS ? c->period : 0]++;
	if (c->armed && is_wanted(&p.key)) {
		c->armed = 0;
		/* Without force a record after one that did not wake would not wake either. */
		report(EVENT_ACTIVITY, now, BPF_RB_FORCE_WAKEUP);
	}
	return 0;
}
