/** The scheduler's decision. Pure: imports only itself and the manager's contract. */
export { plan } from './plan.ts'
export { closest, readable } from './reasons.ts'
export { Room } from './room.ts'
export { concentrated, dispersed, roundRobin, type Selector } from './selectors.ts'
export { byAge, dominantShare, drf, fifo, lifo } from './sequencers.ts'
export type * from './snapshot.ts'
export { spreadShares } from './spread-shares.ts'
export { whatIf, type WhatIf } from './what-if.ts'
