import { type PendingSession, type Sequencer } from './snapshot.ts'

/** First come, first tried; sessions of one instant by id, which sorts by creation. */
export const fifo: Sequencer = pending => pending.toSorted(byAge)

function byAge(a: PendingSession, b: PendingSession): number {
  return a.enqueuedAt - b.enqueuedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
