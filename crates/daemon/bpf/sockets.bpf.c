// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * An iterator over TCP sockets, which writes a record of each socket with one of these congestion controls for `airwattd cc
 * status`. It has no cost for connections. The kernel iterates over the sockets of the caller's network namespace.
 */
#include "kernel.h"
#include "ackloss.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} CORE;

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} CORE;

/* The member of the kernel's structure that is read here. */
struct tcp_congestion_ops {
	char name[16];
} CORE;

/* One connection: 128 bytes in host byte order, which crates/daemon/src/cc/sockets.rs decodes. */
struct record {
	char algorithm[16];
	__u8 local[16];
	__u8 remote[16];
	__u16 family;
	__u16 local_port;
	/* In network byte order. */
	__be16 remote_port;
	__u16 tcp_state;
	__u32 cwnd;
	__u32 ssthresh;
	__u32 mss;
	/* In eighths of a microsecond. */
	__u32 srtt;
	__u64 bytes_acked;
	struct ackloss_state ackloss;
	__u32 spare;
};

#define AF_INET 2

SEC("iter/tcp")
int sockets(struct bpf_iter__tcp *ctx)
{
	static const char prefix[7] = "ackloss";
	struct sock_common *common = ctx->sk_common;
	struct record r = {};
	struct tcp_sock *tp;

	if (!common)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp)
		return 0;
	bpf_probe_read_kernel(r.algorithm, sizeof(r.algorithm), tp->inet_conn.icsk_ca_ops->name);
	for (int i = 0; i < (int)sizeof(prefix); i++)
		if (r.algorithm[i] != prefix[i])
			return 0;
	r.family = common->skc_family;
	if (r.family == AF_INET) {
		__builtin_memcpy(r.local, &common->skc_rcv_saddr, 4);
		__builtin_memcpy(r.remote, &common->skc_daddr, 4);
	} else {
		bpf_probe_read_kernel(r.local, sizeof(r.local), &common->skc_v6_rcv_saddr);
		bpf_probe_read_kernel(r.remote, sizeof(r.remote), &common->skc_v6_daddr);
	}
	r.local_port = common->skc_num;
	r.remote_port = common->skc_dport;
	r.tcp_state = common->skc_state;
	r.cwnd = tp->snd_cwnd;
	r.ssthresh = tp->snd_ssthresh;
	r.mss = tp->mss_cache;
	r.srtt = tp->srtt_us;
	r.bytes_acked = tp->bytes_acked;
	bpf_probe_read_kernel(&r.ackloss, sizeof(r.ackloss),
			      (void *)tp->inet_conn.icsk_ca_priv + sizeof(tp->inet_conn.icsk_ca_priv) - sizeof(r.ackloss));
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
