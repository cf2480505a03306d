import { type StoppedFor } from '#agent/contract'

/** Ends a session at once, with a reason shown to its owner. Safe to repeat. */
export type Stop = (kernelId: string, why: StoppedFor) => Promise<void>
