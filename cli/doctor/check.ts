import { type Because, type CauseKey, type DoctorPart, keysOf, type TextKeys } from '#manager/contract'
import { type Facts } from './facts.ts'

/** Result of a check: a `problem` stops Berth or loses data, a `warning` does not. Keys of the texts are for the pages. */
export type Finding =
  | { readonly level: 'ok'; readonly says: string; readonly saysBy?: TextKeys }
  | {
      readonly level: 'warning' | 'problem'
      readonly says: string
      readonly saysBy?: TextKeys
      readonly mend: string
      readonly mendBy?: TextKeys
    }

/** A finding whose texts all have keys. */
export type FindingByKey =
  | (Extract<Finding, { level: 'ok' }> & { readonly saysBy: TextKeys })
  | (Extract<Finding, { mend: string }> & { readonly saysBy: TextKeys; readonly mendBy: TextKeys })

/** A check answers one question about this computer. It is pure: all its inputs are in the facts. */
export interface OwnCheck {
  readonly name: string
  /** Only for checks about a process. */
  readonly of?: undefined
  /** @returns undefined if the question does not apply, e.g. about the disk of an engine that does not answer */
  run(facts: Facts): Finding | undefined
}

/** A check about a process. Managers and agents also run it when an administrator asks on a page, so all its texts have keys. */
export interface PartCheck {
  readonly name: string
  readonly nameBy: CauseKey
  readonly of: readonly DoctorPart[]
  run(facts: Facts): FindingByKey | undefined
}

export type Check = OwnCheck | PartCheck

export function ok(says: Because): Extract<FindingByKey, { level: 'ok' }>
export function ok(says: string): Finding
export function ok(says: string | Because): Finding {
  return typeof says === 'string' ? { level: 'ok', says } : { level: 'ok', says: says.why, saysBy: keysOf(says) }
}

type Unwell = Extract<FindingByKey, { mend: string }>

const unwell = (level: Unwell['level'], says: string | Because, mend: string | Because): Finding => ({
  level,
  ...(typeof says === 'string' ? { says } : { says: says.why, saysBy: keysOf(says) }),
  ...(typeof mend === 'string' ? { mend } : { mend: mend.why, mendBy: keysOf(mend) }),
})

export function warning(says: Because, mend: Because): Unwell
export function warning(says: string, mend: string): Finding
export function warning(says: string | Because, mend: string | Because): Finding {
  return unwell('warning', says, mend)
}

export function problem(says: Because, mend: Because): Unwell
export function problem(says: string, mend: string): Finding
export function problem(says: string | Because, mend: string | Because): Finding {
  return unwell('problem', says, mend)
}
