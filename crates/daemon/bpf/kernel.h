/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What the programs here use of the kernel's types. Only names and types of members matter: where a member lies is looked up
 * in the running kernel's type information when a program is loaded (CO-RE), so that one object fits 5.15 to 6.18.
 */
#ifndef AIRWATT_KERNEL_H
#define AIRWATT_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

/* Map types that are used here. */
enum bpf_map_type { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_LRU_HASH = 9, BPF_MAP_TYPE_RINGBUF = 27 };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define CORE __attribute__((preserve_access_index))

struct in6_addr {
	__u8 in6_u[16];
} CORE;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} CORE;

struct sock {
	struct sock_common __sk_common;
	struct {
		int len;
	} CORE sk_backlog;
} CORE;

struct list_head {
	struct list_head *next;
} CORE;

struct sk_buff {
	__u64 skb_mstamp_ns;
	struct list_head tcp_tsorted_anchor;
} CORE;

struct tcp_options_received {
	__u16 saw_tstamp : 1;
	__u32 rcv_tsecr;
} CORE;

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u64 icsk_ca_priv[13];
} CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 mss_cache;
	__u32 sacked_out;
	__u32 segs_in;
	__u32 data_segs_in;
	__u32 srtt_us;
	__u64 tcp_mstamp;
	__u64 bytes_acked;
	/* Since 6.7: its timestamps are in microseconds. */
	__u8 tcp_usec_ts : 1;
	struct list_head tsorted_sent_queue;
	struct tcp_options_received rx_opt;
} CORE;

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
} CORE;

/* Passed on as it comes. */
enum tcp_ca_event {
	CA_EVENT_TX_START,
};

/* States of congestion control, of enum tcp_ca_state. */
enum {
	CA_CWR = 2,
	CA_RECOVERY = 3,
	CA_LOSS = 4,
};

#endif
