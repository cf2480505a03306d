import { type StoppedFor } from '#agent/contract'

/** Ends a session at once, with the reason that its owner reads. Safe to repeat. */
export type Stop = (kernelId: string, why: StoppedFor) => Promise<void>
