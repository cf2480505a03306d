import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { AppError, because } from '#manager/contract'
import { createEngineDisk } from './engine-disk.ts'
import { fromEngine } from '../docker/engine-client.ts'

/** More bytes than any disk has, and fewer than every disk has free. */
const [FULL, ROOM] = [2 ** 60, 1]
const noSpace = () =>
  fromEngine(new Error('write /var/lib/docker/tmp/GetImageBlob1: no space left on device'), 'kernel_create_failed')

function aDisk(floorBytes: number, answers: (string | Error)[] = [tmpdir()]) {
  const it = { told: 0, asked: 0 }
  const info = () => {
    const answer = answers[Math.min(it.asked++, answers.length - 1)] ?? tmpdir()
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ DockerRootDir: answer })
  }
  return {
    it,
    disk: createEngineDisk({ engine: { calls: { info } }, directories: [], floorBytes, onChange: () => it.told++ }),
  }
}

test('a full disk of the engine is a problem of the host, without paths or words of Docker for owners', async () => {
  const { it, disk } = aDisk(FULL)
  const errors = await Promise.all([noSpace(), noSpace()].map(error => disk.told(error)))
  for (const error of errors) expect(error).toMatchObject({ code: 'disk_full', detail: because('host_disk_short') })
  expect(disk.problem).toMatchObject({ cause: 'agent_engine_disk_full', values: { path: tmpdir() } })
  expect(it).toEqual({ told: 1, asked: 1 })
})

test('words about a full disk are no problem of the host while the disk has room, or cannot be seen', async () => {
  for (const path of [tmpdir(), '/no/such/directory']) {
    const { it, disk } = aDisk(ROOM, [path])
    const error = noSpace()
    expect(await disk.told(error)).toBe(error)
    expect(String(error.detail['why'])).not.toMatch(/GetImageBlob|\/var/)
    expect(disk.problem).toBeNull()
    expect(it.told).toBe(0)
  }
})

test('other errors are not looked at', async () => {
  const { it, disk } = aDisk(FULL)
  for (const error of [new AppError('image_not_found', because('docker_says', { text: 'no' })), new Error('x')])
    expect(await disk.told(error)).toBe(error)
  await disk.check()
  expect(it.asked).toBe(0)
})

test('the problem lasts until the disk is seen with room; an engine that is away proves nothing', async () => {
  const { it, disk } = aDisk(FULL, [tmpdir(), new Error('connect ECONNREFUSED'), '/no/such/directory'])
  await disk.told(noSpace())
  await disk.check()
  expect(disk.problem).not.toBeNull()
  await disk.check()
  expect(disk.problem).toBeNull()
  expect(it).toEqual({ told: 2, asked: 3 })
})
