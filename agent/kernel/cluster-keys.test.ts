import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { clusterKeysOf } from './cluster-keys.ts'
import { isUsable } from './key-pair.ts'

test('agents with the same seed have the same keys; another seed gives other ones', () => {
  const keys = clusterKeysOf('seed')
  expect(clusterKeysOf('seed')).toEqual(keys)
  const others = clusterKeysOf('another seed')
  const all = [keys.host, keys.login, others.host, others.login].map(pair => pair.public)
  expect(new Set(all).size).toBe(4)
})

test('every derived pair can be used', () => {
  for (let i = 0; i < 300; i++) {
    const { host, login } = clusterKeysOf(`seed ${i}`)
    expect(isUsable(host) && isUsable(login)).toBe(true)
  }
})

test('OpenSSH reads the private key, and finds the same public one in it', async () => {
  const { login } = clusterKeysOf('seed')
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-'))
  try {
    const path = join(directory, 'key')
    await writeFile(path, login.private, { mode: 0o600 })
    const { stdout } = await promisify(execFile)('ssh-keygen', ['-y', '-f', path])
    expect(stdout.trim()).toBe(login.public)
  } finally {
    await rm(directory, { recursive: true })
  }
})
