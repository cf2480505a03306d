import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseXids, watchXids } from './xid.ts'

const OFF_THE_BUS = `4,2091,5000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.`
const OWN_FAULT =
  '4,2092,5000001,-;NVRM: Xid (PCI:0000:AF:00): 31, pid=1234, name=python3, Ch 00000008, MMU Fault: ENGINE GRAPHICS'
const OLD_FORM =
  '4,2093,5000002,-;NVRM: Xid (PCI:0000:AF:00.0): 48, An uncorrectable double bit error (DBE) has been detected on GPU'
const OTHER = '6,2094,5000003,-;eth0: link up\n SUBSYSTEM=net'

test('fatal errors in the kernel log count, faults of a program do not', () => {
  const log = [OFF_THE_BUS, ' SUBSYSTEM=pci', OWN_FAULT, OLD_FORM, OTHER].join('\n')
  expect(parseXids(log, 0).map(({ address, problem }) => ({ address, problem: problem?.why }))).toEqual([
    {
      address: '0000:3b:00',
      problem: expect.stringMatching(/Xid 79 for this GPU: GPU has fallen off the bus\. Reset/) as string,
    },
    { address: '0000:af:00', problem: expect.stringMatching(/Xid 48 .*detected on GPU\. Reset/) as string },
  ])
})

test.each([13, 31, 43, 45, 63, 94])('Xid %d is no reason to take a GPU from sessions', xid => {
  expect(
    parseXids(`4,2091,5000000,-;NVRM: Xid (PCI:0000:3b:00): ${xid}, pid=1234, name=python3, Ch 00000008`, 0),
  ).toEqual([])
})

test('an action that the driver asks for is a problem until the driver has recovered the GPU', async () => {
  const changed = (from: string, to: string) =>
    `4,2095,5000004,-;NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from ${from} to ${to}`
  const reset = changed('0x0 (None)', '0x1 (GPU Reset Required)')
  expect(parseXids(reset, 0)[0]?.problem?.why).toContain('0x1 (GPU Reset Required)')
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-xid-'))
  const path = join(directory, 'kmsg')
  await writeFile(path, `${OFF_THE_BUS}\n${reset}\n`)
  await using watch = watchXids(path, 0)
  expect((await watch.read()).size).toBe(1)
  await appendFile(path, `${changed('0x1 (GPU Reset Required)', '0x0 (None)')}\n`)
  expect((await watch.read()).size).toBe(0)
  await rm(directory, { recursive: true })
})

test('log lines from before the start of the agent do not count', () => {
  expect(parseXids(OFF_THE_BUS, 5.1)).toEqual([])
})

test('the log is followed; if it cannot be read, nothing is known', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-xid-'))
  const path = join(directory, 'kmsg')
  await writeFile(path, `${OTHER}\n`)
  {
    await using watch = watchXids(path, 0)
    expect([...(await watch.read()).keys()]).toEqual([])
    await appendFile(path, `${OFF_THE_BUS}\n`)
    expect([...(await watch.read()).keys()]).toEqual(['0000:3b:00'])
    expect([...(await watch.read()).keys()]).toEqual(['0000:3b:00'])
  }
  await using none = watchXids(join(directory, 'nothing'))
  expect((await none.read()).size).toBe(0)
  await rm(directory, { recursive: true })
})
