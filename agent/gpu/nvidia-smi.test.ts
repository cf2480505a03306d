import { expect, test } from 'vitest'
import { because } from '#manager/contract'
import { parseGpuRows, parseMigInstances, parseMigMemory, parseProcGpu, toGpu } from './nvidia-smi.ts'

const T4 = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
const A100 = 'GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0'
const GiB = 2 ** 30
const MiB = 2 ** 20

const rowOf = (line: string) => parseGpuRows(line)[0]

// Fields as drivers of the branch named print them; see GPU_FIELDS for their order.
test.each([
  ['470, no MIG, no ECC', `${T4}, 15109, [N/A], 0, 37, 1024, Tesla T4`, 37, 1024 * MiB, null],
  ['470, a GeForce', `${T4}, 8119, [N/A], [N/A], 0, 5, NVIDIA GeForce GTX 1080`, 0, 5 * MiB, null],
  ['older names', `${T4}, 15109, [Not Supported], [Not Supported], [Not Supported], 3, Tesla T4`, null, 3 * MiB, null],
  ['580, an H100 in use', `${T4}, 81559, Disabled, 0, 0, 8719, NVIDIA H100 80GB HBM3`, 0, 8719 * MiB, null],
  ['580, unified memory', `${T4}, [N/A], [N/A], [N/A], 12, [N/A], NVIDIA GB10`, 12, null, null],
  [
    'ECC',
    `${T4}, 81559, Disabled, 2, 0, 4, NVIDIA H100 80GB HBM3`,
    0,
    4 * MiB,
    /2 uncorrectable.*nvidia-smi -r -i GPU-5f/,
  ],
  [
    'lost',
    `${T4}, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], Tesla T4`,
    null,
    null,
    /GPU is lost/,
  ],
  ['Xid 79', `${T4}, 15109, [N/A], [Unknown Error], [Unknown Error], 3, Tesla T4`, null, 3 * MiB, /Unknown Error/],
  ['to be reset', `${T4}, 81559, Disabled, [GPU requires reset], 0, 4, NVIDIA H100`, 0, 4 * MiB, /requires reset/],
  ['ERR!', `${T4}, 15109, [N/A], 0, ERR!, 3, Tesla T4`, null, 3 * MiB, /ERR!/],
])('a row of nvidia-smi is parsed: %s', (_what, line, utilization, memBytes, problem) => {
  const row = rowOf(line)
  expect(row?.figures).toEqual({ uuid: T4, utilization, memBytes })
  if (problem === null) expect(row?.problem).toBeNull()
  else expect(row?.problem?.why).toMatch(problem)
})

test('lines that are no rows are ignored, and a comma in a name is harmless', () => {
  const rows = parseGpuRows(
    `Unable to determine the device handle for GPU0000:CB:00.0: Unknown Error\r\n\n${T4}, 15109, [N/A], 0, 1, 2, Odd, Inc. T4\nNo devices were found\n`,
  )
  expect(rows.map(row => [row.model, row.memBytes])).toEqual([['Odd, Inc. T4', 15109 * MiB]])
})

test('MIG instances are listed below their GPU, in the form since driver 470 and in the older one', () => {
  const list = `GPU 0: Tesla T4 (UUID: ${T4})
GPU 1: NVIDIA A100-SXM4-40GB (UUID: ${A100})
  MIG 3g.20gb     Device  0: (UUID: MIG-c7384736-a75d-5afc-978f-d2f1294409fd)
  MIG 1g.5gb+me   Device  1: (UUID: MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d)
GPU 2: A100-SXM4-40GB (UUID: GPU-2fa5cf01-9520-1bc1-995b-cc0c6d9bca7c)
  MIG 1c.3g.20gb Device 0: (UUID: MIG-GPU-2fa5cf01-9520-1bc1-995b-cc0c6d9bca7c/1/0)
  MIG 1c.3g.20gb Device 1: (UUID: MIG-GPU-2fa5cf01-9520-1bc1-995b-cc0c6d9bca7c/1/1)
`
  expect(parseMigInstances(list).map(({ parent, ...one }) => [parent.slice(0, 8), ...Object.values(one)])).toEqual([
    ['GPU-e86c', '3g.20gb', 0, 'MIG-c7384736-a75d-5afc-978f-d2f1294409fd'],
    ['GPU-e86c', '1g.5gb+me', 1, 'MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d'],
    ['GPU-2fa5', '1c.3g.20gb', 0, 'MIG-GPU-2fa5cf01-9520-1bc1-995b-cc0c6d9bca7c/1/0'],
    ['GPU-2fa5', '1c.3g.20gb', 1, 'MIG-GPU-2fa5cf01-9520-1bc1-995b-cc0c6d9bca7c/1/1'],
  ])
})

// Output of driver 575, shortened.
const XML = `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<driver_version>575.57.08</driver_version>
	<gpu id="00000000:00:09.0">
		<mig_mode><current_mig>Enabled</current_mig></mig_mode>
		<mig_devices>
			<mig_device>
				<index>0</index>
				<gpu_instance_id>1</gpu_instance_id>
				<compute_instance_id>0</compute_instance_id>
				<fb_memory_usage>
					<total>40448 MiB</total>
					<reserved>0 MiB</reserved>
					<used>298 MiB</used>
					<free>40151 MiB</free>
				</fb_memory_usage>
				<bar1_memory_usage><total>65535 MiB</total><used>0 MiB</used></bar1_memory_usage>
			</mig_device>
			<mig_device>
				<index>1</index>
				<fb_memory_usage><total>40448 MiB</total><used>N/A</used></fb_memory_usage>
			</mig_device>
		</mig_devices>
		<uuid>${A100}</uuid>
		<fb_memory_usage><total>81920 MiB</total><used>N/A</used></fb_memory_usage>
	</gpu>
	<gpu id="00000000:00:0A.0"><mig_devices>None</mig_devices><uuid>${T4}</uuid></gpu>
</nvidia_smi_log>`

test('the memory of MIG instances comes from the long form; missing values stay unknown', () => {
  expect(parseMigMemory(XML)).toEqual([
    { parent: A100, index: 0, totalBytes: 40448 * MiB, usedBytes: 298 * MiB },
    { parent: A100, index: 1, totalBytes: 40448 * MiB, usedBytes: null },
  ])
})

test('an instance has its memory to itself, unless it is a compute instance within a larger one', () => {
  const row = rowOf(`${A100}, 40960, Enabled, 0, [N/A], [N/A], NVIDIA A100-SXM4-40GB`)
  if (!row) throw new Error('no row')
  const gpu = (profile: string) => toGpu({ parent: A100, index: 0, uuid: 'MIG-1', profile }, row, undefined)
  expect(gpu('3g.20gb')).toEqual({
    uuid: 'MIG-1',
    model: 'NVIDIA A100-SXM4-40GB 3g.20gb',
    memBytes: 20 * GiB,
    mode: 'mig',
    sharedBecause: null,
    problem: null,
    warning: null,
  })
  expect(gpu('1c.3g.20gb')).toMatchObject({
    memBytes: 20 * GiB,
    sharedBecause: because('compute_instance_shares'),
  })
})

test('the kernel module knows GPUs that nvidia-smi omits, but not the UUID of one that it never reached', () => {
  const information = `Model: \t\t NVIDIA A100 80GB PCIe\nIRQ:   \t\t 127\nGPU UUID: \t ${A100}\nBus Location: \t 0000:46:00.0\n`
  expect(parseProcGpu(information)).toEqual({ uuid: A100, model: 'NVIDIA A100 80GB PCIe' })
  expect(parseProcGpu(information.replace(A100, 'GPU-????????-????-????-????-????????????'))).toBeUndefined()
})
