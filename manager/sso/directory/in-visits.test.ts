import { expect, test } from 'vitest'
import { type DirectoryAccess } from './client.ts'
import { PEOPLE_PER_VISIT, presentInVisits } from './in-visits.ts'

const ACCESS = {} as DirectoryAccess
const subjects = Array.from({ length: PEOPLE_PER_VISIT * 2 + 1 }, (_, index) => `person-${index}`)

test('more people than one visit takes are asked about in several, and each is in the answer', async () => {
  const visits: number[] = []
  const there = await presentInVisits(
    {
      present: (_, asked) => {
        visits.push(asked.length)
        return Promise.resolve(new Map(asked.map(subject => [subject, 'on'])))
      },
    },
    ACCESS,
    subjects,
  )
  expect(visits).toEqual([PEOPLE_PER_VISIT, PEOPLE_PER_VISIT, 1])
  expect([...there.keys()]).toEqual(subjects)
})

test('a visit that fails fails the whole question: a part would look as if the others had left', async () => {
  let visits = 0
  const asked = presentInVisits(
    {
      present: () => {
        visits += 1
        return visits === 1 ? Promise.resolve(new Map()) : Promise.reject(new Error('away'))
      },
    },
    ACCESS,
    subjects,
  )
  await expect(asked).rejects.toThrow('away')
})
