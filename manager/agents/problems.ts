/** Kinds of problems of an agent, in display order. */
const SUBJECTS = ['network', 'kernels', 'unknown', 'images', 'leftOut'] as const
export type Subject = (typeof SUBJECTS)[number]

/** Problems of one agent that admins see. A problem lasts until a report says otherwise. */
export interface Problems {
  /** Sets the problem of this subject, or clears it with null. */
  note(subject: Subject, problem: string | null): void
  has(subject: Subject): boolean
  /** All problems in one text; null if there is none. */
  text(): string | null
  /** The text as last written to the database; undefined until the first write. */
  written: string | null | undefined
}

export function createProblems(): Problems {
  const bySubject = new Map<Subject, string>()
  return {
    note(subject, problem) {
      if (problem === null) bySubject.delete(subject)
      else bySubject.set(subject, problem)
    },
    has: subject => bySubject.has(subject),
    text: () => SUBJECTS.flatMap(subject => bySubject.get(subject) ?? []).join(' ') || null,
    written: undefined,
  }
}

export function networkProblem(problem: string | null): string | null {
  return problem === null ? null : `The agent cannot start sessions, because their network is not available: ${problem}`
}

/** @param count containers that name this Berth and are unknown to it */
export function unknownProblem(count: number): string | null {
  if (count === 0) return null
  const what =
    count === 1 ? '1 container on the host carries the name of' : `${count} containers on the host carry the name of`
  return `${what} this Berth, but not its signature. Import or remove each: \`berth admin agent unknown ls\`.`
}
