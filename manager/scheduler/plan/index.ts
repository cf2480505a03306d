/** The scheduler's decision. Pure: imports only itself and the manager's contract. */
export { plan } from './plan.ts'
export { closest, readable } from './reasons.ts'
export { Room } from './room.ts'
export { concentrated, type Selector } from './selectors.ts'
export { fifo } from './sequencers.ts'
export type * from './snapshot.ts'
