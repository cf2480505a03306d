import { expect, test } from 'vitest'
import { joinProcesses, parseComputeApps, parseProcessUse } from './gpu-processes.ts'

// The tests have no GPU. The output is put together: of the list, values seen on an H100 with driver 580; of the use, the
// heads that drivers since 470 print.
const H100 = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
const OTHER = 'GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02'
const MiB = 2 ** 20

const APPS = `${H100}, 48213, 31722
${H100}, 48377, 31722
${OTHER}, 50001, [N/A]
`
const NEW_USE = `# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command 
# Idx           #    C/G      %      %      %      %      %      %    name 
    0      48213     C     54     21      -      -      -      -    python3        
    0      48377     C     46     18      -      -      -      -    python3        
    0       2211     G      -      -      -      -      -      -    Xorg           
`
const OLD_USE = `# gpu        pid  type    sm   mem   enc   dec   command
# Idx          #   C/G     %     %     %     %   name
    0      48213     C    97    56     -     -   python3
`

test('processes and their memory are read from the list of those that compute', () => {
  expect(parseComputeApps(APPS)).toEqual([
    { uuid: H100, pid: 48_213, memBytes: 31_722 * MiB },
    { uuid: H100, pid: 48_377, memBytes: 31_722 * MiB },
    { uuid: OTHER, pid: 50_001, memBytes: null },
  ])
  expect(parseComputeApps('')).toEqual([])
  expect(parseComputeApps('No running processes found\n')).toEqual([])
})

test('the use of processes is found by the head, whatever columns the driver has', () => {
  expect(parseProcessUse(NEW_USE)).toEqual([
    { pid: 48_213, isGraphics: false, utilization: 54 },
    { pid: 48_377, isGraphics: false, utilization: 46 },
    { pid: 2211, isGraphics: true, utilization: null },
  ])
  expect(parseProcessUse(OLD_USE)).toEqual([{ pid: 48_213, isGraphics: false, utilization: 97 }])
})

test('a line break in the name of a process makes no row of another process', () => {
  const renamed = NEW_USE.replace('python3        ', 'x\n0 2211 C 99 9')
  expect(parseProcessUse(renamed)?.filter(({ pid }) => pid === 2211)).toEqual([
    { pid: 2211, isGraphics: true, utilization: null },
  ])
})

test('a GPU without processes is none, and any other answer is unknown', () => {
  const [head = '', units = ''] = NEW_USE.split('\n')
  expect(
    parseProcessUse(`${head}\n${units}\n    0          -     -      -      -      -      -      -      -    -   \n`),
  ).toEqual([])
  for (const text of [
    '',
    'Not supported on the device(s)\n',
    'Failed to initialize NVML: Driver/library version mismatch\n',
  ])
    expect(parseProcessUse(text)).toBeUndefined()
})

test('memory of a process that only draws is unknown, and one that has ended since is none', () => {
  const apps = parseComputeApps(APPS).filter(({ uuid, pid }) => uuid === H100 && pid !== 48_377)
  expect(joinProcesses(apps, parseProcessUse(NEW_USE))).toEqual([
    { pid: 48_213, memBytes: 31_722 * MiB, utilization: 54 },
    { pid: 2211, memBytes: null, utilization: null },
  ])
  expect(joinProcesses(apps, undefined)).toEqual([{ pid: 48_213, memBytes: 31_722 * MiB, utilization: null }])
})

test('a process that draws and computes is one', () => {
  const uses = [
    { pid: 48_213, isGraphics: false, utilization: 5 },
    { pid: 48_213, isGraphics: true, utilization: 10 },
  ]
  expect(joinProcesses([{ uuid: H100, pid: 48_213, memBytes: MiB }], uses)).toEqual([
    { pid: 48_213, memBytes: MiB, utilization: 15 },
  ])
})
