/**
 * Gives people turns with pieces of work that keep the event loop: the next piece of a person comes after one piece of every other person
 * who has some, and each piece in a turn of the event loop of its own, so that small requests are answered in between.
 *
 * Threat model: to parse and check a large body takes some milliseconds, in which nobody else is served. A person may send 256 of them
 * at once over as many connections, so the turns of connections (`request-turns.ts`) do not help.
 */
export interface TurnsOfPeople {
  /** @param work is called once, later */
  wait(person: string, work: () => void): void
}

export function createTurnsOfPeople(later: (act: () => void) => unknown = setImmediate): TurnsOfPeople {
  /** Works that wait, by person; the person at the front is next. */
  const waiting = new Map<string, (() => void)[]>()
  function next(): void {
    const [first] = waiting
    if (!first) return
    const [person, works] = first
    const work = works.shift()
    // To the end of the line, if more waits.
    waiting.delete(person)
    if (works.length > 0) waiting.set(person, works)
    if (waiting.size > 0) later(next)
    work?.()
  }
  return {
    wait(person, work) {
      const works = waiting.get(person)
      if (works) works.push(work)
      else waiting.set(person, [work])
      if (works === undefined && waiting.size === 1) later(next)
    },
  }
}
