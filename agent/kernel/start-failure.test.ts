import { expect, test } from 'vitest'
import { startFailure } from './start-failure.ts'

const fromEngine = (message: string) => Object.assign(new Error(message), { statusCode: 400, json: { message } })
const MERGED = `/var/lib/docker/overlay2/${'0123456789abcdef'.repeat(4)}/merged`

test.each([
  `OCI runtime create failed: runc create failed: unable to start container process: error during container init: error mounting "/data/scratch/x" to rootfs at "/home/work": stat ${MERGED}/home/work: not a directory: unknown`,
  `failed to create task: lstat ${MERGED}/home/work: not a directory`,
])('a file of the image that blocks a mount is named as the cause: %#', message => {
  const { code, detail } = startFailure(fromEngine(message))
  expect(code).toBe('kernel_create_failed')
  expect(detail.why).toContain('/home/work is a file where it must be a folder')
  expect(detail.why).not.toMatch(/overlay2|runc|lstat/)
})

test('a directory of the image that is in the way of the settings of SSH is named as the cause', () => {
  const mount =
    'mount /data/kernels/x/etc/ssh_config:/etc/ssh/ssh_config (via /proc/self/fd/6), flags: 0x5001: not a directory'
  const { detail } = startFailure(fromEngine(`OCI runtime create failed: error mounting: ${mount}: unknown`))
  expect(detail.why).toMatch(/^The image does not fit: \/etc\/ssh /)
})

test('other failures keep the words of the engine, without paths of the host', () => {
  const { detail } = startFailure(fromEngine(`permission denied: ${MERGED}/etc/hosts`))
  expect(detail.why).toBe('Docker could not start the container: permission denied: /etc/hosts')
})

test('a full disk of the engine is reported as such', () => {
  expect(startFailure(fromEngine('write /x: no space left on device')).code).toBe('disk_full')
})

test('limits of the kernel with the words of a full disk are none', () => {
  for (const text of [
    'unable to join session keyring: disk quota exceeded',
    'mkdir /sys/fs/cgroup/x: no space left on device',
  ])
    expect(startFailure(fromEngine(text)).code).toBe('kernel_create_failed')
})

test('an unreachable engine is reported as such', () => {
  const error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  expect(startFailure(error).code).toBe('engine_unreachable')
})
