// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* The arithmetic of ackloss.h as functions that a test on the host can call (tests/header.rs). */
#include <linux/types.h>

#include "ackloss.h"

unsigned int ackloss_host_state_size(void);
unsigned int ackloss_host_config_size(void);
void ackloss_host_init(struct ackloss_state *s, __u32 una);
int ackloss_host_on_ack(struct ackloss_state *s, const struct ackloss_config *c, __u32 to, __u32 sent, __u32 mss,
			__u32 duplicates, __u32 evidence);
void ackloss_host_on_data_loss(struct ackloss_state *s, __u32 sent);
void ackloss_host_on_timeout(struct ackloss_state *s, __u32 sent);
__u32 ackloss_host_b(const struct ackloss_state *s, const struct ackloss_config *c);
__u32 ackloss_host_evidence(__u32 first, __u32 last, __u32 echo);

unsigned int ackloss_host_state_size(void)
{
	return sizeof(struct ackloss_state);
}

unsigned int ackloss_host_config_size(void)
{
	return sizeof(struct ackloss_config);
}

void ackloss_host_init(struct ackloss_state *s, __u32 una)
{
	ackloss_init(s, una);
}

int ackloss_host_on_ack(struct ackloss_state *s, const struct ackloss_config *c, __u32 to, __u32 sent, __u32 mss,
			__u32 duplicates, __u32 evidence)
{
	return ackloss_on_ack(s, c, to, sent, mss, duplicates, (enum ackloss_evidence)evidence);
}

void ackloss_host_on_data_loss(struct ackloss_state *s, __u32 sent)
{
	ackloss_on_data_loss(s, sent);
}

void ackloss_host_on_timeout(struct ackloss_state *s, __u32 sent)
{
	ackloss_on_timeout(s, sent);
}

__u32 ackloss_host_b(const struct ackloss_state *s, const struct ackloss_config *c)
{
	return ackloss_b(s, c);
}

__u32 ackloss_host_evidence(__u32 first, __u32 last, __u32 echo)
{
	return ackloss_evidence_of(first, last, echo);
}
