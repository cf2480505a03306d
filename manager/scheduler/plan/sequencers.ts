import { type PendingSession, type Sequencer } from './snapshot.ts'

/** First come, first tried. Sessions of the same time sort by id, which follows creation. Priority counts before age. */
export const fifo: Sequencer = {
  reserves: true,
  start: ({ pending }) => fixed(pending.toSorted(byTurn)),
}

/** Newest first. Nothing is reserved, because the session that has waited longest is not next. */
export const lifo: Sequencer = {
  reserves: false,
  start: ({ pending }) => fixed(pending.toSorted((a, b) => byPriority(a, b) || byAge(b, a))),
}

function fixed(order: readonly PendingSession[]) {
  let at = 0
  return { next: () => order[at++], placed: () => undefined }
}

/** Larger first. */
export function byPriority(a: PendingSession, b: PendingSession): number {
  return (b.priority ?? 0) - (a.priority ?? 0)
}

/** Highest priority first, then oldest. */
export function byTurn(a: PendingSession, b: PendingSession): number {
  return byPriority(a, b) || byAge(a, b)
}

export function byAge(a: PendingSession, b: PendingSession): number {
  return a.enqueuedAt - b.enqueuedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
