//! The queues of a MAC for data: one for each access category, or one for all of them.

use std::ops::Range;

use crate::media::cell::access::category::Category;
use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::frame::Body;
use crate::media::cell::phy::rates::LinkPlan;

/// The queues, whose contenders have numbers that follow each other.
#[derive(Clone, Debug)]
pub(super) struct Categories<Q> {
    /// The contender of the first queue.
    first: ContenderId,
    queues: Vec<Q>,
}

impl<Q> Categories<Q> {
    /// Makes a queue for each contender, which has a link of its own to each receiver.
    pub(super) fn new<'a>(
        contenders: Range<ContenderId>,
        links: &'a [LinkPlan],
        queue: impl FnMut((ContenderId, &'a LinkPlan)) -> Q,
    ) -> Self {
        Self { first: contenders.start, queues: contenders.zip(links).map(queue).collect() }
    }

    /// The contenders of all queues.
    pub(super) const fn contenders(&self) -> Range<ContenderId> {
        self.first..self.first + self.queues.len() as ContenderId
    }

    /// The queue of a category.
    #[inline]
    pub(super) fn of(&self, category: Category) -> &Q {
        &self.queues[self.place(category)]
    }

    /// The queue of a category.
    #[inline]
    pub(super) fn of_mut(&mut self, category: Category) -> &mut Q {
        let place = self.place(category);
        &mut self.queues[place]
    }

    /// The queue of one of its contenders.
    #[inline]
    pub(super) fn of_contender(&self, contender: ContenderId) -> &Q {
        &self.queues[(contender - self.first) as usize]
    }

    /// The queue of one of its contenders.
    #[inline]
    pub(super) fn of_contender_mut(&mut self, contender: ContenderId) -> &mut Q {
        &mut self.queues[(contender - self.first) as usize]
    }

    /// All queues, that of the lowest category first.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Q> {
        self.queues.iter()
    }

    /// All queues, that of the lowest category first.
    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Q> {
        self.queues.iter_mut()
    }

    const fn place(&self, category: Category) -> usize {
        if self.queues.len() == 1 { 0 } else { category as usize }
    }
}

/// The category of a frame that carries this.
pub(super) const fn category_of(body: &Body) -> Category {
    match body {
        Body::Data(packet) => Category::of_dscp(packet.dscp),
        Body::Control(_) | Body::NullData | Body::Trigger => Category::Voice,
        Body::External(_) | Body::BlockAckRequest => Category::BestEffort,
        Body::Group(_) | Body::Beacon { .. } => Category::Beacon,
    }
}
