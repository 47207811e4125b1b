//! Combines observers in tuples, and makes observers optional.

use super::{
    Access, Arrive, At, Block, Collective, Complete, Copy, CopyGroup, HostEvent, LaunchInfo,
    Mbarrier, Observer, Order, Parted, Scope, Space, Use,
};
use crate::Trap;

/// An observer that ignores all events, at no cost.
impl Observer for () {
    fn fork(&self) {}
    fn merge(&mut self, (): ()) {}
}

/// Passes each event to every element.
macro_rules! tuple {
    ($($part:ident $n:tt),+) => {
        impl<$($part: Observer),+> Observer for ($($part,)+) {
            fn fork(&self) -> Self {
                ($(self.$n.fork(),)+)
            }
            fn merge(&mut self, fork: Self) {
                $(self.$n.merge(fork.$n);)+
            }
            fn host(&mut self, event: HostEvent) {
                $(self.$n.host(event);)+
            }
            fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
                $(self.$n.launch_begin(launch);)+
            }
            fn launch_end(&mut self, launch: &LaunchInfo<'_>) {
                $(self.$n.launch_end(launch);)+
            }
            fn block_begin(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
                $(self.$n.block_begin(launch, block);)+
            }
            fn block_end(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
                $(self.$n.block_end(launch, block);)+
            }
            #[inline]
            fn inst(&mut self, at: &At<'_>) {
                $(self.$n.inst(at);)+
            }
            #[inline]
            fn branch(&mut self, at: &At<'_>, taken: u32, not_taken: u32) {
                $(self.$n.branch(at, taken, not_taken);)+
            }
            #[inline]
            fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
                $(self.$n.access(at, access);)+
            }
            #[inline]
            fn widened(&mut self, at: &At<'_>, of: impl Fn(usize, usize) -> u64) {
                $(self.$n.widened(at, &of);)+
            }
            fn tracks(&self) -> bool {
                $(self.$n.tracks())||+
            }
            #[inline]
            fn missing(&mut self) -> Option<Box<[u64; 32]>> {
                let mut missing = None;
                $(missing = missing.or(self.$n.missing());)+
                missing
            }
            fn carried(&mut self, at: &At<'_>, lane: u32, space: Space, address: u64, bytes: u8) {
                $(self.$n.carried(at, lane, space, address, bytes);)+
            }
            fn unset(&mut self, at: &At<'_>, lanes: u32, of: Use) {
                $(self.$n.unset(at, lanes, of);)+
            }
            fn copy(&mut self, at: &At<'_>, copy: &Copy) {
                $(self.$n.copy(at, copy);)+
            }
            fn copy_group(&mut self, at: &At<'_>, group: CopyGroup) {
                $(self.$n.copy_group(at, group);)+
            }
            fn copy_arrive(&mut self, at: &At<'_>, lane: u32, mbarrier: u64) {
                $(self.$n.copy_arrive(at, lane, mbarrier);)+
            }
            fn proxy_fence(&mut self, at: &At<'_>) {
                $(self.$n.proxy_fence(at);)+
            }
            fn launch_wait(&mut self, at: &At<'_>) {
                $(self.$n.launch_wait(at);)+
            }
            fn arrive(&mut self, at: &At<'_>, arrive: &Arrive) {
                $(self.$n.arrive(at, arrive);)+
            }
            fn complete(&mut self, complete: &Complete<'_>) {
                $(self.$n.complete(complete);)+
            }
            #[inline]
            fn collective(&mut self, at: &At<'_>, kind: Collective, members: u32) {
                $(self.$n.collective(at, kind, members);)+
            }
            fn parted(&mut self, at: &At<'_>, parted: &Parted) {
                $(self.$n.parted(at, parted);)+
            }
            fn cluster_wait(&mut self, at: &At<'_>) {
                $(self.$n.cluster_wait(at);)+
            }
            fn returned_early(&mut self, at: &At<'_>, exited: u32) {
                $(self.$n.returned_early(at, exited);)+
            }
            fn init_fence(&mut self, at: &At<'_>) {
                $(self.$n.init_fence(at);)+
            }
            fn fence(&mut self, at: &At<'_>, order: Order, scope: Scope) {
                $(self.$n.fence(at, order, scope);)+
            }
            fn mbarrier(&mut self, at: &At<'_>, mbarrier: &Mbarrier) {
                $(self.$n.mbarrier(at, mbarrier);)+
            }
            fn older(&mut self, at: &At<'_>, place: &str) {
                $(self.$n.older(at, place);)+
            }
            fn print(&mut self, at: &At<'_>, lane: u32, text: &str) {
                $(self.$n.print(at, lane, text);)+
            }
            fn exit(&mut self, at: &At<'_>, mask: u32) {
                $(self.$n.exit(at, mask);)+
            }
            fn trap(&mut self, trap: &Trap) {
                $(self.$n.trap(trap);)+
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);

/// An observer that may be absent at run time.
impl<O: Observer> Observer for Option<O> {
    fn fork(&self) -> Self {
        self.as_ref().map(O::fork)
    }
    fn merge(&mut self, fork: Self) {
        if let (Some(o), Some(fork)) = (self, fork) {
            o.merge(fork);
        }
    }
    fn host(&mut self, event: HostEvent) {
        self.iter_mut().for_each(|o| o.host(event));
    }
    fn launch_begin(&mut self, launch: &LaunchInfo<'_>) {
        self.iter_mut().for_each(|o| o.launch_begin(launch));
    }
    fn launch_end(&mut self, launch: &LaunchInfo<'_>) {
        self.iter_mut().for_each(|o| o.launch_end(launch));
    }
    fn block_begin(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
        self.iter_mut().for_each(|o| o.block_begin(launch, block));
    }
    fn block_end(&mut self, launch: &LaunchInfo<'_>, block: &Block) {
        self.iter_mut().for_each(|o| o.block_end(launch, block));
    }
    #[inline]
    fn inst(&mut self, at: &At<'_>) {
        self.iter_mut().for_each(|o| o.inst(at));
    }
    #[inline]
    fn branch(&mut self, at: &At<'_>, taken: u32, not_taken: u32) {
        self.iter_mut().for_each(|o| o.branch(at, taken, not_taken));
    }
    #[inline]
    fn access(&mut self, at: &At<'_>, access: &Access<'_>) {
        self.iter_mut().for_each(|o| o.access(at, access));
    }
    #[inline]
    fn widened(&mut self, at: &At<'_>, of: impl Fn(usize, usize) -> u64) {
        self.iter_mut().for_each(|o| o.widened(at, &of));
    }
    fn tracks(&self) -> bool {
        self.as_ref().is_some_and(O::tracks)
    }
    #[inline]
    fn missing(&mut self) -> Option<Box<[u64; 32]>> {
        self.as_mut().and_then(O::missing)
    }
    fn carried(&mut self, at: &At<'_>, lane: u32, space: Space, address: u64, bytes: u8) {
        self.iter_mut().for_each(|o| o.carried(at, lane, space, address, bytes));
    }
    fn unset(&mut self, at: &At<'_>, lanes: u32, of: Use) {
        self.iter_mut().for_each(|o| o.unset(at, lanes, of));
    }
    fn copy(&mut self, at: &At<'_>, copy: &Copy) {
        self.iter_mut().for_each(|o| o.copy(at, copy));
    }
    fn copy_group(&mut self, at: &At<'_>, group: CopyGroup) {
        self.iter_mut().for_each(|o| o.copy_group(at, group));
    }
    fn copy_arrive(&mut self, at: &At<'_>, lane: u32, mbarrier: u64) {
        self.iter_mut().for_each(|o| o.copy_arrive(at, lane, mbarrier));
    }
    fn proxy_fence(&mut self, at: &At<'_>) {
        self.iter_mut().for_each(|o| o.proxy_fence(at));
    }

    fn launch_wait(&mut self, at: &At<'_>) {
        self.iter_mut().for_each(|o| o.launch_wait(at));
    }
    fn arrive(&mut self, at: &At<'_>, arrive: &Arrive) {
        self.iter_mut().for_each(|o| o.arrive(at, arrive));
    }
    fn complete(&mut self, complete: &Complete<'_>) {
        self.iter_mut().for_each(|o| o.complete(complete));
    }
    #[inline]
    fn collective(&mut self, at: &At<'_>, kind: Collective, members: u32) {
        self.iter_mut().for_each(|o| o.collective(at, kind, members));
    }
    fn parted(&mut self, at: &At<'_>, parted: &Parted) {
        self.iter_mut().for_each(|o| o.parted(at, parted));
    }
    fn cluster_wait(&mut self, at: &At<'_>) {
        self.iter_mut().for_each(|o| o.cluster_wait(at));
    }
    fn returned_early(&mut self, at: &At<'_>, exited: u32) {
        self.iter_mut().for_each(|o| o.returned_early(at, exited));
    }
    fn init_fence(&mut self, at: &At<'_>) {
        self.iter_mut().for_each(|o| o.init_fence(at));
    }
    fn fence(&mut self, at: &At<'_>, order: Order, scope: Scope) {
        self.iter_mut().for_each(|o| o.fence(at, order, scope));
    }
    fn mbarrier(&mut self, at: &At<'_>, mbarrier: &Mbarrier) {
        self.iter_mut().for_each(|o| o.mbarrier(at, mbarrier));
    }
    fn older(&mut self, at: &At<'_>, place: &str) {
        self.iter_mut().for_each(|o| o.older(at, place));
    }
    fn print(&mut self, at: &At<'_>, lane: u32, text: &str) {
        self.iter_mut().for_each(|o| o.print(at, lane, text));
    }
    fn exit(&mut self, at: &At<'_>, mask: u32) {
        self.iter_mut().for_each(|o| o.exit(at, mask));
    }
    fn trap(&mut self, trap: &Trap) {
        self.iter_mut().for_each(|o| o.trap(trap));
    }
}
