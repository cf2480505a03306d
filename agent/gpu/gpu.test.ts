import { expect, test } from 'vitest'
import { createNvidiaGpus, parseNvidiaDevices, parseNvidiaFigures } from './nvidia.ts'
import { createSimulatedGpus, parseSimulatedGpus } from './simulated.ts'

// In the format of nvidia-smi 550: a T4 beside an A100 that is cut into two instances.
const QUERY = `GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11, Tesla T4, 15360, [N/A]
GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02, NVIDIA A100-SXM4-40GB, 40960, Enabled
`
const LIST = `GPU 0: Tesla T4 (UUID: GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02)
  MIG 3g.20gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)
  MIG 1g.5gb      Device  1: (UUID: MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb)
`

test('whole GPUs are offered by UUID, one in MIG mode by its instances', () => {
  expect(
    parseNvidiaDevices(QUERY, LIST).map(device => [
      device.uuid.slice(0, 8),
      device.model,
      device.memBytes / 2 ** 30,
      device.isolation,
    ]),
  ).toEqual([
    ['GPU-5f1c', 'Tesla T4', 15, 'whole'],
    ['MIG-c6d4', 'NVIDIA A100-SXM4-40GB 3g.20gb', 20, 'mig'],
    ['MIG-cba6', 'NVIDIA A100-SXM4-40GB 1g.5gb', 5, 'mig'],
  ])
})

test('parts of a GPU are given out where the admin says so, by accounting; never of one in MIG mode', () => {
  const slots = (shared: string[]) =>
    parseNvidiaDevices(QUERY, LIST, new Set(shared)).map(device => [
      device.uuid.slice(0, 8),
      device.slot,
      device.isolation,
    ])
  const instances = [
    ['MIG-c6d4', 'cuda.device', 'mig'],
    ['MIG-cba6', 'cuda.device', 'mig'],
  ]
  expect(slots(['all'])).toEqual([['GPU-5f1c', 'cuda.shares', 'accounted'], ...instances])
  expect(slots(['GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'])).toEqual(slots(['all']))
  expect(slots(['GPU-b2a3c7a4-93a7-8a0a-3b42-9d2c4d1a7e02'])).toEqual([
    ['GPU-5f1c', 'cuda.device', 'whole'],
    ...instances,
  ])
})

test('a GPU without instances in MIG mode offers nothing', () => {
  expect(parseNvidiaDevices(QUERY, '').map(device => device.model)).toEqual(['Tesla T4'])
})

test('figures that the driver does not have are left out', () => {
  expect(parseNvidiaFigures('GPU-1, 37, 1024\nGPU-2, [N/A], [N/A]\n')).toEqual([
    { uuid: 'GPU-1', utilization: 37, memBytes: 2 ** 30 },
  ])
})

test('without a driver there are no devices', async () => {
  const gpus = createNvidiaGpus({ program: '/nonexistent/nvidia-smi' })
  expect(await gpus.discover()).toEqual([])
  expect(await gpus.figures()).toEqual([])
})

test('simulated GPUs come from a file and must look simulated', async () => {
  expect(
    parseSimulatedGpus('[[gpu]]\nuuid = "SIM-0"\nmemory = "40g"\n[[gpu]]\nuuid = "SIM-1"\nmode = "shared"\n'),
  ).toEqual([
    {
      uuid: 'SIM-0',
      model: 'Simulated GPU',
      slot: 'cuda.device',
      memBytes: 40 * 2 ** 30,
      isolation: 'whole',
      plugin: 'simulated',
    },
    {
      uuid: 'SIM-1',
      model: 'Simulated GPU',
      slot: 'cuda.shares',
      memBytes: 16 * 2 ** 30,
      isolation: 'accounted',
      plugin: 'simulated',
    },
  ])
  expect(() => parseSimulatedGpus('[[gpu]]\nuuid = "GPU-0"\n')).toThrow(/SIM-/)
  await expect(createSimulatedGpus('/nonexistent').discover()).rejects.toMatchObject({ code: 'config_invalid' })
})
