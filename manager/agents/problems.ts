import { type Because, because, causeIn, type TextKeys, together } from '#manager/contract'

/** Kinds of problems of an agent, in display order. */
const SUBJECTS = ['network', 'host', 'storage', 'cluster', 'kernels', 'unknown', 'images', 'leftOut'] as const
export type Subject = (typeof SUBJECTS)[number]
/** Problems because of which no session can start on the host. */
const FAULTS = ['network', 'host'] as const satisfies readonly Subject[]

/** Problems of one agent that admins see. A problem lasts until a report clears it. */
export interface Problems {
  /** Sets the problem of this subject, or clears it with null. */
  note(subject: Subject, problem: Because | null): void
  has(subject: Subject): boolean
  /** Why no session can start on the host, according to its reports; null if sessions can. */
  fault(): Because | null
  /** All problems in one text; null if there is none. */
  all(): Because | null
  /** The text as last written to the database; undefined until the first write. */
  written: string | null | undefined
}

export function createProblems(): Problems {
  const bySubject = new Map<Subject, Because>()
  return {
    note(subject, problem) {
      if (problem === null) bySubject.delete(subject)
      else bySubject.set(subject, problem)
    },
    has: subject => bySubject.has(subject),
    fault: () => inOne(FAULTS.flatMap(subject => bySubject.get(subject) ?? [])),
    all: () => inOne(SUBJECTS.flatMap(subject => bySubject.get(subject) ?? [])),
    written: undefined,
  }
}

/** Several problems as one text; null for none. */
export function inOne([first, ...rest]: readonly Because[]): Because | null {
  return first === undefined ? null : together(first, ...rest)
}

/** @param keys of the agent's text; an older agent has none */
export function networkProblem(problem: string | null, keys: TextKeys | undefined): Because | null {
  if (problem === null) return null
  const said = causeIn({ ...keys, why: problem }) ?? because('agent_says', { text: problem })
  return together(because('agent_without_networks'), said)
}

/** Why the host takes no part in sessions over several hosts. @param keys of the agent's text */
export function clusterProblem(problem: string | null, keys: TextKeys | undefined): Because | null {
  if (problem === null) return null
  const said = causeIn({ ...keys, why: problem }) ?? because('agent_says', { text: problem })
  return together(because('no_cluster_networks'), said)
}

/** @param keys of the agent's text */
export function hostProblem(problem: string | null, keys: TextKeys | undefined): Because | null {
  return problem === null ? null : (causeIn({ ...keys, why: problem }) ?? because('agent_says', { text: problem }))
}

/** @param names storages that the agent expects and does not have: sessions that need others still start there */
export function storageProblem(names: readonly string[] = []): Because | null {
  return names.length === 0 ? null : because('storage_away_on_host', { storage: names.join(', ') })
}

/** Whether no session can start on the agent, according to its reports. */
export const isUnfit = (problems: Pick<Problems, 'has'>): boolean => FAULTS.some(subject => problems.has(subject))

/** @param count containers that name this Berth but are unknown to it */
export function unknownProblem(count: number): Because | null {
  return count === 0 ? null : because('containers_unsigned', { count })
}
