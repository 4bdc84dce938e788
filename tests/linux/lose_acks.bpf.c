// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * A classifier that drops acknowledgements without data, PER_MILLE of a thousand of them at random, each for itself. For
 * Ethernet frames with IPv4 and TCP; everything else passes.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;

static u32 (*random_u32)(void) = (void *)7; /* bpf_get_prandom_u32 */
static long (*load_bytes)(const void *skb, u32 offset, void *to, u32 length) = (void *)26; /* bpf_skb_load_bytes */

enum { PASS = 0, DROP = 2 };

__attribute__((section("tc"), used)) int lose(void *skb)
{
	/* Ethernet, IPv4, and the first 14 bytes of TCP; options of IPv4 do not occur here. */
	u8 frame[14 + 20 + 14];
	u32 length, headers;

	if (load_bytes(skb, 0, frame, sizeof(frame)))
		return PASS;
	if (frame[12] != 8 || frame[13] != 0 || frame[14] != 0x45 || frame[23] != 6)
		return PASS;
	length = frame[16] << 8 | frame[17];
	headers = 20 + (frame[14 + 20 + 12] >> 4) * 4;
	/* ACK alone: no SYN, FIN or RST. */
	if (length != headers || frame[14 + 20 + 13] != 0x10)
		return PASS;
	return random_u32() % 1000 < PER_MILLE ? DROP : PASS;
}

char LICENSE[] __attribute__((section("license"), used)) = "Dual MIT/GPL";
