/** The scheduler's decision. Pure: imports only itself and the manager's contract. */
export {
  gpusNeeded,
  holderOf,
  type Inactive,
  type LimitedSession,
  Limits,
  neverAllowed,
  neverAllowedModel,
  type Scope,
} from './limits.ts'
export { plan } from './plan.ts'
export { dominantShare, drf } from './drf.ts'
export { gpusOf, readable, readableOf } from './amounts.ts'
export { canRun } from './allowed-agents.ts'
export { closedReason } from './closed-reason.ts'
export { canTake, closest, dependencyReason, hasGpu, noSuchGpu } from './reasons.ts'
export { DEVICE_SLOTS } from './device-slot.ts'
export { FreeCapacity } from './free-capacity.ts'
export { mayGive } from './gpu-need.ts'
export { type GivenDevice, type GpuExclusion, type KindOfDevice, type ModelLimit } from './model-limits.ts'
export { concentrated, dispersed, roundRobin, type Selector } from './selectors.ts'
export { byAge, fifo, lifo } from './sequencers.ts'
export { explainShares, openCapacity, type UserShare } from './shares.ts'
export type * from './snapshot.ts'
export { mayCross, networked, roomFor } from './gang.ts'
export { partsOf, totalOf } from './snapshot.ts'
export { spreadShares } from './spread-shares.ts'
export { whatIf, type WhatIf } from './what-if.ts'
