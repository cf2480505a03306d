import { expect, test } from 'vitest'
import { cgroupPaths, parseNetDev, parseV1, parseV2 } from './cgroup.ts'

const ID = '4f3c'.repeat(16)

test('version 1: every controller has a group of its own', () => {
  const text = `9:name=systemd:/\n7:blkio:/docker/${ID}\n4:memory:/docker/${ID}\n3:cpuset:/docker/${ID}\n2:cpu,cpuacct:/docker/${ID}\n0::/\n`
  expect(cgroupPaths(text, ID)).toEqual({
    version: 1,
    cpuacct: `/sys/fs/cgroup/cpuacct/docker/${ID}`,
    memory: `/sys/fs/cgroup/memory/docker/${ID}`,
    blkio: `/sys/fs/cgroup/blkio/docker/${ID}`,
  })
})

test('version 2: one group, with or without systemd', () => {
  expect(cgroupPaths(`0::/system.slice/docker-${ID}.scope\n`, ID)).toEqual({
    version: 2,
    unified: `/sys/fs/cgroup/system.slice/docker-${ID}.scope`,
  })
  expect(cgroupPaths(`0::/docker/${ID}\n`, ID)).toEqual({ version: 2, unified: `/sys/fs/cgroup/docker/${ID}` })
})

test('a process outside the container is not measured', () => {
  expect(cgroupPaths('0::/user.slice\n', ID)).toBeUndefined()
  expect(cgroupPaths('', ID)).toBeUndefined()
})

test('the files of version 1 are read; reclaimable cache does not count as used', () => {
  expect(
    parseV1({
      'cpuacct.usage': '1234567890\n',
      'memory.usage_in_bytes': '10485760\n',
      'memory.max_usage_in_bytes': '20971520\n',
      'memory.stat': 'cache 4096\ninactive_file 1\ntotal_cache 4096\ntotal_inactive_file 485760\n',
      'blkio.throttle.io_service_bytes':
        '8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 1\n8:0 Total 12288\n254:0 Read 4\n254:0 Write 0\nTotal 12292\n',
    }),
  ).toEqual({
    cpuNanos: 1_234_567_890,
    memBytes: 10_000_000,
    memPeakBytes: 20_971_520,
    diskReadBytes: 4100,
    diskWriteBytes: 8192,
  })
})

test('the files of version 2 are read, on kernels without memory.peak too', () => {
  const files = {
    'cpu.stat': 'usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n',
    'memory.current': '10485760\n',
    'memory.peak': '',
    'memory.stat': 'anon 1\ninactive_file 485760\n',
    'io.stat': '8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n254:0 rbytes=4 wbytes=0 rios=1 wios=0\n',
  }
  expect(parseV2(files)).toEqual({
    cpuNanos: 2_500_000_000,
    memBytes: 10_000_000,
    memPeakBytes: 10_485_760,
    diskReadBytes: 4100,
    diskWriteBytes: 8192,
  })
  expect(parseV2({ ...files, 'memory.peak': '20971520\n' }).memPeakBytes).toBe(20_971_520)
})

test('traffic covers all devices except the loopback', () => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     500       5    0    0    0     0          0         0      500       5    0    0    0     0       0          0
  eth0:    1016      12    0    0    0     0          0         0      726       9    0    0    0     0       0          0
`
  expect(parseNetDev(text)).toEqual({ netRxBytes: 1016, netTxBytes: 726 })
})
