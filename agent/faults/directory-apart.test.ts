import { expect, test } from 'vitest'
import { AppError, because } from '#manager/contract'
import { createDirectoryApart } from './directory-apart.ts'

const failed = (text: string) => new AppError('kernel_create_failed', because('docker_says', { text }))
const missing = (path: string) =>
  failed(`(HTTP code 400) unexpected - invalid mount config for type "bind": bind source path does not exist: ${path}`)

test('an engine that does not see the directory of the agent is a problem of the host, without a path for owners', () => {
  let told = 0
  const apart = createDirectoryApart(['/var/lib/berth/agent', '/srv/homes'], () => told++)
  expect(apart.problem).toBeNull()
  for (const path of ['/srv/homes/01a', '/var/lib/berth/agent/kernels/01a/run']) {
    expect(apart.told(missing(path))).toMatchObject({
      code: 'unavailable',
      detail: { cause: 'host_directory_apart', why: expect.not.stringContaining('/srv') as string },
    })
  }
  expect(told).toBe(1)
  expect(apart.problem).toMatchObject({ cause: 'agent_directory_apart' })
})

test('other errors stay as they are: a missing folder of a storage, a path that only begins alike, any other text', () => {
  const apart = createDirectoryApart(['/srv/homes'], () => expect.unreachable())
  for (const error of [
    missing('/mnt/storage/x'),
    missing('/srv/homes-of-others'),
    failed('no such image'),
    new Error('x'),
  ])
    expect(apart.told(error)).toBe(error)
  expect(apart.problem).toBeNull()
})
