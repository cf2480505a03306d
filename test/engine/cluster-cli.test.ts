import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Session, type WhatIf } from '#manager/contract'
import { type Berth, startBerth } from '../fixtures/berth.ts'

const IMAGE = 'berth/python:3.13'
const SIZE = ['--cpu', '0.2', '--mem', '256m']

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth[Symbol.asyncDispose]())

async function ask<T>(...words: string[]): Promise<T> {
  const { code, stdout, stderr } = await berth.cli(...words, '--json')
  expect(stderr).not.toContain('berth:')
  expect(code).toBe(0)
  return JSON.parse(stdout) as T
}

const create = (...words: string[]) => ask<Session>('session', 'create', '--image', IMAGE, ...SIZE, ...words)

test('a dry run reports the outcome and creates nothing', async () => {
  const fits = await ask<WhatIf>('session', 'create', '--image', IMAGE, ...SIZE, '--dry-run')
  expect(fits).toMatchObject({ startsNow: true, reason: null })
  const { stdout } = await berth.cli('session', 'create', '--image', IMAGE, ...SIZE, '--cluster-size', '2', '--dry-run')
  expect(stdout).toContain('The session would start now.')
  expect(await ask<Session[]>('session', 'ls')).toEqual([])
})

test('kernels of a batch session reach each other by name, and the next session waits for its success', async () => {
  const work = [
    'if [ $BERTH_CLUSTER_ROLE = main1 ]',
    'then until [ -e /home/work/answer ]; do sleep 0.1; python3 -c "',
    // Read before the file is created, because its existence ends the loop.
    "import urllib.request as u; name = u.urlopen('http://sub1:8000/name').read(); open('/home/work/answer', 'wb').write(name)\" || true; done",
    'echo heard $(cat /home/work/answer)',
    'else mkdir -p /tmp/www; echo $(hostname) > /tmp/www/name; echo serving; cd /tmp/www; exec python3 -m http.server 8000; fi',
  ].join('\n')
  const first = await create('--name', 'pair', '--cluster-size', '2', '--batch', '--command', work)
  const second = await create('--name', 'next', '--depends-on', 'pair', '--batch', '--command', 'echo next')
  expect(second.dependsOn).toEqual([first.id])
  const shown = (await berth.cli('session', 'show', 'next')).stdout
  if (shown.includes('PENDING')) expect(shown).toMatch(/starts +unknown/)
  const ended = async (name: string) => (await ask<Session>('session', 'show', name)).status
  await expect.poll(() => ended('pair'), { interval: 500 }).toBe('TERMINATED')
  expect((await berth.cli('session', 'logs', 'pair')).stdout).toContain('heard sub1')
  expect((await berth.cli('session', 'logs', 'pair', '--kernel', 'sub1')).stdout).toContain('serving')
  expect((await berth.cli('session', 'show', 'pair')).stdout).toMatch(/kernels +main1 TERMINATED \(exit code 0\), sub1/)
  await expect.poll(() => ended('next'), { interval: 500 }).toBe('TERMINATED')
})

test('the priority of a session that does not wait is refused, and stays', async () => {
  await create('--name', 'humble', '--priority', '-3', '--wait')
  const refused = await berth.cli('session', 'priority', 'humble', '-5')
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('does not wait')
  expect(await ask<Session>('session', 'show', 'humble')).toMatchObject({ priority: -3, status: 'RUNNING' })
  await ask<Session[]>('session', 'rm', 'humble', '--wait')
})
