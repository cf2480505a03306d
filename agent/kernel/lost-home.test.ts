import { expect, test } from 'vitest'
import { isDeleted } from './lost-home.ts'

const mount = (root: string, at: string) => `913 881 254:1 ${root} ${at} rw,relatime - ext4 /dev/vda1 rw`

test('a home that was deleted on the host is distinguished from an existing one', () => {
  const others = [mount('/', '/'), mount('/srv/kernels/1/run//deleted', '/run/berth')].join('\n')
  expect(isDeleted(`${others}\n${mount('/srv/scratch/1//deleted', '/home/work')}\n`, '/home/work')).toBe(true)
  expect(isDeleted(`${others}\n${mount('/srv/scratch/1', '/home/work')}\n`, '/home/work')).toBe(false)
  expect(isDeleted('', '/home/work')).toBe(false)
})
