import { expect, test } from 'vitest'
import { describeVersions, readVersions } from './test-versions.ts'

test('the versions of this machine are read, and an unknown program is left out', async () => {
  const versions = await readVersions({ ...process.env, DOCKER_HOST: 'unix:///nowhere/docker.sock' })
  expect(versions.Node).toBe(process.versions.node)
  expect(versions).not.toHaveProperty('Docker Engine')
  for (const version of Object.values(versions)) expect(version).toMatch(/\d/)
})

test('the browser, the engine and the database are told each time, of the rest only what changed', () => {
  const stored = { chromium: '150.0', rclone: '1.60', curl: '7.88' }
  expect(describeVersions({ chromium: '156.0', rclone: '1.61', curl: '7.88', lftp: '4.9' }, stored)).toEqual([
    'tested with chromium 156.0',
    'changed since the stored run: chromium 150.0 → 156.0',
    'changed since the stored run: rclone 1.60 → 1.61',
  ])
  expect(describeVersions({}, stored)).toEqual([])
})
