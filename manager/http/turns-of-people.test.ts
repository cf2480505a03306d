import { expect, test } from 'vitest'
import { createTurnsOfPeople } from './turns-of-people.ts'

/** Turns of the event loop, by hand. */
function loop() {
  const acts: (() => void)[] = []
  return {
    later: (act: () => void) => acts.push(act),
    turn: () => acts.shift()?.(),
    get isIdle() {
      return acts.length === 0
    },
  }
}

test('people take turns, one work in each turn of the event loop', () => {
  const events = loop()
  const turns = createTurnsOfPeople(events.later)
  const done: string[] = []
  const ask = (person: string, work: string) => turns.wait(person, () => done.push(work))
  for (const work of ['e1', 'e2', 'e3']) ask('eve', work)
  expect(done).toEqual([])
  events.turn()
  ask('bob', 'b1')
  events.turn()
  events.turn()
  expect(done).toEqual(['e1', 'e2', 'b1'])
  events.turn()
  expect(done.at(-1)).toBe('e3')
  expect(events.isIdle).toBe(true)
  ask('bob', 'b2')
  events.turn()
  expect(done.at(-1)).toBe('b2')
})

test('a work that throws keeps none of the later ones from its turn', () => {
  const events = loop()
  const turns = createTurnsOfPeople(events.later)
  const done: string[] = []
  turns.wait('eve', () => {
    throw new Error('broken')
  })
  turns.wait('bob', () => done.push('b'))
  expect(() => events.turn()).toThrow('broken')
  events.turn()
  expect(done).toEqual(['b'])
})
