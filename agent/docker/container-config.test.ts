import { expect, test } from 'vitest'
import { type KernelSpec } from '#agent/contract'
import { KernelId, SessionId, UserId } from '#manager/contract'
import { chooseCores, containerConfig, type ContainerPlan, gpusOf } from './container-config.ts'
import { gpuRequest, type GpuRequest, joinGpuRequests, NO_GPUS } from './gpu-request.ts'
import { nvidiaRequest } from '../gpu/nvidia-requests.ts'

const GiB = 2 ** 30

function aSpec(changes: Partial<KernelSpec> = {}): KernelSpec {
  return {
    kernelId: KernelId.parse('01920000-0000-7000-8000-000000000001'),
    sessionId: SessionId.parse('01920000-0000-7000-8000-000000000002'),
    sessionName: 'My.Session',
    role: 'main',
    attempt: 1,
    owner: { id: UserId.parse('01920000-0000-7000-8000-000000000003'), email: 'a@localhost' },
    resourceGroup: 'default',
    image: { reference: 'berth/python:3.13', digest: 'sha256:abc' },
    slots: { cpu: 1500, mem: GiB },
    shmemBytes: 64 * 2 ** 20,
    devices: [],
    environ: { FOO: 'bar' },
    startupCommand: null,
    authorizedKeys: [],
    ...changes,
  }
}

const plan: ContainerPlan = {
  name: 'berth-1',
  image: 'sha256:abc',
  user: { uid: 1000, gid: 1000 },
  networkName: 'berth-net',
  toolboxVolume: 'berth-toolbox-1',
  paths: { scratch: '/data/scratch/1', control: '/data/kernels/1/run', etc: '/data/kernels/1/etc' },
  folders: [],
  labels: { 'berth.kernel': '{}', 'berth.manager': 'm', 'berth.kernel-id': 'k' },
  cpus: [],
  limits: { cpus: 4, memBytes: 8 * GiB },
  imageEnvironment: ['PATH=/bin'],
  imageProgram: { command: ['/entry.sh', 'serve'], directory: '/srv' },
  gpus: NO_GPUS,
  shares: [],
  hasStart: false,
}

test('a container has exactly the options of the allowlist', () => {
  expect(containerConfig(aSpec(), plan)).toEqual({
    name: 'berth-1',
    Image: 'sha256:abc',
    Hostname: 'my-session',
    User: '1000:1000',
    WorkingDir: '/home/work',
    Env: [
      'LANG=C.UTF-8',
      'FOO=bar',
      'PATH=/bin:/home/work/.local/bin:/opt/berth/bin',
      'BERTH_SESSION_ID=01920000-0000-7000-8000-000000000002',
      'BERTH_SESSION_NAME=My.Session',
      'NVIDIA_VISIBLE_DEVICES=void',
      'AMD_VISIBLE_DEVICES=none',
      'HOME=/home/work',
      'USER=work',
      'LOGNAME=work',
    ],
    Entrypoint: [],
    Cmd: ['/opt/berth/bin/busybox', 'sleep', 'infinity'],
    Labels: plan.labels,
    Healthcheck: { Test: ['NONE'] },
    StopSignal: 'SIGTERM',
    HostConfig: {
      NanoCpus: 1_500_000_000,
      Memory: GiB,
      MemorySwap: GiB,
      ShmSize: 64 * 2 ** 20,
      PidsLimit: 4096,
      Init: true,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: ['ALL'],
      IpcMode: 'private',
      NetworkMode: 'berth-net',
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
      Mounts: [
        { Type: 'volume', Source: 'berth-toolbox-1', Target: '/opt/berth', ReadOnly: true },
        { Type: 'bind', Source: '/data/kernels/1/etc/passwd', Target: '/etc/passwd', ReadOnly: true },
        { Type: 'bind', Source: '/data/kernels/1/etc/group', Target: '/etc/group', ReadOnly: true },
        { Type: 'bind', Source: '/data/kernels/1/etc/shells', Target: '/etc/shells', ReadOnly: true },
        {
          Type: 'bind',
          Source: '/data/kernels/1/etc/profile.sh',
          Target: '/etc/profile.d/00-berth.sh',
          ReadOnly: true,
        },
        { Type: 'bind', Source: '/data/kernels/1/run', Target: '/run/berth', ReadOnly: true },
        { Type: 'bind', Source: '/data/scratch/1', Target: '/home/work', ReadOnly: false },
        {
          Type: 'volume',
          Source: '',
          Target: '/dev/pts',
          VolumeOptions: {
            NoCopy: true,
            Labels: { 'berth.manager': 'm', 'berth.kernel-id': 'k' },
            DriverConfig: {
              Name: 'local',
              Options: {
                type: 'devpts',
                device: 'devpts',
                o: 'newinstance,ptmxmode=0666,mode=0620,gid=5,max=64,nosuid,noexec',
              },
            },
          },
        },
      ],
    },
  })
})

test('a session that must be kept in asks no name server outside, and finds its proxy against variables of user and image', () => {
  const usual = containerConfig(aSpec(), plan)
  const closed = containerConfig(aSpec({ allowedNames: [] }), plan)
  expect(closed).toEqual({ ...usual, HostConfig: { ...usual.HostConfig, Dns: ['192.0.2.1'] } })
  const spec = aSpec({
    allowedNames: ['pypi.org'],
    environ: { https_proxy: 'http://other:1' },
    clusterSize: 2,
    role: 'main1',
  })
  const { Env = [], HostConfig } = containerConfig(spec, {
    ...plan,
    proxy: 'http://10.213.0.1:8489',
    imageEnvironment: ['HTTP_PROXY=http://other:2'],
  })
  expect(HostConfig?.Dns).toEqual(['192.0.2.1'])
  expect(Env.filter(line => /proxy/i.test(line)).toSorted()).toEqual([
    'HTTPS_PROXY=http://10.213.0.1:8489',
    'HTTP_PROXY=http://10.213.0.1:8489',
    'NODE_USE_ENV_PROXY=1',
    'NO_PROXY=localhost,127.0.0.1,::1,main1,sub1',
    'http_proxy=http://10.213.0.1:8489',
    'https_proxy=http://10.213.0.1:8489',
    'no_proxy=localhost,127.0.0.1,::1,main1,sub1',
  ])
})

test('settings of SSH among the containers of a session are mounted where the image leaves room for them', () => {
  const targets = (hasSshConfig: boolean) =>
    (containerConfig(aSpec({ clusterSize: 2, role: 'main1' }), { ...plan, hasSshConfig }).HostConfig?.Mounts ?? []).map(
      ({ Target }) => Target,
    )
  expect(targets(true)).toContain('/etc/ssh/ssh_config')
  expect(targets(false)).toEqual(targets(true).filter(target => target !== '/etc/ssh/ssh_config'))
})

test('on a host with few process ids a session gets its share of them', () => {
  const { HostConfig } = containerConfig(aSpec(), { ...plan, hostProcesses: 32_768 })
  expect(HostConfig?.PidsLimit).toBe(2048)
})

test('notes and a start-up script run first, then the command of the session', () => {
  const { Cmd = [] } = containerConfig(aSpec({ startupCommand: 'make', kind: 'batch' }), { ...plan, hasStart: true })
  expect([...Cmd.slice(0, 3), ...Cmd.slice(4)]).toEqual([
    '/opt/berth/bin/busybox',
    'sh',
    '-c',
    'berth',
    '/opt/berth/bin/berth-shell',
    '-c',
    'make',
  ])
  expect(Cmd[3]).toContain('/run/berth/start-script')
})

test('a request cannot add options to those of the allowlist', () => {
  const spec = { ...aSpec(), Privileged: true, HostConfig: { PidMode: 'host' }, Binds: ['/:/host'] }
  expect(containerConfig(spec, plan)).toEqual(containerConfig(aSpec(), plan))
})

test('a user cannot override environment variables of Berth', () => {
  const { Env } = containerConfig(
    aSpec({ environ: { HOME: '/root', BERTH_SESSION_ID: 'x', LANG: 'ko_KR.UTF-8' } }),
    plan,
  )
  expect(Env).toContain('HOME=/home/work')
  expect(Env).toContain('LANG=ko_KR.UTF-8')
  expect(Env).not.toContain('HOME=/root')
  expect(Env).not.toContain('BERTH_SESSION_ID=x')
})

test.each([
  ['of the image', ['PATH=/opt/conda/bin:/bin'], {}, '/opt/conda/bin:/bin:/home/work/.local/bin:/opt/berth/bin'],
  ['that the user asks for', ['PATH=/bin'], { PATH: '/mine:/bin' }, '/mine:/bin:/home/work/.local/bin:/opt/berth/bin'],
  ['that has them', ['PATH=/home/work/.local/bin:/bin'], {}, '/home/work/.local/bin:/bin:/opt/berth/bin'],
  [
    'of an image that sets none',
    [],
    {},
    '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/home/work/.local/bin:/opt/berth/bin',
  ],
])('programs of the user and tools of Berth come after the PATH %s', (_whose, imageEnvironment, environ, expected) => {
  const { Env } = containerConfig(aSpec({ environ }), { ...plan, imageEnvironment })
  expect(Env?.filter(line => line.startsWith('PATH='))).toEqual([`PATH=${expected}`])
})

test('the language of an image is kept', () => {
  const { Env } = containerConfig(aSpec(), { ...plan, imageEnvironment: ['LANG=de_DE.UTF-8'] })
  expect(Env?.filter(line => line.startsWith('LANG='))).toEqual([])
})

const uuids = ['GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11', 'MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f']
const ids = uuids.map(uuid => `nvidia.com/gpu=${uuid}`)

test.each<[string, GpuRequest, object, string]>([
  [
    'NVIDIA’s hook',
    nvidiaRequest({ by: 'hook' }, uuids),
    { Driver: '', DeviceIDs: uuids, Capabilities: [['gpu']] },
    uuids.join(','),
  ],
  // NVIDIA's runtime must not add the GPUs again if it is the engine's default.
  ['CDI', nvidiaRequest({ by: 'cdi', ids, isByIndex: false }, uuids), { Driver: 'cdi', DeviceIDs: ids }, 'void'],
])('GPUs are requested by %s, and nothing that the user sets changes that', (_, gpus, request, visible) => {
  const environ = { NVIDIA_VISIBLE_DEVICES: 'all' }
  const { HostConfig, Env = [] } = containerConfig(aSpec({ environ }), { ...plan, gpus })
  expect(HostConfig?.DeviceRequests).toEqual([request])
  expect(Env.filter(line => line.startsWith('NVIDIA_VISIBLE_DEVICES='))).toEqual([`NVIDIA_VISIBLE_DEVICES=${visible}`])
})

test('GPUs of several makers are requested together, with their files, groups and variables', () => {
  const nvidia = nvidiaRequest({ by: 'hook' }, ['GPU-5f1c0b0a'])
  const file = { onHost: '/dev/dri/renderD128', inContainer: '/dev/dri/renderD128' }
  const amd = gpuRequest({
    uuids: ['AMD-1f9de0957d137942'],
    files: [file],
    groups: [44, 109],
    advice: { ROCR_VISIBLE_DEVICES: '0', HIP_VISIBLE_DEVICES: '0' },
  })
  const environ = { HIP_VISIBLE_DEVICES: '', AMD_VISIBLE_DEVICES: 'all' }
  const { HostConfig, Env = [] } = containerConfig(aSpec({ environ }), {
    ...plan,
    gpus: joinGpuRequests([nvidia, amd]),
    imageEnvironment: ['ROCR_VISIBLE_DEVICES=7'],
  })
  expect(HostConfig).toMatchObject({
    DeviceRequests: [{ DeviceIDs: ['GPU-5f1c0b0a'] }],
    Devices: [{ PathOnHost: file.onHost, PathInContainer: file.inContainer, CgroupPermissions: 'rw' }],
    GroupAdd: ['44', '109'],
  })
  expect(Env.filter(line => line.includes('VISIBLE_DEVICES')).toSorted()).toEqual([
    'AMD_VISIBLE_DEVICES=none',
    'HIP_VISIBLE_DEVICES=',
    'NVIDIA_VISIBLE_DEVICES=GPU-5f1c0b0a',
    'ROCR_VISIBLE_DEVICES=0',
  ])
})

test('a session without GPUs gets none, whatever its image asks for', () => {
  // An engine whose default runtime is NVIDIA's would give all GPUs to a CUDA image.
  const { HostConfig, Env = [] } = containerConfig(aSpec({ environ: { NVIDIA_VISIBLE_DEVICES: 'all' } }), {
    ...plan,
    imageEnvironment: ['NVIDIA_VISIBLE_DEVICES=all'],
  })
  expect(HostConfig).not.toHaveProperty('DeviceRequests')
  expect(Env.filter(line => line.startsWith('NVIDIA_VISIBLE'))).toEqual(['NVIDIA_VISIBLE_DEVICES=void'])
})

test('a session with a share of a GPU is told it, and settings of its image or user win over advice', () => {
  const shares = [{ uuid: 'GPU-1', hundredths: 25, memBytes: 80 * 2 ** 30 }]
  const environ = { BERTH_GPU_SHARE: '1', PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' }
  const imageEnvironment = ['XLA_PYTHON_CLIENT_MEM_FRACTION=.5', 'CUPY_GPU_MEMORY_LIMITS=1']
  const { Env = [] } = containerConfig(aSpec({ environ }), { ...plan, imageEnvironment, shares })
  expect(Env.filter(line => /GPU_|ALLOC|FRACTION|CUPY/.test(line))).toEqual([
    'BERTH_GPU_SHARE=0.25',
    'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True',
    'BERTH_GPU_MEMORY_MIB=20480',
    'CUPY_GPU_MEMORY_LIMIT=25%',
    'TF_FORCE_GPU_ALLOW_GROWTH=true',
  ])
})

test('simulated GPUs are only named in the environment, and not asked for', () => {
  const devices = [
    { uuid: 'GPU-1', slot: 'cuda.device', amount: 1 },
    { uuid: 'SIM-2', slot: 'cuda.device', amount: 1 },
  ]
  expect(containerConfig(aSpec({ devices }), plan).Env).toContain('BERTH_SIMULATED_GPUS=SIM-2')
  expect(gpusOf({ devices })).toEqual(['GPU-1'])
})

test.each(['batch', undefined] as const)(
  'the start-up command of a batch session becomes its main process, run by the shell of the image (%s)',
  kind => {
    const spec = { ...aSpec({ startupCommand: 'echo hi' }), ...(kind ? { kind } : {}) }
    expect(containerConfig(spec, plan).Cmd).toEqual(['/opt/berth/bin/berth-shell', '-c', 'echo hi'])
  },
)

test('an interactive session outlives its start-up command, which is never part of a script', () => {
  const command = 'echo "$(id)"; exit 3'
  const cmd = containerConfig(aSpec({ startupCommand: command, kind: 'interactive' }), plan).Cmd as string[]
  expect(cmd.slice(0, 3)).toEqual(['/opt/berth/bin/busybox', 'sh', '-c'])
  expect(cmd[3]).not.toContain(command)
  expect(cmd[3]).toMatch(/exec .*sleep infinity$/)
  expect(cmd.slice(4)).toEqual(['berth', '/opt/berth/bin/berth-shell', '-c', command])
})

test('the program of the image is passed as arguments, with its working directory', () => {
  const spec = aSpec({ runImageCommand: true, kind: 'batch' })
  const cmd = containerConfig(spec, plan).Cmd as string[]
  expect(cmd.slice(0, 3)).toEqual(['/opt/berth/bin/busybox', 'sh', '-c'])
  expect(cmd.slice(4)).toEqual(['berth', '/srv', '/entry.sh', 'serve'])
  const stays = containerConfig({ ...spec, kind: 'interactive' }, plan).Cmd as string[]
  expect(stays.slice(4)).toEqual(['berth', ...cmd])
})

test('a request for the program of an image without one is refused', () => {
  const bare = { ...plan, imageProgram: { command: [], directory: '/' } }
  expect(() => containerConfig(aSpec({ runImageCommand: true }), bare)).toThrow(
    expect.objectContaining({ code: 'image_without_program' }),
  )
})

test('an interactive session without a command only waits', () => {
  expect(containerConfig(aSpec({ kind: 'interactive' }), plan).Cmd).toEqual([
    '/opt/berth/bin/busybox',
    'sleep',
    'infinity',
  ])
})

test('shared memory never exceeds the memory of the session', () => {
  expect(containerConfig(aSpec({ shmemBytes: 4 * GiB }), plan).HostConfig?.ShmSize).toBe(GiB)
})

test.each([
  ['more cores than the engine has', { cpu: 4001, mem: GiB }, 'request_too_large'],
  ['more memory than the engine has', { cpu: 1000, mem: 9 * GiB }, 'request_too_large'],
  ['no CPU at all', { mem: GiB }, 'bad_request'],
  ['less memory than Docker accepts', { cpu: 1000, mem: 2 ** 20 }, 'bad_request'],
])('%s is refused', (_what, slots: Record<string, number>, code) => {
  expect(() => containerConfig(aSpec({ slots }), plan)).toThrow(expect.objectContaining({ code }))
})

test('what is mounted later comes in by propagation and is read-only itself; the folders of the launch take no part in it', () => {
  const folders = [{ source: '/srv/folders/1', target: '/home/work/data', readOnly: false }]
  const { HostConfig } = containerConfig(aSpec(), { ...plan, folders, laterFolders: '/data/mounts/1' })
  expect(HostConfig?.Mounts?.filter(({ BindOptions }) => BindOptions !== undefined)).toEqual([
    {
      Type: 'bind',
      Source: '/srv/folders/1',
      Target: '/home/work/data',
      ReadOnly: false,
      BindOptions: { Propagation: 'rprivate', NonRecursive: true },
    },
    {
      Type: 'bind',
      Source: '/data/mounts/1',
      Target: '/run/berth-folders',
      ReadOnly: true,
      BindOptions: { Propagation: 'rslave', NonRecursive: true },
    },
  ])
})

test('a session that needs fewer than all cores is pinned to the least used ones', () => {
  expect(chooseCores(1000, 4, [])).toEqual([0])
  expect(chooseCores(1500, 4, [[0], [1]])).toEqual([2, 3])
  expect(chooseCores(1000, 2, [[0], [1], [0]])).toEqual([1])
  expect(chooseCores(3500, 4, [])).toEqual([])
  expect(chooseCores(500, 1, [])).toEqual([])
})

test('a volume of the image below the home is a directory of the home, which Docker fills, and is swept like the terminals', () => {
  const homeVolumes = [{ source: '/scratch/k/kept', target: '/home/work/kept' }]
  const { HostConfig } = containerConfig(aSpec(), { ...plan, homeVolumes })
  const [found, terminals] = ['/home/work/kept', '/dev/pts'].map(at =>
    HostConfig?.Mounts?.find(({ Target }) => Target === at),
  )
  expect(found).toMatchObject({
    ...{ Type: 'volume', Source: '' },
    VolumeOptions: { NoCopy: false, DriverConfig: { Options: { type: 'none', o: 'bind', device: '/scratch/k/kept' } } },
  })
  expect(found?.VolumeOptions?.Labels).toEqual(terminals?.VolumeOptions?.Labels)
})
