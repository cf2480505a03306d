import { type DoctorPart } from '#manager/contract'
import { type Facts } from './facts.ts'

/** Result of a check: a `problem` stops Berth or loses data, a `warning` does not. */
export type Finding =
  | { readonly level: 'ok'; readonly says: string }
  | { readonly level: 'warning' | 'problem'; readonly says: string; readonly mend: string }

/** A check answers one question about this computer. It is pure: all its inputs are in the facts. */
export interface Check {
  readonly name: string
  /** Processes that it is about, which have it checked when an administrator asks them. Left out: none. */
  readonly of?: readonly DoctorPart[]
  /** @returns undefined if the question does not apply, e.g. about the disk of an engine that does not answer */
  run(facts: Facts): Finding | undefined
}

export const ok = (says: string): Finding => ({ level: 'ok', says })
export const warning = (says: string, mend: string): Finding => ({ level: 'warning', says, mend })
export const problem = (says: string, mend: string): Finding => ({ level: 'problem', says, mend })
