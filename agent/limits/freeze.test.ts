import { expect, test } from 'vitest'
import { freeze, switchOf } from './freeze.ts'

const ID = 'c0ffee'

test('a container is stopped by its own control group, of either version', () => {
  const old = ['memory', 'blkio', 'cpu,cpuacct', 'freezer']
    .map((name, i) => `${i + 1}:${name}:/docker/${ID}`)
    .join('\n')
  expect(switchOf(`${old}\n`, ID)).toMatchObject({
    file: `/sys/fs/cgroup/freezer/docker/${ID}/freezer.state`,
    on: 'FROZEN',
    off: 'THAWED',
  })
  expect(switchOf(`0::/system.slice/docker-${ID}.scope\n`, ID)).toMatchObject({
    file: `/sys/fs/cgroup/system.slice/docker-${ID}.scope/cgroup.freeze`,
    on: '1',
    off: '0',
  })
})

test('a process of another group, or of another host, stops nothing', async () => {
  expect(switchOf('0::/user.slice\n', ID)).toBeUndefined()
  const elsewhere = [...['memory', 'blkio', 'cpuacct'].map(name => `1:${name}:/docker/${ID}`), '2:freezer:/'].join('\n')
  expect(switchOf(elsewhere, ID)).toBeUndefined()
  expect(await freeze(0, ID)).toBeUndefined()
  expect(await freeze(process.pid, ID)).toBeUndefined()
})
