import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { endExposedSignIns } from './exposed-sign-ins.ts'

let directory = ''
beforeEach(async () => (directory = await mkdtemp(join(tmpdir(), 'berth-test-exposed-'))))
afterEach(() => rm(directory, { recursive: true }))

/** Starts of Berth one after the other, each with the URL of its console; undefined: the console did not start. */
async function starts(...urls: (string | undefined)[]): Promise<boolean[]> {
  const ended: boolean[] = []
  for (const url of urls) {
    let isEnded = false
    const remember = await endExposedSignIns(directory, () => Promise.resolve((isEnded = true)))
    if (url !== undefined) await remember(url)
    ended.push(isEnded)
  }
  return ended
}

const [PLAIN, TLS] = ['http://localhost:8400', 'https://localhost:8400']

test('sign-ins end with each start after one without TLS, and last from one with TLS to the next', async () => {
  expect(await starts(PLAIN, PLAIN, TLS, TLS, PLAIN, TLS)).toEqual([true, true, true, false, false, true])
})

test('a start that failed counts as one without TLS', async () => {
  expect(await starts(TLS, undefined, TLS)).toEqual([true, false, true])
})
